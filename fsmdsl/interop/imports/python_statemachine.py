"""Machines of the `python-statemachine` library in Python source, which is read and never run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fsmdsl.interop.imports.python_values import Class
from fsmdsl.interop.imports.python_walk import Program, program
from fsmdsl.interop.imports.rules import NOT_READ
from fsmdsl.interop.imports.statemachine_draft import Draft
from fsmdsl.interop.imports.statemachine_states import declares_states
from fsmdsl.interop.imports.table import Imported, ImportFailedError, LeftOut, Table, Unread
from fsmdsl.text.source import Source, Span

_KIND = re.compile(r"State(?:Machine|Chart)$")
_OTHER = re.compile(r"(?:^|\.)(?:StateMachine|StateChart|State\.\w+|object|ABC|Generic|Protocol|\w*Mixin)$")
"""Bases that declare neither states nor rows, as their names say."""


def read(source: Source) -> Imported:
    """All machines that a file declares, as classes with states in their body.

    Raises `ImportFailedError` where the text is not Python, or declares no machine.
    """
    code = program(source)
    tables: list[Table] = []
    left_out: list[LeftOut] = []
    unread: list[Unread] = []
    for declared in code.classes:
        family = list(_family(declared, code, set()))
        bases = [base for x in family for base in x.bases]
        attributes = [y for x in family for y in x.names.values()]
        if any(map(_KIND.search, bases)) and any(map(declares_states, attributes)):
            draft = Draft(declared, family, code)
            for base in sorted({x for x in bases if x not in code.names and not _OTHER.search(x)}):
                draft.missed(f"what the class `{base}` declares, which is not in this file", code.span(declared.node))
            table = draft.table()
            if table is None:
                unread += draft.declared_states.unread
                continue
            tables.append(table)
            left_out += draft.left_out
    if not tables:
        problem = NOT_READ.at(Span(source, 0, 0), "no machine of the `python-statemachine` library is declared here")
        raise ImportFailedError(problem.help("its states must be attributes of a class derived from `StateChart`"))
    return Imported(tuple(tables), tuple(left_out), tuple(unread))


def _family(declaration: Class, code: Program, visited: set[str]) -> Iterator[Class]:
    """The classes that a class inherits from, as far as the file declares them, and then itself."""
    visited.add(declaration.name)
    for base in declaration.bases:
        outer = code.names.get(base)
        if isinstance(outer, Class) and base not in visited:
            yield from _family(outer, code, visited)
    yield declaration
