"""JSON from outside that has one meaning: no key is there twice, numbers are whole, nesting is limited."""

from __future__ import annotations

import json
from collections.abc import Sequence
from json import JSONDecodeError, JSONDecoder
from typing import Any, NoReturn

MAX_DIGITS = 1000
"""Maximum number of digits of a number. Python's parsing time grows with their square."""

MAX_QUOTED = 60
"""Maximum length of input text quoted in a message, in characters."""


class RefusedError(Exception):
    """A certificate that does not show what it says; the message says why."""


def mismatch(part: str, expected: str, value: object) -> RefusedError:
    """What is wrong with a part of a certificate."""
    return RefusedError(f"{part}: expected {expected}, not {quoted(value)}")


def quoted(value: object) -> str:
    """A foreign value for a message: printable ASCII, and short."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}..."


def parsed(text: str) -> Any:
    """The value of a JSON text. Raises `RefusedError`."""
    try:
        return _DECODER.decode(text)
    except JSONDecodeError as error:
        raise RefusedError(f"this is not JSON: line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise RefusedError("this is nested too deeply") from None


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise RefusedError(f"a number has {len(text)} digits")
    return int(text)


def _no_number(text: str) -> NoReturn:
    raise mismatch("a number", "a whole number, written without `.`, `e` or a name", text)


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        raise RefusedError(f"duplicate key: {quoted(next(x for x in names if names.count(x) > 1))}")
    return content


_DECODER = JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_no_number, parse_constant=_no_number)
