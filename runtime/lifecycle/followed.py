"""What differs where others decide: the allocator has placed pods already, and the cluster brings them up and down."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, NoReturn

from generated import confine, grove
from generated.confine import Sliver
from generated.yunikorn import core
from generated.yunikorn.core import Node
from generated.yunikorn.shim import ShimApplication, TaskState
from runtime.allocator import Allocator
from runtime.answers import Answer, GangStatus, Phase
from runtime.cells import Cluster
from runtime.config import Configuration
from runtime.durable import DurableAllocator
from runtime.lifecycle import hosts
from runtime.lifecycle.actions import OK, NodeActions, PartActions, ShimActions, actions
from runtime.lifecycle.bringing import UnderwayError
from runtime.lifecycle.interfaces import Actions
from runtime.lifecycle.registry import HostNode, Life, Part, Shim
from runtime.pods import BindInfo, Pod

LAST = 100
"""Unhandled events that are kept to be shown."""


@dataclass(frozen=True, slots=True)
class Unhandled:
    """An event that no document foresees in this state: the machine stays as it is."""

    at: float
    whose: str
    """The application, or the node."""
    machine: str
    event: str
    state: str


@dataclass(slots=True)
class Refusals:
    """All of them."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By machine and event."""
    last: deque[Unhandled] = field(default_factory=lambda: deque(maxlen=LAST))

    def fire(self, whose: str, now: float, event: Callable[[], object]) -> bool:
        """An event of a machine; whether the state takes it."""
        try:
            event()
        except (core.UnhandledEvent, grove.UnhandledEvent, confine.UnhandledEvent) as error:
            kind = _kind(error.machine)
            state = error.machine.state.display
            self.counts[kind, error.event] += 1
            self.last.append(Unhandled(now, whose, kind, error.event, state))
            return False
        return True


def _kind(machine: object) -> str:
    """As its document calls it: that is the name of the class that was generated."""
    return next(kind.__name__ for kind in type(machine).__mro__ if kind.__module__.startswith("generated."))


class Decided:
    """The allocator, to lives that follow it: it knows already whatever they would tell it."""

    def __init__(self, allocator: Allocator | DurableAllocator) -> None:
        self.allocator = allocator
        self.configuration: Configuration = allocator.configuration

    @property
    def cluster(self) -> Cluster:
        """All cells, to look at."""
        return self.allocator.cluster

    def node_healthy(self, name: str) -> None:
        """It knows."""

    node_bad = node_healthy

    def submit(self, pod: Pod) -> None:
        """It knows."""

    delete = submit

    def schedule(
        self, pod: Pod, suggested_nodes: Iterable[str] | None = None, phase: Phase = Phase.FILTERING
    ) -> Answer:
        """Others ask it."""
        raise AssertionError("who follows does not ask")

    def allocate(self, pod: Pod, bind_info: BindInfo) -> None:
        """It knows."""

    def group(self, name: str) -> GangStatus | None:
        """A gang."""
        return self.allocator.group(name)


# What the machines call for


class FollowedShims(ShimActions):
    """The allocator knows a pod of the application: it has been accepted."""

    def request(self, shim_application: ShimApplication) -> None:
        """Nobody refuses it any more."""
        assert isinstance(shim_application, Shim)
        shim_application.life.core.run()
        shim_application.accept_application()
        shim_application.run_application()


class FollowedParts(PartActions):
    """The cluster brings pods up, and says how far they are. Nobody is ordered to do anything."""

    def alloc(self, sliver: Sliver) -> Literal["ok", "err"]:
        """The allocator holds the leaf cells, whatever the node is like."""
        return OK

    def deploy(self, sliver: Sliver) -> NoReturn:
        """Until the cluster says that the pod is bound."""
        raise UnderwayError

    def start(self, sliver: Sliver) -> NoReturn:
        """It is bound. Until the cluster says that it runs."""
        assert isinstance(sliver, Part)
        task = sliver.slot.task
        if task is not None and task.state is TaskState.ALLOCATED:
            task.task_bound()
        raise UnderwayError

    def nothing(self, sliver: Sliver) -> None:
        """The cluster has done it."""

    stop = undeploy = nothing


class FollowedNodes(NodeActions):
    """Pods are lost when the cluster says so: until then, the allocator keeps their leaf cells."""

    def remove_node(self, node: Node) -> None:
        """It may not be used."""
        assert isinstance(node, HostNode)
        node.host.ready = False
        hosts.tell(node.host)


def followed_actions() -> Actions:
    """For all machines."""
    return replace(actions(), shim=FollowedShims(), part=FollowedParts(), node=FollowedNodes())


def whose(life: Life) -> str:
    """As unhandled events name it."""
    return f"application {life.name}"
