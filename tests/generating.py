"""A spec's packages, written to a folder and imported from there; actions that make notes."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from stepping import compiled

from fsmdsl import classes as emit

HIVED = """module hived

/// The unit of resource: a lowest-level physical cell, such as one GPU.
machine Cell {
    durable user: AffinityGroup?     /// whose pods run here
    reserver:     AffinityGroup?     /// who waits for this cell

    initial state Free               /// no affinity group is associated with the cell
    state Used                       /// only an allocated or being-preempted group
    state Reserving "being reserved" /// a preempting and a being-preempted group

    event take(by: AffinityGroup), reserve(by: AffinityGroup), free, cancel   from AffinityGroup

    action allocate(to: AffinityGroup), release

    e0: Free      -> Used       on take(by)     do { allocate(by); user = by }
    e1: Used      -> Free       on free         do { release; user = none }
    e2: Used      -> Reserving  on reserve(by)  do { user.preempted; release; reserver = by }
    e4: Reserving -> Used       on cancel       do { release; allocate(user); reserver = none }
    ec: Reserving -> Used on crash

    invariant used: Used => user != none
}

/// The unit of scheduling: pods that are placed all together or not at all.
machine AffinityGroup {
    param priority: 0..1000
    durable cells:  set<Cell>

    initial persistent state Pending
    persistent state Allocated
    volatile state Preempting
    final persistent state Deleted

    event schedule(choice: set<Cell>), pods_deleted   from environment
    event preempted                                   from Cell

    /// Every chosen cell is free.
    e0: Pending -> Allocated  on schedule(choice) when all c in choice: c in Free
        do { cells = choice; for c in choice { c.take(self) } }
    e1: Pending -> Preempting on schedule(choice) when some c in choice: c in Used
        do { cells = choice; for c in choice { c.reserve(self) } }
    e3: Allocated -> Deleted  on pods_deleted do { for c in cells { c.free }; cells = {} }
    ec: Preempting -> Pending on crash do cells = {}

    amends "one preemptor may take two cells of one victim"
        ignore preempted in Allocated
}
"""


ALONE = """module alone
machine Light {
    level: 0..3
    left:  0..3 = 3
    initial state Off
    state On
    event toggle, dim(by: 0..3)
    t1: Off -> On on toggle
    t2: On -> Off on toggle
    On on dim(by) do { level = level + by; left = left - by }
}
"""

_NAMES = (f"made_{n}" for n in itertools.count())


class Generated:
    """A spec's packages in a folder, and what they define."""

    def __init__(self, folder: Path, text: str, target: Callable[..., dict[str, str]] = emit.python) -> None:
        self.model = compiled(text)
        self.name = next(_NAMES)
        self.files = {p: t for module in self.model.modules for p, t in target(self.model, module.name).items()}
        write(folder / self.name, self.files)
        sys.path.insert(0, str(folder))

    def __getitem__(self, file: str) -> ModuleType:
        return importlib.import_module(f"{self.name}.{self.model.modules[0].name}.{file}")

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(f"{self.name}.{self.model.modules[0].name}"), name)


def write(folder: Path, files: dict[str, str]) -> None:
    """Files by their path in a folder."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


class Calls:
    """Hand-written actions that make notes, and answer or fail as they are told."""

    def __init__(self, *answers: str | Exception) -> None:
        self.made: list[tuple[str, tuple[Any, ...]]] = []
        self.answers = list(answers)

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any) -> str | None:
            self.made.append((name, given))
            answer = self.answers.pop(0) if self.answers else None
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.made]


def hived(made: Callable[[str], Generated], calls: Any = None) -> tuple[Generated, Any, Any, Any]:
    """A system of two groups and two cells."""
    package = made(HIVED)
    system = package.System()
    groups = [package.AffinityGroup(system, priority=n) for n in (1, 2)]
    cells = [package.Cell(system, calls or Calls()) for _ in range(2)]
    return package, system, groups, cells
