"""`--without`: repairs left out one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fsmdsl.cli import usage
from fsmdsl.cli.completions import amendment_names

F = TypeVar("F", bound=Callable[..., Any])


def without_option(command: F) -> F:
    """`--without NAME`, any number of them."""
    about = (
        "Ignore the repair with this name, or the amendment with this element (Cell.e4) or at this location "
        "(hived.fsm:78). May be repeated."
    )
    option = usage.option("--without", multiple=True, metavar="NAME", help=about, shell_complete=amendment_names)
    return option(command)
