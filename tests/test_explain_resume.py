"""`fsm explain --keep-going`: behind a line that nothing explains."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_explain import EVENTS, GANG, TOML, log, steps, universe
from test_explain_follow import Followed, folder, processes, until
from tiers import today

from fsmdsl.cli.parser import cli
from fsmdsl.interop.logs.binding import bind
from fsmdsl.interop.logs.explanation import Explainer, Explanation
from fsmdsl.interop.logs.lines import lines
from fsmdsl.interop.logs.mapping import read
from fsmdsl.step import EventStep, enabled, fire
from fsmdsl.text.source import Source

__all__ = ["folder", "processes"]


def resumed(text: bytes, mapping: str = EVENTS, depth: int = 3) -> tuple[Explanation, list[int]]:
    """The answer at the end, and the lines that were told of."""
    told: list[int] = []

    def tell(x: Explanation) -> None:
        assert x.failure is not None
        told.append(x.failure.record.line)

    reading = bind(read(Source("mapping.toml", mapping)), universe(GANG))
    return Explainer(reading, "run.log", lines(io.BytesIO(text)), depth=depth).explanation(tell), told


def test_lines_that_were_lost_are_hidden_steps_behind_the_line_that_shows_it() -> None:
    x, told = resumed(log("a grow", "a finish", "b grow", "b grow", "b finish"))
    assert (x.outcome, told, x.unexplained) == ("not explained", [2], 1)
    assert x.failure is not None
    assert x.failure.record.line == 2
    assert steps(x) == ["g0.grow 1", "g0.grow hidden", "g0.finish 2", "g1.grow 3", "g1.grow 4", "g1.finish 5"]
    assert x.tally.matched == 5


def test_a_line_is_rather_lost_than_wrong_and_a_system_rather_goes_on_than_begins_anew() -> None:
    assert steps(resumed(log("a grow", "a finish"))[0]) == ["g0.grow 1", "g0.grow hidden", "g0.finish 2"]
    assert steps(resumed(log("a grow", "b grow", "a grow"), depth=0)[0]) == ["g0.grow 1", "g1.grow 2"]


def test_a_line_that_is_wrong_changes_nothing() -> None:
    x, told = resumed(log("a grow", "a grow", "b finish", "a finish"), depth=0)
    assert (told, steps(x)) == ([3], ["g0.grow 1", "g0.grow 2", "g0.finish 4"])


def test_a_system_that_begins_anew_is_followed_again() -> None:
    """Two gangs hold a GPU each, which is the end of it; the names stand for other instances afterwards."""
    x, told = resumed(log("a grow", "b grow", "b grow", "b grow", "b finish", "a grow", "a grow", "a finish"))
    assert told == [3]
    assert steps(x)[2:] == ["g0.grow 3", "g0.grow 4", "g0.finish 5", "g1.grow 6", "g1.grow 7", "g1.finish 8"]
    assert x.summary.names == {"a": 1, "b": 0}
    first = x.summary.steps[2]
    assert first.before.states == ("Queued", "Queued")


@pytest.mark.parametrize("seed", today(range(25)))
def test_it_finds_back_behind_a_gap(seed: int) -> None:
    """A fully logged walk without some lines in the middle is explained again a few lines later."""
    dice, u = random.Random(seed), universe()
    world, told = u.start, []
    for _ in range(60):
        options = [s for s in enabled(u, world) if isinstance(s, EventStep) and s.event != "poke"]
        options = [s for s in options if enabled(u, fire(u, world, s).world)]
        step = dice.choice(options)
        told.append(f"{u.name(step.instance)} {step.event}")
        world = fire(u, world, step).world
    at, count = dice.randrange(10, 20), dice.randint(1, 3)
    _, unexplained = resumed(log(*told[:at], *told[at + count :]))
    assert all(at < n < at + 20 for n in unexplained)
    assert len(unexplained) <= 4


def test_lines_are_told_of_up_to_a_limit_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsmdsl.interop.logs.explanation.MAX_FAILURES", 3)
    x, told = resumed(log(*["c finish"] * 5, "a grow"), depth=0)
    assert (told, x.unexplained, x.tally.matched, steps(x)) == ([1, 2, 3], 5, 6, ["g0.grow 6"])


def test_a_monitor_tells_of_a_line_at_once_and_goes_on(folder: Path, processes: list[Followed]) -> None:
    x = Followed(folder, "-", "--keep-going", "--metrics", "fsm.prom")
    processes.append(x)
    x.write(log("a grow", "a finish"))
    until(lambda: x.figure("fsm_explain_unexplained_lines_total") == 1)
    assert x.process.stdout is not None
    shown = ""
    while "nearest" not in shown:
        shown += x.process.stdout.readline().decode()
    assert "<stdin>:2:" in shown
    assert "with a line for `a.grow` before line 2" in shown
    x.write(log("b grow"))
    until(lambda: x.figure('fsm_explain_lines_total{kind="matched"}') == 3)
    assert (x.figure("fsm_explain_unexplained_lines_total"), x.figure("fsm_explain_explained")) == (1, 0)
    code, out, _ = x.end()
    assert code == 1
    assert out.splitlines()[-1] == "not explained  gang.Two: 3 of 3 lines; 4 steps, 1 of them hidden"


def test_of_a_file_each_line_is_named_and_json_counts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gang.fsm").write_text(GANG)
    Path("gang.toml").write_text(TOML)
    Path("run.log").write_bytes(log("a grow", "b finish", "a grow", "b finish"))
    command = ["explain", "run.log", "--mapping", "gang.toml", "--keep-going", "--hidden", "0"]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 1
    assert [x for x in done.output.splitlines() if "run.log:" in x] == [
        '  run.log:2: {"id": "b", "msg": "finish"}',
        '  run.log:4: {"id": "b", "msg": "finish"}',
    ]
    assert done.output.splitlines()[-1].endswith("2 lines explained by nothing")
    found = json.loads(CliRunner().invoke(cli, [*command, "--format", "json"]).stdout)
    assert (found["unexplained"], found["failure"]["line"]) == (2, 2)
    shown = CliRunner().invoke(cli, [*command, "--show"])
    assert (shown.exit_code, "cannot be combined with `--keep-going`" in shown.output) == (2, True)
