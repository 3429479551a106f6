"""What state diagrams in Mermaid and PlantUML have in common: states in states, arrows, and what is written on them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.interop.imports.rules import NOT_READ, TOO_DEEP
from fsmdsl.interop.imports.table import Condition, ImportFailedError, LeftOut, Row, State, Table
from fsmdsl.text.source import Span

END = "[*]"
"""The beginning and the end of a machine or a composite."""

ANY = "any state"
"""The title of the state that stands for every other one, as `fsm draw` writes it."""

MAX_LEVELS = 100
MAX_STATES = 10_000
MAX_ROWS = 100_000

_LABEL = re.compile(
    r"\+?(?P<trigger>[^\[/]*)(?:\[(?P<guard>.*?)\](?=\s*(?:/|\(|$)))?\s*(?:\((?P<note>.*)\))?\s*(?:/(?P<actions>.*))?",
    re.DOTALL,
)
_AFTER = re.compile(r"after\s+(\d{1,12})\s*(ms|s|min|h|d)")
_EVENT = re.compile(r"(.*?)\s*\(([^()]*)\)")


@dataclass(frozen=True, slots=True)
class Label:
    """What is written on an arrow or in a state: `trigger(arguments) [guard] / actions`."""

    event: str | None
    after: str | None
    arguments: str
    conditions: tuple[Condition, ...]
    actions: tuple[str, ...]


def labels(lines: Iterable[str]) -> Iterator[Label]:
    """The labels on several lines; one that begins with `[`, or comes inside of brackets, continues the one before."""
    whole: list[str] = []
    for line in (x.strip() for x in lines):
        opened = whole and (whole[-1].count("[") > whole[-1].count("]") or whole[-1].count("(") > whole[-1].count(")"))
        if whole and (opened or (line.startswith(("[", "/")) and "[" not in whole[-1])):
            whole[-1] = f"{whole[-1]} {line}"
        elif line:
            whole.append(line)
    yield from map(label, whole)


def label(text: str) -> Label:
    """One label."""
    match = _LABEL.fullmatch(text.strip())
    trigger, guard, actions = (match["trigger"], match["guard"], match["actions"]) if match else (text, None, None)
    trigger = " ".join(trigger.split())
    after = _AFTER.fullmatch(trigger)
    called = _EVENT.fullmatch(trigger)
    arguments = called[2].strip() if called is not None and after is None else ""
    return Label(
        (called[1] if called is not None else trigger) or None if after is None else None,
        None if after is None else f"{int(after[1])}{after[2]}",
        arguments,
        tuple(conditions(guard or "")),
        tuple(x for part in re.split(r"[;\n]", actions or "") if (x := " ".join(part.split()))),
    )


def conditions(guard: str) -> Iterator[Condition]:
    """The parts of a guard, which is split at `and` where nothing else joins it."""
    guard = " ".join(guard.split())
    joined = bool(re.search(r"\b(?:or|all|some|if)\b|\|\||=>|[()]", guard))
    for part in [guard] if joined else re.split(r"\s+(?:and|&&)\s+", guard):
        negated = re.match(r"(?:not\s+|!\s*)(?=\w+$)", part)
        if part and part.lower() not in ("else", "otherwise", "true"):
            yield Condition(part[negated.end() :], False) if negated else Condition(part)


class Diagram:
    """The states and arrows of one diagram, as they are read line by line."""

    def __init__(self, name: str, place: Span) -> None:
        self.name = name
        self.place = place
        self.states: dict[str, State] = {}
        self.titled: set[str] = set()
        self.rows: list[Row] = []
        self.scopes: list[str] = []
        self.initial: dict[str | None, str] = {}
        self.choices: set[str] = set()
        self.ends: set[str] = set()
        self.left_out: list[LeftOut] = []

    @property
    def scope(self) -> str | None:
        return self.scopes[-1] if self.scopes else None

    def note(self, message: str, place: Span) -> None:
        self.left_out.append(LeftOut(message, place))

    # States ----------------------------------------------------------------------------------------------------------

    def state(self, name: str, place: Span, title: str | None = None, stereotype: str = "") -> None:
        """A state that is declared, or mentioned for the first time."""
        if name not in self.states:
            if len(self.states) >= MAX_STATES:
                raise ImportFailedError(TOO_DEEP.at(place, f"there are more than {MAX_STATES:,} states"))
            self.states[name] = State(name, name, self.scope, place=place)
        if title is not None:
            self.states[name] = replace(self.states[name], title=title or name)
            self.titled.add(name)
        kind = stereotype.strip("<>").lower()
        if kind == "choice":
            self.choices.add(name)
        elif kind in ("fork", "join", "history", "entrypoint", "exitpoint"):
            self.note(f"`{name}` is a {kind}: it is an ordinary state", place)

    def open(self, name: str, place: Span, title: str | None = None) -> None:
        """A composite: what comes up to `close` is in it."""
        self.state(name, place, title)
        if name in self.scopes or len(self.scopes) >= MAX_LEVELS:
            why = f"`{name}` is inside of itself" if name in self.scopes else "this is nested too deeply"
            raise ImportFailedError(TOO_DEEP.at(place, why))
        self.scopes.append(name)

    def close(self, place: Span) -> None:
        """The end of a composite."""
        if not self.scopes:
            raise ImportFailedError(NOT_READ.at(place, "this `}` closes nothing"))
        closed = self.scopes.pop()
        if self.states[closed].implied and self.scopes:
            self.scopes.pop()

    def region(self, place: Span) -> None:
        """The line between two parallel regions: what was read of the composite becomes the first of them."""
        scope = self.scope
        if scope is None:
            self.note("the machine has parallel regions at its top: they are one", place)
            return
        if self.states[scope].implied:
            self.scopes.pop()
            outer = self.scopes[-1]
        else:
            outer = scope
            first = self._region(outer, place)
            for s in list(self.states.values()):
                if s.parent == outer and s.name != first:
                    self.states[s.name] = replace(s, parent=first)
            self.initial[first] = self.initial.pop(outer, "")
            self.states[outer] = replace(self.states[outer], parallel=True)
        self.scopes.append(self._region(outer, place))

    def _region(self, outer: str, place: Span) -> str:
        n = 1 + sum(s.implied and s.parent == outer for s in self.states.values())
        name = f"{outer} region {n}"
        self.states[name] = State(name, f"region {n}", outer, implied=True, place=place)
        return name

    def described(self, name: str, lines: list[str], place: Span) -> None:
        """What is written in a state: its title where it has none yet, else internal rows."""
        self.state(name, place)
        if name not in self.titled and not any("[" in x or "/" in x for x in lines):
            self.state(name, place, " ".join(lines))
            return
        for label in labels(lines):
            if label.event is not None and label.event.lower() in ("entry", "exit", "do") and label.actions:
                self._hook(name, label)
            elif label.event is not None or label.after is not None:
                self._add(self._row(name, None, label, place))
            else:
                self.note(f"a text in `{name}`", place)

    def _hook(self, name: str, label: Label) -> None:
        s = self.states[name]
        if label.event == "exit":
            self.states[name] = replace(s, exit=(*s.exit, *label.actions))
        else:
            self.states[name] = replace(s, entry=(*s.entry, *label.actions))

    # Arrows ----------------------------------------------------------------------------------------------------------

    def arrow(self, source: str, target: str, lines: list[str], place: Span) -> None:
        """An arrow with what is written on it."""
        if source == END:
            if target == END:
                return
            self.state(target, place)
            if self.scope in self.initial:
                self.note(f"a second beginning, `{target}`", place)
            self.initial.setdefault(self.scope, target)
            return
        self.state(source, place)
        arrow_labels = list(labels(lines))
        if target == END:
            if not arrow_labels:
                self.ends.add(source)
                return
            target = f"{self.scope or 'machine'} end"
            self.state(target, place, "End")
        self.state(target, place)
        for one in arrow_labels or [Label(None, None, "", (), ())]:
            self._add(self._row(source, target, one, place))

    def _add(self, row: Row) -> None:
        if len(self.rows) >= MAX_ROWS:
            raise ImportFailedError(TOO_DEEP.at(row.place, f"there are more than {MAX_ROWS:,} arrows"))
        self.rows.append(row)

    def _row(self, source: str, target: str | None, label: Label, place: Span) -> Row:
        if label.arguments:
            self.note(f"the arguments of `{label.event}`, which have no types: {label.arguments}", place)
        return Row(source, target, label.event, label.conditions, label.actions, label.after, place)

    # The table -------------------------------------------------------------------------------------------------------

    def table(self) -> Table | None:
        """The machine; None where there is no state."""
        if self.scopes:
            place = self.states[self.scopes[-1]].place
            raise ImportFailedError(NOT_READ.at(place, f"`{self.scopes[-1]}` is opened here and never closed"))
        rows = [self._spoken(row) for row in self._decided()]
        wild = next((s.name for s in self.states.values() if s.title == ANY and s.parent is None), None)
        states = [s for s in self.states.values() if s.name not in self.choices and s.name != wild]
        if wild is not None:
            rows = list(self._spread(rows, wild, states))
        begun = set(self.initial.values())
        states = [replace(s, initial=s.parent is not None and s.name in begun, implied=False) for s in states]
        if not states:
            return None
        first = self.initial.get(None) or next((s.name for s in states if s.parent is None), states[0].name)
        if None not in self.initial:
            self.note(f"the diagram does not say where it begins: `{first}` is taken", self.place)
        return Table(self.name, first, tuple(_ordered(states)), tuple(rows), place=self.place)

    def _decided(self) -> Iterator[Row]:
        """The rows with choices taken out: what leads into one goes on with what leads out of it."""
        out: dict[str, list[Row]] = {x: [r for r in self.rows if r.source == x] for x in self.choices}
        for row in self.rows:
            if row.source in self.choices:
                continue
            if row.target not in self.choices:
                yield row
                continue
            for branch in sorted(out[row.target], key=_otherwise):
                if branch.target in self.choices:
                    self.note("a choice that leads to another choice", branch.place)
                    continue
                more = branch.conditions or (() if _otherwise(branch) else (Condition(branch.event or ""),))
                actions = (*row.actions, *branch.actions)
                yield replace(row, target=branch.target, conditions=(*row.conditions, *more), actions=actions)

    def _spoken(self, row: Row) -> Row:
        """An arrow without a text does not say when it is followed: an event of its own says so."""
        if row.event is not None or row.after is not None or row.conditions or row.target is None:
            return row
        event = f"to {self.states[row.target].title}"
        self.note(f"the arrow from `{row.source}` to `{row.target}` has no text: its event is `{event}`", row.place)
        return replace(row, event=event)

    def _spread(self, rows: list[Row], wild: str, states: list[State]) -> Iterator[Row]:
        """The rows of every state but the ends, behind those that name theirs."""
        yield from (r for r in rows if r.source != wild)
        tops = [s.name for s in states if s.parent is None and s.name not in self.ends]
        for row in rows:
            if row.source == wild:
                yield from (replace(row, source=source) for source in tops)


def _otherwise(row: Row) -> bool:
    """Is it the branch that is followed when no other is?"""
    return not row.conditions and (row.event is None or row.event.lower().strip("[]") in ("else", "otherwise", "no"))


def _ordered(states: list[State]) -> Iterator[State]:
    """Composites before their children."""
    inside: dict[str | None, list[State]] = {}
    for s in states:
        inside.setdefault(s.parent, []).append(s)
    waiting = list(reversed(inside.get(None, [])))
    while waiting:
        s = waiting.pop()
        yield s
        waiting.extend(reversed(inside.get(s.name, [])))
