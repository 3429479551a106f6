"""How pods come to the places of a gang and go, one by one; how gangs and applications end."""

from __future__ import annotations

from generated.confine import SetState, SliceState
from generated.grove import PodGangState
from generated.yunikorn.core import ApplicationState
from generated.yunikorn.shim import ShimApplicationState, TaskState
from runtime.lifecycle.deploy import undeploy
from runtime.lifecycle.registry import Application, PodTask, Slot
from runtime.pods import Pod

COMPLETES = (ApplicationState.ACCEPTED, ApplicationState.STARTING, ApplicationState.RUNNING)


def fill(slot: Slot, pod: Pod) -> None:
    """A pod for a place of the gang: it is there, and wants to be placed."""
    application = slot.application
    slot.pod, slot.failures = pod, 0
    application.registry.pods[pod.uid] = slot
    task = slot.task = PodTask(application.yunikorn, application.registry.actions.task, app=application.shim)
    task.slot = slot
    task.init_task()
    if application.core.state in (ApplicationState.NEW, ApplicationState.COMPLETING):
        application.core.run()


def fail(application: Application) -> None:
    """It is marked as failed first, and has failed when everything is cleaned up."""
    application.core.fail()
    end(application)


def end(application: Application) -> None:
    """Deletes the gang, once."""
    if not application.ending:
        application.ending = True
        application.gang.delete()


def leave(slot: Slot) -> None:
    """A pod is no more: its task is completed, and what it held or asked for is given back."""
    application, task = slot.application, slot.task
    assert task is not None, "it has not left yet"
    undeploy(slot)
    slot.leaving = False
    if task.state is TaskState.KILLING:
        task.task_killed()
    del application.registry.pods[slot.uid]
    task.complete_task()
    application.yunikorn.remove(task)
    slot.task = slot.pod = None


def finish(slot: Slot) -> None:
    """A pod has done its work. The machine of its place has no event for it: to the gang, it goes on running."""
    slot.done = True
    leave(slot)
    application = slot.application
    if application.allocated == 0 and all(other.done for other in application.slots):
        end(application)


def release_allocation(slot: Slot) -> None:
    """A pod has its leaf cells no more."""
    if not slot.is_allocated:
        return
    application, registry = slot.application, slot.application.registry
    registry.hosts[slot.node].slots.pop(slot.uid, None)
    registry.queues.by_name[application.spec.queue].used -= len(slot.leaf_cells)
    slot.is_allocated, slot.node, slot.leaf_cells = False, "", ()
    application.allocated -= 1
    if application.allocated == 0 and application.work.state is SliceState.START:
        application.work.set_state(SetState.REGISTER)


def rest(application: Application) -> None:
    """Nothing is asked for, and nothing held: the application is about to complete, or has failed."""
    if application.over and application.work.state is not SliceState.GONE:
        application.work.delete()
        if application.shim.state is ShimApplicationState.KILLING:
            application.shim.killed_application()
    if application.asks or application.allocated or application.gang.state is PodGangState.UNSET:
        return
    if application.core.state in COMPLETES:
        application.core.complete()
    elif application.core.state is ApplicationState.FAILING and application.over:
        application.core.fail()
