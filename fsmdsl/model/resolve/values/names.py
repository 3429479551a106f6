"""What a bare name, and a name behind a dot, stand for."""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import takewhile

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.dataclasses import replace
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.meanings import Kind
from fsmdsl.model.resolve.names.scope import MachineNames, ModuleNames, Scope, dotted, unknown
from fsmdsl.model.resolve.names.states import leaves, machine_of, note_member, state_type
from fsmdsl.model.resolve.values.lets import derived
from fsmdsl.model.resolve.values.places import no_value, opened, typed
from fsmdsl.model.resolve.values.records import part
from fsmdsl.model.typing import bare
from fsmdsl.syntax.parse.equivalents import VALUES
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Span


def name(scope: Scope, e: s.Name, expected: m.Type | None) -> m.Expr:
    """A bare name: a variable, data of the machine, an instance, a member of an enum, or a state of the machine."""
    value = (
        _variable(scope, e) or _data(scope, e) or _of_system(scope, e) or _let(scope, e) or _member(scope, e, expected)
    )
    if value is not None:
        return value
    if e.text == "wait" and scope.machine is not None:
        return m.Wait(span=e.span)
    if scope.machine is not None and e.text in scope.machine.states and expected in (None, m.BOOL):
        scope.note(e, "state", scope.machine.qualified)
        itself = m.Self(m.RefType(scope.machine.qualified), e.span)
        return m.InState(itself, leaves(scope.machine.states[e.text]), e.text, span=e.span)
    return _declaration(scope, e) or _state_of_instance(scope, e, expected) or _unknown(scope, e, expected)


def _variable(scope: Scope, e: s.Name) -> m.Expr | None:
    if e.text in scope.locals:
        scope.note_local(e)
        if scope.arguments is not None and e.text in scope.arguments:
            return replace(scope.arguments[e.text], span=e.span)
        return m.Local(e.text, scope.locals[e.text], e.span)
    if scope.ordinal and e.text == "index":
        return m.Ordinal(m.RangeType(0, 1 << 16), e.span)
    return None


def _data(scope: Scope, e: s.Name) -> m.Expr | None:
    machine = scope.machine
    if machine is None:
        return None
    kind = _kind_of_data(machine, e.text)
    if kind is not None:
        scope.note(e, kind, machine.qualified)
    if e.text in machine.fields:
        return m.Read("field", e.text, None, machine.fields[e.text], e.span)
    if e.text in machine.params:
        return m.Read("param", e.text, None, machine.params[e.text], e.span)
    return derived(scope, machine.qualified, e.text, None, (), e.span) if e.text in machine.lets else None


def _kind_of_data(machine: MachineNames, name: str) -> Kind | None:
    tables: tuple[tuple[Kind, Container[str]], ...] = (
        ("field", machine.fields),
        ("param", machine.params),
        ("let", machine.lets),
    )
    return next((kind for kind, table in tables if name in table), None)


def _of_system(scope: Scope, e: s.Name) -> m.Expr | None:
    system = scope.visible_system
    if system is None:
        return None
    if e.text in system.groups:
        group = system.groups[e.text]
        scope.note(e, "group", system.owner(e.text))
        t = m.RefType(group.machine)
        return m.InstanceRef(e.text, 0, t, e.span) if group.single else m.Instances(e.text, m.SetType(t), e.span)
    if e.text in system.elements:
        group_name, index = system.elements[e.text]
        scope.module.program.note(e.span, "group", system.owner(group_name), group_name)
        return m.InstanceRef(group_name, index, m.RefType(system.groups[group_name].machine), e.span)
    if e.text not in system.lets:
        return None
    scope.note(e, "let", system.owner(e.text))
    return derived(scope, system.qualified, e.text, None, (), e.span)


def _let(scope: Scope, e: s.Name) -> m.Expr | None:
    home = scope.module.home(e.text)
    if e.text not in home.lets:
        return None
    scope.note(e, "let", home.name)
    return derived(scope, home.name, e.text, None, (), e.span)


def _member(scope: Scope, e: s.Name, expected: m.Type | None) -> m.Expr | None:
    expected_type = bare(expected) if expected is not None else None
    if isinstance(expected_type, m.EnumType):
        if e.text not in expected_type.members:
            return None
        note_member(scope, e, expected_type)
        return m.Constant(e.text, expected_type, e.span)
    if expected_type == m.BOOL and scope.machine is not None and e.text in scope.machine.states:
        return None
    enums = scope.enum_members(e.text)
    if len(enums) > 1:
        diagnostic = rules.AMBIGUOUS.at(
            e.span, f"`{e.text}` is a member of {' and '.join(f'`{_last(x.name)}`' for x in enums)}"
        )
        scope.report(diagnostic.help(f"write `{_last(enums[0].name)}.{e.text}`"))
        return m.Constant(None, m.ERROR, e.span)
    if not enums:
        return None
    scope.note(e, "member", enums[0].name)
    return m.Constant(e.text, enums[0], e.span)


def _last(qualified: str) -> str:
    return qualified.rpartition(".")[2]


def _declaration(scope: Scope, e: s.Name) -> m.Expr | None:
    """All instances of a machine, all members of an enum, or a channel."""
    home = scope.module.home(e.text)
    if e.text in home.enums:
        scope.note(e, "enum", home.name)
        t = home.enums[e.text]
        return m.Collection("set", tuple(m.Constant(x, t, e.span) for x in t.members), m.SetType(t), e.span)
    if e.text in home.machines and scope.machine is None:
        scope.note(e, "machine", home.name)
        qualified = home.machines[e.text].qualified
        return m.AllOf(qualified, m.SetType(m.RefType(qualified)), e.span)
    if e.text not in home.channels:
        return None
    scope.note(e, "channel", home.name)
    if not scope.channel:
        diagnostic = rules.MISPLACED.at(e.span, f"`{e.text}` is a channel, which has no value")
        scope.report(diagnostic.help(f"`size({e.text})` tells how many messages it holds"))
        return m.Constant(None, m.ERROR, e.span)
    return m.ChannelRef(f"{home.name}.{e.text}", m.NEVER, e.span)


def _state_of_instance(scope: Scope, e: s.Name, expected: m.Type | None) -> m.Expr | None:
    """A state where an instance of its machine is expected (`lease == Free`). The mismatch is reported there."""
    machine = None if expected is None else machine_of(scope, bare(expected))
    if machine is None or e.text not in machine.states:
        return None
    return m.Constant(e.text, state_type(machine), e.span)


def _unknown(scope: Scope, e: s.Name, expected: m.Type | None) -> m.Expr:
    expected_type = bare(expected) if expected is not None else None
    machine = scope.machine
    out_of_scope = _out_of_scope(scope, e)
    if out_of_scope is not None:
        scope.report(out_of_scope)
    elif isinstance(expected_type, m.EnumType):
        scope.report(_no_member(scope, expected_type, e, *scope.values()))
    elif machine is not None and (e.text in machine.events or e.text in machine.actions):
        kind = "event" if e.text in machine.events else "action"
        diagnostic = rules.MISPLACED.at(e.span, f"`{e.text}` is an {kind}, not a value")
        scope.report(diagnostic.help(f"send it with `self.{e.text}`" if kind == "event" else "call it in an effect"))
    elif machine is not None and e.text in machine.states:
        diagnostic = rules.MISPLACED.at(e.span, f"`{e.text}` is a state, not a value")
        scope.report(diagnostic.help(f"test it with `self in {e.text}`, or compare `state(self)` with it"))
    else:
        scope.report(
            _value_elsewhere(e) or _state_elsewhere(scope, e) or _machine_elsewhere(scope, e) or _unknown_name(scope, e)
        )
    return m.Constant(None, m.ERROR, e.span)


def _value_elsewhere(e: s.Name) -> Diagnostic | None:
    """`null` for `none`"""
    value = VALUES.get(e.text.lower())
    if value is None:
        return None
    return rules.UNKNOWN.at(e.span, f"there is no name `{e.text}`").instead(value)


def _out_of_scope(scope: Scope, e: s.Name) -> Diagnostic | None:
    """Another part of the same row or declaration binds the name: `when some r in rs: … do x = r`."""
    member = _member_around(scope, e.span)
    if member is None:
        return None
    uses = takewhile(lambda use: member.span.contains(use.span), reversed(scope.module.program.uses))
    bound = next((x.span for x in uses if x.declares and x.meaning[:3] == ("local", "", e.text)), None)
    if bound is None:
        return None
    advice = "`some`, `all` and `count` bind a name only in their condition, and `for` only in its effects"
    if isinstance(member, s.TransitionDecl):
        row, line = f"on next({e.text})", f"some {e.text} in …: x.next({e.text})"
        advice += f"; for a whole row, let the environment choose the value: `{row}`, with `{line}` in the system"
    return rules.UNKNOWN.at(e.span, f"`{e.text}` is not in scope here").label(bound, "bound here").help(advice)


def _member_around(scope: Scope, span: Span) -> s.MachineMember | s.SystemMember | None:
    """The member of the machine or of a system that contains a span."""
    members: Iterable[s.MachineMember | s.SystemMember]
    if scope.machine is not None:
        members = (x for x, _ in scope.machine.members)
    else:
        members = (y for x in scope.module.syntax.members if isinstance(x, s.SystemDecl) for y in x.members)
    return next((x for x in members if x.span.contains(span)), None)


def _state_elsewhere(scope: Scope, e: s.Name) -> Diagnostic | None:
    """A state of another machine, without an instance that may be in it."""
    machines = [name for name, machine in scope.module.machines_in_sight() if e.text in machine.states]
    if not machines:
        return None
    of = " and ".join(f"`{name}`" for name in machines)
    diagnostic = rules.MISPLACED.at(e.span, f"`{e.text}` is a state of {of}, not a value")
    return diagnostic.help(f"test whether an instance is in it: `x in {e.text}`")


def _machine_elsewhere(scope: Scope, e: s.Name) -> Diagnostic | None:
    """In a machine, the name of another one, or of an instance: only the system has instances."""
    if scope.machine is None:
        return None
    names = [name for name, _ in scope.module.machines_in_sight() if e.text.lower() == name.lower()]
    if not names or names[0] == scope.machine.decl.name.text:
        return None
    name = names[0][:1].lower() + names[0][1:]
    message = f"`{e.text}` is a machine, not an instance" if e.text == names[0] else f"there is no name `{e.text}`"
    parameter = f"declare `param {name}: {names[0]}`, and set it in the system: `{{ {name} = … }}`"
    return rules.UNKNOWN.at(e.span, message).help(
        f"a machine refers to an instance by a parameter or a field: {parameter}"
    )


def _unknown_name(scope: Scope, e: s.Name) -> Diagnostic:
    states = () if scope.machine is None else tuple(scope.machine.states)
    return unknown("name", e.text, e.span, (*scope.values(), *states))


def member(scope: Scope, e: s.Member) -> m.Expr:
    """`target.name`: a member of an enum, a declaration of another module, data of another instance, or a part."""
    static = _static(scope, e)
    if static is not None:
        return static
    target = typed(scope, e.target)
    record, machine = bare(target.type), machine_of(scope, bare(target.type))
    if isinstance(record, m.RecordType):
        return part(scope, target, record, e.name, e.span)
    if machine is None:
        if not isinstance(target.type, m.ErrorType):
            diagnostic = rules.MISMATCH.at(
                e.target.span, f"`{e.target.span.quote}` is not an instance, so it has no `{e.name.text}`"
            )
            scope.report(diagnostic)
        return m.Constant(None, m.ERROR, e.span)
    return data_of(scope, machine, target, e.name, e)


def data_of(scope: Scope, machine: MachineNames, target: m.Expr, name: s.Name, e: s.Member) -> m.Expr:
    """A field, parameter or derived value of an instance; an option is opened first."""
    target = opened(target)
    kind = _kind_of_data(machine, name.text)
    if kind is not None:
        scope.note(name, kind, machine.qualified)
    if name.text in machine.fields:
        return m.Read("field", name.text, target, machine.fields[name.text], e.span)
    if name.text in machine.params:
        return m.Read("param", name.text, target, machine.params[name.text], e.span)
    if name.text in machine.lets:
        return derived(scope, machine.qualified, name.text, target, (), e.span)
    if name.text in machine.events or name.text in machine.actions:
        scope.report(no_value(machine, name))
    elif name.text in machine.states:
        test = f"{e.target.span.quote} in {name.text}"
        message = f"`{name.text}` is a state of `{machine.decl.name.text}`, not a field"
        scope.report(rules.MISPLACED.at(name.span, message).instead(test, e.span))
    else:
        scope.report(unknown("field", name.text, name.span, tuple(machine.data), machine.decl.name.text))
    return m.Constant(None, m.ERROR, e.span)


def _static(scope: Scope, e: s.Member) -> m.Expr | None:
    path = dotted(e.target)
    if path is None or scope.holds(path[0]):
        return None
    home: ModuleNames | None = scope.module.imports.get(".".join(path))
    if home is not None:
        scope.module.program.note(e.target.span, "module", "", home.name)
        return _exported(home, e) or _exported_let(scope, home, e)
    *modules, last = path
    owner = scope.module.imports.get(".".join(modules)) if modules else scope.module.home(last)
    if owner is None or (last not in owner.enums and last not in owner.machines):
        return None
    enum = owner.enums[last] if last in owner.enums else state_type(owner.machines[last])
    _note_enum(scope, e.target, owner, "machine" if enum.machine else "enum")
    if e.name.text in enum.members:
        note_member(scope, e.name, enum)
        return m.Constant(e.name.text, enum, e.span)
    scope.report(_no_member(scope, enum, e.name))
    return m.Constant(None, m.ERROR, e.span)


def _no_member(scope: Scope, enum: m.EnumType, name: s.Name, *others: str) -> Diagnostic:
    """A name stands for no value of an enum, or for no single state."""
    if not enum.machine:
        return unknown("member", name.text, name.span, (*enum.members, *others), _last(enum.name))
    machine = scope.module.program.machines[enum.machine]
    if name.text not in machine.states:
        return unknown("state", name.text, name.span, (*machine.states, *others), _last(enum.machine))
    diagnostic = rules.MISMATCH.at(name.span, f"`{name.text}` is a composite state, not a single value")
    return diagnostic.help(f"write `in {name.text}`, or one of {', '.join(sorted(leaves(machine.states[name.text])))}")


def _exported(home: ModuleNames, e: s.Member) -> m.Expr | None:
    """All instances of a machine of another module, all members of its enum, or its channel."""
    declaration = _declaration(Scope(home), e.name)
    return None if declaration is None else replace(declaration, span=e.span)


def _note_enum(scope: Scope, e: s.Expr, owner: ModuleNames, kind: Kind) -> None:
    if isinstance(e, s.Member):
        scope.module.program.note(e.target.span, "module", "", owner.name)
        scope.note(e.name, kind, owner.name)
    elif isinstance(e, s.Name):
        scope.note(e, kind, owner.name)


def _exported_let(scope: Scope, home: ModuleNames, e: s.Member) -> m.Expr | None:
    if e.name.text in home.lets:
        scope.note(e.name, "let", home.name)
        return derived(scope, home.name, e.name.text, None, (), e.span)
    return None
