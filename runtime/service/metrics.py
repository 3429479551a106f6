"""The metrics for Prometheus."""

from __future__ import annotations

from collections import Counter as Count
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import TypeAlias

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from runtime.cells import Cluster
from runtime.room import opportunistic
from runtime.service.failing import problem, refused
from runtime.service.lifecycle_reporter import LifecycleReporter
from runtime.service.locks import Locks
from runtime.service.scheduler import PodScheduler
from runtime.service.shares import Share, shares
from runtime.service.source import Source
from runtime.service.tally import WAIT_BUCKETS, Tally

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)

Family: TypeAlias = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily

disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """Counts and times of this process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "allocator_requests", "Requests by endpoint and outcome", ["endpoint", "outcome"], registry=self.registry
        )
        self.seconds = Histogram(
            "allocator_request_seconds", "Time to answer", ["endpoint"], registry=self.registry, buckets=SECONDS
        )
        self.handshake_failures = Counter(
            "allocator_handshake_failures", "TLS handshakes that failed", registry=self.registry
        )
        self.failures = Counter(
            "allocator_cluster_failures",
            "Requests to the API server that failed and that nobody waited for, by what they were for",
            ["what"],
            registry=self.registry,
        )
        for what in ("bind", "delete", "evict", "fetch", "admit", "event"):
            self.failures.labels(what)
        self.refused_evictions = Counter(
            "allocator_refused_evictions",
            "Attempts to evict the victims of a gang that disruption budgets have forbidden",
            registry=self.registry,
        )
        self._phases = Histogram(
            "allocator_cycle_seconds", "Time of a cycle by phase", ["phase"], registry=self.registry, buckets=SECONDS
        )
        self._batch = Histogram(
            "allocator_cycle_requests", "Requests in a cycle", registry=self.registry, buckets=(1, 2, 4, 8, 16, 32, 64)
        )

    def cycle(self, requests: int, decide: float, journal: float) -> None:
        """A cycle has ended."""
        self._batch.observe(requests)
        self._phases.labels("decide").observe(decide)
        self._phases.labels("journal").observe(journal)

    def observe(self, scheduler: PodScheduler, source: Source, locks: Locks) -> None:
        """From now on, gauges are reported as well."""
        self.registry.register(Inventory(scheduler, source, locks))

    def text(self) -> bytes:
        """All of it."""
        return generate_latest(self.registry)


class Inventory(Collector):
    """Computed on each request."""

    def __init__(self, scheduler: PodScheduler, source: Source, locks: Locks) -> None:
        self._scheduler = scheduler
        self._source = source
        self._locks = locks

    def collect(self) -> Iterator[Family]:
        """Gangs, pods, nodes, cells and virtual clusters. Costs a look at each gang, pod and node."""
        allocator, tracker = self._scheduler.allocator, self._scheduler.tracker
        free = GaugeMetricFamily(
            "allocator_free_cells", "Cells that no virtual cluster has a guarantee on", labels=["chain", "type"]
        )
        with self._locks.partition.read():
            gangs = Count(gang.state.value for gang in allocator.gangs.values())
            record = allocator.journal.number
            for name, forest in allocator.cluster.forests.items():
                for level in range(1, forest.chain.top + 1):
                    free.add_metric([name, forest.chain.types[level]], forest.lists.obtainable(level))
            with self._locks.applications.read():
                pods = Count(tracked.phase.value for tracked in tracker.pods())
                problems = Count(tracked.phase.value for tracked in tracker.pods() if problem(allocator, tracked))
            with self._locks.nodes.read():
                nodes = Count("healthy" if node.healthy else "bad" for node in tracker.nodes.values())
                nodes["bad"] += len(allocator.cluster.nodes.keys() - tracker.nodes.keys())
            gated = Count(self._scheduler.admission.counts())
            given_back = dict(self._scheduler.given_back)
            lifecycle = list(_lifecycle_metrics(self._scheduler.lifecycle))
            tenants = [*_tenant_metrics(self._scheduler), *_room_metrics(allocator.cluster)]
        yield free
        yield _family("allocator_gangs", "Gangs by state", "state", gangs)
        yield _family("allocator_pods", "Pods by phase", "phase", pods)
        yield _family("allocator_pods_problem", "Pods that cannot be understood, by phase", "phase", problems)
        yield _family("allocator_gated_pods", "Pods with the allocator's gate, by what they wait for", "state", gated)
        yield _family("allocator_nodes", "Nodes by health", "health", nodes)
        journal = GaugeMetricFamily("allocator_journal_record", "Number of the last record of the journal")
        journal.add_metric([], record)
        yield journal
        back = CounterMetricFamily(
            "allocator_given_back", "Places and reservations that nobody asked for in time", labels=["what"]
        )
        for what, count in sorted(given_back.items()):
            back.add_metric([what], count)
        yield back
        silence = GaugeMetricFamily("allocator_cluster_silent_seconds", "Time since the cluster was last heard of")
        silence.add_metric([], self._source.silence())
        yield silence
        yield from tenants
        yield from lifecycle


def _tenant_metrics(scheduler: PodScheduler) -> Iterator[Family]:
    """Virtual clusters. Labels are names in the configuration; what belongs to none of them has an empty one."""
    history = scheduler.history
    by_tenant = shares(scheduler.allocator.cluster, scheduler.allocator.gangs.values())
    fail = Count({tenant: len(share.failing) for tenant, share in by_tenant.items()})
    for gang in refused(scheduler.allocator, scheduler.tracker):
        fail[gang.virtual_cluster if gang.virtual_cluster in by_tenant else ""] += 1

    def oldest(share: Share) -> float:
        return max((history.waited(gang.name) for gang in share.waiting), default=0.0)

    gauges: dict[str, tuple[str, Callable[[Share], float]]] = {
        "promised_devices": ("Devices promised to a virtual cluster", lambda x: x.promised),
        "used_devices": ("Devices that its gangs use with a guarantee", lambda x: x.used),
        "opportunistic_devices": ("Devices that its gangs use without a guarantee", lambda x: x.opportunistic),
        "lent_devices": (
            "Devices in its own cells that opportunistic gangs use",
            lambda x: x.lent,
        ),
        "waiting_gangs": ("Gangs that wait for their places", lambda x: len(x.waiting)),
        "waiting_devices": (
            "Devices that these gangs need",
            lambda x: sum(gang.spec.gang.leaf_cells for gang in x.waiting),
        ),
        "oldest_wait_seconds": ("For how long the gang that has waited longest has waited; 0 where none waits", oldest),
    }
    for name, (text, value) in gauges.items():
        family = GaugeMetricFamily(f"allocator_{name}", text, labels=["virtual_cluster"])
        for tenant, share in by_tenant.items():
            family.add_metric([tenant], value(share))
        yield family
    failing = GaugeMetricFamily(
        "allocator_failing_gangs",
        "Gangs that cannot be placed unless their request or the configuration changes",
        labels=["virtual_cluster"],
    )
    for tenant in by_tenant:
        failing.add_metric([tenant], fail[tenant])
    yield failing
    for name, text, by_budget in (
        ("allocator_gangs_kept_by_budget", "Gangs that have to leave, which a disruption budget forbids", True),
        ("allocator_gangs_kept_by_failure", "Gangs that have to leave, whose eviction fails for another reason", False),
    ):
        victims = GaugeMetricFamily(name, text)
        victims.add_metric([], len(history.not_evicted(by_budget=by_budget)))
        yield victims
    yield from _tally_metrics(history.tally)


def _room_metrics(cluster: Cluster) -> Iterator[Family]:
    """For opportunistic gangs, by the numbers of free devices alone; for guaranteed ones, it would cost decisions."""
    rooms = list(opportunistic(cluster))
    largest = GaugeMetricFamily(
        "allocator_largest_gang_devices",
        "Devices of the largest opportunistic gang that fits now, by the number of devices of a pod",
        labels=["leaf_type", "pod_devices"],
    )
    for room in rooms:
        largest.add_metric([room.kind.leaf_type, str(room.kind.size)], room.devices)
    yield largest
    free = GaugeMetricFamily(
        "allocator_free_devices", "Devices on healthy nodes that no gang uses", labels=["leaf_type"]
    )
    for leaf_type, count in {room.kind.leaf_type: room.free for room in rooms}.items():
        free.add_metric([leaf_type], count)
    yield free


def _tally_metrics(tally: Tally) -> Iterator[Family]:
    waits = HistogramMetricFamily(
        "allocator_wait_seconds", "How long gangs that got their places had waited", labels=["virtual_cluster"]
    )
    for tenant, waited in tally.waits.items():
        limits = [*map(floatToGoString, WAIT_BUCKETS), "+Inf"]
        waits.add_metric([tenant], list(zip(limits, accumulate(waited.counts), strict=True)), waited.total)
    yield waits
    for name, text, counts in (
        ("allocator_preempted_gangs", "Gangs that were preempted", tally.gangs),
        ("allocator_preempted_pods", "Pods of gangs that were preempted", tally.pods),
    ):
        family = CounterMetricFamily(name, text, labels=["virtual_cluster", "victim", "fate"])
        for (tenant, guaranteed, fate), count in counts.items():
            family.add_metric([tenant, "guaranteed" if guaranteed else "opportunistic", fate.value], count)
        yield family


def _lifecycle_metrics(reporter: LifecycleReporter) -> Iterator[Family]:
    """The lives of gangs, where they are followed."""
    yield _count("allocator_lives_faults", "Faults in following the lives of gangs", reporter.faults)
    follower = reporter.follower
    if follower is None:
        return
    applications = follower.registry.applications.values()
    tasks = Count(
        slot.task.state.display for application in applications for slot in application.slots if slot.task is not None
    )
    yield _family("allocator_lives", "Gangs by the phase of their life", "phase", Count(
        application.gang.state.display for application in applications
    ))  # fmt: skip
    yield _family("allocator_lives_pods", "Pods by the state of their task", "state", tasks)
    gauges = {
        "running": ("Gangs all of whose members run", sum(application.running for application in applications)),
        "breached": ("Members below their minimum now", follower.below()),
        "to_delete": ("Pods of gangs that were below their minimum for too long", len(follower.to_delete())),
    }
    for name, (text, value) in gauges.items():
        gauge = GaugeMetricFamily(f"allocator_lives_{name}", text)
        gauge.add_metric([], value)
        yield gauge
    yield _count("allocator_lives_breaches", "How often a member fell below its minimum", follower.breaches)
    yield _count("allocator_lives_torn_down", "Gangs below their minimum for too long", follower.torn_down)
    unhandled = CounterMetricFamily(
        "allocator_lives_unhandled", "Events that a machine did not take", labels=["machine", "event"]
    )
    for labels, count in sorted(follower.refusals.counts.items()):
        unhandled.add_metric(labels, count)
    yield unhandled


def _count(name: str, text: str, value: int) -> CounterMetricFamily:
    family = CounterMetricFamily(name, text)
    family.add_metric([], value)
    return family


def _family(name: str, help_text: str, label: str, counts: Count[str]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, help_text, labels=[label])
    for value, count in sorted(counts.items()):
        family.add_metric([value], count)
    return family
