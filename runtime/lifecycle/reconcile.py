"""Where the places of a followed gang are: each stands where the allocator, its pod and its document want it to be.

The allocator takes the leaf cells of a whole gang at once, and gives them back at once. A place whose pod is lost is
the gang's all the same: its replacement goes there. So as long as the gang has its leaf cells, every place of it is
placed and permitted; and as far on as its pod is. Where an event has sent places back whose pods have stayed (a bind
that failed, a preemption that was called off), they go the same way again. This is the only repair.
"""

from __future__ import annotations

from collections.abc import Callable

from generated.confine import SetState, SliceState, SliverState
from generated.grove import PodGangState, PodState, TerminationState
from generated.yunikorn.shim import TaskState
from runtime.lifecycle.refusals import Refusals, whose
from runtime.lifecycle.registry import Application, Slot
from runtime.lifecycle.release import rest
from runtime.pods import BindInfo

PLACEABLE = (PodGangState.PENDING, PodGangState.BINDING, PodGangState.SCHEDULED)
IN_PLACE = (PodState.BOUND, PodState.RUNNING)
DEPLOYED = (SliverState.STARTING, SliverState.STARTED, SliverState.FAIL_START)


def reconcile(application: Application, refusals: Refusals, *, keeps: bool) -> None:
    """Brings all places to where they belong. `keeps`: the gang has its leaf cells, and may keep them."""
    while application.moves:
        moves, application.moves = application.moves, []
        for slot, _, target in moves:
            if target is PodState.TERMINATING:
                tell_to_go(slot, refusals)
        if application.termination.state is TerminationState.TERMINATING and application.absent == len(
            application.slots
        ):
            application.termination.recreate()
            for slot in application.slots:
                slot.place.ungate()
    if application.gang.state in PLACEABLE:
        if not keeps:
            _give_up(application, refusals)
        elif application.queued:
            _seat(application, refusals)
        application.moves.clear()
    rest(application)


def hold(slot: Slot, info: BindInfo) -> None:
    """The allocator holds leaf cells for a pod from now on."""
    application, registry = slot.application, slot.application.registry
    assert slot.task is not None, "it was asked for"
    slot.is_allocated, slot.node, slot.leaf_cells = True, info.node, info.leaf_cells
    application.allocated += 1
    registry.hosts[info.node].slots[slot.uid] = slot
    registry.queues.by_name[application.spec.queue].used += len(info.leaf_cells)
    if application.work.state is SliceState.REGISTER:
        application.work.set_state(SetState.START)
    application.core.run()
    slot.task.task_allocated()


def tell_to_go(slot: Slot, refusals: Refusals) -> None:
    """A pod has to go; a place without a pod is empty at once. One that has no leaf cells yet has nothing to lose."""
    task, place = slot.task, slot.place
    if task is None:
        slot.done = False
        if place.state is PodState.TERMINATING:
            place.gone()
    else:
        slot.leaving = True
        if task.state in (TaskState.ALLOCATED, TaskState.BOUND):
            _fire(slot.application, refusals, task.kill_task)


def advance(slot: Slot, refusals: Refusals) -> None:
    """A place goes as far on as its pod is. One that is done with its work runs on, to its gang."""
    place, part = slot.place, slot.part
    state = part.state if part is not None else None
    if place.state is PodState.PERMITTED and (slot.done or state in DEPLOYED):
        _fire(slot.application, refusals, place.bind)
    if place.state is PodState.BOUND and (slot.done or state is SliverState.STARTED):
        _fire(slot.application, refusals, place.run)


def send_back(slot: Slot, refusals: Refusals) -> None:
    """A place has lost its pod, or its leaf cells."""
    place = slot.place
    if place.state is PodState.PERMITTED:
        _fire(slot.application, refusals, place.bind_failed)
    elif place.state in IN_PLACE:
        _fire(slot.application, refusals, place.lost)


def _seat(application: Application, refusals: Refusals) -> None:
    for slot in application.slots:
        if slot.place.state is PodState.QUEUED:
            _fire(application, refusals, slot.place.place)
    if application.gang.state is PodGangState.PENDING:
        _fire(application, refusals, application.gang.permit)
    else:
        for slot in application.slots:
            if slot.place.state is PodState.WAITING:
                _fire(application, refusals, slot.place.permit)
    for slot in application.slots:
        advance(slot, refusals)


def _give_up(application: Application, refusals: Refusals) -> None:
    for slot in application.slots:
        if not slot.done:
            send_back(slot, refusals)


def _fire(application: Application, refusals: Refusals, event: Callable[[], object]) -> None:
    refusals.fire(whose(application), application.registry.timers.time(), event)
