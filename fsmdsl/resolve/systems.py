"""Systems: instances, what the environment does, what must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.model.typing import bare
from fsmdsl.resolve import limits, rules
from fsmdsl.resolve.binders import bound
from fsmdsl.resolve.calls import opened, settled
from fsmdsl.resolve.effects import Place, effects, event_of
from fsmdsl.resolve.expressions import condition, element, of_type, typed
from fsmdsl.resolve.first_values import check_any
from fsmdsl.resolve.lets import all_of
from fsmdsl.resolve.ordinals import numbered
from fsmdsl.resolve.properties import invariants, properties, reachables
from fsmdsl.resolve.scope import MachineNames, ModuleNames, Scope, SystemNames, machine_at, unknown
from fsmdsl.resolve.states import machine_of
from fsmdsl.resolve.types import shown

T = TypeVar("T")


def system(module: ModuleNames, decl: s.SystemDecl) -> m.System | None:
    """A system, once all machines are known. As documented, none where it needs what only an amendment declares."""
    found_before = len(module.program.found)
    made_of = _system(module, decl)
    missing = module.program.amended_since(found_before)
    if missing is None:
        return made_of
    module.systems_left_out.append(m.LeftOut(decl.name.text, decl.name.text, missing, decl.span))
    return None


def _system(module: ModuleNames, decl: s.SystemDecl) -> m.System:
    instances = [x for x in decl.members if isinstance(x, s.InstanceDecl)]
    names = named(module, f"{module.name}.{decl.name.text}", instances)
    for let in (x for x in decl.members if isinstance(x, s.LetDecl)):
        module.program.note(let.name.span, "let", names.qualified, let.name.text, declares=True)
        _take(names, let.name, names.lets, let)
    scope = Scope(module, system=names)
    offers = [o for x in decl.members if isinstance(x, s.EnvironmentDecl) for o in x.offers]
    recovers = [x for x in decl.members if isinstance(x, s.RecoverDecl)]
    for extra in recovers[1:]:
        scope.report(rules.TWICE.at(extra.span, "a system has one `recover`"))
    return m.System(
        decl.name.text,
        module.name,
        tuple(names.groups.values()),
        made(scope, names, instances),
        tuple(x for x in (_offer(scope, o) for o in offers if isinstance(o, s.Offer)) if x is not None)
        if any(isinstance(x, s.EnvironmentDecl) for x in decl.members)
        else None,
        tuple(_crash(scope, o) for o in offers if isinstance(o, s.CrashOffer)),
        effects(Place(scope, "recover"), recovers[0].effects) if recovers else None,
        all_of(scope, names.qualified, names.lets),
        invariants(scope, [x for x in decl.members if isinstance(x, s.InvariantDecl)]),
        reachables(scope, [x for x in decl.members if isinstance(x, s.ReachableDecl)]),
        properties(scope, [x for x in decl.members if isinstance(x, s.PropertyDecl)]),
        channels_of(module, names, decl.name),
        decl.doc,
        decl.span,
        tuple(x for x in (_process_crash(scope, o) for o in offers if isinstance(o, s.ProcessCrash)) if x is not None),
        start_when=tuple(condition(scope, x.condition) for x in decl.members if isinstance(x, s.StartDecl)),
    )


# Instances -----------------------------------------------------------------------------------------------------------


def named(module: ModuleNames, qualified: str, decls: Sequence[s.InstanceDecl]) -> SystemNames:
    """The names of the instances: of each group, and of each instance in it."""
    names = SystemNames(qualified, module)
    for decl in decls:
        machine = machine_at(module, decl.machine)
        if machine is None:
            continue
        count = 1 if decl.count is None else decl.count
        if count < 1:
            module.program.found.append(rules.RANGE.at(decl.span, f"`{decl.name.text}` has no instances"))
            count = 1
        count = limits.within(
            module.program, decl.span, f"`{decl.name.text}` has", count, limits.INSTANCES, "instances"
        )
        module.program.note(decl.name.span, "group", qualified, decl.name.text, declares=True)
        group = m.InstanceGroup(decl.name.text, machine.qualified, count, decl.count is None, decl.symmetric, decl.span)
        _take(names, decl.name, names.groups, group)
    name_elements(names)
    return names


def name_elements(names: SystemNames) -> None:
    """`g0`, where no other group begins with a g; else `groups0`."""
    letters = Counter(g.name[0] for g in names.groups.values())
    for group in names.groups.values():
        short = group.name[0] if letters[group.name[0]] == 1 else group.name
        for i in range(group.count):
            names.elements[group.name if group.single else f"{short}{i}"] = (group.name, i)


def _take(names: SystemNames, name: s.Name, table: dict[str, T], value: T) -> None:
    if name.text in names.groups or name.text in names.lets:
        names.module.program.found.append(rules.TWICE.at(name.span, f"`{name.text}` is declared already"))
    table.setdefault(name.text, value)


def made(scope: Scope, names: SystemNames, decls: Sequence[s.InstanceDecl]) -> tuple[m.Instance, ...]:
    """Every instance with its initial values."""
    out: list[m.Instance] = []
    shown_name = {place: name for name, place in names.elements.items()}
    for decl in decls:
        group = names.groups.get(decl.name.text)
        if group is None or group.span != decl.span:
            continue
        machine = scope.module.program.machines[group.machine]
        state = _state(scope, machine, decl)
        values, free = _values(scope, machine, decl)
        for i in range(group.count):
            given = tuple((n, numbered(scope, v, i)) for n, v in values)
            name = shown_name[(group.name, i)]
            out.append(m.Instance(name, group.name, i, group.machine, state, given, decl.span, free))
    return tuple(out)


def _state(scope: Scope, machine: MachineNames, decl: s.InstanceDecl) -> str:
    """The leaf in which the instance begins; an empty name where the machine has none."""
    chosen = machine.states.get(decl.state.text) if decl.state is not None else None
    if decl.state is not None and chosen is None:
        kind = f"state of {machine.decl.name.text}"
        scope.report(unknown(kind, decl.state.text, decl.state.span, tuple(machine.states)))
    if chosen is not None and decl.state is not None:
        scope.note(decl.state, "state", machine.qualified)
    top = (x for x, _ in machine.members if isinstance(x, s.StateDecl) and "initial" in x.flags)
    at: s.StateDecl | None = chosen or next(top, None)
    while at is not None and at.children:
        at = next((c for c in at.children if "initial" in c.flags), None)
    return "" if at is None else at.name.text


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
            known = (*machine.params, *machine.fields)
            kind = f"parameter or field of {machine.decl.name.text}"
            scope.report(unknown(kind, initial.name.text, initial.name.span, known))
        elif initial.name.text in (*dict(values), *free):
            scope.report(rules.TWICE.at(initial.name.span, f"`{initial.name.text}` has a value already"))
        elif isinstance(initial.value, s.AnyValue):
            free.append(initial.name.text)
            check_any(scope, initial.value, type_)
            if initial.name.text in machine.params:
                found = rules.MISPLACED.at(initial.value.span, f"`{initial.name.text}` is a parameter, not a field")
                scope.report(found.help("give the parameter a value: only a field may begin with any value"))
        else:
            values.append((initial.name.text, of_type(inner, initial.value, type_)))
    optional = {x.name.text for x, _ in machine.members if isinstance(x, s.ParamDecl) and x.value is not None}
    for name, type_ in machine.params.items():
        if name not in (*dict(values), *free) and name not in optional and not isinstance(type_, m.DurationType):
            found = rules.INSTANCE.at(decl.span, f"`{decl.name.text}` gives no value to the parameter `{name}`")
            scope.report(found.help(f"write `{{ {name} = … }}`, a value of `{shown(type_)}`"))
    return values, tuple(free)


def channels_of(module: ModuleNames, names: SystemNames, at: s.Name) -> tuple[str, ...]:
    """The channels whose receivers are in the system; a receiver must be alone, unless each has a queue."""
    out: list[str] = []
    homes = {id(x): x for x in (module, *module.imports.values(), *module.borrowed.values())}
    for home in homes.values():
        for name, decl in home.channels.items():
            found = home.at(decl.receiver)
            receiver = f"{found[0].name}.{found[1]}" if found is not None else ""
            count = sum(g.count for g in names.groups.values() if g.machine == receiver)
            if count > 1 and not decl.each:
                message = f"channel `{name}` leads to {decl.receiver}, of which there are {count} here"
                help = f"`to each {decl.receiver}` gives each a queue of its own"
                module.program.found.append(rules.INSTANCE.at(at.span, message).help(help))
            elif count > 0:
                out.append(f"{home.name}.{name}")
    return tuple(out)


# Environment ---------------------------------------------------------------------------------------------------------


def _chosen(scope: Scope, binders: Iterable[s.Binder]) -> tuple[Scope, tuple[tuple[str, m.Expr], ...]]:
    """The variables of a line of the environment, and where they are known."""
    variables: list[tuple[str, m.Expr]] = []
    for binder in binders:
        inner = bound(scope, binder, typed, element, "what the environment chooses")
        variables += inner.variables
        scope = inner.scope
    return scope, tuple(variables)


def _offer(scope: Scope, o: s.Offer) -> m.Offer | None:
    scope, variables = _chosen(scope, o.binders)
    call = o.call
    if isinstance(call, s.Name) and call.text == "crash":
        found = rules.MISPLACED.at(call.span, "`crash` alone strikes all instances: there is nothing to choose")
        scope.report(found.help("write `crash of x` for the crash of one"))
        return None
    target, arguments = (call.target, call.arguments) if isinstance(call, s.Call) else (call, ())
    located = event_call(scope, target, arguments)
    if located is None:
        return None
    instance, event, machine, values = located
    if not event.from_environment:
        found = rules.SENDER.at(o.span, f"`{event.name}` does not come from the environment")
        scope.report(found.label(event.span, f"declared here, from {' and '.join(event.senders)}"))
    guard = None if o.guard is None else condition(scope, o.guard)
    return m.Offer(variables, instance, machine, event.name, values, guard, o.span)


def event_call(
    scope: Scope, target: s.Expr, arguments: tuple[s.Expr, ...]
) -> tuple[m.Expr, m.Event, str, tuple[m.Expr, ...]] | None:
    """`g.schedule(p)`: the instance, the event, its machine and the arguments; reports when it is none."""
    if not isinstance(target, s.Member):
        found = rules.MISPLACED.at(target.span, "an event is sent to an instance")
        scope.report(found.help("write `instance.event`, or `crash`"))
        return None
    instance = opened(typed(scope, target.target))
    machine = machine_of(scope, bare(instance.type))
    if machine is None:
        if not isinstance(instance.type, m.ErrorType):
            message = f"`{target.target.span.text}` is no single instance"
            scope.report(rules.MISMATCH.at(target.target.span, message).help("write `some x in …: x.event`"))
        return None
    event = event_of(scope, machine, target.name)
    if event is None:
        return None
    if len(arguments) != len(event.parameters):
        count = len(event.parameters)
        message = f"`{event.name}` takes {count} argument{'s' * (count != 1)}, not {len(arguments)}"
        scope.report(rules.ARGUMENTS.at(target.name.span, message).label(event.span, "declared here"))
        return None
    values = tuple(settled(scope, of_type(scope, a, p.type)) for a, p in zip(arguments, event.parameters, strict=True))
    return instance, event, machine.qualified, values


def _crash(scope: Scope, o: s.CrashOffer) -> m.CrashOffer:
    return m.CrashOffer(o.kind, None if o.guard is None else condition(scope, o.guard), o.span)


def _process_crash(scope: Scope, o: s.ProcessCrash) -> m.ProcessCrash | None:
    scope, variables = _chosen(scope, o.binders)
    if not (isinstance(o.call, s.Name) and o.call.text == "crash"):
        scope.report(rules.MISPLACED.at(o.call.span, ONLY_CRASHES).help("write `crash of x`"))
        return None
    if o.kind != "anywhere":
        why = f"some instances alone crash between two steps: `{o.kind}` is for a crash of everything"
        scope.report(rules.MISPLACED.at(o.span, why).help("write `crash of x`, or `crash` without `of`"))
        return None
    targets = struck(scope, o.targets)
    guard = None if o.guard is None else condition(scope, o.guard)
    if targets is None:
        return None
    return m.ProcessCrash(variables, tuple(targets), tuple(targets.values()), guard, o.span)


ONLY_CRASHES = "only `crash` is followed by `of` and instances"


def struck(scope: Scope, targets: Sequence[s.Expr]) -> dict[m.Expr, str] | None:
    """The instances behind `crash of`, with their machines; reports what is none, and what is named twice."""
    found: dict[m.Expr, str] = {}
    for x in targets:
        instance = opened(typed(scope, x))
        machine = machine_of(scope, bare(instance.type))
        if machine is None:
            if not isinstance(instance.type, m.ErrorType):
                wrong = rules.MISMATCH.at(x.span, f"`{x.span.text}` is no single instance")
                scope.report(wrong.help("name each: `crash of a, b`; or choose: `some x in …: crash of x`"))
            return None
        if instance in found:
            scope.report(rules.TWICE.at(x.span, f"`{x.span.text}` is named twice: it crashes once"))
        found[instance] = machine.qualified
    return found
