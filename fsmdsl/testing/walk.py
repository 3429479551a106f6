"""The random walks of a `Twin`, by Hypothesis: it chooses the steps, and shortens the way to a difference."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.runs.trace import Trace, first_choices
from fsmdsl.step import EventStep, Step, TooManyValuesError, Universe, Value, enabled
from fsmdsl.step.describe import describe
from fsmdsl.step.values import domain
from fsmdsl.testing.comparison import SideBySide
from fsmdsl.testing.drive import drivable
from fsmdsl.testing.implementation import Implementation

DEFAULT_SETTINGS = settings(
    max_examples=100, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)


@dataclass(frozen=True, slots=True)
class _Choice:
    """Something drawn, with the text that Hypothesis shows for it."""

    value: Any
    text: str

    def __repr__(self) -> str:
        return self.text


def walk(twin: type[Implementation], universe: Universe) -> None:
    """Many walks. Raises `DifferenceError` with a short one that differs."""

    class Walk(_Walk):
        """What Hypothesis makes anew for each walk."""

        def __init__(self) -> None:
            super().__init__(twin(), universe)

    # The story says what the draws were and needs no explanation; one difference at a time is enough.
    chosen: settings = twin.settings or DEFAULT_SETTINGS
    phases = [x for x in chosen.phases if x is not Phase.explain]
    quiet = settings(chosen, verbosity=Verbosity.quiet, report_multiple_bugs=False, phases=phases, deadline=None)
    run_state_machine_as_test(Walk, settings=quiet)


class _Walk(RuleBasedStateMachine):
    """Model and implementation, step by step."""

    def __init__(self, twin: Implementation, universe: Universe) -> None:
        super().__init__()
        self.twin, self.universe = twin, universe
        self.both: SideBySide | None = None

    def teardown(self) -> None:
        """After each walk."""
        if self.both is not None:
            self.both.close()

    @initialize(data=st.data())
    def begin(self, data: Any) -> None:
        """In one of the worlds in which the system may begin."""
        starts = self.universe.starts
        choices = [_Choice(x, ", ".join(first_choices(Trace(self.universe, x)))) for x in starts]
        start = starts[0] if len(starts) == 1 else data.draw(st.sampled_from(choices), "start").value
        self.universe = self.universe.beginning(start)
        self.both = SideBySide(self.twin, self.universe)

    @rule(data=st.data())
    def step(self, data: Any) -> None:
        """One that can come next; at times any event, if refusals count."""
        assert self.both is not None, "it has begun"
        world = self.both.world
        steps = [x for x in enabled(self.universe, world) if drivable(self.twin, x)]
        if self.twin.refusal is not None and (not steps or data.draw(st.integers(0, 4), "unasked") == 4):
            chosen = self._any_event(data)
        else:
            choices = [_Choice(x, describe(self.universe, x, world)) for x in steps]
            chosen = data.draw(st.sampled_from(choices), "step").value if steps else None
        if chosen is not None:
            self.both.take(chosen)

    def _any_event(self, data: Any) -> Step | None:
        """An event of the environment, to anyone, with any arguments."""
        events = [
            _Choice((n, e), e.name)
            for n, x in enumerate(self.universe.machines)
            for e in x.events
            if e.from_environment
        ]
        if not events or self.both is None or self.both.world.down:
            return None
        n, event = data.draw(st.sampled_from(events), "event").value
        assert isinstance(event, m.Event)
        try:
            values = [domain(p.type, self.universe) for p in event.parameters]
        except TooManyValuesError:
            return None
        if not all(values):
            return None
        arguments: tuple[Value, ...] = tuple(data.draw(st.sampled_from(x), "argument") for x in values)
        return EventStep(n, event.name, arguments)
