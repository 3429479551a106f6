"""Instances that wait for each other for ever in an end state that is no deadlock, because another machine has final
states.

An instance waits where a timer, or an event that the environment may send, has a guard that is false there and that
others could make true. Machines wait for each other when each of their instances waits, and no other instance can
change what these guards read. Which machines can wait so follows from the text alone; whether they do is checked in
each end state.
"""

from __future__ import annotations

from collections.abc import Mapping

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.model.walk import effects, expressions
from fsmdsl.runs.explain import explain, free
from fsmdsl.runs.independence import Field, reads
from fsmdsl.runs.trace import Trace
from fsmdsl.step import FaultError, Universe, World
from fsmdsl.step.evaluate import Frame, truth
from fsmdsl.step.instances import Roster


@dataclass(frozen=True, slots=True)
class WaitingRows:
    """How instances of a machine can wait for others: in one of these rows, whose condition is that its source is
    active, the instance is in no resting state, and the guard is false. `any` is true of an instance for which one of
    them is."""

    rows: tuple[tuple[m.Transition, m.Expr], ...]

    @property
    def any(self) -> m.Expr:
        return m.Logic("or", tuple(condition for _, condition in self.rows))


@dataclass(frozen=True, slots=True)
class CircularWaits:
    """By machine how it can wait, and which machines can wait for each other alone, by their full names."""

    waits: Mapping[str, WaitingRows]
    circles: tuple[frozenset[str], ...]

    def waiting(self, roster: Roster, world: World) -> tuple[int, ...]:
        """The instances that wait for each other in a world in which no `may rest when` is true."""
        if any(_holds(Frame(roster, world, None), x) for x in roster.system.rests):
            return ()
        all_wait = {name: _all_wait(roster, world, name, self.waits[name]) for name in frozenset().union(*self.circles)}
        among = frozenset[str]().union(*(c for c in self.circles if all(all_wait[name] for name in c)))
        return tuple(n for n, machine in enumerate(roster.machines) if machine.qualified in among)


def describe_waiting(circular: CircularWaits, trace: Trace, count: int) -> tuple[str, ...]:
    """That instances wait for each other at the end of a run: in how many states, and who, in which state, for which
    guard."""
    many = "in an end state" if count == 1 else f"in {count:,} end states"
    lines = [f"no deadlock only because other machines have final states: {many}, instances wait for each other"]
    roster, world = trace.roster, trace.end
    waiting = circular.waiting(roster, world)
    for n in waiting:
        frame = Frame(roster, world, n)
        for t, condition in circular.waits[roster.machines[n].qualified].rows:
            if t.guard is not None and _holds(frame, condition):
                why = "; ".join(explain(frame, t.guard))
                lines.append(f"{roster.name(n)} waits in {world.states[n]} for `{t.name}`: {why}")
    names = dict.fromkeys(roster.machines[n].name for n in waiting)
    return (*lines, *(f"`property free: all x in {name}: always not stuck(x)` makes it a violation" for name in names))


NO_CIRCLE = CircularWaits({}, ())


def circular_waits(universe: Universe) -> CircularWaits:
    """Which machines of a system can wait for each other unseen: none where each or no machine has final states."""
    kinds = list({x.qualified: x for x in universe.machines}.values())
    endless = [x for x in kinds if not x.has_final]
    if len(endless) in (0, len(kinds)):
        return NO_CIRCLE
    changed = {x.qualified: _changes(universe, x) for x in kinds}
    rows_by_machine = {x.qualified: _waits(universe, x, changed) for x in endless}
    needed = {name: frozenset().union(*(need for *_, need in rows)) for name, rows in rows_by_machine.items() if rows}
    closed = {_closure(name, needed) for name in needed}
    waits = {
        name: WaitingRows(tuple((t, condition) for t, condition, _ in rows)) for name, rows in rows_by_machine.items()
    }
    circles = sorted((c for c in closed if c <= needed.keys()), key=sorted)
    return CircularWaits(waits, tuple(c for c in circles if not any(x < c for x in circles)))


# In a world ----------------------------------------------------------------------------------------------------------


def _all_wait(roster: Roster, world: World, machine: str, waits: WaitingRows) -> bool:
    return all(_holds(Frame(roster, world, n), waits.any) for n in roster.instances_of(machine))


def _holds(frame: Frame, condition: m.Expr) -> bool:
    """A guard without a value makes no instance wait."""
    try:
        return truth(frame, condition)
    except FaultError:
        return False


# In the text ---------------------------------------------------------------------------------------------------------

Changes = tuple[frozenset[Field], frozenset[Field]]
"""The fields and states that steps of a machine change: of the instance that begins the step, and by what it sends."""


def _closure(name: str, needed: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """A machine, and all that it waits for, directly or through others."""
    members, left = {name}, [name]
    while left:
        more = needed.get(left.pop(), frozenset[str]()) - members
        members |= more
        left += more
    return frozenset(members)


def _waits(
    universe: Universe, machine: m.Machine, changed: Mapping[str, Changes]
) -> list[tuple[m.Transition, m.Expr, frozenset[str]]]:
    """The rows in which a machine can wait for others, the condition of each, and the machines that can end it."""
    rows: list[tuple[m.Transition, m.Expr, frozenset[str]]] = []
    for t in machine.transitions:
        if t.guard is not None and _begins(universe, machine, t) and not _depends_on_more(t.guard):
            need = _changers(universe, machine, t.guard, changed)
            leaves = frozenset(x for x in machine.leaves_of(t.source) if not machine.state_named[x].resting)
            there = m.InState(m.Self(m.RefType(machine.qualified)), leaves, t.source)
            if need and leaves:
                rows.append((t, m.Logic("and", (there, m.Not(t.guard))), need))
    return rows


def _begins(universe: Universe, machine: m.Machine, t: m.Transition) -> bool:
    """Can a row be the first of a step, but after an answer?"""
    match t.trigger:
        case m.OnTimer():
            return True
        case m.OnEvent(event=event):
            offers = universe.system.offers
            if offers is None:
                return machine.event_named[event].from_environment
            return any((o.machine, o.event) == (machine.qualified, event) for o in offers)
        case _:
            return False


def _depends_on_more(guard: m.Expr) -> bool:
    """Does a guard read more than fields, states and parameters: arguments of its event, a channel, or `wait`?"""
    return bool(free(guard)) or any(isinstance(x, m.Wait | m.ChannelRef) for x in expressions(guard))


def _changers(universe: Universe, machine: m.Machine, guard: m.Expr, changed: Mapping[str, Changes]) -> frozenset[str]:
    """The machines of which an instance can change what a guard of another one reads."""
    fields = list(reads(universe, guard, machine.qualified))
    own = frozenset(key for key, whose in fields if whose is None)
    others = frozenset(key for key, whose in fields if whose is not None)
    changers = set[str]()
    for name, (directly, by_sending) in changed.items():
        is_other = name != machine.qualified or len(universe.instances_of(name)) > 1
        if is_other and (by_sending & (own | others) or directly & others):
            changers.add(name)
    return frozenset(changers)


def _changes(universe: Universe, machine: m.Machine) -> Changes:
    """What steps change that begin with a row of a machine; once it may rest, if it has final states."""
    final = {s.name for s in machine.leaves if s.permits_rest} if machine.has_final else set[str]()
    rows = [
        t
        for t in machine.transitions
        if _begins(universe, machine, t) and (not final or final & {*machine.leaves_of(t.source)})
    ]
    # What goes on without an event, or after an answer, belongs to the step.
    rows += [t for t in machine.transitions if rows and isinstance(t.trigger, m.Eventless | m.OnOutcome)]
    directly, sent = _effects(universe.model, machine, rows)
    return frozenset(directly), frozenset(_sent(universe.model, sent))


def _sent(model: m.Model, events: set[tuple[str, str]]) -> set[Field]:
    """What machines change when they are sent these events, and by what they send in turn."""
    fields, left, seen = set[Field](), list(events), set(events)
    while left:
        name, event = left.pop()
        machine = model.machines[name]
        rows = [
            t
            for t in machine.transitions
            if isinstance(t.trigger, m.Eventless | m.OnOutcome)
            or (isinstance(t.trigger, m.OnEvent) and t.trigger.event == event)
        ]
        changed, sent = _effects(model, machine, rows)
        fields |= changed
        left += sent - seen
        seen |= sent
    return fields


def _effects(model: m.Model, machine: m.Machine, rows: list[m.Transition]) -> tuple[set[Field], set[tuple[str, str]]]:
    """What rows of a machine change of their own instance, and the events that they send, also through channels, by
    machine."""
    moves = any(t.target is not None for t in rows)
    blocks = [*(t.effects for t in rows), *(h.effects for h in machine.hooks if moves)]
    all_effects = [x for block in blocks for x in effects(block)]
    changed = {(machine.qualified, x.name) for x in all_effects if isinstance(x, m.Write)}
    sent = {(x.machine, x.event) for x in all_effects if isinstance(x, m.Send)}
    sent |= {(model.channels[x.channel].receiver, x.event) for x in all_effects if isinstance(x, m.Post)}
    return changed | ({(machine.qualified, "")} if moves else set()), sent
