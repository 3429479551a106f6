"""Machine code for a system: compiled in a hurry, at once; or well, from a cache or meanwhile by other processes.

An object's name in the cache is the hash of all that it was made from, the processor included. What was compiled in a
hurry is there until it is compiled well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from fsmdsl.program import cache as objects
from fsmdsl.program.native import Compiler, Job, compiled_here, listings, loaded, missing
from fsmdsl.search import kernels
from fsmdsl.search.lower import Lowered
from fsmdsl.search.ranks import numbering

Function = Callable[..., int]

OF_SYSTEM = ("expand_block", "note_block", "hold_block")
"""Kernels that know a system's functions."""

OF_ALL = (
    "insert_block", "claim_block", "drop_repeated", "share_block", "keep_block", "fill_table", "find_block",
    "link_block",
)  # fmt: skip
"""Kernels that all systems of so many words share."""

KERNELS, OF_RANKED = Path(kernels.__file__), Path(numbering.__file__)


@cache
def _shared(words: int, stride: int) -> Job:
    """The job that all systems with this number of words share."""
    return Job(listings(KERNELS, WORDS=words, STRIDE=stride), OF_ALL)


def jobs(lowered: Lowered, ranks: bool = False) -> tuple[Job, ...]:
    """One for the system, and one that all systems of so many words share; one more for a search over ranks."""
    board = lowered.board
    words = {"WORDS": lowered.layout.words, "STRIDE": lowered.stride}
    places = {
        "CURRENT": board.current, "CHANGE": board.change, "LEADS_ON": board.leads_on, "DEAD": board.dead,
        "WAITING": board.waiting, "WAITS": board.waits, "NEXT": lowered.layout.end,
    }  # fmt: skip
    shared = _shared(lowered.layout.words, lowered.stride)
    batch = [Job((*lowered.listings, *listings(KERNELS, **words, **places)), OF_SYSTEM), shared]
    if ranks:
        ranked = listings(OF_RANKED, **words)
        batch.append(Job((*shared.listings, *ranked), tuple(x.function.name for x in ranked)))
    return tuple(batch)


# Compiling -----------------------------------------------------------------------------------------------------------


class Compilation:
    """Objects under way. They are made by other processes, one each, while this one goes on."""

    def __init__(self, batch: Sequence[Job]) -> None:
        self.failed: str | None = None
        self._running: list[Compiler] = []
        self._code: dict[str, bytes] = {}
        """What is done, by name."""
        self._jobs = batch
        try:
            for job in batch:
                code = objects.read(job.name())
                if code is None:
                    self._running.append(Compiler(job))
                else:
                    self._code[job.name()] = code
        except (ImportError, OSError, KeyError) as error:
            self.failed = f"{type(error).__name__}: {error}"

    def done(self, wait: bool = False) -> bool:
        """Are all objects there, or has one failed?"""
        for compiler in list(self._running):
            if wait:
                compiler.process.wait()
            if compiler.process.poll() is None:
                return False
            self._running.remove(compiler)
            code, problem = compiler.result()
            if code is None:
                self.failed = self.failed or problem
            else:
                self._code[compiler.job.name()] = code
        return True

    def functions(self) -> dict[str, Function]:
        """The functions, by name. The objects must be there."""
        functions: dict[str, Function] = {}
        for job in self._jobs:
            functions |= loaded(self._code[job.name()], job.signatures())
        return functions

    def stop(self) -> None:
        """Nobody waits for it any more."""
        for compiler in self._running:
            compiler.stop()
        self._running.clear()


def cached(batch: Sequence[Job]) -> Literal["well", "hastily"] | None:
    """How the system of some `jobs` was compiled before, if it was."""
    if missing():
        return None
    try:
        if all(objects.read(job.name()) is not None for job in batch):
            return "well"
        return "hastily" if objects.read(batch[0].name(hasty=True)) is not None else None
    except (ImportError, OSError):
        return None


def hastily(batch: Sequence[Job], *, store: bool) -> dict[str, Function]:
    """The functions, compiled in a hurry, here and now: in some hundredths of a second, less where a similar system was
    compiled before. `store`: in the cache, too. Raises `ImportError`, `OSError`, `RuntimeError`, `KeyError`."""
    system, everyone = batch
    return {**_of_everyone(everyone, store=store), **compiled_here(system, store=store)}


_of_everyone = cache(compiled_here)
"""Of systems with states of so many words; once in a process."""
