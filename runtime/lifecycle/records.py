"""Lives as texts, and back: all that is journaled of them, beside what the allocator journals of gangs and pods.

Machines are written by their own snapshots. Their timers are written as what was left of them at `at`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from generated.grove import PodState
from generated.yunikorn.shim import TaskState
from runtime.lifecycle import hosts
from runtime.lifecycle.bringing import awaited, begin_round, make_part
from runtime.lifecycle.keys import KINDS, MADE
from runtime.lifecycle.making import make_life
from runtime.lifecycle.orders import Act
from runtime.lifecycle.registry import Host, Life, PodTask, Registry, Slot
from runtime.lifecycle.submission import ApplicationSpec, CliqueSpec
from runtime.pods import Pod

FLAGS = ("held", "leaving", "dead", "done", "claims")


# Writing


def changes(registry: Registry) -> dict[str, str | None]:
    """What is different since this was asked last."""
    keys, registry.changed = registry.changed, set()
    return {key: _image(registry, key) for key in sorted(keys)}


def everything(registry: Registry) -> dict[str, str | None]:
    """All that there is."""
    keys = [MADE, "queue/"]
    keys += [f"life/{name}" for name in registry.lives]
    keys += [f"past/{name}" for name in registry.past]
    keys += [f"host/{name}" for name in registry.hosts]
    keys += [f"queue/{name}" for name in registry.queues.by_name]
    return {key: _image(registry, key) for key in keys}


def _image(registry: Registry, key: str) -> str | None:
    kind, _, name = key.partition("/")
    if kind == "life":
        return _write(_life(registry.lives.get(name)))
    if kind == "past":
        return _write(_past(registry.past.get(name)))
    if kind == "host":
        return _write(_host(registry.hosts.get(name)))
    if kind == "queue":
        queue = registry.queues.get(name)
        return _write([queue.machine.snapshot(), queue.changed])
    return _write(registry.made)


def _write(value: object) -> str | None:
    return json.dumps(value, separators=(",", ":")) if value is not None else None


def _past(life: Life | None) -> dict[str, Any] | None:
    if life is None:
        return None
    return {
        "spec": asdict(life.spec),
        "number": life.number,
        "submitted": life.submitted,
        "at": life.registry.timers.time(),
        "failures": life.failures,
        "score": life.score,
        "yunikorn": life.yunikorn.snapshot(),
    }


def _life(life: Life | None) -> dict[str, Any] | None:
    fields = _past(life)
    if life is None or fields is None:
        return None
    tasks = [machine.slot.number for machine in life.yunikorn.all_of(PodTask)]
    return {
        **fields,
        "ending": life.ending,
        "tasks": tasks,
        "grove": life.grove.snapshot(),
        "work": life.work.system.snapshot(),
        "slots": [_slot(slot) for slot in life.slots],
    }


def _slot(slot: Slot) -> list[Any]:
    return [
        slot.generation,
        slot.task is not None,
        slot.node,
        slot.leaf_cells,
        [getattr(slot, flag) for flag in FLAGS],
        slot.failures,
        slot.started,
        slot.retry.at if slot.retry is not None else None,
        slot.part.system.snapshot() if slot.part is not None else None,
    ]


def _host(host: Host | None) -> list[Any] | None:
    return [host.ready, host.system.snapshot()] if host is not None else None


# Reading


def restore(registry: Registry, images: Mapping[str, str]) -> None:
    """All as it was. Orders that agents have not answered are given again."""
    found: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
    for key, text in images.items():
        kind, _, name = key.partition("/")
        if kind in found:
            found[kind][name] = json.loads(text)
    now = registry.timers.time()
    used = {fields["spec"]["queue"] for fields in found["life"].values()} | found["queue"].keys()
    registry.queues.keep(used - {""}, registry.actions.queue, registry.timers)
    registry.made = found["lives"].get("made", 0)
    for name, (machine, changed) in found["queue"].items():
        queue = registry.queues.get(name)
        queue.machine.restore(machine)
        queue.changed = changed
    for name, (ready, system) in found["host"].items():
        host = registry.hosts[name] = hosts.make(registry, name)
        host.system.restore(system)
        host.ready = ready
        host.usable = host.fit
    for fields in sorted(found["past"].values(), key=lambda fields: fields["number"]):
        _restore_past(registry, fields)
    for fields in sorted(found["life"].values(), key=lambda fields: fields["number"]):
        _restore_life(registry, fields)
        now = max(now, fields["at"])
    registry.timers.go_back(now)


def _make(registry: Registry, fields: dict[str, Any]) -> Life:
    registry.timers.go_back(fields["at"])
    written = dict(fields["spec"])
    written["cliques"] = tuple(CliqueSpec(**clique) for clique in written["cliques"])
    life = make_life(registry, ApplicationSpec(**written), fields["number"], fields["submitted"])
    life.failures, life.score = fields["failures"], fields["score"]
    return life


def _restore_past(registry: Registry, fields: dict[str, Any]) -> None:
    life = _make(registry, fields)
    life.yunikorn.restore(fields["yunikorn"])
    life.retire()
    registry.past[life.past_name] = life


def _restore_life(registry: Registry, fields: dict[str, Any]) -> None:
    life = _make(registry, fields)
    registry.lives[life.name] = life
    life.ending = fields["ending"]
    for number in fields["tasks"]:
        slot = life.slots[number]
        slot.task = PodTask(life.yunikorn, registry.actions.task, app=life.shim)
        slot.task.slot = slot
    life.yunikorn.restore(fields["yunikorn"])
    life.grove.restore(fields["grove"])
    life.work.system.restore(fields["work"])
    states = [slot.place.state for slot in life.slots]
    life.absent, life.queued = states.count(PodState.ABSENT), states.count(PodState.QUEUED)
    for slot, written in zip(life.slots, fields["slots"], strict=True):
        _restore_slot(slot, written)
    life.asks = sum(slot.task is not None and slot.task.state is TaskState.SCHEDULING for slot in life.slots)
    life.held = sum(slot.held for slot in life.slots)
    registry.dirty[life] = None


def _restore_slot(slot: Slot, written: list[Any]) -> None:
    registry = slot.life.registry
    slot.generation, there, slot.node, leaf_cells, flags, slot.failures, slot.started, retry, part = written
    slot.leaf_cells = tuple(leaf_cells)
    for flag, value in zip(FLAGS, flags, strict=True):
        setattr(slot, flag, value)
    if there:
        slot.pod = Pod(f"{slot.name}.{slot.generation}", slot.name, slot.spec)
        registry.pods[slot.pod.uid] = slot
    if slot.held:
        registry.queues.get(slot.life.spec.queue).used += len(slot.leaf_cells)
        registry.hosts[slot.node].slots[slot.uid] = slot
    if part is not None:
        make_part(slot).system.restore(part)
        due = awaited(slot)
        if due is not None:
            registry.order(slot, due)
        elif slot.leaving:
            registry.order(slot, Act.UNDEPLOY)
    if retry is not None:
        slot.retry = registry.timers.call_later(retry - registry.timers.time(), lambda: begin_round(slot))
