"""The whole life of each gang: every machine of the documents follows the simulation (`--full-life`).

What `PodByPod` leaves out happens here as well: an application is submitted to its queue, its pods are brought up on
their nodes, and are deleted. On a virtual clock, nodes start and end pods at once. A gang that waits again comes as a
new application, as it does in a cluster: its pods are others.
"""

from __future__ import annotations

from collections.abc import Callable

from runtime.allocator import Allocator
from runtime.lifecycle import ApplicationFollower, PodReport, Stage
from runtime.lifecycle import Ending as PodEnding
from runtime.pods import Pod
from runtime.simulate.scheduler import Ending, Outcome, Placed, PodByPod
from runtime.simulate.workload import Request

ENDINGS = {Ending.FINISHED: PodEnding.FINISHED, Ending.FAILED: PodEnding.FAILED}


class FullLife(PodByPod):
    """Applications, queues, gangs, cells, nodes, and what nodes do: a `GangScheduler`."""

    def __init__(self, allocator: Allocator, clock: Callable[[], float]) -> None:
        super().__init__(allocator)
        self.follower = ApplicationFollower(allocator, clock())
        self._clock = clock
        for node in allocator.cluster.nodes:
            self.follower.node(node, healthy=True, cordoned=False, now=clock())
        self.follower.caught_up(clock())

    def set_health(self, node: str, *, healthy: bool) -> None:
        """A node fails, or is repaired."""
        super().set_health(node, healthy=healthy)
        self.follower.node(node, healthy=healthy, cordoned=False, now=self._clock())

    def ask(self, request: Request) -> Outcome:
        """A place for all pods of a gang, which are brought up at once."""
        outcome = super().ask(request)
        gang, pods = self.allocator.gangs[request.gang], self._pods[request.gang]
        reports: list[PodReport] = []
        if isinstance(outcome, Placed):
            reports = [PodReport(pod, gang.places.bind_info(gang.assigned[pod.uid]), Stage.RUNNING) for pod in pods]
        elif not self.follower.knows(pods[0].uid):
            reports = [PodReport(pod, None, Stage.WAITING) for pod in pods]
        self.follower.pods_reported(reports, self._clock())
        return outcome

    def _delete(self, pod: Pod, ending: Ending) -> None:
        super()._delete(pod, ending)
        self.follower.pod_ended(pod.uid, ENDINGS.get(ending, PodEnding.DELETED), self._clock())
