"""What `fsm import` writes can be read and checked, says what the source says, and no source makes a reader fail.

`UPDATE=1 pytest tests/test_import.py` rewrites the golden files; each holds the sources that it was made from.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from random_tables import tables
from tiers import share

from fsmdsl import model as m
from fsmdsl.check import check
from fsmdsl.draw.graph import graph_of
from fsmdsl.draw.mermaid import mermaid
from fsmdsl.draw.plantuml import plantuml
from fsmdsl.interop.drift import drift
from fsmdsl.interop.imports import Condition, Imported, ImportFailedError, Row, State, Table, spec_text
from fsmdsl.interop.imports.formats import READERS, format_of, read
from fsmdsl.interop.imports.normalize import normal
from fsmdsl.model.resolve import resolve
from fsmdsl.syntax.parse import parse
from fsmdsl.text.diagnostics import Diagnostic, Severity
from fsmdsl.text.source import Source

GOLDEN = Path(__file__).parent / "golden" / "import"
_BLOCK = re.compile(r"^(`{3,4})(\w+) (\S+)\n(.*?)^\1\n", re.MULTILINE | re.DOTALL)

REAL_PROBLEMS = {"FSM202", "FSM211", "FSM218"}
"""What is about the machine and not about how it is written: no way to a final state, eventless rows in a circle,
a row that those further inside always come before."""


def loaded(text: str) -> tuple[m.Model | None, list[Diagnostic]]:
    """The model of a spec, and everything that is wrong with it."""
    parsed = parse(Source("imported.fsm", text))
    resolved = resolve([parsed.module])
    found = [*parsed.diagnostics, *resolved.diagnostics]
    if resolved.model is not None:
        found += check(resolved.model)
    return resolved.model, [d for d in found if d.severity > Severity.NOTE]


def clean(text: str) -> m.Model:
    model, found = loaded(text)
    assert [(str(d.span), d.message) for d in found if d.rule.code not in REAL_PROBLEMS] == []
    assert model is not None
    return model


def imported(sources: dict[str, str]) -> Imported:
    """What the reader for these files makes of them."""
    first = next(iter(sources))
    form = format_of(first, sources[first])
    assert form is not None
    available(form)
    if form == "looplab":
        pytest.importorskip("tree_sitter_go", reason="SKIPPED: Go sources need `tree-sitter-go`")
        from fsmdsl.interop.imports.go_looplab import read as read_go

        packages: dict[str, list[Source]] = {}
        for name, text in sources.items():
            packages.setdefault(f"example.com/{Path(name).parent.as_posix()}", []).append(Source(name, text))
        return read_go(packages, f"example.com/{Path(first).parent.as_posix()}")
    return read(Source(first, sources[first]), form)


# Golden files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.md")), ids=lambda p: p.stem)
def test_golden(path: Path) -> None:
    text = path.read_text("utf-8")
    blocks = {name: content for _, kind, name, content in _BLOCK.findall(text) if kind != "fsm"}
    spec, _ = spec_text(imported(blocks), next(iter(blocks)))
    clean(spec)
    head = text.split("```fsm ")[0]
    made = f"{head}```fsm {path.stem}.fsm\n{spec}```\n"
    if os.environ.get("UPDATE"):
        path.write_text(made, "utf-8")
    assert made == text


# Any table -----------------------------------------------------------------------------------------------------------


@given(tables())
@settings(max_examples=share(25), suppress_health_check=list(HealthCheck))
def test_any_table_becomes_a_spec_without_errors_that_has_its_rows(table: Table) -> None:
    text, _ = spec_text(Imported((table,)), "random.py")
    model = clean(text)
    plain, _ = normal(table)
    given_names = {
        s.name: x.name for s, x in zip(plain.states, next(iter(model.machines.values())).states, strict=True)
    }
    events = list(dict.fromkeys(r.event for r in plain.rows if r.event is not None))
    machine = next(iter(model.machines.values()))
    assert len(machine.events) == len(events)
    named = dict(zip(events, (e.name for e in machine.events), strict=True))
    renamed = Table(
        machine.name,
        given_names[plain.initial],
        tuple(
            State(given_names[s.name], given_names[s.name], s.parent and given_names[s.parent], s.initial)
            for s in plain.states
        ),
        tuple(
            Row(
                given_names[r.source],
                r.target and given_names[r.target],
                None if r.event is None else named[r.event],
                r.conditions,
                (),
                r.after,
            )
            for r in plain.rows
        ),
    )
    assert [x.message for x in drift(model, Imported((renamed,)), {}, {}).changes] == []


def test_the_test_of_rows_notices_a_row_that_is_lost() -> None:
    states = (State("A", "A"), State("B", "B"))
    rows = (Row("A", "B", "go"), Row("B", "A", "back"))
    model = clean(spec_text(Imported((Table("M", "A", states, rows),)), "m.py")[0])
    found = drift(model, Imported((Table("M", "A", states, (*rows, Row("A", None, "back"))),)), {}, {}).changes
    assert [x.message for x in found] == ["M: the row `A on back` is in the code, but not in the spec"]


def test_a_spec_does_not_drift_from_what_it_was_imported_from() -> None:
    """Names that are words of the language are written in another way, and recognised."""
    states = (State("state", "state"), State("1", "1"))
    rows = (Row("state", "1", "add"), Row("1", "state", "send"), Row("1", None, "on"), Row("state", None, "go"))
    made = Imported((Table("machine", "state", states, rows),))
    assert drift(clean(spec_text(made, "m.py")[0]), made, {}, {}).same


def test_a_row_without_event_and_target_is_left_out() -> None:
    states = (State("A", "A"), State("B", "B"))
    rows = (Row("A", None, None, (), ("act",)), Row("A", "B", "go"), Row("B", "A", "back"))
    text, left_out = spec_text(Imported((Table("M", "A", states, rows),)), "m.py")
    clean(text)
    assert [x.text for x in left_out] == ["a row of `A` that needs no event and leads nowhere"]


def test_names_in_other_letters_are_written_in_those_of_the_language() -> None:
    states = (State("größe", "größe"), State("B", "B"))
    rows = (Row("größe", "B", "über", (Condition("ärger"), Condition("a.größer()")), ("ölen", "self.füllen")),)
    clean(spec_text(Imported((Table("Maß", "größe", states, (*rows, Row("B", "größe", "zurück"))),)), "m.py")[0])


def test_the_first_row_whose_conditions_hold_is_followed() -> None:
    """The guards of the spec choose as the order of the source does, for all values of the conditions."""
    states = tuple(State(x, x) for x in "ABCD")
    rows = (
        Row("A", "B", "go", (Condition("hot"), Condition("full"))),
        Row("A", "C", "go", (Condition("hot", False),)),
        Row("A", "D", "go"),
        Row("A", "B", "go", (Condition("full"),)),
    )
    text, left_out = spec_text(Imported((Table("M", "A", states, rows),)), "m.py")
    assert "A -> B  on go(hot, full)  when hot and full" in text
    assert "A -> C  on go(hot, full)  when not hot" in text
    assert "A -> D  on go(hot, full)  when hot and not full" in text
    assert [x.text for x in left_out] == [
        "the row from `A` to `B` on `go` is never followed: a row before it always applies"
    ]


# Round trips ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["mermaid", "plantuml"])
def test_what_is_drawn_is_read_again(form: str) -> None:
    writer, reader = {"mermaid": (mermaid, "a.mmd"), "plantuml": (plantuml, "a.puml")}[form]

    @settings(max_examples=share(25), suppress_health_check=list(HealthCheck), deadline=None)
    @given(tables(plain=True, eventless=False))
    def attempt(table: Table) -> None:
        parents = {x.name: x.parent for x in table.states}
        # Mermaid has composites at one level alone: rows of an inner one are drawn for each state in it.
        assume(form == "plantuml" or all(x.parent is None or parents[x.parent] is None for x in table.states))
        model = clean(spec_text(Imported((table,)), "random.py")[0])
        machine = next(iter(model.machines.values()))
        again = read(Source(reader, writer(graph_of(machine, junctions=False))), form)
        names = {again.tables[0].name: machine.name}
        found = drift(model, again, {machine.name: next(iter(names))}, {}).changes
        assert [x.message for x in found] == []

    attempt()


@pytest.mark.parametrize(("form", "name"), [("mermaid", "a.mmd"), ("plantuml", "a.puml")])
def test_a_row_of_every_state_leaves_those_that_nothing_else_leaves(form: str, name: str) -> None:
    states = (State("A", "A"), State("B", "B"))
    rows = (Row("A", "B", None, after="5s"), Row("A", "A", "go"), Row("B", "A", "go"))
    model = clean(spec_text(Imported((Table("M", "A", states, rows),)), "m.py")[0])
    machine = next(iter(model.machines.values()))
    drawn = (mermaid if form == "mermaid" else plantuml)(graph_of(machine, junctions=False))
    again = read(Source(name, drawn), form)
    assert [x.message for x in drift(model, again, {machine.name: again.tables[0].name}, {}).changes] == []


# Bad input -----------------------------------------------------------------------------------------------------------

SAMPLES = {
    "transitions": "from transitions import Machine\n"
    "m = Machine(states=['a', 'b'], transitions=[['go', 'a', 'b']], initial='a')\n",
    "python-statemachine": "from statemachine import State, StateChart\nclass M(StateChart):\n"
    "    a = State(initial=True)\n    b = State()\n    go = a.to(b, cond='x and !y') | b.to.itself()\n",
    "mermaid": "stateDiagram-v2\n [*] --> A\n A --> B : go [x] / y\n state C {\n [*] --> D\n }\n B --> C : in\n",
    "plantuml": "@startuml\n[*] --> A\nA -> B : go [x] / y\nstate C {\n[*] --> D\n}\nB --> C : in\n@enduml\n",
    "scxml": '<scxml xmlns="http://www.w3.org/2005/07/scxml" initial="a"><state id="a">'
    '<transition event="e" target="b" cond="x"/></state><final id="b"/></scxml>',
    "xstate": '{"id": "m", "initial": "a", "states": {"a": {"on": {"E": {"target": "b", "guard": "g"}}}, "b": {}}}',
    "xstate-source": "const go = 'b';\nexport const m = setup({ delays: { d: 5 } }).createMachine({\n  id: 'm',\n"
    "  states: { a: { on: { E: { target: go, guard: not('g') } }, after: { d: 'b' } }, b: { always: 'a' } }\n});\n",
}


def available(form: str) -> None:
    """Skip where what parses this format is not installed."""
    if form == "xstate-source":
        reason = "SKIPPED: TypeScript sources need `tree-sitter-typescript`"
        pytest.importorskip("tree_sitter_typescript", reason=reason)


def attempted(text: str, form: str) -> Imported | Diagnostic:
    """What a reader makes of a text, or why it does not."""
    try:
        return read(Source(f"sample.{form}", text), form)
    except ImportFailedError as error:
        return error.diagnostic


@pytest.mark.parametrize("form", READERS)
def test_a_damaged_source_is_read_or_refused(form: str) -> None:
    available(form)
    sample = SAMPLES[form]
    pieces = st.sampled_from(
        ["{", "}", "[", "]", '"', "\\", "\0", "é", "<", "&x;", "-->", "\n", "(", "*", "'" * 3, "9" * 50]
    )

    @settings(max_examples=share(25), suppress_health_check=list(HealthCheck), deadline=None)
    @given(
        st.lists(st.tuples(st.integers(0, len(sample)), st.integers(0, 12), pieces | st.text(max_size=5)), max_size=4)
    )
    @example([])
    def attempt(changes: list[tuple[int, int, str]]) -> None:
        text = sample
        for at, cut, more in changes:
            text = text[:at] + more + text[at + cut :]
        found = attempted(text, form)
        if isinstance(found, Imported):
            loaded(spec_text(found, "sample")[0])
        else:
            assert found.message
            assert 0 <= found.span.start <= len(text)

    attempt()


@pytest.mark.parametrize("form", READERS)
@given(text=st.text(max_size=200))
@settings(max_examples=share(25), suppress_health_check=list(HealthCheck))
def test_garbage_is_refused(form: str, text: str) -> None:
    with pytest.raises(ImportFailedError):
        read(Source("garbage", text), form)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("transitions", "x = " + "(" * 5000 + ")" * 5000),
        ("transitions", "x = " + "-" * 50000 + "1"),
        ("transitions", "for a in range(9):\n    pass\n" + "x = [" + "[1], " * 20000 + "]"),
        ("python-statemachine", "class M(StateChart):\n    a = State()\n    go = " + "a | " * 5000 + "a"),
        ("xstate", "[" * 100000),
        ("xstate", '{"states": ' * 3000 + "{}" + "}" * 3000),
        ("xstate", '{"states": {"a": ' * 300 + "{}" + "}}" * 300),
        ("scxml", "<scxml>" + "<state>" * 5000),
        ("scxml", "<scxml>" + "<state id='a'>" * 200 + "</state>" * 200 + "</scxml>"),
        ("mermaid", "stateDiagram-v2\n" + "\n".join(f"state s{n} {{" for n in range(500))),
        ("plantuml", "@startuml\n" + "\n".join(f"state s{n} {{" for n in range(500)) + "\n@enduml"),
        ("scxml", '<!DOCTYPE a [<!ENTITY x "xxxxxxxx"><!ENTITY y "&x;&x;&x;">]><scxml><state id="&y;"/></scxml>'),
        ("scxml", '<!DOCTYPE a SYSTEM "file:///etc/passwd"><scxml><state id="a"/></scxml>'),
    ],
    ids=lambda x: x[:12],
)
def test_what_is_too_deep_or_dangerous_is_refused(form: str, text: str) -> None:
    with pytest.raises(ImportFailedError) as caught:
        read(Source("deep", text), form)
    assert caught.value.diagnostic.rule.code in ("FSM521", "FSM522")


def test_nothing_of_a_source_is_run(tmp_path: Path) -> None:
    marker = tmp_path / "run"
    text = f"open({str(marker)!r}, 'w')\n{SAMPLES['transitions']}"
    text += f"n = Machine(states=[__import__('os').system('touch {marker}')], transitions=[['x', 'a', 'b']])\n"
    found = read(Source("evil.py", text), "transitions")
    assert [t.name for t in found.tables] == ["evil", "n"]
    assert not marker.exists()
