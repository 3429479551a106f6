"""How much of one kind a spec may have: far more than any system that can be explored, and little enough to be read,
checked and begun in seconds. The table in `docs/language.md` tells the same."""

from __future__ import annotations

from fsmdsl.model import RangeType
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.scope import Program
from fsmdsl.syntax.operators import LARGEST
from fsmdsl.text.source import Span

MESSAGES = 10_000
"""Maximum number of messages in a channel."""

ITEMS = 10_000
"""Maximum number of items of a list."""

KEYS = 10_000
"""Maximum number of keys of a map."""

INSTANCES = 10_000
"""Maximum number of instances in one group of a system."""

MEMBERS = 10_000
"""Maximum number of members of an enum."""

PARTS = 32
"""Maximum number of parts of a module name. Each part becomes a folder."""


def too_many_digits(t: RangeType) -> str:
    """What is wrong with a number of this range."""
    return f"this may have {len(str(max(-t.low, t.high)))} digits; the maximum is {len(str(LARGEST))}"


def within(program: Program, span: Span, what: str, count: int, most: int, kind: str) -> int:
    """The count, or 1 where it is more than the most: that is reported, and what follows need not carry it."""
    if count <= most:
        return count
    program.diagnostics.append(rules.TOO_LARGE.at(span, f"{what} {count:,} {kind}; the maximum is {most:,}"))
    return 1
