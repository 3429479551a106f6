"""What must have held at every moment, read from all changes that an API server has written down."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from behind import GRACE, devices, gang_of, read_spec

SLACK = 5.0
"""Seconds that a gang may be half alive, beyond the grace of its pods."""


@dataclass(slots=True)
class Moment:
    """The cluster after some changes."""

    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Bound ones that have not ended, by uid."""
    holders: dict[tuple[str, int], str] = field(default_factory=dict)
    """By node and device: the uid of the pod that has it."""
    leaving: dict[str, float] = field(default_factory=dict)
    """By gang: since when some of its bound pods are leaving or gone, while others stay."""


def violations(changes: Path, excused: Collection[str] = (), slack: float = SLACK) -> Iterator[str]:
    """Devices that two pods had at a moment, and gangs of which a part lived on for longer than grace and slack.

    A gang is torn from when the first of its bound pods is told to leave, or is gone, until none is left that stays.
    `excused` gangs may be.
    """
    moment, torn, last = Moment(), dict[str, tuple[float, int]](), 0.0
    members: dict[str, set[str]] = defaultdict(set)
    for line in changes.read_bytes().splitlines():
        entry = json.loads(line)
        if entry["resource"] != "pods":
            continue
        last, pod = entry["time"], entry["object"]
        yield from _late(torn, last, slack)
        uid = pod["metadata"]["uid"]
        yield from _occupy(moment, uid, pod, alive=entry["type"] != "DELETED" and _alive(pod))
        asked = read_spec(pod)
        if not asked or not (pod["spec"].get("nodeName") or uid in members[gang_of(pod, asked)]):
            continue
        gang = gang_of(pod, asked)
        if gang in excused:
            continue
        members[gang].add(uid)
        staying = [x for x in members[gang] if x in moment.pods and not _leaves(moment.pods[x])]
        if not staying:
            torn.pop(gang, None)
            members[gang] -= {x for x in members[gang] if x not in moment.pods}
        elif len(staying) < len(members[gang]):
            torn.setdefault(gang, (last, int(pod["spec"].get("terminationGracePeriodSeconds", GRACE))))


def _occupy(moment: Moment, uid: str, pod: dict[str, Any], *, alive: bool) -> Iterator[str]:
    if not alive or not pod["spec"].get("nodeName"):
        known = moment.pods.pop(uid, None)
        for place in devices(known) if known is not None else ():
            if moment.holders.get(place) == uid:
                del moment.holders[place]
        return
    moment.pods[uid] = pod
    for place in devices(pod):
        holder = moment.holders.setdefault(place, uid)
        if holder != uid:
            yield f"{place} is held by {pod['metadata']['name']} and by {moment.pods[holder]['metadata']['name']}"


def _late(torn: dict[str, tuple[float, int]], now: float, slack: float) -> Iterator[str]:
    for gang, (since, grace) in list(torn.items()):
        if now - since > grace + slack:
            del torn[gang]
            yield f"{gang} was half alive for {now - since:.1f} s, with a grace of {grace} s"


def _alive(pod: dict[str, Any]) -> bool:
    return pod["status"].get("phase") not in ("Succeeded", "Failed")


def _leaves(pod: dict[str, Any]) -> bool:
    return "deletionTimestamp" in pod["metadata"]
