"""Names that a spec can hold, for what a source calls its states, events, conditions and actions."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fsmdsl.interop.imports.name_words import file_name
from fsmdsl.syntax.words import RESERVED

MAX_NAME = 40
"""Maximum length of a name made from an expression, in characters; the comment beside it has the whole expression."""

_CALL = re.compile(r"(?:\w+\.)*(\w+)\s*(?:\(\s*\))?", re.ASCII)
_SIGNS = {
    "==": " is ", "!=": " is not ", "===": " is ", "!==": " is not ", "<=": " at most ", ">=": " at least ",
    "<": " below ", ">": " above ", "&&": " and ", "||": " or ", "!": " not ", "+": " plus ", "*": " times ",
}  # fmt: skip


class Names:
    """Gives each name once. `taken` are those that cannot be given."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*RESERVED, *taken}
        self._last: dict[str, int] = {}

    def give(self, *candidates: str) -> str:
        """The first of the names that is free, else the last with a number."""
        free = next((name for name in candidates if name not in self._taken), None)
        n = self._last.get(candidates[-1], 2)
        while free is None:
            numbered = f"{candidates[-1]}_{n}"
            free = numbered if numbered not in self._taken else None
            n += 1
            self._last[candidates[-1]] = n
        self._taken.add(free)
        return free


def state_name(title: str) -> str:
    """`BeingPreempted` for `being preempted`; capital letters inside of words stay."""
    words = re.findall(r"[A-Za-z0-9]+", title)
    joined = "".join(word[0].upper() + word[1:] for word in words)
    return _begun(joined, "State")


def event_name(text: str) -> str:
    """The text where it is a name, else its words with `_` between them; of a condition, those that say it."""
    if re.search(r"[<>=!&|]", text):
        return term_name(text)
    return _begun("_".join(re.findall(r"[A-Za-z0-9_]+", text)), "event")


def event_names(text: str) -> tuple[str, str]:
    """What an event may be called in a spec: the first name where it is free, else the second."""
    return event_name(text), f"{event_name(text)}_event"


def term_name(text: str) -> str:
    """A name for a condition or an action: of a call its function, of an expression its words."""
    call = _CALL.fullmatch(text.strip())
    if call is not None:
        return _begun(call[1], "condition")
    spelled = re.sub(r"[=!]==?|[<>]=?|&&|\|\||[!+*]", lambda sign: _SIGNS.get(sign[0], " "), text)
    words = re.findall(r"[A-Za-z0-9_]+", spelled)
    name = ""
    for word in words:
        if name and len(name) + len(word) >= MAX_NAME:
            break
        name = f"{name}_{word}" if name else word
    return _begun(name[:MAX_NAME], "condition")


def module_name(file: str) -> str:
    """The name of a module for a file: its own name in small letters, without its ending."""
    stem = file_name(file).split(".")[0]
    return _module("_".join(re.findall(r"[A-Za-z0-9]+", stem)).lower())


def _module(name: str) -> str:
    name = _begun(name, "imported")
    return f"{name}_spec" if name in RESERVED else name


def _begun(name: str, otherwise: str) -> str:
    """A name that does not begin with a digit, and is not empty."""
    name = name or otherwise
    return f"{otherwise[0]}{name}" if name[0].isdigit() else name
