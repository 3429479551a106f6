"""What must agree: the lives of gangs with the allocator, and with what the scheduler saw of the cluster."""

from __future__ import annotations

from invariants import check as check_allocator

from generated.confine import SliceState, SliverState
from generated.grove import CliqueState, PodState, TerminationState
from generated.hived import AffinityGroupState
from generated.yunikorn.core import NodeState
from generated.yunikorn.shim import ShimApplicationState, TaskState
from runtime.gangs import Gang
from runtime.lifecycle.registry import Life, Slot
from runtime.service.scheduler import PodScheduler
from runtime.service.tracker import PodPhase


def agree(scheduler: PodScheduler) -> None:
    """The lives are what the allocator and the cluster say."""
    assert scheduler.lives.faults == 0
    following, allocator = scheduler.lives.following, scheduler.allocator
    assert following is not None
    registry = following.registry
    check_allocator(allocator)
    registry.check_invariants()
    assert not registry.dirty
    assert registry.pods.keys() == allocator.homes.keys(), "each pod has a task"
    alive = {name: life for name, life in registry.lives.items() if not life.ending}
    assert alive.keys() == allocator.gangs.keys(), "each gang has a life"
    for name, life in alive.items():
        _agree(life, allocator.gangs[name], scheduler)
    for life in registry.lives.values():
        assert life.held == sum(slot.held for slot in life.slots)
        assert life.asks == sum(_asks(slot) for slot in life.slots)
        assert not life.ending or life.over
    for name, queue in registry.queues.by_name.items():
        mine = [life for life in registry.lives.values() if life.spec.queue == name]
        assert queue.used == sum(len(slot.leaf_cells) for life in mine for slot in life.slots)
    places = {uid: slot.node for uid, slot in registry.pods.items() if slot.held}
    assert places == {uid: host.name for host in registry.hosts.values() for uid in host.slots}
    for name, seen in scheduler.tracker.nodes.items():
        host = registry.hosts[name]
        assert (host.ready and host.node.state is NodeState.SCHEDULABLE) == seen.healthy


def _asks(slot: Slot) -> bool:
    return slot.task is not None and slot.task.state is TaskState.SCHEDULING


def _agree(life: Life, gang: Gang, scheduler: PodScheduler) -> None:
    assert life.shim.state is ShimApplicationState.RUNNING
    assert (life.work.state is SliceState.START) == (life.held > 0)
    torn = life.termination.state is TerminationState.TERMINATING
    for slot in life.slots:
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
    if life.running:
        assert all(slot.done or slot.place.state is PodState.RUNNING for slot in life.slots)
    short = [c for c in life.cliques if c.running < c.min_replicas]
    if life.termination.armed and not torn:
        assert [c for c in life.cliques if c.state is CliqueState.BREACHED] == short


def _agree_pod(slot: Slot, gang: Gang, scheduler: PodScheduler, *, torn: bool) -> None:
    seat, tracked = gang.seated.get(slot.uid), scheduler.tracker.pod(slot.uid)
    assert slot.task is not None
    assert tracked is not None
    assert slot.held == (seat is not None)
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
