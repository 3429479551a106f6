"""Workloads that are made up."""

from __future__ import annotations

from collections import Counter

import pytest
from simulating import RACKS

from runtime.config import read_configuration
from runtime.simulate.duration import seconds, spoken
from runtime.simulate.generate import generate, read_recipe
from runtime.simulate.quotas import capacity, promised, quota
from runtime.simulate.workload import WorkloadError, check

CONFIGURATION = read_configuration(RACKS)


def test_the_same_seed_makes_the_same_workload() -> None:
    recipe = read_recipe("gangs=300 days=2")
    assert generate(recipe, CONFIGURATION, 7) == generate(recipe, CONFIGURATION, 7)
    assert generate(recipe, CONFIGURATION, 7) != generate(recipe, CONFIGURATION, 8)


def test_it_is_as_much_as_wanted_and_everybody_can_have_it() -> None:
    recipe = read_recipe("gangs=4000 days=30 load=0.7 opportunistic=0.3 failed=0.2")
    made = generate(recipe, CONFIGURATION, 1)
    assert len(made) == len({r.gang for r in made}) == 4000
    assert all(0 <= r.submitted <= 30 * 86400 for r in made)
    assert all(r.devices <= max(quota(CONFIGURATION, r.tenant).values()) for r in made)
    assert all(r.duration == int(r.duration) and 1 <= r.duration <= recipe.longest for r in made)
    load = sum(r.devices * r.duration for r in made) / capacity(CONFIGURATION) / 30 / 86400
    assert load == pytest.approx(0.7, rel=0.01)
    assert sum(not r.guaranteed for r in made) == pytest.approx(1200, rel=0.1)
    assert sum(r.failed for r in made) == pytest.approx(800, rel=0.1)
    shares = Counter(r.tenant for r in made)
    a, b = (promised(CONFIGURATION, name) for name in "AB")
    assert shares["A"] / shares["B"] == pytest.approx(a / b, rel=0.15)
    check(made, CONFIGURATION)


@pytest.mark.full(reason="weeks of generated requests")
def test_more_comes_by_day_and_during_the_week() -> None:
    made = generate(read_recipe("gangs=20000 days=28 daily=0.8 weekly=0.5"), CONFIGURATION, 1)
    hours = Counter(int(r.submitted % 86400 // 3600) for r in made)
    days = Counter(int(r.submitted // 86400) % 7 for r in made)
    assert hours[14] > 4 * hours[2]
    assert days[5] == pytest.approx(days[1] / 2, rel=0.15)
    even = generate(read_recipe("gangs=20000 days=28 daily=0 weekly=0"), CONFIGURATION, 1)
    hours = Counter(int(r.submitted % 86400 // 3600) for r in even)
    assert max(hours.values()) < 1.25 * min(hours.values())


def test_all_that_is_wrong_in_settings_is_told() -> None:
    with pytest.raises(WorkloadError) as raised:
        read_recipe("gangs=many days=0 sizes=0:1 failed=2 longest=x priorities=-1")
    assert len(raised.value.problems) == 6
    with pytest.raises(WorkloadError, match="there is no setting 'gang'; did you mean 'gangs'") as raised:
        read_recipe("gang=1 load")
    assert len(raised.value.problems) == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [("90", 90), ("30m", 1800), ("1.5h", 5400), ("2d", 172800), ("1w", 604800), ("x", None), ("-1", None)],
)
def test_times_are_read(text: str, value: float | None) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 s"), (59.6, "1 min"), (3661, "1 h 1 min"), (90061, "1 d 1 h"), (86400, "1 d"), (45, "45 s"), (3605, "1 h")],
)
def test_times_are_said(value: float, text: str) -> None:
    assert spoken(value) == text
