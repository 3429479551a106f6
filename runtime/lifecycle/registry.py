"""Applications, nodes and queues with their machines, and the registry of all of them. They refer to one another."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from generated import confine, grove
from generated.confine import Slice, Sliver
from generated.grove import Clique, Followed, PodGang, PodGangState, PodState, Termination
from generated.grove import Pod as PodPlace
from generated.grove.machinery import State
from generated.yunikorn import core, shim
from generated.yunikorn.core import Application, Node, NodeState, ObjectState, ObjectStateState
from generated.yunikorn.core.actions import ObjectStateActions
from generated.yunikorn.shim import ShimApplication, ShimNode, Task
from runtime.errors import UserError
from runtime.lifecycle.interfaces import Actions, Allocating
from runtime.lifecycle.orders import Act, Order
from runtime.lifecycle.submission import ApplicationSpec, Settings
from runtime.lifecycle.timers import Alarm, Timers
from runtime.pods import Pod, PodSpec


class Core(Application):
    """An application, as the scheduler sees it."""

    __slots__ = ("life",)
    life: Life


class Shim(ShimApplication):
    """An application, as whoever submitted it sees it."""

    __slots__ = ("life",)
    life: Life


class Gang(PodGang):
    """The gang of an application."""

    __slots__ = ("life",)
    life: Life


class Work(Slice):
    """What the nodes are to do for a gang."""

    __slots__ = ("life", "system")
    life: Life
    system: confine.System


class Place(PodPlace):
    """A place in a gang, whichever pod fills it."""

    __slots__ = ("slot",)
    slot: Slot


class PodTask(Task):
    """One pod."""

    __slots__ = ("slot",)
    slot: Slot


class Part(Sliver):
    """One pod on its node. Each has a system of its own: one may wait for its agent while the others go on."""

    __slots__ = ("slot", "system")
    slot: Slot
    system: confine.System


class QueueState(ObjectState):
    """A queue, or the whole cluster."""

    __slots__ = ("queue",)
    queue: Queue


class HostNode(Node):
    """A node, as the scheduler sees it."""

    __slots__ = ("host",)
    host: Host


class HostShim(ShimNode):
    """A node, as it registers."""

    __slots__ = ("host",)
    host: Host


PLACED = (PodState.WAITING, PodState.PERMITTED, PodState.BOUND, PodState.RUNNING)

ABSENT, QUEUED = PodState.ABSENT, PodState.QUEUED

Move = tuple["Slot", State, State]
"""A place of a gang has gone from one state to another."""


@dataclass(slots=True, eq=False)
class Slot:
    """A place in a gang, and the pod that fills it now."""

    life: Life
    number: int
    name: str
    guaranteed: bool
    spec: PodSpec
    place: Place = field(init=False)
    generation: int = 0
    """How many pods have been here."""
    pod: Pod | None = None
    task: PodTask | None = None
    part: Part | None = None
    """None while the pod is not on a node."""
    node: str = ""
    leaf_cells: tuple[int, ...] = ()
    held: bool = False
    """The allocator holds leaf cells for the pod."""
    leaving: bool = False
    """The pod has to go, and is not gone."""
    dead: bool = False
    """Nothing of the pod is left on its node."""
    done: bool = False
    """The pod has done its work."""
    claims: bool = False
    """The gang of the pod has reserved leaf cells, and waits for others to leave."""
    failures: int = 0
    """In a row, while it was brought up."""
    started: float | None = None
    """When it began to run."""
    retry: Alarm | None = None

    @property
    def uid(self) -> str:
        """Of the pod that is here now."""
        assert self.pod is not None, "it was asked for, and is not gone"
        return self.pod.uid


class Life:
    """One application. What can be said of it is in its machines; what they do not have is here, and is data alone."""

    __slots__ = (
        "absent", "asks", "cliques", "core", "counted", "ending", "failures", "gang", "given_up", "grove",
        "held", "moves", "number", "queued", "reason", "refusal", "registry", "score", "shim", "slots",
        "spec", "submitted", "termination", "tried", "turn", "work", "yunikorn",
    )  # fmt: skip
    yunikorn: shim.System
    core: Core
    shim: Shim
    grove: grove.System
    gang: Gang
    termination: Termination
    cliques: tuple[Clique, ...]
    work: Work

    def __init__(self, registry: Registry, spec: ApplicationSpec, number: int, submitted: float) -> None:
        self.registry = registry
        self.spec = spec
        self.number = number
        self.submitted = submitted
        self.turn = (-spec.priority, submitted, number)
        """Who comes first: the stronger, then the older."""
        self.asks = self.held = 0
        """Pods that wait for a place, and those that have one."""
        self.refusal = self.reason = ""
        """Why it could not be taken; and why, when it was tried last, pods of it could not be placed."""
        self.failures = 0
        self.ending = self.counted = False
        """Its gang was told to go; it is among those that wait."""
        self.score = 0.0
        self.tried = -1
        """How much had been given back when it was tried last."""
        self.moves: list[Move] = []
        """Of its places, not followed yet."""
        self.slots: list[Slot] = []
        self.absent = self.queued = 0
        """How many places have no pod, and how many have one that waits."""
        self.given_up: list[Slot] = []
        """Pods that could not be brought up, however often it was tried."""

    # What the machines say

    def touched(self, followed: object = None) -> None:
        """One of its machines has moved."""
        self.registry.dirty[self] = None

    def moved(self, followed: tuple[Followed, ...]) -> None:
        """Machines of its gang have moved."""
        self.registry.dirty[self] = None
        for row in followed:
            machine, source, target = row.machine, row.source, row.target
            if isinstance(machine, Place):
                self.moves.append((machine.slot, source, target))
                if source is ABSENT:
                    self.absent -= 1
                elif source is QUEUED:
                    self.queued -= 1
                if target is ABSENT:
                    self.absent += 1
                elif target is QUEUED:
                    self.queued += 1

    # What there is

    @property
    def name(self) -> str:
        """What people call it."""
        return self.spec.name

    @property
    def running(self) -> bool:
        """Is the gang scheduled, and does the minimum of its pods run?"""
        return self.gang.state is PodGangState.SCHEDULED and all(c.running >= c.min_replicas for c in self.cliques)

    @property
    def over(self) -> bool:
        """Has its gang ended?"""
        return self.ending and self.absent == len(self.slots)

    @property
    def past_name(self) -> str:
        """When it is retired: others may have its name."""
        return f"{self.spec.name}@{self.number}"

    def retire(self) -> None:
        """Lets go of all but the application itself."""
        self.slots, self.cliques = [], ()
        del self.gang, self.termination, self.grove, self.work

    def check_invariants(self) -> None:
        """Raises `InvariantBroken` where something does not hold that always must."""
        self.yunikorn.check_invariants()
        self.grove.check_invariants()
        self.work.check_invariants()
        for slot in self.slots:
            if slot.part is not None:
                slot.part.check_invariants()


@dataclass(slots=True, eq=False)
class Host:
    """A node that has been reported."""

    name: str
    registry: Registry
    system: shim.System
    shim: HostShim
    node: HostNode
    ready: bool = False
    """As reported last; the machines do not know of it."""
    usable: bool = False
    """What the allocator knows of it."""
    slots: dict[str, Slot] = field(default_factory=dict)
    """By uid: pods that have their place there."""

    @property
    def fit(self) -> bool:
        """May something be placed there?"""
        return self.ready and self.node.state is NodeState.SCHEDULABLE


Turn = tuple[int, float, int]


@dataclass(slots=True, eq=False)
class Queue:
    """A virtual cluster, or the whole cluster, which has no name."""

    name: str
    machine: QueueState
    timers: Timers
    used: int = 0
    """Leaf cells that are held for its pods."""
    changed: float | None = None
    """When its state last did."""
    waiting: list[tuple[Turn, Life]] = field(default_factory=list)
    """Applications that have pods without a place, in their order."""

    @property
    def state(self) -> ObjectStateState:
        """Whether it takes part in scheduling."""
        return self.machine.state

    @property
    def scheduled(self) -> bool:
        """May what waits be placed? While it drains, too."""
        return self.machine.state is not ObjectStateState.STOPPED

    def stamp(self) -> None:
        """Its state has changed."""
        self.changed = self.timers.time()

    def add(self, life: Life) -> None:
        """It waits."""
        insort(self.waiting, (life.turn, life))

    def discard(self, life: Life) -> None:
        """It waits no longer."""
        del self.waiting[bisect_left(self.waiting, life.turn, key=lambda entry: entry[0])]


class Queues:
    """All queues, and their partition."""

    __slots__ = ("by_name", "partition", "system")

    def __init__(self, names: list[str], actions: ObjectStateActions, timers: Timers) -> None:
        self.system = core.System(timers)
        self.partition = self._make("", actions, timers)
        self.by_name = {name: self._make(name, actions, timers) for name in names}

    def _make(self, name: str, actions: ObjectStateActions, timers: Timers) -> Queue:
        machine = QueueState(self.system, actions)
        queue = machine.queue = Queue(name, machine, timers)
        return queue

    def keep(self, names: Iterable[str], actions: ObjectStateActions, timers: Timers) -> None:
        """Queues that are still used: those that have left the configuration are on their way out."""
        for name in sorted(set(names) - self.by_name.keys()):
            queue = self.by_name[name] = self._make(name, actions, timers)
            queue.machine.remove()

    def get(self, name: str) -> Queue:
        """By name; the partition, if that is empty."""
        queue = self.by_name.get(name) if name else self.partition
        if queue is None:
            raise UserError(f"there is no queue {name}; there are {', '.join(sorted(self.by_name)) or 'none'}")
        return queue

    def refusal(self, name: str) -> str:
        """Why a queue takes no new applications; empty where it does."""
        if self.partition.state is not ObjectStateState.ACTIVE:
            return f"the cluster is {self.partition.state.display.lower()}, and takes no new applications"
        if self.get(name).state is ObjectStateState.DRAINING:
            return f"queue {name} is draining, and takes no new applications"
        return ""


@dataclass(slots=True, eq=False)
class Registry:
    """All applications, queues and nodes, and what has changed since somebody looked."""

    allocator: Allocating
    settings: Settings
    timers: Timers
    actions: Actions
    queues: Queues
    sizes: dict[str, int]
    """By node that is configured: how many leaf cells it has."""
    settle: Callable[[Life], None]
    """Does what the latest moves of a gang call for."""
    hosts: dict[str, Host] = field(default_factory=dict)
    lives: dict[str, Life] = field(default_factory=dict)
    past: dict[str, Life] = field(default_factory=dict)
    """Applications that are completed or have failed, until they expire; by name and number."""
    pods: dict[str, Slot] = field(default_factory=dict)
    """By uid."""
    made: int = 0
    """How many applications have come."""
    freed: int = 0
    """Counts what may help those that wait."""
    orders: list[Order] = field(default_factory=list)
    dirty: dict[Life, None] = field(default_factory=dict)
    """Lives that have moved, and are to be looked after."""
    journaled: bool = False
    changed: set[str] = field(default_factory=set)
    """Keys of what is different from what is journaled."""

    def note(self, *keys: str) -> None:
        """Something is different from what is journaled."""
        if self.journaled:
            self.changed.update(keys)

    def check_invariants(self) -> None:
        """Raises `InvariantBroken` where a machine is not as it always must be."""
        self.queues.system.check_invariants()
        for host in self.hosts.values():
            host.system.check_invariants()
        for life in self.lives.values():
            life.check_invariants()

    def order(self, slot: Slot, act: Act) -> None:
        """The agent of its node is to do something with a pod."""
        if not self.settings.prompt:
            self.orders.append(Order(act, slot.uid, slot.node, slot.leaf_cells))
