"""An application, and all machines along its life."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from generated import confine, grove
from generated.grove import Clique, PodGangState, PodState, Termination
from generated.grove.machinery import State
from generated.yunikorn.shim import System
from runtime.lives.machines import Core, Gang, Part, Place, PodTask, Shim, Work
from runtime.lives.submission import ApplicationSpec, CliqueSpec
from runtime.lives.timers import Alarm, OwnTimers
from runtime.pods import GangSpec, Member, Pod, PodSpec

if TYPE_CHECKING:
    from runtime.lives.registry import Registry

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


def pod_spec(spec: ApplicationSpec, clique: CliqueSpec, gang: GangSpec) -> PodSpec:
    """What a pod of a clique asks the allocator for."""
    return PodSpec(
        virtual_cluster=spec.queue,
        priority=spec.priority,
        leaf_cells=clique.leaf_cells,
        gang=gang,
        leaf_type=spec.leaf_type,
        pinned_cell=spec.pinned_cell,
        lazy_preemption=spec.lazy_preemption,
    )


class Life:
    """One application. What can be said of it is in its machines; what they do not have is here, and is data alone."""

    __slots__ = (
        "absent", "asks", "cliques", "core", "counted", "ending", "failures", "gang", "given_up", "grove",
        "held", "moves", "number", "queued", "reason", "refusal", "registry", "score", "shim", "slots",
        "spec", "submitted", "termination", "tried", "turn", "work", "yunikorn",
    )  # fmt: skip

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
        self.given_up: list[Slot] = []
        """Pods that could not be brought up, however often it was tried."""
        self._make()

    def _make(self) -> None:
        registry, spec = self.registry, self.spec
        actions = registry.actions
        clock = OwnTimers(registry.timers, self._touched)
        self.yunikorn = System(clock)
        self.core = Core(self.yunikorn, actions.core)
        self.shim = Shim(self.yunikorn, actions.shim)
        self.core.life = self.shim.life = self
        self.grove = grove.System(clock)
        self.gang = Gang(self.grove, actions.gang, termination_delay=spec.termination_delay)
        self.gang.life = self
        self.termination = Termination(self.grove, gang=self.gang)
        self.slots: list[Slot] = []
        gang = GangSpec(spec.name, tuple(Member(clique.must, clique.leaf_cells) for clique in spec.cliques))
        self.cliques = tuple(self._clique(clique, gang) for clique in spec.cliques)
        places = frozenset(slot.place for slot in self.slots)
        self.gang.connect(cliques=frozenset(self.cliques), pods=places, termination=self.termination)
        system = confine.System()
        self.work = Work(system, actions.work)
        self.work.life, self.work.system = self, system
        self.absent, self.queued = len(self.slots), 0
        self.yunikorn.listen(self._touched)
        self.grove.listen(self._moved)

    def _clique(self, clique: CliqueSpec, gang: GangSpec) -> Clique:
        must = clique.must
        together = pod_spec(self.spec, clique, gang)
        slots = [self._slot(clique, index, together if index < must else None) for index in range(clique.pods)]
        self.slots += slots
        machine = Clique(
            self.grove,
            gang=self.gang,
            guaranteed=frozenset(slot.place for slot in slots[:must]),
            best_effort=frozenset(slot.place for slot in slots[must:]),
        )
        for slot in slots:
            slot.place.connect(clique=machine)
        return machine

    def _slot(self, clique: CliqueSpec, index: int, together: PodSpec | None) -> Slot:
        """Guaranteed pods are one gang of the allocator; each of the others is one by itself."""
        name = f"{self.spec.name}/{clique.name}-{index}"
        spec = together or pod_spec(self.spec, clique, GangSpec(name, (Member(1, clique.leaf_cells),)))
        slot = Slot(self, len(self.slots) + index, name, together is not None, spec)
        slot.place = Place(self.grove)
        slot.place.slot = slot
        return slot

    # What the machines say

    def _touched(self, followed: object = None) -> None:
        self.registry.dirty[self] = None

    def _moved(self, followed: tuple[grove.Followed, ...]) -> None:
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
