"""The node side of a pod: its sliver is brought up, tried again, and taken down, round by round.

The document's node runs the machine itself, and knows at once how an action went. Here agents are told what to do, and
answer later; until then the sliver stands still in the middle of its round.
"""

from __future__ import annotations

from generated.confine import Config, SetState, SliverState, System
from generated.grove import PodState
from generated.yunikorn.shim import TaskState
from runtime.errors import UserError
from runtime.lifecycle.orders import Act
from runtime.lifecycle.registry import Part, Slot

AWAITED = {SliverState.DEPLOYING: Act.DEPLOY, SliverState.STARTING: Act.START}
FAILED = (SliverState.FAIL_ALLOCATE, SliverState.FAIL_DEPLOY, SliverState.FAIL_START)


class UnderwayError(Exception):
    """Raised by an action whose answer comes later: its machine waits for it."""


def awaited(slot: Slot) -> Act | None:
    """What an agent has been told to do with a pod, and not answered."""
    return AWAITED.get(slot.part.state) if slot.part is not None else None


def at_work(slot: Slot) -> bool:
    """Is the pod on its node, and neither failed nor waiting to be tried again?"""
    return slot.part is not None and slot.part.state in (*AWAITED, SliverState.STARTED)


def outstanding(slot: Slot | None, act: Act) -> bool:
    """Is an order still to be carried out?"""
    return slot is not None and (awaited(slot) is act or (slot.leaving and act in (Act.STOP, Act.UNDEPLOY)))


def bring_up(slot: Slot) -> None:
    """A pod has its place: its sliver begins."""
    make_part(slot)
    begin_round(slot)


def make_part(slot: Slot) -> Part:
    """The sliver of a pod."""
    system = System()
    part = slot.part = Part(system, slot.life.registry.actions.part)
    part.slot, part.system = slot, system
    return part


def begin_round(slot: Slot) -> None:
    """The node looks at what it is to do: bring the pod up, as far as it is not."""
    part = slot.part
    assert part is not None, "it is on a node"
    slot.life.registry.dirty[slot.life] = None
    slot.retry = None
    try:
        part.fetched(slot.life.work.visible, None, SetState.START, Config.C1, 0, 0)
    except UnderwayError:
        return
    _end_round(slot)


def answer(slot: Slot, act: Act, *, ok: bool) -> None:
    """An agent has done what it was told to, or has failed. Refuses what it was not told."""
    part, due = slot.part, awaited(slot)
    if part is None or due is not act:
        what = f"is to {due.value}" if due is not None else "has nothing to do"
        raise UserError(f"the agent of pod {slot.uid} reports {act.value}, but {what}")
    slot.life.registry.dirty[slot.life] = None
    try:
        if act is Act.DEPLOY:
            (part.deploy_ok if ok else part.deploy_err)()
        else:
            (part.start_ok if ok else part.start_err)()
    except UnderwayError:
        return
    _end_round(slot)


def _end_round(slot: Slot) -> None:
    """A round is over: the pod runs, or has to be tried again."""
    life, part = slot.life, slot.part
    assert part is not None, "it has just ended a round"
    if slot.leaving:
        return
    now = life.registry.timers.time()
    if part.state is SliverState.STARTED:
        slot.started = now
        if slot.place.state is PodState.BOUND:
            slot.place.run()
    elif part.state in FAILED:
        settings = life.registry.settings
        if slot.started is not None and now - slot.started >= settings.stable:
            slot.failures = 0
        slot.started = None
        slot.failures += 1
        if slot.failures < settings.attempts:
            slot.retry = life.registry.timers.call_later(settings.retry(slot.failures), lambda: begin_round(slot))
        else:
            life.given_up.append(slot)


def deployed(slot: Slot) -> None:
    """The pod is on its node, and is about to be started; for the first time, or again."""
    if slot.task is not None and slot.task.state is TaskState.ALLOCATED:
        slot.task.task_bound()
        slot.place.bind()


def died(slot: Slot) -> None:
    """The container went down; the round that finds it so ends in a failure, the next one starts it again."""
    part = slot.part
    if part is None or part.state is not SliverState.STARTED:
        raise UserError(f"pod {slot.uid} does not run")
    part.died()
    begin_round(slot)


def take_down(slot: Slot) -> bool:
    """Has the sliver leave its node, unless it waits for its agent. Is there nothing left to wait for?"""
    part = slot.part
    if slot.retry is not None:
        slot.retry.cancel()
        slot.retry = None
    if part is None:
        return True
    due = awaited(slot)
    if due is not None and not slot.dead:
        return False
    if due is not None:
        answer(slot, due, ok=False)
    if part.state is SliverState.ABSENT:
        return slot.dead
    there = part.files is not None
    part.not_found()
    return slot.dead or not there
