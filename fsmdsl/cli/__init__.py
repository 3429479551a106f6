"""The `fsm` command. With `workspace` and `draw.svg` the only code that touches files and the terminal.

Each subcommand is a module of this package and is imported when it is called, so that `fsm --help` answers at once.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

from fsmdsl.cli.invocation import begin, invocation
from fsmdsl.cli.usage import Command, plain_values
from fsmdsl.text.terminal import printable

COMMANDS = {
    "check": "Report what is wrong, without running anything.",
    "verify": "Explore every state of the systems, and report what is violated.",
    "simulate": "Walk through a system step by step.",
    "test": "Run the scenarios.",
    "diff": "Tell what has changed between two versions.",
    "generate": "Write Python classes, or another target.",
    "export": "Write a system for another model checker.",
    "draw": "Draw machines as diagrams.",
    "report": "Write one page over all specs.",
    "serve": "Open a page to edit, draw, verify and simulate specs.",
    "fmt": "Format specs.",
    "lsp": "Start the language server, for editors.",
    "explain": "Explain a rule by its code, or a log by a run.",
    "list": "List machines, states and transitions.",
    "init": "Start a folder of specs.",
    "import": "Write machines of code, diagrams and other tools as a spec.",
    "drift": "Compare the machines of code with those of a spec.",
    "cache": "Show or clear the cache of compiled code.",
    "completion": "Make a shell complete commands and names.",
}
"""Every subcommand and its line in `fsm --help`."""


FINDINGS = 1
"""The exit code when something is wrong in the specs."""

MISUSE = 2
"""The exit code when a command could not do what it was asked."""

BOUNDED = 3
"""The exit code when nothing is wrong in what was seen, and that was not everything."""


class ClosedPipeError(Exception):
    """Whoever read the output has gone. click would end with 1, as if something had been found."""


def declared(name: str) -> Command:
    """A subcommand."""
    command = import_module(f"fsmdsl.cli.{name}_command").command
    assert isinstance(command, Command)
    return command


def version() -> str:
    """The installed version."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("fsmdsl")
    except PackageNotFoundError:
        return "(not installed)"


CLOSED_PIPE = 128 + 13
"""The exit code when the reader of the output has gone, as of a program that the signal SIGPIPE has ended."""

INTERRUPTED = 128 + 2
"""The exit code after Ctrl-C, as of a program that the signal SIGINT has ended."""

INTERNAL = 70
"""The exit code when the fault is ours."""

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
        return ended(cause)
    except (BrokenPipeError, ClosedPipeError):
        return _silenced(CLOSED_PIPE)
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
        complain(f"a mistake of fsm itself, not yours: {type(error).__name__}: {first}", *rest)
        complain("please report it, with the spec and what FSM_TRACEBACK=1 makes it print")
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


def call(command: Command, values: dict[str, Any]) -> None:
    """Run a command. Where it has left out files with errors it ends with 1 at least, whatever comes of the others."""
    try:
        command.function(**values)
    except SystemExit as end:
        if not (invocation().has_left_out and end.code in (None, 0, BOUNDED)):
            raise
    if invocation().has_left_out:
        sys.exit(FINDINGS)


def ended(cause: BaseException | None) -> int:
    """The exit code after Ctrl-C, or when a command still wanted to read."""
    interrupted = isinstance(cause, KeyboardInterrupt)
    complain("interrupted" if interrupted else "the input has ended")
    return INTERRUPTED if interrupted else MISUSE


def complain(first: str, *rest: str) -> None:
    """Print a line, and below it others that belong to it."""
    with suppress(OSError):
        print(
            "\n".join([f"fsm: {printable(first)}", *(f"    {printable(x)}" for x in rest)]), file=sys.stderr, flush=True
        )


def _silenced(code: int) -> int:
    """The exit code, after standard output was given up: Python would try once more to write what is left."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.__stdout__.fileno() if sys.__stdout__ is not None else 1)
    return code
