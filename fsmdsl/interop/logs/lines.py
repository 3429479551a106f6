"""The lines of a log: bytes to text, text to fields. One block of lines is in memory at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from itertools import count, repeat
from json.scanner import make_scanner
from typing import Any, Protocol, TypeAlias, cast

from fsmdsl.interop.logs.mapping import LogMapping

MAX_LINE = 1 << 20
"""Maximum length of a line in bytes; a longer one is not read. For a text log it is `MAX_TEXT`."""

BLOCK = 1 << 16
"""Maximum number of bytes per read."""

MAX_TEXT = 1 << 14
"""Maximum length of a line that a pattern is tried on, in characters: matching time can grow fast with the length."""

Match = Callable[[re.Pattern[str], str], "re.Match[str] | None"]
"""How a pattern is tried on a line. Raises `TimeoutError` where that takes too long."""

Fields = Mapping[str, Any]


class UnreadableLineError(Exception):
    """A line is not of the format that the mapping names; the message says why, without the line."""


Line: TypeAlias = tuple[int, str, bool]
"""A line of a log: its number, from 1, its text, and whether it is too long: its end was not read then."""


class Readable(Protocol):
    """What bytes are read from: a file, or one that grows."""

    def read1(self, size: int, /) -> bytes:
        """Some bytes, at most so many; none: there are no more."""
        ...


def lines(file: Readable, *, growing: bool = False) -> Iterator[Line]:
    """The lines that are not blank, as soon as they are there. Bytes that are not UTF-8 are replaced; of a line above
    the limit only the beginning is kept. About one line and one block are in memory. Of a file that is `growing`, a
    last line without an end is not there yet."""
    number, rest = 1, b""
    while block := file.read1(BLOCK):
        whole, newline, tail = block.rpartition(b"\n")
        if not newline:
            rest = (rest + block)[: MAX_LINE + 1]
            continue
        data, rest = rest + whole, tail
        number = yield from _split(data, number)
    if rest and not growing:
        yield from _split(rest, number)


def _split(data: bytes, number: int) -> Generator[Line, None, int]:
    """The lines of a block, from a number on. Only the first can be too long: it alone was put together. Returns the
    number of the next line."""
    if len(data) > MAX_LINE and data.find(b"\n", 0, MAX_LINE + 1) < 0:
        yield number, data[:MAX_LINE].decode("utf-8", "replace"), True
        _, newline, data = data.partition(b"\n")
        number += 1
        if not newline:
            return number
    text = data.decode("utf-8", "replace")
    texts = text.split("\n")
    if "\r" in text:
        texts = [x.rstrip("\r") for x in texts]
    lines = zip(count(number), texts, repeat(False))
    yield from lines if all(map(str.strip, texts)) else (x for x in lines if x[1].strip())
    return number + len(texts)


def search(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Try a pattern on a line, however long that takes."""
    return pattern.search(text)


def parser(mapping: LogMapping, match: Match = search) -> Callable[[str], Fields | None]:
    """What turns the text of a line into its fields; None where a pattern does not match, so that the line is about
    something else. It raises `UnreadableLineError`."""
    if mapping.pattern is not None:
        return partial(_matched, mapping.pattern, match)
    return _json if mapping.format == "json" else _logfmt


def _matched(pattern: re.Pattern[str], match: Match, text: str) -> Fields | None:
    if len(text) > MAX_TEXT:
        raise UnreadableLineError(f"it is longer than {MAX_TEXT:,} characters, the limit for matching a pattern")
    try:
        groups = match(pattern, text)
    except TimeoutError as error:
        raise UnreadableLineError(f"the pattern takes too long on it ({error})") from error
    return None if groups is None else groups.groupdict()


_scan = make_scanner(cast(Any, json.JSONDecoder()))
"""What `json.loads` calls: without its checks of types and blanks, a short line takes half of the time."""


def _json(text: str) -> Fields:
    try:
        value, end = _scan(text, 0)
    except (ValueError, RecursionError, StopIteration):
        value, end = _loaded(text), len(text)
    if end != len(text):
        value = _loaded(text)
    if not isinstance(value, dict):
        raise UnreadableLineError("it is not a JSON object")
    return value


def _loaded(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UnreadableLineError(f"it is not JSON: {reason}") from error


_PAIR = re.compile(r'([^\s="]+)(?:=("(?:[^"\\]|\\.)*"|[^\s"]*))?(?=\s|$)')


def _logfmt(text: str) -> Fields:
    """`key=value key="a value" flag`."""
    fields: dict[str, object] = {}
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        pair = _PAIR.match(text, at)
        if pair is None:
            raise UnreadableLineError(f"it is not logfmt: column {at + 1} does not begin `key=value`")
        fields[pair[1]] = True if pair[2] is None else _unquoted(pair[2])
        at = pair.end()
    return fields


def _unquoted(text: str) -> str:
    if not text.startswith('"'):
        return text
    return re.sub(r"\\(.)", lambda x: {"n": "\n", "t": "\t"}.get(x[1], x[1]), text[1:-1])


MISSING = object()
"""The value of a field that a line does not have."""


def value_at(line: Fields, path: str) -> Any:
    """A field by its name, or by the names on the way to it: `object.metadata.uid`; `MISSING` where there is none."""
    value = line.get(path, MISSING)
    if value is not MISSING or "." not in path:
        return value
    value = line
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return MISSING
        value = value[name]
    return value


def field_of(line: Fields, path: str) -> Any:
    """A field that a line must have. Raises KeyError."""
    value = value_at(line, path)
    if value is MISSING:
        raise KeyError(path)
    return value
