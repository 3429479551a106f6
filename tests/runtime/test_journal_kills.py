"""Processes that are killed in the middle of their work: what they have acknowledged is there, and all goes on.

A thousand kills: `python tests/runtime/killing.py --kills 1000`.
"""

from __future__ import annotations

from pathlib import Path

import killing


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
