"""What the lines of a log mean: a TOML file, as data. Names of the spec are not looked up here, see `meaning`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, cast, get_args

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.interop.logs.rules import MAPPING, LogError
from fsmdsl.text.diagnostics import Diagnostic, did_you_mean
from fsmdsl.text.source import Source, Span

Format = Literal["json", "logfmt", "text"]

DEFAULT_HIDDEN = 3
"""Default for the maximum number of steps without a line between two lines."""

DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|min|h)", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Template:
    """A text in which `{field}` stands for a field of the line. One that is nothing but a field has the field's own
    value: a number, a list, null."""

    text: str

    @property
    def parts(self) -> tuple[str, ...]:
        """Text and names of fields in turn, beginning with text."""
        return _parts(self.text)

    @property
    def is_field(self) -> bool:
        """Is it nothing but a field?"""
        parts = _parts(self.text)
        return len(parts) == 3 and parts[0] == parts[2] == ""


@cache
def _parts(text: str) -> tuple[str, ...]:
    return tuple(re.split(r"\{([^{}]*)\}", text))


@dataclass(frozen=True, slots=True)
class LineRule:
    """A `[[line]]`: which lines it is about, and what they say."""

    place: Mapping[str, Span] = field(compare=False, repr=False)
    """Of each key; of the table itself under ''."""
    when: tuple[tuple[str, tuple[object, ...]], ...]
    """Fields, each with the values that it may have."""
    of: str | None
    instance: Template | None
    event: str | None
    row: str | None
    state: str | None
    arguments: tuple[tuple[str, object], ...]
    """Parameters of the event, each with a `Template` or a value."""
    fields: tuple[tuple[str, object], ...]
    """Fields of the instance, each with a `Template` or a value."""
    ends: bool
    lost: bool


@dataclass(frozen=True, slots=True)
class LogMapping:
    """A mapping file."""

    source: Source = field(repr=False)
    place: Mapping[str, Span] = field(compare=False, repr=False)
    specs: tuple[str, ...]
    system: str | None
    format: Format
    pattern: re.Pattern[str] | None
    hidden: int
    strict: bool
    time: str | None
    window: float
    """Seconds."""
    names: tuple[tuple[str, str], ...]
    """Names of the log, each with the instance that it always stands for."""
    in_order: bool
    """A new name stands for the first instance that no name stands for, not for any."""
    lines: tuple[LineRule, ...]


def read(source: Source) -> LogMapping:
    """The mapping that a TOML text holds. Raises `LogError` with everything that is wrong with it."""
    try:
        data = tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        at = min(int(getattr(error, "pos", 0)), len(source.text))
        raise LogError([MAPPING.at(Span(source, at, at), f"the mapping is not TOML: {error}")]) from error
    except RecursionError as error:
        raise LogError([MAPPING.at(Span(source, 0, 0), "the mapping is nested too deeply")]) from error
    reader = _Reader(source)
    mapping = reader.mapping(data)
    if reader.problems:
        raise LogError(reader.problems)
    return mapping


# Keys ----------------------------------------------------------------------------------------------------------------

_TEXT = (str, "a string")
_TRUTH = (bool, "`true` or `false`")
_TABLE = (dict, "a table")
_KEYS: dict[str, tuple[type, str]] = {
    "spec": (object, "a path, or a list of paths"),
    "system": _TEXT,
    "format": _TEXT,
    "pattern": _TEXT,
    "hidden": (int, "a number from 0 on"),
    "strict": _TRUTH,
    "time": _TEXT,
    "window": _TEXT,
    "names": _TABLE,
    "in_order": _TRUTH,
    "line": (list, "a `[[line]]` table"),
}
_LINE_KEYS: dict[str, tuple[type, str]] = {
    "when": _TABLE,
    "of": _TEXT,
    "instance": _TEXT,
    "event": _TEXT,
    "row": _TEXT,
    "state": _TEXT,
    "arguments": _TABLE,
    "fields": _TABLE,
    "ends": _TRUTH,
    "lost": _TRUTH,
}
_EXAMPLES = {
    "spec": 'spec = ["gang.fsm", "node.fsm"]',
    "names": '[names]` with lines such as `"node-7" = "c0"',
    "when": 'when = { msg = "gpu granted" }',
    "instance": 'instance = "{gang}"',
    "arguments": 'arguments = { choice = "{cells}" }',
    "fields": 'fields = { priority = "{prio}" }',
}
"""For keys that are often written in another way."""
_MORE = {
    "when": '; of a log in plain text, the fields are the named groups of a `pattern`, with `format = "text"`',
    "arguments": ", where `choice` is a parameter of the event, and `cells` a key of the log",
    "fields": ", where `priority` is a field of the machine, and `prio` a key of the log",
}
_EVENTS = {
    "timeout": 'write `event = "timeout"`, and `instance` for the instance whose timer fires',
    "crash": 'write `event = "crash"`, and `instance` if a single instance crashes',
    "recover": 'write `event = "recover"`',
    "deliver": 'write `event = "deliver CHANNEL"`',
    "lose": 'write `event = "lose CHANNEL"`',
}
"""Values of `event` that are mistaken for keys."""
_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*line[ \t]*\]\]", re.MULTILINE)
_ANY_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)


class _Reader:
    """The problems found so far, and the places of keys: TOML's parser does not tell them."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.problems: list[Diagnostic] = []
        self.headers = [x.start() for x in _HEADER.finditer(source.text)]

    def mapping(self, data: dict[str, Any]) -> LogMapping:
        first = _ANY_HEADER.search(self.source.text)
        top = (0, first.start() if first else len(self.source.text))
        get = self._table(data, _KEYS, top)
        specs = get("spec", [])
        if not (isinstance(specs, str) or (isinstance(specs, list) and all(isinstance(x, str) for x in specs))):
            self._wrong(top, "spec", "`spec` must be a path, or a list of paths")
            specs = []
        names = get("names", {})
        if not all(isinstance(x, str) for x in names.values()):
            self._wrong((0, len(self.source.text)), "names", "`names` must map names of the log to names of instances")
        rules = tuple(self._rule(n, x) for n, x in enumerate(get("line", [])))
        if not rules and not self.problems:
            self._wrong(top, "", "the mapping has no `[[line]]` table: no line of a log would mean anything")
        return LogMapping(
            self.source, self._places(data, top) | self._names(names),
            (specs,) if isinstance(specs, str) else tuple(specs),
            get("system", None), *self._form(get, top), max(get("hidden", DEFAULT_HIDDEN), 0), get("strict", False),
            get("time", None), self._window(get, top), tuple((k, str(v)) for k, v in names.items()),
            get("in_order", False), rules,
        )  # fmt: skip

    def _names(self, names: Mapping[str, str]) -> dict[str, Span]:
        """The place of each name, under `names.NAME`."""
        everywhere = (0, len(self.source.text))
        start = self._place(everywhere, "names").start
        return {f"names.{x}": self._place((start, everywhere[1]), x) for x in names}

    def _form(self, get: Callable[[str, Any], Any], top: tuple[int, int]) -> tuple[Format, re.Pattern[str] | None]:
        form, pattern = get("format", "json"), get("pattern", None)
        if form not in get_args(Format):
            self._wrong(top, "format", f"`{form}` is not a format of logs; write `json`, `logfmt` or `text`")
        if (form == "text") is not (pattern is not None):
            message = '`format = "text"` needs a `pattern` with named groups, such as `(?P<gang>\\S+) (?P<what>.*)`'
            self._wrong(top, "pattern", message if pattern is None else '`pattern` needs `format = "text"`')
        try:
            return cast(Format, form), None if pattern is None else re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            self._wrong(top, "pattern", f"`pattern` is not a regular expression: {error}")
            return "text", None

    def _window(self, get: Callable[[str, Any], Any], top: tuple[int, int]) -> float:
        text = get("window", None)
        if text is None:
            return 0.0
        parts = DURATION.fullmatch(text)
        if parts is None:
            self._wrong(top, "window", f"`{text}` is not a length of time; write for example `2s` or `500ms`")
            return 0.0
        if get("time", None) is None:
            self._wrong(top, "window", "`window` needs `time`: the field that lines are sorted by")
        return float(parts[1]) * _SECONDS[parts[2]]

    # Lines

    def _rule(self, n: int, data: object) -> LineRule:
        start = self.headers[n] if n < len(self.headers) else 0
        within = (start, self.headers[n + 1] if n + 1 < len(self.headers) else len(self.source.text))
        if not isinstance(data, dict):
            self._wrong(within, "line", "`line` must be a table: write `[[line]]`")
            data = {}
        get = self._table(data, _LINE_KEYS, within)
        instance = get("instance", None)
        rule = LineRule(
            self._places(data, within),
            tuple((k, tuple(v) if isinstance(v, list) else (v,)) for k, v in get("when", {}).items()),
            get("of", None), None if instance is None else Template(instance), get("event", None), get("row", None),
            get("state", None), _values(get("arguments", {})), _values(get("fields", {})), get("ends", False),
            get("lost", False),
        )  # fmt: skip
        self._check(rule, within)
        return rule

    def _check(self, rule: LineRule, within: tuple[int, int]) -> None:
        if not (rule.event or rule.row or rule.state or rule.fields):
            message = "this `[[line]]` says nothing of the spec: give it an `event`, a `row`, a `state` or `fields`"
            self._wrong(within, "", message)
        if rule.arguments and rule.event is None:
            self._wrong(within, "arguments", "`arguments` requires an `event`")
        if rule.of is not None and rule.instance is None:
            self._wrong(within, "of", '`of` needs an `instance`: the name in the log, such as `instance = "{uid}"`')
        needs = rule.row or rule.state or rule.fields
        if needs and rule.instance is None:
            key = "row" if rule.row else "state" if rule.state else "fields"
            self._wrong(within, key, f'`{key}` needs an `instance`, such as `instance = "{{uid}}"`')

    # Tables

    def _table(
        self, data: dict[str, Any], keys: Mapping[str, tuple[type, str]], within: tuple[int, int]
    ) -> Callable[[str, Any], Any]:
        """Look-up of keys in a table whose keys and types are right; those that are not are reported."""
        for key in data.keys() - keys.keys():
            self._wrong(within, key, f"there is no key `{key}` here; {_advice(key, keys)}")
        wrong = {key for key, value in data.items() if key in keys and not _is(value, keys[key][0])}
        for key in sorted(wrong):
            self._wrong(within, key, f"`{key}` must be {keys[key][1]}", _example(key))
        return lambda key, default: data[key] if key in data and key not in wrong else default

    def _places(self, data: Mapping[str, object], within: tuple[int, int]) -> dict[str, Span]:
        return {key: self._place(within, key) for key in ("", *data)}

    def _place(self, within: tuple[int, int], key: str) -> Span:
        """The line of a key; the beginning of its table where it is not found."""
        text = self.source.text
        written = rf"""^[ \t]*(?:\[+[ \t]*)?(?:line\.)?["']?{re.escape(key)}["']?[ \t]*[=.\]]"""
        at = re.compile(written, re.MULTILINE).search(text, *within) if key else None
        start = at.start() + len(at[0]) - len(at[0].lstrip()) if at else within[0]
        return Span(self.source, start, max(text.find("\n", start), start))

    def _wrong(self, within: tuple[int, int], key: str, message: str, advice: str | None = None) -> None:
        diagnostic = MAPPING.at(self._place(within, key), message)
        self.problems.append(diagnostic if advice is None else diagnostic.help(advice))


def _advice(key: str, keys: Mapping[str, tuple[type, str]]) -> str:
    """What to write instead of a key that there is not."""
    if keys is _LINE_KEYS and key in _EVENTS:
        return _EVENTS[key]
    if keys is _LINE_KEYS and key in _KEYS:
        return "it belongs above the first `[[line]]`"
    if keys is _KEYS and key in _LINE_KEYS:
        return "it belongs below a `[[line]]`"
    return did_you_mean(key, keys) or f"there are {', '.join(f'`{x}`' for x in keys)}"


def _example(key: str) -> str | None:
    if key not in _EXAMPLES:
        return None
    return f"write for example `{_EXAMPLES[key]}`{_MORE.get(key, '')}"


def _is(value: object, kind: type) -> bool:
    return isinstance(value, kind) and (kind is not int or (not isinstance(value, bool) and cast(int, value) >= 0))


def _values(table: Mapping[str, object]) -> tuple[tuple[str, object], ...]:
    return tuple((k, Template(v) if isinstance(v, str) else v) for k, v in table.items())
