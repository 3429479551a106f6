"""Fields that begin with any value of their type: which may, and what a scenario begins with in their place."""

from __future__ import annotations

from dataclasses import replace

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.resolve import rules
from fsmdsl.resolve.calls import opened
from fsmdsl.resolve.expressions import of_type, typed
from fsmdsl.resolve.scope import MachineNames, Scope, unknown
from fsmdsl.resolve.types import shown


def check_any(scope: Scope, at: s.AnyValue, t: m.Type) -> None:
    """Report `any` in the place of a value of a type whose values cannot be listed."""
    if not _listed(t):
        found = rules.MISMATCH.at(at.span, f"the values of `{shown(t)}` cannot be listed")
        scope.report(
            found.help("only a field of numbers, truth values, members of an enum, or instances begins with any")
        )


def _listed(t: m.Type) -> bool:
    match t:
        case m.DurationType() | m.OpaqueType() | m.MapType():
            return False
        case m.SetType(of) | m.ListType(of=of) | m.OptionalType(of):
            return _listed(of)
        case _:
            return True


def begun(scope: Scope, system: m.System, decl: s.ScenarioDecl) -> m.System:
    """The system of a scenario as it begins there: with what stands behind `start with` in place of any value. Reports
    a field that begins with any value and is given none."""
    given: dict[tuple[int, str], m.Expr] = {}
    for first in decl.firsts:
        _give(scope, system, first, given)
    instances = []
    for n, x in enumerate(system.instances):
        machine = scope.module.program.machines[x.machine]
        free = _free(machine, x)
        for name in (name for name in free if (n, name) not in given):
            found = rules.INSTANCE.at(decl.name.span, f"`{x.name}.{name}` begins with any value, and has none here")
            help_ = f"write `start with {x.name}.{name} = …`, a value of `{shown(machine.fields[name])}`"
            scope.report(found.help(help_))
        values = tuple((name, given[n, name]) for name in free if (n, name) in given)
        instances.append(replace(x, values=(*x.values, *values), any=()) if free else x)
    return replace(system, instances=tuple(instances)) if given else system


def _give(scope: Scope, system: m.System, x: s.FirstValue, given: dict[tuple[int, str], m.Expr]) -> None:
    """One value behind `start with`."""
    target = x.target
    whose = opened(typed(scope, target.target)) if isinstance(target, s.Member) else None
    if not isinstance(target, s.Member) or not isinstance(whose, m.InstanceRef):
        if whose is None or not isinstance(whose.type, m.ErrorType):
            found = rules.MISPLACED.at(target.span, "`start with` gives values to the fields of single instances")
            scope.report(found.help("name the instance and its field: `start with a[0].x = 1`"))
        return
    n = system.number_of[whose.name, whose.index]
    machine, name = scope.module.program.machines[system.instances[n].machine], target.name
    type_ = machine.fields.get(name.text)
    if type_ is None:
        scope.report(unknown(f"field of {machine.decl.name.text}", name.text, name.span, tuple(machine.fields)))
        return
    scope.note(name, "field", machine.qualified)
    if name.text not in _free(machine, system.instances[n]):
        found = rules.MISPLACED.at(
            target.span, f"`{name.text}` of `{system.instances[n].name}` does not begin with any value"
        )
        scope.report(found.help(f"write `{name.text}: … = any` in {machine.decl.name.text}, or leave this out"))
    elif (n, name.text) in given:
        scope.report(rules.TWICE.at(target.span, f"`{target.span.text}` has a value already"))
    else:
        given[n, name.text] = of_type(scope, x.value, type_)


def _free(machine: MachineNames, instance: m.Instance) -> list[str]:
    """The fields of an instance that begin with any value."""
    declared = (x for x, _ in machine.members if isinstance(x, s.FieldDecl) and isinstance(x.value, s.AnyValue))
    known = dict(instance.values)
    return [*dict.fromkeys([*instance.any, *(x.name.text for x in declared if x.name.text not in known)])]
