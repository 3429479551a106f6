"""`fsm export`: a system in the language of another model checker."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fsmdsl import model as m
from fsmdsl.cli.common import FINDINGS, documented_option, loaded_or_exit, paths_argument
from fsmdsl.cli.completing import system_names
from fsmdsl.cli.messages import misuse, say
from fsmdsl.cli.verify_command import chosen_systems, settings_of
from fsmdsl.cli.writing import write
from fsmdsl.core.elaborate import TooLargeNumberError
from fsmdsl.export import TARGETS
from fsmdsl.export.refusals import RefusedError
from fsmdsl.step import TooManyValuesError


@click.command("export")
@paths_argument
@documented_option
@click.option("--system", "name", metavar="NAME", shell_complete=system_names, help="Which (default: the only one).")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="The size of a set, or a parameter.")
@click.option("--to", "target", type=click.Choice(list(TARGETS)), required=True, help="The language.")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="A file (default: the terminal).")
def command(
    paths: tuple[str, ...],
    as_documented: bool,
    name: str | None,
    settings: tuple[str, ...],
    target: str,
    output: Path | None,
) -> None:
    """Write a system in the language of another model checker. One step there is one step here, so that both count the
    same states. See docs/second-opinion.md.

    Exit codes: 0 written, 1 errors in the specs, or something that the language cannot say, 2 misuse.
    """
    loaded = loaded_or_exit(paths, as_documented=as_documented, settings=settings_of(settings))
    model, systems = chosen_systems(loaded, () if name is None else (name,))
    text = _text(model, _only(systems), target)
    if output is None:
        click.echo(text, nl=False)
    else:
        write(output, text)


def _only(systems: list[m.System]) -> m.System:
    if len(systems) != 1:
        listed = ", ".join(f"`{x.name}`" for x in systems)
        misuse(f"an export is of one system; say which with `--system`: {listed or 'there is none'}")
    return systems[0]


def _text(model: m.Model, system: m.System, target: str) -> str:
    try:
        return TARGETS[target](model, system)
    except (RefusedError, TooLargeNumberError) as error:
        say(f"fsm: {error}", err=True)
    except TooManyValuesError as error:
        say(
            f"fsm: {system.span}: `{system.name}` cannot be exported: its environment would choose among {error}",
            err=True,
        )
    sys.exit(FINDINGS)
