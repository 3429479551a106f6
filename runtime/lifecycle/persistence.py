"""The journaled part of an application: only what nothing else reports again after a restart.

Which pods there are, where they are and how far, the cluster and the allocator say anew. They do not say since when a
gang is there, that it has run, since when too few of its pods run, and which have done their work. Key: `follow/NAME`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from generated.grove import Clique, CliqueState, PodState
from runtime.lifecycle.reconcile import IN_PLACE
from runtime.lifecycle.registry import Application, Slot

PREFIX = "follow/"


@dataclass(frozen=True, slots=True)
class PersistedState:
    """Of one application. Times are in seconds of the clock of the driver."""

    submitted: float
    failures: int
    armed: bool
    """All cliques have had their minimum at one moment."""
    done: tuple[int, ...]
    """By clique: how many pods have done their work."""
    since: tuple[float | None, ...]
    """By clique: when it fell below its minimum; none where it has not."""


def snapshot(application: Application) -> PersistedState:
    """What is to be journaled."""
    done: list[int] = []
    begun = 0
    for spec in application.spec.cliques:
        done.append(sum(slot.done for slot in application.slots[begun : begun + spec.pods]))
        begun += spec.pods
    return PersistedState(
        application.submitted, application.failures, application.termination.armed, tuple(done), since(application)
    )


def since(application: Application) -> tuple[float | None, ...]:
    """By clique: when it fell below its minimum; none where it has not."""
    return tuple(_since(application, clique) for clique in application.cliques)


def _since(application: Application, clique: Clique) -> float | None:
    if clique.state is not CliqueState.BREACHED:
        return None
    left = next(iter(application.grove.remaining(clique).values()), 0.0)
    return round(application.registry.timers.time() + left - application.spec.termination_delay, 3)


def write(record: PersistedState) -> str:
    """As the journal has it."""
    fields = record
    written = [fields.submitted, fields.failures, fields.armed, fields.done, fields.since]
    return json.dumps(written, separators=(",", ":"))


def read(images: Mapping[str, str]) -> dict[str, PersistedState]:
    """All that is journaled, by the name of the application."""
    records = {}
    for key, text in images.items():
        if key.startswith(PREFIX):
            submitted, failures, armed, done, since = json.loads(text)
            records[key.removeprefix(PREFIX)] = PersistedState(submitted, failures, armed, tuple(done), tuple(since))
    return records


def finished_slots(application: Application, record: PersistedState) -> list[Slot]:
    """Places whose pods had done their work before the restart: any of those without a pod."""
    slots: list[Slot] = []
    begun = 0
    for spec, count in zip(application.spec.cliques, record.done, strict=False):
        free = [slot for slot in application.slots[begun : begun + spec.pods] if slot.pod is None]
        slots += free[:count]
        begun += spec.pods
    return slots


def restore_armed(application: Application, record: PersistedState) -> None:
    """The gang has run before, so that it can be below its minimum: that is played again, at the time when it was.

    All places run for a moment, and those that do not, are lost since. The gang must have its places.
    """
    if not record.armed or application.termination.armed:
        return
    short = [slot for slot in application.slots if slot.place.state in (PodState.PERMITTED, PodState.BOUND)]
    if any(slot.place.state not in (PodState.PERMITTED, *IN_PLACE) for slot in application.slots):
        return
    for slot in short:
        _run(slot)
    timers = application.registry.timers
    now = timers.time()
    begun = 0
    for number, spec in enumerate(application.spec.cliques):
        since = record.since[number] if number < len(record.since) else None
        mine = application.slots[begun : begun + spec.pods]
        timers.go_back(now if since is None else min(since, now))
        for slot in short:
            if slot in mine:
                slot.place.lost()
        begun += spec.pods
    timers.go_back(now)


def _run(slot: Slot) -> None:
    if slot.place.state is PodState.PERMITTED:
        slot.place.bind()
    slot.place.run()
