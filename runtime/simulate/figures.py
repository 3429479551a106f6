"""What came out of a simulation, as figures: plain values that can be written down and compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from runtime.simulate.accounts import used_level
from runtime.simulate.engine import Simulation
from runtime.simulate.job import Job, Stage
from runtime.simulate.quotas import promised

QUANTILES = tuple(n / 200 for n in range(201))
"""Of queueing delays, for the curves."""
Figures = dict[str, Any]


def quantile(ordered: Sequence[float], share: float) -> float:
    """Between order statistics, linearly; of no values, 0."""
    if not ordered:
        return 0.0
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def rounded(value: float) -> float:
    """Short enough to read, exact enough to compare; whole numbers as such."""
    short = round(value, 4)
    return int(short) if short == int(short) else short


def summary(simulation: Simulation) -> Figures:
    """Of the whole run; utilisation by virtual cluster, and fragmentation, of the time while gangs came."""
    accounts, jobs, end = simulation.accounts, simulation.jobs, simulation.clock.time
    came = window(simulation)
    available, used = accounts.ledger.total("capacity"), sum(_used(simulation, end).values())
    tenants_used = _used(simulation, came)
    available_then = accounts.ledger.total("capacity", came)
    wasted = sum(job.wasted for job in jobs)
    return {
        "seconds": rounded(end),
        "capacity": accounts.capacity,
        "available_device_seconds": rounded(available),
        "used_device_seconds": rounded(used),
        "wasted_device_seconds": rounded(wasted),
        "submitting": {"seconds": rounded(came), "utilisation": _share(sum(tenants_used.values()), available_then)},
        "utilisation": _share(used, available),
        "useful_utilisation": _share(used - wasted, available),
        "gangs": _gangs(simulation.jobs),
        "preemptions": _interruptions(jobs),
        "fragmentation": _fragmentation(simulation),
        "delay": delays(jobs),
        "tenants": {
            tenant: _tenant(simulation, tenant, tenants_used, available_then)
            for tenant in simulation.configuration.tenants
        },
    }


def window(simulation: Simulation) -> float:
    """Until when gangs came; all of the time, if all came at once."""
    return min(simulation.accounts.ledger.cut or simulation.clock.time, simulation.clock.time)


def _used(simulation: Simulation, until: float) -> dict[tuple[str, bool], float]:
    """Device-seconds by virtual cluster, and whether they were guaranteed."""
    total = simulation.accounts.ledger.total
    pairs = [(tenant, kind) for tenant in simulation.configuration.tenants for kind in (True, False)]
    return {(tenant, kind): total(used_level(tenant, guaranteed=kind), until) for tenant, kind in pairs}


def _share(part: float, whole: float) -> float:
    return rounded(part / whole) if whole else 0


def _tenant(simulation: Simulation, tenant: str, used: dict[tuple[str, bool], float], available: float) -> Figures:
    jobs = [job for job in simulation.jobs if job.request.tenant == tenant]
    own = promised(simulation.configuration, tenant)
    return {
        "promised": own,
        "guaranteed_utilisation": _share(used[tenant, True], available),
        "opportunistic_utilisation": _share(used[tenant, False], available),
        "of_promised": _share(used[tenant, True], own * window(simulation)),
        "gangs": _gangs(jobs),
        "preemptions": _interruptions(jobs),
        "wasted_device_seconds": rounded(sum(job.wasted for job in jobs)),
        "delay": delays(jobs),
        "guaranteed_delay": delays([job for job in jobs if job.request.guaranteed]),
        "opportunistic_delay": delays([job for job in jobs if not job.request.guaranteed]),
    }


def _gangs(jobs: Iterable[Job]) -> Figures:
    """By what has become of them."""
    counts = dict.fromkeys(("finished", "failed", "refused", "running", "waiting", "never_started"), 0)
    total = 0
    for job in jobs:
        total += 1
        match job.stage:
            case Stage.FINISHED | Stage.FAILED | Stage.REFUSED:
                counts[job.stage.value] += 1
            case Stage.RUNNING | Stage.LEAVING:
                counts["running"] += 1
            case _:
                counts["waiting"] += 1
        counts["never_started"] += job.first_started is None
    return {"all": total, **counts}


def _interruptions(jobs: Iterable[Job]) -> Figures:
    """How often gangs were displaced, and how often a node failed under one."""
    counts = {"guaranteed": 0, "opportunistic": 0, "lost": 0, "demoted": 0}
    for job in jobs:
        counts[job.request.kind] += job.preempted
        counts["lost"] += job.lost
        counts["demoted"] += job.demoted
    return counts


def delays(jobs: Iterable[Job]) -> Figures:
    """Seconds from submission to the first start, of the gangs that have started."""
    waited = sorted(job.first_started - job.request.submitted for job in jobs if job.first_started is not None)
    mean = sum(waited) / len(waited) if waited else 0.0
    return {
        "started": len(waited),
        "mean": rounded(mean),
        "median": rounded(quantile(waited, 0.5)),
        "p90": rounded(quantile(waited, 0.9)),
        "p99": rounded(quantile(waited, 0.99)),
        "max": rounded(waited[-1]) if waited else 0,
        "at_once": _share(sum(wait == 0 for wait in waited), len(waited)),
        "quantiles": [rounded(quantile(waited, share)) for share in QUANTILES] if waited else [],
    }


def _fragmentation(simulation: Simulation) -> Figures:
    """Averages over the samples that were taken while gangs came."""
    ledger = simulation.accounts.ledger
    samples = max(1, sum(end <= window(simulation) for end in ledger.ends))
    mean = sum(ledger.sampled["free"][:samples]) / samples
    stranded = {n: sum(ledger.sampled[f"stranded {n}"][:samples]) / samples for n in simulation.accounts.gangs}
    return {
        "samples": samples,
        "free": rounded(mean),
        "stranded": {str(n): rounded(value) for n, value in stranded.items()},
        "stranded_share": {str(n): _share(value, mean) for n, value in stranded.items()},
    }


def series(simulation: Simulation) -> Figures:
    """By interval: averages of what was used, sums of what happened, and what was sampled at the end of each."""
    accounts = simulation.accounts
    ledger = accounts.ledger

    def short(values: Iterable[float]) -> list[float]:
        return [rounded(value) for value in values]

    tenants = list(simulation.configuration.tenants)
    kinds = ("guaranteed", "opportunistic")
    return {
        "width": rounded(ledger.width),
        "end": short(ledger.ends),
        "capacity": short(ledger.averages("capacity")),
        **{k: {t: short(ledger.averages(used_level(t, guaranteed=k == kinds[0]))) for t in tenants} for k in kinds},
        "waiting": short(ledger.sampled["waiting"]),
        "free": short(ledger.sampled["free"]),
        "stranded": {str(n): short(ledger.sampled[f"stranded {n}"]) for n in accounts.gangs},
        "preempted": {kind: short(ledger.sums(f"preempted {kind}")) for kind in kinds},
        "lost": short(a + b for a, b in zip(*(ledger.sums(f"lost {kind}") for kind in kinds), strict=True)),
        "wasted": short(ledger.sums("wasted")),
    }
