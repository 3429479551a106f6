"""What is asked of the states of a system, numbered: invariants, what is to be reachable, where the system may rest,
and how far to explore."""

from __future__ import annotations

from typing import Literal

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.step.instances import Roster
from fsmdsl.text.source import Span


@dataclass(frozen=True, slots=True)
class Question:
    """One question, of the system (`machine` empty, of instance -1) or of each instance of a machine. A `bound` and
    a `rest` are no questions of the author's. No step is taken where a `bound` is not true. Where a `rest` is true, a
    state that no step leaves is no deadlock."""

    number: int
    kind: Literal["invariant", "reachable", "rest", "bound"]
    name: str
    machine: str
    instances: tuple[int, ...]
    condition: m.Expr
    span: Span


def questions(roster: Roster) -> tuple[Question, ...]:
    """All of them, in a fixed order."""
    collected: list[Question] = []
    system = roster.system
    for x in system.invariants:
        collected.append(Question(len(collected), "invariant", x.name, "", (-1,), x.condition, x.span))
    for machine in dict.fromkeys(roster.machines):
        numbers = tuple(sorted(roster.instances_of(machine.qualified)))
        for x in machine.invariants:
            name = f"{machine.name}: {x.name}"
            collected.append(
                Question(len(collected), "invariant", name, machine.qualified, numbers, x.condition, x.span)
            )
    for y in system.reachables:
        collected.append(Question(len(collected), "reachable", y.name, "", (-1,), y.condition, y.span))
    for z in system.rests:
        collected.append(Question(len(collected), "rest", "may rest when", "", (-1,), z, z.span))
    if system.bound is not None:
        collected.append(
            Question(len(collected), "bound", "explore while", "", (-1,), system.bound, system.bounds[0].span)
        )
    return tuple(collected)
