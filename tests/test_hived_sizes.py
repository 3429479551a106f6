"""What the repaired HiveD promises, at more sizes than the specs name: S1 to S16 with restarts, L1 to L5 without.

`SLOW=1` goes on to every size that takes less than a minute.
"""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import pytest

from fsmdsl.model.workspace import load
from fsmdsl.search import Limits, explore
from fsmdsl.step import Step, Universe, World, enabled, fire, initial
from fsmdsl.step.describe import describe
from fsmdsl.syntax.settings import setting

SPEC = Path(__file__).parent.parent / "specs" / "hived" / "hived.fsm"
SMALL = [(3, 2, 1), (3, 2, 2), (3, 3, 1), (3, 3, 2), (4, 2, 2)]
LARGE = [x for x in product((3, 4, 5), (2, 3, 4, 5), (1, 2, 3)) if x not in SMALL and x[2] <= x[1]]
"""Groups, cells, and the number of cells that each group needs."""

MANY = 20_000
"""States whose graph takes a minute to build."""

sizes = pytest.mark.parametrize(("groups", "cells", "size"), [*SMALL, *(LARGE if os.environ.get("SLOW") else [])])


def universe(system: str, groups: int, cells: int, size: int) -> Universe:
    settings = dict(setting(text) for text in (f"groups={groups}", f"cells={cells}", f"size={size}"))
    model = load([SPEC], settings=settings).model
    assert model is not None
    return Universe(model, model.systems[f"hived.{system}"])


@pytest.mark.parametrize("system", ["Takeover", "Settling"])
@sizes
def test_every_promise_is_kept(system: str, groups: int, cells: int, size: int) -> None:
    """Witnesses apart: what a small system never shows is no fault of it."""
    of = universe(system, groups, cells, size)
    x = explore(of.model, of.system, Limits(states=None, seconds=60))
    if not x.complete:
        pytest.skip(x.stopped or "")
    promises = [v for v in x.verdicts if v.kind != "reachable"]
    assert {v.name for v in promises if v.outcome == "violated"} == set()
    assert {v.name for v in promises if v.outcome == "unknown"} == set()


@sizes
def test_nobody_waits_for_ever(groups: int, cells: int, size: int) -> None:
    """L1 to L5 from the graph alone: no run without restarts comes back to where it was, and wherever one of them is at
    stake, one of the events that are taken for fair can happen."""
    of = universe("Settling", groups, cells, size)
    graph = _graph(of)
    left = {world: len(steps) for world, steps in graph.items()}
    before: dict[World, list[World]] = {world: [] for world in graph}
    for world, steps in graph.items():
        for _, after in steps:
            before[after].append(world)
    done = [world for world, count in left.items() if count == 0]
    for world in done:
        for x in before[world]:
            left[x] -= 1
            if left[x] == 0:
                done.append(x)
    assert len(done) == len(graph), "a run goes round for ever"
    for world, steps in graph.items():
        events = {describe(of, step, world).partition(".")[2].partition("(")[0] for step, _ in steps}
        states = {"groups": world.states[:groups], "cells": world.states[groups:]}
        assert "Preempting" not in states["groups"] or events & {"pods_deleted", "proceed"}, "L1"
        assert "Reserving" not in states["cells"] or "pods_deleted" in events, "L2"
        assert "BeingPreempted" not in states["groups"] or "pods_deleted" in events, "L3"
        assert states["groups"][-1] != "Pending" or "schedule" in events, "L4"


def _graph(of: Universe) -> dict[World, list[tuple[Step, World]]]:
    graph: dict[World, list[tuple[Step, World]]] = {}
    found = [initial(of)]
    for world in found:
        if len(graph) > MANY:
            pytest.skip(f"more than {MANY} states")
        if world not in graph:
            graph[world] = [(step, fire(of, world, step).world) for step in enabled(of, world)]
            found.extend(after for _, after in graph[world])
    return graph
