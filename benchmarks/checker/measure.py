"""Runs the tools in turns, so that what else the computer does falls on all of them alike; compares their counts."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from process import Ran, run
from tools import Counts, Size, Tool

MAX_REPEATED_SECONDS = 60.0
"""Number of seconds of all runs of a tool at one size, after which it is not run again."""


@dataclass(slots=True)
class Figures:
    """Of a tool at a size, run by run. Times in seconds."""

    tool: Tool
    generate: list[float] = field(default_factory=list)
    compile: list[float] = field(default_factory=list)
    run: list[float] = field(default_factory=list)
    """Of the whole process that searches."""
    search: list[float] = field(default_factory=list)
    """By the tool's own clock where it has one, else as `run`."""
    cpu: list[float] = field(default_factory=list)
    memory: int = 0
    """Bytes, the most of all runs."""
    counts: Counts | None = None

    @property
    def whole(self) -> list[float]:
        """From the model to the verdict."""
        return [sum(x) for x in zip(self.generate, self.compile, self.run, strict=True)]

    @property
    def states_a_second(self) -> float:
        assert self.counts is not None
        return self.counts.states / max(min(self.search), 1e-6)

    def data(self) -> dict[str, object]:
        """For JSON."""
        assert self.counts is not None
        lists = {"generate": self.generate, "compile": self.compile, "run": self.run, "search": self.search}
        return {
            "states": self.counts.states,
            "transitions": self.counts.transitions,
            **{f"{k} s": {"min": round(min(v), 3), "median": round(median(v), 3)} for k, v in lists.items()},
            "whole s": {"min": round(min(self.whole), 3), "median": round(median(self.whole), 3)},
            "cpu s": round(min(self.cpu), 3),
            "states a second": round(self.states_a_second),
            "peak MiB": round(self.memory / 2**20, 1),
            "bytes a state": round(self.memory / self.counts.states, 1),
            "runs": len(self.run),
        }


@dataclass(slots=True)
class Campaign:
    """Everything that is measured of the model."""

    rounds: int
    longest: float
    """Seconds: what would take longer is left out, and what takes twice as long is ended."""
    figures: dict[str, dict[str, Figures]] = field(default_factory=dict)
    """By size and tool."""
    left_out: list[str] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)
    """Counts that differ, and searches that did not come to their end."""

    def size(self, size: Size, tools: Sequence[Tool]) -> None:
        """Run tools at a size, each as often as it is quick enough."""
        figures = {tool.name: Figures(tool) for tool in tools}
        left = list(tools)
        with TemporaryDirectory(prefix="fsmdsl-cache-") as cache:
            for number in range(self.rounds):
                for tool in tuple(left):
                    mine = figures[tool.name]
                    reason = self._reason_against(tool, size, figures) if number == 0 else None
                    if reason is not None:
                        self.left_out.append(f"{size}: {tool.name}, {reason}")
                    patient = reason is None and sum(mine.whole) < MAX_REPEATED_SECONDS
                    if not patient or not self._once(tool, size, figures, Path(cache)):
                        left.remove(tool)
        self.figures.setdefault(str(size), {}).update((k, f) for k, f in figures.items() if f.counts is not None)

    def _once(self, tool: Tool, size: Size, figures: dict[str, Figures], cache: Path) -> bool:
        """One run, from the model to the verdict; False if something was wrong."""
        if tool.cached is False:
            # What it leaves in the cache is there for those that come after it.
            shutil.rmtree(cache)
            cache.mkdir()
        with TemporaryDirectory(prefix="fsmdsl-bench-") as place:
            folder = Path(place)
            begun = perf_counter()
            tool.prepare(size, folder)
            generated = [perf_counter() - begun]
            for command in tool.generate:
                generated.append(self._build(tool, size, run(command, folder, 2 * self.longest)))
            compiled = [self._build(tool, size, run(x, folder, 2 * self.longest)) for x in tool.compile(size)]
            environment = {**os.environ, "FSMDSL_CACHE": str(cache)}
            done = run(tool.command(size, _states(figures, tool)), folder, 2 * self.longest, environment)
        counts = tool.read(done.output) if done.ok else None
        if counts is None:
            self._mistake(tool, size, f"no verdict after {done.seconds:.1f} s: {done.output[-300:].strip()}")
            return False
        print(f"{size}  {tool.name:32} {done.seconds:8.2f} s  {counts.states:>11,} states", file=sys.stderr, flush=True)
        mine = figures[tool.name]
        mine.generate.append(sum(generated))
        mine.compile.append(sum(compiled))
        mine.run.append(done.seconds)
        mine.search.append(done.seconds if counts.seconds is None else counts.seconds)
        mine.cpu.append(done.cpu)
        mine.memory = max(mine.memory, done.memory)
        mine.counts = counts
        self._compare(tool, size, counts, figures)
        return True

    def _build(self, tool: Tool, size: Size, done: Ran) -> float:
        if not done.ok:
            self._mistake(tool, size, f"cannot be built: {done.output[-300:].strip()}")
        return done.seconds

    def _mistake(self, tool: Tool, size: Size, what: str) -> None:
        mistake = f"{size}: {tool.name}: {what}"
        if mistake not in self.mistakes:
            self.mistakes.append(mistake)
            print(mistake, file=sys.stderr, flush=True)

    def _compare(self, tool: Tool, size: Size, counts: Counts, figures: dict[str, Figures]) -> None:
        for other in figures.values():
            if other.counts is not None and other.tool.symmetric == tool.symmetric:
                for what in differences(counts, other.counts):
                    self._mistake(tool, size, f"{what} as {other.tool.name} says")
                return

    def _reason_against(self, tool: Tool, size: Size, figures: dict[str, Figures]) -> str | None:
        """Why a tool is not run at a size: judging by a smaller one, it takes too long or too much memory."""
        if not tool.fits(size):
            return "the model does not fit"
        before = [x[tool.name] for x in self.figures.values() if tool.name in x]
        states = _states(figures, tool)
        if not before or not states:
            return None
        last = max(before, key=lambda x: x.counts.states if x.counts else 0)
        assert last.counts is not None
        times = states / last.counts.states
        if times * min(last.search) > self.longest:
            return f"would take about {times * min(last.search):.0f} s"
        if last.memory > 2**29 and times * last.memory > 0.9 * available():
            return f"would need about {times * last.memory / 2**30:.0f} GiB"
        return None


def differences(a: Counts, b: Counts) -> list[str]:
    """Where counts do not agree, as far as both know them."""
    disagreements = [f"{a.states} states, not {b.states}"] if a.states != b.states else []
    if a.transitions is not None and b.transitions is not None:
        slack = 1e-6 * a.transitions if a.rounded or b.rounded else 0
        if abs(a.transitions - b.transitions) > slack:
            disagreements.append(f"{a.transitions} transitions, not {b.transitions}")
    return disagreements


def _states(figures: dict[str, Figures], tool: Tool) -> int:
    """How many states there are, if a tool has found out."""
    counts = (f.counts for f in figures.values() if f.tool.symmetric == tool.symmetric)
    return max((c.states for c in counts if c is not None), default=0)


def available() -> int:
    """Bytes of memory that are free for use."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
