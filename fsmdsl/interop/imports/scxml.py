"""SCXML documents, as the W3C defines them: states, transitions, and the text of their conditions and actions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from xml.parsers import expat

from fsmdsl.dataclasses import NamedTuple, dataclass, field, replace
from fsmdsl.interop.imports.durations import duration
from fsmdsl.interop.imports.name_words import file_name
from fsmdsl.interop.imports.rules import NOT_READ, TOO_DEEP
from fsmdsl.interop.imports.table import Condition, Imported, ImportFailedError, LeftOut, Row, State, Table, Unread
from fsmdsl.text.source import Source, Span

MAX_LEVELS = 100
MAX_ELEMENTS = 200_000
MAX_ROWS = 100_000

MAX_WORDS = 100
"""Maximum number of words in the name of an event, which dots separate."""

_STATES = ("state", "parallel", "final")
_NAMESPACE = "http://www.w3.org/2005/07/scxml"
_IN_STATES = frozenset(
    {*_STATES, "transition", "initial", "onentry", "onexit", "history", "invoke", "datamodel", "donedata", "script"}
)
_ATTRIBUTES = {
    "scxml": frozenset({"initial", "name", "version", "datamodel", "binding", "exmode"}),
    "state": frozenset({"id", "initial"}),
    "parallel": frozenset({"id"}),
    "final": frozenset({"id"}),
    "transition": frozenset({"event", "cond", "target", "type"}),
}  # fmt: skip
"""The attributes that this reader understands, of the elements that make states and rows."""


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
    foreign: bool = False
    """Does it belong to another vocabulary than SCXML, such as that of a graphical editor?"""


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
    rows = tuple(reader.rows())
    unread = tuple(reader.unread)
    table = Table(name, initial, tuple(reader.states), rows, acts_at_start=True, place=root.place, unread=unread)
    return Imported((table,), tuple(reader.left_out))


# XML -----------------------------------------------------------------------------------------------------------------


def _parsed(source: Source) -> Element:
    """The elements of a document. Neither a document type nor entities are taken: they could grow without limit."""
    # The text is decoded already: the encoding that the document declares no longer counts.
    parser = expat.ParserCreate("utf-8", " ")
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
        namespace, _, name = tag.rpartition(" ")
        own = {k: v for k, v in attributes.items() if " " not in k}
        element = Element(name, own, here(), foreign=namespace not in ("", _NAMESPACE))
        stack[-1].children.append(element)
        stack.append(element)

    def refuse(*_: object) -> None:
        problem = NOT_READ.at(here(), "the document declares a document type or entities, which are not read")
        raise ImportFailedError(problem.help("remove the `<!DOCTYPE …>`"))

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
        self.unread: list[Unread] = []
        self.timers: dict[str, dict[str, Timer]] = {}

    def note(self, message: str, place: Span) -> None:
        self.left_out.append(LeftOut(message, place))

    def missed(self, message: str, place: Span) -> None:
        self.unread.append(Unread(message, place))

    def states_in(self, outer: Element, parent: str | None) -> None:
        """The states of an element, in the order of the document, composites before their children."""
        inside = [x for x in outer.children if x.tag in _STATES]
        states = [(x.attributes.get("id") or f"{parent or 'machine'} {x.tag} {n}", x) for n, x in enumerate(inside, 1)]
        first = self.first(outer, states[0][0]) if states and parent is not None and outer.tag != "parallel" else None
        if first is not None and first not in {name for name, _ in states}:
            self.missed(f"the initial state of `{parent}`, which is not directly inside of it: `{first}`", outer.place)
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
            row = next((x for x in child.children if x.tag == "transition"), None)
            targets = [] if row is None else row.attributes.get("target", "").split()
            if row is not None and row.children:
                self.note("what the row to the initial state does", row.place)
        if len(targets) > 1:
            self.note(f"`{' '.join(targets)}` are entered together; only the first is kept", outer.place)
        return targets[0] if targets else default

    def noted(self, name: str, x: Element) -> None:
        """What a state has that the language has not, or that this reader does not know."""
        self._attributes(name, x)
        for child in x.children:
            if child.foreign:
                self.note(f"`{child.tag}` of `{name}`, which belongs to another vocabulary", child.place)
                continue
            if child.tag not in _IN_STATES:
                self.missed(f"the element `{child.tag}` of `{name}`", child.place)
            elif child.tag == "transition":
                self._attributes(name, child)
            if child.tag in ("history", "invoke", "datamodel", "donedata"):
                detail = child.attributes.get("id") or child.attributes.get("src") or child.attributes.get("type") or ""
                self.note(f"`{child.tag}` of `{name}`{f': `{detail}`' if detail else ''}", child.place)

    def _attributes(self, name: str, x: Element) -> None:
        for attribute in sorted(x.attributes.keys() - _ATTRIBUTES[x.tag]):
            self.missed(f"the attribute `{attribute}` of `{x.tag}` in `{name}`", x.place)

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
        finals: dict[str | None, list[str]] = {}
        for s in (s for s in self.states if self.elements[s.name].tag == "final"):
            finals.setdefault(s.parent, []).append(s.name)
        events = EventNames(self.elements.values())
        count = 0
        for name, x in self.elements.items():
            for t in (y for y in x.children if y.tag == "transition" and not y.foreign):
                targets = [histories.get(y, y) for y in t.attributes.get("target", "").split()]
                if any(y not in names for y in targets):
                    self.missed(f"a row of `{name}` to `{' '.join(targets)}`: there is no such state", t.place)
                    continue
                if len(targets) > 1:
                    self.note(f"a row of `{name}` enters several states: `{targets[0]}` is taken", t.place)
                if t.attributes.get("type") == "internal" and targets and t.attributes.get("event"):
                    self.note(f"`type` of a row of `{name}`: it is left and entered again", t.place)
                for row in self.row(name, t, targets[0] if targets else None, events):
                    yield from self.arrived(row, finals.get(done.get(row.event or "", ""), []))
                    count += 1
                    if count > MAX_ROWS:
                        raise ImportFailedError(TOO_DEEP.at(t.place, f"there are more than {MAX_ROWS:,} rows"))

    def arrived(self, row: Row, finals: list[str]) -> Iterator[Row]:
        """The row; one on the `done.state` event of a composite leaves its final states, by itself."""
        if finals and row.target is not None:
            yield from (replace(row, source=name, event=None) for name in finals)
        else:
            yield row

    def row(self, name: str, t: Element, target: str | None, names: EventNames) -> Iterator[Row]:
        condition = " ".join(t.attributes.get("cond", "").split())
        conditions = () if condition in ("", "true") else (_condition(condition),)
        actions = tuple(self.called(t))
        descriptors = t.attributes.get("event", "").split()
        if any(_plain(x) == "" for x in descriptors):
            self.note(f"a row of `{name}` on every event: events not in this document become `any`", t.place)
        every: list[str | None] = [*dict.fromkeys(e for x in descriptors for e in names.matching(x))] or [None]
        for event in every:
            plain = event
            timer = self.timers.get(name, {}).get(event or "")
            if timer is not None:
                plain = None if timer.after else f"after {timer.text}"
                yield Row(name, target, plain, conditions, actions, timer.after, t.place)
            else:
                yield Row(name, target, plain, conditions, actions, place=t.place)

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
            if x.foreign:
                self.note(f"what `{x.tag}` does, which belongs to another vocabulary", x.place)
                continue
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
                    self.missed(f"the element `{x.tag}`", x.place)


class EventNames:
    """The events that a document names, for descriptors that take several: `key` takes `key.minus` as well."""

    def __init__(self, elements: Iterable[Element]) -> None:
        self.names: dict[str, None] = {}
        self.longer: dict[str, list[str]] = {}
        """The names that begin with each descriptor and a dot."""
        for x in elements:
            self._add(x)

    def _add(self, x: Element) -> None:
        for y in (y for y in x.children if y.tag not in _STATES):
            descriptors = y.attributes.get("event", "").split() if y.tag in ("transition", "raise", "send") else []
            for name in (_plain(z) for z in descriptors):
                if name and name not in self.names:
                    self.names[name] = None
                    for prefix in _prefixes(name, y.place):
                        self.longer.setdefault(prefix, []).append(name)
            self._add(y)

    def matching(self, descriptor: str) -> list[str]:
        """The events that a descriptor takes; `any` stands for those that the document does not name."""
        plain = _plain(descriptor)
        return [plain, *self.longer.get(plain, ())] if plain else [*self.names, "any"]


def _plain(descriptor: str) -> str:
    """A descriptor without the dot and the star at its end, which say nothing; empty: it takes every event."""
    return "" if descriptor in ("*", ".*", ".") else re.sub(r"\.\*?$", "", descriptor)


def _prefixes(name: str, place: Span) -> Iterator[str]:
    """The descriptors that take this event beside its own name: `a` and `a.b` of `a.b.c`."""
    words = name.split(".")
    if len(words) > MAX_WORDS:
        raise ImportFailedError(TOO_DEEP.at(place, f"the name of this event has more than {MAX_WORDS} words"))
    return (".".join(words[:n]) for n in range(1, len(words)))


def _timers(root: Element) -> dict[str, dict[str, Timer]]:
    """The timers of each state by their events: sent with a delay on entry, cancelled on exit, taken by it alone."""
    states = list(_inside(root))
    takers: dict[str, set[int]] = {}
    for x in states:
        for t in (y for y in x.children if y.tag == "transition"):
            for event in t.attributes.get("event", "").split():
                takers.setdefault(_plain(event), set()).add(id(x))
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
                and set().union(*(takers.get(z, ()) for z in ("", event, *_prefixes(event, y.place)))) == {id(x)}
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
