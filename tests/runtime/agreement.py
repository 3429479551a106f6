"""What must agree: the life cycles of gangs with the allocator, and with what the scheduler saw of the cluster."""

from __future__ import annotations

from invariants import check as check_allocator

from generated.confine import SliceState, SliverState
from generated.grove import CliqueState, PodState, TerminationState
from generated.hived import AffinityGroupState
from generated.yunikorn.core import NodeState
from generated.yunikorn.shim import ShimApplicationState, TaskState
from runtime.gangs import Gang
from runtime.lifecycle.registry import Application, Slot
from runtime.service.scheduler import PodScheduler
from runtime.service.tracker import PodPhase


def agree(scheduler: PodScheduler) -> None:
    """The life cycles are what the allocator and the cluster say."""
    assert scheduler.lifecycle.faults == 0
    follower, allocator = scheduler.lifecycle.follower, scheduler.allocator
    assert follower is not None
    registry = follower.registry
    check_allocator(allocator)
    registry.check_invariants()
    assert not registry.dirty
    assert registry.pods.keys() == allocator.homes.keys(), "each pod has a task"
    alive = {name: application for name, application in registry.applications.items() if not application.ending}
    assert alive.keys() == allocator.gangs.keys(), "each gang has an application"
    for name, application in alive.items():
        _agree(application, allocator.gangs[name], scheduler)
    for application in registry.applications.values():
        assert application.allocated == sum(slot.is_allocated for slot in application.slots)
        assert application.asks == sum(_asks(slot) for slot in application.slots)
        assert not application.ending or application.over
    for name, queue in registry.queues.by_name.items():
        mine = [application for application in registry.applications.values() if application.spec.queue == name]
        assert queue.used == sum(len(slot.leaf_cells) for application in mine for slot in application.slots)
    places = {uid: slot.node for uid, slot in registry.pods.items() if slot.is_allocated}
    assert places == {uid: host.name for host in registry.hosts.values() for uid in host.slots}
    for name, seen in scheduler.tracker.nodes.items():
        host = registry.hosts[name]
        assert (host.ready and host.node.state is NodeState.SCHEDULABLE) == seen.healthy


def _asks(slot: Slot) -> bool:
    return slot.task is not None and slot.task.state is TaskState.SCHEDULING


def _agree(application: Application, gang: Gang, scheduler: PodScheduler) -> None:
    assert application.shim.state is ShimApplicationState.RUNNING
    assert (application.work.state is SliceState.START) == (application.allocated > 0)
    torn = application.termination.state is TerminationState.TERMINATING
    for slot in application.slots:
        if slot.pod is not None:
            _agree_pod(slot, gang, scheduler, torn=torn)
        if torn:
            assert slot.place.state is (PodState.TERMINATING if slot.pod is not None else PodState.ABSENT) or (
                slot.pod is not None and slot.place.state is PodState.ABSENT
            )
        elif gang.state is not AffinityGroupState.ALLOCATED:
            assert slot.place.state is PodState.QUEUED or (slot.done and slot.place.state is PodState.RUNNING)
        elif slot.pod is None:
            assert slot.place.state is (PodState.RUNNING if slot.done else PodState.PERMITTED)
    if application.running:
        assert all(slot.done or slot.place.state is PodState.RUNNING for slot in application.slots)
    short = [c for c in application.cliques if c.running < c.min_replicas]
    if application.termination.armed and not torn:
        assert [c for c in application.cliques if c.state is CliqueState.BREACHED] == short


def _agree_pod(slot: Slot, gang: Gang, scheduler: PodScheduler, *, torn: bool) -> None:
    seat, tracked = gang.assigned.get(slot.uid), scheduler.tracker.pod(slot.uid)
    assert slot.task is not None
    assert tracked is not None
    assert slot.is_allocated == (seat is not None)
    if seat is None:
        assert slot.task.state is TaskState.SCHEDULING
        assert slot.part is None
        return
    assert (slot.node, slot.leaf_cells) == (seat.place.node, seat.place.leaf_cells)
    assert slot.part is not None
    assert slot.part.reserved, "its sliver holds its leaf cells"
    bound = tracked.phase is PodPhase.BOUND
    runs = bound and tracked.running
    expected = SliverState.STARTED if runs else SliverState.STARTING if bound else SliverState.DEPLOYING
    assert slot.part.state is expected
    if slot.leaving:
        assert slot.task.state is TaskState.KILLING
    else:
        assert slot.task.state is (TaskState.BOUND if bound else TaskState.ALLOCATED)
    if gang.state is AffinityGroupState.ALLOCATED and not torn:
        place = PodState.RUNNING if runs else PodState.BOUND if bound else PodState.PERMITTED
        assert slot.place.state is place
