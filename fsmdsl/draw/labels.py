"""What is written on an arrow, laid out in lines of a bearable length."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from fsmdsl.draw.graph import Label
from fsmdsl.draw.text import wrapped

WIDTH = 30
"""Letters in a line, unless a word is longer."""

MOST = 8
"""Lines of a guard; the whole of it is in the tooltip."""

Role = Literal["name", "trigger", "guard", "note"]


class Part(NamedTuple):
    """A piece of a line that is written in one style."""

    text: str
    role: Role


def lines(label: Label, width: int = WIDTH) -> list[list[Part]]:
    """The document's label and the trigger, then the guard, on the same line where it fits; last an overlay's note."""
    name = f"+ {label.name}".rstrip() if label.line == "amended" else label.name
    guard = f"[{label.guard}]" if label.guard else ""
    head = " ".join(filter(None, (name, label.trigger)))
    if head and guard and len(head) + len(guard) < width:
        laid = [[*_head(head, name), Part(" ", "guard"), Part(guard, "guard")]]
    else:
        laid = [*_heads(head, name, width), *([Part(line, "guard")] for line in _clauses(guard, width))]
    if label.mark is not None:
        laid.extend([Part(line, "note")] for line in wrapped(label.mark.note, width, 2))
    return laid


def _clauses(guard: str, width: int) -> list[str]:
    """Lines that end before `and`, `or` and `=>` or behind a colon, wherever such pieces are not too long themselves."""
    laid: list[str] = []
    for clause in filter(None, re.split(r" (?=(?:and|or|=>) )|(?<=:) ", guard)):
        if laid and len(laid[-1]) + len(clause) < width:
            laid[-1] += f" {clause}"
        else:
            laid.extend(wrapped(clause, width))
    return laid if len(laid) <= MOST else [*laid[: MOST - 1], f"{laid[MOST - 1][: width - 2]} …"]


def _heads(head: str, name: str, width: int) -> list[list[Part]]:
    laid = []
    for line in wrapped(head, width):
        laid.append(_head(line, name))
        name = name[len(line) :].lstrip()
    return laid


def _head(line: str, name: str) -> list[Part]:
    """As much of the line as the name takes up, and the rest."""
    n = min(len(line), len(name))
    return [Part(text, role) for text, role in ((line[:n], "name"), (line[n:], "trigger")) if text]  # type: ignore[arg-type]


def written(label: Label) -> str:
    """The whole on one line, as formats without styles have it: `e0: schedule(choice) [guard]`."""
    name = f"+ {label.name}".rstrip() if label.line == "amended" else label.name
    guard = f"[{label.guard}]" if label.guard else ""
    note = f"({label.mark.note})" if label.mark is not None and label.mark.note else ""
    rest = " ".join(filter(None, (label.trigger, guard, note)))
    colon = ":" if label.name and rest else ""
    return f"{name}{colon} {rest}".strip()
