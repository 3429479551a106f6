"""Lowering decides from nodes: nothing is read out of a text that it or a printer has made."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from sources import tree

from fsmdsl.program import python
from fsmdsl.search import lower

LOWER = Path(lower.__file__).parent
MODULES = sorted(LOWER.rglob("*.py"))

READS_TEXT = {
    "startswith", "endswith", "split", "rsplit", "partition", "splitlines", "strip", "lstrip", "rstrip", "isdigit",
    "isidentifier", "find", "removeprefix", "removesuffix", "search", "match", "fullmatch", "sub", "findall",
}  # fmt: skip
"""Methods of strings and patterns that take a text apart."""

PRINTS = {"fsmdsl.program.python", "ast", "re", "tokenize"}
"""What lowering has no use for."""


def problems(module: ast.Module) -> list[str]:
    """Where a module reads text, by line."""
    lines = []
    for x in ast.walk(module):
        match x:
            case ast.Import(names) if any(n.name in PRINTS for n in names):
                lines.append(f"{x.lineno}: imports {', '.join(n.name for n in names)}")
            case ast.ImportFrom(module=module, names=names) if module in PRINTS or (
                module == "fsmdsl.program" and any(n.name == "python" for n in names)
            ):
                lines.append(f"{x.lineno}: imports from {module}")
            case ast.Call(func=ast.Attribute(attr=name)) if name in READS_TEXT:
                lines.append(f"{x.lineno}: .{name}()")
            case ast.Compare(left=ast.Constant(value=str()), ops=[ast.In() | ast.NotIn(), *_]):
                lines.append(f"{x.lineno}: a text is looked for in another")
            case _:
                pass
    return lines


def test_lowering_reads_no_text() -> None:
    assert {x.relative_to(LOWER).as_posix(): lines for x in MODULES if (lines := problems(tree(x)))} == {}


@pytest.mark.parametrize(
    "line",
    ['sends = any("= on_" in x for x in lines)', 'loops = line.lstrip().startswith("for")', "import re",
     "from fsmdsl.program import python"],
)  # fmt: skip
def test_what_would_be_noticed(line: str) -> None:
    assert len(problems(ast.parse(line))) >= 1


def test_what_is_checked_is_there() -> None:
    assert len(MODULES) > 20
    assert Path(python.__file__).exists()
