"""What fails for good: pods that are refused, and gangs that have no place in this configuration.

The allocator does not know a gang of which all pods are refused. To people it is one that fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from generated.hived import AffinityGroupState
from runtime.answers import GangStatus
from runtime.durable import DurableAllocator
from runtime.pods import Pod
from runtime.requests import refusal
from runtime.service.tracker import PodPhase, Tracked, Tracker


def problem(allocator: DurableAllocator, tracked: Tracked) -> str:
    """Why a pod cannot be understood, contradicts its place, or is refused; empty where all is well."""
    pod = tracked.pod
    if tracked.problem or pod is None or tracked.phase is not PodPhase.WAITING or pod.uid in allocator.homes:
        return tracked.problem
    return refusal(allocator.cluster, allocator.gangs.get(pod.spec.gang.name), pod)


def gangs(allocator: DurableAllocator, tracker: Tracker) -> Iterator[GangStatus]:
    """All gangs, those that are refused too. Costs a look at all pods."""
    return chain(allocator.groups(), refused(allocator, tracker))


def refused(allocator: DurableAllocator, tracker: Tracker) -> Iterator[GangStatus]:
    """Gangs of which all pods are refused. Of different reasons, that of the first pod counts."""
    pods: dict[str, list[Pod]] = {}
    reasons: dict[str, str] = {}
    for tracked in tracker.pods():
        pod = tracked.pod
        if pod is None or pod.spec.gang.name in allocator.gangs or tracked.phase is not PodPhase.WAITING:
            continue
        if reason := problem(allocator, tracked):
            pods.setdefault(pod.spec.gang.name, []).append(pod)
            reasons.setdefault(pod.spec.gang.name, reason)
    for name, own in pods.items():
        spec = own[0].spec
        state = AffinityGroupState.PENDING
        yield GangStatus(name, spec.virtual_cluster, spec.priority, state, (), {}, (), tuple(own), None, reasons[name])
