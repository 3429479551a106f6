"""The metrics for Prometheus."""

from __future__ import annotations

from collections import Counter as Count
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from runtime.service.lifecycle_reporter import LifecycleReporter
from runtime.service.locks import Locks
from runtime.service.scheduler import PodScheduler
from runtime.service.source import Source

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)

disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """Counts and times of this process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "scheduler_requests", "Requests by endpoint and outcome", ["endpoint", "outcome"], registry=self.registry
        )
        self.seconds = Histogram(
            "scheduler_request_seconds", "Time to answer", ["endpoint"], registry=self.registry, buckets=SECONDS
        )
        self.failures = Counter(
            "scheduler_cluster_failures",
            "Requests to the API server that failed and that nobody waited for, by what they were for",
            ["what"],
            registry=self.registry,
        )
        for what in ("bind", "delete", "fetch", "admit", "event"):
            self.failures.labels(what)
        self._phases = Histogram(
            "scheduler_cycle_seconds", "Time of a cycle by phase", ["phase"], registry=self.registry, buckets=SECONDS
        )
        self._batch = Histogram(
            "scheduler_cycle_requests", "Requests in a cycle", registry=self.registry, buckets=(1, 2, 4, 8, 16, 32, 64)
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

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Gangs, pods, nodes and cells."""
        allocator, tracker = self._scheduler.allocator, self._scheduler.tracker
        free = GaugeMetricFamily(
            "scheduler_free_cells", "Cells that no virtual cluster has a guarantee on", labels=["chain", "type"]
        )
        with self._locks.partition.read():
            gangs = Count(gang.state.value for gang in allocator.groups())
            record = allocator.journal.number
            for name, forest in allocator.cluster.forests.items():
                for level in range(1, forest.chain.top + 1):
                    free.add_metric([name, forest.chain.types[level]], forest.lists.obtainable(level))
            with self._locks.applications.read():
                pods = Count(tracked.phase.value for tracked in tracker.pods())
                problems = Count(tracked.phase.value for tracked in tracker.pods() if tracked.problem)
            with self._locks.nodes.read():
                nodes = Count("healthy" if node.healthy else "bad" for node in tracker.nodes.values())
                nodes["bad"] += len(allocator.cluster.nodes.keys() - tracker.nodes.keys())
            given_back = dict(self._scheduler.given_back)
            lifecycle = list(_lifecycle_metrics(self._scheduler.lifecycle))
        yield free
        yield _family("scheduler_gangs", "Gangs by state", "state", gangs)
        yield _family("scheduler_pods", "Pods by phase", "phase", pods)
        yield _family("scheduler_pods_problem", "Pods that cannot be understood, by phase", "phase", problems)
        yield _family("scheduler_nodes", "Nodes by health", "health", nodes)
        journal = GaugeMetricFamily("scheduler_journal_record", "Number of the last record of the journal")
        journal.add_metric([], record)
        yield journal
        back = CounterMetricFamily(
            "scheduler_given_back", "Places and reservations that nobody asked for in time", labels=["what"]
        )
        for what, count in sorted(given_back.items()):
            back.add_metric([what], count)
        yield back
        silence = GaugeMetricFamily("scheduler_cluster_silent_seconds", "Time since the cluster was last heard of")
        silence.add_metric([], self._source.silence())
        yield silence
        yield from lifecycle


def _lifecycle_metrics(reporter: LifecycleReporter) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
    """The lives of gangs, where they are followed."""
    yield _count("scheduler_lives_faults", "Faults in following the lives of gangs", reporter.faults)
    follower = reporter.follower
    if follower is None:
        return
    applications = follower.registry.applications.values()
    tasks = Count(
        slot.task.state.display for application in applications for slot in application.slots if slot.task is not None
    )
    yield _family("scheduler_lives", "Gangs by the phase of their life", "phase", Count(
        application.gang.state.display for application in applications
    ))  # fmt: skip
    yield _family("scheduler_lives_pods", "Pods by the state of their task", "state", tasks)
    gauges = {
        "running": ("Gangs all of whose members run", sum(application.running for application in applications)),
        "breached": ("Members below their minimum now", follower.below()),
        "to_delete": ("Pods of gangs that were below their minimum for too long", len(follower.to_delete())),
    }
    for name, (text, value) in gauges.items():
        gauge = GaugeMetricFamily(f"scheduler_lives_{name}", text)
        gauge.add_metric([], value)
        yield gauge
    yield _count("scheduler_lives_breaches", "How often a member fell below its minimum", follower.breaches)
    yield _count("scheduler_lives_torn_down", "Gangs below their minimum for too long", follower.torn_down)
    unhandled = CounterMetricFamily(
        "scheduler_lives_unhandled", "Events that a machine did not take", labels=["machine", "event"]
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
