"""What a document shows, done in a fresh environment: files are written, commands run, and what they print compared."""

from __future__ import annotations

import subprocess
from pathlib import Path

from markdown_blocks import blocks, commands, compare, write


def follow(document: Path, environment: Path) -> int:
    """Do what a document says, in a folder of its own below that of the environment; how many commands were run.

    Of `sh` blocks, which make and name the environment, what comes after the installation is run beside it. Raises
    `AssertionError` where a command fails or prints something else.
    """
    folder = environment / document.stem
    folder.mkdir()
    count = 0
    for block in blocks(document):
        place = f"{document.name}:{block.line}"
        if block.language == "console":
            for command, printed in commands(block):
                compare(printed, run(command, folder, environment), f"{place}: {command}")
                count += 1
        elif block.language == "sh":
            for line in block.text.splitlines():
                if line.startswith(".venv/bin/fsm "):
                    run(line, environment, environment)
                    count += 1
        elif block.words:
            write(folder / block.words[0], block.words[1:], block.text, place)
    return count


def run(command: str, folder: Path, environment: Path) -> str:
    """What a command prints in a shell that knows the environment and nothing else of Python. It may find something."""
    variables = {"PATH": f"{environment / '.venv' / 'bin'}:/usr/bin:/bin", "HOME": str(environment)}
    done = subprocess.run(command, shell=True, cwd=folder, env=variables, capture_output=True, text=True)
    assert done.returncode in (0, 1), f"{command}: {done.stderr}"
    assert done.returncode == 0 or command.startswith(("fsm ", ".venv/bin/fsm ")), f"{command}: {done.stderr}"
    return done.stdout
