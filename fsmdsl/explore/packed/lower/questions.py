"""What is asked of every world: one bit for each question that is answered with yes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fsmdsl import model as m
from fsmdsl.explore.packed.layout import kinds, leaf_number
from fsmdsl.explore.packed.lower.context import Context, Scope
from fsmdsl.explore.packed.lower.expressions import is_one_of, value
from fsmdsl.explore.packed.lower.handlers import numbers
from fsmdsl.explore.packed.lower.widen import widened
from fsmdsl.explore.packed.lower.writer import Writer
from fsmdsl.explore.packed.shapes import LARGEST, to_number
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


def ask(context: Context, asked: Sequence[Asked], name: str) -> list[str]:
    """Functions `name_0`, `name_1`, … of a row, each with the answers to so many questions, from the lowest bit on."""
    functions: list[str] = []
    for k, first in enumerate(range(0, len(asked), LARGEST)):
        w = Writer()
        w.line("yes = 0")
        for n, question in enumerate(asked[first : first + LARGEST]):
            if question.machine is None:
                functions += _one(context, question, w, f"{name}_{k}_{n}", n, None)
            else:
                machine = context.universe.model.machines[question.machine]
                with w.block(f"for at in {numbers(context, machine)}:"):
                    functions += _one(context, question, w, f"{name}_{k}_{n}", n, machine)
        w.line("return yes")
        functions += [f"def {name}_{k}(s):", *w.lines, ""]
    return functions


def _one(context: Context, question: Asked, w: Writer, name: str, bit: int, machine: m.Machine | None) -> list[str]:
    """A question answered in the place, or, if it may have no value, in a function of its own."""
    with w.aside() as lines:
        partial, text = _condition(context, question, w, machine)
    function: list[str] = []
    if partial:
        own = Writer()
        _, inner = _condition(context, question, own, machine)
        own.line(f"return 1 if {inner} else 0")
        parameters = "s, at" if machine is not None else "s"
        function = [f"def {name}({parameters}):", *own.lines, ""]
        text = f"{name}({parameters}) == 1"
    else:
        w.put(lines)
    with w.block(f"if {text}:" if question.wanted else f"if not {text}:"):
        w.line(f"yes |= {1 << bit}")
    return function


def _condition(context: Context, question: Asked, w: Writer, machine: m.Machine | None) -> tuple[bool, str]:
    failing: list[str] = []

    def fail(kind: str) -> None:
        failing.append(kind)
        w.line("return 0")

    universe = context.universe
    if question.instance is not None:
        machine = universe.machines[question.instance]
    at = "at" if question.instance is None and machine is not None else None
    instance = str(question.instance) if question.instance is not None else at
    scope = Scope(context, w, "s", instance, machine, fail)
    scope.locals = {n: (str(to_number(t, v, universe)), t) for n, (t, v) in question.locals.items()}
    text = value(scope, widened(universe, question.condition))
    return bool(failing), f"({text})" if " " in text else text


def stuck(context: Context) -> list[str]:
    """`stuck`: may no step be possible here? Not where every machine that can end has ended."""
    lines = ["def stuck(s):", '    """Is it wrong that nothing goes on here?"""']
    ending = [x for x in kinds(context.universe) if any(s.final for s in x.states)]
    if not ending:
        return [*lines, "    return True"]
    w = Writer()
    scope = Scope(context, w, "s", None, None, lambda _: None)
    for machine in ending:
        final = [leaf_number(machine, s.name) for s in machine.leaves if machine.state_named[s.name].final]
        with w.block(f"for at in {numbers(context, machine)}:"):
            state = scope.at(context.column(machine.qualified, ""), "at")
            text = is_one_of(state, final, len(machine.leaves)) if final else "False"
            with w.block(f"if not {text}:"):
                w.line("return True")
    w.line("return False")
    return [*lines, *w.lines]
