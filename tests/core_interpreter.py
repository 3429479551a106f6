"""An interpreter of core statements, which knows the nodes and nothing else of the language.

`Interpreter.run` executes a procedure on a world, which it changes. Nothing of `step` is used here: `core_comparison`
compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from itertools import combinations, product
from typing import Any, assert_never

from fsmdsl.core import statements as s
from fsmdsl.model import types as t

Value = Any
Environment = dict[str, Value]


class FaultError(Exception):
    """A step fails: the name of the cause, its data, the instance, the place in the text."""

    def __init__(self, cause: str, data: tuple[Value, ...], instance: int | None, location: Value) -> None:
        super().__init__(cause)
        self.fault = cause, data, instance, location


class CutError(Exception):
    """A step is cut short by a crash."""


class Signal(Enum):
    """How a block ends early."""

    LEAVE = "leave"
    RETURN = "return"


# The system and its world --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """The value of a record."""

    parts: tuple[Value, ...]


@dataclass(frozen=True)
class Table:
    """The value of a map: its entries, in the order of the keys."""

    entries: tuple[tuple[Value, Value], ...]


@dataclass(frozen=True)
class Instance:
    machine: str
    group: str


@dataclass(frozen=True)
class QueueOfChannel:
    """A queue, by the ends that tell it from others of its channel; the events of its messages, with the types of their
    parameters."""

    channel: str
    ends: tuple[int, ...]
    fifo: bool
    events: Mapping[str, Sequence[t.Type]]


@dataclass(frozen=True)
class Roster:
    """What a system consists of."""

    instances: Sequence[Instance]
    queues: Sequence[QueueOfChannel]
    blocking: frozenset[tuple[str, str]]
    """The actions, by machine, for whose answer the whole system waits."""
    fields: Mapping[str, Mapping[str, t.Type]]
    params: Mapping[str, Mapping[str, t.Type]]


Message = tuple[str, tuple[Value, ...]]


@dataclass
class World:
    """Everything that can change."""

    states: list[str]
    fields: list[dict[str, Value]]
    waited: set[int]
    channels: list[tuple[Message, ...]]
    pending: list[tuple[int, str]]
    down: bool
    timers: set[tuple[int, int]] = field(default_factory=set)
    """The timers that run, by instance and transition."""

    def key(self) -> tuple[Value, ...]:
        """What tells it from other worlds between steps."""
        data = tuple(tuple(x.values()) for x in self.fields)
        channels, pending = tuple(self.channels), tuple(self.pending)
        return tuple(self.states), data, frozenset(self.waited), channels, pending, self.down


@dataclass
class Step:
    """What a step has come to, while it is under way."""

    cut_after: int | None = None
    busy: set[int] = field(default_factory=set)
    touched: set[int] = field(default_factory=set)
    chosen: dict[int, int | None] = field(default_factory=dict)
    worlds: set[Value] = field(default_factory=set)
    cuts: int = 0
    happenings: list[tuple[Value, ...]] = field(default_factory=list)
    offers: list[tuple[Value, ...]] = field(default_factory=list)
    tentative: set[tuple[Value, ...]] = field(default_factory=set)
    unoffered: list[tuple[Value, ...]] = field(default_factory=list)


# Values --------------------------------------------------------------------------------------------------------------


def rank(of: t.Type, v: Value) -> Any:
    """A key that sorts the values of a type."""
    match of:
        case t.OptionalType(inner):
            return (0,) if v is None else (1, rank(inner, v))
        case t.EnumType(members=members):
            return members.index(v)
        case t.RecordType(parts=parts):
            return tuple(rank(x, y) for (_, x), y in zip(parts, v.parts, strict=True))
        case t.SetType(inner) | t.ListType(inner):
            return tuple(rank(inner, x) for x in in_order(of, v))
        case t.MapType(of=inner):
            return tuple(rank(inner, x) for _, x in v.entries)
        case t.NoneType() | t.NeverType() | t.ErrorType():
            return 0
        case _:
            return v


def in_order(of: t.Type, v: Value) -> Sequence[Value]:
    """The members of a set in their order, those of a list as they are."""
    if isinstance(v, tuple):
        return v
    inner = t.element_of(of)
    return sorted(v, key=lambda x: rank(inner, x))


NUMBERS: Mapping[str, Callable[[Any, Any], Value]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "union": lambda a, b: a | b,
    "difference": lambda a, b: a - b,
    "intersection": lambda a, b: a & b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "in": lambda a, b: a in b,
}
ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


class Interpreter:
    """Runs the procedures of a system."""

    def __init__(self, program: s.Program, roster: Roster) -> None:
        self.program, self.roster = program, roster
        self.queues = {(x.channel, x.ends): n for n, x in enumerate(roster.queues)}
        self.params: list[dict[str, Value]] = [self.defaults(roster.params[i.machine]) for i in roster.instances]
        self.initial: list[dict[str, Value]] = [self.defaults(roster.fields[i.machine]) for i in roster.instances]
        self.executed: set[type] = set()
        """The kinds of statements that have been executed."""

    # Running

    def run(
        self, world: World, name: s.Name, arguments: Sequence[Value] = (), step: Step | None = None
    ) -> tuple[Step, Value]:
        """Changes the world. Raises `FaultError`, and `CutError` at the cut. A step may go on that has been cut."""
        self.world, self.step = world, step or Step()
        self.derived: dict[Value, Value] = {}
        return self.step, self.call(name, arguments)

    def call(self, name: s.Name, arguments: Sequence[Value]) -> Value:
        """What a procedure returns."""
        procedure = self.program.procedures[name]
        names = [x.name for x in procedure.parameters]
        env = dict(zip(names, arguments, strict=True))
        self.result: Value = None
        self.block(procedure.body, env)
        result, self.result = self.result, None
        return result

    def block(self, block: s.Block, env: Environment) -> Signal | None:
        """Executes statements, up to one that ends the block early."""
        for x in block:
            signal = self.execute(x, env)
            if signal is not None:
                return signal
        return None

    def execute(self, x: s.Statement, env: Environment) -> Signal | None:
        """Executes a statement that decides what comes next; others are changes."""
        self.executed.add(type(x))
        match x:
            case s.Let(variable=variable, value=value) | s.Set(variable=variable, value=value):
                env[variable.name] = self.value(value, env)
            case s.Require(condition, fault):
                if not self.value(condition, env):
                    self.fail(fault, env)
            case s.Fail(fault):
                self.fail(fault, env)
            case s.If(condition, then, otherwise):
                return self.block(then if self.value(condition, env) else otherwise, env)
            case s.Each(variable, over, body):
                return self.loop(variable, in_order(over.type, self.value(over, env)), lambda _: body, env)
            case s.EachPending(variable, actions):
                bodies = {(a.machine, a.action): a.body for a in actions}
                for instance, action in self.answerable():
                    env[variable.name] = instance
                    self.block(bodies[self.machine(instance), action], env)
            case s.Repeat(body):
                return self.loop(None, iter(int, 1), lambda _: body, env)
            case s.Leave():
                return Signal.LEAVE
            case s.Call(procedure, arguments, into):
                given = [self.value(y, env) for y in arguments]
                result = self.let(procedure, tuple(given)) if procedure.kind == "let" else self.call(procedure, given)
                if into is not None:
                    env[into.name] = result
            case s.CallOn(kind, instance, into):
                at = self.value(instance, env)
                result = self.call(s.Name(kind, self.machine(at)), (at,))
                if into is not None:
                    env[into.name] = result
            case s.Return(value):
                self.result = None if value is None else self.value(value, env)
                return Signal.RETURN
            case s.Attempt(body, otherwise):
                try:
                    return self.block(body, env)
                except FaultError as error:
                    self.failed = error.fault
                return self.block(otherwise, env)
            case _:
                self.change(x, env)
        return None

    def loop(
        self, variable: s.Variable | None, values: Any, body: Callable[[Value], s.Block], env: Environment
    ) -> Signal | None:
        """A turn for each value."""
        for v in values:
            if variable is not None:
                env[variable.name] = v
            signal = self.block(body(v), env)
            if signal is Signal.LEAVE:
                return None
            if signal is not None:
                return signal
        return None

    # Changes

    def change(self, x: s.Change | s.Progress | s.Note | s.Offer | s.Unoffered, env: Environment) -> None:
        """Executes a statement that changes the world or the step."""
        self.derived.clear()
        world, step = self.world, self.step
        match x:
            case s.Write(kind, owner, name, value):
                data = world.fields if kind == "field" else self.params
                data[self.value(owner, env)][name] = self.value(value, env)
            case s.Enter(instance, leaf):
                world.states[self.value(instance, env)] = leaf
            case s.Cut():
                step.cuts += 1
                if step.cuts == step.cut_after:
                    raise CutError
            case s.Arm(instance, transition):
                world.timers.add((self.value(instance, env), transition))
            case s.Disarm(instance, transition):
                world.timers.discard((self.value(instance, env), transition))
            case s.Put() | s.Drop() | s.Duplicate() | s.DropAll():
                self.change_queue(x, env)
            case s.Await(instance, action):
                world.pending.append((self.value(instance, env), action))
            case s.Answered(instance, action):
                world.pending.remove((self.value(instance, env), action))
            case s.Forget(instance):
                at = self.value(instance, env)
                world.pending = [p for p in world.pending if p[0] != at]
            case s.Mark(flag, instance, on):
                flags, at = self.flags(flag), self.value(instance, env)
                flags.add(at) if on else flags.discard(at)
            case s.Choose(instance, transition):
                step.chosen[self.value(instance, env)] = transition
            case s.SetDown(down):
                world.down = down
            case s.Progress(fault, limit):
                if world.key() in step.worlds or len(step.worlds) >= limit:
                    self.fail(fault, env)
                step.worlds.add(world.key())
            case s.Note(happening):
                step.happenings.append(self.data(happening, env))
            case s.Offer(offer, tentative):
                step.offers.append(self.data(offer, env))
                if tentative:
                    step.tentative.add(step.offers[-1])
            case s.Unoffered():
                step.unoffered.append(self.failed)
            case _:
                assert_never(x)

    def change_queue(self, x: s.Put | s.Drop | s.Duplicate | s.DropAll, env: Environment) -> None:
        """Messages come and go."""
        channels = self.world.channels
        if isinstance(x, s.DropAll):
            self.world.channels = [() for _ in channels]
            return
        n = self.queue(x.queue, env)
        held = channels[n]
        match x:
            case s.Put(_, event, arguments):
                message = event, tuple(self.value(y, env) for y in arguments)
                held = (*held, message)
                channels[n] = held if self.roster.queues[n].fifo else tuple(sorted(held, key=self.message_order(n)))
            case s.Drop(_, position):
                k = self.value(position, env)
                channels[n] = held[:k] + held[k + 1 :]
            case s.Duplicate(_, position):
                k = self.value(position, env)
                channels[n] = (*held[:k], held[k], *held[k:])
            case _:
                assert_never(x)

    def message_order(self, n: int) -> Callable[[Message], Any]:
        """By event as declared, then by arguments."""
        events = self.roster.queues[n].events
        places = list(events)

        def key(message: Message) -> Any:
            event, given = message
            return (places.index(event), *(rank(of, v) for of, v in zip(events[event], given, strict=True)))

        return key

    # Faults, happenings, steps that are offered: the class's name and its data

    def fail(self, fault: s.Fault, env: Environment) -> None:
        """Ends the step."""
        cause, *data = self.data(fault.cause, env)
        raise FaultError(cause, tuple(data), self.value(fault.instance, env), self.value(fault.location, env))

    def data(self, x: s.Cause | s.Happening | s.Step, env: Environment) -> tuple[Value, ...]:
        """The values of the expressions in a node."""
        if isinstance(x, s.Overlap):
            tied = tuple(n for n, best in x.candidates if self.value(best, env))
            return "Overlap", tied, self.value(x.state, env)
        return (type(x).__name__, *(self.datum(getattr(x, f.name), env) for f in fields(x)))

    def datum(self, x: Any, env: Environment) -> Value:
        """The value of what is in such a node."""
        if isinstance(x, s.Queue):
            return self.queue(x, env)
        if isinstance(x, tuple):
            return tuple(self.datum(y, env) for y in x)
        return self.value(x, env) if isinstance(x, s.Expr) else x

    # What is asked of the world

    def machine(self, instance: int) -> str:
        """The machine of an instance."""
        return self.roster.instances[instance].machine

    def flags(self, flag: s.FlagName) -> set[int]:
        """The instances that are marked."""
        return {"busy": self.step.busy, "touched": self.step.touched, "waited": self.world.waited}[flag]

    def queue(self, x: s.Queue, env: Environment) -> int:
        """The number of a queue."""
        return self.queues[x.channel, tuple(self.value(y, env) for y in x.ends)]

    def message(self, x: s.IsMessage | s.Argument, env: Environment) -> Message:
        """The message at a position."""
        return self.world.channels[self.queue(x.queue, env)][self.value(x.position, env)]

    def blocker(self) -> tuple[int, str] | None:
        """The first pending action that blocks the system."""
        return next((p for p in self.world.pending if (self.machine(p[0]), p[1]) in self.roster.blocking), None)

    def answerable(self) -> list[tuple[int, str]]:
        """The pending actions that can be answered now."""
        first = self.blocker()
        return list(dict.fromkeys(self.world.pending)) if first is None else [first]

    # Expressions

    def value(self, x: s.Expr, env: Environment) -> Value:
        """The value of an expression."""
        match x:
            case s.Variable(name):
                return env[name]
            case s.Constant(value):
                return value
            case s.Read(kind, owner, name):
                data = {"field": self.world.fields, "param": self.params, "initial": self.initial}[kind]
                return data[self.value(owner, env)][name]
            case s.InState(owner, leaves):
                at = self.value(owner, env)
                return at is not None and self.world.states[at] in leaves
            case s.Not(operand):
                return not self.value(operand, env)
            case s.Binary():
                return self.binary(x, env)
            case s.Logic(operator, operands):
                truths = (self.value(y, env) for y in operands)
                return all(truths) if operator == "and" else any(truths)
            case s.Apply():
                return self.apply(x, env)
            case s.Conditional(condition, then, otherwise):
                return self.value(then if self.value(condition, env) else otherwise, env)
            case s.Quantifier():
                return self.quantifier(x, env)
            case s.Derived(let, arguments):
                return self.let(let, tuple(self.value(y, env) for y in arguments))
            case s.Collection(kind, items):
                members = tuple(self.value(y, env) for y in items)
                return frozenset(members) if kind == "set" else members
            case s.Record(parts):
                return Record(tuple(self.value(y, env) for y in parts))
            case s.Part(of, name):
                assert isinstance(of.type, t.RecordType)
                return self.value(of, env).parts[[y for y, _ in of.type.parts].index(name)]
            case s.Negative(operand):
                return -self.value(operand, env)
            case s.Location(span):
                return span
            case s.Instances(kind, name):
                return frozenset(n for n, y in enumerate(self.roster.instances) if self.belongs(y, kind, name))
            case _:
                return self.query(x, env)

    def query(self, x: s.Query, env: Environment) -> Value:
        """What is asked of instances, of the step under way, and of queues."""
        pending = self.world.pending
        match x:
            case s.State(owner):
                return self.world.states[self.value(owner, env)]
            case s.Flag(flag, instance):
                return self.value(instance, env) in self.flags(flag)
            case s.Flagged(flag):
                return frozenset(self.flags(flag))
            case s.Depth():
                return len(self.step.busy)
            case s.Down():
                return self.world.down
            case s.Waits(instance):
                at = self.value(instance, env)
                return any(y == at for y, _ in pending)
            case s.Awaited(instance):
                at = self.value(instance, env)
                return next(action for y, action in pending if y == at)
            case s.IsPending(instance, action):
                return (self.value(instance, env), action) in pending
            case s.Blocker():
                first = self.blocker()
                return None if first is None else first[0]
            case s.Blocks(instance, machine, action):
                at = self.value(instance, env)
                return self.machine(at) == machine and self.blocker() == (at, action)
            case s.Chosen(instance, transition):
                return self.step.chosen[self.value(instance, env)] == transition
            case s.Length(queue):
                return len(self.world.channels[self.queue(queue, env)])
            case s.IsMessage(event=event):
                return self.message(x, env)[0] == event
            case s.Argument(number=number):
                return self.message(x, env)[1][number]
            case s.IsRepeated(queue, position):
                held, k = self.world.channels[self.queue(queue, env)], self.value(position, env)
                return k > 0 and held[k - 1] == held[k]
            case _:
                assert_never(x)

    def let(self, name: s.Name, given: tuple[Value, ...]) -> Value:
        """What a `let` is worth; computed once while nothing changes."""
        key = name, given
        if key not in self.derived:
            self.derived[key] = self.call(name, given)
        return self.derived[key]

    @staticmethod
    def belongs(x: Instance, kind: str, name: str) -> bool:
        """Is an instance one of a group, of a machine, or of the system?"""
        return kind == "system" or name == (x.machine if kind == "machine" else x.group)

    def binary(self, x: s.Binary, env: Environment) -> Value:
        """What an operator gives."""
        left, right = self.value(x.left, env), self.value(x.right, env)
        if x.operator in ORDERS:
            return ORDERS[x.operator](rank(x.left.type, left), rank(x.left.type, right))
        return NUMBERS[x.operator](left, right)

    def quantifier(self, x: s.Quantifier, env: Environment) -> Value:
        """In the order of what it goes through, and no further than needed."""
        members = in_order(x.over.type, self.value(x.over, env))
        found: Iterator[bool] = (self.value(x.body, {**env, x.variable.name: v}) for v in members)
        match x.kind:
            case "all":
                return all(found)
            case "some":
                return any(found)
            case "count":
                return sum(found)
            case _:
                assert_never(x.kind)

    def apply(self, x: s.Apply, env: Environment) -> Value:
        """What a function gives."""
        given = [self.value(y, env) for y in x.arguments]
        first: Any = given[0] if given else None
        of = x.arguments[0].type if given else x.type
        match x.function:
            case "present":
                return first
            case "size":
                return len(first)
            case "min":
                return min(given, key=lambda v: rank(x.type, v))
            case "max":
                return max(given, key=lambda v: rank(x.type, v))
            case "first":
                return in_order(of, first)[0]
            case "rest":
                return first[1:]
            case "item" if isinstance(first, Table):
                return next(v for k, v in first.entries if k == given[1])
            case "item":
                return in_order(of, first)[given[1]]
            case "replaced":
                return Table(tuple((k, given[2] if k == given[1] else v) for k, v in first.entries))
            case "filled":
                assert isinstance(x.type, t.MapType)
                return Table(tuple((k, first) for k in self.domain(x.type.key)))
            case "concat":
                return first + given[1]
            case "range":
                return frozenset(range(first, given[1] + 1))
            case "subsets":
                return frozenset(map(frozenset, combinations(first, given[1]))) if given[1] >= 0 else frozenset()
            case "add":
                return first | {given[1]} if isinstance(first, frozenset) else (*first, given[1])
            case "remove" if isinstance(first, frozenset):
                return first - {given[1]}
            case "remove":
                at = first.index(given[1]) if given[1] in first else len(first)
                return first[:at] + first[at + 1 :]
            case "domain":
                return frozenset(self.domain(t.element_of(x.type)))
            case _:
                assert_never(x.function)

    # Types

    def domain(self, of: t.Type) -> tuple[Value, ...]:
        """All values of a type, in order."""
        return tuple(sorted(self.all_values(of), key=lambda v: rank(of, v)))

    def all_values(self, of: t.Type) -> Iterator[Value]:
        """The same, in any order."""
        match of:
            case t.BoolType():
                yield from (False, True)
            case t.RangeType(low, high):
                yield from range(low, high + 1)
            case t.EnumType(members=members):
                yield from members
            case t.RefType(machine):
                yield from (n for n, x in enumerate(self.roster.instances) if x.machine == machine)
            case t.RecordType(parts=parts):
                yield from map(Record, product(*(self.domain(x) for _, x in parts)))
            case t.OptionalType(inner):
                yield from (None, *self.domain(inner))
            case t.SetType(inner):
                members = self.domain(inner)
                yield from (frozenset(x) for k in range(len(members) + 1) for x in combinations(members, k))
            case t.ListType(inner, bound):
                yield from (x for k in range(bound + 1) for x in product(self.domain(inner), repeat=k))
            case t.MapType(key, inner):
                keys = self.domain(key)
                lists = product(self.domain(inner), repeat=len(keys))
                yield from (Table(tuple(zip(keys, x, strict=True))) for x in lists)
            case t.DurationType() | t.OpaqueType() | t.NoneType() | t.ErrorType():
                yield self.default(of)
            case t.NeverType():
                pass
            case _:
                assert_never(of)

    def default(self, of: t.Type) -> Value:
        """The value that a type begins with."""
        match of:
            case t.BoolType():
                return False
            case t.RangeType(low, high):
                return min(max(low, 0), high)
            case t.DurationType():
                return 0
            case t.EnumType(members=members, first=first):
                return members[first]
            case t.OpaqueType(name):
                return name
            case t.RecordType(parts=parts):
                return Record(tuple(self.default(x) for _, x in parts))
            case t.SetType():
                return frozenset()
            case t.ListType():
                return ()
            case t.MapType(key, inner):
                return Table(tuple((k, self.default(inner)) for k in self.domain(key)))
            case t.RefType() | t.OptionalType() | t.NoneType() | t.NeverType() | t.ErrorType():
                return None
            case _:
                assert_never(of)

    def defaults(self, places: Mapping[str, t.Type]) -> dict[str, Value]:
        """Of several fields or parameters."""
        return {name: self.default(of) for name, of in places.items()}
