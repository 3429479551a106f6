"""The formats that are read, and how to tell which one a file is of."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module

from fsmdsl.interop.imports.name_words import file_name
from fsmdsl.interop.imports.rules import NOT_READ, TOO_DEEP
from fsmdsl.interop.imports.table import Imported, ImportFailedError
from fsmdsl.text.source import Source, Span

Reader = Callable[[Source], Imported]

READERS = {
    "transitions": "fsmdsl.interop.imports.python_transitions",
    "python-statemachine": "fsmdsl.interop.imports.python_statemachine",
    "mermaid": "fsmdsl.interop.imports.mermaid",
    "plantuml": "fsmdsl.interop.imports.plantuml",
    "scxml": "fsmdsl.interop.imports.scxml",
    "xstate": "fsmdsl.interop.imports.xstate",
    "xstate-source": "fsmdsl.interop.imports.xstate_source",
}
"""The formats of one file, and the modules that read them."""

LOOPLAB = "looplab"
"""The format of a folder of Go sources."""

FORMATS = (*READERS, LOOPLAB)

ENDINGS = {
    ".py": "transitions",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
    ".md": "mermaid",
    ".puml": "plantuml",
    ".plantuml": "plantuml",
    ".pu": "plantuml",
    ".scxml": "scxml",
    ".xml": "scxml",
    ".json": "xstate",
    **dict.fromkeys((".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"), "xstate-source"),
    ".go": LOOPLAB,
}
"""The format of a file by the end of its name."""


_STATEMACHINE = re.compile(r"^\s*(?:from|import)\s+statemachine\b", re.MULTILINE)


def format_of(name: str, text: str = "") -> str | None:
    """The format of a file by its name, and of Python by the library that it imports; None where neither tells."""
    ending = re.search(r"\.\w+$", file_name(name))
    form = None if ending is None else ENDINGS.get(ending[0].lower())
    return "python-statemachine" if form == "transitions" and _STATEMACHINE.search(text) else form


def read(source: Source, form: str | None = None) -> Imported:
    """Read a file in one of `READERS`' formats: this one, or that of the file. Raises `ImportFailedError`."""
    form = form or format_of(source.name, source.text)
    if form not in READERS:
        raise unknown(source.name)
    try:
        reader: Reader = import_module(READERS[form]).read
        return reader(source)
    except RecursionError as error:
        raise ImportFailedError(TOO_DEEP.at(Span(source, 0, 0), "this is nested too deeply to be read")) from error


def unknown(name: str) -> ImportFailedError:
    """A file whose format is not known."""
    problem = NOT_READ.at(Span(Source(name, ""), 0, 0), "cannot tell the format from the file name")
    return ImportFailedError(problem.help(f"specify it with `--from`: {', '.join(FORMATS)}"))
