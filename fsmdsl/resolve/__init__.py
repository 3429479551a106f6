"""Syntax to model, across files: names are bound, types found, hierarchy resolved; everything wrong is reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.diagnostics import Diagnostic, ordered
from fsmdsl.resolve import bodies, modules
from fsmdsl.resolve.lets import let_of
from fsmdsl.resolve.locks import locks
from fsmdsl.resolve.machines import declare
from fsmdsl.resolve.rules import RULES
from fsmdsl.resolve.scenarios import scenario
from fsmdsl.resolve.scope import ModuleNames, Program, Scope
from fsmdsl.resolve.systems import system

__all__ = ["RULES", "Resolved", "resolve"]


@dataclass(frozen=True, slots=True)
class Resolved:
    """The model, if nothing was wrong, and what was wrong."""

    model: m.Model | None
    diagnostics: tuple[Diagnostic, ...]


def resolve(listed: Sequence[s.Module], *, as_documented: bool = False) -> Resolved:
    """Bind the names of all modules of a model together.

    As documented, amendments are left out. Takes time in proportion to the text. See NOTE(after-errors).
    """
    program = Program(as_documented)
    names = modules.collect(program, list(listed))
    for machine in program.machines.values():
        declare(machine)
    resolved = _modules(names)
    found = tuple(ordered(program.found))
    return Resolved(None if found else m.Model(resolved), found)


def _modules(names: list[ModuleNames]) -> tuple[m.Module, ...]:
    machines = {n.name: tuple(bodies.machine(x) for x in n.machines.values()) for n in names}
    systems: dict[str, m.System] = {}
    for n in names:
        for decl in n.syntax.members:
            if isinstance(decl, s.SystemDecl):
                made = system(n, decl)
                systems.setdefault(made.qualified, made)
    return tuple(_module(n, machines[n.name], systems) for n in names)


def _module(n: ModuleNames, machines: tuple[m.Machine, ...], systems: dict[str, m.System]) -> m.Module:
    members = n.syntax.members
    scenarios = (scenario(n, x, systems) for x in members if isinstance(x, s.ScenarioDecl))
    lets = (let_of(Scope(n), n.name, name, decl.name.span) for name, decl in n.lets.items())
    return m.Module(
        n.name,
        tuple(m.Document(x.title.text, x.location.text if x.location else None, x.doc) for x in n.syntax.sources),
        tuple(n.imports),
        modules.enums(n),
        modules.opaques(n),
        tuple(x for x in lets if x is not None),
        machines,
        modules.channels(n),
        tuple(locks(n, x, n.program.as_documented) for x in members if isinstance(x, s.LocksDecl)),
        tuple(x for x in systems.values() if x.module == n.name),
        tuple(x for x in scenarios if x is not None),
        n.syntax.doc,
        n.syntax.span,
        tuple(next(x.path.span for x in n.syntax.imports if str(x.path) == name) for name in n.imports),
        tuple(n.left_out),
    )
