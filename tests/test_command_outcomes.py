"""A command never says more than it knows: work that was left out, done twice, or cut short is no success."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner
from in_process import fsm
from markdown_blocks import blocks, commands, compare

from fsmdsl.cli.parser import cli
from tests.test_cli import DOOR, ROOT

MACHINE = """\
machine Lamp {
    initial state Off
    state On
    event flip from environment
    Off -> On, On -> Off on flip
}
"""


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    """A folder, with a folder inside it."""
    inner = tmp_path / "specs" / "inner"
    inner.mkdir(parents=True)
    (inner / "door.fsm").write_text(DOOR)
    (inner.parent / "lamp.fsm").write_text(f"module lamp\n{MACHINE}system One {{ lamp: Lamp }}\n")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    environment = {"HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, env=environment, check=True, capture_output=True)


# Files that are named twice ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "paths",
    [
        ("specs", "specs"),
        ("specs/inner", "specs"),
        ("specs", "specs/inner/door.fsm"),
        ("specs/inner/door.fsm", "specs/lamp.fsm", "specs/../specs/lamp.fsm"),
        ("specs", "link"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize(
    ("command", "once"),
    [
        (("check",), "2 files, 2 machines, 4 transitions: clean"),
        (("test",), "1 scenario: all pass"),
        (("fmt", "--check"), "would format specs"),
        (("draw", "--format", "dot"), "2 diagrams"),
        (("generate",), "files in generated"),
        (("list",), "machine lamp.Lamp"),
        (("verify",), "holds     lamp.One"),
    ],
    ids=lambda x: x[0] if isinstance(x, tuple) else "",
)
def test_a_file_counts_once(command: tuple[str, ...], once: str, paths: tuple[str, ...], specs: Path) -> None:
    (specs / "link").symlink_to("specs")
    done = fsm(*command, *paths, cwd=specs)
    assert done.returncode == (1 if command[0] == "fmt" else 0), done.stderr
    printed = done.stdout + done.stderr
    assert printed.count(once) == (2 if command[0] == "fmt" else 1), printed


def test_standard_input_is_read_once(tmp_path: Path) -> None:
    done = fsm("check", "-", "-", cwd=tmp_path, text=DOOR)
    assert (done.returncode, done.stdout) == (0, "1 file, 1 machine, 2 transitions: clean\n")


# Two versions that are one -------------------------------------------------------------------------------------------


def test_a_folder_alone_is_compared_with_the_last_commit(specs: Path) -> None:
    git(specs, "init", "--quiet")
    git(specs, "add", ".")
    git(specs, "commit", "--quiet", "-m", "first")
    same = fsm("diff", "specs", cwd=specs)
    assert (same.returncode, same.stdout) == (0, "same: HEAD:specs and specs say the same\n")
    (specs / "specs" / "lamp.fsm").write_text(
        "module lamp\n" + MACHINE.replace("On -> Off on flip", "On -> On on flip")
    )
    changed = fsm("diff", "specs", cwd=specs)
    assert changed.returncode == 1
    assert "machine lamp.Lamp" in changed.stdout


def test_a_folder_alone_outside_of_git_is_misuse(specs: Path) -> None:
    done = fsm("diff", "specs", cwd=specs)
    assert (done.returncode, done.stdout) == (2, "")
    assert "name both: `fsm diff OLD specs`" in done.stderr


@pytest.mark.parametrize("both", [("specs", "specs"), ("specs", "./specs"), ("-", "-")], ids=" ".join)
def test_files_are_not_compared_with_themselves(both: tuple[str, str], specs: Path) -> None:
    done = fsm("diff", *both, cwd=specs, text=DOOR)
    assert (done.returncode, done.stdout) == (2, "")
    assert "both versions are" in done.stderr


def test_a_report_lists_no_changes_since_itself(specs: Path) -> None:
    done = fsm("report", "specs", "--since", "specs", cwd=specs)
    assert done.returncode == 2
    assert "both versions are `specs` as it is on the disk" in done.stderr


COUNTER = """\
module counter
machine Counter {
    n: 0..40 = 0
    initial state Counting
    event up, down from environment
    up: Counting on up when n < 40 do { n = n + 1 }
    down: Counting on down when n > 0 do { n = n - 1 }
}
system One { counter: Counter  reachable full: counter.n == 40 }
"""


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_a_comparison_cut_short_is_not_the_same(form: str, tmp_path: Path) -> None:
    (tmp_path / "old.fsm").write_text(COUNTER)
    head, up, down, tail = re.split("(    up: .*\n)(    down: .*\n)", COUNTER)
    (tmp_path / "new.fsm").write_text(head + down + up + tail)
    done = fsm("diff", "old.fsm", "new.fsm", "--max-states", "5", "--format", form, cwd=tmp_path)
    assert done.returncode == 3
    if form == "json":
        assert json.loads(done.stdout)["undecided"] == ["behaviour of counter.One"]
    else:
        assert "no difference found, not compared to the end: behaviour of counter.One" in done.stdout
        assert "the same" not in done.stdout
    assert fsm("diff", "old.fsm", "new.fsm", cwd=tmp_path).returncode == 0


# Diagnostics ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["verify", "test", "draw", "generate", "list"])
def test_an_unreachable_state_is_a_warning(command: str, tmp_path: Path) -> None:
    (tmp_path / "lamp.fsm").write_text(
        f"module lamp\n{MACHINE.replace('state On', 'state On  state Broken')}system One {{ lamp: Lamp }}\n"
    )
    checked = fsm("check", "lamp.fsm", cwd=tmp_path)
    assert checked.returncode == 1
    assert "warning[FSM201]: `Broken` can never be entered" in checked.stdout
    assert fsm(command, "lamp.fsm", cwd=tmp_path).returncode == 0


# Nothing to verify ---------------------------------------------------------------------------------------------------


def test_a_file_without_a_system_is_not_verified(tmp_path: Path) -> None:
    (tmp_path / "lamp.fsm").write_text(MACHINE)
    done = fsm("verify", "lamp.fsm", cwd=tmp_path)
    assert done.returncode == 3
    assert "warning[FSM513]: no system to explore, so nothing was verified" in done.stdout
    assert "such as `system Main { first: Lamp }`" in done.stdout
    (tmp_path / "lamp.fsm").write_text(f"{MACHINE}system Main {{ first: Lamp }}\n")
    assert fsm("verify", "lamp.fsm", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("markdown", "### ? fsm verify: no system to explore"),
        ("junit", '<testsuites name="fsm verify" tests="1" failures="0" errors="1"'),
        ("sarif", '"ruleId": "FSM513"'),
        ("github", "title=FSM513 no-system::"),
        ("json", '"code": "FSM513"'),
    ],
)
def test_no_format_calls_that_a_success(form: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "lamp.fsm").write_text(MACHINE)
    done = fsm("verify", "lamp.fsm", "--format", form, cwd=tmp_path)
    assert done.returncode == 3
    assert text in done.stdout


def test_a_summary_does_not_tick_off_scenarios_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "lamp.fsm").write_text(MACHINE)
    done = fsm("test", "lamp.fsm", "--format", "markdown", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "### – fsm test: no scenario to play\n")


def test_an_empty_file_and_an_empty_folder_are_not_verified(tmp_path: Path) -> None:
    (tmp_path / "empty.fsm").write_text("")
    (tmp_path / "nothing").mkdir()
    file, folder = fsm("verify", "empty.fsm", cwd=tmp_path), fsm("verify", "nothing", cwd=tmp_path)
    assert (file.returncode, folder.returncode) == (3, 1)
    assert "write a machine, and a `system`" in file.stdout
    assert "`nothing` has no `.fsm` file" in folder.stderr


def test_systems_of_an_imported_module_are_named(specs: Path) -> None:
    (specs / "specs" / "user.fsm").write_text("module user\nimport lamp\n")
    done = fsm("verify", "specs/user.fsm", cwd=specs)
    assert done.returncode == 3
    assert "`--system lamp.One` explores one of an imported module" in done.stdout


# Files with errors ---------------------------------------------------------------------------------------------------

UNFINISHED = {
    "syntax": "module syntax\nmachine A {\n    initial state\n",
    "names": "module names\nmachine A { initial state X  event e from environment  X -> Y on e }\n",
    "user": "module user\nimport names\nmachine B { initial state X  event e from environment  X -> X on e }\n"
    "system One { b: B }\n",
    "overlaps": "module overlaps\nmachine B { initial state X  final state Y  event e from environment\n"
    "    a: X -> X on e\n    b: X -> Y on e\n}\nsystem One { b: B }\n",
}
LEFT_OUT = {
    "specs/names.fsm (1 error)",
    "specs/overlaps.fsm (1 error)",
    "specs/syntax.fsm (1 error)",
    "specs/user.fsm (it imports a file with errors)",
}


@pytest.fixture
def unfinished(specs: Path) -> Path:
    for name, text in UNFINISHED.items():
        (specs / "specs" / f"{name}.fsm").write_text(text)
    return specs


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (("verify",), "holds     lamp.One"),
        (("verify", "--max-states", "1"), "bounded   lamp.One"),
        (("test",), "1 scenario: all pass"),
        (("draw", "--format", "mermaid"), "2 diagrams"),
        (("generate",), "files in generated"),
        (("list",), "machine lamp.Lamp"),
        (("report",), "3 machines"),  # it shows the overlap
        (("export", "--system", "lamp.One", "--to", "tla"), "MODULE"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, tuple) else "",
)
def test_files_with_errors_do_not_stop_the_others(arguments: tuple[str, ...], printed: str, unfinished: Path) -> None:
    done = fsm(*arguments, "specs", cwd=unfinished)
    assert done.returncode == 1
    assert printed in done.stdout
    assert "there is no state `Y`" in done.stderr
    count, _, names = done.stderr.strip().split("\n")[-1].partition(" errors; left out: ")
    overlaps = {"specs/overlaps.fsm (1 error)"} if arguments[0] == "report" else set()
    assert (count, set(names.replace("`", "").split(", "))) == (str(3 - len(overlaps)), LEFT_OUT - overlaps)


def test_a_check_reports_on_every_file(unfinished: Path) -> None:
    done = fsm("check", "specs", cwd=unfinished)
    assert done.returncode == 1
    for code in ("FSM001", "FSM101", "FSM206"):
        assert f"error[{code}]" in done.stdout
    assert "3 errors; not checked further: " in done.stdout


def test_a_check_does_not_call_unused_what_an_unfinished_file_may_use(tmp_path: Path) -> None:
    machine = "machine Lamp { initial state Off  event flip from Hand  Off -> Off on flip }\n"
    (tmp_path / "lamp.fsm").write_text(f"module lamp\n{machine}machine Hand {{ initial state Idle }}\nlet limit = 3\n")
    (tmp_path / "room.fsm").write_text("module room\nimport lamp\nmachine Room {\n    initial state\n")
    done = fsm("check", "lamp.fsm", "room.fsm", cwd=tmp_path)
    assert "error[FSM001]" in done.stdout
    assert "FSM223" not in done.stdout
    assert "warning[FSM223]" in fsm("check", "lamp.fsm", cwd=tmp_path).stdout


@pytest.mark.parametrize("form", ["markdown", "junit", "sarif", "json"])
@pytest.mark.parametrize("command", ["verify", "test"])
def test_every_format_has_the_errors_and_the_results(command: str, form: str, unfinished: Path) -> None:
    done = fsm(command, "specs", "--format", form, cwd=unfinished)
    assert (done.returncode, done.stderr) == (1, "")
    for text in ("FSM001", "FSM101", "FSM206", *(("door",) if form != "sarif" else ())):
        assert text in done.stdout
    if form == "markdown":
        assert done.stdout.startswith(f"### ✗ fsm {command}: ")
        assert "; 3 errors in files that were left out" in done.stdout.split("\n")[0]
    if form == "junit":
        assert "it imports a file with errors" in done.stdout


def test_what_was_made_of_a_file_that_has_errors_now_is_kept(specs: Path) -> None:
    for command in (("generate",), ("draw", "--format", "dot")):
        assert fsm(*command, "specs", cwd=specs).returncode == 0
    (specs / "specs" / "lamp.fsm").write_text("module lamp\nmachine Lamp {\n")
    for command in (("generate",), ("draw", "--format", "dot")):
        done = fsm(*command, "specs", cwd=specs)
        assert (done.returncode, "removed" in done.stderr) == (1, False)
    assert (specs / "generated" / "lamp" / "lamp.py").exists()
    assert (specs / "diagrams" / "lamp.Lamp.dot").exists()
    assert fsm("generate", "specs", "--check", cwd=specs).returncode == 1


def test_two_modules_of_one_name_are_both_left_out(specs: Path) -> None:
    (specs / "specs" / "other.fsm").write_text(f"module lamp\n{MACHINE.replace('Lamp', 'Torch')}")
    done = fsm("list", "specs", cwd=specs)
    assert done.returncode == 1
    assert "door.Door" in done.stdout
    assert "lamp." not in done.stdout
    assert "`specs/lamp.fsm` (another file has the same module), `specs/other.fsm` (1 error)" in done.stderr


def test_a_file_that_cannot_be_read_does_not_stop_the_others(specs: Path) -> None:
    (specs / "specs" / "bytes.fsm").write_bytes(b"\xff\xfe")
    (specs / "specs" / "user.fsm").write_text("module user\nimport bytes\nsystem None { }\n")
    done = fsm("verify", "specs", cwd=specs)
    assert done.returncode == 1
    assert "holds     lamp.One" in done.stdout
    assert "error[FSM510]" in done.stderr
    assert "FSM108" not in done.stderr  # the module is there


@pytest.mark.parametrize(
    "arguments",
    [("verify", "--system", "user.One"), ("draw", "--machine", "B"), ("export", "--to", "scxml", "--machine", "B")],
    ids=lambda x: x[0],
)
def test_a_name_may_be_in_a_file_with_errors(arguments: tuple[str, ...], unfinished: Path) -> None:
    done = fsm(*arguments, "specs", cwd=unfinished)
    assert done.returncode == 2
    assert f"no file without errors has a {arguments[-2].removeprefix('--')} `{arguments[-1]}`" in done.stderr


def test_where_no_file_is_sound_nothing_is_done(unfinished: Path) -> None:
    for command in ("verify", "test", "draw", "generate", "list", "report"):
        done = fsm(command, "specs/names.fsm", "specs/user.fsm", cwd=unfinished)
        assert done.returncode == 1
        assert "there is no state `Y`" in done.stderr
    assert not (unfinished / "generated").exists()


# Undecided -----------------------------------------------------------------------------------------------------------

BROKEN_EARLY = COUNTER.replace("reachable", "invariant low: counter.n < 1  reachable")


@pytest.fixture
def half(tmp_path: Path) -> Path:
    """One property is violated soon, another stays undecided."""
    (tmp_path / "counter.fsm").write_text(BROKEN_EARLY)
    return tmp_path


@pytest.mark.parametrize(
    ("form", "violated", "undecided"),
    [
        ("markdown", "failed: invariant low;", "undecided: reachable full"),
        ("junit", '<failure message="`low` ', 'type="undecided"'),
    ],
)
def test_a_summary_tells_undecided_from_violated(form: str, violated: str, undecided: str, half: Path) -> None:
    done = fsm("verify", "counter.fsm", "--max-states", "5", "--all", "--format", form, cwd=half)
    assert done.returncode == 1
    assert violated in done.stdout
    assert undecided in done.stdout


def test_a_report_of_what_is_undecided_exits_with_3(tmp_path: Path) -> None:
    (tmp_path / "counter.fsm").write_text(COUNTER)
    done = fsm("report", "counter.fsm", "--max-states", "5", "--output", "r.md", "--output", "r.xml", cwd=tmp_path)
    assert done.returncode == 3
    assert "0 violations, " in done.stdout
    assert (tmp_path / "r.md").read_text().startswith("### ? fsm report: ")
    assert 'failures="0"' in (tmp_path / "r.xml").read_text()
    page = (tmp_path / "build" / "report" / "index.html").read_text()
    assert "not decided." in page
    assert " violated." not in page


SLOW = """\
module slow
machine M { n: 0..1000000 = 0  initial state A  event go from environment  A on go when n < 1000000 do n = n + 1 }
scenario quick "one step" { m: M  m.go  expect m.n == 1 }
scenario second "one step" { m: M  m.go  expect m.n == 1 }
"""


def test_a_scenario_that_was_not_played_is_undecided_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fsmdsl.cli import test_command
    from fsmdsl.text.budget import LimitError

    (tmp_path / "slow.fsm").write_text(SLOW)
    monkeypatch.chdir(tmp_path)
    play = test_command.play

    def limited(model: object, scenario: object) -> object:
        if getattr(scenario, "name", "") == "second":
            raise LimitError("stopped")
        return play(model, scenario)  # type: ignore[arg-type]

    monkeypatch.setattr(test_command, "play", limited)
    files = [x for name in ("t.md", "t.xml", "t.json") for x in ("--output", name)]
    done = CliRunner().invoke(cli, ["test", "slow.fsm", *files])
    assert done.exit_code == 3
    assert "2 scenarios: 1 undecided" in done.stdout
    assert "all pass" not in done.stdout
    assert Path("t.md").read_text().startswith("### ? fsm test: 2 scenarios: 1 undecided")
    assert 'tests="2" failures="0" errors="1"' in Path("t.xml").read_text()
    assert json.loads(Path("t.json").read_text())["undecided"] == ["slow.second"]
    reported = CliRunner().invoke(cli, ["report", "slow.fsm", "--output", "r.xml"])
    assert reported.exit_code == 3
    assert "2 scenarios, 0 failing" in reported.stdout
    page = Path("build/report/index.html").read_text()
    assert "every scenario passes" not in page
    assert "1 not decided." in page


def test_a_verdict_that_a_limit_leaves_open_is_not_worse(tmp_path: Path) -> None:
    from fsmdsl.report.compare.verdicts import Turn

    assert not Turn("s", "invariant low", "holds", "unknown").worse
    assert Turn("s", "invariant low", "holds", "unknown").undecided
    assert Turn("s", "invariant low", "unknown", "violated").worse


def pull_request() -> ModuleType:
    spec = spec_from_file_location("pull_request", ROOT / "action" / "pull_request.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["pull_request"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("codes", "expected"),
    [([0, 0, 0], 0), ([0, 3, 0], 3), ([0, 3, 1], 1), ([1, 2, 3], 2), ([0, 137, 0], 137), ([2, 70, 1], 70)],
)
def test_the_action_ends_with_the_worst_code(codes: list[int], expected: int) -> None:
    assert pull_request().worst(codes) == expected


def test_the_action_does_not_pass_over_a_command_that_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = pull_request()
    real, code = subprocess.run, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"

    def run(command: list[str], **options: object) -> object:
        if "verify" in command:
            command = [sys.executable, "-c", code]
        elif "test" in command:
            Path(command[command.index("--output") + 1]).write_text("### ✓ fsm test: all pass\n")
            command = [sys.executable, "-c", ""]
        return real(command, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "run", run)
    codes, parts = module._explored(module.Job("nowhere", "", "60", tmp_path, {}))
    assert codes[1] == module.worst(codes) == 137
    assert parts == ["### ✗ fsm verify: exit code 137; the log of the job says why", "### ✓ fsm test: all pass"]


# Rows that no run follows --------------------------------------------------------------------------------------------

JOB = """\
module job
machine Job {
    param mode: 0..1 = 0
    initial state Running
    state Stopping
    final state Ok
    final state Bad
    event stop, done from environment
    stop: Running -> Stopping on stop
    done: Stopping -> Ok on done when mode == 0
    done: Stopping -> Bad on done when mode == 1
}
system One { job: Job  reachable ok: job in Ok }
"""
ROW = "1 row never followed: Job done from Stopping (job.fsm:11:5)"


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("text", f"(exhaustive)\n  {ROW}\n"),
        ("markdown", f"3 states, exhaustive; {ROW} |"),
        ("junit", f"<system-out>3 states, exhaustive; {ROW}</system-out>"),
        ("sarif", '"text": "no run follows `done from Stopping` of `Job`"'),
    ],
)
def test_holds_says_which_rows_no_run_follows(form: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "job.fsm").write_text(JOB)
    done = fsm("verify", "job.fsm", "--format", form, cwd=tmp_path)
    assert done.returncode == 0
    assert text in done.stdout


def test_two_rows_of_one_source_and_event_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "job.fsm").write_text(
        JOB.replace("job: Job ", "job: Job { mode = 1 } ").replace("job in Ok", "job in Bad")
    )
    done = fsm("verify", "job.fsm", "--format", "json", cwd=tmp_path)
    (row,) = json.loads(done.stdout)["systems"][0]["never_followed"]
    assert (row["machine"], row["transition"], row["source"], row["line"]) == ("job.Job", "done", "Stopping", 10)


def test_many_rows_are_counted_and_the_first_are_named(tmp_path: Path) -> None:
    rows = "\n".join(f"    row{n}: Running -> Ok on done when mode == 1 and mode == {n % 2}" for n in range(6))
    (tmp_path / "job.fsm").write_text(JOB.replace("    stop: ", f"{rows}\n    stop: "))
    brief, every = (fsm("verify", "job.fsm", "--as-documented", *more, cwd=tmp_path) for more in ((), ("--all",)))
    assert "  7 rows never followed: Job row0 (job.fsm:9:5), " in brief.stdout
    assert " and 3 more; `fsm verify --all` lists them" in " ".join(brief.stdout.split())
    assert "row5" not in brief.stdout
    assert "  7 rows never followed:\n    Job row0 (job.fsm:9:5)\n" in every.stdout
    assert every.stdout.count("(job.fsm:") == 7


def test_rows_that_a_search_did_not_come_to_are_not_called_so(tmp_path: Path) -> None:
    (tmp_path / "job.fsm").write_text(JOB)
    for form in ("text", "markdown", "sarif"):
        done = fsm("verify", "job.fsm", "--max-states", "1", "--format", form, cwd=tmp_path)
        assert done.returncode == 3
        assert "follow" not in done.stdout.replace("never-followed", "").partition('"results"')[2 * (form == "sarif")]


def test_one_system_that_follows_a_row_is_enough_for_code_scanning(tmp_path: Path) -> None:
    (tmp_path / "job.fsm").write_text(f"{JOB}system Two {{ job: Job {{ mode = 1 }} }}\n")
    done = fsm("verify", "job.fsm", "--format", "sarif", cwd=tmp_path)
    assert json.loads(done.stdout)["runs"][0]["results"] == []
    some = fsm("verify", "job.fsm", "--system", "One", "--format", "sarif", cwd=tmp_path)
    assert json.loads(some.stdout)["runs"][0]["results"] == []


def test_the_report_uses_the_same_word(tmp_path: Path) -> None:
    (tmp_path / "job.fsm").write_text(JOB)
    assert fsm("report", "job.fsm", cwd=tmp_path).returncode == 0
    page = (tmp_path / "build" / "report" / "index.html").read_text()
    assert "1 of 3 rows never followed" in page
    assert "done from Stopping (job.fsm:11:5)" in page
    assert "never fire" not in page


# Names ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "names"),
    [
        ("Runing -> Done on cancl", ["Runing", "cancl"]),
        ("Runing -> Don on cancel", ["Runing", "Don"]),
        ("Runing -> Don on cancl when size == 1 do { length = 2 }", ["Runing", "Don", "cancl", "size", "length"]),
        ("Runing, Runin -> Done on cancel(x)", ["Runing", "Runin", "`cancel` has 0 parameters, not 1"]),
        ("Running -> Done on cancl(who) when who == 1", ["cancl"]),
    ],
)
def test_every_unknown_name_of_a_row_is_reported(row: str, names: list[str], tmp_path: Path) -> None:
    machine = f"machine M {{ initial state Running  state Done  event cancel from environment\n    {row}\n}}\n"
    (tmp_path / "m.fsm").write_text(machine)
    done = fsm("check", "m.fsm", cwd=tmp_path)
    assert done.returncode == 1
    for name in names:
        assert (f"`{name}`" if name.isidentifier() else name) in done.stdout
    assert done.stdout.endswith(f"\n{len(names)} error{'s' * (len(names) != 1)}\n")


@pytest.mark.parametrize("state", ["state B", "initial state B"])
def test_two_initial_states_inside_a_state_are_an_error(state: str, tmp_path: Path) -> None:
    others = "state A" if state.startswith("initial") else "initial state A"
    (tmp_path / "m.fsm").write_text(
        f"machine M {{\n    {others}\n    {state} {{ initial state C  initial state D }}\n"
        "    event e, f, g from environment\n    A -> C on e\n    A -> D on f\n    C, D -> A on g\n}\n"
    )
    done = fsm("check", "m.fsm", cwd=tmp_path)
    assert done.returncode == 1
    assert "error[FSM109]: state `B` has a second initial state" in done.stdout


def test_drift_suggests_names_of_the_spec(tmp_path: Path) -> None:
    (tmp_path / "job.fsm").write_text(
        'machine Job {\n    initial state Pending "pending"\n    state Running "running"\n    final state Done "done"\n'
        "    event start, finish from environment\n    Pending -> Running on start\n    Running -> Done on finish\n}\n"
    )
    (tmp_path / "job.py").write_text(
        "from transitions import Machine\nclass Job:\n    states = ['pending', 'running', 'done', 'very late']\n"
        "    def __init__(self):\n        m = Machine(model=self, states=Job.states, initial='running')\n"
        "        m.add_transition('start', 'pending', 'running')\n"
        "        m.add_transition('finish', 'running', 'pending')\n"
        "        m.add_transition('start', 'running', 'very late')\n"
    )
    done = fsm("drift", "job.fsm", "job.py", cwd=tmp_path)
    assert done.returncode == 1
    advice = re.findall(r"help: write `(.*)` in the spec", done.stdout)
    assert set(advice) == {"Running", "Running -> Pending on finish", "Running -> VeryLate on start", "state VeryLate"}
    code = fsm("drift", "job.fsm", "job.py", "--leads", "spec", cwd=tmp_path)
    assert "write `Running -> Done on finish` in the code" in code.stdout


# A first folder ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["specs", "."])
def test_init_does_not_add_to_specs_that_are_there(folder: str, specs: Path) -> None:
    before = sorted(specs.rglob("*"))
    done = fsm("init", folder, cwd=specs)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"`{folder}` already contains specs, such as `specs/" in done.stderr
    assert "`fsm init demo`" in done.stderr
    assert sorted(specs.rglob("*")) == before


def test_a_report_replaces_a_foreign_page_only_by_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = Path("page", "index.html")
    page.parent.mkdir()
    page.write_text("somebody else's")
    Path("door.fsm").write_text("module door\nmachine Door { initial resting state Open }\nsystem One { d: Door }\n")
    refused = CliRunner().invoke(cli, ["report", "door.fsm", "--out", "page"])
    assert (refused.exit_code, page.read_text(), "--force" in refused.output) == (2, "somebody else's", True)
    assert CliRunner().invoke(cli, ["report", "door.fsm", "--out", "page", "--force"]).exit_code in (0, 1)
    assert "<html" in page.read_text()


def test_the_readme_begins_with_the_example_of_init() -> None:
    """All of it but the scenario."""
    (block,) = [x for x in blocks(ROOT / "README.md") if x.language == "fsm"]
    example = (ROOT / "fsmdsl" / "cli" / "gang.fsm").read_text("utf-8")
    assert example.startswith(f"{block.text}\nscenario ")


def test_the_table_of_repairs_in_the_readme_is_that_of_the_page_that_runs_it() -> None:
    """All that the command prints, or `…` in its place."""
    (block,) = [x for x in blocks(ROOT / "README.md") if x.language == "text"]
    page = ROOT / "docs" / "how-a-document-becomes-a-spec.md"
    outputs = dict(pair for x in blocks(page) if x.language == "console" for pair in commands(x))
    ((command, output),) = commands(block)
    compare(output, outputs[command], f"README.md:{block.line}")


def test_the_first_steps_of_the_readme_verify_one_folder(specs: Path) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    commands = re.findall(r"^\.venv/bin/fsm (.*)$", readme, re.MULTILINE)
    assert commands == ["init demo", "verify demo"]
    begun, verified = (fsm(*line.split(), cwd=specs) for line in commands)
    assert (begun.returncode, verified.returncode) == (0, 1)
    assert "lamp" not in verified.stdout
    assert fsm("verify", cwd=specs / "demo").stdout.startswith("violated  gang.")
