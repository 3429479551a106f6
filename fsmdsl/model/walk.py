"""Going through the expressions and effects of a model, for readers that look for something in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from fsmdsl import model as m


def children(e: m.Expr) -> tuple[m.Expr, ...]:
    """The expressions directly inside one, in the order of the text."""
    match e:
        case (
            m.Constant()
            | m.Self()
            | m.Wait()
            | m.Local()
            | m.ChannelRef()
            | m.InstanceRef()
            | m.Instances()
            | m.AllOf()
            | m.Ordinal()
        ):
            return ()
        case m.Read(target=target):
            return () if target is None else (target,)
        case m.Derived(target=target, arguments=arguments):
            return arguments if target is None else (target, *arguments)
        case m.InState(target=target) | m.StateOf(target=target):
            return (target,)
        case m.Not(operand=operand) | m.Negative(operand=operand):
            return (operand,)
        case m.Logic(operands=operands) | m.Temporal(operands=operands):
            return operands
        case m.Binary(left=left, right=right):
            return (left, right)
        case m.Conditional(condition=condition, then=then, otherwise=otherwise):
            return (condition, then, otherwise)
        case m.Quantified(over=over, body=body):
            return (over, body)
        case m.Collection(items=items) | m.Construction(parts=items):
            return items
        case m.Part(of=of):
            return (of,)
        case m.Apply(arguments=arguments):
            return arguments
        case _:
            assert_never(e)


def expressions(e: m.Expr) -> Iterator[m.Expr]:
    """An expression and all inside it."""
    stack = [e]
    while stack:
        at = stack.pop()
        yield at
        stack.extend(reversed(children(at)))


def temporal(e: m.Expr) -> bool:
    """Does an expression speak of runs?"""
    return any(isinstance(x, m.Temporal) for x in expressions(e))


def effects(body: Sequence[m.Effect]) -> Iterator[m.Effect]:
    """Effects and all inside them, in the order of the text."""
    for x in body:
        yield x
        for block in m.inside(x):
            yield from effects(block)


def blocks(machine: m.Machine) -> tuple[tuple[m.Effect, ...], ...]:
    """What a machine does with its transitions, on entry and on exit; what several transitions share, once."""
    bodies = (*(t.effects for t in machine.transitions), *(h.effects for h in machine.hooks))
    return tuple({id(block): block for block in bodies if block}.values())


def effects_of(machine: m.Machine) -> Iterator[m.Effect]:
    """Every effect of a machine, with those inside loops and choices, each once."""
    for block in blocks(machine):
        yield from effects(block)


def conditions(machine: m.Machine) -> Iterator[m.Expr]:
    """Guards, times and invariants, each once."""
    yield from {id(t.guard): t.guard for t in machine.transitions if t.guard is not None}.values()
    timers = (t.trigger for t in machine.transitions if isinstance(t.trigger, m.OnTimer))
    yield from {id(x.duration): x.duration for x in timers}.values()
    yield from (i.condition for i in machine.invariants)


def computed_by(machine: m.Machine) -> Iterator[m.Expr]:
    """Derived values, guards, times, invariants, and what effects compute."""
    yield from (x.value for x in machine.lets)
    yield from conditions(machine)
    yield from (e for x in effects_of(machine) for e in m.operands(x))


def first_values(system: m.System) -> Iterator[m.Expr]:
    """What the instances of a system begin with, as far as the system says."""
    return (value for i in system.instances for _, value in i.values)


def offered(system: m.System) -> Iterator[m.Expr]:
    """What the environment of a system computes."""
    return of_environment((*(system.offers or ()), *system.process_crashes, *system.crashes))


def of_environment(lines: Iterable[m.Offer | m.CrashOffer | m.ProcessCrash]) -> Iterator[m.Expr]:
    """What lines of an environment compute."""
    for x in lines:
        match x:
            case m.Offer(variables=variables, target=target, arguments=arguments):
                yield from (over for _, over in variables)
                yield from (target, *arguments)
            case m.ProcessCrash(variables=variables, targets=targets):
                yield from (over for _, over in variables)
                yield from targets
            case m.CrashOffer():
                pass
        if x.guard is not None:
            yield x.guard


def recovery(system: m.System) -> Iterator[m.Expr]:
    """What the effects of a system's recovery compute."""
    return (e for x in effects(system.recover or ()) for e in m.operands(x))


def required(system: m.System) -> Iterator[m.Expr]:
    """What must hold in a system, at first or always, or be possible; where it may rest; how far it is explored; and
    what it is compared by with the one that it refines."""
    yield from system.start_when
    yield from system.rests
    yield from system.bounds
    yield from (x.condition for x in system.invariants)
    yield from (x.condition for x in system.reachables)
    yield from (p.formula for p in system.properties if not isinstance(p.formula, m.Recovers))
    yield from {id(e): e for x in mappings(system) for e in x}.values()


def mappings(system: m.System) -> Iterator[tuple[m.Expr, ...]]:
    """Of each instance of the system that is refined, what says in which state it is, and what its fields are."""
    for x in () if system.refines is None else system.refines.mapped:
        guards = (row.guard for row in x.states if row.guard is not None)
        yield (*guards, *(row.value for row in x.fields if row is not None))
