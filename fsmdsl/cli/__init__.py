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

import click
from click.shell_completion import CompletionItem

from fsmdsl.text.budget import INTERRUPTED as BY_HAND
from fsmdsl.text.budget import LimitError
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


FAILED = "fsmdsl.failed"
"""In the context of a command: some files have errors, and were left out. Whatever comes of the others, the command
then ends with 1 at least."""


class _ClosedPipeError(Exception):
    """Whoever read the output has gone. click would end with 1, as if something had been found."""


class _Commands(click.Group):
    """Subcommands that are imported when called."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        try:
            return super().make_context(*arguments, **options)
        except BrokenPipeError as error:
            raise _ClosedPipeError from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ClosedPipeError from error
        except SystemExit as end:
            if ctx.meta.get(FAILED) and end.code in (None, 0, BOUNDED):
                sys.exit(FINDINGS)
            raise
        if ctx.meta.get(FAILED):
            sys.exit(FINDINGS)
        return result

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"fsmdsl.cli.{cmd_name}_command").command
        assert isinstance(command, click.Command)
        if not any(x.name == "color" for x in command.params):
            command.params.append(_color_option(hidden=True))
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        items = (
            CompletionItem(name, help=summary) for name, summary in COMMANDS.items() if name.startswith(incomplete)
        )
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from fsmdsl.text.diagnostics import did_you_mean

            advice = did_you_mean(args[0], COMMANDS) or "`fsm --help` lists the commands"
            raise click.UsageError(f"There is no command `{args[0]}`; {advice}", ctx)
        return super().resolve_command(ctx, args)


def version() -> str:
    """The installed version."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("fsmdsl")
    except PackageNotFoundError:
        return "(not installed)"


def _print_version(ctx: click.Context, _: click.Parameter, value: Any) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"fsm {version()}")
        ctx.exit()


def _set_color(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    """Colors for what `click.echo` prints; None leaves it to whether a terminal shows them."""
    match value:
        case "always":
            ctx.color = True
        case "never":
            ctx.color = False
        case "auto":
            ctx.color = False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


def _color_option(**options: Any) -> click.Option:
    description = "Color the output (default: auto, in a terminal; NO_COLOR and TERM=dumb turn it off)."
    choice = click.Choice(["auto", "always", "never"])
    return click.Option(["--color"], type=choice, expose_value=False, callback=_set_color, help=description, **options)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Print it.")
def cli() -> None:
    """State machines written once, as text: checked, explored, generated as Python, drawn.

    Exit codes: 0 clean, 1 findings, 2 misuse or output that cannot be written, 3 a limit came first, 130 interrupted.
    """


cli.params.append(_color_option(default="auto"))

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
        code = cli.main(arguments, prog_name="fsm", standalone_mode=False, obj=begun)
        return code if isinstance(code, int) else 0
    except _ClosedPipeError:
        return _silenced(CLOSED_PIPE)
    except click.Abort as end:
        _complain("interrupted" if isinstance(end.__cause__, KeyboardInterrupt) else "the input has ended")
        return INTERRUPTED if isinstance(end.__cause__, KeyboardInterrupt) else MISUSE
    except click.ClickException as error:
        vars(error)["message"] = printable(error.message)
        error.show()
        return MISUSE
    except LimitError as limit:
        _complain(str(limit))
        return INTERRUPTED if str(limit) == BY_HAND else BOUNDED
    except RecursionError:
        _complain("this spec is nested too deeply to be handled; name the inner parts with `let`")
        return MISUSE
    except Exception as error:
        if os.environ.get("FSM_TRACEBACK"):
            raise
        if isinstance(error, OSError) and error.filename is None and error.errno in _UNWRITABLE and error.errno:
            # Files that are named are reported where they are written.
            _complain(f"cannot write the output: {os.strerror(error.errno).lower()}")
            return _silenced(MISUSE)
        first, *rest = str(error).split("\n")
        _complain(f"a mistake of fsm itself, not yours: {type(error).__name__}: {first}", *rest)
        _complain("please report it, with the spec and what FSM_TRACEBACK=1 makes it print")
        return INTERNAL


def _complain(first: str, *rest: str) -> None:
    """Print a line, and below it others that belong to it."""
    with suppress(OSError):
        click.echo("\n".join([f"fsm: {printable(first)}", *(f"    {printable(x)}" for x in rest)]), err=True)


def _silenced(code: int) -> int:
    """The exit code, after standard output was given up: Python would try once more to write what is left."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.__stdout__.fileno() if sys.__stdout__ is not None else 1)
    return code
