"""Modules: what each declares and imports."""

from __future__ import annotations

from pathlib import PurePath

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.model.resolve import limits, rules
from fsmdsl.model.resolve.declarations.machines import declared
from fsmdsl.model.resolve.names.meanings import Kind
from fsmdsl.model.resolve.names.scope import ModuleNames, Program, machine_at
from fsmdsl.model.resolve.types.type_expressions import record_type
from fsmdsl.syntax.amendments import amendments
from fsmdsl.text.diagnostics import did_you_mean


def module_name(syntax: s.Module) -> str:
    """The name of the `module` line, else the file's."""
    return str(syntax.name) if syntax.name is not None else PurePath(syntax.span.source.name).stem or "module"


def collect(program: Program, parsed_modules: list[s.Module]) -> list[ModuleNames]:
    """The declarations of every module, imports tied; bodies are left for later."""
    by_name: dict[str, ModuleNames] = {}
    for syntax in parsed_modules:
        name = module_name(syntax)
        if name in by_name:
            span = syntax.name.span if syntax.name is not None else syntax.span
            other = by_name[name].syntax.span.source.name
            program.diagnostics.append(rules.TWICE.at(span, f"module `{name}` is already declared in `{other}`"))
            continue
        if syntax.name is not None:
            limits.within(program, syntax.name.span, "the name has", len(syntax.name.names), limits.PARTS, "parts")
        by_name[name] = ModuleNames(name, syntax, program)
        if syntax.name is not None:
            program.note(syntax.name.span, "module", "", name, declares=True)
    for module in by_name.values():
        _declare(module)
    for module in by_name.values():
        _import(module, by_name)
    for module in by_name.values():
        for x in module.records.values():
            record_type(module, x.name.text, x.name.span)
    return list(by_name.values())


def _declare(module: ModuleNames) -> None:
    seen: set[str] = set()
    for x in module.syntax.members:
        names = x.names if isinstance(x, s.OpaqueDecl) else (x.name,)
        for n in names:
            if n is None:
                continue
            if n.text in seen:
                module.program.diagnostics.append(rules.TWICE.at(n.span, f"`{n.text}` is already declared"))
            seen.add(n.text)
            module.program.note(n.span, _KINDS[type(x)], module.name, n.text, declares=True)
        match x:
            case s.EnumDecl():
                module.enums.setdefault(x.name.text, _enum(module, x))
            case s.RecordDecl():
                module.records.setdefault(x.name.text, x)
            case s.OpaqueDecl():
                module.opaques.update({n.text: m.OpaqueType(f"{module.name}.{n.text}") for n in x.names})
            case s.LetDecl():
                module.lets.setdefault(x.name.text, x)
            case s.ChannelDecl():
                module.channels.setdefault(x.name.text, x)
            case s.MachineDecl():
                machine = declared(module, x)
                module.machines.setdefault(x.name.text, machine)
                module.program.machines.setdefault(machine.qualified, machine)
            case s.SystemDecl():
                module.systems.setdefault(x.name.text, x)
            case s.SharedEnvironment():
                module.environments.setdefault(x.name.text, x)
            case s.LocksDecl() | s.ScenarioDecl():
                pass
    _name_amendments(module)


def _name_amendments(module: ModuleNames) -> None:
    """Amendments of the same name are one repair, so a name may come several times."""
    for n in (x.name for x in amendments(module.syntax) if x.name is not None):
        module.program.note(n.span, "amendment", module.name, n.text, declares=True)


_KINDS: dict[type[s.ModuleMember], Kind] = {
    s.EnumDecl: "enum", s.RecordDecl: "record", s.OpaqueDecl: "opaque", s.LetDecl: "let", s.ChannelDecl: "channel",
    s.MachineDecl: "machine", s.LocksDecl: "locks", s.SharedEnvironment: "environment", s.SystemDecl: "system",
    s.ScenarioDecl: "scenario",
}  # fmt: skip


def _enum(module: ModuleNames, x: s.EnumDecl) -> m.EnumType:
    names: set[str] = set()
    for n in x.members:
        module.program.note(n.name.span, "member", f"{module.name}.{x.name.text}", n.name.text, declares=True)
        if n.name.text in names:
            module.program.diagnostics.append(rules.TWICE.at(n.name.span, f"`{n.name.text}` is already a member"))
        names.add(n.name.text)
    if not names:
        module.program.diagnostics.append(rules.RANGE.at(x.span, f"`{x.name.text}` has no members"))
    limits.within(module.program, x.span, f"`{x.name.text}` has", len(names), limits.MEMBERS, "members")
    return m.EnumType(f"{module.name}.{x.name.text}", tuple(dict.fromkeys(n.name.text for n in x.members)), x.ordered)


def _import(module: ModuleNames, modules: dict[str, ModuleNames]) -> None:
    for x in module.syntax.imports:
        target = modules.get(str(x.path))
        if target is None:
            diagnostic = rules.IMPORT.at(x.path.span, f"no file has the module `{x.path}`")
            advice = did_you_mean(str(x.path), modules)
            module.program.diagnostics.append(diagnostic if advice is None else diagnostic.help(advice))
            continue
        module.imports[target.name] = target
        module.program.note(x.path.span, "module", "", target.name)
        for n in x.names:
            _borrow(module, target, n)


def _borrow(module: ModuleNames, target: ModuleNames, n: s.Name) -> None:
    kind = next((k for k, t in target.tables.items() if n.text in t), None)
    if kind is not None:
        module.program.note(n.span, kind, target.name, n.text)
    else:
        diagnostic = rules.UNKNOWN.at(n.span, f"module `{target.name}` declares no `{n.text}`")
        advice = did_you_mean(n.text, [c for t in target.tables.values() for c in t])
        module.program.diagnostics.append(diagnostic if advice is None else diagnostic.help(advice))
    module.borrowed[n.text] = target


def enums(module: ModuleNames) -> tuple[m.Enum, ...]:
    """The enums of a module, with their docs."""
    declarations = (x for x in module.syntax.members if isinstance(x, s.EnumDecl))
    return tuple(
        m.Enum(module.enums[x.name.text], x.name.text, x.doc, tuple(n.doc for n in x.members), x.span)
        for x in declarations
    )


def records(module: ModuleNames) -> tuple[m.Record, ...]:
    """The records of a module, with their docs."""
    types = ((x, record_type(module, x.name.text, x.name.span)) for x in module.records.values())
    return tuple(
        m.Record(t, x.name.text, x.doc, tuple(p.doc for p in x.parts), x.span)
        for x, t in types
        if isinstance(t, m.RecordType)
    )


def opaques(module: ModuleNames) -> tuple[m.Opaque, ...]:
    """The opaque types of a module."""
    declarations = (x for x in module.syntax.members if isinstance(x, s.OpaqueDecl))
    return tuple(m.Opaque(module.opaques[n.text], n.text, x.doc, n.span) for x in declarations for n in x.names)


def channels(module: ModuleNames) -> tuple[m.Channel, ...]:
    """The channels of a module whose receivers exist."""
    out: list[m.Channel] = []
    for x in module.channels.values():
        receiver = machine_at(module, x.receiver)
        if x.bound < 1:
            module.program.diagnostics.append(
                rules.RANGE.at(x.span, f"channel `{x.name.text}` must have room for at least one message")
            )
        sender = None if x.sender is None else machine_at(module, x.sender)
        if x.sender is not None and not x.each:
            diagnostic = rules.MISPLACED.at(
                x.receiver.span, f"each {x.sender} has a queue here, but {x.receiver} has only one"
            )
            module.program.diagnostics.append(diagnostic.help(f"write `to each {x.receiver}`"))
        if receiver is not None and (x.sender is None or sender is not None):
            out.append(
                m.Channel(
                    x.name.text,
                    module.name,
                    x.order,
                    limits.within(module.program, x.span, "the channel holds", x.bound, limits.MESSAGES, "messages"),
                    x.lossy,
                    x.duplicating,
                    x.waiting,
                    None if sender is None else sender.qualified,
                    x.each,
                    receiver.qualified,
                    x.doc,
                    x.span,
                )
            )
    return tuple(out)
