"""What an author wrote, without comments and layout, and whether two texts say the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from fsmdsl import model as m
from fsmdsl.dataclasses import fields, is_dataclass
from fsmdsl.text.source import plain

_TOKEN = re.compile(r"\w+|\S")

Names = Mapping[str, str]
"""New names by old ones."""


def same(old: str, new: str, names: Names) -> bool:
    """Do two texts differ in layout alone, or in names that are new?"""
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    return len(before) == len(after) and all(a == b or names.get(a) == b for a, b in zip(before, after, strict=True))


def effects(block: Iterable[m.Effect]) -> str:
    """Effects as they stand in a block."""
    return "; ".join(plain(x.span.text) for x in block)


def guard(t: m.Transition) -> str:
    """The guard's text; empty without one."""
    return "" if t.guard is None else plain(t.guard.span.text)


def trigger(t: m.Transition) -> str:
    """`on take(by)`, `after 5min`, `on crash`; empty for an eventless transition."""
    match t.trigger:
        case m.OnEvent(event, arguments):
            return f"on {event}({', '.join(arguments)})" if arguments else f"on {event}"
        case m.OnTimer() | m.Eventless():
            return t.shown_trigger
        case m.OnOutcome() | m.OnCrash():
            return f"on {t.shown_trigger}"


def row(t: m.Transition, source: str | None = None) -> str:
    """`e4: Reserving -> Used on cancel`, as a line of the spec has it, without guard and effects."""
    label = f"{t.label}: " if t.label else ""
    arrow = "" if t.target is None else f" -> {t.target}"
    source = source or ("*" if t.wild else t.source)
    return f"{label}{source}{arrow} {trigger(t)}".rstrip()


_UNSAID = frozenset({"doc", "member_docs", "display", "amended", "amendments", "replaces"})
"""Fields of the model that change nothing about what happens."""


def essence(x: Any) -> Any:
    """What something of the model means, apart from where it stands and what is said about it: equal for what behaves
    alike."""
    if isinstance(x, tuple):
        return tuple(essence(y) for y in x)
    if is_dataclass(x):
        names = (f.name for f in fields(x) if f.compare and f.name not in _UNSAID)
        return (type(x).__name__, *(essence(getattr(x, name)) for name in names))
    return x
