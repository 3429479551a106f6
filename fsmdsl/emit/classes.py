"""The class of a machine that belongs to a system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fsmdsl import model as m
from fsmdsl.emit import persistence
from fsmdsl.emit.effects import checked, needs_check, statements
from fsmdsl.emit.expressions import Binds, Place, python, seconds
from fsmdsl.emit.files import File
from fsmdsl.emit.members import constants, constructor_fields, event_doc, properties, row, transition_note
from fsmdsl.emit.rows import anywhere_effects, move, timers, triggers
from fsmdsl.emit.selection import Trigger, dispatch, state_in
from fsmdsl.emit.text import INDENT, comment, docstring, folded, indented, literal, rows, sentence
from fsmdsl.emit.traits import anywhere, connected
from fsmdsl.emit.types import annotation


class Writer:
    """Writes one class."""

    def __init__(self, file: File, machine: m.Machine) -> None:
        self.file = file
        self.machine = machine
        self.context = file.context
        self.names = file.context.machine(machine.qualified)
        self.place = Place(file, machine)
        self.waits = any(isinstance(x, m.Wait) for e in _expressions(file, machine) for x in anywhere(e))
