"""Locks that refuse to be taken in an undeclared order."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.emit.context import Context
from fsmdsl.emit.files import File


def locks_file(context: Context, module: m.Module) -> str:
    """The lock orders of a module."""
    file = File(context, module.name, "locks")
    return file.text(f"The lock orders of {module.name}.", [])
