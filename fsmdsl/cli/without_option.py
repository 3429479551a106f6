"""`--without`: one amendment left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fsmdsl.cli import usage
from fsmdsl.cli.completions import amendment_names

F = TypeVar("F", bound=Callable[..., Any])


def without_option(command: F) -> F:
    """`--without NAME`, any number of them."""
    about = "Leave one amendment out: by its name, a row or name that it has (Cell.e4), or its place (hived.fsm:78)."
    option = usage.option("--without", multiple=True, metavar="NAME", help=about, shell_complete=amendment_names)
    return option(command)
