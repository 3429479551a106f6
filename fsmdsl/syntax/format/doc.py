"""Text with places where it may be broken, and the lines that come of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from fsmdsl.dataclasses import dataclass

WIDTH = 120
"""Maximum length of a line, in characters."""


@dataclass(frozen=True, slots=True)
class Line:
    """A place for a line break; `flat` stands there if the group around it is on one line."""

    flat: str = " "


@dataclass(frozen=True, slots=True)
class Hard:
    """A line break; with `blank`, an empty line after it. A second one in the same place adds nothing."""

    blank: bool = False


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment behind the text before it. It may be as long as it likes."""

    text: str


@dataclass(frozen=True, slots=True)
class Either:
    """One thing on one line, another if the group around it is broken."""

    flat: Doc
    broken: Doc


@dataclass(frozen=True, slots=True)
class Group:
    """What stands on one line if it fits there, and otherwise is broken at all of its own places."""

    inside: Doc


@dataclass(frozen=True, slots=True)
class Nest:
    """What is indented by so much more where it is broken; `None`: to where it begins."""

    inside: Doc
    by: int | None = 4


Doc: TypeAlias = "str | Line | Hard | Remark | Either | Group | Nest | Sequence[Doc]"


def flat(doc: Doc) -> str | None:
    """The text on one line; None if it has a hard break."""
    match doc:
        case str():
            return doc
        case Line(text):
            return text
        case Hard() | Remark():
            return None
        case Either(inside, _) | Group(inside) | Nest(inside, _):
            return flat(inside)
        case _:
            parts = [flat(d) for d in doc]
            return None if None in parts else "".join(p for p in parts if p is not None)


def joined(docs: Iterable[Doc], between: Doc) -> list[Doc]:
    """Docs with something between any two."""
    parts: list[Doc] = []
    for doc in docs:
        parts.extend([between, doc] if parts else [doc])
    return parts


def lines(doc: Doc, indent: int) -> list[str]:
    """The lines of a doc whose first begins at an indentation, which is part of them."""
    writer = _Writer(indent)
    stack: list[tuple[int, bool, Doc]] = [(indent, False, doc)]
    while stack:
        nest, one_line, doc = stack.pop()
        match doc:
            case str():
                writer.text(doc)
            case Line(text):
                writer.text(text) if one_line else writer.break_line(nest)
            case Hard(blank):
                writer.break_line(nest, blank)
            case Remark(text):
                writer.text(f"  {text}")
            case Either(inside, broken):
                stack.append((nest, one_line, inside if one_line else broken))
            case Group(inside):
                stack.append((nest, one_line or _fits(inside, stack, WIDTH - writer.column()), inside))
            case Nest(inside, by):
                stack.append((writer.column() if by is None else nest + by, one_line, inside))
            case _:
                stack.extend((nest, one_line, d) for d in reversed(doc))
    return writer.finished()


def _fits(doc: Doc, behind: list[tuple[int, bool, Doc]], room: int) -> bool:
    """Whether a group fits on the line, with what follows it up to the next place for a break."""
    text = flat(doc)
    if text is None or len(text) > room:
        return False
    room -= len(text)
    stack = behind[:]
    while stack and room >= 0:
        nest, one_line, doc = stack.pop()
        match doc:
            case str():
                room -= len(doc)
            case Line(between):
                if not one_line:
                    return True
                room -= len(between)
            case Hard() | Remark():
                return True
            case Either(inside, broken):
                stack.append((nest, one_line, inside if one_line else broken))
            case Group(inside) | Nest(inside, _):
                stack.append((nest, one_line, inside))
            case _:
                stack.extend((nest, one_line, d) for d in reversed(doc))
    return room >= 0


class _Writer:
    """Lines as they are written. A line that has nothing on it yet is not broken again."""

    def __init__(self, indent: int) -> None:
        self._done: list[str] = []
        self._line = ""
        self._indent = indent

    def column(self) -> int:
        return len(self._line) or self._indent

    def text(self, text: str) -> None:
        if not self._line:
            text = text.lstrip(" ")
            self._line = " " * self._indent if text else ""
        self._line += text

    def break_line(self, indent: int, blank: bool = False) -> None:
        if self._line:
            self._done.append(self._line.rstrip())
            self._line = ""
        if blank and self._done and self._done[-1]:
            self._done.append("")
        self._indent = indent

    def finished(self) -> list[str]:
        self.break_line(0)
        return self._done
