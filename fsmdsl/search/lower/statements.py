"""Core statements as statements of a program.

What is decided here is only how the search represents things: an instance that cannot be in the middle of a transition
when an event reaches it is not marked, and a queue, a set or an answer has its place in a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.dataclasses import replace
from fsmdsl.program.nodes import FALSE, TRUE, ZERO, Bool, Choice, Expr, Int, Var, any_of, call
from fsmdsl.search.layout import kinds
from fsmdsl.search.lower.context import AT, Scope, T
from fsmdsl.search.lower.fault_codes import BUSY, IGNORED, NESTED, REENTRANCE, UNHANDLED
from fsmdsl.search.lower.machines import changes, notes, rounds
from fsmdsl.search.lower.machines.channels import within
from fsmdsl.search.lower.symmetry.orders import failing, in_every_order, members_in
from fsmdsl.search.lower.values.convert import element_of
from fsmdsl.search.lower.values.expressions import instance_of, opposite, read_state
from fsmdsl.search.lower.values.lets import derived
from fsmdsl.search.lower.values.loops import loop, stretches
from fsmdsl.search.lower.values.parts import effects_apart, too_deep, value_apart
from fsmdsl.search.lower.values.sets import collected


def execute(scope: Scope, block: s.Block) -> bool:
    """Writes statements. True if nothing comes after them."""
    for x, following in zip_longest(block, block[1:]):
        match x, following:
            case s.Call(s.Name("admit")), s.Call(s.Name("handle")):
                pass  # the function that handles an event begins with it
            case _ if _execute(scope, x):
                return True
    return False


def _execute(scope: Scope, x: s.Statement) -> bool:
    b = scope.builder
    match x:
        case s.Let(variable, value):
            scope.variables[variable.name] = scope.variable(value)
        case s.Set(variable, value):
            if variable.name not in scope.variables:
                scope.variables[variable.name] = b.name()
            b.set(_assignable(scope, variable), scope.value(value, variable.type))
        case s.Require(condition, fault):
            wrong = opposite(scope, condition)
            if wrong != FALSE:
                with b.if_(wrong):
                    _fail(scope, fault)
        case s.Fail(fault):
            _fail(scope, fault)
            return True
        case s.If(condition, then, otherwise):
            return _branch(scope, scope.value(condition), then, otherwise)
        case s.Each():
            _each(scope, x)
        case s.Leave():
            assert scope.leave is not None
            scope.leave()
        case s.Call():
            return _call(scope, x)
        case s.CallOn():
            _call_on(scope, x)
        case s.Return(value):
            b.return_(scope.end if value is None else scope.value(value))
            return True
        case s.Progress():
            # The round asks whether it has been in this world before; see `rounds`.
            b.return_(0 if scope.trial else -scope.context.site())
            return True
        case s.Note(happening):
            return _note(scope, happening)
        case s.EachPending() | s.Attempt() | s.Unoffered() | s.Offer():
            assert scope.offer is not None
            scope.offer(scope, x)
        case s.Repeat():
            rounds.repeat(scope, x)
        case _:
            return _change(scope, x)
    return False


def _change(scope: Scope, x: s.Change) -> bool:
    match x:
        case s.Write():
            changes.write(scope, x)
        case s.Enter():
            changes.enter(scope, x)
        case s.Cut():
            changes.cut(scope)
        case s.Mark():
            changes.mark(scope, x)
        case s.Put():
            changes.post(scope, x)
        case s.Drop() | s.Duplicate():
            changes.drop(scope, x)
        case s.Await():
            changes.expect(scope, x)
        case s.Answered():
            changes.answered(scope, x)
        case s.SetDown(down):
            assert scope.context.layout.down is not None
            scope.builder.set(T[scope.context.layout.down], int(down))
        case s.Choose(transition=n):
            scope.builder.return_(0 if n is None else n + 1)
            return True
        case s.Arm() | s.Disarm():
            pass  # a timer may fire at any moment while its source is active
        case s.DropAll() | s.Forget():
            raise TypeError(f"{type(x).__name__} is written by hand")
        case _:
            assert_never(x)
    return False


def _branch(scope: Scope, condition: Expr, then: s.Block, otherwise: s.Block) -> bool:
    if condition in (TRUE, FALSE):
        return execute(scope, then if condition == TRUE else otherwise)
    with scope.builder.if_(condition):
        execute(scope, then)
    if otherwise:
        with scope.builder.else_():
            execute(scope, otherwise)
    return False


def _assignable(scope: Scope, x: s.Variable) -> Var:
    variable = scope.variables[x.name]
    assert isinstance(variable, Var)
    return variable


def _note(scope: Scope, x: s.Happening) -> bool:
    match x:
        case s.GuardSeen():
            notes.guard_seen(scope, x)
        case s.Followed():
            notes.followed(scope, x)
        case s.Ignored():
            notes.ignored(scope, x)
            scope.builder.return_(IGNORED)
            return True
        case _:
            pass
    return False


def _fail(scope: Scope, fault: s.Fault) -> None:
    """A fault that is located at the sender of an event is one that the sender gives a code."""
    if isinstance(fault.cause, s.NoTimer):
        scope.builder.return_(IGNORED)
    elif isinstance(fault.location, s.Variable):
        assert scope.blame is not None
        scope.builder.return_(scope.blame(_reason(scope, fault.cause)))
    else:
        scope.fail()


def _reason(scope: Scope, cause: s.Cause) -> Expr:
    match cause:
        case s.Reentrance():
            return Int(REENTRANCE)
        case s.Nested():
            return Int(NESTED)
        case s.Waiting():
            return Int(BUSY)
        case s.Unhandled(state=state):
            return UNHANDLED + scope.value(state)
        case _:
            raise TypeError(f"{type(cause).__name__} is no fault of a sender")


# Procedures ----------------------------------------------------------------------------------------------------------


def _call(scope: Scope, x: s.Call) -> bool:
    """True if nothing comes after it."""
    name = x.procedure
    match name.kind:
        case "let":
            assert x.into is not None
            result = derived(scope, name, x.arguments, x.into.type, fails=True)
            scope.variables[x.into.name] = scope.builder.temporary(result)
        case "admit":
            receiver, _ = x.arguments
            first = scope.context.site(UNHANDLED)
            machine = scope.context.universe.model.machines[name.owner]
            there = replace(scope, instance=instance_of(scope, receiver), machine=machine, state=None, variables={})
            there.blame = lambda why: first + why
            execute(there, scope.context.procedure("admit", name.owner, name.subject).body)
        case "handle":
            _send(scope, x)
        case "follow" if not scope.trial:
            _follow(scope, scope.context.core.procedures[name], x.arguments)
        case "follow":
            pass
        case "round":
            scope.builder.return_(0)  # it comes behind the function that takes the step
            return True
        case "offer line":
            execute(replace(scope, variables={}), scope.context.core.procedures[name].body)
        case "offer messages":
            _offer_messages(scope, x)
        case "offer steps":
            assert scope.offer is not None
            scope.offer(scope, x)
        case _:
            raise TypeError(f"`{name.kind}` is written by hand")
    return False


def _call_on(scope: Scope, x: s.CallOn) -> None:
    """Written in its place, but for transitions without event."""
    _, machine = scope.own
    if x.into is not None:
        rounds.follow_one(scope, x.into)
        return
    inner = replace(scope, variables={})
    read_state(inner)
    execute(inner, scope.context.procedure(x.kind, machine.qualified).body)


def _offer_messages(scope: Scope, x: s.Call) -> None:
    """Written in its place."""
    context = scope.context
    procedure, channel = context.core.procedures[x.procedure], context.universe.model.channels[x.procedure.owner]
    variables = {p.name: scope.value(y) for p, y in zip(procedure.parameters, x.arguments, strict=True)}
    machine = context.universe.model.machines[channel.receiver]
    inner = replace(scope, instance=instance_of(scope, x.arguments[-1]), machine=machine, variables=variables)
    execute(within(inner, channel), procedure.body)


def _send(scope: Scope, x: s.Call) -> None:
    """The receiver handles the event at once. Where it cannot be delivered, the fault is the sender's."""
    b, context = scope.builder, scope.context
    machine, trigger = context.universe.model.machines[x.procedure.owner], x.procedure.subject
    receiver, *arguments, _ = x.arguments
    to = instance_of(scope, receiver)
    types = [p.type for p in context.procedure("handle", machine.qualified, trigger).parameters[1:-1]]
    values = [scope.value(y, t) for y, t in zip(arguments, types, strict=True)]
    first = context.site(UNHANDLED + 2 + len(machine.leaves))
    code = b.name()
    b.set(code, call(context.handler(machine, trigger), T, to, *values))
    if scope.waits:
        with b.if_(code <= -UNHANDLED):
            b.return_(IGNORED)
    with b.if_(any_of([code < 0, code > IGNORED])):
        b.return_(Choice(code > 0, code, first - code))


def _follow(scope: Scope, procedure: s.Procedure, arguments: Sequence[s.Expr]) -> None:
    """Written in its place. Without a send inside, nobody can ask whether the instance is busy."""
    pairs = zip(procedure.parameters, arguments, strict=True)
    variables = {p.name: scope.value(x, p.type) for p, x in pairs if p.name != "self"}
    body = procedure.body
    if not _sends(body):
        body = tuple([x for x in body if not (isinstance(x, s.Mark) and x.flag == "busy")])
    execute(replace(scope, variables=variables, state=None), body)


def _sends(block: s.Block) -> bool:
    """Can it come to other instances?"""
    for x in block:
        match x:
            case s.Call(s.Name("handle")):
                return True
            case s.If(then=then, otherwise=otherwise) if _sends(then) or _sends(otherwise):
                return True
            case s.Each(body=body) if _sends(body):
                return True
            case _:
                pass
    return False


# Loops ---------------------------------------------------------------------------------------------------------------


def _each(scope: Scope, x: s.Each) -> None:
    b, origin = scope.builder, x.origin
    if isinstance(x.over, s.Flagged):
        rounds.each_flagged(scope, x, x.over.flag)
    elif isinstance(x.over, s.Instances) and x.over.kind == "system":
        _each_instance(scope, x)
    elif isinstance(origin, m.Quantified):
        _looking(scope, x, origin)
    elif _has_no_instance(scope, x.over):
        pass  # the body may be about queues of these instances, which have no place in a row
    elif too_deep(scope):
        effects_apart(scope, lambda inner: _each(inner, x))
    elif origin is None and isinstance(x.over.type, m.SetType) and (bounds := _bounds(x)):
        with b.if_(scope.value(x.over) & _outside(scope, x.over.type, *bounds)):
            scope.fail()
    else:
        over = collected(scope, x.over)
        if origin is not None and members_in(scope.context, x.over.type):
            in_every_order(scope, x, origin, over)
            return
        with loop(scope, x.over, over) as member:
            scope.variables[x.variable.name] = member
            execute(scope, x.body)


def _has_no_instance(scope: Scope, e: s.Expr) -> bool:
    return isinstance(e, s.Instances) and e.kind == "machine" and not scope.context.universe.instances_of(e.name)


def _each_instance(scope: Scope, x: s.Each) -> None:
    """A loop over all instances whose machines have something to do."""
    context, b = scope.context, scope.builder
    called = [y.kind for y in s.walk(x.body) if isinstance(y, s.CallOn)]
    busy = [y for y in kinds(context.universe) if any(context.procedure(k, y.qualified).body for k in called)]
    for machine, stretch in stretches(context, busy):
        with b.for_each(AT, stretch):
            scope.variables[x.variable.name] = AT
            execute(replace(scope, instance=AT, machine=machine), x.body)


def _looking(scope: Scope, x: s.Each, origin: m.Quantified) -> None:
    """`all`, `some` and `count`, with a body that may have no value. Its last statement changes the result."""
    b, last = scope.builder, x.body[-1]
    assert isinstance(last, s.If)
    assert isinstance(last.then[0], s.Set)
    result = _assignable(scope, last.then[0].variable)
    if too_deep(scope):
        first = ZERO if origin.kind == "count" else Bool(origin.kind == "all")

        def body(inner: Scope) -> Expr:
            inner.builder.set(result, first)
            _looking(inner, x, origin)
            return result

        b.set(result, value_apart(scope, body))
        return
    over, before = collected(scope, x.over), scope.leave
    with failing(scope, origin, x.over, over) as fail, loop(scope, x.over, over) as member:
        scope.variables[x.variable.name] = member
        scope.leave = lambda: None if fail.used else b.break_()
        execute(scope, x.body)
    scope.leave = before


def _bounds(x: s.Each) -> tuple[int, int] | None:
    """Of a loop that requires that each number of a set is within bounds, and does nothing else."""
    match x.body:
        case (s.Require(fault=s.Fault(cause=s.Unfit(kind="range", value=value, low=low, high=high))),) if (
            value == x.variable
        ):
            return low, high
        case _:
            return None


def _outside(scope: Scope, t: m.SetType, low: int, high: int) -> int:
    """The places of the numbers in a set that are not within bounds, as bits."""
    places = element_of(scope, t)
    assert isinstance(t.of, m.RangeType)
    return sum(1 << places.code(n) for n in range(t.of.low, t.of.high + 1) if not low <= n <= high)
