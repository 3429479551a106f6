"""What commands print, and how a command that was misused ends. No other module of `fsmdsl.cli` writes to the terminal.

Names, paths and lines of logs are other people's text. A function here decides what becomes of characters in it that
could forge a line or change the terminal.
"""

from __future__ import annotations

import os
import re
import sys
from typing import NoReturn

from fsmdsl.cli import MISUSE
from fsmdsl.cli.invocation import invocation, no_colors
from fsmdsl.text.terminal import printable_json, printable_line, printable_text


def say(*lines: str, err: bool = False) -> None:
    """Print lines; without any, an empty one. A line feed inside a line is part of somebody's text: it is escaped."""
    _write("\n".join(map(printable_line, lines)), err=err)


def say_text(text: str, *, err: bool = False) -> None:
    """Print a text of several lines, in which values are `printable` already: the line feeds are ours."""
    _write(printable_text(text), err=err)


def say_document(content: str | bytes) -> None:
    """Print what could be a file as well: a spec, a diagram, a report. Only a terminal gets escapes."""
    if isinstance(content, bytes):
        _write(content, nl=False)
        return
    _write(printable_text(content) if _at_terminal() else content, nl=False)


def _write(content: str | bytes, *, err: bool = False, nl: bool = True) -> None:
    """To a terminal with colors, elsewhere without. What needs an encoding of its own, or has one, is left to click."""
    stream = sys.stderr if err else sys.stdout
    colors = invocation().colors
    if isinstance(content, bytes) or sys.platform == "win32" or getattr(stream, "encoding", None) != "utf-8":
        import click

        click.echo(content, err=err, nl=nl, color=False if colors is None and no_colors() else colors)
        return
    shows = stream.isatty() and not no_colors() if colors is None else colors
    stream.write((content if shows else unstyled(content)) + "\n" * nl)
    stream.flush()


_STYLE = r"\x1b\[[0-?]*[ -/]*[@-~]"
"""What changes the style of text, or moves the cursor: a control sequence of ECMA-48, 5.4."""


def unstyled(text: str) -> str:
    """A text without colors."""
    return re.sub(_STYLE, "", text) if "\x1b" in text else text


def _at_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def say_json(text: str) -> None:
    """Print a document of JSON."""
    _write(printable_json(text))


def write_over(text: str) -> None:
    """Put a text in place of the line of standard error on which the last such text ended."""
    _write(OVER + printable_text(text), err=True, nl=False)


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
