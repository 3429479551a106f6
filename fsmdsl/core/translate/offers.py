"""Which steps can come next: answers, events, timers, messages, crashes. An offer that has no value is not made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core.guards import conjuncts
from fsmdsl.core.translate.context import (
    FALSE,
    TRUE,
    Builder,
    Context,
    Scope,
    all_of,
    any_of,
    can_fail,
    compared,
    instance_of,
    is_none,
    negated,
    number,
    of_machine,
    of_system,
)
from fsmdsl.core.translate.expressions import condition, reference, value
from fsmdsl.core.translate.machines import guard, is_awaitable
from fsmdsl.core.translate.steps import INSTANCE, Mailbox, arguments
from fsmdsl.core.triggers import triggered_by
from fsmdsl.dataclasses import replace
from fsmdsl.model.typing import holds
from fsmdsl.model.walk import expressions

Line = m.Offer | m.ProcessCrash
"""A line of the environment with variables and a condition."""


def offers(context: Context) -> s.Procedure:
    """All steps, in a fixed order. After a crash, nothing but the recovery and another crash can come."""
    b, system = Builder(), context.system
    assert system is not None
    scope = of_system(context, b)
    with b.when(s.Down()):
        b.add(s.Offer(s.RecoverStep()))
        _system_crashes(scope, [x for x in system.crashes if x.kind == "during recovery"])
        b.add(s.Return())
    b.add(s.Call(offer_steps(context).name, ()))
    _system_crashes(scope, [x for x in system.crashes if x.kind != "during recovery"])
    for n, x in enumerate(system.process_crashes, len(system.offers or ())):
        b.add(s.Call(offer_line(context, x, n).name, ()))
    return context.define(s.Name("offers"), (), b)


def offer_steps(context: Context) -> s.Procedure:
    """All steps but crashes and the recovery. While an answer is awaited, the system stands still; an `async` action
    holds up its own machine only."""
    b = Builder()
    _answers(b, context)
    with b.when(is_none(s.Blocker())):
        _events(b, context)
        for machine in context.machines:
            offer_timers(context, machine)
        if any(triggered_by(x, m.OnTimer) for x in context.machines):
            b.add(s.Each(INSTANCE, s.Instances("system", "", s.INSTANCES), (s.CallOn("offer timers", INSTANCE),)))
        for channel in context.channels:
            _messages(b, context, channel)
    return context.define(s.Name("offer steps"), (), b)


# Answers and crashes of the system -----------------------------------------------------------------------------------


def _answers(b: Builder, context: Context) -> None:
    actions = []
    for machine in context.machines:
        instance = replace(INSTANCE, type=m.RefType(machine.qualified))
        for action in machine.actions:
            steps = [s.OutcomeStep(instance, action.name, x) for x in action.outcomes]
            if steps:
                actions.append(s.PendingAction(machine.qualified, action.name, tuple(map(s.Offer, steps))))
    if actions:
        b.add(s.EachPending(INSTANCE, tuple(actions)))


def _system_crashes(scope: Scope, crashes: Sequence[m.CrashOffer]) -> None:
    b = scope.builder
    for x in crashes:
        with b.attempt(s.Unoffered(crash=True)), b.when(condition(scope, x.guard)):
            b.add(s.Offer(s.SystemCrash(x.kind)))


# Events --------------------------------------------------------------------------------------------------------------


def _events(b: Builder, context: Context) -> None:
    """As the environment says; without one, every event from the environment, with all arguments."""
    assert context.system is not None
    if context.system.offers is None:
        for machine in context.machines:
            offer_events(context, machine)
        b.add(s.Each(INSTANCE, s.Instances("system", "", s.INSTANCES), (s.CallOn("offer events", INSTANCE),)))
    else:
        for n, x in enumerate(context.system.offers):
            b.add(s.Call(offer_line(context, x, n).name, ()))


def offer_events(context: Context, machine: m.Machine) -> s.Procedure:
    """Every event that the environment may send to an instance, with all arguments."""
    b = Builder()
    scope = of_machine(context, b, machine)
    for event in machine.events:
        if event.from_environment:
            with b.when(listens(context, machine, event.name, scope.self) if context.fused else TRUE):
                _with_all_arguments(scope, machine, event, b.parameters(event.parameters), 0)
    return context.define(s.Name("offer events", machine.qualified), (instance_of(machine),), b)


def _with_all_arguments(
    scope: Scope, machine: m.Machine, event: m.Event, arguments: Sequence[s.Variable], n: int
) -> None:
    if n == len(arguments):
        _offer_event(scope, machine, event.name, scope.self, arguments)
        return
    domain = s.Apply("domain", (), m.SetType(arguments[n].type))
    with scope.builder.each(arguments[n], domain):
        _with_all_arguments(scope, machine, event, arguments, n + 1)


def _offer_event(scope: Scope, machine: m.Machine, event: str, to: s.Expr, arguments: Sequence[s.Expr]) -> None:
    """A step fails where an argument does not fit, before it evaluates a guard."""
    context, b, step = scope.context, scope.builder, s.EventStep(to, event, tuple(arguments))
    context.offered(machine, event, arguments)
    pairs = zip(machine.event_named[event].parameters, arguments, strict=True)
    if context.fused and all(holds(p.type, x.type) for p, x in pairs):
        b.add(s.Offer(step, tentative=True))
    else:
        with b.when(accepts(scope, machine, event, to, arguments)):
            b.add(s.Offer(step))


def listens(context: Context, machine: m.Machine, event: str, to: s.Expr) -> s.Expr:
    """Is an instance in a state in which it has a transition for an event, and does it wait for no answer?"""
    leaves = frozenset(x for group in context.selection(machine).groups(event) for x in group.leaves)
    free = negated(s.Waits(to)) if is_awaitable(machine) else TRUE
    return all_of([s.InState(to, leaves), free]) if leaves else FALSE


def accepts(scope: Scope, machine: m.Machine, event: str, to: s.Expr, arguments: Sequence[s.Expr]) -> s.Expr:
    """Is some transition of an event enabled, in an instance that waits for no answer? No guard is evaluated after one
    that is true."""
    b, context = scope.builder, scope.context
    result = b.variable("accepted", m.BOOL)
    there = replace(of_machine(context, b, machine), self=to)
    b.add(s.Set(result, FALSE))
    with b.when(negated(s.Waits(to)) if is_awaitable(machine) else TRUE):
        for group in context.selection(machine).groups(event):
            with b.when(s.InState(to, frozenset(group.leaves))):
                for n, t in enumerate(t for level in group.levels for t in level):
                    with b.when(negated(result) if n else TRUE):
                        b.add(s.Set(result, _may_follow(there, t, arguments)))
    return result


def _may_follow(scope: Scope, t: m.Transition, arguments: Sequence[s.Expr]) -> s.Expr:
    """May a transition be followed? A guard without a value counts as true: the step then shows the fault."""
    b = scope.builder
    with b.aside() as needed:
        holds = guard(scope, t, arguments)
    if not can_fail(needed):
        b.add(*needed)
        return holds
    result = b.variable("may_follow", m.BOOL)
    b.add(s.Attempt((*needed, s.Set(result, holds)), (s.Set(result, TRUE),)))
    return result


# Lines of the environment --------------------------------------------------------------------------------------------


def offer_line(context: Context, line: Line, n: int) -> s.Procedure:
    """What a line of the environment offers, for all values of its variables. Each offer is evaluated by itself."""
    b = Builder()
    _through(of_system(context, b), line, line.variables, conjuncts(line.guard))
    return context.define(s.Name("offer line", subject=f"{n}"), (), b)


def _through(scope: Scope, line: Line, variables: Sequence[tuple[str, m.Expr]], conditions: Sequence[m.Expr]) -> None:
    b, unoffered = scope.builder, s.Unoffered(crash=isinstance(line, m.ProcessCrash))
    if not variables:
        with b.attempt(unoffered), b.when(condition(scope, _all(conditions))):
            _line_step(scope, line)
        return
    (name, over), *rest = variables
    later = {x for x, _ in rest}
    members = _collection(scope, over, unoffered)
    if name not in later and (these := _narrowed(scope, name, members, conditions, later)) is not None:
        members, conditions = these, conditions[1:]
    variable = b.variable(name, m.element_of(members.type))
    with b.each(variable, members):
        with b.aside() as inside:
            _through(scope.bind(name, variable), line, rest, conditions)
        early = name not in later and (bool(rest) or scope.context.fused)
        with b.when(_known_to_listen(scope.context, line, variable, name, inside) if early else TRUE):
            b.add(*inside)


def _known_to_listen(
    context: Context, line: Line, variable: s.Variable, name: str, inside: Sequence[s.Statement]
) -> s.Expr:
    """Does a receiver listen? Asked as soon as it is known, unless what comes inside is noted even if it does not."""
    match line, variable.type:
        case m.Offer(target=m.Local(name=target)), m.RefType(machine=machine) if target == name:
            notes = any(isinstance(x, s.Unoffered) for x in s.walk(tuple(inside)))
            return TRUE if notes else listens(context, context.model.machines[machine], line.event, variable)
        case _:
            return TRUE


def _narrowed(scope: Scope, name: str, members: s.Expr, conditions: Sequence[m.Expr], later: set[str]) -> s.Expr | None:
    """For `some p in subsets(all, n)` with `all x in p: …`, the subsets of those members of `all` for which that holds,
    if it always has a value and depends on nothing that is bound later."""
    match members, conditions:
        case (
            s.Apply("subsets", (whole, size)),
            [m.Quantified(kind="all", variable=x, over=m.Local(name=quantified), body=body), *_],
        ) if quantified == name and not _mentions(body, {*later, name} - {x}):
            b = scope.builder
            these, member = b.variable("these", whole.type), b.variable(x, m.element_of(whole.type))
            with b.aside() as inside, b.each(member, whole), b.when(condition(scope.bind(x, member), body)):
                b.add(s.Set(these, s.Apply("add", (these, member), whole.type)))
            if can_fail(inside):
                return None
            b.add(s.Set(these, _nothing(whole.type)), *inside)
            return replace(members, arguments=(these, size))
        case _:
            return None


def _all(conditions: Sequence[m.Expr]) -> m.Expr | None:
    return m.Logic("and", tuple(conditions)) if len(conditions) > 1 else next(iter(conditions), None)


def _mentions(e: m.Expr, names: set[str]) -> bool:
    return any(isinstance(x, m.Local) and x.name in names for x in expressions(e))


def _collection(scope: Scope, over: m.Expr, unoffered: s.Unoffered) -> s.Expr:
    """What a variable runs through: nothing, where that has no value."""
    b, e = scope.builder, _elaborated(scope, over)
    with b.aside() as inside:
        members = value(scope, e)
    if not can_fail(inside):
        b.add(*inside)
        return members
    variables = [b.variable("members", x.type) for x, _ in _operands(members)]
    evaluated = [s.Set(x, operand) for x, (operand, _) in zip(variables, _operands(members), strict=True)]
    otherwise = [s.Set(x, without) for x, (_, without) in zip(variables, _operands(members), strict=True)]
    b.add(s.Attempt((*inside, *evaluated), (*otherwise, unoffered)))
    if isinstance(members, s.Apply) and len(variables) > 1:
        return replace(members, arguments=tuple(variables))
    return variables[0]


def _operands(members: s.Expr) -> list[tuple[s.Expr, s.Expr]]:
    """What is computed before a loop begins, each with what there is instead for a loop without a turn."""
    match members:
        case s.Apply("range", (low, high)):
            return [(low, number(1)), (high, number(0))]
        case s.Apply("subsets", (whole, size)):
            return [(whole, _nothing(whole.type)), (size, number(1))]
        case _:
            return [(members, _nothing(members.type))]


def _nothing(t: m.Type) -> s.Collection:
    return s.Collection("list" if isinstance(t, m.ListType) else "set", (), t)


def _line_step(scope: Scope, line: Line) -> None:
    match line:
        case m.Offer():
            _line_event(scope, line)
        case m.ProcessCrash():
            targets = tuple([reference(scope, _elaborated(scope, x)) for x in line.targets])
            scope.builder.add(s.Offer(s.CrashStep(s.Collection("set", targets, s.INSTANCES))))
        case _:
            assert_never(line)


def _line_event(scope: Scope, line: m.Offer) -> None:
    b = scope.builder
    to = b.temporary(reference(scope, _elaborated(scope, line.target)), "receiver")
    arguments = [b.temporary(value(scope, _elaborated(scope, x)), "argument") for x in line.arguments]
    if scope.context.has(line.machine):
        machine = scope.context.model.machines[line.machine]
        with b.when(listens(scope.context, machine, line.event, to) if scope.context.fused else TRUE):
            _offer_event(scope, machine, line.event, to, arguments)


def _elaborated(scope: Scope, e: m.Expr) -> m.Expr:
    types = {name: x.type for name, x in scope.locals.items()}
    return scope.context.elaboration.expression(e, types)


# Timers and messages -------------------------------------------------------------------------------------------------


def offer_timers(context: Context, machine: m.Machine) -> s.Procedure:
    """A timer may fire at any moment while its source is active and its guard holds."""
    b = Builder()
    scope, hierarchy = of_machine(context, b, machine), context.selection(machine).hierarchy
    timers = triggered_by(machine, m.OnTimer)
    with b.when(negated(s.Waits(scope.self)) if is_awaitable(machine) else TRUE):
        for t in timers:
            inside = s.InState(scope.self, frozenset(hierarchy.inside[t.source]))
            with b.when(inside), b.when(TRUE if context.fused else _may_follow(scope, t, ())):
                b.add(s.Offer(s.TimerStep(scope.self, t.index), tentative=context.fused and t.guard is not None))
    return context.define(s.Name("offer timers", machine.qualified), (instance_of(machine),), b)


def _messages(b: Builder, context: Context, channel: m.Channel) -> None:
    """Of each queue, by its receiver, then by its sender."""
    procedure, box = offer_messages(context, channel), Mailbox(context, channel)
    call: s.Statement = s.Call(procedure.name, box.parameters)
    if box.sender is not None:
        call = s.Each(box.sender, _instances(box.sender), (call,))
    b.add(s.Each(box.receiver, _instances(box.receiver), (call,)))


def _instances(x: s.Variable) -> s.Expr:
    assert isinstance(x.type, m.RefType)
    return s.Instances("machine", x.type.machine, m.SetType(x.type))


def offer_messages(context: Context, channel: m.Channel) -> s.Procedure:
    """What a channel does with the messages of a queue: it delivers them (a fifo the first, a bag any; a waiting one
    only what its receiver handles or ignores), and as declared loses or duplicates any. Equal messages count once."""
    b, box = Builder(), Mailbox(context, channel)
    scope = of_machine(context, b, box.machine)

    def offer(kind: s.ChannelStepKind, position: s.Expr) -> None:
        waits = kind == "deliver" and channel.waiting
        with b.when(_takes(scope, box, position) if waits and not context.fused else TRUE):
            b.add(s.Offer(s.ChannelStep(kind, box.queue, position), tentative=waits and context.fused))

    def offer_each(kind: s.ChannelStepKind) -> None:
        position = b.variable("position", box.position.type)
        last = s.Binary("-", box.length, number(1), m.RangeType(-1, channel.bound - 1))
        positions = s.Apply("range", (number(0), last), m.SetType(position.type))
        with b.each(position, positions), b.when(negated(s.IsRepeated(box.queue, position))):
            offer(kind, position)

    with b.when(negated(s.Waits(box.receiver)) if is_awaitable(box.machine) else TRUE):
        if channel.order == "bag":
            offer_each("deliver")
        else:
            with b.when(compared(box.length, ">", 0)):
                offer("deliver", number(0))
    if channel.lossy:
        offer_each("lose")
    if channel.duplicating:
        with b.when(compared(box.length, "<", channel.bound)):
            offer_each("duplicate")
    return context.define(s.Name("offer messages", channel.qualified), box.parameters, b)


def _takes(scope: Scope, box: Mailbox, position: s.Expr) -> s.Expr:
    """Is the message at a position handled, or ignored on purpose?"""
    b = scope.builder
    result = b.variable("taken", m.BOOL)
    b.add(s.Set(result, FALSE))
    for event in box.events:
        with b.when(s.IsMessage(box.queue, position, event.name)):
            values = arguments(b, box.queue, position, event)
            accepted = accepts(scope, box.machine, event.name, box.receiver, values)
            ignored = frozenset(x.state for x in box.machine.ignores if x.event == event.name)
            b.add(s.Set(result, any_of([accepted, s.InState(box.receiver, ignored) if ignored else FALSE])))
    return result
