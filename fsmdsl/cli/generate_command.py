"""`fsm generate`: Python classes, or another target."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fsmdsl import emit
from fsmdsl.cli.common import (
    FINDINGS,
    documented_option,
    format_option,
    misuse,
    model_or_exit,
    paint,
    paths_argument,
    say,
    say_json,
    write,
)

TARGETS = {"python": emit.python, "transitions": emit.transitions}


@click.command("generate")
@paths_argument
@documented_option
@click.option("--out", "-o", type=click.Path(path_type=Path), default="generated", show_default=True, help="Where to.")
@click.option("--target", type=click.Choice(list(TARGETS)), default="python", show_default=True, help="What to write.")
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit with 1 if something would change.")
@format_option
def command(paths: tuple[str, ...], as_documented: bool, out: Path, target: str, only_check: bool, form: str) -> None:
    """Write the classes of every machine: one package for each module, in a folder of its own.

    The folder holds nothing else: files of modules that are gone are removed, if this command made them.
    """
    model = model_or_exit(paths, form, as_documented=as_documented)
    files: dict[Path, str] = {}
    for module in model.modules:
        files.update({out / name: text for name, text in TARGETS[target](model, module.name).items()})
    stale = _leftover(out, files)
    changed = [p for p, text in files.items() if not _same(p, text)] if only_check else _written(files, stale)
    changed += stale
    if form == "json":
        say_json("generate", {"out": str(out), "files": sorted(map(str, files)), "changed": sorted(map(str, changed))})
    elif only_check:
        for path in changed:
            say(f"{paint('stale', 'error')} {path}")
    if form == "text":
        say(f"{len(files)} files in {out}, {len(changed)} {'stale' if only_check else 'changed'}")
    sys.exit(FINDINGS if only_check and changed else 0)


def _written(files: dict[Path, str], stale: list[Path]) -> list[Path]:
    changed = [path for path, text in files.items() if write(path, text)]
    for path in stale:
        try:
            path.unlink()
        except OSError as error:
            misuse(f"cannot remove `{path}`: {(error.strerror or 'unknown error').lower()}")
    return changed


def _same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode("utf-8")


def _leftover(out: Path, files: dict[Path, str]) -> list[Path]:
    """Files below the folder that an earlier run made and this one does not."""
    found = sorted(p for p in out.rglob("*.py") if p not in files and "__pycache__" not in p.parts)
    return [p for p in found if emit.MARK in _head(p)]


def _head(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")[:400]
    except OSError:
        return ""
