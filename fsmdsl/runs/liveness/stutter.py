"""Runs that may stand still: for these, every state has one more edge, to itself, which fulfils nothing."""

from __future__ import annotations

from array import array

from fsmdsl.dataclasses import replace
from fsmdsl.runs.liveness.graph import STAYS, Graph, Hop, Ints, Lasso


def stuttering(graph: Graph) -> Graph:
    """The same graph with such edges, each behind those of its state. Takes time in proportion to the edges."""
    offsets, targets, marks = array("q", [0]), array("q"), array("q")
    unknown = frozenset(graph.open)
    for state in range(graph.states):
        edges = range(graph.offsets[state], graph.offsets[state + 1])
        targets.extend(graph.targets[e] for e in edges)
        marks.extend(graph.marks[e] for e in edges)
        if state not in unknown:
            targets.append(state)
            marks.append(0)
        offsets.append(len(targets))
    return replace(graph, offsets=offsets, targets=targets, marks=marks)


def unstuttered(lasso: Lasso, graph: Graph, offsets: Ints) -> Lasso:
    """A run of `stuttering(graph)`, whose offsets are given, along the edges of the graph itself."""
    stem, loop = (tuple(_hop(h, graph, offsets) for h in hops) for hops in (lasso.stem, lasso.loop))
    return Lasso(stem, loop, lasso.state)


def _hop(h: Hop, graph: Graph, offsets: Ints) -> Hop:
    edge = h.edge - offsets[h.source] + graph.offsets[h.source]
    stays = h.edge == STAYS or edge == graph.offsets[h.source + 1]
    return Hop(h.source, STAYS if stays else edge, h.target)
