"""A very small system is explored by definition where the packed search is not loaded, and nobody can tell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from campaign import systems
from packed_search import SWITCH
from random_specs import spec
from random_systems import text_of
from stepping import compiled
from tiers import today

from fsmdsl import model as m
from fsmdsl.dataclasses import replace
from fsmdsl.search import Exploration, Limits, Means, compose, data, explore
from fsmdsl.search.definition_search import Search
from fsmdsl.step import Universe
from fsmdsl.text.budget import Budget

LINE = "machine M {{ n: 0..{most} initial state A event go from environment A on go when n < {most} do n = n + 1 }}"


def told(x: Exploration) -> object:
    """All but how long it took."""
    verdicts = [replace(v, trace=None, images=None) for v in x.verdicts]
    runs = [None if v.trace is None else data(v.trace) for v in x.verdicts]
    return replace(x, verdicts=(), seconds=0.0), verdicts, runs


def both(monkeypatch: pytest.MonkeyPatch, model: m.Model, system: m.System) -> list[object]:
    """What is found with the packed search loaded, and without."""
    found = []
    for loaded in (True, False):
        with monkeypatch.context() as patch:
            patch.setattr(compose, "_loaded", lambda loaded=loaded: loaded)
            patch.setattr(compose, "SMALL_SECONDS", 60)
            found.append(told(explore(model, system, means=Means(counted=True))))
    return found


@pytest.mark.parametrize("seed", today(range(40)))
def test_what_is_found_is_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (text_of(seed), spec(seed)):
        for model, system in systems(text):
            one, other = both(monkeypatch, model, system)
            assert one == other


@pytest.mark.parametrize(
    ("text", "definition"),
    [
        (LINE.format(most=19) + "system S { m: M }", True),
        (LINE.format(most=20) + "system S { m: M }", False),
        (LINE.format(most=0) + "system S { m: M[10] }", True),
        (LINE.format(most=0) + "system S { m: M[11] }", False),
        (LINE.format(most=1) + "system S { m: M[2] symmetric }", False),
    ],
)
def test_very_small_is_what_has_few_states_and_instances(
    text: str, definition: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = compiled(text)
    system = model.systems["test.S"]
    monkeypatch.setattr(compose, "_loaded", lambda: False)
    monkeypatch.setattr(compose, "SMALL_SECONDS", 60)
    found = compose.run(Universe(model, system), Limits(), Means())
    assert isinstance(found, Search) is definition


def test_verdicts_of_a_very_small_system_have_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what is left of the time in which it had to prove small."""
    model = compiled(LINE.format(most=1) + "system S { m: M }")
    monkeypatch.setattr(compose, "_loaded", lambda: False)
    monkeypatch.setattr(compose, "SMALL_SECONDS", 60)
    universe, budget = Universe(model, model.systems["test.S"]), Budget(5.0)
    assert compose.run(universe, Limits(), Means(), budget=budget).budget is budget
    assert compose.run(universe, Limits(seconds=7.0), Means()).budget.seconds == 7.0


def test_nothing_of_the_packed_search_is_loaded_for_it(tmp_path: Path) -> None:
    (tmp_path / "x.fsm").write_text(SWITCH + "system S { s: Switch }")
    code = """
import sys
from fsmdsl.search import compose
from fsmdsl.cli.parser import cli
compose.SMALL_SECONDS = 60
try:
    cli.main(["verify", sys.argv[1]], standalone_mode=False)
except SystemExit as end:
    assert not end.code
print(*sorted(x for x in sys.modules if x.startswith(("fsmdsl.search", "fsmdsl.program", "ctypes"))))
"""
    command = [sys.executable, "-c", code, str(tmp_path / "x.fsm")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    summary, loaded = done.stdout.splitlines()
    assert summary.startswith("holds     x.S: 2 states, ")
    assert loaded.split() == [
        "fsmdsl.search",
        "fsmdsl.search.compose",
        "fsmdsl.search.definition_search",
        "fsmdsl.search.errors",
        "fsmdsl.search.ranks",
        "fsmdsl.search.ranks.exchange",
    ]
