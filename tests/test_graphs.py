"""Machines and states as graphs of networkx: what the explorer counts, and the examples of the documents."""

from __future__ import annotations

import builtins
import re
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from random_systems import text_of
from stepping import compiled, only_system
from tiers import today

from fsmdsl import graphs
from fsmdsl.graphs import TooManyStatesError
from fsmdsl.notebook import load
from fsmdsl.search import Limits, Means, explore
from fsmdsl.step import FaultError, Universe

ROOT = Path(__file__).parent.parent

NESTED = """
machine A {
    state Up "up and running" {
        initial state Idle
        state Busy
    }
    initial state Off
    final state Gone
    event go(n: 0..3), stop, tick from environment
    Off -> Up on go(n) when n > 1
    Idle -> Busy on tick
    down: Up -> Gone on stop
    Busy on tick do { }
    amends "nobody says it" {
        back: Gone -> Off on go(n)
    }
}
system X { a: A }
"""


def test_a_machine_has_its_leaves_and_rows() -> None:
    model = compiled(NESTED)
    (machine,) = model.machines.values()
    graph = graphs.machine(machine)
    assert set(graph) == {"Idle", "Busy", "Off", "Gone"}
    assert graph.nodes["Off"] == {"display": "Off", "initial": True, "final": False, "resting": False, "parent": None}
    assert graph.nodes["Idle"]["parent"] == "Up"
    assert [n for n, final in graph.nodes(data="final") if final] == ["Gone"]
    rows = {(a, b, d["trigger"], d["guard"], d["internal"]) for a, b, d in graph.edges(data=True)}
    assert rows == {
        ("Off", "Idle", "go", "n > 1", False),
        ("Idle", "Busy", "tick", None, False),
        ("Idle", "Gone", "stop", None, False),
        ("Busy", "Gone", "stop", None, False),
        ("Busy", "Busy", "tick", None, True),
        ("Gone", "Off", "go", None, False),
    }
    amended = {machine.transitions[key].label: why for *_, key, why in graph.edges(keys=True, data="amended") if why}
    assert amended == {"back": "nobody says it"}


@pytest.mark.parametrize("seed", today(range(12)))
def test_states_and_steps_are_those_that_the_explorer_counts(seed: int) -> None:
    model = compiled(text_of(seed))
    system = next(iter(model.systems.values()))
    found = explore(model, system, Limits(300), means=Means(symmetry=False))
    if Universe(model, system).fault is not None:
        with pytest.raises(FaultError):
            graphs.states(model, system)
        return
    if not found.complete:
        with pytest.raises(TooManyStatesError):
            graphs.states(model, system, 300)
        return
    graph = graphs.states(model, system, 300)
    assert len(graph) == found.states
    failing = sum(len(x) for _, x in graph.nodes(data="failing"))
    assert failing > 0 or graph.size() == found.transitions
    shortest = nx.single_source_shortest_path_length(graph, 0)
    assert dict(graph.nodes(data="depth")) == shortest
    assert max(shortest.values()) == found.depth


def test_what_steps_follow_and_what_fails() -> None:
    model = compiled(
        "machine A { n: 0..1  initial state S  event go from environment  r: S on go do n = n + 1 } system X { a: A }"
    )
    graph = graphs.states(model, only_system(model))
    assert list(graph.edges(data=True)) == [(0, 1, {"step": "a.go", "rows": (("test.A", 0),)})]
    assert graph.nodes[1] == {"depth": 1, "values": {"a": "S", "a.n": "1"}, "failing": {"a.go": "range"}}


def test_too_many_states_are_no_part_of_a_graph() -> None:
    model = compiled(
        "machine A { n: 0..99  initial state S  event up from environment  S on up when n < 99 do n = n + 1 }\n"
        "system X { a: A }"
    )
    assert len(graphs.states(model, only_system(model), 100)) == 100
    with pytest.raises(TooManyStatesError, match="has more than 99 states"):
        graphs.states(model, only_system(model), 99)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    known = builtins.__import__

    def missing(name: str, *more: Any, **named: Any) -> Any:
        if name == "networkx":
            raise ImportError(name)
        return known(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=re.escape("pip install 'fsmdsl[graphs]'")):
        graphs.machine(next(iter(compiled(NESTED).machines.values())))


def test_the_examples_of_the_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "notebook.md").read_text("utf-8").partition("## Graphs")[2].partition("\n## ")[0]
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "lease.fsm").write_text((ROOT / "editors" / "playground" / "lease.fsm").read_text("utf-8"))
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    exec("\n".join(blocks), {})


def test_in_a_notebook(tmp_path: Path) -> None:
    (tmp_path / "lease.fsm").write_text((ROOT / "editors" / "playground" / "lease.fsm").read_text("utf-8"))
    specs = load(tmp_path / "lease.fsm")
    assert set(specs.graph("Node")) == {"Idle", "Lent", "Draining"}
    assert len(specs.states("Shared")) == 16
