"""A cluster whose lives are driven by a test: its agents do what they are told, at once, late, or never."""

from __future__ import annotations

from collections import Counter

import invariants
from clusters import config, nodes

from generated.confine import SliceState, SliverState
from generated.grove import PodGangState, PodState
from generated.hived import CellState
from generated.yunikorn.shim import TaskState
from runtime import Allocator
from runtime.durable import DurableAllocator
from runtime.lifecycle import Act, ApplicationSpec, CliqueSpec, Lives, Order, Round, Settings
from runtime.lifecycle.registry import Life, Slot

NAMES = ("a", "b", "c", "d")
TWO_QUEUES = config(nodes(*NAMES), A={"NODE": 2}, B={"NODE": 2})
"""Four nodes of four leaf cells; two are promised to each virtual cluster."""
DELAY = 30.0


def application(
    name: str, *cliques: CliqueSpec, queue: str = "A", priority: int = 5, **more: object
) -> ApplicationSpec:
    """An application with a termination delay of 30 seconds."""
    given = cliques or (CliqueSpec("worker", 2, 2),)
    fields: dict[str, object] = {"termination_delay": DELAY, **more}
    return ApplicationSpec(name, queue, given, priority, **fields)  # type: ignore[arg-type]


class Ward:
    """Lives, and the agents of their nodes."""

    def __init__(self, allocator: Allocator | DurableAllocator | None = None, settings: Settings | None = None) -> None:
        self.allocator = allocator or Allocator.from_config(TWO_QUEUES, now=lambda: 1000.0)
        self.lives = Lives(self.allocator, settings)
        self.now = 0.0

    def healthy(self, *names: str) -> Ward:
        """Nodes come."""
        for name in names or NAMES:
            self.lives.node_healthy(name, self.now)
        return self

    def life(self, name: str) -> Life:
        """An application."""
        return self.lives.registry.lives[name]

    def slot(self, name: str) -> Slot:
        """A place in a gang, as in `t/worker-0`."""
        life = self.life(name.partition("/")[0])
        return next(slot for slot in life.slots if slot.name == name)

    def uid(self, name: str) -> str:
        """Of the pod that is there now."""
        return self.slot(name).uid

    def at(self, now: float) -> Ward:
        """Time passes, and timers ring."""
        self.now = now
        self.lives.tick(now)
        return self

    def submit(self, spec: ApplicationSpec) -> Ward:
        """An application comes."""
        self.lives.submit(spec, self.now)
        return self

    def cycle(self) -> Round:
        """Places what waits."""
        return self.lives.cycle(self.now)

    def serve(self) -> list[Order]:
        """The agents do all that they are told, until there is nothing more."""
        served: list[Order] = []
        while orders := self.lives.orders():
            for order in orders:
                self.obey(order)
            served += orders
        return served

    def obey(self, order: Order) -> None:
        """An agent does what it is told."""
        match order.act:
            case Act.DEPLOY | Act.START:
                self.lives.report(order.uid, order.act, ok=True, now=self.now)
            case Act.UNDEPLOY:
                self.lives.pod_gone(order.uid, self.now)
            case Act.STOP:
                pass

    def run(self, spec: ApplicationSpec) -> Ward:
        """An application comes, and runs."""
        self.submit(spec)
        self.cycle()
        self.serve()
        assert self.lives.running(spec.name)
        return self

    def phases(self, name: str) -> tuple[str, list[str]]:
        """The phase of a gang, and the states of its places."""
        life = self.life(name)
        return life.gang.state.display, [slot.place.state.display for slot in life.slots]


def check(lives: Lives) -> None:
    """All that must hold after every step."""
    registry = lives.registry
    lives.check_invariants()
    assert isinstance(registry.allocator, (Allocator, DurableAllocator))
    invariants.check(registry.allocator)
    used: Counter[str] = Counter()
    held: dict[str, Slot] = {}
    for life in registry.lives.values():
        _check_life(life)
        for slot in life.slots:
            if slot.held:
                used[life.spec.queue] += len(slot.leaf_cells)
                held[slot.uid] = slot
    gangs = registry.allocator.gangs.values()
    seated = {pod.uid: pod for gang in gangs for pod in gang.allocated}
    assert held.keys() == seated.keys(), "the allocator holds leaf cells for the same pods"
    there: Counter[str] = Counter()
    for pod in seated.values():
        there[pod.spec.virtual_cluster] += pod.spec.leaf_cells
    for name, queue in registry.queues.by_name.items():
        assert queue.used == used[name] == there[name]
        assert [life.name for _, life in queue.waiting] == [
            life.name for life in sorted(registry.lives.values(), key=lambda x: x.turn)
            if life.spec.queue == name and life.queued and not life.ending
        ]  # fmt: skip
    places = {uid: slot.node for uid, slot in held.items()}
    assert places == {uid: host.name for host in registry.hosts.values() for uid in host.slots}
    assert registry.pods.keys() == {s.uid for x in registry.lives.values() for s in x.slots if s.task is not None}
    assert not registry.dirty
    for name in registry.sizes:
        host = registry.hosts.get(name)
        cells = registry.allocator.cluster.nodes[name]
        assert all(cell.healthy == (host is not None and host.fit) for cell in cells)


def _check_life(life: Life) -> None:
    states = [slot.place.state for slot in life.slots]
    assert life.queued == states.count(PodState.QUEUED)
    assert life.absent == states.count(PodState.ABSENT)
    assert life.held == sum(slot.held for slot in life.slots)
    assert life.asks == sum(slot.task is not None and slot.task.state is TaskState.SCHEDULING for slot in life.slots)
    if lives_running(life):
        for clique in life.spec.cliques:
            mine = [s for s in life.slots if s.name.startswith(f"{life.name}/{clique.name}-")]
            assert sum(s.place.state is PodState.RUNNING for s in mine) >= clique.must
    assert (life.work.state is SliceState.START) == (life.held > 0)
    assert not life.over or life.work.state is SliceState.GONE
    for slot in life.slots:
        _check_slot(slot)


def lives_running(life: Life) -> bool:
    """Does it count as running?"""
    assert not life.running or life.gang.state is PodGangState.SCHEDULED
    return life.running


def _check_slot(slot: Slot) -> None:
    """Its machines agree."""
    place, task, part = slot.place.state, slot.task, slot.part
    assert (part is not None) == slot.held
    assert not slot.leaving or slot.held
    if task is None:
        assert slot.done or place in (PodState.ABSENT, PodState.GATED)
        return
    if slot.leaving:
        assert task.state is TaskState.KILLING
        assert place in (PodState.QUEUED, PodState.TERMINATING)
        return
    expected = {
        PodState.QUEUED: TaskState.SCHEDULING,
        PodState.PERMITTED: TaskState.ALLOCATED,
        PodState.BOUND: TaskState.BOUND,
        PodState.RUNNING: TaskState.BOUND,
    }
    assert task.state is expected[place]
    assert slot.held == (place is not PodState.QUEUED)
    if place is PodState.BOUND:
        assert part is not None
        assert part.state in (SliverState.STARTING, SliverState.FAIL_START, SliverState.FAIL_ALLOCATE)


def check_empty(lives: Lives) -> None:
    """Nothing is left of anybody."""
    check(lives)
    registry = lives.registry
    assert not registry.lives
    assert not registry.pods
    assert not any(host.slots for host in registry.hosts.values())
    assert not any(queue.used or queue.waiting for queue in registry.queues.by_name.values())
    assert not registry.allocator.gangs  # type: ignore[attr-defined]
    assert all(cell.state is CellState.FREE for cell in registry.allocator.leaf_cells())  # type: ignore[attr-defined]


def memory(lives: Lives) -> tuple[object, object, object]:
    """All that there is, with deadlines as moments; machines are numbered anew after a restart."""
    registry = lives.registry
    names = sorted(registry.lives)
    timers = {
        name: [
            (i, timer, round(registry.timers.time() + left, 6))
            for system in (life.yunikorn.snapshot(), life.grove.snapshot())
            for i, machine in enumerate(system["machines"])
            for timer, left in machine["timers"].items()
        ]
        for name, life in registry.lives.items()
    }
    statuses = [lives.status(name) for name in names]
    for status in statuses:
        status.pop("waits for")
        status.pop("no place because")
        status["core"].pop("timers")
        for clique in status["cliques"]:
            clique.pop("timers")
    overview = lives.overview()
    overview.pop("time")
    overview["next timer"] = overview["next timer"] and round(overview["next timer"], 6)
    overview["nodes"].sort(key=lambda node: node["name"])
    return statuses, timers, overview
