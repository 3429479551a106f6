"""HiveD in the simulator: driven pod by pod, in the same queues, on the same virtual clock as the allocator."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from hived import HiveD, PanicError, RefusedError, victims

from runtime import Pod
from runtime.config import read_configuration
from runtime.simulate.observe import Faceless
from runtime.simulate.rooms import Rooms
from runtime.simulate.scheduler import Alone, Claimed, Ending, Outcome, Placed, Refused
from runtime.simulate.workload import Request

Answer = dict[str, Any]


class HivedScheduler:
    """A `GangScheduler` whose decisions are HiveD's. After a panic HiveD is started again with what its bound
    pods carry, as its process would be.

    Whether a gang could run alone is asked of the allocator: HiveD has no such question.
    """

    isolated = True
    face = Faceless()

    def __init__(self, hived: HiveD, configuration: dict[str, Any]) -> None:
        self.hived = hived
        self.panics = 0
        self._configuration = configuration
        read = read_configuration(configuration)
        self._alone = Alone(read)
        self._nodes = Rooms(read).nodes
        self._bad: set[str] = set()
        self._pods: dict[str, list[Pod]] = {}
        """By gang."""
        self._gangs: dict[str, str] = {}
        """By the uid of a pod."""
        self._runs: dict[str, int] = {}
        self._bound: dict[str, list[tuple[Pod, Answer]]] = {}
        """By gang: its bound pods, with what is written on them."""
        self._claiming: set[str] = set()
        hived.begin(configuration, self._nodes)

    def set_health(self, node: str, *, healthy: bool) -> None:
        """A node fails, or is repaired."""
        (self._bad.discard if healthy else self._bad.add)(node)
        self._send("node", name=node, healthy=healthy)

    def ask(self, request: Request) -> Outcome:
        """A place for all pods of a gang: filtering, and preempting where others are in the way."""
        pods = self._pods.get(request.gang) or self._submit(request)
        try:
            answer = self._schedule(pods[0], "Filtering")
            if "preempt" in answer or ("wait" in answer and request.gang in self._claiming):
                answer = self._schedule(pods[0], "Preempting")
            self._claiming.discard(request.gang)
            if "bind" in answer:
                return self._bind(request.gang, pods, answer["bind"])
        except PanicError as error:
            self._restart()
            return Refused(str(error))
        if "preempt" in answer:
            self._claiming.add(request.gang)
            return Claimed(tuple(sorted({self._gangs[uid] for uid in victims(answer)})))
        return Refused(answer["wait"])

    def claims(self, request: Request) -> bool:
        """Whether the gang is preempting others."""
        return any(
            group["metadata"]["name"] == request.gang and group["status"]["state"] == "Preempting"
            for group in self.hived.groups()
        )

    def end(self, request: Request, ending: Ending) -> None:
        """All pods are deleted; those of a gang that waits again will be others."""
        self._claiming.discard(request.gang)
        self._bound.pop(request.gang, None)
        for pod in self._pods.pop(request.gang, ()):
            del self._gangs[pod.uid]
            try:
                self.hived.delete(pod)
            except PanicError:
                self._restart()

    def hopeless(self, request: Request) -> str:
        """Asks an allocator that has nothing else."""
        return self._alone.hopeless(request)

    def instant(self) -> AbstractContextManager[None]:
        """Nothing to do."""
        return nullcontext()

    def _submit(self, request: Request) -> list[Pod]:
        run = self._runs[request.gang] = self._runs.get(request.gang, 0) + 1
        names = (f"{request.gang}-{number}" for number in range(len(request.specs)))
        pods = [Pod(f"{name}.{run}", name, spec) for name, spec in zip(names, request.specs, strict=True)]
        self._pods[request.gang] = pods
        self._gangs.update((pod.uid, request.gang) for pod in pods)
        return pods

    def _schedule(self, pod: Pod, phase: str) -> Answer:
        try:
            return self.hived.schedule(pod, phase)
        except RefusedError as error:
            return {"wait": str(error)}

    def _bind(self, gang: str, pods: list[Pod], first: Answer) -> Placed:
        """All pods of the gang; the others get the places that the first one's answer has for them."""
        placed = []
        for pod in pods:
            info = first if pod is pods[0] else self._schedule(pod, "Filtering")["bind"]
            self._bound.setdefault(gang, []).append((pod, info))
            self.hived.add(pod, info)
            placed.append((info["Node"], len(info["LeafCellIsolation"])))
        return Placed(first["CellChain"], tuple(placed))

    def _send(self, op: str, **fields: object) -> None:
        try:
            self.hived.ask(op, **fields)
        except PanicError:
            self._restart()

    def _restart(self) -> None:
        self.panics += 1
        self._claiming.clear()
        self.hived.begin(self._configuration, self._nodes)
        for node in self._bad:
            self.hived.ask("node", name=node, healthy=False)
        for bound in self._bound.values():
            for pod, info in bound:
                self.hived.add(pod, info)
