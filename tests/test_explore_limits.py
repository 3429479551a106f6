"""Explorations that a limit ends."""

from __future__ import annotations

from itertools import count

import pytest
from stepping import compiled, only_system
from test_explore import COUNTER, explored, verdict

from fsmdsl.search import Limits, Means, Progress, explore
from fsmdsl.search import definition_search as search_module
from fsmdsl.search import packed_search as packed_module
from fsmdsl.step import Universe
from fsmdsl.text import budget as budget_module

# Limits --------------------------------------------------------------------------------------------------------------


def test_a_limit_on_states_makes_the_rest_unknown() -> None:
    text = COUNTER % ("", 2, "invariant low: counters[0].n < 2  invariant fine: counters[0].n < 9  reachable no: false")
    x = explored(text, Limits(states=10))
    assert (x.states, x.complete, x.stopped) == (10, False, "stopped at 10 states")
    assert verdict(x, "low").outcome == "violated"
    for name in ("fine", "no", "no deadlock", "no step fails"):
        assert (verdict(x, name).outcome, verdict(x, name).basis) == ("unknown", "bounded: stopped at 10 states")


def test_a_limit_that_is_just_enough_is_no_limit() -> None:
    assert explored(COUNTER % ("", 2, ""), Limits(states=49)).complete
    assert not explored(COUNTER % ("", 2, ""), Limits(states=48)).complete


def test_a_limit_on_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count()
    model = compiled(COUNTER % ("", 2, ""))
    monkeypatch.setattr(budget_module, "monotonic", lambda: float(next(clock)))
    x = explore(model, only_system(model), Limits(seconds=8), means=Means(compiled=False))
    assert (x.stopped, verdict(x, "no deadlock").outcome) == ("stopped after 8 seconds", "unknown")
    assert x.transitions > 0


def test_too_many_arguments_stop_the_exploration_before_it_begins() -> None:
    x = explored(
        "machine M { initial state A  event e(x: 0..99999) from environment  A on e }"
        "system S { m: M  reachable r: m in A }"
    )
    assert x.stopped == "stopped: the environment would have to choose among more than 65536 combinations of arguments"
    assert verdict(x, "no deadlock").outcome == "unknown"
    assert verdict(x, "r").outcome == "holds"


def test_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_module, "REPORT_EVERY", 0)
    told: list[Progress] = []
    model = compiled(COUNTER % ("", 2, ""))
    x = explore(model, only_system(model), None, told.append, Means(compiled=False))
    assert told
    for told_of in ("states", "transitions", "depth", "seconds"):
        values = [getattr(p, told_of) for p in told]
        assert values == sorted(values)
    assert all(0 < p.states <= x.states and 0 < p.waiting <= p.states and p.depth <= x.depth for p in told)


def test_the_search_by_definition_has_limits_and_tells_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    model = compiled(COUNTER % ("", 2, ""))
    universe = Universe(model, only_system(model))
    told: list[Progress] = []
    monkeypatch.setattr(search_module, "REPORT_EVERY", 10)
    search_module.Search(universe, Limits(), told.append).run()
    assert len(told) == 5
    assert [p.states for p in told] == sorted(p.states for p in told)
    assert told[0] == Progress(1, 0, 0, 1)
    clock = count()
    monkeypatch.setattr(budget_module, "monotonic", lambda: float(next(clock)))
    search = search_module.Search(universe, Limits(seconds=5))
    search.run()
    assert search.stopped == "stopped after 5 seconds"
    left = count(1 << 40, -(1 << 30))
    monkeypatch.setattr(search_module, "available", lambda: next(left))
    search = search_module.Search(universe, Limits(memory=3 << 29))
    search.run()
    assert search.stopped == "stopped at 1.5 GiB of memory, 17 states"
