"""Scenarios: worked examples, played against the definition of the language."""

from __future__ import annotations

from typing import assert_never

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.runs.explain import explain
from fsmdsl.runs.rejection import fault_lines
from fsmdsl.runs.trace import Trace, taken
from fsmdsl.step import (
    ChannelStep,
    CrashStep,
    EventStep,
    Fault,
    FaultError,
    Followed,
    OutcomeStep,
    RecoverStep,
    Step,
    TimerStep,
    Universe,
    initial,
)
from fsmdsl.step.describe import describe, fault_message
from fsmdsl.step.evaluate import Frame, TooManyValuesError, evaluate, reference, truth
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity
from fsmdsl.text.source import Span

FAILS = Rule(
    "FSM401",
    "scenario-fails",
    Severity.ERROR,
    "a scenario does not run as written",
    """
A `scenario` is executed step by step. It fails in one of these cases:

- A step ends in a fault that the scenario does not expect (`fails …`).
- A step that should fail does not fail.
- An `expect` is false.
- `via` does not name all the transitions that were taken since the last `via`, or since the start.
- The scenario requires a timer, message or recovery that is not possible.

```fsm
machine Door {
    initial state Shut
    state Open
    event push from environment
    Shut -> Open on push
    Open -> Shut on push
}

scenario entry "pushed once, a door is open" {
    door: Door
    door.push
    door.push
    expect door in Open
}
```

Correct the machine if the scenario is right. Otherwise, correct the scenario.
""",
)

RULES = (FAILS,)


@dataclass(frozen=True, slots=True)
class Played:
    """How a scenario went: as far as it came, and why no further."""

    scenario: m.Scenario
    trace: Trace
    failed: m.ScenarioStep | None
    """The step at which it failed; None also where it could not even begin."""
    failure: Diagnostic | None

    @property
    def passed(self) -> bool:
        """Did all go as it says?"""
        return self.failure is None


class _Failure(Exception):  # noqa: N818  (not an error: the answer to a question)
    """What is not as the scenario says, and what is instead."""

    def __init__(self, message: str, notes: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.notes = notes


def play(model: m.Model, scenario: m.Scenario) -> Played:
    """Take the steps of a scenario, up to the first that is not as it says."""
    universe = Universe(model, scenario.system)
    player = _Player(universe)
    if universe.fault is not None:
        return Played(
            scenario, player.trace, None, FAILS.at(universe.fault.span, fault_message(universe, universe.fault))
        )
    for step in scenario.steps:
        failure = player.attempt(step)
        if failure is not None:
            return Played(scenario, player.trace, step, _located(universe, scenario, step.span, failure, player.trace))
    return Played(scenario, player.trace, None, None)


def _located(universe: Universe, scenario: m.Scenario, span: Span, failure: _Failure, trace: Trace) -> Diagnostic:
    diagnostic = FAILS.at(span, f"`{scenario.name}`: {failure.message}")
    for note in failure.notes:
        diagnostic = diagnostic.note(note)
    states = ", ".join(f"{universe.name(n)} is in {state}" for n, state in enumerate(trace.end.states))
    return diagnostic.note(f"at this point {states}")


class _Player:
    """The run so far."""

    def __init__(self, universe: Universe) -> None:
        self.universe = universe
        self.trace = Trace(universe, initial(universe))
        self.followed: list[m.Transition] = []
        self.has_via = False
        """The names of the transitions taken since the last `via`."""

    def attempt(self, step: m.ScenarioStep) -> _Failure | None:
        """Take one step; what is not as it says, if something is not."""
        try:
            self._take(step)
        except _Failure as failure:
            return failure
        except FaultError as error:
            return _Failure(fault_message(self.universe, error.fault))
        except TooManyValuesError as error:
            return _Failure(f"this would have to choose among {error}")
        return None

    def _take(self, step: m.ScenarioStep) -> None:
        match step:
            case m.Fails():
                self._fails(step)
            case m.Expect():
                self._expect(step)
            case m.Via():
                self._via(step)
            case _:
                self._fire(self._taken(step))

    def _frame(self) -> Frame:
        return Frame(self.universe, self.trace.end)

    def _fire(self, step: Step) -> None:
        fault = self._try(step)
        if fault is not None:
            message, *why = fault_lines(self.universe, fault)
            place = f"the fault is at {fault.span}"
            raise _Failure(f"this step fails: {message} ({fault.kind})", (*why, place))

    def _try(self, step: Step) -> Fault | None:
        entry = taken(self.universe, self.trace.end, step)
        self.trace = self.trace.extended(entry)
        if entry.fault is None:
            followed = (h for h in entry.cascade if isinstance(h, Followed))
            self.followed += [self.universe.machines[h.instance].transitions[h.transition] for h in followed]
        return entry.fault

    # Steps

    def _taken(self, step: m.Taken) -> Step:
        match step:
            case m.Do():
                return self._event(step)
            case m.Elapse():
                return self._timer(step)
            case m.Transmit():
                return self._transmission(step)
            case m.Restart(kind="crash", of=of):
                return CrashStep(of=tuple(sorted({reference(self._frame(), x) for x in of})))
            case m.Restart():
                return RecoverStep()
            case _:
                assert_never(step)

    def _event(self, step: m.Do) -> Step:
        instance = reference(self._frame(), step.target)
        action, dot, outcome = step.event.partition(".")
        if dot:
            return OutcomeStep(instance, action, outcome)
        return EventStep(instance, step.event, tuple(evaluate(self._frame(), a) for a in step.arguments))

    def _fails(self, step: m.Fails) -> None:
        before, failing = self.trace.end, self._taken(step.step)
        fault = self._try(failing)
        if fault is None:
            raise _Failure(f"{describe(self.universe, failing, before)} should fail, but does not")
        if step.fault not in (None, fault.kind):
            lines = fault_lines(self.universe, fault)
            raise _Failure(f"this should fail with {step.fault}, but fails with {fault.kind}", lines)

    def _timer(self, step: m.Elapse) -> Step:
        """The timer meant: by label, else by source; without a name, the only one that runs."""
        instance = reference(self._frame(), step.target)
        name, state = self.universe.name(instance), self.trace.end.states[instance]
        running = self.universe.timers(instance, state)
        timers = [t for t in running if step.timer is None or step.timer in t.timer_names]
        if not timers:
            which = "no timer" if step.timer is None else f"no timer `{step.timer}`"
            raise _Failure(f"{which} of {name} runs in `{state}`")
        if len(timers) > 1:
            names = ", ".join(f"`{t.label or t.shown_trigger}`" for t in timers)
            raise _Failure(f"several timers of {name} run in `{state}`: {names}; name one with `of`")
        return TimerStep(instance, timers[0].index)

    def _transmission(self, step: m.Transmit) -> Step:
        """The first message of the name, or the first of all."""
        frame = self._frame()
        queue = self.universe.queue(step.channel, [reference(frame, x) for x in step.ends])
        if queue is None:
            raise _Failure(f"the receiver of channel `{step.channel.rpartition('.')[2]}` is not among the instances")
        messages, channel, name = (
            self.trace.end.channels[queue],
            self.universe.queues[queue].channel,
            self.universe.queue_name(queue),
        )
        positions = [n for n, message in enumerate(messages) if step.event in (None, message.event)]
        if not positions:
            what = "message" if step.event is None else f"`{step.event}`"
            raise _Failure(f"there is no {what} in channel `{name}`")
        if step.kind == "deliver" and channel.order == "fifo" and positions[0] > 0:
            raise _Failure(f"`{messages[0].event}` comes before `{step.event}` in channel `{name}`")
        if (step.kind == "lose" and not channel.lossy) or (step.kind == "duplicate" and not channel.duplicating):
            flag = "lossy" if step.kind == "lose" else "duplicating"
            raise _Failure(f"channel `{name}` is not declared `{flag}`")
        return ChannelStep(step.kind, queue, positions[0])

    def _expect(self, step: m.Expect) -> None:
        frame = self._frame()
        if not truth(frame, step.condition):
            lines = explain(frame, step.condition)
            raise _Failure(f"not as expected: {lines[0]}", tuple(lines[1:]))

    def _via(self, step: m.Via) -> None:
        followed, self.followed = self.followed, []
        pairs = zip(followed, step.labels, strict=False)
        if len(followed) != len(step.labels) or not all(label in t.names for t, label in pairs):
            labels = ", ".join(t.name for t in followed) if followed else "none"
            since = "the last `via`" if self.has_via else "the start"
            raise _Failure(f"the transitions followed since {since} are {labels}")
        self.has_via = True
