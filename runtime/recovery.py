"""Recovery as HiveD does it: from what bound pods carry, whatever the order in which they are listed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from runtime.cycle import Cycle
from runtime.errors import UserError
from runtime.gangs import Gang
from runtime.pods import BindInfo, Pod
from runtime.restore import restore


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a recovery could not take over as it was; empty where nothing has changed."""

    demoted: Mapping[str, str]
    """Gangs that go on without a guarantee, and why."""
    missing: Mapping[str, tuple[str, ...]]
    """Devices of a gang that are gone, or that another gang has."""
    refused: Mapping[str, str]
    """Pods that contradict their gang, by uid, and how."""


def recover(cycle: Cycle, pods: Iterable[tuple[Pod, BindInfo | None]], nodes: Mapping[str, bool]) -> Recovered:
    """Takes back all gangs: stronger ones first, then by name, so that it is always the same ones that lose."""
    for name in sorted(nodes):
        cycle.set_health(name, healthy=nodes[name])
    demoted: dict[str, str] = {}
    missing: dict[str, tuple[str, ...]] = {}
    refused: dict[str, str] = {}
    for pod, info in sorted(pods, key=_order):
        try:
            pod.spec.check()
            if info is None:
                cycle.join(pod)
                continue
            gang = cycle.gangs.get(pod.spec.gang.name)
            if gang is None or not gang.places.written:
                gang = cycle.join(pod)
                _take_back(cycle, gang, pod, info, demoted, missing)
            cycle.allocate(pod, info)
        except UserError as error:
            refused[pod.uid] = str(error)
            cycle.delete(pod)
    return Recovered(demoted, missing, refused)


def _order(bound: tuple[Pod, BindInfo | None]) -> tuple[bool, int, str, str, tuple[int, ...], str]:
    """Bound pods first, the guaranteed and strong ones before the others."""
    pod, info = bound
    place = (info.node, info.leaf_cells) if info is not None else ("", ())
    return info is None, -pod.spec.priority, pod.spec.gang.name, *place, pod.uid


def _take_back(
    cycle: Cycle,
    gang: Gang,
    pod: Pod,
    info: BindInfo,
    demoted: dict[str, str],
    missing: dict[str, tuple[str, ...]],
) -> None:
    restored = restore(cycle.ledger, gang.spec, info)
    cycle.take_back(gang, pod, info, restored)
    if restored.lost:
        demoted[gang.name] = restored.lost
    if restored.missing or restored.taken:
        missing[gang.name] = (*restored.missing, *restored.taken)
