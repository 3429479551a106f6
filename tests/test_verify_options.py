"""The options of `fsm verify` that say how to go about it, and the line that tells how far it is."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner

from fsmdsl.cli import progress
from fsmdsl.cli.parser import cli
from fsmdsl.search import Progress

MODEL = str(Path(__file__).parent.parent / "benchmarks" / "hived_lite.fsm")


def states(*options: str) -> tuple[int, int]:
    """The exit code, and the number of states."""
    done = CliRunner().invoke(cli, ["verify", MODEL, *options, "--format", "json"])
    return done.exit_code, json.loads(done.stdout)["systems"][0]["states"]


def test_symmetry_can_be_left_out() -> None:
    assert states() == (0, 109)
    assert states("--no-symmetry") == (0, 812)


@pytest.mark.parametrize("workers", ["1", "3"])
def test_workers_change_nothing(workers: str) -> None:
    assert states("--no-symmetry", "--workers", workers) == (0, 812)


def test_a_limit_on_memory_is_told() -> None:
    done = CliRunner().invoke(cli, ["verify", MODEL, "--no-symmetry", "--max-memory", "0.00001"])
    assert done.exit_code == 3
    assert done.stdout.startswith("bounded")
    assert "GiB of memory" in done.stdout


def test_no_limit_on_states_unless_one_is_given() -> None:
    assert states("--no-symmetry", "--max-states", "100") == (3, 100)


def test_a_search_goes_on_where_it_was_saved(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    assert states("--no-symmetry", "--max-states", "100", "--save", str(folder)) == (3, 100)
    assert any(folder.iterdir())
    assert states("--no-symmetry", "--resume", str(folder)) == (0, 812)


@pytest.mark.parametrize("option", ["--workers=0", "--max-memory=0", "--max-states=0"])
def test_nonsense_is_misuse(option: str) -> None:
    assert CliRunner().invoke(cli, ["verify", MODEL, option]).exit_code == 2


def test_the_line_tells_how_far_it_is() -> None:
    now = Progress(3_000_000, 9_000_000, 12, 40_000, 2.5, 3 << 29)
    before = Progress(1_000_000, 3_000_000, 11, 50_000, 1.5, 1 << 29)
    assert progress.line("m.S", now, before) == (
        "m.S: 3,000,000 states, 40,000 waiting, depth 12, 2,000,000 states/s, 1.5 GiB"
    )
    assert progress.line("m.S", Progress(5, 9, 1, 4), Progress(0, 0, 0, 0)) == "m.S: 5 states, 4 waiting, depth 1"
    assert progress.line("m.S", Progress(5, 9, 1, 4, memory=5 << 20), now).endswith("depth 1, 5 MiB")


def test_the_line_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", StringIO())
    assert progress.progress("m.S") is None
