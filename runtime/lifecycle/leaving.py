"""How pods come to the places of a gang and go, one by one; how gangs and applications end."""

from __future__ import annotations

from generated.confine import SetState, SliceState
from generated.grove import PodGangState
from generated.yunikorn.core import ApplicationState
from generated.yunikorn.shim import ShimApplicationState, TaskState
from runtime.lifecycle.bringing import take_down
from runtime.lifecycle.registry import Life, PodTask, Slot
from runtime.pods import Pod

COMPLETES = (ApplicationState.ACCEPTED, ApplicationState.STARTING, ApplicationState.RUNNING)


def fill(slot: Slot, pod: Pod) -> None:
    """A pod for a place of the gang: it is there, and wants to be placed."""
    life = slot.life
    slot.pod, slot.failures = pod, 0
    life.registry.pods[pod.uid] = slot
    task = slot.task = PodTask(life.yunikorn, life.registry.actions.task, app=life.shim)
    task.slot = slot
    task.init_task()
    if life.core.state in (ApplicationState.NEW, ApplicationState.COMPLETING):
        life.core.run()


def fail(life: Life) -> None:
    """It is marked as failed first, and has failed when everything is cleaned up."""
    life.core.fail()
    end(life)


def end(life: Life) -> None:
    """The gang is told to go."""
    if not life.ending:
        life.ending = True
        life.gang.delete()


def leave(slot: Slot) -> None:
    """A pod is no more: its task is completed, and what it held or asked for is given back."""
    life, task = slot.life, slot.task
    assert task is not None, "it has not left yet"
    take_down(slot)
    slot.leaving = False
    if task.state is TaskState.KILLING:
        task.task_killed()
    del life.registry.pods[slot.uid]
    task.complete_task()
    life.yunikorn.remove(task)
    slot.task = slot.pod = None


def finish(slot: Slot) -> None:
    """A pod has done its work. The machine of its place has no event for it: to the gang, it goes on running."""
    slot.done = True
    leave(slot)
    life = slot.life
    if life.held == 0 and all(other.done for other in life.slots):
        end(life)


def release_allocation(slot: Slot) -> None:
    """A pod has its leaf cells no more."""
    if not slot.held:
        return
    life, registry = slot.life, slot.life.registry
    registry.hosts[slot.node].slots.pop(slot.uid, None)
    registry.queues.by_name[life.spec.queue].used -= len(slot.leaf_cells)
    slot.held, slot.node, slot.leaf_cells = False, "", ()
    life.held -= 1
    if life.held == 0 and life.work.state is SliceState.START:
        life.work.set_state(SetState.REGISTER)


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
