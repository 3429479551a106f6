"""What commands print. Names of gangs, pods, nodes and files are other people's text: none of it begins a line of its
own, or changes the terminal."""

from __future__ import annotations

import sys

import click

from fsmdsl.text.terminal import printable_line, printable_text


def say(*lines: str, err: bool = False) -> None:
    """Print lines. A line feed inside one comes from outside, and is escaped."""
    click.echo("\n".join(map(printable_line, lines)), err=err)
    (sys.stderr if err else sys.stdout).flush()


def say_text(text: str) -> None:
    """Print a text of several lines, in which names are `printable` already."""
    click.echo(printable_text(text))
