"""Questions about texts, without a protocol: places, names, completion, what moves with an edit."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from queue import Queue

import pytest
from stepping import compiled

from fsmdsl.editor.editing import Highlight, OpenDocuments, completions, diagnostics, explanation, offset_at, tokens
from fsmdsl.editor.editing.explorer import Explorer
from fsmdsl.editor.editing.findings import Findings
from fsmdsl.editor.editing.position_map import Shift
from fsmdsl.editor.editing.rename import RefusedError, rename
from fsmdsl.editor.lsp.positions import Lines
from fsmdsl.text.source import Source

DOOR = """\
/// A door.
machine Door {
    opened: 0..9
    initial state Open
    state Shut
    event push(by: Door), pull from environment
    p: Open -> Shut on push(by) when by.opened >= opened do opened = by.opened
    Shut -> Open on pull
}
system One {
    doors: Door[2]
    invariant low: all d in doors: d.opened < 9
}
"""


def words(text: str) -> list[tuple[str, str, bool]]:
    return [(text[h.start : h.end], h.kind, h.declares) for h in tokens(text)]


def test_tokens_say_what_words_are() -> None:
    found = words(DOOR)
    assert found[:3] == [("/// A door.", "doc", False), ("machine", "keyword", False), ("Door", "machine", True)]
    assert ("by", "local", True) in found
    assert ("opened", "field", False) in found
    assert ("p", "label", True) in found
    assert ("doors", "group", True) in found
    assert found[-2:] == [("9", "number", False), ("}", "sign", False)]
    spans = [(h.start, h.end) for h in tokens(DOOR)]
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert tokens("") == []
    assert tokens("// x") == [Highlight(0, 4, "comment")]


BOLT = """\
module lock
machine Bolt {
    initial state Out
    state Shut
    event push from environment
    action move -> done | stuck
    Out on push do move
    Out -> Shut on move.done
    Out on move.stuck
    slow: Shut -> Out after 5s
}
system One { bolt: Bolt in Shut }
scenario S1 "it opens again" of One {
    timeout bolt of slow
    expect bolt in Out
}
"""


@pytest.mark.parametrize(
    ("word", "kind", "declared"),
    [
        ("lock", "module", [True]),
        ("done", "outcome", [True, False]),
        ("stuck", "outcome", [True, False]),
        ("Shut", "state", [True, False, False, False]),
        ("slow", "label", [True, False]),
        ("bolt", "group", [True, False, False]),
    ],
)
def test_a_word_is_known_wherever_it_stands(word: str, kind: str, declared: list[bool]) -> None:
    """Where an instance begins, and in scenarios, as in rows."""
    assert [x for w, k, x in words(BOLT) if (w, k) == (word, kind)] == declared


AMENDED = """\
module m
machine Door {
    opened: 0..9
    initial state Open
    state Shut
    event push from environment
    e1: Open -> Shut on push when opened < 9
    Shut on push
    amends "it counts" replaces
        e1: Open -> Shut on push when opened < 9 do opened = opened + 1
}
"""


@pytest.mark.parametrize("name", ["opened", "push", "Shut"])
def test_a_name_is_changed_in_rows_that_an_amendment_replaces(name: str) -> None:
    text = renamed(AMENDED, name, 0, "other")
    assert text.count("other") == AMENDED.count(name)
    assert compiled(text, as_documented=True).machines
    assert compiled(text).machines


def test_diagnostics_of_a_text() -> None:
    assert [d.rule.code for d in diagnostics(DOOR.replace("-> Shut", "-> Shot"))] == ["FSM101"]
    found = diagnostics(DOOR.replace("-> Shut on", "-> on"), "door.fsm")
    assert [str(d.span) for d in found] == ["door.fsm:7:16"]


def test_a_system_called_like_a_machine_is_an_error_and_no_more() -> None:
    for machine in ("machine a { initial state S }", "machine a { initial state S let x = true }"):
        found = diagnostics(f"{machine} system a {{ let x = 3 }}")
        assert [d.message for d in found] == ["`a` is already declared"]


def test_explanation() -> None:
    found = explanation(DOOR, DOOR.index("by.opened >="))
    assert found is not None
    assert found.span.text == "by"
    assert "by: Door" in found.text
    assert explanation(DOOR, len(DOOR)) is None


def test_nothing_in_a_comment_ends_its_frame() -> None:
    """Whatever an author writes, it is shown as text."""
    hostile = DOOR.replace("/// A door.", "/// ``` <script>alert(1)</script> [x](http://y) **z**")
    found = explanation(hostile, hostile.index("Door {"))
    assert found is not None
    assert "<script>" not in found.text
    assert "\\<script\\>" in found.text
    assert "\\[x\\]" in found.text


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("", "channel"),
        ("machine ", None),
        ("/// comp", None),
        ('machine M "titl', None),
        ("machine M { x: 0..9 initial state A state B A -> ", "A"),
        ("machine M { initial state A A on ", "crash"),
        ("machine M { initial state A invariant A and A", "A"),
        ("import ", "kubernetes"),
        ("enum E { a | b } machine M { e: E initial state A invariant e == ", "a"),
        ("machine M { f: M? initial state A invariant f in ", "A"),
        ("machine M { initial state A event e from ", "environment"),
        ("opaque T machine M { x: ", "T"),
        ("record R { n: bool } machine M { x: ", "R"),
        ("record R { n: bool } machine M { r: R initial state A invariant r.", "n"),
        ("record R { n: bool } machine M { r: R event e initial state A A on e do r.", "n"),
        ("record R { n: bool } machine M { r: R? event e(p: R) initial state A A on e(p) when p.", "n"),
        ("scenario X { timeout ", "self"),
        ("machine M { initial state A } system S { m: M environment { crash of ", "m"),
        ("machine M { n: 0..9 initial state A invariant 2 * ", "n"),
        ("machine M { n: 0..9 initial state A * ", "on"),
        ("machine M { initial state A invariant all i in 0..3: ", "i"),
        ("enum E { a | b } machine M { initial state A invariant all e in E: e == ", "a"),
        ("machine M { initial state A } machine N { seen: state of M  initial state B invariant seen == ", "A"),
        ("machine M { initial state A } machine N { seen: state of M  initial state B invariant seen in {", "A"),
        ("machine M { initial state A } machine N { seen: state of M = M.", "A"),
        ("machine M { initial state A } machine N { seen: state ", "of"),
        ("machine M { initial state A } machine N { seen: state of ", "M"),
        ("machine M { m: M? initial state A invariant state(", "m"),
        ("machine M { initial state A } system S { ms: M[2] invariant all q in subsets(ms), x in q: x in ", "A"),
    ],
)
def test_completion_at_the_end_of_a_text(typed: str, first: str | None) -> None:
    found = [c.label for c in completions(typed, len(typed))]
    assert (first in found[:9]) if first else found == []


def test_completion_does_not_offer_what_the_grammar_refuses() -> None:
    text = "machine M { initial state A state B A -> B "
    listed = {c.label for c in completions(text, len(text))}
    assert {"on", "when", "do", "after", "invariant"} <= listed
    assert {"machine", "then", "expect"}.isdisjoint(listed)


def test_places() -> None:
    source = Source("x", "ab\n\U0001f600c\n")
    assert [offset_at(source, *at) for at in ((1, 1), (1, 9), (2, 2), (3, 1), (9, 9), (0, 0))] == [0, 2, 4, 6, 6, 0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_positions_of_the_protocol(encoding: str) -> None:
    text = "a\U0001f600é\r\n\r\rx\n𝔾"
    known = Lines(text, encoding)
    for offset in (o for o in range(len(text) + 1) if text[o - 1 : o + 1] != "\r\n"):
        assert known.offset(known.position(offset)) == offset
    wide = {"utf-8": 7, "utf-16": 4, "utf-32": 3}[encoding]
    assert known.position(3).character == wide
    assert [known.position(o).line for o in range(len(text) + 1)] == [0, 0, 0, 0, 0, 1, 2, 3, 3, 4, 4]


def test_what_was_found_moves_with_the_text() -> None:
    shift = Shift("one two three", "one 2 and three")
    assert shift.place(0, 3) == (0, 3)
    assert shift.place(4, 7) is None
    assert shift.place(8, 13) == (10, 15)
    assert Shift("aaa", "aaaa").place(0, 3) == (0, 3)
    assert Shift("abc", "abc").place(0, 3) == (0, 3)


# Names ---------------------------------------------------------------------------------------------------------------


def renamed(text: str, words: str, by: int, name: str) -> str:
    desk = OpenDocuments()
    desk.open("x.fsm", text)
    edits = rename(desk.analysis("x.fsm"), "x.fsm", text.index(words) + by, name)
    for e in sorted(edits, key=lambda e: e.span.start, reverse=True):
        text = text[: e.span.start] + e.text + text[e.span.end :]
    return text


def test_renaming() -> None:
    assert renamed(DOOR, "opened:", 0, "wide") == DOOR.replace("opened", "wide")
    assert renamed(DOOR, "Door[2]", 0, "Gate") == DOOR.replace("Door", "Gate")
    assert renamed(DOOR, "(by) when", 1, "who").count("who") == 3  # the trigger's own name, not the declaration's
    assert renamed(DOOR, "doors:", 0, "d") == DOOR.replace("doors", "d")


@pytest.mark.parametrize(
    ("words", "by", "name", "why"),
    [
        ("opened:", 0, "by", "`opened` cannot be called `by`: a number"),
        ("(by) when", 1, "opened", "`by` cannot be called `opened`: a number"),
        ("pull from", 0, "push", "is already declared"),
        ("pull from", 0, "crash", "`crash`"),
        ("pull from", 0, "", "not a name"),
        ("machine", 2, "x", "no name here"),
    ],
)
def test_renaming_is_refused_where_it_would_change_the_meaning(words: str, by: int, name: str, why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        renamed(DOOR, words, by, name)


def test_renaming_is_refused_where_a_name_would_hide_another() -> None:
    text = "machine M { x: bool initial state A event e(z: bool) from environment A on e(z) when x and z do x = z }"
    with pytest.raises(RefusedError, match="another thing would be meant"):
        renamed(text, "e(z) when", 2, "x")


# Files ---------------------------------------------------------------------------------------------------------------


def test_a_desk_reads_what_belongs_together(tmp_path: Path) -> None:
    (tmp_path / "base.fsm").write_text("module base enum Colour { red | green }")
    (tmp_path / "alone.fsm").write_text("module alone machine M { initial state A }")
    (tmp_path / "holes").mkdir()
    (tmp_path / "holes" / "study.fsm").write_text("module study import base")
    user = tmp_path / "user.fsm"
    user.write_text("module user import base { Colour } machine M { c: Colour initial state A }")
    desk = OpenDocuments([tmp_path])
    analysis = desk.analysis(str(user))
    assert {Path(p).name for p in analysis.documents} == {"base.fsm", "user.fsm"}
    assert desk.analysis(str(user)) is analysis
    assert "holes/study.fsm" not in "".join(desk.paths)
    desk.open(str(tmp_path / "base.fsm"), "module base enum Colour { blue }")
    assert desk.analysis(str(user)) is not analysis
    desk.close(str(tmp_path / "base.fsm"))
    again = desk.analysis(str(user))
    assert again.modules["base"].enums["Colour"].members == ("red", "green")
    user.unlink()
    desk.changed_on_disk([str(user)])
    assert desk.document(str(user)) is None


@pytest.mark.skipif(sys.platform == "win32", reason="needs links")
def test_a_scenario_is_of_the_system_as_it_is_now() -> None:
    """Its own text has not changed, and is not read again."""
    text = """machine M { initial state S  event go from environment  S on go }
system T { ms: M[2] }
scenario X of T { m0.go }
"""
    desk = OpenDocuments()
    for count in (2, 3, 2):
        desk.open("x.fsm", text.replace("M[2]", f"M[{count}]"))
        model = desk.analysis("x.fsm").model
        assert model is not None
        ((scenario,), (system,)) = model.scenarios.values(), model.systems.values()
        assert scenario.system is system
        assert len(system.instances) == count


def test_a_desk_reads_nothing_through_a_link_that_leads_elsewhere(tmp_path: Path) -> None:
    specs = tmp_path / "specs"
    specs.mkdir()
    (tmp_path / "secret.fsm").write_text("module secret\nenum Key { hunter2 }")
    (specs / "secret.fsm").symlink_to(tmp_path / "secret.fsm")
    (specs / "same.fsm").symlink_to("user.fsm")
    user = specs / "user.fsm"
    user.write_text("module user import secret { Key } machine M { k: Key initial state A }")
    for desk in (OpenDocuments([specs]), OpenDocuments()):
        assert desk.document(str(specs / "secret.fsm")) is None
        assert desk.document(str(specs / "same.fsm")) is not None
        assert "secret" not in desk.analysis(str(user)).modules
        desk.follow_links = True
        desk.changed_on_disk([str(specs / "secret.fsm")])
        assert desk.analysis(str(user)).modules["secret"].enums["Key"].members == ("hunter2",)


def test_mistakes_in_one_file_say_nothing_of_those_that_import_it(tmp_path: Path) -> None:
    desk = OpenDocuments()
    desk.open("/a.fsm", "module a\nenum Colour { red |")
    desk.open("/b.fsm", "module b\nimport a\nmachine M { c: a.Colour initial state A invariant c == blue }")
    desk.open("/c.fsm", "module c\nmachine M { initial state A invariant B }\n")
    found = desk.analysis("/b.fsm").diagnostics
    assert [d.rule.code for d in found["/a.fsm"]] == ["FSM001"]
    assert found["/b.fsm"] == ()
    assert [d.rule.code for d in desk.analysis("/c.fsm").diagnostics["/c.fsm"]] == ["FSM101"]


# Exploring beside ----------------------------------------------------------------------------------------------------


def test_a_newer_request_replaces_the_one_before() -> None:
    """Also one that would take for ever; and a process that has ended is started again."""
    answers: Queue[Findings] = Queue()
    explorer = Explorer(answers.put)
    desk = OpenDocuments()
    endless = DOOR.replace("0..9", "0..900000").replace("do opened = by.opened", "do opened = opened + 1")
    desk.open("x.fsm", endless.replace("[2]", "[6]"))
    explorer.explore(desk.documents("x.fsm"), states=None, seconds=3600)
    assert answers.get(timeout=60).systems == {}  # taken up
    desk.open("x.fsm", DOOR)
    number = explorer.explore(desk.documents("x.fsm"))
    while not (found := answers.get(timeout=60)).done:
        assert found.request in (number - 1, number)
    assert (found.request, found.systems["x.One"].verdict) == (number, "holds")
    assert explorer._process is not None
    explorer._process.kill()
    explorer._process.wait()
    number = explorer.explore(desk.documents("x.fsm"), ("x.One",))
    while not (found := answers.get(timeout=60)).done:
        pass
    assert found.systems["x.One"].data["verdict"] == "holds"
    explorer.stop()
