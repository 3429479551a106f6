"""XState machines (version 5, and what version 4 has in common with it) as JSON: the argument of `createMachine`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.interop.imports.durations import duration
from fsmdsl.interop.imports.name_words import file_name
from fsmdsl.interop.imports.rules import NOT_READ, TOO_DEEP
from fsmdsl.interop.imports.script_values import SPREAD, Code, source_text
from fsmdsl.interop.imports.table import Condition, Imported, ImportFailedError, LeftOut, Row, State, Table, Unread
from fsmdsl.text.source import Source, Span

MAX_LEVELS = 100
MAX_STATES = 10_000

_ANSWERS = {"onDone": "done", "onError": "error", "onSnapshot": "snapshot"}
"""What an invoked service answers, and what such an event is called behind its name."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}:]')
_STATE_KEYS = frozenset({
    "id", "key", "type", "initial", "states", "on", "always", "after", "onDone", "invoke", "entry", "exit",
    "description", "meta", "tags", "history", "target", "version", "predictableActionArguments", "preserveActionOrder",
    "strict", "tsTypes", "schema", "types", "context", "data", "output", "input", "activities", "order", "delimiter",
})  # fmt: skip
_ROW_KEYS = frozenset({
    "target", "guard", "cond", "in", "actions", "reenter", "internal", "description", "meta", "delay", "event",
})  # fmt: skip
MAX_ROWS = 100_000

_UNSAID = ("context", "data", "output", "input", "activities")


def read(source: Source) -> Imported:
    """The machine of a document. Raises `ImportFailedError` where it is not JSON, or has no states."""
    try:
        config = json.loads(source.text)
    except json.JSONDecodeError as error:
        place = Span(source, min(error.pos, len(source.text)), min(error.pos, len(source.text)))
        raise ImportFailedError(NOT_READ.at(place, f"this is not JSON: {error.msg}")) from error
    except (RecursionError, ValueError) as error:
        raise ImportFailedError(TOO_DEEP.at(Span(source, 0, 0), "this is nested too deeply to be read")) from error
    if not isinstance(config, dict) or not isinstance(config.get("states"), dict) or not config["states"]:
        problem = NOT_READ.at(Span(source, 0, 0), "there are no `states` in this document")
        raise ImportFailedError(problem.help("write the argument of `createMachine` as JSON"))
    places = {path: Span(source, at, at) for path, at in _places(source.text)}
    return machine(config, Config(file_name(source.name).split(".")[0], Span(source, 0, 0), places, {}))


@dataclass(frozen=True, slots=True)
class Config:
    """Where a config is written. `name` is that of a machine without `id`, `delays` are milliseconds by their names."""

    name: str
    place: Span
    places: Mapping[tuple[str, ...], Span]
    """The places of keys by their paths: `states`, `a`, `on`, `GO`."""
    delays: Mapping[str, float]


def machine(node: dict[str, Any], config: Config) -> Imported:
    """The machine of a config that was read."""
    reader = _Reader(config)
    root = node.get("id")
    # `(machine)` is what XState 4 calls a machine without a name.
    name = root if isinstance(root, str) and root.strip("()") not in ("", "machine") else config.name
    if isinstance(root, str):
        reader.ids[root] = ""
    parallel = node.get("type") == "parallel"
    if parallel:
        reader.add("", name, None, node)
        top: str | None = ""
    else:
        reader.extras(node, "the machine")
        top = None
    reader.children(node, "", top, 1)
    reader.without_history()
    if not reader.states:
        raise ImportFailedError(NOT_READ.at(config.place, "this machine has no states but histories"))
    names = {s.name for s in reader.states}
    if not parallel:
        reader.specs.append(("", node))
    reader.index()
    if not parallel:
        reader.specs.pop()
    initial = _initial(node)
    if not parallel and initial is not None and initial not in names:
        reader.missed(f"an initial state that is not there: `{source_text(initial)}`")
    first = "" if parallel else initial if isinstance(initial, str) and initial in names else reader.states[0].name
    rows = tuple(row for path, spec in reader.specs for row in reader.rows(path, spec))
    if not parallel:
        rows += tuple(reader.of_machine(node))
    unread = tuple(reader.unread)
    table = Table(name, first, tuple(reader.states), rows, acts_at_start=True, place=config.place, unread=unread)
    return Imported((table,), tuple(reader.left_out))


class _Reader:
    def __init__(self, config: Config) -> None:
        self.config = config
        self.states: list[State] = []
        self.specs: list[tuple[str, dict[str, Any]]] = []
        self.ids: dict[str, str] = {}
        self.history: set[str] = set()
        self.left_out: list[LeftOut] = []
        self.unread: list[Unread] = []
        self.paths: set[str] = set()
        self.composites: set[str | None] = set()
        self.finals: dict[str | None, list[str]] = {}
        self.events: list[str] = []
        """The events that the machine names."""
        self.count = 0

    def index(self) -> None:
        """What rows ask of the states, once all of them are there."""
        self.paths = {s.name for s in self.states} | self.history
        written = (event for _, spec in self.specs for event in _keys(spec.get("on")))
        self.events = list(dict.fromkeys(x for x in written if _specific(x)[0] == 0))
        self.composites = {s.parent for s in self.states}
        for s in (s for s in self.states if s.final):
            self.finals.setdefault(s.parent, []).append(s.name)

    def place(self, name: str, *more: str) -> Span:
        """Where a state is written, or what `more` names in it: `on`, `EVENT`."""
        inside = [y for x in name.split(".") if x for y in ("states", x)]
        path = (*inside, *more)
        while path and path not in self.config.places:
            path = path[:-1]
        return self.config.places.get(path, self.config.place)

    def note(self, message: str, name: str = "") -> None:
        self.left_out.append(LeftOut(message, self.place(name)))

    def missed(self, message: str, *where: str) -> None:
        """A part that is not understood, in the state and at the keys of `where`."""
        self.unread.append(Unread(message, self.place(*where) if where else self.config.place))

    def pairs(self, spec: dict[str, Any], key: str, path: str) -> list[tuple[str, Any]]:
        """The items of an object in a state; what is not written as one is not read."""
        node = spec.get(key)
        if node is None:
            return []
        if not isinstance(node, dict):
            self.missed(f"`{key}` of {_of(path)}: `{source_text(node)}`", path, key)
            return []
        plain = {k: x for k, x in node.items() if not k.startswith(SPREAD)}
        for k in node.keys() - plain.keys():
            self.missed(f"a part of `{key}` of {_of(path)}: `{k.removeprefix(SPREAD)}`", path, key)
        return list(plain.items())

    # States ----------------------------------------------------------------------------------------------------------

    def children(self, spec: dict[str, Any], path: str, parent: str | None, level: int) -> None:
        """The states inside of one, or of the machine."""
        if level > MAX_LEVELS or len(self.states) > MAX_STATES:
            raise ImportFailedError(TOO_DEEP.at(self.place(path), "this is nested too deeply, or has too many states"))
        children = self.pairs(spec, "states", path)
        for title, child in children:
            name = f"{path}.{title}" if path else title
            if not title or name in self.paths:
                self.missed(f"a state of {_of(path)} without a name of its own: `{title}`", path, "states")
                continue
            self.paths.add(name)
            if not isinstance(child, dict):
                self.missed(f"the state `{name}`: `{source_text(child)}`", name)
                child = {}
            initial = _initial(spec)
            self.add(name, title, parent, child, initial=parent is not None and initial == title)
            self.children(child, name, name, level + 1)
        initial = _initial(spec)
        if path and initial is not None and initial not in dict(children):
            self.missed(f"the initial state of {_of(path)}: `{source_text(initial)}`", path, "initial")

    def add(self, name: str, title: str, parent: str | None, spec: dict[str, Any], *, initial: bool = False) -> None:
        """One state."""
        entry, exit = (tuple(self.actions(spec.get(x), name)) for x in ("entry", "exit"))
        doc = spec.get("description")
        description = doc if isinstance(doc, str) else ""
        parallel = spec.get("type") == "parallel"
        final = spec.get("type") == "final"
        place = self.place(name)
        self.states.append(State(name, title, parent, initial, parallel, final, False, entry, exit, description, place))
        if name:
            self.specs.append((name, spec))
            self.extras(spec, f"`{name}`", name)
        if isinstance(spec.get("id"), str):
            self.ids[spec["id"]] = name

    def extras(self, spec: dict[str, Any], of: str, name: str = "") -> None:
        """What a state has that the language has not, or that is not understood."""
        for key in spec:
            if key.startswith(SPREAD):
                self.missed(f"a part of {of}: `{key.removeprefix(SPREAD)}`", name)
            elif key not in _STATE_KEYS:
                self.missed(f"`{key}` of {of}", name)
        for extra in _UNSAID:
            if spec.get(extra):
                self.note(f"`{extra}` of {of}", name)
        for service in map(service_name, _as_list(spec.get("invoke"))):
            self.note(f"`invoke` of {of}: the environment answers for `{service}`", name)

    def without_history(self) -> None:
        """History states are entered at their composite's beginning."""
        composites = {s.parent for s in self.states}
        histories = [name for name, spec in self.specs if spec.get("type") == "history"]
        self.history = {name for name in histories if name not in composites}
        for name in sorted({*histories} - self.history):
            self.missed(f"the history `{name}`, which has states in it", name)
        for name in sorted(self.history):
            self.note(f"the history `{name}`: what leads there enters the composite at its beginning", name)
        self.states = [s for s in self.states if s.name not in self.history]
        self.specs = [x for x in self.specs if x[0] not in self.history]

    # Rows ------------------------------------------------------------------------------------------------------------

    def of_machine(self, node: dict[str, Any]) -> Iterator[Row]:
        """The rows of the machine as a whole, which leave each of its states."""
        for row in self.rows("", node):
            for s in self.states:
                if s.parent is None and not s.final:
                    yield Row(s.name, row.target, row.event, row.conditions, row.actions, row.after, row.place)

    def rows(self, path: str, spec: dict[str, Any]) -> Iterator[Row]:
        """The rows of a state: `on`, `always`, `after`, `onDone`."""
        on = self.pairs(spec, "on", path)
        taken: set[str] = set()
        # The most specific descriptor that takes an event is the only one of its state that does.
        for event, row_specs in sorted(on, key=lambda x: _specific(x[0])):
            events = [x for x in self.matching(event) if x not in taken]
            taken.update(events)
            if event in ("*", ""):
                self.note(f"a row of {_of(path)} on every event: events not in this machine become `any`", path)
            specs = _as_list(row_specs)
            yield from (row for e in events for x in specs for row in self.row(path, x, (path, "on", event), e))
        for x in _as_list(spec.get("always")):
            yield from self.row(path, x, (path, "always"), None)
        for delay, row_specs in self.pairs(spec, "after", path):
            after = _milliseconds(delay, self.config.delays)
            for x in _as_list(row_specs):
                yield from self.row(path, x, (path, "after", delay), None if after else f"after {delay}", after)
        for x in _as_list(spec.get("onDone")):
            yield from self.done(path, x)
        for service in _as_list(spec.get("invoke")):
            if isinstance(service, Code):
                self.missed(
                    f"what answers of `invoke` of {_of(path)} lead to: `{source_text(service)}`", path, "invoke"
                )
            for key in service if isinstance(service, dict) else ():
                if key.startswith(SPREAD):
                    self.missed(f"a part of `invoke` of {_of(path)}: `{key.removeprefix(SPREAD)}`", path, "invoke")
            for key, what in _ANSWERS.items():
                event = f"{service_name(service)} {what}"
                for x in _as_list(service.get(key) if isinstance(service, dict) else None):
                    yield from self.row(path, x, (path, "invoke", key), event)

    def matching(self, descriptor: str) -> list[str]:
        """The events that a descriptor takes: `mouse.*` those that begin with `mouse`, `*` all."""
        if descriptor in ("*", ""):
            return [*self.events, "any"]
        if not descriptor.endswith(".*"):
            return [descriptor]
        plain = descriptor.removesuffix(".*")
        return list(dict.fromkeys([plain, *(x for x in self.events if x.startswith(f"{plain}."))]))

    def done(self, path: str, row_spec: Any) -> Iterator[Row]:
        """What follows when the states of a composite have ended: its final states lead on by themselves."""
        finals = self.finals.get(path)
        if finals:
            yield from (row for final in finals for row in self.row(final, row_spec, (path, "onDone"), None))
            return
        self.note(
            f"`onDone` of `{path}`, which has no final state of its own: the environment sends `{path} done`", path
        )
        yield from self.row(path, row_spec, (path, "onDone"), f"{path} done")

    def row(
        self, path: str, row_spec: Any, where: tuple[str, ...], event: str | None, after: str | None = None
    ) -> Iterator[Row]:
        """A row from `path`; `where` is the state that it is written in, and what names it there."""
        base = where[0]
        spec = {"target": row_spec} if isinstance(row_spec, str) else row_spec
        if not isinstance(spec, dict):
            if row_spec is not None:
                self.missed(f"a row of {_of(path)}: `{source_text(row_spec)}`", *where)
            return
        unknown = [key.removeprefix(SPREAD) for key in spec if key not in _ROW_KEYS]
        if unknown:
            self.missed(f"a part of a row of {_of(path)}: `{', '.join(unknown)}`", *where)
        if any(key.startswith(SPREAD) for key in spec):
            return
        written_targets = [x for x in _as_list(spec.get("target")) if x is not None]
        targets = [x for x in written_targets if isinstance(x, str)]
        target = self.resolved(targets[0], base) if targets else None
        if len(targets) > 1:
            self.note(f"a row of {_of(path)} enters several states: `{targets[0]}` is taken", path)
        if len(targets) < len(written_targets) or (targets and target is None):
            missing = next((x for x in written_targets if not isinstance(x, str)), written_targets[0])
            self.missed(f"a row of {_of(path)} to `{_plain(missing)}`: there is no such state", *where)
            return
        if target == path and spec.get("reenter") is not True and path not in self.composites:
            # A state that is not left on the way to itself: its entry and exit do not run.
            target = None
        self.count += 1
        if self.count > MAX_ROWS:
            raise ImportFailedError(TOO_DEEP.at(self.place(*where), f"there are more than {MAX_ROWS:,} rows"))
        conditions = tuple(self.conditions(spec.get("guard", spec.get("cond")), path))
        if spec.get("in") is not None:
            conditions += (Condition(f"in {_plain(spec['in'])}"),)
        actions = tuple(self.actions(spec.get("actions"), path))
        yield Row(path, target, event, conditions, actions, after, self.place(*where))

    def resolved(self, target: str, path: str) -> str | None:
        """A state by its `#id`, as a child of this one (`.a`), or beside it; a history is its composite."""
        head, _, rest = target.removeprefix("#").partition(".")
        state: str | None
        if target.startswith("#"):
            state = self.ids.get(target[1:], self.ids.get(head))
            if state is not None and target[1:] not in self.ids:
                state = ".".join(filter(None, (state, rest)))
        elif target.startswith("."):
            state = ".".join(filter(None, (path, target[1:])))
        else:
            state = ".".join(filter(None, (path.rpartition(".")[0], target)))
        if state in self.history:
            state = str(state).rpartition(".")[0]
        return state if state in self.paths else None

    def conditions(self, guard: Any, path: str) -> Iterator[Condition]:
        match guard:
            case str():
                yield Condition(guard)
            case {"type": str() as kind, "params": params} if params:
                yield Condition(f"{kind} {source_text(params)}")
            case {"type": str() as kind}:
                yield Condition(kind)
            case Code(function="and", arguments=(list() as parts,)):
                for part in parts:
                    yield from self.conditions(part, path)
            case Code(function="not", arguments=(part,)):
                inner = list(self.conditions(part, path)) or [Condition(source_text(part))]
                whole = " && ".join(x.text if x.holds else f"!({x.text})" for x in inner)
                yield replace(inner[0], holds=not inner[0].holds) if len(inner) == 1 else Condition(whole, False)
            case Code(function="or", arguments=(list() as parts,)):
                yield Condition(" || ".join(self.joined(part, path) for part in parts))
            case Code():
                yield Condition(guard.text)
            case None:
                return
            case _:
                self.missed(f"a guard of {_of(path)}: `{source_text(guard)}`", path)
                yield Condition(f"guard {source_text(guard)}")

    def joined(self, guard: Any, path: str) -> str:
        """A guard as one expression."""
        return " && ".join(x.text if x.holds else f"!{x.text}" for x in self.conditions(guard, path))

    def actions(self, action_specs: Any, path: str) -> Iterator[str]:
        for x in _as_list(action_specs):
            match x:
                case str():
                    yield x
                case {"type": str() as kind}:
                    yield kind
                case Code(function="assign", arguments=(dict() as fields, *_)):
                    yield from (f"set {key}" for key in fields)
                case Code(function="raise" | "emit" | "sendTo" | "sendParent" as how, arguments=arguments) if arguments:
                    event = _event_name(arguments[-1]) or _event_name(arguments[min(1, len(arguments) - 1)])
                    yield f"{how} {event or ''}".strip()
                case Code(function="") if re.fullmatch(r"[\w$.]+", x.text):
                    yield x.text.rpartition(".")[2]
                case _:
                    self.note(f"an action of {_of(path)} that is not named: `{source_text(x)}`", path)


def service_name(service: Any) -> str:
    """What an invoked service is called: by its `id`, else its source."""
    match service:
        case {"id": str() as name} | {"src": str() as name} | {"src": {"type": str() as name}}:
            return name
        case {"src": Code() as code}:
            return code.text if re.fullmatch(r"[\w$.]+", code.text) else code.function.strip("=>") or "service"
    return "service"


def _event_name(event: Any) -> str | None:
    match event:
        case str() | {"type": str()}:
            return event if isinstance(event, str) else str(event["type"])
    return None


def _of(path: str) -> str:
    return f"`{path}`" if path else "the machine"


def _initial(spec: dict[str, Any]) -> Any:
    """The initial state: named, or as the target of a row."""
    initial = spec.get("initial")
    return initial.get("target") if isinstance(initial, dict) else initial


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


def _plain(constant: Any) -> str:
    return constant if isinstance(constant, str) else source_text(constant)


def _keys(node: Any) -> list[str]:
    return [x for x in node if not x.startswith(SPREAD)] if isinstance(node, dict) else []


def _specific(descriptor: str) -> tuple[int, int]:
    """Whole names come first, then the longest of those with a star."""
    if descriptor in ("*", ""):
        return 2, 0
    return (1, -len(descriptor)) if descriptor.endswith(".*") else (0, 0)


def _as_list(node: Any) -> list[Any]:
    return node if isinstance(node, list) else [] if node is None else [node]


def _milliseconds(delay: str, delays: Mapping[str, float]) -> str | None:
    """Milliseconds, or the name of so many, as a duration of the language; None for other names."""
    milliseconds = int(delay) if re.fullmatch(r"[0-9]{1,12}", delay) else delays.get(delay)
    return None if milliseconds is None else duration(milliseconds)
