"""Text from outside on its way to a terminal, where a line feed, an escape sequence or a direction mark in a name could
forge what is shown.

`printable` is for values: what it returns is on one line. `printable_line` is for whole lines, which may have the
colours of `fsmdsl.cli`. The allocator prints with the same functions, and its image has no other module of the toolkit
but the HTTP connections: nothing of `fsmdsl` may be imported here.
"""

from __future__ import annotations

import re

HIDDEN = (
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
"""A regular expression for what ends a line, moves the cursor, changes the direction of the text around it, or takes no
room so that it can hide a difference. Letters of every language, combining marks and emoji are shown, so joiners
(U+200C, U+200D) and variation selectors are not in it. It is compiled where it is first needed, which is rare."""

_ALLOWED = "(\t|\x1b\\[(?:[012]|3[0-7])m)"
"""What a line may have: tabs, and what begins and ends the colours of `fsmdsl.cli`. None of it hides text or moves the
cursor back."""


def printable(text: str) -> str:
    """A text on one line, with escapes as in Python (`\\n`, `\\x1b`, `\\u202e`) for all that `HIDDEN` names."""
    if text.isprintable():  # it is nearly always
        return text
    return re.sub(HIDDEN, lambda match: repr(match[0])[1:-1], text)


def has_hidden(text: str) -> bool:
    """Does a text have a character that a terminal must not get?"""
    return not text.isprintable() and re.search(HIDDEN, text) is not None


def printable_line(text: str) -> str:
    """A line as a terminal may get it: tabs and colours stay, whatever else `HIDDEN` names is an escape."""
    if text.isprintable():
        return text
    return "".join(part if n % 2 else printable(part) for n, part in enumerate(re.split(_ALLOWED, text)))


def printable_text(text: str) -> str:
    """The same for several lines. Only for a text whose line feeds are ours: values in it were made `printable`."""
    return "\n".join(map(printable_line, text.split("\n")))


def printable_json(text: str) -> str:
    """A document of JSON with escapes of JSON in its strings, which mean the same; it may be shown by a terminal."""
    return re.sub(HIDDEN, lambda match: match[0] if match[0] in "\n\t" else _json_escape(match[0]), text)


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n : n + 2].hex()}" for n in range(0, len(units), 2))
