"""Names as their words, and paths as their last part: what readers need of names."""

from __future__ import annotations

import re


def file_name(path: str) -> str:
    """The last part of a path."""
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in small letters, wherever they are parted: by capitals, by `_`, by other signs."""
    return tuple(word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name))
