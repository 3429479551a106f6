"""A label of the document means the rows that an amendment has put in its place, wherever a label can be named."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fsmdsl.cli.parser import cli
from fsmdsl.editor.editing.hover import hover
from fsmdsl.editor.editing.rename import changed, rename
from fsmdsl.editor.editing.session import OpenDocuments
from fsmdsl.interop.logs.binding import bind
from fsmdsl.interop.logs.explanation import explain
from fsmdsl.interop.logs.lines import lines
from fsmdsl.interop.logs.mapping import read
from fsmdsl.model.workspace import load
from fsmdsl.runs.simulation import subject
from fsmdsl.runs.simulation.refusals import why_not
from fsmdsl.step import Universe
from fsmdsl.text.source import Source

TEXT = """module work

machine Work {
    left: 0..2 = 2
    initial state Busy
            state Idle
    event go, rest from environment

    done: Busy -> Idle  on go
    wait: Busy          on rest
    late: Idle -> Busy  after 5s

    amends parts "work ends when nothing is left" replaces done: {
        whole: Busy -> Idle  on go  when left == 0
        Busy  on go  when left > 0  do left = left - 1
    }
    amends again "work begins again" replaces late: {
        full: Idle -> Busy  after 5s  when left == 0  do left = 2
    }
}

system One {
    work: Work
    environment {
        work.go
        work.rest
    }
    property ends: always eventually work in Idle under fair done, fair Work.late
}

scenario shift "a shift" of One {
    work.go
    via done
    work.go
    via done
    work.go
    via done
    expect work in Idle
    timeout work of late
    via late
}
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "work.fsm"
    path.write_text(TEXT)
    return path


def fsm(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(x) for x in arguments])


def universe(spec: Path, *without: str) -> Universe:
    loaded = load([spec], without=without)
    assert (loaded.model is not None, loaded.diagnostics) == (True, ())
    assert loaded.model is not None
    return Universe(loaded.model, loaded.model.systems["work.One"])


@pytest.mark.parametrize("option", [[], ["--as-documented"], ["--without", "again"]])
def test_fairness(option: list[str], spec: Path) -> None:
    """`wait` may be taken again and again; that `done` is not postponed forever is what ends the work."""
    result = fsm("verify", spec, *option)
    assert (result.exit_code, "holds     work.One" in result.stdout) == (0, True), result.output
    spec.write_text(TEXT.replace("fair done, ", ""))
    assert fsm("verify", spec, *option).exit_code == 1


def test_all_rows_in_its_place_are_one_promise(spec: Path) -> None:
    """`fair done` does not promise that `whole` is taken."""
    spec.write_text(
        TEXT.replace("do left = left - 1", "do left = 2").replace(
            "always eventually work in Idle", "eventually work in Idle"
        )
    )
    assert fsm("verify", spec).exit_code == 1
    spec.write_text(spec.read_text().replace("when left > 0 ", "when left > 1 "))
    assert fsm("verify", spec).exit_code == 1


def test_an_argument_of_its_event_can_be_promised(spec: Path) -> None:
    spec.write_text(
        TEXT.replace("event go, rest", "event go(n: 0..1), rest")
        .replace("work.go\n        work.rest", "some n in 0..1: work.go(n)\n        work.rest")
        .replace("fair done,", "fair done for each n,")
        .replace("    work.go\n    via", "    work.go(0)\n    via")
        .replace("on go", "on go(n)")
    )
    result = fsm("verify", spec)
    assert result.exit_code == 0, result.output


def test_the_second_judge_agrees(spec: Path) -> None:
    result = fsm("verify", spec, "--second-opinion", "graph")
    assert (result.exit_code, "4 confirmed" in result.stdout) == (0, True), result.output


def test_exported_formulas_promise_the_rows(spec: Path) -> None:
    documented = fsm("export", "--to", "promela", spec, "--as-documented")
    amended = fsm("export", "--to", "promela", spec)
    assert (documented.exit_code, amended.exit_code) == (0, 0), amended.output
    assert amended.stdout.count("[] (<>") == documented.stdout.count("[] (<>") > 0


@pytest.mark.parametrize("option", [[], ["--as-documented"]])
def test_scenarios(option: list[str], spec: Path) -> None:
    if option:
        spec.write_text(TEXT.replace("    work.go\n    via done\n" * 2, "", 1))
    result = fsm("test", spec, *option)
    assert result.exit_code == 0, result.output


def test_a_scenario_that_follows_another_row_fails(spec: Path) -> None:
    spec.write_text(TEXT.replace("via late", "via done"))
    result = fsm("test", spec)
    assert (result.exit_code, "the transitions followed since the last `via` are full" in result.output) == (1, True)


def test_why_a_timer_does_not_run(spec: Path) -> None:
    u = universe(spec)
    (first,) = u.starts
    assert why_not(u, first, "timeout work of late") == why_not(u, first, "timeout work of full")


def test_logs(spec: Path) -> None:
    mapping = """
        [[line]]
        when = { msg = "go" }
        instance = "work"
        event = "go"
        row = "done"
        [[line]]
        when = { msg = "late" }
        instance = "work"
        event = "timeout late"
    """
    model = universe(spec).model
    bound = read(Source("map.toml", mapping))
    text = "".join(f'{{"msg": "{x}"}}\n' for x in ("go", "go", "go", "late"))
    reading = bind(bound, Universe(model, subject(model, "One")))
    assert explain(reading, "run.log", lines(io.BytesIO(text.encode())), depth=0).outcome == "explained"


@pytest.mark.parametrize("at", ["done: Busy", "done, fair", "done\n    work.go\n    via done\n    expect", "done: {"])
def test_editors_rename_the_label_everywhere(at: str) -> None:
    documents = OpenDocuments()
    documents.open("work.fsm", TEXT)
    place = TEXT.index(at)
    analysis = documents.analysis("work.fsm")
    assert changed(TEXT, list(rename(analysis, "work.fsm", place, "ended"))) == TEXT.replace("done", "ended")
    content = hover(analysis, "work.fsm", TEXT.index("done, fair"))
    assert content is not None
    assert "whole: Busy -> Idle" in content.text
