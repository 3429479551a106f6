"""What the simulation drives: whole gangs, behind a narrow interface; and the allocator behind it, pod by pod."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias

from generated.hived import AffinityGroupState
from runtime.allocator import Allocator
from runtime.answers import Bind, Phase, Preempt, Wait
from runtime.config import Configuration
from runtime.durable import DurableAllocator
from runtime.errors import UserError
from runtime.pods import Pod
from runtime.simulate.observe import ClusterFace
from runtime.simulate.workload import Request


@dataclass(frozen=True, slots=True)
class Placed:
    """The gang has its leaf cells."""

    chain: str
    pods: tuple[tuple[str, int], ...]
    """By pod: node, and how many leaf cells."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """The gang has reserved leaf cells, and can have them when these gangs are gone."""

    victims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """There is no place now."""

    reason: str


Outcome: TypeAlias = Placed | Claimed | Refused


def claimed(victims: Mapping[str, tuple[Pod, ...]]) -> Claimed:
    """The gangs of these pods, which are listed by node, in that order."""
    return Claimed(tuple(dict.fromkeys(pod.spec.gang.name for there in victims.values() for pod in there)))


class Ending(Enum):
    """Why the pods of a gang are gone."""

    FINISHED = "finished"
    FAILED = "failed"
    REFUSED = "refused"
    """It has not run, and never will."""
    DISPLACED = "displaced"
    """It waits again."""
    LOST = "lost"
    """A node under it has failed: it waits again."""


class GangScheduler(Protocol):
    """Places gangs. Its answers must depend on nothing but the calls before."""

    isolated: bool
    """Whether guaranteed gangs wait for those of their own virtual cluster alone, as long as nodes are good."""

    @property
    def face(self) -> ClusterFace:
        """To look at."""

    def set_health(self, node: str, *, healthy: bool) -> None:
        """A node fails, or is repaired."""

    def ask(self, request: Request) -> Outcome:
        """A place for all pods of a gang. A gang that has claimed leaf cells asks again when its victims are gone.

        Raises `UserError` for what cannot be meant.
        """

    def claims(self, request: Request) -> bool:
        """Whether the gang still has reserved leaf cells: a stronger one may have taken some."""

    def end(self, request: Request, ending: Ending) -> None:
        """All pods of a gang are gone."""

    def hopeless(self, request: Request) -> str:
        """Why a gang could not run even if it were alone in a healthy cluster; empty where it could."""

    def instant(self) -> AbstractContextManager[None]:
        """Around all that happens at one moment."""


def heal(allocator: Allocator | DurableAllocator) -> None:
    """All nodes are healthy."""
    for node in dict.fromkeys(cell.node for cell in allocator.leaf_cells() if not cell.healthy):
        allocator.node_healthy(node)


class Alone:
    """An empty cluster of the same configuration; made when it is needed."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._allocator: Allocator | None = None

    def hopeless(self, request: Request) -> str:
        """Why a gang has no place even here; empty where it has one."""
        if self._allocator is None:
            self._allocator = Allocator(self._configuration)
            heal(self._allocator)
        pod = Pod(request.gang, request.gang, request.specs[0])
        try:
            answer = self._allocator.schedule(pod)
        except UserError as error:
            return str(error)
        finally:
            self._allocator.delete(pod)
        return answer.reason if isinstance(answer, Wait) else ""


class PodByPod:
    """The allocator, asked as an outer scheduler asks it: pod by pod, in the filtering phase, and, when others are in
    the way, in the preempting phase."""

    isolated = True

    def __init__(self, allocator: Allocator | DurableAllocator) -> None:
        self.allocator = allocator
        self._pods: dict[str, list[Pod]] = {}
        """By gang: its pods, of which only the first is known to the allocator while the gang waits."""
        self._runs: dict[str, int] = {}
        self._claiming: set[str] = set()
        self._alone = Alone(allocator.configuration)
        with self.instant():
            heal(allocator)

    @property
    def face(self) -> ClusterFace:
        """The allocator."""
        return self.allocator

    def set_health(self, node: str, *, healthy: bool) -> None:
        """A node fails, or is repaired."""
        (self.allocator.node_healthy if healthy else self.allocator.node_bad)(node)

    def ask(self, request: Request) -> Outcome:
        """A place for all pods of a gang."""
        pods = self._pods.get(request.gang) or self._submit(request)
        answer = self.allocator.schedule(pods[0])
        if isinstance(answer, Preempt) or (isinstance(answer, Wait) and request.gang in self._claiming):
            answer = self.allocator.schedule(pods[0], phase=Phase.PREEMPTING)
        self._claiming.discard(request.gang)
        match answer:
            case Bind():
                return self._bind(pods, answer)
            case Preempt(victims):
                self._claiming.add(request.gang)
                return claimed(victims)
            case Wait(reason=reason):
                return Refused(reason)

    def claims(self, request: Request) -> bool:
        """Whether the gang is preempting others."""
        status = self.allocator.group(request.gang)
        return status is not None and status.state is AffinityGroupState.PREEMPTING

    def end(self, request: Request, ending: Ending) -> None:
        """All pods are deleted; those of a gang that waits again will be others."""
        self._claiming.discard(request.gang)
        for pod in self._pods.pop(request.gang, ()):
            self._delete(pod, ending)

    def _delete(self, pod: Pod, ending: Ending) -> None:
        self.allocator.delete(pod)

    def hopeless(self, request: Request) -> str:
        """Asks an allocator that has nothing else."""
        return self._alone.hopeless(request)

    def instant(self) -> AbstractContextManager[None]:
        """One commit, where there is a journal."""
        return self.allocator.cycle() if isinstance(self.allocator, DurableAllocator) else nullcontext()

    def _submit(self, request: Request) -> list[Pod]:
        run = self._runs[request.gang] = self._runs.get(request.gang, 0) + 1
        names = (f"{request.gang}-{number}" for number in range(len(request.specs)))
        pods = [Pod(f"{name}.{run}", name, spec) for name, spec in zip(names, request.specs, strict=True)]
        self._pods[request.gang] = pods
        return pods

    def _bind(self, pods: list[Pod], first: Bind) -> Placed:
        answer: object = first
        placed = []
        for pod in pods:
            answer = first if pod is pods[0] else self.allocator.schedule(pod)
            assert isinstance(answer, Bind), "a gang that has its places keeps them"
            self.allocator.allocate(pod, answer.info)
            placed.append((answer.node, len(answer.leaf_cells)))
        return Placed(first.info.chain, tuple(placed))
