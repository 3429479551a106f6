"""What machines do with events, answers and time: one function for each, as in `step.cascade.handle` and `choose`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import groupby
from operator import neg

from fsmdsl import model as m
from fsmdsl.core.selection import Level
from fsmdsl.core.triggers import EVENTLESS
from fsmdsl.program.builder import Builder, Inside, function, rows
from fsmdsl.program.builder import numbers as parameters
from fsmdsl.program.nodes import TRUE, Choice, Expr, Function, Int, Not, Var, all_of, any_of
from fsmdsl.search.layout import WAIT, awaitable
from fsmdsl.search.lower import tally
from fsmdsl.search.lower.context import AT, STATE, Bits, Context, F, Fail, Scope, T
from fsmdsl.search.lower.fault_codes import IGNORED, UNHANDLED
from fsmdsl.search.lower.machines.effects import check_free, perform, wrote
from fsmdsl.search.lower.values import masks
from fsmdsl.search.lower.values.expressions import in_leaves, value

Follow = Callable[[Scope, m.Transition, str], None]
"""Writes what following a transition from a leaf does."""


def machine_scope(context: Context, machine: m.Machine, builder: Builder) -> Scope:
    """Inside a function about the instance `at` of a machine: a fault is its result."""
    return Scope(context, builder, T, AT, machine, Fail(lambda code: builder.return_(context.code(code))))


def read_state(scope: Scope, machine: m.Machine) -> None:
    """`state`: the leaf in which the instance `at` is."""
    scope.builder.set(STATE, scope.at(scope.context.column(machine.qualified, ""), AT))


def handler(context: Context, machine: m.Machine, trigger: str, name: str) -> Function:
    """The function for an event (`take`) or an answer (`deploy.ok`)."""
    b = Builder()
    scope = machine_scope(context, machine, b)
    event = machine.event_named.get(trigger)
    parameters = () if event is None else event.parameters
    arguments = [f"a{n}" for n in range(len(parameters))]
    if event is not None:
        check_free(scope, machine, AT, neg)
    by_state(scope, trigger, dict(zip(arguments, parameters, strict=True)), _follow_and_leave)
    ignored = [i.state for i in machine.ignores if i.event == trigger]
    if ignored:
        with b.if_(in_leaves(STATE, machine, ignored)):
            mark(context, context.ignored_bits(machine, trigger), b)
            b.return_(IGNORED)
    if event is None:
        # The answer was asked for; nobody can be blamed but the machine itself.
        b.return_(context.site(len(machine.leaves)) + STATE)
    else:
        b.return_(-UNHANDLED - STATE)
    return _of_machine(machine, name, trigger, b, arguments)


def by_state(scope: Scope, trigger: str, arguments: dict[str, m.Variable], follow: Follow) -> None:
    """In each state, what a trigger leads to there. Where it leads to nothing, what stands behind goes on."""
    _, machine = scope.own
    read_state(scope, machine)
    for group in scope.context.selection(machine).groups(trigger):
        with scope.builder.if_(in_leaves(STATE, machine, group.leaves)):
            choose(scope, group.levels, group.leaves[0], arguments, follow)


def _follow_and_leave(scope: Scope, t: m.Transition, leaf: str) -> None:
    follow_transition(scope, t, leaf)
    scope.builder.return_(0)


def _of_machine(machine: m.Machine, name: str, what: str, b: Builder, arguments: Sequence[str] = ()) -> Function:
    """A function about the instance `at`."""
    return function(name, (*rows("t"), *parameters("at", *arguments)), b.block, f"{machine.name}: {what}")


def mark(context: Context, bits: Bits, b: Builder) -> None:
    """Note in the step's mark what an instance fulfils, in the function that has the arguments."""
    mark = context.layout.mark
    for n, by_arguments in bits.items():
        with b.if_(AT.equals(n)):
            for given, bit in by_arguments.items():
                with b.if_(all_of([Var(f"a{k}").equals(x) for k, x in given])) if given else nullcontext():
                    b.update(T[mark], "|", bit)


def mark_followed(context: Context, machine: m.Machine, t: m.Transition, b: Builder) -> None:
    """Note that a transition was followed, and what the instance fulfils with it."""
    key = machine.qualified, t.index
    if key not in context.followed:
        context.followed[key] = context.layout.reserve(1)
    b.set(T[context.followed[key]], 1)
    tally.follow(context.layout, key, b)
    mark(context, context.followed_bits(machine, t), b)


# Choosing ------------------------------------------------------------------------------------------------------------


def choose(scope: Scope, levels: Sequence[Level], leaf: str, arguments: dict[str, m.Variable], follow: Follow) -> None:
    """Follows the transition that has priority on the innermost level with an enabled one; two that have are a fault.
    Where none is enabled, what stands behind goes on."""
    for level in levels:
        guards = [_guard(scope, t, arguments) for t in level]
        _ranked(scope, level, guards, leaf, arguments, follow)
        if TRUE in guards:
            return


def _guard(scope: Scope, t: m.Transition, arguments: dict[str, m.Variable]) -> Expr:
    """The guard's value in a variable, and a note of what it was."""
    if t.guard is None:
        return TRUE
    context, b, (_, machine) = scope.context, scope.builder, scope.own
    inner = _inside(scope, t, arguments)
    types = {name: of for name, (_, of) in inner.locals.items()}
    held = b.temporary(value(inner, context.elaboration.expression(t.guard, types)))
    key = machine.qualified, t.index
    if key not in context.guards:
        context.guards[key] = context.layout.reserve(2)
    seen = context.guards[key]
    b.set(T[Choice(held, Int(seen + 1), Int(seen))], 1)
    return held


def _inside(scope: Scope, t: m.Transition, arguments: dict[str, m.Variable]) -> Scope:
    """The same place, with the names that a transition gives to arguments."""
    inner = scope.inner(scope.instance, scope.machine)
    match t.trigger:
        case m.OnEvent(arguments=names) if names:
            pairs = zip(names, arguments.items(), strict=True)
            inner.locals = {name: (Var(given), p.type) for name, (given, p) in pairs}
        case _:
            pass
    return inner


def _ranked(
    scope: Scope,
    level: Sequence[m.Transition],
    guards: Sequence[Expr],
    leaf: str,
    arguments: dict[str, m.Variable],
    follow: Follow,
) -> None:
    """A transition is in question if it is enabled and none that has priority over it is."""
    b, priority = scope.builder, scope.context.selection(scope.own[1]).priority
    best: list[Expr] = []
    for t, g in zip(level, guards, strict=True):
        pairs = zip(level, guards, strict=True)
        beaten = [h for other, h in pairs if priority.before(other, t)]
        unbeaten = [Not(any_of(beaten))] if beaten else []
        best.append(b.temporary(all_of([g, *unbeaten])))
    if priority.circular(level):
        # Where each gives way to another, all of them are left.
        with b.if_(Not(any_of(best))):
            for g in reversed(guards):
                with b.if_(g):
                    scope.fail()
    for n in range(len(level) - 1, 0, -1):
        with b.if_(all_of([best[n], any_of(best[:n])])):
            scope.fail()
    for t, first in zip(level, best, strict=True):
        with b.if_(first) if first != TRUE else nullcontext():
            follow(_inside(scope, t, arguments), t, leaf)
        if first == TRUE:
            return


def refuser(context: Context, machine: m.Machine, event: str, given: Sequence[m.Variable], name: str) -> Function:
    """The function for an event with an argument that its parameter cannot hold: the fault `f` if a transition for it
    is enabled all the same, for then it is offered."""
    b = Builder()
    scope = Scope(context, b, T, AT, machine, Fail(lambda _: b.return_(F)))
    read_state(scope, machine)
    arguments = {f"a{n}": p for n, p in enumerate(given)}
    for group in context.selection(machine).groups(event):
        with b.if_(in_leaves(STATE, machine, group.leaves)):
            for t in (t for level in group.levels for t in level):
                with b.if_(_guard(scope, t, arguments)):
                    b.return_(F)
    b.return_(IGNORED)
    return function(name, (*rows("t"), *parameters("at", "f", *arguments)), b.block)


# Following -----------------------------------------------------------------------------------------------------------


def follow_transition(scope: Scope, t: m.Transition, leaf: str) -> None:
    """Exit hooks, the effects, the change of state, entry hooks; see `step.cascade.follow`."""
    context, b, (_, machine) = scope.context, scope.builder, scope.own
    layout = context.layout
    b.comment(_shown(t))
    mark_followed(context, machine, t, b)
    if context.rounds:
        masks.add_to(layout, b, T, layout.touched, AT)
    before = context.sends
    with b.capture() as body:
        _body(scope, t, leaf)
    if context.sends > before:
        masks.add_to(layout, b, T, layout.busy, AT)
        _nest(context, b, 1)
        b.splice(body)
        _nest(context, b, -1)
        masks.remove_from(layout, b, T, layout.busy, AT)
    else:
        b.splice(body)
    if not isinstance(t.trigger, m.OnEvent | m.OnTimer):
        if awaitable(machine):
            b.set(scope.at(context.column(machine.qualified, WAIT), AT), 1)
        elif layout.waited is not None:
            masks.add_to(layout, b, T, layout.waited, AT)


def _nest(context: Context, b: Builder, more: int) -> None:
    if context.layout.nested is not None:
        b.update(T[context.layout.nested], "+", more)


def _body(scope: Scope, t: m.Transition, leaf: str) -> None:
    context, (_, machine) = scope.context, scope.own
    if t.target is None:
        perform(scope, t.effects)
        return
    move = context.selection(machine).move(leaf, t)
    assert move.target is not None
    bare = scope.inner(AT, machine)
    perform(bare, move.exits)
    perform(scope, t.effects)
    state = scope.at(context.column(machine.qualified, ""), AT)
    scope.builder.set(state, machine.leaf_numbers[move.target])
    wrote(scope)
    perform(bare, move.entries)


def _shown(t: m.Transition) -> str:
    """The transition, in words that are the author's names alone."""
    return f"{t.label or t.index}: {t.source} -> {t.target or t.source}"


# Time and rounds -----------------------------------------------------------------------------------------------------


def timer(context: Context, machine: m.Machine, t: m.Transition, name: str) -> Function:
    """The function for a timer: it does nothing where its guard does not hold."""
    b = Builder()
    scope = machine_scope(context, machine, b)
    read_state(scope, machine)
    for group in context.selection(machine).timer_groups(t):
        with b.if_(in_leaves(STATE, machine, group.leaves)):
            choose(scope, group.levels, group.leaves[0], {}, _follow_and_leave)
    b.return_(IGNORED)
    return _of_machine(machine, name, f"time is up for transition {t.index}", b)


def eventless(context: Context, machine: m.Machine, name: str, *, only_asked: bool = False) -> Function:
    """The function that follows one transition without event, or would: 1 if none is enabled. If it has followed one,
    the code of the fault that this is if the round does not end with it, negated; 0 if it would."""
    b = Builder()
    scope = machine_scope(context, machine, b)
    endless = 0 if only_asked else context.site(len(machine.transitions))

    def follow(inner: Scope, t: m.Transition, leaf: str) -> None:
        follow_transition(inner, t, leaf)
        inner.builder.return_(-(endless + t.index))

    def would(inner: Scope, t: m.Transition, leaf: str) -> None:
        inner.builder.return_(0)

    by_state(scope, EVENTLESS, {}, would if only_asked else follow)
    b.return_(IGNORED)
    return _of_machine(machine, name, "without event", b)


# Instances -----------------------------------------------------------------------------------------------------------


def each_of(context: Context, machine: m.Machine, b: Builder) -> Inside:
    """A loop through the instances of a machine."""
    return b.for_each(AT, sorted(context.universe.instances_of(machine.qualified)))


def stretches(context: Context, machines: Sequence[m.Machine]) -> list[tuple[m.Machine, range]]:
    """All instances of some machines in the order in which they were made: stretches of one machine."""
    found: list[tuple[m.Machine, range]] = []
    for machine, group in groupby(enumerate(context.universe.machines), lambda x: x[1]):
        numbers = [n for n, _ in group]
        if machine in machines:
            found.append((machine, range(numbers[0], numbers[-1] + 1)))
    return found
