"""Numbers that are too large because a `let` is given arguments outside the ranges of its parameters.

Other numbers that are too large are found with their types, see `model.resolve.expressions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from fsmdsl import model as m
from fsmdsl.check.subject import Subject
from fsmdsl.core.elaborate import Elaboration, TooLargeNumberError
from fsmdsl.model.resolve.limits import too_many_digits
from fsmdsl.model.resolve.rules import TOO_LARGE
from fsmdsl.model.walk import computed_by, first_values, offered, recovery, required
from fsmdsl.text.diagnostics import Diagnostic, Rule
from fsmdsl.text.source import Span

RULES: tuple[Rule, ...] = ()
"""`TOO_LARGE` is one of `resolve`."""


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Each computation once. Without parameters, types are as wide as values anyway."""
    model = subject.model
    diagnostics: dict[Span, Diagnostic] = {}
    own = Elaboration(model)
    for module in model.modules if any(let.parameters for let in _lets(model)) else ():
        for machine in module.machines:
            _look(own, chain(_first_values(machine), computed_by(machine)), diagnostics)
        _look(own, (let.value for let in module.lets), diagnostics)
        for system in (*module.systems, *(x.system for x in module.scenarios)):
            _look(Elaboration(model, system), _of_system(system), diagnostics)
        for scenario in module.scenarios:
            _look(Elaboration(model, scenario.system), _of_scenario(scenario), diagnostics)
    yield from diagnostics.values()


def _lets(model: m.Model) -> Iterator[m.Let]:
    for module in model.modules:
        yield from module.lets
        yield from (let for machine in module.machines for let in machine.lets)
        yield from (let for system in module.systems for let in system.lets)


def _look(elaboration: Elaboration, expressions: Iterable[m.Expr], diagnostics: dict[Span, Diagnostic]) -> None:
    for e in expressions:
        try:
            elaboration.expression(e)
        except TooLargeNumberError as large:
            diagnostic = TOO_LARGE.at(large.e.span, too_many_digits(large.type))
            diagnostic = diagnostic.label(e.span, "here an argument is outside its parameter's range")
            diagnostics.setdefault(large.e.span, diagnostic)


def _of_system(system: m.System) -> Iterator[m.Expr]:
    yield from (let.value for let in system.lets)
    yield from chain(first_values(system), offered(system), required(system), recovery(system))


def _first_values(machine: m.Machine) -> Iterator[m.Expr]:
    yield from (p.default for p in machine.params if p.default is not None)
    yield from (f.default for f in machine.fields)


def _of_scenario(scenario: m.Scenario) -> Iterator[m.Expr]:
    for step in scenario.steps:
        match step.step if isinstance(step, m.Fails) else step:
            case m.Do(arguments=arguments):
                yield from arguments
            case m.Expect(condition=condition):
                yield condition
            case _:
                pass
