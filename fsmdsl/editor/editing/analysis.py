"""What there is to know about files that belong together, as they stand in the editor."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from fsmdsl import model as m
from fsmdsl.check import check
from fsmdsl.check.machine_graph import Shape
from fsmdsl.dataclasses import dataclass
from fsmdsl.editor.editing.document import Document, placed
from fsmdsl.model.resolve import Meaning, Memory, Resolved, Use, resolve
from fsmdsl.model.resolve.names.scope import MachineNames, ModuleNames
from fsmdsl.syntax.parse.incremental import in_file
from fsmdsl.text.diagnostics import Diagnostic, ordered


@dataclass(frozen=True, eq=False)
class Analysis:
    """Files, their model if nothing is wrong, and what is wrong. `earlier` is the last model of these files that had
    no errors, for questions that can be answered by halves."""

    documents: Mapping[str, Document]
    resolved: Resolved
    model: m.Model | None
    checked: tuple[Diagnostic, ...]
    earlier: m.Model | None

    @cached_property
    def diagnostics(self) -> Mapping[str, tuple[Diagnostic, ...]]:
        """What is wrong in each file, as `fsm check` says it. What may only follow from mistakes that the parser found
        is left out."""
        by_file: defaultdict[str, list[Diagnostic]] = defaultdict(list)
        for path, document in self.documents.items():
            by_file[path].extend(document.diagnostics)
        doubtful = self._doubtful()
        for d in (*self.resolved.diagnostics, *self.checked):
            if d.span.source.name not in doubtful:
                by_file[d.span.source.name].append(placed(d))
        return {path: tuple(ordered(diagnostics)) for path, diagnostics in by_file.items()}

    def _doubtful(self) -> frozenset[str]:
        """The files that lack declarations, or import from such a file by any way."""
        by_name = {d.name: path for path, d in self.documents.items()}
        doubtful = {path for path, d in self.documents.items() if d.broken}
        grown = True
        while grown:
            more = {p for p, d in self.documents.items() if any(by_name.get(n) in doubtful for n in d.imports)}
            grown = not more <= doubtful
            doubtful |= more
        return frozenset(doubtful)

    # Names -----------------------------------------------------------------------------------------------------------

    @cached_property
    def modules(self) -> Mapping[str, ModuleNames]:
        return {n.name: n for n in self.resolved.names}

    @cached_property
    def machines(self) -> Mapping[str, MachineNames]:
        """By qualified name."""
        return {x.qualified: x for n in self.resolved.names for x in n.machines.values()}

    @cached_property
    def _uses(self) -> Mapping[str, Sequence[Use]]:
        """By file, in the order of the text."""
        by_file: defaultdict[str, dict[Use, None]] = defaultdict(dict)
        for use in self.resolved.uses:
            by_file[use.span.source.name][use._replace(span=in_file(use.span))] = None
        return {path: sorted(uses, key=lambda u: u.span.start) for path, uses in by_file.items()}

    def uses_in(self, path: str) -> Sequence[Use]:
        """All names in a file that mean something."""
        return self._uses.get(path, ())

    def uses_at(self, path: str, offset: int) -> list[Use]:
        """What a place is in or just behind; several where a name may stand for several things."""
        uses = self.uses_in(path)
        last = bisect_right(uses, offset, key=lambda u: u.span.start)
        near = [u for u in uses[max(last - 16, 0) : last] if u.span.start <= offset <= u.span.end]
        inside = [u for u in near if offset < u.span.end]
        return inside or near

    def uses_of(self, meanings: Iterable[Meaning]) -> list[Use]:
        """Wherever a thing is named, in all files."""
        meaning_set = set(meanings)
        return [u for uses in self._uses.values() for u in uses if u.meaning in meaning_set]

    def declarations(self, meanings: Iterable[Meaning]) -> list[Use]:
        """Where a thing is declared."""
        return [u for u in self.uses_of(meanings) if u.declares]

    # Machines --------------------------------------------------------------------------------------------------------

    def shape(self, qualified: str) -> Shape | None:
        """A machine as a graph: as it is, else as it was before the errors."""
        model = self.model or self.earlier
        machine = None if model is None else model.machines.get(qualified)
        return None if machine is None else self._shape(machine)

    def _shape(self, machine: m.Machine) -> Shape:
        return Shape(machine)


def analyse(
    documents: Mapping[str, Document], memory: Memory, earlier: m.Model | None = None, *, checking: bool = True
) -> Analysis:
    """Bind names, and check what has a meaning. Takes time in proportion to what has changed since the memory was
    made, and a little for all."""
    resolved = resolve([d.module for d in documents.values()], memory=memory)
    broken = any(d.broken for d in documents.values())
    model = None if broken else resolved.model
    checked = tuple(check(model)) if checking and model is not None else ()
    return Analysis(documents, resolved, model, checked, model or earlier)
