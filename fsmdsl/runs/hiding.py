"""What runs are shown without: machines, sets, instances, events."""

from __future__ import annotations

from collections.abc import Iterable

from fsmdsl.dataclasses import dataclass
from fsmdsl.step.instances import Roster


@dataclass(frozen=True, slots=True)
class Hidden:
    """Names: of a machine, a set or an instance (`Cell`, `cells`, `c0`), of an event (`tick`), or of an event of one of
    these (`c0.tick`)."""

    names: frozenset[str] = frozenset()

    def instance(self, roster: Roster, n: int) -> bool:
        """Is nothing shown of an instance?"""
        return not self.names.isdisjoint(owners(roster, n))

    def event(self, roster: Roster, n: int, event: str) -> bool:
        """Is an event not shown where an instance gets it?"""
        return self.instance(roster, n) or not self.names.isdisjoint(_events(roster, n, [event]))


NOTHING = Hidden()


def owners(roster: Roster, n: int) -> tuple[str, ...]:
    """By what names an instance may be hidden."""
    machine = roster.machines[n]
    return roster.name(n), roster.system.instances[n].group, machine.name, machine.qualified


def _events(roster: Roster, n: int, events: Iterable[str]) -> set[str]:
    return {name for event in events for name in (event, *(f"{x}.{event}" for x in owners(roster, n)))}


def names_in(roster: Roster) -> set[str]:
    """All that can be hidden in a system."""
    names: set[str] = set()
    for n, machine in enumerate(roster.machines):
        names |= {*owners(roster, n), *_events(roster, n, machine.event_named)}
    return names
