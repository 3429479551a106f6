"""What is asked of every world: one bit for each question that is answered with yes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fsmdsl import model as m
from fsmdsl.explore.circular_wait import CircularWaits
from fsmdsl.explore.packed.layout import kinds
from fsmdsl.explore.packed.lower.context import AT, Context, Fail, S, Scope
from fsmdsl.explore.packed.lower.machines.handlers import numbers as instances
from fsmdsl.explore.packed.lower.values.expressions import in_leaves, value
from fsmdsl.explore.packed.shapes import LARGEST, to_number
from fsmdsl.explore.program.builder import Builder, function, numbers, rows
from fsmdsl.explore.program.nodes import FALSE, ONE, TRUE, ZERO, Choice, Expr, Function, Int, Not, Var, call
from fsmdsl.step.world import Value


@dataclass(frozen=True, slots=True)
class Asked:
    """A condition: of the system, of an instance, or of some instance of a machine; where it has no value, it is false.

    `wanted` False asks for the opposite: is it false (for some instance)?
    """

    condition: m.Expr
    wanted: bool = True
    instance: int | None = None
    machine: str | None = None
    locals: Mapping[str, tuple[m.Type, Value]] = field(default_factory=dict)


YES = Var("yes")


def ask(context: Context, asked: Sequence[Asked], name: str) -> list[Function]:
    """Functions `name_0`, `name_1`, … of a row, each with the answers to so many questions, from the lowest bit on."""
    functions: list[Function] = []
    for k, first in enumerate(range(0, len(asked), LARGEST)):
        b = Builder()
        b.set(YES, ZERO)
        for n, question in enumerate(asked[first : first + LARGEST]):
            if question.machine is None:
                functions += _one(context, question, b, f"{name}_{k}_{n}", n, None)
            else:
                machine = context.universe.model.machines[question.machine]
                with instances(context, machine).each(b, AT):
                    functions += _one(context, question, b, f"{name}_{k}_{n}", n, machine)
        b.leave(YES)
        functions.append(function(f"{name}_{k}", rows("s"), b.block))
    return functions


def _one(
    context: Context, question: Asked, b: Builder, name: str, bit: int, machine: m.Machine | None
) -> list[Function]:
    """A question answered in the place, or, if it may have no value, in a function of its own."""
    with b.aside() as statements:
        partial, condition = _condition(context, question, b, machine)
    functions: list[Function] = []
    if partial:
        functions = [_true(context, question, name, machine)]
        condition = call(name, S, *([] if machine is None else [AT])).equals(1)
    else:
        b.put(statements)
    with b.when(condition if question.wanted else Not(condition)):
        b.update(YES, "|", 1 << bit)
    return functions


def _true(context: Context, question: Asked, name: str, machine: m.Machine | None) -> Function:
    """Is a condition true? 0 if it is not, or has no value."""
    own = Builder()
    _, inner = _condition(context, question, own, machine)
    own.leave(Choice(inner, ONE, ZERO))
    return function(name, (*rows("s"), *numbers(*([] if machine is None else [AT.name]))), own.block)


def _condition(context: Context, question: Asked, b: Builder, machine: m.Machine | None) -> tuple[bool, Expr]:
    """Whether a question may have no value, and what is asked."""
    universe = context.universe
    instance: Var | Int | None = None
    if question.instance is not None:
        machine, instance = universe.machines[question.instance], Int(question.instance)
    elif machine is not None:
        instance = AT
    scope = Scope(context, b, S, instance, machine, Fail(lambda _: b.leave(0)))
    scope.locals = {n: (Int(to_number(t, v, universe)), t) for n, (t, v) in question.locals.items()}
    condition = value(scope, context.elaboration.expression(question.condition))
    return scope.fail.used, condition


def stuck(context: Context) -> list[Function]:
    """`stuck`: may no step be possible here? Not where every machine that can end has ended, and no message waits."""
    b = Builder()
    for box in context.layout.boxes:
        if box.channel.waiting:
            with b.when(S[box.length] > 0):
                b.leave(TRUE)
    scope = Scope(context, b, S, None, None, Fail(lambda _: None))
    ending = [x for x in kinds(context.universe) if any(s.final for s in x.states)]
    for machine in ending:
        final = [s.name for s in machine.leaves if s.final]
        with instances(context, machine).each(b, AT):
            state = scope.at(context.column(machine.qualified, ""), AT)
            ended = in_leaves(state, machine, final) if final else FALSE
            with b.when(Not(ended)):
                b.leave(TRUE)
    b.leave(FALSE if ending else TRUE)
    return [function("stuck", rows("s"), b.block, "Is it wrong that no step is possible here?")]


def waiting(context: Context, circular: CircularWaits) -> list[Function]:
    """`waiting`: do instances wait for each other? See `explore.circular_wait`."""
    b, all_wait, functions = Builder(), Var("all_wait"), list[Function]()
    for n, circle in enumerate(circular.circles):
        b.set(all_wait, TRUE)
        for k, name in enumerate(sorted(circle)):
            machine = context.universe.model.machines[name]
            own = Asked(circular.waits[name].any, machine=name)
            functions.append(_true(context, own, f"waits_{n}_{k}", machine))
            with instances(context, machine).each(b, AT), b.when(call(f"waits_{n}_{k}", S, AT).equals(0)):
                b.set(all_wait, FALSE)
        with b.when(all_wait):
            b.leave(TRUE)
    b.leave(FALSE)
    return [*functions, function("waiting", rows("s"), b.block, "Do instances wait for each other?")]
