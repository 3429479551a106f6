"""Machines as statecharts of other tools: read again, they have the same rows; run by those tools, they do the same.

`UPDATE=1 pytest tests/test_export.py` rewrites the golden files. `FSM_XSTATE_MODULES` names a folder with
`node_modules` that has `xstate` and `esbuild`; SCXML is run by `python-statemachine`.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from campaign import model_of
from in_process import fsm
from loading import specs
from markdown_blocks import blocks, commands
from random_charts import Told, machine_of, walk
from random_specs import spec
from stepping import compiled
from test_cli import ROOT
from test_import import clean
from test_import_xstate import MODULES, facts, of_xstate
from tiers import enough, today

from fsmdsl import graphs
from fsmdsl import model as m
from fsmdsl.core.unsupported import Lost
from fsmdsl.interop.drift.moves import Moves, of_machine, of_table
from fsmdsl.interop.export import MACHINE_TARGETS
from fsmdsl.interop.imports import spec_text
from fsmdsl.interop.imports.formats import read
from fsmdsl.text.source import Source

GOLDEN = ROOT / "tests" / "golden" / "export"
FILES = {"scxml": "a.scxml", "xstate": "a.json"}

KILN = """\
module kiln

/// Burns pots -- slowly.
machine Kiln {
    param patience: duration = 90s
    pots: set<Pot>
    waiting: list<Pot>[4]
    durable heat: 0..9
    lid: Kiln?
    let hot = heat > 6

    initial state Cold
    state Firing "under fire" {
        initial state Lighting    /// the gas is on
        state Soaking             /// See https://kiln.example/soak
        state Over
    }
    error state Failed
    final state Scrapped

    event start(first: Pot, how: 0..9) from environment
    event stop from environment, Kiln
    event scrap from Pot, environment

    action gas(level: 0..9), lock, unlock
    action ignite(tries: 0..3) -> lit | dark

    S1: Cold -> Firing on start(pot, how) when pot not in pots do { add pot to pots; heat = how }    /// The door shuts.
    S2: Cold on start(pot, _) when pot in pots do {
        add pot to waiting
        remove pot from waiting    // at once
    }
    Lighting -> Soaking on ignite.lit when not hot
    Lighting -> Failed on ignite.dark
    Lighting -> Failed after patience
    Soaking -> Over after 600s
    Soaking after 2500ms when hot do for p in pots { p.warm(self) }
    Over -> Cold when pots == {}
    Over -> Over on stop when not hot
    Firing -> Cold on stop do {
        if hot { gas(0); send belt.moved(heat) } else if lid != none { lid.stop } else { unlock }
        remove first(waiting) from pots
    }
    Firing -> Lighting on scrap when hot
    * -> Scrapped on scrap
    Firing -> Failed on crash

    on entry(Firing) do { lock; gas(heat) }
    on entry(Lighting) do ignite(3)
    on exit(Firing) do unlock

    ignore start, stop in *
    priority S1 > *
    invariant cold: Cold => heat < 3
}

machine Pot {
    initial state Raw
    state Burnt
    event warm(by: Kiln) from Kiln
    event moved(far: 0..9) from belt
    Raw -> Burnt on warm
    ignore warm, moved in *
}

channel belt: fifo[2] to Pot
"""


def kiln() -> tuple[m.Model, m.Machine]:
    model = compiled(KILN)
    return model, model.machines["kiln.Kiln"]


def told(lost: tuple[Lost, ...]) -> list[str]:
    return [f"{str(x.span).split(':')[1]}: {x.text}" for x in lost]


@pytest.mark.parametrize("target", MACHINE_TARGETS)
def test_golden(target: str) -> None:
    text, lost = MACHINE_TARGETS[target](*kiln())
    path = GOLDEN / f"kiln{FILES[target][1:]}"
    left_out = GOLDEN / f"kiln.{target}.left-out.txt"
    made = "".join(f"{x}\n" for x in told(lost))
    if os.environ.get("UPDATE"):
        path.write_text(text, "utf-8")
        left_out.write_text(made, "utf-8")
    assert (text, made) == (path.read_text("utf-8"), left_out.read_text("utf-8"))


# Round trips ---------------------------------------------------------------------------------------------------------


def every() -> Iterator[tuple[m.Model, m.Machine]]:
    """All machines of the specs."""
    for path in sorted((ROOT / "specs").rglob("*.fsm")):
        model = specs(path).model
        assert model is not None
        yield from ((model, x) for x in model.machines.values())


def compared(x: Moves) -> tuple[object, ...]:
    """What a round trip keeps: states, the first of them, moves. XState calls a state by its path."""

    def name(state: str | None) -> str | None:
        return state and state.rpartition(".")[2]

    moves = {(name(y.source), y.trigger, name(y.target)) for y in x.moves}
    return name(x.initial), sorted(str(name(s)) for s in x.states), moves


def again(target: str, model: m.Model, machine: m.Machine) -> Moves:
    text, _ = MACHINE_TARGETS[target](model, machine)
    (table,) = read(Source(FILES[target], text)).tables
    return of_table(table)


@pytest.mark.parametrize("target", MACHINE_TARGETS)
def test_what_was_exported_has_the_same_moves(target: str) -> None:
    machines = [*every(), kiln()]
    assert len(machines) > 40
    for model, machine in machines:
        assert compared(again(target, model, machine)) == compared(of_machine(machine)), machine.qualified


@pytest.mark.parametrize("target", MACHINE_TARGETS)
def test_random_machines_have_the_same_moves(target: str) -> None:
    for seed in today(range(60)):
        model = model_of(spec(seed))
        for machine in model.machines.values():
            assert compared(again(target, model, machine)) == compared(of_machine(machine)), (seed, machine.name)
        machine = machine_of(seed)[1]
        assert compared(again(target, *machine_of(seed))) == compared(of_machine(machine)), seed


@pytest.mark.parametrize("target", MACHINE_TARGETS)
def test_what_was_exported_becomes_a_spec_again(target: str) -> None:
    model, machine = kiln()
    text, _ = MACHINE_TARGETS[target](model, machine)
    found = clean(spec_text(read(Source(FILES[target], text)), "kiln")[0]).machines["kiln.Kiln"]
    assert {s.name for s in machine.states} <= {s.name for s in found.states}
    timed = {(t.source, t.shown_trigger) for t in found.transitions if isinstance(t.trigger, m.OnTimer)}
    assert ("Soaking", "after 10min") in timed


TIMED = """<scxml version="1.0"><state id="a">
<onentry><send id="x" event="late" delay="1.5s"/></onentry><onexit><cancel sendid="x"/></onexit>
<transition event="late" target="b"/></state><state id="b"/></scxml>"""


@pytest.mark.parametrize(
    ("old", "new", "trigger"),
    [
        ("", "", "after 1500ms"),
        ('delay="1.5s"', 'delay="20ms"', "after 20ms"),
        ('delay="1.5s"', 'delay=".5s"', "after 500ms"),
        ('delay="1.5s"', 'delayexpr="long"', "after long"),
        ('delay="1.5s"', 'delay="soon"', "late"),
        ('delay="1.5s"', "", "late"),
        ('delay="1.5s"', 'delay="1s" target="other"', "late"),
        ('sendid="x"', 'sendid="y"', "late"),
        ('<state id="b"/>', '<state id="b"><transition event="late" target="a"/></state>', "late"),
    ],
)
def test_a_timer_is_sent_on_entry_cancelled_on_exit_and_taken_by_its_state_alone(
    old: str, new: str, trigger: str
) -> None:
    (table,) = read(Source("a.scxml", TIMED.replace(old, new))).tables
    assert next(x.trigger for x in of_table(table).moves if x.source == "a") == trigger
    assert table.state_by_name["a"].entry == (() if trigger.startswith("after ") else ("send late",))


def test_rows_of_composites_come_before_those_of_any_state_and_timers_run_beside_each_other() -> None:
    text = """machine M {
        initial state A { initial state B  state C }
        state D
        event go from environment
        A -> D on go
        * -> C on go
        B -> D after 60s
        A -> C after 1min
    }"""
    moves = of_machine(next(iter(compiled(text).machines.values()))).moves
    assert [(x.trigger, x.target) for x in moves if x.source == "B"] == [
        ("after 1min", "D"), ("go", "D"), ("after 1min", "C"),
    ]  # fmt: skip


# Other people's tools ------------------------------------------------------------------------------------------------


class Statechart:
    """A document run by `python-statemachine`: guards look at the event, and what is done is written down."""

    def __init__(self, text: str) -> None:
        from statemachine.io.scxml.processor import SCXMLProcessor

        for match in re.findall(r' cond="[^"]*"', text):
            text = text.replace(match, re.sub(r"\b([ab])\b", r"_event.data.\1", match))
        text = text.replace('cond="true"', 'cond="True"')
        root = ET.fromstring(text)
        data = ET.Element("datamodel")
        ET.SubElement(data, "data", {"id": "done", "expr": "[]"})
        root.insert(0, data)
        for outer in root.iter():
            for x in [y for y in outer if y.tag.endswith(("send", "cancel"))]:
                if x.get("type") == "action":
                    script = ET.Element("script")
                    script.text = f"done.append('{x.get('event')}')"
                    outer[list(outer).index(x)] = script
                else:
                    outer.remove(x)
        processor = SCXMLProcessor(trusted=True)
        processor.parse_scxml("M", ET.tostring(root, encoding="unicode"))
        self.chart = processor.start()

    def take(self, step: Told) -> tuple[str, tuple[str, ...]]:
        done = self.chart.model.done
        done.clear()
        event = step.event
        if event.startswith("after "):
            _, state, milliseconds = event.split()
            event = f"after.{state}.{int(milliseconds) // 1000}s"
        self.chart.send(event, **step.arguments)
        (leaf,) = [s.id for s in self.chart.configuration if not s.states]
        return leaf, tuple(done)


def test_scxml_does_the_same_in_python_statemachine() -> None:
    steps = followed = 0
    for seed in today(range(60)):
        model, machine = machine_of(seed)
        if starts_by_itself(machine):
            continue
        chart = Statechart(MACHINE_TARGETS["scxml"](model, machine)[0])
        for step in walk(model, machine, seed, 40):
            assert chart.take(step) == (step.state, step.actions), (seed, step)
            steps += 1
            followed += bool(step.actions)
    assert (steps >= enough(1000), followed >= enough(500)) == (True, True), (steps, followed)


def starts_by_itself(machine: m.Machine) -> bool:
    """Does a statechart leave the first state before any event comes?"""
    return any(isinstance(t.trigger, m.Eventless) and t.source == machine.initial.name for t in machine.transitions)


def sent(machine: m.Machine, step: Told) -> dict[str, Any]:
    """A step as an event of XState."""
    event = step.event
    if event.startswith("after "):
        _, state, milliseconds = event.split()
        event = f"xstate.after.{milliseconds}.{'.'.join(['M', *reversed(list(machine.ancestors(state)))])}"
    return {"type": event, **step.arguments}


@pytest.mark.skipif(not MODULES, reason="SKIPPED: set FSM_XSTATE_MODULES")
def test_xstate_does_the_same() -> None:
    asked, wanted = [], []
    for seed in today(range(200)):
        model, machine = machine_of(seed)
        if starts_by_itself(machine):
            continue
        steps = list(walk(model, machine, seed, 40))
        text = MACHINE_TARGETS["xstate"](model, machine)[0]
        guards = re.findall(r'"guard": "([^"]*)"', text)
        events = [sent(machine, x) for x in steps]
        actions = [x.name for x in machine.actions]
        asked.append({"config": json.loads(text), "events": events, "guards": guards, "actions": actions})
        wanted.append((seed, [[x.state, list(x.actions)] for x in steps]))
    script = ["node", str(ROOT / "tests" / "xstate_runs.mjs"), MODULES]
    lines = "".join(f"{json.dumps(x)}\n" for x in asked)
    done = subprocess.run(script, input=lines, capture_output=True, text=True, check=True, timeout=120)
    for (seed, steps), line in zip(wanted, done.stdout.splitlines(), strict=True):
        assert json.loads(line) == steps, seed


@pytest.mark.skipif(not MODULES, reason="SKIPPED: set FSM_XSTATE_MODULES")
def test_xstate_has_the_same_rows(tmp_path: Path) -> None:
    """Of all specs: what XState itself makes of the config is what our reader makes of it."""
    wanted = {}
    for n, (model, machine) in enumerate([*every(), kiln()]):
        text = MACHINE_TARGETS["xstate"](model, machine)[0]
        path = tmp_path / f"{n}.ts"
        path.write_text(f"import {{ createMachine }} from 'xstate';\nexport const made = createMachine({text});\n")
        wanted[str(path)] = facts(read(Source("a.json", text)).tables[0])
    assert of_xstate(*map(Path, wanted)) == wanted


# The command ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "kiln.fsm").write_text(KILN)
    return tmp_path


@pytest.mark.parametrize("target", MACHINE_TARGETS)
def test_the_command_writes_a_machine_and_says_what_is_left_out(files: Path, target: str) -> None:
    name = FILES[target]
    done = fsm("export", "kiln.fsm", "--machine", "Kiln", "--to", target, "--output", name, cwd=files)
    text, lost = MACHINE_TARGETS[target](*kiln())
    assert (done.returncode, done.stdout) == (0, "")
    assert (files / name).read_text("utf-8") == text
    told = [line.split(": ", 2) for line in done.stderr.splitlines()]
    assert [(x[0], x[2]) for x in told] == [("left out", x.text) for x in lost]
    assert fsm("drift", "kiln.fsm", name, "--machine", "Kiln", cwd=files).returncode == 0
    assert fsm("export", "kiln.fsm", "--machine", "kiln.Kiln", "--to", target, cwd=files).stdout == text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--to", "scxml"],
            "fsm: this export requires exactly one machine; choose it with `--machine`: `Kiln`, `Pot`\n",
        ),
        (["--to", "xstate", "--machine", "Kil"], "fsm: there is no machine `Kil`; did you mean `Kiln`?\n"),
        (["--to", "xstate", "--machine", "Zzz"], "fsm: there is no machine `Zzz`; there are `Kiln`, `Pot`\n"),
        (["--to", "scxml", "--system", "X"], "fsm: `--to scxml` writes a machine; choose it with `--machine`\n"),
        (["--to", "tla", "--machine", "Kiln"], "fsm: `--to tla` writes a system; choose it with `--system`\n"),
    ],
)
def test_the_command_is_of_one_machine(files: Path, options: list[str], message: str) -> None:
    done = fsm("export", "kiln.fsm", *options, cwd=files)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


# Graphs --------------------------------------------------------------------------------------------------------------

DOORS = """
module doors
machine Door {
    param size: 0..3 = 1
    opened: 0..2
    initial state Shut "quite\x0cshut"
    state Open
    event push, pull from environment
    Shut -> Open on push do opened = opened + 1
    Open -> Shut on pull
}
system Two {
    depth: Door
    g: Door[2]
}
"""


def flat(values: dict[str, str], failing: dict[str, str]) -> dict[str, str]:
    told = "; ".join(f"{step}: {kind}" for step, kind in failing.items())
    return {**{f"values.{k}": x for k, x in values.items()}, **({"failing": told} if told else {})}


def shown(about: dict[str, Any]) -> dict[str, Any]:
    """What GraphML has of an edge; of texts, their words."""
    told = ("label", "trigger", "guard", "internal", "amended", "step")
    found = {key: about[key] for key in told if about.get(key) is not None}
    return {key: " ".join(x.split()) if isinstance(x, str) else x for key, x in found.items()}


@pytest.mark.full(reason="whole specs")
def test_graphml_is_read_by_networkx() -> None:
    networkx = pytest.importorskip("networkx")
    model = compiled(DOORS)
    for graph, kind in (
        (graphs.states(model, model.systems["doors.Two"]), int),
        (graphs.machine(model.machines["doors.Door"]), str),
        *((graphs.machine(x), str) for _, x in every()),
    ):
        text = graphs.graphml(graph).encode()
        again = networkx.read_graphml(io.BytesIO(text), node_type=kind, edge_key_type=int, force_multigraph=True)
        wanted = {
            n: (d.get("depth"), flat(d.get("values", {}), d.get("failing", {}))) for n, d in graph.nodes(data=True)
        }
        found = {
            n: (d.get("depth"), {k: x for k, x in d.items() if k.startswith(("values.", "failing"))})
            for n, d in again.nodes(data=True)
        }
        assert found == wanted
        assert again.graph["name"] == graph.graph["name"]
        edges, others = ({(a, b, k): shown(d) for a, b, k, d in x.edges(keys=True, data=True)} for x in (graph, again))
        assert others == edges
    assert {d["display"] for _, d in again.nodes(data=True)} == {s.display for s in [*every()][-1][1].leaves}
    assert 'attr.name="values.depth"' in graphs.graphml(graphs.states(model, model.systems["doors.Two"]))


def test_the_json_of_networkx_has_everything() -> None:
    networkx = pytest.importorskip("networkx")
    model = compiled(DOORS)
    graph = graphs.states(model, model.systems["doors.Two"])
    again = networkx.node_link_graph(json.loads(graphs.node_link(graph)), edges="edges")
    assert again.nodes(data=True) == graph.nodes(data=True)
    rows = {(a, b, k): [list(x) for x in d["rows"]] for a, b, k, d in graph.edges(keys=True, data=True)}
    assert {(a, b, k): d["rows"] for a, b, k, d in again.edges(keys=True, data=True)} == rows
    assert any(d["failing"] for _, d in again.nodes(data=True))


@pytest.mark.full(reason="whole specs")
@pytest.mark.parametrize("target", ["graphml", "networkx"])
def test_the_command_writes_graphs(tmp_path: Path, target: str) -> None:
    pytest.importorskip("networkx")
    (tmp_path / "doors.fsm").write_text(DOORS)
    model = compiled(DOORS)
    write = {"graphml": graphs.graphml, "networkx": graphs.node_link}[target]
    done = fsm("export", "doors.fsm", "--to", target, "--max-states", "125", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == write(graphs.states(model, model.systems["doors.Two"]))
    done = fsm("export", "doors.fsm", "--to", target, "--machine", "Door", cwd=tmp_path)
    assert done.stdout == write(graphs.machine(model.machines["doors.Door"]))
    done = fsm("export", "doors.fsm", "--to", target, "--max-states", "20", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "fsm: doors.Two has more than 20 states; a part of them would answer most questions wrongly: "
        "raise `--max-states`\n"
    )
    done = fsm("export", "doors.fsm", "--to", target, "--machine", "Door", "--system", "Two", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "fsm: `--system` or `--machine`, not both\n")


def test_a_system_without_a_first_state_has_no_graph(tmp_path: Path) -> None:
    pytest.importorskip("networkx")
    (tmp_path / "doors.fsm").write_text(DOORS.replace("depth: Door", "depth: Door { opened = size(g) + size(g) }"))
    done = fsm("export", "doors.fsm", "--to", "graphml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "`Two` has no initial state: `opened` of depth begins as 4, outside 0..2" in done.stderr


def test_without_networkx_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'fsmdsl[graphs]'")):
        graphs.machine(kiln()[1])


@pytest.mark.full(reason="commands of a page; others of that kind are tested one by one")
def test_the_page_prints_what_the_commands_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("networkx")
    page = ROOT / "docs" / "export.md"
    written = {x.words[0].removeprefix("file="): x.text for x in blocks(page) if x.words}
    (tmp_path / "lamp.fsm").write_text(written["lamp.fsm"])
    (tmp_path / "specs").symlink_to(ROOT / "specs")
    for block in blocks(page):
        for command, printed in commands(block) if block.language == "console" else ():
            done = fsm(*shlex.split(command)[1:], "--follow-links", cwd=tmp_path)
            assert (done.returncode, done.stderr + done.stdout) == (0, printed), command
    assert (tmp_path / "lamp.json").read_text("utf-8") == written["lamp.json"]
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        if block.language == "python":
            exec(compile(block.text, "export.md", "exec"), {})
