"""Where diagrams have the states: `layout` in the spec, labels beside the edges of composites, rows that are folded."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import get_args

import pytest
import random_charts
from picture_geometry import meetings
from stepping import compiled
from test_draw import needs_graphviz, of
from tiers import today

from fsmdsl.draw import svg
from fsmdsl.draw.detail import MAX_ROWS, Detail, detailed
from fsmdsl.draw.dot import dot
from fsmdsl.draw.formats import FORMATS
from fsmdsl.draw.graph import Graph, Mark, Overlay, graph_of
from fsmdsl.draw.labels import written
from fsmdsl.draw.layout import layout as layout_of
from fsmdsl.draw.mermaid import mermaid
from fsmdsl.draw.placement import Box
from fsmdsl.draw.plantuml import plantuml
from fsmdsl.draw.restyle import Theme
from fsmdsl.text.diagnostics import Diagnostic

CELL = """
    initial state Free  state Used  state Reserving  state Reserved
    event go, back, stay
    e0: Free -> Used on go
    e1: Used -> Free on back
    e2: Used -> Reserving on go
    e3: Reserving -> Used on back
    e4: Reserving -> Reserved on go
    e5: Reserved -> Free on back
    e6: Reserved -> Reserved on stay
    LAYOUT
"""

NESTED = """
    initial state Queued
    state Placed { initial state Waiting  state Running }
    event place, run, evict
    place: Queued -> Placed on place
    run: Waiting -> Running on run
    evict: Placed -> Queued on evict
    crashed: Placed -> Queued on crash
    amends "why" again: Queued -> Placed on evict
"""


def cell(layout: str = "") -> Graph:
    return graph_of(of(CELL.replace("LAYOUT", layout)))


def centres(graph: Graph, direction: str | None = None) -> dict[str, tuple[float, float]]:
    """Where Graphviz has the middle of each node, from the left and from the top."""
    way = {"right": "LR", "down": "TB", None: None}[direction]
    plain = svg.rendered(dot(graph, way, fixed_text=True), "plain")  # type: ignore[arg-type]
    assert not isinstance(plain, Diagnostic)
    lines = [line.split() for line in plain.decode().splitlines()]
    return {
        x[1].strip('"').removeprefix("state-"): (round(float(x[2]), 1), -round(float(x[3]), 1))
        for x in lines
        if x[0] == "node"
    }


# `layout` ------------------------------------------------------------------------------------------------------------


@needs_graphviz
def test_rows_and_columns_keep_the_document_s_grid() -> None:
    at = centres(cell("layout rows Free, Reserved | Used, Reserving"))
    assert at["Free"][1] == at["Reserved"][1] < at["Used"][1] == at["Reserving"][1]
    assert at["Free"][0] < at["Reserved"][0]
    assert at["Used"][0] < at["Reserving"][0]
    at = centres(cell("layout columns Reserved, Used | Free, Reserving"))
    assert at["Reserved"][0] == at["Used"][0] < at["Free"][0] == at["Reserving"][0]
    assert at["Reserved"][1] < at["Used"][1]
    assert at["Free"][1] < at["Reserving"][1]


@needs_graphviz
def test_another_direction_leaves_the_layout_alone() -> None:
    laid = cell("layout rows Free, Reserved | Used, Reserving")
    assert centres(laid, "right") == centres(cell(), "right")
    assert centres(laid, "down") == centres(laid)


def test_a_layout_has_a_direction_in_every_format() -> None:
    down, right = cell("layout rows Used | Free"), cell("layout columns Used | Free")
    assert ("rankdir=TB" in dot(down), "rankdir=LR" in dot(right)) == (True, True)
    assert ("direction TB" in mermaid(down), "direction LR" in mermaid(right)) == (True, True)
    assert ("left to right" in plantuml(down), "left to right" in plantuml(right)) == (False, True)
    assert "direction TB" in mermaid(right, "TB")


def test_a_layout_is_no_part_of_the_meaning() -> None:
    plain, laid = (of(CELL.replace("LAYOUT", x)) for x in ("", "layout rows Used | Free"))
    assert plain == laid
    assert laid.grid is not None


def test_states_that_are_gone_have_no_place() -> None:
    """A comparison draws a machine without some of its states."""
    x = of(CELL.replace("LAYOUT", "layout rows Free, Reserved | Used, Reserving"))
    kept = replace(x, states=x.states[:2], transitions=())
    assert graph_of(kept).grid is not None
    assert "Reserved" not in dot(graph_of(kept))


@needs_graphviz
def test_composites_have_places_too() -> None:
    at = centres(graph_of(of(NESTED + "layout rows Placed | Queued")))
    assert at["Waiting"][1] < at["Queued"][1]


# Edges at composites -------------------------------------------------------------------------------------------------


@needs_graphviz
@pytest.mark.parametrize("layout", ["", "layout columns Queued | Placed", "layout rows Placed | Queued"])
def test_an_edge_at_a_composite_goes_on_beside_its_label(layout: str) -> None:
    graph = graph_of(of(NESTED + layout))
    drawn = svg.picture(graph, "svg")
    assert isinstance(drawn, bytes)
    labelled = {x.id for x in graph.edges if x.labels and {x.source, x.target} & {"state-Placed"}}
    assert len(labelled) == 4
    assert labelled <= {*layout_of(graph, fixed_text=True).broken}
    assert [x for x in meetings(drawn.decode()) if x.kind == "broken edge"] == []


@needs_graphviz
def test_an_edge_back_has_its_label_on_the_way() -> None:
    """Below both of its ends it would lead down first, and the way back beside everything."""
    at = centres(graph_of(of(NESTED)))
    assert at["Queued"][1] < at["label-edge-state-Placed-state-Queued"][1] < at["Waiting"][1]


# Detail --------------------------------------------------------------------------------------------------------------

MANY = "initial state A  state B  event x(n: 0..20)\n" + "\n".join(
    [f"r{n}: A on x(n) when n == {n}" for n in range(9)]
    + ['amends "why" late: A on x(n) when n > 15', "go: A -> B on x(n) when n == 12", "ho: A -> B on x(n) when n == 13"]
)


def test_rows_beyond_six_are_folded_and_none_is_lost() -> None:
    full = graph_of(of(MANY))
    folded = detailed(full)
    (a, _) = (x for x in folded.every() if x.kind == "state")
    assert [written(x) for x in a.inside[:2]] == ["r0 x(n) [n == 0]", "r1 x(n) [n == 1]"]
    assert len(a.inside) == MAX_ROWS
    assert written(a.inside[-1]) == "… 5 more, 1 amended"
    assert sorted(t for x in a.inside for t in x.transitions) == list(range(10))
    assert "late: A on x(n) when n > 15" in a.inside[-1].tooltip
    assert detailed(full, "full") == full
    for text in (dot(folded), mermaid(folded), plantuml(folded)):
        assert "… 5 more, 1 amended" in text


def test_six_rows_are_not_folded() -> None:
    six = graph_of(of(re.sub(r"r[678]:.*\n|amends.*\n", "", MANY)))
    assert detailed(six) == six


def test_labels_alone() -> None:
    graph = detailed(graph_of(of(MANY)), "labels")
    (a, _) = (x for x in graph.every() if x.kind == "state")
    assert [written(x) for x in a.inside] == ["r0, r1, r2, r3, r4, r5, r6, r7, r8", "+late"]
    (edge,) = (e for e in graph.edges if e.labels)
    assert [written(x) for x in edge.labels] == ["go, ho"]
    assert edge.labels[0].transitions == (10, 11)


def test_a_folded_row_has_a_mark_that_all_share() -> None:
    marks = Overlay(transitions={n: Mark("seen") for n in range(10)})
    (a, _) = (x for x in detailed(graph_of(of(MANY), marks)).every() if x.kind == "state")
    assert a.inside[-1].mark == Mark("seen")
    marks = Overlay(transitions={n: Mark("seen" if n else "unseen") for n in range(9)})
    (a, _) = (x for x in detailed(graph_of(of(MANY), marks)).every() if x.kind == "state")
    assert a.inside[-1].mark is None


# Colours -------------------------------------------------------------------------------------------------------------


def test_mermaid_has_a_colour_for_amendments() -> None:
    text = mermaid(graph_of(of(NESTED), junctions=False))
    assert "Queued --> Placed : place<br/>" not in text
    assert "<font color=mediumorchid>+again evict</font>" in text
    assert text.count("<font") == 1


@needs_graphviz
@pytest.mark.parametrize(
    ("theme", "has", "has_not"),
    [
        ("light", "background: #ffffff", "prefers-color-scheme"),
        ("dark", "background: #0d1117", "prefers-color-scheme"),
        ("mono", "currentColor; }", "light-dark"),
        ("auto", "light-dark(", "nothing"),
    ],
)
def test_themes(theme: Theme, has: str, has_not: str) -> None:
    drawn = svg.picture(cell(), "svg", theme=theme)
    assert isinstance(drawn, bytes)
    style = re.search(r"<style>(.*?)</style>", drawn.decode(), re.DOTALL)
    assert style is not None
    assert has in style[1]
    assert has_not not in style[1]


@needs_graphviz
def test_the_command_has_them(tmp_path: Path) -> None:
    (tmp_path / "a.fsm").write_text("module a\nmachine M {" + CELL.replace("LAYOUT", "layout rows Used | Free") + "}\n")

    def draw(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "fsmdsl", "draw", "a.fsm", "--out", "-", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    done = draw("--direction", "right", "--detail", "labels", "--format", "dot")
    assert "rankdir=LR" in done.stdout, done.stderr
    assert "stay" not in re.sub(r'TITLE="[^"]*"|tooltip="[^"]*"', "", done.stdout)
    done = draw("--theme", "dark", "--format", "png")
    assert (done.returncode, "`--theme` applies only to SVG" in done.stderr) == (2, True)


# Every machine -------------------------------------------------------------------------------------------------------

STARTS = """
    initial state Start
    state A { initial state X  state Y }
    state B { initial state P  state Q }
    event start, go, enable
    Start -> A on start
    X -> Y on go
    X -> P on enable
    Y -> Q on enable
    P -> Q on go
    Q -> B on start
"""
ANYWHERE = "initial state A  state B { initial state C  state D }  event go, halt  A -> B on go  * -> D on halt"
JOINED = """
    initial state A  state B  state C  state D { initial state E  state F }
    event go, halt
    A, B, C -> F on halt
    A -> B on go
    F -> A on go
"""


@pytest.mark.parametrize("text", [STARTS, ANYWHERE, JOINED])
def test_only_states_of_the_text_have_an_edge_that_is_kept_straight(text: str) -> None:
    """Nested starts, the source `*` and junctions have a place in the text, too, but are no states."""
    graph = graph_of(of(text))
    states = {x.id for x in graph.every() if x.kind == "state"}
    edges = {x.id: x for x in graph.edges}
    spine = [edges[x] for x in layout_of(graph, fixed_text=True).spine]
    assert spine
    assert all({x.source, x.target} <= states for x in spine)


@pytest.mark.parametrize("seed", today(range(160)))
def test_a_random_chart_is_drawn_in_every_format(seed: int) -> None:
    random, text = Random(seed), random_charts.text_of(seed)
    names = sorted(set(re.findall(r"state (\w+)", text)), key=lambda _: random.random())
    ranks = [x for x in (names[::2], names[1::2]) if x]
    grid = f"layout {random.choice(['rows', 'columns'])} {' | '.join(map(', '.join, ranks))}"
    for written_text in (text, text.replace("initial", f"{grid} initial", 1)):
        for machine in compiled(written_text).machines.values():
            for form in FORMATS:
                for detail in get_args(Detail):
                    for direction in (None, "LR", "TB"):
                        graph = detailed(form.graph(machine), detail)
                        assert (form.text or dot)(graph, direction)


@pytest.mark.parametrize(
    ("box", "is_within"),
    [
        (Box(0, 0, 10, 10), True),
        (Box(2, 3, 4, 5), True),
        (Box(-1, 3, 4, 5), False),
        (Box(2, -1, 4, 5), False),
        (Box(2, 3, 11, 5), False),
        (Box(2, 3, 4, 11), False),
    ],
)
def test_a_box_is_within_another_one_on_all_four_sides(box: Box, is_within: bool) -> None:
    assert box.within(Box(0, 0, 10, 10)) is is_within
