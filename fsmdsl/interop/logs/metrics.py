"""How far an explanation is, as metrics of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.interop.logs.explanation import Explainer
from fsmdsl.interop.logs.render_text import covered

Family = CounterMetricFamily | GaugeMetricFamily


@dataclass(slots=True, eq=False)
class Metrics(Collector):
    """The figures as they were when `update` was called last. Other threads may read them meanwhile."""

    system: str
    _families: tuple[Family, ...] = field(default=(), repr=False)

    def update(self, explainer: Explainer) -> None:
        """Take over how far it is now."""
        self._families = tuple(self._figures(explainer))

    def registry(self) -> CollectorRegistry:
        """These metrics alone."""
        registry = CollectorRegistry()
        registry.register(self)
        return registry

    def collect(self) -> Iterator[Family]:
        """For Prometheus' client."""
        yield from self._families

    def _figures(self, x: Explainer) -> Iterator[Family]:
        tally, summary = x.records.tally, x.walk.summary()
        lines = CounterMetricFamily("fsm_explain_lines", "Lines of the log", labels=["system", "kind"])
        for kind in ("matched", "skipped", "unreadable"):
            lines.add_metric([self.system, kind], getattr(tally, kind))
        yield lines
        unexplained = CounterMetricFamily(
            "fsm_explain_unexplained_lines", "Lines that nothing explains", labels=["system"]
        )
        unexplained.add_metric([self.system], x.unexplained)
        yield unexplained
        steps = CounterMetricFamily("fsm_explain_steps", "Steps of the run", labels=["system", "kind"])
        steps.add_metric([self.system, "logged"], summary.logged)
        steps.add_metric([self.system, "hidden"], summary.hidden)
        yield steps
        rows = CounterMetricFamily(
            "fsm_explain_rows", "How often each row was followed", labels=["system", "machine", "row", "arrow"]
        )
        for count, machine, row, arrow in covered(summary):
            rows.add_metric([self.system, machine, row, arrow], count)
        yield rows
        yield self._gauge("fsm_explain_last_line", "Number of the last line that was explained", x.walk.last_line)
        yield self._gauge("fsm_explain_worlds", "Worlds that are possible after it", x.walk.worlds)
        yield self._gauge(
            "fsm_explain_explained", "1 while the spec explains every line, else 0", int(not x.unexplained)
        )

    def _gauge(self, name: str, text: str, value: int) -> GaugeMetricFamily:
        gauge = GaugeMetricFamily(name, text, labels=["system"])
        gauge.add_metric([self.system], value)
        return gauge
