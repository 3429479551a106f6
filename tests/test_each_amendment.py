"""`fsm verify --each-amendment`: which repair is needed for what."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from fsmdsl.cli import processes, repair_tables
from fsmdsl.cli.parser import cli
from fsmdsl.report.formats.schema import schemas
from fsmdsl.text.budget import Budget, LimitError

TEXT = """module desk

machine Desk {
    tries: 0..2
    lost:  bool
    initial state Free
            state Taken
    event take, leave, ring from environment

    t1: Free  -> Taken on take
    t2: Taken -> Free  on leave do lost = true
    t3: Taken on ring do tries = tries + 1

    amends bell "the bell is counted no further than two" replaces
        t3: Taken on ring when tries < 2 do tries = tries + 1
    amends kept "what was lost is found again" {
        event find from environment
    }
    amends kept_too "the desk is left as it was" replaces
        t2: Taken -> Free on leave
    amends "nobody asks for long" {
        t4: Free on find do lost = false
    }
    amends "nobody asks for long" {
        invariant few: tries <= 2
    }
}

machine Other { initial state Here }

system One {
    desk: Desk
    environment { desk.take when desk in Free  desk.leave  desk.ring }
    invariant nothing_lost: not desk.lost
    reachable taken: desk in Taken
}
system Two {
    others: Other[2]
    may rest when true
}
"""

TABLE = """\
desk.One
                        nothing_lost  failing step
  none                  violated      violated
  bell                  violated      holds
  kept                  violated      violated
  kept_too              holds*        violated
  nobody asks for long  -             -
  all                   holds         holds
  failing step: `tries` is out of range in `t3` of `Desk` (desk.fsm:12:5)
  holds wherever it was checked: invariant Desk: few*, reachable taken, no
    deadlock*
  * some steps fail in this row, and what would follow them is unknown
  nobody asks for long: there is no event `find` (desk.fsm:22:21)

desk.Two
  holds wherever it was checked: no deadlock, no step fails
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("desk.fsm")
    path.write_text(TEXT)
    return path


def each(*options: str) -> Result:
    return CliRunner().invoke(cli, ["verify", "desk.fsm", "--each-amendment", *options])


def test_a_row_for_each_repair(spec: Path) -> None:
    result = each()
    assert (result.stdout, result.exit_code) == (TABLE, 0)


def test_no_line_is_longer_than_80_columns(spec: Path) -> None:
    spec.write_text(
        TEXT.replace('"nobody asks', f'"{"what nobody has asked for since then, " * 3}and').replace(
            "reachable taken:",
            "".join(f"invariant never_lost_in_the_hall_{n}: not desk.lost " for n in range(4)) + "reachable taken:",
        )
    )
    lines = each().stdout.splitlines()
    assert sum("  none  " in line for line in lines) > 1
    assert max(map(len, lines)) <= 80


def test_the_code_is_that_of_all_repairs_together(spec: Path) -> None:
    spec.write_text(TEXT.replace("invariant few: tries <= 2", "invariant few: tries > 0"))
    result = each()
    row = next(line for line in result.stdout.splitlines() if line.startswith("  all "))
    assert row.split() == ["all", "holds", "violated", "holds"]
    assert result.exit_code == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("form", ["text", "json"])
def test_other_processes_find_the_same(form: str, spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = each("--jobs", "1", "--format", form)
    explore, here = repair_tables.explore, os.getpid()

    def elsewhere(*arguments: Any, **options: Any) -> Any:
        assert os.getpid() != here
        return explore(*arguments, **options)

    monkeypatch.setattr(repair_tables, "explore", elsewhere)
    monkeypatch.setattr(processes, "active_count", lambda: 1)  # threads of other tests may still be there
    together = each("--jobs", "2", "--format", form)
    assert (together.exit_code, untimed(together.stdout)) == (alone.exit_code, untimed(alone.stdout))


def untimed(text: str) -> str:
    return re.sub(r'"seconds": [\d.e-]+', "", text)


def test_a_deadlock_that_a_failing_step_hides_is_not_shown_to_be_absent(spec: Path) -> None:
    """Every step of `Free` fails, until a repair of it reaches the state in which none is possible. A witness is one
    wherever steps fail, and so is what fails."""
    spec.write_text(
        """module desk
machine Desk {
    n: 0..1
    initial state Free
            state Stuck
    event take from environment
    take: Free -> Stuck on take do n = n + 2
    amends fit "it fits" replaces take: Free -> Stuck on take
    amends back "it goes on" Stuck -> Free on take
}
system One { desk: Desk  invariant low: desk.n < 2  reachable free: desk in Free }
"""
    )
    result = each()
    assert result.stdout == (
        "desk.One\n"
        "        no deadlock  failing step\n"
        "  none  holds*       violated\n"
        "  fit   violated     holds\n"
        "  back  holds*       violated\n"
        "  all   holds        holds\n"
        "  failing step: `n` is out of range in `take` of `Desk` (desk.fsm:7:5)\n"
        "  holds wherever it was checked: invariant low*, reachable free\n"
        "  * some steps fail in this row, and what would follow them is unknown\n"
    )
    assert result.exit_code == 0
    page = (report("--each-amendment"), Path("out/index.html").read_text())[1]
    marks = re.findall(r'<span class="mark (\S+)">(holds\*?|violated)</span>', page.partition('class="repairs"')[2])
    assert marks[:4] == [("bounded", "holds*"), ("violated", "violated"), ("violated", "violated"), ("holds", "holds")]


def test_unknown_is_no_pass(spec: Path) -> None:
    result = each("--max-states", "1", "--system", "One")
    assert result.exit_code == 3
    assert "  all                   unknown" in result.stdout
    assert "holds  " not in result.stdout.replace("holds wherever", "")


def test_limits_are_for_the_whole_command(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All repairs come first; what the limit leaves out is unknown, and not left out of the table."""
    explore = repair_tables.explore

    def once(*given: Any, **options: Any) -> Any:
        result = explore(*given, **options)
        budget = next(x for x in given if isinstance(x, Budget))
        budget.stop("stopped after 9 seconds")
        return result

    monkeypatch.setattr(repair_tables, "explore", once)
    result = each("--system", "One")
    assert result.exit_code == 3
    rows = {line[2:24].strip(): set(line[24:].split()) for line in result.stdout.splitlines()[2:8]}
    assert rows == {
        "all": {"holds"},
        **{name: {"unknown"} for name in ("none", "bell", "kept", "kept_too", "nobody asks for long")},
    }


def test_json_has_every_answer(spec: Path) -> None:
    result = each("--format", "json")
    data = json.loads(result.stdout)
    jsonschema.validate(data, schemas()["verify"])
    one, two = data["repairs"]
    assert [x["name"] for x in data["systems"]] == ["One", "Two"]
    assert [(q["kind"], q["name"]) for q in one["questions"]] == [
        ("invariant", "nothing_lost"),
        ("invariant", "Desk: few"),
        ("reachable", "taken"),
        ("deadlock", "no deadlock"),
        ("fault", "failing step"),
    ]
    assert [(r["repairs"], r["name"], r["reason"]) for r in one["rows"]] == [
        ("none", None, None),
        ("one", "bell", "the bell is counted no further than two"),
        ("one", "kept", "what was lost is found again"),
        ("one", "kept_too", "the desk is left as it was"),
        ("one", None, "nobody asks for long"),
        ("all", None, None),
    ]
    assert [[x["line"] for x in r["amendments"]] for r in one["rows"]] == [[], [14], [16], [19], [21, 24], []]
    assert one["rows"][1]["outcomes"] == ["violated", None, "holds", "holds", "holds"]
    assert [r["fails"] for r in one["rows"]] == [True, False, True, True, False, False]
    assert one["rows"][4]["why"] == "there is no event `find` (desk.fsm:22:21)"
    assert [r["repairs"] for r in two["rows"]] == ["all"]
    other = json.loads(CliRunner().invoke(cli, ["verify", "desk.fsm", "--format", "json"]).stdout)
    assert other["repairs"] == []


def test_markdown_has_the_tables(spec: Path) -> None:
    spec.write_text(TEXT.replace("nobody asks", "<b>nobody</b> | asks"))
    page = each("--format", "markdown").stdout
    assert "| kept\\_too | holds\\* | violated |" in page
    assert "| | nothing\\_lost | failing step |\n| --- | --- | --- |\n| none | violated | violated |" in page
    assert "| \\<b\\>nobody\\</b\\> \\| asks for long | \\- | \\- |" in page
    assert "- holds wherever it was checked: invariant Desk: few" in page


@pytest.mark.parametrize(
    "options", [["--as-documented"], ["--without", "bell"], ["--all"], ["--save", "x"], ["--hide", "ring"]]
)
def test_options_that_make_no_sense_with_it(options: list[str], spec: Path) -> None:
    result = each(*options)
    assert result.exit_code == 2
    assert f"`--each-amendment` cannot be combined with `{options[0]}`" in result.stderr


def test_without_a_system_nothing_is_known(spec: Path) -> None:
    spec.write_text(TEXT.partition("system One")[0])
    result = each()
    assert result.exit_code == 3
    assert "no system to explore" in result.stdout


def test_a_repair_of_an_imported_module(spec: Path) -> None:
    """Those of the modules that a system needs count; another module's do not, whatever they need."""
    Path("far.fsm").write_text(
        """module far
import desk { Desk }
machine Lamp {
    initial state Dark
    state Lit
    event light from environment
    amends lit "it is lit" { event dim from environment  Dark -> Lit on light  ignore light in Lit }
    amends dim "it gets dark" Lit -> Dark on dim
}
system Far {
    desk: Desk
    may rest when true
    environment { desk.take when desk in Free  desk.leave when desk in Taken  desk.ring }
    invariant found: not desk.lost
}
system Lamps {
    lamp: Lamp
    may rest when true
    environment { lamp.light }
}
"""
    )
    result = CliRunner().invoke(cli, ["verify", "far.fsm", "--each-amendment"])
    far, _, lamps = result.stdout.partition("\n\n")
    assert [line.split("  ")[1] for line in far.splitlines()[2:8]] == [
        "none", "bell", "kept", "kept_too", "nobody asks for long", "all",
    ]  # fmt: skip
    assert "bell" not in lamps
    assert "dim: there is no event `dim`" in lamps.replace("\n    ", " ")


@pytest.mark.usefixtures("spec")
def test_a_table_is_no_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = each().stdout
    monkeypatch.setenv("COLUMNS", "40")
    narrow = each().stdout
    assert max(map(len, whole.splitlines())) > 40
    assert max(map(len, narrow.splitlines())) <= 40
    assert narrow.split() == whole.split()


# In the report -------------------------------------------------------------------------------------------------------


def report(*options: str) -> Result:
    return CliRunner().invoke(cli, ["report", "desk.fsm", "--out", "out", "--force", *options])


def table_of(page: str) -> list[list[str]]:
    """The texts of the cells of the first table of repairs."""
    table = page.partition('<table class="repairs">')[2].partition("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
    cells = (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows)
    return [[re.sub(r"<small>.*?</small>|<[^>]*>", "", x).strip() for x in row] for row in cells]


def test_the_report_has_the_table_when_asked(spec: Path) -> None:
    without = report()
    assert "Each amendment" not in Path("out/index.html").read_text()
    result = report("--each-amendment", "--format", "json")
    assert result.exit_code == without.exit_code
    page = Path("out/index.html").read_text()
    assert page.count("<h3>Each amendment</h3>") == 1
    lines = TABLE.splitlines()[1:8]
    assert table_of(page) == [re.split(r"  +", f"With{x}" if n == 0 else x.strip()) for n, x in enumerate(lines)]
    assert "holds wherever it was checked: invariant Desk: few" in page
    assert "there is no event <code>find</code>" in page
    assert "<small>what was lost is found again</small>" in page
    data = json.loads(result.stdout)
    assert data["repairs"] == json.loads(each("--format", "json").stdout)["repairs"][:1]


def test_the_report_explores_a_system_with_all_repairs_once(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    explore = repair_tables.explore
    rows: list[set[str]] = []

    def note(model: Any, *arguments: Any, **options: Any) -> Any:
        rows.append({t.name for t in model.machines["desk.Desk"].transitions if t.amended})
        return explore(model, *arguments, **options)

    monkeypatch.setattr(repair_tables, "explore", note)
    report("--each-amendment")
    assert rows == [set(), {"t3"}, set(), {"t2"}]


def test_text_of_amendments_is_escaped_on_the_page(spec: Path) -> None:
    spec.write_text(TEXT.replace("nobody asks", "<b>nobody</b> asks").replace("what was", "<i>what</i> was"))
    report("--each-amendment")
    page = Path("out/index.html").read_text()
    assert "<b>nobody" not in page
    assert "<i>what" not in page
    assert "&lt;b&gt;nobody&lt;/b&gt; asks for long" in page


def test_an_unknown_cell_of_the_report_is_no_pass(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any, **__: Any) -> Any:
        raise LimitError

    monkeypatch.setattr(repair_tables, "explore", stopped)
    spec.write_text(
        """module lamp
machine Lamp {
    initial state Dark
            state Lit
    event press from environment
    turn: Dark -> Lit on press
    amends off "the light can be put out" Lit -> Dark on press
}
system One { lamp: Lamp  environment { lamp.press } }
"""
    )
    assert report().exit_code == 0
    assert report("--each-amendment").exit_code == 3


def test_a_report_as_documented_has_no_repairs(spec: Path) -> None:
    result = report("--each-amendment", "--as-documented")
    assert (result.exit_code, "cannot be combined with `--as-documented`" in result.stderr) == (2, True)
