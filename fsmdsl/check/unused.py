"""Names that are declared and never used."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.check.subject import Subject
from fsmdsl.check.used_declarations import Kind, Use, uses
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity
from fsmdsl.text.source import Span

UNUSED = Rule(
    "FSM223",
    "unused-name",
    Severity.WARNING,
    "a declaration that is never used",
    """
None of the specs that were read uses this parameter, field, derived value, action, type, channel or import. Either it
is no longer needed, or something that should use it is missing. Events have their own rules, FSM213 and FSM214.

```fsm
machine Door {
    param width: 0..9 = 3
    initial state Open
    state Shut
    event push from environment
    action ring
    Open -> Shut, Shut -> Open on push
}
```

Use the declaration, or remove it.
""",
)

NEVER_READ = Rule(
    "FSM224",
    "never-read",
    Severity.NOTE,
    "a field that is set and never read",
    """
Effects assign values to this field, but no guard, effect, invariant, system or scenario reads it. It cannot affect the
behaviour of the machine. It is useful only to hand-written code or to a human reader, and it slows down exploration.

```fsm
machine Door {
    pushes: 0..9
    initial state Open
    state Shut
    event push from environment
    Open -> Shut, Shut -> Open on push do pushes = 3
}
```

If hand-written code needs the value, pass it to an action instead. Otherwise, remove the field.
""",
)

RULES = (UNUSED, NEVER_READ)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """In the order of the modules; a use in any of them counts, as does one in an amendment that does not apply."""
    used = uses(subject.model)
    omitted_names = frozenset(name for x in subject.model.modules for name in x.omitted_names)
    # What was left out, as documented or as an alternative, may be what uses something.
    whole = not any(x.left_out or x.systems_left_out or x.alternatives for x in subject.model.modules)
    for module in subject.model.modules:
        for machine in module.machines:
            yield from _of_machine(machine, used, omitted_names)
        for kind, name, span, use in _of_module(module) if whole else ():
            # An amendment can use an import without its name, for what is imported from it.
            needed = bool(omitted_names) if kind == "import" else name in omitted_names
            yield from _unused(kind, name, span, needed or use in used)
    yield from _of_systems(subject.model, used) if whole else ()


def _of_machine(machine: m.Machine, used: frozenset[Use], omitted_names: frozenset[str]) -> Iterator[Diagnostic]:
    owner = machine.qualified

    def is_used(kind: Kind, name: str) -> bool:
        return name in omitted_names or Use(kind, owner, name) in used

    for p in machine.params:
        yield from _unused("parameter", p.name, p.span, is_used("read", p.name))
    for f in machine.fields:
        if is_used("read", f.name):
            continue
        if Use("set", owner, f.name) in used:
            diagnostic = NEVER_READ.at(f.span, f"the field `{f.name}` is set and never read")
            yield diagnostic.help("pass it to an action if hand-written code needs it, or remove it")
        else:
            yield from _unused("field", f.name, f.span, False)
    for let in machine.lets:
        yield from _unused("derived value", let.name, let.span, is_used("let", let.name))
    for action in machine.actions:
        yield from _unused("action", action.name, action.span, is_used("action", action.name))


def _of_module(module: m.Module) -> Iterator[tuple[str, str, Span, Use]]:
    """The kind, name and place of what a module declares outside its machines, and what would be a use of it."""
    for let in module.lets:
        yield "derived value", let.name, let.span, Use("let", let.owner, let.name)
    types: tuple[m.Enum | m.Record | m.Opaque, ...] = (*module.enums, *module.records, *module.opaques)
    for x in types:
        yield "type", x.name, x.span, Use("type", "", x.type.name)
    for channel in module.channels:
        yield "channel", channel.name, channel.span, Use("channel", "", channel.qualified)
    for name, span in zip(module.imports, module.import_spans, strict=True):
        yield "import", name, span, Use("module", module.name, name)


def _of_systems(model: m.Model, used: frozenset[Use]) -> Iterator[Diagnostic]:
    """What systems declare, whether they or those that extend them use it, and the environments that they share."""
    lets = [let for module in model.modules for x in module.systems for let in x.lets]
    places = {let.span for let in lets if Use("let", let.owner, let.name) in used}
    for span, name in {let.span: let.name for let in lets}.items():
        yield from _unused("derived value", name, span, span in places)
    shared = {x for module in model.modules for system in module.systems for x in system.made_of}
    for environment in (x for module in model.modules for x in module.environments):
        yield from _unused("environment", environment.name, environment.span, environment.qualified in shared)


def _unused(kind: str, name: str, span: Span, used: bool) -> Iterator[Diagnostic]:
    if not used:
        diagnostic = UNUSED.at(span, f"the {kind} `{name}` is never used")
        yield diagnostic.help("use it, or remove it")
