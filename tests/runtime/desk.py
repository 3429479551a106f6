"""A scheduler without a cluster: what happens is told to the allocator, and its instruments are read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from runtime import Bind, Phase, Pod, Preempt
from runtime.durable import DurableAllocator
from runtime.service.locks import Locks
from runtime.service.metrics import Metrics
from runtime.service.objects import NodeObject
from runtime.service.scheduler import PodScheduler
from runtime.service.source import Change, MemorySource


class Desk:
    """All nodes are healthy. Time stands still unless it is moved."""

    def __init__(self, configuration: Mapping[str, object], folder: Path) -> None:
        self.allocator = DurableAllocator.open(configuration, folder / "journal")
        self.scheduler = PodScheduler(self.allocator, Locks(), lambda _: None, lambda _: None)
        self.now = 1000.0
        self.scheduler.history._now = lambda: self.now
        nodes = [Change(NodeObject(name, healthy=True), deleted=False) for name in self.allocator.cluster.nodes]
        self.scheduler.recover(nodes, lists_all=True)
        self.metrics = Metrics()
        self.metrics.observe(self.scheduler, MemorySource(), Locks())

    def submit(self, pods: list[Pod]) -> None:
        """They wait."""
        for pod in pods:
            self.allocator.submit(pod)
        self.scheduler.write_history()

    def run(self, pods: list[Pod]) -> None:
        """They are placed, without displacing anybody."""
        for pod in pods:
            answer = self.allocator.schedule(pod)
            assert isinstance(answer, Bind), answer
            self.allocator.allocate(pod, answer.info)
        self.scheduler.write_history()

    def preempt(self, pods: list[Pod]) -> None:
        """They have reserved the devices of others."""
        assert isinstance(self.allocator.schedule(pods[0], None, Phase.PREEMPTING), Preempt)
        self.scheduler.write_history()

    def end(self, pods: list[Pod]) -> None:
        """They are gone, one after the other."""
        for pod in pods:
            self.allocator.delete(pod)
            self.scheduler.write_history()

    def series(self, name: str) -> dict[str, float]:
        """Values by labels, without those that are 0; a label that is left out is empty."""
        lines = re.findall(rf"^{name}(?:{{(.*?)}})? (\S+)$", self.metrics.text().decode(), re.MULTILINE)
        return {labels: float(value) for labels, value in lines if float(value)}
