"""Listeners of generated classes for production: OpenTelemetry and Prometheus (the extra `telemetry`).

    system.listen(Counters())    # fsm_transitions_total, in Prometheus' registry
    system.listen(Spans())       # a span for each step, inside the span of the caller
    system.listen(note_events)   # or events on the span of the caller

Each is called when a step has happened; machines that stand alone have `listen`, too. One listener can serve many
systems. Generated packages do without this module, and this file without the rest of fsmdsl: it may be copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer
    from prometheus_client import CollectorRegistry

Attributes = dict[str, str]


class State(Protocol):
    """A state of a generated class."""

    @property
    def value(self) -> str:
        """Its name in the spec."""


class Machine(Protocol):
    """A machine of a generated class."""

    @property
    def name(self) -> str:
        """Empty where it was given none."""


class Followed(Protocol):
    """A transition that was followed, as generated classes tell of it."""

    @property
    def machine(self) -> Machine:
        """Whose transition it is."""

    @property
    def label(self) -> str:
        """The document's label, or what triggers the transition."""

    @property
    def event(self) -> str:
        """What happened; empty where nothing had to."""

    @property
    def source(self) -> State:
        """Where the machine was."""

    @property
    def target(self) -> State:
        """Where it is."""


class Counters:
    """Counts transitions for Prometheus, as `fsm_transitions_total`.

    Labels are `machine` (the class), `transition` (its label in the spec), `source` and `target` (states): there are no
    more series than the spec has rows, however many instances there are. `namespace` takes the place of `fsm`, for a
    second listener in the same registry.
    """

    def __init__(self, registry: CollectorRegistry | None = None, namespace: str = "fsm") -> None:
        """Raises `ImportError` without prometheus-client, `ValueError` where the registry has these metrics already."""
        try:
            from prometheus_client import REGISTRY, Counter
        except ImportError as error:
            raise _missing("Counters", "prometheus-client") from error
        self._transitions = Counter(
            "transitions",
            "Transitions that machines have followed.",
            ("machine", "transition", "source", "target"),
            namespace=namespace,
            registry=REGISTRY if registry is None else registry,
        )

    def __call__(self, step: tuple[Followed, ...]) -> None:
        """Counts the transitions of a step."""
        for x in step:
            self._transitions.labels(_class(x), x.label, x.source.value, x.target.value).inc()


class Spans:
    """Makes a span of each step, called by the machine and the event that began it (`AffinityGroup schedule`), with an
    event for each transition. It has no length: listeners are called when all has happened."""

    def __init__(self, tracer: Tracer | None = None) -> None:
        """Raises `ImportError` without opentelemetry-api."""
        try:
            from opentelemetry.trace import get_tracer
        except ImportError as error:
            raise _missing("Spans", "opentelemetry-api") from error
        self._tracer = get_tracer("fsmdsl") if tracer is None else tracer

    def __call__(self, step: tuple[Followed, ...]) -> None:
        """Makes the span."""
        first = step[0]
        span = self._tracer.start_span(f"{_class(first)} {first.event or first.label}", attributes=_of_machine(first))
        _note(span, step)
        span.end()


def note_events(step: tuple[Followed, ...]) -> None:
    """Notes the transitions of a step as events of the present span, where there is one.

    Raises `ImportError` without opentelemetry-api.
    """
    try:
        from opentelemetry.trace import get_current_span
    except ImportError as error:
        raise _missing("note_events", "opentelemetry-api") from error
    _note(get_current_span(), step)


def _note(span: Span, step: tuple[Followed, ...]) -> None:
    """The transitions as events of a span, which may name instances: no series are made of them."""
    if span.is_recording():
        for x in step:
            states = {"fsm.source": x.source.value, "fsm.target": x.target.value}
            row = {"fsm.transition": x.label, "fsm.event": x.event}
            span.add_event(f"{_class(x)} {x.label}", {**_of_machine(x), **row, **states})


def _of_machine(x: Followed) -> Attributes:
    instance = {"fsm.instance": x.machine.name} if x.machine.name else {}
    return {"fsm.machine": _class(x), **instance}


def _class(x: Followed) -> str:
    return type(x.machine).__name__


def _missing(what: str, package: str) -> ImportError:
    return ImportError(f"{what} of fsmdsl.telemetry needs {package}: pip install 'fsmdsl[telemetry]'")
