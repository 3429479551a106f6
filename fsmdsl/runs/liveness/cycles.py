"""Fair cycles: where in a graph a run can go round for ever and be fair.

A component allows it when it has an edge for everything that is needed, for each weak obligation an edge that fulfils
it or a node in which it is not enabled, and for each strong one an edge, unless it is enabled nowhere in it. Where a
strong one has no edge, the nodes in which it is enabled are cut out, and what is left is looked at anew
(O. Lichtenstein and A. Pnueli, POPL 1985; E. A. Emerson and C.-L. Lei, Science of Computer Programming 8, 1987).

Time is in proportion to the edges, once for each strong obligation at most.
"""

from __future__ import annotations

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.runs.liveness.engine import Engine
from fsmdsl.runs.liveness.graph import Hop, Ints

LONGEST_TRIMMED = 400
"""A loop with more edges than this is left as it was found."""


@dataclass(frozen=True, eq=False)
class Network:
    """A graph whose nodes are numbered by their distance from the beginning: offsets and targets of edges, what each
    fulfils, what is enabled in each node."""

    offsets: Ints = field(repr=False)
    targets: Ints = field(repr=False)
    marks: Ints = field(repr=False)
    enabled: Ints = field(repr=False)
    nodes: int


@dataclass(frozen=True, slots=True)
class FairnessGoal:
    """What a cycle has to fulfil: this in any case, this if it is enabled all along, this if it is enabled anywhere."""

    needed: int
    weak: int
    strong: int

    def open(self, done: int, all_along: int, anywhere: int) -> tuple[int, int]:
        """What a walk still lacks, and the part of it that a node where it is not enabled settles as well."""
        weak = self.weak & all_along & ~done
        return (self.needed & ~done) | weak | (self.strong & anywhere & ~done), weak


def fair_part(engine: Engine, g: Network, goal: FairnessGoal) -> tuple[int, Ints] | None:
    """The first node that is in a part of the graph that a fair cycle can fill, and the members of that part."""
    k, n = engine.kernels, g.nodes
    alive, worklist = engine.filled(n, 1), engine.ints(range(n))
    component, low, index, stack, trail = (engine.filled(n) for _ in range(5))
    edge, inner, entry = engine.filled(n, wide=True), engine.filled(n), engine.filled(n)
    done, all_along, anywhere, missing = (engine.filled(n, wide=True) for _ in range(4))
    best, member, size = -1, engine.filled(0), n
    while size:
        count = k.components(g.offsets, g.targets, alive, worklist, size, component, low, index, stack, trail, edge)
        k.weigh(
            g.offsets, g.targets, g.marks, g.enabled, alive, worklist, size, component, count,
            inner, done, all_along, anywhere, entry,
        )  # fmt: skip
        chosen = k.judge(count, goal.needed, goal.weak, goal.strong, inner, done, all_along, anywhere, entry, missing)
        if chosen >= 0 and (best < 0 or entry[chosen] < best):
            best = int(entry[chosen])
            member = engine.filled(n)
            k.enclose(worklist, size, component, chosen, member, n)
        size = k.cut(g.enabled, alive, worklist, size, component, missing)
    return None if best < 0 else (best, member)


# A loop --------------------------------------------------------------------------------------------------------------


def fair_loop(engine: Engine, g: Network, goal: FairnessGoal, start: int, member: Ints) -> list[Hop]:
    """A short way from a node of such a part and back that is fair: always on to the nearest thing that is lacking."""
    source, came = engine.filled(g.nodes + 1), engine.filled(g.nodes, wide=True)
    queue, seen = engine.filled(g.nodes), engine.filled(g.nodes)
    turn = 0
    walk: list[Hop] = []
    at, done, all_along, anywhere = start, 0, int(g.enabled[start]), int(g.enabled[start])
    while True:
        lacking, avoided = goal.open(done, all_along, anywhere)
        if not lacking and at == start and walk:
            return walk
        aim = -1 if lacking else start
        turn += 1
        last = engine.kernels.approach(
            g.offsets, g.targets, g.marks, g.enabled, member, at, aim, lacking, avoided,
            source, came, queue, seen, turn, g.nodes,
        )  # fmt: skip
        for hop in _way(g, at, int(last), source, came):
            walk.append(hop)
            done |= int(g.marks[hop.edge])
            all_along &= int(g.enabled[hop.target])
            anywhere |= int(g.enabled[hop.target])
        at = walk[-1].target


def _way(g: Network, start: int, last: int, source: Ints, came: Ints) -> list[Hop]:
    """The way that `approach` has found."""
    way = [Hop(int(source[g.nodes]), last, int(g.targets[last]))]
    while way[-1].source != start:
        node = way[-1].source
        way.append(Hop(int(source[node]), int(came[node]), node))
    return way[::-1]


def trimmed(g: Network, goal: FairnessGoal, loop: list[Hop]) -> tuple[list[Hop], list[Hop]]:
    """The shortest part of a loop that is a fair loop itself, and the way to it."""
    best = (0, len(loop))
    if len(loop) > LONGEST_TRIMMED:
        return [], loop
    for begin in range(len(loop)):
        done, all_along, anywhere = 0, -1, 0
        for end in range(begin, min(len(loop), begin + best[1] - best[0] - 1)):
            done |= int(g.marks[loop[end].edge])
            all_along &= int(g.enabled[loop[end].target])
            anywhere |= int(g.enabled[loop[end].target])
            if loop[end].target == loop[begin].source and not goal.open(done, all_along, anywhere)[0]:
                best = (begin, end + 1)
                break
    return loop[: best[0]], loop[best[0] : best[1]]
