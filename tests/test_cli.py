"""The command, used as a person would, with real files; where it matters, in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from in_process import fsm

from fsmdsl.cli import COMMANDS

ROOT = Path(__file__).parent.parent
DOOR = """\
module door

machine Door {
    initial state Open
    state Shut
    event push, pull from environment
    Open -> Shut on push
    Shut -> Open on pull
}

system One {
    door: Door
    reachable shut: door in Shut
}

scenario entry "in and out" {
    door: Door
    door.push
    expect door in Shut
    fails door.push with unhandled
}
"""


def process(*arguments: str, cwd: Path = ROOT, text: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fsmdsl", *arguments]
    return subprocess.run(command, cwd=cwd, input=text, capture_output=True, text=True, timeout=120)


def data(*arguments: str, cwd: Path = ROOT) -> dict[str, Any]:
    done = fsm(*arguments, "--format", "json", cwd=cwd)
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    assert found["version"] == 1
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "door.fsm").write_text(DOOR)
    return tmp_path


def test_help_names_every_command() -> None:
    done = process("--help")
    assert done.returncode == 0
    for name in COMMANDS:
        assert f"  {name} " in done.stdout


def test_the_documents_name_every_command_and_no_other() -> None:
    """The table says what `fsm --help` says."""
    page = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    rows = re.findall(r"^\| `fsm (\w+)` \| (.*) \|$", page, re.MULTILINE)
    assert dict(rows) == COMMANDS
    readme = (ROOT / "README.md").read_text("utf-8")
    assert set(re.findall(r"^\| `fsm (\w+)` \|", readme, re.MULTILINE)) <= COMMANDS.keys()


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, fsmdsl.cli; print([m for m in ('lark', 'jinja2', 'rich', 'graphviz', 'json') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n"


WITHOUT_FORMAT = {"export", "serve", "lsp", "import", "completion"}
"""Commands whose output is no report: it has no `--format`."""


@pytest.mark.daily
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    done = process(name, "--help")
    assert done.returncode == 0
    assert ("--format" in done.stdout) == (name not in WITHOUT_FORMAT)


def test_misuse_ends_with_2_and_says_what_to_do(folder: Path) -> None:
    for arguments in (
        ["chekc"],
        ["verify", "--system", "Onne"],
        ["verify", "--set", "doors"],
        ["verify", "--set", "x=1"],
    ):
        done = fsm(*arguments, cwd=folder)
        assert done.returncode == 2, arguments
        assert done.stdout == ""
        assert "Traceback" not in done.stderr
    assert "did you mean `check`" in fsm("chekc").stderr
    assert "did you mean `One`" in fsm("verify", "--system", "Onne", cwd=folder).stderr


def test_an_error_that_set_causes_says_so(folder: Path) -> None:
    (folder / "m.fsm").write_text(
        "module m machine M { param n: 1..3 initial state A event go from environment A on go } "
        "system S { ms: M[2] { n = 2 } }"
    )
    size = fsm("verify", "m.fsm", "--set", "ms=0", cwd=folder)
    assert (size.returncode, "`ms` has no instances" in size.stderr) == (1, True)
    assert "`--set ms=0` causes this: as it is written, the text is fine" in size.stderr
    value = fsm("verify", "m.fsm", "--set", "n=7", cwd=folder)
    assert "--> --set:1:1" in value.stderr
    assert "`--set n=7` causes this" in value.stderr
    assert fsm("verify", "m.fsm", "--set", "n=3", "--set", "n=1", cwd=folder).returncode == 2


def test_verify_and_test_take_what_the_files_given_have(folder: Path) -> None:
    machine = "machine M { initial state A event go from environment A on go }"
    (folder / "lib.fsm").write_text(f"module lib {machine} system Lib {{ m: M }} scenario l {{ m: M m.go }}")
    (folder / "use.fsm").write_text("module use import lib { M } system Use { m: M } scenario u { m: M m.go }")
    (folder / "bare.fsm").write_text("module bare import lib { M }")
    assert [x["name"] for x in data("verify", "use.fsm", cwd=folder)["systems"]] == ["Use"]
    assert [x["name"] for x in data("test", "use.fsm", cwd=folder)["scenarios"]] == ["u"]
    assert [x["name"] for x in data("verify", "use.fsm", "--system", "Lib", cwd=folder)["systems"]] == ["Lib"]
    assert [x["name"] for x in data("verify", "use.fsm", "lib.fsm", cwd=folder)["systems"]] == ["Use", "Lib"]
    assert "`--system lib.Lib` explores one of an imported module" in fsm("verify", "bare.fsm", cwd=folder).stdout


def test_check_clean(folder: Path) -> None:
    done = fsm("check", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 file, 1 machine, 2 transitions: clean" in done.stdout


def test_notes_that_are_counted_can_be_shown() -> None:
    hint = "3 notes (`--notes` prints them)\n"
    told, shown = (fsm("check", "specs/grove", *more).stdout for more in ((), ("--notes",)))
    assert told.endswith(hint)
    assert "note[" not in told
    assert "note[" in shown
    assert shown.endswith("3 notes\n")


def test_check_shows_the_place_and_the_remedy(folder: Path) -> None:
    (folder / "specs" / "door.fsm").write_text(DOOR.replace("Open -> Shut", "Open -> Shutt"))
    done = fsm("check", cwd=folder)
    assert done.returncode == 1
    assert "error[FSM101]" in done.stdout
    assert "specs/door.fsm:7:13" in done.stdout
    assert "|             ^^^^^" in done.stdout
    assert "did you mean `Shut`?" in done.stdout
    found = data("check", cwd=folder)
    assert found["summary"]["errors"] == 1
    assert found["diagnostics"][0]["line"] == 7


def test_check_reads_standard_input() -> None:
    assert process("check", "-", text=DOOR).returncode == 0
    assert process("check", "-", text="machine {").returncode == 1


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"", b"machine", b"\x00" * 100])
def test_bad_files_are_findings(folder: Path, content: bytes) -> None:
    (folder / "specs" / "bad.fsm").write_bytes(content)
    done = fsm("check", cwd=folder)
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stdout + done.stderr


def test_what_cannot_be_read_is_a_finding(folder: Path) -> None:
    (folder / "specs" / "folder.fsm").mkdir()
    done = fsm("check", cwd=folder)
    assert done.returncode == 1
    assert "error[FSM510]" in done.stdout
    (folder / "empty").mkdir()
    assert "error[FSM511]" in fsm("check", "empty", cwd=folder).stdout


def test_verify(folder: Path) -> None:
    done = fsm("verify", cwd=folder)
    assert done.returncode == 0
    assert "holds     door.One: 2 states, 2 transitions, depth 1" in done.stdout
    (system,) = data("verify", cwd=folder)["systems"]
    assert (system["name"], system["states"], system["transitions"], system["depth"]) == ("One", 2, 2, 1)
    assert system["verdict"] == "holds"


def test_verify_shows_a_shortest_run(folder: Path) -> None:
    (folder / "specs" / "door.fsm").write_text(
        DOOR.replace("reachable shut: door in Shut", "invariant open: door in Open")
    )
    done = fsm("verify", cwd=folder)
    assert done.returncode == 1
    assert "violated: invariant open" in done.stdout
    assert "1  door.push" in done.stdout


def test_a_limit_is_not_a_success() -> None:
    done = fsm("verify", "specs/hived", "--system", "Takeover", "--max-states", "20")
    assert done.returncode == 3
    assert "bounded" in done.stdout


def test_set_changes_sizes() -> None:
    small = data("verify", "specs/hived", "--system", "Takeover", "--set", "cells=1", "--set", "size=1")["systems"][0]
    assert small["states"] < data("verify", "specs/hived", "--system", "Takeover")["systems"][0]["states"]


def test_the_documents_hole_shows_in_its_shortest_form() -> None:
    """HiveD's missing self-loop on "Being preempted": one preemptor takes two cells of one victim."""
    found = data("verify", "specs/hived", "--system", "PreemptionSmall", "--as-documented")["systems"][0]
    (fault,) = [v for v in found["verdicts"] if v["kind"] == "fault"]
    assert (fault["outcome"], fault["name"]) == ("violated", "unhandled")
    assert [s["step"] for s in fault["trace"]["steps"]] == ["g0.schedule({c0, c1})", "g1.schedule({c0, c1})"]
    assert "`preempted` reaches g0 in `BeingPreempted`" in fault["explanation"][0]
    amended = data("verify", "specs/hived", "--system", "PreemptionSmall")["systems"][0]
    assert amended["verdict"] == "holds"


def test_scenarios(folder: Path) -> None:
    assert "1 scenario: all pass" in fsm("test", cwd=folder).stdout
    (folder / "specs" / "door.fsm").write_text(DOOR.replace("expect door in Shut", "expect door in Open"))
    done = fsm("test", cwd=folder)
    assert done.returncode == 1
    assert "error[FSM401]" in done.stdout
    assert "    0  start       door: Open\n    1  door.push   Open → Shut\n" in done.stdout, (
        "as `fsm verify` tells a run"
    )
    assert data("test", cwd=folder)["failed"] == 1


def test_scenarios_that_are_left_out_are_told(folder: Path) -> None:
    text = DOOR.replace("    event push, pull", '    amends "doors break" state Broken\n    event push, pull')
    text += 'scenario force "it breaks" { door: Door in Broken }\n'
    (folder / "specs" / "door.fsm").write_text(text.replace("door.push", "door.push", 1))
    done = fsm("test", "--as-documented", cwd=folder)
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [
            "1 scenario: all pass",
            "1 left out for referring to something that only an amendment declares; `--verbose` names them",
        ],
    )
    named = fsm("test", "--as-documented", "--verbose", cwd=folder).stdout
    assert "left out  door.force  it breaks\n    `Door` has no state `Broken`" in named
    (left,) = data("test", "--as-documented", cwd=folder)["left_out"]
    assert (left["name"], left["why"]) == ("force", "`Door` has no state `Broken`")
    (folder / "specs" / "door.fsm").write_text(DOOR[: DOOR.index("scenario")])
    assert fsm("test", cwd=folder).stdout == "no scenario to play\n"


def test_systems_that_are_left_out_are_told(folder: Path) -> None:
    amended = '    amends "doors break" { event force from environment  Open -> Shut on force }\n    event push, pull'
    text = DOOR.replace("    event push, pull", amended)
    text += "system Forced { door: Door environment { door.force door.push door.pull } }\n"
    (folder / "specs" / "door.fsm").write_text(text)
    assert "Forced" in fsm("verify", cwd=folder).stdout
    done = fsm("verify", "--as-documented", cwd=folder)
    told = "left out  door.Forced: it refers to something that only an amendment declares: `Door` has no event `force`"
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, told)
    assert len(done.stdout.splitlines()) == 2  # the other system is explored
    (left,) = data("verify", "--as-documented", cwd=folder)["systems_left_out"]
    assert (left["module"], left["name"], left["why"]) == ("door", "Forced", "`Door` has no event `force`")
    asked = fsm("verify", "--as-documented", "--system", "Forced", cwd=folder)
    assert asked.returncode == 2
    assert "as documented there is no system `Forced`: `Door` has no event `force`" in asked.stderr
    assert data("verify", cwd=folder)["systems_left_out"] == []
    # What only it uses is no mistake of the document.
    text = text.replace("machine Door", "let ajar(d: Door) = d in Open\nmachine Door")
    (folder / "specs" / "door.fsm").write_text(text.replace("door.force ", "door.force when ajar(door) "))
    assert fsm("check", "--as-documented", cwd=folder).returncode == 0


def test_verify_warns_of_what_is_not_put_to_the_test(folder: Path) -> None:
    (folder / "specs" / "door.fsm").write_text(
        DOOR.replace("reachable shut:", "invariant idle: door not in {Open, Shut} => ")
    )
    done = fsm("verify", cwd=folder)
    assert done.returncode == 0
    assert "warning[FSM306]: `idle` holds in `One`, but vacuously" in done.stdout
    (found,) = data("verify", cwd=folder)["diagnostics"]
    assert (found["code"], found["line"]) == ("FSM306", 13)


def test_list(folder: Path) -> None:
    (module,) = data("list", cwd=folder)["modules"]
    (machine,) = module["machines"]
    assert (module["name"], machine["name"], machine["states"]) == ("door", "Door", ["Open", "Shut"])
    assert machine["transitions"][0] == {
        "label": "push",
        "source": "Open",
        "target": "Shut",
        "trigger": "push",
        "guard": None,
        "internal": False,
        "amended": False,
    }
    assert "push  Open -> Shut  push" in fsm("list", cwd=folder).stdout


def test_explain() -> None:
    assert "unknown-name" in fsm("explain", "fsm101").stdout
    assert "FSM101" in fsm("explain").stdout
    assert fsm("explain", "FSM999").returncode == 2


def test_fmt(folder: Path) -> None:
    path = folder / "specs" / "door.fsm"
    path.write_text(DOOR.replace("    initial state Open", "  initial   state Open // first"))
    assert fsm("fmt", "--check", cwd=folder).returncode == 1
    assert "first" in fsm("fmt", "--diff", cwd=folder).stdout
    assert fsm("fmt", cwd=folder).returncode == 0
    assert re.search(r"^    initial state Open +// first$", path.read_text(), re.MULTILINE)
    assert fsm("fmt", "--check", cwd=folder).returncode == 0
    formatted = fsm("fmt", "-", text=DOOR).stdout
    assert formatted.split() == DOOR.split()
    assert fsm("fmt", "-", text=formatted).stdout == formatted


def test_fmt_leaves_broken_files_alone(folder: Path) -> None:
    path = folder / "specs" / "door.fsm"
    path.write_text("machine {")
    assert fsm("fmt", cwd=folder).returncode == 1
    assert path.read_text() == "machine {"


def test_generate(folder: Path) -> None:
    assert fsm("generate", "--check", cwd=folder).returncode == 1
    assert fsm("generate", cwd=folder).returncode == 0
    assert fsm("generate", "--check", cwd=folder).returncode == 0
    code = "from generated.door import Door; d = Door(); d.push(); print(d.state.name)"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.stdout == "SHUT\n"


def test_generate_says_which_package_has_another_name(folder: Path) -> None:
    (folder / "specs" / "door.fsm").write_text(DOOR.replace("module door", "module queue.class_"))
    done = fsm("generate", cwd=folder)
    note = "note: module `queue.class_` is generated as package `queue_.class_`, because Python uses that name"
    assert (done.returncode, done.stderr.splitlines()) == (0, [note])
    assert (folder / "generated" / "queue_" / "class_").is_dir()


def test_generate_removes_what_is_gone(folder: Path) -> None:
    fsm("generate", cwd=folder)
    mine = folder / "generated" / "mine.py"
    mine.write_text("# my own\n")
    (folder / "specs" / "gate.fsm").write_text(DOOR.replace("module door", "module gate"))
    (folder / "specs" / "door.fsm").unlink()
    assert fsm("generate", cwd=folder).returncode == 0
    assert not (folder / "generated" / "door" / "door.py").exists()
    assert (folder / "generated" / "gate").is_dir()
    assert mine.exists()


def test_draw(folder: Path) -> None:
    assert fsm("draw", "--out", "pictures", cwd=folder).returncode == 0
    assert "<svg" in (folder / "pictures" / "door.Door.svg").read_text()
    for form, start in (("dot", "digraph"), ("mermaid", "stateDiagram-v2"), ("plantuml", "@startuml")):
        done = fsm("draw", "--format", form, "--out", "-", cwd=folder)
        assert start in done.stdout
    assert (fsm("draw", "--format", "png", "--out", "pictures", cwd=folder).returncode) == 0
    assert (folder / "pictures" / "door.Door.png").read_bytes().startswith(b"\x89PNG")


def test_report(folder: Path) -> None:
    assert fsm("report", "--out", "page", cwd=folder).returncode == 0
    page = (folder / "page" / "index.html").read_text()
    assert "<svg" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page


@pytest.mark.full(reason="whole specs")
def test_the_report_shows_what_verify_shows(folder: Path) -> None:
    asked = "property open: always eventually door in Open under fair pull  property slow: always door in Open"
    (folder / "specs" / "door.fsm").write_text(DOOR.replace("reachable shut: door in Shut", asked))
    assert fsm("report", "--out", "page", cwd=folder).returncode == 1
    page = (folder / "page" / "index.html").read_text()
    told = fsm("verify", cwd=folder).stdout
    for line in told[told.index("start") :].splitlines()[:2]:
        assert line.strip() in page
    assert "depth 1: 1 state" in page
    assert 'id="door.One-run-' in page


def test_report_escapes_what_a_spec_says(folder: Path) -> None:
    hostile = DOOR.replace("machine Door {", '/// <script>alert("x")</script> {{ 7 * 7 }}\nmachine Door "<b>&" {')
    (folder / "specs" / "door.fsm").write_text(hostile)
    assert fsm("report", "--out", "page", cwd=folder).returncode == 0
    page = (folder / "page" / "index.html").read_text()
    assert "<script>" not in page
    assert "{{ 7 * 7 }}" in page
    assert "<b>&" not in page


def test_init_starts_a_folder_with_a_deadlock_that_only_verify_finds(tmp_path: Path) -> None:
    assert fsm("init", cwd=tmp_path).returncode == 0
    assert fsm("init", cwd=tmp_path).returncode == 2
    for command in ("check", "test"):
        assert fsm(command, cwd=tmp_path).returncode == 0, command
    assert fsm("fmt", "--check", cwd=tmp_path).returncode == 0
    done = fsm("verify", cwd=tmp_path)
    assert (done.returncode, "violated: deadlock" in done.stdout) == (1, True)


@pytest.mark.full(reason="a report in a terminal")
def test_a_report_shows_its_progress_on_a_terminal(folder: Path) -> None:
    """A search of many seconds is not silent; where no terminal shows it, nothing is written over."""
    import pty

    (folder / "door.fsm").write_text(
        "module door\nmachine Door { initial state Open  event push from environment  Open -> Open on push }\n"
        "system One { d: Door  environment { d.push } }\n",
        "utf-8",
    )
    command = [sys.executable, "-m", "fsmdsl", "report", "door.fsm", "--out", "page"]
    leader, end = pty.openpty()
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=end, env={**os.environ, "TERM": "xterm"})
    os.close(end)
    shown = os.read(leader, 100_000).decode()
    os.close(leader)
    assert done.returncode == 0
    assert "door.One: 0 states" in shown
    assert subprocess.run([*command, "--force"], cwd=folder, capture_output=True).stderr == b""
