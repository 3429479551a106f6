"""Text for pictures: on one line, without what no format can hold, wrapped at words."""

from __future__ import annotations

import re
import textwrap


def clean(text: str) -> str:
    """The text on one line; control characters and halves of characters become a replacement character."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", "\ufffd", " ".join(text.split()))


def wrapped(text: str, width: int, most: int = 6) -> list[str]:
    """Lines broken at words, in the middle of a word only where it is longer than a line; cut after `most` lines."""
    lines = textwrap.wrap(clean(text), width, break_on_hyphens=False)
    return lines if len(lines) <= most else [*lines[: most - 1], f"{lines[most - 1][: width - 2]} …"]


def safe(name: str) -> str:
    """A name that may stand in an id, a class and a bare identifier of every format; different for different names."""
    return re.sub(r"[^A-Za-z0-9_]", lambda found: f"-{ord(found[0]):x}-", name)
