"""What a shell offers for names that stand in specs: systems, machines, sizes; for rules; for revisions of git.

Nothing here may fail or print, since completion runs in the middle of a line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fsmdsl import syntax as s

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem


def system_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Of the specs named in the line, else of those that the command would read; with the module where a dot is
    typed."""
    return _matching((x for module in _modules() for x in _names_of(module, s.SystemDecl, incomplete)), incomplete)


def machine_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Likewise."""
    return _matching((x for module in _modules() for x in _names_of(module, s.MachineDecl, incomplete)), incomplete)


def amendment_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Those that have a name of their own."""
    from fsmdsl.syntax.amendments import amendments

    names = (x.name.text for module in _modules() for x in amendments(module) if x.name is not None)
    return _matching(names, incomplete)


def rule_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Codes with their names, names, and kinds of faults."""
    from click.shell_completion import CompletionItem

    from fsmdsl.check.all_rules import all_rules
    from fsmdsl.check.faults import FAULTS

    rules = all_rules().values()
    codes = [CompletionItem(r.code, help=r.name) for r in rules if r.code.startswith(incomplete.upper())]
    names = [CompletionItem(r.name, help=r.summary) for r in rules if r.name.startswith(incomplete.lower())]
    names += [CompletionItem(x.kind, help=x.summary) for x in FAULTS if x.kind.startswith(incomplete.lower())]
    return codes if incomplete[:3].upper() == "FSM"[: len(incomplete)] else names


def versions(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Branches and tags; files too."""
    import subprocess

    from click.shell_completion import CompletionItem

    command = ["git", "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags"]
    try:
        process = subprocess.run(command, capture_output=True, check=False, timeout=2)
    except (OSError, subprocess.TimeoutExpired):
        names = []
    else:
        names = (
            ["HEAD", "HEAD~1", *process.stdout.decode("utf-8", "replace").split()] if process.returncode == 0 else []
        )
    return [*(CompletionItem(x) for x in _matching(names, incomplete)), CompletionItem(incomplete, type="file")]


def _modules() -> list[s.Module]:
    """Where an option lacks its value, click has read no argument of the line: what exists in it is a path."""
    from click.shell_completion import split_arg_string

    from fsmdsl.cli.common import chosen
    from fsmdsl.model.workspace import read

    words = split_arg_string(os.environ.get("COMP_WORDS", ""))[2:]
    return [parsed.module for parsed in read(chosen([x for x in words if Path(x).exists()]))[0]]


def _names_of(module: s.Module, kind: type[s.SystemDecl | s.MachineDecl], incomplete: str) -> Iterator[str]:
    from fsmdsl.model.resolve.declarations.modules import module_name

    for x in module.members:
        if isinstance(x, kind):
            yield f"{module_name(module)}.{x.name.text}" if "." in incomplete else x.name.text


def _matching(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in dict.fromkeys(names) if name and name.startswith(incomplete)]
