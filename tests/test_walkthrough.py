"""`fsm verify --explore`: a person at the terminal, or a script at a pipe."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from random_scenarios import scenario_of, wandering
from random_specs import spec
from stepping import compiled, only_system
from tiers import today

from fsmdsl.cli.parser import cli
from fsmdsl.model.workspace import load
from fsmdsl.runs.trace import Trace
from fsmdsl.search import play
from fsmdsl.step import Universe
from fsmdsl.step.describe import describe

ROOT = Path(__file__).parent.parent

LAMP = """\
module lamp

channel power: lossy fifo[2] to Lamp

machine Lamp {
    n: 0..2
    initial state Off
    state On
    state Asking
    event toggle, draw, ask from environment
    event surge from power
    action work -> ok | err
    Off -> On  on toggle
    On  -> Off on toggle do n = n + 1
    Off        on draw do send power.surge
    Off -> On  on surge
    ignore surge in On, Asking
    On  -> Asking on ask do work
    Asking -> On on work.ok
    Asking -> Off on work.err
    slow: On -> Off after 5s
    invariant Off => n < 2
}

system Room {
    lamp: Lamp
    invariant few: lamp.n < 2
    reachable lit: lamp in On
}

system Hall { lamps: Lamp[1] }
"""


BEGIN = [
    " * trace 1: violated, invariant few, 4 steps",
    "   trace 2: violated, invariant Lamp: `Off => n < 2`, 4 steps",
    "   trace 3: holds, reachable lit, 1 step",
    "   trace 4: violated, fault overflow, 3 steps",
    "   trace 5: violated, fault range, 6 steps",
    "state 0",
    "  lamp  Off  n = 0",
    "  power = []",
    "     1  lamp.toggle",
    "     2  lamp.draw",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "lamp.fsm").write_text(LAMP)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def walk(*commands: str, system: str = "Room", code: int = 0) -> list[str]:
    """What is answered, from the first prompt on."""
    done = CliRunner().invoke(cli, ["verify", "--explore", "--system", system], input="\n".join(commands))
    assert done.exit_code == code, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    return done.output.splitlines()


def after(told: list[str], command: str) -> list[str]:
    """The answer to a command."""
    start = told.index(f"> {command}") + 1
    end = next((n for n in range(start, len(told)) if told[n].startswith(">")), len(told))
    return told[start:end]


def test_the_walk_begins_with_what_was_found_and_what_can_come(folder: Path) -> None:
    told = walk("quit")
    begin = told.index("walking through lamp.Room; `help` says how")
    assert told[begin + 1 : -1] == BEGIN
    assert told[-1] == "> quit"


def test_a_number_takes_a_step_and_back_undoes_it(folder: Path) -> None:
    told = walk("1", "back", "back", "2")
    assert after(told, "1")[:2] == ["  lamp.toggle   Off → On", "state 1, after lamp.toggle"]
    assert after(told, "back")[0] == "state 0"
    assert "this is the beginning" in told
    assert after(told, "2")[:3] == ["  lamp.draw   in Off", "    posts power.surge", "    power = [surge]"]


def test_goto_stands_in_a_state_of_the_trace_chosen(folder: Path) -> None:
    told = walk("goto 3", "goto 99", "goto", "trace 3", "goto 1", "back", "trace 77", "trace")
    assert after(told, "goto 3")[:2] == ["state 3, after lamp.toggle", "  lamp  On  n = 1"]
    assert after(told, "goto 99") == ["`goto N`: the states of this trace go from 0 to 4"]
    assert after(told, "goto") == after(told, "goto 99")
    assert any(line.startswith(" * trace 3") for line in after(told, "trace 3"))
    assert after(told, "goto 1")[0].startswith("state 1")
    assert after(told, "back")[0] == "state 0"
    assert after(told, "trace 77")[0].startswith("there is no trace 77")


def test_why_says_what_holds_and_which_part_does_not(folder: Path) -> None:
    told = walk("goto 4", "why")
    assert after(told, "why") == [
        "  fails  invariant few",
        "         `lamp.n < 2` is false: lamp.n is 2",
        "  fails  invariant Lamp: `Off => n < 2`",
        "         in lamp: `n < 2` is false: n is 2",
        "         in lamp: `Off` holds",
        "  no     reachable lit",
    ]
    assert after(walk("why"), "why") == [
        "  holds  invariant few",
        "  holds  invariant Lamp: `Off => n < 2`",
        "  no     reachable lit",
    ]


def test_a_step_that_fails_leaves_everything_as_it_was(folder: Path) -> None:
    told = walk("2", "2", "list draw", "2", "save failing", "1")
    failing = [line for line in told if "fails:" in line]
    assert failing == ["    fails: channel `power` is full: it holds 2 (overflow)"]
    assert "the step failed and the state is unchanged; take another step, or `save` this run" in told
    text = (folder / "failing.fsm").read_text()
    assert "    fails lamp.draw with overflow\n" in text
    assert fsm("test", "failing.fsm", "specs") == 0


def test_a_run_is_saved_as_a_scenario_that_passes(folder: Path) -> None:
    told = walk("1", "list ask", "1", "2", "save walks", "save walks", "save", "save /no/such/place/x", "save a\0b")
    assert after(told, "save walks") == ["saved; `fsm test walks.fsm specs` runs it"]
    assert "`walks.fsm` already exists; choose another name" in told
    assert "`save NAME [FILE]`: what is it called?" in told
    assert any(line.startswith("cannot write `/no/such/place/x.fsm`: ") for line in told)
    assert (folder / "walks.fsm").read_text().startswith("module walks\n\nimport lamp\n\nscenario walks ")
    assert fsm("test", "walks.fsm", "specs") == 0
    assert fsm("check", "walks.fsm", "specs") == 0


@pytest.mark.parametrize(
    "line",
    ["0", "999999999999999999999", "-1", "1 2", "1.5", "²", "next", "goto -1", "goto ٣", "trace x", "list zzz", "save ",
     "\x1b[31m", "q x y", "QUIT", " ", "help me", "\x00"],
)  # fmt: skip
def test_odd_input_is_answered_and_never_ends_the_walk(folder: Path, line: str) -> None:
    told = walk(line, "why")
    assert "> why" in told or line.startswith("q ")
    assert not any("Traceback" in x or "\x1b" in x for x in told)


def test_the_end_of_the_input_is_the_end(folder: Path) -> None:
    assert walk()[-1] == "> "


def test_one_system_is_needed(folder: Path) -> None:
    done = CliRunner().invoke(cli, ["verify", "--explore"])
    assert done.exit_code == 2
    assert "choose it with `--system`: `Room`, `Hall`" in done.output
    done = CliRunner().invoke(cli, ["verify", "--explore", "--system", "Hall", "--format", "json"])
    assert done.exit_code == 2


def test_many_steps_are_not_all_listed_unless_asked_for(folder: Path) -> None:
    (folder / "specs" / "many.fsm").write_text(
        "module many\nmachine M { n: 0..99  initial state A  event put(x: 0..99) from environment  "
        "A on put(x) do n = x }\nsystem Wide { m: M }\n"
    )
    told = walk("list", "list (7", "100", system="Wide")
    assert "        and 60 more; `list` shows all, `list TEXT` those with a text in them" in told
    assert len(after(told, "list")) == 100
    assert len(after(told, "list (7")) == 11
    assert "  m  A  n = 99" in after(told, "100")


def fsm(*arguments: str) -> int:
    return CliRunner().invoke(cli, list(arguments)).exit_code


# Real processes ------------------------------------------------------------------------------------------------------


def test_through_pipes(folder: Path) -> None:
    command = [sys.executable, "-m", "fsmdsl", "verify", "--explore", "--system", "Room"]
    done = subprocess.run(command, input=b"1\n\xff\xfe\nwhy", capture_output=True, timeout=60)
    assert done.returncode == 0
    assert done.stderr == b""
    told = done.stdout.decode().splitlines()
    assert "state 1, after lamp.toggle" in told
    assert any(line.startswith("there is no `") for line in told)
    assert "  yes    reachable lit" in told


def test_at_a_terminal(folder: Path) -> None:
    """Prompts come before the answers, and what is typed is not repeated."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "fsmdsl", "verify", "--explore", "--system", "Room"]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, close_fds=True)
    os.close(slave)
    told = read_until(master, b"> ")
    assert b"lamp.toggle" in told
    os.write(master, b"1\n")
    told = read_until(master, b"> ")
    assert told.count(b"after lamp.toggle") == 1
    os.write(master, b"\x04")
    assert process.wait(timeout=30) == 0
    os.close(master)


def test_an_interrupt_ends_the_walk_without_a_traceback(folder: Path) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "fsmdsl", "verify", "--explore", "--system", "Room"]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, close_fds=True, start_new_session=True)
    os.close(slave)
    read_until(master, b"> ")
    assert interrupted(process) == 0
    assert b"Traceback" not in b"".join(rest(master))
    os.close(master)


def interrupted(process: subprocess.Popen[bytes]) -> int:
    """Interrupts until it has an effect: one that comes just before the line is waited for is seen at the next key."""
    for _ in range(30):
        process.send_signal(2)
        try:
            return process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("it goes on")


def read_until(terminal: int, end: bytes) -> bytes:
    told = b""
    while not told.endswith(end):
        told += os.read(terminal, 4096)
    return told


def rest(terminal: int) -> Iterator[bytes]:
    try:
        while found := os.read(terminal, 4096):
            yield found
    except OSError:
        return


# Scenarios of any run ------------------------------------------------------------------------------------------------


def said(universe: Universe, trace: Trace) -> list[str]:
    """The steps in words. `crash` in a scenario does not tell a crash before recovery from one between two steps."""
    return [describe(universe, e.step).removesuffix(" before recover") for e in trace.entries]


@pytest.mark.parametrize("seed", today(range(150)))
def test_runs_of_random_systems_become_scenarios_that_pass(seed: int, tmp_path: Path) -> None:
    model = compiled(spec(seed))
    universe = Universe(model, only_system(model))
    if universe.fault is not None:
        return
    (tmp_path / f"random_{seed}.fsm").write_text(spec(seed))
    for n in range(3):
        trace = wandering(universe, n)
        script = scenario_of(trace, f"walk {n}")
        (tmp_path / "walk.fsm").write_text(script.text)
        loaded = load([tmp_path / "walk.fsm", tmp_path / f"random_{seed}.fsm"])
        assert loaded.model is not None, (script.text, [d.message for d in loaded.diagnostics])
        played = play(loaded.model, loaded.model.scenarios[f"walk_{n}.walk_{n}"])
        assert played.passed, (script.text, played.failure)
        if script.cut is None:
            assert said(universe, played.trace) == said(universe, trace)
            assert [e.world for e in played.trace.entries] == [e.world for e in trace.entries]
