"""Compares core statements, as `core_interpreter` runs them, with the definition of the language, step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from itertools import product
from math import prod
from random import Random
from typing import Any

from core_interpreter import (
    CutError,
    FaultError,
    Instance,
    Interpreter,
    QueueOfChannel,
    Record,
    Roster,
    Step,
    Table,
    World,
)

from fsmdsl import model as m
from fsmdsl import step
from fsmdsl.core import statements as s
from fsmdsl.core.elaborate import Elaboration
from fsmdsl.core.translate import Context, all_procedures, translate
from fsmdsl.step import (
    ChannelStep,
    CrashStep,
    EventStep,
    Fault,
    GuardsSeen,
    OutcomeStep,
    RecordValue,
    RecoverStep,
    TimerStep,
    TooManyValuesError,
    Universe,
)
from fsmdsl.step import data as step_data
from fsmdsl.step.values import cardinality
from fsmdsl.step.world import Crashed

RENAMED = {"Down": "IsDown"}
"""Causes of the definition that have another name in core statements."""
STEPS: Mapping[str, Any] = {x.__name__: x for x in (EventStep, OutcomeStep, TimerStep, ChannelStep)}
MAX_STARTS = 2000
"""First worlds are compared if there are no more than this."""
MAX_STEPS = 30
"""Of more steps in a state, a sample is taken."""

# From the definition -------------------------------------------------------------------------------------------------


def plain(v: Any) -> Any:
    """A value as the interpreter has it."""
    match v:
        case RecordValue(parts):
            return Record(tuple(map(plain, parts)))
        case step_data.Table(entries):
            return Table(tuple((plain(k), plain(x)) for k, x in entries))
        case frozenset():
            return frozenset(map(plain, v))
        case tuple():
            return tuple(map(plain, v))
        case _:
            return v


def fault_of(fault: Fault | None) -> Any:
    """A fault with all its data."""
    if fault is None:
        return None
    data: list[Any] = []
    for x in (getattr(fault.cause, f.name) for f in fields(fault.cause)):
        data += [x.kind, plain(x.value), x.low, x.high] if isinstance(x, step_data.Misfit) else [plain(x)]
    name = type(fault.cause).__name__
    return RENAMED.get(name, name), tuple(data), fault.instance, fault.span


def happening(h: step.Happening) -> Any:
    """What happened, as the interpreter notes it."""
    if isinstance(h, Crashed):
        return "Crashed", frozenset(h.of) or None
    return (type(h).__name__, *(plain(getattr(h, f.name)) for f in fields(h)))


def roster(model: m.Model, system: m.System) -> Roster:
    """What the system consists of, read from the model."""
    numbers: dict[str | None, list[int]] = {}
    for n, x in enumerate(system.instances):
        numbers.setdefault(x.machine, []).append(n)
    machines = [model.machines[x] for x in numbers if x is not None]
    queues: list[QueueOfChannel] = []
    for name in system.channels:
        c = model.channels[name]
        events = {e.name: tuple(p.type for p in e.parameters) for e in model.machines[c.receiver].events}
        for to in numbers.get(c.receiver, []):
            for sender in numbers.get(c.sender, []) if c.sender is not None else [None]:
                ends = (sender, to) if sender is not None else (to,) if c.each else ()
                queues.append(QueueOfChannel(name, ends, c.order == "fifo", events))
    blocking = {(x.qualified, a.name) for x in machines for a in x.actions if not a.asynchronous}
    return Roster(
        tuple(Instance(x.machine, x.group) for x in system.instances),
        tuple(queues),
        frozenset(blocking),
        {x.qualified: {f.name: f.type for f in x.fields} for x in machines},
        {x.qualified: {p.name: p.type for p in x.params} for x in machines},
    )


# Both ----------------------------------------------------------------------------------------------------------------


class Pair:
    """Both readings of a system; with `fused`, of one whose steps are taken where they are offered."""

    def __init__(self, model: m.Model, system: m.System, *, fused: bool = False) -> None:
        self.model, self.system, self.fused = model, system, fused
        self.universe = Universe(model, system)
        self.conditions: dict[str, tuple[str, m.Expr]] = {}
        for x in system.invariants:
            self.conditions[x.name] = "", x.condition
        for machine in dict.fromkeys(self.universe.machines):
            for x in machine.invariants:
                self.conditions[f"{machine.qualified}: {x.name}"] = machine.qualified, x.condition
        program = translate(model, system, conditions=self.conditions)
        if fused:
            program = all_procedures(Context(Elaboration(model, system), fused=True))
        self.interpreter = Interpreter(program, roster(model, system))
        self.names = [[f.name for f in x.fields] for x in self.universe.machines]

    # Beginning

    def begin(self, random: Random) -> list[str]:
        """Differences between the first worlds. Afterwards, the parameters are those of the interpreter."""
        try:
            starts = self.universe.starts
        except TooManyValuesError:
            self.interpreter.initial = self.world(self.universe.start).fields
            self._first_world(())
            return []
        found = [x.key() for x in self._starts()] if self._ways() <= MAX_STARTS else None
        wanted = [self.world(x).key() for x in starts]
        differences = [] if found in (None, wanted) else [f"first worlds {found}\n   not {wanted}"]
        unoffered = self._first_world(())[1]
        if not self.universe.free and not self.system.start_when:
            fault = unoffered[0] if unoffered else None
            if fault != fault_of(self.universe.fault):
                differences.append(f"first fault {fault}\n   not {fault_of(self.universe.fault)}")
        params = [{k: plain(v) for k, v in x.items()} for x in self.universe.params]
        if self.interpreter.params != params:
            differences.append(f"parameters {self.interpreter.params}\n   not {params}")
        self.interpreter.initial = self.world(self.universe.start).fields
        return differences

    def _free(self) -> list[tuple[int, str | None, tuple[Any, ...]]]:
        """What begins with any value: by instance and field, the values; no field: the state."""
        free: list[tuple[int, str | None, tuple[Any, ...]]] = []
        for n, x in enumerate(self.system.instances):
            if x.states:
                free.append((n, None, x.states))
            for f in self.model.machines[x.machine].fields:
                if x.begins_with_any(f):
                    free.append((n, f.name, self.interpreter.domain(f.type)))
        return free

    def _ways(self) -> int:
        """How many first worlds there are, without `start when`."""
        counts = [cardinality(f.type, self.universe) for f in self._free_fields()]
        return prod(counts) * prod(len(x.states) or 1 for x in self.system.instances)

    def _free_fields(self) -> Iterator[m.Field]:
        for x in self.system.instances:
            yield from (f for f in self.model.machines[x.machine].fields if x.begins_with_any(f))

    def _starts(self) -> Iterator[World]:
        free = self._free()
        for chosen in product(*(values for _, _, values in free)):
            world, _ = self._first_world([(n, name, v) for (n, name, _), v in zip(free, chosen, strict=True)])
            if self.interpreter.run(world, s.Name("may begin"))[1]:
                yield world

    def _first_world(self, chosen: Any) -> tuple[World, list[Any]]:
        i = self.interpreter
        states = [x.state for x in self.system.instances]
        data = [i.defaults(i.roster.fields[x.machine]) for x in self.system.instances]
        i.params = [i.defaults(i.roster.params[x.machine]) for x in self.system.instances]
        for n, name, value in chosen:
            if name is None:
                states[n] = value
            else:
                data[n][name] = value
        world = World(states, data, set(), [() for _ in i.roster.queues], [], False)
        return world, i.run(world, s.Name("begin"))[0].unoffered

    # Steps

    def world(self, w: step.World) -> World:
        """A world as the interpreter has it."""
        data = [dict(zip(names, map(plain, x), strict=True)) for names, x in zip(self.names, w.fields, strict=True)]
        channels = [tuple((x.event, plain(x.arguments)) for x in c) for c in w.channels]
        pending = [(p.instance, p.action) for p in w.pending]
        timers = {(n, t.index) for n, x in enumerate(w.states) for t in self.universe.timers(n, x)}
        return World(list(w.states), data, set(w.waited), channels, pending, w.down, timers)

    def take(self, w: World, x: step.Step, so_far: Step) -> None:
        """Takes a step. Raises `FaultError`, `CutError`."""
        run, whose = self.interpreter.run, self.universe.machines
        match x:
            case EventStep(instance, event, arguments):
                run(w, s.Name("event", whose[instance].qualified, event), (instance, *plain(arguments)), so_far)
            case OutcomeStep(instance, action, outcome):
                run(w, s.Name("answer", whose[instance].qualified, f"{action}.{outcome}"), (instance,), so_far)
            case TimerStep(instance, transition):
                run(w, s.Name("tick", whose[instance].qualified, f"{transition}"), (instance,), so_far)
            case ChannelStep(kind, queue, position):
                channel, receiver, sender = self.universe.queues[queue]
                ends = (receiver,) if sender is None else (sender, receiver)
                name: Any = f"{kind} message"
                run(w, s.Name(name, channel.qualified), (*ends, position), so_far)
            case RecoverStep():
                run(w, s.Name("recover"), (), so_far)
            case CrashStep(of=of) if of:
                run(w, s.Name("crash alone"), (frozenset(of),), so_far)
            case CrashStep(inside, writes):
                if inside is not None and writes > 0:
                    so_far.cut_after = writes
                    with suppress(CutError):
                        self.take(w, inside, so_far)
                so_far.cut_after = None
                run(w, s.Name("crash"), (), so_far)

    def compare_step(self, w: step.World, x: step.Step, count: Counter[str]) -> tuple[step.World | None, list[str]]:
        """The next world, if there is one, and all differences."""
        seen: GuardsSeen = set()
        result = step.fire(self.universe, w, x, seen)
        mine, so_far, fault = self.world(w), Step(), None
        try:
            self.take(mine, x, so_far)
        except FaultError as error:
            fault = error.fault
        wanted = fault_of(result.fault)
        count[f"step {kind(x)}"] += 1
        if wanted is not None:
            count[f"fault {wanted[0]}"] += 1
        pairs: Mapping[str, tuple[Any, Any]] = {
            "fault": (fault, wanted),
            "happenings": ([h for h in so_far.happenings if h[0] != "GuardSeen"], list(map(happening, result.cascade))),
            "guards": (guards(so_far), seen),
        }
        if fault is None and wanted is None:
            theirs = self.world(result.world)
            pairs = {**pairs, "world": (mine.key(), theirs.key()), "timers": (mine.timers, theirs.timers)}
        differences = [f"{x}: {what} {a}\n   not {b}" for what, (a, b) in pairs.items() if a != b]
        return (None if result.fault is not None else result.world), differences

    # Offers

    def compare_offers(self, w: step.World) -> tuple[list[step.Step], list[str]]:
        """The steps that can come next, and all differences. Raises `TooManyValuesError`."""
        seen: GuardsSeen = set()
        steps = step.enabled(self.universe, w, seen)
        unoffered = list(map(fault_of, step.unoffered(self.universe, w)))
        so_far, _ = self.interpreter.run(self.world(w), s.Name("offers"))
        looked_at = guards(so_far)
        offered = list(dict.fromkeys(self.offered(w, so_far, looked_at)))
        pairs = {
            "offers": (offered, list(map(as_plain, steps))),
            "unoffered": (list(dict.fromkeys(so_far.unoffered)), unoffered),
            # Where steps are taken at once, a step evaluates more guards than tell whether it is offered.
            "guards of offers": (seen if self.fused else looked_at, seen),
        }
        return steps, [f"{what} {a}\n   not {b}" for what, (a, b) in pairs.items() if a != b]

    def offered(self, w: step.World, so_far: Step, seen: GuardsSeen) -> Iterator[step.Step]:
        """As steps of the definition. How many writes a step has is found by taking it."""
        steps: list[step.Step] = []
        for name, *data in so_far.offers:
            match name, *data:
                case "EventStep" | "OutcomeStep" | "TimerStep" | "ChannelStep", *_:
                    x = STEPS[name](*data)
                    if (name, *data) not in so_far.tentative or self.follows(w, x):
                        steps.append(x)
                        yield x
                case "CrashStep", of:
                    yield CrashStep(of=tuple(sorted(of)))
                case ("RecoverStep",):
                    yield RecoverStep()
                case "SystemCrash", "anywhere":
                    yield CrashStep()
                case "SystemCrash", "between writes":
                    for x in steps:
                        yield from (CrashStep(x, n) for n in range(1, self.writes(w, x, seen)))
                case "SystemCrash", "during recovery":
                    x = RecoverStep()
                    yield from (CrashStep(x, n) for n in range(max(self.writes(w, x, seen), 1)))
                case _:
                    raise TypeError(name)

    def follows(self, w: step.World, x: step.Step) -> bool:
        """Does a step follow a transition, or ignore a message on purpose?"""
        so_far = Step()
        try:
            self.take(self.world(w), x, so_far)
        except FaultError as error:
            if error.fault[0] not in ("Unhandled", "NoTimer"):
                return True
        happenings = {h[0] for h in so_far.happenings}
        return "Followed" in happenings or ("Ignored" in happenings and isinstance(x, ChannelStep))

    def writes(self, w: step.World, x: step.Step, seen: GuardsSeen) -> int:
        """How many writes a step has; none if it fails."""
        so_far = Step()
        try:
            self.take(self.world(w), x, so_far)
        except FaultError:
            so_far.cuts = 0
        seen |= guards(so_far)
        return so_far.cuts

    # Conditions

    def compare_conditions(self, w: step.World) -> list[str]:
        """Whether invariants hold in a world; one without a value does not."""
        differences = []
        for name, (machine, e) in self.conditions.items():
            for instance in sorted(self.universe.instances_of(machine)) if machine else [None]:
                arguments = () if instance is None else (instance,)
                found = self.interpreter.run(self.world(w), s.Name("holds", machine, name), arguments)[1]
                try:
                    wanted = step.holds(self.universe, w, e, instance=instance)
                except step.FaultError:
                    wanted = False
                if found != wanted:
                    differences.append(f"{name} of {instance}: {found}, not {wanted}")
        return differences


def guards(so_far: Step) -> GuardsSeen:
    """The guards that a step has looked at, and what they were."""
    return {(h[1], h[2], h[3]) for h in so_far.happenings if h[0] == "GuardSeen"}


def as_plain(x: step.Step) -> step.Step:
    """A step with values as the interpreter has them."""
    match x:
        case EventStep(instance, event, arguments):
            return EventStep(instance, event, plain(arguments))
        case CrashStep(inside, writes, of) if inside is not None:
            return CrashStep(as_plain(inside), writes, of)
        case _:
            return x


def kind(x: step.Step) -> str:
    """What a step is counted as."""
    match x:
        case ChannelStep(kind=channel_kind):
            return f"channel {channel_kind}"
        case CrashStep(inside, _, of):
            return "crash alone" if of else "crash" if inside is None else f"crash inside {kind(inside)}"
        case _:
            return type(x).__name__


# Steps that need not be enabled --------------------------------------------------------------------------------------


def odd_steps(pair: Pair, random: Random) -> Iterator[step.Step]:
    """A few steps of any kind, some with arguments that do not fit."""
    u = pair.universe
    n = random.randrange(len(u.machines))
    machine = u.machines[n]
    if machine.events:
        event = random.choice(machine.events)
        yield EventStep(n, event.name, tuple(some_value(u, p.type, random, fits=False) for p in event.parameters))
    outcomes = [(a.name, o) for a in machine.actions for o in a.outcomes]
    if outcomes:
        yield OutcomeStep(n, *random.choice(outcomes))
    timers = [t.index for t in machine.transitions if isinstance(t.trigger, m.OnTimer)]
    if timers:
        yield TimerStep(n, random.choice(timers))
    if u.queues:
        queue = random.randrange(len(u.queues))
        c = u.queues[queue].channel
        kinds = ["deliver", *["lose"] * c.lossy, *["duplicate"] * c.duplicating]
        kind_: Any = random.choice(kinds)
        yield ChannelStep(kind_, queue, random.randrange(3))
    everyone = tuple(range(len(u.machines)))
    others: list[step.Step] = [RecoverStep(), CrashStep(), CrashStep(of=(n,)), CrashStep(of=everyone)]
    yield random.choice(others)


def some_value(u: Universe, t: m.Type, random: Random, *, fits: bool) -> Any:
    """A value of a type; or, now and then, one that does not fit."""

    def inner(of: m.Type) -> Any:
        return some_value(u, of, random, fits=fits)

    match t:
        case m.RangeType(low, high):
            return random.randint(low, high) if fits else random.randint(low - 2, high + 2)
        case m.OptionalType(of):
            return None if random.random() < 0.4 else inner(of)
        case m.RefType(machine):
            instances: list[Any] = sorted(u.instances_of(machine))
            return random.choice([*instances, *[None] * (not fits or not instances)])
        case m.SetType(of):
            return frozenset(inner(of) for _ in range(random.randrange(3)))
        case m.ListType(of, bound):
            return tuple(inner(of) for _ in range(random.randrange(bound + 1 if fits else bound + 2)))
        case m.RecordType(parts=parts):
            return RecordValue(tuple(some_value(u, of, random, fits=True) for _, of in parts))
        case m.EnumType(members=members):
            return random.choice(members)
        case m.BoolType():
            return random.random() < 0.5
        case m.MapType():
            return step.values.filled(t, some_value(u, t.of, random, fits=True), u)
        case _:
            return step.values.default(t, u)


# A system ------------------------------------------------------------------------------------------------------------


def compare(
    model: m.Model,
    system: m.System,
    states: int,
    random: Random,
    count: Counter[str] | None = None,
    *,
    fused: bool = False,
) -> list[str]:
    """Differences in a system, explored breadth first up to a number of states: how it begins, which steps each state
    offers, and what these steps lead to; unless `fused`, some others, too, and whether invariants hold."""
    count = Counter() if count is None else count
    pair = Pair(model, system, fused=fused)
    differences = pair.begin(random)
    if pair.universe.fault is not None:
        count["systems that cannot begin"] += 1
        return differences
    try:
        waiting = list(pair.universe.starts[:states])
    except TooManyValuesError:
        waiting = [pair.universe.start]
    seen = set(waiting)
    for w in waiting:
        if len(differences) > 2:
            break
        count["states"] += 1
        try:
            steps, found = pair.compare_offers(w)
        except TooManyValuesError:
            count["states with too many values"] += 1
            continue
        differences += found + ([] if fused else pair.compare_conditions(w))
        others = [] if fused else [x for x in odd_steps(pair, random) if x not in steps]
        count["steps not enabled"] += len(others)
        chosen = steps if len(steps) <= MAX_STEPS else random.sample(steps, MAX_STEPS)
        for x in [*chosen, *others]:
            after, found = pair.compare_step(w, x, count)
            differences += found
            if after is not None and after not in seen and len(seen) < states:
                seen.add(after)
                waiting.append(after)
    count.update(f"statement {x.__name__}" for x in pair.interpreter.executed)
    return differences
