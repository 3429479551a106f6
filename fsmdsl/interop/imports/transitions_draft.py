"""A machine of the `transitions` library, put together from its calls as the library itself would."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from fsmdsl.dataclasses import replace
from fsmdsl.interop.imports.python_values import Called, Class, Items, Keyed, Member, Unknown
from fsmdsl.interop.imports.table import Condition, LeftOut, Row, State, Table, Unread
from fsmdsl.interop.imports.transitions_objects import own_leaf
from fsmdsl.text.source import Span

_TRANSITION = ("trigger", "source", "dest", "conditions", "unless", "before", "after", "prepare")
MAX_LEVELS = 100
"""Maximum nesting depth of states."""

_STATE = ("name", "on_enter", "on_exit")
_ORDERED = ("states", "trigger", "loop", "loop_includes_initial", "conditions", "unless", "before", "after", "prepare")


class Draft:
    """The states and rows so far. `place` finds where a node of the source is written."""

    def __init__(
        self, name: str, span: Span, place: Callable[[ast.AST], Span], separator: str, *, nests: bool = True
    ) -> None:
        self.name = name
        self.span = span
        self.place = place
        self.separator = separator
        self.nests = nests
        """May states have states in them? Then a separator in a name means so."""
        self.states: dict[str, State] = {}
        self.rows: list[Row] = []
        self.initial: str | None = None
        self.models: list[Class] = []
        self.others: Callable[[Called], Draft | None] = lambda _: None
        """Reads a machine that is embedded in this one."""
        self.left_out: list[LeftOut] = []
        self.unread: list[Unread] = []
        self.incomplete = False
        """Are there states that were not read? Then rows may name states that are not there."""

    def table(self) -> Table:
        """The machine as a table. It has at least one state."""
        first = next(iter(self.states))
        if self.initial is None and not self.unread:
            self.note(f"the machine names no initial state: `{self.states[first].title}` is taken", self.span)
        states, rows, unread = tuple(self.states.values()), tuple(self.rows), tuple(self.unread)
        return Table(self.name, self.initial or first, states, rows, place=self.span, unread=unread)

    def note(self, text: str, span: Span) -> None:
        self.left_out.append(LeftOut(text, span))

    def missed(self, text: str, span: Span) -> None:
        self.unread.append(Unread(text, span))

    def _unknown_parts(self, spec: dict[str, Any], span: Span) -> None:
        if isinstance(spec, Keyed) and spec.unknown:
            self.missed(f"parts that are known only at run time: `{', '.join(spec.unknown)}`", span)

    def note_callbacks(self, what: str, callbacks: Any, span: Span, of: str = "the machine, for every row") -> None:
        """Callbacks that no row has."""
        names = ", ".join(f"`{x}`" for x in names_of(callbacks))
        if names:
            self.note(f"`{what}` of {of}: {names}", span)

    def called(self, call: Called) -> None:
        """A method of the machine that was called after it was made."""
        method = call.function.rpartition(".")[2]
        if call.under and method.startswith(("add_", "remove_")):
            self.missed(
                f"`{ast.unparse(call.node)}` depends on `{call.under}`: it is read as if that holds",
                self.place(call.node),
            )
        if call.unknown and method.startswith("add_"):
            self.missed(
                f"arguments that are known only at run time: `{', '.join(call.unknown)}`", self.place(call.node)
            )
        match method:
            case "add_state" | "add_states":
                extra = {k: v for k, v in call.keywords.items() if k != "states"}
                for state in items_of(call.argument(0, "states", call.keywords.get("state"))):
                    self.add_state(state, (), extra)
            case "add_transition":
                self.add_transition(dict(zip(_TRANSITION, call.arguments, strict=False)) | call.keywords, (), call.node)
            case "add_transitions":
                self.add_transitions(call.argument(0, "transitions"))
            case "add_ordered_transitions":
                self.add_ordered(call)
            case "set_initial" | "initial":
                self.begin(call.argument(0, "initial"))
            case "remove_transition" | "remove_state" | "remove_states":
                self.missed(f"`{ast.unparse(call.node)}`: removals are not applied", self.place(call.node))
            case _:
                self._late_callback(method, call)

    # States ----------------------------------------------------------------------------------------------------------

    def add_states(self, states: Any, scope: tuple[str, ...] = ()) -> None:
        """A state, or several, of any of the forms that the library takes."""
        for state in items_of(states):
            self.add_state(state, scope)

    @property
    def parents(self) -> set[str | None]:
        """The states that have others in them."""
        return {s.parent for s in self.states.values()}

    def add_state(self, description: Any, scope: tuple[str, ...], extra: dict[str, Any] | None = None) -> None:
        """One state with what is in it."""
        spec: dict[str, Any] | None = None
        node: ast.AST | None = None
        match description:
            case str() | Member():
                spec = {"name": description} | (extra or {})
            case Keyed():
                spec, node = description, description.node
            case dict():
                spec = description
            case Called():
                spec, node = (
                    dict(zip(_STATE, description.arguments, strict=False)) | description.keywords,
                    description.node,
                )
        if spec is None or text_of(spec.get("name")) is None:
            self.missed(f"a state that is known only at run time: `{source_text(description)}`", self.span)
            self.incomplete = True
            return
        self._unknown_parts(spec, self.span if node is None else self.place(node))
        if isinstance(spec["name"], Member):
            spec = _of_member(spec["name"], spec)
        self._described(spec, scope, self.place(node) if node is not None else self.span)

    def _described(self, spec: dict[str, Any], scope: tuple[str, ...], span: Span) -> None:
        *around, title = self._path(text_of(spec["name"]) or "", scope)
        path = (*around, title)
        scope = tuple(around)
        name = self.separator.join(path)
        parent = self.separator.join(scope) or None
        inside = spec.get("parallel", spec.get("children", spec.get("states")))
        parallel = "parallel" in spec or isinstance(spec.get("initial"), list)
        actions = names_of(spec.get("on_enter")), names_of(spec.get("on_exit"))
        self.states[name] = State(name, title, parent, parallel=parallel, entry=actions[0], exit=actions[1], place=span)
        for extra in ("timeout", "on_final"):
            if extra in spec:
                self.note(f"`{extra}` of the state `{name}`: `{source_text(spec[extra])}`", span)
        if inside is None:
            return
        begins = text_of(spec.get("initial"))
        if isinstance(inside, Called):
            embedded = self._embedded(inside, path)
            begins = begins or (None if spec.get("initial") is False else embedded)
            if begins is None and name in self.parents:
                self.states[f"{name} itself"] = own_leaf(name, title)
        else:
            if begins is None and not parallel:
                leaf = own_leaf(name, title)
                self.states[leaf.name] = leaf
            self.add_states(inside, path)
        first = None if begins is None else f"{name}{self.separator}{begins.split(self.separator)[0]}"
        if first in self.states:
            self.states[first] = replace(self.states[first], initial=True)
        self.add_transitions(spec.get("transitions"), path)
        if "remap" in spec:
            self.note(f"`remap` of the state `{name}`: `{source_text(spec['remap'])}`", span)

    def _path(self, name: str, scope: tuple[str, ...]) -> tuple[str, ...]:
        """Where a state goes: a name with separators is that of a state inside of others, if those are there."""
        outer, _, title = name.rpartition(self.separator)
        parent = self.separator.join([*scope, outer])
        if not (outer and title) or parent not in self.states or not self.nests:
            return (*scope, name)
        if parent not in self.parents:
            leaf = own_leaf(parent, self.states[parent].title)
            self.states[leaf.name] = leaf
        return (*self._path(outer, scope), title)

    def _embedded(self, machine: Called, path: tuple[str, ...]) -> str | None:
        """The states and rows of another machine as children; what it begins in."""
        other = self.others(machine)
        if other is None or len(path) > MAX_LEVELS:
            self.missed(f"a state that is known only at run time: `{source_text(machine)}`", self.span)
            return None
        outer = self.separator.join(path)
        for state in other.states.values():
            parent = outer if state.parent is None else f"{outer}{self.separator}{state.parent}"
            name = f"{outer}{self.separator}{state.name}"
            self.states[name] = replace(state, name=name, parent=parent)
        for row in other.rows:
            target = None if row.target is None else f"{outer}{self.separator}{row.target}"
            self.rows.append(replace(row, source=f"{outer}{self.separator}{row.source}", target=target))
        self.left_out += other.left_out
        return other.initial

    def begin(self, initial: Any) -> None:
        """The initial state, which the library makes where it is not there."""
        if isinstance(initial, list):
            first = text_of(initial[0]) if initial else None
            initial = None if first is None else first.split(self.separator)[0]
        name = text_of(initial)
        if name is None:
            if initial is not None and initial != []:
                self.missed(f"an initial state that is known only at run time: `{source_text(initial)}`", self.span)
            return
        if name not in self.states:
            self.states = {name: State(name, name, place=self.span), **self.states}
        self.initial = name

    # Rows ------------------------------------------------------------------------------------------------------------

    def add_transitions(self, rows: Any, scope: tuple[str, ...] = ()) -> None:
        """Rows as lists or dicts."""
        for row in items_of(rows, whole=True):
            node = row.node if isinstance(row, Items | Keyed) else None
            match row:
                case dict():
                    self.add_transition(row, scope, node)
                case list():
                    self.add_transition(dict(zip(_TRANSITION, row, strict=False)), scope, node)
                case _:
                    self.missed(f"a row that is known only at run time: `{source_text(row)}`", self.span)

    def add_transition(self, spec: dict[str, Any], scope: tuple[str, ...], node: ast.AST | None) -> None:
        """One row, from each of its sources."""
        span = self.span if node is None else self.place(node)
        self._unknown_parts(spec, span)
        others = [str(x) for x in spec if x not in _TRANSITION]
        if others:
            self.missed(f"unknown parts of a row: `{', '.join(others)}`", span)
        trigger = text_of(spec.get("trigger"))
        target = spec.get("dest")
        sources = self._sources(spec.get("source"), target, scope)
        if trigger is None or sources is None or isinstance(target, Unknown | list):
            self.missed(f"a row that is known only at run time: `{_spelled(spec)}`", span)
            return
        conditions = tuple(Condition(x) for x in names_of(spec.get("conditions")))
        conditions += tuple(Condition(x, False) for x in names_of(spec.get("unless")))
        actions = (*names_of(spec.get("before")), *names_of(spec.get("after")))
        self.note_callbacks("prepare", spec.get("prepare"), span, f"`{trigger}`, before conditions")
        for name in dict.fromkeys([*sources, text_of(target)]) if self.incomplete else ():
            if name not in (None, "=") and self._resolved(name, scope) is None:
                self.states[name] = State(name, name, place=span)
        for source in sources:
            resolved = source if target == "=" else None if target is None else self._resolved(target, scope)
            if source not in self.states or (target is not None and resolved is None):
                self.missed(
                    f"the row `{trigger}` from `{source}` to `{source_text(target)}`: there is no such state", span
                )
                continue
            self.rows.append(Row(source, resolved, trigger, conditions, actions, place=span))

    def _sources(self, source: Any, target: Any, scope: tuple[str, ...]) -> list[str] | None:
        if source == "*" and target == "=":
            return [s.name for s in self.states.values() if not s.implied]
        if source == "*":
            return [s.name for s in self.states.values() if s.parent == (self.separator.join(scope) or None)]
        names = [text_of(x) for x in items_of(source)]
        if not names or None in names:
            return None
        return [self._resolved(x, scope) or x for x in names if x is not None]

    def _resolved(self, state: Any, scope: tuple[str, ...]) -> str | None:
        """The full name: in the scope, else in the machine."""
        name = text_of(state)
        if name is None:
            return None
        inside = self.separator.join([*scope, name])
        if inside in self.states:
            return inside
        if isinstance(state, Member) and name not in self.states:
            return next((s.name for s in self.states.values() if s.title == name), None)
        return name if name in self.states else None

    def add_ordered(self, call: Called) -> None:
        """`next_state` through the states, one after the other."""
        arguments = dict(zip(_ORDERED, call.arguments, strict=False)) | call.keywords
        every = [s.name for s in self.states.values() if not s.implied]
        names = (
            [text_of(x) for x in items_of(arguments.get("states"))] if arguments.get("states") is not None else every
        )
        states = [x for x in names if x is not None]
        if len(states) < len(names):
            self.missed(f"states that are known only at run time: `{ast.unparse(call.node)}`", self.place(call.node))
        if len(states) < 2:
            return
        first = 0
        if self.initial in states:
            at = states.index(self.initial)
            states = states[at:] + states[:at]
            first = int(arguments.get("loop_includes_initial", True) is False)
        pairs = list(pairwise(states))
        pairs += [(states[-1], states[first])] if arguments.get("loop", True) is not False else []
        for n, (source, target) in enumerate(pairs):
            spec = {k: _one(arguments[k], n) for k in _TRANSITION[3:] if k in arguments}
            spec |= {"trigger": arguments.get("trigger", "next_state"), "source": source, "dest": target}
            self.add_transition(spec, (), call.node)

    # Callbacks -------------------------------------------------------------------------------------------------------

    def add_model_callbacks(self) -> None:
        """The methods of the model that the library calls because of their names."""
        for model in self.models:
            for method in model.methods:
                self._hook(method, (method,))

    def _late_callback(self, method: str, call: Called) -> None:
        """`machine.on_enter_A(callback)`, `machine.before_go(callback)`, `machine.on_enter("A", callback)`."""
        if method in ("on_enter", "on_exit") and len(call.arguments) == 2:
            self._hook(f"{method}_{text_of(call.arguments[0])}", names_of(call.arguments[1:]))
        elif not self._hook(method, names_of(call.arguments)):
            moment, _, trigger = method.partition("_")
            if moment in ("before", "after") and any(r.event == trigger for r in self.rows):
                more = names_of(call.arguments)
                self.rows = [_with(r, moment, more) if r.event == trigger else r for r in self.rows]

    def _hook(self, method: str, actions: tuple[str, ...]) -> bool:
        for prefix in ("on_enter_", "on_exit_"):
            state = self.states.get(method.removeprefix(prefix)) if method.startswith(prefix) else None
            if state is not None:
                entry = (
                    (*state.entry, *(x for x in actions if x not in state.entry))
                    if prefix == "on_enter_"
                    else state.entry
                )
                exit = (
                    (*state.exit, *(x for x in actions if x not in state.exit)) if prefix == "on_exit_" else state.exit
                )
                self.states[state.name] = replace(state, entry=entry, exit=exit)
                return True
        return False


def _with(row: Row, moment: str, actions: tuple[str, ...]) -> Row:
    return replace(row, actions=(*actions, *row.actions) if moment == "before" else (*row.actions, *actions))


def _one(argument: Any, n: int) -> Any:
    """The n-th of a list with an item for each row; anything else is for all of them."""
    return argument[n] if isinstance(argument, list) and n < len(argument) and len(argument) > 1 else argument


def _of_member(member: Member, spec: dict[str, Any]) -> dict[str, Any]:
    """A member of an enum may bring its children along: an enum of its own, or a dict."""
    match member.value:
        case Class():
            return {"children": list(member.value.members)} | spec
        case dict():
            return {**member.value, **spec}
    return spec


def items_of(argument: Any, *, whole: bool = False) -> Iterator[Any]:
    """The items of a list or of an enum; one thing alone is a list of it. `whole`: a list of texts is one thing."""
    match argument:
        case None:
            return
        case Class():
            yield from argument.members
        case list() if whole and argument and isinstance(argument[0], str):
            yield argument
        case list():
            yield from argument
        case _:
            yield argument


def text_of(argument: Any) -> str | None:
    """The name of a state or an event."""
    match argument:
        case str():
            return argument
        case Member():
            return argument.name
        case Called():
            return text_of(argument.argument(0, "name"))
        case dict():
            return text_of(argument.get("name"))
    return None


def names_of(callbacks: Any) -> tuple[str, ...]:
    """What callbacks are called."""
    return tuple(source_text(x) for x in items_of(callbacks))


def source_text(argument: Any) -> str:
    """A value as a person would write it."""
    match argument:
        case str():
            return argument
        case Unknown(text):
            return text
        case Member():
            return argument.name
        case Called() if argument.function.rpartition(".")[2] == "partial" and argument.arguments:
            return source_text(argument.arguments[0])
        case Called():
            return ast.unparse(argument.node)
        case list():
            return ", ".join(map(source_text, argument))
    return str(argument)


def _spelled(spec: dict[str, Any]) -> str:
    return ", ".join(f"{k}={source_text(v)}" for k, v in spec.items())
