"""`fsm fmt`: canonical text."""

from __future__ import annotations

import difflib
import os
import sys
from pathlib import Path

from fsmdsl.cli import FINDINGS, usage
from fsmdsl.cli.common import existing, follows_links, format_option, paint, paths_argument, say_json, serious
from fsmdsl.cli.limits import MINUTES, Form, limit_options, within
from fsmdsl.cli.messages import say, say_document, say_text
from fsmdsl.cli.output_files import write
from fsmdsl.model.workspace import read
from fsmdsl.report.data import diagnostics
from fsmdsl.report.frames import frames, tally
from fsmdsl.syntax.format import format_source
from fsmdsl.text.budget import Budget
from fsmdsl.text.diagnostics import Diagnostic


@usage.command("fmt")
@paths_argument
@usage.option("--check", "only_check", is_flag=True, help="Change nothing; exit with 1 if any file would change.")
@usage.option("--diff", "show_diff", is_flag=True, help="Print a diff instead of changing files.")
@limit_options(MINUTES)
@format_option
def command(paths: tuple[str, ...], only_check: bool, show_diff: bool, budget: Budget, form: Form) -> None:
    """Format specs in place. `-` formats standard input to standard output. Files with syntax errors stay unchanged."""
    with within(
        budget, paths, "document" if form == "text" else form, before="all files were read, so nothing was written"
    ):
        parsed, problems = read(existing(paths), follow_links=follows_links())
        texts = [(p, format_source(p)) for p in parsed if not serious(p.diagnostics)]
    changed: list[str] = []
    for p, text in texts:
        if p.source.name == "<stdin>":
            say_document(text)
        elif text != p.source.text:
            changed.append(p.source.name)
            if show_diff:
                say_document(f"{_diff(p.source.name, p.source.text, text)}\n")
            elif not only_check:
                write(Path(p.source.name), text, follow=True)
    _tell(changed, len(parsed), problems, only_check or show_diff, form)
    sys.exit(FINDINGS if serious(problems) or (changed and (only_check or show_diff)) else 0)


def _tell(changed: list[str], count: int, problems: list[Diagnostic], would: bool, form: str) -> None:
    if form == "json":
        say_json("fmt", {"changed": changed, "files": count, **diagnostics(problems)})
        return
    if problems:
        say_text(frames(problems, paint), err=True)
        say(tally(problems), err=True)
    for name in changed:
        target = f", which leads to {os.path.relpath(os.path.realpath(name))}" if os.path.islink(name) else ""
        say(f"{'would format' if would else 'formatted'} {name}{target}", err=True)


def _diff(name: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, f"{name} (formatted)", lineterm="")
    return "\n".join(lines)
