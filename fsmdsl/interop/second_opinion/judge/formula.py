"""Linear temporal logic in negation normal form, and its progression.

To progress a formula through a state is to ask what is left to satisfy afterwards. There may be several ways:
`p until q` leaves nothing if q is true, and leaves itself if p is true. In the second case it is put off, and a run
that puts it off for ever does not satisfy it. The formulas that are left are a state of a generalized Büchi automaton
whose acceptance is on its transitions (J.-M. Couvreur, FM 1999).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import assert_never

from fsmdsl.dataclasses import NamedTuple, dataclass


@dataclass(frozen=True, slots=True)
class At:
    """Atom number `atom` is true; or, if not `positive`, false."""

    atom: int
    positive: bool


@dataclass(frozen=True, slots=True)
class And:
    parts: frozenset[Formula]


@dataclass(frozen=True, slots=True)
class Or:
    parts: frozenset[Formula]


@dataclass(frozen=True, slots=True)
class Next:
    body: Formula


@dataclass(frozen=True, slots=True)
class Until:
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Release:
    left: Formula
    right: Formula


Formula = At | And | Or | Next | Until | Release

TRUE, FALSE = And(frozenset()), Or(frozenset())


def every(formulas: Iterable[Formula]) -> Formula:
    """Their conjunction."""
    parts = frozenset(y for x in formulas for y in (x.parts if isinstance(x, And) else (x,)))
    if FALSE in parts or any(isinstance(x, At) and At(x.atom, not x.positive) in parts for x in parts):
        return FALSE
    return next(iter(parts)) if len(parts) == 1 else And(parts)


def some(formulas: Iterable[Formula]) -> Formula:
    """Their disjunction."""
    return negation(every(map(negation, formulas)))


def following(body: Formula) -> Formula:
    """In the next state."""
    return body if body in (TRUE, FALSE) else Next(body)


def until(left: Formula, right: Formula) -> Formula:
    """`right` comes, and until then `left` is true."""
    return right if right in (TRUE, FALSE) or left == FALSE else Until(left, right)


def eventually(body: Formula) -> Formula:
    """In this state or a later one."""
    return until(TRUE, body)


def always(body: Formula) -> Formula:
    """In this state and all later ones."""
    return negation(eventually(negation(body)))


def with_atoms(f: Formula, atoms: Mapping[int, int]) -> Formula:
    """With other atoms, where those are asked to be true."""
    match f:
        case At(atom, positive):
            return At(atoms.get(atom, atom), True) if positive else f
        case And(parts):
            return And(frozenset(with_atoms(x, atoms) for x in parts))
        case Or(parts):
            return Or(frozenset(with_atoms(x, atoms) for x in parts))
        case Next(body):
            return Next(with_atoms(body, atoms))
        case Until(left, right):
            return Until(with_atoms(left, atoms), with_atoms(right, atoms))
        case Release(left, right):
            return Release(with_atoms(left, atoms), with_atoms(right, atoms))
        case _:
            assert_never(f)


def negation(f: Formula) -> Formula:
    """Not, in negation normal form."""
    match f:
        case At(atom, positive):
            return At(atom, not positive)
        case And(parts):
            return Or(frozenset(map(negation, parts)))
        case Or(parts):
            return And(frozenset(map(negation, parts)))
        case Next(body):
            return Next(negation(body))
        case Until(left, right):
            return Release(negation(left), negation(right))
        case Release(left, right):
            return Until(negation(left), negation(right))
        case _:
            assert_never(f)


def claims(f: Formula) -> Iterable[Formula]:
    """Smaller formulas whose conjunction it is: an automaton for each is much smaller than one for all."""
    match f:
        case And(parts):
            return [y for x in parts for y in claims(x)]
        case Release(left, right) if left == FALSE:
            return [always(x) for x in claims(right)]
        case Or(parts):
            split = next((x for x in parts if isinstance(x, And) and any(not isinstance(y, At) for y in x.parts)), None)
            if split is not None:
                return [y for x in split.parts for y in claims(some([x, *(parts - {split})]))]
    return [f]


class Way(NamedTuple):
    """What is left to satisfy from the next state on, and the `until`s that are put off."""

    left: frozenset[Formula]
    delayed: frozenset[Until]


Ways = frozenset[Way]

NOTHING = frozenset[Formula]()
DONE: Ways = frozenset({Way(NOTHING, frozenset())})


def progress(f: Formula, letter: int) -> Ways:
    """All ways to satisfy a formula in a state in which the atoms of `letter` are true, as bits."""
    match f:
        case At(atom, positive):
            return DONE if (letter >> atom & 1) == positive else frozenset()
        case And(parts):
            return progress_all(parts, letter)
        case Or(parts):
            return _least({w for x in parts for w in progress(x, letter)})
        case Next(body):
            return frozenset({Way(frozenset({body}), frozenset())})
        case Until(left, right):
            later = frozenset({Way(frozenset({f}), frozenset({f}))})
            return _least({*progress(right, letter), *_both(progress(left, letter), later)})
        case Release(left, right):
            later = frozenset({Way(frozenset({f}), frozenset())})
            return _both(progress(right, letter), progress(left, letter) | later)
        case _:
            assert_never(f)


def progress_all(formulas: Iterable[Formula], letter: int) -> Ways:
    """All ways to satisfy several formulas at once."""
    ways = DONE
    for x in formulas:
        ways = _both(ways, progress(x, letter))
    return ways


def _both(a: Ways, b: Ways) -> Ways:
    return _least({Way(x.left | y.left, x.delayed | y.delayed) for x, y in product(a, b)})


def _least(ways: set[Way]) -> Ways:
    """Without ways that leave more than another one does, and put off as much."""
    return frozenset(w for w in ways if not any(x != w and x.left <= w.left and x.delayed <= w.delayed for x in ways))
