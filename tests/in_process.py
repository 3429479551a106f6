"""Runs a command in this process, which takes a fraction of the time that a process of its own needs.

Enough for what a command says and writes. Whatever depends on the process needs a real one: signals, terminals, limits,
pipes, start-up.
"""

from __future__ import annotations

import gc
import sys
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from click.testing import CliRunner
from sources import ROOT

from fsmdsl.cli.run import main


class Done(NamedTuple):
    """What came of a command."""

    returncode: int
    stdout: str
    stderr: str


def fsm(*arguments: str, cwd: Path = ROOT, text: str | None = None) -> Done:
    """Run a command in a folder, with a text as its standard input."""
    code: object = None
    with (
        CliRunner().isolation(text) as (stdout, stderr, _),
        chdir(cwd),
        patch.object(sys, "argv", ["fsm", *arguments]),
        patch.object(gc, "freeze"),  # this process goes on, and its garbage would stay
    ):
        try:
            main([*arguments])
        except SystemExit as end:
            code = end.code
        assert isinstance(code, int), code
        return Done(code, stdout.getvalue().decode(), stderr.getvalue().decode())
