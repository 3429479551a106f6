"""The size budget of functions; types and docstrings everywhere. Prints the figures (`pytest -s`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

from sources import ROOT, modules, nodes, tree

MODULES = modules("fsmdsl", "runtime")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions() -> Iterator[tuple[Path, Function]]:
    return ((path, n) for path in MODULES for n in nodes(path) if isinstance(n, Function))


def length(f: Function) -> int:
    """Lines of the body, without signature and docstring."""
    body = f.body[1:] if ast.get_docstring(f) is not None else f.body
    return 0 if not body else (body[-1].end_lineno or 0) - body[0].lineno + 1


def test_functions_fit_the_eye() -> None:
    sizes = [(length(f), f"{path.relative_to(ROOT)}:{f.name}") for path, f in functions()]
    lines = [n for n, _ in sizes]
    ninth = quantiles(lines, n=10)[-1]
    print(f"\nfunctions: {len(lines)}, median {median(lines)}, 90th percentile {ninth}, longest {max(sizes)}")
    assert [x for x in sizes if x[0] > 60] == []
    assert median(lines) <= 8
    assert ninth <= 30


def test_everything_is_typed() -> None:
    assert [f"{path.relative_to(ROOT)}:{f.name}" for path, f in functions() if f.returns is None] == []


def test_modules_and_public_names_have_docstrings() -> None:
    """A dataclass that reads as its name (a node of a tree) needs none; functions and modules do."""
    missing = [str(path.relative_to(ROOT)) for path in MODULES if ast.get_docstring(tree(path)) is None]
    for path in MODULES:
        for f in tree(path).body:
            if isinstance(f, Function) and not f.name.startswith("_") and ast.get_docstring(f) is None:
                missing.append(f"{path.relative_to(ROOT)}:{f.name}")
    assert missing == []


def test_nothing_evaluates_text() -> None:
    """No text of a spec can reach the interpreter. Only the packed search runs text, which it has lowered from the
    typed model, under names of its own making; and methods of our classes are made from the names of their fields."""
    ours = {ROOT / "fsmdsl/search/plain.py", ROOT / "fsmdsl/dataclasses.py"}
    calls = [
        f"{path.relative_to(ROOT)}:{n.lineno}"
        for path in MODULES
        if path not in ours
        for n in nodes(path)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in ("eval", "exec", "compile")
    ]
    assert calls == []
