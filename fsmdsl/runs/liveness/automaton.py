"""From a formula to an automaton that accepts the runs which satisfy it.

The tableau of J.-M. Couvreur, "On-the-fly verification of linear temporal logic" (FM 1999): a state is a set of
formulas that what is still to come has to satisfy, and what is accepted is decided by transitions. A transition that
puts off an `until` promises it; a run is accepted when for each `until` it takes infinitely many that do not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import product
from typing import assert_never

from fsmdsl.core.graphs import reachable
from fsmdsl.dataclasses import NamedTuple, dataclass
from fsmdsl.runs.liveness.formula import (
    And,
    Formula,
    Literal,
    Next,
    Or,
    Release,
    Until,
    atoms,
    conjunction,
)
from fsmdsl.runs.liveness.graph import BITS

MAX_STATES = 512
MAX_COMPARED = 2_000_000
"""Maximum number of pairs of ways to satisfy a formula that are compared, which takes a second or two."""


class TooLargeError(Exception):
    """A formula whose automaton is out of all proportion; the message says how large."""


class Term(NamedTuple):
    """One way to satisfy a formula: literals of this state, as masks; formulas for the next; what is put off."""

    must: int
    value: int
    next: frozenset[Formula]
    promises: frozenset[Formula]


class Move(NamedTuple):
    """A transition, taken where the letter and `must` make `value`. `accept`: the sets it is in, as bits."""

    must: int
    value: int
    goal: int
    accept: int


@dataclass(frozen=True, slots=True)
class Automaton:
    """A run is accepted when it takes transitions of each of the `sets` infinitely often.

    Letters are masks of `atoms`, the first is bit 0. States that no accepted run goes through are left out; if none is
    left, there are no states.
    """

    atoms: tuple[int, ...]
    moves: tuple[tuple[Move, ...], ...]
    """By state; the first state is 0."""
    sets: int
    block: tuple[int, ...]
    """The strongly connected component of each state."""
    useful: tuple[bool, ...]
    """Can a run that is accepted stay in the component of this state?"""
    truth: int | None
    """The state in which everything is accepted."""


def automaton(f: Formula) -> Automaton:
    """The automaton of a formula. Raises `TooLargeError`."""
    names = tuple(sorted(atoms(f)))
    if len(names) > BITS:
        raise TooLargeError(f"it has {len(names)} different conditions; the maximum is {BITS}")
    tableau = _Tableau({a: n for n, a in enumerate(names)})
    moves, sets = tableau.moves(f)
    return _finished(names, moves, sets)


# The tableau ---------------------------------------------------------------------------------------------------------


class _Tableau:
    """Ways to satisfy formulas, each worked out once."""

    def __init__(self, place: dict[int, int]) -> None:
        self.place = place
        self.cache: dict[Formula, tuple[Term, ...]] = {}
        self.compared = 0

    def moves(self, f: Formula) -> tuple[list[tuple[Move, ...]], int]:
        """The transitions of every state that can be reached, and the number of acceptance sets."""
        number = {f: 0}
        todo = [f]
        rows: list[list[tuple[Term, int]]] = []
        while todo:
            row: list[tuple[Term, int]] = []
            for term in self.terms(todo.pop(0)):
                after = conjunction(term.next)
                if after not in number:
                    number[after] = len(number)
                    todo.append(after)
                    if len(number) > MAX_STATES:
                        raise TooLargeError(f"its automaton has more than {MAX_STATES} states")
                row.append((term, number[after]))
            rows.append(row)
        promised = list(dict.fromkeys(p for row in rows for term, _ in row for p in term.promises))
        bit = {p: 1 << n for n, p in enumerate(promised)}
        every = (1 << len(promised)) - 1
        return [
            tuple(Move(t.must, t.value, goal, every & ~sum(bit[p] for p in t.promises)) for t, goal in row)
            for row in rows
        ], len(promised)

    def terms(self, f: Formula) -> tuple[Term, ...]:
        """The ways to satisfy a formula, none of them contained in another."""
        if f not in self.cache:
            self.cache[f] = self._least(self._terms(f))
        return self.cache[f]

    def _terms(self, f: Formula) -> Iterable[Term]:
        match f:
            case Literal(atom, positive):
                bit = 1 << self.place[atom]
                return [Term(bit, bit if positive else 0, _NOTHING, _NOTHING)]
            case And(parts):
                terms: tuple[Term, ...] = (Term(0, 0, _NOTHING, _NOTHING),)
                for x in parts:
                    terms = self._least(_both(terms, self.terms(x)))
                return terms
            case Or(parts):
                return [t for x in parts for t in self.terms(x)]
            case Next(body):
                return [_later(body)]
            case Until(left, right):
                return [*self.terms(right), *_both(self.terms(left), [_later(f, f)])]
            case Release(left, right):
                return _both(self.terms(right), [*self.terms(left), _later(f)])
            case _:
                assert_never(f)

    def _least(self, terms: Iterable[Term]) -> tuple[Term, ...]:
        """Without those that ask for no less than another."""
        minimal: list[Term] = []
        for t in dict.fromkeys(terms):
            self.compared += len(minimal)
            if self.compared > MAX_COMPARED:
                raise TooLargeError("it is too long to make an automaton of it")
            if not any(_weaker(x, t) for x in minimal):
                minimal = [x for x in minimal if not _weaker(t, x)]
                minimal.append(t)
        return tuple(minimal)


_NOTHING: frozenset[Formula] = frozenset()


def _later(f: Formula, *promised: Formula) -> Term:
    return Term(0, 0, f.parts if isinstance(f, And) else frozenset({f}), frozenset(promised))


def _both(left: Iterable[Term], right: Iterable[Term]) -> Iterator[Term]:
    """Ways to do both, where the literals allow it."""
    for a, b in product(left, right):
        if (a.value ^ b.value) & a.must & b.must == 0:
            yield Term(a.must | b.must, a.value | b.value, a.next | b.next, a.promises | b.promises)


def _weaker(x: Term, than: Term) -> bool:
    """Does a term ask for less than another?"""
    return (
        x != than
        and x.must & ~than.must == 0
        and (x.value ^ than.value) & x.must == 0
        and x.next <= than.next
        and x.promises <= than.promises
    )


# What is left of it --------------------------------------------------------------------------------------------------


def _finished(names: tuple[int, ...], moves: list[tuple[Move, ...]], sets: int) -> Automaton:
    """Without what no accepted run uses, and with one state for those that behave alike."""
    block = _blocks(moves)
    good = _useful(moves, block, sets)
    living = _leading_to(moves, {q for q in range(len(moves)) if good[block[q]]})
    if 0 not in living:
        return Automaton(names, (), 0, (), (), None)
    states = [q for q in range(len(moves)) if q in living]
    moves, sets = _needed(moves, block, good, sets, states)
    moves, useful = _merged(moves, [good[block[q]] for q in states])
    truth = next((q for q, row in enumerate(moves) if row == (Move(0, 0, q, (1 << sets) - 1),)), None)
    return Automaton(names, tuple(moves), sets, tuple(_blocks(moves)), tuple(useful), truth)


def _blocks(moves: list[tuple[Move, ...]]) -> list[int]:
    """Strongly connected components, by what reaches what; automata are small."""
    goals = [[move.goal for move in row] for row in moves]
    reach = [reachable(after, goals.__getitem__) for after in goals]
    return [min(p for p in {q, *reach[q]} if p == q or q in reach[p]) for q in range(len(moves))]


def _useful(moves: list[tuple[Move, ...]], block: list[int], sets: int) -> dict[int, bool]:
    """The components in which a run can be accepted."""
    accept = dict.fromkeys(block, -1)
    for q, row in enumerate(moves):
        for move in row:
            if block[move.goal] == block[q]:
                accept[block[q]] = max(accept[block[q]], 0) | move.accept
    return {b: bits == (1 << sets) - 1 for b, bits in accept.items()}


def _leading_to(moves: list[tuple[Move, ...]], aims: set[int]) -> set[int]:
    before: dict[int, list[int]] = defaultdict(list)
    for q, row in enumerate(moves):
        for move in row:
            before[move.goal].append(q)
    return reachable(aims, before.__getitem__)


def _needed(
    moves: list[tuple[Move, ...]], block: list[int], good: dict[int, bool], sets: int, states: list[int]
) -> tuple[list[tuple[Move, ...]], int]:
    """Some of the states, and the sets that some transition inside a useful component is not in."""
    inside = [m for q, row in enumerate(moves) if good[block[q]] for m in row if block[m.goal] == block[q]]
    open_sets = [n for n in range(sets) if not all(m.accept >> n & 1 for m in inside)]
    number = {q: n for n, q in enumerate(states)}
    rows: list[tuple[Move, ...]] = []
    for q in states:
        row: dict[Move, None] = {}
        for move in moves[q]:
            if move.goal in number:
                counts = good[block[q]] and block[move.goal] == block[q]
                accept = sum((move.accept >> n & 1) << i for i, n in enumerate(open_sets)) if counts else 0
                row[Move(move.must, move.value, number[move.goal], accept)] = None
        rows.append(tuple(row))
    return rows, len(open_sets)


def _merged(moves: list[tuple[Move, ...]], useful: list[bool]) -> tuple[list[tuple[Move, ...]], list[bool]]:
    """One state for all that cannot be told apart: the coarsest partition that transitions respect."""
    part = [int(u != useful[0]) for u in useful]
    while True:
        signs = [(part[q], frozenset(m._replace(goal=part[m.goal]) for m in row)) for q, row in enumerate(moves)]
        number = {sign: n for n, sign in enumerate(dict.fromkeys(signs))}
        if len(number) == len(set(part)):
            break
        part = [number[sign] for sign in signs]
    first = {part[q]: q for q in reversed(range(len(moves)))}
    rows = [[m._replace(goal=part[m.goal]) for m in moves[first[p]]] for p in range(len(first))]
    return [tuple(_widest(row)) for row in rows], [useful[first[p]] for p in range(len(first))]


def _widest(row: list[Move]) -> Iterator[Move]:
    """Without transitions beside which there is another that can be taken more often, and is accepted as much."""
    distinct = list(dict.fromkeys(row))
    return (m for m in distinct if not any(_wider(x, m) for x in distinct))


def _wider(x: Move, than: Move) -> bool:
    return (
        x != than
        and x.goal == than.goal
        and x.must & ~than.must == 0
        and (x.value ^ than.value) & x.must == 0
        and than.accept & ~x.accept == 0
    )
