"""The `fsm` command: its subcommands and its exit codes. `run` runs it.

Each subcommand is a module of this package and is imported when it is called, so that `fsm --help` answers at once.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

from fsmdsl.cli.invocation import invocation
from fsmdsl.cli.usage import Command
from fsmdsl.text.terminal import printable

COMMANDS = {
    "check": "Check specs for errors and warnings, without running them.",
    "verify": "Explore every reachable state of the systems, and report violations.",
    "simulate": "Step through a system interactively.",
    "test": "Run the scenarios.",
    "diff": "Show the changes between two versions.",
    "generate": "Generate Python classes, or code for another target.",
    "export": "Export a system or a machine to another tool.",
    "draw": "Draw diagrams of machines.",
    "report": "Write a single-page report on all specs.",
    "serve": "Serve a web page for editing, drawing, verifying and simulating specs.",
    "fmt": "Format specs.",
    "lsp": "Start the language server for editors.",
    "explain": "Explain a rule, a kind of fault, a keyword, a term, or a log.",
    "list": "List machines, states and transitions.",
    "init": "Create a folder with an example spec.",
    "import": "Convert machines from code, diagrams and other tools to a spec.",
    "drift": "Compare the machines in code with those in a spec.",
    "cache": "Show or clear the cache of compiled code.",
    "completion": "Print the completion script for a shell.",
}
"""Every subcommand and its line in `fsm --help`."""


FINDINGS = 1
"""The exit code when something is wrong in the specs."""

MISUSE = 2
"""The exit code when a command could not do what it was asked."""

BOUNDED = 3
"""The exit code when nothing is wrong in what was seen, and that was not everything."""


class ClosedPipeError(Exception):
    """The reader of the output has gone. click would end with 1, as if there were findings."""


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


def call(command: Command, values: dict[str, Any]) -> None:
    """Run a command. Where it has left out files with errors it ends with 1 at least, whatever comes of the others."""
    try:
        command.function(**values)
    except SystemExit as end:
        if not (invocation().has_left_out and end.code in (None, 0, BOUNDED)):
            raise
    if invocation().has_left_out:
        sys.exit(FINDINGS)


def ended(cause: BaseException | None, *, begun_line: bool = False) -> int:
    """The exit code after Ctrl-C, or when a command still wanted to read. `begun_line`: end a line, such as that in
    which a terminal shows `^C`."""
    if begun_line:
        with suppress(OSError):
            print(file=sys.stderr)
    interrupted = isinstance(cause, KeyboardInterrupt)
    complain("interrupted" if interrupted else "the input has ended")
    return INTERRUPTED if interrupted else MISUSE


def complain(first: str, *rest: str) -> None:
    """Print a line, and below it others that belong to it."""
    with suppress(OSError):
        print(
            "\n".join([f"fsm: {printable(first)}", *(f"    {printable(x)}" for x in rest)]), file=sys.stderr, flush=True
        )
