"""How pods go, one by one, and what becomes of their places; how gangs and applications end."""

from __future__ import annotations

from generated.confine import SetState, SliceState
from generated.grove import PodGangState, PodState, TerminationState
from generated.grove.machinery import State
from generated.yunikorn.core import ApplicationState
from generated.yunikorn.shim import ShimApplicationState, TaskState
from runtime.errors import UserError
from runtime.lifecycle.bringing import take_down
from runtime.lifecycle.registry import PLACED, Life, PodTask, Slot
from runtime.pods import Pod

QUEUED, TERMINATING = PodState.QUEUED, PodState.TERMINATING
IN_PLACE = (PodState.BOUND, PodState.RUNNING)
COMPLETES = (ApplicationState.ACCEPTED, ApplicationState.STARTING, ApplicationState.RUNNING)


def ask(slot: Slot) -> None:
    """A pod is made for a place of the gang."""
    fill(slot, Pod(f"{slot.name}.{slot.generation + 1}", slot.name, slot.spec))


def fill(slot: Slot, pod: Pod) -> None:
    """A pod for a place of the gang: it is there, and wants to be placed."""
    life = slot.life
    slot.generation += 1
    slot.pod = pod
    slot.failures, slot.started, slot.claims = 0, None, False
    life.registry.pods[pod.uid] = slot
    task = slot.task = PodTask(life.yunikorn, life.registry.actions.task, app=life.shim)
    task.slot = slot
    life.tried = -1
    task.init_task()
    if life.core.state in (ApplicationState.NEW, ApplicationState.COMPLETING):
        life.core.run()


def lose(slot: Slot, *, dead: bool) -> None:
    """A pod has to give its place back; `dead`: nothing of it is left on its node."""
    slot.dead = slot.dead or dead
    if slot.place.state is PodState.PERMITTED:
        slot.place.bind_failed()
    elif slot.place.state in IN_PLACE:
        slot.place.lost()
    elif slot.leaving and dead:
        _go(slot)


def fault(slot: Slot, *, dead: bool) -> None:
    """A pod has failed by itself. When too many have, so does the application."""
    life = slot.life
    life.failures += not slot.leaving
    if life.failures > life.spec.failures and not life.ending:
        slot.dead = dead
        fail(life)
    else:
        lose(slot, dead=dead)


def fail(life: Life) -> None:
    """It is marked as failed first, and has failed when everything is cleaned up."""
    life.core.fail()
    end(life)


def end(life: Life) -> None:
    """The gang is told to go."""
    if not life.ending:
        life.ending = True
        life.gang.delete()


def refusal(life: Life) -> str:
    """Why an application cannot be taken; empty where it can."""
    registry, first = life.registry, life.slots[0]
    reason = registry.queues.refusal(life.spec.queue)
    if not reason:
        try:
            registry.allocator.submit(Pod(f"{first.name}.1", first.name, first.spec))
        except UserError as error:
            reason = str(error)
    return reason


# After a step


def settle(life: Life) -> None:
    """Does what the latest moves of a gang call for, until nothing moves."""
    while True:
        while life.moves:
            moves, life.moves = life.moves, []
            for slot, source, target in moves:
                _follow(slot, source, target)
        if life.termination.state is TerminationState.TERMINATING and life.absent == len(life.slots):
            life.termination.recreate()
            for slot in life.slots:
                slot.place.ungate()
        elif life.given_up:
            slot = life.given_up.pop()
            fault(slot, dead=slot.part is None or slot.part.files is None)
        else:
            break
    rest(life)


def _follow(slot: Slot, source: State, target: State) -> None:
    """A place has gone from one state to another."""
    if target is not QUEUED and target is not TERMINATING:
        return
    if source in PLACED:
        _withdraw(slot)
    elif slot.leaving:
        return
    elif target is QUEUED:
        ask(slot)
    else:
        _gone(slot)


def _withdraw(slot: Slot) -> None:
    """Its pod has to go."""
    slot.leaving = True
    task = slot.task
    if task is not None and slot.dead and task.state is TaskState.ALLOCATED:
        task.task_fail()
    elif task is not None and not slot.dead:
        task.kill_task()
    _go(slot)


def _go(slot: Slot) -> None:
    if take_down(slot):
        _gone(slot)


def go_on(slot: Slot) -> None:
    """An agent has answered: a pod that is leaving goes further."""
    if slot.leaving:
        _go(slot)


def _gone(slot: Slot) -> None:
    """Nothing is left of a pod on its node."""
    slot.leaving = slot.dead = slot.done = False
    slot.part = None
    if slot.task is not None:
        leave(slot)
    if slot.place.state is TERMINATING:
        slot.place.gone()
    elif slot.place.state is QUEUED:
        ask(slot)


def leave(slot: Slot) -> None:
    """A pod is no more: its task is completed, and what it held or asked for is given back."""
    life, task = slot.life, slot.task
    assert task is not None, "it has not left yet"
    if task.state is TaskState.KILLING:
        task.task_killed()
    del life.registry.pods[slot.uid]
    task.complete_task()
    life.yunikorn.remove(task)
    slot.task = slot.pod = None


def finish(slot: Slot) -> None:
    """A pod has done its work. The machine of its place has no event for it: to the gang, it goes on running."""
    slot.done = slot.dead = slot.leaving = True
    take_down(slot)
    slot.part, slot.dead, slot.leaving = None, False, False
    leave(slot)
    life = slot.life
    if life.held == 0 and all(other.done for other in life.slots if other.guaranteed):
        end(life)


# What the tasks call for


def release_ask(task: PodTask) -> None:
    """A pod that waits for a place does so no longer."""
    slot = task.slot
    slot.life.asks -= 1
    assert slot.pod is not None, "it was asked for"
    slot.life.registry.allocator.delete(slot.pod)


def release_allocation(task: PodTask) -> None:
    """A pod gives its leaf cells back."""
    slot = task.slot
    if not slot.held:
        return
    life, registry = slot.life, slot.life.registry
    assert slot.pod is not None, "it was asked for"
    registry.allocator.delete(slot.pod)
    registry.hosts[slot.node].slots.pop(slot.uid, None)
    registry.queues.get(life.spec.queue).used -= len(slot.leaf_cells)
    registry.freed += 1
    slot.held, slot.node, slot.leaf_cells = False, "", ()
    life.held -= 1
    if life.held == 0 and life.work.state is SliceState.START:
        life.work.set_state(SetState.REGISTER)


# The end


def rest(life: Life) -> None:
    """Nothing is asked for, and nothing held: the application is about to complete, or has failed."""
    if life.over and life.work.state is not SliceState.GONE:
        life.work.delete()
        if life.shim.state is ShimApplicationState.KILLING:
            life.shim.killed_application()
    if life.asks or life.held or life.gang.state is PodGangState.UNSET:
        return
    if life.core.state in COMPLETES:
        life.core.complete()
    elif life.core.state is ApplicationState.FAILING and life.over:
        life.core.fail()
