"""The largest gangs that fit now, for operators.

What fits a guarantee is found by trial. Each trial is a decision, and runs between two cycles by itself, so that pods
wait for one of them at most. Gangs that come or go meanwhile may be seen by some trials and not by others.
"""

from __future__ import annotations

import asyncio
from typing import Any

from runtime.cells import Cluster
from runtime.errors import UserError
from runtime.room import Kind, Room, fits, free, kinds, most, opportunistic, search
from runtime.service import questions
from runtime.service.service import Service


class Fits:
    """One question at a time: others wait for it."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._turn = asyncio.Lock()

    async def all(self) -> dict[str, Any]:
        """What fits opportunistically, and in each virtual cluster."""
        tenants = await self._service.ask(lambda x: list(x.allocator.cluster.tenants), durable=False)
        rooms = await self._service.ask(lambda x: list(opportunistic(x.allocator.cluster)), durable=False)
        for tenant in tenants:
            rooms += await self._guaranteed(tenant)
        return {"items": list(map(questions.room, rooms))}

    async def tenant(self, name: str) -> dict[str, Any]:
        """What fits in one virtual cluster. Raises `UserError`."""
        return {"items": list(map(questions.room, await self._guaranteed(name)))}

    async def _guaranteed(self, tenant: str) -> list[Room]:
        sizes = await self._service.ask(lambda x: _kinds(x.allocator.cluster, tenant), durable=False)
        async with self._turn:
            return [await self._room(kind) for kind in sizes]

    async def _room(self, kind: Kind) -> Room:
        bound, devices = await self._service.ask(
            lambda x: (most(x.allocator.cluster, kind), free(x.allocator.cluster, kind)), durable=False
        )
        trials = search(bound)
        try:
            pods = next(trials)
            while True:
                pods = trials.send(await self._fits(kind, pods))
        except StopIteration as end:
            largest, exact = end.value
        return Room(kind, largest, devices, exact)

    async def _fits(self, kind: Kind, pods: int) -> bool:
        return bool(await self._service.ask(lambda x: fits(x.allocator.cluster, kind, pods), durable=False))


def _kinds(cluster: Cluster, tenant: str) -> list[Kind]:
    if tenant not in cluster.tenants:
        raise UserError(f"there is no virtual cluster {tenant}; there are {', '.join(cluster.tenants)}")
    return kinds(cluster, tenant)
