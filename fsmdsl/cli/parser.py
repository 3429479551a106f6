"""Reads the command line with click: help, options, completion."""

from __future__ import annotations

from functools import cache
from inspect import cleandoc
from typing import Any

import click
from click.shell_completion import CompletionItem

from fsmdsl.cli import COMMANDS, MISUSE, ClosedPipeError, call, declared, ended, version
from fsmdsl.cli.invocation import begin, invocation, no_colors
from fsmdsl.cli.usage import Parameter, Type
from fsmdsl.text.terminal import printable


def run(arguments: list[str] | None, begun: float | None) -> int:
    """Run a command and return the exit code. What is wrong with the command line is printed."""
    try:
        code = cli.main(arguments, prog_name="fsm", standalone_mode=False, obj=begun)
        return code if isinstance(code, int) else 0
    except click.Abort as end:
        return ended(end.__cause__)
    except click.ClickException as error:
        vars(error)["message"] = printable(error.message)
        error.show()
        return MISUSE


class _Commands(click.Group):
    """Subcommands that are imported when called."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        begin(options.get("obj"))
        try:
            return super().make_context(*arguments, **options)
        except BrokenPipeError as error:
            raise ClosedPipeError from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ClosedPipeError from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return click_command(cmd_name) if cmd_name in COMMANDS else None

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


@cache
def click_command(name: str) -> click.Command:
    """A subcommand as click has it."""
    command = declared(name)
    parameters = [*map(_parameter, command.parameters), _color_option(hidden=True)]
    help_text = cleandoc(command.function.__doc__ or "")

    def callback(**values: Any) -> None:
        call(command, values)

    return click.Command(name, callback=callback, params=parameters, help=help_text, **command.settings)


def _parameter(parameter: Parameter) -> click.Parameter:
    settings: dict[str, Any] = {
        name: getattr(click, x.name)(*x.arguments, **x.settings) if isinstance(x, Type) else x
        for name, x in parameter.settings.items()
    }
    kind = click.Option if parameter.kind == "option" else click.Argument
    return kind(list(parameter.names), **settings)


def _print_version(ctx: click.Context, _: click.Parameter, value: Any) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"fsm {version()}")
        ctx.exit()


def _set_color(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    """Colors for what is printed; None leaves it to whether a terminal shows them."""
    match value:
        case "always":
            ctx.color = True
        case "never":
            ctx.color = False
        case "auto":
            ctx.color = False if no_colors() else None
        case _:
            return
    invocation().colors = ctx.color


def _color_option(**options: Any) -> click.Option:
    description = "Color the output (default: auto, only in a terminal and without NO_COLOR or TERM=dumb)."
    choice = click.Choice(["auto", "always", "never"])
    return click.Option(["--color"], type=choice, expose_value=False, callback=_set_color, help=description, **options)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Print the version."
)
def cli() -> None:
    """Check, verify and draw state machines, and generate Python classes from them.

    Exit codes: 0 success, 1 findings, 2 usage error or output that cannot be written, 3 a limit was reached, 130
    interrupted.
    """


cli.params.append(_color_option(default="auto"))
