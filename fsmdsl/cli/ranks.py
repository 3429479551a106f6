"""A command that `mpiexec` has started several times: the first process speaks, and all end together."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from functools import wraps
from time import sleep
from typing import NoReturn, ParamSpec

from fsmdsl.cli.messages import misuse
from fsmdsl.search.errors import FullError, SavedError, UnavailableError
from fsmdsl.search.ranks.exchange import Mpi, exchange, started
from fsmdsl.text.terminal import printable

P = ParamSpec("P")

INTERNAL = 70
"""The exit code when one process cannot go on."""

MEETING_TIMEOUT = 5.0
"""Seconds after which a process that has ended no longer waits for the others to do so."""

HEARD = 0.3
"""Seconds that `mpiexec` gets to pass on what was printed."""


def is_first() -> bool:
    """Is it for this process to print and to write?"""
    return started()[0] == 0


def several() -> bool:
    """Were several processes started together?"""
    return started()[1] > 1


def together(command: Callable[P, None]) -> Callable[P, None]:
    """The command, of which only the first process prints. What keeps all from searching is reported as misuse."""

    def alone(*args: P.args, **options: P.kwargs) -> None:
        try:
            command(*args, **options)
        except (UnavailableError, SavedError, FullError) as error:
            misuse(str(error))

    @wraps(command)
    def run(*args: P.args, **options: P.kwargs) -> None:
        if not several():
            return alone(*args, **options)
        out, err = sys.stdout, sys.stderr
        if not is_first():
            sys.stdout = sys.stderr = io.StringIO()
        try:
            between = exchange()
            assert isinstance(between, Mpi)
            _ended_by(between, lambda: command(*args, **options))
        except (UnavailableError, SavedError) as error:
            misuse(str(error))
        finally:
            sys.stdout, sys.stderr = out, err

    return run


def _ended_by(between: Mpi, command: Callable[[], None]) -> None:
    """Run the command to its end. Others that do not come to theirs would wait for this process: then it ends all."""
    try:
        command()
    except (UnavailableError, SavedError):
        raise
    except SystemExit as end:
        if between.meet(MEETING_TIMEOUT):
            raise
        message = f"has ended with exit code {end.code}, but others have not"
    except FullError as error:
        message = f"cannot continue: {error}"
    except Exception as error:
        message = f"has failed: {type(error).__name__}: {error}"
    else:
        return
    _end_all(between, message)


def _end_all(between: Mpi, why: str) -> NoReturn:
    silent = sys.stderr.getvalue() if isinstance(sys.stderr, io.StringIO) else ""
    print(f"{silent}fsm: process {between.rank} of {between.size} {printable(why)}", file=sys.__stderr__, flush=True)
    sleep(HEARD)
    between.abort(INTERNAL)
    sys.exit(INTERNAL)


def agreed_code(code: int) -> int:
    """The exit code of the first process, for which all wait."""
    return exchange().all_reduce([code if is_first() else 0], "max")[0]
