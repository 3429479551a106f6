"""Code blocks of Markdown: fenced ones, and lines that are indented by four spaces outside of lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:(?<=\n\n)|(?<=:\n))((?: {4}\S[^\n]*\n| {4} +[^\n]*\n|\n(?= {4}))+)")


@dataclass(frozen=True)
class Block:
    """A block: its language, the rest of the line of the fence, its text, and where it is."""

    language: str
    words: tuple[str, ...]
    text: str
    line: int


def blocks(document: Path) -> Iterator[Block]:
    """Fenced blocks, from top to bottom."""
    text = document.read_text("utf-8")
    for found in FENCE.finditer(text):
        language, *words = found["info"].split() or [""]
        yield Block(language, tuple(words), found["text"], text.count("\n", 0, found.start()) + 1)


def indented(document: Path) -> Iterator[Block]:
    """Indented blocks. All that there are hold commands."""
    text = FENCE.sub(lambda found: "\n" * found[0].count("\n"), document.read_text("utf-8"))
    for found in INDENTED.finditer(text):
        lines = re.sub(r"^ {4}", "", found[1], flags=re.MULTILINE)
        yield Block("sh", (), lines, text.count("\n", 0, found.start()) + 1)


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block, with what it prints."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed
