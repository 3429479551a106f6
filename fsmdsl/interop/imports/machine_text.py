"""One table as the text of a machine, before the formatter has aligned it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from fsmdsl.interop.imports.guards import Guard, GuardedRow
from fsmdsl.interop.imports.name_words import file_name
from fsmdsl.interop.imports.names import Names, event_names, state_name, term_name
from fsmdsl.interop.imports.table import Condition, Row, State, Table
from fsmdsl.model.resolve.values.calls import FUNCTIONS
from fsmdsl.syntax import words
from fsmdsl.text.source import NOWHERE, Span

WIDTH = 110
"""Maximum length of a comment, in characters; the rest is cut."""

WIDTH_BEHIND = 40
"""Maximum length of a comment after an event, in characters; a longer one is on the line above."""

AFTER_ON_OR_DO = (*words.HOOKS, *words.EVENTS, *words.of_role("effect", soft=True))
"""Words that mean something behind `on` or `do`."""

IN_CONDITIONS = (*words.VALUES, *FUNCTIONS, *words.of_role("operator", "temporal", soft=True))
"""Words that mean something in a condition."""


class MachineText:
    """Names for all that a table speaks of, and the lines that do."""

    def __init__(self, table: Table, rows: Sequence[GuardedRow], name: str) -> None:
        self.table = table
        self.rows = rows
        self.name = name
        self.states = self._state_names()
        names = Names(AFTER_ON_OR_DO)
        self.events = {x: names.give(*event_names(x)) for x in self._event_texts()}
        self.actions = {x: names.give(term_name(x), f"do_{term_name(x)}") for x in self._action_texts()}
        conditions = Names([*IN_CONDITIONS, name, *self.states.values(), *self.events.values(), *self.actions.values()])
        texts = dict.fromkeys(text for row in rows for text in row.guard.texts)
        self.conditions = {x: conditions.give(term_name(x), f"is_{term_name(x)}") for x in texts}
        self.choice = conditions.give("first_that_applies")
        """The parameter of events whose rows depend on too many conditions for a parameter each."""

        self.choices: dict[str, int] = {}
        for row in rows:
            if row.row.event is not None and row.guard.by_number:
                self.choices[row.row.event] = max(self.choices.get(row.row.event, 0), row.guard.number)
        self.parameters = self._parameters()
        self.open_states = {s.name for s in table.states if not s.final}
        self.leaving = Counter(row.row.event for row in rows if row.row.source in self.open_states)
        """How many rows leave these states, by their events."""

    def text(self) -> str:
        """The machine, from its doc comment to its closing brace."""
        lines = [
            *([f"/// {cut(self.table.doc)}"] if self.table.doc else []),
            *([f"/// {place(self.table.place)}"] if place(self.table.place) else []),
            f"machine {self.name}{self._title(self.name, self.table.name)} {{",
            *self._states(None),
            "",
            *self._declared(),
            "",
            *self._transitions(),
            "",
            *self._hooks(),
            "}",
        ]
        return "\n".join(lines)

    # Names -----------------------------------------------------------------------------------------------------------

    def _state_names(self) -> dict[str, str]:
        """The title, alone or behind those of the composites around it, where another state has the same."""
        names = Names()
        name_of: dict[str, str] = {}
        for s in self.table.states:
            titles = [self.table.state_by_name[x].title for x in self.table.around(s.name)]
            candidates = [state_name(" ".join(reversed(titles[:n]))) for n in range(1, len(titles) + 1)]
            bare = s.title[:1].isdigit() and len(candidates) > 1
            name_of[s.name] = names.give(*candidates[bare:])
        return name_of

    def _event_texts(self) -> list[str]:
        return list(dict.fromkeys(row.row.event for row in self.rows if row.row.event is not None))

    def _action_texts(self) -> list[str]:
        hooks = [x for s in self.table.states for x in (*s.entry, *s.exit)]
        return list(dict.fromkeys([*hooks, *(x for row in self.rows for x in row.row.actions)]))

    def _parameters(self) -> dict[str, tuple[str, ...]]:
        """The conditions that each event brings along."""
        texts_of: dict[str, dict[str, None]] = defaultdict(dict)
        for row in self.rows:
            if row.row.event is not None:
                texts_of[row.row.event].update(dict.fromkeys(row.guard.texts))
        return {event: tuple(texts) for event, texts in texts_of.items()}

    # Declarations ----------------------------------------------------------------------------------------------------

    def _states(self, parent: str | None) -> Iterator[str]:
        for s in self.table.children.get(parent, ()):
            initial = "initial " if (s.name == self.table.initial if parent is None else s.initial) else ""
            final = "final " if s.final else ""
            name = self.states[s.name]
            head = f"{initial}{final}state {name}{self._title(name, s.label or s.title)}"
            if s.name in self.table.children:
                yield from (f"/// {line}" for line in _doc(s))
                yield f"{head} {{"
                yield from self._states(s.name)
                yield "}"
            else:
                yield f"{head}{_behind(s)}"

    def _title(self, name: str, title: str) -> str:
        text = quoted(title)
        return "" if name == title or text == '""' else f" {text}"

    def _declared(self) -> Iterator[str]:
        for event, name in self.events.items():
            texts = self.parameters[event]
            parameters = ", ".join(f"{self.conditions[x]}: bool" for x in texts)
            if event in self.choices:
                parameters = f"{self.choice}: 0..{self.choices[event]}"
            originals = [f"`{event}`"] if name != event else []
            originals += [f"{self.conditions[x]}: {x}" for x in texts if x != self.conditions[x]]
            comment = cut("; ".join(originals))
            if len(comment) > WIDTH_BEHIND:
                yield from (f"/// {cut(x)}" for x in originals)
                comment = ""
            behind = f"    /// {comment}" if comment else ""
            yield f"event {name}{f'({parameters})' if parameters else ''} from environment{behind}"
        if self.events and self.actions:
            yield ""
        for action, name in self.actions.items():
            yield f"action {name}" + (f"    /// {cut(f'`{action}`')}" if action != name else "")

    # Transitions -----------------------------------------------------------------------------------------------------

    def _transitions(self) -> Iterator[str]:
        together: dict[tuple[object, ...], list[GuardedRow]] = defaultdict(list)
        for row in self.rows:
            r = row.row
            where = (r.place.source.name, r.place.source.position(r.place.start)[0])
            stays = r.target is None
            key = (r.event, r.after, stays, r.target, row.guard, r.actions, *where)
            together[key].append(row)
        for group in together.values():
            yield self._line([row.row for row in group], group[0].guard)

    def _line(self, rows: Sequence[Row], guard: Guard) -> str:
        first = rows[0]
        sources = "*" if self._all(rows) else ", ".join(self.states[r.source] for r in rows)
        arrow = "" if first.target is None else f" -> {self.states[first.target]}"
        trigger = ""
        if first.event is not None:
            arguments = ", ".join(self.conditions[x] for x in self.parameters[first.event])
            arguments = self.choice if guard.by_number else arguments if guard.texts else ""
            trigger = f" on {self.events[first.event]}" + (f"({arguments})" if arguments else "")
        elif first.after is not None:
            trigger = f" after {first.after}"
        condition = self._guard(guard)
        effects = self._effects(first.actions)
        where = place(first.place)
        if guard.number and first.conditions:
            where = cut(f"{where}: {condition_text(first.conditions)}")
        return (
            f"{sources}{arrow}{trigger}"
            + (f" when {condition}" if condition else "")
            + (f" do {effects}" if effects else "")
            + (f"    // {where}" if where else "")
        )

    def _all(self, rows: Sequence[Row]) -> bool:
        """Do they leave all states but the final ones of a flat machine, and nothing else does on their event?"""
        event = rows[0].event
        if len(rows) < 2 or event is None or len(self.table.children) != 1:
            return False
        return self.leaving[event] == len(rows) and {r.source for r in rows} == self.open_states

    def _guard(self, guard: Guard) -> str:
        if guard.outside is not None:
            return f"({self.choice} < {guard.outside[0]} or {self.choice} > {guard.outside[1]})"
        if guard.number:
            return f"{self.choice} == {guard.number}"
        parts = [self._condition(c) for c in guard.conditions]
        parts += [f"not ({' and '.join(self._condition(c) for c in group)})" for group in guard.excluded]
        return " and ".join(parts)

    def _condition(self, c: Condition) -> str:
        return self.conditions[c.text] if c.holds else f"not {self.conditions[c.text]}"

    def _effects(self, actions: Iterable[str]) -> str:
        names = [self.actions[x] for x in actions]
        return names[0] if len(names) == 1 else f"{{ {'; '.join(names)} }}" if names else ""

    def _hooks(self) -> Iterator[str]:
        for kind in ("entry", "exit"):
            together: dict[tuple[str, ...], list[str]] = defaultdict(list)
            for s in self.table.states:
                actions = s.entry if kind == "entry" else s.exit
                if actions:
                    together[actions].append(self.states[s.name])
            for actions, states in together.items():
                yield f"on {kind}({', '.join(states)}) do {self._effects(actions)}"


def condition_text(conditions: Iterable[Condition]) -> str:
    """Conditions as a comment has them."""
    return " and ".join(c.text if c.holds else f"not {c.text}" for c in conditions)


# Comments ------------------------------------------------------------------------------------------------------------


def place(span: Span) -> str:
    """The file, without its folders, and the line; empty where there is none."""
    if span.source is NOWHERE.source:
        return ""
    return cut(f"{file_name(span.source.name)}:{span.source.position(span.start)[0]}")


def comment(text: str) -> str:
    """A line of a comment."""
    return f"// {cut(text)}"


def cut(text: str) -> str:
    """The text on one line of a bearable length."""
    line = " ".join(text.split())
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 2]} …"


def quoted(text: str) -> str:
    """The text as a string of the language."""
    return '"' + cut(text).replace("\\", "/").replace('"', "'") + '"'


def _doc(s: State) -> list[str]:
    return [cut(s.doc)] if s.doc else []


def _behind(s: State) -> str:
    return f"    /// {cut(s.doc)}" if s.doc else ""
