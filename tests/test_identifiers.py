"""Names say what a thing is: no variable, parameter, field, function or class is called `found`, `told` or `given`.

A participle says what has happened to a value, not what the value is: `diagnostics`, `message` and `arguments` do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources import ROOT, modules, nodes

INSTEAD = {
    "asked": "questions, properties",
    "found": "the noun of what it is: diagnostics, states, findings, match",
    "given": "arguments, values, options",
    "gone": "removed, ended",
    "held": "locks, values, is_true",
    "kept": "retained, the noun of what it is",
    "known": "known_values, names, is_known",
    "laid": "layout, overlay",
    "led": "has_successor, successors",
    "listed": "states, rows, lines",
    "made": "the noun of what is built",
    "meant": "meaning, target",
    "named": "by_name, names",
    "said": "claim, text, message",
    "shown": "text, label, is_visible",
    "told": "message, description, report",
    "wanted": "required, expected",
}
"""A private word, and what to write."""

DOCUMENTED = {
    ("fsmdsl/notebook.py", "shown"), ("fsmdsl/report/shapes.py", "asked"), ("fsmdsl/classes/runtime/locks.py", "held"),
    ("fsmdsl/classes/runtime/machine.py", "named"), ("fsmdsl/classes/runtime/snapshots.py", "named"),
}  # fmt: skip
"""Names that users write, keys of JSON documents, and names in generated classes."""


def declared(path: Path) -> Iterator[tuple[int, str]]:
    """The names that a module declares, with their lines."""
    for node in nodes(path):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)):
                yield node.lineno, name


def private_words(*folders: str) -> list[str]:
    """Each declaration that uses one, with its place."""
    return [
        f"{path.relative_to(ROOT).as_posix()}:{line}: {name}: write {INSTEAD[word]}"
        for path in modules(*folders)
        for line, name in declared(path)
        if (word := name.strip("_").lower()) in INSTEAD and (path.relative_to(ROOT).as_posix(), word) not in DOCUMENTED
    ]


def test_no_name_is_a_private_word() -> None:
    assert private_words("fsmdsl", "runtime", "benchmarks") == []


@pytest.mark.parametrize(
    "code", ["found = 1", "def told(): ...", "def f(given): ...", "class Kept: ...", "for _shown in (): ..."]
)
def test_each_kind_of_declaration_is_noticed(code: str, tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text(code)
    assert [name.strip("_").lower() in INSTEAD for _, name in declared(path)].count(True) == 1
