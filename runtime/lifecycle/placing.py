"""Who waits is placed: the allocator decides, and the machines of tasks, gang and nodes follow."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import islice

from generated.confine import SetState, SliceState
from generated.grove import PodGangState, PodState
from generated.hived import AffinityGroupState
from runtime.answers import Answer, Bind, Phase, Preempt, Wait
from runtime.errors import UserError
from runtime.lifecycle.leaving import IN_PLACE, lose
from runtime.lifecycle.registry import Life, Registry, Slot
from runtime.pods import BindInfo

PLACEABLE = (PodGangState.PENDING, PodGangState.BINDING, PodGangState.SCHEDULED)


class Outcome:
    """What comes of a cycle, while it goes on."""

    __slots__ = ("bound", "preempted", "waiting")

    def __init__(self) -> None:
        self.bound: dict[str, str] = {}
        self.preempted: list[str] = []
        self.waiting: dict[str, str] = {}


def in_order(registry: Registry) -> Iterator[Life]:
    """Who is to be tried: the stronger first, then the older; no more of a queue than the settings say."""
    most = registry.settings.look_ahead
    heads = [list(islice(q.waiting, most)) for q in registry.queues.by_name.values() if q.waiting and q.scheduled]
    return (life for _, life in merge(*heads))


def attempt(life: Life, outcome: Outcome) -> None:
    """Places what can be placed of an application. One that nothing was given back for since is not asked for again."""
    registry = life.registry
    if life.tried == registry.freed or life.gang.state not in PLACEABLE:
        return
    life.tried = registry.freed
    open_slots = [slot for slot in life.slots if slot.place.state is PodState.QUEUED and not slot.leaving]
    reason = _guaranteed(life, [slot for slot in open_slots if slot.guaranteed], outcome)
    if not reason:
        for slot in open_slots:
            if not slot.guaranteed:
                reason = _single(slot, outcome) or reason
    life.reason = reason
    if reason:
        outcome.waiting[life.name] = reason


def _guaranteed(life: Life, slots: list[Slot], outcome: Outcome) -> str:
    """All together, or where others have their places already, as many as can be. Why some have none."""
    if life.gang.state is not PodGangState.PENDING:
        reasons = [_single(slot, outcome) for slot in slots]
        return next(filter(None, reasons), "")
    if any(slot.leaving for slot in life.slots if slot.guaranteed):
        return "its pods before have not gone yet"
    fresh = not any(slot.held for slot in life.slots if slot.guaranteed)
    seats: list[tuple[Slot, BindInfo]] = []
    for slot in slots:
        answer = _answer(slot, outcome)
        if isinstance(answer, str):
            return answer
        if fresh:
            seats = _seats(slots, answer.info)
            break
        seats.append((slot, answer.info))
    for slot, info in seats:
        hold(slot, info)
    for slot, _ in seats:
        slot.place.place()
    life.gang.permit()
    outcome.bound |= start(life, seats)
    return ""


def _single(slot: Slot, outcome: Outcome) -> str:
    """A pod that replaces another, or that is best effort. Why it has no place."""
    answer = _answer(slot, outcome)
    if isinstance(answer, str):
        return answer
    hold(slot, answer.info)
    slot.place.place()
    slot.place.permit()
    outcome.bound |= start(slot.life, [(slot, answer.info)])
    return ""


def _seats(slots: list[Slot], info: BindInfo) -> list[tuple[Slot, BindInfo]]:
    """The places of a new gang, each for a pod that needs as many leaf cells."""
    free = {len(same[0].leaf_cells): iter(same) for same in info.gang}
    seats = []
    for slot in slots:
        seat = next(free[slot.spec.leaf_cells])
        seats.append((slot, BindInfo(seat.node, seat.leaf_cells, info.chain, info.gang)))
    return seats


def hold(slot: Slot, info: BindInfo) -> None:
    """The allocator holds leaf cells for a pod from now on."""
    life, registry = slot.life, slot.life.registry
    assert slot.pod is not None, "it was asked for"
    registry.allocator.allocate(slot.pod, info)
    slot.held, slot.node, slot.leaf_cells, slot.claims = True, info.node, info.leaf_cells, False
    life.held += 1
    registry.hosts[info.node].slots[slot.uid] = slot
    registry.queues.get(life.spec.queue).used += len(info.leaf_cells)


def start(life: Life, seats: list[tuple[Slot, BindInfo]]) -> dict[str, str]:
    """Informs the nodes of what was decided; answers the node of each pod, by uid."""
    if life.work.state is SliceState.REGISTER:
        life.work.set_state(SetState.START)
    for slot, _ in seats:
        assert slot.task is not None, "it was asked for"
        life.core.run()
        slot.task.task_allocated()
    return {slot.uid: info.node for slot, info in seats}


# What the allocator says


def _answer(slot: Slot, outcome: Outcome) -> Bind | str:
    """A place, or why there is none. Whoever is in the way is told to go."""
    try:
        answer = _asked(slot)
    except UserError as error:
        return str(error)
    match answer:
        case Wait(reason):
            return reason
        case Preempt(victims):
            slot.claims = True
            gone = [pod.uid for there in victims.values() for pod in there]
            _displace(slot.life.registry, gone, outcome)
            return f"it has reserved leaf cells, and waits for {len(gone)} pods to go"
        case Bind(node):
            slot.claims = False
            host = slot.life.registry.hosts.get(node)
            if host is not None and host.fit:
                return answer
            _start_over(slot.life)
            return f"its place is on {node}, which cannot be used now"


def _asked(slot: Slot) -> Answer:
    allocator = slot.life.registry.allocator
    assert slot.pod is not None, "it was asked for"
    answer = allocator.schedule(slot.pod)
    if isinstance(answer, Preempt) or (slot.claims and isinstance(answer, Wait)):
        answer = allocator.schedule(slot.pod, phase=Phase.PREEMPTING)
    return answer


def _displace(registry: Registry, uids: list[str], outcome: Outcome) -> None:
    """Gangs that are preempted lose their places; pods that are gangs by themselves are lost."""
    slots = [slot for uid in uids if (slot := registry.pods.get(uid)) is not None and not slot.leaving]
    for life in dict.fromkeys(slot.life for slot in slots if slot.guaranteed):
        if life.gang.state in PLACEABLE:
            life.gang.preempted()
    for slot in slots:
        outcome.preempted.append(slot.uid)
        if slot.place.state in (PodState.PERMITTED, *IN_PLACE):
            lose(slot, dead=False)


def _start_over(life: Life) -> None:
    """A gang that has not run yet waits for no node: nothing but itself would end its wait. It gives up its places."""
    if life.termination.armed:
        return
    group = life.registry.allocator.group(life.name)
    if group is None or group.state is not AffinityGroupState.ALLOCATED:
        return
    for slot in life.slots:
        if slot.guaranteed and slot.held and not slot.leaving:
            lose(slot, dead=False)
