"""Makes applications and nodes: their machines, and how they are connected."""

from __future__ import annotations

from generated import confine, grove
from generated.grove import Clique, Termination
from generated.yunikorn.core import Node
from generated.yunikorn.shim import System
from runtime.lifecycle.registry import (
    Application,
    Core,
    Gang,
    Host,
    HostShim,
    Place,
    Registry,
    Shim,
    Slot,
    Work,
)
from runtime.lifecycle.submission import ApplicationSpec, CliqueSpec
from runtime.lifecycle.timers import OwnTimers


def create_application(registry: Registry, spec: ApplicationSpec, number: int, submitted: float) -> Application:
    """An application that was submitted just now, with all its machines in their initial states."""
    application = Application(registry, spec, number, submitted)
    actions, clock = registry.actions, OwnTimers(registry.timers, application.touched)
    application.yunikorn = System(clock)
    application.core, application.shim = (
        Core(application.yunikorn, actions.core),
        Shim(application.yunikorn, actions.shim),
    )
    application.core.owner = application.shim.owner = application
    application.grove = grove.System(clock)
    application.gang = Gang(application.grove, actions.gang, termination_delay=spec.termination_delay)
    application.gang.owner = application
    application.termination = Termination(application.grove, gang=application.gang)
    application.cliques = tuple(_clique(application, clique) for clique in spec.cliques)
    places = frozenset(slot.place for slot in application.slots)
    application.gang.connect(cliques=frozenset(application.cliques), pods=places, termination=application.termination)
    application.work = Work(confine.System(), actions.work)
    application.work.owner = application
    application.absent = len(application.slots)
    application.yunikorn.listen(application.touched)
    application.grove.listen(application.moved)
    return application


def _clique(application: Application, spec: CliqueSpec) -> Clique:
    slots = [_slot(application, spec, index) for index in range(spec.pods)]
    application.slots += slots
    machine = Clique(application.grove, gang=application.gang, guaranteed=frozenset(slot.place for slot in slots))
    for slot in slots:
        slot.place.connect(clique=machine)
    return machine


def _slot(application: Application, spec: CliqueSpec, index: int) -> Slot:
    slot = Slot(application, f"{application.spec.name}/{spec.name}-{index}", spec.leaf_cells)
    slot.place = Place(application.grove)
    slot.place.slot = slot
    return slot


def create_host(registry: Registry, name: str, *, cordoned: bool = False) -> Host:
    """A node that nothing has been heard of before."""
    system = registry.queues.system  # that of its partition
    shim = HostShim(system, registry.actions.host, schedulable=not cordoned)
    node = Node(system, registry.actions.node, partition=registry.queues.partition.machine)
    host = shim.host = Host(name, shim, node)
    return host
