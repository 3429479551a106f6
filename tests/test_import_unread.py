"""An unknown part of a source is never read as a known one: it is listed with its place, and `fsm drift` says so."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from in_process import fsm
from random_tables import tables
from test_import import _BLOCK, GOLDEN, SAMPLES, available, clean, imported, loaded
from tiers import share

from fsmdsl.interop.drift import drift
from fsmdsl.interop.imports import Condition, Imported, ImportFailedError, Row, State, Table, spec_text
from fsmdsl.interop.imports.formats import read
from fsmdsl.syntax.parse import parse
from fsmdsl.text.diagnostics import Severity
from fsmdsl.text.source import Source

SCXML = '<scxml xmlns="http://www.w3.org/2005/07/scxml" version="1.0" initial="a">'


def table(name: str, text: str) -> Table:
    """The only table of a source."""
    (table,) = imported({name: text}).tables
    return table


def rows(table: Table) -> set[tuple[str, str | None, str | None]]:
    """State, trigger and target of each row."""
    return {(r.source, r.event or (r.after and f"after {r.after}"), r.target) for r in table.rows}


def unread(result: Imported) -> list[tuple[int, str]]:
    """The line and the text of each part that was not read."""
    return [(x.place.source.position(x.place.start)[0], x.text) for x in result.missing]


def state_diagram(*lines: str) -> str:
    return "\n".join(("stateDiagram-v2", *lines, ""))


def uml(*lines: str) -> str:
    return "\n".join(("@startuml", *lines, "@enduml", ""))


# Commands ------------------------------------------------------------------------------------------------------------


def test_the_commands_say_what_was_not_read(tmp_path: Path) -> None:
    source = (
        SCXML
        + '\n<state id="a"><transition event="go" target="b"/>\n<transit event="no"/></state><final id="b"/></scxml>'
    )
    (tmp_path / "m.scxml").write_text(source)
    done = fsm("import", "m.scxml", "--out", "m.fsm", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "m.fsm: 1 machine, 1 not read\n")
    assert done.stderr == "not read: m.scxml:3:1: the element `transit` of `a`\n"
    assert "// - m.scxml:3: the element `transit` of `a`" in (tmp_path / "m.fsm").read_text()
    done = fsm("drift", "m.fsm", "m.scxml", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (3, "1 not read")
    assert "FSM523" in done.stdout
    assert "m.scxml:3:1" in done.stdout
    (tmp_path / "other.fsm").write_text((tmp_path / "m.fsm").read_text().replace("on go", "on go\n b -> a on no"))
    spec = (tmp_path / "m.fsm").read_text()
    (tmp_path / "other.fsm").write_text(
        spec.replace("event go", "event no from environment\n event go").replace("A -> B", "A on no\n A -> B")
    )
    done = fsm("drift", "other.fsm", "m.scxml", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (3, "1 not read, 1 of the spec not in what was read")
    (tmp_path / "third.fsm").write_text(spec.replace("A -> B", "A"))
    assert fsm("drift", "third.fsm", "m.scxml", cwd=tmp_path).returncode == 1


def test_a_part_that_was_not_read_belongs_to_its_table() -> None:
    text = "from transitions import Machine\n"
    text += "a = Machine(states=['x', 'y'], transitions=[['go', 'x', 'y']], initial='x')\n"
    text += "b = Machine(states=['p', 'q'], transitions=[make(), ['go', 'p', 'q']], initial='p')\n"
    result = imported({"m.py": text})
    model = clean(spec_text(result, "m.py")[0])
    assert drift(model, result, {"A": "a"}, {}).same
    assert [x.text for x in drift(model, result, {"B": "b"}, {}).unread] == [
        "a row that is known only at run time: `make()`"
    ]
    assert not drift(model, result, {}, {}).same


def test_machines_without_a_table_are_named(tmp_path: Path) -> None:
    (tmp_path / "m.mmd").write_text(state_diagram("[*] --> A", "A --> B : go", "B --> A : back"))
    assert fsm("import", "m.mmd", "--out", "m.fsm", cwd=tmp_path).returncode == 0
    more = "machine Other {\n initial state X\n state Y\n event e from environment\n X -> Y on e\n Y -> X on e\n}\n"
    (tmp_path / "m.fsm").write_text((tmp_path / "m.fsm").read_text() + more)
    done = fsm("drift", "m.fsm", "m.mmd", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (
        0,
        "not compared: `Other`, which has no table in the code\ncode and spec: the same\n",
    )


# An import and its own source ----------------------------------------------------------------------------------------

GOLDEN_SOURCES = [
    {name: content for _, kind, name, content in _BLOCK.findall(path.read_text("utf-8")) if kind != "fsm"}
    for path in sorted(GOLDEN.glob("*.md"))
]
ACTS = '<onentry><log label="x"/></onentry>'
SOURCES = [
    *GOLDEN_SOURCES,
    *({f"sample.{form}": text} for form, text in SAMPLES.items()),
    {"dead.mmd": state_diagram("[*] --> A", "A --> B : go", "B --> A : back", "C --> A : never")},
    {"start.scxml": f'{SCXML}<state id="a">{ACTS}<transition event="e" target="b"/></state><final id="b"/></scxml>'},
    {"timer.mmd": state_diagram("[*] --> A", "A --> B : after 5s [ready]", "B --> A : go")},
    {"regions.puml": uml("[*] --> A", "state A {", "[*] --> X", "X --> Y : go", "--", "[*] --> U", "U --> V : a", "}")},
    {"choice.puml": uml("[*] --> A", "A --> B : go [x]", "A --> C : go [y]", "A --> A : go [else]", "B --> A : a")},
]


@pytest.mark.parametrize("sources", SOURCES, ids=lambda x: next(iter(x)))
def test_a_spec_is_the_same_as_the_source_that_it_was_imported_from(sources: dict[str, str]) -> None:
    name = next(iter(sources))
    if name.startswith("sample."):
        available(name.removeprefix("sample."))
        result = read(Source(name, sources[name]), name.removeprefix("sample."))
    else:
        result = imported(sources)
    model, _ = loaded(spec_text(result, name)[0])
    assert model is not None
    assert [x.message for x in drift(model, result, {}, {}).changes] == []
    assert [x.message for x in drift(model, result, {}, {}).uncertain] == []


@given(tables())
@settings(max_examples=share(25), suppress_health_check=list(HealthCheck), deadline=None)
def test_any_table_is_the_same_as_its_spec(table: Table) -> None:
    result = Imported((table,))
    model = clean(spec_text(result, "random.py")[0])
    assert [x.message for x in drift(model, result, {}, {}).changes] == []


@pytest.mark.parametrize("events", [("", None), (None, ""), ("", "go"), ("", "event")])
def test_an_event_without_a_name_is_no_row_without_an_event(events: tuple[str | None, ...]) -> None:
    states = tuple(State(x, x) for x in "ABC")
    table = Table("M", "A", states, tuple(Row("A", x, e) for x, e in zip("BC", events, strict=True)))
    result = Imported((table,))
    model = clean(spec_text(result, "m.py")[0])
    comparison = drift(model, result, {}, {})
    assert [x.message for x in (*comparison.changes, *comparison.uncertain)] == []
    fewer = Imported((replace(table, rows=table.rows[:1]),))
    assert drift(model, fewer, {}, {}).changes


def test_a_machine_whose_name_has_no_letter_is_the_same_as_its_source() -> None:
    dead = "".join(f'<state id="dead{n}"/>' for n in range(5))
    text = f'<state id="a"><transition event="e" target="b"/></state><final id="b"/>{dead}</scxml>'
    result = imported({"m.scxml": SCXML.replace(">", ' name="/">') + text})
    model, _ = loaded(spec_text(result, "m.scxml")[0])
    assert model is not None
    assert [x.message for x in drift(model, result, {}, {}).changes] == []


def test_an_event_that_is_called_like_a_timer_is_none() -> None:
    """An inner row for it comes before an outer one; timers of both run."""
    states = (State("A", "A"), State("B", "B", "A", initial=True), State("C", "C", "A"), State("D", "D"))
    table = Table("M", "A", states, (Row("B", "C", "after patience"), Row("A", "D", "after patience")))
    result = Imported((table,))
    model = clean(spec_text(result, "m.py")[0])
    assert [x.message for x in drift(model, result, {}, {}).changes] == []


def test_python_warns_of_nothing_in_what_is_read(recwarn: pytest.WarningsRecorder) -> None:
    text = f"from transitions import Machine\npattern = '\\d'\nx = 1if True else 2\nm = {PY}\n"
    assert len(imported({"m.py": text}).tables) == 1
    assert list(recwarn) == []


# SCXML ---------------------------------------------------------------------------------------------------------------


def test_a_descriptor_takes_longer_names_too() -> None:
    text = SCXML + '<state id="a"><transition event="key" target="b"/><transition event="*" target="c"/></state>'
    text += '<state id="b"><transition event="key.minus" target="a"/><transition event="mouse.*" target="c"/></state>'
    text += '<state id="c"><onentry><raise event="mouse.up.left"/></onentry></state></scxml>'
    assert rows(table("m.scxml", text)) == {
        ("a", "key", "b"), ("a", "key.minus", "b"), ("a", "key", "c"), ("a", "key.minus", "c"), ("a", "mouse", "c"),
        ("a", "mouse.up.left", "c"), ("a", "any", "c"), ("b", "key.minus", "a"), ("b", "mouse", "c"),
        ("b", "mouse.up.left", "c"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ('<stat id="x"/>', "the element `stat` of `a`"),
        ('<transition event="e" when="x" target="b"/>', "the attribute `when` of `transition` in `a`"),
        ('<transition event="e" target="nowhere"/>', "a row of `a` to `nowhere`: there is no such state"),
        ('<transition event="e" target="b"><do/></transition>', "the element `do`"),
        ('<initial><transition target="y"/></initial><state id="x"><state id="y"/></state>',
         "the initial state of `a`, which is not directly inside of it: `y`"),
    ],
)  # fmt: skip
def test_unknown_parts_of_scxml(inside: str, message: str) -> None:
    text = f'{SCXML}\n<state id="a">{inside}<transition event="f" target="b"/></state><final id="b"/></scxml>'
    assert unread(imported({"m.scxml": text})) == [(2, message)]


def test_elements_of_another_vocabulary_are_left_out() -> None:
    text = (
        SCXML.replace(">", ' xmlns:q="http://www.qt.io">')
        + '<state id="a" q:geometry="1"><q:editorinfo/></state></scxml>'
    )
    result = imported({"m.scxml": text})
    assert [x.text for x in result.left_out] == ["`editorinfo` of `a`, which belongs to another vocabulary"]
    assert result.missing == ()


def test_the_declared_encoding_of_xml_does_not_count() -> None:
    for encoding in ("self", "utf-16", "ebcdic-cp-us", "latin-1"):
        text = f'<?xml version="1.0" encoding="{encoding}"?>{SCXML}<state id="a"/></scxml>'
        assert table("m.scxml", text).initial == "a"


# Diagrams ------------------------------------------------------------------------------------------------------------


def lines_of(result: Imported) -> list[str]:
    """The rows of the spec of an import, without places and alignment."""
    text = spec_text(result, "m.mmd")[0]
    clean(text)
    return [" ".join(x.split("//")[0].split()) for x in text.splitlines() if re.search(r"\w +(?:->|on) .*//", x)]


def test_arrows_of_one_label_are_a_choice() -> None:
    text = state_diagram(
        "[*] --> A", "A --> B : go", "A --> C : go", "A --> D : go", "B --> A : x", "C --> A : x", "D --> A : x"
    )
    assert lines_of(imported({"m.mmd": text}))[:3] == [
        "A -> B on go(to_B, to_C) when to_B",
        "A -> C on go(to_B, to_C) when to_C and not to_B",
        "A -> D on go(to_B, to_C) when not to_B and not to_C",
    ]


def test_a_choice_leaves_no_event_without_a_row() -> None:
    """Two guards that may hold at once: either row may be followed then, and each where the other does not apply."""
    text = uml(
        "[*] --> A",
        "A --> B : go [x]",
        "A --> C : go [y]",
        "A --> D : go [else]",
        "B --> A : a",
        "C --> A : a",
        "D --> A : a",
    )
    result = imported({"m.puml": text})
    followed: dict[tuple[bool, bool], set[str]] = {}
    table = result.tables[0]
    for n in range(8):
        holds = {"x": bool(n & 1), "y": bool(n & 2), "to B": bool(n & 4)}
        first = next(r for r in table.rows if r.event == "go" and all(holds[c.text] is c.holds for c in r.conditions))
        followed.setdefault((holds["x"], holds["y"]), set()).add(str(first.target))
    assert followed == {(False, False): {"D"}, (True, False): {"B"}, (False, True): {"C"}, (True, True): {"B", "C"}}


def test_arrows_that_exclude_each_other_are_no_choice() -> None:
    text = state_diagram("[*] --> A", "A --> B : go [x]", "A --> C : go [not x]", "B --> A : a", "C --> A : a")
    result = imported({"m.mmd": text})
    assert lines_of(result)[:2] == ["A -> B on go(x) when x", "A -> C on go(x) when not x"]
    assert result.left_out == ()


@pytest.mark.parametrize(("name", "write", "end"), [("m.puml", uml, r"\n"), ("m.mmd", state_diagram, "<br/>")])
def test_a_line_end_in_a_label_is_a_space(name: str, write: object, end: str) -> None:
    assert callable(write)
    text = write("[*] --> A", f"A --> B : send{end}question", f"B --> A : answer{end}[in time]{end}/ thank")
    assert table(name, text).rows == (
        Row("A", "B", "send question"),
        Row("B", "A", "answer", (Condition("in time"),), ("thank",)),
    )


@pytest.mark.parametrize(("name", "write"), [("m.puml", uml), ("m.mmd", state_diagram)])
def test_a_description_is_no_row_and_no_name(name: str, write: object) -> None:
    assert callable(write)
    text = write(
        '[*] --> A', 'state "Waiting long" as A', "A : reads a book", "A : and/or sleeps", "B : drinks tea",
        "A --> B : go", "B --> A : back", "B : entry / sit", "B : ring [loud] / wake",
    )  # fmt: skip
    result = table(name, text)
    assert [(s.name, s.title, s.label, s.doc, s.entry) for s in result.states] == [
        ("A", "A", "Waiting long", "reads a book and/or sleeps", ()),
        ("B", "B", "drinks tea", "", ("sit",)),
    ]
    assert rows(result) == {("A", "go", "B"), ("B", "back", "A"), ("B", "ring", None)}
    assert 'state A "Waiting long"' in spec_text(Imported((result,)), name)[0]


def test_the_label_of_the_first_arrow_is_listed() -> None:
    result = imported({"m.mmd": state_diagram("[*] --> A : enqueue", "A --> B : go", "B --> A : back")})
    message = "`enqueue` on the arrow to `A`, where it begins: that is not an event of an instance"
    assert [x.text for x in result.left_out] == [message]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("state A <<choice>>",), "a beginning that is not a state, `A`: `B` is taken"),
        (("state F <<fork>>", "B --> F : x"), "what `<<fork>>` means: `F` is read as an ordinary state"),
        (("[*] --> B",), "a second beginning, `B`"),
        (("--",), "parallel regions of the whole machine: their states are read as those of one"),
        (("state C <<choice>>", "B --> C : x"), "the choice `C`, which nothing leads out of"),
        (("state C <<choice>>", "C --> A : x"), "the choice `C`, which nothing leads to"),
        (("note left of A", "B --> A : x"), "a block that is not closed, and all that follows"),
    ],
)
@pytest.mark.parametrize(("name", "write"), [("m.puml", uml), ("m.mmd", state_diagram)])
def test_unknown_parts_of_diagrams(lines: tuple[str, ...], message: str, name: str, write: object) -> None:
    assert callable(write)
    result = imported({name: write("[*] --> A", "A --> B : go", "B --> A : back", *lines)})
    assert message in [x.text for x in result.missing]
    loaded(spec_text(result, name)[0])


@pytest.mark.parametrize(("name", "write"), [("m.puml", uml), ("m.mmd", state_diagram)])
def test_states_that_are_called_like_words_of_the_format(name: str, write: object) -> None:
    assert callable(write)
    words = ("title", "note", "hide", "scaled", "style", "showing", "header")
    text = write("[*] --> A", *(f"A --> {x} : go_{x}" for x in words), *(f"{x} --> A : back" for x in words))
    result = table(name, text)
    assert {s.name for s in result.states} == {"A", *words}
    assert len(result.rows) == 2 * len(words)


def test_what_plantuml_does_not_draw_is_no_row() -> None:
    text = uml("!include other.puml", "[*] --> A", "A -[hidden]-> B", "A --> B : go", "B --> A : back")
    result = imported({"m.puml": text})
    assert rows(result.tables[0]) == {("A", "go", "B"), ("B", "back", "A")}
    assert unread(result) == [(2, "a directive, which is not followed: `!include other.puml`")]


def test_a_diagram_in_markdown_is_called_by_its_heading() -> None:
    diagram = state_diagram("[*] --> A", "A --> B : go", "B --> A : back")
    text = f"# The page\n\n## Order\n```mermaid\n{diagram}```\n## Parcel\n```mermaid\n{diagram}```\n"
    assert [x.name for x in imported({"m.md": text}).tables] == ["Order", "Parcel"]


# Size ----------------------------------------------------------------------------------------------------------------


def _of_one_state(count: int) -> list[Row]:
    return [Row("A", "AB"[n % 2], "go", (Condition(f"c{n}"),)) for n in range(count)]


def _of_each_state(count: int) -> list[Row]:
    return [Row(f"S{n}", "A", "go", (Condition(f"c{n}"),)) for n in range(count)]


def _sets(count: int) -> list[Row]:
    return [
        Row("A", "B", "go", tuple(Condition(f"c{k}") for k in range(10) if n >> k & 1)) for n in range(1, count + 1)
    ]


@pytest.mark.parametrize("make", [_of_one_state, _of_each_state, _sets])
def test_a_spec_is_linear_in_the_rows(make: object) -> None:
    assert callable(make)
    sizes = []
    for count in (100, 400):
        result = make(count)
        names = dict.fromkeys(["A", "B", *(r.source for r in result)])
        every = [*result, Row("B", "A", "back"), *(Row("A", x, f"to_{x}") for x in names if x != "A")]
        text, _ = spec_text(Imported((Table("M", "A", tuple(State(x, x) for x in names), tuple(every)),)), "m.py")
        assert not [d for d in parse(Source("m.fsm", text)).diagnostics if d.severity is Severity.ERROR]
        sizes.append(len(text))
    assert sizes[1] < 5 * sizes[0]


def test_a_row_by_number_is_followed_where_it_is_the_first_that_applies() -> None:
    """A composite and a state in it take the same event: each row has a number of its own."""
    inner = [Row("I", "B", "go", (Condition(f"i{n}"),)) for n in range(20)]
    outer = [Row("C", "B", "go", (Condition(f"o{n}"),)) for n in range(3)]
    states = (State("C", "C"), State("I", "I", "C", initial=True), State("J", "J", "C"), State("B", "B"))
    others = [Row("I", "J", "go"), Row("J", "I", "back"), Row("B", "C", "back")]
    text, _ = spec_text(Imported((Table("M", "C", states, (*inner, *outer, *others)),)), "m.py")
    clean(text)
    assert "event go(first_that_applies: 0..24) from environment" in " ".join(text.split())
    assert "I -> B on go(first_that_applies) when first_that_applies == 20" in " ".join(text.split())
    assert "C -> B on go(first_that_applies) when first_that_applies == 22" in " ".join(text.split())
    assert "I -> J on go(first_that_applies) when (first_that_applies < 1 or first_that_applies > 20)" in " ".join(
        text.split()
    )


# XState --------------------------------------------------------------------------------------------------------------

MAKER = """\
import { createMachine } from 'xstate';
const errorTo = (target: string) => ({ guard: 'hasError', target });
export const m = createMachine({
  initial: 'idle',
  states: {
    idle: { on: { GO: 'busy' } },
    busy: { PART },
    failed: { on: { RETRY: 'busy' } },
  },
});
"""


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("on: { X: [errorTo('failed'), { guard: 'good', target: 'idle' }] }", "a row of `busy`: `errorTo('failed')`"),
        ("on: { X: { ...errorTo('failed') } }", "a part of a row of `busy`: `...errorTo('failed')`"),
        ("on: { X: 'idle', ...common }", "a part of `on` of `busy`: `...common`"),
        ("on: { X: 'idle', [EVENTS.GO]: 'idle' }", "a part of `on` of `busy`: `EVENTS.GO`"),
        ("on: common", "`on` of `busy`: `common`"),
        ("...base", "a part of `busy`: `...base`"),
        ("states: inner()", "`states` of `busy`: `inner()`"),
        ("states: { a: inner() }", "the state `busy.a`: `inner()`"),
        ("initial: first(), states: { a: {} }", "the initial state of `busy`: `first()`"),
        ("always: rows()", "a row of `busy`: `rows()`"),
        ("after: delays()", "`after` of `busy`: `delays()`"),
        ("on: { X: { target: 'nowhere' } }", "a row of `busy` to `nowhere`: there is no such state"),
        ("invoke: makeService()", "what answers of `invoke` of `busy` lead to: `makeService()`"),
        ("on: { X: { target: 'idle', guard: 3 } }", "a guard of `busy`: `3`"),
        ("onn: { X: 'idle' }", "`onn` of `busy`"),
    ],
)
def test_unknown_parts_of_xstate(part: str, message: str) -> None:
    available("xstate-source")
    result = imported({"m.ts": MAKER.replace("PART", part)})
    assert unread(result) == [(7, message)]
    rows_of_busy = {(r.event, r.target) for r in result.tables[0].rows if r.source == "busy"}
    assert rows_of_busy <= {("X", "idle")}


def test_a_state_is_not_called_dead_where_a_part_was_not_read() -> None:
    available("xstate-source")
    result = imported({"m.ts": MAKER.replace("PART", "on: rows()")})
    assert [x.text for x in spec_text(result, "m.ts")[1]] == [
        "the state `failed`, with 1 row that leaves it: no row that was read leads to it"
    ]


def test_a_second_machine_that_is_not_spelled_out() -> None:
    available("xstate-source")
    text = MAKER.replace("PART", "on: { X: 'failed' }") + "export const n = createMachine(config());\n"
    assert unread(imported({"m.ts": text})) == [(11, "a machine whose states the source does not spell out")]


def test_stars_in_xstate_take_the_events_that_nothing_else_takes() -> None:
    text = """{"initial": "a", "states": {
        "a": {"on": {"*": "b", "mouse.*": "c", "mouse.up": {"target": "a", "guard": "g", "reenter": true}}},
        "b": {"on": {"key": "a"}}, "c": {"on": {"mouse.down": "a"}}}}"""
    assert rows(table("m.json", text)) == {
        ("a", "mouse.up", "a"), ("a", "mouse", "c"), ("a", "mouse.down", "c"), ("a", "key", "b"), ("a", "any", "b"),
        ("b", "key", "a"), ("c", "mouse.down", "a"),
    }  # fmt: skip


def test_an_object_that_is_changed_later() -> None:
    available("xstate-source")
    text = "const on = { X: 'b' };\non.Y = 'c';\nconst list = [{ target: 'b' }];\nlist.push(other);\n"
    text += "createMachine({ initial: 'a', states: { a: { on }, b: { on: { Z: list } }, c: {} } });\n"
    assert [x.text for x in imported({"m.ts": text}).missing] == ["a part of `on` of `a`: `on`", "a row of `b`: `list`"]


def test_create_machine_under_another_name() -> None:
    available("xstate-source")
    text = "import { createMachine as make } from 'xstate';\n"
    text += "make({ initial: 'a', states: { a: { on: { X: 'b' } }, b: {} } });\n"
    assert rows(table("m.ts", text)) == {("a", "X", "b")}


def test_in_of_xstate_4_is_a_condition() -> None:
    text = '{"id": "(machine)", "initial": "a", "states": {"a": {"on": {"E": {"target": "b", "in": "#m.x"}}}, "b": {}}}'
    result = table("orders.json", text)
    assert result.rows == (Row("a", "b", "E", (Condition("in #m.x"),)),)
    assert result.name == "orders"


def test_a_number_without_end_is_no_duration() -> None:
    available("xstate-source")
    text = "createMachine({states: {a: {after: {1e999: 'b'}}, b: {}}, initial: 'a'})"
    assert rows(table("m.ts", text)) == {("a", "after inf", "b")}


# Python --------------------------------------------------------------------------------------------------------------

HEAD = "from transitions import Machine\n"
MACHINE = "m = Machine(states=['a', 'b'], transitions=[['go', 'a', 'b'], ['back', 'b', 'a']], initial='a')\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("for x in names():\n    m.add_transition(x, 'a', 'b')\n", "a row that is known only at run time"),
        ("m.add_transition(**options)\n", "arguments that are known only at run time: `**options`"),
        ("m.add_transition(*row)\n", "arguments that are known only at run time: `*row`"),
        ("m.add_transitions([[x, 'a', 'b'] for x in xs if x])\n", "a row that is known only at run time"),
        (
            "rows = []\nif debug:\n    rows = [['x', 'a', 'b']]\nm.add_transitions(rows)\n",
            "a row that is known only at run time: `if debug`",
        ),
        (
            "if debug:\n    r = [['x', 'a', 'b']]\nelse:\n    r = []\nm.add_transitions(r)\n",
            "a row that is known only at run time: `if debug`",
        ),
        (
            "rows = []\nif debug:\n    rows.append(['x', 'a', 'b'])\nm.add_transitions(rows)\n",
            "a row that is known only at run time: `rows.append(['x', 'a', 'b']) if debug`",
        ),
        ("kw = dict(trigger='x', source='a', dest='b')\ndel kw['dest']\nm.add_transitions([kw])\n", "`del kw['dest']`"),
        ("if debug:\n    m.add_transition('x', 'a', 'b')\n", "depends on `debug`: it is read as if that holds"),
        ("m.remove_transition('go')\n", "removals are not applied"),
        ("m.add_transition('x', 'a', 'nowhere')\n", "there is no such state"),
        ("m.add_transition('x', 'a', 'b', wen='y')\n", "unknown parts of a row: `wen`"),
        ("m.add_transitions([{'trigger': 'x', 'source': 'a', 'dest': 'b', **more}])\n", "`**more`"),
        ("m.add_states(more)\n", "a state that is known only at run time: `more`"),
        ("m.add_transitions(load())\n", "a row that is known only at run time: `load()`"),
        (
            "n = Machine(states=['x', 'y'], transitions=[['t', 'x', 'y']], initial=first())\n",
            "an initial state that is known only",
        ),
        ("rows = []\nrows.remove(1)\nm.add_transitions(rows)\n", "`rows.remove(1)`"),
    ],
)
def test_unknown_parts_of_transitions(text: str, message: str) -> None:
    result = imported({"m.py": HEAD + MACHINE + text})
    assert any(message in x.text for x in result.missing), result.missing
    loaded(spec_text(result, "m.py")[0])


@pytest.mark.parametrize(
    "text",
    [
        "class M:\n    def __init__(self):\n        kw = dict(states=['a', 'b'], initial='a')\n"
        "        kw['transitions'] = [['go', 'a', 'b'], ['back', 'b', 'a']]\n"
        "        self.machine = Machine(self, **kw)\n",
        "def rows(a, b):\n    return [['go', a, b], ['back', b, a]]\n"
        "m = Machine(states=['a', 'b'], transitions=rows('a', b='b'), initial='a')\n",
        "rows = []\nrows.insert(0, ['go', 'a', 'b'])\nrows += [['back', 'b', 'a']]\n"
        "m = Machine(states=['a', 'b'], transitions=rows, initial='a')\n",
        "class Base(Machine):\n    def __init__(self):\n        super().__init__(states=['a', 'b'], initial='a')\n"
        "class Sub(Base):\n    def __init__(self):\n        super().__init__()\n"
        "        self.add_transition('go', 'a', 'b')\n        self.add_transition('back', 'b', 'a')\n",
        "try:\n    pass\nfinally:\n    m = Machine(states=['a', 'b'], transitions=[['go', 'a', 'b']], initial='a')\n"
        "m.add_transition('back', 'b', 'a')\n",
    ],
    ids=["kwargs", "helper", "list", "subclass", "finally"],
)
def test_tables_that_are_put_together(text: str) -> None:
    result = imported({"m.py": HEAD + text})
    assert result.missing == ()
    assert rows(result.tables[-1]) == {("a", "go", "b"), ("b", "back", "a")}


def test_states_of_another_file_are_those_that_rows_name() -> None:
    text = (
        f"{HEAD}from .const import STATES\nm = Machine(states=STATES, initial='a')\nm.add_transition('go', 'a', 'b')\n"
    )
    result = imported({"m.py": text})
    assert unread(result) == [(3, "a state that is known only at run time: `STATES`")]
    assert rows(result.tables[0]) == {("a", "go", "b")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("    x = a.to(b) | more\n", "rows that are known only at run time: `x = a.to(b) | more`"),
        ("    x = a.to(c())\n", "a row that is known only at run time: `a.to(c())`"),
        ("    x = a.to(b, **more)\n", "a part that is known only at run time: `**more`"),
        ("    x = a.to(b, event=name())\n", "an event that is known only at run time: `name()`"),
        ("    c = State(final=last())\n    x = a.to(c)\n", "`final` of the state `c`: `last()`"),
        ("    s = States(load())\n    x = a.to(b)\n", "states that are known only at run time: `States(load())`"),
    ],
)
def test_unknown_parts_of_python_statemachine(text: str, message: str) -> None:
    head = "from statemachine import State, States, StateMachine\nclass M(StateMachine):\n"
    head += "    a = State(initial=True)\n    b = State()\n    go = a.to(b)\n    back = b.to(a)\n"
    result = imported({"m.py": head + text})
    assert message in [x.text for x in result.missing]
    assert None not in {r.event for r in result.tables[0].rows}


def test_a_machine_without_states_that_were_read() -> None:
    head = "from statemachine import State, States, StateMachine\nclass M(StateMachine):\n    s = States(load())\n"
    with pytest.raises(ImportFailedError):
        imported({"m.py": head})
    result = imported({"m.py": head + "class N(StateMachine):\n    a = State()\n    go = a.to.itself()\n"})
    assert unread(result) == [(3, "states that are known only at run time: `States(load())`")]


def test_a_class_of_another_file_may_declare_more() -> None:
    text = "from statemachine import State\nfrom .base import Base, OrderStateMachine\n"
    text += "class M(OrderStateMachine, Base):\n    a = State(initial=True)\n    b = State()\n    go = a.to(b)\n"
    assert [x for _, x in unread(imported({"m.py": text}))] == [
        "what the class `Base` declares, which is not in this file",
        "what the class `OrderStateMachine` declares, which is not in this file",
    ]


# Go ------------------------------------------------------------------------------------------------------------------

GO = 'package p\n\nimport "github.com/looplab/fsm"\n\n'
ROWS = '{Name: "go", Src: []string{"a"}, Dst: "b"}, {Name: "back", Src: []string{"b"}, Dst: "a"}'


def go(text: str) -> Imported:
    return imported({"p/a.go": GO + text})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('return fsm.NewFSM("a", load(), nil)', "the events are not a list that the source spells out"),
        ('return fsm.NewFSM(first(), fsm.Events{ROWS}, nil)', "the initial state is not a constant"),
        ('return fsm.NewFSM("a", fsm.Events{ROWS, one()}, nil)', "an event of the table is not spelled out"),
        ('rows := fsm.Events{ROWS}\nif debug { rows = append(rows, x) }\nreturn fsm.NewFSM("a", rows, nil)',
         "an event of the table"),
        ('rows := fsm.Events{ROWS}\nfor i := 0; i < n; i++ { rows = append(rows, x) }\n'
         'return fsm.NewFSM("a", rows, nil)', "an event of the table"),
        ('rows := fsm.Events{ROWS}\nfill(&rows)\nreturn fsm.NewFSM("a", rows, nil)', "an event of the table"),
        ('rows := fsm.Events{ROWS}\nadd := func() { rows = nil }\nadd()\nreturn fsm.NewFSM("a", rows, nil)',
         "an event of the table"),
        ('return fsm.NewFSM("a", rows(), nil)\n}\nfunc rows() fsm.Events {\nif x { return nil }\n'
         'return fsm.Events{ROWS}', "the events are not a list"),
        ('rows := fsm.Events{ROWS}\nswitch n { case 1: rows = nil }\nreturn fsm.NewFSM("a", rows, nil)', "an event of"),
        ('build := fsm.NewFSM\nif debug { build = fake }\nbuild("c", nil, nil)\n'
         'return fsm.NewFSM("a", fsm.Events{ROWS}, nil)',
         "the machines that `fsm.NewFSM` makes under another name"),
        ('x.build = fsm.NewFSM\nx.build("c", nil, nil)\nreturn fsm.NewFSM("a", fsm.Events{ROWS}, nil)',
         "the machines that `fsm.NewFSM` makes under another name"),
        ('rows := fsm.Events{ROWS}\nif debug { rows[1] = other }\nreturn fsm.NewFSM("a", rows, nil)',
         "an event of the table"),
        ('rows := make(fsm.Events, n)\nreturn fsm.NewFSM("a", rows, nil)', "the events are not a list"),
        ('return fsm.NewFSM("a", fsm.Events{ROWS, {Name: "x", Src: []string{get()}, Dst: "b"}}, nil)',
         "a row that is known only at run time"),
    ],
)  # fmt: skip
def test_unknown_parts_of_go(body: str, message: str) -> None:
    result = go(f"func New() *fsm.FSM {{\n{body.replace('ROWS', ROWS)}\n}}\n")
    assert any(message in x.text for x in result.missing), result.missing
    loaded(spec_text(result, "a.go")[0])


@pytest.mark.parametrize(
    "text",
    [
        'func table() (string, fsm.Events, fsm.Callbacks) { return "a", fsm.Events{ROWS}, nil }\n'
        "func New() *fsm.FSM { return fsm.NewFSM(table()) }\n",
        "func New() *fsm.FSM {\nfirst, rows := parts()\nreturn fsm.NewFSM(first, rows, nil)\n}\n"
        'func parts() (string, fsm.Events) { return "a", fsm.Events{ROWS} }\n',
        'var machine = fsm.NewFSM("a", fsm.Events{ROWS}, fsm.Callbacks{})\n',
        'func f() {\nif m := fsm.NewFSM("a", fsm.Events{ROWS}, nil); m != nil { run(m) }\n}\n',
        'func init() { fsm.NewFSM("a", fsm.Events{ROWS}, nil) }\nfunc init() { start() }\n',
        'func f() { m := fsm.NewFSM("a", fsm.Events{ROWS}, nil); run(m) }',
    ],
    ids=["several", "assigned", "variable", "if", "init", "one-line"],
)
def test_tables_of_go(text: str) -> None:
    result = go(text.replace("ROWS", ROWS))
    assert result.missing == ()
    (made_table,) = result.tables
    assert rows(made_table) == {("a", "go", "b"), ("b", "back", "a")}


def test_two_tables_in_a_struct_have_names_of_their_own() -> None:
    other = ROWS.replace('"a"', '"down"').replace('"b"', '"up"')
    text = f'func (p *Port) init() {{\np.Inner = fsm.NewFSM("a", fsm.Events{{{ROWS}}}, nil)\n'
    text += f'p.Oper = fsm.NewFSM("down", fsm.Events{{{other}}}, nil)\n}}\n'
    result = go(text)
    assert [x.name for x in result.tables] == ["Inner", "Oper"]
    model = clean(spec_text(Imported(result.tables[1:]), "a.go")[0])
    assert drift(model, result, {"Oper": "Oper"}, {}).same
    assert {x.name for x in drift(model, result, {}, {}).changes} == {"Inner"}


def test_methods_of_one_name() -> None:
    text = f'func (o *Order) init() {{ o.m = fsm.NewFSM("a", fsm.Events{{{ROWS}}}, nil) }}\n'
    assert [x.name for x in go(text + text.replace("Order", "Parcel")).tables] == ["Order", "Parcel"]


def test_callbacks_that_are_assigned_to_a_map() -> None:
    text = 'func New() *fsm.FSM {\ncalls := fsm.Callbacks{}\ncalls["enter_b"] = p.log\n'
    result = go(text + f'return fsm.NewFSM("a", fsm.Events{{{ROWS}}}, calls)\n}}\n')
    assert [s.entry for s in result.tables[0].states] == [(), ("p.log",)]


def test_a_map_of_callbacks_that_is_made() -> None:
    text = 'func New() *fsm.FSM {\ncalls := make(map[string]fsm.Callback)\ncalls["enter_b"] = p.log\n'
    text += 'for _, s := range []string{"a", "b"} { calls["leave_"+s] = p.count }\n'
    result = go(text + f'return fsm.NewFSM("a", fsm.Events{{{ROWS}}}, calls)\n}}\n')
    assert [(s.entry, s.exit) for s in result.tables[0].states] == [((), ("p.count",)), (("p.log",), ("p.count",))]


def test_a_callback_that_is_assigned_under_a_condition_is_listed() -> None:
    text = 'func New() *fsm.FSM {\ncalls := fsm.Callbacks{}\nif debug { calls["enter_b"] = p.log }\n'
    result = go(text + f'return fsm.NewFSM("a", fsm.Events{{{ROWS}}}, calls)\n}}\n')
    assert [s.entry for s in result.tables[0].states] == [(), ()]
    assert [x.text for x in result.left_out] == ["a callback whose name is known only at run time: `p.log`"]


@pytest.mark.parametrize(
    ("body", "actions"),
    [
        ("p.one()\np.two()", ("one", "two")),
        ("if err := p.one(); err != nil { p.alarm() }\np.two()", ("one", "two")),
        ("x, err := p.one()\ngo p.two()\ndefer p.three()", ("one", "two", "three")),
        ("if err := p.one(); err != nil { return }\np.two()", ("one",)),
        ("log.Println(p)", ("enter_b",)),
    ],
)
def test_what_a_callback_calls_whatever_happens(body: str, actions: tuple[str, ...]) -> None:
    call = f'"enter_b": func(c C, e *fsm.Event) {{\n{body}\n}}'
    text = f'var m = fsm.NewFSM("a", fsm.Events{{{ROWS}}}, fsm.Callbacks{{{call}}})\n'
    assert go(text).tables[0].state_by_name["b"].entry == actions


def test_a_callback_that_may_cancel_is_listed() -> None:
    call = '"before_go": func(c C, e *fsm.Event) {\nif bad { e.Cancel(err) }\n}'
    result = go(f'var m = fsm.NewFSM("a", fsm.Events{{{ROWS}}}, fsm.Callbacks{{{call}}})\n')
    assert [x.text for x in result.left_out] == ["the callback `before_go` may cancel the event"]


def test_methods_of_one_name_that_return_tables() -> None:
    text = ""
    for kind, first in (("Order", "a"), ("Parcel", "b")):
        own = ROWS.replace('"go"', f'"go{kind}"')
        text += f'func (x *{kind}) first() string {{ return "{first}" }}\n'
        text += f"func (x *{kind}) rows() fsm.Events {{ return fsm.Events{{{own}}} }}\n"
        text += f"func (x *{kind}) build() *fsm.FSM {{ return fsm.NewFSM(x.first(), x.rows(), nil) }}\n"
    text += "func other() *fsm.FSM {\nx := &Order{}\nreturn fsm.NewFSM(x.first(), x.rows(), nil)\n}\n"
    result = go(text)
    assert result.missing == ()
    assert [(x.name, x.initial) for x in result.tables] == [("Order", "a"), ("Parcel", "b"), ("Other", "a")]
    assert [x.rows[0].event for x in result.tables] == ["goOrder", "goParcel", "goOrder"]


@pytest.mark.parametrize(
    "declaration",
    [
        "func (x *Order) rows() fsm.Events { return EVENTS }",
        "func rows() fsm.Events { return EVENTS }",
        "var rows = EVENTS",
    ],
)
def test_what_another_platform_declares_again_is_not_read(declaration: str) -> None:
    texts = [declaration.replace("EVENTS", f"fsm.Events{{{x}}}") for x in (ROWS, ROWS.replace("go", "run"))]
    call = "x.rows()" if "(x *" in declaration else "rows()" if "func" in declaration else "rows"
    text = f'{texts[0]}\n{texts[1]}\nfunc (x *Order) build() *fsm.FSM {{ return fsm.NewFSM("a", {call}, nil) }}\n'
    assert [x.text for x in go(text).missing] == ["the events are not a list that the source spells out"]


def test_a_constant_of_another_platform_is_not_read() -> None:
    text = f'const First = "a"\nconst First = "b"\nvar m = fsm.NewFSM(First, fsm.Events{{{ROWS}}}, nil)\n'
    assert [x.text for x in go(text).missing] == [
        "the initial state is not a constant: the first state of the table is taken"
    ]


@pytest.mark.parametrize(
    "text",
    [
        'func New() *fsm.FSM {\nbuild := fsm.NewFSM\nreturn build("a", fsm.Events{ROWS}, nil)\n}\n',
        'func New() *fsm.FSM {\nvar build = fsm.NewFSM\nreturn build("a", fsm.Events{ROWS}, nil)\n}\n',
        'var build = fsm.NewFSM\nfunc New() *fsm.FSM { return build("a", fsm.Events{ROWS}, nil) }\n',
    ],
)
def test_a_variable_that_is_another_name_of_the_maker(text: str) -> None:
    result = go(text.replace("ROWS", ROWS))
    assert result.missing == ()
    assert rows(result.tables[0]) == {("a", "go", "b"), ("b", "back", "a")}


def test_a_maker_that_is_handed_on_is_named_where_nothing_else_was_read() -> None:
    with pytest.raises(ImportFailedError) as caught:
        go("func New() *fsm.FSM { return make_with(fsm.NewFSM) }\n")
    message = "the machines that `fsm.NewFSM` makes under another name are not read"
    assert caught.value.diagnostic.message == message
    span = caught.value.diagnostic.span
    assert span.source.position(span.start)[0] == 5


@pytest.mark.parametrize(
    "layout",
    [
        'const (First = "a"; Second = "b" ); var rows = fsm.Events{ ROWS , } ;\nvar m = fsm.NewFSM(First , rows,nil)\n',
        'var ( x, y = 1, 2; z string )\nvar m=fsm.NewFSM("a",fsm.Events{ROWS,},nil)\n',
        'func New() *fsm.FSM {;; m := fsm.NewFSM( "a", fsm.Events{ROWS}, nil ) ;; ; return m ; }\n',
        "type ( T struct { a int; b string } )\n"
        'func New() (m *fsm.FSM){m=fsm.NewFSM("a",fsm.Events{ROWS},nil);return}\n',
    ],
)
def test_go_that_gofmt_would_lay_out_in_another_way(layout: str) -> None:
    result = go(layout.replace("ROWS", ROWS))
    assert result.missing == ()
    assert rows(result.tables[0]) == {("a", "go", "b"), ("b", "back", "a")}


def test_a_declaration_that_is_not_go_is_not_read() -> None:
    result = go(f'func New() *fsm.FSM {{ return fsm.NewFSM("a", fsm.Events{{{ROWS}}}, nil) }}\nfunc bad( {{\n')
    assert [x.text for x in result.missing] == ["a declaration that is not Go"]
    assert len(result.tables[0].rows) == 2


def test_a_state_of_go_without_a_name() -> None:
    text = 'var m = fsm.NewFSM("a", fsm.Events{{Name: "go", Src: []string{"a", ""}, Dst: "b"}}, nil)\n'
    assert rows(go(text).tables[0]) == {("a", "go", "b"), ("", "go", "b")}


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ('"a": {}, "": {"states": {"x": {}}}', "a state of the machine without a name of its own: ``"),
        ('"a": {"states": {"b": {}}}, "a.b": {}', "a state of the machine without a name of its own: `a.b`"),
        ('"a": {}, "h": {"type": "history", "states": {"x": {}}}', "the history `h`, which has states in it"),
    ],
)
@pytest.mark.parametrize("kind", ["compound", "parallel"])
def test_states_of_xstate_that_cannot_be_told_apart(states: str, message: str, kind: str) -> None:
    result = imported({"m.json": f'{{"type": "{kind}", "states": {{{states}}}}}'})
    assert message in [x.text for x in result.missing]
    loaded(spec_text(result, "m.json")[0])


ENDLESS = (
    "const go = 'b';\n"
    "export} }, after: { d: 'b' } },const m   s\ufeffetup({ delays: { d: 5 } }).createMachine({\n"
    "  id: 'm',\n"
    "  states: { a: { on:={ E: { target: go, gua / fter: { d: 'b' } }, b: {  do s: 'a' } }\n"
    "});\n"
)


def test_a_parser_that_does_not_come_to_an_end_is_stopped() -> None:
    available("xstate-source")
    with pytest.raises(ImportFailedError) as caught:
        read(Source("m.tsx", ENDLESS), "xstate-source")
    assert caught.value.diagnostic.rule.code == "FSM522"


# Names ---------------------------------------------------------------------------------------------------------------

TS = "createMachine({ ID initial: 'a', states: { a: { on: { GO: 'b' } }, b: {} } })"
PY = 'Machine(states=["a", "b"], initial="a", transitions=[["go", "a", "b"]])'


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("const door = MADE", "door"),
        ("const machine = MADE", "source"),
        ("export default MADE", "source"),
        ("export function createDoor() { return MADE }", "Door"),
        ("const makeDoor = () => MADE", "Door"),
        ("const all = { door: MADE }", "door"),
        ("class House { door = MADE }", "door"),
        ("module.exports.door = MADE", "door"),
    ],
)
@pytest.mark.parametrize("own", ["", "id: '(machine)',"])
def test_the_name_of_a_machine_in_typescript(text: str, name: str, own: str) -> None:
    pytest.importorskip("tree_sitter_typescript", reason="SKIPPED: TypeScript needs `tree-sitter-typescript`")
    source = f"import {{ createMachine }} from 'xstate'\n{text.replace('MADE', TS.replace('ID', own))}\n"
    assert table("source.ts", source).name == name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("door = MADE", ["door"]),
        ("machine = MADE", ["source"]),
        ("def make_door():\n    return MADE", ["door"]),
        ("def main():\n    m = MADE", ["source"]),
        ("class House:\n    def __init__(self):\n        self.machine = MODEL", ["House"]),
        ("class House:\n    def __init__(self):\n        self.door = MODEL\n        self.lamp = MODEL",
         ["House door", "House lamp"]),
    ],
)  # fmt: skip
def test_the_names_of_machines_in_python(text: str, names: list[str]) -> None:
    text = text.replace("MADE", PY).replace("MODEL", PY.replace("(", "(self, ", 1))
    result = imported({"source.py": f"from transitions import Machine\n\n{text}\n"})
    assert [x.name for x in result.tables] == names


def test_methods_of_go_that_build_machines_are_called_by_their_types() -> None:
    text = "".join(
        f'func (x *{kind}) build() *fsm.FSM {{ return fsm.NewFSM("a", fsm.Events{{{ROWS}}}, nil) }}\n'
        for kind in ("Order", "Parcel")
    )
    assert [x.name for x in go(text).tables] == ["Order", "Parcel"]
