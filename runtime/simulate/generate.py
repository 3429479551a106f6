"""Workloads made up after what is known of real ones: many small gangs and a few large ones, most of them short and a
few very long, more by day than by night, fewer at the weekend."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import cos, isfinite, pi
from random import Random

from runtime.config import Configuration
from runtime.pods import HIGHEST, OPPORTUNISTIC, Member
from runtime.simulate.duration import pairs, seconds
from runtime.simulate.quotas import capacity, quota
from runtime.simulate.workload import Request, WorkloadError

DAY = 86400.0
SETTINGS = {
    "gangs": "2000",
    "days": "7",
    "load": "0.9",
    "sizes": "1:48,2:12,4:12,8:18,16:5,32:3,64:1.5,128:0.5",
    "sigma": "1.8",
    "longest": "3d",
    "opportunistic": "0.25",
    "priorities": "0:7,10:2,100:1",
    "typed": "0.6",
    "spread": "0.15",
    "mixed": "0.02",
    "lazy": "0",
    "failed": "0.1",
    "daily": "0.6",
    "weekly": "0.4",
}
"""What can be set, and what it is otherwise."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to make a workload up."""

    gangs: int
    days: float
    """Number of days within which they arrive; the first is a Monday, from midnight."""
    load: float
    """Device-seconds that they need, for each that the cluster has in these days."""
    sizes: tuple[tuple[int, float], ...]
    """Leaf cells of a gang, and how often."""
    sigma: float
    """Of the logarithm of durations: with 1.8, the mean is 5 times the median."""
    longest: float
    """Seconds."""
    opportunistic: float
    """The share of gangs without a guarantee."""
    priorities: tuple[tuple[int, float], ...]
    """Of the others, and how often."""
    typed: float
    """The share of gangs that want one type of leaf cells."""
    spread: float
    """The share of gangs that could have one pod on one node, and have pods of one leaf cell each instead."""
    mixed: float
    """The share of gangs of several pods that have a small pod besides."""
    lazy: float
    """The share of guaranteed gangs that prefer losing their guarantee to being preempted."""
    failed: float
    """The share of gangs that end early, with an error of their own."""
    daily: float
    """How much the rate of arrivals goes up by day and down by night: 0 not at all, 1 down to nothing."""
    weekly: float
    """How much less comes on Saturday and Sunday."""


def read_recipe(text: str) -> Recipe:
    """From settings as in `gangs=5000 load=1.1`. Raises `WorkloadError` with all that is wrong."""
    values, problems = pairs(text, SETTINGS, "generate"), []

    def number(name: str, least: float, most: float) -> float:
        try:
            value = float(values[name])
        except ValueError:
            value = float("nan")
        if not isfinite(value) or not least <= value <= most:
            problems.append(f"generate: {name}={values[name]} is not a number from {least:g} to {most:g}")
            return least
        return value

    def weights(name: str, least: int, most: int) -> tuple[tuple[int, float], ...]:
        entries = []
        for part in values[name].split(","):
            key, _, weight = part.partition(":")
            try:
                entries.append((int(key), float(weight or "1")))
            except ValueError:
                entries.append((least - 1, 0.0))
        if not all(least <= key <= most and weight > 0 for key, weight in entries):
            problems.append(f"generate: {name}={values[name]} is not a list like {SETTINGS[name]}")
        return tuple(entries)

    longest = seconds(values["longest"])
    if not longest:
        problems.append(f"generate: longest={values['longest']} is not a time, as in 4h, 14d")
    shares = ("opportunistic", "typed", "spread", "mixed", "lazy", "failed", "daily", "weekly")
    recipe = Recipe(
        gangs=int(number("gangs", 1, 10_000_000)),
        days=number("days", 0.001, 3660),
        load=number("load", 0.001, 100),
        sizes=weights("sizes", 1, 100_000),
        sigma=number("sigma", 0, 5),
        longest=longest or DAY,
        priorities=weights("priorities", OPPORTUNISTIC + 1, HIGHEST),
        **{name: number(name, 0, 1) for name in shares},
    )
    if problems:
        raise WorkloadError(problems)
    return recipe


def generate(recipe: Recipe, configuration: Configuration, seed: int) -> list[Request]:
    """A workload for a cluster: the same for the same seed. Virtual clusters submit as much as they are promised."""
    random = Random(f"workload {seed}")
    times = _arrivals(recipe, random)
    shares = {name: sum(quota(configuration, name).values()) for name in configuration.tenants}
    names = [name for name, share in shares.items() if share] or list(shares)
    weights = [max(shares[name], 1) for name in names]
    if not names:
        raise WorkloadError(["generate: the configuration has no virtual clusters"])
    drawn = [_draw(recipe, configuration, random, random.choices(names, weights)[0]) for _ in times]
    needed = recipe.load * capacity(configuration) * recipe.days * DAY
    lengths = _lengths([(d.members, d.part) for d in drawn], [d.length for d in drawn], needed, recipe.longest)
    return [
        Request(
            f"g{number}", d.tenant, time, length, d.members, d.priority, d.leaf_type, "", d.lazy, failed=d.part < 1.0
        )
        for number, (time, d, length) in enumerate(zip(times, drawn, lengths, strict=True), 1)
    ]


@dataclass(frozen=True, slots=True)
class _Drawn:
    tenant: str
    members: tuple[Member, ...]
    priority: int
    leaf_type: str
    lazy: bool
    length: float
    """Its duration, for a median of 1."""
    part: float
    """How far it gets."""


def _draw(recipe: Recipe, configuration: Configuration, random: Random, tenant: str) -> _Drawn:
    """A gang that fits its virtual cluster: at most half of a chain, or a node."""
    own = quota(configuration, tenant) or dict.fromkeys(configuration.forests, 1)
    chain = random.choices(list(own), list(own.values()))[0]
    shape = configuration.forests[chain].chain
    drawn_size = random.choices([size for size, _ in recipe.sizes], [weight for _, weight in recipe.sizes])[0]
    size = min(drawn_size, max(own[chain] // 2, min(own[chain], shape.leaves[shape.node]), 1))
    opportunistic = random.random() < recipe.opportunistic
    members = _members(recipe, random, size, shape.leaves[shape.node], own[chain])
    priority = random.choices([p for p, _ in recipe.priorities], [weight for _, weight in recipe.priorities])[0]
    return _Drawn(
        tenant,
        members,
        OPPORTUNISTIC if opportunistic else priority,
        shape.leaf_type if random.random() < recipe.typed else "",
        random.random() < recipe.lazy and not opportunistic,
        random.lognormvariate(0.0, recipe.sigma),
        random.random() if random.random() < recipe.failed else 1.0,
    )


def _members(recipe: Recipe, random: Random, size: int, node: int, most: int) -> tuple[Member, ...]:
    """Whole nodes for large gangs; for others one pod, or several."""
    spread, mixed = random.random() < recipe.spread, random.random() < recipe.mixed
    if size > node:
        members = (Member(size // node, node),)
        fits = size // node * node + 1 <= most
    else:
        members = (Member(size, 1),) if spread and size > 1 else (Member(1, size),)
        fits = 1 < size < most
    small = 2 if members[0].leaf_cells == 1 else 1
    return (*members, Member(1, small)) if mixed and fits and sum(m.pods for m in members) + small <= most else members


def _arrivals(recipe: Recipe, random: Random) -> list[float]:
    """A Poisson process whose rate follows the day and the week, given how many come: independent draws."""
    slots = max(1, round(recipe.days * 24))
    width = recipe.days * DAY / slots
    rates = [_rate(recipe, (slot + 0.5) * width) for slot in range(slots)]
    cumulated = list(accumulate(rates))
    times = []
    for _ in range(recipe.gangs):
        drawn = random.random() * cumulated[-1]
        slot = min(bisect_left(cumulated, drawn), slots - 1)
        times.append(float(round((slot + random.random()) * width)))
    return sorted(times)


def _rate(recipe: Recipe, time: float) -> float:
    """Highest at two in the afternoon; never 0, so that every time can be drawn."""
    day, hour = int(time // DAY) % 7, time % DAY / 3600
    return max(1e-9, (1 + recipe.daily * cos((hour - 14) / 24 * 2 * pi)) * (1 - recipe.weekly * (day >= 5)))


def _lengths(
    gangs: Sequence[tuple[tuple[Member, ...], float]], drawn: Sequence[float], needed: float, longest: float
) -> list[float]:
    """Durations in whole seconds, with the median such that the load is what is wanted, or as close as it gets."""
    devices = [sum(m.pods * m.leaf_cells for m in members) for members, _ in gangs]

    def lengths(median: float) -> list[float]:
        parts = (part for _, part in gangs)
        return [max(1.0, float(round(min(n * median, longest) * part))) for n, part in zip(drawn, parts, strict=True)]

    low, high = 0.0, longest
    for _ in range(40):
        middle = (low + high) / 2
        if sum(n * length for n, length in zip(devices, lengths(middle), strict=True)) < needed:
            low = middle
        else:
            high = middle
    return lengths(high)
