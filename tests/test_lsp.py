"""The language server over its protocol: a process, and an editor that opens, types and asks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from editor import PATIENCE, Editor, Message, RefusedError, edited, editor, offset, position

CELL = """\
module cell

/// What a cell may be used for.
enum Use { idle | busy }

/// A part of a node.
machine Cell {
    durable user: Group?    /// who has it
    use: Use

    initial state Free      /// nobody has it
    state Used
    state Lost

    event take(by: Group), free from Group
    event spare from Group
    action release

    c1: Free -> Used on take(by) do { user = by; use = busy }
    c2: Used -> Free on free do { release; user = none; use = idle }

    ignore take in Used, Lost

    invariant kept: Free => user == none
}

/// Who takes cells. 𝔾
machine Group {
    cell: Cell?
    initial state Waiting
    state Running
    final state Done

    event start(with: Cell), finish from environment

    g1: Waiting -> Running on start(with) do { cell = with; with.take(self) }
    g2: Running -> Done on finish do cell.free

    priority g1 > *
    ignore start in Running, Done
}

system Small {
    groups: Group[2]
    cells: Cell[2]

    environment {
        some g in groups, c in cells: g.start(c) when c in Free
        some g in groups: g.finish when g in Running
    }

    invariant one: all c in cells: c in Used => c.user in Running
    reachable both: all g in groups: g in Done
}

scenario S "once" of Small {
    g0.start(c0)
    via g1, c1
    expect c0 in Used
}
"""

OTHER = """\
module queue

import cell { Cell }

machine Queue {
    head: Cell?
    initial state Empty
    event put(c: Cell) from environment
    Empty on put(c) do head = c
    invariant head == none or head in Used or head in Free
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    specs = tmp_path / "the specs"
    specs.mkdir()
    (specs / "cell.fsm").write_text(CELL, "utf-8")
    (specs / "queue.fsm").write_text(OTHER, "utf-8")
    return specs


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """One editor for all tests, as it would be open all day."""
    with editor(tmp_path_factory.mktemp("session") / "log.txt", []) as made:
        yield made


@pytest.fixture
def e(session: Editor, folder: Path) -> Iterator[Editor]:
    """The editor, with a folder in which the cell is open."""
    here = {"uri": folder.as_uri(), "name": folder.name}
    session.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [here], "removed": []}})
    session.open(uri(folder), CELL)
    yield session
    for opened in list(session.texts):
        session.close(opened)
    session.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [here]}})
    assert session.log == ""


def uri(folder: Path, name: str = "cell") -> str:
    return (folder / f"{name}.fsm").as_uri()


def codes(found: list[Message]) -> list[str]:
    return [d["code"] for d in found]


def marked(e: Editor, u: str, d: Message) -> str:
    """The text that a diagnostic marks."""
    return _between(e.texts[u], d["range"])


def _between(text: str, place: Message) -> str:
    return text[offset(text, place["start"]) : offset(text, place["end"])]


def labels(e: Editor, u: str, words: str, by: int) -> list[str]:
    return [x["label"] for x in e.ask("textDocument/completion", e.at(u, words, by))["items"]]


# Diagnostics ---------------------------------------------------------------------------------------------------------


def test_what_is_wrong_appears_as_one_types(e: Editor, folder: Path) -> None:
    u = uri(folder)
    found = e.settled(u, lambda d: "FSM201" in codes(d))
    lost = next(d for d in found if d["code"] == "FSM201")
    assert marked(e, u, lost) == "state Lost"
    assert lost["tags"] == [1]  # greyed
    e.edit(u, "Used -> Free on free", "Used -> Fre on free")
    found = e.settled(u, lambda d: "FSM101" in codes(d))
    wrong = next(d for d in found if d["code"] == "FSM101")
    assert marked(e, u, wrong) == "Fre"
    assert "did you mean `Free`?" in wrong["message"]
    assert "FSM201" in codes(found)  # what was found before stands, where the text has not changed
    e.edit(u, "Used -> Fre on free", "Used -> on free")
    found = e.settled(u, lambda d: "FSM001" in codes(d))
    assert "expected a state" in next(d["message"] for d in found if d["code"] == "FSM001")
    e.edit(u, "Used -> on free", "Used -> Free on free")
    e.settled(u, lambda d: "FSM001" not in codes(d) and "FSM201" in codes(d))


def test_a_guard_that_is_never_true_is_marked(e: Editor, folder: Path) -> None:
    u = uri(folder)
    e.edit(u, "on free do { release", "on free when use == idle and use == busy do { release")
    found = e.settled(u, lambda d: "FSM209" in codes(d))
    assert marked(e, u, next(d for d in found if d["code"] == "FSM209")) == "use == idle and use == busy"
    titles = actions(e, u, "use == idle and")
    assert "remove the transition" in titles
    assert "c2:" not in titles["remove the transition"]


def test_a_violated_property_is_marked_with_its_run(e: Editor, folder: Path) -> None:
    u = uri(folder)
    e.edit(u, "release; user = none;", "release;")
    found = e.settled(u, lambda d: any(x["source"] == "fsm verify" for x in d))
    broken = next(d for d in found if d["source"] == "fsm verify")
    assert broken["code"] == "FSM301"
    assert marked(e, u, broken) == "invariant kept: Free => user == none"
    shown = e.ask("textDocument/hover", e.at(u, "invariant kept"))["contents"]["value"]
    assert "g0.finish" in shown
    assert "Running → Done" in shown
    e.edit(u, "release; use = idle", "release; user = none; use = idle")
    e.settled(u, lambda d: not any(x["source"] == "fsm verify" for x in d))


def test_findings_move_with_the_text(e: Editor, folder: Path) -> None:
    u = uri(folder)
    e.edit(u, "release; user = none;", "release;")
    e.settled(u, lambda d: any(x["source"] == "fsm verify" for x in d))
    e.edit(u, "/// What a cell may be", "// moved\n\n\n/// What a cell may be")
    before = e.texts[u]
    e.settled(u, lambda d: any(_between(before, x["range"]).startswith("invariant kept") for x in d))


def test_another_file_is_checked_with_it(e: Editor, folder: Path) -> None:
    u, other = uri(folder), uri(folder, "queue")
    e.edit(u, "state Used\n", "state Taken\n")
    e.settled(other, lambda d: "FSM101" in codes(d))
    e.edit(u, "state Taken\n", "state Used\n")
    e.settled(other, lambda d: "FSM101" not in codes(d))


def test_files_come_and_go_on_disk(e: Editor, folder: Path) -> None:
    third = folder / "third.fsm"
    third.write_text(
        "module third import cell machine T { cell: cell.Cell? initial state A invariant cell in Nowhere }"
    )
    e.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": third.as_uri(), "type": 1}]})
    e.settled(third.as_uri(), lambda d: "FSM101" in codes(d))
    third.unlink()
    e.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": third.as_uri(), "type": 3}]})
    e.settled(third.as_uri(), lambda d: d == [])
    assert any(m["method"] == "client/registerCapability" for m in e.messages)


def test_folders_and_texts_without_a_file(e: Editor, tmp_path: Path) -> None:
    more = tmp_path / "more"
    more.mkdir()
    (more / "base.fsm").write_text("module base enum Colour { red | green }")
    event = {"added": [{"uri": more.as_uri(), "name": "more"}], "removed": []}
    e.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    new = "untitled:Untitled-1"
    e.open(new, "import base { Colour }\nmachine M { c: Colour initial state A invariant c == red }\n")
    assert "FSM108" not in codes(e.settled(new, lambda d: True))
    assert labels(e, new, "c == red", 5)[:2] == ["red", "green"]
    e.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": event["added"]}})
    e.settled(new, lambda d: "FSM108" in codes(d))


# Questions about a place ---------------------------------------------------------------------------------------------


def test_hover(e: Editor, folder: Path) -> None:
    u = uri(folder)

    def shown(words: str, by: int = 0) -> str:
        return str(e.ask("textDocument/hover", e.at(u, words, by))["contents"]["value"])

    state = shown("Used -> Free")
    assert "state Used" in state
    assert "**Free** `c2` on `free`" in state
    assert "Ignores `take`" in state
    assert "Can never be entered" in shown("state Lost", 6)
    assert "who has it" in shown("user = by")
    assert "durable user: Group?" in shown("user = by")
    assert "event take(by: Group) from Group" in shown("with.take", 5)
    assert "with: Cell" in shown("with.take")
    assert "A part of a node" in shown("cells: Cell", 7)
    assert "has no effect" in shown("ignore take")
    assert e.ask("textDocument/hover", e.at(u, "\n\n/// What", 1)) is None


def test_definition_and_references(e: Editor, folder: Path) -> None:
    u, other = uri(folder), uri(folder, "queue")
    [place] = e.ask("textDocument/definition", e.at(u, "c in Free", 5))
    assert place == {"uri": u, "range": _place(CELL, "Free      ///", "Free")}
    e.open(other, OTHER)
    [place] = e.ask("textDocument/definition", e.at(other, "head in Used", 9))
    assert place["uri"] == u
    asked = {**e.at(u, "state Used", 6), "context": {"includeDeclaration": True}}
    found = e.ask("textDocument/references", asked)
    assert {x["uri"] for x in found} == {u, other}
    assert len(found) == 7
    [place] = e.ask("textDocument/definition", e.at(other, "import cell", 8))
    assert place["uri"] == u
    shown = e.ask("textDocument/documentHighlight", e.at(u, "use: Use"))
    assert [x["kind"] for x in shown] == [3, 2, 2]


def _place(text: str, words: str, name: str) -> Message:
    start = text.index(words)
    return {"start": position(text, start), "end": position(text, start + len(name))}


@pytest.mark.parametrize(
    ("words", "typed", "wanted"),
    [
        ("    ignore take", "    c3: Used -> ", ["Free", "Used", "Lost"]),
        ("    ignore take", "    c3: Used -> Free on ", ["take", "free", "spare", "crash"]),
        ("    ignore take", "    c3: Used -> Free on take(", ["by"]),
        ("    ignore take", "    c3: Used -> Free on take(by) when by in ", ["Waiting", "Running", "Done"]),
        ("    ignore take", "    c3: Used -> Free on free when use == ", ["idle", "busy"]),
        ("    ignore take", "    c3: Used -> Free on take(by) do by.", ["start", "finish", "cell"]),
        ("    ignore take", "    c3: Used -> Free on take(by) ", ["when", "do"]),
        ("    environment", "    reachable x: some g in groups: g in ", ["Waiting", "Running", "Done"]),
        ("    expect", "    via ", ["g1", "g2", "c1", "c2"]),
        ("    cells: Cell", "    more: ", ["Cell", "Group"]),
        ("    cells: Cell", "    more: Cell { ", ["user", "use"]),
        ("    event spare", "    event x from ", ["environment", "Cell", "Group"]),
        ("    event spare", "    x: ", ["bool", "duration", "Cell", "Group", "Use"]),
    ],
)
def test_completion(e: Editor, folder: Path, words: str, typed: str, wanted: list[str]) -> None:
    u = uri(folder)
    e.edit(u, words, f"{typed}\n{words}")
    items = e.ask("textDocument/completion", e.at(u, f"{typed}\n", len(typed)))["items"]
    listed = [x["label"] for x in sorted(items, key=lambda x: x["sortText"])]
    assert set(wanted) <= set(listed[: len(wanted) + 3]), listed


def test_completion_replaces_what_was_begun(e: Editor, folder: Path) -> None:
    u = uri(folder)
    e.edit(u, "Used -> Free on free", "Used -> Fr on free")
    items = e.ask("textDocument/completion", e.at(u, "-> Fr", 5))["items"]
    free = next(x for x in items if x["label"] == "Free")
    assert free["documentation"] == "nobody has it"
    assert "Used -> Free on free" in edited(e.texts[u], [free["textEdit"]])
    assert e.ask("textDocument/completion", e.at(u, "nobody has", 3))["items"] == []


def test_a_space_brings_up_names_only_where_they_are_awaited(e: Editor, folder: Path) -> None:
    u = uri(folder)
    typed = {"triggerKind": 2, "triggerCharacter": " "}
    for words, by, any_ in (("Used -> Free", 8, True), ("on free do", 3, True), ("state Lost", 6, False)):
        items = e.ask("textDocument/completion", {**e.at(u, words, by), "context": typed})["items"]
        assert bool(items) is any_, words


def test_symbols_folding_and_hints(e: Editor, folder: Path) -> None:
    u = uri(folder)
    found = e.ask("textDocument/documentSymbol", e.whole(u))
    assert [x["name"] for x in found] == ["Use", "Cell", "Group", "Small", "S"]
    assert [x["name"] for x in found[1]["children"]][:5] == ["user", "use", "Free", "Used", "Lost"]
    listed = e.ask("workspace/symbol", {"query": "queu"})
    assert [x["name"] for x in listed] == ["Queue"]
    folds = e.ask("textDocument/foldingRange", e.whole(u))
    machine = CELL[: CELL.index("machine Cell")].count("\n")
    assert next(x for x in folds if x["startLine"] == machine)["kind"] == "region"
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}
    hints = e.ask("textDocument/inlayHint", {**e.whole(u), "range": whole})
    assert [x["label"] for x in hints] == ["Waiting -> Running", "Waiting -> Running", "Free -> Used"]


def test_colours(e: Editor, folder: Path) -> None:
    u = uri(folder)
    legend = e.ask("textDocument/semanticTokens/full", e.whole(u))["data"]
    shown = list(_tokens(e.texts[u], legend))
    assert ("machine", 0) in shown  # keyword
    assert ("Cell", 6) in shown  # class
    assert ("Used", 8) in shown  # enum member
    assert ("user", 12) in shown  # property
    assert ("/// Who takes cells. 𝔾", 1) in shown  # comment, wide characters counted as UTF-16 does


def _tokens(text: str, data: list[int]) -> Iterator[tuple[str, int]]:
    line = column = 0
    for i in range(0, len(data), 5):
        down, right, length, kind, _ = data[i : i + 5]
        line, column = line + down, right if down else column + right
        units = text.split("\n")[line].encode("utf-16-le")
        yield units[column * 2 : (column + length) * 2].decode("utf-16-le"), kind


# Changes -------------------------------------------------------------------------------------------------------------


def test_rename_in_all_files(e: Editor, folder: Path) -> None:
    u, other = uri(folder), uri(folder, "queue")
    e.open(other, OTHER)
    found = e.applied(e.ask("textDocument/rename", {**e.at(u, "state Used", 6), "newName": "Taken"}))
    assert set(found) == {u, other}
    assert "Used" not in found[u]
    assert "head in Taken" in found[other]
    found = e.applied(e.ask("textDocument/rename", {**e.at(other, "head in Used", 9), "newName": "Taken"}))
    assert set(found) == {u, other}
    assert e.ask("textDocument/prepareRename", e.at(u, "state Used", 6))["placeholder"] == "Used"
    e.replace(u, found[u])
    e.replace(other, found[other])
    e.settled(other, lambda d: "FSM101" not in codes(d))


@pytest.mark.parametrize(
    ("words", "by", "name", "why"),
    [
        ("state Used", 6, "Free", "`Free` is already declared"),
        ("state Used", 6, "machine", "a reserved word"),
        ("state Used", 6, "a b", "not a name"),
        ("g.start(c)", 0, "c", "cannot be called `c`"),
        ("g0.start", 0, "first", "is made of the name `groups`"),
        ("module cell", 8, "cells", "a module is found by the name of its file"),
    ],
)
def test_what_cannot_be_renamed(e: Editor, folder: Path, words: str, by: int, name: str, why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        e.ask("textDocument/rename", {**e.at(uri(folder), words, by), "newName": name})


def test_formatting(e: Editor, folder: Path) -> None:
    u = uri(folder)
    options = {"tabSize": 4, "insertSpaces": True}
    tidy = edited(CELL, e.ask("textDocument/formatting", {**e.whole(u), "options": options}))
    e.replace(u, tidy)
    assert e.ask("textDocument/formatting", {**e.whole(u), "options": options}) == []
    e.edit(u, "state Lost", "state     Lost   ")
    line = {"line": 0, "character": 0}
    params = {**e.whole(u), "options": options, "range": {"start": line, "end": line}}
    assert e.ask("textDocument/rangeFormatting", params) == []
    assert edited(e.texts[u], e.ask("textDocument/formatting", {**e.whole(u), "options": options})) == tidy
    e.edit(u, "state     Lost", "state -> Lost")
    assert e.ask("textDocument/formatting", {**e.whole(u), "options": options}) is None


def actions(e: Editor, u: str, words: str, by: int = 0) -> dict[str, str]:
    """What is offered at a place, with the text after each."""
    place = e.at(u, words, by)["position"]
    asked = {**e.whole(u), "range": {"start": place, "end": place}, "context": {"diagnostics": []}}
    found: list[Any] = e.ask("textDocument/codeAction", asked)
    return {x["title"]: e.applied(x["edit"])[u] for x in found}


@pytest.mark.parametrize(
    ("old", "new", "words", "title", "added"),
    [
        ("Used -> Free on free", "Used -> Fre on free", "Fre on", "create the state `Fre`", "    state Fre\n"),
        ("Used -> Free on free", "Used -> Fre on free", "Fre on", "write `Free`", "c2: Used -> Free on free"),
        ("on free do", "on gone do", "gone do", "declare the event `gone`", "    event gone from environment\n"),
        ("{ release;", "{ tell;", "tell;", "declare the action `tell`", "    action tell\n"),
        ("use = busy", "kind = true", "kind = true", "declare the field `kind`", "    kind: bool\n"),
        ("free from Group", "free from Cell", "free\n", "let Group send `free`", "free from Cell, Group"),
        ("do cell.free", "do cell.gone", "gone", "declare the event `gone` in Cell", "    event gone from Group\n"),
        ("\n    ignore take in Used, Lost\n", "", "machine Cell", "ignore `take` in Used", "    ignore take in Used\n"),
    ],
)
def test_actions(e: Editor, folder: Path, old: str, new: str, words: str, title: str, added: str) -> None:
    u = uri(folder)
    e.edit(u, old, new)
    offered = actions(e, u, words)
    assert title in offered, list(offered)
    assert added in offered[title]


def test_an_event_that_nobody_waits_for_can_be_ignored(e: Editor, folder: Path) -> None:
    u = uri(folder)
    e.edit(u, "    ignore take in Used, Lost\n", "    ignore take in Lost\n")
    e.edit(u, "g.start(c) when c in Free", "g.start(c)")
    found = e.settled(u, lambda d: "FSM303" in codes(d))
    place = next(d for d in found if d["code"] == "FSM303")["range"]["start"]
    asked = {**e.whole(u), "range": {"start": place, "end": place}, "context": {"diagnostics": []}}
    offered = {x["title"]: e.applied(x["edit"])[u] for x in e.ask("textDocument/codeAction", asked)}
    assert "    ignore take in Lost\n    ignore take in Used\n" in offered["ignore `take` in `Used` of Cell"]


def test_a_note_on_events_is_dropped_once_all_systems_are_explored(e: Editor, folder: Path) -> None:
    u = uri(folder)
    e.settled(u, lambda d: "FSM215" not in codes(d))
    e.edit(u, "scenario S", "system Big { groups: Group[9]  cells: Cell[9] }\n\nscenario S")
    e.settled(u, lambda d: "FSM215" in codes(d))


def test_what_is_unused_can_be_taken_out(e: Editor, folder: Path) -> None:
    u = uri(folder)
    e.edit(u, "    action release\n", "    /// never\n    action idle_one\n    action release\n")
    offered = actions(e, u, "idle_one")
    assert offered["remove it"] == CELL


# Explorations, lenses, commands --------------------------------------------------------------------------------------


def test_lenses(e: Editor, folder: Path) -> None:
    u = uri(folder)

    def titles() -> list[str]:
        return [x["command"]["title"] for x in e.ask("textDocument/codeLens", e.whole(u))]

    assert {"draw", "verify"} <= set(titles())
    end = monotonic() + PATIENCE
    while not any(x.startswith("followed ") and x[9].isdigit() for x in titles()):
        assert monotonic() < end, titles()
        sleep(0.1)
    assert any(x.startswith("holds: ") for x in titles())


def test_verify_draw_and_trace(e: Editor, folder: Path) -> None:
    u = uri(folder)

    def run(command: str, *arguments: str) -> Any:
        return e.ask("workspace/executeCommand", {"command": command, "arguments": list(arguments)})

    told = run("fsm.verify", u, "Small")
    assert (told["kind"], told["systems"][0]["verdict"]) == ("verify", "holds")
    assert told["text"].startswith("holds")
    e.edit(u, "release; user = none;", "release;")
    verdict = run("fsm.trace", u, "Small", "Cell: kept")
    assert verdict["outcome"] == "violated"
    assert [x["step"] for x in verdict["trace"]["steps"]] == ["g0.start(c0)", "g0.finish"]
    assert [x["text"] for x in verdict["stepping"]["steps"]] == ["g0.start(c0)", "g0.finish"]
    assert verdict["diagrams"].keys() == {x["machine"] for x in verdict["stepping"]["instances"]}
    lines = [e.texts[u].split("\n")[x["range"]["start"]["line"]] for x in verdict["sources"]]
    assert ["start" in lines[0], "finish" in lines[1]] == [True, True], lines
    told = run("fsm.verify", u, "Small")
    shown = [f"{x['kind']} {x['name']}" for x in told["systems"][0]["verdicts"]]
    violations = dict(zip(shown, told["violations"], strict=True))
    found = violations.pop("invariant Cell: kept")
    assert "invariant kept" in e.texts[u].split("\n")[found["range"]["start"]["line"]]
    assert (found["sources"], found["story"][0].strip()[0]) == (verdict["sources"], "0")
    assert set(violations.values()) == {None}
    assert run("fsm.systems", u) == ["Small"]
    drawn = run("fsm.draw", u, "Cell")
    assert "state-Used" in drawn["svg"]
    with pytest.raises(RefusedError, match="there is no system `Large`; there are `Small`"):
        run("fsm.verify", u, "Large")
    with pytest.raises(RefusedError, match="address of a spec"):
        run("fsm.verify")
    with pytest.raises(RefusedError, match="has no property"):
        run("fsm.trace", u, "Small", "nothing")


def test_systems_and_scenarios_are_listed_and_scenarios_are_played(e: Editor, folder: Path) -> None:
    u = uri(folder)

    def run(command: str, *arguments: str) -> Any:
        return e.ask("workspace/executeCommand", {"command": command, "arguments": list(arguments)})

    (listed,) = [x for x in run("fsm.tests") if x["uri"] == u]
    assert [(x["kind"], x["name"], x["title"]) for x in listed["tests"]] == [
        ("system", "Small", ""),
        ("scenario", "S", "once"),
    ]
    assert run("fsm.tests", u) == [listed]
    assert run("fsm.tests", uri(folder, "queue")) == []
    played = run("fsm.test", u, "S")
    assert (played["passed"], played["heading"], "failure" in played) == (True, "S once", False)
    place = played["sources"][0]
    line = CELL.split("\n")[place["range"]["start"]["line"]]
    assert (place["uri"], "on start" in line) == (u, True), line
    e.edit(u, "expect c0 in Used", "expect c0 in Free")
    failed = run("fsm.test", u, "S")
    assert not failed["passed"]
    line = e.texts[u].split("\n")[failed["failure"]["range"]["start"]["line"]]
    assert "expect c0 in Free" in line
    assert [x["step"] for x in failed["trace"]["steps"]] == ["g0.start(c0)"]
    with pytest.raises(RefusedError, match="there is no scenario `T`; there are `S`"):
        run("fsm.test", u, "T")
    e.edit(u, "scenario S", "scenario S S")
    assert [x["name"] for x in run("fsm.tests", u)[0]["tests"]] == ["Small", "S"]
    with pytest.raises(RefusedError, match="fix those first"):
        run("fsm.test", u, "S")


def test_a_long_verification_can_be_cancelled(e: Editor, folder: Path) -> None:
    u = uri(folder)
    e.replace(u, CELL.replace("groups: Group[2]", "groups: Group[9]").replace("cells: Cell[2]", "cells: Cell[9]"))
    arguments = {"command": "fsm.verify", "arguments": [u, "Small"]}
    e.send({"id": 10**6, "method": "workspace/executeCommand", "params": arguments})
    e.notify("$/cancelRequest", {"id": 10**6})
    e.until(lambda: 10**6 in e.answers)
    assert e.answers.pop(10**6)["error"]["code"] == -32800
    e.replace(u, CELL)
    assert e.ask("workspace/executeCommand", arguments)["systems"][0]["verdict"] == "holds"


def test_the_diagram_follows_the_cursor(e: Editor, folder: Path) -> None:
    u = uri(folder)
    told = e.ask("fsm/diagram", e.at(u, "Used -> Free"))
    assert (told["title"], told["machine"], told["state"]) == ("Cell", "cell.Cell", "Used")
    assert told["transitions"] == [1]
    assert f'id="state-{told["state"]}"' in told["svg"]
    assert e.ask("fsm/diagram", e.at(u, "state Running"))["machine"] == "cell.Group"
    e.edit(u, "Used -> Free on free", "Used -> on free")
    told = e.ask("fsm/diagram", e.at(u, "Used -> on"))
    assert told["stale"]
    assert told["svg"]
    with pytest.raises(RefusedError, match="is missing"):
        e.ask("fsm/diagram", {})
    for line in (2**31, 10**30, True):
        with pytest.raises(RefusedError, match="`line` is not a number"):
            e.ask("fsm/diagram", {**e.at(u, "Used -> on"), "position": {"line": line, "character": 0}})


def test_without_graphviz_a_diagram_says_so(folder: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    command = [
        sys.executable,
        "-c",
        "import sys, importlib.util as u, shutil; find = u.find_spec; shutil.which = lambda *a, **k: None;"
        "u.find_spec = lambda n, *a: None if n == 'pygraphviz' else find(n, *a);"
        "sys.argv = ['fsm', 'lsp']; from fsmdsl.cli.run import main; main()",
    ]
    made = Editor(command, tmp_path / "log.txt")
    made.begin([folder])
    made.open(uri(folder), CELL)
    told = made.ask("fsm/diagram", made.at(uri(folder), "Used -> Free"))
    made.end()
    assert told["svg"] is None
    assert "pip install 'fsmdsl[svg]'" in told["message"]


# Hostile -------------------------------------------------------------------------------------------------------------


HOSTILE = [
    "",
    "\0\x01\u2028\u2029\x85",
    "machine" * 5000,
    "machine M {" * 300,
    "((((((((" * 2000,
    '"' * 999,
    "/* " + "machine A { initial state B }\n" * 50,
    "\ufeffmodule é",
    "machine M { initial state A invariant " + "not " * 3000 + "A }",
    "module a.b.c.d\nimport a.b.c.d\n",
    "machine <script>alert(1)</script> { }",
    "/// ``` **x** <b>\nmachine M { /// ```\n initial state A /// ````\n }\n",
    "machine M {\r\n initial state A\r\n}\r\n",
    "machine M {\r initial state A\r}\r",
    "\U0001f600" * 100 + "\nmachine M { initial state A }",
    "enum E { a | a | a }\nenum E { a }\nmachine E { }\n" * 40,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda t: repr(t[:12]))
def test_hostile_texts(e: Editor, folder: Path, text: str) -> None:
    """Every question about every kind of rubbish has an answer, and nothing is logged (see `editor`)."""
    u = uri(folder)
    e.replace(u, text)
    for line, character in ((0, 0), (0, 7), (1, 3), (2, 10**6), (10**6, 0)):
        place = {"textDocument": {"uri": u}, "position": {"line": line, "character": character}}
        e.ask("textDocument/hover", place)
        e.ask("textDocument/completion", place)
        e.ask("textDocument/definition", place)
        e.ask("textDocument/references", {**place, "context": {"includeDeclaration": True}})
        e.ask("fsm/diagram", place)
        with pytest.raises(RefusedError):
            e.ask("textDocument/rename", {**place, "newName": "1"})
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 10**6, "character": 0}}
    for method in ("documentSymbol", "foldingRange", "codeLens", "semanticTokens/full"):
        e.ask(f"textDocument/{method}", e.whole(u))
    e.ask("textDocument/inlayHint", {**e.whole(u), "range": whole})
    e.ask("textDocument/codeAction", {**e.whole(u), "range": whole, "context": {"diagnostics": []}})
    e.ask("textDocument/formatting", {**e.whole(u), "options": {"tabSize": 4, "insertSpaces": True}})


def test_hostile_changes(e: Editor, folder: Path) -> None:
    u = uri(folder)
    far = {"line": 10**6, "character": 10**6}
    near = {"line": 0, "character": 0}
    for start, end in ((far, far), (far, near), (near, near)):
        e.change(u, [{"range": {"start": start, "end": end}, "text": "x"}])
    e.notify(
        "textDocument/didChange",
        {"textDocument": {"uri": "file:///nowhere.fsm", "version": 2}, "contentChanges": [{"text": "y"}]},
    )
    e.close("file:///nowhere.fsm")
    e.replace(u, CELL)
    e.settled(u, lambda d: "FSM201" in codes(d))


def test_the_server_ends_when_the_editor_is_gone(folder: Path, tmp_path: Path) -> None:
    made = Editor([sys.executable, "-m", "fsmdsl", "lsp"], tmp_path / "log.txt")
    made.begin([folder])
    made.open(uri(folder), CELL)
    made.settled(uri(folder), lambda d: True)
    assert made.process.stdin is not None
    made.process.stdin.close()
    made.process.wait(PATIENCE)
    assert "Traceback" not in made.log


@pytest.mark.full(reason="an empty environment")
def test_without_the_extra_the_command_says_what_to_install() -> None:
    code = (
        "import importlib.util as u; find = u.find_spec;"
        "u.find_spec = lambda n, *a: None if n == 'pygls' else find(n, *a);"
        "from fsmdsl.cli.run import main; main(['lsp'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'fsmdsl[lsp]'" in done.stderr
