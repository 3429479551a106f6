"""What all parts of the running command may ask about its call."""

from __future__ import annotations

import os
from contextvars import ContextVar

from fsmdsl.dataclasses import dataclass


@dataclass(slots=True)
class Invocation:
    """One call of `fsm`. Options that every command has set its fields."""

    begun: float | None = None
    """When the process began (`time.monotonic`), where it is there for this call alone."""
    colors: bool | None = None
    """Whether to print colors; None: where a terminal shows them."""
    follows_links: bool = False
    """Whether files outside the named folder are read through links."""
    has_left_out: bool = False
    """Whether the command leaves out files that have errors."""


_CURRENT: ContextVar[Invocation | None] = ContextVar("fsm call", default=None)


def begin(begun: float | None = None) -> None:
    """A call begins."""
    _CURRENT.set(Invocation(begun))


def invocation() -> Invocation:
    """The call; one without options outside a command."""
    return _CURRENT.get() or Invocation()


def no_colors() -> bool:
    """Does the environment ask for none?"""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
