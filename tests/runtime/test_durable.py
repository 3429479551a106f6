"""An allocator with a journal, against the same one without a restart: what is rebuilt is what there was."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from clusters import config, end, gang, nodes, preempt, rack, run
from histories import History
from invariants import check, picture

from generated.hived import AffinityGroupState
from runtime import Allocator, Bind, GangStatus, Phase, Preempt, UserError
from runtime.durable import DurableAllocator
from runtime.journal import Journal, JournalError
from runtime.rebuild import read, rebuild

TWO = config(nodes("a", "b"), A={"NODE": 2})


def opened(configuration: dict[str, object], path: Path) -> DurableAllocator:
    return DurableAllocator.open(configuration, path, now=lambda: 1000.0)


def fresh(configuration: dict[str, object], path: Path) -> DurableAllocator:
    """With all nodes healthy."""
    allocator = opened(configuration, path)
    for name in sorted({cell.node for cell in allocator.leaf_cells()}):
        allocator.node_healthy(name)
    return allocator


def everything(allocator: DurableAllocator) -> object:
    """All that there is, pods that only wait included."""
    gangs = allocator._cycle.gangs
    known = {name: (x.spec, sorted(x.waiting), [p.spec for p in x.pods], x.state) for name, x in gangs.items()}
    return picture(allocator), known, sorted(allocator._cycle.homes)


class DurableHistory(History):
    """A random history, in which the allocator is rebuilt after every few steps, and compared."""

    def __init__(self, seed: int, path: Path) -> None:
        super().__init__(seed)
        self.journal = Journal(path / "journal")
        self.allocator = DurableAllocator(self.allocator.configuration, self.journal, now=lambda: 1000.0)
        for name in self.names:
            self.allocator.node_healthy(name)

    def step(self) -> None:
        super().step()
        if self.random.random() < 0.3:
            before = everything(self.allocator)
            assert dict(read(self.journal.images).nodes) == {name: name not in self.bad for name in self.names}
            self.allocator._undo()
            check(self.allocator)
            assert everything(self.allocator) == before

    def restart(self) -> None:
        """The process ends, and another one goes on."""
        before = everything(self.allocator)
        self.journal.close()
        self.journal = Journal(self.journal.path)
        self.allocator = DurableAllocator(self.allocator.configuration, self.journal, now=lambda: 1000.0)
        assert everything(self.allocator) == before
        assert self.allocator.opened.damage is None
        assert self.allocator.opened.takeover is None
        self.seen["restarts"] += 1


@pytest.mark.parametrize("seed", range(60))
def test_what_is_rebuilt_is_what_there_was(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = DurableHistory(seed, tmp_path)
    history.journal._store.connection.execute("PRAGMA synchronous = OFF")
    for _ in range(40):
        history.step()
    history.end()
    assert not [key for key in history.journal.images if key.startswith(("gang/", "pod/"))], "nothing is left"
