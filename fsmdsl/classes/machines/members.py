"""What the classes of all machines have: documentation, values that are read, the constructor, invariants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fsmdsl import model as m
from fsmdsl.classes.files import File
from fsmdsl.classes.names import own_name
from fsmdsl.classes.statements.code import Binds, Block, Branch, Comment, If, Statement, Text, lines
from fsmdsl.classes.statements.effects import value_for
from fsmdsl.classes.statements.expressions import code, python
from fsmdsl.classes.statements.limits import Border, check
from fsmdsl.classes.statements.scope import Scope
from fsmdsl.classes.statements.text import (
    commented,
    docstring,
    folded,
    indented,
    literal,
    one_line,
    rows,
    sentence,
    tuple_of,
)
from fsmdsl.classes.traits import circular, stored
from fsmdsl.classes.types import annotation
from fsmdsl.core.lets import may_fail
from fsmdsl.core.triggers import trigger_name
from fsmdsl.dataclasses import dataclass
from fsmdsl.model.walk import expressions

Member = list[str]
"""The lines of a method, without the indentation of its class."""


def method(head: str, doc: str, body: Iterable[Statement], *decorators: str) -> Member:
    """A method. The lines of its body are broken where they are too long."""
    written = [*decorators, *folded([head], 1)]
    if doc:
        written += indented(docstring(doc, 2))
    return [*written, *indented(folded(lines(body), 2))]


def joined(members: Iterable[Member]) -> list[str]:
    """The members of a class, with an empty line between each two."""
    lines: list[str] = []
    for member in members:
        if member:
            lines += [*([""] if lines else []), *member]
    return lines


def class_(head: str, doc: str, members: Iterable[Member]) -> list[str]:
    """A class: its name and its base, what it is, its members."""
    return [f"class {head}:", *indented([*docstring(doc, 1), "", *joined(members)])]


def source_text(e: m.Expr | None) -> str:
    """An expression as the spec has it, on one line."""
    return "" if e is None else e.span.quote


# Documentation -------------------------------------------------------------------------------------------------------


def row(t: m.Transition) -> str:
    """A line of the transition table: `e5: Preempting -> Pending`, `in Running` for an internal one."""
    source = "*" if t.wild else t.source
    arrow = f"{source} -> {t.target}" if t.target is not None else f"in {'any state' if t.wild else source}"
    guard = f" when {source_text(t.guard)}" if t.guard is not None and t.guard.span.text else ""
    name = f"{t.name}: " if t.label else ""
    text = f"{name}{arrow}{guard}"
    return text if len(text) <= 86 else f"{text[:85]}…"


def table(transitions: Iterable[m.Transition]) -> str:
    """Rows for a docstring. A row for many sources, as `*` makes it, stands once."""
    return rows(dict.fromkeys(map(row, transitions)))


def event_doc(machine: m.Machine, event: m.Event) -> str:
    """What an event is, where it is handled, where it is ignored."""
    senders = [own_name(s) for s in event.senders if s != "environment"]
    first = sentence(event.doc) or f"`{event.name}`{', from ' + ' or '.join(senders) if senders else ''}."
    handled = table(t for t in machine.transitions if trigger_name(t.trigger) == event.name)
    return "\n\n".join(x for x in (first, handled, _ignored(machine, event.name)) if x)


def _ignored(machine: m.Machine, event: str) -> str:
    states = list(dict.fromkeys(i.state for i in machine.ignores if i.event == event))
    if not states:
        return ""
    if len(states) == len(machine.leaves):
        return "Ignored in all other states."
    return f"Ignored in {', '.join(states)}."


def notes(t: m.Transition) -> Block:
    """Comments before the code of a transition: what the document says, why it was amended."""
    doc = one_line(t.doc)
    texts = [f"{t.label + ': ' if t.label else ''}{doc}"] if doc else []
    texts += [f"Amended: {t.amended}."] if t.amended else []
    return tuple(Comment(line) for text in texts for line in commented(text, 4))


def slots(names: Iterable[str]) -> Member:
    """`__slots__`."""
    return folded([f"__slots__ = {tuple_of([literal(x) for x in sorted(names)])}"], 1)


def unhandled(scope: Scope, trigger: str, state: str = "self._state") -> Callable[[], Block]:
    """What is done where no transition is enabled: called where it is written, so that files import what they use."""

    def refuse() -> Block:
        refused = scope.file.machinery("UnhandledEvent")
        return (f"raise {refused}(self, {state}, {literal(trigger)}, {_handled_in(scope, trigger)})",)

    return refuse


def _handled_in(scope: Scope, trigger: str) -> str:
    """The states that handle a trigger, as a tuple."""
    machine = scope.own_machine
    names = [scope.names.states[x.name] for x in machine.leaves if scope.selection.levels(x.name, trigger)]
    return tuple_of(names)


# Values --------------------------------------------------------------------------------------------------------------


def constants(scope: Scope) -> list[str]:
    """The states of the machine, by names of the file."""
    machine, names, file = scope.own_machine, scope.names, scope.file
    class_ = file.states_class(machine.qualified)
    final = file.library("typing", "Final")
    leaves = [names.states[s.name] for s in machine.leaves]
    defined = [f"{file.define(name)}: {final} = {class_}.{name}" for name in leaves]
    for composite in names.composites:
        inside = tuple_of([names.states[x] for x in scope.selection.hierarchy.inside[composite]])
        defined.append(f"{file.define(names.states[composite])}: {final} = frozenset({inside})")
    return folded(defined)


def state_members(scope: Scope) -> list[Member]:
    """Where the machine is."""
    machine, names = scope.own_machine, scope.names
    class_ = scope.file.states_class(machine.qualified, typing=True)
    out = [method(f"def state(self) -> {class_}:", "Where the machine is.", ["return self._state"], "@property")]
    for composite, name in names.composites.items():
        state = machine.state_named[composite]
        doc = sentence(state.doc) or f"In {', '.join(machine.leaves_of(composite))}?"
        body = [f"return self._state in {names.states[composite]}"]
        out.append(method(f"def {name}(self) -> bool:", doc, body, "@property"))
    return out


def value_members(scope: Scope) -> list[Member]:
    """Parameters and fields, which only events change; derived values."""
    machine, names, file = scope.own_machine, scope.names, scope.file
    out: list[Member] = []
    for x in stored(machine):
        name = names.values[x.name]
        doc = sentence(x.doc) or f"`{x.name}`, which never changes." if isinstance(x, m.Param) else sentence(x.doc)
        head = f"def {name}(self) -> {annotation(file, x.type)}:"
        out.append(method(head, doc or f"`{x.name}`.", [f"return self.{names.slot(x.name)}"], "@property"))
    return out + [let_member(scope, let, names.values[let.name]) for let in machine.lets]


def let_member(scope: Scope, let: m.Let, name: str) -> Member:
    """A derived value: a property, or a method where it has parameters."""
    inner, names = scope.inside(let)
    parameters = signature(scope, names, let.parameters)
    doc = sentence(let.doc) or sentence(f"`{source_text(let.value)}`")
    kind, value = annotation(scope.file, let.type), python(inner, let.value)
    body = [f"value: {kind} = {value}", "return value"] if _untyped(scope.file, let.value) else [f"return {value}"]
    head = f"def {name}({parameters}) -> {kind}:"
    return method(head, doc, body, *([] if let.parameters else ["@property"]))


def _untyped(file: File, e: m.Expr) -> bool:
    """Does a value read instances of a machine that has no class here, so that types do not tell what it is?"""
    read = {x.type.machine for x in expressions(e) if isinstance(x.type, m.RefType)}
    return not all(map(file.context.written, read))


# The constructor -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Keyword:
    """How an instance gets the first value of a parameter or field: a keyword of the constructor, if there is one, the
    check of its value, and the statement that stores it."""

    parameter: str | None
    required: bool
    check: Block
    store: Statement


def keyword(scope: Scope, x: m.Param | m.Field, late: bool = False) -> Keyword:
    """The keyword for a value. `late`: a parameter that may be left out, to be given by `connect`."""
    name, own = scope.names.values[x.name], scope.own(x.name)
    kind = annotation(scope.file, x.type)
    if x.default is None or begins_with_any(x):
        return _required_keyword(scope, x, late)
    default = python(scope, x.default)
    if is_constant(x.default):
        return Keyword(f"{name}: {kind} = {default}", False, first_check(scope, x, x.type), f"{own} = {name}")
    first = value_for(scope, x.type, x.default, x.name).text
    if isinstance(x.type, m.OptionalType):
        return Keyword(None, False, (), f"{own}: {kind} = {first}")
    store = f"{own} = {first} if {name} is None else {name}"
    return Keyword(f"{name}: {kind} | None = None", False, first_check(scope, x, m.OptionalType(x.type)), store)


def begins_with_any(x: m.Param | m.Field) -> bool:
    """Is there no first value in the text, but any?"""
    return isinstance(x, m.Field) and x.any


def _required_keyword(scope: Scope, x: m.Param | m.Field, late: bool) -> Keyword:
    """Of a parameter without a default, or a field that begins with any value. A late one that may be none is none
    until `connect` gives another."""
    name, kind = scope.names.values[x.name], annotation(scope.file, x.type)
    store = f"{scope.own(x.name)} = {name}"
    if not late:
        is_circular = x in circular(scope.file.context.model, scope.own_machine)
        t = m.OptionalType(x.type) if is_circular and not isinstance(x.type, m.OptionalType) else x.type
        return Keyword(f"{name}: {kind}", True, first_check(scope, x, t), store)
    if isinstance(x.type, m.OptionalType):
        return Keyword(f"{name}: {kind} = None", False, first_check(scope, x, x.type), store)
    present = If((Branch(Text(f"{name} is not None", Binds.COMPARISON), (store,)),))
    return Keyword(f"{name}: {kind} | None = None", False, first_check(scope, x, m.OptionalType(x.type)), present)


def first_check(scope: Scope, x: m.Param | m.Field, t: m.Type, system: str = "system") -> Block:
    """The check of a value that a constructor is given. `t`: the type of the keyword."""
    in_system = scope.file.context.dialect == "classes" and not scope.file.context.standalone(scope.own_machine)
    where = Border(literal(scope.names.class_), system if in_system else "None")
    return (check(scope.file, t, scope.names.values[x.name], x.name, where),)


def keywords(keywords: Iterable[Keyword]) -> list[str]:
    """The keywords of a constructor. Those that must be given stand first, so that a call reads as the spec does."""
    in_constructor = [k for k in keywords if k.parameter is not None]
    return [str(k.parameter) for k in sorted(in_constructor, key=lambda k: not k.required)]


def begins_alike(f: m.Field) -> bool:
    """Is the first value in the text, and the same for all instances?"""
    return not f.any and is_constant(f.default)


def is_constant(e: m.Expr) -> bool:
    """Is a value the same for all instances?"""
    return all(_is_fixed(x) and not may_fail(x) for x in expressions(e))


def _is_fixed(e: m.Expr) -> bool:
    """Of the operation itself, not of its operands."""
    match e:
        case m.Constant() | m.Collection() | m.Construction() | m.Negative() | m.Apply():
            return True
        case _:
            return False


def common_keywords(scope: Scope) -> list[str]:
    """Keywords of all constructors: the state that a machine begins in, and what it is called."""
    class_ = scope.file.states_class(scope.own_machine.qualified, typing=True)
    return [f"state: {class_} = {scope.names.states[scope.own_machine.initial.name]}", 'name: str = ""']


def first_state(scope: Scope) -> Block:
    """The statements that check and store the state that a machine begins in."""
    machine = scope.own_machine
    t = m.EnumType(machine.qualified, tuple(x.name for x in machine.leaves), False, machine.qualified)
    return check(scope.file, t, "state", "state", Border(literal(scope.names.class_))), "self._state = state"


def signature(scope: Scope, names: Sequence[str], parameters: Sequence[m.Variable]) -> str:
    """The parameters of a method, `self` among them."""
    return ", ".join(["self", *typed(scope.file, names, parameters)])


def typed(file: File, names: Sequence[str], parameters: Sequence[m.Variable]) -> list[str]:
    """Parameters with their types."""
    return [f"{n}: {annotation(file, p.type)}" for n, p in zip(names, parameters, strict=True)]


# Invariants ----------------------------------------------------------------------------------------------------------


def invariant_member(scope: Scope, invariants: Sequence[m.Invariant]) -> Member:
    """`check_invariants`."""
    if not invariants:
        return []
    broken = scope.file.machinery("InvariantBroken")
    checks: list[Statement] = []
    for x in invariants:
        refusal = f"raise {broken}(self, {literal(x.name)}, {literal(source_text(x.condition))})"
        checks.append(If((Branch(code(scope, m.Not(x.condition)), (refusal,)),)))
    doc = "Raises `InvariantBroken` where something does not hold that always must."
    return method("def check_invariants(self) -> None:", doc, checks)
