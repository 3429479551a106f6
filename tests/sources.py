"""The modules of the repository as trees. Several tests look at all of them, so each is parsed once in a process."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent


@cache
def tree(path: Path) -> ast.Module:
    """A module, which nobody may change."""
    return ast.parse(path.read_text("utf-8"), str(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a module, outer ones first."""
    return tuple(ast.walk(tree(path)))


@cache
def modules(*folders: str) -> tuple[Path, ...]:
    """The modules of some folders, relative to the root of the repository."""
    return tuple(path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))


@cache
def strings(path: Path) -> tuple[tuple[bool, ast.Constant], ...]:
    """The texts of a module; whether each is a docstring."""
    return tuple(_strings(path))


def _strings(path: Path) -> Iterator[tuple[bool, ast.Constant]]:
    documentation = {id(n.value) for n in nodes(path) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)}
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield id(node) in documentation, node
