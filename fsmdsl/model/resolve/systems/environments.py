"""What the environment of a system does: offers and crashes, written in the system or shared by several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.dataclasses import replace
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.machines.effects import event_of
from fsmdsl.model.resolve.names.scope import ModuleNames, Scope, SystemNames, miscounted, unknown
from fsmdsl.model.resolve.systems.inheritance import mark, settle
from fsmdsl.model.resolve.types.type_expressions import variables
from fsmdsl.model.resolve.values.binders import bound
from fsmdsl.model.resolve.values.calls import apart
from fsmdsl.model.resolve.values.places import condition, instance, of_type

Written = s.Offer | s.CrashOffer | s.ProcessCrash
Resolved = m.Offer | m.CrashOffer | m.ProcessCrash


def offered(scope: Scope, lines: Iterable[Written]) -> list[Resolved]:
    """The lines of an environment."""
    return [x for x in (_line(scope, o) for o in lines) if x is not None]


def _line(scope: Scope, o: Written) -> Resolved | None:
    match o:
        case s.Offer():
            return _offer(scope, o)
        case s.CrashOffer():
            return m.CrashOffer(o.kind, None if o.guard is None else condition(scope, o.guard), o.span)
        case s.ProcessCrash():
            return _process_crash(scope, o)


# Shared environments -------------------------------------------------------------------------------------------------


def shared_environment(module: ModuleNames, decl: s.SharedEnvironment) -> m.SharedEnvironment:
    """A shared environment resolved on its own, so that its mistakes are reported once, however many systems use it.
    With `as_documented`, declarations of amendments may be missing."""
    before = len(module.program.diagnostics)
    names = SystemNames(f"{module.name}.{decl.name.text}", module, sized=False)
    parameters = variables(module, decl.parameters)
    for p in parameters:
        if isinstance(p.type, m.SetType) and isinstance(p.type.of, m.RefType):
            names.groups[p.name] = m.InstanceGroup(p.name, p.type.of.machine, 1, False, False, p.span)
    sets = {p.name: m.Instances(p.name, p.type, p.span) for p in parameters if p.name in names.groups}
    lines = offered(_inside(module, names, decl, parameters, sets), decl.offers)
    module.program.amended_since(before)
    return m.SharedEnvironment(decl.name.text, module.name, parameters, tuple(lines), decl.doc, decl.span)


def used(scope: Scope, x: s.EnvironmentUse) -> list[Resolved]:
    """What a shared environment offers to a system that uses it."""
    program = scope.module.program
    located = scope.module.at(x.path)
    decl = None if located is None else located[0].environments.get(located[1])
    if located is None or decl is None:
        names = (*scope.module.environments, *(n for n, h in scope.module.borrowed.items() if n in h.environments))
        scope.report(unknown("environment", str(x.path), x.path.span, names))
        return []
    home = located[0]
    scope.module.note(x.path, home, "environment")
    before = mark(program)
    parameters = variables(home, decl.parameters)
    settle(program, before, x.span, x.span, "for this use")
    if len(parameters) != len(x.arguments):
        diagnostic = miscounted(decl.name.text, len(parameters), len(x.arguments), x.span)
        scope.report(diagnostic.label(decl.name.span, "declared here"))
        return []
    pairs = zip(x.arguments, parameters, strict=True)
    arguments = {p.name: _argument(scope, a, p.type) for a, p in pairs}
    if any(isinstance(value.type, m.ErrorType) for value in arguments.values()) or scope.system is None:
        return []
    before = mark(program)
    lines = offered(_inside(home, scope.system, decl, parameters, arguments), decl.offers)
    settle(program, before, x.span, x.span, "for this use")
    return lines


def _argument(scope: Scope, e: s.Expr, place: m.Type) -> m.Expr:
    value = of_type(scope, e, place)
    return replace(value, type=place) if isinstance(value.type, m.NoneType) else value


def _inside(
    home: ModuleNames,
    names: SystemNames,
    decl: s.SharedEnvironment,
    parameters: Sequence[m.Variable],
    arguments: dict[str, m.Expr] | dict[str, m.Instances],
) -> Scope:
    """The scope of a shared environment: its parameters and what its module declares."""
    scope = Scope(home, system=names, arguments={})
    for p, written in zip(parameters, decl.parameters, strict=True):
        scope = scope.bind(written.name, p.type)
    return replace(scope, arguments=arguments)


# Lines ---------------------------------------------------------------------------------------------------------------


def _chosen(scope: Scope, binders: Iterable[s.Binder]) -> tuple[Scope, tuple[tuple[str, m.Expr], ...]]:
    """The variables of a line of the environment, and where they are known."""
    variables: list[tuple[str, m.Expr]] = []
    for binder in binders:
        inner = bound(scope, binder, "an environment choice")
        variables += inner.variables
        scope = inner.scope
    return scope, tuple(variables)


def _offer(scope: Scope, o: s.Offer) -> m.Offer | None:
    scope, variables = _chosen(scope, o.binders)
    call = o.call
    if isinstance(call, s.Name) and call.text == "crash":
        diagnostic = rules.MISPLACED.at(
            call.span, "`crash` without `of` affects all instances, so there is nothing to choose"
        )
        scope.report(diagnostic.help("write `crash of x` for the crash of one"))
        return None
    target, arguments = apart(call)
    located = event_call(scope, target, arguments)
    guard = None if o.guard is None else condition(scope, o.guard)
    if located is None:
        return None
    to, event, machine, values = located
    if not event.from_environment:
        diagnostic = rules.SENDER.at(o.span, f"`{event.name}` does not come from the environment")
        scope.report(diagnostic.label(event.span, f"declared here, from {' and '.join(event.senders)}"))
    return m.Offer(variables, to, machine, event.name, values, guard, o.span)


def event_call(
    scope: Scope, target: s.Expr, arguments: tuple[s.Expr, ...]
) -> tuple[m.Expr, m.Event, str, tuple[m.Expr, ...]] | None:
    """`g.schedule(p)`: the instance, the event, its machine and the arguments; reports when it is none."""
    if not isinstance(target, s.Member):
        diagnostic = rules.MISPLACED.at(target.span, "an event must be sent to an instance")
        scope.report(diagnostic.help("write `instance.event`, or `crash`"))
        return None
    none = rules.MISMATCH.at(target.target.span, f"`{target.target.span.quote}` is not a single instance")
    located = instance(scope, target.target, none.help("write `some x in …: x.event`"))
    if located is None:
        return None
    to, machine = located
    event = event_of(scope, machine, target.name)
    if event is None:
        return None
    if len(arguments) != len(event.parameters):
        wrong = miscounted(event.name, len(event.parameters), len(arguments), target.name.span)
        scope.report(wrong.label(event.span, "declared here"))
        return None
    values = tuple(of_type(scope, a, p.type) for a, p in zip(arguments, event.parameters, strict=True))
    return to, event, machine.qualified, values


def _process_crash(scope: Scope, o: s.ProcessCrash) -> m.ProcessCrash | None:
    scope, variables = _chosen(scope, o.binders)
    if not (isinstance(o.call, s.Name) and o.call.text == "crash"):
        scope.report(rules.MISPLACED.at(o.call.span, ONLY_CRASHES).help("write `crash of x`"))
        return None
    if o.kind != "anywhere":
        why = f"individual instances can crash only between steps; `{o.kind}` applies to a crash of the whole system"
        scope.report(rules.MISPLACED.at(o.span, why).help("write `crash of x`, or `crash` without `of`"))
        return None
    targets = struck(scope, o.targets)
    guard = None if o.guard is None else condition(scope, o.guard)
    if targets is None:
        return None
    return m.ProcessCrash(variables, tuple(targets), tuple(targets.values()), guard, o.span)


ONLY_CRASHES = "only `crash` can be followed by `of` and instances"


def struck(scope: Scope, targets: Sequence[s.Expr]) -> dict[m.Expr, str] | None:
    """The instances behind `crash of`, with their machines; reports what is none, and what is named twice."""
    machines: dict[m.Expr, str] = {}
    for x in targets:
        none = rules.MISMATCH.at(x.span, f"`{x.span.quote}` is not a single instance")
        located = instance(scope, x, none.help("name each: `crash of a, b`; or choose: `some x in …: crash of x`"))
        if located is None:
            return None
        one, machine = located
        if one in machines:
            scope.report(rules.TWICE.at(x.span, f"`{x.span.quote}` is named twice: it crashes once"))
        machines[one] = machine.qualified
    return machines
