"""Nothing in a diagram covers a text, and no edge has a gap (SVG)."""

from __future__ import annotations

from pathlib import Path

import pytest
import random_charts
from picture_geometry import Meeting, meetings
from stepping import compiled
from test_draw import needs_graphviz, of
from tiers import today

from fsmdsl import model as m
from fsmdsl.draw import svg
from fsmdsl.draw.detail import detailed
from fsmdsl.draw.graph import Graph, graph_of
from fsmdsl.draw.restyle import restyled
from fsmdsl.model.workspace import load

ROOT = Path(__file__).parent.parent

JOB = """
    initial state Requested
    state Pending "pending: the group is taken"
    state Queued
    state InProgress { initial state SettingUp  state Steps }
    state Completed { state Success  state Failure  state Cancelled }
    event request, admitted, superseded, report, cancel, rerun, picked
    action provision -> ok | err
    request: Requested -> Pending on request
    admit: Pending -> Queued on admitted
    older: Pending -> Cancelled on superseded
    pick: Queued -> SettingUp on picked do provision
    ready: SettingUp -> Steps on provision.ok
    broken: SettingUp -> Failure on provision.err
    idle: Queued -> Cancelled after 24h
    report: Steps -> Success on report
    lost: InProgress -> Failure on cancel
    rerun: Completed -> Pending on rerun
    cancel: Requested, Pending, Queued -> Cancelled on cancel
    crashed: InProgress -> Requested on crash
    amends "why" again: Completed -> SettingUp on admitted
"""


def in_the_way(graphs: dict[str, Graph]) -> dict[str, list[Meeting]]:
    """By name, what covers what in pictures that have any of it."""
    by_name = {}
    for name, drawn in zip(graphs, svg.pictures([*graphs.values()]), strict=True):
        assert isinstance(drawn, str)
        by_name[name] = meetings(drawn)
    return {name: x for name, x in by_name.items() if x}


@needs_graphviz
@pytest.mark.parametrize(
    "layout", ["", "layout columns Requested, Pending | Queued", "layout rows Requested | Pending, Queued"]
)
def test_nothing_covers_a_text_and_no_edge_has_a_gap(layout: str) -> None:
    assert in_the_way({"Job": graph_of(of(JOB + layout))}) == {}


CROSSED = {"kubernetes.admission.Gang"}
"""Four crash rows lead from a border to states inside it, and an edge crosses one of their labels."""


@needs_graphviz
@pytest.mark.full(reason="Graphviz draws every machine of the repository")
def test_the_diagrams_of_the_repository() -> None:
    machines: list[m.Machine] = []
    for path in (ROOT / "specs", *sorted((ROOT / "benchmarks").rglob("*.fsm"))):
        loaded = load([path])
        assert loaded.model is not None
        machines.extend(loaded.model.machines.values())
    assert len(machines) > 60
    charts = {f"{n} {x.qualified}": detailed(graph_of(x)) for n, x in enumerate(machines) if x.qualified not in CROSSED}
    assert in_the_way(charts) == {}


@needs_graphviz
@pytest.mark.full(reason="Graphviz draws a hundred random machines")
def test_random_diagrams() -> None:
    """Beside a small loop with many labels there may be no free place: one picture in ten at most has a text in the
    way. No edge has a gap."""
    seeds = list(today(range(200)))
    machines = {str(seed): next(iter(compiled(random_charts.text_of(seed)).machines.values())) for seed in seeds}
    covered = in_the_way({seed: graph_of(x) for seed, x in machines.items()})
    assert len(covered) <= len(seeds) / 10
    assert [x for found in covered.values() for x in found if x.kind == "broken edge"] == []


PICTURE = """
<svg width="200pt" height="200pt" viewBox="0 0 200 200" xmlns="http://www.w3.org/2000/svg">
<g id="M" class="graph" transform="scale(1 1) rotate(0) translate(0 200)">
<g id="state-Outer" class="cluster composite"><polygon points="50,-150 50,-10 150,-10 150,-150 50,-150"/>
<text x="80" y="-138" font-size="12.00" font-weight="bold">Outer</text></g>
<g id="state-A" class="node state"><polygon points="80,-190 80,-170 120,-170 120,-190 80,-190"/></g>
<g id="edge-a-b" class="edge plain"><path d="M100,-170C100,-140 100,-110 100,-60"/>
<g id="transition-0" class="label"><text x="104" y="-149" font-size="10.00">go</text></g></g>
</g></svg>
"""


def test_a_text_in_the_way_moves_to_the_nearest_free_place() -> None:
    """The title gives way to the edge, and the label to the border; both stay where they belong."""
    as_drawn = PICTURE.replace('font-size="12.00"', 'font-size="12.00" textLength="38"')
    as_drawn = as_drawn.replace('font-size="10.00"', 'font-size="10.00" textLength="11"')
    assert {x.kind for x in meetings(as_drawn)} == {"title on edge", "label on border"}
    assert meetings(restyled(PICTURE, "M")) == []
