"""A machine of `python-statemachine`, put together from the body of its class as the library itself would."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from fsmdsl.dataclasses import replace
from fsmdsl.interop.imports.python_values import Called, Class, Part, Scope, Unknown, value
from fsmdsl.interop.imports.python_walk import Program
from fsmdsl.interop.imports.statemachine_guards import conditions_of
from fsmdsl.interop.imports.statemachine_states import DeclaredStates, last_name
from fsmdsl.interop.imports.table import Condition, LeftOut, Row, Table
from fsmdsl.interop.imports.transitions_draft import items_of, names_of, source_text
from fsmdsl.text.source import Span

GENERAL = (
    "before_transition", "on_transition", "after_transition", "on_enter_state", "on_exit_state", "on_invoke_state",
    "prepare_event",
)  # fmt: skip
"""Methods that are called for every row."""

MOMENTS = ("before", "on", "after")
_BUILDERS = ("to", "from_", "itself", "any")


class Draft:
    """The states and rows of a class. `family`: the classes that it inherits from, and itself last."""

    def __init__(self, declared: Class, family: Sequence[Class], code: Program) -> None:
        self.declared = declared
        self.family = family
        self.code = code
        self.span = code.span(declared.node)
        self.declared_states = DeclaredStates(code)
        self.states = self.declared_states.states
        self.events: dict[int, list[str]] = defaultdict(list)
        self.builders: dict[int, Called] = {}
        self.unknown_events: set[int] = set()
        """The calls that make rows on events that were not read."""
        self.hooks: dict[tuple[object, str], list[str]] = defaultdict(list)
        """Callbacks that decorators add, by the call that makes rows or the name of the state, and the moment."""
        self.methods: dict[str, None] = {}
        self.outer = Scope(dict(code.names))
        """The names of the file, for decorators; what they call is listed in it, and so stays a thing of its own."""

    def table(self) -> Table | None:
        """The machine; None where no state was read."""
        for declaration in self.family:
            self.declared_states.read(declaration, None)
        if not self.states:
            return None
        self.declared_states.begin()
        bodies = [*self.family, *self._composites()]
        for declaration in bodies:
            self.methods |= dict.fromkeys(declaration.methods)
            self.events_of(declaration)
        for declaration in bodies:
            self.decorators_of(declaration)
        self._state_callbacks()
        rows = tuple(self._rows(bodies))
        general = [x for x in GENERAL if x in self.methods]
        if general:
            self.note(f"callbacks for every row: {', '.join(f'`{x}`' for x in general)}", self.span)
        tops = [s for s in self.states.values() if s.parent is None]
        first = next((s for s in tops if s.initial), tops[0])
        states = tuple(replace(s, initial=s.initial and s.parent is not None) for s in self.states.values())
        doc = (ast.get_docstring(self.declared.node) or "").strip().split("\n")[0]
        unread = tuple(self.declared_states.unread)
        return Table(self.declared.name, first.name, states, rows, True, doc, self.span, unread)

    @property
    def left_out(self) -> list[LeftOut]:
        return self.declared_states.left_out

    def note(self, text: str, span: Span) -> None:
        self.declared_states.note(text, span)

    def missed(self, text: str, span: Span) -> None:
        self.declared_states.missed(text, span)

    # Events ----------------------------------------------------------------------------------------------------------

    def events_of(self, declaration: Class) -> None:
        """The events that the body of a class declares, and its rows without one."""
        inside = set(_calls_in_body(declaration.node))
        for statement in declaration.node.body:
            calls = set(_calls_in_body(statement)) & inside
            if (
                isinstance(statement, ast.Assign)
                and calls
                and any(_unknown_rows(declaration, x) for x in statement.targets)
            ):
                inside -= calls
                message = f"rows that are known only at run time: `{ast.unparse(statement)}`"
                self.missed(message, self.code.span(statement))
        for call in (x for x in self.code.calls if x.node in inside and _builds(x)):
            self._build(call)
        for name, x in declaration.names.items():
            if isinstance(x, Called | list) and self.declared_states.state(x) is None:
                self.declare(name, x)

    def declare(self, name: str, x: Any) -> None:
        """An attribute that holds transitions, or an `Event` of some, is an event."""
        if isinstance(x, Called) and last_name(x.function) == "Event":
            event_id = x.argument(1, "id")
            self.delayed(x)
            self.declare(event_id if isinstance(event_id, str) else name, x.argument(0, "transitions"))
            return
        for call in x if isinstance(x, list) else [x]:
            if isinstance(call, Called) and _builds(call):
                self._build(call)
                if name not in self.events[id(call)]:
                    self.events[id(call)].append(name)
            elif isinstance(call, Called) and last_name(call.function) == "Event":
                self.declare(name, call.argument(0, "transitions"))
            elif isinstance(call, Called) and any(self.declared_states.state(y) for y in call.arguments):
                message = f"rows of `{name}` that are known only at run time: `{source_text(call)}`"
                self.missed(message, self.code.span(call.node))

    def _build(self, call: Called) -> None:
        """A call that makes rows; its own `event` comes first."""
        if id(call) in self.builders:
            return
        if id(call.receiver) in self.declared_states.histories:
            # The row of a history says what is entered where there is none yet.
            self.declared_states.ids[id(call.receiver)] = next(
                filter(None, map(self.declared_states.state, call.arguments)),
                self.declared_states.ids[id(call.receiver)],
            )
            return
        self.builders[id(call)] = call
        for event in items_of(call.keywords.get("event")):
            if isinstance(event, Called) and last_name(event.function) == "Event":
                self.delayed(event)
                event = event.argument(1, "id", event.argument(0, "transitions"))
            if isinstance(event, str):
                self.events[id(call)] += event.split()
            else:
                self.unknown_events.add(id(call))
                message = f"an event that is known only at run time: `{source_text(event)}`"
                self.missed(message, self.code.span(call.node))

    def delayed(self, event: Called) -> None:
        if event.keywords.get("delay"):
            self.note(f"the delay of an event: `{source_text(event)}`", self.code.span(event.node))

    def _composites(self) -> list[Class]:
        """The classes that declare composites, outer ones first."""
        return [x for x in self.code.classes if id(x) in self.declared_states.ids]

    # Callbacks -------------------------------------------------------------------------------------------------------

    def decorators_of(self, declaration: Class) -> None:
        """`@go.before`, `@idle.enter`, `@idle.to(busy)` on methods."""
        scope = Scope(declaration.names, self.outer)
        for name, method in declaration.methods.items():
            for decorator in method.decorator_list:
                if isinstance(decorator, ast.Attribute):
                    self._hooked(value(decorator.value, scope), decorator.attr, name)
                else:
                    self._decorated(value(decorator, scope), name)

    def _decorated(self, x: Any, name: str) -> None:
        """The method that rows decorate is their event, and runs with it."""
        calls = [y for y in (x if isinstance(x, list) else [x]) if isinstance(y, Called) and _builds(y)]
        self.declare(name, calls)
        for call in calls:
            self.hooks[id(call), "on"].append(name)

    def _hooked(self, owner: Any, moment: str, name: str) -> None:
        if isinstance(owner, Called) and last_name(owner.function) == "Event":
            owner = owner.argument(0, "transitions")
        for x in owner if isinstance(owner, list) else [owner]:
            key = self.declared_states.state(x) if moment in ("enter", "exit", "invoke") else None
            self.hooks[id(x) if key is None else key, moment].append(name)

    def _state_callbacks(self) -> None:
        """What states run: that of their own declaration, of decorators, and of methods by their names."""
        for name, s in self.states.items():
            callbacks = {"enter": s.entry, "exit": s.exit}
            for moment, own in callbacks.items():
                method = f"on_{moment}_{s.title}"
                more = [*self.hooks[name, moment], *([method] if method in self.methods else [])]
                callbacks[moment] = tuple(dict.fromkeys([*own, *more]))
            self.states[name] = replace(s, entry=callbacks["enter"], exit=callbacks["exit"])
            services = [*self.hooks[name, "invoke"], f"on_invoke_{s.title}"]
            for service in (x for x in services if x in self.methods):
                self.note(f"`invoke` of the state `{name}`: `{service}`", s.place)

    # Rows ------------------------------------------------------------------------------------------------------------

    def _rows(self, bodies: Sequence[Class]) -> Iterator[Row]:
        """The rows in the order of their calls, which is the library's; those of any state come last."""
        calls = sorted(self.builders.values(), key=lambda x: (x.node.lineno, x.node.col_offset))
        for late in (False, True):
            for call in calls:
                if (_method(call) == "any") == late:
                    yield from self._row(call)

    def _row(self, call: Called) -> Iterator[Row]:
        span = self.code.span(call.node)
        if call.unknown:
            self.missed(f"a part that is known only at run time: `{', '.join(call.unknown)}`", span)
        if id(call) in self.unknown_events and not self.events[id(call)]:
            return
        conditions = tuple(self._conditions(call))
        self._noted(call, span)
        for source, target in self._ends(call):
            events: list[str | None] = [*self.events[id(call)]] or [None]
            for event in events:
                actions = tuple(self._actions(call, event))
                row = Row(source, target, event, conditions, actions, place=span)
                yield from self._arrived(self._internal(row, call))

    def _ends(self, call: Called) -> Iterator[tuple[str, str | None]]:
        """Where a call's rows begin and end; no target: they lead nowhere."""
        for source, target in self._declared(call):
            start, end = self.declared_states.state(source), self.declared_states.state(target)
            if start is None or (end is None and target is not None):
                message = f"a row that is known only at run time: `{ast.unparse(call.node)}`"
                self.missed(message, self.code.span(call.node))
            else:
                yield start, end

    def _declared(self, call: Called) -> Iterator[tuple[Any, Any]]:
        """What a call names as the two ends of its rows."""
        match _method(call):
            case "itself":
                yield call.receiver.owner, call.receiver.owner
            case "any":
                sources = (s.name for s in self.states.values() if s.parent is None and not s.final)
                yield from ((name, call.receiver.owner) for name in sources)
            case "from_":
                yield from ((x, call.receiver) for x in call.arguments)
            case _:
                yield from ((call.receiver, self._first(x, call)) for x in call.arguments)

    def _first(self, target: Any, call: Called) -> Any:
        """The first of the states that a row enters at once."""
        if not isinstance(target, list) or not target:
            return target
        if len(target) > 1:
            message = (
                f"`{ast.unparse(call.node)}` enters several states: `{self.declared_states.state(target[0])}` is taken"
            )
            self.note(message, self.code.span(call.node))
        return target[0]

    def _conditions(self, call: Called) -> Iterator[Condition]:
        for name, holds in (("cond", True), ("unless", False)):
            for condition in [*items_of(call.keywords.get(name)), *self.hooks[id(call), name]]:
                yield from (
                    conditions_of(condition, holds)
                    if isinstance(condition, str)
                    else [Condition(source_text(condition), holds)]
                )

    def _internal(self, row: Row, call: Called) -> Row:
        """A row that stays: `internal=True`, where the target is the source."""
        if call.keywords.get("internal") is not True or row.target is None:
            return row
        if row.target != row.source:
            self.note(f"the row from `{row.source}` to `{row.target}` is internal: it leaves `{row.source}`", row.place)
            return row
        if self._enters_itself() and self.states[row.source].entry:
            self.note(f"an internal row of `{row.source}` runs its entry actions", row.place)
        return replace(row, target=None)

    def _enters_itself(self) -> bool:
        """`enable_self_transition_entries`, which is False in `StateMachine`, and True in `StateChart`."""
        settings = [x.names["enable_self_transition_entries"] for x in self.family if _sets_entries(x)]
        return (
            settings[-1] is True
            if settings
            else not any(b.endswith("StateMachine") for x in self.family for b in x.bases)
        )

    def _arrived(self, row: Row) -> Iterator[Row]:
        """Timers instead of their events, and the final states of a composite instead of its `done_state` event."""
        after = self.declared_states.timers.get((row.source, row.event or ""))
        done = re.fullmatch(r"done[._]state[._](.*)", row.event or "")
        inside = [s for s in self.states.values() if done and s.parent == row.source and row.source == done[1]]
        finals = [s.name for s in inside if s.final]
        if after is not None:
            yield replace(row, event=None, after=after)
        elif finals and not self.states[row.source].parallel:
            yield from (replace(row, source=name, event=None) for name in finals)
        else:
            if inside:
                self.note(f"`{row.event}`, the end of `{row.source}`, is sent by the environment instead", row.place)
            yield row

    def _actions(self, call: Called, event: str | None) -> Iterator[str]:
        """What a row runs: its own callbacks, those of decorators, and methods by the event's name."""
        actions: list[str] = []
        for moment in MOMENTS:
            actions += [*names_of(call.keywords.get(moment)), *self.hooks[id(call), moment]]
            method = f"{moment}_{event}"
            actions += [method] if event is not None and method in self.methods else []
        yield from dict.fromkeys(actions)

    def _noted(self, call: Called, span: Span) -> None:
        validators = [*names_of(call.keywords.get("validators")), *self.hooks[id(call), "validators"]]
        if validators:
            self.note(f"validators, which refuse an event: {', '.join(f'`{x}`' for x in validators)}", span)


def _method(call: Called) -> str:
    return call.node.func.attr if isinstance(call.node.func, ast.Attribute) else ""


def _builds(call: Called) -> bool:
    """Does the call make rows: `a.to(b)`, `b.from_(a)`, `a.to.itself()`, `b.from_.any()`?"""
    method = _method(call)
    if method in ("itself", "any"):
        return isinstance(call.receiver, Part) and call.receiver.name in ("to", "from_")
    return method in _BUILDERS and isinstance(call.receiver, Called | Class | Part)


def _sets_entries(declaration: Class) -> bool:
    return isinstance(declaration.names.get("enable_self_transition_entries"), bool)


def _unknown_rows(declaration: Class, target: ast.expr) -> bool:
    """Is it an attribute whose rows are put together in a way that the text does not tell?"""
    return isinstance(target, ast.Name) and isinstance(declaration.names.get(target.id), Unknown)


def _calls_in_body(node: ast.AST) -> Iterator[ast.Call]:
    """The calls in the body of a class, without those in its methods and in classes inside of it."""
    waiting: list[ast.AST] = list(reversed(node.body)) if isinstance(node, ast.ClassDef) else [node]
    while waiting:
        here = waiting.pop()
        if isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(here, ast.Call):
            yield here
        waiting.extend(ast.iter_child_nodes(here))
