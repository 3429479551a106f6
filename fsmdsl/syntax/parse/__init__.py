"""Text to syntax. Reports every error of a file, and returns all that could be read.

`fsm.lark` is the grammar; `tabulate` makes a table of it, by which `automaton` reads the tokens of `tokens`. `words`
decides which words are keywords, `recovery` what to do about a mistake, `expected` what to say could stand instead.
"""

from __future__ import annotations

from fsmdsl import syntax
from fsmdsl.dataclasses import dataclass
from fsmdsl.syntax.build import build
from fsmdsl.syntax.parse.reading import read, uncollected
from fsmdsl.syntax.parse.rules import RULES
from fsmdsl.syntax.tree import Comment
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Source

__all__ = ["RULES", "Comment", "Parsed", "parse"]


@dataclass(frozen=True, slots=True)
class Parsed:
    """What could be read of a source, and what went wrong. The module is incomplete when there are errors."""

    source: Source
    module: syntax.Module
    diagnostics: tuple[Diagnostic, ...]
    comments: tuple[Comment, ...]


def parse(source: Source) -> Parsed:
    """Read a whole file. Never raises for bad text; takes time in proportion to its length."""
    with uncollected():
        reading = read(source)
        module = build(source, reading.tree, reading.tokens, reading.comments)
    return Parsed(source, module, reading.diagnostics, tuple(reading.comments))
