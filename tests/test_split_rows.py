"""`amends "…" replaces done: { … }`: one row of the document becomes several, under labels of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from fsmdsl.cli.parser import cli
from fsmdsl.core.priority import Priority
from fsmdsl.editor.editing.rename import changed, rename
from fsmdsl.editor.editing.session import OpenDocuments
from fsmdsl.model.workspace import load
from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

TEXT = """module work

machine Work {
    left: 0..2 = 2
    initial state Busy
            state Idle
    event go from environment

    done: Busy -> Idle  on go
    loop: Busy -> Busy  on go
    back: Idle -> Busy  on go
    priority done > loop

    amends parts "work ends when nothing is left" replaces done: {
        whole: Busy -> Idle  on go  when left == 0
        part:  Busy          on go  when left > 0  do left = left - 1
    }
}

system One {
    work: Work
    environment {
        work.go
    }
    invariant complete: work in Idle => work.left == 0
}
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "work.fsm"
    path.write_text(TEXT)
    return path


def rows(spec: Path, *without: str, as_documented: bool = False) -> list[tuple[str, bool]]:
    """The label of each row, and whether it is amended."""
    model = load([spec], without=without, as_documented=as_documented).model
    assert model is not None
    return [(t.name, t.amended is not None) for t in model.machines["work.Work"].transitions]


DOCUMENTED = [("done", False), ("loop", False), ("back", False)]


def test_the_rows_in_braces_take_its_place(spec: Path) -> None:
    assert rows(spec) == [("loop", False), ("back", False), ("whole", True), ("part", True)]
    assert rows(spec, as_documented=True) == DOCUMENTED


@pytest.mark.parametrize("name", ["parts", "Work.done", "Work.whole", "Work.part"])
def test_without_the_amendment_the_row_is_back(name: str, spec: Path) -> None:
    assert rows(spec, name) == DOCUMENTED


def test_priority_means_the_rows_in_its_place(spec: Path) -> None:
    assert load([spec]).diagnostics == ()
    model = load([spec]).model
    assert model is not None
    work = model.machines["work.Work"]
    rows = {t.name: t for t in work.transitions}
    order = Priority(work)
    assert [order.before(rows[x], rows["loop"]) for x in ("whole", "part")] == [True, True]
    assert [order.before(rows["loop"], rows[x]) for x in ("whole", "part")] == [False, False]
    assert CliRunner().invoke(cli, ["check", str(spec)]).exit_code == 0


def test_what_it_is_for(spec: Path) -> None:
    table = CliRunner().invoke(cli, ["verify", str(spec), "--each-amendment"])
    assert [line.split()[:2] for line in table.stdout.splitlines()[2:5]] == [
        ["none", "violated"],
        ["parts", "holds"],
        ["all", "holds"],
    ]


def test_the_formatter_keeps_it() -> None:
    assert format_source(parse(Source("work.fsm", TEXT.replace("    amends parts", "  amends   parts")))) == TEXT


@pytest.mark.parametrize("at", ["done: Busy", "done > loop", "done: {"])
def test_editors_rename_the_label_everywhere(at: str) -> None:
    documents = OpenDocuments()
    documents.open("work.fsm", TEXT)
    place = TEXT.index(at)
    renamed = changed(TEXT, list(rename(documents.analysis("work.fsm"), "work.fsm", place, "ended")))
    assert renamed == TEXT.replace("done", "ended")


@pytest.mark.parametrize("kind", ["replaces done: {", "replaces {"])
def test_an_amendment_inside_another_replaces_as_well(kind: str, spec: Path) -> None:
    """It added its rows and left the documented one in."""
    label = "whole" if kind == "replaces done: {" else "done"
    inside = TEXT.replace('amends parts "work', 'amends "all of it" { amends parts "work').replace(
        "left = left - 1\n    }", "left = left - 1\n    } }"
    )
    spec.write_text(
        inside.replace("replaces done: {", kind).replace("whole:", f"{label}:").replace("part:", f"{label}:")
    )
    assert load([spec]).diagnostics == ()
    assert rows(spec) == [("loop", False), ("back", False), (label, True), (label, True)]
    assert rows(spec, as_documented=True) == DOCUMENTED
