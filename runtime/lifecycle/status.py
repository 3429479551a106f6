"""What there is to see of lives, for humans; as JSON has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from generated.grove import PodGangState, PodState, TerminationState
from generated.yunikorn.core import ApplicationState
from runtime.answers import GangStatus
from runtime.lifecycle.bringing import awaited
from runtime.lifecycle.registry import Life, Queue, Registry, Slot


def of_application(life: Life) -> dict[str, Any]:
    """Every machine along the chain of an application, and what it waits for."""
    registry = life.registry
    group = registry.allocator.group(life.name)
    return {
        "application": life.name,
        "queue": _queue(registry, registry.queues.by_name[life.spec.queue]),
        "cluster": registry.queues.partition.machine.state.display,
        "priority": life.spec.priority,
        "submitted": life.submitted,
        "core": {"state": life.core.state.display, "timers": _timers(life.yunikorn.remaining(life.core))},
        "shim": life.shim.state.display,
        "gang": {
            "phase": life.gang.state.display,
            "running": life.running,
            "termination": life.termination.state.display,
            "armed": life.termination.armed,
            "score": life.score,
            "failures": life.failures,
        },
        "cliques": [
            {
                "name": spec.name,
                "state": clique.state.display,
                "pods": spec.pods,
                "minimum": clique.min_replicas,
                "bound": clique.bound,
                "running": clique.running,
                "timers": _timers(life.grove.remaining(clique)),
            }
            for spec, clique in zip(life.spec.cliques, life.cliques, strict=True)
        ],
        "group": _group(group),
        "slice": life.work.state.display,
        "pods": [_pod(slot) for slot in life.slots],
        "waits for": waits_for(life),
    }


def _timers(remaining: dict[str, float]) -> dict[str, float]:
    return {name: round(seconds, 3) for name, seconds in remaining.items()}


def _group(group: GangStatus | None) -> dict[str, Any] | None:
    if group is None:
        return None
    return {"state": group.state.display, "demoted": group.demotion is not None, "priority": group.priority}


def _pod(slot: Slot) -> dict[str, Any]:
    host = slot.life.registry.hosts.get(slot.node)
    due = awaited(slot)
    return {
        "name": slot.name,
        "uid": slot.pod.uid if slot.pod is not None else None,
        "task": slot.task.state.display if slot.task is not None else None,
        "pod": slot.place.state.display,
        "sliver": slot.part.state.display if slot.part is not None else None,
        "ordered": due.value if due is not None else None,
        "node": slot.node or None,
        "node state": host.shim.state.display if host is not None else None,
        "leaf cells": list(slot.leaf_cells),
        "failures": slot.failures,
        "leaving": slot.leaving,
        "finished": slot.done,
    }


def waits_for(life: Life) -> list[str]:
    """What has to happen before the application goes further; nothing, where it runs as it should."""
    if life.termination.state is TerminationState.TERMINATING:
        left = sum(slot.leaving for slot in life.slots)
        return [f"{_pods(left)} to go, before all are made again"]
    reasons = [f"{_pods(number)} {label}" for label, number in _counts(life).items()]
    for spec, clique in zip(life.spec.cliques, life.cliques, strict=True):
        for seconds in life.grove.remaining(clique).values():
            missing = _pods(clique.min_replicas - clique.running)
            reasons.append(f"{missing} of {spec.name} to run, or all are torn down in {seconds:.0f} s")
    if life.gang.state is PodGangState.ABSENT and life.core.state is ApplicationState.COMPLETING:
        reasons.append("the end of a quiet time, to be completed")
    return reasons


def _pods(number: int) -> str:
    return "1 pod" if number == 1 else f"{number} pods"


def _counts(life: Life) -> Counter[str]:
    counts: Counter[str] = Counter()
    for slot in life.slots:
        due = awaited(slot)
        if slot.leaving:
            counts["to go from their nodes"] += 1
        elif due is not None:
            counts[f"to {due.value}"] += 1
        elif slot.place.state is PodState.QUEUED:
            counts["to get a place"] += 1
    return counts


def of_all(registry: Registry) -> dict[str, Any]:
    """Queues, nodes, and applications by state."""
    lives = registry.lives.values()
    return {
        "time": registry.timers.time(),
        "cluster": {
            "state": registry.queues.partition.machine.state.display,
            "leaf cells": sum(queue.used for queue in registry.queues.by_name.values()),
            "of": sum(registry.sizes.values()),
        },
        "queues": [_queue(registry, queue) for queue in registry.queues.by_name.values()],
        "nodes": [
            {
                "name": host.name,
                "shim": host.shim.state.display,
                "core": host.node.state.display,
                "ready": host.ready,
                "pods": sorted(host.slots),
            }
            for host in registry.hosts.values()
        ],
        "applications": {
            "core": _count(life.core.state.display for life in lives),
            "shim": _count(life.shim.state.display for life in lives),
            "gang": _count(life.gang.state.display for life in lives),
            "past": _count(life.core.state.display for life in registry.past.values()),
        },
        "running": sum(life.running for life in lives),
        "next timer": registry.timers.next,
    }


def _queue(registry: Registry, queue: Queue) -> dict[str, Any]:
    mine = (life for life in registry.lives.values() if life.spec.queue == queue.name)
    waiting = [life for life in mine if life.queued and not life.ending]
    return {
        "name": queue.name,
        "state": queue.machine.state.display,
        "leaf cells": queue.used,
        "waiting": [life.name for life in sorted(waiting, key=lambda life: life.turn)],
    }


def _count(states: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(states).items()))
