"""Files to a model: folders, imports, settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsmdsl import syntax as s
from fsmdsl.model.workspace import load
from fsmdsl.syntax.settings import given_settings, setting

CELL = """\
module a.cells

machine Cell {
    param width: 1..9 = 1
    initial state Free
    event take from environment
    Free -> Free on take
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "cells.fsm").write_text(CELL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_imports_are_found_beside_and_above(folder: Path) -> None:
    (folder / "a" / "user.fsm").write_text("module a.user import a.cells system S { cells: a.cells.Cell[2] }")
    loaded = load(["a/user.fsm"])
    assert loaded.diagnostics == ()
    assert loaded.model is not None
    assert set(loaded.model.machines) == {"a.cells.Cell"}
    assert loaded.root_modules == {"a.user"}
    assert [p.source.name for p in loaded.parsed] == ["a/user.fsm", "a/cells.fsm"]


def test_names_can_be_imported_alone(folder: Path) -> None:
    (folder / "user.fsm").write_text("module user import a.cells { Cell } system S { cells: Cell[2] }")
    model = load(["user.fsm"]).model
    assert model is not None
    assert [i.name for i in model.systems["user.S"].instances] == ["c0", "c1"]


def test_a_cycle_of_imports_is_fine(folder: Path) -> None:
    (folder / "one.fsm").write_text(
        "module one import two enum A { x } machine M { f: two.B initial state S invariant f == y }"
    )
    (folder / "two.fsm").write_text("module two import one enum B { y } machine N { f: one.A initial state S }")
    loaded = load(["one.fsm"])
    assert loaded.diagnostics == ()


def test_a_missing_import_is_an_error(folder: Path) -> None:
    (folder / "user.fsm").write_text("module user import nowhere")
    (found,) = load(["user.fsm"]).diagnostics
    assert found.rule.code == "FSM108"


def test_the_same_module_twice_is_an_error(folder: Path) -> None:
    (folder / "b.fsm").write_text(CELL)
    found = load(["."]).diagnostics
    assert [d.rule.code for d in found] == ["FSM102"]


def test_a_file_with_errors_of_syntax_gives_no_further_errors(folder: Path) -> None:
    (folder / "user.fsm").write_text("module user import a.cells { Cell } system { c: Nothing }")
    assert {d.rule.code for d in load(["user.fsm"]).diagnostics} == {"FSM001"}


def test_settings_replace_sizes_and_parameters(folder: Path) -> None:
    (folder / "user.fsm").write_text("module user import a.cells { Cell } system S { cells: Cell[2] { width = 3 } }")
    loaded = load(["user.fsm"], settings=dict([setting("cells=4"), setting("width=5"), setting("depth=1")]))
    assert loaded.model is not None
    instances = loaded.model.systems["user.S"].instances
    assert len(instances) == 4
    assert [str(v) for _, v in instances[0].values] == [str(v) for _, v in instances[3].values]
    assert instances[0].values[0][1].value == 5  # type: ignore[union-attr]
    assert loaded.unanswered == {"depth": "no system has a set of instances or a parameter `depth`"}


SAME_NAME = """\
module same
machine Level { initial state Here event up from environment Here on up }
machine Proc { param levels: set<Level> initial state A event go from environment A on go }
system S { levels: Level[2] p: Proc { levels = levels } }
"""


def test_a_set_goes_before_a_parameter_of_its_name(folder: Path) -> None:
    (folder / "same.fsm").write_text(SAME_NAME)
    loaded = load(["same.fsm"], settings=given_settings(["levels=1"]))
    assert loaded.diagnostics == ()
    assert loaded.model is not None
    assert [i.name for i in loaded.model.systems["same.S"].instances] == ["l0", "p"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("p=2", "`p` is a single instance in `S`: only a set, as `p: Proc[2]`, has a size"),
        ("levels=yes", "`levels` is a set of instances in `S`: its size is a number"),
        ("depth=1", "no system has a set of instances or a parameter `depth`"),
    ],
)
def test_a_setting_that_nothing_answers_to_says_why(folder: Path, given: str, why: str) -> None:
    (folder / "same.fsm").write_text(SAME_NAME)
    assert list(load(["same.fsm"], settings=given_settings([given])).unanswered.values()) == [why]


def test_a_setting_is_given_once() -> None:
    with pytest.raises(ValueError, match="`levels` is given twice, as `levels=1` and as `levels = 2`"):
        given_settings(["levels=1", "levels = 2"])


def test_a_setting_out_of_range_is_an_error(folder: Path) -> None:
    (folder / "user.fsm").write_text("module user import a.cells { Cell } system S { cells: Cell[2] }")
    loaded = load(["user.fsm"], settings=dict([setting("cells=0")]))
    assert [d.rule.code for d in loaded.diagnostics] == ["FSM113"]


def test_setting_forms() -> None:
    assert setting("groups=5") == ("groups", s.Number(5))
    assert setting(" low = -3 ") == ("low", s.Number(-3))
    assert setting("lazy=true") == ("lazy", s.Word("true"))
    assert setting("policy=fifo") == ("policy", s.Name("fifo"))
    for wrong in ("groups", "=5", "groups=", "a b=1", "x=1+1", "x=__import__('os')"):
        with pytest.raises(ValueError, match=r"is not of the form|is neither"):
            setting(wrong)


def test_as_documented_leaves_amendments_out(folder: Path) -> None:
    (folder / "d.fsm").write_text(
        """
        machine D {
            count: 0..9
            initial state A
            event go, stop from environment
            e1: A -> A on go
            amends "the document forgets to count" replaces
                e1: A -> A on go when count < 9 do count = count + 1
            amends "stopping twice is fine" ignore stop in A
        }
        """
    )
    amended, documented = load(["d.fsm"]).model, load(["d.fsm"], as_documented=True).model
    assert amended is not None
    assert documented is not None
    (row,) = amended.machines["d.D"].transitions
    assert (row.label, row.amended) == ("e1", "the document forgets to count")
    assert amended.machines["d.D"].amendments == ("the document forgets to count", "stopping twice is fine")
    (row,) = documented.machines["d.D"].transitions
    assert (row.label, row.amended, row.guard) == ("e1", None, None)
    assert documented.machines["d.D"].ignores == ()


def test_nothing_but_text_is_read(folder: Path) -> None:
    (folder / "x.fsm").write_bytes(b"machine \xff")
    (found,) = load(["x.fsm"]).diagnostics
    assert (found.rule.code, found.span.source.name) == ("FSM510", "x.fsm")
