"""Public traces of GPU clusters, as workloads.

They were recorded in other clusters, with other schedulers: what is taken over is who asked when for how much, and how
long it ran once it ran.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from runtime.errors import UserError
from runtime.pods import Member
from runtime.simulate.workload import Request


@dataclass(slots=True)
class Conversion:
    """What a trace has."""

    requests: list[Request] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    """Why how many jobs were left out."""


def prepared(requests: Iterable[Request], tenants: Sequence[str], node: int, limit: int | None) -> list[Request]:
    """In the order of time, which begins with the first; cut up and distributed as wanted."""
    ordered = sorted(requests, key=lambda r: (r.submitted, r.gang))[:limit]
    if not ordered:
        raise UserError("the trace has no jobs that can be used")
    begin = ordered[0].submitted
    owner = _owners(ordered, tenants) if tenants else {}
    return [
        replace(
            request,
            submitted=request.submitted - begin,
            tenant=owner.get(request.tenant, request.tenant),
            members=tuple(_cut(request.members, node)),
        )
        for request in ordered
    ]


def _owners(requests: Iterable[Request], tenants: Sequence[str]) -> dict[str, str]:
    """Who goes where: those with the most work first, each to the one that has the least so far."""
    work: Counter[str] = Counter()
    for request in requests:
        work[request.tenant] += int(request.devices * request.duration)
    assigned_work = dict.fromkeys(tenants, 0)
    owner = {}
    for name, amount in sorted(work.items(), key=lambda item: (-item[1], item[0])):
        owner[name] = min(assigned_work, key=lambda tenant: assigned_work[tenant])
        assigned_work[owner[name]] += amount
    return owner


def _cut(members: Iterable[Member], node: int) -> Iterable[Member]:
    """No pod is larger than a node; members of the same size are one."""
    sizes: Counter[int] = Counter()
    for member in members:
        whole, rest = divmod(member.leaf_cells, node)
        sizes[node] += whole * member.pods
        sizes[rest] += member.pods
    return [Member(pods, size) for size, pods in sorted(sizes.items(), reverse=True) if size and pods]
