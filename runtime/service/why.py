"""Why a gang waits: the reason, since when, its place among those that wait, and who stands in the way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from generated.hived import AffinityGroupState
from runtime.answers import Bind, Phase, Preempt, Wait
from runtime.durable import DurableAllocator
from runtime.errors import UserError
from runtime.gangs import Gang
from runtime.pods import OPPORTUNISTIC, Pod
from runtime.preemption.victims import displaced
from runtime.service.failing import refused
from runtime.service.free_space import Question
from runtime.service.history import History
from runtime.service.questions import event, time_text
from runtime.service.questions import gang as describe
from runtime.service.tracker import PodPhase, Tracker

MAX_NAMED = 20
"""Maximum number of gangs that are named."""


def why(
    allocator: DurableAllocator, tracker: Tracker, history: History, name: str
) -> tuple[dict[str, Any], Question | None]:
    """What there is to say of a gang; and where it waits for room, what has to be tried out to say what would make it.

    Asks the allocator where it would go, which changes nothing. Raises `UserError` where there is no such gang. Costs a
    decision, and a look at all gangs.
    """
    gang = allocator.gangs.get(name)
    if gang is None:
        return _refused(allocator, tracker, history, name), None
    reason, victims, permanent = _answer(allocator, tracker, history, gang)
    reason = _gated_reason(tracker, gang) or reason
    place, queue = _place(allocator, history, gang) if gang.is_waiting and not permanent else (0, 0)
    in_the_way = _in_the_way(allocator, gang) if gang.is_waiting and not victims and not permanent else []
    answer = {
        "gang": gang.name,
        "virtualCluster": gang.spec.virtual_cluster,
        "priority": gang.spec.priority,
        "state": gang.state.value,
        "devices": gang.spec.gang.leaf_cells,
        "pods": {"expected": sum(gang.spec.gang.sizes.values()), "known": len(gang.pods), "placed": len(gang.assigned)},
        "since": time_text(history.waiting_since(name)) if gang.is_waiting else None,
        "place": place,
        "waiting": queue,
        "reason": reason,
        "failure": reason if permanent else None,
        "wouldDisplace": _describe_largest(victims),
        "inTheWay": _describe_largest(in_the_way),
        "wouldMakeRoom": {"gangsEnd": [], "nodesHealthy": []},
        "nodes": gang.places.nodes,
        "events": [event(x) for x in history.events(gang=name)],
        "problems": [x.problem for pod in gang.pods if (x := tracker.pod(pod.uid)) is not None and x.problem],
    }
    if gang.state is not AffinityGroupState.PENDING or victims or permanent:
        return answer, None
    weakest = sorted(in_the_way, key=lambda other: (other.priority, -len(other.virtual), other.name))
    names = tuple(other.name for other in weakest)
    return answer, Question(allocator.copy, dict(allocator.journal.images), next(iter(gang.waiting.values())), names)


def _refused(allocator: DurableAllocator, tracker: Tracker, history: History, name: str) -> dict[str, Any]:
    """The same of a gang of which all pods are refused, so that the allocator does not know it. Raises `UserError`."""
    status = next((x for x in refused(allocator, tracker) if x.name == name), None)
    if status is None:
        for tracked in tracker.pods():
            group = tracked.seen.group
            if tracked.pod is None and group is not None and group.name == name:
                why_not = f"pod {tracked.seen.key} waits, because {tracked.problem}"
                raise UserError(f"nothing is known of gang {name}: {why_not}")
        raise UserError(f"there is no gang {name}: no pod of it is known, or all are gone")
    seen = [x for pod in status.waiting if (x := tracker.pod(pod.uid)) is not None]
    gang = status.waiting[0].spec.gang
    return {
        "gang": name,
        "virtualCluster": status.virtual_cluster,
        "priority": status.priority,
        "state": status.state.value,
        "devices": gang.leaf_cells,
        "pods": {"expected": sum(gang.sizes.values()), "known": len(status.waiting), "placed": 0},
        "since": time_text(min(x.since for x in seen)),
        "place": 0,
        "waiting": 0,
        "reason": status.never,
        "failure": status.never,
        "wouldDisplace": [],
        "inTheWay": [],
        "wouldMakeRoom": {"gangsEnd": [], "nodesHealthy": []},
        "nodes": [],
        "events": [event(x) for x in history.events(gang=name)],
        "problems": [],
    }


def _answer(
    allocator: DurableAllocator, tracker: Tracker, history: History, gang: Gang
) -> tuple[str, list[Gang], bool]:
    """In words, the gangs that have to leave first, or that it can never have a place."""
    match gang.state:
        case AffinityGroupState.PREEMPTING:
            victims = displaced(gang.virtual)
            refusal = history.refusal(gang.name)
            because = f"; {refusal}" if refusal else ""
            return f"it has reserved its cells, and waits for others to leave{because}", victims, False
        case AffinityGroupState.BEING_PREEMPTED:
            return "it has to leave for a stronger gang; pods of it that come now wait", [], False
        case AffinityGroupState.PENDING:
            pod = next(iter(gang.waiting.values()))
            try:
                answer = allocator.schedule(pod, None, Phase.FILTERING)
            except UserError as error:
                return str(error), [], True
        case _:
            admitted = [pod for pod in gang.allocated if _is_admitted(tracker, pod)]
            slots = [*(gang.open_slots if gang.waiting else ()), *(gang.assigned[pod.uid] for pod in admitted)]
            nodes = sorted({slot.place.node for slot in slots})
            unusable = [text for node in nodes if (text := _unusable(allocator, tracker, node))]
            where = f", some of them on {' and '.join(unusable)}" if unusable else ""
            names = ", ".join(sorted(pod.key for pod in admitted)[:MAX_NAMED])
            unbound = f"; its kube-scheduler has not bound {names} yet" if names else ""
            return f"it has its cells{where}{unbound}", [], False
    match answer:
        case Bind(node=node):
            return f"there is room for it, starting at {node}: it is placed when its scheduler asks again", [], False
        case Preempt():
            gangs = {allocator.homes[pod.uid].name: allocator.homes[pod.uid] for pod in answer.pods()}
            return (
                "other gangs must leave first, which requires a preemption request from its scheduler",
                list(gangs.values()),
                False,
            )
        case Wait(reason=text, permanent=permanent):
            return text, [], permanent


def _gated_reason(tracker: Tracker, gang: Gang) -> str:
    """The reason reported at its gated pods; empty where it has none that wait."""
    return next((x.reason for pod in gang.pods if (x := tracker.pod(pod.uid)) is not None and x.reason), "")


def _unusable(allocator: DurableAllocator, tracker: Tracker, node: str) -> str:
    """A node and why no pod can be bound to it, or started on it; empty where one can."""
    if lost := tracker.lost(node, allocator.cluster):
        return lost
    seen = tracker.nodes[node]
    because = f" ({seen.reason})" if seen.reason else ""
    return "" if seen.healthy else f"node {node}, which is bad{because}"


def _is_admitted(tracker: Tracker, pod: Pod) -> bool:
    """Whether its gate was opened, and it is not bound yet."""
    tracked = tracker.pod(pod.uid)
    return tracked is not None and bool(tracked.seen.admitted_to) and tracked.phase is PodPhase.BINDING


def _in_the_way(allocator: DurableAllocator, gang: Gang) -> list[Gang]:
    """Gangs that it cannot displace, on cells that it may have: of its virtual cluster, if it has a guarantee."""
    weak = gang.spec.priority == OPPORTUNISTIC
    return [
        other
        for other in allocator.gangs.values()
        if other is not gang
        and other.virtual
        and (weak or (other.spec.virtual_cluster == gang.spec.virtual_cluster and other.priority >= gang.priority))
    ]


def _describe_largest(gangs: Iterable[Gang]) -> list[dict[str, Any]]:
    """The largest first."""
    largest = sorted(gangs, key=lambda gang: (-len(gang.virtual), gang.name))[:MAX_NAMED]
    return [describe(gang) for gang in largest]


def _place(allocator: DurableAllocator, history: History, gang: Gang) -> tuple[int, int]:
    """Among the gangs of its virtual cluster that wait: stronger ones first, then those that have waited longer."""
    tenant = gang.spec.virtual_cluster
    gangs = (x for x in allocator.gangs.values() if x.spec.virtual_cluster == tenant)
    queue = [x for x in gangs if x is gang or (x.is_waiting and not x.never)]
    queue.sort(key=lambda other: (-other.spec.priority, history.waiting_since(other.name), other.name))
    return queue.index(gang) + 1, len(queue)


def words(answer: dict[str, Any]) -> list[str]:
    """The same as lines, for a terminal."""
    pods = answer["pods"]
    head = (
        f"{answer['gang']}: {answer['state']}, priority {answer['priority']} in {answer['virtualCluster'] or 'nothing'}"
    )
    lines = [f"{head}; {answer['devices']} devices, {pods['placed']} of {pods['expected']} pods placed"]
    if pods["known"] < pods["expected"]:
        lines.append(f"only {pods['known']} of its pods are known")
    if answer["failure"]:
        lines.append(
            f"it fails for good: it can be placed only when its request or the configuration changes; "
            f"first seen {answer['since']}"
        )
    elif answer["since"]:
        lines.append(
            f"waiting since {answer['since']}; place {answer['place']} of {answer['waiting']} in its virtual cluster"
        )
    lines.append(f"why: {answer['reason']}")
    for title, key in (("has to leave first", "wouldDisplace"), ("in the way", "inTheWay")):
        for other in answer[key]:
            where = ", ".join(other["nodes"])
            lines.append(
                f"{title}: {other['gang']}, priority {other['priority']}, {other['devices']} devices on {where}"
            )
    room = answer["wouldMakeRoom"]
    if room["gangsEnd"]:
        lines.append(f"would make room: {', '.join(room['gangsEnd'])} ending")
    if room["nodesHealthy"]:
        lines.append(f"would make room: {', '.join(room['nodesHealthy'])} becoming healthy")
    lines += [f"problem: {problem}" for problem in answer["problems"]]
    return [*lines, *(f"{x['time']}  {x['text']}" for x in answer["events"])]
