"""Runs in which something happens finitely often, as crashes do: from some state on, the system is what the other edges
make of it.

So edges of that kind fulfil no obligation: what is possible is what others do. And where no others lead on, such a run
may end; to an end of its own, for a run that goes on with a crash does not stay there first.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain

from fsmdsl.dataclasses import dataclass
from fsmdsl.runs.liveness.decide import Prepared
from fsmdsl.runs.liveness.graph import STAYS, Graph, Hop, Ints, Lasso


@dataclass(frozen=True, slots=True)
class FinallyNever:
    """A graph with such ends, behind all other states, and the states that they stand for."""

    graph: Prepared
    states: int
    ends: Ints

    def back(self, lasso: Lasso) -> Lasso:
        """A run along the edges of the graph that this was made of: in an end, it stays where it was."""
        stem, loop = (tuple(self._hop(h) for h in hops if h.target < self.states) for hops in (lasso.stem, lasso.loop))
        if lasso.state < self.states:
            return Lasso(stem, loop, lasso.state)
        state = self.ends[lasso.state - self.states]
        return Lasso(stem, (Hop(state, STAYS, state),), state)

    def _hop(self, h: Hop) -> Hop:
        """The ends before have an edge more."""
        return h if h.edge == STAYS else Hop(h.source, h.edge - bisect_left(self.ends, h.source), h.target)


def finally_never(graph: Prepared, apart: int) -> FinallyNever:
    """A graph in which edges with this mark are looked at as above. Takes time in proportion to the edges."""
    using = graph.engine
    end_states = using.filled(graph.states, -1)
    count = using.kernels.ending(graph.offsets, graph.marks, apart, graph.states, end_states)
    ends = using.ints(end_states[n] for n in range(count))
    edges = len(graph.targets) + count
    offsets, marks = using.filled(graph.states + count + 1, wide=True), using.filled(edges, wide=True)
    targets = using.filled(edges)
    using.kernels.finally_never(
        graph.offsets, graph.targets, graph.marks, apart, graph.states, end_states, count, offsets, targets, marks
    )
    columns = tuple(using.ints(chain(x, [x[s] for s in ends]), wide=True) for x in graph.columns)
    with_ends = Graph(offsets, targets, marks, columns, firsts=graph.firsts)
    return FinallyNever(Prepared(with_ends, using, graph.deliveries, graph.open), graph.states, ends)
