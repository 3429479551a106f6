"""Functions written by hand, with the places of a layout put in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fsmdsl.program.nodes import Function
from fsmdsl.program.queries import bound
from fsmdsl.program.source import functions_in
from fsmdsl.search.layout import Layout


def helpers(layout: Layout) -> list[Function]:
    """Those that every module has."""
    return of_library("basic.py", {"COPIED": layout.copied})


def of_library(file: str, constants: Mapping[str, int], names: Mapping[str, str] | None = None) -> list[Function]:
    """The functions of a file beside this one, with numbers put in for the names in capitals; functions can be called
    by other names."""
    return [bound(f, constants, names) for f in functions_in(Path(__file__).parent / "library" / file)]
