"""What state diagrams in Mermaid and PlantUML have in common: states in states, arrows, and what is written on them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.interop.imports.rules import NOT_READ, TOO_DEEP
from fsmdsl.interop.imports.table import Condition, ImportFailedError, LeftOut, Row, State, Table, Unread
from fsmdsl.text.source import Span

END = "[*]"
"""The beginning and the end of a machine or a composite."""

ANY = "any state"
"""The label of the state that stands for every other one, as `fsm draw` writes it."""

ELSE = Condition("else")
"""The guard of an arrow that is followed if no other is."""

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
        if part.lower() in ("else", "otherwise"):
            yield ELSE
        elif part and part.lower() != "true":
            yield Condition(part[negated.end() :], False) if negated else Condition(part)


class Diagram:
    """The states and arrows of one diagram, as they are read line by line.

    `drawn`: `fsm draw` has written it, so that each line of a label is a row, and each text in a state an internal one.
    Others break the lines of a label where it is long, and describe states by texts.
    """

    def __init__(self, name: str, place: Span, *, drawn: bool = False) -> None:
        self.name = name
        self.place = place
        self.drawn = drawn
        self.states: dict[str, State] = {}
        self.rows: list[Row] = []
        self.scopes: list[str] = []
        self.initial: dict[str | None, str] = {}
        self.choices: set[str] = set()
        self.ends: set[str] = set()
        self.left_out: list[LeftOut] = []
        self.unread: list[Unread] = []

    @property
    def scope(self) -> str | None:
        return self.scopes[-1] if self.scopes else None

    def note(self, message: str, place: Span) -> None:
        self.left_out.append(LeftOut(message, place))

    def missed(self, message: str, place: Span) -> None:
        self.unread.append(Unread(message, place))

    # States ----------------------------------------------------------------------------------------------------------

    def state(self, name: str, place: Span, title: str | None = None, stereotype: str = "") -> None:
        """A state that is declared, or mentioned for the first time."""
        if name not in self.states:
            if len(self.states) >= MAX_STATES:
                raise ImportFailedError(TOO_DEEP.at(place, f"there are more than {MAX_STATES:,} states"))
            self.states[name] = State(name, name, self.scope, place=place)
        if title:
            self.states[name] = replace(self.states[name], label=title)
        kind = stereotype.strip("<>").lower()
        if kind == "choice":
            self.choices.add(name)
        elif kind:
            self.missed(f"what `<<{kind}>>` means: `{name}` is read as an ordinary state", place)

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
            self.missed("parallel regions of the whole machine: their states are read as those of one", place)
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
        """What is written in a state: its label or a description, or else what it does."""
        self.state(name, place)
        for one in self._labels(lines):
            if one.event is not None and one.event.lower() in ("entry", "exit", "do") and one.actions:
                self._hook(name, one)
            elif self.drawn or one.actions:
                self._add(self._row(name, None, one, place))
            else:
                self._describe(name, " ".join(x for x in lines if x))

    def _labels(self, lines: list[str]) -> Iterator[Label]:
        """What the lines of a text say: each by itself where `fsm draw` wrote them, else all together."""
        if self.drawn:
            yield from labels(lines)
        elif any(lines):
            # `reads/writes` is a description: an action has a space before its slash.
            text = " ".join(x for x in lines if x)
            one = label(text)
            action = re.search(r"(?:^|[\s\])])/", text) or re.match(r"(?:entry|exit|do)\s*/", text, re.IGNORECASE)
            yield one if action or not one.actions else replace(one, event=" ".join(text.split()), actions=())

    def _describe(self, name: str, text: str) -> None:
        s = self.states[name]
        self.states[name] = replace(s, doc=f"{s.doc} {text}".strip()) if s.label else replace(s, label=text)

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
            if self.initial.get(self.scope, target) != target:
                self.missed(f"a second beginning, `{target}`", place)
            self.initial.setdefault(self.scope, target)
            if any(lines):
                text = " ".join(x for x in lines if x)
                self.note(
                    f"`{text}` on the arrow to `{target}`, where it begins: that is not an event of an instance", place
                )
            return
        self.state(source, place)
        arrow_labels = list(self._labels(lines))
        if target == END:
            if not arrow_labels:
                self.ends.add(source)
                return
            target = f"{self.scope or 'machine'} end"
            self.state(target, place)
            self.states[target] = replace(self.states[target], title="End")
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
        composites = {s.parent for s in self.states.values()}
        self.choices -= composites
        rows = list(self._chosen([self._spoken(row) for row in self._decided()]))
        any_states = (s.name for s in self.states.values() if ANY in (s.title, s.label) and s.parent is None)
        wild = next((x for x in any_states if x not in composites), None)
        states = [s for s in self.states.values() if s.name not in self.choices and s.name != wild]
        if wild is not None:
            rows = list(self._spread(rows, wild, states))
        self._note_ends(rows)
        begun = set(self.initial.values())
        states = [replace(s, initial=s.parent is not None and s.name in begun, implied=False) for s in states]
        if not states:
            return None
        first = self._first(states)
        ordered = tuple(_ordered(states))
        return Table(self.name, first, ordered, tuple(rows), place=self.place, unread=tuple(self.unread))

    def _first(self, states: list[State]) -> str:
        """The state in which the machine begins."""
        default = next((s.name for s in states if s.parent is None), states[0].name)
        begins = self.initial.get(None)
        if begins is None:
            self.note(f"the diagram does not say where it begins: `{default}` is taken", self.place)
        elif all(s.name != begins for s in states):
            self.missed(f"a beginning that is not a state, `{begins}`: `{default}` is taken", self.place)
            begins = default
        for scope, name in self.initial.items():
            if scope is not None and name in self.choices:
                self.missed(f"a beginning of `{scope}` that is not a state, `{name}`", self.states[name].place)
        return begins or default

    def _note_ends(self, rows: list[Row]) -> None:
        """A state that may end and may also go on is not final in a spec."""
        for name in sorted(self.ends & {row.source for row in rows if row.target is not None}):
            self.note(f"`{name}` may also be the end: nothing says when", self.states[name].place)

    def _decided(self) -> Iterator[Row]:
        """The rows with choices taken out: what leads into one goes on with what leads out of it."""
        out: dict[str, list[Row]] = {x: [] for x in self.choices}
        for row in self.rows:
            if row.source in out:
                out[row.source].append(row)
        entered = {row.target for row in self.rows}
        for name in sorted(self.choices):
            if name not in entered or not out[name]:
                self.missed(
                    f"the choice `{name}`, which nothing leads {'out of' if name in entered else 'to'}",
                    self.states[name].place,
                )
        for row in self.rows:
            if row.source in self.choices:
                continue
            if row.target not in self.choices:
                yield row
                continue
            for branch in out[row.target]:
                if branch.target in self.choices or branch.after is not None:
                    kind = "another choice" if branch.after is None else "a timer"
                    self.missed(f"what leads out of the choice `{row.target}` to {kind}", branch.place)
                    continue
                actions = (*row.actions, *branch.actions)
                yield replace(
                    row, target=branch.target, conditions=(*row.conditions, *_branch(branch)), actions=actions
                )

    def _chosen(self, rows: list[Row]) -> Iterator[Row]:
        """The rows in an order that leaves a choice where a diagram does: its arrows are in no order."""
        groups: dict[tuple[str, str | None, str | None], list[tuple[int, Row]]] = {}
        for n, row in enumerate(rows):
            groups.setdefault((row.source, row.event, row.after), []).append((n, row))
        chosen: list[tuple[int, Row]] = []
        for group in groups.values():
            guarded = [x for x in group if ELSE not in x[1].conditions]
            others = [(n, _without_else(row)) for n, row in group if ELSE in row.conditions]
            end = group[-1][0]
            chosen += self._choice(guarded, end) + [(max(n, end), row) for n, row in self._choice(others, end)]
        yield from (row for _, row in sorted(chosen, key=lambda x: x[0]))

    def _choice(self, group: list[tuple[int, Row]], end: int) -> list[tuple[int, Row]]:
        """The rows of one state and trigger, each with the number of its place in the table.

        The first row that applies will be followed. So all but the last get one more condition, which stands for the
        choice, and follow without it behind the last, for the case that it does not apply.
        """
        distinct = list({row: (n, row) for n, row in reversed(group)}.values())[::-1]
        open_rows = [x for x in distinct if any(_overlap(x[1], y[1]) for y in distinct if y is not x)]
        if len(open_rows) < 2:
            return distinct
        *others, (_, last) = open_rows
        texts: dict[str, int] = {}
        choices: dict[Row, Row] = {}
        for _, row in others:
            way = "stay" if row.target is None else f"to {self.states[row.target].title}"
            texts[way] = texts.get(way, 0) + 1
            text = way if texts[way] == 1 else f"{way} {texts[way]}"
            choices[row] = replace(row, conditions=(*row.conditions, Condition(text)))
        ways = ", ".join(f"`{row.source if row.target is None else row.target}`" for _, row in open_rows)
        trigger = last.event or (f"after {last.after}" if last.after else "nothing")
        self.note(f"on `{trigger}`, `{last.source}` leads to {ways}: something outside chooses", last.place)
        again: list[Row] = []
        for _, row in others:
            if not any(set(x.conditions) <= set(row.conditions) for x in (last, *again)):
                again.append(row)
        return [(n, choices.get(row, row)) for n, row in distinct] + [(end, row) for row in again]

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


def _branch(row: Row) -> tuple[Condition, ...]:
    """The conditions of an arrow that leads out of a choice. What other arrows have as their event is one."""
    event = (row.event or "").strip("[]")
    if event.lower() in ("else", "otherwise") or (event.lower() in ("no", "") and not row.conditions):
        return (*row.conditions, ELSE)
    return (*row.conditions, Condition(event)) if event else row.conditions


def _without_else(row: Row) -> Row:
    return replace(row, conditions=tuple(c for c in row.conditions if c != ELSE))


def _overlap(one: Row, other: Row) -> bool:
    """Can both apply at once?"""
    return not any(Condition(c.text, not c.holds) in other.conditions for c in one.conditions)


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
