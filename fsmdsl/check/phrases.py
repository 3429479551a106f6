"""How findings speak of values, triggers and lists of names."""

from __future__ import annotations

from collections.abc import Iterable

from fsmdsl import model as m
from fsmdsl.check.logic import Solution


def quoted(names: Iterable[str], word: str = "and") -> str:
    """`a`, `b` and `c`; beyond six, the others are counted."""
    quotes = [f"`{n}`" for n in names]
    if len(quotes) > 6:
        quotes = [*quotes[:5], f"{len(quotes) - 5} more"]
    return f" {word} ".join([", ".join(quotes[:-1]), quotes[-1]]) if len(quotes) > 1 else "".join(quotes)


def triggered(t: m.Transition) -> str:
    """`on push`, or `without an event`."""
    return f"on `{t.shown_trigger}`" if t.shown_trigger else "without an event"


def assignment(solution: Solution, before: str = "") -> str:
    """`n` is 3 and `how` is 4; empty where no value matters."""
    parts = [_fact(term, value) for term, value in solution.values]
    return before + " and ".join(parts) if parts else ""


def _fact(term: m.Expr, value: object) -> str:
    match term:
        case m.InState(target=m.Self()):
            return f"in `{value}`"
        case m.InState(target=target):
            return f"{term_text(target)} is in `{value}`"
        case m.Wait():
            return f"`wait` is {_value_text(value)}"
        case _:
            return f"{term_text(term)} is {_value_text(value)}"


def term_text(e: m.Expr) -> str:
    """A variable as the author wrote it."""
    match e:
        case m.Local(name=name) | m.Read(name=name, target=None):
            return f"`{name}`"
        case _:
            return f"`{e.span.quote}`"


def _value_text(value: object) -> str:
    match value:
        case None:
            return "none"
        case True | False:
            return str(value).lower()
        case frozenset():
            return "{" + ", ".join(sorted(map(_value_text, value))) + "}"
        case _:
            return str(value)
