"""Applications, nodes and queues with their machines, and the registry of all of them. They refer to one another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from generated import grove
from generated.confine import Slice, Sliver
from generated.grove import Clique, Followed, PodGang, PodGangState, PodState, Termination
from generated.grove import Pod as PodPlace
from generated.grove.machinery import State
from generated.yunikorn import core, shim
from generated.yunikorn.core import Node, ObjectState
from generated.yunikorn.core.actions import ObjectStateActions
from generated.yunikorn.shim import ShimApplication, ShimNode, Task
from runtime.allocator import Allocator
from runtime.durable import DurableAllocator
from runtime.lifecycle.interfaces import Actions
from runtime.lifecycle.submission import ApplicationSpec
from runtime.lifecycle.timers import Timers
from runtime.pods import Pod


class Core(core.Application):
    """An application, as the scheduler sees it."""

    __slots__ = ("owner",)
    owner: Application


class Shim(ShimApplication):
    """An application, from the side that submitted it."""

    __slots__ = ("owner",)
    owner: Application


class Gang(PodGang):
    """The gang of an application."""

    __slots__ = ("owner",)
    owner: Application


class Work(Slice):
    """What the nodes are to do for a gang."""

    __slots__ = ("owner",)
    owner: Application


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

    __slots__ = ("slot",)
    slot: Slot


class HostShim(ShimNode):
    """A node, as it registers."""

    __slots__ = ("host",)
    host: Host


ABSENT, QUEUED = PodState.ABSENT, PodState.QUEUED

Move = tuple["Slot", State, State]
"""A place of a gang has gone from one state to another."""


@dataclass(slots=True, eq=False)
class Slot:
    """A place in a gang, and the pod that fills it now."""

    application: Application
    name: str
    size: int
    """Leaf cells of a pod that fits here."""
    place: Place = field(init=False)
    pod: Pod | None = None
    task: PodTask | None = None
    part: Part | None = None
    """None while the pod is not on a node."""
    node: str = ""
    leaf_cells: tuple[int, ...] = ()
    is_allocated: bool = False
    """The allocator holds leaf cells for the pod."""
    leaving: bool = False
    """The pod has to go, and is not gone."""
    done: bool = False
    """The pod has done its work."""
    failures: int = 0
    """Of the last pod that was here; none while another one has taken its place."""

    @property
    def uid(self) -> str:
        """Of the pod that is here now."""
        assert self.pod is not None, "it was asked for, and is not gone"
        return self.pod.uid


class Application:
    """One application. What can be said of it is in its machines; what they do not have is here, and is data alone."""

    __slots__ = (
        "absent",
        "allocated",
        "asks",
        "cliques",
        "core",
        "ending",
        "failures",
        "gang",
        "grove",
        "moves",
        "number",
        "queued",
        "registry",
        "score",
        "shim",
        "slots",
        "spec",
        "submitted",
        "termination",
        "turn",
        "work",
        "yunikorn",
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
        self.asks = self.allocated = 0
        """Pods that wait for a place, and those that have one."""
        self.failures = 0
        """How many of its pods have failed."""
        self.ending = False
        """Its gang was told to go."""
        self.score = 0.0
        self.moves: list[Move] = []
        """Of its places, not followed yet."""
        self.slots: list[Slot] = []
        self.absent = self.queued = 0
        """How many places have no pod, and how many have one that waits."""

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
    shim: HostShim
    node: Node
    ready: bool = False
    """As reported last; the machines do not know of it."""
    slots: dict[str, Slot] = field(default_factory=dict)
    """By uid: pods that have their place there."""


@dataclass(slots=True, eq=False)
class Queue:
    """A virtual cluster, or the whole cluster, which has no name."""

    name: str
    machine: ObjectState
    used: int = 0
    """Leaf cells that are held for its pods."""


class Queues:
    """All queues, and their partition, in one system with the nodes."""

    __slots__ = ("_actions", "by_name", "partition", "system")

    def __init__(self, names: Iterable[str], actions: ObjectStateActions, timers: Timers) -> None:
        self._actions = actions
        self.system = core.System(timers)
        self.partition = self._make("")
        self.by_name = {name: self._make(name) for name in names}

    def _make(self, name: str) -> Queue:
        return Queue(name, ObjectState(self.system, self._actions))

    def keep(self, name: str) -> None:
        """A queue that is still used: one that has left the configuration is on its way out."""
        if name not in self.by_name:
            queue = self.by_name[name] = self._make(name)
            queue.machine.remove()


@dataclass(slots=True, eq=False)
class Registry:
    """All applications, queues and nodes, and what has moved since it was last reconciled."""

    allocator: Allocator | DurableAllocator
    timers: Timers
    actions: Actions
    queues: Queues
    sizes: dict[str, int]
    """By node that is configured: how many leaf cells it has."""
    hosts: dict[str, Host] = field(default_factory=dict)
    applications: dict[str, Application] = field(default_factory=dict)
    past: dict[str, Application] = field(default_factory=dict)
    """Applications that are completed or have failed, until they expire; by name and number."""
    pods: dict[str, Slot] = field(default_factory=dict)
    """By uid."""
    application_count: int = 0
    """How many applications have come."""
    dirty: dict[Application, None] = field(default_factory=dict)
    """Applications whose machines have moved and that have to be reconciled."""

    def check_invariants(self) -> None:
        """Raises `InvariantBroken` where a machine is not as it always must be."""
        self.queues.system.check_invariants()
        for application in self.applications.values():
            application.check_invariants()
