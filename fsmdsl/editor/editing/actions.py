"""What an editor offers to do about a finding: declare what is missing, ignore an event, take out what is unused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from fsmdsl import syntax as s
from fsmdsl.dataclasses import dataclass
from fsmdsl.editor.editing.analysis import Analysis
from fsmdsl.editor.editing.context_at import around
from fsmdsl.editor.editing.document import Document
from fsmdsl.editor.editing.findings import Mark
from fsmdsl.editor.editing.rename import Edit
from fsmdsl.editor.editing.retraction import withdrawn
from fsmdsl.model.resolve.names.scope import MachineNames
from fsmdsl.syntax.parse.incremental import in_file
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Span, line_around


@dataclass(frozen=True, slots=True)
class Action:
    """Something to do, in words, and the changes that do it. `finding` is what it settles; the `preferred`
    one is what the author most probably wants."""

    title: str
    edits: tuple[Edit, ...]
    finding: Diagnostic | Mark
    preferred: bool = False


def actions(analysis: Analysis, path: str, start: int, end: int) -> list[Action]:
    """What can be done about the findings that touch a stretch of a file."""
    near = [d for d in analysis.diagnostics.get(path, ()) if d.span.start <= end and start <= d.span.end]
    return [x for d in near for x in fixes(analysis, path, d)]


def heard(analysis: Analysis, marks: Iterable[Mark]) -> Iterator[Action]:
    """Fixes for steps that fail because an event arrives in a state that does not handle it."""
    for mark in marks:
        yield from _heard_everywhere(analysis, mark)
        for lost in mark.unheard:
            machine = analysis.machines.get(lost.machine)
            if machine is not None and lost.state in machine.states:
                title = f"ignore `{lost.event}` in `{lost.state}` of {machine.decl.name.text}"
                yield Action(title, (ignoring(machine, lost.event, lost.state),), mark)


def _heard_everywhere(analysis: Analysis, mark: Mark) -> Iterator[Action]:
    """One fix for all states in which a group of violations happens."""
    if len(mark.unheard) < 2:
        return
    machine, event = analysis.machines.get(mark.unheard[0].machine), mark.unheard[0].event
    states = [x.state for x in mark.unheard]
    if machine is not None and all(x in machine.states for x in states):
        title = f"ignore `{event}` in these {len(states)} states of {machine.decl.name.text}"
        yield Action(title, (ignoring(machine, event, ", ".join(states)),), mark)


def fixes(analysis: Analysis, path: str, d: Diagnostic) -> Iterator[Action]:
    """What can be done about a finding of a file."""
    document = analysis.documents[path]
    if d.fix is not None:
        yield Action(d.fix.title, (Edit(d.fix.span, d.fix.replacement),), d, True)
    fixes_of_rule = _BY_RULE.get(d.rule.code)
    if fixes_of_rule is not None:
        yield from fixes_of_rule(analysis, document, d)


# What is not declared ------------------------------------------------------------------------------------------------


def _undeclared(analysis: Analysis, document: Document, d: Diagnostic) -> Iterator[Action]:
    """An unknown name of a machine's transitions, hooks and effects."""
    name = d.span.text
    machine = _machine_around(analysis, document, d.span)
    if machine is None or not name.isidentifier():
        return
    yield from _unsent(analysis, document, machine, d)
    for kind in dict.fromkeys(_missing_kinds(machine, d.span)):
        match kind:
            case "state":
                yield Action(f"create the state `{name}`", (_new_line(machine, s.StateDecl, f"state {name}"),), d)
            case "event":
                line = f"event {name} from environment"
                yield Action(f"declare the event `{name}`", (_new_line(machine, s.EventDecl, line),), d)
            case "action":
                yield Action(f"declare the action `{name}`", (_new_line(machine, s.ActionDecl, f"action {name}"),), d)
            case "field":
                yield Action(f"declare the field `{name}`", (_new_line(machine, s.FieldDecl, f"{name}: bool"),), d)


def _unsent(analysis: Analysis, document: Document, sender: MachineNames, d: Diagnostic) -> Iterator[Action]:
    """An event without arguments that another machine does not have."""
    text = document.source.text
    if text[d.span.start - 1 : d.span.start] != "." or text[d.span.end : d.span.end + 1] == "(":
        return
    place = around(analysis, document.path, d.span.start)
    target = None if place is None or len(place.accepted.open) < 2 else place.accepted.open[-2]
    machine = None if place is None or target is None else place.machine_of(target)
    if machine is not None and any(_sends(x, d.span) for x, _ in sender.members):
        line = f"event {d.span.text} from {sender.decl.name.text}"
        title = f"declare the event `{d.span.text}` in {machine.decl.name.text}"
        yield Action(title, (_new_line(machine, s.EventDecl, line),), d)


def _sends(x: s.MachineMember, span: Span) -> bool:
    """Whether an effect of a line sends what stands there."""
    effects = list(x.effects) if isinstance(x, s.TransitionDecl | s.HookDecl) else []
    while effects:
        match effects.pop():
            case s.Perform(call=s.Member(name=name)) if in_file(name.span) == span:
                return True
            case s.ForEach(body=body):
                effects.extend(body)
            case s.If(then=then, otherwise=otherwise):
                effects.extend((*then, *otherwise))
            case _:
                pass
    return False


def _machine_around(analysis: Analysis, document: Document, span: Span) -> MachineNames | None:
    for machine in analysis.machines.values():
        whole = in_file(machine.decl.span)
        if whole.source is document.source and whole.start <= span.start and span.end <= whole.end:
            return machine
    return None


def _missing_kinds(machine: MachineNames, span: Span) -> Iterator[str]:
    """What a name that stands somewhere in a machine would have to be."""
    for x, _ in machine.members:
        match x:
            case s.TransitionDecl():
                names = [n for e in x.edges for n in (*e.sources, *(() if e.target is None else (e.target,)))]
                yield from ("state" for n in names if in_file(n.span) == span)
                if isinstance(x.trigger, s.On) and in_file(x.trigger.path.span) == span and not x.trigger.arguments:
                    yield "event"
                yield from _missing_kinds_in(x.effects, span)
            case s.HookDecl():
                yield from ("state" for n in x.states if in_file(n.span) == span)
                yield from _missing_kinds_in(x.effects, span)
            case s.IgnoreDecl():
                yield from ("state" for n in x.states if in_file(n.span) == span)
                yield from ("event" for p in x.events if in_file(p.span) == span)
            case _:
                pass


def _missing_kinds_in(effects: tuple[s.Effect, ...], span: Span) -> Iterator[str]:
    for x in effects:
        match x:
            case s.Perform(call=s.Name(span=at)) if in_file(at) == span:
                yield "action"
            case s.Assign(target=s.Name(span=at)) if in_file(at) == span:
                yield "field"
            case s.ForEach(body=body):
                yield from _missing_kinds_in(body, span)
            case s.If(then=then, otherwise=otherwise):
                yield from _missing_kinds_in((*then, *otherwise), span)
            case _:
                pass


def _new_line(machine: MachineNames, beside: type[s.MachineMember], line: str) -> Edit:
    """A line behind the last declaration of a kind, else at the beginning of the machine."""
    source = in_file(machine.decl.span).source
    members = [x for x in machine.decl.members if isinstance(x, beside)] or machine.decl.members[:1]
    if not members:
        brace = in_file(machine.decl.span).start + machine.decl.span.text.index("{") + 1
        return Edit(Span(source, brace, brace), f"\n    {line}\n")
    last = in_file(members[-1].span)
    return Edit(*_behind_line(last, line))


def _behind_line(last: Span, line: str) -> tuple[Span, str]:
    """A place behind the line on which something ends, and a line for it that begins like the line of that."""
    source = last.source
    text = source.text
    start, end = line_around(text, last.start)[0], line_around(text, last.end)[1]
    indent = re.match(r"[ \t]*", text[start:])
    margin = "    " if indent is None or text[start : last.start].strip() else indent[0]
    if text[last.end : end].strip() and not text[last.end : end].strip().startswith("//"):
        return Span(source, last.end, last.end), f"\n{margin}{line}\n"
    return Span(source, end, end), f"\n{margin}{line}"


# Events that arrive where nobody waits -------------------------------------------------------------------------------


def _unheard(analysis: Analysis, document: Document, d: Diagnostic) -> Iterator[Action]:
    """States in which an event of another machine would be a fault."""
    machine = _machine_around(analysis, document, Span(d.span.source, d.span.start, d.span.start))
    if machine is None or analysis.model is None:
        return
    from fsmdsl.check import completeness

    table = completeness(analysis.model, analysis.model.machines[machine.qualified])
    shape = analysis.shape(machine.qualified)
    for event in machine.events.values():
        states = [x for x in table.states if table.cells[event.name, x] == "fault"]
        states = [x for x in states if shape is None or x in shape.reachable]
        if states and any(x != "environment" for x in event.senders):
            state_names = ", ".join(states)
            yield Action(f"ignore `{event.name}` in {state_names}", (ignoring(machine, event.name, state_names),), d)


def ignoring(machine: MachineNames, event: str, states: str) -> Edit:
    """A line that ignores an event, behind those that are there, else at the end of the machine."""
    ignored = [x for x in machine.decl.members if isinstance(x, s.IgnoreDecl)]
    members: Sequence[s.MachineMember] = ignored or machine.decl.members
    line = f"ignore {event} in {states}"
    whole = in_file(machine.decl.span)
    if not members:
        return Edit(Span(whole.source, whole.end - 1, whole.end - 1), f"\n    {line}\n")
    return Edit(*_behind_line(in_file(members[-1].span), line))


def _sender(analysis: Analysis, document: Document, d: Diagnostic) -> Iterator[Action]:
    """An event that does not name the machine that sends it."""
    sender = _machine_around(analysis, document, d.span)
    if sender is None or not d.labels:
        return
    at = d.labels[0].span
    for machine in analysis.machines.values():
        for x in machine.decl.members:
            if isinstance(x, s.EventDecl) and x.senders and any(in_file(y.span) == at for y in x.events):
                last = in_file(x.senders[-1].span)
                name = sender.decl.name.text
                edit = Edit(Span(last.source, last.end, last.end), f", {name}")
                yield Action(f"let {name} send `{d.span.text}`", (edit,), d, True)


# What is unused ------------------------------------------------------------------------------------------------------


def _unused(analysis: Analysis, document: Document, d: Diagnostic) -> Iterator[Action]:
    edit = withdrawn(document, d.span)
    if edit is not None:
        yield Action("remove it", (edit,), d)


def _dead_guard(analysis: Analysis, document: Document, d: Diagnostic) -> Iterator[Action]:
    """A transition whose guard is never true."""
    row = _row(analysis, document, d.span)
    edit = None if row is None else withdrawn(document, in_file(row.span))
    if edit is not None:
        yield Action("remove the transition", (edit,), d)


def _idle_guard(analysis: Analysis, document: Document, d: Diagnostic) -> Iterator[Action]:
    """A guard that is always true, with its `when`."""
    text = document.source.text
    when = re.search(r"\s*\bwhen\s+\Z", text[: d.span.start])
    if when is not None:
        yield Action("remove the guard", (Edit(Span(document.source, when.start(), d.span.end), ""),), d)


def _row(analysis: Analysis, document: Document, span: Span) -> s.TransitionDecl | None:
    machine = _machine_around(analysis, document, span)
    for x, _ in () if machine is None else machine.members:
        if isinstance(x, s.TransitionDecl) and x.guard is not None and in_file(x.guard.span) == span:
            return x
    return None


_BY_RULE: dict[str, Callable[[Analysis, Document, Diagnostic], Iterator[Action]]] = {
    "FSM101": _undeclared,
    "FSM106": _sender,
    "FSM208": _idle_guard,
    "FSM209": _dead_guard,
    "FSM211": _unused,
    "FSM214": _unused,
    "FSM215": _unheard,
    "FSM217": _unused,
    "FSM223": _unused,
}
