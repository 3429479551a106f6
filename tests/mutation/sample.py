"""Which mutants there are: the operators of mutmut applied with libcst, in the order of a seed.

The order is that of a hash of the seed and the mutant, and a mutant is known by its place and text rather than by its
line, so that a campaign can be stopped, resumed and extended, and edits elsewhere leave the sample as it is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider
from mutation.areas import ROOT, Campaign
from mutmut.mutation.mutators import mutation_operators, operator_arg_removal, operator_assignment, operator_string

MESSAGES = ("fsmdsl/step", "fsmdsl/check", "fsmdsl/model/resolve", "runtime/placement", "runtime/journal")
"""Where an f-string is a message. In the back ends it is generated text."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file."""

    key: str
    """From its file, function, operator and text, not from its line."""
    path: str
    line: int
    operator: str
    before: str
    after: str


def without_guard(node: cst.MatchCase) -> Iterator[cst.MatchCase]:
    """`case x if c:` → `case x:`. Mutmut has no operator for guards."""
    if node.guard is not None:
        yield node.with_changes(guard=None)


def without_keyword(node: cst.Call) -> Iterator[cst.Call]:
    """A call without one of its keyword arguments, which mostly have defaults."""
    for n, argument in enumerate(node.args):
        if argument.keyword is not None and argument.keyword.value != "strict":
            yield node.with_changes(args=[*node.args[:n], *node.args[n + 1 :]])


OPERATORS = [
    *(x for x in mutation_operators if x[1] not in (operator_arg_removal, operator_assignment)),
    (cst.MatchCase, without_guard),
    (cst.Call, without_keyword),
]
"""What mutmut does, without `None` for arguments and values: of these there are three times as many as of all others,
and nearly all are errors to `mypy --strict`."""


class _Visitor(cst.CSTVisitor):
    """Finds the places of a module and what to put there."""

    METADATA_DEPENDENCIES = (PositionProvider, ParentNodeProvider)

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self.names: list[str] = []
        self.seen: Counter[str] = Counter()
        self.found: list[tuple[Mutant, cst.CSTNode, cst.CSTNode]] = []
        self.module = cst.Module([])

    def visit_Module(self, node: cst.Module) -> None:  # noqa: N802
        self.module = node

    def on_visit(self, node: cst.CSTNode) -> bool:
        if _left_out(self.path, node):
            return False
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self.names.append(node.name.value)
        for kind, operator in OPERATORS:
            if isinstance(node, kind) and (operator is not operator_string or self._decides(node)):
                for mutated in operator(node):
                    if not _alike(node, mutated):
                        self._add(operator.__name__.removeprefix("operator_"), node, mutated)
        return super().on_visit(node)

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.FunctionDef | cst.ClassDef):
            self.names.pop()
        super().on_leave(original_node)

    def _decides(self, node: cst.CSTNode) -> bool:
        """Is a string compared with something? Others are messages or generated text."""
        parent = self.get_metadata(ParentNodeProvider, node, None)
        return isinstance(parent, cst.MatchValue | cst.ComparisonTarget)

    def _add(self, operator: str, node: cst.CSTNode, mutated: cst.CSTNode) -> None:
        before, after = _shown(self.module, node, mutated)
        what = "|".join([self.path, ".".join(self.names), operator, before, after])
        self.seen[what] += 1
        key = hashlib.sha256(f"{what}|{self.seen[what]}".encode()).hexdigest()[:12]
        place = self.get_metadata(PositionProvider, node, None)
        line = 0 if place is None else place.start.line
        self.found.append((Mutant(key, self.path, line, operator, before, after), node, mutated))


def _left_out(path: str, node: cst.CSTNode) -> bool:
    """Types, imports, decorators, the texts of rules, and messages."""
    match node:
        case cst.Annotation() | cst.Import() | cst.ImportFrom() | cst.Decorator() | cst.TypeAlias():
            return True
        case cst.Call(func=cst.Name("Rule" | "cast" | "TypeVar" | "dataclass")):
            return True
        case cst.Arg(keyword=cst.Name("strict")):
            return True
        case cst.FormattedString():
            return path.startswith(MESSAGES)
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name("__all__"))]):
            return True
        case _:
            return False


def _alike(node: cst.CSTNode, mutated: cst.CSTNode) -> bool:
    """Is it known that nothing changes? Without its last case, which nothing can reach, a `match` is the same."""
    if isinstance(node, cst.Match) and isinstance(mutated, cst.Match):
        (gone,) = (case for case in node.cases if not any(case is x for x in mutated.cases))
        return "assert_never(" in cst.Module([]).code_for_node(gone)
    return False


def _shown(module: cst.Module, node: cst.CSTNode, mutated: cst.CSTNode) -> tuple[str, str]:
    """Both texts, short, but enough of them to see the difference."""
    before, after = (re.sub(r"\s+", " ", module.code_for_node(x)).strip() for x in (node, mutated))
    common = next((n for n, (x, y) in enumerate(zip(before, after, strict=False)) if x != y), len(before))
    start = max(0, common - 60) if len(before) > 120 else 0
    return before[start : start + 160], after[start : start + 160]


def made_of(path: str) -> list[tuple[Mutant, cst.CSTNode, cst.CSTNode, cst.Module]]:
    """All mutants of a file: a node, what to put there, and the module that both are about."""
    wrapper = MetadataWrapper(cst.parse_module((ROOT / path).read_text("utf-8")))
    visitor = _Visitor(path)
    wrapper.visit(visitor)
    return [(mutant, node, mutated, wrapper.module) for mutant, node, mutated in visitor.found]


_last = lru_cache(maxsize=1)(made_of)
"""Mutants of the same file come one after the other."""


def text_of(mutant: Mutant) -> str:
    """The file with the mutant in it."""
    for found, node, mutated, module in _last(mutant.path):
        if found == mutant:
            whole = module.deep_replace(node, mutated)
            assert isinstance(whole, cst.Module)
            return whole.code
    raise KeyError(mutant.key)


def mutants_of(path: str) -> list[Mutant]:
    """All mutants of a file, from the cache in `build` if they are those of the same text."""
    text = (ROOT / path).read_bytes() + Path(__file__).read_bytes()
    cache = ROOT / "build" / "mutants-of" / f"{hashlib.sha256(text).hexdigest()[:24]}.json"
    if cache.exists():
        return [Mutant(**x) for x in json.loads(cache.read_text("utf-8"))]
    found = [x[0] for x in made_of(path)]
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.write_text(json.dumps([asdict(x) for x in found]), "utf-8")
    return found


def modules(campaign: Campaign, only: Iterable[str]) -> list[str]:
    """The modules that mutants are made of, or those whose path contains one of some texts."""
    return [p for p in campaign.files() if not only or any(x in p for x in only)]


def sample(campaign: Campaign, seed: int, only: Iterable[str]) -> list[Mutant]:
    """All mutants, in the order in which they are tried."""
    listed = [x for path in modules(campaign, only) for x in mutants_of(path)]
    return sorted(listed, key=lambda x: hashlib.sha256(f"{seed}|{x.key}".encode()).hexdigest())
