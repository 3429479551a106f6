"""What a target is, and the search for inputs that fail."""

from __future__ import annotations

import json
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import monotonic
from types import FrameType
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

CORPUS = Path(__file__).with_name("corpus")
ROOT = Path(__file__).parents[2]

ROUND = 100
"""Inputs between two looks at the clock and at the memory."""

PROCESSOR_SECONDS = 20
WALL_SECONDS = 900
"""An input that takes longer hangs. The first counts this process alone; the second is for what waits for ever, and so
long that a process which gets a fiftieth of a busy machine stays below it."""

GROWTH = 512 * 2**20
"""Bytes by which the process may grow once the first `WARM` inputs have filled the caches."""

WARM = 1000

OFTEN = 60.0
"""Seconds between two lines of progress."""


class HangError(Exception):
    """An input took too long."""


class GrowthError(Exception):
    """Memory is not given back."""


@dataclass(frozen=True, slots=True)
class Target:
    """Inputs, each something that JSON can hold, and a check that raises where one fails."""

    name: str
    inputs: SearchStrategy[Any]
    check: Callable[[Any], None]

    def seeds(self) -> list[tuple[str, Any]]:
        """The corpus: by name."""
        return [(x.stem, json.loads(x.read_text("utf-8"))) for x in sorted((CORPUS / self.name).glob("*.json"))]


@dataclass
class Search:
    """A search that is under way. Failures count once for each place where they come up."""

    target: Target
    folder: Path
    """For failing inputs, and `TARGET.current`: the input at hand, should the process be killed by it."""
    end: float
    inputs: int = 0
    failures: dict[str, Path] = field(default_factory=dict)
    _last: Any = None
    _failed: Exception | None = None

    def run(self) -> None:
        """First the corpus, then random inputs until the time is over."""
        for name, seeded in self.target.seeds():
            self._failed = None
            try:
                self._attempt(seeded)
            except Exception:
                self._keep(f"the seed {name}")
        chance, warm, told = Random(), 0, monotonic()
        while monotonic() < self.end:
            self._round(chance.getrandbits(64))
            if monotonic() - told > OFTEN:
                told = monotonic()
                print(self, flush=True)
            if self.inputs < WARM:
                warm = resident()
            elif warm and resident() - warm > GROWTH:
                self._last, self._failed = None, GrowthError(f"{(resident() - warm) >> 20} MiB more than at first")
                self._keep("memory")
                return

    def __str__(self) -> str:
        return f"{self.target.name}: {self.inputs} inputs, {len(self.failures)} failures, {resident() >> 20} MiB"

    def _round(self, number: int) -> None:
        @seed(number)
        @settings(
            max_examples=ROUND,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            print_blob=False,
        )
        @given(self.target.inputs)
        def attempt(given_input: Any) -> None:
            if monotonic() < self.end:
                self._attempt(given_input)

        self._failed = None
        try:
            attempt()
        except Exception as error:
            self._failed = self._failed or error
            self._keep(f"the round {number}")

    def _attempt(self, tried: Any) -> None:
        self.inputs += 1
        (self.folder / f"{self.target.name}.current").write_text(json.dumps(tried), "ascii")
        try:
            with limited():
                self.target.check(tried)
        except Exception as error:
            if place(error) in self.failures:
                return
            self._last, self._failed = tried, error
            raise

    def _keep(self, where: str) -> None:
        """Write the smallest input that failed."""
        error = self._failed
        assert error is not None
        path = self.folder / f"{self.target.name}-{len(self.failures) + 1}.json"
        path.write_text(json.dumps(self._last, indent=1), "ascii")
        self.failures[place(error)] = path
        told = "".join(traceback.format_exception(error)[-8:])
        print(f"{self.target.name}: FAILED in {where}\n{told}\n  input: {path}", flush=True)
        print(f"  again: python -m tests.fuzz {self.target.name} --replay {path}", flush=True)


def place(error: BaseException) -> str:
    """What tells one failure from another: its type, and where it was raised in this project."""
    frames = [x for x in traceback.extract_tb(error.__traceback__) if x.filename.startswith(str(ROOT))]
    frames = [x for x in frames if "site-packages" not in x.filename]
    return f"{type(error).__name__} {frames[-1].filename}:{frames[-1].lineno}" if frames else type(error).__name__


@contextmanager
def limited() -> Iterator[None]:
    """Whatever takes too long in the main thread gets a `HangError`."""

    def hangs(number: int, _: FrameType | None) -> None:
        raise HangError(f"{PROCESSOR_SECONDS} s of the processor" if number == signal.SIGPROF else f"{WALL_SECONDS} s")

    timers = (
        (signal.SIGPROF, signal.ITIMER_PROF, PROCESSOR_SECONDS),
        (signal.SIGALRM, signal.ITIMER_REAL, WALL_SECONDS),
    )
    before = [signal.signal(number, hangs) for number, _, _ in timers]
    for _, timer, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def resident() -> int:
    """Bytes of memory that this process has now; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
