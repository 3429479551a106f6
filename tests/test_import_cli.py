"""`fsm import` and `fsm drift` as commands: exit codes, formats, files; and the tutorial does what it says."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from in_process import fsm

from fsmdsl.interop.imports import ImportFailedError
from fsmdsl.text.source import Source

ROOT = Path(__file__).parent.parent
CODE = """\
from transitions import Machine
door = Machine(
    states=["Open", "Shut", "Locked"],
    initial="Open",
    transitions=[
        ["push", "Open", "Shut"],
        ["pull", "Shut", "Open"],
        ["turn", "Shut", "Locked"],
    ],
)
"""
SPEC = """\
module door

machine Door {
    initial state Open
            state Shut
            state Bolted
    event push, pull, turn, unlock from environment
    Open   -> Shut    on push
    Shut   -> Bolted  on turn
    Bolted -> Shut    on unlock
    Shut              on pull
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "door.py").write_text(CODE)
    (tmp_path / "door.fsm").write_text(SPEC)
    return tmp_path


def test_the_tutorial(tmp_path: Path) -> None:
    """The sources of the page become the specs of the page; its Python runs."""
    page = (ROOT / "docs" / "import.md").read_text("utf-8")
    for name, text in re.findall(r"^```(?:python|mermaid) file=(\S+)\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        (tmp_path / name).write_text(text)
        done = fsm("import", name, "--out", f"{Path(name).stem}.fsm", cwd=tmp_path)
        assert done.returncode == 0
        assert f"$ fsm import {name} --out {Path(name).stem}.fsm\n{done.stderr}{done.stdout}" in page
        checked = fsm("check", f"{Path(name).stem}.fsm", cwd=tmp_path)
        assert checked.returncode == 0, checked.stdout
        assert fsm("verify", f"{Path(name).stem}.fsm", cwd=tmp_path).returncode == 0
        assert fsm("drift", f"{Path(name).stem}.fsm", name, cwd=tmp_path).returncode == 0
    for name, text in re.findall(r"^```fsm file=(\S+)\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        assert (tmp_path / name).read_text() == text
    code = "".join(re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    assert code.count("assert") == 2
    exec(compile(code, "import.md", "exec"), {})


def test_drift_names_each_row_with_places_in_both(folder: Path) -> None:
    done = fsm("drift", "door.fsm", "door.py", "--format", "json", cwd=folder)
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["kind"] == "drift"
    told = {x["message"] for x in found["diagnostics"]}
    assert told == {
        "Door: the state `Bolted` of the spec is `Locked` in the code",
        "Door: the row is `Shut on pull` in the spec, but `Shut -> Open on pull` in the code",
        "Door: the row `Bolted -> Shut on unlock` is in the spec, but not in the code",
    }
    text = fsm("drift", "door.fsm", "door.py", cwd=folder).stdout
    assert "--> door.fsm:11:5" in text
    assert "::: door.py:7:9" in text
    assert "1 removed, 1 changed, 1 renamed" in text


def test_who_leads_decides_where_the_findings_are(folder: Path) -> None:
    args = ("drift", "door.fsm", "door.py", "--rename", "Locked=Bolted", "--leads", "spec", "--format", "concise")
    done = fsm(*args, cwd=folder)
    assert done.returncode == 1
    assert re.findall(r"^(\S+?):(\d+)", done.stdout, re.MULTILINE) == [("door.py", "2"), ("door.py", "7")]


def test_drift_in_formats_of_others(folder: Path) -> None:
    args = ("--output", "d.sarif", "--output", "d.md", "--output", "d.xml")
    assert fsm("drift", "door.fsm", "door.py", *args, cwd=folder).returncode == 1
    (run,) = json.loads((folder / "d.sarif").read_text())["runs"]
    assert {x["ruleId"] for x in run["results"]} == {"FSM531"}
    assert {x["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for x in run["results"]} == {"door.fsm"}
    related = {y["physicalLocation"]["artifactLocation"]["uri"] for x in run["results"] for y in x["relatedLocations"]}
    assert related == {"door.py"}
    assert "FSM531" in (folder / "d.md").read_text()
    assert "FSM531" in (folder / "d.xml").read_text()


def test_no_drift(folder: Path) -> None:
    assert fsm("import", "door.py", "--out", "same.fsm", cwd=folder).returncode == 0
    done = fsm("drift", "same.fsm", "door.py", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "code and spec: the same\n")


def test_drift_lists_states_and_rows_of_the_code_without_effect(tmp_path: Path) -> None:
    rows = ('["start", "new", "running"]', '["finish", "running", "done"]', '["finish", "running", "new"]')
    (tmp_path / "job.py").write_text(f"""from transitions import Machine

machine = Machine(
    states=["new", "running", "lost", "done"],
    initial="new",
    transitions=[{", ".join(rows)}, ["recover", "lost", "running"]],
)
""")
    assert fsm("import", "job.py", "--out", "job.fsm", cwd=tmp_path).returncode == 0
    done = fsm("drift", "job.fsm", "job.py", "--output", "d.json", "--output", "d.xml", cwd=tmp_path)
    assert (done.returncode, "code and spec: the same" in done.stdout) == (0, True)
    assert [code for code in ("FSM524", "FSM525") if f"[{code}]" in done.stdout] == ["FSM524", "FSM525"]
    codes = [x["code"] for x in json.loads((tmp_path / "d.json").read_text())["diagnostics"]]
    assert sorted(codes) == ["FSM524", "FSM525"]
    assert 'failures="0"' in (tmp_path / "d.xml").read_text()


@pytest.mark.full(reason="many processes")
def test_misuse_and_sources_that_cannot_be_read(folder: Path) -> None:
    (folder / "empty.py").write_text("x = 1\n")
    (folder / "bad.py").write_text("def (:\n")
    (folder / "what.txt").write_text("hello\n")
    expected = {
        ("import", "nowhere.py"): 2,
        ("import", "door.py", "--module", "a b"): 2,
        ("import", "door.py", "--from", "nothing"): 2,
        ("drift", "door.fsm", "door.py", "--machine", "Window"): 2,
        ("drift", "door.fsm", "door.py", "--machine", "Door=Window"): 2,
        ("drift", "door.fsm", "door.py", "--rename", "x"): 2,
        ("import", "empty.py"): 1,
        ("import", "bad.py"): 1,
        ("import", "what.txt"): 1,
    }
    for arguments, code in expected.items():
        done = fsm(*arguments, cwd=folder)
        assert (done.returncode, done.stdout) == (code, ""), arguments
        assert "Traceback" not in done.stderr
        assert done.stderr.strip()
    assert " --> bad.py:1:1" in fsm("import", "bad.py", cwd=folder).stderr


def test_a_spec_is_not_written_over_a_link(folder: Path) -> None:
    (folder / "link.fsm").symlink_to(folder / "door.fsm")
    assert fsm("import", "door.py", "--out", "link.fsm", cwd=folder).returncode == 2
    assert (folder / "door.fsm").read_text() == SPEC


def test_without_the_extra_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from fsmdsl.interop.imports import go_package

    go_package._parser.cache_clear()
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    with pytest.raises(ImportFailedError) as caught:
        go_package.package("example.com/a", [Source("a.go", "package a")])
    assert caught.value.diagnostic.advice == "pip install 'fsmdsl[go]'"
    go_package._parser.cache_clear()


# What has no effect in the source ------------------------------------------------------------------------------------

ROWS = """from transitions import Machine

machine = Machine(
    states={states},
    initial="new",
    transitions=[
{rows}
    ],
)
"""


def findings(tmp_path: Path, name: str, text: str) -> tuple[list[tuple[str, str]], list[str], str]:
    """What an import warns of, as rules and places; what it leaves out; the last line of its output."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    source = Path(name).parent if name.endswith(".go") else Path(name)
    done = fsm("import", str(source), "--out", "x.fsm", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    warned = re.findall(r"^warning\[(FSM\d+)\]: .*\n *--> .*?:(\d+):\d+$", done.stderr, re.MULTILINE)
    checked = fsm("check", "x.fsm", cwd=tmp_path)
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout
    left_out = [x for x in done.stderr.splitlines() if x.startswith("left out")]
    return warned, left_out, done.stdout.splitlines()[-1]


def table(states: str, *rows: str) -> str:
    return ROWS.format(states=states, rows="\n".join(f"        {x}," for x in rows))


def test_dead_states_and_rows_are_findings_about_the_source(tmp_path: Path) -> None:
    rows = ('["start", "new", "running"]', '["finish", "running", "done"]', '["finish", "running", "new"]')
    text = table('["new", "running", "lost", "done"]', *rows, '["recover", "lost", "running"]')
    warned, left_out, summary = findings(tmp_path, "job.py", text)
    assert warned == [("FSM525", "9"), ("FSM524", "3")]
    assert (left_out, summary) == ([], "x.fsm: 1 machine, 2 without effect")
    spec = (tmp_path / "x.fsm").read_text()
    assert "// Without effect in the source:\n" in spec
    assert "Not carried over" not in spec


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        (['["go", ["new", "new"], "done"]'], ["7"]),
        (['["go", "new", "done"]', '["go", ["new", "done"], "new"]'], ["8"]),
        (['["go", "new", "done"]', '["go", "*", "new"]'], []),
        (['["go", "*", "done"]', '["go", "*", "new"]'], ["8"]),
        (['["go", "new", "done", "ready"]', '["go", "new", "new", "ready"]'], ["8"]),
        (['["go", "new", "done", "ready"]', '["go", "new", "new"]'], []),
        (['dict(trigger="go", source="new", dest="done", conditions="ready", unless="ready")'], ["7"]),
    ],
)
def test_rows_for_all_states_give_way_to_others(rows: list[str], lines: list[str], tmp_path: Path) -> None:
    rows = [*rows, '["back", "done", "new"]', '["on", "new", "done"]', '["rest", "new", "idle"]']
    warned, _, _ = findings(tmp_path, "job.py", table('["new", "done", "idle"]', *rows))
    assert warned == [("FSM525", x) for x in lines]


def test_a_go_table_with_sources_twice_and_a_dead_state(tmp_path: Path) -> None:
    pytest.importorskip("tree_sitter_go", reason="SKIPPED: Go sources need `tree-sitter-go`")
    text = """package job

import "github.com/looplab/fsm"

var job = fsm.NewFSM("new", fsm.Events{
	{Name: "start", Src: []string{"new", "new"}, Dst: "running"},
	{Name: "finish", Src: []string{"running"}, Dst: "done"},
	{Name: "finish", Src: []string{"running"}, Dst: "failed"},
	{Name: "recover", Src: []string{"lost"}, Dst: "running"},
}, fsm.Callbacks{})
"""
    warned, left_out, summary = findings(tmp_path, "job/job.go", text)
    assert warned == [("FSM525", "6"), ("FSM525", "7"), ("FSM524", "9")]
    assert (left_out, summary) == ([], "x.fsm: 1 machine, 3 without effect")


def test_a_dead_state_of_an_incomplete_table_is_no_finding(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(table('["new", "lost", "done"]', '["go", "new", "done"]', "more()"))
    done = fsm("import", "job.py", "--out", "x.fsm", cwd=tmp_path)
    assert (done.returncode, "FSM524" in done.stderr) == (3, False)
    assert "the state `lost`: no row that was read leads to it" in done.stderr
