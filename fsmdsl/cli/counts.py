"""`--counts FILE` of the commands that show what a log has counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from fsmdsl import model as m
from fsmdsl.cli import usage
from fsmdsl.cli.messages import misuse
from fsmdsl.report.counts import Counts, CountsError, read_counts
from fsmdsl.text.files.read import UnreadableError, read_text

F = TypeVar("F", bound=Callable[..., Any])


def counts_option(command: F) -> F:
    """`--counts FILE`, for `counted`."""
    return usage.option(
        "--counts",
        type=usage.path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Show how often each transition was taken in a log, according to a file from `fsm explain --counts`.",
    )(command)


def counted(path: Path, machines: Iterable[m.Machine]) -> Counts:
    """What a file counts of some machines; a file that has nothing of them is misuse."""
    if not path.exists():
        misuse(f"there is no file `{path}`")
    try:
        counts = read_counts(read_text(path, None), machines)
    except (UnreadableError, CountsError) as error:
        misuse(f"`{path}`: {error}")
    if not counts:
        misuse(f"`{path}` counts rows of none of these machines")
    return counts
