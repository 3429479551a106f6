"""A process that explores one system and tells how far it is: `python -m fsmdsl.editor.live.explorer`.

It reads one line of JSON, writes lines of JSON, and ends at once when its standard input does, so it never outlives
the page that asked.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from threading import Thread
from time import monotonic
from typing import Any

from fsmdsl import model as m
from fsmdsl.editor.live.loading import model_of
from fsmdsl.report.exploration import exploration
from fsmdsl.report.formula import parts, shortened
from fsmdsl.runs.replay import simplest_in_time
from fsmdsl.runs.verdicts.verdict import Means, Progress
from fsmdsl.search import Exploration, Limits, Verdict, data, explore
from fsmdsl.step import Universe
from fsmdsl.text.budget import Budget, LimitError, available, resident

Data = dict[str, Any]
Tell = Callable[[str, Data], None]

OFTEN = 0.1
"""Seconds between two reports."""


def main() -> None:
    """Explore what the first line asks for."""
    job = json.loads(sys.stdin.readline())
    Thread(target=_end_with_input, daemon=True).start()
    answer(job, _tell, resident() + available() * 3 // 4)


def answer(job: Data, tell: Tell, memory: int, means: Means | None = None) -> None:
    """Explore the system of a job (see `questions.job`), with at most `memory` bytes in this process. Calls `tell` with
    `progress` and `phase`, and at the end with `result` or `failed`."""
    try:
        _explore(job, tell, memory, means)
    except RecursionError:
        tell("failed", {"message": "this spec is nested too deeply to be explored; name the inner parts with `let`"})
    except Exception as error:  # the page must be told whatever it is
        tell("failed", {"message": f"internal error: {type(error).__name__}: {error}"})


def _explore(job: Data, tell: Tell, memory: int, means: Means | None) -> None:
    budget = Budget(job["seconds"], memory)
    try:
        with budget:
            outcome = _exploration(job, tell, budget, means)
    except LimitError as error:
        tell("failed", {"message": f"{error}, before the text was read and checked"})
        return
    if outcome is None:
        tell("failed", {"message": f"there is no system `{job['system']}` in this text, or the text has errors"})
        return
    x, model = outcome
    universe = Universe(model, x.system)
    content = exploration(x, model)
    for v, verdict in zip(x.verdicts, content["verdicts"], strict=True):
        verdict.update(_run(universe, v))
    tell("result", content)


def _exploration(job: Data, tell: Tell, budget: Budget, means: Means | None) -> tuple[Exploration, m.Model] | None:
    """What is found, as far as the limits allow; None where there is no such system."""
    model = model_of(tuple((name, text) for name, text in job["texts"]), job["as_documented"])
    system = None if model is None else model.systems.get(job["system"])
    if model is None or system is None:
        return None
    x = explore(model, system, Limits(job["states"]), _reporter(tell), means, budget=budget)
    tell("phase", {"text": "looking for the simplest runs"})
    return simplest_in_time(x, model, budget), model


def _run(universe: Universe, v: Verdict) -> Data:
    """The run of a verdict, if it has one, for the page to step through."""
    if v.trace is None:
        return {"shown": v.label, "formula": [], "trace": None}
    formula = [x.data() for x in shortened(parts(universe, v))]
    return {"shown": v.label, "formula": formula, "trace": data(v.trace)}


def _reporter(tell: Tell) -> Callable[[Progress], None]:
    last = 0.0
    begun = monotonic()

    def report(p: Progress) -> None:
        nonlocal last
        now = monotonic()
        if now - last >= OFTEN:
            last = now
            counts = {"states": p.states, "transitions": p.transitions, "depth": p.depth, "waiting": p.waiting}
            tell("progress", {**counts, "seconds": now - begun, "memory": p.memory})

    return report


def _tell(event: str, content: Data) -> None:
    sys.stdout.write(json.dumps([event, content]) + "\n")
    sys.stdout.flush()


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
