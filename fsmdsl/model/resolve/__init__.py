"""Syntax to model, across files: names are bound, types found, hierarchy resolved; everything wrong is reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.model.resolve.alternatives import bind_alternatives, of_module, with_reasons
from fsmdsl.model.resolve.declarations import modules
from fsmdsl.model.resolve.declarations.machines import declare
from fsmdsl.model.resolve.locks import locks
from fsmdsl.model.resolve.machines import machine as whole
from fsmdsl.model.resolve.memory import Memory, Remembering
from fsmdsl.model.resolve.names.meanings import Meaning, Use
from fsmdsl.model.resolve.names.scope import ModuleNames, Program, Scope
from fsmdsl.model.resolve.rules import RULES
from fsmdsl.model.resolve.scenarios.scenario import scenario
from fsmdsl.model.resolve.systems.environments import shared_environment
from fsmdsl.model.resolve.systems.inheritance import base_of, chain, resolved
from fsmdsl.model.resolve.systems.refinement import misplaced, refined
from fsmdsl.model.resolve.systems.system import system
from fsmdsl.model.resolve.values.expressions import expression
from fsmdsl.model.resolve.values.lets import all_of
from fsmdsl.syntax import amendments
from fsmdsl.syntax.amendments import Alternative
from fsmdsl.syntax.parse.reading import uncollected
from fsmdsl.text.diagnostics import Diagnostic, ordered

__all__ = ["RULES", "Meaning", "Memory", "Resolved", "Use", "resolve"]


@dataclass(frozen=True, slots=True)
class Resolved:
    """The model, if nothing was wrong, and what was wrong. Also what editors ask about, whether it was or not: the
    declarations of each module, and what the names in the text stand for."""

    model: m.Model | None
    diagnostics: tuple[Diagnostic, ...]
    names: tuple[ModuleNames, ...] = ()
    uses: tuple[Use, ...] = ()


def resolve(
    parsed_modules: Sequence[s.Module],
    *,
    as_documented: bool = False,
    incomplete: bool = False,
    omitted: Sequence[s.AmendDecl | s.LockAmendment] = (),
    memory: Memory | None = None,
) -> Resolved:
    """Bind the names of all modules of a model together.

    As documented, amendments are left out. Where they are, or some have been (`incomplete`), so is what needs them.
    `omitted` are those that the modules no longer have.
    Takes time in proportion to the text; with a memory of an earlier resolution, to what has changed. See
    NOTE(after-errors) and NOTE(memory).
    """
    repairs = [] if as_documented else amendments.repairs(parsed_modules)
    others = amendments.alternatives(repairs)
    excluded_ids = amendments.ids(x.repair for x in others)
    program = Program(as_documented, expression, excluded_ids=excluded_ids, incomplete=as_documented or incomplete)
    with uncollected():
        names = modules.collect(program, list(parsed_modules))
        for machine in program.machines.values():
            declare(machine)
        remembering = Remembering(program, memory, names)
        unapplied = (x for module in parsed_modules for x in amendments.amendments(module))
        unapplied = (x for x in unapplied if as_documented or id(x) in excluded_ids)
        omitted_names = tuple(sorted(amendments.mentioned_names([*omitted, *unapplied])))
        whole_modules = _modules(names, remembering, others)
        resolved = tuple(replace(x, omitted_names=omitted_names) for x in whole_modules)
        bind_alternatives(program, parsed_modules, repairs, others)
    remembering.keep()
    diagnostics = tuple(ordered(with_reasons(program.diagnostics, others)))
    return Resolved(None if diagnostics else m.Model(resolved), diagnostics, tuple(names), tuple(program.uses))


def _modules(names: list[ModuleNames], memory: Remembering, others: Sequence[Alternative]) -> tuple[m.Module, ...]:
    machines = {
        n.name: tuple(memory.recall(x.decl, partial(whole.machine, x)) for x in n.machines.values()) for n in names
    }
    environments = {
        n.name: tuple(memory.recall(x, partial(shared_environment, n, x)) for x in n.environments.values())
        for n in names
    }
    systems = _systems(names, memory)
    systems |= _refinements(names, dict(systems), memory)
    whole_modules = (_module(n, machines[n.name], environments[n.name], systems, memory) for n in names)
    return tuple(
        replace(x, alternatives=of_module(n.syntax, others)) for n, x in zip(names, whole_modules, strict=True)
    )


def _systems(names: list[ModuleNames], memory: Remembering) -> dict[str, m.System]:
    """All systems, in the order of the text. Those that are extended are resolved before."""
    by_id: dict[int, m.System | None] = {}
    systems: dict[str, m.System] = {}
    for n in names:
        for decl in (x for x in n.syntax.members if isinstance(x, s.SystemDecl)):
            for home, x in reversed(chain(n, decl)):
                base = base_of(home, x)
                around = None if base is None else by_id.get(id(base[1]))
                if id(x) not in by_id:
                    by_id[id(x)] = memory.recall(x, partial(system, home, x), around)
            complete = by_id[id(decl)]
            if complete is not None:
                systems.setdefault(complete.qualified, complete)
    return systems


def _refinements(names: list[ModuleNames], systems: Mapping[str, m.System], memory: Remembering) -> dict[str, m.System]:
    """The systems that refine another, with that."""
    refining: dict[str, m.System] = {}
    for n in names:
        for decl in (x for x in n.syntax.members if isinstance(x, s.SystemDecl)):
            complete = systems.get(f"{n.name}.{decl.name.text}")
            if decl.refines is None or complete is None:
                misplaced(n, decl)
                continue
            around = resolved(n, decl.refines, systems)
            refines = memory.recall(decl.refines, partial(refined, n, decl, complete, systems), around)
            refining[complete.qualified] = replace(complete, refines=refines)
    return refining


def _module(
    n: ModuleNames,
    machines: tuple[m.Machine, ...],
    environments: tuple[m.SharedEnvironment, ...],
    systems: dict[str, m.System],
    memory: Remembering,
) -> m.Module:
    members = n.syntax.members
    scenarios = (
        memory.recall(x, partial(scenario, n, x, systems), resolved(n, x.system, systems))
        for x in members
        if isinstance(x, s.ScenarioDecl)
    )
    return m.Module(
        n.name,
        tuple(m.Document(x.title.text, x.location.text if x.location else None, x.doc) for x in n.syntax.sources),
        tuple(n.imports),
        modules.enums(n),
        modules.records(n),
        modules.opaques(n),
        all_of(Scope(n), n.name, n.lets),
        machines,
        modules.channels(n),
        tuple(locks(n, x, n.program.as_documented) for x in members if isinstance(x, s.LocksDecl)),
        tuple(x for x in systems.values() if x.module == n.name),
        tuple(x for x in scenarios if x is not None),
        n.syntax.doc,
        n.syntax.span,
        tuple(next(x.path.span for x in n.syntax.imports if str(x.path) == name) for name in n.imports),
        tuple(n.left_out),
        tuple(n.systems_left_out),
        environments,
    )
