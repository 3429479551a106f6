"""The mutation campaign: small changes to the code that some test has to notice.

    python tests/mutants.py                               # go on until all of the sample has been tried
    python tests/mutants.py --count 500 --minutes 60      # the first 500 of the sample, an hour of them
    python tests/mutants.py --only explore/packed/lower   # of these folders
    python tests/mutants.py --again survived              # the survivors once more, with the tests as they are now
    python tests/mutants.py --show 1f6c3a2b9d40           # one mutant as a diff

The operators are those of mutmut, applied with libcst. The sample is ordered by a hash of the seed and the mutant, and
a mutant is known by its place and text rather than by its line, so that a campaign can be stopped, gone on with and
extended, and edits elsewhere leave the sample as it is. Nothing is changed in the working tree: the tests run in a copy
of it in `build/mutants`. Results go to `tests/mutation/results.json` after each mutant, and `tests/mutation/summary.md`
is made from them; survivors that change no behaviour are argued one by one in `tests/mutation/argued.md`.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_arg_removal, operator_assignment, operator_string

ROOT = Path(__file__).parent.parent
TREE = ROOT / "build" / "mutants"
"""Where the copy is that mutants run in."""
RESULTS, SUMMARY, ARGUED = (ROOT / "tests" / "mutation" / x for x in ("results.json", "summary.md", "argued.md"))
SEED = 11
PATIENCE = 3600
"""Seconds by the clock for one run of tests."""

TESTS: Mapping[str, tuple[str, ...]] = {
    "fsmdsl/step": (
        "tests/test_meanings.py tests/test_step.py tests/test_evaluate.py tests/test_rounds.py tests/test_crash.py"
        " tests/test_systems.py tests/test_explore.py",
        "tests/test_packed.py -k random_systems or random_specs or went_wrong",
    ),
    "fsmdsl/explore/packed/lower": (
        "tests/test_meanings.py tests/test_packed.py -k meanings or random_systems or went_wrong or worlds or subsets",
        "tests/test_packed.py tests/test_explore.py -k explore or random_specs or fault or inside or answers",
        "tests/test_symmetry.py tests/test_liveness.py -k crowds_have_the_same or told_apart or textbook or words",
    ),
    "fsmdsl/emit": (
        "tests/test_meanings.py tests/test_generated.py tests/test_emit.py -k not lint and not mypyc and not types_and",
        "tests/test_systems.py tests/test_program.py tests/twin/test_random_twin.py tests/twin/test_twin_scenarios.py",
    ),
    "fsmdsl/checks": ("tests/test_meanings.py tests/test_cases.py tests/test_checks.py tests/test_oracles.py",),
    "fsmdsl/resolve": (
        "tests/test_meanings.py tests/test_cases.py tests/test_evaluate.py tests/test_systems.py tests/test_scenario.py"
        " tests/test_step.py tests/test_rounds.py tests/test_crash.py tests/test_generated.py tests/test_documents.py",
    ),
    "runtime/placement": (
        "tests/runtime/test_allocator_packing.py tests/runtime/test_allocator_scheduling.py"
        " tests/runtime/test_allocator_preemption.py tests/runtime/test_allocator_defects.py"
        " tests/runtime/test_allocator_requests.py tests/runtime/test_allocator_growth.py",
        "tests/runtime/test_conformance_histories.py tests/runtime/test_allocator_histories.py",
    ),
    "runtime/preemption": ("tests/runtime/test_allocator_preemption.py tests/runtime/test_allocator_defects.py",),
    "runtime/journal": ("tests/runtime/test_journal.py tests/runtime/test_durable.py",),
}
"""The folders with mutants, and the tests that can notice them, those that notice most in the shortest time first."""

MESSAGES = ("fsmdsl/step", "fsmdsl/checks", "fsmdsl/resolve", "runtime/placement", "runtime/journal")
"""Where an f-string is a message. In the back ends it is generated text."""

# Mutants -------------------------------------------------------------------------------------------------------------


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


def text_of(mutant: Mutant) -> str:
    """The file with the mutant in it."""
    for found, node, mutated, module in made_of(mutant.path):
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


def files(only: Iterable[str]) -> list[str]:
    """The modules that mutants are made of."""
    found = (p.relative_to(ROOT).as_posix() for area in TESTS for p in (ROOT / area).rglob("*.py"))
    return sorted(p for p in found if not only or any(x in p for x in only))


def area_of(path: str) -> str:
    """The folder of `TESTS` that a file is in."""
    return next(area for area in TESTS if path.startswith(f"{area}/"))


def sample(seed: int, only: Iterable[str]) -> list[Mutant]:
    """All mutants, in the order in which they are tried."""
    listed = [x for path in files(only) for x in mutants_of(path)]
    return sorted(listed, key=lambda x: hashlib.sha256(f"{seed}|{x.key}".encode()).hexdigest())


# Running them --------------------------------------------------------------------------------------------------------


def copied() -> None:
    """A fresh copy of the working tree: what git knows and what it does not ignore."""
    shutil.rmtree(TREE, ignore_errors=True)
    told = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, told.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, TREE / name)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the tests ended with a mutant."""

    result: str
    """`killed`, `timeout` or `survived`. Killed by a test; a timeout counts as killed, too."""
    by: str
    """The test that noticed."""
    seconds: float


def tried(area: str, limit: float) -> Outcome:
    """Run an area's tests in the copy until one fails. Times are of the processor, so that a busy machine makes no
    difference; only what waits for ever is ended by the clock."""
    begun = _spent()
    paths = [str(TREE), str(TREE / "tests"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "CI": "1", "FSMDSL_CACHE": str(TREE / ".cache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header"]
    for line in TESTS[area]:
        names, _, chosen = line.partition(" -k ")
        there = [x for x in names.split() if (TREE / x).exists()]
        given = [*command, *there, *(["-k", chosen] if chosen else [])]
        left = max(1, int(limit - (_spent() - begun)))
        try:
            ended = subprocess.run(
                ["/bin/sh", "-c", f'ulimit -t {left} && exec "$@"', "sh", *given],
                cwd=TREE, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Outcome("timeout", "", _spent() - begun)
        if ended.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return Outcome("timeout", "", _spent() - begun)
        if ended.returncode:
            where = re.search(r"^(?:FAILED|ERROR) (\S+)", ended.stdout, re.MULTILINE)
            return Outcome("killed", where[1] if where else f"exit {ended.returncode}", _spent() - begun)
    return Outcome("survived", "", _spent() - begun)


def _spent() -> float:
    """Seconds of the processor that all processes started here have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def put(path: str, text: str) -> None:
    """A file of the copy, and nothing left of what it was compiled to before."""
    file = TREE / path
    for old in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        old.unlink()
    file.write_text(text, "utf-8")


def baseline(areas: Iterable[str]) -> dict[str, float]:
    """How long an area's tests take where nothing is changed. All of them have to pass."""
    needed = {}
    for area in areas:
        ended = tried(area, 3600)
        if ended.result != "survived":
            raise SystemExit(f"{area}: {ended.by} fails as it is")
        needed[area] = ended.seconds
        print(f"{area}: {ended.seconds:.0f} s", flush=True)
    return needed


# Results -------------------------------------------------------------------------------------------------------------

Results = dict[str, dict[str, object]]


def saved(seed: int, results: Results) -> None:
    """Both files, from the results."""
    shown = {"seed": seed, "mutants": dict(sorted(results.items(), key=lambda x: (str(x[1]["path"]), x[0])))}
    RESULTS.write_text(json.dumps(shown, indent=1) + "\n", "utf-8")
    SUMMARY.write_text(summary(seed, results), "utf-8")


def summary(seed: int, results: Results) -> str:
    """The figures by folder, and the survivors."""
    argued = set(re.findall(r"\b[0-9a-f]{12}\b", ARGUED.read_text("utf-8"))) if ARGUED.exists() else set()
    lines = ["# The mutation campaign", "", f"Made by `python tests/mutants.py --seed {seed}`; edits are lost.", ""]
    lines += ["| folder | tried | killed | timeout | argued | survived | killed, of those not argued |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    open_: list[str] = []
    for area in [*TESTS, "all"]:
        chosen = {k: r for k, r in results.items() if area in ("all", area_of(str(r["path"])))}
        counted = Counter(str(r["result"]) for r in chosen.values())
        survived = {k for k, r in chosen.items() if r["result"] == "survived"}
        killed = counted["killed"] + counted["timeout"]
        share = f"{killed / max(1, len(chosen) - len(survived & argued)):.1%}" if chosen else ""
        figures = [len(chosen), counted["killed"], counted["timeout"], len(survived & argued), len(survived - argued)]
        lines.append(f"| {area} | {' | '.join(map(str, figures))} | {share} |")
    for key, r in sorted(results.items(), key=lambda x: (str(x[1]["path"]), int(str(x[1]["line"])))):
        if r["result"] == "survived" and key not in argued:
            open_ += [f"- {key} {r['path']}:{r['line']} ({r['operator']})", f"  `{r['before']}`", f"  `{r['after']}`"]
    return "\n".join([*lines, "", "## Survivors that nobody has argued", "", *(open_ or ["None."])]) + "\n"


def campaign(given: argparse.Namespace) -> None:
    """Try what is left of the sample."""
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {"mutants": {}}
    results: Results = known["mutants"]
    listed = sample(given.seed, given.only)
    print(f"{len(listed)} mutants, {len(results)} tried before", flush=True)
    chosen = listed if given.count is None else listed[: given.count]
    if given.again:
        todo = [x for x in chosen if results.get(x.key, {}).get("result") == given.again]
    else:
        todo = [x for x in chosen if x.key not in results]
    copied()
    needed = baseline(sorted({area_of(x.path) for x in todo}))
    begun = time.monotonic()
    for mutant in todo:
        if given.minutes is not None and time.monotonic() - begun > given.minutes * 60:
            break
        text, area = text_of(mutant), area_of(mutant.path)
        try:
            compile(text, mutant.path, "exec")
        except (SyntaxError, ValueError):
            continue
        put(mutant.path, text)
        ended = tried(area, 3 * needed[area] + 30)
        put(mutant.path, (ROOT / mutant.path).read_text("utf-8"))
        results[mutant.key] = {**asdict(mutant), **asdict(replace(ended, seconds=round(ended.seconds, 1)))}
        del results[mutant.key]["key"]
        saved(given.seed, results)
        print(
            f"{ended.result:8} {ended.seconds:5.1f} s  {mutant.key} {mutant.path}:{mutant.line} {ended.by}", flush=True
        )
    saved(given.seed, results)


def show(key: str) -> None:
    """A mutant as a diff."""
    mutant = next(x for path in files(()) for x in mutants_of(path) if x.key == key)
    before, after = (ROOT / mutant.path).read_text("utf-8"), text_of(mutant)
    sys.stdout.writelines(
        difflib.unified_diff(before.splitlines(True), after.splitlines(True), mutant.path, mutant.path)
    )


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description="Small changes to the code that some test has to notice.")
    parser.add_argument("--seed", type=int, default=SEED, help="which sample")
    parser.add_argument("--count", type=int, help="how much of the sample; all of it unless given")
    parser.add_argument("--minutes", type=float, help="stop after so many")
    parser.add_argument("--only", nargs="*", default=(), help="parts of paths")
    parser.add_argument("--again", choices=["survived", "killed", "timeout"], help="those that ended so")
    parser.add_argument("--show", metavar="KEY", help="print one mutant as a diff")
    given = parser.parse_args()
    if given.show:
        show(given.show)
    else:
        campaign(given)


if __name__ == "__main__":
    main()
