"""Canonical text: the tokens and comments of the author, laid out in one way.

There are no options. `printer` turns what was parsed into text that can be broken (`doc`), `rows` cuts declarations
into cells, `layout` aligns the cells of declarations that follow one another, as long as lines have room.
"""

from __future__ import annotations

from fsmdsl.syntax.format.layout import text
from fsmdsl.syntax.format.printer import Printer
from fsmdsl.syntax.format.rows import rows
from fsmdsl.syntax.parse import Parsed
from fsmdsl.syntax.parse.reading import read, uncollected
from fsmdsl.text.diagnostics import Severity

__all__ = ["format_source"]


def format_source(parsed: Parsed) -> str:
    """The canonical text of a file that was parsed without errors. The module that it means, and its comments, stay.

    Raises ValueError if there were errors: what is not understood cannot be laid out.
    """
    if any(d.severity is Severity.ERROR for d in parsed.diagnostics):
        raise ValueError(f"{parsed.source.name} has errors")
    with uncollected():
        reading = read(parsed.source)
        return text(rows(Printer(parsed.source, reading), reading.tree))
