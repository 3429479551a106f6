"""Random histories of what a scheduler is told and asked: the lives agree with the allocator, and change no answer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import following
import pytest

from generated.grove import Pod, System, VirtualClock
from runtime.lifecycle.refusals import Refusals
from runtime.service.lifecycle_reporter import MAX_FAULTS

pytestmark = pytest.mark.full(reason="random histories, long")


def test_lives_agree_with_the_allocator_and_nothing_is_left_in_the_end() -> None:
    seen: Counter[str] = Counter()
    for seed in range(60):
        seen.update(following.run(seed, 60).seen)
    assert all(seen[what] for what in following.SEEN if what != "unhandled")


def test_an_event_that_a_state_does_not_take_is_counted_and_changes_nothing() -> None:
    refusals, place = Refusals(), Pod(System(VirtualClock()))
    assert not refusals.fire("application g", 7.0, place.run)
    assert refusals.counts == {("Pod", "run"): 1}
    (shown,) = refusals.last
    assert (shown.at, shown.whose, shown.machine, shown.event, shown.state) == (
        7.0,
        "application g",
        "Pod",
        "run",
        "Absent",
    )


def test_after_a_fault_lives_begin_anew_and_after_too_many_they_are_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = following.History(3, tmp_path)
    for _ in range(30):
        history.step()
    scheduler = history.sides[0].scheduler

    def fault() -> None:
        scheduler.lifecycle._do(lambda _: 1 // 0)

    fault()
    assert scheduler.lifecycle.faults == 1
    scheduler.lifecycle.faults = 0
    history.check()
    for _ in range(MAX_FAULTS + 1):
        fault()
    assert scheduler.lifecycle.follower is None
    history.ask()
    for side in history.sides:
        side.scheduler.allocator.close()
