"""Which amendments a log is about: the spec explains it with them and not without, or the other way round."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.logs.run_summary import RunSummary
from fsmdsl.step import Followed

MAX_ROWS = 3
"""Maximum number of amended rows that are reported, the last ones of the run first."""


@dataclass(frozen=True, slots=True)
class AmendedRow:
    """A row on the run that explains a log which an amendment has added or changed, and the amendment's reason."""

    machine: str
    row: str
    reason: str

    def __str__(self) -> str:
        return f'row `{self.row}` of {self.machine}: amended "{self.reason}"'


@dataclass(frozen=True, slots=True)
class OtherReading:
    """The other reading explains the log, up to the line that this one does not."""

    as_documented: bool
    """Is it the document's own, without amendments?"""
    rows: tuple[AmendedRow, ...]


def amended_rows(run: RunSummary, amended: m.Model) -> tuple[AmendedRow, ...]:
    """Of the last rows of a run, those that are amended in a model, which need not be the run's own."""
    rows: dict[AmendedRow, None] = {}
    for machine, t in _followed(run):
        counterpart = amended.machines.get(machine.qualified)
        for x in () if counterpart is None else counterpart.transitions:
            if x.amended is not None and (x.name, x.source) == (t.name, t.source):
                rows[AmendedRow(machine.name, x.name, x.amended)] = None
    return tuple(rows)[:MAX_ROWS]


def _followed(run: RunSummary) -> Iterator[tuple[m.Machine, m.Transition]]:
    """The last row first."""
    for step in reversed(run.steps):
        for h in reversed(step.entry.cascade):
            if isinstance(h, Followed):
                machine = run.roster.machines[h.instance]
                yield machine, machine.transitions[h.transition]
