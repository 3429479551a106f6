"""What is written on an arrow, laid out in lines of a bearable length."""

from __future__ import annotations

import re
from typing import Literal

from fsmdsl.dataclasses import NamedTuple
from fsmdsl.draw.graph import Label, Node
from fsmdsl.draw.text import wrapped

WIDTH = 30
"""Maximum length of a line in characters, unless a word is longer."""

NAME_WIDTH = 36
"""Maximum length of a line of a state name, in characters. Larger than `WIDTH`: boxes grow wide rather than high."""

MAX_LINES = 8
"""Maximum number of lines of a guard; the tooltip has the whole guard."""

Role = Literal["name", "trigger", "guard", "note"]


class Part(NamedTuple):
    """A piece of a line that is written in one style."""

    text: str
    role: Role


def lines(label: Label, width: int = WIDTH, *, repeats: bool = False) -> list[list[Part]]:
    """The document's label and the trigger, then the guard, on the same line where it fits; last an overlay's note.

    Name and trigger are left out where the label `repeats` those of the label before.
    """
    name, head, guard = ("", "", f"[{label.guard}]") if repeats else _label_parts(label)
    if head and guard and len(head) + len(guard) < width:
        rows = [[*_head(head, name), Part(f" {guard}", "guard")]]
    else:
        rows = [*_heads(head, name, width), *([Part(line, "guard")] for line in _clauses(guard, width))]
    if label.mark is not None:
        rows.extend([Part(line, "note")] for line in wrapped(label.mark.note, width, 2))
    return rows


def plain(label: Label, width: int = WIDTH) -> list[str]:
    """The same lines for formats without styles."""
    return ["".join(part.text for part in line) for line in lines(label, width)]


def written(label: Label) -> str:
    """The whole on one line: `e0 schedule(choice) [guard]`, with a `+` before it when amended."""
    _, head, guard = _label_parts(label)
    note = f"({label.mark.note})" if label.mark is not None and label.mark.note else ""
    return " ".join(filter(None, (head, guard, note)))


def titled(node: Node) -> str:
    """A state's name on one line, with a `+` when amended and an overlay's note; never empty."""
    note = f" ({node.mark.note})" if node.mark is not None and node.mark.note else ""
    return ("+" if "amended" in node.flags else "") + (node.name or "?") + note


def _label_parts(label: Label) -> tuple[str, str, str]:
    """The name, with a `+` when amended; the name and the trigger; the guard."""
    plus = "+" if label.line == "amended" else ""
    head = plus + " ".join(filter(None, (label.name, label.trigger)))
    return plus + label.name if label.name else "", head, f"[{label.guard}]" if label.guard else ""


def _clauses(guard: str, width: int) -> list[str]:
    """Lines that end before `and`, `or` and `=>` or behind a colon, where such pieces are not too long themselves."""
    rows: list[str] = []
    for clause in filter(None, re.split(r" (?=(?:and|or|=>) )|(?<=:) ", guard)):
        if rows and len(rows[-1]) + len(clause) < width:
            rows[-1] += f" {clause}"
        else:
            rows.extend(wrapped(clause, width))
    return rows if len(rows) <= MAX_LINES else [*rows[: MAX_LINES - 1], f"{rows[MAX_LINES - 1][: width - 2]} …"]


def _heads(head: str, name: str, width: int) -> list[list[Part]]:
    rows = []
    for line in wrapped(head, width):
        rows.append(_head(line, name))
        name = name[len(line) :].lstrip()
    return rows


def _head(line: str, name: str) -> list[Part]:
    """As much of the line as the name takes up, and the rest."""
    parts = Part(line[: len(name)], "name"), Part(line[len(name) :], "trigger")
    return [part for part in parts if part.text]
