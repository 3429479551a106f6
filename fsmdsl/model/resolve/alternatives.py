"""Alternatives: of the repairs that replace the same row, one applies. Names in the others are bound all the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.declarations import modules
from fsmdsl.model.resolve.declarations.machines import declare
from fsmdsl.model.resolve.machines import machine as whole
from fsmdsl.model.resolve.names.scope import Program
from fsmdsl.syntax import amendments
from fsmdsl.syntax.amendments import Alternative, Repair
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Span


def bind_alternatives(
    program: Program, parsed_modules: Sequence[s.Module], repairs: Sequence[Repair], others: Sequence[Alternative]
) -> None:
    """Adds what is wrong in repairs that do not apply, and what their names stand for. Each is resolved as if it
    applied; what is outside of it belongs to the repairs that do."""
    if not others:
        return
    uses = set(program.uses)
    for repair in (x.repair for x in others):
        excluded_ids = amendments.ids(x.repair for x in amendments.alternatives(repairs, repair))
        trial = Program(program.as_documented, program.expression, excluded_ids=excluded_ids)
        modules.collect(trial, list(parsed_modules))
        for names in trial.machines.values():
            declare(names)
        for home, decl in repair.homes:
            machine = trial.machines.get(f"{modules.module_name(home)}.{decl.name.text}")
            if machine is not None:  # otherwise there is another module of its name
                whole.machine(machine)
        spans = [x.span for x in repair.amendments]
        program.diagnostics.extend(d for d in trial.diagnostics if _is_inside(d.span, spans))
        uses_inside = dict.fromkeys(x for x in trial.uses if _is_inside(x.span, spans) and x not in uses)
        program.uses.extend(uses_inside)


def with_reasons(diagnostics: Sequence[Diagnostic], others: Sequence[Alternative]) -> Iterator[Diagnostic]:
    """The diagnostics; those about a name that only an alternative declares which does not apply say so."""
    names = {id(x): amendments.declared_names(x.repair) for x in others}
    for d in diagnostics:
        x = next((x for x in others if d.span.text.rpartition(".")[2] in names[id(x)]), None)
        if x is None or d.rule != rules.UNKNOWN:
            yield d
        else:
            why = f"because `{x.instead.title}` also replaces `{x.label}`, and comes first"
            yield d.note(f"`{x.repair.title}` declares it, but does not apply, {why}")


def _is_inside(x: Span, spans: Sequence[Span]) -> bool:
    return any(y.contains(x) for y in spans)


def of_module(module: s.Module, others: Sequence[Alternative]) -> tuple[m.Alternative, ...]:
    """The repairs of a module that do not apply, for readers of the model."""
    return tuple(_alternative(x) for x in others if any(home is module for home, _ in x.repair.homes))


def _alternative(x: Alternative) -> m.Alternative:
    return m.Alternative(
        x.repair.name,
        x.repair.reason,
        x.machine.name.text,
        x.label,
        x.instead.title,
        amendments.name_for_without(x.instead, x.machine, x.label),
        x.repair.amendments[0].span,
    )
