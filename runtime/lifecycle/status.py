"""What there is to see of applications, for humans; as JSON has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from generated.grove import PodGangState, PodState, TerminationState
from generated.yunikorn.core import ApplicationState
from runtime.answers import GangStatus
from runtime.lifecycle.deploy import awaited
from runtime.lifecycle.registry import Application, Queue, Registry, Slot


def of_application(application: Application) -> dict[str, Any]:
    """Every machine along the chain of an application, and what it waits for."""
    registry = application.registry
    group = registry.allocator.group(application.name)
    return {
        "application": application.name,
        "queue": _queue(registry, registry.queues.by_name[application.spec.queue]),
        "cluster": registry.queues.partition.machine.state.display,
        "priority": application.spec.priority,
        "submitted": application.submitted,
        "core": {
            "state": application.core.state.display,
            "timers": _timers(application.yunikorn.remaining(application.core)),
        },
        "shim": application.shim.state.display,
        "gang": {
            "phase": application.gang.state.display,
            "running": application.running,
            "termination": application.termination.state.display,
            "armed": application.termination.armed,
            "score": application.score,
            "failures": application.failures,
        },
        "cliques": [
            {
                "name": spec.name,
                "state": clique.state.display,
                "pods": spec.pods,
                "minimum": clique.min_replicas,
                "bound": clique.bound,
                "running": clique.running,
                "timers": _timers(application.grove.remaining(clique)),
            }
            for spec, clique in zip(application.spec.cliques, application.cliques, strict=True)
        ],
        "group": _group(group),
        "slice": application.work.state.display,
        "pods": [_pod(slot) for slot in application.slots],
        "waits for": waits_for(application),
    }


def _timers(remaining: dict[str, float]) -> dict[str, float]:
    return {name: round(seconds, 3) for name, seconds in remaining.items()}


def _group(group: GangStatus | None) -> dict[str, Any] | None:
    if group is None:
        return None
    return {"state": group.state.display, "demoted": group.demotion is not None, "priority": group.priority}


def _pod(slot: Slot) -> dict[str, Any]:
    host = slot.application.registry.hosts.get(slot.node)
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


def waits_for(application: Application) -> list[str]:
    """What has to happen before the application goes further; nothing, where it runs as it should."""
    if application.termination.state is TerminationState.TERMINATING:
        left = sum(slot.leaving for slot in application.slots)
        return [f"{_pods(left)} to terminate before all are recreated"]
    reasons = [f"{_pods(number)} {label}" for label, number in _counts(application).items()]
    for spec, clique in zip(application.spec.cliques, application.cliques, strict=True):
        for seconds in application.grove.remaining(clique).values():
            missing = _pods(clique.min_replicas - clique.running)
            reasons.append(f"{missing} of {spec.name} to run, or all are torn down in {seconds:.0f} s")
    if application.gang.state is PodGangState.ABSENT and application.core.state is ApplicationState.COMPLETING:
        reasons.append("the quiet period to end, before it completes")
    return reasons


def _pods(number: int) -> str:
    return "1 pod" if number == 1 else f"{number} pods"


def _counts(application: Application) -> Counter[str]:
    counts: Counter[str] = Counter()
    for slot in application.slots:
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
    applications = registry.applications.values()
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
            "core": _count(application.core.state.display for application in applications),
            "shim": _count(application.shim.state.display for application in applications),
            "gang": _count(application.gang.state.display for application in applications),
            "past": _count(application.core.state.display for application in registry.past.values()),
        },
        "running": sum(application.running for application in applications),
        "next timer": registry.timers.next,
    }


def _queue(registry: Registry, queue: Queue) -> dict[str, Any]:
    mine = (application for application in registry.applications.values() if application.spec.queue == queue.name)
    waiting = [application for application in mine if application.queued and not application.ending]
    return {
        "name": queue.name,
        "state": queue.machine.state.display,
        "leaf cells": queue.used,
        "waiting": [application.name for application in sorted(waiting, key=lambda application: application.turn)],
    }


def _count(states: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(states).items()))
