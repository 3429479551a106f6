"""The states that the body of a class of `python-statemachine` declares, and what declares each of them."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from fsmdsl.dataclasses import replace
from fsmdsl.interop.imports.durations import duration
from fsmdsl.interop.imports.python_values import Called, Class, Keyed, Part, Scope, value
from fsmdsl.interop.imports.python_walk import Program
from fsmdsl.interop.imports.table import LeftOut, State, Unread
from fsmdsl.interop.imports.transitions_draft import items_of, names_of, source_text
from fsmdsl.text.source import Span

_STATE = ("name", "value", "initial", "final")
_COMPOSITES = ("State.Compound", "State.Parallel")


def declares_states(x: Any) -> bool:
    """Is this attribute of a class a state, a composite, or a collection of states?"""
    match x:
        case Called():
            return last_name(x.function) in ("State", "HistoryState", "States") or _from_enum(x)
        case Class():
            return any(base.endswith(_COMPOSITES) for base in x.bases)
    return False


class DeclaredStates:
    """The states so far, composites before their children."""

    def __init__(self, code: Program) -> None:
        self.code = code
        self.states: dict[str, State] = {}
        self.ids: dict[object, str] = {}
        """The names of states by what declares them: a call, a class, or a member of `States`."""
        self.histories: set[int] = set()
        self.timers: dict[tuple[str, str], str] = {}
        """How long after a state is entered an event comes by itself."""
        self.left_out: list[LeftOut] = []
        self.unread: list[Unread] = []

    def note(self, text: str, span: Span) -> None:
        self.left_out.append(LeftOut(text, span))

    def missed(self, text: str, span: Span) -> None:
        self.unread.append(Unread(text, span))

    def read(self, declaration: Class, parent: str | None) -> None:
        """The states in the body of a class, composites before their children."""
        for name, x in declaration.names.items():
            match x:
                case Called() if last_name(x.function) == "HistoryState" and parent is not None:
                    self.histories.add(id(x))
                    self.ids[id(x)] = parent
                    message = f"the history `{name}` of `{parent}`: what leads there always enters the same state"
                    self.note(message, self.code.span(x.node))
                case Called() if last_name(x.function) == "State":
                    self.ids[id(x)] = self._state(name, parent, x)
                case Called() if last_name(x.function) == "States" or _from_enum(x):
                    self._container(x, parent)
                case Class() if declares_states(x):
                    parallel = any(base.endswith("State.Parallel") for base in x.bases)
                    options = {k.arg: value(k.value, Scope({})) for k in x.node.keywords if k.arg is not None}
                    self.ids[id(x)] = self._add(name, parent, options, self.code.span(x.node), parallel=parallel)
                    self.read(x, self.ids[id(x)])

    def _state(self, name: str, parent: str | None, x: Called) -> str:
        options = dict(zip(_STATE, x.arguments, strict=False)) | x.keywords
        return self._add(name, parent, options, self.code.span(x.node))

    def _add(
        self, name: str, parent: str | None, options: dict[str, Any], span: Span, *, parallel: bool = False
    ) -> str:
        title = name
        if name in self.states:
            name = f"{parent}.{name}"
        doc = options.get("name")
        own = isinstance(doc, str) and re.sub(r"\W|_", "", doc).lower() != re.sub(r"\W|_", "", title).lower()
        self.states[name] = State(
            name,
            title,
            parent,
            initial=options.get("initial") is True,
            parallel=parallel,
            final=options.get("final") is True,
            entry=names_of(options.get("enter")),
            exit=names_of(options.get("exit")),
            doc=doc if own and isinstance(doc, str) else "",
            place=span,
        )
        for flag in ("initial", "final"):
            if not isinstance(options.get(flag, False), bool):
                self.missed(f"`{flag}` of the state `{name}`: `{source_text(options[flag])}`", span)
        for handler in items_of(options.get("invoke")):
            self._invoked(name, handler, span)
        for extra in ("donedata", "states"):
            if options.get(extra) is not None:
                self.note(f"`{extra}` of the state `{name}`: `{source_text(options[extra])}`", span)
        return name

    def _invoked(self, name: str, handler: Any, span: Span) -> None:
        """`timeout(5, on="late")` is a timer; other services are left out."""
        if isinstance(handler, Called) and last_name(handler.function) == "timeout":
            seconds = handler.argument(0, "duration")
            after = duration(round(seconds * 1000, 6)) if isinstance(seconds, int | float) else None
            event = handler.keywords.get("on", f"done_invoke_{name}")
            if after is not None and isinstance(event, str):
                self.timers[name, event] = after
                return
        self.note(f"`invoke` of the state `{name}`: `{source_text(handler)}`", span)

    def _container(self, x: Called, parent: str | None) -> None:
        """`States({...})` and `States.from_enum(E, initial=E.A)`."""
        states = x.argument(0, "states" if last_name(x.function) == "States" else "enum_type")
        if x.unknown or (isinstance(states, Keyed) and states.unknown):
            self.missed(f"states that are known only at run time: `{source_text(x)}`", self.code.span(x.node))
        if isinstance(states, dict):
            for name, state in states.items():
                if isinstance(name, str) and isinstance(state, Called):
                    self.ids[id(state)] = self.ids[id(x), name] = self._state(name, parent, state)
                else:
                    message = f"a state that is known only at run time: `{source_text(state)}`"
                    self.missed(message, self.code.span(x.node))
        elif isinstance(states, Class):
            final = list(items_of(x.keywords.get("final")))
            for m in states.members:
                flags = {"initial": m == x.argument(1, "initial"), "final": m in final}
                self.ids[id(x), m.name] = self._add(m.name, parent, flags, self.code.span(x.node))
        else:
            self.missed(f"states that are known only at run time: `{source_text(x)}`", self.code.span(x.node))

    def begin(self) -> None:
        """The first state of the machine and of each composite is initial where none says so; regions all are."""
        inside: dict[str | None, list[State]] = defaultdict(list)
        for s in self.states.values():
            inside[s.parent].append(s)
        for parent, children in inside.items():
            parallel = parent is not None and self.states[parent].parallel
            if parallel or not any(s.initial for s in children):
                first = children[0]
                self.states[first.name] = replace(first, initial=True)

    def state(self, expression: Any) -> str | None:
        """The name of a state that an expression stands for."""
        if isinstance(expression, str):
            return expression if expression in self.states else None
        if isinstance(expression, Part) and isinstance(expression.owner, Called):
            return self.ids.get((id(expression.owner), expression.name))
        return self.ids.get(id(expression))


def last_name(function: str) -> str:
    """The last part of what is called: `State` of `statemachine.State`."""
    return function.rpartition(".")[2]


def _from_enum(x: Called) -> bool:
    return x.function.endswith("States.from_enum")
