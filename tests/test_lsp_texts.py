"""The language server's texts are the editor's, to the letter; where they may not be, nothing is changed in them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="SKIPPED: the language server needs the extra `lsp`")

from editor import Editor, Message, RefusedError, editor
from lsprotocol import types as t

from fsmdsl.editor.lsp.positions import Lines
from fsmdsl.editor.lsp.texts import Change, Text, Texts, applied, checksum_of, read_change
from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import parse
from fsmdsl.syntax.parse.tokens import HIDDEN
from fsmdsl.text.files.read import MAX_BYTES
from fsmdsl.text.source import Source

DOOR = """\
module door

machine Door {
    initial state Shut
    state Open // SEPARATOR
    event push from environment
    open: Shut -> Open on push
    close: Open -> Shut on push
}
"""
OPTIONS = {"tabSize": 4, "insertSpaces": True}
SEPARATORS = ("\u2028", "\u2029", "\v", "\f", "\x85", "\x1c", "\x1d", "\x1e")
U = "untitled:door"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    with editor(tmp_path_factory.mktemp("session") / "log.txt", [], explore=False) as made:
        yield made


@pytest.fixture
def e(session: Editor) -> Iterator[Editor]:
    session.messages.clear()
    yield session
    for opened in list(session.texts):
        session.close(opened)


def span(a: int, b: int, c: int, d: int) -> Message:
    return {"start": {"line": a, "character": b}, "end": {"line": c, "character": d}}


def formatted(e: Editor, text: str) -> str:
    """The client's text with the edits of the server; lines as the protocol has them."""
    edits = e.ask("textDocument/formatting", {**e.whole(U), "options": OPTIONS})
    assert edits is not None, e.diagnostics
    lines = Lines(text, "utf-16")
    for x in sorted(edits, key=lambda x: list(x["range"]["start"].values()), reverse=True):
        start, end = (lines.offset(t.Position(**x["range"][k])) for k in ("start", "end"))
        text = text[:start] + x["newText"] + text[end:]
    return text


# Triggers of the review ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", SEPARATORS, ids=lambda x: f"U+{ord(x):04X}")
def test_other_separators_end_no_line(e: Editor, separator: str) -> None:
    """An edit below such a character, and format on save, change no word."""
    text = DOOR.replace("SEPARATOR", f"a{separator}b")
    e.open(U, text)
    e.change(U, [{"range": span(6, 26, 6, 30), "text": "pull"}, {"range": span(5, 10, 5, 14), "text": "pull"}])
    e.change(U, [{"range": span(7, 27, 7, 31), "text": "pull"}])
    mine = text.replace("push", "pull")
    if re.search(HIDDEN, separator):  # it may not stand in a comment
        e.change(U, [{"range": span(4, 0, 5, 0), "text": "    state Open\n"}])
        mine = mine.replace(f" // a{separator}b", "")
    assert formatted(e, mine) == format_source(parse(Source("x", mine)))


@pytest.mark.parametrize(
    ("place", "new", "after"),
    [((8, 0, 9, 0), "} // the end\n\n", "} // the end\n\n"), ((8, 5, 8, 9), "\n// the end\n", "}\n// the end\n")],
)
def test_a_range_that_ends_beyond_a_last_line_without_an_end(
    e: Editor, place: tuple[int, int, int, int], new: str, after: str
) -> None:
    text = DOOR.replace("SEPARATOR", "a").rstrip("\n")
    e.open(U, text)
    e.change(U, [{"range": span(*place), "text": new}])
    e.change(U, [{"range": span(0, 0, 0, 0), "text": "// first\n"}])
    mine = f"// first\n{text[:-1]}{after}"
    assert formatted(e, mine) == format_source(parse(Source("x", mine)))


def test_a_carriage_return_alone_ends_a_line(e: Editor) -> None:
    """Also a comment: no token is longer than its line."""
    e.open(U, "machine M {\r    initial state A // a\rstate B\r    A -> B on go // \U0001f512\r}\r")
    data = e.ask("textDocument/semanticTokens/full", e.whole(U))["data"]
    lines = ["machine M {", "    initial state A // a", "state B", "    A -> B on go // \ud83d\ude12", "}", ""]
    line = column = 0
    for n in range(0, len(data), 5):
        line, column = line + data[n], data[n + 1] + (column if data[n] == 0 else 0)
        assert column + data[n + 2] <= len(lines[line])


# What cannot be known ------------------------------------------------------------------------------------------------


def refused(e: Editor) -> str:
    with pytest.raises(RefusedError) as told:
        e.ask("textDocument/formatting", {**e.whole(U), "options": OPTIONS})
    at = {"textDocument": {"uri": U}, "position": {"line": 2, "character": 9}}
    with pytest.raises(RefusedError, match="no changes were made"):
        e.ask("textDocument/rename", {**at, "newName": "Other"})
    place = {**e.whole(U), "range": span(0, 0, 8, 0), "context": {"diagnostics": []}}
    assert e.ask("textDocument/codeAction", place) == []
    assert e.ask("textDocument/completion", at)["items"] == []
    return str(told.value)


def sound(e: Editor) -> None:
    e.replace(U, DOOR)
    assert formatted(e, DOOR) == format_source(parse(Source("x", DOOR)))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ([{"range": span(0, 0, 0, 1), "text": "x", "rangeLength": 7}], "replaced 7 characters"),
        ([{"range": {"start": {"line": 0}, "end": None}, "text": "x"}], "could not be read"),
        ([{"range": span(0, 0, 0, 1)}], "could not be read"),
        ({"text": "x"}, "could not be read"),
    ],
)
def test_nothing_is_changed_in_a_text_that_may_be_another(e: Editor, changes: Any, why: str) -> None:
    e.open(U, DOOR)
    e.change(U, changes)
    message = refused(e)
    assert why in message
    assert "no changes were made" in message
    assert "close it and open it again" in message
    sound(e)


def test_versions_follow_each_other(e: Editor) -> None:
    e.open(U, DOOR)
    document = {"uri": U, "version": 1}
    e.notify(
        "textDocument/didChange",
        {"textDocument": document, "contentChanges": [{"range": span(0, 0, 0, 0), "text": "// "}]},
    )
    assert "version 1 of it came after version 1" in refused(e)
    sound(e)


def test_the_checksum_of_the_client_counts(e: Editor) -> None:
    e.open(U, DOOR)
    asked = {**e.whole(U), "options": OPTIONS}
    right = sha256(DOOR.encode("utf-16-le")).hexdigest()
    assert e.ask("textDocument/formatting", {**asked, "fsmChecksum": right}) is not None
    with pytest.raises(RefusedError, match="its checksum is another"):
        e.ask("textDocument/formatting", {**asked, "fsmChecksum": right[::-1]})
    refused(e)
    sound(e)


def test_after_a_message_that_cannot_be_read_every_text_is_in_doubt(tmp_path: Path) -> None:
    """And the server goes on."""
    made = Editor([sys.executable, "-m", "fsmdsl", "lsp"], tmp_path / "log.txt")
    try:
        made.begin([], explore=False)
        made.open(U, DOOR)
        for body in (b"{", b"\xff\xfe", b"[" * 100_000, b'{"jsonrpc": "2.0", "method": "textDocument/didChange"}'):
            made.send_raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            assert "could not be read" in refused(made)
            sound(made)
        with pytest.raises(RefusedError):
            made.ask("textDocument/hover", {**made.whole(U), "position": {"line": -1, "character": 0}})
        made.end()
    finally:
        made.process.kill()
        made.process.wait()


def test_a_file_that_is_open_under_two_names(e: Editor, tmp_path: Path) -> None:
    one, other = (tmp_path / "a b.fsm").as_uri(), f"file://{tmp_path}/a b.fsm"
    e.open(one, DOOR)
    e.open(other, DOOR + "// more\n")
    with pytest.raises(RefusedError, match="two names"):
        e.ask("textDocument/formatting", {**e.whole(one), "options": OPTIONS})
    e.close(other)
    assert e.ask("textDocument/formatting", {**e.whole(one), "options": OPTIONS})
    assert e.ask("textDocument/hover", {**e.whole(one), "position": {"line": 2, "character": 9}}) is not None


def test_changes_of_what_is_not_open_mean_nothing(e: Editor) -> None:
    e._versions[U] = 1
    e.change(U, [{"range": span(0, 0, 0, 0), "text": "machine"}])
    assert e.ask("textDocument/formatting", {**e.whole(U), "options": OPTIONS}) is None
    e.notify("textDocument/didClose", e.whole(U))
    e.open(U, DOOR)
    sound(e)


# Positions -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "new", "after"),
    [
        ("a\r\nb", (0, 99, 1, 0), "", "ab"),
        ("a\r\nb", (0, 1, 0, 2), "x", "ax\r\nb"),
        ("a\rb\nc", (1, 0, 2, 0), "x", "a\rxc"),
        ("ab", (0, 2, 0, 1), "x", "ax"),
        ("ab", (7, 0, 3, 1), "x", "abx"),
        ("\U0001f512", (0, 0, 0, 1), "", "\udd12"),
        ("\U0001f512", (0, 1, 0, 2), "\udd13", "\U0001f513"),
        ("\ud83d", (0, 1, 0, 1), "\udd13", "\U0001f513"),
        ("a\u2028b\nc", (1, 0, 1, 1), "d", "a\u2028b\nd"),
        ("", (5, 5, 9, 9), "x", "x"),
    ],
)
def test_ranges(text: str, place: tuple[int, int, int, int], new: str, after: str) -> None:
    a, b, c, d = place
    change = Change(new, t.Range(t.Position(a, b), t.Position(c, d)))
    assert applied(text, change, "utf-16") == (after, None)


@pytest.mark.parametrize(("encoding", "columns"), [("utf-8", (1, 3, 7)), ("utf-16", (1, 2, 4)), ("utf-32", (1, 2, 3))])
def test_columns(encoding: str, columns: tuple[int, int, int]) -> None:
    text = "aä\U0001f512b"
    for n, column in enumerate(columns):
        found = Change("", t.Range(t.Position(0, column), t.Position(0, 99)))
        assert applied(text, found, encoding) == (text[: n + 1], None)


def test_half_a_character_of_utf_8_is_in_doubt() -> None:
    text, why = applied("ä", Change("", t.Range(t.Position(0, 1), t.Position(0, 2))), "utf-8")
    assert (text, why) == ("ä", "a change of it began or ended inside a character")


def test_positions_may_be_anything_that_json_has() -> None:
    def read(line: Any) -> int:
        start = {"line": line, "character": 0}
        raw = {"range": {"start": start, "end": start}, "text": ""}
        (change,) = read_change({"textDocument": {"uri": "u"}, "contentChanges": [raw]})[2]
        assert change.place is not None
        return change.place.start.line

    assert [read(x) for x in (3, 3.0, -1, 10**400, 2**31, float("inf"))] == [3, 3, 0, 2**31 - 1, 2**31 - 1, 2**31 - 1]
    for odd in (None, True, "1", 1.5, float("nan"), [], {}):
        with pytest.raises(ValueError, match="number"):
            read(odd)


def test_a_text_that_is_too_large_is_not_read(e: Editor) -> None:
    """However it comes to be so large; it is read again when it is smaller."""
    large = DOOR.replace("SEPARATOR", "é" * (MAX_BYTES // 2))
    assert len(large) < MAX_BYTES
    typed: Message = {"range": span(0, 0, 0, 0), "text": "x"}
    inserted = {**typed, "text": "//" + "é" * (MAX_BYTES // 2)}
    for changes in ([], [{"text": large}], [inserted, typed]):
        e.change(U, changes) if changes else e.open(U, large)
        e.until(lambda: [d["code"] for d in e.diagnostics.get(U, ())] == ["FSM510"])
        assert "larger than 16,777,216 bytes" in e.diagnostics[U][0]["message"]
        e.change(U, [typed])
        with pytest.raises(RefusedError, match="larger than 16,777,216 bytes"):
            e.ask("textDocument/formatting", {**e.whole(U), "options": OPTIONS})
        e.replace(U, DOOR)
        e.until(lambda: e.diagnostics.get(U) == [])
        sound(e)


def test_nothing_is_kept_of_a_text_that_is_too_large() -> None:
    texts = Texts()
    change = Change("x" * MAX_BYTES, t.Range(t.Position(0, 0), t.Position(0, 0)))
    assert texts.open("a", "é" * MAX_BYTES, 1).text == ""
    texts.open("b", "y", 1)
    changed = texts.change("b", 2, [change] * 100)
    assert changed is not None
    assert (changed.text, str(changed.excess)) == ("", changed.doubt)
    texts.suspect("another", "b")
    assert texts["b"].excess is not None
    assert texts.change("b", 3, [change, Change("z")]) == Text("z", 3)


def test_the_texts_of_what_is_closed_are_gone() -> None:
    texts = Texts()
    for n in range(100):
        texts.open(f"untitled:{n}", "x" * 100, 1)
        texts.change(f"untitled:{n}", 2, [Change("y")])
        assert texts.close(f"untitled:{n}")
    assert texts._open == {}
    assert checksum_of("\ud800") == sha256(b"\x00\xd8").hexdigest()
