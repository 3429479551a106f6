"""The texts that an editor has open, to the letter.

What the editor sends is read from the message itself: the protocol library splits lines as `str.splitlines` does, and
changes the positions of a message while it applies them. Here lines are the protocol's (`source.line_end`), positions
beyond a line or the text mean its end, and a range whose end comes first is the range between the two.

Wherever a text may not be the editor's any more (a change that cannot be read, a version that does not follow, a length
or a checksum that is another), it is in doubt until the editor sends all of it. Nothing is then changed in it.
"""

from __future__ import annotations

import re
from array import array
from hashlib import sha256
from typing import Any

from lsprotocol import types as t

from fsmdsl.dataclasses import dataclass
from fsmdsl.editor.lsp.positions import Encoding, Lines, path_of, units
from fsmdsl.text.files.read import UnreadableError, check_size

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
"""Two halves of one character, which came apart."""


@dataclass(frozen=True, slots=True)
class Change:
    """A new text for a range, or where `place` is none for everything; `length`: what the editor says is replaced."""

    text: str
    place: t.Range | None = None
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A text as far as the editor has told, and why it may be another by now."""

    text: str
    version: int | None
    doubt: str | None = None
    excess: UnreadableError | None = None
    """Why the text is empty here: the editor's is too large."""


class Texts:
    """By the name that the editor has for each. `encoding`: in what it counts columns."""

    def __init__(self) -> None:
        self.encoding: Encoding = t.PositionEncodingKind.Utf16
        self._open: dict[str, Text] = {}

    def __getitem__(self, uri: str) -> Text:
        """A text that is open."""
        return self._open[uri]

    def names(self, path: str) -> list[str]:
        """What a file is called that is open; more than one where the editor knows it by several names."""
        return [uri for uri in self._open if path_of(uri) == path]

    def open(self, uri: str, text: str, version: int | None) -> Text:
        """The editor opens a text, or begins with it anew."""
        self._open[uri] = _bounded(text, version)
        return self._open[uri]

    def close(self, uri: str) -> bool:
        """The editor closes a text; whether it was open."""
        return self._open.pop(uri, None) is not None

    def change(self, uri: str, version: int | None, changes: list[Change]) -> Text | None:
        """Changes of a text, one after the other; none where it is not open."""
        before = self._open.get(uri)
        if before is None:
            return None
        now, doubt = before, before.doubt
        if before.version is not None and version is not None and version <= before.version:
            doubt = f"version {version} of it came after version {before.version}"
        for change in changes:
            if change.place is None:
                now, doubt = _bounded(change.text, version), None
            elif now.excess is None:
                text, why = applied(now.text, change, self.encoding)
                now, doubt = _bounded(text, version), doubt or why
        self._open[uri] = Text(now.text, version, now.doubt or doubt, now.excess)
        return self._open[uri]

    def compare(self, uri: str, checksum: str) -> None:
        """The editor says of which text it speaks."""
        text = self._open.get(uri)
        if text is not None and text.doubt is None and checksum != checksum_of(text.text):
            self.suspect("its checksum is another", uri)

    def suspect(self, why: str, uri: str | None = None) -> None:
        """A text may differ from the editor's; without `uri`, every text may."""
        for name, text in self._open.items():
            if uri is None or name == uri:
                self._open[name] = Text(text.text, text.version, why, text.excess)


def _bounded(text: str, version: int | None) -> Text:
    """A text as it is kept: nothing of one that is too large."""
    try:
        check_size(text)
    except UnreadableError as error:
        return Text("", version, str(error), error)
    return Text(text, version)


def checksum_of(text: str) -> str:
    """SHA-256 of the UTF-16 code units of a text, low bytes first: halves of characters count as they are."""
    return sha256(text.encode("utf-16-le", "surrogatepass")).hexdigest()


def applied(text: str, change: Change, encoding: Encoding) -> tuple[str, str | None]:
    """A text with a change of a range, and why that may not be the editor's text. Takes time with the text's length."""
    assert change.place is not None
    lines = Lines(text, encoding)
    ends = (change.place.start, change.place.end)
    if not all(map(lines.between, ends)):
        if encoding != t.PositionEncodingKind.Utf16:
            return text, "a change of it began or ended inside a character"
        # The editor takes a character apart.
        halves, why = applied(apart(text), change, t.PositionEncodingKind.Utf32)
        return joined(halves), why
    start, end = sorted(map(lines.offset, ends))
    doubt = None
    if change.length is not None and change.length not in _lengths(text[start:end], encoding):
        doubt = f"a change of it replaced {change.length} characters for the editor, and {end - start} here"
    changed = text[:start] + change.text + text[end:]
    return (joined(changed) if encoding == t.PositionEncodingKind.Utf16 else changed), doubt


def _lengths(text: str, encoding: Encoding) -> set[int]:
    """The lengths that editors mean: in the protocol's units, or in their own."""
    utf16, utf8 = t.PositionEncodingKind.Utf16, t.PositionEncodingKind.Utf8
    return {units(text, encoding), units(text, utf16), units(text, utf8), len(text)}


def apart(text: str) -> str:
    """A text in which every character beyond the first 65,536 is its two halves."""
    return "".join(map(chr, array("H", text.encode("utf-16-le", "surrogatepass"))))


def joined(text: str) -> str:
    """A text in which halves that belong together are one character."""
    if text.isascii() or _PAIR.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


# Messages ------------------------------------------------------------------------------------------------------------


def read_change(params: Any) -> tuple[str, int | None, list[Change]]:
    """The parameters of `textDocument/didChange`, as JSON. Raises `ValueError` where they cannot be read."""
    uri, document = read_uri(params), params["textDocument"]
    version, changes = document.get("version"), params.get("contentChanges")
    if not isinstance(changes, list):
        raise ValueError("`contentChanges` is not a list")
    return uri, None if version is None else _number(version), [_change(x) for x in changes]


def read_open(params: Any) -> tuple[str, str, int | None]:
    """The parameters of `textDocument/didOpen`: what it is called, its text, its version. Raises `ValueError`."""
    uri, document = read_uri(params), params["textDocument"]
    version = document.get("version")
    return uri, _text(document), None if version is None else _number(version)


def read_uri(params: Any) -> str:
    """Which text is meant. Raises `ValueError` where that cannot be read."""
    document = params.get("textDocument") if isinstance(params, dict) else None
    uri = document.get("uri") if isinstance(document, dict) else None
    if not isinstance(uri, str):
        raise ValueError("`textDocument.uri` is not a string")
    return uri


def _change(x: Any) -> Change:
    if not isinstance(x, dict):
        raise ValueError("a change is not an object")
    place, length = x.get("range"), x.get("rangeLength")
    if place is None:
        return Change(_text(x))
    if not isinstance(place, dict):
        raise ValueError("a range is not an object")
    whole = t.Range(_position(place.get("start")), _position(place.get("end")))
    return Change(_text(x), whole, None if length is None else _number(length))


def _position(x: Any) -> t.Position:
    if not isinstance(x, dict):
        raise ValueError("a position is not an object")
    return t.Position(_number(x.get("line")), _number(x.get("character")))


MAX_POSITION = 2**31 - 1
"""Maximum line or column number."""


def _number(x: Any) -> int:
    """Negative ones count as 0."""
    if isinstance(x, bool) or not isinstance(x, int | float) or x != x:
        raise ValueError("a number is missing")
    within = min(max(x, 0), MAX_POSITION)
    if int(within) != within:
        raise ValueError("a number is not a whole one")
    return int(within)


def _text(x: dict[str, Any]) -> str:
    text = x.get("text")
    if not isinstance(text, str):
        raise ValueError("`text` is not a string")
    return text
