"""Listeners for OpenTelemetry and Prometheus, with the real libraries."""

from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from generating import ALONE, HIVED, Calls, Generated
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry, generate_latest

from fsmdsl import telemetry


def preemption(folder: Path, *listeners: Any, names: tuple[str, str] = ("", "")) -> Any:
    """A group that runs, and one that waits for its cell: two steps, of two transitions and of two."""
    package = Generated(folder, HIVED)
    system = package.System()
    for listener in listeners:
        system.listen(listener)
    victim, preemptor = (package.AffinityGroup(system, priority=n, name=x) for n, x in enumerate(names))
    cell = package.Cell(system, Calls())
    victim.schedule(frozenset([cell]))
    preemptor.schedule(frozenset([cell]))
    return package


# Prometheus ----------------------------------------------------------------------------------------------------------


def count(registry: CollectorRegistry, *values: str, name: str = "fsm_transitions_total") -> float | None:
    return registry.get_sample_value(
        name, dict(zip(("machine", "transition", "source", "target"), values, strict=True))
    )


def test_transitions_are_counted(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    preemption(tmp_path, telemetry.Counters(registry))
    assert count(registry, "AffinityGroup", "e0", "Pending", "Allocated") == 1
    assert count(registry, "AffinityGroup", "e1", "Pending", "Preempting") == 1
    assert count(registry, "Cell", "e0", "Free", "Used") == 1
    assert count(registry, "Cell", "e2", "Used", "Reserving") == 1
    assert b"# TYPE fsm_transitions_total counter" in generate_latest(registry)


def test_there_are_no_more_series_than_rows(tmp_path: Path) -> None:
    """However many instances there are, and whatever they are called."""
    registry = CollectorRegistry()
    counters = telemetry.Counters(registry)
    package = Generated(tmp_path, ALONE)
    for n in range(50):
        light = package.Light(name=f"light-{n}")
        light.listen(counters)
        for _ in range(3):
            light.toggle()
    assert count(registry, "Light", "t1", "Off", "On") == 100
    assert count(registry, "Light", "t2", "On", "Off") == 50
    (family,) = registry.collect()
    assert len([x for x in family.samples if x.name == "fsm_transitions_total"]) == 2
    assert b"light-" not in generate_latest(registry)


def test_a_second_listener_of_a_registry_takes_another_namespace(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    telemetry.Counters(registry)
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        telemetry.Counters(registry)
    preemption(tmp_path, telemetry.Counters(registry, namespace="shim"))
    assert count(registry, "Cell", "e0", "Free", "Used", name="shim_transitions_total") == 1
    assert count(registry, "Cell", "e0", "Free", "Used") is None


def test_a_step_that_is_refused_or_tried_is_not_counted(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    package = Generated(tmp_path, ALONE)
    light = package.Light()
    light.listen(telemetry.Counters(registry))
    assert light.can(light.toggle)
    with pytest.raises(package.UnhandledEvent):
        light.dim(1)
    assert count(registry, "Light", "t1", "Off", "On") is None


# OpenTelemetry -------------------------------------------------------------------------------------------------------


@pytest.fixture
def traced() -> tuple[Any, InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider.get_tracer("test"), exporter


ROWS = [
    [("AffinityGroup e0", "Pending", "Allocated", "schedule"), ("Cell e0", "Free", "Used", "take")],
    [("AffinityGroup e1", "Pending", "Preempting", "schedule"), ("Cell e2", "Used", "Reserving", "reserve")],
]


def shown(events: Any) -> list[tuple[str, str, str, str]]:
    keys = ("fsm.source", "fsm.target", "fsm.event")
    return [(x.name, *(x.attributes[k] for k in keys)) for x in events]


def test_each_step_is_a_span(traced: tuple[Any, InMemorySpanExporter], tmp_path: Path) -> None:
    tracer, exporter = traced
    preemption(tmp_path, telemetry.Spans(tracer), names=("gang-7", ""))
    spans = exporter.get_finished_spans()
    assert [x.name for x in spans] == ["AffinityGroup schedule", "AffinityGroup schedule"]
    assert [shown(x.events) for x in spans] == ROWS
    assert dict(spans[0].attributes) == {"fsm.machine": "AffinityGroup", "fsm.instance": "gang-7"}
    assert dict(spans[1].attributes) == {"fsm.machine": "AffinityGroup"}
    assert dict(spans[0].events[1].attributes) == {
        "fsm.machine": "Cell", "fsm.transition": "e0", "fsm.event": "take", "fsm.source": "Free", "fsm.target": "Used",
    }  # fmt: skip


def test_a_span_stands_inside_that_of_the_caller(traced: tuple[Any, InMemorySpanExporter], tmp_path: Path) -> None:
    tracer, exporter = traced
    light = Generated(tmp_path, ALONE).Light()
    light.listen(telemetry.Spans(tracer))
    with tracer.start_as_current_span("request"):
        light.toggle()
    step, request = exporter.get_finished_spans()
    assert (step.name, step.parent.span_id) == ("Light toggle", request.context.span_id)


def test_steps_are_noted_on_the_span_of_the_caller(traced: tuple[Any, InMemorySpanExporter], tmp_path: Path) -> None:
    tracer, exporter = traced
    with tracer.start_as_current_span("request"):
        preemption(tmp_path, telemetry.note_events)
    (request,) = exporter.get_finished_spans()
    assert shown(request.events) == [x for step in ROWS for x in step]
    preemption(tmp_path, telemetry.note_events)  # where there is no span, nothing is noted
    assert len(exporter.get_finished_spans()) == 1


# Without them --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("library", "use", "told"),
    [
        ("prometheus_client", telemetry.Counters, "Counters of fsmdsl.telemetry needs prometheus-client"),
        ("opentelemetry", telemetry.Spans, "Spans of fsmdsl.telemetry needs opentelemetry-api"),
        ("opentelemetry", lambda: telemetry.note_events(()), "note_events of fsmdsl.telemetry needs opentelemetry-api"),
    ],
)
def test_a_missing_library_is_told(library: str, use: Any, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.split(".")[0] == library:
            raise ImportError(name)
        return found(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError) as caught:
        use()
    assert str(caught.value) == f"{told}: pip install 'fsmdsl[telemetry]'"


def test_the_module_imports_nothing_before_it_is_used() -> None:
    program = "import sys, fsmdsl.telemetry; print(sorted({x.split('.')[0] for x in sys.modules} & set(sys.argv[1:])))"
    command = [sys.executable, "-c", program, "opentelemetry", "prometheus_client", "click", "jinja2"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"
