"""The walk of a `Twin`, by Hypothesis: it chooses the steps, and shortens the way to a difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from fsmdsl import model as m
from fsmdsl.describe import describe, fault_message
from fsmdsl.step import (
    ChannelStep,
    CrashStep,
    EventStep,
    OutcomeStep,
    RecoverStep,
    Requested,
    Result,
    Step,
    TimerStep,
    TooManyValuesError,
    Universe,
    Value,
    enabled,
    fire,
)
from fsmdsl.step.values import domain
from fsmdsl.testing.implementation import Action, Implementation
from fsmdsl.testing.plain_values import fields, instances, named

USUAL = settings(max_examples=100, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck))


@dataclass(frozen=True, slots=True)
class Told:
    """A step as its author would write it."""

    step: Step
    text: str

    def __repr__(self) -> str:
        return self.text


def walk(twin: type[Implementation], universe: Universe) -> None:
    """Many walks. Raises `AssertionError` with a short one that differs."""
    if universe.fault is not None:
        raise ValueError(f"the system cannot begin: {fault_message(universe, universe.fault)}")

    class Walk(_Walk):
        """What Hypothesis makes anew for each walk."""

        def __init__(self) -> None:
            super().__init__(twin(), universe)

    # The story says what the draws were and needs no explanation; one difference at a time is enough.
    given: settings = twin.settings or USUAL
    phases = [x for x in given.phases if x is not Phase.explain]
    quiet = settings(given, verbosity=Verbosity.quiet, report_multiple_bugs=False, phases=phases)
    run_state_machine_as_test(Walk, settings=quiet)


class _Walk(RuleBasedStateMachine):
    """Model and implementation, step by step."""

    def __init__(self, twin: Implementation, universe: Universe) -> None:
        super().__init__()
        self.twin, self.universe, self.world = twin, universe, universe.start
        self.told: list[str] = []
        self.asked: list[Action] = []
        twin.start(instances(universe))
        twin.performed()
        self._compare()

    @rule(data=st.data())
    def step(self, data: Any) -> None:
        """One that can come next; at times any event, if refusals count."""
        steps = [x for x in enabled(self.universe, self.world) if self._drivable(x)]
        if self.twin.refusal is not None and (not steps or data.draw(st.integers(0, 4), "unasked") == 4):
            chosen = self._any_event(data)
        else:
            chosen = data.draw(st.sampled_from([self._called(x) for x in steps]), "step") if steps else None
        if chosen is None:
            return
        result = fire(self.universe, self.world, chosen.step)
        if result.fault is None:
            self._follow(chosen, result)
        elif result.fault.kind == "unhandled" and not result.cascade and self.twin.refusal is not None:
            self._refused(chosen)

    def _drivable(self, step: Step) -> bool:
        """Nobody can be made to crash in the middle of a step."""
        inside = isinstance(step, CrashStep) and step.inside is not None
        return not inside and _kind(step) not in self.twin.without

    def _called(self, step: Step) -> Told:
        return Told(step, describe(self.universe, step, self.world))

    def _any_event(self, data: Any) -> Told | None:
        """An event of the environment, to anyone, with any arguments."""
        machines = enumerate(self.universe.machines)
        events = [(n, e) for n, x in machines for e in x.events if e.from_environment]
        if not events or self.world.down:
            return None
        n, event = data.draw(st.sampled_from(events).map(_Quiet), "event").of
        try:
            values = [domain(p.type, self.universe) for p in event.parameters]
        except TooManyValuesError:
            return None
        if not all(values):
            return None
        arguments: tuple[Value, ...] = tuple(data.draw(st.sampled_from(x), "argument") for x in values)
        return self._called(EventStep(n, event.name, arguments))

    def _follow(self, chosen: Told, result: Result) -> None:
        self.told.append(chosen.text)
        try:
            _drive(self.twin, self.universe, chosen.step)
        except NotImplementedError:
            raise
        except Exception as error:
            raise AssertionError(self._story(f"the model takes this step; yours raised {error!r}")) from error
        self.world = result.world
        self.asked += [self._action(x) for x in result.cascade if isinstance(x, Requested)]
        self._compare()

    def _action(self, x: Requested) -> Action:
        action = self.universe.machines[x.instance].action_named[x.action]
        return Action(self.universe.name(x.instance), x.action, named(self.universe, action.parameters, x.arguments))

    def _refused(self, chosen: Told) -> None:
        self.told.append(f"{chosen.text}   (not handled)")
        refusal = self.twin.refusal
        assert refusal is not None, "otherwise it would not have been sent"
        try:
            _drive(self.twin, self.universe, chosen.step)
        except refusal:
            self._compare()
            return
        except Exception as error:
            raise AssertionError(
                self._story(f"the model does not handle this event; yours raised {error!r}")
            ) from error
        raise AssertionError(self._story("the model does not handle this event; yours did not refuse it"))

    def _compare(self) -> None:
        different = self._differences()
        if different:
            # Not by `assert`, to which pytest would add the list.
            raise AssertionError(self._story("\n".join(different)))

    def _differences(self) -> list[str]:
        found = []
        for n, machine in enumerate(self.universe.machines):
            name = self.universe.name(n)
            expected, state = self.world.states[n], self.twin.state(name)
            if state != expected:
                found.append(f"{name} ({machine.name}) is in {expected} in the model, in {state} in yours")
            ours = fields(self.universe, self.world, n)
            for field, value in self.twin.fields(name).items():
                if field not in ours:
                    raise ValueError(f"{machine.name} has no field `{field}`; it has {', '.join(ours) or 'none'}")
                if ours[field] != value:
                    found.append(f"{name}.{field} is {ours[field]!r} in the model, {value!r} in yours")
        performed = self.twin.performed()
        if performed is not None and list(performed) != self.asked:
            found.append(f"the model asks for {_listed(self.asked)}, yours for {_listed(list(performed))}")
        self.asked.clear()
        return found

    def _story(self, what: str) -> str:
        steps = [f"  {n}. {text}" for n, text in enumerate(self.told, 1)] or ["  (at the beginning)"]
        return "\n".join([f"{type(self.twin).__name__} differs from {self.universe.system.qualified}:", *steps, what])


@dataclass(frozen=True, slots=True)
class _Quiet:
    """An event to somebody, told shortly when Hypothesis tells of its draws."""

    of: tuple[int, m.Event]

    def __repr__(self) -> str:
        return self.of[1].name


def _listed(actions: list[Action]) -> str:
    told = (f"{x.instance}.{x.name}({', '.join(f'{k}={v!r}' for k, v in x.arguments.items())})" for x in actions)
    return ", ".join(told) or "nothing"


def _kind(step: Step) -> str:
    """What `Twin.without` calls it."""
    match step:
        case EventStep():
            return "event"
        case OutcomeStep():
            return "answer"
        case TimerStep():
            return "timeout"
        case ChannelStep(kind=kind):
            return kind
        case CrashStep():
            return "crash"
        case RecoverStep():
            return "recover"
        case _:
            assert_never(step)


def _drive(twin: Implementation, universe: Universe, step: Step) -> None:
    match step:
        case EventStep(n, event, arguments):
            parameters = universe.machines[n].event_named[event].parameters
            twin.event(universe.name(n), event, named(universe, parameters, arguments))
        case OutcomeStep(n, action, outcome):
            twin.answer(universe.name(n), action, outcome)
        case TimerStep(n, transition):
            twin.timeout(universe.name(n), universe.machines[n].transitions[transition].name)
        case ChannelStep("deliver", channel, position):
            twin.deliver(channel.rpartition(".")[2], position)
        case ChannelStep("lose", channel, position):
            twin.lose(channel.rpartition(".")[2], position)
        case ChannelStep(_, channel, position):
            twin.duplicate(channel.rpartition(".")[2], position)
        case CrashStep():
            twin.crash()
        case RecoverStep():
            twin.recover()
        case _:
            assert_never(step)
