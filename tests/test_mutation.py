"""The parts of the mutation campaign that decide what a mutant is tried with."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest
from mutation.areas import campaign
from mutation.children import sitecustomize
from mutation.relevance import Promise, Recording, Relevant, _body, _statement, relevant
from mutation.server import exchanged, read
from mutation.tree import command

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


# Processes that tests start ------------------------------------------------------------------------------------------

MODULE = """import os
import threading

def one():
    return 1

def forked():
    if os.fork() == 0:
        one()
        os._exit(0)
    os.wait()

def threaded():
    thread = threading.Thread(target=one)
    thread.start()
    thread.join()

def killed():
    one()
    os.kill(os.getpid(), 9)
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "small.py").write_text(MODULE)
    return tmp_path


def noting(folder: Path) -> dict[str, str]:
    """The environment of a process that a test of the name `a` starts."""
    own = {sitecustomize.FILE: str(folder / "notes"), sitecustomize.TEST: "a", sitecustomize.FOLDERS: f"{folder}/"}
    return {**os.environ, **own, "PYTHONPATH": os.pathsep.join([sitecustomize.HERE, str(folder)])}


@pytest.mark.parametrize("call", ["one", "forked", "threaded", "killed"])
def test_a_process_notes_which_functions_run(small: Path, call: str) -> None:
    program = [sys.executable, "-c", f"import small; small.{call}()"]
    subprocess.run(program, env=noting(small), check=False)
    executed, blind = read(small / "notes")
    lines = {bits for test, path, bits in executed if (test, path) == ("a", str(small / "small.py"))}
    assert {1 << 4 | 1 << 5} <= lines
    assert not blind


def child_of(options: str, environment: str) -> str:
    """Code that starts a process of its own."""
    return (
        f"import os, subprocess, sys; subprocess.run([sys.executable, *{options.split()}, '-c', ''], env={environment})"
    )


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (child_of("", "None"), set()),
        (child_of("-P", "{**os.environ, 'A': 'b'}"), set()),
        (child_of("-I", "None"), {"a"}),
        (child_of("-B -S", "None"), {"a"}),
        (child_of("", "{}"), {"a"}),
        (child_of("", "{**os.environ, 'PYTHONPATH': '.'}"), {"a"}),
        ("import os, sys; os.execve(sys.executable, [sys.executable, '-c', ''], {})", {"a"}),
    ],
)
def test_who_starts_a_process_that_notes_nothing_is_blind(small: Path, code: str, expected: set[str]) -> None:
    subprocess.run([sys.executable, "-c", code], env=noting(small), check=True)
    assert read(small / "notes")[1] == expected


def test_a_process_that_can_write_nothing_is_blind(small: Path) -> None:
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); import small; small.one()"
    subprocess.run([sys.executable, "-B", "-c", code], env=noting(small), check=True)
    assert read(small / "notes")[1] == {"a"}


TESTS = """import os, subprocess, sys
import pytest
import small

@pytest.fixture(scope="module")
def server():
    small.three()
    yield
    small.four()

def test_itself(): small.one()
def test_process(): subprocess.run([sys.executable, "-c", "import small; small.two()"], check=True)
def test_blind(): subprocess.run([sys.executable, "-I", "-c", ""], check=True)
def test_first(server): pass
def test_second(server): small.two()
def test_fork():
    if os.fork() == 0:
        small.two()
        os._exit(0)
    os.wait()
def test_failing(): assert False
"""


def test_a_recording_has_what_tests_execute_in_any_process(tmp_path: Path) -> None:
    pytest.importorskip("coverage", reason="SKIPPED: pip install -r requirements/mutants.txt")
    for name, text in {
        "below/small.py": "".join(f"def {x}():\n    return 1\n" for x in ("one", "two", "three", "four")),
        "test_small.py": TESTS,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    paths = (tmp_path / "below", Path(sitecustomize.HERE).parent.parent, sitecustomize.HERE)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    done = subprocess.run(
        command("record", "whole.json", "below", "test_small.py"), cwd=tmp_path, env=environment, check=False
    )
    whole = json.loads((tmp_path / "whole.json").read_text())
    bits = {name.rpartition("_")[2]: int(some, 16) for name, some in whole["lines"]["below/small.py"].items()}
    lines = {name: {n for n in range(10) if some >> n & 1} & {2, 4, 6, 8} for name, some in bits.items()}
    assert lines == {"": set(), "itself": {2}, "process": {4}, "first": {6, 8}, "second": {4, 6, 8}, "fork": {4}}
    assert (whole["blind"], whole["broken"]) == (["test_small.py::test_blind"], ["test_small.py::test_failing"])
    assert done.returncode == 1


# The tests of a mutant -----------------------------------------------------------------------------------------------

FUNCTIONS = """LIMIT = 3

def one():
    return LIMIT

def two():
    return one()
"""


def chosen(line: int, kills: Mapping[str, int] = {}, likely: frozenset[str] = frozenset()) -> Relevant:
    """Those of the file above. `t.py` calls `one` when it is imported."""
    recording = Recording(
        seconds={"s.py::a": 1, "s.py::b": 2, "t.py::c": 3, "t.py::d": 4},
        lines={"x.py": {"s.py::a": 1 << 4, "s.py::b": 1 << 7 | 1 << 4}},
        collected={"x.py": {"s.py": 1 << 1, "t.py": 1 << 1 | 1 << 4}},
        blind={"t.py::d"},
    )
    return relevant(recording, "x.py", FUNCTIONS, line, Promise(Counter(kills), likely))


def test_relevant_are_the_tests_that_execute_a_line_and_the_blind_ones() -> None:
    assert chosen(7) == Relevant(("s.py::b", "t.py::d"), False, ())


def test_what_is_executed_by_an_import_concerns_all_tests_of_the_file_that_imports() -> None:
    found = chosen(4)
    assert (set(found.tests), found.imported) == ({"s.py::a", "s.py::b", "t.py::d"}, True)
    assert set(found.all) == {"s.py::a", "s.py::b", "t.py::c", "t.py::d"}


def test_what_no_function_contains_concerns_all_tests_and_first_those_of_the_module() -> None:
    assert chosen(1) == Relevant((), True, ("s.py::a", "s.py::b", "t.py::c", "t.py::d"))
    assert chosen(1, {"t.py::d": 9}).all == ("s.py::a", "s.py::b", "t.py::d", "t.py::c")


def test_tests_that_noticed_most_come_first_and_those_about_the_folder() -> None:
    assert chosen(4).tests == ("s.py::a", "s.py::b", "t.py::d")
    assert chosen(4, {"s.py::b": 9}).tests == ("s.py::b", "s.py::a", "t.py::d")
    assert chosen(4, likely=frozenset({"t.py"})).tests == ("t.py::d", "s.py::a", "s.py::b")


def test_a_campaign_that_records_needs_no_stage_that_a_later_one_contains() -> None:
    of = campaign("test")
    assert all(of.needed(area) == stages[-1:] for area, stages in of.areas.items())
    assert all(campaign("full").needed(area) for area in campaign("full").areas)
