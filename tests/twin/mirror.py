"""Generated classes in the place of a system's instances, seen through the values of `fsmdsl.step`."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from fsmdsl import classes as emit
from fsmdsl import model as m
from fsmdsl.classes.context import Context
from fsmdsl.classes.replays.fixture import construction_order
from fsmdsl.classes.systems import attribute_names
from fsmdsl.classes.traits import connected, timer_name
from fsmdsl.step import (
    ChannelStep,
    CrashStep,
    EventStep,
    OutcomeStep,
    RecordValue,
    RecoverStep,
    Step,
    TimerStep,
    Universe,
    Value,
    World,
)
from fsmdsl.step.data import Table
from fsmdsl.step.instances import Queue
from fsmdsl.step.values import default, keys

EXCEPTIONS = {
    "unhandled": "UnhandledEvent", "overlap": "Overlap", "reentrance": "ReentrantEvent", "busy": "Busy",
    "none": "MissingReference", "range": "OutOfRange", "overflow": "Full", "endless": "EndlessRound", "lost": "Lost",
}  # fmt: skip
"""What the generated code raises for each kind of fault."""


class UnansweredError(Exception):
    """Hand-written code that breaks off before it has answered."""


class Packages:
    """The packages of a model, written to a folder and imported from there."""

    def __init__(
        self, model: m.Model, folder: Path, name: str, dialect: Literal["classes", "transitions"] = "classes"
    ) -> None:
        self.context = Context(model, dialect)
        self.name = name
        written = emit.python if dialect == "classes" else emit.transitions
        for module in model.modules:
            for path, text in written(model, module.name).items():
                file = folder / name / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))

    def module(self, *path: str) -> ModuleType:
        return import_module(".".join((self.name, *path)))

    def machinery(self, module: str) -> ModuleType:
        return self.module(*self.context.home(module), "machinery")

    def of(self, qualified: str, file: str) -> ModuleType:
        return self.module(*self.context.packages[qualified.rpartition(".")[0]].folder, file)


class Translation:
    """Values of `step` as generated code has them, and back."""

    packages: Packages
    context: Context
    universe: Universe
    made: list[Any]

    def table(self) -> Any:
        """The class of maps."""
        home = self.context.home(self.universe.system.module)
        name = "machinery" if self.context.dialect == "classes" else "support"
        return self.packages.module(*home, name).__dict__["Table"]

    def python(self, t: m.Type, value: Value) -> Any:
        """A value of `step` as the generated code has it."""
        match t, value:
            case _, None:
                return None
            case m.OptionalType(of), _:
                return self.python(of, value)
            case m.RefType(), int():
                return self.made[value]
            case m.DurationType(), int():
                return value / 1000
            case m.EnumType(machine=machine), str() if machine:
                of = self.context.machine(machine)
                return self.packages.of(machine, "states").__dict__[of.states_class][of.states[value]]
            case m.EnumType(name=name), str():
                names = self.context.packages[name.rpartition(".")[0]]
                class_ = self.packages.of(name, "values").__dict__[names.types[name]]
                return class_[names.members[(name, value)]]
            case m.RecordType(name=name, parts=parts), RecordValue(values):
                names = self.context.packages[name.rpartition(".")[0]]
                given = {
                    names.parts[name, part]: self.python(of, x) for (part, of), x in zip(parts, values, strict=True)
                }
                return self.packages.of(name, "values").__dict__[names.types[name]](**given)
            case m.SetType(of), frozenset():
                return frozenset(self.python(of, x) for x in value)
            case m.ListType(of=of), tuple():
                return tuple(self.python(of, x) for x in value)
            case m.MapType(key, of), Table(entries):
                rest = entries[0][1] if entries else default(of, self.universe)
                others = {self.python(key, k): self.python(of, x) for k, x in entries if x != rest}
                return self.table()(self.python(of, rest), others)
            case _:
                return value

    def value(self, t: m.Type, found: Any) -> Value:
        """The way back."""
        match t:
            case _ if found is None:
                return None
            case m.OptionalType(of):
                return self.value(of, found)
            case m.RefType():
                return int(self.made.index(found))
            case m.DurationType():
                seconds: float = found
                return round(seconds * 1000)
            case m.EnumType(machine=machine) if machine:
                return str(found.value)
            case m.EnumType(name=name, members=members):
                names = self.context.packages[name.rpartition(".")[0]].members
                return next(x for x in members if names[(name, x)] == found.name)
            case m.RecordType(name=name, parts=parts):
                names = self.context.packages[name.rpartition(".")[0]].parts
                return RecordValue(tuple(self.value(of, getattr(found, names[name, part])) for part, of in parts))
            case m.SetType(of):
                return frozenset(self.value(of, x) for x in found)
            case m.ListType(of=of):
                return tuple(self.value(of, x) for x in found)
            case m.MapType(key, of):
                known = keys(t, self.universe)
                return Table(tuple((k, self.value(of, found[self.python(key, k)])) for k in known))
            case _:
                assert isinstance(found, bool | int | str)
                return found


class Mirror(Translation):
    """A system of generated classes, with the numbers and names that `step` uses."""

    def __init__(self, packages: Packages, universe: Universe) -> None:
        self.packages, self.context, self.universe = packages, packages.context, universe
        self.calls: list[tuple[int, str, tuple[Value, ...]]] = []
        self.answers: deque[str] = deque()
        self.tickets: dict[tuple[int, str], int] = {}
        self.made: list[Any] = []
        self.system = self._system()
        self.made += [None] * len(universe.machines)
        for n in construction_order(universe, universe.start):
            self.made[n] = self._instance(n)
        if self.system is not None:
            self.system._renumber(*(x for x in self.made if hasattr(x, "_system")))
        for n in range(len(universe.machines)):
            self._connect(n)
        self.queues = [self._queue(x) for x in universe.queues]
        self.view = self._view()
        self.followed: list[tuple[int, str]] = []
        for x in [self.system] if self.system is not None else []:
            x.listen(self._note)
        for x in self.made:
            if not hasattr(x, "_system"):
                x.listen(self._note)

    def _note(self, step: Any) -> None:
        self.followed += [(self.made.index(x.machine), x.label) for x in step]

    # Making

    def _system(self) -> Any:
        module = self.universe.system.module
        if not self.context.traits(module).systems:
            return None
        support = self.packages.machinery(module)
        return support.System(support.VirtualClock()) if self.context.traits(module).timers else support.System()

    def _instance(self, n: int) -> Any:
        machine = self.universe.machines[n]
        names = self.context.machine(machine.qualified)
        given: list[Any] = []
        if not self.context.standalone(machine):
            given = [self.system, *([Recorder(self, machine)] if machine.actions else [])]
        keywords = {names.values[f.name]: self.python(f.type, v) for f, v in self._fields(n) if self._known(v, f.type)}
        late = {p.name for p in _connected(self.context, machine)}
        for p in machine.params:
            value = self.universe.params[n][p.name]
            if self._known(value, p.type):
                keywords[names.values[p.name]] = self.python(p.type, value)
            elif p.name not in late:
                keywords[names.values[p.name]] = self.python(p.type, default(p.type, self.universe))
        states = self.packages.of(machine.qualified, "states").__dict__[names.states_class]
        state = states(self.universe.start.states[n])
        return self.packages.of(machine.qualified, names.file).__dict__[names.class_](*given, state=state, **keywords)

    def _fields(self, n: int) -> Iterator[tuple[m.Field, Value]]:
        return zip(self.universe.machines[n].fields, self.universe.start.fields[n], strict=True)

    def _known(self, value: Value, t: m.Type) -> bool:
        """Have all instances that a value mentions been made?"""
        return all(self.made[x] is not None for x in _numbers(value, t))

    def _connect(self, n: int) -> None:
        machine = self.universe.machines[n]
        names = self.context.machine(machine.qualified)
        params = [(p, self.universe.params[n][p.name]) for p in machine.params]
        late = _connected(self.context, machine)
        for p, value in params:
            if p not in late:
                setattr(self.made[n], names.slot(p.name), self.python(p.type, value))
        for f, value in self._fields(n):
            setattr(self.made[n], names.slot(f.name), self.python(f.type, value))
        if hasattr(self.made[n], "_first"):
            reset = (f for f, _ in self._fields(n) if not f.durable)
            self.made[n]._first = tuple(getattr(self.made[n], names.values[f.name]) for f in reset)
        if late:
            keywords = {names.values[p.name]: self.python(p.type, value) for p, value in params if p in late}
            self.made[n].connect(**keywords)

    def _queue(self, x: Queue) -> Any:
        class_ = self.context.packages[x.channel.module].channels[x.channel.qualified]
        ends = (self.made[n] for n in (x.sender, x.receiver) if n is not None)
        return self.packages.of(x.channel.qualified, "channels").__dict__[class_](self.system, *ends)

    def _view(self) -> Any:
        """The system's own class, if it has one and this is no scenario's system."""
        system = self.universe.system
        names = self.context.packages[system.module].systems
        if system.qualified not in names or not (system.invariants or system.recover is not None):
            return None
        class_ = self.packages.of(system.qualified, "systems").__dict__[names[system.qualified]]
        called = attribute_names(system)
        groups = {called[g.name]: self._group(g) for g in system.groups}
        return class_(self.system, **groups)

    def _group(self, g: m.InstanceGroup) -> Any:
        found = [x for x, i in zip(self.made, self.universe.system.instances, strict=True) if i.group == g.name]
        return found[0] if g.single else found

    # Looking

    def world(self) -> World:
        """What the generated system looks like."""
        fields = []
        for machine, made in zip(self.universe.machines, self.made, strict=True):
            names = self.context.machine(machine.qualified).values
            fields.append(tuple(self.value(f.type, getattr(made, names[f.name])) for f in machine.fields))
        waited = frozenset(n for n, x in enumerate(self.made) if not getattr(x, "_wait", True))
        channels = tuple(
            self._messages(x.channel, made) for x, made in zip(self.universe.queues, self.queues, strict=True)
        )
        pending = getattr(self.system, "_pending", ())
        return World(
            tuple(x.state.value for x in self.made),
            tuple(fields),
            waited,
            channels,
            tuple((self.made.index(r.machine), r.action) for r in pending),  # type: ignore[misc]
            getattr(self.system, "down", False),
        )

    def _messages(self, channel: m.Channel, queue: Any) -> Any:
        held = tuple((x.event, self._arguments(channel, x)) for x in queue.messages)
        return held if channel.order == "fifo" else frozenset((x, held.count(x)) for x in held)

    def _arguments(self, channel: m.Channel, message: Any) -> tuple[Value, ...]:
        event = self.context.model.machines[channel.receiver].event_named[message.event]
        return tuple(self.value(p.type, x) for p, x in zip(event.parameters, message.arguments, strict=True))

    def expected(self, world: World) -> World:
        """A world as `world` shows it: a bag has no order, and who never reads `wait` never has it false."""
        channels = tuple(
            held if c.order == "fifo" else frozenset((x, held.count(x)) for x in held)
            for (c, *_), held in zip(self.universe.queues, world.channels, strict=True)
        )
        waited = frozenset(n for n in world.waited if hasattr(self.made[n], "_wait"))
        return world._replace(channels=channels, waited=waited)  # type: ignore[arg-type]

    def broken(self) -> list[str]:
        """Of each machine, and of the system, the first invariant that does not hold or cannot be decided."""
        found = []
        for n, x in enumerate([*self.made, *([self.view] if self.view is not None else [])]):
            try:
                x.check_invariants() if hasattr(x, "check_invariants") else None
            except Exception as error:
                found.append(f"{n} {getattr(error, 'name', None) or type(error).__name__}")
        return found

    def timers(self) -> set[tuple[int, str]]:
        """The timers that run."""
        running = getattr(self.system, "_timers", {})
        return {(self.made.index(x), name) for x, name in running}

    def expected_timers(self, world: World) -> set[tuple[int, str]]:
        """Those that should."""
        return {
            (n, timer_name(x, t))
            for n, x in enumerate(self.universe.machines)
            for t in x.transitions
            if isinstance(t.trigger, m.OnTimer) and t.source in set(x.ancestors(world.states[n]))
        }

    def restored(self) -> Mirror:
        """Another mirror, made from this one's snapshots as JSON."""
        other = Mirror(self.packages, self.universe)
        if self.system is not None:
            other.system.restore(json.loads(json.dumps(self.system.snapshot())))
        for mine, its in zip(self.made, other.made, strict=True):
            if not hasattr(mine, "_system"):
                its.restore(json.loads(json.dumps(mine.snapshot())))
        return other

    # Acting

    def take(self, step: Step) -> None:
        """A step of `step`, done with the generated code."""
        try:
            self._take(step)
        finally:
            pending = getattr(self.system, "_pending", ())
            self.tickets = {(self.made.index(r.machine), r.action): r.ticket for r in reversed(pending)}

    def can(self, step: EventStep) -> bool | None:
        """Does a system say that an event can happen? None where a machine stands alone."""
        if not hasattr(self.made[step.instance], "_system"):
            return None
        method, given = self._call(step)
        return bool(self.system.can(method, *given))

    def _call(self, step: EventStep) -> tuple[Callable[..., None], list[Any]]:
        machine = self.universe.machines[step.instance]
        types = [p.type for p in machine.event_named[step.event].parameters]
        given = [self.python(t, x) for t, x in zip(types, step.arguments, strict=True)]
        return getattr(self.made[step.instance], self.context.machine(machine.qualified).events[step.event]), given

    def _take(self, step: Step) -> None:
        match step:
            case EventStep():
                method, given = self._call(step)
                method(*given)
            case OutcomeStep(instance, action, outcome):
                machine = self.universe.machines[instance]
                method = self.context.machine(machine.qualified).answers[(action, outcome)]
                asynchronous = machine.action_named[action].asynchronous
                getattr(self.made[instance], method)(*([self.tickets[(instance, action)]] if asynchronous else []))
            case TimerStep(instance, transition):
                machine = self.universe.machines[instance]
                name = timer_name(machine, machine.transitions[transition])
                self.system._ring(self.made[instance], name)
            case ChannelStep():
                self._transmit(step)
            case CrashStep(None, 0, of):
                self.system.crash(*(self.made[n] for n in of))
            case RecoverStep():
                self.system.recover()
            case _:
                raise TypeError(step)

    def _transmit(self, step: ChannelStep) -> None:
        getattr(self.queues[step.queue], step.kind)(*self.position)

    position: tuple[int, ...] = ()
    """Where in the generated channel the message of the next `ChannelStep` is."""

    def locate(self, world: World, step: Step) -> None:
        """Finds the message of a `ChannelStep`: a bag has an order of its own in `step`."""
        if isinstance(step, ChannelStep):
            channel = self.universe.queues[step.queue].channel
            message = world.channels[step.queue][step.position]
            held = [(x.event, self._arguments(channel, x)) for x in self.queues[step.queue].messages]
            position = held.index(message) if channel.order == "bag" else step.position
            self.position = () if step.kind == "deliver" and channel.order == "fifo" else (position,)

    def called(self, machine: m.Machine, method: str, given: tuple[Any, ...]) -> str | None:
        """What hand-written code does: it makes a note, and answers as it was told to."""
        names = self.context.machine(machine.qualified).actions
        action = next(a for a in machine.actions if names[a.name] == method)
        instance, *arguments = given
        number = self.made.index(instance)
        if action.asynchronous:
            arguments.pop(0)
        values = tuple(self.value(p.type, x) for p, x in zip(action.parameters, arguments, strict=True))
        self.calls.append((number, action.name, values))
        if not action.outcomes or action.asynchronous:
            return None
        if not self.answers:
            raise UnansweredError
        return self.answers.popleft()


class Recorder:
    """The actions of one machine."""

    def __init__(self, mirror: Mirror, machine: m.Machine) -> None:
        self._mirror, self._machine = mirror, machine

    def __getattr__(self, name: str) -> Any:
        return lambda *given: self._mirror.called(self._machine, name, given)


def _connected(context: Context, machine: m.Machine) -> tuple[m.Param, ...]:
    return connected(context.model, machine)


def _numbers(value: Value, t: m.Type) -> Iterator[int]:
    match t, value:
        case m.RefType(), int():
            yield value
        case m.OptionalType(of), x if x is not None:
            yield from _numbers(x, of)
        case ((m.SetType(of) | m.ListType(of=of)), (frozenset() | tuple())):
            for x in value:
                yield from _numbers(x, of)
        case m.RecordType(parts=parts), RecordValue(values):
            for (_, of), x in zip(parts, values, strict=True):
                yield from _numbers(x, of)
        case m.MapType(key, of), Table(entries):
            for k, x in entries:
                yield from _numbers(x, of)
                if x != entries[0][1]:  # as `python` makes it: a key with the value of most is not written
                    yield from _numbers(k, key)
        case _:
            return
