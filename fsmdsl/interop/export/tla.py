"""A system for TLC, from its core statements. Operators make of a world the next; sets, sequences and quantifiers are
those of TLA+."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.export import tla_system as ts
from fsmdsl.interop.export.escape import tla_comment
from fsmdsl.interop.export.questions import Question
from fsmdsl.interop.export.scope import identifier
from fsmdsl.interop.export.tla_scope import TlaScope
from fsmdsl.interop.export.tla_statements import procedure
from fsmdsl.text.source import Span

CONFIGURATION = """\
CONSTANT none = none
INIT Init
NEXT Next
"""


@dataclass(frozen=True, slots=True)
class Tla:
    """The text of a module, its name, and what its numbers mean: questions, and from 1 the places of faults."""

    name: str
    text: str
    configuration: str
    questions: tuple[Question, ...]
    places: tuple[Span, ...]


def tla(model: m.Model, system: m.System) -> Tla:
    """A module for TLC. Raises `RefusedError`, `TooManyValuesError`, `TooLargeNumberError`."""
    scope = TlaScope.of(model, system)
    scope.read()
    if system.offers is None:
        scope.universe.unrestricted  # noqa: B018 - raises `TooManyValuesError`
    name = identifier(system.name)
    body = list(_body(scope))
    places = "".join(f"{tla_comment(f'{n}: {x}')}\n" for x, n in scope.places.items())
    note = "for `tlc2.TLC -deadlock`, as NoDeadlock looks for deadlocks"
    invariants = "".join(f"INVARIANT {x}\n" for x in ["NoStepFails", "NoDeadlock", *_names(scope)])
    text = (
        f"---- MODULE {name} ----\n{tla_comment(f'system {system.qualified}, from {system.span}')}\n"
        + "\n\n".join(x.rstrip() for x in body)
        + f"\n====\n\nPlaces:\n{places}\n{name}.cfg, {note}:\n{CONFIGURATION}{invariants}"
    )
    return Tla(name, text, CONFIGURATION + "INVARIANT Watch\n", scope.questions, tuple(scope.places))


def _body(scope: TlaScope) -> Iterator[str]:
    """The definitions, each behind those that it uses. Procedures call one another, so some are declared before."""
    prelude, worlds = _resource("prelude.tla").split("\\* Worlds -")
    yield prelude
    yield "\n".join(ts.constants(scope))
    yield ts.first_world(scope)
    yield "\\* Worlds -" + worlds
    procedures = [x for x in scope.program.procedures.values() if x.name.kind not in ("begin", "may begin")]
    last = [x for x in procedures if x.name.kind in ("offers", "holds")]
    operators = [_heading(scope, x.name) + procedure(scope, x) for x in procedures if x not in last]
    steps = [ts.run(scope), _resource("steps.tla"), *(_heading(scope, x.name) + procedure(scope, x) for x in last)]
    declarations = [f"{scope.procedure(x)}({_blanks(scope.program.procedures[x])})" for x in scope.recursive]
    declarations += [f"{scope.by_instance(kind)}(_, _)" for kind in scope.dispatches]
    if declarations:
        yield "RECURSIVE\n  " + ",\n  ".join(declarations)
    yield from operators
    yield from (ts.by_instance(scope, kind) for kind in scope.dispatches)
    yield from steps
    yield from _questions(scope)


def _blanks(p: s.Procedure) -> str:
    return ", ".join("_" * (1 + len(p.parameters)))


def _resource(name: str) -> str:
    return files("fsmdsl.interop.export").joinpath(name).read_text(encoding="utf-8")


def _heading(scope: TlaScope, name: s.Name) -> str:
    """Where what a procedure does is in the source."""
    machine = scope.universe.model.machines.get(name.owner)
    match name.kind:
        case "follow" if machine is not None:
            t = machine.transitions[int(name.subject.split()[0])]
            text = f"{t.source} -> {t.target or '(internal)'} on {t.name}, {t.span}"
        case "event" if machine is not None:
            text = f"{name.subject}, {machine.event_named[name.subject].span}"
        case "let":
            let = _let(scope, name.owner, name.subject.split()[0])
            text = f"let {let.name}, {let.span}"
        case "holds":
            q = scope.questions[int(name.subject)]
            text = f"{q.kind} {q.name}, {q.span}"
        case _:
            return ""
    return tla_comment(text) + "\n"


def _let(scope: TlaScope, owner: str, name: str) -> m.Let:
    model, system = scope.universe.model, scope.universe.system
    if owner in model.machines:
        return model.machines[owner].let_named[name]
    lets = {x.name: x for x in system.lets} if owner == system.qualified else model.module_lets[owner]
    return lets[name]


def _names(scope: TlaScope) -> list[str]:
    return [f"question_{q.number}_holds" for q in scope.questions if q.kind == "invariant"]


def _questions(scope: TlaScope) -> Iterator[str]:
    """Where the system may rest, the bounds, the specification, and what reports and names questions."""
    tests, definitions = list[str](), list[str]()
    conditions: dict[str, list[str]] = {"rest": [], "bound": []}
    for q in scope.questions:
        holds = scope.procedure(s.Name("holds", q.machine, str(q.number)))
        if q.kind in conditions:
            conditions[q.kind].append(f"{holds}(w)")
            continue
        numbers = ", ".join(map(str, q.instances))
        text = f"\\A self \\in {{{numbers}}} : {holds}(world, self)" if q.machine else f"{holds}(world)"
        definitions.append(f"question_{q.number}_holds == {'~' if q.kind == 'reachable' else ''}{text}")
        tests.append(f'(question_{q.number}_holds \\/ Found(<<"question", {q.number}>>))')
    yield "\\* Does the system say that it may rest here?\nMayRest(w) == " + (
        " \\/ ".join(conditions["rest"]) or "FALSE"
    )
    yield "\\* Are steps explored from here?\nInside(w) == " + (" /\\ ".join(conditions["bound"]) or "TRUE")
    specification = _resource("next.tla")
    if len(scope.universe.starts) > 1:
        specification = specification.replace("world = First", "world \\in Firsts")
    yield specification
    watch = ["FaultsSeen", '(NoDeadlock \\/ Found(<<"deadlock">>))', *tests]
    yield "\n".join([*definitions, "Watch == " + " /\\ ".join(watch)])
