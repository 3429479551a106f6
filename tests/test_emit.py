"""Generated Python: what it looks like, what it imports, what it promises at run time.

`UPDATE=1 pytest tests/test_emit.py` rewrites the golden files; each begins with the spec that it was made from. That
the classes mean what `step` means is shown in tests/twin.
"""

from __future__ import annotations

import ast
import importlib
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from generating import ALONE, HIVED, Generated, write
from in_process import fsm
from loading import SPECS, model_of
from stepping import compiled

from fsmdsl import classes as emit
from fsmdsl import model as m
from fsmdsl.model.resolve import resolve
from fsmdsl.model.workspace import load
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

HERE = Path(__file__).parent
ROOT = HERE.parent
RULES = "E,F,W,I,B,UP,SIM,C4,PIE,RET,RUF,PT,PERF"
NOT_RULES = "SIM114,RUF001,RUF002,RUF003,RUF012,SIM108,RET505,PERF401"

# What it looks like --------------------------------------------------------------------------------------------------


FEATURES = (HERE / "twin" / "features.fsm").read_text("utf-8")


def is_copy(path: str) -> bool:
    """Is a file a module of the runtime?"""
    *_, folder, name = ("", *path.split("/"))
    return folder == "machinery" and name != "__init__.py"


@pytest.mark.parametrize(
    ("name", "target", "text"),
    [("python", "python", HIVED), ("transitions", "transitions", HIVED), ("features", "python", FEATURES)],
)
def test_golden(name: str, target: str, text: str) -> None:
    files = getattr(emit, target)(compiled(text), "hived" if text == HIVED else "features")
    own = {path: made for path, made in files.items() if not is_copy(path)}
    shown = "\n".join([text, *(f"----- {path}\n{made}" for path, made in own.items())])
    golden = HERE / "golden" / f"emit_{name}.txt"
    if os.environ.get("UPDATE"):
        golden.write_text(shown)
    assert shown == golden.read_text()


@pytest.mark.parametrize("folder", ["confine", "grove", "hived", "yunikorn"])
def test_the_committed_classes_are_those_of_the_specs(folder: str) -> None:
    model = load([ROOT / "specs" / folder]).model
    assert model is not None
    for module in model.modules:
        for path, text in emit.python(model, module.name).items():
            assert text == (ROOT / "generated" / path).read_text("utf-8"), f"{path}: run `make generate`"


def test_the_same_model_gives_the_same_text() -> None:
    first, second = (emit.python(compiled(HIVED), "hived") for _ in range(2))
    assert first == second
    assert list(first) == sorted(first)
    assert all(text.startswith(f"# {emit.MARK}") for text in first.values())


@cache
def all_of(target: str) -> dict[str, str]:
    """Every file for every spec there is."""
    model = model_of(SPECS, HERE / "twin", ROOT / "benchmarks" / "application.fsm")
    return {p: t for module in model.modules for p, t in getattr(emit, target)(model, module.name).items()}


@pytest.mark.full(reason="mypy and ruff over all classes; lint does so for those of the specs")
@pytest.mark.parametrize("target", ["python", "transitions"])
def test_types_and_lint_are_clean(target: str, tmp_path: Path) -> None:
    write(tmp_path, all_of(target))
    mypy = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--config-file=", "."]
    done = subprocess.run(mypy, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length=120", "--target-version=py311"]
    done = subprocess.run(
        [*ruff, f"--select={RULES}", f"--ignore={NOT_RULES}", "."], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


# What it imports -----------------------------------------------------------------------------------------------------


def test_a_package_imports_the_standard_library_and_itself() -> None:
    library = {"__future__", "_thread", "collections.abc", "enum", "functools", "itertools", "typing"}
    for path, text in all_of("python").items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                assert {a.name for a in node.names} <= {"sys", "threading"}, path
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                assert node.module in library, path


def test_a_package_can_be_copied_away_and_imports_nothing_slow(tmp_path: Path) -> None:
    write(tmp_path, all_of("python"))
    slow = {"typing", "dataclasses", "re", "inspect", "json", "datetime", "threading", "fsmdsl"}
    program = f"import sys; import hived; print(sorted(set(sys.modules) & {slow!r}))"
    away = tmp_path / "away"
    shutil.copytree(tmp_path / "hived", away / "hived")
    environment = {**os.environ, "PYTHONPATH": str(away)}
    command = [sys.executable, "-S", "-c", program]
    done = subprocess.run(command, cwd=away, capture_output=True, text=True, env=environment)
    assert done.stdout == "[]\n", done.stderr


def test_modules_that_refer_to_one_another_share_the_machinery_of_their_folder() -> None:
    texts = ["module a.b\nmachine M { initial state S  event go  S on go }",
             "module a.c\nimport a.b\nmachine N { m: a.b.M?  initial state S  event go  S on go do m.go }",
             "module d\nmachine M { initial state S  event go  S on go }"]  # fmt: skip
    found = resolve([parse(Source("x.fsm", t)).module for t in texts])
    assert found.model is not None, found.diagnostics
    files = {p for module in ("a.b", "a.c", "d") for p in emit.python(found.model, module)}
    assert {p for p in files if p.endswith("system.py")} == {"a/machinery/system.py"}
    assert {p for p in files if p.endswith("machinery/__init__.py")} == {
        "a/machinery/__init__.py",
        "d/machinery/__init__.py",
    }
    assert "from ..b.m import M" in emit.python(found.model, "a.c")["a/c/n.py"]


# Names and texts that mean harm --------------------------------------------------------------------------------------


def test_hostile_names_and_texts_stay_text(tmp_path: Path) -> None:
    """A spec of keywords, builtins, quotes and backslashes. The types and the lint of its code are looked at above."""
    model = load([HERE / "twin" / "hostile.fsm"]).model
    assert model is not None
    for path, content in {**emit.python(model, "class.def"), **emit.transitions(model, "class.def")}.items():
        ast.parse(content, path)
    write(tmp_path, emit.python(model, "class.def"))
    program = (
        "from class_.def_ import Lambda, Lambda_, System\n"
        "class Actions:\n"
        "    def yield_(self, machine, n): print('yield', n)\n"
        "    def return_(self, machine): return 'raise'\n"
        "x = Lambda(System(), Actions())\n"
        "x.init(); x.class_(); x.open(2, True); print(x, x.none)\n"
        "y = Lambda_(); y.s(); y.s_(); print(y)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    wanted = ["yield 1", "yield 2", "yield 1", "<Lambda 0: free> 2", "<Lambda_: S>"]
    assert run.stdout.splitlines() == wanted, run.stderr
    assert not (tmp_path / "harmed").exists()


# The transitions library, mypyc --------------------------------------------------------------------------------------


def test_the_table_runs_in_the_transitions_library(tmp_path: Path) -> None:
    made = Generated(tmp_path, HIVED, emit.transitions)
    cell_file, group_file = made["cell"], made["affinity_group"]
    told: list[str] = []

    class Cell(cell_file.Cell):  # type: ignore[name-defined, misc]
        def action_allocate(self, to: Any) -> None:
            told.append(f"allocate {to.priority}")

    cell, group = Cell(), group_file.AffinityGroup(priority=3)
    cell_file.build(cell)
    group_file.build(group)
    assert group.schedule(frozenset([cell]))
    assert (group.state, cell.state, cell.user, told) == ("Allocated", "Used", group, ["allocate 3"])


NESTED = """module nested
machine Up_Down {
    peer: Up_Down?
    initial state Down
    state Up {
        initial state Up_Slow
        state Fast
    }
    event go, back, ping from environment
    event poke from Up_Down
    action warm, cool
    Down -> Up on go
    Up_Slow -> Fast on go when peer in Up
    Up -> Down on back do { if peer != none { peer.poke } }
    Up -> Up on poke
    Fast -> Down after 5s
    * on ping do warm
    on entry(Up) do warm
    on exit(Up) do cool
    ignore poke in *
    invariant Up or peer == none
}
"""


def test_states_in_states_run_in_the_transitions_library(tmp_path: Path) -> None:
    made = Generated(tmp_path, NESTED, emit.transitions)["up_down"]
    told: list[str] = []

    class Model(made.UpDown):  # type: ignore[name-defined, misc]
        def action_warm(self) -> None:
            told.append("warm")

        def action_cool(self) -> None:
            told.append("cool")

    first, second = Model(), Model()
    made.build(first)
    made.build(second)
    first.peer = second
    assert first.go()
    assert not first.go()
    second.go()
    assert first.go()
    assert (first.state, second.state, first.is_Up()) == ("Up.Fast", "Up.Up_Slow", False)
    assert first.is_Up(allow_substates=True)
    told.clear()
    assert first.back()
    assert (first.state, second.state, told) == ("Down", "Up.Up_Slow", ["cool", "cool", "warm"])
    assert '"source": "*"' in emit.transitions(compiled(NESTED), "nested")["nested/up_down.py"]
    told.clear()
    assert first.ping()
    assert second.ping()
    assert (first.state, second.state, told) == ("Down", "Up.Up_Slow", ["warm", "warm"])


def test_the_command_says_what_the_transitions_library_does_not_do(tmp_path: Path) -> None:
    rounds = "machine Round { initial state A  state B  event go from environment  A -> B on go  B -> A when true }"
    (tmp_path / "nested.fsm").write_text(NESTED + rounds)
    done = fsm("generate", "nested.fsm", "--target", "transitions", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "6 files in generated, 6 changed\n")
    assert done.stderr.splitlines() == [
        "left out: nested.fsm:21:5: the invariant `Up or peer == none`",
        "left out: nested.fsm:16:5: the time of `after 5s` of `Fast`: call `time_out_fast` when it is up",
        "left out: nested.fsm:23:84: the machine `Round`: it has rows without events",
    ]
    assert "Left out, as the library cannot run them: Round." in (tmp_path / "generated/nested/__init__.py").read_text()
    assert fsm("generate", "nested.fsm", "--out", "classes", cwd=tmp_path).stderr == ""


def compile_with_mypyc(folder: Path, package: str) -> None:
    environment = {**os.environ, "MYPYC_OPT_LEVEL": "0"}
    command = [str(Path(sys.executable).with_name("mypyc")), "--strict", package]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="mypyc needs a C compiler")


@pytest.mark.full(reason="a C compiler")
@needs_gcc
def test_mypyc_compiles_the_classes_unchanged(tmp_path: Path) -> None:
    write(tmp_path, emit.python(compiled(ALONE), "alone"))
    compile_with_mypyc(tmp_path, "alone")
    program = (
        "import alone.light, alone\n"
        "assert alone.light.__file__.endswith('.so')\n"
        "x = alone.Light(); x.toggle(); x.dim(2); print(x, x.level)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert run.stdout == "<Light: On> 2\n", run.stderr


@needs_gcc
@pytest.mark.skipif(not os.environ.get("SLOW"), reason="takes a minute: SLOW=1 pytest tests/test_emit.py")
def test_mypyc_compiles_everything(tmp_path: Path) -> None:
    write(tmp_path, all_of("python"))
    for package in sorted(p.name for p in tmp_path.iterdir() if p.is_dir()):
        compile_with_mypyc(tmp_path, package)


def test_every_machine_of_the_model_has_a_class(tmp_path: Path) -> None:
    model = model_of(SPECS)
    write(tmp_path / "all_specs", all_of("python"))
    sys.path.insert(0, str(tmp_path))
    for module in model.modules:
        package = importlib.import_module(".".join(("all_specs", *emit.folder(module.name))))
        assert {x.name for x in module.machines} <= set(package.__all__)
    assert isinstance(model, m.Model)
