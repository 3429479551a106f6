"""The instances of a system: their names, what each begins with, and the channels that lead to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.model.resolve import limits, rules
from fsmdsl.model.resolve.names.scope import MachineNames, Member, ModuleNames, Scope, SystemNames, machine_at, unknown
from fsmdsl.model.resolve.names.states import entered, leaves_in_order, state_named, staying
from fsmdsl.model.resolve.systems.inheritance import members_of, take_lets
from fsmdsl.model.resolve.types.first_values import check_any
from fsmdsl.model.resolve.types.type_text import type_text
from fsmdsl.model.resolve.values.ordinals import numbered
from fsmdsl.model.resolve.values.places import of_type

T = TypeVar("T")


def instance_names(module: ModuleNames, qualified: str, declarations: Sequence[Member[s.InstanceDecl]]) -> SystemNames:
    """The names of the instances: of each group, and of each instance in it."""
    names = SystemNames(qualified, module)
    for x in declarations:
        decl = x.decl
        machine = machine_at(x.home, decl.machine)
        if machine is None:
            continue
        count = 1 if decl.count is None else decl.count
        if count < 1:
            module.program.diagnostics.append(rules.RANGE.at(decl.span, f"`{decl.name.text}` has no instances"))
            count = 1
        count = limits.within(
            module.program, decl.span, f"`{decl.name.text}` has", count, limits.INSTANCES, "instances"
        )
        module.program.note(decl.name.span, "group", x.owner, decl.name.text, declares=x.owner == qualified)
        group = m.InstanceGroup(decl.name.text, machine.qualified, count, decl.count is None, decl.symmetric, decl.span)
        take(names, decl.name, names.groups, group)
    name_elements(names)
    return names


def names_of(module: ModuleNames, home: ModuleNames, decl: s.SystemDecl, system: m.System) -> SystemNames:
    """The names of a system that is resolved, for what speaks of it in a module."""
    names = SystemNames(system.qualified, module, {g.name: g for g in system.groups})
    take_lets(names, members_of(home, decl))
    name_elements(names)
    return names


def name_elements(names: SystemNames) -> None:
    """`g0`, where no other group begins with a g; else `groups0`."""
    letters = Counter(g.name[0] for g in names.groups.values())
    for group in names.groups.values():
        short = group.name[0] if letters[group.name[0]] == 1 else group.name
        for i in range(group.count):
            names.elements[group.name if group.single else f"{short}{i}"] = (group.name, i)


def take(names: SystemNames, name: s.Name, table: dict[str, T], value: T) -> None:
    """Add a set of instances or a `let`; reports a name that comes twice."""
    if name.text in names.groups or name.text in names.lets:
        names.module.program.diagnostics.append(rules.TWICE.at(name.span, f"`{name.text}` is already declared"))
    table.setdefault(name.text, value)


def resolve_instances(names: SystemNames, declarations: Sequence[Member[s.InstanceDecl]]) -> tuple[m.Instance, ...]:
    """Every instance with its initial values."""
    out: list[m.Instance] = []
    shown_name = {place: name for name, place in names.elements.items()}
    for x in declarations:
        decl, scope = x.decl, x.scope(names)
        group = names.groups.get(decl.name.text)
        if group is None or group.span != decl.span:
            continue
        machine = scope.module.program.machines[group.machine]
        begins = _begins(scope, machine, decl)
        states = begins if len(begins) > 1 else ()
        values, free = _values(scope, machine, decl)
        for i in range(group.count):
            first_values = tuple((n, numbered(scope, v, i)) for n, v in values)
            name = shown_name[(group.name, i)]
            out.append(m.Instance(name, group.name, i, group.machine, begins[0], first_values, decl.span, free, states))
    return tuple(out)


def _begins(scope: Scope, machine: MachineNames, decl: s.InstanceDecl) -> tuple[str, ...]:
    """The leaves in any of which the instance begins; one with an empty name where the machine has none."""
    match decl.begins:
        case s.Name() as name:
            chosen = state_named(scope, machine, name)
            return (entered(machine.top if chosen is None else (chosen,)),)
        case None:
            return (entered(machine.top),)
        case s.AnyValue():
            leaf_names = staying(machine.top)
        case names:
            states = [x for x in (state_named(scope, machine, n) for n in names) if x is not None]
            leaf_names = frozenset(y for x in states for y in (staying([x]) if x.children else {x.name.text}))
    return tuple(x.name.text for x in leaves_in_order(machine.top) if x.name.text in leaf_names) or (
        entered(machine.top),
    )


def _values(
    scope: Scope, machine: MachineNames, decl: s.InstanceDecl
) -> tuple[list[tuple[str, m.Expr]], tuple[str, ...]]:
    """The values in the braces, and the fields that begin with any."""
    inner = Scope(scope.module, system=scope.system, ordinal=True)
    values: list[tuple[str, m.Expr]] = []
    free: list[str] = []
    for initial in decl.initials:
        type_ = machine.params.get(initial.name.text) or machine.fields.get(initial.name.text)
        if type_ is not None:
            scope.note(initial.name, "param" if initial.name.text in machine.params else "field", machine.qualified)
        if type_ is None:
            names = (*machine.params, *machine.fields)
            of = machine.decl.name.text
            scope.report(unknown("parameter or field", initial.name.text, initial.name.span, names, of))
        elif initial.name.text in (*dict(values), *free):
            scope.report(rules.TWICE.at(initial.name.span, f"`{initial.name.text}` already has a value"))
        elif isinstance(initial.value, s.AnyValue):
            free.append(initial.name.text)
            check_any(scope, initial.value, type_)
            if initial.name.text in machine.params:
                diagnostic = rules.MISPLACED.at(
                    initial.value.span, f"`{initial.name.text}` is a parameter, not a field"
                )
                scope.report(diagnostic.help("give the parameter a value: only a field may begin with any value"))
        else:
            values.append((initial.name.text, of_type(inner, initial.value, type_)))
    optional = {x.name.text for x, _ in machine.members if isinstance(x, s.ParamDecl) and x.value is not None}
    for name, type_ in machine.params.items():
        if name not in (*dict(values), *free) and name not in optional and not isinstance(type_, m.DurationType):
            diagnostic = rules.INSTANCE.at(decl.span, f"`{decl.name.text}` gives no value to the parameter `{name}`")
            instance = _instance_of(scope, type_, decl)
            if instance is None:
                scope.report(diagnostic.help(f"write `{{ {name} = … }}`, a value of `{type_text(type_)}`"))
            else:
                scope.report(diagnostic.help(f"write `{{ {name} = {instance} }}`, or another `{type_text(type_)}`"))
    return values, tuple(free)


def _instance_of(scope: Scope, t: m.Type, decl: s.InstanceDecl) -> str | None:
    """An instance of the system, other than the declared ones, that a parameter of this type may refer to."""
    if scope.system is None or not isinstance(t, m.RefType):
        return None
    groups = [g for g in scope.system.groups.values() if g.machine == t.machine and g.span != decl.span]
    names = (g.name if g.single else f"{g.name}[0]" for g in groups)
    return next(names, None)


def channels_of(modules: Iterable[ModuleNames], names: SystemNames, at: s.Name) -> tuple[str, ...]:
    """The channels whose receivers are in the system, of the modules that it is written in and of what they import; a
    receiver must be alone, unless each has a queue."""
    out: list[str] = []
    homes = {x.name: x for module in modules for x in (module, *module.imports.values(), *module.borrowed.values())}
    for home in homes.values():
        for name, decl in home.channels.items():
            location = home.at(decl.receiver)
            receiver = f"{location[0].name}.{location[1]}" if location is not None else ""
            count = sum(g.count for g in names.groups.values() if g.machine == receiver)
            if count > 1 and not decl.each:
                message = f"channel `{name}` leads to {decl.receiver}, of which there are {count} here"
                help = f"`to each {decl.receiver}` gives each a queue of its own"
                names.module.program.diagnostics.append(rules.INSTANCE.at(at.span, message).help(help))
            elif count > 0:
                out.append(f"{home.name}.{name}")
    return tuple(out)
