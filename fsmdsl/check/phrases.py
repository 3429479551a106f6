"""How findings speak of values, triggers and lists of names."""

from __future__ import annotations

from collections.abc import Iterable

from fsmdsl import model as m
from fsmdsl.check.logic import Solution


def quoted(names: Iterable[str], word: str = "and") -> str:
    """`a`, `b` and `c`; beyond six, the others are counted."""
    listed = [f"`{n}`" for n in names]
    if len(listed) > 6:
        listed = [*listed[:5], f"{len(listed) - 5} more"]
    return f" {word} ".join([", ".join(listed[:-1]), listed[-1]]) if len(listed) > 1 else "".join(listed)


def triggered(t: m.Transition) -> str:
    """`on push`, or `without an event`."""
    return f"on `{t.shown_trigger}`" if t.shown_trigger else "without an event"


def given(solution: Solution, before: str = "") -> str:
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
            return f"`wait` is {_shown(value)}"
        case _:
            return f"{term_text(term)} is {_shown(value)}"


def term_text(e: m.Expr) -> str:
    """A variable as the author wrote it."""
    match e:
        case m.Local(name=name) | m.Read(name=name, target=None):
            return f"`{name}`"
        case _:
            return f"`{e.span.quote}`"


def _shown(value: object) -> str:
    match value:
        case None:
            return "none"
        case True | False:
            return str(value).lower()
        case frozenset():
            return "{" + ", ".join(sorted(map(_shown, value))) + "}"
        case _:
            return str(value)
