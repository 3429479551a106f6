"""SCXML documents, as the W3C defines them: states, transitions, and the text of their conditions and actions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.parsers import expat

from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.interop.imports.durations import duration
from fsmdsl.interop.imports.name_words import file_name
from fsmdsl.interop.imports.rules import NOT_READ, TOO_DEEP
from fsmdsl.interop.imports.table import Condition, Imported, ImportFailedError, LeftOut, Row, State, Table
from fsmdsl.text.source import Source, Span

MAX_LEVELS = 100
MAX_ELEMENTS = 200_000

_STATES = ("state", "parallel", "final")


class Timer(NamedTuple):
    """An event that a state sends to itself later, and takes back when it is left."""

    send: str
    after: str | None
    """As specs write it; None where an expression says it."""
    text: str


@dataclass(slots=True)
class Element:
    """An element without the prefix of its name, and where it begins."""

    tag: str
    attributes: dict[str, str]
    place: Span
    children: list[Element] = field(default_factory=list)


def read(source: Source) -> Imported:
    """The machine of a document. Raises `ImportFailedError`: it is no SCXML, or declares a document type."""
    root = _parsed(source)
    if root.tag != "scxml":
        raise ImportFailedError(NOT_READ.at(root.place, f"the document is `{root.tag}`, not `scxml`"))
    reader = _Reader()
    reader.noted("the machine", root)
    reader.timers = _timers(root)
    reader.states_in(root, None)
    if not reader.states:
        raise ImportFailedError(NOT_READ.at(root.place, "there is no state in it"))
    name = root.attributes.get("name") or file_name(source.name).split(".")[0]
    initial = reader.first(root, reader.states[0].name)
    if initial not in reader.elements:
        raise ImportFailedError(NOT_READ.at(root.place, f"the initial state `{initial}` is not in the document"))
    table = Table(name, initial, tuple(reader.states), tuple(reader.rows()), acts_at_start=True, place=root.place)
    return Imported((table,), tuple(reader.left_out))


# XML -----------------------------------------------------------------------------------------------------------------


def _parsed(source: Source) -> Element:
    """The elements of a document. Neither a document type nor entities are taken: they could grow without limit."""
    parser = expat.ParserCreate(namespace_separator=" ")
    top = Element("", {}, Span(source, 0, 0))
    stack = [top]
    count = 0

    def here() -> Span:
        line = min(max(parser.CurrentLineNumber, 1), len(source.line_starts))
        start = source.line_starts[line - 1] + parser.CurrentColumnNumber
        return Span(source, min(start, len(source.text)), min(start, len(source.text)))

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if len(stack) > MAX_LEVELS or count > MAX_ELEMENTS:
            raise ImportFailedError(TOO_DEEP.at(here(), "this is nested too deeply, or has too many elements"))
        element = Element(tag.rpartition(" ")[2], {k.rpartition(" ")[2]: v for k, v in attributes.items()}, here())
        stack[-1].children.append(element)
        stack.append(element)

    def refuse(*_: object) -> None:
        problem = NOT_READ.at(here(), "the document declares a document type or entities, which are not read")
        raise ImportFailedError(problem.help("take the `<!DOCTYPE …>` out"))

    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda _: stack.pop()
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(source.text.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        raise ImportFailedError(NOT_READ.at(here(), f"this is not XML: {expat.errors.messages[error.code]}")) from error
    return top.children[0]


# States --------------------------------------------------------------------------------------------------------------


class _Reader:
    def __init__(self) -> None:
        self.states: list[State] = []
        self.elements: dict[str, Element] = {}
        self.left_out: list[LeftOut] = []
        self.timers: dict[str, dict[str, Timer]] = {}

    def note(self, message: str, place: Span) -> None:
        self.left_out.append(LeftOut(message, place))

    def states_in(self, outer: Element, parent: str | None) -> None:
        """The states of an element, in the order of the document, composites before their children."""
        inside = [x for x in outer.children if x.tag in _STATES]
        states = [(x.attributes.get("id") or f"{parent or 'machine'} {x.tag} {n}", x) for n, x in enumerate(inside, 1)]
        first = self.first(outer, states[0][0]) if states and parent is not None and outer.tag != "parallel" else None
        for name, x in states:
            if name in self.elements:
                raise ImportFailedError(NOT_READ.at(x.place, f"a second state is called `{name}`"))
            self.elements[name] = x
            entry, exit = (tuple(self.actions(x, tag, name)) for tag in ("onentry", "onexit"))
            state = State(name, name, parent, name == first, x.tag == "parallel", entry=entry, exit=exit, place=x.place)
            self.states.append(state)
            self.noted(name, x)
            self.states_in(x, name)

    def first(self, outer: Element, default: str) -> str:
        """What an element is entered at: its `initial`, else its first state."""
        targets = outer.attributes.get("initial", "").split()
        for child in (x for x in outer.children if x.tag == "initial"):
            targets = next(
                (x.attributes.get("target", "").split() for x in child.children if x.tag == "transition"), []
            )
        if len(targets) > 1:
            self.note(f"`{' '.join(targets)}` are entered at once: the first of them is", outer.place)
        return targets[0] if targets else default

    def noted(self, name: str, x: Element) -> None:
        """What a state has that the language has not."""
        for child in x.children:
            if child.tag in ("history", "invoke", "datamodel", "donedata"):
                detail = child.attributes.get("id") or child.attributes.get("src") or child.attributes.get("type") or ""
                self.note(f"`{child.tag}` of `{name}`{f': `{detail}`' if detail else ''}", child.place)

    # Rows ------------------------------------------------------------------------------------------------------------

    def rows(self) -> Iterator[Row]:
        """The rows of every state, in the order of the document."""
        names = {s.name for s in self.states}
        histories = {
            y.attributes.get("id", ""): name
            for name, x in self.elements.items()
            for y in x.children
            if y.tag == "history"
        }
        done = {f"done.state.{s.name}": s.name for s in self.states}
        for name, x in self.elements.items():
            for t in (y for y in x.children if y.tag == "transition"):
                targets = [histories.get(y, y) for y in t.attributes.get("target", "").split()]
                if any(y not in names for y in targets):
                    self.note(f"a row of `{name}` to `{' '.join(targets)}`: there is no such state", t.place)
                    continue
                if len(targets) > 1:
                    self.note(f"a row of `{name}` enters several states: `{targets[0]}` is taken", t.place)
                yield from self.row(name, x, t, targets[0] if targets else None, done)

    def row(self, name: str, x: Element, t: Element, target: str | None, done: dict[str, str]) -> Iterator[Row]:
        condition = " ".join(t.attributes.get("cond", "").split())
        conditions = () if condition in ("", "true") else (_condition(condition),)
        actions = tuple(self.called(t))
        events = t.attributes.get("event", "").split()
        every: list[str | None] = [*events] or [None]
        for event in every:
            plain = None if event is None else re.sub(r"\.\*?$", "", event)
            if plain in ("*", ""):
                self.note(f"a row of `{name}` on every event: its event is `any`", t.place)
                plain = "any"
            finals = self.finals(done.get(plain or ""))
            timer = self.timers.get(name, {}).get(event or "")
            if timer is not None:
                plain = None if timer.after else f"after {timer.text}"
                yield Row(name, target, plain, conditions, actions, timer.after, t.place)
            elif finals and target is not None:
                yield from (Row(y, target, None, conditions, actions, place=t.place) for y in finals)
            else:
                yield Row(name, target, plain, conditions, actions, place=t.place)

    def finals(self, composite: str | None) -> list[str]:
        """The final states directly inside of a composite: being there is its `done.state` event."""
        if composite is None:
            return []
        return [s.name for s in self.states if s.parent == composite and self.elements[s.name].tag == "final"]

    def actions(self, x: Element, tag: str, name: str) -> Iterator[str]:
        """What a state does on entry or exit, without the starting and stopping of its timers."""
        own = {timer.send for timer in self.timers.get(name, {}).values()}
        for block in (y for y in x.children if y.tag == tag):
            left = [y for y in block.children if not own & {y.attributes.get("id"), y.attributes.get("sendid")}]
            yield from self.called(replace(block, children=left))

    def called(self, block: Element) -> Iterator[str]:
        """The executable content as names of actions."""
        for x in block.children:
            a = x.attributes
            match x.tag:
                case "raise":
                    yield f"raise {a.get('event', '')}"
                case "send":
                    yield f"send {a.get('event') or a.get('eventexpr', '')}"
                case "assign":
                    yield f"set {a.get('location', '')}"
                case "log":
                    yield f"log {a.get('label', '')}".strip()
                case "cancel":
                    yield f"cancel {a.get('sendid', '')}".strip()
                case "if" | "foreach" | "script":
                    yield x.tag
                    self.note(f"what `{x.tag}` does", x.place)
                case _:
                    self.note(f"`{x.tag}`", x.place)


def _timers(root: Element) -> dict[str, dict[str, Timer]]:
    """The timers of each state by their events: sent with a delay on entry, cancelled on exit, taken by it alone."""
    states = list(_inside(root))
    takers: dict[str, set[int]] = {}
    for x in states:
        for t in (y for y in x.children if y.tag == "transition"):
            for event in t.attributes.get("event", "").split():
                takers.setdefault(event, set()).add(id(x))
    timers: dict[str, dict[str, Timer]] = {}
    for x in states:
        stopped = {y.attributes.get("sendid") for y in _content(x, "onexit") if y.tag == "cancel"}
        for y in (y for y in _content(x, "onentry") if y.tag == "send"):
            a = y.attributes
            name, event, delay = a.get("id", ""), a.get("event", ""), a.get("delay") or a.get("delayexpr") or ""
            after = _time(a.get("delay", ""))
            has_delay = after is not None or ("delay" not in a and delay)
            if (
                has_delay
                and not {"target", "targetexpr"} & a.keys()
                and name in stopped
                and takers.get(event) == {id(x)}
            ):
                timers.setdefault(x.attributes.get("id", ""), {})[event] = Timer(name, after, delay)
    return timers


def _inside(x: Element) -> Iterator[Element]:
    for y in (y for y in x.children if y.tag in _STATES):
        yield y
        yield from _inside(y)


def _content(x: Element, tag: str) -> Iterator[Element]:
    return (z for y in x.children if y.tag == tag for z in y.children)


def _time(text: str) -> str | None:
    """A length of time of CSS as specs write it."""
    match = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,6})?|\.[0-9]{1,6})(s|ms)", text.strip())
    return None if match is None else duration(round(float(match[1]) * (1000 if match[2] == "s" else 1), 6))


def _condition(text: str) -> Condition:
    negated = re.fullmatch(r"!\s*(\w+)|not\s+(\w+)", text)
    return Condition(text) if negated is None else Condition(negated[1] or negated[2], False)
