"""What runs when: the tables are complete, and `make full` leaves nothing out."""

from __future__ import annotations

import os
import subprocess
import sys
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import quick
import slow_tests
import tiers
from choose_daily_tests import chosen
from mutation.areas import campaign
from mutation.relevance import Recording
from sources import ROOT, modules

TESTS = ROOT / "tests"


def test_every_folder_has_tests_in_make_quick() -> None:
    folders = {"/".join(p.relative_to(ROOT).parts[:2]) for p in modules("fsmdsl", "runtime") if p.parent.parent != ROOT}
    assert sorted(x for x in folders if not any(f"{x}/".startswith(f"{area}/") for area in quick.AREAS)) == []


def test_what_make_quick_names_is_there_and_in_make_test() -> None:
    names = {*quick.ALWAYS, *(x for tests in quick.AREAS.values() for x in tests)}
    assert sorted(x for x in names if not (TESTS / f"{x}.py").is_file() or tiers.is_full(TESTS / f"{x}.py")) == []
    assert sorted(x for x in quick.AREAS if not (ROOT / x).is_dir()) == []


def test_a_change_of_many_folders_runs_the_tests_of_the_first_few() -> None:
    folders = ("classes", "classes", "classes", "draw", "draw", "editor/lsp", "check", "check")
    files = [f"fsmdsl/{folder}/{n}.py" for n, folder in enumerate(folders)]
    tests = quick.concerned(files)
    assert {"tests/test_emit.py", "tests/test_draw.py", "tests/test_rules.py"} <= {*tests}
    assert "tests/test_lsp.py" not in tests


def test_in_eight_days_each_seed_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "ROTATION", 8)
    days = []
    for day in range(100, 100 + tiers.ROTATION):
        monkeypatch.setattr(tiers, "DAY", day)
        days.append([*tiers.today(range(50))])
    assert sorted(x for seeds in days for x in seeds) == [*range(50)]
    assert {len(tiers.today([1] * n)) for n in range(1, 8)} == {1}


def test_make_full_runs_all_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "ROTATION", 1)
    assert (tiers.today(range(50)), tiers.share(50)) == (range(50), 50)


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ('pytestmark = pytest.mark.full(reason="a browser")\n', True),
        ('pytestmark = [pytest.mark.full(reason="a browser"), needed]\n', True),
        ('pytestmark = [\n    pytest.mark.full(reason="a browser"),\n]\n', True),
        ("pytestmark = needed\n", False),
        ('@pytest.mark.full(reason="a browser")\ndef test_x() -> None: ...\n', False),
    ],
)
def test_a_file_for_make_full_is_known_by_its_text(text: str, full: bool, tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(text)
    (tmp_path / "other.py").write_text(text)
    assert tiers.is_full(tmp_path / "test_x.py") is full
    assert not tiers.is_full(tmp_path / "other.py")


@pytest.mark.parametrize(("tier", "rotation", "count"), [("full", "", 12), ("test", "", 2), ("full", "3", 6)])
def test_pytest_collects_what_belongs_to_the_tier(tier: str, rotation: str, count: int, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text("utf-8"))
    (tmp_path / "test_whole.py").write_text("import pytest\npytestmark = pytest.mark.full\ndef test_a() -> None: ...\n")
    (tmp_path / "test_some.py").write_text(
        "import pytest\nfrom tiers import today\n"
        "@pytest.mark.full(reason='size')\ndef test_a() -> None: ...\n"
        "def test_b() -> None: ...\n"
        "@pytest.mark.parametrize('seed', today(range(9)))\ndef test_c(seed: int) -> None: ...\n"
    )
    path = os.pathsep.join((str(TESTS), os.environ.get("PYTHONPATH", "")))
    environment = {**os.environ, "FSM_TESTS": tier, "FSM_ROTATION": rotation, "FSM_DAY": "3", "PYTHONPATH": path}
    command = [sys.executable, "-m", "pytest", "-p", "no:fsm", "-p", "no:cacheprovider", "--collect-only", "-q", "."]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert sum("::" in line for line in done.stdout.splitlines()) == count, done.stdout + done.stderr


SLOW = (
    "import pytest\n"
    "@pytest.mark.parametrize('case', range(7))\ndef test_a(case: int) -> None: ...\n"
    "def test_b() -> None: ...\n"
    "@pytest.mark.daily\ndef test_c() -> None: ...\n"
    "def test_quick() -> None: ...\n"
)


def collected(folder: Path, day: int, turns: str) -> set[str]:
    """What is collected of `SLOW`, of which all but the last test is slow."""
    names = [f"test_some.py::test_{x}" for x in "abc"]
    (folder / "conftest.py").write_text(
        f"{(TESTS / 'conftest.py').read_text('utf-8')}\n"
        f"slow_tests.slow_names = lambda: {names}\n"
        "slow_tests.daily_names = lambda: ['test_some.py::test_a[6]']\n"
    )
    (folder / "test_some.py").write_text(SLOW)
    path = os.pathsep.join((str(TESTS), os.environ.get("PYTHONPATH", "")))
    environment = {**os.environ, "FSM_TESTS": "test", "FSM_TURNS": turns, "FSM_DAY": str(day), "PYTHONPATH": path}
    command = [sys.executable, "-m", "pytest", "-p", "no:fsm", "-p", "no:cacheprovider", "--collect-only", "-q", "."]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return {line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line}


def test_slow_tests_take_turns(tmp_path: Path) -> None:
    slow = {*(f"test_a[{n}]" for n in range(6)), "test_b"}
    always = {"test_a[6]", "test_c", "test_quick"}
    days = [collected(tmp_path, day, "3") - always for day in (3, 4, 5)]
    assert sorted(x for day in days for x in day) == sorted(slow)
    assert [len([x for x in day if x != "test_b"]) for day in days] == [2, 2, 2]
    assert collected(tmp_path, 3, "") == slow | always


def test_slow_tests_take_turns_in_make_test_and_nowhere_else() -> None:
    uses = [line for line in (ROOT / "Makefile").read_text("utf-8").splitlines() if "FSM_TURNS" in line]
    assert [f"FSM_TURNS={tiers.TURNS_OF_MAKE_TEST} $(BIN)/pytest -n 2" in line for line in uses] == [True]


@pytest.mark.parametrize("file", [slow_tests.LIST, slow_tests.DAILY], ids=["slow", "daily"])
def test_slow_tests_are_listed_in_the_order_of_their_names_and_exist(file: Path) -> None:
    lines = file.read_text("utf-8").splitlines()
    assert lines == sorted({*lines})
    names = [slow_tests.function(line) for line in lines]
    texts = {path: (ROOT / path).read_text("utf-8") for path in {x.partition("::")[0] for x in names}}
    functions = [x.split("::") for x in names if x.count("::") == 1]  # those of a class may be inherited
    missing = ["::".join((path, name)) for path, name in functions if f"def {name}(" not in texts[path]]
    assert missing == [], f"take them out of {file.relative_to(ROOT)}"
    assert {*names} <= slow_tests.slow_names()


LINES = {
    "quick.py::test": 0b0001,
    "slow.py::test[long]": 0b1110,
    "slow.py::test[part]": 0b0110,
    "slow.py::test[cheap]": 0b1000,
    "slow.py::test[nothing new]": 0b0011,
    "slow.py::test[alone]": 0b10000,
}
SECONDS = dict(zip(LINES, (0.1, 9.0, 1.0, 0.1, 2.0, 60.0), strict=True))


@pytest.mark.parametrize(
    ("seconds", "names"), [(inf, ["cheap", "part", "alone"]), (1.0, ["cheap", "part"]), (0.1, ["cheap"])]
)
def test_slow_tests_that_alone_execute_a_line_run_each_day(seconds: float, names: list[str]) -> None:
    """`nothing new` adds a line to what is executed quickly, but no longer when `part` has been chosen."""
    recording = Recording(SECONDS, {"a.py": LINES}, {}, frozenset())
    slow = [test for test in LINES if test.startswith("slow.py")]
    assert chosen(recording, slow, seconds) == tuple(f"slow.py::test[{name}]" for name in names)


def test_lines_that_are_executed_by_imports_count_as_executed() -> None:
    recording = Recording(SECONDS, {"a.py": LINES}, {"a.py": {"quick.py": 0b10000}}, frozenset())
    assert "slow.py::test[alone]" not in chosen(recording, [*LINES][1:])


def test_slow_tests_are_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_tests, "LIST", tmp_path / "slow.txt")
    slow_tests.LIST.write_text("other.py::test_y\nsome.py::test_quick\n")
    stopwatch = slow_tests.Stopwatch()
    phases = (("test_quick", 0.5), ("test_x[1]", 0.5), ("test_x[1]", 1.7), ("test_x[2]", 0.1), ("test_z[1]", 0.9))
    for name, seconds in phases:
        stopwatch.pytest_runtest_logreport(
            cast("pytest.TestReport", SimpleNamespace(nodeid=f"some.py::{name}", duration=seconds * slow_tests.SECONDS))
        )
    stopwatch.pytest_sessionfinish()
    assert slow_tests.LIST.read_text().splitlines() == ["other.py::test_y", "some.py::test_x"]


def test_the_campaign_of_make_test_covers_every_module() -> None:
    of = campaign("test")
    assert {*of.files()} >= {p.relative_to(ROOT).as_posix() for p in modules("fsmdsl", "runtime")}
    assert of.area_of("fsmdsl/step/cascade.py") == "fsmdsl/step"
    assert of.area_of("fsmdsl/recheck.py") == "fsmdsl"
    likely, every = of.areas["fsmdsl/step"]
    assert "tests/test_core.py" in likely
    assert {*likely} <= {*every}
    assert "tests/test_models.py" not in every
