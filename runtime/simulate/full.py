"""The whole life of each gang: every machine of the documents, driven by the simulation (`--full-life`).

What `PodByPod` leaves out happens here as well: an application is submitted to its queue, its pods are brought up on
their nodes, and are deleted. On a virtual clock, nodes start and end pods at once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from generated.hived import AffinityGroupState
from runtime.allocator import Allocator
from runtime.lifecycle import ApplicationSpec, CliqueSpec, Lives
from runtime.preemption.victims import displaced, victims
from runtime.simulate.observe import ClusterFace
from runtime.simulate.scheduler import Alone, Ending, Outcome, Placed, Refused, claimed
from runtime.simulate.workload import Request

PATIENT = 1_000_000_000
"""How many of its pods may fail: nodes that fail do not end an application."""


class FullLife:
    """Applications, queues, gangs, cells, nodes, and what nodes do: a `GangScheduler`."""

    isolated = True

    def __init__(self, allocator: Allocator, clock: Callable[[], float]) -> None:
        self.allocator = allocator
        self.lives = Lives(allocator, now=clock())
        self._clock = clock
        self._alone = Alone(allocator.configuration)
        self._pods: dict[str, dict[str, str]] = {}
        """By application: the node of each pod that has one, by uid."""
        self._known: set[str] = set()
        for node in dict.fromkeys(cell.node for cell in allocator.leaf_cells()):
            self.lives.node_healthy(node, clock())

    @property
    def face(self) -> ClusterFace:
        """The allocator."""
        return self.allocator

    def set_health(self, node: str, *, healthy: bool) -> None:
        """A node fails, or is repaired."""
        (self.lives.node_healthy if healthy else self.lives.node_bad)(node, self._clock())

    def ask(self, request: Request) -> Outcome:
        """A place for all pods of a gang, which are brought up at once."""
        now, name = self._clock(), request.gang
        if name not in self._known:
            self.lives.submit(_application(request), now)
            self._known.add(name)
        round_ = self.lives.ask(name, now)
        if round_.bound:
            self._pods[name] = dict(round_.bound)
            self.lives.orders()
            for uid in round_.bound:
                self.lives.pod_started(uid, now)
            self.lives.orders()
            sizes = {pod.uid: pod.spec.leaf_cells for pod in self.allocator.gangs[name].allocated}
            chain = self.allocator.gangs[name].places.chain
            return Placed(chain, tuple((node, sizes[uid]) for uid, node in round_.bound.items()))
        gone = displaced(self.allocator.gangs[name].virtual) if self.claims(request) else []
        if gone:
            return claimed(victims(gone))
        return Refused(round_.waiting.get(name, ""))

    def claims(self, request: Request) -> bool:
        """Whether the gang is preempting others."""
        gang = self.allocator.gangs.get(request.gang)
        return gang is not None and gang.state is AffinityGroupState.PREEMPTING

    def end(self, request: Request, ending: Ending) -> None:
        """Its pods are gone; an application that waits again makes new ones."""
        now, name = self._clock(), request.gang
        pods = self._pods.pop(name, {})
        if name not in self._known:
            return
        match ending:
            case Ending.FINISHED:
                self.lives.finished(name, now)
            case Ending.DISPLACED:
                self._gone(pods, now)
            case Ending.LOST:
                self._lose(pods, now)
            case Ending.FAILED | Ending.REFUSED:
                self.lives.cancel(name, now)
                self._gone(pods, now)
        if ending not in (Ending.DISPLACED, Ending.LOST):
            self._known.discard(name)
        self.lives.orders()

    def _lose(self, pods: dict[str, str], now: float) -> None:
        """All pods have failed: a gang that has lost some of them is of no use."""
        for uid in pods:
            if self.lives.registry.pods[uid].leaving:
                self.lives.pod_gone(uid, now)
            else:
                self.lives.pod_failed(uid, now)

    def _gone(self, pods: dict[str, str], now: float) -> None:
        for uid in pods:
            self.lives.pod_gone(uid, now)

    def hopeless(self, request: Request) -> str:
        """Asks an allocator that has nothing else."""
        return self._alone.hopeless(request)

    def instant(self) -> AbstractContextManager[None]:
        """Nothing is journaled."""
        return nullcontext()


def _application(request: Request) -> ApplicationSpec:
    """All pods must run, or none."""
    cliques = (CliqueSpec(f"m{n}", member.pods, member.leaf_cells) for n, member in enumerate(request.members))
    return ApplicationSpec(
        request.gang,
        request.tenant,
        tuple(cliques),
        request.priority,
        failures=PATIENT,
        leaf_type=request.leaf_type,
        pinned_cell=request.pinned_cell,
        lazy_preemption=request.lazy_preemption,
    )
