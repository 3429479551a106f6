"""Scenarios: worked examples, with a system's instances or their own."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.scope import ModuleNames, Scope, SystemNames
from fsmdsl.model.resolve.scenarios.first_values import begun
from fsmdsl.model.resolve.scenarios.steps import step
from fsmdsl.model.resolve.systems.inheritance import own, resolved_at
from fsmdsl.model.resolve.systems.instances import channels_of, instance_names, names_of, resolve_instances
from fsmdsl.text.diagnostics import Diagnostic, Fix
from fsmdsl.text.source import Span


def scenario(module: ModuleNames, decl: s.ScenarioDecl, systems: dict[str, m.System]) -> m.Scenario | None:
    """A scenario; None when its system does not exist. `systems` are those resolved already, by qualified name.

    As documented, a scenario that needs what only an amendment declares is left out.
    """
    found_before = len(module.program.diagnostics)
    qualified = f"{module.name}.{decl.name.text}"
    if decl.system is None and not decl.instances and decl.steps:
        module.program.diagnostics.append(_without_instances(module, decl))
        return None
    if decl.system is None:
        declarations = own(module, qualified, decl.instances)
        names = instance_names(module, qualified, declarations)
        scope = Scope(module, system=names)
        instances = resolve_instances(names, declarations)
        channels = channels_of([module], names, decl.name)
        groups = tuple(names.groups.values())
        around = m.System(
            decl.name.text,
            module.name,
            groups,
            instances,
            None,
            (),
            None,
            (),
            (),
            (),
            (),
            channels,
            decl.doc,
            decl.span,
        )
    else:
        base = _system(module, decl, systems)
        if base is None:
            return None
        around, names = base
        scope = Scope(module, system=names)
    around = begun(scope, around, decl)
    steps = tuple(x for x in (step(scope, x) for x in decl.steps) if x is not None)
    title = decl.title.text if decl.title is not None else decl.name.text
    missing = module.program.amended_since(found_before)
    if missing is not None:
        module.left_out.append(m.LeftOut(decl.name.text, title, missing, decl.span))
        return None
    return m.Scenario(decl.name.text, title, module.name, around, steps, decl.doc, decl.span)


def _without_instances(module: ModuleNames, decl: s.ScenarioDecl) -> Diagnostic:
    """Steps without instances: `of` is missing, as a rule."""
    name, systems = decl.name.text, list(module.systems)
    head = (decl.name if decl.title is None else decl.title).span
    behind = Span(head.source, head.end, head.end)
    fix = Fix(behind, f" of {systems[0]}", f"write `of {systems[0]}`") if len(systems) == 1 else None
    diagnostic = rules.INSTANCE.at(decl.name.span, f"the scenario `{name}` has steps, but no instances", fix=fix)
    own_instances = "declare its instances: `a: A`"
    if not systems:
        return diagnostic.help(own_instances)
    of = " or ".join(f"`scenario {name} of {system}`" for system in systems[:3])
    return diagnostic.help(f"write {of}, or {own_instances}")


def _system(
    module: ModuleNames, decl: s.ScenarioDecl, systems: dict[str, m.System]
) -> tuple[m.System, SystemNames] | None:
    assert decl.system is not None
    of = resolved_at(module, decl.system, systems)
    if of is None:
        return None
    home, around = of
    names = names_of(module, home, home.systems[around.name], around)
    for extra in decl.instances:
        diagnostic = rules.MISPLACED.at(extra.span, f"the instances of this scenario are those of `{around.name}`")
        module.program.diagnostics.append(diagnostic.help("leave `of …` out to declare instances of its own"))
    return around, names
