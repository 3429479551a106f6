"""What the lines of a machine mean: states, transitions, hooks, ignored events, priorities."""

from __future__ import annotations

from collections.abc import Container, Iterator

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.declarations.machines import replaced_rows
from fsmdsl.model.resolve.machines.effects import Place, effects
from fsmdsl.model.resolve.machines.transitions import Numbering, note_event, transitions
from fsmdsl.model.resolve.names.meanings import Kind
from fsmdsl.model.resolve.names.scope import MachineNames, Scope, unknown
from fsmdsl.model.resolve.names.states import leaves, own_state
from fsmdsl.model.resolve.types.first_values import check_any, default
from fsmdsl.model.resolve.types.type_text import type_text
from fsmdsl.model.resolve.values.lets import all_of
from fsmdsl.model.resolve.values.places import condition, of_type


def machine(names: MachineNames) -> m.Machine:
    """The whole machine, once every module's declarations are known."""
    scope = Scope(names.module, names)
    numbering = Numbering()
    parts = list(names.members)
    chains = [x.names for x, _ in parts if isinstance(x, s.PriorityDecl)]
    complete = m.Machine(
        names.decl.name.text,
        names.module.name,
        names.decl.display.text if names.decl.display is not None else names.decl.name.text,
        names.decl.doc,
        tuple(_param(scope, x, why) for x, why in parts if isinstance(x, s.ParamDecl)),
        tuple(f for f in (_field(scope, x, why) for x, why in parts if isinstance(x, s.FieldDecl)) if f is not None),
        all_of(scope, names.qualified, names.lets),
        tuple(t for x, why in parts if isinstance(x, s.StateDecl) for t in _states(x, why, None)),
        tuple(names.events.values()),
        tuple(names.actions.values()),
        tuple(t for x, why in parts if isinstance(x, s.TransitionDecl) for t in transitions(scope, x, why, numbering)),
        tuple(h for x, why in parts if isinstance(x, s.HookDecl) for h in _hooks(scope, x, why)),
        tuple(i for x, why in parts if isinstance(x, s.IgnoreDecl) for i in _ignores(scope, x, why)),
        tuple(tuple(name.text for name in chain) for chain in chains),
        tuple(_invariants(scope, [(x, why) for x, why in parts if isinstance(x, s.InvariantDecl)])),
        _reasons(names),
        names.decl.span,
        tuple(tuple(name.span for name in chain) for chain in chains),
        _grid(scope, [x for x, _ in parts if isinstance(x, s.LayoutDecl)]),
    )
    _check_initial(scope, names)
    _note_ranked(scope, names)
    if not names.module.program.as_documented:
        _check_replaced(scope, names)
    return complete


def _check_replaced(scope: Scope, names: MachineNames) -> None:
    """Rows that amendments replace are no part of the machine; what is wrong in them would show as documented only."""
    for x in replaced_rows(names.decl):
        for _ in transitions(scope, x, None, Numbering()):
            pass


def _note_ranked(scope: Scope, names: MachineNames) -> None:
    """Keep what the names in `priority` stand for; that they stand for something is a matter of `checks`."""
    tables: tuple[tuple[Kind, Container[str]], ...] = (
        ("event", names.events),
        ("label", names.labels),
        ("let", names.lets),
    )
    for ranked in (n for x, _ in names.members if isinstance(x, s.PriorityDecl) for n in x.names):
        for kind in (k for k, table in tables if ranked.text in table):
            scope.note(ranked, kind, names.qualified)


# Data ----------------------------------------------------------------------------------------------------------------


def _param(scope: Scope, decl: s.ParamDecl, why: str | None) -> m.Param:
    assert scope.machine is not None
    type_ = scope.machine.params[decl.name.text]
    value = None if decl.value is None else of_type(scope, decl.value, type_)
    return m.Param(decl.name.text, type_, value, decl.doc, why, decl.span)


def _field(scope: Scope, decl: s.FieldDecl, why: str | None) -> m.Field | None:
    assert scope.machine is not None
    type_ = scope.machine.fields.get(decl.name.text, m.ERROR)
    if isinstance(decl.value, s.AnyValue):
        check_any(scope, decl.value, type_)
        placeholder = default(type_, decl.span) or m.Constant(None, type_, decl.span)
        return m.Field(decl.name.text, type_, placeholder, decl.durable, decl.doc, why, decl.span, any=True)
    value = default(type_, decl.span) if decl.value is None else of_type(scope, decl.value, type_)
    if value is None:
        if not isinstance(type_, m.ErrorType):
            diagnostic = rules.MISMATCH.at(decl.span, f"`{decl.name.text}` has no initial value")
            scope.report(diagnostic.help(_first_value_advice(decl.name.text, type_)))
        return None
    return m.Field(decl.name.text, type_, value, decl.durable, decl.doc, why, decl.span)


def _first_value_advice(name: str, t: m.Type) -> str:
    if isinstance(t, m.RefType):
        of = type_text(t)
        parameter = f"`param {name}: {of}`, and `{{ {name} = … }}` in the system"
        return f"if it never changes, write {parameter}; else `{name}: {of}?`, which begins as none"
    return f"write `{type_text(t)}?`, which begins as none, `= any`, or make it a `param`"


def _invariants(scope: Scope, decls: list[tuple[s.InvariantDecl, str | None]]) -> Iterator[m.Invariant]:
    for i, (decl, why) in enumerate(decls, 1):
        name = decl.name.text if decl.name is not None else f"invariant {i}"
        yield m.Invariant(name, condition(scope, decl.condition), decl.doc, why, decl.span, decl.name is not None)


# States --------------------------------------------------------------------------------------------------------------


def _states(decl: s.StateDecl, why: str | None, parent: str | None) -> Iterator[m.State]:
    has = set(decl.flags).__contains__
    yield m.State(
        decl.name.text,
        decl.display.text if decl.display is not None else decl.name.text,
        decl.doc,
        parent,
        tuple(c.name.text for c in decl.children),
        has("initial"),
        has("final"),
        has("resting"),
        has("persistent"),
        has("volatile"),
        has("transient"),
        has("error"),
        why,
        decl.span,
    )
    for child in decl.children:
        yield from _states(child, why, decl.name.text)


def _reasons(names: MachineNames) -> tuple[str, ...]:
    """The reason of each amendment that applies."""
    if names.module.program.as_documented:
        return ()
    return tuple(x.reason.text for x in s.amendments_in(names.decl.members))


def _check_initial(scope: Scope, names: MachineNames) -> None:
    if not names.top:
        diagnostic = rules.INITIAL.at(names.decl.name.span, f"`{names.decl.name.text}` has no state")
        scope.report(diagnostic.help("declare one: `initial state …`"))
    else:
        _one_initial(scope, names.decl.name, names.top, f"machine `{names.decl.name.text}`")
    entered = {
        e.target.text
        for x, _ in names.members
        if isinstance(x, s.TransitionDecl)
        for e in x.edges
        if e.target is not None
    }
    for state in names.states.values():
        _check_flags(scope, state)
        if state.children:
            is_entered = state.name.text in entered or "initial" in state.flags
            _one_initial(scope, state.name, list(state.children), f"state `{state.name.text}`", needed=is_entered)


def _one_initial(scope: Scope, name: s.Name, states: list[s.StateDecl], whose: str, *, needed: bool = True) -> None:
    """A composite that only rows into its states enter needs none; two are wrong everywhere."""
    initial = [x for x in states if "initial" in x.flags]
    if needed and not initial:
        diagnostic = rules.INITIAL.at(name.span, f"{whose} has no initial state")
        scope.report(
            diagnostic.help(f"write `initial` before `state {states[0].name.text}`, or before another of its states")
        )
    for extra in initial[1:]:
        diagnostic = rules.INITIAL.at(extra.name.span, f"{whose} has a second initial state")
        scope.report(diagnostic.label(initial[0].span, "this is the first"))


_EXCLUDED = (
    ("persistent", "volatile"), ("final", "transient"), ("initial", "transient"), ("resting", "transient"),
    ("final", "resting"),
)  # fmt: skip
"""Words that no state has together."""


def _check_flags(scope: Scope, state: s.StateDecl) -> None:
    flags = set(state.flags)
    for a, b in _EXCLUDED:
        if a in flags and b in flags:
            scope.report(rules.FLAGS.at(state.name.span, f"`{state.name.text}` cannot be both {a} and {b}"))
    if state.children and flags & {"final", "resting", "transient"}:
        message = f"`{state.name.text}` is a composite state, so it cannot be final, resting or transient"
        scope.report(rules.FLAGS.at(state.name.span, message))
    for twice in sorted(f for f in flags if state.flags.count(f) > 1):
        scope.report(rules.FLAGS.at(state.name.span, f"`{twice}` is written twice"))


def states_named(scope: Scope, names: tuple[s.Name, ...]) -> Iterator[str]:
    """The leaves meant by a list of states, `*` being all; reports unknown ones."""
    assert scope.machine is not None
    by_name = scope.machine.states
    for n in names:
        if n.text == "*":
            yield from (x.name.text for x in by_name.values() if not x.children)
        elif (state := own_state(scope, n)) is not None:
            inside = leaves(state)
            yield from (x for x in by_name if x in inside)


# Lines ---------------------------------------------------------------------------------------------------------------


def _hooks(scope: Scope, decl: s.HookDecl, why: str | None) -> Iterator[m.Hook]:
    assert scope.machine is not None
    body = effects(Place(scope, "hook"), decl.effects)
    for n in decl.states:
        if own_state(scope, n) is not None:
            yield m.Hook(decl.kind, n.text, body, why, decl.span)


def _ignores(scope: Scope, decl: s.IgnoreDecl, why: str | None) -> Iterator[m.Ignore]:
    states = list(dict.fromkeys(states_named(scope, decl.states)))
    for path in decl.events:
        if known_event(scope, path):
            yield from (m.Ignore(str(path), state, why, decl.span) for state in states)


def _grid(scope: Scope, decls: list[s.LayoutDecl]) -> m.Grid | None:
    """Where diagrams have the states. As documented, states that only amendments declare are left out."""
    assert scope.machine is not None
    for extra in decls[1:]:
        scope.report(rules.TWICE.at(extra.span, "a machine can have only one `layout`"))
    if not decls:
        return None
    states, placed = scope.machine.states, set[str]()
    for n in (n for rank in decls[0].ranks for n in rank):
        if n.text in states:
            scope.note(n, "state", scope.machine.qualified)
        elif not scope.module.program.incomplete:
            scope.report(unknown("state", n.text, n.span, tuple(states)))
        if n.text in placed:
            scope.report(rules.TWICE.at(n.span, f"`{n.text}` already has a place in the layout"))
        placed.add(n.text)
    ranks = (tuple(n.text for n in rank if n.text in states) for rank in decls[0].ranks)
    return m.Grid(decls[0].way, tuple(rank for rank in ranks if rank))


def known_event(scope: Scope, path: s.Path) -> bool:
    """Is this an event of the machine, or an outcome of one of its actions? Reports when it is not."""
    machine = scope.machine
    assert machine is not None
    first, *rest = (n.text for n in path.names)
    note_event(scope, machine, path)
    if not rest and first in machine.events:
        return True
    if rest and first in machine.actions:
        if rest[0] in machine.actions[first].outcomes:
            return True
        scope.report(unknown("outcome", rest[0], path.names[1].span, machine.actions[first].outcomes, first))
        return False
    outcomes = (f"{a.name}.{o}" for a in machine.actions.values() for o in a.outcomes)
    scope.report(unknown("event", str(path), path.span, (*machine.events, *outcomes)))
    return False
