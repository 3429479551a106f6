"""What is asked of every world: one bit for each question that is answered with yes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core.rest import resting_leaves
from fsmdsl.core.translate import holds
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.program.builder import Builder, function, numbers, rows
from fsmdsl.program.nodes import FALSE, ONE, TRUE, ZERO, Choice, Expr, Function, Int, Not, Return, Var, call
from fsmdsl.runs.circular_wait import CircularWaits
from fsmdsl.search.layout import kinds
from fsmdsl.search.lower.context import AT, Context, Fail, S, Scope
from fsmdsl.search.lower.values.expressions import in_leaves
from fsmdsl.search.lower.values.loops import each_of
from fsmdsl.search.shapes import LARGEST, to_number
from fsmdsl.step.world import Value


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition: of the system, of an instance, or of some instance of a machine; where it has no value, it is false.

    `wanted` False asks for the opposite: is it false (for some instance)?
    """

    condition: m.Expr
    expected: bool = True
    instance: int | None = None
    machine: str | None = None
    locals: Mapping[str, tuple[m.Type, Value]] = field(default_factory=dict)


YES = Var("yes")


def ask(context: Context, questions: Sequence[Condition], name: str) -> list[Function]:
    """Functions `name_0`, `name_1`, … of a row, each with the answers to so many questions, from the lowest bit on."""
    functions: list[Function] = []
    for k, first in enumerate(range(0, len(questions), LARGEST)):
        b = Builder()
        b.set(YES, ZERO)
        for n, question in enumerate(questions[first : first + LARGEST]):
            with _each(context, question, b):
                condition, own = _true(context, question, b, f"{name}_{k}_{n}")
                functions += own
                with b.if_(condition if question.expected else Not(condition)):
                    b.update(YES, "|", 1 << n)
        b.return_(YES)
        functions.append(function(f"{name}_{k}", rows("s"), b.block))
    return functions


def _each(context: Context, question: Condition, b: Builder) -> AbstractContextManager[object]:
    """A loop through the instances of a machine, if the question is about some of them."""
    if question.machine is None:
        return nullcontext()
    return each_of(context, context.universe.model.machines[question.machine], b)


def _true(context: Context, question: Condition, b: Builder, name: str) -> tuple[Expr, list[Function]]:
    """Is a condition true? Answered in the place, or, if it may have no value, by a function of its own."""
    universe = context.universe
    instance: Var | Int | None = None
    machine: m.Machine | None = None
    if question.instance is not None:
        machine, instance = universe.machines[question.instance], Int(question.instance)
    elif question.machine is not None:
        machine, instance = universe.model.machines[question.machine], AT
    variables = [(x, t) for x, (t, _) in question.locals.items()]
    procedure = holds(context.core, name, question.condition, machine, variables)
    first = procedure.body[0]
    *needed, last = first.body if isinstance(first, s.Attempt) else procedure.body
    assert isinstance(last, s.Return)
    assert last.value is not None
    scope = Scope(context, b, S, instance, machine, Fail(lambda _: b.return_(0)))
    bound = zip(procedure.parameters[machine is not None :], question.locals.values(), strict=True)
    scope.variables = {x.name: Int(to_number(t, v, universe)) for x, (t, v) in bound}
    with b.capture() as statements:
        scope.execute(tuple(needed))
        condition = scope.value(last.value)
    if not scope.fail.used:
        b.splice(statements)
        return condition, []
    instances = [AT] if instance == AT else []
    parameters = (*rows("s"), *numbers(*(x.name for x in instances)))
    body = [*statements, Return(Choice(condition, ONE, ZERO))]
    return call(name, S, *instances).equals(1), [function(name, parameters, body)]


def stuck(context: Context) -> list[Function]:
    """`stuck`: may no step be possible here? Not where the system may rest: see `step.may_rest`."""
    b = Builder()
    for box in context.layout.boxes:
        if box.channel.waiting:
            with b.if_(S[box.length] > 0):
                b.return_(TRUE)
    functions = _rests(context, b, "stuck", FALSE)
    scope = Scope(context, b, S, None, None, Fail(lambda _: None))
    leaves = resting_leaves(context.universe.machines)
    machines = [x for x in kinds(context.universe) if len(leaves[x.qualified]) < len(x.leaves)]
    for machine in machines:
        with each_of(context, machine, b):
            state = scope.at(context.column(machine.qualified, ""), AT)
            resting = sorted(leaves[machine.qualified])
            with b.if_(Not(in_leaves(state, machine, resting) if resting else FALSE)):
                b.return_(TRUE)
    b.return_(FALSE if leaves else TRUE)
    return [*functions, function("stuck", rows("s"), b.block, "Is it wrong that no step is possible here?")]


def _rests(context: Context, b: Builder, name: str, answer: Expr) -> list[Function]:
    """Where a `may rest when` of the system is true, the answer is returned."""
    functions: list[Function] = []
    for n, x in enumerate(context.universe.system.rests):
        condition, own = _true(context, Condition(x), b, f"{name}_rest_{n}")
        functions += own
        with b.if_(condition):
            b.return_(answer)
    return functions


def waiting(context: Context, circular: CircularWaits) -> list[Function]:
    """`waiting`: do instances wait for each other? See `runs.circular_wait`."""
    b, all_wait = Builder(), Var("all_wait")
    functions = _rests(context, b, "waiting", FALSE) if circular.circles else []
    for n, circle in enumerate(circular.circles):
        b.set(all_wait, TRUE)
        for k, name in enumerate(sorted(circle)):
            question = Condition(circular.waits[name].any, machine=name)
            with _each(context, question, b):
                condition, own = _true(context, question, b, f"waits_{n}_{k}")
                functions += own
                with b.if_(Not(condition)):
                    b.set(all_wait, FALSE)
        with b.if_(all_wait):
            b.return_(TRUE)
    b.return_(FALSE)
    return [*functions, function("waiting", rows("s"), b.block, "Do instances wait for each other?")]
