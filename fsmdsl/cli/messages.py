"""What commands print, and how a command that was misused ends. No other module of `fsmdsl.cli` writes to the terminal.

Names, paths and lines of logs are other people's text. A function here decides what becomes of characters in it that
could forge a line or change the terminal.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import click

from fsmdsl.cli import MISUSE
from fsmdsl.text.terminal import printable_json, printable_line, printable_text


def say(*lines: str, err: bool = False) -> None:
    """Print lines; without any, an empty one. A line feed inside a line is part of somebody's text: it is escaped."""
    click.echo("\n".join(map(printable_line, lines)), err=err)


def say_text(text: str, *, err: bool = False) -> None:
    """Print a text of several lines, in which values are `printable` already: the line feeds are ours."""
    click.echo(printable_text(text), err=err)


def say_document(content: str | bytes) -> None:
    """Print what could be a file as well: a spec, a diagram, a report. Only a terminal gets escapes."""
    if isinstance(content, bytes):
        click.echo(content, nl=False)
        return
    click.echo(printable_text(content) if _at_terminal() else content, nl=False)


def _at_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def say_json(text: str) -> None:
    """Print a document of JSON."""
    click.echo(printable_json(text))


def write_over(text: str) -> None:
    """Put a text in place of the line of standard error on which the last such text ended."""
    click.echo(OVER + printable_text(text), err=True, nl=False)


OVER = "\r\x1b[2K"
"""Back to the beginning of the line, which is emptied."""


def overwritable() -> bool:
    """Is standard error a terminal that can empty a line?"""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def misuse(*lines: str) -> NoReturn:
    """End with exit code 2."""
    first, *others = lines
    say(f"fsm: {first}", *others, err=True)
    sys.exit(MISUSE)
