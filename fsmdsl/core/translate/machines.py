"""What an instance does with events, outcomes and crashes: which transition it follows, and what following one does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core.selection import Level, Move, Selection
from fsmdsl.core.translate.context import (
    FALSE,
    TRUE,
    Builder,
    Context,
    Scope,
    all_of,
    any_of,
    compared,
    instance_of,
    leaf,
    negated,
    of_machine,
    state,
)
from fsmdsl.core.translate.effects import perform
from fsmdsl.core.translate.expressions import condition
from fsmdsl.core.triggers import CRASH, EVENTLESS, triggered_by
from fsmdsl.dataclasses import replace
from fsmdsl.model.depth import DEEPEST_CASCADE, LONGEST_ROUND

Then = Callable[[m.Transition, str], None]
"""Writes what is done with a transition that has been selected, from a leaf and from all in which it does the same."""

LOCATION = s.Variable("location", m.NEVER)
"""The parameter of a procedure whose fault is located where it is called."""

# Handling an event ---------------------------------------------------------------------------------------------------


def admit(context: Context, machine: m.Machine, event: m.Event) -> s.Procedure:
    """Requires that an instance is free for an event: it is not in the middle of its own transition, nor of too many
    others, and waits for no answer."""
    b, instance = Builder(), instance_of(machine)

    def require(free: s.Expr, cause: s.Cause) -> None:
        b.add(s.Require(free, s.Fault(cause, instance, LOCATION)))

    require(negated(s.Flag("busy", instance)), s.Reentrance(event.name))
    require(compared(s.Depth(), "<=", DEEPEST_CASCADE), s.Nested(event.name, DEEPEST_CASCADE))
    if is_awaitable(machine):
        require(negated(s.Waits(instance)), s.Waiting(event.name, s.Awaited(instance)))
    return context.define(s.Name("admit", machine.qualified, event.name), (instance, LOCATION), b)


def is_awaitable(machine: m.Machine) -> bool:
    """Can an instance wait for an answer?"""
    return any(a.outcomes for a in machine.actions)


def handle(context: Context, machine: m.Machine, trigger: str) -> s.Procedure:
    """Follows the transition of an event or outcome, or ignores it on purpose. What is neither is a fault."""
    b = Builder()
    scope, event = of_machine(context, b, machine), machine.event_named.get(trigger)
    arguments = () if event is None else b.parameters(event.parameters)
    location = b.variable(LOCATION.name, LOCATION.type)

    def then(t: m.Transition, leaf: str) -> None:
        b.add(s.Call(follow(context, machine, t, leaf).name, (scope.self, *arguments)), s.Return())

    handled = by_state(scope, trigger, arguments, then)
    ignored = frozenset(x.state for x in machine.ignores if x.event == trigger)
    if ignored:
        with b.when(s.InState(scope.self, ignored)):
            b.add(s.Note(s.Ignored(scope.self, trigger, arguments)), s.Return())
    guarded = s.InState(scope.self, handled) if handled else FALSE
    cause = s.Unhandled(trigger, state(machine, scope.self), guarded)
    b.add(s.Fail(s.Fault(cause, scope.self, location)))
    return context.define(s.Name("handle", machine.qualified, trigger), (instance_of(machine), *arguments, location), b)


# Choosing ------------------------------------------------------------------------------------------------------------


def by_state(scope: Scope, trigger: str, arguments: Sequence[s.Expr], then: Then) -> frozenset[str]:
    """In each leaf, what is done with the transition that a trigger selects there. Where it selects none, the procedure
    continues. The leaves in which there are candidates."""
    assert scope.machine is not None
    groups = scope.context.selection(scope.machine).groups(trigger)
    for group in groups:
        with scope.builder.when(s.InState(scope.self, frozenset(group.leaves))):
            choose(scope, group.levels, group.leaves[0], arguments, then)
    return frozenset(x for group in groups for x in group.leaves)


def choose(scope: Scope, levels: Sequence[Level], leaf: str, arguments: Sequence[s.Expr], then: Then) -> None:
    """The transition to follow: of the innermost level with an enabled one, the one that has priority.

    All guards of a level are evaluated before any is followed. Two that are left are the fault `overlap`.
    """
    assert scope.machine is not None
    b, priority = scope.builder, scope.context.selection(scope.machine).priority
    for level in levels:
        guards = [guard(scope, t, arguments) for t in level]
        best: list[s.Expr] = []
        for t, enabled in zip(level, guards, strict=True):
            beaten = any_of([g for other, g in zip(level, guards, strict=True) if priority.before(other, t)])
            best.append(b.temporary(all_of([enabled, negated(beaten)]), "best"))
        if priority.circular(level):
            with b.when(negated(any_of(best))):  # each enabled one gives way to another: all of them are left
                for n in reversed(range(len(level))):
                    _require_alone(scope, level, guards, n, negated(guards[n]))
        for n in range(len(level) - 1, 0, -1):
            _require_alone(scope, level, best, n, negated(all_of([best[n], any_of(best[:n])])))
        for t, first in zip(level, best, strict=True):
            with b.when(first):
                then(t, leaf)
            if first == TRUE:
                return
        if TRUE in guards:
            return


def _require_alone(scope: Scope, level: Level, best: Sequence[s.Expr], n: int, alone: s.Expr) -> None:
    """Requires that the transition at a place of a level is not the last of several that are enabled."""
    assert scope.machine is not None
    candidates = tuple((t.index, x) for t, x in zip(level, best, strict=True))
    scope.require(alone, s.Overlap(candidates, state(scope.machine, scope.self)), level[n].span)


def guard(scope: Scope, t: m.Transition, arguments: Sequence[s.Expr]) -> s.Expr:
    """Does the guard of a transition hold, for the arguments of its event?"""
    if t.guard is None:
        return TRUE
    assert scope.machine is not None
    holds = scope.builder.temporary(condition(bound(scope, t, arguments), t.guard), "guard")
    scope.builder.add(s.Note(s.GuardSeen(scope.machine.qualified, t.index, holds)))
    return holds


def bound(scope: Scope, t: m.Transition, arguments: Sequence[s.Expr]) -> Scope:
    """The same place, with the names that a transition gives to the arguments of its event."""
    match t.trigger:
        case m.OnEvent(arguments=names) if names:
            return replace(scope, locals=dict(zip(names, arguments, strict=True)))
        case _:
            return replace(scope, locals={}) if scope.locals else scope


# Following -----------------------------------------------------------------------------------------------------------


def follow(context: Context, machine: m.Machine, t: m.Transition, leaf: str) -> s.Procedure:
    """Exit hooks, the transition's effects, the change of state, entry hooks; an internal one has effects only.

    Until the state changes, others see the source. One procedure for all leaves in which the same exit hooks run.
    """
    selection = context.selection(machine)
    move, hooks = selection.move(leaf, t), _exit_hooks(selection, leaf, t)
    subject = f"{t.index} leaving {', '.join(hooks)}" if hooks else f"{t.index}"
    name = s.Name("follow", machine.qualified, subject)
    if name in context.procedures:
        return context.procedures[name]
    b = Builder()
    scope = of_machine(context, b, machine)
    event = machine.event_named[t.trigger.event] if isinstance(t.trigger, m.OnEvent) else None
    arguments = () if event is None else b.parameters(event.parameters)
    b.add(s.Note(_followed(scope, move, arguments)))
    b.add(s.Mark("touched", scope.self, True), s.Mark("busy", scope.self, True))
    perform(scope, move.exits)
    perform(bound(scope, t, arguments), t.effects)
    same = [x for x in selection.hierarchy.inside[t.source] if _exit_hooks(selection, x, t) == hooks]
    _stop_timers(scope, [selection.move(x, t) for x in same])
    if move.target is not None:
        b.add(s.Enter(scope.self, move.target), s.Cut())
    perform(scope, move.entries)
    _start_timers(scope, move)
    b.add(s.Mark("busy", scope.self, False))
    if not isinstance(t.trigger, m.OnEvent | m.OnTimer):
        # `wait` is true until the first transition that the round itself brings about.
        b.add(s.Mark("waited", scope.self, True))
    return context.define(name, (instance_of(machine), *arguments), b)


def _exit_hooks(selection: Selection, leaf: str, t: m.Transition) -> tuple[str, ...]:
    """The states with exit hooks that a transition leaves."""
    return tuple(x for x in selection.move(leaf, t).left if ("exit", x) in selection.hooks)


def _followed(scope: Scope, move: Move, arguments: Sequence[s.Expr]) -> s.Followed:
    assert scope.machine is not None
    before = state(scope.machine, scope.self)
    after = before if move.target is None else leaf(scope.machine, move.target)
    return s.Followed(scope.self, move.transition.index, before, after, tuple(arguments))


def _stop_timers(scope: Scope, moves: Sequence[Move]) -> None:
    """The timers of states that are left, and do not start again."""
    assert scope.machine is not None
    selection = scope.context.selection(scope.machine)
    stopped = {x.index: x for move in moves for x in selection.timers(move.left)}
    started = selection.timers(moves[0].entered)
    scope.builder.add(*(s.Disarm(scope.self, n) for n, x in stopped.items() if x not in started))


def _start_timers(scope: Scope, move: Move) -> None:
    """The timers of states that are entered; an internal transition starts its own timer again."""
    assert scope.machine is not None
    t, started = move.transition, scope.context.selection(scope.machine).timers(move.entered)
    again = (t,) if isinstance(t.trigger, m.OnTimer) and move.target is None else ()
    scope.builder.add(*(s.Arm(scope.self, x.index) for x in (*started, *again)))


def eventless(context: Context, machine: m.Machine) -> s.Procedure:
    """Follows an eventless transition, and returns whether one was enabled. A round that repeats a world is endless."""
    b = Builder()
    scope = of_machine(context, b, machine)

    def then(t: m.Transition, leaf: str) -> None:
        endless = s.Progress(scope.fault(s.EndlessRound(t.index), t.span), LONGEST_ROUND)
        b.add(s.Call(follow(context, machine, t, leaf).name, (scope.self,)), endless, s.Return(TRUE))

    by_state(scope, EVENTLESS, (), then)
    b.add(s.Return(FALSE))
    return context.define(s.Name("eventless", machine.qualified), (instance_of(machine),), b)


# Crashes -------------------------------------------------------------------------------------------------------------


def choose_crash(context: Context, machine: m.Machine) -> s.Procedure:
    """Chooses the crash transition of an instance; one in a state that does not last must have one."""
    b = Builder()
    scope = of_machine(context, b, machine)
    by_state(scope, CRASH, (), lambda t, _: b.add(s.Choose(scope.self, t.index), s.Return()))
    for x in machine.leaves:
        endurance = context.selection(machine).hierarchy.endurance(x.name)
        if endurance in ("volatile", "transient"):
            lasts = negated(s.InState(scope.self, frozenset([x.name])))
            scope.require(lasts, s.Lost(x.name, endurance), x.span)
    b.add(s.Choose(scope.self, None))
    return context.define(s.Name("choose crash", machine.qualified), (instance_of(machine),), b)


def forget(context: Context, machine: m.Machine) -> s.Procedure:
    """Fields that are not durable are as in the first world, and no timer runs."""
    b, instance = Builder(), instance_of(machine)
    b.add(*(s.Disarm(instance, t.index) for t in triggered_by(machine, m.OnTimer)))
    for f in machine.fields:
        if not f.durable:
            b.add(s.Write("field", instance, f.name, s.Read("initial", instance, f.name, f.type), f.type))
    return context.define(s.Name("forget", machine.qualified), (instance,), b)


def follow_crash(context: Context, machine: m.Machine) -> s.Procedure:
    """Follows the crash transition that has been chosen. Its effects are assignments; hooks do not run. Then the timers
    of the state start."""
    b = Builder()
    scope, selection = of_machine(context, b, machine), context.selection(machine)
    for t in triggered_by(machine, m.OnCrash):
        move = selection.move(selection.hierarchy.inside[t.source][0], t)
        with b.when(s.Chosen(scope.self, t.index)):
            b.add(s.Note(_followed(scope, move, ())))
            perform(scope, t.effects)
            if move.target is not None:
                b.add(s.Enter(scope.self, move.target))
    for t in triggered_by(machine, m.OnTimer):
        with b.when(s.InState(scope.self, frozenset(selection.hierarchy.inside[t.source]))):
            b.add(s.Arm(scope.self, t.index))
    return context.define(s.Name("follow crash", machine.qualified), (instance_of(machine),), b)
