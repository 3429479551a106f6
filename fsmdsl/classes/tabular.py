"""Machines for the `transitions` library: a list of states, a list of transitions, a model with guards and effects.

Composite states are nested there, and each leaf has the rows of those around it: which row comes first, and what it
leaves and enters, is decided here. Rounds, crashes and the refusal of half a step are not things that `transitions`
has; nor does it see that two transitions are enabled at once: the first one whose guard holds is taken.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.classes.context import Context
from fsmdsl.classes.declarations import PLAIN, declared
from fsmdsl.classes.files import File, Written
from fsmdsl.classes.machines.members import (
    Member,
    class_,
    keyword,
    keywords,
    let_member,
    method,
    notes,
    signature,
    source_text,
)
from fsmdsl.classes.names import RESERVED_IN_CLASSES, Namespace, snake
from fsmdsl.classes.naming import MachineNames, is_nested, state_path
from fsmdsl.classes.statements.code import Block, Statement
from fsmdsl.classes.statements.effects import post_name, statements
from fsmdsl.classes.statements.expressions import python
from fsmdsl.classes.statements.limits import Border, argument_checks
from fsmdsl.classes.statements.scope import Scope
from fsmdsl.classes.statements.text import docstring, folded, indented, literal, mark, sentence
from fsmdsl.classes.traits import beyond_tables, stored
from fsmdsl.core.triggers import trigger_name, triggered_by
from fsmdsl.core.unsupported import Lost, losses
from fsmdsl.dataclasses import dataclass
from fsmdsl.model.walk import effects_of


def tabular(context: Context, module: m.Module) -> dict[str, Written]:
    """The files of a module's package, by their path inside it."""
    names = context.packages[module.name]
    written = [x for x in module.machines if context.written(x.qualified)]
    files = {names.machines[x.qualified].file: _file(context, x) for x in written}
    doc = f"The machines of {module.name}, for the `transitions` library."
    missing = [x.name for x in module.machines if not context.written(x.qualified)]
    if missing:
        doc += f"\n\nLeft out, as the library cannot run them: {', '.join(missing)}."
    init = Written("\n".join([mark(module.name), *docstring(doc), ""]))
    return {**files, **declared(context, module, PLAIN), "__init__": init}


def left_out(context: Context, module: m.Module) -> Iterator[Lost]:
    """What the tables of a module do not say."""
    for machine in module.machines:
        why = beyond_tables(context.model, machine)
        if why is not None:
            yield Lost(f"the machine `{machine.name}`: it {why[0]}", why[1])
            continue
        selection = context.selections[machine.qualified]
        yield from losses(selection, "`transitions`")
        names = trigger_names(context.machine(machine.qualified), machine)
        for t in triggered_by(machine, m.OnTimer):
            message = f"the time of `{t.name}` of `{t.source}`: call `{names[timer_key(t)]}` when it is up"
            yield Lost(message, t.span)


def _file(context: Context, machine: m.Machine) -> Written:
    names = context.machine(machine.qualified)
    file = File(context, machine.module, names.file)
    file.define(names.class_)
    table = _Table(Scope(file, machine))
    rows = folded([f"TRANSITIONS: list[dict[str, Any]] = [{', '.join(table.rows)}]"])
    file.library("typing", "Any")
    states = ", ".join(_state(machine, s) for s in machine.states if s.parent is None)
    body = [
        *folded([f"STATES: list[dict[str, Any]] = [{states}]"]), "", *rows, "", "",
        *_model(table), "", "", *(_nesting() if is_nested(machine) else ()), *_build(table),
    ]  # fmt: skip
    file.package_import("transitions.extensions.nesting" if is_nested(machine) else "transitions")
    return file.text(f"`{machine.name}` of {machine.module}, for the `transitions` library.", body)


def _state(machine: m.Machine, s: m.State) -> str:
    final = ', "final": True' if s.final else ""
    inside = [machine.state_named[x] for x in s.children]
    first = next((f', "initial": {literal(x.name)}' for x in inside if x.initial), "")
    children = f', "children": [{", ".join(_state(machine, x) for x in inside)}]' if inside else ""
    return f'{{"name": {literal(s.name)}{final}{first}{children}}}'


@dataclass(frozen=True, slots=True)
class _Row:
    """What a transition does, as the library has it; the names of methods."""

    dest: str | None
    conditions: str | None = None
    before: str | None = None
    after: str | None = None

    def text(self, trigger: str, source: str) -> str:
        """The row, for some source states."""
        entries = [f'"trigger": {literal(trigger)}', f'"source": {source}']
        entries.append(f'"dest": {"None" if self.dest is None else literal(self.dest)}')
        methods = (("conditions", self.conditions), ("before", self.before), ("after", self.after))
        entries += [f"{literal(key)}: {literal(name)}" for key, name in methods if name is not None]
        return f"{{{', '.join(entries)}}}"


class _Table:
    """The rows of a machine, and the methods that they name, each once."""

    def __init__(self, scope: Scope) -> None:
        self.scope, self.machine = scope, scope.own_machine
        self.methods: dict[str, Member] = {}
        self._called: dict[tuple[str, str, Block], str] = {}
        self._names = Namespace([*RESERVED_IN_CLASSES, *self.taken()])
        self.rows = list(self._all())

    def taken(self) -> Iterator[str]:
        """Names that the library, or the machine itself, puts on a model."""
        names = self.scope.names
        yield from ("state", "trigger", *names.values.values(), *self.triggers().values())
        for s in self.machine.states:
            yield from (f"is_{s.name}", f"to_{s.name}", f"on_enter_{s.name}", f"on_exit_{s.name}")
        yield from (f"may_{t}" for t in self.triggers().values())

    def triggers(self) -> dict[str, str]:
        """What triggers are called."""
        return trigger_names(self.scope.names, self.machine)

    def _all(self) -> Iterator[str]:
        for event in self.machine.events:
            yield from self._of(event.name, self.scope.with_parameters(event.parameters)[1], event.parameters)
        for action in self.machine.actions:
            for outcome in action.outcomes:
                yield from self._of(f"{action.name}.{outcome}", [], ())
        for t in triggered_by(self.machine, m.OnTimer):
            for leaf in self.machine.leaves_of(t.source):
                yield self._row(t, leaf, [], ()).text(self.triggers()[timer_key(t)], self._sources([leaf]))

    def _of(self, trigger: str, arguments: list[str], parameters: tuple[m.Variable, ...]) -> Iterator[str]:
        """The rows of a trigger: those of named sources before those of `*`, the best priority first.

        States with one row each, and the same, share it.
        """
        selection = self.scope.selection
        leaves_of: dict[tuple[_Row, str | None], list[str]] = {}
        for leaf in self.machine.leaves:
            levels = selection.levels(leaf.name, trigger)
            candidates = [t for level in levels for t in selection.priority.best_first(level)]
            rows = [self._row(t, leaf.name, arguments, parameters) for t in candidates]
            rows += [_Row(None) for i in self.machine.ignores if i.event == trigger and i.state == leaf.name][:1]
            for row in rows:
                leaves_of.setdefault((row, None if len(rows) == 1 else leaf.name), []).append(leaf.name)
        for (row, _), leaves in leaves_of.items():
            yield row.text(self.triggers()[trigger], self._sources(list(dict.fromkeys(leaves))))

    def _sources(self, leaves: list[str]) -> str:
        if set(leaves) == {s.name for s in self.machine.leaves} and len(leaves) > 1:
            return '"*"'
        names = ", ".join(literal(state_path(self.machine, x)) for x in leaves)
        return names if len(leaves) == 1 else f"[{names}]"

    def _row(self, t: m.Transition, leaf: str, arguments: list[str], parameters: tuple[m.Variable, ...]) -> _Row:
        scope = self.scope.taking(t, arguments)
        moved = self.scope.selection.move(leaf, t)
        head = f"({signature(scope, arguments, parameters)})"
        guard = effect = entry = None
        checks = argument_checks(scope.file, arguments, parameters, Border(literal(scope.names.class_)))
        if t.guard is not None:
            body = (*checks, f"return {python(scope, t.guard)}")
            guard = self._method("guard", t, f"{head} -> bool:", body, source_text(t.guard))
            checks = ()
        before = (*checks, *statements(scope, (*moved.exits, *t.effects)))
        if before:
            effect = self._method("effect", t, f"{head} -> None:", (*notes(t), *before), "")
        if moved.entries:
            body = statements(self.scope, moved.entries)
            entry = self._method("enter", t, "(self, *_: object) -> None:", body, "", moved.target)
        target = None if moved.target is None else state_path(self.machine, moved.target)
        return _Row(target, guard, effect, entry)

    def _method(self, kind: str, t: m.Transition, head: str, body: Block, doc: str, of: str | None = None) -> str:
        """The name of a method with such a body, made if there is none yet."""
        key = (kind, head, body)
        if key not in self._called:
            name = self._names.claim(f"{kind}_{snake(of or t.name)}")
            self._called[key] = name
            self.methods[name] = method(f"def {name}{head}", sentence(f"`{doc}`") if doc else "", body)
        return self._called[key]


def trigger_names(names: MachineNames, machine: m.Machine) -> dict[str, str]:
    """What triggers are called: events, `action.outcome`, timers by `timer_key`."""
    triggers = {e.name: names.events[e.name] for e in machine.events}
    triggers |= {f"{a}.{o}": name for (a, o), name in names.answers.items()}
    space = Namespace([*triggers.values(), *names.values.values()])
    timed = triggered_by(machine, m.OnTimer)
    return triggers | {timer_key(t): space.claim(f"time_out_{snake(t.source)}") for t in timed}


def timer_key(t: m.Transition) -> str:
    """What finds a timer among the triggers."""
    return f"{t.index} {t.shown_trigger}"


# The model -----------------------------------------------------------------------------------------------------------


def _model(table: _Table) -> list[str]:
    scope, machine, names = table.scope, table.machine, table.scope.names
    doc = f"{sentence(machine.doc) or machine.display + '.'}\n\nActions do nothing here: override them."
    members = [
        ["state: str", f"_numbers = {scope.file.library('itertools', 'count', typing=False)}()"],
        _constructor(table),
        *(let_member(scope, x, names.values[x.name]) for x in machine.lets),
        *(_action(scope, a) for a in machine.actions),
        *_posting(scope),
        *table.methods.values(),
        _typed_triggers(table),
    ]
    return class_(names.class_, doc, members)


def _constructor(table: _Table) -> Member:
    scope, machine = table.scope, table.machine
    values = [keyword(scope, x) for x in stored(machine)]
    body: list[Statement] = [x for k in values for x in k.check]
    body += ["self._number = next(self._numbers)", *(k.store for k in values)]
    ordered = keywords(values)
    return method(f"def __init__({', '.join(['self', *(['*'] if ordered else []), *ordered])}) -> None:", "", body)


def _action(scope: Scope, action: m.Action) -> Member:
    head = signature(scope, scope.with_parameters(action.parameters)[1], action.parameters)
    answers = " or ".join(scope.names.answers[(action.name, o)] for o in action.outcomes)
    doc = sentence(action.doc) or f"`{action.name}`."
    doc += f"\n\nIt is answered by {answers}." if answers else ""
    return method(f"def action_{scope.names.actions[action.name]}({head}) -> None:", doc, [])


def _posting(scope: Scope) -> Iterator[Member]:
    """Messages to channels."""
    machine, model = scope.own_machine, scope.file.context.model
    sent = {(e.channel, e.event) for e in effects_of(machine) if isinstance(e, m.Post)}
    for channel, name in sorted(sent):
        to = model.channels[channel]
        whose = (m.Variable("receiver", m.RefType(to.receiver)),) if to.each else ()
        parameters = (*whose, *model.machines[to.receiver].event_named[name].parameters)
        head = signature(scope, scope.with_parameters(parameters)[1], parameters)
        yield method(f"def {post_name(channel, name)}({head}) -> None:", f"Sends `{name}`.", [])


def _typed_triggers(table: _Table) -> Member:
    """The library adds these to the model; a type checker learns of them here."""
    called = table.triggers()
    handled = {i.event for i in table.machine.ignores}
    handled |= {trigger_name(t.trigger) or timer_key(t) for t in table.machine.transitions}
    events = [e for e in table.machine.events if e.name in handled]
    signatures = (signature(table.scope, table.scope.with_parameters(e.parameters)[1], e.parameters) for e in events)
    heads = [f"def {called[e.name]}({x}) -> bool: ..." for e, x in zip(events, signatures, strict=True)]
    others = [x for x in called if x in handled and x not in table.machine.event_named]
    heads += [f"def {called[x]}(self) -> bool: ..." for x in others]
    return ["if TYPE_CHECKING:", "    # What the library adds: see `build`.", *indented(heads)] if heads else []


def _build(table: _Table) -> list[str]:
    names = table.scope.names
    initial = literal(state_path(table.machine, table.machine.initial.name))
    class_ = "_Nested" if is_nested(table.machine) else "transitions.Machine"
    arguments = [
        "model,",
        "states=STATES,",
        "transitions=TRANSITIONS,",
        f"initial={initial},",
        "auto_transitions=False,",
    ]
    return [
        f"def build(model: {names.class_}) -> transitions.Machine:",
        '    """A machine of the library that moves the model."""',
        *indented([f"return {class_}(", *indented(arguments), ")"]),
    ]


def _nesting() -> list[str]:
    """A machine whose states have names like `Up.Idle`: the names of a spec may hold the library's own `_`."""
    return [
        "class _State(transitions.extensions.nesting.NestedState):", '    separator = "."', "", "",
        "class _Nested(transitions.extensions.nesting.HierarchicalMachine):", "    state_cls = _State", "", "",
    ]  # fmt: skip
