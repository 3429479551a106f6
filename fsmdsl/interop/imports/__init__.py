"""State machines that a team already has, as specs: from Python, Go, diagrams and other tools' files.

Each reader turns the text of one format into an `Imported`, the table of each machine in no language's syntax. What
the language cannot say becomes a `LeftOut`, what the reader does not understand an `Unread`. `spec_text` writes an
`Imported` as the text of a spec. No reader runs or evaluates what it reads.
"""

from __future__ import annotations

from fsmdsl.interop.imports.rules import RULES
from fsmdsl.interop.imports.table import Condition, Imported, ImportFailedError, LeftOut, Row, State, Table, Unread
from fsmdsl.interop.imports.transitions_objects import from_transitions
from fsmdsl.interop.imports.write import spec_text

__all__ = [
    "RULES",
    "Condition",
    "ImportFailedError",
    "Imported",
    "LeftOut",
    "Row",
    "State",
    "Table",
    "Unread",
    "from_transitions",
    "spec_text",
]
