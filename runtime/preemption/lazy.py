"""Lazy preemption: a gang that allows it gives up its guarantee instead of its life."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from runtime.cells import CellLedger, Device, VirtualCell
from runtime.gangs import Gang
from runtime.pods import OPPORTUNISTIC
from runtime.preemption.victims import owner


def demotable_gangs(leaves: Iterable[VirtualCell]) -> list[Gang]:
    """The gangs that use any of these leaf cells and would rather be demoted than killed."""
    gangs: dict[int, Gang] = {}
    for leaf in leaves:
        device = leaf.physical
        if isinstance(device, Device):
            gang = owner(device)
            if gang is not None and gang.spec.lazy_preemption and gang.virtual[device] is leaf:
                gangs.setdefault(id(gang), gang)
    return list(gangs.values())


def demote(ledger: CellLedger, gang: Gang) -> None:
    """In the ledger: its leaf cells no longer count for a virtual cell."""
    for device in gang.virtual:
        ledger.remove(device)
        ledger.put(device, None, OPPORTUNISTIC)


@contextmanager
def as_if_demoted(ledger: CellLedger, gangs: Iterable[Gang]) -> Iterator[None]:
    """For trials: the ledger as it would be, restored exactly at the end."""
    demoted: list[Gang] = []
    try:
        for gang in gangs:
            demoted.append(gang)
            demote(ledger, gang)
        yield
    finally:
        for gang in reversed(demoted):
            for device, virtual in gang.virtual.items():
                ledger.remove(device)
                ledger.put(device, virtual, gang.priority)
