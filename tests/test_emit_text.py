"""No writer of classes reads what it has written: what it decides, it decides from the model.

Generated text may be laid out (`text`) and names of a spec be taken apart (`names`); everywhere else in
`emit` nothing looks into a string.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources import tree

import fsmdsl.classes

FOLDER = Path(fsmdsl.classes.__file__).parent

MAY_LOOK = {
    "names": "makes names of Python from names of a spec",
    "statements/text": "breaks long lines between brackets, and fills comments and docstrings: only spaces change",
}
"""Modules that look into strings, and why."""

LINES_OF_SOURCES = {"replays/replay": "splitlines"}
"""Source code of the toolkit itself, which is put among lines of generated code."""

SPLITS_NAMES = {"naming": "split"}
"""The folder of a module has the parts of its name."""

METHODS = {
    "startswith", "endswith", "replace", "partition", "rpartition", "find", "rfind", "rindex", "strip", "lstrip",
    "removeprefix", "removesuffix", "split", "rsplit", "splitlines", "isupper", "islower", "isdigit", "isidentifier",
    "match", "fullmatch", "search", "findall", "finditer", "sub", "translate",
}  # fmt: skip


def looks(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Where code looks into a string, and how."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names) if any(x.name == "re" for x in names):
                yield node.lineno, "re"
            case ast.ImportFrom(module="re"):
                yield node.lineno, "re"
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in METHODS:
                if not (isinstance(value, ast.Name) and value.id == "dataclasses"):
                    yield node.lineno, attr
            case ast.Compare(left=ast.Constant(value=str()), ops=[ast.In() | ast.NotIn()], comparators=[right]):
                if not isinstance(right, ast.Set | ast.Tuple | ast.List):
                    yield node.lineno, "in"
            case ast.Compare(left=ast.Subscript(slice=ast.Slice() | ast.Constant(value=int()))) as compared:
                if any(isinstance(x, ast.Constant) and isinstance(x.value, str) for x in compared.comparators):
                    yield node.lineno, "[]"


def modules() -> Iterator[tuple[str, ast.AST]]:
    """All but the runtime, which writes nothing."""
    for path in sorted(set(FOLDER.rglob("*.py")) - set(FOLDER.glob("runtime/*.py"))):
        yield path.relative_to(FOLDER).with_suffix("").as_posix(), tree(path)


def test_nothing_is_decided_from_generated_text() -> None:
    wrong = [
        f"{name}:{line} {how}"
        for name, tree in modules()
        if name not in MAY_LOOK
        for line, how in looks(tree)
        if how not in (LINES_OF_SOURCES.get(name), SPLITS_NAMES.get(name))
    ]
    assert wrong == [], "decide it from the model, or from the nodes of `emit.code`"


def test_the_exceptions_are_still_needed() -> None:
    found = {name: {how for _, how in looks(tree)} for name, tree in modules()}
    assert all(found[name] for name in MAY_LOOK)
    assert all(how in found[name] for name, how in (*LINES_OF_SOURCES.items(), *SPLITS_NAMES.items()))


@pytest.mark.parametrize(
    "code",
    [
        "alone = code[0].startswith('if ')",
        "import re",
        "x = line.replace('state', 'self._state', 1)",
        "required = [k for k in keywords if ' = ' not in k]",
        "done = '= on_' in line",
        "words = pattern.findall(text)",
        "over = name[0] == 'v'",
        "head, _, names = line.partition(' import ')",
    ],
)
def test_it_bites(code: str) -> None:
    assert list(looks(ast.parse(code)))


@pytest.mark.parametrize("code", ["x = 'size' in {'size', 'min'}", "y = kind == 'entry'", "z = ', '.join(found)"])
def test_it_lets_the_rest_be(code: str) -> None:
    assert not list(looks(ast.parse(code)))
