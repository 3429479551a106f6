"""Formulas of linear temporal logic over numbered atoms, in negation normal form.

`always` and `eventually` are `Release` and `Until` with a constant on the left. The functions below are the only
makers: they keep formulas small by the laws that need no thought, so that equal formulas are more often the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from fsmdsl.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Literal:
    """An atom, or its negation."""

    atom: int
    positive: bool


@dataclass(frozen=True, slots=True)
class And:
    """All of these. Of none: true."""

    parts: frozenset[Formula]


@dataclass(frozen=True, slots=True)
class Or:
    """Some of these. Of none: false."""

    parts: frozenset[Formula]


@dataclass(frozen=True, slots=True)
class Next:
    """In the next state."""

    body: Formula


@dataclass(frozen=True, slots=True)
class Until:
    """`right` comes, and until then `left` holds."""

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Release:
    """`right` holds up to and including the state in which `left` does; for ever, if there is none."""

    left: Formula
    right: Formula


Formula = Literal | And | Or | Next | Until | Release

TRUE = And(frozenset())
FALSE = Or(frozenset())


def conjunction(parts: Iterable[Formula]) -> Formula:
    """All of these. What must hold for ever from some time on can begin together."""
    flat: set[Formula] = set()
    for x in parts:
        flat |= x.parts if isinstance(x, And) else {x}
    persistent = {
        x: x.right.right
        for x in flat
        if isinstance(x, Until) and isinstance(x.right, Release) and (x.left, x.right.left) == (TRUE, FALSE)
    }
    if len(persistent) > 1:
        flat = flat - set(persistent) | {eventually(always(conjunction(persistent.values())))}
    if FALSE in flat or any(isinstance(x, Literal) and Literal(x.atom, not x.positive) in flat for x in flat):
        return FALSE
    return next(iter(flat)) if len(flat) == 1 else And(frozenset(flat))


def disjunction(parts: Iterable[Formula]) -> Formula:
    """Some of these."""
    return negation(conjunction(negation(x) for x in parts))


def next_(body: Formula) -> Formula:
    """In the next state."""
    return body if body in (TRUE, FALSE) else Next(body)


def until(left: Formula, right: Formula) -> Formula:
    """`right` comes, and until then `left` holds."""
    if right in (TRUE, FALSE) or left == FALSE:
        return right
    if left == TRUE and isinstance(right, Until):
        return until(TRUE, right.right)
    return Until(left, right)


def release(left: Formula, right: Formula) -> Formula:
    """`right` holds up to and including the state in which `left` does; for ever, if there is none."""
    return negation(until(negation(left), negation(right)))


def always(body: Formula) -> Formula:
    """In this state and all that come."""
    return release(FALSE, body)


def eventually(body: Formula) -> Formula:
    """In this state or one that comes."""
    return until(TRUE, body)


def negation(f: Formula) -> Formula:
    """Not, driven inwards."""
    match f:
        case Literal(atom, positive):
            return Literal(atom, not positive)
        case And(parts):
            return Or(frozenset(negation(x) for x in parts))
        case Or(parts):
            return And(frozenset(negation(x) for x in parts))
        case Next(body):
            return Next(negation(body))
        case Until(left, right):
            return Release(negation(left), negation(right))
        case Release(left, right):
            return Until(negation(left), negation(right))
        case _:
            assert_never(f)


def atoms(f: Formula) -> frozenset[int]:
    """The atoms of a formula."""
    match f:
        case Literal(atom):
            return frozenset({atom})
        case And(parts) | Or(parts):
            return frozenset().union(*map(atoms, parts))
        case Next(body):
            return atoms(body)
        case Until(left, right) | Release(left, right):
            return atoms(left) | atoms(right)
        case _:
            assert_never(f)
