"""A run of a system as a test for pytest, which takes the same steps on the generated classes.

After each step it asserts what the step has changed, and at the end everything. A step that fails must raise what the
fault is called in generated code; an invariant that is broken must be found broken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import getsource
from typing import Literal, assert_never

from fsmdsl.classes.replays.actions import Actions, NoAnswer
from fsmdsl.classes.replays.fixture import Fixture
from fsmdsl.classes.statements.text import comment, docstring, folded, indented, literal, mark, tuple_of
from fsmdsl.classes.traits import timer_name
from fsmdsl.dataclasses import dataclass
from fsmdsl.step import (
    ChannelStep,
    Crashed,
    CrashStep,
    EventStep,
    Fault,
    FaultError,
    Message,
    OutcomeStep,
    Posted,
    RecoverStep,
    Requested,
    Step,
    TimerStep,
    TraceEvent,
    Universe,
    Value,
    World,
    holds,
)
from fsmdsl.step.describe import describe

EXCEPTIONS = {
    "unhandled": "UnhandledEvent", "overlap": "Overlap", "reentrance": "ReentrantEvent", "busy": "Busy",
    "none": "MissingReference", "range": "OutOfRange", "overflow": "Full", "endless": "EndlessRound", "lost": "Lost",
}  # fmt: skip
"""What generated code raises for each kind of fault."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A step, what happened in it, the world after it, and why it failed if it did."""

    step: Step
    cascade: tuple[TraceEvent, ...]
    world: World
    fault: Fault | None = None


Holder = int | Literal["system"]
"""An instance, or the system."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is to be replayed."""

    universe: Universe
    name: str
    shows: tuple[str, ...]
    """What is wrong at the end."""
    moments: tuple[Moment, ...]
    loop: int | None = None
    """The place of the first of the steps that are repeated for ever."""
    broken: Holder | None = None
    """Whose invariants do not all hold at the end."""


def replay(run: Run, package: str) -> str:
    """The text of a test. `package` holds the generated packages. Takes time in proportion to the run."""
    why = impossible(run)
    fixture = Fixture(run.universe, package, run.broken == "system")
    body = [] if why else list(_Script(run, fixture).lines())
    actions_source = _actions_source(run.universe) if not why else []
    system = run.universe.system
    about = f"A run of `{system.name}` of {system.module}, on the generated classes."
    head = [
        mark(system.module),
        *docstring("\n\n".join([about, *run.shows])),
        "",
        "from __future__ import annotations",
        "",
    ]
    lines = [*head, "import pytest", *([""] if body else []), *folded(fixture.imports.lines()), *actions_source, "", ""]
    if why:
        lines += folded([f"@pytest.mark.skip(reason={literal(why)})"])
    lines += [f"def test_{run.name}() -> None:", *indented(docstring(" ".join(_steps(run)) or "Nothing happens.", 1))]
    return "\n".join([*lines, *indented(folded(body, 1)), ""])


def impossible(run: Run) -> str | None:
    """Why generated classes cannot show what a run shows, if they cannot."""
    if run.universe.fault is not None:
        return "an initial value is impossible: there is no system to begin with"
    last = run.moments[-1].step if run.moments else None
    if isinstance(last, CrashStep) and last.writes > 0:
        return "it ends with a crash in the middle of a step; a generated step is saved whole, and cannot be cut"
    return None


def _steps(run: Run) -> Iterator[str]:
    before = run.universe.start
    for n, x in enumerate(run.moments):
        yield f"{n + 1}. {describe(run.universe, x.step, before)}{'.' if n + 1 == len(run.moments) else ','}"
        before = x.world


def _actions_source(universe: Universe) -> list[str]:
    """The classes that stand for hand-written code, if machines call for actions."""
    if not any(x.actions for x in universe.machines):
        return []
    return [line for x in (NoAnswer, Actions) for line in ("", "", *getsource(x).rstrip().splitlines())]


# The steps -----------------------------------------------------------------------------------------------------------


class _Script:
    """The body of the test; meanwhile, what the generated system has in its channels and in its outbox."""

    def __init__(self, run: Run, fixture: Fixture) -> None:
        self.run, self.fixture = run, fixture
        self.universe = run.universe
        self.messages: dict[int, list[Message]] = {}
        """Of each queue, as the generated one lists them: `step` keeps a bag in an order of its own."""
        self.outbox: list[tuple[int, bool]] = []
        """Actions called for and not handed over, by instance. True: its answer is awaited, and hand-written code
        breaks off."""
        self.awaited: int | None = None
        """The instance of the action that is handed over and whose answer everything waits for."""

    def lines(self) -> Iterator[str]:
        world = self.universe.start
        yield from self.fixture.construction(world)
        for n, moment in enumerate(self.run.moments):
            yield ""
            if n == self.run.loop:
                yield "# Repeated forever from here:"
            yield comment(f"{n + 1}. {describe(self.universe, moment.step, world)}")
            yield from self._moment(moment, world)
            world = moment.world
        yield from ["", *self._end(world)]

    def _moment(self, moment: Moment, before: World) -> Iterator[str]:
        step, fault = moment.step, moment.fault
        if isinstance(step, CrashStep) and step.writes > 0:
            self._forget(())
            yield "# A generated step is saved whole and cannot be cut. As after a restart, everything is made anew, as"
            yield "# this crash leaves it."
            yield from self.fixture.construction(moment.world)
            return
        call = self._call(step, before)
        if fault is not None:
            yield from _raises(self.fixture.machinery(EXCEPTIONS[fault.kind]), call)
            return
        self._note(step, moment.cascade, before)
        yield from _raises("NoAnswer", call) if self._breaks_off() else [call]
        if isinstance(step, CrashStep):
            yield from (self._clear_tickets(x, step.of) for x in self.fixture.ticketed())
        yield from self._changes(before, moment.world)

    def _call(self, step: Step, before: World) -> str:
        fixture = self.fixture
        match step:
            case EventStep(instance, event, arguments):
                machine = self.universe.machines[instance]
                pairs = zip(machine.event_named[event].parameters, arguments, strict=True)
                method = fixture.names(instance).events[event]
                return (
                    f"{fixture.variables[instance]}.{method}({', '.join(fixture.value(p.type, x) for p, x in pairs)})"
                )
            case OutcomeStep(instance, action, outcome):
                method = fixture.names(instance).answers[(action, outcome)]
                return f"{fixture.variables[instance]}.{method}({self._ticket(instance, action)})"
            case TimerStep(instance, transition):
                machine = self.universe.machines[instance]
                name = literal(timer_name(machine, machine.transitions[transition]))
                return f"system._ring({fixture.variables[instance]}, {name})"
            case ChannelStep(kind, queue):
                return f"{fixture.queues[queue]}.{kind}({self._position(step, before)})"
            case CrashStep(of=of):
                return f"system.crash({', '.join(fixture.variables[n] for n in of)})"
            case RecoverStep():
                return "system.recover()"
            case _:
                assert_never(step)

    def _ticket(self, instance: int, action: str) -> str:
        machine = self.universe.machines[instance]
        if not machine.action_named[action].asynchronous:
            return ""
        name = literal(self.fixture.names(instance).actions[action])
        return f"{self.fixture.actions(machine)}.ticket({self.fixture.variables[instance]}, {name})"

    def _place(self, step: ChannelStep, before: World) -> int:
        """Where the generated channel has the message."""
        message, channel = before.channels[step.queue][step.position], self.universe.queues[step.queue].channel
        return self.messages[step.queue].index(message) if channel.order == "bag" else step.position

    def _position(self, step: ChannelStep, before: World) -> str:
        channel = self.universe.queues[step.queue].channel
        place = self._place(step, before)
        return "" if place == 0 or (step.kind == "deliver" and channel.order == "fifo") else str(place)

    # What is going on meanwhile

    def _forget(self, of: Sequence[int]) -> None:
        """What a crash takes: of some instances what they have called for, of all everything."""
        if not of:
            self.messages.clear()
        self.outbox = [x for x in self.outbox if of and x[0] not in of]
        self.awaited = self.awaited if of and self.awaited not in of else None

    def _clear_tickets(self, actions: str, of: Sequence[int]) -> str:
        if not of:
            return f"{actions}.tickets.clear()"
        instances = tuple_of([self.fixture.variables[n] for n in of])
        return f"{actions}.tickets = {{k: x for k, x in {actions}.tickets.items() if k[0] not in {instances}}}"

    def _note(self, step: Step, cascade: Sequence[TraceEvent], before: World) -> None:
        """What a step does to channels and outbox."""
        if isinstance(step, ChannelStep):
            messages, place = self.messages[step.queue], self._place(step, before)
            messages[place : place + 1] = [messages[place]] * 2 if step.kind == "duplicate" else []
        if isinstance(step, OutcomeStep) and step.instance == self.awaited:
            self.awaited = None
        for x in cascade:
            match x:
                case Posted(_, _, int(queue), event, arguments):
                    self.messages.setdefault(queue, []).append(Message(event, arguments))
                case Requested(instance, name):
                    action = self.universe.machines[instance].action_named[name]
                    self.outbox.append((instance, bool(action.outcomes) and not action.asynchronous))
                case Crashed(of):
                    self._forget(of)
                case _:
                    pass

    def _breaks_off(self) -> bool:
        """Hands over what is in the outbox, up to the first action whose answer is awaited."""
        while self.outbox and self.awaited is None:
            instance, awaited = self.outbox.pop(0)
            self.awaited = instance if awaited else None
            if awaited:
                return True
        return False

    # What is asserted

    def _changes(self, before: World, after: World) -> Iterator[str]:
        for n, (old, new) in enumerate(zip(before.states, after.states, strict=True)):
            if old != new:
                yield self._state(n, new)
            for f, x, y in zip(self.universe.machines[n].fields, before.fields[n], after.fields[n], strict=True):
                if x != y:
                    yield _same(self.fixture.field(n, f), y, self.fixture.value(f.type, y))
        for n, (messages, now) in enumerate(zip(before.channels, after.channels, strict=True)):
            if messages != now:
                yield self._contents(n)
        if before.down != after.down:
            yield f"assert system.down is {after.down}"

    def _state(self, n: int, state: str) -> str:
        return f"assert {self.fixture.variables[n]}.state is {self.fixture.state(n, state)}"

    def _contents(self, queue: int) -> str:
        expected = (f"({literal(x.event)}, {self._arguments(queue, x)})" for x in self.messages.get(queue, ()))
        actual = f"[(x.event, x.arguments) for x in {self.fixture.queues[queue]}.messages]"
        return f"assert {actual} == [{', '.join(expected)}]"

    def _arguments(self, queue: int, message: Message) -> str:
        receiver = self.universe.machines[self.universe.queues[queue].receiver]
        parameters = receiver.event_named[message.event].parameters
        values = [self.fixture.value(p.type, x) for p, x in zip(parameters, message.arguments, strict=True)]
        return tuple_of(values)

    def _end(self, world: World) -> Iterator[str]:
        fault = self.run.moments[-1].fault if self.run.moments else None
        ending = "At the end"
        if fault is not None:
            ending = "The step that fails has not happened"
        elif self.run.loop is not None:
            ending = f"And so on from step {self.run.loop + 1}, for everything is as it was before that"
        yield comment(f"{ending}.")
        yield from (comment(x) for x in self.run.shows if fault is None)
        for n, state in enumerate(world.states):
            yield self._state(n, state)
            for f, x in zip(self.universe.machines[n].fields, world.fields[n], strict=True):
                yield _same(self.fixture.field(n, f), x, self.fixture.value(f.type, x))
        yield from (self._contents(n) for n in range(len(self.universe.queues)))
        if self.run.broken is not None:
            yield from self._broken(world, None if self.run.broken == "system" else self.run.broken)

    def _broken(self, world: World, instance: int | None) -> Iterator[str]:
        """The classes report the first invariant that does not hold."""
        owner = self.universe.system if instance is None else self.universe.machines[instance]
        call = f"{'checked' if instance is None else self.fixture.variables[instance]}.check_invariants()"
        for x in owner.invariants:
            try:
                if holds(self.universe, world, x.condition, instance=instance):
                    continue
            except FaultError as error:
                yield from _raises(self.fixture.machinery(EXCEPTIONS[error.fault.kind]), call)
                return
            yield from _raises(self.fixture.machinery("InvariantBroken"), call, " as broken")
            yield f"assert broken.value.name == {literal(x.name)}"
            return


def _raises(exception: str, call: str, name: str = "") -> list[str]:
    return [f"with pytest.raises({exception}){name}:", f"    {call}"]


def _same(what: str, value: Value, text: str) -> str:
    alone = value is None or isinstance(value, bool)
    return f"assert {what} {'is' if alone else '=='} {text}"
