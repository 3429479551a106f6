"""Machines of the `python-statemachine` library in Python source, which is read and never run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fsmdsl.interop.imports.python_values import Class
from fsmdsl.interop.imports.python_walk import Program, program
from fsmdsl.interop.imports.rules import NOT_READ
from fsmdsl.interop.imports.statemachine_draft import Draft
from fsmdsl.interop.imports.statemachine_states import declares_states
from fsmdsl.interop.imports.table import Imported, ImportFailedError, LeftOut, Table
from fsmdsl.text.source import Source, Span

_KIND = re.compile(r"State(?:Machine|Chart)$")


def read(source: Source) -> Imported:
    """All machines that a file declares, as classes with states in their body.

    Raises `ImportFailedError` where the text is not Python, or declares no machine.
    """
    found = program(source)
    tables: list[Table] = []
    left_out: list[LeftOut] = []
    for declared in found.classes:
        family = list(_family(declared, found, set()))
        bases = [base for x in family for base in x.bases]
        attributes = [y for x in family for y in x.names.values()]
        if any(map(_KIND.search, bases)) and any(map(declares_states, attributes)):
            draft = Draft(declared, family, found)
            tables.append(draft.table())
            left_out += draft.left_out
    if not tables:
        problem = NOT_READ.at(Span(source, 0, 0), "no machine of the `python-statemachine` library is declared here")
        raise ImportFailedError(problem.help("its states must be attributes of a class derived from `StateChart`"))
    return Imported(tuple(tables), tuple(left_out))


def _family(made: Class, found: Program, known: set[str]) -> Iterator[Class]:
    """The classes that a class inherits from, as far as the file declares them, and then itself."""
    known.add(made.name)
    for base in made.bases:
        outer = found.names.get(base)
        if isinstance(outer, Class) and base not in known:
            yield from _family(outer, found, known)
    yield made
