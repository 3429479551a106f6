"""Text for pictures: on one line, without what no format can hold, wrapped at words."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

MAX_WORD = 44
"""Maximum length of a word that may make a line longer than its width, in characters."""


def clean(text: str) -> str:
    """The text on one line; control characters and halves of characters become a replacement character."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", "\ufffd", " ".join(text.split()))


def wrapped(text: str, width: int, most: int = 6) -> list[str]:
    """Lines broken at words, in the middle of a word only where it is endless; cut after `most` lines. No wider than
    that number of lines needs, so that the last is not one short word."""
    longest = max((len(word) for word in clean(text).split()), default=width)
    width = max(width, min(longest, MAX_WORD))
    lines = _broken(text, width)
    if len(lines) > most:
        return [*lines[: most - 1], f"{lines[most - 1][: width - 2]} …"]
    for narrower in range(width - 1, longest - 1, -1):
        closer = _broken(text, narrower)
        if len(closer) > len(lines):
            break
        lines = closer
    return lines


def _broken(text: str, width: int) -> list[str]:
    return textwrap.wrap(clean(text), width, break_on_hyphens=False)


def safe(name: str) -> str:
    """A name that may stand in an id, a class and a bare identifier of every format; different for different names."""
    return re.sub(r"[^A-Za-z0-9_]", lambda match: f"-{ord(match[0]):x}-", name)


def identifiers(ids: Iterable[str], reserved: frozenset[str]) -> dict[str, str]:
    """A bare identifier for each id: the state's name, unless another has it or the format another use for it."""
    names: dict[str, str] = {}
    in_use = {word.casefold() for word in reserved}
    for full in ids:
        name = re.sub(r"\W", "_", full.rpartition("state-")[2], flags=re.ASCII) or "_"
        while name.casefold() in in_use:
            name += "_"
        in_use.add(name.casefold())
        names[full] = name
    return names
