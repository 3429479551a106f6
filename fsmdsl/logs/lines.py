"""The lines of a log: bytes to text, text to fields. One line is in memory at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from fsmdsl.logs.mapping import LogMapping

MAX_LINE = 1 << 20
"""Bytes of a line; a longer one is not read. Of a text log, `MAX_TEXT`."""

MAX_TEXT = 1 << 14
"""Bytes of a line that a pattern is tried on: a pattern can take time that grows fast with the line."""

Match = Callable[[re.Pattern[str], str], "re.Match[str] | None"]
"""How a pattern is tried on a line. Raises `TimeoutError` where that takes too long."""

Fields = Mapping[str, Any]


class UnreadableLineError(Exception):
    """A line is not of the format that the mapping names; the message says why, without the line."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a log: its number, from 1, and its text; `too_long` where its end was not read."""

    number: int
    text: str
    too_long: bool = False


def lines(file: BinaryIO, limit: int = MAX_LINE) -> Iterator[Line]:
    """The lines that are not blank. Bytes that are not UTF-8 are replaced; of a line above the limit only the beginning
    is kept, and never more is in memory."""
    number = 0
    while data := file.readline(limit + 1):
        number += 1
        too_long = len(data) > limit and not data.endswith(b"\n")
        more = data
        while too_long and more and not more.endswith(b"\n"):
            more = file.readline(limit + 1)
        text = data.decode("utf-8", "replace").rstrip("\r\n")
        if text.strip():
            yield Line(number, text, too_long)


def search(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Try a pattern on a line, however long that takes."""
    return pattern.search(text)


def fields(mapping: LogMapping, line: Line, match: Match = search) -> Fields | None:
    """The fields of a line; None where a pattern does not match, so that the line is about something else.

    Raises `UnreadableLineError`.
    """
    if line.too_long:
        raise UnreadableLineError(f"it is longer than {MAX_LINE:,} bytes")
    if mapping.format == "json":
        return _json(line.text)
    if mapping.format == "logfmt":
        return _logfmt(line.text)
    assert mapping.pattern is not None
    if len(line.text) > MAX_TEXT:
        raise UnreadableLineError(f"it is longer than {MAX_TEXT:,} characters, the most that a pattern is tried on")
    try:
        found = match(mapping.pattern, line.text)
    except TimeoutError as error:
        raise UnreadableLineError(f"the pattern takes too long on it ({error})") from error
    return None if found is None else found.groupdict()


def _json(text: str) -> Fields:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UnreadableLineError(f"it is not JSON: {reason}") from error
    if not isinstance(value, dict):
        raise UnreadableLineError("it is not a JSON object")
    return value


_PAIR = re.compile(r'([^\s="]+)(?:=("(?:[^"\\]|\\.)*"|[^\s"]*))?(?=\s|$)')


def _logfmt(text: str) -> Fields:
    """`key=value key="a value" flag`."""
    found: dict[str, object] = {}
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        pair = _PAIR.match(text, at)
        if pair is None:
            raise UnreadableLineError(f"it is not logfmt: column {at + 1} does not begin `key=value`")
        found[pair[1]] = True if pair[2] is None else _unquoted(pair[2])
        at = pair.end()
    return found


def _unquoted(text: str) -> str:
    if not text.startswith('"'):
        return text
    return re.sub(r"\\(.)", lambda x: {"n": "\n", "t": "\t"}.get(x[1], x[1]), text[1:-1])


_MISSING = object()


def field_of(line: Fields, path: str) -> Any:
    """A field by its name, or by the names on the way to it: `object.metadata.uid`. Raises KeyError."""
    value = line.get(path, _MISSING)
    if value is not _MISSING:
        return value
    value = line
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            raise KeyError(path)
        value = value[name]
    return value
