"""Runs a command, with a parser of the command line or without, and exits."""

from __future__ import annotations

import errno
import gc
import os
import sys
from contextlib import suppress

from fsmdsl.cli import (
    BOUNDED,
    CLOSED_PIPE,
    COMMANDS,
    INTERNAL,
    INTERRUPTED,
    MISUSE,
    ClosedPipeError,
    call,
    complain,
    declared,
    ended,
)
from fsmdsl.cli.invocation import begin
from fsmdsl.cli.usage import plain_values
from fsmdsl.text.budget import INTERRUPTED as BY_HAND
from fsmdsl.text.budget import LimitError

_UNWRITABLE = {errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC)}
"""What the system says where a file cannot take more."""


def main(arguments: list[str] | None = None, *, begun: float | None = None) -> None:
    """Run the command and exit. No traceback reaches a user, unless FSM_TRACEBACK is set to ask for one. `begun`: when
    the process began (`time.monotonic`), for limits of time."""
    try:
        code = _run(arguments, begun)
    except KeyboardInterrupt:
        code = INTERRUPTED
    finally:
        gc.freeze()  # at its end a process would look for garbage once more, which can take seconds
    sys.exit(code)


def _run(arguments: list[str] | None, begun: float | None) -> int:
    """The exit code."""
    try:
        if not _run_plainly(sys.argv[1:] if arguments is None else arguments, begun):
            from fsmdsl.cli.parser import run

            return run(arguments, begun)
        return 0
    except (KeyboardInterrupt, EOFError) as cause:
        return ended(cause, begun_line=True)
    except (BrokenPipeError, ClosedPipeError):
        return _silenced(CLOSED_PIPE)
    except LimitError as limit:
        complain(str(limit))
        return INTERRUPTED if str(limit) == BY_HAND else BOUNDED
    except RecursionError:
        complain("this spec is nested too deeply to be handled; name the inner parts with `let`")
        return MISUSE
    except Exception as error:
        if os.environ.get("FSM_TRACEBACK"):
            raise
        if isinstance(error, OSError) and error.filename is None and error.errno in _UNWRITABLE and error.errno:
            # Files that are named are reported where they are written.
            complain(f"cannot write the output: {os.strerror(error.errno).lower()}")
            return _silenced(MISUSE)
        first, *rest = str(error).split("\n")
        complain(f"internal error: {type(error).__name__}: {first}", *rest)
        complain("this is a bug in fsm; please report it, with the spec and the output with FSM_TRACEBACK=1 set")
        return INTERNAL


def _run_plainly(words: list[str], begun: float | None) -> bool:
    """Run a command that is called without options; False where it takes a parser to tell what is asked."""
    name, *rest = words or [""]
    if name not in COMMANDS or sys.platform == "win32" or "_FSM_COMPLETE" in os.environ:
        return False
    command = declared(name)
    values = plain_values(command, rest)
    if values is None:
        return False
    begin(begun)
    call(command, values)
    return True


def _silenced(code: int) -> int:
    """The exit code, after standard output was given up: Python would try once more to write what is left."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.__stdout__.fileno() if sys.__stdout__ is not None else 1)
    return code
