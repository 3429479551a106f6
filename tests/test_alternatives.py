"""Repairs of several amendments, and alternatives: of the repairs that replace the same row, one applies."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from fsmdsl.cli.parser import cli
from fsmdsl.editor.editing.hover import hover
from fsmdsl.editor.editing.rename import changed, rename
from fsmdsl.editor.editing.session import OpenDocuments
from fsmdsl.model.workspace import load
from fsmdsl.report.formats.schema import schemas

TEXT = """module work

machine Work {
    left: 0..2 = 2
    initial state Busy
            state Idle
    event go from environment

    done: Busy -> Idle  on go
    back: Idle -> Busy  on go

    amends parts "work ends when nothing is left" replaces done: {
        finished: Busy -> Idle  on go  when left == 0
        part:  Busy          on go  when left > 0  do left = left - 1
    }
    amends at_once "work is done in one go" replaces done: {
        at_once: Busy -> Idle  on go  do left = 0
    }
    amends "work begins again" replaces
        back: Idle -> Busy  on go  do left = 2
}

machine Boss {
    initial state Here
    event call from environment
    told: Here  on call
    amends at_once "the boss calls no more" {
        invariant quiet: true
    }
}

system One {
    work: Work
    boss: Boss
    environment {
        work.go
        boss.call
    }
    invariant complete: work in Idle => work.left == 0
}
"""

PARTS = ["finished", "part"]
AT_ONCE = ["at_once"]
IGNORED = "not taken work.at_once: `parts` also replaces `done` of Work, and comes first; `--without parts` takes it"


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("work.fsm")
    path.write_text(TEXT)
    return path


def verify(*options: str) -> Result:
    return CliRunner().invoke(cli, ["verify", "work.fsm", *options])


def rows(spec: Path, *without: str, as_documented: bool = False) -> list[str]:
    """The labels of the rows of both machines, and their invariants."""
    loaded = load([spec], without=without, as_documented=as_documented)
    assert (loaded.model is not None, loaded.unanswered) == (True, {})
    machines = [] if loaded.model is None else loaded.model.machines.values()
    return [x.name for machine in machines for x in (*machine.transitions, *machine.invariants)]


def test_the_first_applies(spec: Path) -> None:
    assert load([spec]).diagnostics == ()
    assert rows(spec) == [*PARTS, "back", "told"]


@pytest.mark.parametrize(
    ("without", "left"),
    [
        (["parts"], [*AT_ONCE, "back", "told", "quiet"]),
        (["Work.part"], [*AT_ONCE, "back", "told", "quiet"]),
        (["at_once"], [*PARTS, "back", "told"]),
        (["parts", "at_once"], ["done", "back", "told"]),
        (["parts", "work.fsm:16"], ["done", "back", "told", "quiet"]),
    ],
)
def test_without_takes_the_next_and_all_of_it(without: list[str], left: list[str], spec: Path) -> None:
    """A name means all its amendments, in every machine; a place means one of them."""
    assert rows(spec, *without) == left


def test_the_order_of_the_text_decides(spec: Path) -> None:
    spec.write_text(TEXT.replace("machine Work", "machine W").replace("machine Boss {", "machine Boss {", 1))
    first, second = TEXT.index("    amends parts"), TEXT.index("    amends at_once")
    after = TEXT.index('    amends "work begins')
    spec.write_text(TEXT[:first] + TEXT[second:after] + TEXT[first:second] + TEXT[after:])
    assert rows(spec) == [*AT_ONCE, "back", "told", "quiet"]


def test_a_repair_that_is_ignored_replaces_nothing(spec: Path) -> None:
    """`at_once` would replace `back`, too; as `parts` comes first, the next repair of `back` applies."""
    spec.write_text(
        TEXT.replace(
            'amends "work begins again"',
            'amends at_once "and once more" replaces back: { never: Idle on go }\n    amends "work begins again"',
        )
    )
    assert rows(spec) == [*PARTS, "back", "told"]
    assert rows(spec, "parts") == ["at_once", "never", "told", "quiet"]


def test_one_repair_may_replace_a_row_by_several_amendments(spec: Path) -> None:
    spec.write_text(TEXT.replace("amends at_once", "amends parts"))
    assert rows(spec) == [*PARTS, *AT_ONCE, "back", "told", "quiet"]


def test_as_documented_there_are_none(spec: Path) -> None:
    assert rows(spec, as_documented=True) == ["done", "back", "told"]
    assert "not taken" not in verify("--as-documented").stdout


def test_verify_says_which_is_not_taken(spec: Path) -> None:
    result = verify()
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, IGNORED)
    assert "not taken" not in verify("--without", "parts").stdout
    data = json.loads(verify("--format", "json").stdout)
    jsonschema.validate(data, schemas()["verify"])
    assert data["alternatives"] == [
        {
            "name": "at_once", "reason": "work is done in one go", "module": "work", "machine": "Work", "row": "done",
            "instead": "parts",
        }
    ]  # fmt: skip


def test_a_repair_without_a_name_goes_by_its_place(spec: Path) -> None:
    spec.write_text(TEXT.replace("amends parts", "amends"))
    last = verify().stdout.splitlines()[-1]
    assert last.endswith("`work ends when nothing is left` also replaces `done` of Work, and comes first; "
                         "`--without work.fsm:12` takes it")  # fmt: skip
    assert rows(spec, "work.fsm:12") == [*AT_ONCE, "back", "told", "quiet"]


TABLE = """\
work.One
                     complete
  none               violated
  parts              violated
  at_once            holds
  work begins again  violated
  all                violated
  all with at_once   holds
  holds wherever it was checked: invariant Boss: quiet, no deadlock, no step
    fails
"""


def test_each_amendment_tries_every_alternative(spec: Path) -> None:
    """By itself, and with all repairs of other rows. The exit code is that of the repairs that apply."""
    spec.write_text(TEXT.replace("when left == 0", "when left < 2").replace("when left > 0 ", "when left == 2 "))
    result = verify("--each-amendment")
    assert (result.stdout, result.exit_code) == (TABLE, 1)
    data = json.loads(verify("--each-amendment", "--format", "json").stdout)
    jsonschema.validate(data, schemas()["verify"])
    (one,) = data["repairs"]
    assert [(x["repairs"], x["name"], len(x["amendments"])) for x in one["rows"]] == [
        ("none", None, 0),
        ("one", "parts", 1),
        ("one", "at_once", 2),
        ("one", None, 1),
        ("all", None, 0),
        ("all", "at_once", 2),
    ]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("Busy -> Idle  on go  do left = 0", "`lef`"),
        ("Busy -> Gone  on go  do left = 0", "`Gone`"),
    ],
)
def test_what_is_wrong_in_one_that_does_not_apply_is_reported_once(wrong: str, message: str, spec: Path) -> None:
    spec.write_text(TEXT.replace("Busy -> Idle  on go  do left = 0", wrong.replace("left", "lef")))
    if message == "`Gone`":
        spec.write_text(TEXT.replace("Busy -> Idle  on go  do left = 0", wrong))
    (diagnostic,) = load([spec]).diagnostics
    assert message in diagnostic.message


def test_what_only_an_ignored_alternative_declares_is_explained(spec: Path) -> None:
    spec.write_text(
        TEXT.replace("at_once: Busy", "event hurry from environment\n        at_once: Busy").replace(
            "work.go\n", "work.go\n        work.hurry\n"
        )
    )
    (diagnostic,) = load([spec]).diagnostics
    assert diagnostic.span.text == "hurry"
    assert diagnostic.notes == (
        "`at_once` declares it, but does not apply, because `parts` also replaces `done`, and comes first",
    )
    assert load([spec], without=["parts"]).diagnostics == ()


def test_a_label_that_it_replaces_exists(spec: Path) -> None:
    spec.write_text(
        TEXT.replace("at_once: Busy", 'amends "more" replaces nope: { x: Idle on go }\n        at_once: Busy')
    )
    (diagnostic,) = load([spec]).diagnostics
    assert diagnostic.message == "no documented transition is labelled `nope`"


@pytest.mark.parametrize("name", ["left", "Busy", "done", "at_once: B", "go from"])
def test_editors_rename_in_those_that_do_not_apply(name: str) -> None:
    documents = OpenDocuments()
    documents.open("work.fsm", TEXT)
    word = name.split()[0].rstrip(":")
    renamed = changed(TEXT, list(rename(documents.analysis("work.fsm"), "work.fsm", TEXT.index(name), "other")))
    if word == "at_once":
        assert renamed == TEXT.replace("at_once: B", "other: B")
    else:
        assert word not in renamed.replace(f'"{word}', "").replace("is left", "").replace("is done", "").replace(
            "one go", ""
        )


def test_editors_rename_all_amendments_of_a_repair() -> None:
    documents = OpenDocuments()
    documents.open("work.fsm", TEXT)
    analysis, at = documents.analysis("work.fsm"), TEXT.index("amends at_once") + 8
    renamed = changed(TEXT, list(rename(analysis, "work.fsm", at, "quickly")))
    assert renamed == TEXT.replace("amends at_once", "amends quickly")
    content = hover(analysis, "work.fsm", at)
    assert content is not None
    assert "work is done in one go" in content.text
    assert "the boss calls no more" in content.text
    assert "*Does not apply:* parts also replaces done, and comes first" in content.text
    other = hover(analysis, "work.fsm", TEXT.index("amends parts") + 8)
    assert other is not None
    assert "Does not apply" not in other.text


def test_a_name_in_two_modules_is_ambiguous(spec: Path) -> None:
    Path("far.fsm").write_text('module far\nmachine Far { initial state Here amends parts "more" { state There } }\n')
    result = CliRunner().invoke(cli, ["verify", ".", "--without", "parts"])
    assert result.exit_code == 2
    assert "2 modules have `parts`; choose one: `--without far.parts` or `--without work.parts`" in result.stderr
    loaded = load(["."], without=["work.parts"])
    assert loaded.unanswered == {}


def test_the_report_lists_those_that_do_not_apply(spec: Path) -> None:
    assert CliRunner().invoke(cli, ["report", "work.fsm", "--out", "out"]).exit_code == 0
    page = Path("out/index.html").read_text()
    assert page.count("<h3>Alternatives</h3>") == 1
    assert "<code>parts</code> also replaces <code>done</code>, and comes first" in page
    spec.write_text(TEXT.replace("amends at_once", "amends parts"))
    CliRunner().invoke(cli, ["report", "work.fsm", "--out", "out", "--force"])
    assert "<h3>Alternatives</h3>" not in Path("out/index.html").read_text()


def test_files_without_a_module_line_are_two_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        Path(f"{name}.fsm").write_text(
            f'machine M{name} {{ initial state Here amends parts "more" {{ state There }} }}\n'
        )
    assert load(["."], without=["parts"]).unanswered == {
        "parts": "2 amendments have `parts`; choose one by its place: `--without a.fsm:1` or `--without b.fsm:1`"
    }


# Every command can take another ------------------------------------------------------------------------------------


def fsm(*arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments])


@pytest.mark.parametrize("option", [[], ["--without", "parts"]])
@pytest.mark.parametrize(
    "command",
    [
        ["list", "--format", "json"],
        ["draw", "--format", "mermaid", "--out", "out"],
        ["generate", "--out", "out"],
        ["export", "--to", "scxml", "--machine", "Work"],
    ],
)
def test_outputs_have_the_rows_that_apply(command: list[str], option: list[str], spec: Path) -> None:
    result = fsm(command[0], "work.fsm", *command[1:], *option)
    assert result.exit_code == 0, result.output
    files = (
        [x.read_text() for x in Path("out").rglob("*.*") if x.is_file() and "machinery" not in x.parts]
        if Path("out").exists()
        else []
    )
    text = "".join([result.stdout, *files])
    assert ("finished" in text, "at_once" in text) == (not option, bool(option))


def test_check_looks_at_the_rows_that_apply(spec: Path) -> None:
    spec.write_text(
        TEXT.replace("at_once: Busy -> Idle  on go  do left = 0", "at_once: Busy -> Idle  on go  do left = 3")
    )
    assert "FSM" not in fsm("check", "work.fsm").stdout
    assert "FSM" in fsm("check", "work.fsm", "--without", "parts").stdout


def test_scenarios_follow_the_rows_that_apply(spec: Path) -> None:
    spec.write_text(TEXT + 'scenario s "s" of One { work.go  via part  expect work in Busy }\n')
    assert fsm("test", "work.fsm").exit_code == 0
    assert fsm("test", "work.fsm", "--without", "at_once").exit_code == 0
    failing = fsm("test", "work.fsm", "--without", "parts")
    assert (failing.exit_code, "the transitions followed since the start are at_once" in failing.output) == (1, True)


def test_simulations_follow_the_rows_that_apply(spec: Path) -> None:
    for options, row in (((), "part"), (("--without", "parts"), "at_once")):
        result = CliRunner().invoke(cli, ["simulate", "work.fsm", *options], input=f"work.go\nsave {row}.fsm\n")
        assert row in result.output
        assert f"fsm test {row}.fsm work.fsm{''.join(f' {x}' for x in options)}" in result.output


@pytest.mark.parametrize("command", ["check", "draw", "export", "generate", "list", "simulate", "test"])
def test_a_name_of_no_repair_is_refused(command: str, spec: Path) -> None:
    result = fsm(command, "work.fsm", "--without", "part", *(["--to", "tla"] if command == "export" else []))
    assert (result.exit_code, "no amendment has `part`; did you mean `parts`?" in result.stderr) == (2, True)
