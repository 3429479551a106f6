"""Makes an application: its machines, and how they are connected."""

from __future__ import annotations

from generated import confine, grove
from generated.grove import Clique, Termination
from generated.yunikorn.shim import System
from runtime.lifecycle.registry import Core, Gang, Life, Place, Registry, Shim, Slot, Work
from runtime.lifecycle.submission import ApplicationSpec, CliqueSpec
from runtime.lifecycle.timers import OwnTimers
from runtime.pods import GangSpec, Member, PodSpec


def make_life(registry: Registry, spec: ApplicationSpec, number: int, submitted: float) -> Life:
    """An application that was submitted just now, with all its machines in their initial states."""
    life = Life(registry, spec, number, submitted)
    actions, clock = registry.actions, OwnTimers(registry.timers, life.touched)
    life.yunikorn = System(clock)
    life.core, life.shim = Core(life.yunikorn, actions.core), Shim(life.yunikorn, actions.shim)
    life.core.life = life.shim.life = life
    life.grove = grove.System(clock)
    life.gang = Gang(life.grove, actions.gang, termination_delay=spec.termination_delay)
    life.gang.life = life
    life.termination = Termination(life.grove, gang=life.gang)
    gang = GangSpec(spec.name, tuple(Member(clique.must, clique.leaf_cells) for clique in spec.cliques))
    life.cliques = tuple(_clique(life, clique, gang) for clique in spec.cliques)
    places = frozenset(slot.place for slot in life.slots)
    life.gang.connect(cliques=frozenset(life.cliques), pods=places, termination=life.termination)
    system = confine.System()
    life.work = Work(system, actions.work)
    life.work.life, life.work.system = life, system
    life.absent = len(life.slots)
    life.yunikorn.listen(life.touched)
    life.grove.listen(life.moved)
    return life


def _clique(life: Life, clique: CliqueSpec, gang: GangSpec) -> Clique:
    must = clique.must
    together = _pod_spec(life.spec, clique, gang)
    slots = [_slot(life, clique, index, together if index < must else None) for index in range(clique.pods)]
    life.slots += slots
    machine = Clique(
        life.grove,
        gang=life.gang,
        guaranteed=frozenset(slot.place for slot in slots[:must]),
        best_effort=frozenset(slot.place for slot in slots[must:]),
    )
    for slot in slots:
        slot.place.connect(clique=machine)
    return machine


def _slot(life: Life, clique: CliqueSpec, index: int, together: PodSpec | None) -> Slot:
    """Guaranteed pods are one gang of the allocator; each of the others is one by itself."""
    name = f"{life.spec.name}/{clique.name}-{index}"
    spec = together or _pod_spec(life.spec, clique, GangSpec(name, (Member(1, clique.leaf_cells),)))
    slot = Slot(life, len(life.slots) + index, name, together is not None, spec)
    slot.place = Place(life.grove)
    slot.place.slot = slot
    return slot


def _pod_spec(spec: ApplicationSpec, clique: CliqueSpec, gang: GangSpec) -> PodSpec:
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
