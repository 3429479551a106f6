"""Diagrams: nothing of a machine is lost, nothing of a text escapes, and the texts are as the golden files show them.

`UPDATE=1 pytest tests/test_draw.py` rewrites the golden files; each holds the spec that it was made from.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from time import process_time
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsmdsl import model as m
from fsmdsl.diagnostics import Diagnostic
from fsmdsl.draw import svg
from fsmdsl.draw.dot import dot
from fsmdsl.draw.graph import Edge, Graph, Label, Mark, Node, Overlay, graph_of
from fsmdsl.draw.labels import lines, plain, written
from fsmdsl.draw.legend import legend
from fsmdsl.draw.mermaid import RESERVED, mermaid
from fsmdsl.draw.plantuml import plantuml
from fsmdsl.draw.restyle import restyled
from fsmdsl.draw.sequence import (
    Change,
    Failure,
    Message,
    Note,
    Participant,
    Sequence,
    Step,
    as_mermaid,
    as_plantuml,
)
from fsmdsl.draw.sequence_svg import as_svg
from fsmdsl.draw.text import LONG_WORD, identifiers, safe, wrapped
from fsmdsl.parse import parse
from fsmdsl.resolve import resolve
from fsmdsl.source import Source, Span
from fsmdsl.workspace import load

ROOT = Path(__file__).parent
GOLDEN = ROOT / "golden" / "draw"
SPECS = ROOT.parent / "specs"
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
    loaded = load([SPECS])
    assert loaded.model is not None
    return list(loaded.model.machines.values())


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
@settings(max_examples=100)
def test_wrapping_keeps_words_and_width(listed: list[str], width: int) -> None:
    laid = wrapped(" ".join(listed), width, most=10_000)
    assert "".join(laid).replace(" ", "") == "".join(listed)
    assert max(map(len, laid), default=0) <= max(width, min(LONG_WORD, max(map(len, listed), default=0)))


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


# Pictures ------------------------------------------------------------------------------------------------------------


@needs_graphviz
def test_svg_has_an_id_for_every_node_edge_and_label() -> None:
    for x in (of(NESTED), *(x for x in documented() if x.name in ("AffinityGroup", "Cell"))):
        g = graph_of(x, prefix="one-")
        drawn = svg.picture(g, "svg")
        assert isinstance(drawn, bytes)
        root = ElementTree.fromstring(drawn)
        listed = [found for y in root.iter() if (found := y.get("id")) is not None]
        ids = {n.id for n in g.every()} | {e.id for e in g.edges}
        ids |= {label.id for e in g.edges for label in e.labels} | {label.id for n in g.every() for label in n.inside}
        assert ids <= set(listed)
        assert len(listed) == len(set(listed))
        assert root.get("role") == "img"
        assert root.get("aria-label") == f"State machine {x.display}"


@needs_graphviz
def test_tooltips_are_titles_and_ink_is_the_page_s() -> None:
    x = of("initial state A /// where it begins\n  state B  event x\n  /// the way\n  e: A -> B on x")
    drawn = svg.picture(graph_of(x), "svg")
    assert isinstance(drawn, bytes)
    root = ElementTree.fromstring(drawn)
    by_id = {y.get("id"): y for y in root.iter() if y.get("id")}
    assert by_id["state-A"].findtext(f"{XML}title") == "where it begins"
    assert by_id["transition-0"].findtext(f"{XML}title") == "the way\ne: A -> B on x"
    assert "#24292f" not in re.sub(r"<style>.*?</style>", "", drawn.decode(), flags=re.S)
    assert not list(root.iter(f"{XML}a"))
    assert [y.get("text-anchor") for y in by_id["state-A"].iter(f"{XML}text")] == ["middle"]


@needs_graphviz
@pytest.mark.parametrize(("form", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_png_and_pdf(form: svg.Picture, start: bytes) -> None:
    drawn = svg.picture(graph_of(of("initial state A")), form)
    assert isinstance(drawn, bytes)
    assert drawn.startswith(start)


@needs_graphviz
def test_both_directions_and_no_legend() -> None:
    g = graph_of(of("initial state A  state B  event x  A -> B on x"))
    assert "rankdir=LR" in dot(g, "LR")
    assert "initial" in dot(g)
    assert "initial" not in dot(g, with_legend=False)
    assert isinstance(svg.rendered(dot(g, "LR", with_legend=False), "svg"), bytes)


def test_without_graphviz_there_is_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(svg, "find_spec", lambda _: None)
    found = svg.picture(graph_of(of("initial state A")), "svg")
    assert isinstance(found, Diagnostic)
    assert found.rule.code == "FSM501"
    assert "fsmdsl[svg]" in (found.advice or "")
    assert "--format mermaid" in (found.advice or "")


def program(folder: Path, script: str) -> Path:
    path = folder / "dot"
    path.write_text(f"#!{sys.executable}\nimport sys, time\n{script}\n")
    path.chmod(0o755)
    return path


def test_the_dot_program_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "sys.stdin.read()\nsys.stdout.write(' '.join(sys.argv[1:]))")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert svg.rendered("digraph {}", "png") == b"-Tpng -Gbgcolor=white -Gdpi=144"
    assert svg.rendered("digraph {}", "svg") == b"-Tsvg"


def test_a_failing_graphviz_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program(tmp_path, "sys.exit('Fontconfig warning: fonts\\nError: out of memory\\nFontconfig error: more')")
    found = svg.rendered("digraph {}", "svg")
    assert isinstance(found, Diagnostic)
    assert (found.rule.code, found.message) == ("FSM502", "Graphviz failed: Error: out of memory")
    program(tmp_path, "time.sleep(9)")
    monkeypatch.setattr(svg, "PATIENCE", 0.2)
    found = svg.rendered("digraph {}", "svg")
    assert isinstance(found, Diagnostic)
    assert "did not finish" in found.message
    (tmp_path / "dot").write_text("#!/no/such/interpreter\n")
    assert isinstance(svg.rendered("digraph {}", "svg"), Diagnostic)


def test_older_graphviz_is_restyled_too() -> None:
    """Version 2 has other names for nothing, and no preserved blanks."""
    old = (
        '<svg width="8pt" height="9pt" viewBox="0 0 8 9" xmlns="http://www.w3.org/2000/svg" '
        'xmlns:xlink="http://www.w3.org/1999/xlink"><g id="M" class="graph"><title>machine</title>'
        '<g id="edge-a-b" class="edge"><title>a-&gt;b</title><g id="a_edge-a-b"><a xlink:title="how">'
        '<path stroke="#24292f" d="M0,0"/></a></g><g id="a_edge-a-b-label"><a xlink:title="how">'
        '<g id="a_transition-0"><a xlink:title="how">'
        '<text x="1" y="2" font-weight="bold">e</text><text x="3" y="2">\u00a0go</text></a></g></a></g></g></g></svg>'
    )
    root = ElementTree.fromstring(restyled(old, 'a "title"'))
    inside = root.find(f".//{XML}g[@id='transition-0']")
    assert inside is not None
    assert "".join(inside.itertext()) == "howe\u00a0go"
    assert root.find(f".//{XML}path[@stroke='currentColor']") is not None
    assert root.get("aria-label") == 'a "title"'


def test_a_large_machine_is_written_in_no_time() -> None:
    states = "\n".join(f"{'initial ' if i == 0 else ''}state S{i}" for i in range(200))
    events = "\n".join(f"event e{i}" for i in range(50))
    rows = "\n".join(f"r{k}: S{k * 7 % 200} -> S{k * k % 200} on e{k % 50}" for k in range(1000))
    x = of(f"{states}\n{events}\n{rows}")
    began = process_time()
    texts = [dot(graph_of(x)), mermaid(graph_of(x, junctions=False)), plantuml(graph_of(x, junctions=False))]
    assert process_time() - began < 5
    assert all("r999" in text for text in texts)


# Sequences -----------------------------------------------------------------------------------------------------------


def chart(text: str = "") -> Sequence:
    """All that a sequence can show."""
    return Sequence(
        f"A story{text}",
        (
            Participant(f"environment{text}", "environment"),
            Participant(f"g0{text}", state=f"Pending{text}"),
            Participant(f"c0{text}", state="Free"),
            Participant(f"to_cache{text}", "channel"),
        ),
        (
            Step(f"g0.schedule({{c0}}){text}"),
            Message(0, 1, f"schedule({{c0}}){text}"),
            Message(1, 2, "take(g0)"),
            Change(2, "Free", f"Used{text}", "e0"),
            Note(2, f"user = g0{text}"),
            Change(1, "Pending", "Allocated"),
            Step("g0 again"),
            Message(None, 1, "proceed"),
            Message(1, 1, f"retry{text}"),
            Message(2, 3, "release(g0)", posted=True),
            Message(2, None, "log"),
            Note(None, f"everything changes{text}"),
            Failure(1, f"unhandled: g0 is Allocated{text}"),
            Failure(None, "deadlock"),
        ),
    )


def test_sequence_svg_is_well_formed_whatever_it_says() -> None:
    root = ElementTree.fromstring(as_svg(chart(HOSTILE), prefix="x-"))
    ids = [y.get("id") for y in root.iter() if y.get("id")]
    assert {"x-step-1", "x-step-2", "x-item-1", "x-item-13"} <= set(ids)
    assert len(ids) == len(set(ids))
    shown = "".join(root.itertext())
    assert "</svg><script>" in shown
    assert {y.tag.removeprefix(XML) for y in root.iter()} <= {
        "svg", "style", "g", "text", "rect", "line", "path", "polygon", "polyline",
    }  # fmt: skip


def test_sequence_texts_do_not_overlap_their_neighbours() -> None:
    """What stands on a lifeline ends before the next one, and all is inside the picture."""
    root = ElementTree.fromstring(as_svg(chart()))
    width = float(root.get("width", "0"))
    for box in root.iter(f"{XML}rect"):
        x = float(box.get("x", "0"))
        assert x >= 0
        assert x + float(box.get("width", "0")) <= width
    lifelines = sorted({float(y.get("x1", "0")) for y in root.iter(f"{XML}line")})
    assert len(lifelines) == 4
    assert all(b - a >= 40 for a, b in pairwise(lifelines))


def test_heads_of_a_sequence_stand_side_by_side() -> None:
    """Also where nothing is sent between neighbours."""
    names = ("environment", "proposals", "s0", "SchedulerAllocationUpdates")
    root = ElementTree.fromstring(as_svg(Sequence("heads", tuple(map(Participant, names)), (Message(0, 2, "go"),))))
    places = [(float(y.get("x", "0")), float(y.get("width", "0"))) for y in root.iter(f"{XML}rect")]
    assert len(places) == len(names)
    assert all(left + wide < right for (left, wide), (right, _) in pairwise(places))


def test_a_sequence_of_nothing() -> None:
    empty = Sequence("nothing", (), (Step("only this"), Note(None, "and this"), Failure(None, "and that")))
    ElementTree.fromstring(as_svg(empty))
    assert as_mermaid(empty).startswith("sequenceDiagram")
    assert as_plantuml(empty).endswith("@enduml\n")


def test_hostile_sequences_stay_on_their_lines() -> None:
    assert len(as_mermaid(chart(HOSTILE)).splitlines()) == len(as_mermaid(chart()).splitlines())
    text = as_plantuml(chart(HOSTILE))
    assert len(text.splitlines()) == len(as_plantuml(chart()).splitlines())
    assert text.count("@enduml") == 1


def test_an_answer_from_outside_has_an_edge_to_come_from() -> None:
    text = as_plantuml(chart())
    assert "[-> p1 : proceed" in text
    assert "p2 ->] : log" in text


# Golden files --------------------------------------------------------------------------------------------------------


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^===== (\w+)\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_golden(path: Path) -> None:
    kept = sections(path.read_text("utf-8"))
    x = machine(kept["source"])
    now = {
        "source": kept["source"],
        "dot": dot(graph_of(x)),
        "mermaid": mermaid(graph_of(x, junctions=False)),
        "plantuml": plantuml(graph_of(x, junctions=False)),
    }
    if os.environ.get("UPDATE"):
        path.write_text("".join(f"===== {name}\n{text}" for name, text in now.items()), "utf-8")
    else:
        assert kept == now


def test_golden_sequence() -> None:
    path = GOLDEN / "sequence.out"
    now = f"===== mermaid\n{as_mermaid(chart())}===== plantuml\n{as_plantuml(chart())}"
    if os.environ.get("UPDATE"):
        path.write_text(now, "utf-8")
    else:
        assert path.read_text("utf-8") == now


@needs_graphviz
def test_golden_dot_is_dot() -> None:
    """What the golden files hold, Graphviz reads without a word."""
    for path in sorted(GOLDEN.glob("*.txt")):
        command = svg._command("svg")
        assert command is not None
        done = subprocess.run(command, input=sections(path.read_text("utf-8"))["dot"].encode(), capture_output=True)
        said = [x for x in done.stderr.decode().splitlines() if x and "ontconfig" not in x]
        assert (done.returncode, said) == (0, [])


def test_mermaid_has_composites_at_one_level() -> None:
    """Mermaid draws the states of an inner composite outside of it."""
    body = """
    initial state A  event go, back, tick
    state Outer {
      initial state B
      state Inner { initial state C  state D }
    }
    Inner on tick
    B -> Inner on go
    C -> D on go
    Inner -> B on back
    A -> Outer on go
    """
    drawn = mermaid(graph_of(of(body), junctions=False))
    assert drawn.count("{") == 1
    assert 'state "Inner / C" as C' in drawn
    assert {"B --> C : go", "C --> D : go", "C --> B : back", "D --> B : back", "A --> Outer : go"} <= {
        line.strip() for line in drawn.splitlines()
    }
    assert {"C : tick", "D : tick"} <= {line.strip() for line in drawn.splitlines()}


@needs_graphviz
def test_a_page_of_pdf_is_as_large_as_the_drawing() -> None:
    graph = graph_of(next(x for x in documented() if x.qualified == "hived.Cell"))
    drawn, page = svg.picture(graph, "svg"), svg.picture(graph, "pdf")
    assert isinstance(drawn, bytes)
    assert isinstance(page, bytes)
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+)", page)
    assert box is not None
    width = float(ElementTree.fromstring(drawn).get("width", "0").removesuffix("pt"))
    assert 0.8 * width < float(box[1]) < 1.4 * width
