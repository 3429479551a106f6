"""A process that drives lives, and is killed at each stage of writing its journal: what it has acknowledged is there,
whole steps or nothing of them, and the next process goes on."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import killing
from living import DELAY, TWO_QUEUES, Ward, application, check, check_empty, memory

from runtime.lifecycle import CliqueSpec

Step = Callable[[Ward], object]


def script() -> list[Step]:
    """Steps of several lives: brought up, failing, preempted, torn down, made anew, ended."""

    def happen(what: str, *arguments: object) -> Step:
        return lambda ward: getattr(ward.lives, what)(*arguments, ward.now)

    def at(now: float) -> Step:
        return lambda ward: ward.at(now)

    return [
        *(happen("node_healthy", name) for name in "abcd"),
        happen("submit", application("one", CliqueSpec("worker", 2, 2), CliqueSpec("lead", 2, 1, minimum=1))),
        lambda ward: ward.cycle(),
        lambda ward: ward.serve(),
        at(10.0),
        happen("submit", application("two", CliqueSpec("worker", 2, 4), priority=1)),
        lambda ward: ward.cycle(),
        happen("submit", application("three", CliqueSpec("worker", 2, 4), queue="B", priority=1)),
        lambda ward: ward.cycle(),
        lambda ward: ward.serve(),
        happen("queue_stop", "B"),
        happen("pod_failed", "one/worker-0.1"),
        at(20.0),
        happen("pod_died", "three/worker-1.1"),
        at(10.0 + DELAY),
        lambda ward: ward.serve(),
        happen("queue_start", "B"),
        happen("submit", application("four", CliqueSpec("worker", 2, 4), queue="B", priority=9)),
        lambda ward: ward.cycle(),
        lambda ward: ward.serve(),
        lambda ward: ward.cycle(),
        lambda ward: ward.serve(),
        happen("node_drain", "a"),
        happen("cancel", "two"),
        lambda ward: ward.serve(),
        *(happen("finished", name) for name in ("one", "three", "four")),
        at(200.0),
    ]


def opened(folder: Path, watch: Callable[[str], object] = lambda stage: None) -> Ward:
    """The ward of a journal."""
    return Ward(killing.opened(TWO_QUEUES, folder / "journal", watch))


def test_killed_at_every_stage_of_writing_it_goes_on_as_it_would_have(tmp_path: Path) -> None:
    steps = script()
    reference = tmp_path / "reference"
    reference.mkdir()
    states, times = whole(reference, steps)
    stage = 0
    while True:
        stage += 1
        folder = tmp_path / str(stage)
        folder.mkdir()
        if not killing.killed(lambda folder=folder, stage=stage: die_at(folder, steps, stage)):  # type: ignore[misc]
            break
        done = (folder / "done").stat().st_size if (folder / "done").exists() else 0
        ward = opened(folder)
        check(ward.lives)
        found = memory(ward.lives)
        at = next((at for at in (done, done + 1) if states[at] == found), None)
        assert at is not None, f"killed at stage {stage}, after step {done}"
        if stage % 5 == 0:
            ward.now = times[at]
            for step in steps[at:]:
                step(ward)
            check_empty(ward.lives)
        ward.allocator.close()  # type: ignore[union-attr]
    assert stage > 100, "there are as many stages"


def whole(folder: Path, steps: list[Step]) -> tuple[list[object], list[float]]:
    """All states of a run that nobody kills, the first one included; and the times."""
    ward = opened(folder)
    states: list[object] = [memory(ward.lives)]
    times = [ward.now]
    for step in steps:
        with ward.allocator.cycle():  # type: ignore[union-attr]
            step(ward)
        states.append(memory(ward.lives))
        times.append(ward.now)
    check_empty(ward.lives)
    return states, times


def die_at(folder: Path, steps: list[Step], last: int) -> None:
    """Works until a stage of writing, and dies there. What is done is acknowledged, one byte for each step."""
    left = last

    def watch(stage: str) -> None:
        nonlocal left
        left -= 1
        if not left:
            killing.die()

    ward = opened(folder, watch)
    done = os.open(folder / "done", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for step in steps:
        with ward.allocator.cycle():  # type: ignore[union-attr]
            step(ward)
        os.write(done, b".")
