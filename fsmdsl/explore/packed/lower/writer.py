"""Lines of a Python function, written one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Writer:
    """Collects lines, indents blocks, and makes names that nobody else uses."""

    def __init__(self, prefix: str = "v") -> None:
        self.lines: list[str] = []
        self.depth = 1
        self._prefix = prefix
        self._named = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """What is written inside stands indented under `head`, or `pass` if nothing is."""
        self.line(head)
        before = len(self.lines)
        self.depth += 1
        yield
        if len(self.lines) == before:
            self.line("pass")
        self.depth -= 1

    @contextmanager
    def aside(self) -> Iterator[list[str]]:
        """What is written inside goes into a list of its own, to be put where it belongs with `put`."""
        kept, self.lines = self.lines, []
        found = self.lines
        yield found
        self.lines = kept

    def put(self, lines: list[str], deeper: int = 0) -> None:
        """Lines that were written aside, so much deeper."""
        self.lines.extend("    " * deeper + line for line in lines)

    def name(self) -> str:
        """A new name."""
        self._named += 1
        return f"{self._prefix}{self._named}"

    def beside(self) -> Writer:
        """For a part of the function that becomes one of its own: a writer whose names are not those known here."""
        other = Writer(self._prefix)
        other._named = self._named
        return other

    def knows(self, name: str) -> bool:
        """Is this a name that was made here?"""
        return 0 < int(name[len(self._prefix) :]) <= self._named

    def named(self, text: str) -> str:
        """A name for a value; the value itself where it is a name or a number already."""
        if text.isidentifier() or text.lstrip("-").isdigit():
            return text
        new = self.name()
        self.line(f"{new} = {text}")
        return new
