"""A system in C: its state, its procedures, what is asked of each state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import get_args

from fsmdsl.core import statements as s
from fsmdsl.core.translate import Context, all_procedures, holds
from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.export.c_scope import CScope
from fsmdsl.interop.export.c_statements import TAB, procedure, prototype, returns
from fsmdsl.interop.export.c_world import (
    constants,
    domains,
    first_world,
    message_types,
    parameters,
    variables,
    world_type,
)
from fsmdsl.interop.export.escape import c_comment, c_string
from fsmdsl.interop.export.questions import Question
from fsmdsl.interop.export.refusals import Refusal, RefusedError
from fsmdsl.interop.export.runs import Condition
from fsmdsl.interop.export.values import BITS

FAULTS = ("", *get_args(s.FaultKind))
"""By number; the constants in C are `UNHANDLED_FAULT` and so on."""


@dataclass(frozen=True, slots=True)
class CText:
    """The C of a system, in parts that come one after the other."""

    declarations: str
    parts: tuple[str, ...]


def c_text(scope: CScope, questions: tuple[Question, ...], conditions: Sequence[Condition] = ()) -> CText:
    """All of it. Raises `RefusedError`."""
    system = scope.universe.system
    if len(system.instances) > BITS:
        raise RefusedError(Refusal("many instances", system.name, system.span))
    context = Context(scope.elaboration, closed=True)
    question_functions = [*_question_functions(scope, context, questions), *_conditions(scope, context, conditions)]
    scope.procedures = all_procedures(context).procedures
    functions = _functions(scope)
    prototypes = [f"{prototype(scope, scope.procedures[x])};" for x in scope.functions]
    types, report = "\n".join(message_types(scope)), "\n".join(_report(scope, len(questions)))
    parts = (
        _fixed(),
        "\n".join(constants(scope)),
        _resource("runtime.c"),
        "\n".join(scope.descriptions()),
        "\n".join(parameters(scope)),
        *domains(scope),
        f"{variables(scope)}\n{types}",
        _resource("world.c"),
        "\n".join([*prototypes, *_tables(scope)]),
        *functions,
        _take_step(scope),
        report,
        first_world(scope),
        _resource("steps.c"),
        *question_functions,
    )
    return CText(world_type(scope), parts)


def _resource(name: str) -> str:
    return files("fsmdsl.interop.export").joinpath(name).read_text(encoding="utf-8")


def _fixed() -> str:
    kinds = ", ".join(f"{x.upper()}_FAULT = {n}" for n, x in enumerate(FAULTS) if x)
    names = ", ".join(f'"{x}"' for x in FAULTS)
    return (
        f"enum {{ {kinds} }};\nstatic const char *fault_names[] = {{{names}}};\n"
        'static void beyond(const char *why) { printf("beyond: %s\\n", why); exit(9); }'
    )


def _functions(scope: CScope) -> list[str]:
    """The procedures that a step or question needs. Each asks for those that it calls."""
    for name in (s.Name("offers"), s.Name("crash")):
        scope.function(name)
    texts: list[str] = []
    while len(texts) < len(scope.functions):
        texts.append(procedure(scope, scope.procedures[list(scope.functions)[len(texts)]]))
    return texts


def _tables(scope: CScope) -> Iterator[str]:
    """The functions of each kind, by instance."""
    for kind, table in scope.dispatched.items():
        names = ", ".join(scope.function(s.Name(kind, x.qualified)) for x in scope.universe.machines)
        result = ", V *" * (returns(scope.procedures[s.Name(kind, scope.machines[0].qualified)]) == "result")
        yield f"static int (*const {table}[])(V{result}) = {{{names}}};"


def _take_step(scope: CScope) -> str:
    """A function that takes a step, by its number."""
    cases = []
    for name, n in scope.steps.items():
        arguments = ", ".join(f"s->a[{k}]" for k in range(len(scope.procedures[name].parameters)))
        cases.append(f"{TAB}case {n}: return {scope.function(name)}({arguments});\n")
    return f"static int take_step(const Step *s)\n{{\n{TAB}switch (s->procedure) {{\n{''.join(cases)}{TAB}}}\n}}"


# What is asked of states ---------------------------------------------------------------------------------------------


def _question_functions(scope: CScope, context: Context, questions: tuple[Question, ...]) -> Iterator[str]:
    """The functions `ask`, `may_rest` and `inside`."""
    calls = list[str]()
    conditions: dict[str, list[str]] = {"rest": [], "bound": []}
    for q in questions:
        machine = scope.universe.model.machines.get(q.machine)
        function = scope.function(holds(context, f"question {q.number}", q.condition, machine).name)
        if q.kind in conditions:
            conditions[q.kind].append(f"{function}()")
            continue
        sign = "!" if q.kind == "invariant" else ""
        line = c_string(f"{q.kind} {q.number} {'violated' if sign else 'shown'}: {q.name}")
        calls.append(f"{TAB}{c_comment(f'{q.kind} {q.name}, {q.span}')}\n")
        for n in q.instances:
            test = f"{sign}{function}({'' if machine is None else n})"
            calls.append(f"{TAB}if ({test}) report(&questions_seen[{q.number}], {line});\n")
    yield f"static void ask(void)\n{{\n{''.join(calls)}}}"
    head = c_comment("Does the system say that it may rest here?")
    yield f"{head}\nstatic int may_rest(void)\n{{\n{TAB}return {' || '.join(conditions['rest']) or '0'};\n}}"
    head = c_comment("Are steps explored from here?")
    yield f"{head}\nstatic int inside(void)\n{{\n{TAB}return {' && '.join(conditions['bound']) or '1'};\n}}"


def _conditions(scope: CScope, context: Context, conditions: Sequence[Condition]) -> Iterator[str]:
    """What properties of runs speak of."""
    for c in conditions:
        name = holds(context, f"condition {c.number}", c.expression, variables=c.variables).name
        arguments = ", ".join(f"a{n}" for n, _ in enumerate(c.variables))
        head = f"static int holds_{c.number}({', '.join(f'V a{n}' for n, _ in enumerate(c.variables)) or 'void'})"
        call = f"{TAB}w = now.w;\n{TAB}return {scope.function(name)}({arguments});"
        yield f"{c_comment(str(c.expression.span))}\n{head}\n{{\n{call}\n}}"


def _report(scope: CScope, questions: int) -> Iterator[str]:
    """What has been reported, and where faults are in the text."""
    fault: str = "0"
    first = scope.universe.fault
    if first is not None:
        place = scope.place(first.span)
        fault = c_string(f"fault {FAULTS.index(first.kind)} at {place}: {first.kind}, {first.span}")
    places = ", ".join(c_string(str(x)) for x in scope.places)
    yield f"static const char *const places[] = {{{places or '0'}}};"
    yield f"static const char *const first_fault = {fault};"
    yield f"static int first_seen, deadlock_seen, faults_seen[{len(FAULTS)}][{max(len(scope.places), 1)}];"
    yield f"static int questions_seen[{max(questions, 1)}];"
    yield "static void ask(void);\nstatic int may_rest(void);\nstatic int inside(void);"
