"""A whole system: its instances, what the environment does, what must hold."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.machines.effects import Place, effects
from fsmdsl.model.resolve.names.scope import Members, ModuleNames, Scope, SystemNames
from fsmdsl.model.resolve.systems.environments import Resolved, offered, used
from fsmdsl.model.resolve.systems.inheritance import chain, extended, mark, members_of, of_kind, settle, take_lets
from fsmdsl.model.resolve.systems.instances import channels_of, instance_names, resolve_instances, take
from fsmdsl.model.resolve.systems.properties import invariants, properties, reachables
from fsmdsl.model.resolve.values.lets import all_of
from fsmdsl.model.resolve.values.places import condition


def system(module: ModuleNames, decl: s.SystemDecl) -> m.System | None:
    """A system, once all machines are known, and those systems that it extends. As documented, none where it needs what
    only an amendment declares."""
    program, before = module.program, mark(module.program)
    complete = extended(module, decl)
    diagnostic_count = len(program.diagnostics)
    made_of = _system(module, decl)
    if not complete:
        del program.diagnostics[diagnostic_count:]
    if decl.extends is not None:
        settle(program, before, decl.span, decl.extends.span, f"in `{decl.name.text}`, which extends `{decl.extends}`")
    missing = program.amended_since(before.diagnostics)
    if missing is None:
        return made_of
    module.systems_left_out.append(m.LeftOut(decl.name.text, decl.name.text, missing, decl.span))
    return None


def _system(module: ModuleNames, decl: s.SystemDecl) -> m.System:
    members = members_of(module, decl)
    instances = of_kind(members, s.InstanceDecl)
    names = instance_names(module, f"{module.name}.{decl.name.text}", instances)
    for let in of_kind(members, s.LetDecl):
        name, first = let.decl.name, let.owner == names.qualified
        module.program.note(name.span, "let", let.owner, name.text, declares=first)
        take(names, name, names.lets, let.decl)
    take_lets(names, members)
    scope = Scope(module, system=names)
    recovers = of_kind(members, s.RecoverDecl)
    for extra in recovers[1:]:
        scope.report(rules.TWICE.at(extra.decl.span, "a system can have only one `recover`"))
    lines = _environment(names, members)
    return m.System(
        decl.name.text,
        module.name,
        tuple(names.groups.values()),
        resolve_instances(names, instances),
        None if lines is None else tuple(x for x in lines if isinstance(x, m.Offer)),
        tuple(x for x in lines or () if isinstance(x, m.CrashOffer)),
        effects(Place(recovers[0].scope(names), "recover"), recovers[0].decl.effects) if recovers else None,
        all_of(scope, names.qualified, names.lets),
        invariants(names, of_kind(members, s.InvariantDecl)),
        reachables(names, of_kind(members, s.ReachableDecl)),
        properties(names, of_kind(members, s.PropertyDecl)),
        channels_of([module, *(x.home for x in members)], names, decl.name),
        decl.doc,
        decl.span,
        tuple(x for x in lines or () if isinstance(x, m.ProcessCrash)),
        start_when=tuple(condition(x.scope(names), x.decl.condition) for x in of_kind(members, s.StartDecl)),
        rests=tuple(condition(x.scope(names), x.decl.condition) for x in of_kind(members, s.RestDecl)),
        bounds=tuple(condition(x.scope(names), x.decl.condition) for x in of_kind(members, s.BoundDecl)),
        made_of=tuple(dict.fromkeys(_made_of(module, decl, members))),
    )


def _made_of(module: ModuleNames, decl: s.SystemDecl, members: Members) -> Iterator[str]:
    yield from (f"{home.name}.{x.name.text}" for home, x in chain(module, decl)[1:])
    for x in of_kind(members, s.EnvironmentUse):
        located = x.home.at(x.decl.path)
        if located is not None:
            yield f"{located[0].name}.{located[1]}"


def _environment(names: SystemNames, members: Members) -> list[Resolved] | None:
    """The lines of all environments of a system; None where it has none."""
    lines: list[Resolved] | None = None
    for x in members:
        match x.decl:
            case s.EnvironmentDecl(offers=offers):
                lines = [*(lines or ()), *offered(x.scope(names), offers)]
            case s.EnvironmentUse():
                lines = [*(lines or ()), *used(x.scope(names), x.decl)]
            case _:
                pass
    return lines
