"""A command that `mpiexec` has started several times: the first process speaks, and all end with its exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import NoReturn, ParamSpec

import click

from fsmdsl.cli.common import misuse
from fsmdsl.explore.packed.exchange import Mpi, UnavailableError, exchange, started
from fsmdsl.explore.packed.saved import SavedError
from fsmdsl.explore.packed.share import FullError

P = ParamSpec("P")

INTERNAL = 70
"""The exit code when one process cannot go on."""


def is_first() -> bool:
    """Is it for this process to print and to write?"""
    return started()[0] == 0


def several() -> bool:
    """Were several processes started together?"""
    return started()[1] > 1


def together(command: Callable[P, None]) -> Callable[P, None]:
    """The command, of which only the first process prints. What keeps all from searching is told as misuse."""

    @wraps(command)
    def run(*args: P.args, **options: P.kwargs) -> None:
        stderr = sys.stderr
        if not is_first():
            sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (kept to the end)
        try:
            command(*args, **options)
        except (UnavailableError, SavedError) as error:
            misuse(str(error))
        except FullError as error:
            if several():
                _end_all(f"process {started()[0]} cannot go on: {error}", stderr)
            misuse(str(error))
        except Exception as error:
            if not several() or isinstance(error, click.exceptions.Exit | click.ClickException):
                raise
            _end_all(f"process {started()[0]} has failed: {type(error).__name__}: {error}", stderr)

    return run


def _end_all(why: str, stderr: object) -> NoReturn:
    """One process cannot go on, and the others would wait for it."""
    print(f"fsm: {why}", file=stderr, flush=True)  # type: ignore[call-overload]
    between = exchange()
    if isinstance(between, Mpi):
        between.abort(INTERNAL)
    sys.exit(INTERNAL)


def agreed_code(code: int) -> int:
    """The exit code of the first process, for which all wait."""
    return exchange().all_reduce([code if is_first() else 0], "max")[0]
