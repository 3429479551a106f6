"""The engines of a search in one process: plain Python, then machine code, compiled in a hurry, then compiled well.

Each takes over when the one before has taken as long as it takes to make the next.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import cached_property, partial
from itertools import chain
from math import inf
from time import perf_counter, sleep

from fsmdsl.program.native import Job, at_hand, missing
from fsmdsl.runs.verdicts.verdict import Means
from fsmdsl.search.compiled import Compiled
from fsmdsl.search.engine import Engine, Engines
from fsmdsl.search.lower import Lowered
from fsmdsl.search.memory import processors
from fsmdsl.search.native import Compilation, Function, cached, hastily, jobs
from fsmdsl.search.plain import Plain
from fsmdsl.text.budget import Budget

LOOKING_UP = 0.02
"""Seconds of plain search before it is looked up what was compiled before. A small system is done by then, and to load
the compiler for it would take twice as long."""

LOADING = 0.05
"""Seconds that it takes to load the compiler."""

IN_A_HURRY = 2.5e-6, 1e-6
"""Seconds that it takes to compile a character of a system's text in a hurry; and where one much like it was before."""

IN_USE = 0.06, 1.0
"""Seconds that code compiled in a hurry is used until it is compiled well; and those if it is for this once, or no
processor is idle."""

BYTES_OF_TABLE = 12
"""What a compiled search keeps of a state beside its words: where it came from, and its place in the table."""

POLL_INTERVAL = 0.005
"""Seconds between two looks at whether a compiler is done."""


class MachineCode(Engines):
    """Plain Python, then machine code."""

    def __init__(self, lowered: Lowered, means: Means, budget: Budget, memory: int) -> None:
        self.compilation: Compilation | None = None
        self.well = False
        """Is code used that was compiled well?"""
        self._lowered, self._means, self._budget, self._memory = lowered, means, budget, memory
        self._looked_up = False
        """Was it looked up what was compiled before?"""
        self._begun = perf_counter()
        self._hastened = inf
        """Since when code is used that was compiled in a hurry."""

    def better(self, engine: Engine) -> bool:
        """See `Engines`."""
        means = self._means
        if means.compiled is None and perf_counter() - self._hastened > IN_USE[means.once or means.beside_others]:
            self.compile(wait=False)
        return self.ready() or self._unasked(engine) or self._outgrown(engine)

    def next(self, engine: Engine) -> Engine:
        """See `Engines`."""
        cache_state = None
        if self._unasked(engine):
            self._looked_up, cache_state = True, cached(self._jobs)
        if self._means.compiled is True or cache_state == "well":
            self.compile(wait=True)
        if self.ready() and self.compilation is not None:
            engine = self._using(engine, self.compilation.functions)
            self.well = isinstance(engine, Compiled)
            return engine
        return self._hastened_engine(engine) if cache_state == "hastily" or self._outgrown(engine) else engine

    def full(self, engine: Engine) -> bool:
        """See `Engines`. Compiled code looks at its room by itself."""
        return isinstance(engine, Plain) and engine.used() > self._memory

    def stop(self) -> None:
        """See `Engines`."""
        if self.compilation is not None:
            self.compilation.stop()

    def compile(self, wait: bool) -> None:
        """Begin to compile well, in other processes; `wait`: until that is done, or a limit comes."""
        if self.compilation is None and self.note is None:
            self.note = missing()
            if self.note is None:
                self.compilation = Compilation(self._jobs)
        while self.compilation is not None and wait and not self.compilation.done() and not self._budget.over():
            sleep(POLL_INTERVAL)

    def ready(self) -> bool:
        """Is there code compiled well to change over to?"""
        if self.compilation is None or self.well or not self.compilation.done():
            return False
        if self.compilation.failed is not None:
            self._no_code(f"compiling failed: {self.compilation.failed}")
        return self.compilation is not None

    def _unasked(self, engine: Engine) -> bool:
        """Is it time to look up what was compiled before?"""
        if self._looked_up or self._means.compiled is not None:
            return False
        return perf_counter() - self._begun > LOOKING_UP or self._outgrown(engine)

    @cached_property
    def _jobs(self) -> tuple[Job, ...]:
        """What is compiled, in whatever way."""
        return jobs(self._lowered)

    @cached_property
    def _characters(self) -> int:
        """How long the system's text is."""
        return len(self._lowered.text)

    def _outgrown(self, engine: Engine) -> bool:
        """Has plain Python taken long enough for machine code to be made?"""
        if self.note is not None or not isinstance(engine, Plain):
            return False
        patience = (0 if at_hand() else LOADING) + IN_A_HURRY[self._means.once] * self._characters
        means, left = self._means.compiled, self._budget.left()
        if means is None and left is not None and 2 * patience > left:
            return False  # it would not be done in time
        return means == "hastily" or (means is None and perf_counter() - self._begun > patience)

    def _hastened_engine(self, engine: Engine) -> Engine:
        """Machine code that is made here and now."""
        self.note = missing()
        if self.note is not None:
            return engine
        self._hastened = perf_counter()
        return self._using(engine, lambda: hastily(self._jobs, store=not self._means.once))

    def _using(self, engine: Engine, functions: Callable[[], dict[str, Function]]) -> Engine:
        """The states of an engine in machine code; as they were where that cannot be."""
        room = self._memory // (8 * self._lowered.layout.words + BYTES_OF_TABLE)
        if room <= 2 * engine.frontier.count:
            self._no_code("no memory for a compiled search")
            return engine
        try:
            if isinstance(engine, Compiled):
                engine.code = functions()
            elif isinstance(engine, Plain):
                workers, fill = self._means.workers or processors(), partial(_write, engine)
                return Compiled(self._lowered, functions(), workers, room, engine.frontier, engine.board, fill)
        except (ImportError, OSError, RuntimeError, TypeError, MemoryError) as error:
            self._no_code(f"compiled code cannot be used: {error}")
        return engine

    def _no_code(self, why: str) -> None:
        """The search goes on as it is."""
        self.note = why
        self.stop()
        self.compilation = None


def _write(plain: Plain, engine: Compiled) -> None:
    """The states of a plain search."""
    words, origins = array("q", chain.from_iterable(plain.states)), array("I", plain.preds)
    engine.words.numbers[: len(words)] = memoryview(words)
    engine.preds.numbers[: len(origins)] = memoryview(origins)
