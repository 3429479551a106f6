"""Amendments with a name of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from fsmdsl.cli.parser import cli
from fsmdsl.editor.editing.hover import hover
from fsmdsl.editor.editing.rename import changed, rename
from fsmdsl.editor.editing.session import OpenDocuments
from fsmdsl.model.resolve import resolve
from fsmdsl.model.workspace import load
from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

TEXT = """module desk

machine Desk {
    initial state Free
            state Taken
    event take, leave, ring from environment

    t1: Free  -> Taken  on take
    t2: Taken -> Free   on leave

    amends bell "the bell rings" {
        t3: Taken  on ring
    }
    amends quiet "nobody hears it"  ignore ring in Free
    amends stop "leaving stops the bell" replaces
        t2: Taken -> Free  on leave
    amends "no name" t4: Taken -> Free  on take
}

locks Order {
    amends later "a later page adds it" operation open { write(Door) }
    Door > Room
}

system One {
    desk: Desk
    environment { desk.ring  desk.take when desk in Free }
    reachable rings: desk in Taken
}
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    file = tmp_path / "desk.fsm"
    file.write_text(TEXT)
    return file


@pytest.mark.parametrize(
    ("name", "gone"),
    [("bell", "t3"), ("desk.bell", "t3"), ("Desk.t3", "t3"), ("Desk.t4", "t4"), ("later", "open")],
)
def test_a_name_leaves_its_amendment_out(spec: Path, name: str, gone: str) -> None:
    whole, left = load([spec]), load([spec], without=[name])
    assert left.unanswered == {}
    assert whole.model is not None
    assert left.model is not None
    known, kept = (
        {*(t.name for t in x.machines["desk.Desk"].transitions), *(o.name for o in x.modules[0].locks[0].operations)}
        for x in (whole.model, left.model)
    )
    assert known - kept == {gone}


def test_what_it_replaces_stands_again(spec: Path) -> None:
    model = load([spec], without=["stop"]).model
    assert model is not None
    (t2,) = (t for t in model.machines["desk.Desk"].transitions if t.name == "t2")
    assert t2.amended is None


def test_commands_take_the_name(spec: Path) -> None:
    assert CliRunner().invoke(cli, ["verify", str(spec)]).exit_code == 0
    told = CliRunner().invoke(cli, ["verify", str(spec), "--without", "bell"])
    assert (told.exit_code, "violated: deadlock" in told.output) == (1, True)
    missing = CliRunner().invoke(cli, ["verify", str(spec), "--without", "bel"])
    assert (missing.exit_code, "did you mean `bell`?" in missing.output) == (2, True)


def test_each_is_declared_where_it_stands() -> None:
    uses = resolve([parse(Source("desk.fsm", TEXT)).module]).uses
    named = [(x.span.text, x.declares) for x in uses if x.meaning.kind == "amendment"]
    assert sorted(named) == [("bell", True), ("later", True), ("quiet", True), ("stop", True)]


def test_the_formatter_keeps_it() -> None:
    once = format_source(parse(Source("desk.fsm", TEXT)))
    assert '    amends bell "the bell rings" {\n' in once
    assert '    amends quiet "nobody hears it"\n' in once
    assert '    amends stop "leaving stops the bell" replaces\n' in once.replace("\n    replaces", " replaces")
    assert format_source(parse(Source("desk.fsm", once))) == once


def test_a_long_reason_stays_behind_the_name() -> None:
    reason = f'"leaving stops the bell {"again " * 13}"'
    once = format_source(parse(Source("desk.fsm", TEXT.replace('"leaving stops the bell"', reason))))
    assert f"    amends stop {reason}\n" in once
    assert format_source(parse(Source("desk.fsm", once))) == once


def test_editors_rename_it_and_show_the_reason() -> None:
    desk = OpenDocuments()
    desk.open("x.fsm", TEXT)
    at = TEXT.index("quiet")
    analysis = desk.analysis("x.fsm")
    shown = hover(analysis, "x.fsm", at)
    assert shown is not None
    assert "amends quiet" in shown.text
    assert "nobody hears it" in shown.text
    assert changed(TEXT, list(rename(analysis, "x.fsm", at, "still"))) == TEXT.replace("quiet", "still")


def test_a_shell_completes_it(spec: Path) -> None:
    line = {"_FSM_COMPLETE": "bash_complete", "COMP_WORDS": f"fsm verify {spec} --without b", "COMP_CWORD": "4"}
    told = CliRunner(env={**os.environ, **line}).invoke(cli, [], prog_name="fsm")
    assert told.output.split() == ["plain,bell"]
