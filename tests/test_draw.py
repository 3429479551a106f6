"""Diagrams: nothing of a machine is lost, and nothing of a text escapes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loading import SPECS, model_of
from tiers import share

from fsmdsl import model as m
from fsmdsl.draw import svg
from fsmdsl.draw.graph import Edge, Graph, Label, Mark, Node, Overlay, graph_of
from fsmdsl.draw.labels import lines, plain, written
from fsmdsl.draw.legend import legend
from fsmdsl.draw.mermaid import RESERVED, mermaid
from fsmdsl.draw.plantuml import plantuml
from fsmdsl.draw.text import MAX_WORD, identifiers, safe, wrapped
from fsmdsl.model.resolve import resolve
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source, Span

ROOT = Path(__file__).parent
GOLDEN = ROOT / "golden" / "draw"
XML = "{http://www.w3.org/2000/svg}"

needs_graphviz = pytest.mark.skipif(svg._command("svg") is None, reason="no Graphviz")


def machine(text: str) -> m.Machine:
    """The only machine of a module."""
    resolved = resolve([parse(Source("test.fsm", text)).module])
    assert resolved.model is not None, [d.message for d in resolved.diagnostics]
    (found,) = resolved.model.machines.values()
    return found


def of(body: str) -> m.Machine:
    return machine(f"module test\nmachine M {{\n{body}\n}}\n")


def documented() -> list[m.Machine]:
    return list(model_of(SPECS).machines.values())


def node(graph: Graph, name: str) -> Node:
    return next(n for n in graph.every() if n.id == name)


def edge(graph: Graph, source: str, target: str) -> Edge:
    (found,) = (e for e in graph.edges if (e.source, e.target) == (source, target))
    return found


def told(labels: tuple[Label, ...]) -> list[str]:
    return [written(label) for label in labels]


# The graph -----------------------------------------------------------------------------------------------------------


def test_transitions_between_the_same_states_share_an_edge() -> None:
    g = graph_of(of("initial state A  state B  event x, y  e1: A -> B on x  e2: A -> B on y  ec: A -> B on crash"))
    together, crash = (e for e in g.edges if e.labels)
    assert told(together.labels) == ["e1 x", "e2 y"]
    assert (together.transitions, crash.transitions) == ((0, 1), (2,))
    assert (crash.line, crash.id) == ("crash", "edge-state-A-state-B-crash")


def test_a_label_that_repeats_the_event_is_written_once() -> None:
    g = graph_of(of("initial state A  state B  event x  x: A -> B on x"))
    assert told(edge(g, "state-A", "state-B").labels) == ["x"]


def test_labels_say_arguments_guard_outcome_and_time() -> None:
    body = """
    initial state A  state B
    event x(n: 0..3)  action go -> ok | err  param wait_for: duration = 5min
    e1: A -> B on x(n) when n > 1
    A -> B on go.ok
    A -> B after wait_for
    t: A -> B after 30s
    A -> B when wait
    """
    (between,) = (e for e in graph_of(of(body)).edges if e.labels)
    assert told(between.labels) == ["e1 x(n) [n > 1]", "go.ok", "after wait_for", "t after 30s", "[wait]"]


def test_three_sources_flow_together_and_a_loop_stays_out() -> None:
    g = graph_of(of("initial state A  state B  state C  state D  event x  A, B, C, D -> D on x"))
    assert [e.source for e in g.edges if e.into_junction] == ["state-A", "state-B", "state-C"]
    assert told(edge(g, "junction-0", "state-D").labels) == ["x"]
    assert told(edge(g, "state-D", "state-D").labels) == ["x"]


def test_two_sources_do_not_and_neither_do_different_readings() -> None:
    two = "initial state A  state B  state C  event x  A, B -> C on x"
    different = "initial state A  state B  state C  state D  event x  A, B -> D on x  C -> D on x when wait"
    for body in (two, different):
        assert not [n for n in graph_of(of(body)).every() if n.kind == "junction"]


def test_events_of_the_same_sources_share_a_junction() -> None:
    g = graph_of(of("initial state A  state B  state C  state D  event x, y  A, B, C -> D on x  A, B, C -> D on y"))
    assert [n.id for n in g.every() if n.kind == "junction"] == ["junction-0"]
    assert told(edge(g, "junction-0", "state-D").labels) == ["x", "y"]
    assert edge(g, "state-B", "junction-0").transitions == (1, 4)


def test_without_junctions_every_source_has_its_own_arrow() -> None:
    g = graph_of(of("initial state A  state B  state C  state D  event x  A, B, C -> D on x"), junctions=False)
    assert [told(edge(g, f"state-{s}", "state-D").labels) for s in "ABC"] == [["x"]] * 3


def test_the_star_is_one_node() -> None:
    g = graph_of(of("initial state A  state B  final state C  event x, y, z  * -> C on x  * -> B on y  * on z"))
    assert told(node(g, "any").inside) == ["z"]
    assert told(edge(g, "any", "state-C").labels) == ["x"]
    assert told(edge(g, "any", "state-B").labels) == ["y"]


def test_internal_transitions_stand_in_the_state() -> None:
    g = graph_of(of("initial state A  event x  e: A on x"))
    assert told(node(g, "state-A").inside) == ["e x"]


NESTED = """
    initial state Idle
    state Outer { initial state A  state Inner { initial state B  state C }  state D }
    event x, y, z, u
    Idle -> Outer on x
    Outer -> Idle on y
    Outer -> C on z
    C -> Outer on u
"""


def test_composites_nest_with_a_start_of_their_own() -> None:
    g = graph_of(of(NESTED))
    outer = node(g, "state-Outer")
    assert [n.id for n in outer.children] == ["start-Outer", "state-A", "state-Inner", "state-D", "junction-2"]
    assert edge(g, "start-Inner", "state-B").labels == ()
    assert told(edge(g, "state-Idle", "state-Outer").labels) == ["x"]


def test_no_edge_joins_a_composite_and_a_state_in_it() -> None:
    """`Outer -> C` leaves each leaf, `C -> Outer` enters the first: what Graphviz and Mermaid could not draw."""
    g = graph_of(of(NESTED), junctions=False)
    assert [e.source for e in g.edges if e.target == "state-C"] == ["state-A", "state-B", "state-C", "state-D"]
    assert told(edge(g, "state-C", "state-A").labels) == ["u"]


def test_marks_colour_states_and_transitions() -> None:
    x = of("initial state A  state B  event x, y  A -> B on x  A -> B on y")
    over = Overlay({"B": Mark("unseen", "never")}, {0: Mark("seen", "3×"), 1: Mark("unseen")})
    g = graph_of(x, over)
    both = edge(g, "state-A", "state-B")
    assert both.mark == Mark("seen")
    assert [label.mark for label in both.labels] == [Mark("seen", "3×"), Mark("unseen")]
    assert node(g, "state-B").mark == Mark("unseen", "never")
    assert {"seen", "unseen"} <= set(legend(g))


def test_the_legend_has_what_occurs_and_no_more() -> None:
    assert legend(graph_of(of("initial state A  event x  A -> A on x"))) == ["initial"]
    body = """
    initial persistent state A  volatile state B  transient state C  error state D  final state E  event x
    A -> B on x  B -> C on x  C -> E on x  B -> A on crash  amends "why" A -> D on x when wait
    """
    assert legend(graph_of(of(body))) == [
        "initial", "final", "persistent", "volatile", "transient", "error", "crash", "amended",
    ]  # fmt: skip


def test_every_documented_transition_is_drawn_and_every_id_is_unique() -> None:
    for x in documented():
        for junctions in (True, False):
            g = graph_of(x, junctions=junctions)
            inside = [label for n in g.every() for label in n.inside]
            drawn = {i for e in g.edges for i in e.transitions}
            internal = {t.index for t in x.transitions if t.target is None}
            assert drawn == {t.index for t in x.transitions} - internal, x.qualified
            assert len(inside) <= len(internal)
            assert bool(inside) == bool(internal)
            ids = [n.id for n in g.every()] + [e.id for e in g.edges]
            ids += [label.id for label in (*inside, *(label for e in g.edges for label in e.labels))]
            assert len(ids) == len(set(ids)), x.qualified
            assert all(re.fullmatch(r"[A-Za-z0-9_-]+", name) for name in ids)


# Text ----------------------------------------------------------------------------------------------------------------

words = st.lists(st.text("abcXYZ_(){}", min_size=1, max_size=60), max_size=30)


@given(words, st.integers(4, 40))
@settings(max_examples=share(100))
def test_wrapping_keeps_words_and_width(listed: list[str], width: int) -> None:
    laid = wrapped(" ".join(listed), width, most=10_000)
    assert "".join(laid).replace(" ", "") == "".join(listed)
    assert max(map(len, laid), default=0) <= max(width, min(MAX_WORD, max(map(len, listed), default=0)))


def test_a_long_text_is_cut() -> None:
    laid = wrapped("word " * 1000, 20, 3)
    assert len(laid) == 3
    assert laid[-1].endswith(" …")


@given(st.lists(st.text(), unique=True))
def test_safe_names_differ(names: list[str]) -> None:
    assert len({safe(name) for name in names}) == len(names)


@given(st.lists(st.text(min_size=1), unique=True, max_size=20))
def test_identifiers_are_free_and_differ(names: list[str]) -> None:
    given_names = identifiers([f"state-{name}" for name in names], RESERVED)
    assert len({x.casefold() for x in given_names.values()}) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_]+", x) for x in given_names.values())
    assert not {x.casefold() for x in given_names.values()} & RESERVED


def test_guards_break_before_and_or_behind_a_colon() -> None:
    guard = "all c in choice: c in {Free, Reserved} and some thing is so"
    head, *rest = plain(Label("i", "e0", "schedule(choice)", guard, "plain", ""))
    assert head == "e0 schedule(choice)"
    assert rest == ["[all c in choice:", "c in {Free, Reserved}", "and some thing is so]"]


def test_an_amended_label_is_told_by_a_plus() -> None:
    label = Label("i", "e0", "go", "", "amended", "")
    assert lines(label) == [[("+e0", "name"), (" go", "trigger")]]
    assert written(replace(label, name="")) == "+go"


# Hostile text --------------------------------------------------------------------------------------------------------

HOSTILE = (
    "</svg><script>alert(1)</script> <b>&amp; \"q\" 'it' \\N \\n \\l \\E \\ {x|y} [*] %% ; # --> :: `t` $x ~~ ** __ "
    "<U+0041> <<choice>> // é \x00 \x0b ]]>\n@enduml"
)


def hostile() -> m.Machine:
    """A machine whose every text is hostile, as no parser would pass it."""
    x = of("initial state A  state B  state C { initial state D }  event x  e: A -> B on x  A, B, D -> C on x  A on x")
    source = Source("hostile", HOSTILE)
    guard = m.Constant(True, m.BOOL, Span(source, 0, len(HOSTILE)))
    transitions = tuple(
        replace(t, label=HOSTILE, doc=HOSTILE, guard=guard, amended=HOSTILE if t.index % 2 else None)
        for t in x.transitions
    )
    states = tuple(replace(s, display=HOSTILE, doc=HOSTILE, amended=HOSTILE) for s in x.states)
    return replace(x, display=HOSTILE, doc=HOSTILE, states=states, transitions=transitions)


ONE_LINE = " ".join(HOSTILE.split()).replace("\x00", "\ufffd")


@needs_graphviz
def test_svg_shows_hostile_text_as_it_is() -> None:
    drawn = svg.picture(graph_of(hostile(), Overlay({"A": Mark("focus", HOSTILE)})), "svg")
    assert isinstance(drawn, bytes)
    root = ElementTree.fromstring(drawn)
    assert {x.tag.removeprefix(XML) for x in root.iter()} <= {
        "svg", "style", "desc", "g", "title", "text", "tspan", "path", "polygon", "polyline", "ellipse",
    }  # fmt: skip
    titles = [x.text or "" for x in root.iter(f"{XML}title")]
    assert f"{ONE_LINE}\namended: {ONE_LINE}" in titles
    shown = "".join("".join(x.itertext()) for x in root.iter(f"{XML}text"))
    for part in ("</svg><script>alert(1)</script>", "&amp;", "\\N", "\\E", "<U+0041>", "::", "é"):
        assert part in shown, part


def test_mermaid_prints_hostile_text_by_number() -> None:
    state = r'state "[^"]*" as \w+( \{)?'
    arrow = r"(\[\*\]|\w+) --> (\[\*\]|\w+)( : .*)?"
    other = r"\w+ : .*|\}|classDef \w+ [^\";]+|class [\w,]+ \w+|direction TB"
    first, *rest = mermaid(graph_of(hostile(), junctions=False)).splitlines()
    assert first == "stateDiagram-v2"
    for line in map(str.strip, rest):
        assert re.fullmatch(f"{state}|{arrow}|{other}", line), line
        told = re.sub(r"<br/>|<font color=mediumorchid>|</font>|#\d+;", "", line.partition(" : ")[2] or line)
        assert not re.search(r"[;#<>&%\\`$*~]|::", told.replace("#c4323d", "").replace("#8250df", "")) or (
            line.startswith(("classDef", "[*]")) or "-->" in told
        ), line


def test_plantuml_prints_hostile_text_by_number() -> None:
    text = plantuml(graph_of(hostile(), junctions=False))
    assert text.count("@enduml") == 1
    for line in text.splitlines():
        told = re.sub(r"<U\+[0-9A-F]{4}>|\\n", "", line.partition(" : ")[2])
        assert not re.search(r"[<>&\"\\%'$~|#@!]|\*\*|//|__|--", told), line


def test_a_state_may_be_called_what_a_format_reserves() -> None:
    g = graph_of(of("initial state note  state class_  state style  event x  note -> style on x  style -> class_ on x"))
    text = mermaid(g)
    assert 'state "note" as note_' in text
    assert "note_ --> style_ : x" in text
