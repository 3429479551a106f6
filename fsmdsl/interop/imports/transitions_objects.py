"""Machines of the `transitions` library, as they are in memory: any kind of machine, however it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from fsmdsl.dataclasses import replace
from fsmdsl.interop.imports.table import Condition, Imported, LeftOut, Row, State, Table, Unread

EVERYWHERE = (
    "prepare_event",
    "before_state_change",
    "after_state_change",
    "finalize_event",
    "on_exception",
    "on_final",
)
"""Callbacks of the machine, which no single row has."""


def from_transitions(machine: Any, name: str | None = None) -> Imported:
    """The table of a `transitions.Machine` (also hierarchical, locked, asynchronous ones).

    Reads the machine's attributes and calls nothing of the model. The events `to_STATE` that the library adds by itself
    are left out. Raises TypeError for what is no such machine.
    """
    if not all(hasattr(machine, x) for x in ("states", "events", "initial")):
        raise TypeError(f"this is not a machine of the `transitions` library, but {type(machine).__name__}")
    reader = _Reader(machine)
    states = list(reader.states(machine.states, ()))
    rows = [row for row in reader.rows(machine.events, ()) if row is not None]
    rows += [row for scope, events in reader.nested(machine.states, ()) for row in reader.rows(events, scope) if row]
    initial = reader.initial(states)
    title = name or _title(machine)
    table = Table(title, initial, tuple(states), tuple(rows), unread=tuple(reader.unread))
    return Imported((table,), tuple(reader.left_out))


class _Reader:
    def __init__(self, machine: Any) -> None:
        self.machine = machine
        self.separator: str = getattr(getattr(machine, "state_cls", None), "separator", "_")
        self.state_names: set[str] = set()
        self.left_out: list[LeftOut] = []
        self.unread: list[Unread] = []
        for callbacks in EVERYWHERE:
            functions = getattr(machine, callbacks, None) or []
            if functions:
                called = ", ".join(f"`{_called(x)}`" for x in functions)
                self.left_out.append(LeftOut(f"`{callbacks}` of the machine, for every row: {called}"))

    def states(self, states_by_title: Mapping[str, Any], scope: tuple[str, ...]) -> Iterator[State]:
        for title, state in states_by_title.items():
            path = (*scope, str(title))
            name = self.separator.join(path)
            self.state_names.add(name)
            inside: Mapping[str, Any] = getattr(state, "states", None) or {}
            begins = getattr(state, "initial", None)
            parallel = isinstance(begins, list | tuple)
            yield State(
                name,
                str(title),
                self.separator.join(scope) if scope else None,
                entry=tuple(map(_called, state.on_enter)),
                exit=tuple(map(_called, state.on_exit)),
                parallel=parallel,
            )
            self._extras(name, state)
            if inside and not begins:
                yield own_leaf(name, str(title))
            first = None if parallel or not begins else self._first(begins, name)
            for child in self.states(inside, path):
                yield replace(child, initial=True) if child.name == first else child

    def _first(self, begins: Any, scope: str) -> str:
        relative = _name(begins)
        return f"{scope}{self.separator}{relative.split(self.separator)[0]}"

    def _extras(self, name: str, state: Any) -> None:
        for extra in ("timeout", "on_final"):
            value = getattr(state, extra, None)
            if value:
                text = ", ".join(f"`{_called(x)}`" for x in value) if isinstance(value, list) else str(value)
                self.left_out.append(LeftOut(f"`{extra}` of the state `{name}`: {text}"))

    def initial(self, states: list[State]) -> str:
        begins = self.machine.initial
        if isinstance(begins, list | tuple):
            shared = [_name(x).split(self.separator) for x in begins]
            begins = self.separator.join(shared[0][: _alike(shared)])
        name = _name(begins) if begins is not None else ""
        if name in self.state_names:
            return name
        self.left_out.append(LeftOut(f"the machine names no initial state: `{states[0].title}` is taken"))
        return states[0].name

    def nested(
        self, states_by_title: Mapping[str, Any], scope: tuple[str, ...]
    ) -> Iterator[tuple[tuple[str, ...], Any]]:
        """The events that are declared inside of states, with the path of each."""
        for title, state in states_by_title.items():
            path = (*scope, str(title))
            yield path, getattr(state, "events", None) or {}
            yield from self.nested(getattr(state, "states", None) or {}, path)

    def rows(self, events: Mapping[str, Any], scope: tuple[str, ...]) -> Iterator[Row | None]:
        for name, event in events.items():
            for transitions in event.transitions.values():
                for t in transitions:
                    if not (name.startswith("to_") and self._automatic(name, t)):
                        yield self._row(name, t, scope)

    def _automatic(self, name: str, t: Any) -> bool:
        """Is it one of the rows that `auto_transitions` adds?"""
        target = t.dest or ""
        plain = not (t.conditions or t.before or t.after or t.prepare)
        attribute = getattr(self.machine, "model_attribute", "state")
        added = f"to_{target}" if attribute == "state" else f"to_{attribute}_{target}"
        return plain and bool(self.machine.auto_transitions) and name == added

    def _row(self, event: str, t: Any, scope: tuple[str, ...]) -> Row | None:
        source, target = (self._resolved(x, scope) for x in (t.source, t.dest))
        if source is None or (target is None and t.dest is not None):
            self.unread.append(Unread(f"the row `{event}` from `{t.source}` to `{t.dest}`: there is no such state"))
            return None
        if t.prepare:
            called = ", ".join(f"`{_called(x)}`" for x in t.prepare)
            self.left_out.append(LeftOut(f"`prepare` of `{event}` in `{source}`, before conditions: {called}"))
        conditions = tuple(Condition(_called(c.func), bool(c.target)) for c in t.conditions)
        return Row(source, target, event, conditions, tuple(map(_called, [*t.before, *t.after])))

    def _resolved(self, state: str | None, scope: tuple[str, ...]) -> str | None:
        """The full name: in the scope, else in the machine."""
        if state is None:
            return None
        inside = self.separator.join([*scope, state])
        return inside if inside in self.state_names else state if state in self.state_names else None


def own_leaf(composite: str, title: str) -> State:
    """The state that a composite is in when it is in none of its states, which `transitions` allows."""
    return State(f"{composite} itself", f"{title} itself", composite, initial=True, implied=True)


def _alike(paths: list[list[str]]) -> int:
    """How many names all paths begin with, at least one."""
    shared = 0
    for names in zip(*paths, strict=False):
        if len(set(names)) > 1:
            break
        shared += 1
    return max(shared, 1)


def _title(machine: Any) -> str:
    name = str(getattr(machine, "name", "") or "").strip().removesuffix(":").strip()
    return name or type(machine).__name__


def _name(state: Any) -> str:
    """The name of a state that is given as text, as a member of an enum, or as itself."""
    return str(getattr(state, "name", state))


def _called(callback: Any) -> str:
    """What a callback is called: its name as text, else that of the function."""
    if isinstance(callback, str):
        return callback
    if isinstance(callback, partial):
        return _called(callback.func)
    return str(getattr(callback, "__name__", type(callback).__name__))
