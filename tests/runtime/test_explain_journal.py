"""What the allocator has written down, and what it says has happened: `fsm explain` finds the runs of HiveD's spec.

The mappings and the system are those of `runtime/samples/explain`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from clusters import end, gang, preempt, run

from fsmdsl.interop.logs.binding import Reading, bind
from fsmdsl.interop.logs.explanation import Explanation, explain
from fsmdsl.interop.logs.lines import lines
from fsmdsl.interop.logs.mapping import read
from fsmdsl.model.workspace import load
from fsmdsl.step import Universe
from fsmdsl.text.source import Source
from runtime.changes import changes
from runtime.command import main
from runtime.config import read_configuration
from runtime.durable import DurableAllocator
from runtime.journal import Journal, JournalError
from runtime.service.history import History
from runtime.service.questions import event

SAMPLES = Path(__file__).parent.parent.parent / "runtime" / "samples" / "explain"


@cache
def reading(mapping: str) -> Reading:
    """A mapping of the samples, bound to its system."""
    path = SAMPLES / mapping
    found = read(Source(str(path), path.read_text("utf-8")))
    loaded = load([path.parent / spec for spec in found.specs])
    assert loaded.model is not None, loaded.diagnostics
    universe = Universe(loaded.model, next(x for x in loaded.model.systems.values() if x.name == found.system))
    return bind(found, universe)


def explained(mapping: str, told: Iterable[dict[str, Any]]) -> Explanation:
    by = reading(mapping)
    text = "".join(json.dumps(x) + "\n" for x in told)
    return explain(by, "run.log", lines(io.BytesIO(text.encode())), depth=by.mapping.hidden, whole=True)


class Cluster:
    """An allocator with a journal, and the history that its service keeps."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "journal"
        self.history = History(now=lambda: 1000.0)
        self.open()
        self.allocator.node_healthy("node-1")

    def open(self) -> None:
        """Begin, or begin again."""
        configuration = read_configuration(SAMPLES / "one_node.yaml")
        self.allocator = DurableAllocator(configuration, Journal(self.path, synchronised=False), lambda: 1000.0)
        self.history.begin(self.allocator)

    def do(self, call: Callable[..., object], *given: Any) -> object:
        """A call, and what the history makes of it."""
        answer = call(self.allocator, *given)
        self.history.record_changes(self.allocator, ("weak", "other", "strong", "stronger"))
        return answer

    def told(self) -> list[dict[str, Any]]:
        """The events since the beginning."""
        return [event(x) for x in self.history.events()]

    def written(self) -> list[dict[str, Any]]:
        """The journal. The allocator has to end."""
        self.allocator.close()
        return list(changes(self.path))


PODS = {
    "weak": gang("weak", "research", 1, 1, priority=1),
    "other": gang("other", "research", 2, priority=1),
    "strong": gang("strong", "research", 2, 2, priority=2),
    "stronger": gang("stronger", "research", 1, 1, priority=3),
}


def preempted(cluster: Cluster) -> None:
    """Two gangs give way to a stronger one, of which a still stronger one takes its reservations."""
    for name in ("weak", "other"):
        for pod in PODS[name]:
            cluster.do(run, [pod])
    cluster.do(preempt, PODS["strong"])
    cluster.do(end, PODS["weak"])
    cluster.do(run, PODS["stronger"])
    cluster.do(end, PODS["stronger"])
    cluster.do(preempt, PODS["strong"])
    cluster.do(end, PODS["other"])
    for pod in PODS["strong"]:
        cluster.do(run, [pod])
    cluster.do(end, PODS["strong"])


def rows(x: Explanation) -> set[str]:
    """Rows of the group that the run follows."""
    machine = next(k for k in x.reading.universe.machines if k.name == "AffinityGroup")
    return {
        machine.transitions[n].name for (of, n), times in x.summary.rows.items() if of == machine.qualified and times
    }


def test_the_journal_of_preemptions_is_a_run_of_the_spec(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    preempted(cluster)
    x = explained("journal.toml", cluster.written())
    assert x.outcome == "explained", x.failure
    assert x.summary.names == {name: {"strong": 2, "stronger": 3}.get(name, x.summary.names[name]) for name in PODS}
    assert {"e0", "e1", "e3", "e5", "e6"} <= rows(x)


@pytest.mark.full(reason="seconds of searching")
def test_the_events_of_preemptions_are_a_run_of_the_spec(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    preempted(cluster)
    x = explained("events.toml", cluster.told())
    cluster.allocator.close()
    assert x.outcome == "explained", x.failure
    assert {x["kind"] for x in cluster.told()} >= {"Submitted", "Placed", "Reserved", "AskedToLeave", "CalledOff"}


@pytest.mark.full(reason="seconds of searching")
def test_a_journal_goes_on_after_a_restart(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    cluster.do(run, PODS["weak"])
    cluster.do(preempt, PODS["strong"])
    cluster.allocator.close()
    cluster.open()
    cluster.do(end, PODS["strong"])
    told = cluster.written()
    assert [x["state"] for x in told if x.get("gang") == "weak" and x["kind"] == "gang"][-1] == "Allocated"
    assert explained("journal.toml", told).outcome == "explained"


@pytest.mark.parametrize(
    ("gang", "wrong", "because"),
    [
        ("weak", {"cells": ["node-1/0", "node-1/1", "node-1/2"]}, "but the line says Allocated"),
        ("strong", {"state": "BeingPreempted"}, "but the line says BeingPreempted"),
    ],
)
def test_a_journal_that_says_what_the_spec_does_not_allow_is_not_explained(
    gang: str, wrong: dict[str, Any], because: str, tmp_path: Path
) -> None:
    """A gang of two with three cells, and a victim that nobody waits for."""
    cluster = Cluster(tmp_path)
    preempted(cluster)
    told = cluster.written()
    place = next(n for n, x in enumerate(told) if x.get("gang") == gang and x.get("state") == "Allocated")
    told[place] |= wrong
    x = explained("journal.toml", told)
    assert x.failure is not None
    assert x.failure.record.line == place + 1
    assert because in "; ".join(x.failure.reasons)


def test_the_command_prints_a_journal(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    cluster.do(run, PODS["weak"])
    with pytest.raises(JournalError, match="in use by another process"):
        list(changes(cluster.path))
    told = cluster.written()
    done = CliRunner().invoke(main, ["journal", str(cluster.path)])
    assert [json.loads(x) for x in done.stdout.splitlines()] == told
    assert told[0] == {"record": 1, "step": "configuration", "kind": "node", "node": "node-1", "healthy": False}
    assert {"kind": "pod", "pod": "weak-1", "gang": "weak", "placed": True}.items() <= told[-1].items()
    with pytest.raises(JournalError, match="there is no journal"):
        list(changes(tmp_path / "none"))
