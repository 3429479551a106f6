"""What a bare name, and a name behind a dot, stand for."""

from __future__ import annotations

from collections.abc import Callable

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.resolve import rules
from fsmdsl.resolve.lets import derived
from fsmdsl.resolve.scope import MachineNames, ModuleNames, Scope, unknown
from fsmdsl.resolve.states import leaves, machine_of
from fsmdsl.resolve.types import bare

Typed = Callable[[Scope, s.Expr], m.Expr]
"""`expressions.typed`, which these functions are part of."""


def name(scope: Scope, e: s.Name, expected: m.Type | None) -> m.Expr:
    """A bare name: a variable, data of the machine, an instance, a member of an enum, or a state of the machine."""
    found = (
        _variable(scope, e) or _data(scope, e) or _of_system(scope, e) or _let(scope, e) or _member(scope, e, expected)
    )
    if found is not None:
        return found
    if e.text == "wait" and scope.machine is not None:
        return m.Wait(span=e.span)
    if scope.machine is not None and e.text in scope.machine.states and expected in (None, m.BOOL):
        itself = m.Self(m.RefType(scope.machine.qualified), e.span)
        return m.InState(itself, leaves(scope.machine.states[e.text]), e.text, span=e.span)
    return _declaration(scope, e) or _unknown(scope, e, expected)


def _variable(scope: Scope, e: s.Name) -> m.Expr | None:
    if e.text in scope.locals:
        return m.Local(e.text, scope.locals[e.text], e.span)
    if scope.ordinal and e.text == "index":
        return m.Ordinal(m.RangeType(0, 1 << 16), e.span)
    return None


def _data(scope: Scope, e: s.Name) -> m.Expr | None:
    machine = scope.machine
    if machine is None:
        return None
    if e.text in machine.fields:
        return m.Read("field", e.text, None, machine.fields[e.text], e.span)
    if e.text in machine.params:
        return m.Read("param", e.text, None, machine.params[e.text], e.span)
    return derived(scope, machine.qualified, e.text, None, (), e.span) if e.text in machine.lets else None


def _of_system(scope: Scope, e: s.Name) -> m.Expr | None:
    system = scope.system
    if system is None:
        return None
    if e.text in system.groups:
        group = system.groups[e.text]
        t = m.RefType(group.machine)
        return m.InstanceRef(e.text, 0, t, e.span) if group.single else m.Instances(e.text, m.SetType(t), e.span)
    if e.text in system.elements:
        group_name, index = system.elements[e.text]
        return m.InstanceRef(group_name, index, m.RefType(system.groups[group_name].machine), e.span)
    return derived(scope, system.qualified, e.text, None, (), e.span) if e.text in system.lets else None


def _let(scope: Scope, e: s.Name) -> m.Expr | None:
    home = scope.module.home(e.text)
    return derived(scope, home.name, e.text, None, (), e.span) if e.text in home.lets else None


def _member(scope: Scope, e: s.Name, expected: m.Type | None) -> m.Expr | None:
    wanted = bare(expected) if expected is not None else None
    if isinstance(wanted, m.EnumType):
        return m.Constant(e.text, wanted, e.span) if e.text in wanted.members else None
    if wanted == m.BOOL and scope.machine is not None and e.text in scope.machine.states:
        return None
    enums = scope.enum_members(e.text)
    if len(enums) > 1:
        found = rules.AMBIGUOUS.at(
            e.span, f"`{e.text}` is a member of {' and '.join(f'`{_last(x.name)}`' for x in enums)}"
        )
        scope.report(found.help(f"write `{_last(enums[0].name)}.{e.text}`"))
        return m.Constant(None, m.ERROR, e.span)
    return m.Constant(e.text, enums[0], e.span) if enums else None


def _last(qualified: str) -> str:
    return qualified.rpartition(".")[2]


def _declaration(scope: Scope, e: s.Name) -> m.Expr | None:
    """All instances of a machine, or a channel."""
    home = scope.module.home(e.text)
    if e.text in home.machines and scope.machine is None:
        qualified = home.machines[e.text].qualified
        return m.AllOf(qualified, m.SetType(m.RefType(qualified)), e.span)
    return m.ChannelRef(f"{home.name}.{e.text}", m.ERROR, e.span) if e.text in home.channels else None


def _unknown(scope: Scope, e: s.Name, expected: m.Type | None) -> m.Expr:
    wanted = bare(expected) if expected is not None else None
    machine = scope.machine
    if isinstance(wanted, m.EnumType):
        scope.report(unknown(f"member of {_last(wanted.name)}", e.text, e.span, (*wanted.members, *scope.values())))
    elif machine is not None and (e.text in machine.events or e.text in machine.actions):
        kind = "event" if e.text in machine.events else "action"
        found = rules.MISPLACED.at(e.span, f"`{e.text}` is an {kind}, not a value")
        scope.report(found.help(f"send it with `self.{e.text}`" if kind == "event" else "call it in an effect"))
    else:
        states = tuple(machine.states) if machine is not None else ()
        scope.report(unknown("name", e.text, e.span, (*scope.values(), *states)))
    return m.Constant(None, m.ERROR, e.span)


def member(scope: Scope, e: s.Member, typed: Typed) -> m.Expr:
    """`target.name`: a member of an enum, a declaration of another module, or data of another instance."""
    static = _static(scope, e)
    if static is not None:
        return static
    target = typed(scope, e.target)
    machine = machine_of(scope, bare(target.type))
    if machine is None:
        if not isinstance(target.type, m.ErrorType):
            found = rules.MISMATCH.at(
                e.target.span, f"`{e.target.span.text}` is no instance, so it has no `{e.name.text}`"
            )
            scope.report(found)
        return m.Constant(None, m.ERROR, e.span)
    return data_of(scope, machine, target, e.name, e)


def data_of(scope: Scope, machine: MachineNames, target: m.Expr, name: s.Name, e: s.Member) -> m.Expr:
    """A field, parameter or derived value of an instance; an option is opened first."""
    if isinstance(target.type, m.OptionalType):
        target = m.Apply("present", (target,), target.type.of, target.span)
    if name.text in machine.fields:
        return m.Read("field", name.text, target, machine.fields[name.text], e.span)
    if name.text in machine.params:
        return m.Read("param", name.text, target, machine.params[name.text], e.span)
    if name.text in machine.lets:
        return derived(scope, machine.qualified, name.text, target, (), e.span)
    scope.report(unknown(f"field of {machine.decl.name.text}", name.text, name.span, tuple(machine.data)))
    return m.Constant(None, m.ERROR, e.span)


def _static(scope: Scope, e: s.Member) -> m.Expr | None:
    path = dotted(e.target)
    if path is None or scope.holds(path[0]):
        return None
    home: ModuleNames | None = scope.module.imports.get(".".join(path))
    if home is not None:
        return _declaration(Scope(home), s.Name(e.name.text, e.span)) or _exported_let(scope, home, e)
    *modules, last = path
    owner = scope.module.imports.get(".".join(modules)) if modules else scope.module.home(last)
    if owner is None or last not in owner.enums:
        return None
    enum = owner.enums[last]
    if e.name.text in enum.members:
        return m.Constant(e.name.text, enum, e.span)
    scope.report(unknown(f"member of {last}", e.name.text, e.name.span, enum.members))
    return m.Constant(None, m.ERROR, e.span)


def _exported_let(scope: Scope, home: ModuleNames, e: s.Member) -> m.Expr | None:
    if e.name.text in home.lets:
        return derived(scope, home.name, e.name.text, None, (), e.span)
    return None


def dotted(e: s.Expr) -> tuple[str, ...] | None:
    """The names of `a.b.c`, if it is nothing else."""
    match e:
        case s.Name(text):
            return (text,)
        case s.Member(target, name):
            before = dotted(target)
            return None if before is None else (*before, name.text)
        case _:
            return None
