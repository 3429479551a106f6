"""Rows of machines, as outputs name them: by label and place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.model.workspace import shipped
from fsmdsl.text.source import Span


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A row of a machine; of a row with several sources, some of its transitions."""

    machine: m.Machine
    transitions: tuple[m.Transition, ...]

    @property
    def span(self) -> Span:
        """Where the row is."""
        return self.transitions[0].span

    @property
    def name(self) -> str:
        """`e4`, or `e4 from Used` where others have that label, or it has other sources too."""
        label = self.transitions[0].name
        if sum(t.name == label for t in self.machine.transitions) == len(self.transitions):
            return label
        return f"{label} from {', '.join(dict.fromkeys(t.source for t in self.transitions))}"

    @property
    def is_shipped(self) -> bool:
        """Is it a row of the library?"""
        return shipped(self.span.source.name)

    @property
    def placed(self) -> str:
        """With its machine and place: `Cell e4 from Used (cell.fsm:7:5)`."""
        return f"{self.machine.name} {self.name} ({self.span})"


def rows_of(transitions: Iterable[tuple[str, int]], model: m.Model) -> list[SourceRow]:
    """Transitions, by machine and index, as rows."""
    rows: defaultdict[tuple[str, int], list[m.Transition]] = defaultdict(list)
    for machine, index in transitions:
        t = model.machines[machine].transitions[index]
        rows[machine, t.span.start].append(t)
    return [SourceRow(model.machines[machine], tuple(of_row)) for (machine, _), of_row in rows.items()]


def stuttering_lines(transitions: Collection[tuple[str, int]], model: m.Model) -> tuple[str, ...]:
    """Which rows of a refinement only stutter, a line for each."""
    return tuple(f"only ever stutters: {row.placed}" for row in rows_of(transitions, model))
