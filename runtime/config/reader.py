"""Reads values as what they should be, and notes all that they are not."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from math import isfinite

from runtime.config.source import Value
from runtime.errors import ConfigurationError, Problem

NOTHING = Value(None, None)


class Reader:
    """Goes on after a mistake, with what is most likely to reveal the next one."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.notes: list[Problem] = []
        """What means nothing here, and does no harm."""
        self.faulty: set[str] = set()
        """Cell types that have been reported: what follows from their mistakes is not worth another report."""

    def wrong(self, path: str, value: Value, message: str, advice: str = "") -> None:
        """Notes a mistake."""
        self.problems.append(Problem(path, value.line, message, advice))

    def finish(self) -> None:
        """Raises all mistakes, if there are any: with what means nothing, which is often their cause."""
        if self.problems:
            raise ConfigurationError([*self.problems, *self.notes])

    def table(self, value: Value, path: str, allowed: Collection[str] | None = None) -> dict[str, Value]:
        """A mapping. Where its keys are fixed, others mean nothing, as to HiveD; they are noted."""
        if value.content is None:
            return {}
        if not isinstance(value.content, dict):
            self.wrong(path, value, f"must be a mapping, not {_kind(value)}")
            return {}
        if allowed is not None:
            for key in value.content.keys() - set(allowed):
                choices = f"known here: {', '.join(sorted(allowed))}"
                hint = nearest(key, allowed) or choices
                self.notes.append(Problem(join(path, key), value.content[key].line, "is not a known key", hint))
        return value.content

    def items(self, value: Value, path: str) -> Iterator[tuple[str, Value]]:
        """The elements of a list, each with its path."""
        if value.content is None:
            return
        if not isinstance(value.content, list):
            self.wrong(path, value, f"must be a list, not {_kind(value)}")
            return
        for i, item in enumerate(value.content):
            yield f"{path}[{i}]", item

    def text(self, value: Value, path: str) -> str:
        """Any scalar, as it was written."""
        if isinstance(value.content, dict | list):
            self.wrong(path, value, f"must be a string, not {_kind(value)}")
            return ""
        return value.text if value.content is not None else ""

    def number(
        self,
        value: Value,
        path: str,
        *,
        least: int,
        most: int | None = None,
        default: int,
        truncate: bool = False,
    ) -> int:
        """A whole number in a range. `4.0` is one; with `truncate`, `4.5` counts as 4, as in HiveD, and is noted."""
        number = value.content
        if isinstance(number, float) and isfinite(number) and (truncate or number.is_integer()):
            if not number.is_integer():
                self.notes.append(Problem(path, value.line, f"is not a whole number: {number} counts as {int(number)}"))
            number = int(number)
        if number is None:
            return default
        if not isinstance(number, int) or isinstance(number, bool):
            self.wrong(path, value, f"must be a whole number, not {_kind(value)}")
            return default
        if number < least or (most is not None and number > most):
            bounds = f"at least {least}" if most is None else f"{least} to {most}"
            self.wrong(path, value, f"must be {bounds}, not {number}")
            return default
        return number

    def flag(self, value: Value, path: str, *, default: bool) -> bool:
        """True or false."""
        if value.content is None:
            return default
        if not isinstance(value.content, bool):
            self.wrong(path, value, f"must be true or false, not {_kind(value)}")
            return default
        return value.content


def join(path: str, key: str) -> str:
    """The path of an entry of a mapping."""
    return f"{path}.{key}" if path else key


def nearest(name: str, candidates: Collection[str]) -> str:
    """A hint at what may have been meant; empty where nothing is near."""
    close = get_close_matches(name, candidates, 1)
    return f"did you mean {close[0]}?" if close else ""


def _kind(value: Value) -> str:
    match value.content:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case None:
            return "nothing"
        case content:
            return repr(content)
