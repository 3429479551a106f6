"""Does every fair run of a graph satisfy a formula? If not, a run that does not, as a lasso.

The negated formula becomes an automaton, and graph and automaton go side by side: a run breaks the formula when the
automaton accepts it. So what is looked for is a cycle of the product that is fair, and of which the automaton accepts.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from functools import cached_property
from itertools import pairwise

from fsmdsl.dataclasses import dataclass
from fsmdsl.runs.liveness.automaton import Automaton, Move, TooLargeError, automaton
from fsmdsl.runs.liveness.cycles import FairnessGoal, Network, fair_loop, fair_part, trimmed
from fsmdsl.runs.liveness.engine import Engine, engine
from fsmdsl.runs.liveness.formula import Formula, negation
from fsmdsl.runs.liveness.graph import BITS, STAYS, Graph, Hop, Ints, Lasso

MAX_NODES = 1 << 31
"""Maximum number of pairs of a state and an automaton's state: they are numbered with 32 bits."""


OPEN = -1 << BITS
"""What is below 0, and no atom's bit."""


class Prepared:
    """A graph as the kernels want it, with what all decisions need and is worked out once. `unknown`: the states
    that are not expanded, where the graph does not say so itself."""

    def __init__(
        self, graph: Graph, using: Engine | None = None, deliveries: int = 0, unknown: Iterable[int] | None = None
    ) -> None:
        self.deliveries = deliveries
        self.engine = using or engine(graph.edges)
        self.states, self.firsts = graph.states, graph.firsts
        self.open = graph.open if unknown is None else unknown
        self.offsets = self.engine.ints(graph.offsets, wide=True)
        self.targets = self.engine.ints(graph.targets)
        self.marks = self.engine.ints(graph.marks, wide=True)
        self.columns = [self.engine.ints(x, wide=True) for x in graph.atoms]

    @cached_property
    def enabled(self) -> Ints:
        """The obligations that some edge of each state fulfils, and deliveries of waiting messages (`MessageWaits`)."""
        obligations = self.engine.filled(self.states, wide=True)
        self.engine.kernels.gather(self.offsets, self.marks, obligations, self.states, self.deliveries)
        return obligations

    @cached_property
    def levels(self) -> Levels:
        """The states by depth."""
        parents, order = self.engine.filled(self.states, -2), self.engine.filled(self.states)
        starts = self.engine.filled(self.states + 1)
        depths = self.engine.kernels.levels(self.offsets, self.targets, parents, order, starts, self.firsts)
        return Levels(parents, order, starts, int(depths))

    @cached_property
    def _blank(self) -> Ints:
        letters = self.engine.filled(self.states, wide=True)
        for state in self.open:
            letters[state] = OPEN
        return letters

    def letters(self, atoms: tuple[int, ...]) -> Ints:
        """Which of these atoms are true in each state: the first is bit 0. Below 0 where a state is `open`."""
        letters = copy(self._blank)
        for place, atom in enumerate(atoms):
            self.engine.kernels.spread(self.columns[atom // BITS], atom % BITS, place, letters, self.states)
        return letters


@dataclass(frozen=True, slots=True)
class Levels:
    """See `kernels.levels`."""

    parents: Ints
    order: Ints
    starts: Ints
    depths: int


def decide(graph: Prepared, formula: Formula, weak: int = 0, strong: int = 0, finite: int = 0) -> Lasso | None:
    """A run that breaks a formula and is fair to these obligations (as bits); None if there is none. What is in
    `finite` happens finitely often in it: see `settle`.

    The stem is as short as can be (for one that leads to a cycle of that kind), the loop short. Takes time in
    proportion to the edges of the graph and the automaton, for each strong obligation at most once more. Raises
    `TooLargeError`.
    """
    a = automaton(negation(formula))
    if not a.moves:
        return None
    weak &= ~strong
    used = weak | strong | finite
    free = [n for n in range(BITS) if not used >> n & 1]
    if len(free) < a.sets:
        raise TooLargeError(f"it asks for {BITS - len(free) + a.sets} things to happen; the maximum is {BITS}")
    if graph.states * len(a.moves) >= MAX_NODES:
        raise TooLargeError(f"its automaton has {len(a.moves)} states, too many for a graph of {graph.states}")
    needed = sum(1 << n for n in free[: a.sets])
    return _Product(graph, a, free[: a.sets]).lasso(FairnessGoal(needed, weak, strong), finite)


class _Product:
    """A graph and an automaton side by side. Node `state * size + q`."""

    def __init__(self, graph: Prepared, a: Automaton, places: list[int]) -> None:
        self.graph = graph
        self.automaton = a
        self.size = len(a.moves)
        self.waits = _waits(a)
        rows = [[m for m in row if not (self.waits and q == m.goal == 0)] for q, row in enumerate(a.moves)]
        moves = [m for row in rows for m in row]
        ints = graph.engine.ints
        self.first = ints([sum(map(len, rows[:q])) for q in range(self.size + 1)])
        self.must = ints((m.must for m in moves), wide=True)
        self.value = ints((m.value for m in moves), wide=True)
        self.goal = ints(m.goal for m in moves)
        self.accept = ints((_placed(m.accept, places) for m in moves), wide=True)
        self.letters = graph.letters(a.atoms)
        nodes = graph.states * self.size
        self.number = graph.engine.filled(nodes, -1)
        self.nodes = graph.engine.filled(nodes, wide=True)
        self.parents = graph.engine.filled(nodes)

    def lasso(self, goal: FairnessGoal, finite: int) -> Lasso | None:
        """A fair run that the automaton accepts."""
        hit, g = self.graph.engine.filled(2), self.graph
        order, starts, depths = _no_levels(g.engine)
        if self.waits:
            order, starts, depths = g.levels.order, g.levels.starts, g.levels.depths
        count = g.engine.kernels.search(
            g.offsets, g.targets, self.letters, order, starts, depths,
            self.first, self.must, self.value, self.goal, self.size, 0, g.firsts,
            -1 if self.automaton.truth is None else self.automaton.truth,
            self.number, self.nodes, self.parents, hit,
        )  # fmt: skip
        if hit[0] >= 0:
            return Lasso(self._hops(self._path(int(hit[1]))), (), int(hit[0]))
        subset = g.engine.filled(int(count))
        used = goal.weak | goal.strong | finite
        network = self._network(int(count), subset, used)
        if finite:
            g.engine.kernels.drop(network.offsets, network.targets, network.marks, network.nodes, finite)
        part = fair_part(g.engine, network, goal)
        if part is None:
            return None
        entry, member = part
        way, loop = trimmed(network, goal, fair_loop(g.engine, network, goal, entry, member))
        stem = self._hops(self._path(int(subset[entry])))
        hops = [self._along(network, subset, x, used, finite) for x in (*way, *loop)]
        return _shortened((*stem, *hops[: len(way)]), tuple(hops[len(way) :]))

    def _network(self, count: int, subset: Ints, used: int) -> Network:
        """The part of the product in which the automaton can accept."""
        g, k = self.graph, self.graph.engine.kernels
        block, useful = g.engine.ints(self.automaton.block), g.engine.ints(map(int, self.automaton.useful))
        local = g.engine.filled(count)
        total = int(k.restrict(self.nodes, count, self.size, useful, local, subset))
        offsets, enabled = g.engine.filled(total + 1, wide=True), g.engine.filled(total, wide=True)
        edges = int(
            k.degrees(
                g.offsets, self.letters, g.enabled, used,
                self.first, self.must, self.value, self.goal, self.size, block,
                self.nodes, subset, total, offsets, enabled,
            )
        )  # fmt: skip
        targets, marks = g.engine.filled(edges), g.engine.filled(edges, wide=True)
        k.connect(
            g.offsets, g.targets, g.marks, self.letters, used,
            self.first, self.must, self.value, self.goal, self.accept, self.size, block,
            self.number, self.nodes, local, subset, total, targets, marks,
        )  # fmt: skip
        return Network(offsets, targets, marks, enabled, total)

    def _state(self, number: int) -> int:
        return int(self.nodes[number]) // self.size

    # The run found

    def _path(self, node: int) -> list[int]:
        """The states from a first one to that of a node, or to the one at which the automaton ceased to wait."""
        path: list[int] = []
        while node >= 0:
            path.append(self._state(node))
            node = int(self.parents[node])
        state = -2 - node
        while node < -1 and state >= 0:
            path.append(state)
            state = int(self.graph.levels.parents[state])
        return path[::-1]

    def _hops(self, path: list[int]) -> tuple[Hop, ...]:
        """Any edges will do."""
        return tuple(self._hop(source, target, 0) for source, target in pairwise(path))

    def _along(self, network: Network, subset: Ints, hop: Hop, used: int, finite: int) -> Hop:
        """An edge of the product as one of the graph."""
        source, target = (self._state(int(subset[x])) for x in (hop.source, hop.target))
        return self._hop(source, target, int(network.marks[hop.edge]) & used, finite)

    def _hop(self, source: int, target: int, marks: int, unwanted: int = 0) -> Hop:
        """The first edge between two states that fulfils at least this much, and nothing unwanted."""
        begin, end = int(self.graph.offsets[source]), int(self.graph.offsets[source + 1])
        for edge in range(begin, end):
            fulfils = int(self.graph.marks[edge])
            if self.graph.targets[edge] == target and marks & ~fulfils == 0 and not fulfils & unwanted:
                return Hop(source, edge, target)
        return Hop(source, STAYS, target)


def _shortened(stem: tuple[Hop, ...], loop: tuple[Hop, ...]) -> Lasso:
    """The same run: a loop that repeats itself once, and from where it begins."""
    length = next(n for n in range(1, len(loop) + 1) if loop[:n] * (len(loop) // n) == loop)
    loop = loop[:length]
    while stem and (stem[-1].source, stem[-1].target) == (loop[-1].source, loop[-1].target):
        stem, loop = stem[:-1], (*loop[-1:], *loop[:-1])
    return Lasso(stem, loop, loop[0].source)


def _waits(a: Automaton) -> bool:
    """Can the automaton stay in its first state whatever comes, without accepting that?

    Then the states of the graph that it can be in are all, and need not be gone through.
    """
    stays = any(m == Move(0, 0, 0, 0) for m in a.moves[0])
    return stays and not a.useful[0] and a.block.count(a.block[0]) == 1


def _placed(accept: int, places: list[int]) -> int:
    return sum(1 << place for n, place in enumerate(places) if accept >> n & 1)


def _no_levels(using: Engine) -> tuple[Ints, Ints, int]:
    return using.filled(1), using.filled(1), 0
