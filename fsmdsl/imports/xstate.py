"""XState machines (version 5, and what version 4 has in common with it) as JSON: the argument of `createMachine`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from fsmdsl.imports.durations import duration
from fsmdsl.imports.rules import NOT_READ, TOO_DEEP
from fsmdsl.imports.table import Condition, Imported, ImportFailedError, LeftOut, Row, State, Table
from fsmdsl.imports.words import file_name
from fsmdsl.source import Source, Span

MOST_LEVELS = 100
MOST_STATES = 10_000

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}:]')
_UNSAID = ("invoke", "context", "data", "output", "input", "activities")


def read(source: Source) -> Imported:
    """The machine of a document. Raises `ImportFailedError` where it is not JSON, or has no states."""
    try:
        found = json.loads(source.text)
    except json.JSONDecodeError as error:
        place = Span(source, min(error.pos, len(source.text)), min(error.pos, len(source.text)))
        raise ImportFailedError(NOT_READ.at(place, f"this is not JSON: {error.msg}")) from error
    except (RecursionError, ValueError) as error:
        raise ImportFailedError(TOO_DEEP.at(Span(source, 0, 0), "this is nested too deeply to be read")) from error
    if not isinstance(found, dict) or not isinstance(found.get("states"), dict) or not found["states"]:
        problem = NOT_READ.at(Span(source, 0, 0), "there are no `states` in this document")
        raise ImportFailedError(problem.help("write the argument of `createMachine` as JSON"))
    return machine(found, source)


def machine(found: dict[str, Any], source: Source) -> Imported:
    """The machine of a config that was read."""
    reader = _Reader(source)
    root = found.get("id")
    name = root if isinstance(root, str) and root else file_name(source.name).split(".")[0]
    if isinstance(root, str):
        reader.ids[root] = ""
    parallel = found.get("type") == "parallel"
    if parallel:
        reader.add("", name, None, found)
        top: str | None = ""
    else:
        reader.extras(found, "the machine")
        top = None
    reader.children(found, "", top, 1)
    reader.without_history()
    names = {s.name for s in reader.states}
    initial = found.get("initial")
    first = "" if parallel else initial if isinstance(initial, str) and initial in names else reader.states[0].name
    rows = tuple(row for path, spec in reader.specs for row in reader.rows(path, spec))
    if not parallel:
        rows += tuple(reader.of_machine(found))
    table = Table(name, first, tuple(reader.states), rows, acts_at_start=True, place=Span(source, 0, 0))
    return Imported((table,), tuple(reader.left_out))


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.states: list[State] = []
        self.specs: list[tuple[str, dict[str, Any]]] = []
        self.ids: dict[str, str] = {}
        self.history: set[str] = set()
        self.places = dict(_places(source.text))
        self.left_out: list[LeftOut] = []

    def place(self, name: str, *more: str) -> Span:
        """Where a state is written, or what `more` names in it: `on`, `EVENT`."""
        inside = [y for x in name.split(".") if x for y in ("states", x)]
        path = (*inside, *more)
        while path and path not in self.places:
            path = path[:-1]
        at = self.places.get(path, 0)
        return Span(self.source, at, at)

    def note(self, told: str, name: str = "") -> None:
        self.left_out.append(LeftOut(told, self.place(name)))

    # States ----------------------------------------------------------------------------------------------------------

    def children(self, spec: dict[str, Any], path: str, parent: str | None, level: int) -> None:
        """The states inside of one, or of the machine."""
        if level > MOST_LEVELS or len(self.states) > MOST_STATES:
            raise ImportFailedError(TOO_DEEP.at(self.place(path), "this is nested too deeply, or has too many states"))
        inside = spec.get("states")
        if not isinstance(inside, dict):
            return
        for title, child in inside.items():
            child = child if isinstance(child, dict) else {}
            name = f"{path}.{title}" if path else title
            self.add(name, title, parent, child, initial=parent is not None and spec.get("initial") == title)
            self.children(child, name, name, level + 1)

    def add(self, name: str, title: str, parent: str | None, spec: dict[str, Any], *, initial: bool = False) -> None:
        """One state."""
        entry, exit = (tuple(self.actions(spec.get(x), name)) for x in ("entry", "exit"))
        doc = spec.get("description")
        shown = doc if isinstance(doc, str) else ""
        parallel = spec.get("type") == "parallel"
        final = spec.get("type") == "final"
        place = self.place(name)
        self.states.append(State(name, title, parent, initial, parallel, final, False, entry, exit, shown, place))
        if name:
            self.specs.append((name, spec))
            self.extras(spec, f"`{name}`", name)
        if isinstance(spec.get("id"), str):
            self.ids[spec["id"]] = name

    def extras(self, spec: dict[str, Any], of: str, name: str = "") -> None:
        """What a state has that the language has not."""
        for extra in _UNSAID:
            if spec.get(extra):
                self.note(f"`{extra}` of {of}", name)

    def without_history(self) -> None:
        """History states are entered at their composite's beginning."""
        self.history = {name for name, spec in self.specs if spec.get("type") == "history"}
        for name in sorted(self.history):
            self.note(f"the history `{name}`: what leads there enters the composite at its beginning", name)
        self.states = [s for s in self.states if s.name not in self.history]
        self.specs = [x for x in self.specs if x[0] not in self.history]

    # Rows ------------------------------------------------------------------------------------------------------------

    def of_machine(self, found: dict[str, Any]) -> Iterator[Row]:
        """The rows of the machine as a whole, which leave each of its states."""
        for row in self.rows("", found):
            for s in self.states:
                if s.parent is None and not s.final:
                    yield Row(s.name, row.target, row.event, row.conditions, row.actions, row.after, row.place)

    def rows(self, path: str, spec: dict[str, Any]) -> Iterator[Row]:
        """The rows of a state: `on`, `always`, `after`, `onDone`."""
        for event, listed in _pairs(spec.get("on")):
            plain = "any" if event in ("*", "") else event
            if plain == "any":
                self.note(f"a row of `{path}` on every event: its event is `any`", path)
            yield from (row for x in _listed(listed) for row in self.row(path, x, (path, "on", event), plain))
        for x in _listed(spec.get("always")):
            yield from self.row(path, x, (path, "always"), None)
        for delay, listed in _pairs(spec.get("after")):
            after = _milliseconds(delay)
            for x in _listed(listed):
                yield from self.row(path, x, (path, "after", delay), None if after else f"after {delay}", after)
        for x in _listed(spec.get("onDone")):
            finals = [s.name for s in self.states if s.final and s.parent == path]
            if not finals:
                self.note(f"`onDone` of `{path}`, which has no final state of its own", path)
            yield from (row for final in finals for row in self.row(final, x, (path, "onDone"), None))

    def row(
        self, path: str, found: Any, where: tuple[str, ...], event: str | None, after: str | None = None
    ) -> Iterator[Row]:
        """A row from `path`; `where` is the state that it is written in, and what names it there."""
        base = where[0]
        spec = {"target": found} if isinstance(found, str) else found if isinstance(found, dict) else {}
        wanted = spec.get("target")
        targets = [x for x in (wanted if isinstance(wanted, list) else [wanted]) if isinstance(x, str)]
        target = self.resolved(targets[0], base) if targets else None
        if len(targets) > 1:
            self.note(f"a row of `{path}` enters several states: `{targets[0]}` is taken", path)
        if targets and target is None:
            self.note(f"a row of `{path}` to `{targets[0]}`: there is no such state", path)
            return
        conditions = tuple(self.conditions(spec.get("guard", spec.get("cond")), path))
        actions = tuple(self.actions(spec.get("actions"), path))
        yield Row(path, target, event, conditions, actions, after, self.place(*where))

    def resolved(self, target: str, path: str) -> str | None:
        """A state by its `#id`, as a child of this one (`.a`), or beside it; a history is its composite."""
        known = {s.name for s in self.states} | self.history
        head, _, rest = target.removeprefix("#").partition(".")
        found: str | None
        if target.startswith("#"):
            found = self.ids.get(target[1:], self.ids.get(head))
            found = (
                None if found is None else found if target[1:] in self.ids else ".".join(filter(None, (found, rest)))
            )
        elif target.startswith("."):
            found = ".".join(filter(None, (path, target[1:])))
        else:
            found = ".".join(filter(None, (path.rpartition(".")[0], target)))
        if found in self.history:
            found = str(found).rpartition(".")[0]
        return found if found in known else None

    def conditions(self, guard: Any, path: str) -> Iterator[Condition]:
        match guard:
            case str():
                yield Condition(guard)
            case {"type": str() as kind, "params": params} if params:
                yield Condition(f"{kind} {json.dumps(params)}")
            case {"type": str() as kind}:
                yield Condition(kind)
            case None:
                return
            case _:
                self.note(f"a guard of `{path}` that is not named: `{json.dumps(guard)[:60]}`", path)
                yield Condition("guard")

    def actions(self, listed: Any, path: str) -> Iterator[str]:
        for x in _listed(listed):
            match x:
                case str():
                    yield x
                case {"type": str() as kind}:
                    yield kind
                case _:
                    self.note(f"an action of `{path}` that is not named: `{json.dumps(x)[:60]}`", path)


def _places(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Where each key of each object is written, by its path; items of lists have that of their list."""
    path: list[str] = []
    key, at = "", 0
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "{":
                path.append(key)
            case "}":
                key = path.pop() if path else ""
            case ":":
                yield (*path[1:], key), at
            case string if string.startswith('"'):
                key, at = str(json.loads(string, strict=False)), token.start()


def _listed(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [] if found is None else [found]


def _pairs(found: Any) -> list[tuple[str, Any]]:
    return list(found.items()) if isinstance(found, dict) else []


def _milliseconds(delay: str) -> str | None:
    """Milliseconds as a duration of the language; None for the name of one."""
    return duration(int(delay)) if re.fullmatch(r"[0-9]{1,12}", delay) else None
