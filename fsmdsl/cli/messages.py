"""What commands say in lines of their own, and how a command that was misused ends."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from fsmdsl.cli import MISUSE


def say(text: str = "", *, err: bool = False) -> None:
    """Print a line."""
    click.echo(text, err=err)


def misuse(message: str) -> NoReturn:
    """End with exit code 2."""
    say(f"fsm: {message}", err=True)
    sys.exit(MISUSE)
