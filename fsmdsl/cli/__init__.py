"""The `fsm` command. With `workspace` and `draw.svg` the only code that touches files and the terminal.

Each subcommand is a module of this package and is imported when it is called, so that `fsm --help` answers at once.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

COMMANDS = {
    "check": "Report what is wrong, without running anything.",
    "verify": "Explore every state of the systems, and report what is violated.",
    "simulate": "Walk through a system step by step.",
    "test": "Run the scenarios.",
    "diff": "Tell what has changed between two versions.",
    "generate": "Write Python classes, or another target.",
    "draw": "Draw machines as diagrams.",
    "report": "Write one page over all specs.",
    "serve": "Open a page to edit, draw, verify and simulate specs.",
    "fmt": "Format specs.",
    "lsp": "Start the language server, for editors.",
    "explain": "Explain a rule by its code.",
    "list": "List machines, states and transitions.",
    "init": "Start a folder of specs.",
    "completion": "Make a shell complete commands and names.",
}
"""Every subcommand and its line in `fsm --help`."""


class _Commands(click.Group):
    """Subcommands that are imported when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found = import_module(f"fsmdsl.cli.{cmd_name}_command").command
        assert isinstance(found, click.Command)
        return found

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = (CompletionItem(name, help=told) for name, told in COMMANDS.items() if name.startswith(incomplete))
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from fsmdsl.diagnostics import did_you_mean

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


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Print it.")
def cli() -> None:
    """State machines written once, as text: checked, explored, generated as Python, drawn.

    Exit codes: 0 clean, 1 findings, 2 misuse.
    """


INTERNAL = 70
"""The exit code when the fault is ours."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command. No traceback reaches a user, unless FSM_TRACEBACK is set to ask for one."""
    # What a command makes, it mostly keeps to its end: looking for garbage often would only cost time.
    gc.set_threshold(100_000, 50, 100)
    try:
        cli.main(arguments, prog_name="fsm", standalone_mode=True)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except RecursionError:
        click.echo("fsm: this spec is nested too deeply to be handled; name the inner parts with `let`", err=True)
        sys.exit(1)
    except Exception as error:
        if os.environ.get("FSM_TRACEBACK"):
            raise
        click.echo(f"fsm: a mistake of fsm itself, not yours: {type(error).__name__}: {error}", err=True)
        click.echo("fsm: please report it, with the spec and what FSM_TRACEBACK=1 makes it print", err=True)
        sys.exit(INTERNAL)
