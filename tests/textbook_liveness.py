"""Linear temporal logic the long way round, to judge `fsmdsl.runs.liveness` by; the two share no code.

Formulas are tuples: `("atom", 0)`, `("not", f)`, `("and", f, g)`, `("or", f, g)`, `("next", f)`, `("until", f, g)`. On
the word of a lasso a formula is evaluated as it is defined. On a graph, the tableau of all maximal consistent sets
(O. Lichtenstein and A. Pnueli, POPL 1985) is multiplied out node by node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

Formula = tuple[Any, ...]
Edge = tuple[int, int, int]
"""Source, target, the obligations that it fulfils (as bits)."""

TRUE: Formula = ("true",)


def eventually(f: Formula) -> Formula:
    return ("until", TRUE, f)


def always(f: Formula) -> Formula:
    return ("not", eventually(("not", f)))


def implies(f: Formula, g: Formula) -> Formula:
    return ("or", ("not", f), g)


@dataclass(frozen=True)
class System:
    """`letters[s]` are the atoms that are true in state s, as bits. A state without edges has one to itself here."""

    letters: tuple[int, ...]
    edges: tuple[Edge, ...]

    def enabled(self, state: int) -> int:
        found = 0
        for source, _, marks in self.edges:
            if source == state:
                found |= marks
        return found


def closed(letters: Iterable[int], edges: Iterable[Edge]) -> System:
    listed = tuple(letters)
    kept = tuple(edges)
    ends = tuple((s, s, 0) for s in range(len(listed)) if not any(e[0] == s for e in kept))
    return System(listed, kept + ends)


# On one run ----------------------------------------------------------------------------------------------------------


def true_on(f: Formula, stem: list[int], loop: list[int]) -> bool:
    """Is a formula true of the word that is the stem's letters, then the loop's for ever?"""
    return values(f, stem + loop, len(stem))[0]


def values(f: Formula, word: list[int], back: int) -> list[bool]:
    """Where in the word it is true; behind its end comes the place `back`."""
    match f:
        case ("true",):
            return [True] * len(word)
        case ("atom", n):
            return [bool(letter >> n & 1) for letter in word]
        case ("not", g):
            return [not x for x in values(g, word, back)]
        case ("and", g, h):
            return [a and b for a, b in zip(values(g, word, back), values(h, word, back), strict=True)]
        case ("or", g, h):
            return [a or b for a, b in zip(values(g, word, back), values(h, word, back), strict=True)]
        case ("next", g):
            inner = values(g, word, back)
            return [*inner[1:], inner[back]]
        case ("until", g, h):
            before, there = values(g, word, back), values(h, word, back)
            return [_comes(before, there, n, back) for n in range(len(word))]
    raise AssertionError(f)


def _comes(before: list[bool], there: list[bool], at: int, back: int) -> bool:
    for _ in range(2 * len(there)):
        if there[at]:
            return True
        if not before[at]:
            return False
        at = at + 1 if at + 1 < len(there) else back
    return False


def fair(system: System, loop: list[Edge], weak: int, strong: int) -> bool:
    """Is going round and round fair?"""
    done, all_along, anywhere = 0, -1, 0
    for source, _, marks in loop:
        done |= marks
        all_along &= system.enabled(source)
        anywhere |= system.enabled(source)
    return weak & all_along & ~done == 0 and strong & anywhere & ~done == 0


def walks(system: System, start: int, longest: int) -> Iterator[list[Edge]]:
    """Every walk of one edge or more, up to a length."""
    todo: list[list[Edge]] = [[e] for e in system.edges if e[0] == start]
    while todo:
        walk = todo.pop()
        yield walk
        if len(walk) < longest:
            todo += [[*walk, e] for e in system.edges if e[0] == walk[-1][1]]


def short_violation(system: System, f: Formula, weak: int, strong: int, longest: int) -> list[Edge] | None:
    """A walk whose last part can be repeated for ever, fairly, and then breaks the formula."""
    for walk in walks(system, 0, longest):
        for begin in range(len(walk)):
            loop = walk[begin:]
            if loop[-1][1] == loop[0][0] and fair(system, loop, weak, strong):
                stem = [system.letters[e[0]] for e in walk[:begin]]
                if not true_on(f, stem, [system.letters[e[0]] for e in loop]):
                    return walk
    return None


# On all runs ---------------------------------------------------------------------------------------------------------

Node = tuple[int, tuple[bool, ...]]


class Tableau:
    """What is guessed of the future: for each `next f` and each `f until g`, whether it is true one step from now."""

    def __init__(self, f: Formula) -> None:
        self.elements: list[Formula] = []
        self.untils: list[Formula] = []
        self._collect(f)

    def _collect(self, f: Formula) -> None:
        ahead = f[1] if f[0] == "next" else f
        if f[0] in ("next", "until") and ahead not in self.elements:
            self.elements.append(ahead)
        if f[0] == "until" and f not in self.untils:
            self.untils.append(f)
        for x in f[1:]:
            if isinstance(x, tuple):
                self._collect(x)

    def true(self, f: Formula, letter: int, guess: tuple[bool, ...]) -> bool:
        match f:
            case ("true",):
                return True
            case ("atom", n):
                return bool(letter >> n & 1)
            case ("not", g):
                return not self.true(g, letter, guess)
            case ("and", g, h):
                return self.true(g, letter, guess) and self.true(h, letter, guess)
            case ("or", g, h):
                return self.true(g, letter, guess) or self.true(h, letter, guess)
            case ("next", g):
                return guess[self.elements.index(g)]
            case ("until", g, h):
                later = guess[self.elements.index(f)]
                return self.true(h, letter, guess) or (self.true(g, letter, guess) and later)
        raise AssertionError(f)


def violated(system: System, f: Formula, weak: int, strong: int) -> bool:
    """Is there a fair run that does not satisfy the formula?"""
    wrong = ("not", f)
    tableau = Tableau(wrong)
    guesses = list(product((False, True), repeat=len(tableau.elements)))
    claims = {
        (letter, guess): tuple(tableau.true(e, letter, guess) for e in tableau.elements)
        for letter in set(system.letters)
        for guess in guesses
    }
    after: dict[Node, list[tuple[Node, int]]] = {}
    todo: list[Node] = [(0, g) for g in guesses if tableau.true(wrong, system.letters[0], g)]
    while todo:
        node = todo.pop()
        if node in after:
            continue
        state, guess = node
        after[node] = [
            ((target, g), marks)
            for source, target, marks in system.edges
            if source == state
            for g in guesses
            if claims[(system.letters[target], g)] == guess
        ]
        todo += [n for n, _ in after[node]]
    kept = [
        {
            (s, g)
            for s, g in after
            if not tableau.true(u, system.letters[s], g) or tableau.true(u[2], system.letters[s], g)
        }
        for u in tableau.untils
    ]
    return _rounds(system, set(after), after, kept, weak, strong)


def _rounds(
    system: System, nodes: set[Node], after: dict[Node, list[tuple[Node, int]]], kept: list[set[Node]], weak: int,
    strong: int,
) -> bool:  # fmt: skip
    """Is there a part of these nodes in which one can go round, fairly, keeping all promises?"""
    for part in _parts(nodes, after):
        inside = [(n, marks) for n in part for x, marks in after[n] if x in part]
        if not inside or any(not part & k for k in kept):
            continue
        done, all_along, anywhere = 0, -1, 0
        for _, marks in inside:
            done |= marks
        for state, _ in part:
            all_along &= system.enabled(state)
            anywhere |= system.enabled(state)
        if weak & all_along & ~done:
            continue
        missing = strong & anywhere & ~done
        if not missing:
            return True
        if _rounds(system, {n for n in part if not system.enabled(n[0]) & missing}, after, kept, weak, strong):
            return True
    return False


def _parts(nodes: set[Node], after: dict[Node, list[tuple[Node, int]]]) -> Iterator[set[Node]]:
    """Strongly connected components: what reaches each other."""
    before: dict[Node, list[Node]] = {n: [] for n in nodes}
    forth: dict[Node, list[Node]] = {n: [x for x, _ in after[n] if x in nodes] for n in nodes}
    for n, reached in forth.items():
        for x in reached:
            before[x].append(n)
    left = set(nodes)
    while left:
        one = next(iter(left))
        part = _reach(one, forth, left) & _reach(one, before, left)
        yield part
        left -= part


def _reach(start: Node, edges: dict[Node, list[Node]], among: set[Node]) -> set[Node]:
    found, todo = {start}, [start]
    while todo:
        for x in edges[todo.pop()]:
            if x in among and x not in found:
                found.add(x)
                todo.append(x)
    return found


# Runs in which something ends ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Calming(System):
    """Runs of two parts, the first of any steps, the second of all but some: they have finitely many of these. Each
    state is there twice, `n` and, in the second part, `states + n`. The step from the first part to the second may be
    any, or staying where no other step is possible; a bit that is possible everywhere and done in the second part alone
    keeps a fair run there."""

    possible: tuple[int, ...]

    def enabled(self, state: int) -> int:
        return self.possible[state]


def calming(
    letters: Sequence[int], calm: Sequence[Edge], others: Sequence[Edge], possible: Sequence[int], bit: int
) -> Calming:
    """`possible` by a step in `calm`, for each state. Weak fairness of `bit` is to be asked for as well."""
    states = len(letters)
    ends = set(range(states)) - {s for s, _, _ in calm}
    edges = {(s, x, 0) for s, t, _ in (*calm, *others) for x in (t, t + states)}
    edges |= {(s, s + states, 0) for s in ends} | {(s + states, s + states, bit) for s in ends}
    edges |= {(s + states, t + states, mark | bit) for s, t, mark in calm}
    every = [x | bit for x in (*possible, *possible)]
    return Calming((*letters, *letters), tuple(sorted(edges)), tuple(every))
