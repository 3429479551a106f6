"""Processes that are killed in the middle of their work: what they have acknowledged is there, and all goes on.

A thousand kills: `python tests/runtime/killing.py --kills 1000`.
"""

from __future__ import annotations

from pathlib import Path

import killing
import pytest
from invariants import check, picture

pytestmark = pytest.mark.full(reason="kills at every stage of writing")


def test_killed_at_every_stage_of_writing_a_scripted_run_ends_as_it_would_have(tmp_path: Path) -> None:
    states = killing.states_of(tmp_path)
    stage = 0
    while True:
        stage += 1
        folder = tmp_path / str(stage)
        folder.mkdir()
        if not killing.scripted(folder, stage):
            break
        killing.resume(folder, states)
    assert stage > 100, "there are as many stages"


def test_killed_while_it_takes_over_a_changed_configuration_it_has_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    expected = tmp_path / "undisturbed"
    expected.mkdir()
    killing.before_takeover(expected)
    old = killing.opened(killing.TWO_RACKS, expected / "journal", lambda _: None)
    before, placed = picture(old), killing.placed(old)
    old.close()
    new = killing.opened(killing.OTHERWISE, expected / "journal", lambda _: None)
    after = picture(new)
    assert new.opened.takeover is not None
    assert new.opened.takeover.missing, "a node is gone"
    assert killing.placed(new) == placed, "and nobody is killed"
    new.close()
    stage, olds = 0, 0
    while True:
        stage += 1
        folder = tmp_path / str(stage)
        folder.mkdir()
        killing.before_takeover(folder)
        if not killing.take_over(folder, stage):
            break
        allocator = killing.opened(killing.OTHERWISE, folder / "journal", lambda _: None)
        assert allocator.opened.damage is None
        olds += allocator.opened.takeover is not None
        check(allocator)
        assert picture(allocator) == after
        allocator.close()
    assert stage > 4, "there are as many stages"
    assert 0 < olds < stage - 1, "killed before it was committed, and after"
    assert before != after


def test_killed_at_random_moments_a_busy_run_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    cycles = 0
    for seed in range(4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        busy = killing.Busy(folder, seed)
        for _ in range(10):
            busy.kill()
        cycles += busy.read
    assert cycles > 40, "they were busy"
