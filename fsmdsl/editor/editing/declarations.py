"""What is known of a thing that has a name: how it was declared, and what the author says of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fsmdsl import syntax as s
from fsmdsl.dataclasses import dataclass
from fsmdsl.editor.editing.analysis import Analysis
from fsmdsl.model.resolve import Meaning
from fsmdsl.model.resolve.names.scope import MachineNames, ModuleNames
from fsmdsl.syntax.amendments import amendments
from fsmdsl.text.source import Span

MAX_TOOLTIP = 400
"""Maximum length of a declaration in a tooltip, in characters."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A declaration: its text in short, its doc comment, the reason of its amendment, where all of it stands, and what
    stands behind its name in a list of names."""

    text: str
    doc: str
    span: Span
    detail: str = ""
    amended: str | None = None


def declared(analysis: Analysis, meaning: Meaning) -> list[Declared]:
    """The declarations of a thing: one, but for labels, which rows may share."""
    return list(_declared(analysis, meaning))


def _declared(analysis: Analysis, meaning: Meaning) -> Iterator[Declared]:
    match meaning.kind:
        case "module":
            module = analysis.modules.get(meaning.name)
            if module is not None:
                yield Declared(f"module {meaning.name}", module.syntax.doc, module.syntax.span)
        case (
            "machine" | "enum" | "record" | "opaque" | "channel" | "system" | "scenario" | "locks" | "environment"
            | "member" | "part" | "group"
        ):  # fmt: skip
            yield from _of_module(analysis, meaning)
        case "local" | "lock":
            return
        case "amendment":
            yield from _amendments(analysis, meaning)
        case "let" | "invariant" | "reachable" | "property" if meaning.owner not in analysis.machines:
            yield from _of_module(analysis, meaning)
        case _:
            owner = meaning.owner
            if meaning.kind in ("outcome", "parameter"):
                owner = owner.rpartition(".")[0]
            machine = analysis.machines.get(owner)
            if machine is not None:
                yield from _of_machine(machine, meaning)


# Modules -------------------------------------------------------------------------------------------------------------


def _amendments(analysis: Analysis, meaning: Meaning) -> Iterator[Declared]:
    module = analysis.modules.get(meaning.owner)
    for x in () if module is None else amendments(module.syntax):
        if x.name is not None and x.name.text == meaning.name:
            yield Declared(f"amends {meaning.name}", x.doc, x.span, amended=x.reason.text)


def _of_module(analysis: Analysis, meaning: Meaning) -> Iterator[Declared]:
    module = analysis.modules.get(meaning.owner)
    if module is not None:
        yield from _member(module.syntax.members, meaning)
        return
    home, _, name = meaning.owner.rpartition(".")
    module = analysis.modules.get(home)
    for x in () if module is None else module.syntax.members:
        if isinstance(x, s.EnumDecl) and meaning.kind == "member" and x.name.text == name:
            yield from (
                Declared(f"{name}.{n.name.text}", n.doc, n.span, name) for n in x.members if n.name.text == meaning.name
            )
        elif isinstance(x, s.RecordDecl) and meaning.kind == "part" and x.name.text == name:
            yield from (
                Declared(p.span.text, p.doc, p.span, p.type.span.text) for p in x.parts if p.name.text == meaning.name
            )
        elif isinstance(x, s.SystemDecl) and x.name.text == name:
            yield from _member(x.members, meaning)
        elif isinstance(x, s.ScenarioDecl) and x.name.text == name:
            yield from _member(x.instances, meaning)


_NAMELESS = (
    s.StartDecl, s.RestDecl, s.BoundDecl, s.EnvironmentDecl, s.EnvironmentUse, s.RecoverDecl, s.MapState, s.MapField,
)  # fmt: skip


def _member(members: Iterable[s.ModuleMember | s.SystemMember], meaning: Meaning) -> Iterator[Declared]:
    for x in members:
        if isinstance(x, _NAMELESS):
            continue
        if isinstance(x, s.OpaqueDecl):
            if meaning.name in (n.text for n in x.names):
                yield Declared(f"opaque {meaning.name}", x.doc, x.span)
        elif x.name is not None and x.name.text == meaning.name:
            yield Declared(header(x), x.doc, x.span, _detail(x))


def header(x: s.ModuleMember | s.SystemMember) -> str:
    """A declaration without what is in its braces."""
    match x:
        case s.MachineDecl() | s.SystemDecl() | s.ScenarioDecl() | s.LocksDecl() | s.SharedEnvironment():
            return x.span.text.partition("{")[0].strip()
        case _:
            return shortened(x.span.text)


def _detail(x: s.ModuleMember | s.SystemMember) -> str:
    match x:
        case s.InstanceDecl(machine=machine, count=count):
            return str(machine) if count is None else f"{machine}[{count}]"
        case s.SharedEnvironment(parameters=parameters):
            return f"({', '.join(p.span.text for p in parameters)})" if parameters else ""
        case s.MachineDecl() | s.SystemDecl() | s.ScenarioDecl() | s.EnumDecl() | s.RecordDecl() | s.ChannelDecl():
            return header(x).split()[0].rstrip(":")
        case _:
            return ""


def shortened(text: str) -> str:
    """A text that fits into a tooltip; its lines moved to the left together."""
    first, *others = text.strip().split("\n")
    spare = min((len(x) - len(x.lstrip()) for x in others if x.strip()), default=0)
    tooltip = "\n".join([first, *(x[spare:] for x in others)])
    return tooltip if len(tooltip) <= MAX_TOOLTIP else f"{tooltip[: MAX_TOOLTIP - 1]}…"


# Machines ------------------------------------------------------------------------------------------------------------


def _of_machine(machine: MachineNames, meaning: Meaning) -> Iterator[Declared]:
    last = meaning.owner.rpartition(".")[2]
    for x, why in machine.members:
        match x:
            case s.StateDecl():
                if meaning.kind == "state":
                    yield from (_state(y, why) for y in _nested(x) if y.name.text == meaning.name)
            case s.FieldDecl() | s.ParamDecl() | s.LetDecl():
                if meaning.kind in ("field", "param", "let") and x.name.text == meaning.name:
                    type_ = "" if isinstance(x, s.LetDecl) else x.type.span.text
                    yield Declared(shortened(x.span.text), x.doc, x.span, type_, why)
            case s.EventDecl(events=signatures) | s.ActionDecl(actions=signatures):
                name = last if meaning.kind in ("outcome", "parameter") else meaning.name
                kinds = ("event", "parameter") if isinstance(x, s.EventDecl) else ("action", "outcome", "parameter")
                if meaning.kind in kinds:
                    yield from (_signature(x, y, why) for y in signatures if y.name.text == name)
            case s.TransitionDecl():
                if meaning.kind == "label" and meaning.name in machine.labels_of(x):
                    yield Declared(shortened(x.span.text), x.doc, x.span, row(x), why)
            case s.InvariantDecl(name=name):
                if meaning.kind == "invariant" and name is not None and name.text == meaning.name:
                    yield Declared(shortened(x.span.text), x.doc, x.span, "", why)
            case _:
                pass


def row(x: s.MachineMember) -> str:
    """The edges of a transition: `Free -> Used`."""
    return ", ".join(" ".join(e.span.text.split()) for e in x.edges) if isinstance(x, s.TransitionDecl) else ""


def _nested(x: s.StateDecl) -> Iterator[s.StateDecl]:
    yield x
    for child in x.children:
        yield from _nested(child)


def _state(x: s.StateDecl, why: str | None) -> Declared:
    title = "" if x.display is None else f' "{x.display.text}"'
    flags = " ".join(dict.fromkeys(x.flags))
    return Declared(f"{flags} state {x.name.text}{title}".strip(), x.doc, x.span, flags, why)


def _signature(x: s.EventDecl | s.ActionDecl, y: s.Signature, why: str | None) -> Declared:
    if isinstance(x, s.EventDecl):
        behind = f" from {', '.join(map(str, x.senders))}" if x.senders else ""
        text = f"event {y.span.text}{behind}"
    else:
        behind = f" -> {' | '.join(n.text for n in x.outcomes)}" if x.outcomes else ""
        text = f"{'async ' * x.asynchronous}action {y.span.text}{behind}"
    parameters = ", ".join(p.span.text for p in y.parameters)
    return Declared(text, y.doc or x.doc, y.span, f"({parameters})" * bool(parameters) + behind, why)


def labelled(analysis: Analysis, meaning: Meaning) -> str:
    """The rows that a label stands for, in a line."""
    return "; ".join(dict.fromkeys(x.detail for x in declared(analysis, meaning) if x.detail))


def home(analysis: Analysis, path: str) -> ModuleNames | None:
    """The module that a file is."""
    document = analysis.documents.get(path)
    module = None if document is None else analysis.modules.get(document.name)
    return module if module is not None and document is not None and module.syntax is document.module else None
