"""What `check`, `verify` and `test` print for other programs: valid, stable, and safe with whatever a spec says."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from in_process import fsm
from test_cli import DOOR

from fsmdsl.check.all_rules import all_rules
from fsmdsl.cli.parser import cli
from fsmdsl.report.formats.markdown import cell, code, fenced, text

COMMANDS = ("check", "verify", "test")
FORMATS = ("concise", "json", "sarif", "junit", "github", "gitlab", "markdown")

STUCK = DOOR.replace("Shut -> Open on pull", "Shut -> Open on pull when false").replace(
    "reachable shut: door in Shut",
    "reachable open_again: door in Open  property lively: always eventually door in Open",
)
"""The door stays shut: no step leads on, and a property fails."""

HOSTILE = """\
module door

/// ]]> <script>alert(1)</script> ::error::x
machine Door "<b>|`" {
    initial state Open "]]>"
    state Shut "::warning file=a::b"
    event push, pull from environment
    Open -> Shut on push
    Shut -> Open on pull
}

system One { door: Door  invariant open: door in Open }

scenario entry "]]> <script>x</script> `|` @team #1 ::error::y, 100%\\u0007" {
    door: Door
    expect door in Shut
}
"""


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def quickly(*arguments: str, cwd: Path) -> Done:
    """As `fsm` in a process of its own, which would take its time to start. The folder is the current one."""
    assert cwd == Path.cwd()
    found = CliRunner().invoke(cli, list(arguments), prog_name="fsm")
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return Done(found.exit_code, found.stdout, found.stderr)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "door.fsm").write_text(DOOR)
    return tmp_path


def put(folder: Path, text: str) -> None:
    (folder / "specs" / "door.fsm").write_text(text, "utf-8")


def printed(folder: Path, command: str, form: str, *more: str) -> str:
    done = quickly(command, "--format", form, *more, cwd=folder)
    assert done.stderr == ""
    return done.stdout


def sarif(folder: Path, command: str, *more: str) -> dict[str, Any]:
    log = json.loads(printed(folder, command, "sarif", *more))
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    run: dict[str, Any] = log["runs"][0]
    return run


# All of them ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("form", FORMATS)
def test_the_same_every_time_and_exit_codes_stay(folder: Path, command: str, form: str) -> None:
    put(folder, STUCK.replace("expect door in Shut", "expect door in Open"))
    seconds = r'"seconds": [\d.]+|time="[\d.]+"'
    first, second = (quickly(command, "--format", form, cwd=folder) for _ in range(2))
    assert re.sub(seconds, "", first.stdout) == re.sub(seconds, "", second.stdout)
    assert first.stdout.endswith("\n")
    assert first.returncode == quickly(command, cwd=folder).returncode == 1


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("form", FORMATS)
def test_specs_with_errors_in_every_format(folder: Path, command: str, form: str) -> None:
    put(folder, DOOR.replace("Open -> Shut", "Open -> Shutt"))
    done = quickly(command, "--format", form, cwd=folder)
    assert (done.returncode, done.stderr) == (1, "")
    assert "FSM101" in done.stdout
    if command != "check" and form == "json":
        assert json.loads(done.stdout)["kind"] == "diagnostics"


def test_several_files_from_one_run(folder: Path) -> None:
    put(folder, STUCK)
    names = ("all.sarif", "all.xml", "all.json", "all.md", "all.txt")
    done = fsm("verify", *(f"--output={name}" for name in names), cwd=folder)
    assert done.returncode == 1
    assert done.stdout.startswith("violated  door.One")
    contents = {name: (folder / name).read_text("utf-8") for name in names}
    assert json.loads(contents["all.sarif"])["version"] == "2.1.0"
    assert ElementTree.fromstring(contents["all.xml"].encode()).tag == "testsuites"
    assert json.loads(contents["all.json"])["kind"] == "verify"
    assert contents["all.md"].startswith("### ✗ fsm verify: 1 system: 1 violated")
    assert contents["all.txt"].split() == done.stdout.split(), "as wide as it is, and as wide as the terminal"


def test_a_report_in_other_formats(folder: Path) -> None:
    put(folder, STUCK)
    files = ("--output=all.xml", "--output=all.json", "--output=all.sarif")
    done = quickly("report", "--out", "page", "--format", "text", cwd=folder)
    told = quickly("report", "--out", "page", *files, cwd=folder)
    assert (told.returncode, told.stdout) == (done.returncode, done.stdout) == (1, done.stdout)
    suites = [x.get("name") for x in ElementTree.parse(folder / "all.xml").getroot()]
    assert suites == ["checks", "door.One", "door"]
    found = json.loads((folder / "all.json").read_text("utf-8"))
    assert (found["kind"], found["passed"], found["systems"][0]["verdict"]) == ("report", 1, "violated")
    results = json.loads((folder / "all.sarif").read_text("utf-8"))["runs"][0]["results"]
    assert {"FSM302", "FSM307"} <= {r["ruleId"] for r in results}


def test_the_format_of_a_file(folder: Path) -> None:
    assert quickly("check", "--format", "markdown", "--output", "summary", cwd=folder).returncode == 0
    assert (folder / "summary").read_text("utf-8").startswith("### ✓ fsm check: ")
    unclear = quickly("check", "--output", "summary", cwd=folder)
    assert unclear.returncode == 2
    assert "cannot tell the output format from `summary`" in unclear.stderr


def test_a_limit_is_no_success_in_any_format(folder: Path) -> None:
    limit = ("--max-states", "1")
    assert printed(folder, "verify", "concise", *limit).endswith("1 system: 1 undecided\n")
    assert printed(folder, "verify", "markdown", *limit).startswith("### ? fsm verify")
    root = ElementTree.fromstring(printed(folder, "verify", "junit", *limit))
    assert int(root.get("errors", "")) == len(root.findall(".//error")) > 0
    levels = {r["level"] for r in sarif(folder, "verify", *limit)["results"]}
    assert levels == {"note"}


# Concise, GitHub, GitLab ---------------------------------------------------------------------------------------------


def test_concise(folder: Path) -> None:
    put(folder, DOOR.replace("Open -> Shut", "Open -> Shutt"))
    path = Path("specs/door.fsm")
    assert printed(folder, "check", "concise") == f"{path}:7:13: error[FSM101]: there is no state `Shutt`\n1 error\n"


def test_annotations(folder: Path) -> None:
    put(folder, STUCK)
    first, second, last = printed(folder, "verify", "github").splitlines()
    assert first.startswith("::error file=specs/door.fsm,line=13,endLine=13,")
    assert "title=FSM307 property-violated::`lively` is not true of every run" in first
    assert second.startswith(
        "::error file=specs/door.fsm,line=11,endLine=14,title=FSM302 deadlock::`One` can get stuck"
    )
    assert "%0A1  door.push   Open → Shut" in second
    assert last == "1 system: 1 violated"
    put(folder, DOOR.replace("Open -> Shut", "Open -> Shutt"))
    first = printed(folder, "check", "github").splitlines()[0]
    assert "line=7,endLine=7,col=13,endColumn=18," in first


def test_code_quality_of_gitlab(folder: Path) -> None:
    """https://docs.gitlab.com/ci/testing/code_quality/: these fields, unique fingerprints that outlive moved lines."""
    put(folder, STUCK)
    found = json.loads(printed(folder, "verify", "gitlab"))
    assert [set(x) for x in found] == [{"description", "check_name", "fingerprint", "severity", "location"}] * 2
    first = found[1]
    assert (first["check_name"], first["severity"], first["location"]) == (
        "FSM302 deadlock", "critical", {"path": "specs/door.fsm", "lines": {"begin": 11}}
    )  # fmt: skip
    assert len({x["fingerprint"] for x in found}) == 2
    put(folder, "\n\n" + STUCK)
    moved = json.loads(printed(folder, "verify", "gitlab"))
    assert [x["fingerprint"] for x in moved] == [x["fingerprint"] for x in found]
    assert moved[1]["location"]["lines"] == {"begin": 13}
    put(folder, DOOR)
    assert json.loads(printed(folder, "verify", "gitlab")) == []


# SARIF ---------------------------------------------------------------------------------------------------------------


def test_sarif_has_all_rules_with_their_pages(folder: Path) -> None:
    driver = sarif(folder, "check")["tool"]["driver"]
    assert [r["id"] for r in driver["rules"]] == list(all_rules())
    for rule in driver["rules"]:
        assert rule["help"]["markdown"] == all_rules()[rule["id"]].explanation.strip()
        assert rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("note", "warning", "error")


def test_sarif_results_name_rule_and_place(folder: Path) -> None:
    put(folder, DOOR.replace("Open -> Shut", "Open -> Shutt"))
    run = sarif(folder, "check")
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "FSM101"
    (location,) = result["locations"]
    physical = location["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "specs/door.fsm", "uriBaseId": "%SRCROOT%"}
    assert physical["region"] == {"startLine": 7, "startColumn": 13, "endLine": 7, "endColumn": 18}
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "door.Door"
    assert "did you mean `Shut`?" in result["message"]["text"]


def test_fingerprints_outlive_lines_and_tell_twins_apart(folder: Path) -> None:
    wrong = DOOR.replace("Open -> Shut on push", "Open -> Shutt on push  Shut -> Shutt on push")
    put(folder, wrong)
    before = [r["partialFingerprints"]["fsm/v1"] for r in sarif(folder, "check")["results"]]
    put(folder, wrong.replace("module door\n", "module door\n\n// more\n/// and more\n"))
    after = [r["partialFingerprints"]["fsm/v1"] for r in sarif(folder, "check")["results"]]
    assert before == after
    assert len(set(before)) == len(before) == 2


def test_counterexamples_are_code_flows(folder: Path) -> None:
    put(folder, STUCK)
    found = {r["ruleId"]: r for r in sarif(folder, "verify")["results"]}
    (flow,) = found["FSM302"]["codeFlows"]
    (thread,) = flow["threadFlows"]
    places = thread["locations"]
    assert [p["executionOrder"] for p in places] == list(range(1, len(places) + 1))
    told = [p["location"]["message"]["text"] for p in places]
    assert told == ["start", "1. door.push", "door: push Open → Shut"]
    assert [p["location"]["physicalLocation"]["region"]["startLine"] for p in places] == [11, 7, 7]
    assert [p.get("nestingLevel", 0) for p in places] == [0, 0, 1]
    assert places[1]["state"] == {"door": {"text": "Shut"}}
    assert "FSM307" in found


def test_paths_are_addresses(folder: Path) -> None:
    (folder / "specs" / "two words#1.fsm").write_text("machine {", "utf-8")
    uris = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in sarif(folder, "check")["results"]}
    assert uris == {"specs/two%20words%231.fsm"}
    (result, *_) = sarif(folder, "check", str(folder / "specs"))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "specs/two%20words%231.fsm"
    elsewhere = json.loads(fsm("check", str(folder / "specs"), "--format", "sarif").stdout)["runs"][0]["results"][0]
    artifact = elsewhere["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": f"file://{folder}/specs/two%20words%231.fsm"}


# JUnit ---------------------------------------------------------------------------------------------------------------


def cases(text: str) -> dict[str, ElementTree.Element]:
    return {case.get("name", ""): case for case in ElementTree.fromstring(text).iter("testcase")}


def test_a_case_for_each_rule(folder: Path) -> None:
    put(folder, DOOR.replace("Open -> Shut", "Open -> Shutt"))
    found = cases(printed(folder, "check", "junit"))
    assert {name for name, case in found.items() if case.find("failure") is not None} == {"FSM101 unknown-name"}
    assert "FSM201 unreachable-state" in found
    assert not any(name.startswith(("FSM3", "FSM4")) for name in found)
    assert "specs/door.fsm:7:13" in (found["FSM101 unknown-name"].findtext("failure") or "")


def test_a_case_for_each_verdict(folder: Path) -> None:
    put(folder, STUCK)
    text = printed(folder, "verify", "junit")
    found = cases(text)
    assert set(found) == {"reachable open_again", "property lively", "no step fails", "no deadlock"}
    assert "1  door.push   Open → Shut" in (found["no deadlock"].findtext("failure") or "")
    suite = ElementTree.fromstring(text)[0]
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("door.One", "4", "2")


def test_a_case_for_each_scenario(folder: Path) -> None:
    amended = DOOR.replace("    event push, pull", '    amends "doors break" state Broken\n    event push, pull')
    put(folder, amended + 'scenario force "it breaks" { door: Door in Broken }\n')
    found = cases(printed(folder, "test", "junit", "--as-documented"))
    assert found["entry: in and out"].find("*") is None
    skipped = found["force: it breaks"].find("skipped")
    assert skipped is not None
    assert "`Door` has no state `Broken`" in skipped.get("message", "")
    put(folder, DOOR.replace("expect door in Shut", "expect door in Open"))
    failure = cases(printed(folder, "test", "junit"))["entry: in and out"].find("failure")
    assert failure is not None
    assert "1  door.push" in (failure.text or "")


# Markdown ------------------------------------------------------------------------------------------------------------


def test_markdown_folds_the_runs_away(folder: Path) -> None:
    put(folder, STUCK)
    told = printed(folder, "verify", "markdown")
    assert "| ✗ failed | door.One | 2 states, exhaustive; failed: property lively, no deadlock |" in told
    assert "✗ **FSM302** `One` can get stuck where it may not rest (`specs/door.fsm:11`)" in told
    assert told.count("<details>") == told.count("</details>") == 2
    assert "```mermaid\nsequenceDiagram" in told


def test_many_findings_make_a_short_summary(folder: Path) -> None:
    rows = "\n".join(f"Open -> Nowhere{n} on push" for n in range(60))
    put(folder, DOOR.replace("    Open -> Shut on push", rows))
    told = printed(folder, "check", "markdown")
    assert "… and 40 more" in told
    assert len(told) < 10_000


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("a | b", r"a \| b"),
        ("`x | y`", "`x | y`"),
        ("<script>", r"\<script\>"),
        ("one ` tick", r"one \` tick"),
        ("@team #1 &amp;", "@<!-- -->team #<!-- -->1 &amp;amp;"),
        ("[a](http://b)", r"\[a\](http:<!-- -->//b)"),
        ("# no heading", r"\# no heading"),
        ("two\nlines", "two lines"),
    ],
)
def test_text_in_markdown(said: str, shown: str) -> None:
    assert text(said) == shown


def test_code_in_markdown() -> None:
    assert code("a`b|c") == "``a`b|c``"
    assert cell("`a|b` | \\") == r"`a\|b` \| \\"
    assert code("`") == "`` ` ``"
    assert fenced("```\n````", "text") == "`````text\n```\n````\n`````"


# Whatever a spec says ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_hostile_text(folder: Path, command: str) -> None:
    put(folder, HOSTILE)
    ElementTree.fromstring(printed(folder, command, "junit"))
    sarif(folder, command)
    told = printed(folder, command, "markdown")
    outside = re.sub(r"^(`{3,}).*?^\1$", "", told, flags=re.DOTALL | re.MULTILINE)
    assert "<script>" not in re.sub(r"`[^`]*`", "", outside).replace(r"\<script\>", "")
    assert not re.search(r"@team|#1", outside)
    for line in printed(folder, command, "github").splitlines():
        assert re.match(r"::(error|warning|notice) [^:]*::", line) or not line.startswith("::"), line


def test_control_characters_have_no_place_in_xml(folder: Path) -> None:
    put(folder, HOSTILE.replace("\\u0007", "\x07\x1b[31m"))
    for form in FORMATS:
        assert "\x1b" not in printed(folder, "check", form)
    assert "FSM002 unknown-character" in cases(printed(folder, "check", "junit"))


def test_a_carriage_return_ends_no_annotation(folder: Path) -> None:
    put(folder, HOSTILE.replace("`|`", "`|`\r::error::z"))
    assert "\r" not in printed(folder, "test", "github")
