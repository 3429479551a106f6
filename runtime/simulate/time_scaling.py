"""A recorded workload, faster: what came in months comes in hours, so that a cluster is as loaded as one likes.

All times of arrival are divided by the same number; how long gangs run stays as it is. The cluster does not begin
empty: gangs that would still run from earlier passes of the same workload are there at the beginning, each with what it
has left. Without them, a workload whose longest gangs run for months would measure how a cluster fills.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil

from runtime.errors import UserError
from runtime.simulate.workload import Request

STEADY = 0.95
"""The load before the beginning is at most this: a cluster that gets more than it can do has no steady state."""


def starting_at(requests: Sequence[Request], moment: float) -> list[Request]:
    """What happens from a moment on, which is 0 then. Gangs that came before and still run have been submitted then,
    for the time that they have left."""
    remaining = []
    for request in requests:
        late = moment - request.submitted
        if late <= 0:
            remaining.append(replace(request, submitted=-late))
        elif request.duration > late:
            remaining.append(replace(request, submitted=0.0, duration=request.duration - late))
    return remaining


def work(requests: Sequence[Request]) -> float:
    """Device-seconds."""
    return sum(request.devices * request.duration for request in requests)


def compress_arrivals(requests: Sequence[Request], devices: int, load: float) -> list[Request]:
    """The same gangs in the order of time, arriving so fast that they need a share `load` of the devices. They are
    preceded by the gangs that run at the beginning, submitted at 0.

    Raises `UserError` where there is no work, or no time between the first and the last gang.
    """
    last = max((request.submitted for request in requests), default=0.0)
    if not last:
        raise UserError("all gangs arrive at once, so the workload cannot be compressed")
    span = work(requests) / devices / load
    before = work(requests) / devices / min(load, STEADY)
    there = [left for request in requests for left in _left(request, request.submitted / last, before)]
    coming = [replace(request, submitted=request.submitted / last * span) for request in requests]
    return [*there, *sorted(coming, key=lambda request: request.submitted)]


def _left(request: Request, phase: float, period: float) -> Iterator[Request]:
    """What still runs at 0 of a gang that has come once in each earlier period; the phase is where in it."""
    for passes in range(1, ceil(request.duration / period + phase) + 1):
        left = request.duration - (passes - phase) * period
        if left > 0:
            yield replace(request, gang=f"{request.gang}@{passes}", submitted=0.0, duration=left)
