"""What can be found out about a model without running it: one file for each rule, or for a few that belong together."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.check import (
    constants,
    crashes,
    dead_ends,
    event_table,
    events,
    locks,
    numbers,
    outcomes,
    overlaps,
    priorities,
    ranges,
    reachability,
    rounds,
    symmetry,
    unused,
)
from fsmdsl.check import shadowed_rows as hidden
from fsmdsl.check.event_table import Cell, Completeness, completeness
from fsmdsl.check.subject import Subject
from fsmdsl.syntax.parse.reading import uncollected
from fsmdsl.text.diagnostics import Diagnostic, Rule, ordered

__all__ = ["RULES", "Cell", "Completeness", "check", "completeness"]

_CHECKS = (
    reachability, dead_ends, overlaps, constants, hidden, events, event_table, outcomes, rounds, crashes, priorities,
    ranges, numbers, unused, locks, symmetry,
)  # fmt: skip

RULES: tuple[Rule, ...] = tuple(rule for x in _CHECKS for rule in x.RULES)


def check(model: m.Model) -> list[Diagnostic]:
    """Everything that the rules find, by file and place. Takes time in proportion to the model."""
    subject = Subject(model)
    with uncollected():
        return ordered(diagnostic for x in _CHECKS for diagnostic in x.check(subject))
