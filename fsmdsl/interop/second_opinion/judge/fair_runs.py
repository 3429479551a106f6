"""Is there a fair run that satisfies a formula? By explicit search, for graphs of moderate size.

The states of the graph are paired with what is left to satisfy in them (see `formula`). A fair run that satisfies the
formula leads to a strongly connected part of these pairs in which no `until` is put off by every edge, and which is
fair: weak promises are judged on the whole part; where a strong one fails, the nodes in which it is possible are
removed, and the parts of the rest are judged (the emptiness check of Streett automata).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import reduce
from operator import and_, or_

from fsmdsl.dataclasses import NamedTuple, dataclass
from fsmdsl.interop.second_opinion.judge.formula import NOTHING, Formula, Until, Ways, progress_all

MAX_NODES = 1_000_000
"""Maximum number of pairs of a state and what is left to satisfy there."""


class NoOpinionError(Exception):
    """Why a property is not judged."""


Edge = tuple[int, int]
"""A target, and the promises that the step fulfils, as bits."""


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of a graph: a finite number of steps along `stem`, then steps along `loop` for ever. Both give the edges
    of each state.

    `letters` are the atoms that are true in each state. A promise is `possible` in a state or not; `weak` and `strong`
    are those that count. No run continues behind an `open` state, and nothing is assumed about what could come there.
    """

    firsts: Sequence[int]
    letters: Sequence[int]
    stem: Sequence[Collection[Edge]]
    loop: Sequence[Collection[Edge]]
    possible: Sequence[int]
    weak: int = 0
    strong: int = 0
    open: Collection[int] = ()


class Node(NamedTuple):
    """A state, and what is left to satisfy there."""

    state: int
    left: frozenset[Formula]


class Arc(NamedTuple):
    """An edge of the pairs."""

    target: Node
    fulfils: int
    delayed: frozenset[Until]


Arcs = Mapping[Node, Sequence[Arc]]


def satisfiable(runs: Runs, f: Formula, tick: Callable[[], None]) -> bool:
    """Does some fair run satisfy a formula? `tick` is called now and then, and may raise an error to give up."""
    product = _Product(runs, tick)
    begins = [Node(s, frozenset({f})) for s in runs.firsts]
    if runs.stem is not runs.loop:
        begins = list(product.closure(begins, runs.stem))
    arcs = product.closure(begins, runs.loop)
    return product.leaves_open or _has_fair_part(runs, frozenset(arcs), arcs)


class _Product:
    """The pairs, as far as they can be reached."""

    def __init__(self, runs: Runs, tick: Callable[[], None]) -> None:
        self.runs, self.tick = runs, tick
        self.leaves_open = False
        """Is the formula satisfied when an open state is reached, whatever comes?"""
        self._ways: dict[tuple[int, frozenset[Formula]], Ways] = {}

    def closure(self, begins: Collection[Node], edges: Sequence[Collection[Edge]]) -> Arcs:
        """All pairs that can be reached along some edges, with the arcs from each."""
        arcs: dict[Node, Sequence[Arc]] = dict.fromkeys(begins, ())
        waiting = list(arcs)
        for done, node in enumerate(waiting):
            if done % 1000 == 0:
                self.tick()
            arcs[node] = list(self._arcs(node, edges))
            fresh = {a.target for a in arcs[node]} - arcs.keys()
            arcs.update(dict.fromkeys(fresh, ()))
            waiting += fresh
            if len(waiting) > MAX_NODES:
                raise NoOpinionError(f"the graph of states and its formula have more than {MAX_NODES:,} pairs")
        return arcs

    def _arcs(self, node: Node, edges: Sequence[Collection[Edge]]) -> Iterator[Arc]:
        letter = self.runs.letters[node.state]
        key = letter, node.left
        if key not in self._ways:
            self._ways[key] = progress_all(node.left, letter)
        for left, delayed in self._ways[key]:
            self.leaves_open |= left == NOTHING and node.state in self.runs.open
            yield from (Arc(Node(target, left), fulfils, delayed) for target, fulfils in edges[node.state])


def _has_fair_part(runs: Runs, nodes: frozenset[Node], arcs: Arcs) -> bool:
    for part in components(nodes, lambda n: [a.target for a in arcs[n] if a.target in nodes]):
        members = frozenset(part)
        inner = [a for n in part for a in arcs[n] if a.target in members]
        if not inner or frozenset.intersection(*(a.delayed for a in inner)):
            continue
        fulfils = reduce(or_, (a.fulfils for a in inner))
        possible = [runs.possible[n.state] for n in part]
        if runs.weak & reduce(and_, possible) & ~fulfils:
            continue
        broken = runs.strong & reduce(or_, possible) & ~fulfils
        if not broken:
            return True
        if _has_fair_part(runs, frozenset(n for n in part if not runs.possible[n.state] & broken), arcs):
            return True
    return False


def components(nodes: Collection[Node], after: Callable[[Node], Sequence[Node]]) -> Iterator[list[Node]]:
    """The strongly connected components of a graph (R. Tarjan, 1972), without recursion."""
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: list[Node] = []
    inside = set[Node]()
    for root in nodes:
        path = [] if root in number else [(root, iter(after(root)))]
        while path:
            node, rest = path[-1]
            if node not in number:
                number[node] = low[node] = len(number)
                stack.append(node)
                inside.add(node)
            fresh = None
            for x in rest:
                if x not in number:
                    fresh = x
                    break
                if x in inside:
                    low[node] = min(low[node], number[x])
            if fresh is not None:
                path.append((fresh, iter(after(fresh))))
                continue
            path.pop()
            if path:
                low[path[-1][0]] = min(low[path[-1][0]], low[node])
            if low[node] == number[node]:
                part = [stack.pop()]
                while part[-1] != node:
                    part.append(stack.pop())
                inside.difference_update(part)
                yield part
