"""The files beside the classes: states, enums, derived values, actions, channels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from fsmdsl import model as m
from fsmdsl.classes.context import Context
from fsmdsl.classes.files import File, Written
from fsmdsl.classes.machines.members import Member, class_, joined, method, signature, source_text, typed
from fsmdsl.classes.names import snake, with_article
from fsmdsl.classes.naming import MachineNames
from fsmdsl.classes.statements.code import Block, Branch, If, Suite, Text
from fsmdsl.classes.statements.expressions import python
from fsmdsl.classes.statements.limits import Border, argument_checks, check, limit_checks, where_outside
from fsmdsl.classes.statements.scope import Scope, member
from fsmdsl.classes.statements.text import docstring, folded, indented, literal, sentence, tuple_of
from fsmdsl.classes.types import annotation, decoded, encoded, is_same_in_json
from fsmdsl.core.lets import looks_beyond, surveys
from fsmdsl.model.typing import referred

Parts = Callable[[File, m.Module], Iterable[Sequence[str]]]
"""The classes or functions that a module has in a file."""


def declared(context: Context, module: m.Module, files: Mapping[str, tuple[str, Parts]]) -> dict[str, Written]:
    """The files of a module in which something stands, of those with these names; each with what it is about, which
    holds `{}` for the module, and its parts."""
    texts: dict[str, Written] = {}
    for name, (about, parts) in files.items():
        file = File(context, module.name, name)
        lines = apart(parts(file, module))
        if lines:
            texts[name] = file.text(about.format(module.name), lines)
    return texts


def apart(parts: Iterable[Sequence[str]]) -> list[str]:
    """Functions or classes, with two empty lines between each two."""
    lines: list[str] = []
    for part in parts:
        lines += [*(["", ""] if lines else []), *part]
    return lines


def states(file: File, module: m.Module) -> Iterator[list[str]]:
    """The states of all machines of a module."""
    return (_states(file, machine) for machine in module.machines)


def _states(file: File, machine: m.Machine) -> list[str]:
    names = file.context.machine(machine.qualified)
    lines = [f"class {names.states_class}({file.machinery('State')}):"]
    lines += [*indented(docstring(f"Where {with_article(machine.display)} can be.", 1)), ""]
    for s in machine.leaves:
        lines.append(f"    {names.states[s.name]} = {literal(s.name)}")
        about = " ".join(sentence(x) for x in (s.doc, _flags(s)) if x)
        lines += indented(docstring(about, 1)) if about else []
    displayed = [s for s in machine.leaves if s.display != s.name]
    if displayed:
        table = [f"    {literal(s.name)}: {literal(s.display)}," for s in displayed]
        body = ["names = {", *table, "}", "return names.get(self.value, self.value)"]
        lines += ["", *indented(method("def display(self) -> str:", "What people call it.", body, "@property"))]
    return lines


def _flags(s: m.State) -> str:
    flags = ("final", "resting", "persistent", "volatile", "transient", "error")
    return ", ".join(f for f in flags if getattr(s, f))


def values(file: File, module: m.Module) -> Iterator[list[str]]:
    """Enums, records, and types that only hand-written code looks into."""
    aliases = joined(_opaque(file, opaque) for opaque in module.opaques)
    if aliases:
        yield aliases
    yield from (_enum(file, enum) for enum in module.enums)
    yield from (_record(file, record) for record in module.records)


def _opaque(file: File, opaque: m.Opaque) -> list[str]:
    alias = f"{file.type_(opaque.type)}: {file.library('typing', 'TypeAlias')} = object"
    return [alias, *docstring(sentence(opaque.doc) or "Only hand-written code looks into it.")]


def _enum(file: File, enum: m.Enum) -> list[str]:
    base = file.library("enum", "IntEnum" if enum.type.ordered else "Enum", typing=False)
    order = "From the lowest to the highest." if enum.type.ordered else ""
    about = "\n\n".join(x for x in (sentence(enum.doc) or f"`{enum.name}`.", order) if x)
    lines = [f"class {file.type_(enum.type)}({base}):", *indented(docstring(about, 1)), ""]
    for n, (name, doc) in enumerate(zip(enum.type.members, enum.member_docs, strict=True)):
        value = str(n) if enum.type.ordered else literal(name)
        lines.append(f"    {member(file, enum.type, name)} = {value}")
        lines += indented(docstring(sentence(doc), 1)) if doc else []
    return lines


def _record(file: File, record: m.Record) -> list[str]:
    """The class of a record, which no part of another type, or outside its range, comes into."""
    t = record.type
    decorator = file.library("dataclasses", "dataclass", typing=False)
    lines = [f"@{decorator}(frozen=True, slots=True)", f"class {file.type_(t)}:"]
    lines += [*indented(docstring(sentence(record.doc) or f"`{record.name}`.", 1)), ""]
    for (part, of), doc in zip(t.parts, record.part_docs, strict=True):
        lines.append(f"    {file.part(t, part)}: {annotation(file, of)}")
        lines += indented(docstring(sentence(doc), 1)) if doc else []
    where = Border(literal(record.name))
    checks = [check(file, of, f"self.{file.part(t, part)}", part, where) for part, of in t.parts]
    return [*lines, "", *indented(method("def __post_init__(self) -> None:", "", checks))]


def derived(file: File, module: m.Module) -> Iterator[list[str]]:
    """The derived values of a module, as functions."""
    return (derived_function(file, module, x) for x in in_derived(file.context, module))


def in_derived(context: Context, module: m.Module) -> list[m.Let]:
    """The derived values that have no need of classes; for `transitions`, those that look at nothing but models."""
    beyond = looks_beyond if context.dialect == "transitions" else surveys
    candidates = [x for x in module.lets if all(context.written(r) for p in x.parameters for r in referred(p.type))]
    return [x for x in candidates if not beyond(context.model, x.value)]


def derived_function(file: File, module: m.Module, let: m.Let) -> list[str]:
    """A derived value of a module."""
    name = file.context.packages[module.name].lets[let.name]
    scope, names = Scope(file, locals={"": "system"}).inside(let)
    parameters = typed(file, names, let.parameters)
    if looks_beyond(file.context.model, let.value):
        parameters.insert(0, f"system: {file.machinery('System', typing=True)}")
    doc = sentence(let.doc) or sentence(f"`{source_text(let.value)}`")
    head = folded([f"def {name}({', '.join(parameters)}) -> {annotation(file, let.type)}:"])
    body = folded([f"return {python(scope, let.value)}"], 1)
    return [*head, *indented(docstring(doc, 1)), *indented(body)]


PLAIN: Mapping[str, tuple[str, Parts]] = {
    "values": ("The values that machines of {} hold.", values),
    "derived": ("Values that follow from others, in the words of {}.", derived),
}
"""The files that packages for `transitions` have as well."""


# Actions -------------------------------------------------------------------------------------------------------------


def actions(file: File, module: m.Module) -> Iterator[list[str]]:
    """The protocols that hand-written code implements."""
    protocol = file.library("typing", "Protocol", typing=False)
    for machine in module.machines:
        if machine.actions:
            doc = f"What hand-written code does for {with_article(machine.display)}."
            head = f"{file.actions_class(machine.qualified)}({protocol})"
            yield class_(head, doc, [_action(file, machine, a) for a in machine.actions])


def _action(file: File, machine: m.Machine, action: m.Action) -> Member:
    names = file.context.machine(machine.qualified)
    first = snake(machine.name)
    scope, called = Scope(file).bind(first).with_parameters(action.parameters)
    parameters = [f"{scope.locals[first]}: {file.class_(machine.qualified)}"]
    if action.asynchronous:
        parameters.append("ticket: int")
    parameters += typed(file, called, action.parameters)
    result = "None"
    if action.outcomes and not action.asynchronous:
        result = f"{file.library('typing', 'Literal')}[{', '.join(literal(o) for o in action.outcomes)}]"
    head = f"def {names.actions[action.name]}({', '.join(['self', *parameters])}) -> {result}:"
    return method(head, _action_doc(names, action), [] if action.doc or action.asynchronous else ["..."])


def _action_doc(names: MachineNames, action: m.Action) -> str:
    doc = sentence(action.doc)
    if not action.asynchronous:
        return doc
    answers = " or ".join(f"`{names.answers[(action.name, o)]}(ticket)`" for o in action.outcomes)
    return f"{doc or f'Begins `{action.name}`.'}\n\nThe answer, {answers}, may come at any time."


# Channels ------------------------------------------------------------------------------------------------------------


def channels(file: File, module: m.Module) -> Iterator[list[str]]:
    """The channels of a module."""
    return (_channel(file, channel) for channel in module.channels)


def channel_events(model: m.Model, channel: m.Channel) -> list[m.Event]:
    """The messages that a channel carries."""
    return [e for e in model.machines[channel.receiver].events if channel.qualified in e.senders]


def _channel(file: File, channel: m.Channel) -> list[str]:
    context = file.context
    name = file.channel(channel.qualified)
    receiver = file.class_(channel.receiver)
    system = file.machinery("System", typing=True)
    kind = "in order" if channel.order == "fifo" else "in any order"
    flags = (
        ("may lose messages", channel.lossy),
        ("may repeat them", channel.duplicating),
        ("delivers what the receiver handles or ignores", channel.waiting),
    )
    faults = [x for x, has in flags if has]
    sender = None if channel.sender is None else file.class_(channel.sender)
    route = f"from one {sender} to one {receiver}" if sender else f"to {'one ' * channel.each}{receiver}"
    about = f"Carries at most {channel.bound} messages {route}, {kind}"
    about += f"; {', '.join(faults)}." if faults else "."
    doc = "\n\n".join(x for x in (sentence(channel.doc), about) if x)
    events = channel_events(context.model, channel)
    ends = {"sender": sender} if sender else {}
    ends["receiver"] = receiver
    parameters = ", ".join(f"{end}: {of} | None = None" for end, of in ends.items())
    call = f"super().__init__({', '.join(['system', *(ends if channel.each else ())])})"
    where = Border(literal(name), "system")
    machines = {"sender": channel.sender, "receiver": channel.receiver}
    checks = [check(file, m.OptionalType(m.RefType(machines[x] or "")), x, x, where) for x in ends]
    members: list[Member] = [
        [f"__slots__ = {tuple_of(list(map(literal, ends)))}", "", f"bound = {channel.bound}"],
        method(
            f"def __init__(self, system: {system}, {parameters}) -> None:",
            "",
            [*checks, call, *(f"self.{x} = {x}" for x in ends)],
        ),
        *(_posting(file, channel, e) for e in events),
        *_transmissions(file, channel),
        *_codec(file, events, channel),
    ]
    return class_(f"{name}({file.machinery('Channel')})", doc, members)


def _posting(file: File, channel: m.Channel, event: m.Event) -> Member:
    scope, arguments = Scope(file, locals={"": "receiver"}).with_parameters(event.parameters)
    name = file.context.channel_methods(channel.qualified)[event.name]
    handler = f"receiver.{file.context.machine(channel.receiver).events[event.name]}"
    message = file.machinery("Message")
    put = f"self._put({message}({literal(event.name)}, {tuple_of(arguments)}, {handler}), len(self))"
    sent = ("receiver = self.receiver", If((Branch(Text("receiver is not None"), (put,)),)))
    checks = argument_checks(file, arguments, event.parameters, Border("self", "self._system"))
    limits = limit_checks(file, arguments, event.parameters)
    checked = (where_outside("self._system.outside()", checks, limits),) if checks else ()
    body = (*checked, *sent)
    doc = sentence(event.doc) or f"Sends `{event.name}`."
    return method(f"def {name}({signature(scope, arguments, event.parameters)}) -> None:", doc, body)


def _transmissions(file: File, channel: m.Channel) -> list[Member]:

    def context(what: str) -> str:
        return f"with self._system.transmission(self, {literal(what)}):"

    parameter = "position: int = 0"
    any_ = channel.order == "bag"
    out = [
        method(
            f"def deliver(self{f', {parameter}' if any_ else ''}) -> None:",
            "Hands a message to the receiver, as a step.",
            [context("a message"), f"    self._take({'position' if any_ else '0'}).call()"],
        )
    ]
    if channel.lossy:
        doc = "A message is lost."
        out.append(
            method(f"def lose(self, {parameter}) -> None:", doc, [context("a loss"), "    self._take(position)"])
        )
    if channel.duplicating:
        body = [context("a repetition"), "    self._put(self._at(position), position)"]
        out.append(method(f"def duplicate(self, {parameter}) -> None:", "A message is there twice.", body))
    return out


def _codec(file: File, events: list[m.Event], channel: m.Channel) -> list[Member]:
    """Messages as JSON has them."""
    data = file.machinery("Data", typing=True)
    mapping, any_ = file.library("collections.abc", "Mapping"), file.library("typing", "Any")
    names = file.context.channel_methods(channel.qualified)
    converted: dict[Block, list[str]] = {}
    reading: list[Branch] = []
    for event in events:
        values = [encoded(file, p.type, f"message.arguments[{i}]") for i, p in enumerate(event.parameters)]
        back = [decoded(file, p.type, f"arguments[{i}]", p.name) for i, p in enumerate(event.parameters)]
        if not all(is_same_in_json(p.type) for p in event.parameters):
            converted.setdefault((f"arguments = [{', '.join(values)}]",), []).append(literal(event.name))
        received = Text(f"event == {literal(event.name)}")
        size = f"{file.machinery('items')}(arguments, {literal(event.name)}, {len(back)})"
        reading.append(Branch(received, (size, f"self.{names[event.name]}({', '.join(back)})")))
    tests = {code: f"in ({', '.join(of)})" if len(of) > 1 else f"== {of[0]}" for code, of in converted.items()}
    writing = [Branch(Text(f"message.event {test}"), code) for code, test in tests.items()]
    note = 'messages.append({"event": message.event, "arguments": arguments})'
    encoding: Block = ("arguments = list(message.arguments)", *([If(tuple(writing))] if writing else []), note)
    unknown = 'raise ValueError(f"there is no message {event!r}")'
    return [
        method(
            f"def _encode(self) -> list[{data}]:",
            "",
            [f"messages: list[{data}] = []", Suite("for message in self._messages:", encoding), "return messages"],
        ),
        method(
            f"def _send(self, event: str, arguments: list[{any_}], machines: {mapping}[int, {any_}]) -> None:",
            "",
            [If(tuple(reading), (unknown,))] if reading else [unknown],
        ),
    ]
