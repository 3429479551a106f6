"""Makes applications and nodes: their machines, and how they are connected."""

from __future__ import annotations

from generated import confine, grove
from generated.grove import Clique, Termination
from generated.yunikorn.core import Node
from generated.yunikorn.shim import System
from runtime.lifecycle.registry import (
    Core,
    Gang,
    Host,
    HostShim,
    Life,
    Place,
    Registry,
    Shim,
    Slot,
    Work,
)
from runtime.lifecycle.submission import ApplicationSpec, CliqueSpec
from runtime.lifecycle.timers import OwnTimers


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
    life.cliques = tuple(_clique(life, clique) for clique in spec.cliques)
    places = frozenset(slot.place for slot in life.slots)
    life.gang.connect(cliques=frozenset(life.cliques), pods=places, termination=life.termination)
    life.work = Work(confine.System(), actions.work)
    life.work.life = life
    life.absent = len(life.slots)
    life.yunikorn.listen(life.touched)
    life.grove.listen(life.moved)
    return life


def _clique(life: Life, spec: CliqueSpec) -> Clique:
    slots = [_slot(life, spec, index) for index in range(spec.pods)]
    life.slots += slots
    machine = Clique(life.grove, gang=life.gang, guaranteed=frozenset(slot.place for slot in slots))
    for slot in slots:
        slot.place.connect(clique=machine)
    return machine


def _slot(life: Life, spec: CliqueSpec, index: int) -> Slot:
    slot = Slot(life, f"{life.spec.name}/{spec.name}-{index}", spec.leaf_cells)
    slot.place = Place(life.grove)
    slot.place.slot = slot
    return slot


def make_host(registry: Registry, name: str, *, cordoned: bool = False) -> Host:
    """A node that nothing has been heard of before."""
    system = System(registry.timers)
    shim = HostShim(system, registry.actions.host, schedulable=not cordoned)
    node = Node(system, registry.actions.node, partition=registry.queues.partition.machine)
    host = shim.host = Host(name, system, shim, node)
    return host
