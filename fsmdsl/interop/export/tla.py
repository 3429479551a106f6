"""A system for TLC. Operators make of a world the next; sets, sequences and quantifiers are those of TLA+."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from itertools import chain

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.export import tla_machines as tm
from fsmdsl.interop.export import tla_system as ts
from fsmdsl.interop.export.escape import tla_comment
from fsmdsl.interop.export.questions import Question, questions
from fsmdsl.interop.export.scope import identifier
from fsmdsl.interop.export.tla_expressions import FINE, fault, value
from fsmdsl.interop.export.tla_scope import Env, TlaScope
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
    system_questions = questions(scope.universe)
    name = identifier(system.name)
    machines = list(chain.from_iterable(tm.operators(scope, x) for x in scope.machines))
    parts = [*ts.dispatch(scope), *ts.environment(scope), *ts.recovery(scope)]
    crashes, questioned = list(ts.crashes(scope)), list(_question_operators(scope, system_questions))
    prelude = _resource("prelude.tla").split("\\* Channels -")
    body = [
        prelude[0] + "\n".join(ts.constants(scope)),
        "\\* Channels -" + prelude[1],
        ts.first_world(scope),
        f"RECURSIVE {', '.join(tm.declared(scope))}",
        *machines,
        *parts,
        _resource("steps.tla"),
        *crashes,
        *questioned[:-1],
        _next(len(scope.universe.starts) > 1).rstrip(),
        questioned[-1],
    ]
    places = "".join(f"{tla_comment(f'{n}: {x}')}\n" for x, n in scope.places.items())
    note = "for `tlc2.TLC -deadlock`, as NoDeadlock looks for deadlocks"
    invariants = "".join(f"INVARIANT {x}\n" for x in ["NoStepFails", "NoDeadlock", *_names(system_questions)])
    text = (
        f"---- MODULE {name} ----\n{tla_comment(f'system {system.qualified}, from {system.span}')}\n"
        + "\n\n".join(body)
        + f"\n====\n\nPlaces:\n{places}\n{name}.cfg, {note}:\n{CONFIGURATION}{invariants}"
    )
    return Tla(name, text, CONFIGURATION + "INVARIANT Watch\n", system_questions, tuple(scope.places))


def _resource(name: str) -> str:
    return files("fsmdsl.interop.export").joinpath(name).read_text(encoding="utf-8")


def _next(several: bool) -> str:
    """The specification; with several first worlds it begins in any of them."""
    text = _resource("next.tla")
    return text.replace("world = First", "world \\in Firsts") if several else text


def _names(system_questions: tuple[Question, ...]) -> list[str]:
    return [f"question_{q.number}_holds" for q in system_questions if q.kind == "invariant"]


def _question_operators(scope: TlaScope, system_questions: tuple[Question, ...]) -> Iterator[str]:
    """An operator for each question, and last what reports and names them."""
    tests, definitions, bounds = [], [], []
    for q in system_questions:
        with scope.read_by(q.machine):
            e = scope.elaboration.expression(q.condition)
            text, bad = value(scope, e, Env()), fault(scope, e, Env())
        text = text if bad == FINE else f"IF {bad} # 0 THEN FALSE ELSE {text}"
        yield from tm.with_lets(
            scope, f"{tla_comment(f'{q.kind} {q.name}, {q.span}')}\nquestion_{q.number}(w, self) == {text}"
        )
        if q.kind == "bound":
            bounds.append(f"question_{q.number}(w, -1)")
            continue
        numbers = ", ".join(map(str, q.instances)) if q.machine else "-1"
        quantified = f"\\A self \\in {{{numbers}}} : question_{q.number}(world, self)"
        if q.kind == "reachable":
            quantified = f"~question_{q.number}(world, -1)"
        definitions.append(f"question_{q.number}_holds == {quantified}")
        tests.append(f'(question_{q.number}_holds \\/ Found(<<"question", {q.number}>>))')
    yield "\\* Are steps explored from here?\nInside(w) == " + (" /\\ ".join(bounds) or "TRUE")
    watch = ["FaultsSeen", '(NoDeadlock \\/ Found(<<"deadlock">>))', *tests]
    yield "\n".join([*definitions, "Watch == " + " /\\ ".join(watch)])
