"""Code blocks of Markdown: what they write to files, what their commands print, and whether a command printed that.

Blocks are fenced, or lines that are indented by four spaces outside of lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
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
        lines = re.sub(rf"^{found['indent']}", "", found["text"], flags=re.MULTILINE)
        yield Block(language, tuple(words), lines, text.count("\n", 0, found.start()) + 1)


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


def write(path: Path, how: tuple[str, ...], text: str, place: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    match how:
        case ():
            path.write_text(text, "utf-8")
        case ("append",):
            path.write_text(f"{path.read_text('utf-8')}\n{text}", "utf-8")
        case ("below", word):
            lines = path.read_text("utf-8").splitlines()
            (above,) = (n for n, x in enumerate(lines) if x.split()[:1] == [word])
            path.write_text("\n".join((*lines[: above + 1], *text.splitlines(), *lines[above + 1 :], "")), "utf-8")
        case ("change",):
            for line in text.splitlines():
                path.write_text(exchanged(path.read_text("utf-8"), line, place), "utf-8")
        case _:
            raise AssertionError(f"{place}: {' '.join(how)}?")


def exchanged(text: str, line: str, place: str) -> str:
    """The text with a line in the place of the one that has the most words in common with it, from the first on."""
    lines = text.splitlines()
    pairs = [zip(x.split(), line.split(), strict=False) for x in lines]
    common = [sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], x)) for x in pairs]
    most = max(common)
    assert most > 0, f"{place}: no line begins like `{line.strip()}`"
    assert common.count(most) == 1, f"{place}: {common.count(most)} lines begin like `{line.strip()}`"
    lines[common.index(most)] = line
    return "\n".join(lines) + "\n"


TIME = re.compile(r"\d+\.\d+ ?s\b")


def compare(printed: str, real: str, place: str) -> None:
    expected, found = tidy(printed), tidy(real)
    pattern = "\n".join(re.escape(x) if x.strip() != "…" else r"[^\0]*?" for x in expected)
    assert re.fullmatch(pattern, "\n".join(found)), f"{place} prints\n{real}"


def tidy(text: str) -> list[str]:
    return [TIME.sub("0.00 s", x.rstrip()) for x in text.strip("\n").splitlines()]
