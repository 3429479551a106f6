"""Errors are counted as errors, also where they travel in the body of an answer with status 200."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from clusters import gang
from serving import until, written
from test_service_engine import Served

from runtime.service.objects import PodObject, read_pod
from runtime.service.source import Change
from runtime.service.web import Web

ALERTS = yaml.safe_load((Path(__file__).parents[2] / "deploy/monitoring/alerts.yaml").read_text())["groups"][0]["rules"]
(POD,) = gang("g", "A", 1)


class AwayError(Exception):
    """The API server does not answer."""


class Counted(Served):
    """With an API server that fails."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.source.bind = self._fail  # type: ignore[method-assign]
        self.app = Web(self.service, 1_000_000).app()

    def _fail(self, pod: PodObject, node: str, annotations: Mapping[str, str]) -> None:
        raise AwayError("connection refused")

    def post(self, path: str, content: Any) -> dict[str, Any]:
        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(self.app), base_url="http://127.0.0.1"
            ) as client:
                return await client.post(f"/v1/extender/{path}", content=json.dumps(content))

        answer = asyncio.run(ask())
        assert answer.status_code == 200
        return dict(answer.json())

    def count(self, name: str, **labels: str) -> float:
        return self.service.metrics.registry.get_sample_value(name, labels) or 0.0

    def outcomes(self, path: str) -> dict[str, float]:
        counts = {x: self.count("allocator_requests_total", endpoint=f"/v1/extender/{path}", outcome=x) for x in CODES}
        return {code: count for code, count in counts.items() if count}


CODES = ("200", "400", "500", "503")


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[Counted]:
    served = Counted(tmp_path / "journal")
    served.start()
    served.source.tell([Change(read_pod(written(POD)), deleted=False)])
    yield served
    served.service.stop()


def test_errors_of_filter(counted: Counted) -> None:
    asked = {"Pod": written(POD), "NodeNames": ["a", "b"]}
    assert not counted.post("filter", asked)["Error"]
    assert counted.outcomes("filter") == {"200": 1}
    assert counted.post("filter", {"Pod": written(gang("unknown", "A", 1)[0]), "NodeNames": ["a"]})["Error"]
    assert counted.outcomes("filter") == {"200": 1, "400": 1}
    counted.service.scheduler.allocator.schedule = None  # type: ignore[method-assign, assignment]
    (other,) = gang("h", "A", 1)
    counted.source.tell([Change(read_pod(written(other)), deleted=False)])
    assert counted.post("filter", {"Pod": written(other), "NodeNames": ["a", "b"]})["Error"]
    assert counted.outcomes("filter") == {"200": 1, "400": 1, "500": 1}


def test_errors_of_bind(counted: Counted) -> None:
    (node,) = counted.post("filter", {"Pod": written(POD), "NodeNames": ["a", "b"]})["NodeNames"]
    asked = {"PodUID": POD.uid, "PodNamespace": POD.namespace, "PodName": POD.name, "Node": node}
    assert counted.post("bind", {**asked, "PodUID": "another"})["Error"]
    assert counted.outcomes("bind") == {"400": 1}
    assert "connection refused" in counted.post("bind", asked)["Error"]
    assert counted.outcomes("bind") == {"400": 1, "500": 1}


def test_bindings_that_nobody_waits_for(counted: Counted) -> None:
    """A kube-scheduler that asks again and again leaves the binding to the allocator."""
    asked = {"Pod": written(POD), "NodeNames": ["a", "b"]}
    for _ in range(5):
        counted.post("filter", asked)
    until(lambda: counted.count("allocator_cluster_failures_total", what="bind") >= 1)


def test_requests_of_another_site_or_name(counted: Counted) -> None:
    """A kube-scheduler that asks under a name that is not allowed gets no answer at all."""

    async def ask(path: str) -> int:
        transport = httpx.ASGITransport(counted.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://evil.example") as client:
            return (await client.post(path, content="{}")).status_code

    for path, label in (("/v1/extender/filter", "/v1/extender/filter"), ("/what/ever", "other")):
        assert asyncio.run(ask(path)) == 421
        assert counted.count("allocator_requests_total", endpoint=label, outcome="421") == 1


def test_the_alert_counts_them() -> None:
    (alert,) = [rule for rule in ALERTS if rule["alert"] == "AllocatorErrors"]
    (pattern,) = re.findall(r'allocator_requests_total\{outcome=~"(.*?)"\}', alert["expr"])
    assert [code for code in CODES if re.fullmatch(pattern, code)] == ["500", "503"]
