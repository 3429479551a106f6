"""Hints for Graphviz: which edges are kept straight, and how to reach composites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from fsmdsl.dataclasses import dataclass
from fsmdsl.draw.graph import Direction, Edge, Graph, Node

Rank = tuple[str, ...]


@dataclass(frozen=True)
class Layout:
    """`ends` of a composite are the leaves where DOT has edges from it begin and edges to it end. `spine` are the edges
    (by id) that are kept straight. `broken` are the edges whose label is a node on the way, with the composite around
    both ends: Graphviz keeps nodes apart from the borders of composites, but not labels. `upward` are those of them
    that lead to an earlier state. `ranks` are the leaves that the spec's `layout`
    puts side by side, `loose` the edges that go against it, which have no say, and `down` those within a column, with
    it. `entered` are the composites into which an edge leads, perhaps through the title: that needs room to make way.
    `fixed_text`: widths of text come from us alone."""

    direction: Direction
    ends: Mapping[str, tuple[str, str]]
    spine: frozenset[str]
    broken: Mapping[str, tuple[Edge, str | None]]
    upward: frozenset[str]
    ranks: tuple[Rank, ...]
    loose: frozenset[str]
    down: Mapping[str, Rank]
    entered: frozenset[str]
    fixed_text: bool


def layout(graph: Graph, direction: Direction | None = None, *, fixed_text: bool) -> Layout:
    """The layout of a graph; in a direction that is not that of the spec's `layout`, without the latter."""
    way = direction or graph.direction
    ends = dict(_ends(graph.nodes))
    grid = graph.grid if graph.grid is not None and way == graph.grid.direction else None
    ranks = () if grid is None else tuple(tuple(ends[s][1] if s in ends else s for s in x) for x in grid.ranks)
    places = _places(graph, ranks, ends)
    down = _within_columns(graph, places, ranks) if way == "LR" else {}
    home = enclosing(graph)
    bordered = _at_borders(graph)
    broken = {e.id: (e, home[e.id]) for e in graph.edges if e.labels and (e.id in bordered or e.id in down)}
    states = {node.id for node in graph.every() if node.kind == "state"}
    back = (x for x, (e, _) in broken.items() if e.source in states and places[e.target] < places[e.source])
    loose = frozenset(_loose(graph, places)) - {*broken}
    spine = frozenset(_spine(graph)) - loose
    entered = frozenset(_entered(graph))
    return Layout(way, ends, spine, broken, frozenset(back), ranks, loose, down, entered, fixed_text)


Place = tuple[int, int, int]
"""What comes first in the picture: the rank (-1: none), the place in it, the place in the text."""


def _places(graph: Graph, ranks: Sequence[Rank], ends: Mapping[str, tuple[str, str]]) -> dict[str, Place]:
    ranked = {node: (r, n) for r, rank in enumerate(ranks) for n, node in enumerate(rank)}
    leaves = ((node.id, ends[node.id][1] if node.id in ends else node.id) for node in graph.every())
    return {node: (*ranked.get(leaf, (-1, 0)), n) for n, (node, leaf) in enumerate(leaves)}


def _loose(graph: Graph, places: Mapping[str, Place]) -> Iterator[str]:
    """Edges that lead to an earlier rank, or to another state of the same."""
    for edge in graph.edges:
        source, target = places[edge.source][0], places[edge.target][0]
        if source != -1 != target and target <= source and edge.source != edge.target:
            yield edge.id


def _within_columns(graph: Graph, places: Mapping[str, Place], ranks: Sequence[Rank]) -> dict[str, Rank]:
    """The edges between neighbours of one column, with the column."""
    columns = {}
    for edge in graph.edges:
        (rank, a, _), (other, b, _) = places[edge.source], places[edge.target]
        if rank == other != -1 and abs(a - b) == 1:
            columns[edge.id] = ranks[rank]
    return columns


def _at_borders(graph: Graph) -> set[str]:
    """The edges between two nodes of which at least one is a composite or inside one."""
    around = dict(_around(graph.nodes, ()))
    open_ends = {node.id for node in graph.every() if not node.children and not around[node.id]}
    return {e.id for e in graph.edges if e.source != e.target and not {e.source, e.target} <= open_ends}


def _entered(graph: Graph) -> Iterator[str]:
    """The composites around one end of an edge alone."""
    around = dict(_around(graph.nodes, ()))
    for edge in graph.edges:
        yield from {*around[edge.source]} ^ {*around[edge.target]}


def enclosing(graph: Graph) -> dict[str, str | None]:
    """For each edge the innermost composite around both of its ends, by id; None: the machine."""
    around = dict(_around(graph.nodes, ()))
    return {edge.id: _common(around[edge.source], around[edge.target]) for edge in graph.edges}


def _common(left: tuple[str, ...], right: tuple[str, ...]) -> str | None:
    return next((outer for outer in reversed(left) if outer in right), None)


def _ends(nodes: Iterable[Node]) -> Iterator[tuple[str, tuple[str, str]]]:
    for node in nodes:
        if node.children:
            leaves = list(_leaves(node))
            yield node.id, (leaves[-1], leaves[0])
            yield from _ends(node.children)


def _leaves(node: Node) -> Iterator[str]:
    if node.kind == "state" and not node.children:
        yield node.id
    for child in node.children:
        yield from _leaves(child)


def _around(nodes: Iterable[Node], outer: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for node in nodes:
        yield node.id, outer
        yield from _around(node.children, (*outer, node.id))


def _spine(graph: Graph) -> Iterator[str]:
    """To each state where a life goes on, the edge from the state nearest before it in the text: documents list states
    in the order of a life, so this is the usual one."""
    place = {node.id: n for n, node in enumerate(graph.every()) if node.kind == "state"}
    ends = {node.id for node in graph.every() if node.flags & {"error", "final"}}
    nearest: dict[str, Edge] = {}
    for edge in graph.edges:
        is_between_states = edge.source in place and edge.target in place
        forward = is_between_states and place[edge.source] < place[edge.target]
        if not forward or edge.line == "crash" or edge.target in ends:
            continue
        if edge.target not in nearest or place[nearest[edge.target].source] < place[edge.source]:
            nearest[edge.target] = edge
    return (edge.id for edge in nearest.values())
