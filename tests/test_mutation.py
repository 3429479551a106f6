"""The parts of the mutation campaign that decide what a mutant is tried with."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from mutation.relevance import _body, _statement
from mutation.server import exchanged

TEXT = """
LIMIT = 3

def outer(x):
    def inner(y):
        return y + 1
    return inner(x)

class Box:
    def __init__(self):
        self._n = 0

    @property
    def n(self):
        return self._n

    @n.setter
    def n(self, value):
        self._n = value

def first(x, step=1):
    return x + step
"""


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    path = tmp_path / "small.py"
    path.write_text(TEXT)
    spec = importlib.util.spec_from_file_location("small", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def change(module: ModuleType, before: str, after: str) -> int:
    """Mutate the file and exchange; how many functions have other code then."""
    assert module.__file__ is not None
    Path(module.__file__).write_text(TEXT.replace(before, after))
    return exchanged(Path(module.__file__), TEXT)


def test_a_function_gets_the_code_of_the_mutated_file(module: ModuleType) -> None:
    known = module.outer
    assert change(module, "y + 1", "y - 1") == 1
    assert known(5) == 4, "whoever imported it before has it, too"


def test_functions_of_one_name_are_told_apart(module: ModuleType) -> None:
    assert change(module, "self._n = value", "self._n = value + 1") == 1
    box = module.Box()
    box.n = 4
    assert box.n == 5


@pytest.mark.parametrize(("before", "after"), [("LIMIT = 3", "LIMIT = 4"), ("step=1", "step=2")])
def test_tables_and_defaults_cannot_be_exchanged(module: ModuleType, before: str, after: str) -> None:
    assert change(module, before, after) == 0


CODE = """def f(x):
    y = (
        1
        if x
        else 2
    )
    if (x and
            y):
        return 1
    match x:
        case 1 if y:
            return 3
        case _:
            return 4
"""


@pytest.mark.parametrize(
    ("line", "lines"), [(3, range(2, 7)), (8, range(7, 9)), (9, range(9, 10)), (11, range(11, 12)), (14, range(14, 15))]
)
def test_a_test_is_relevant_that_executes_any_line_of_the_statement(line: int, lines: range) -> None:
    assert _statement(ast.parse(CODE), line) == lines


def test_a_signature_is_not_in_the_body() -> None:
    tree = ast.parse(TEXT)
    assert _body(tree, TEXT.splitlines().index("def first(x, step=1):") + 1) is None
    assert _body(tree, 2) is None
    assert _body(tree, 6) == range(5, 8)
