"""Saving a search while it runs, and taking up one that was saved; by one process or by many ranks together."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from time import perf_counter

from fsmdsl.dataclasses import replace
from fsmdsl.runs.verdicts.verdict import Keeping
from fsmdsl.search.checkpoint.read import (
    MANIFEST,
    Part,
    Portion,
    Saved,
    files,
    identity,
    part_name,
    read_any,
    read_manifest,
    read_part,
    write_manifest,
    write_part,
)
from fsmdsl.search.checkpoint.validation import board_of, board_problem, states_problem
from fsmdsl.search.compiled import Compiled
from fsmdsl.search.engine import Engine, Store
from fsmdsl.search.errors import SavedError
from fsmdsl.search.packed_search import PackedSearch
from fsmdsl.search.plain import Plain
from fsmdsl.search.ranks.distributed import Distributed
from fsmdsl.search.ranks.exchange import Exchange, agreed
from fsmdsl.search.ranks.partition import Loaded, Span
from fsmdsl.text.files import reason
from fsmdsl.text.files.private import distrust


class Saver(Store):
    """What is saved so far, and when it is time to save again."""

    def __init__(self, keeping: Keeping, search: PackedSearch, exchange: Exchange) -> None:
        self._keeping, self._exchange, self._lowered = keeping, exchange, search.lowered
        self._system = search.universe.system.qualified
        self._identity = identity(search.lowered, search.firsts)
        self._refused = dict(search.refused)
        self._folder = None if keeping.save is None else keeping.save / self._system
        self._last = perf_counter()
        self._parts: tuple[tuple[Part, ...], ...] = ()
        self._saved_states = 0
        """Number of states of this rank on disk."""
        self._stand = (0, 0)
        """How far the search was then: states expanded and found."""
        self.resumed: Saved | None = None
        """The search to go on with, if there is one."""
        self._failed = False
        if keeping.resume is not None:
            with self._in_all_ranks(f"cannot read `{keeping.resume}`"):
                self.resumed = self._read(keeping.resume)
        if self._folder is not None:
            with self._in_all_ranks(f"cannot save to `{self._folder}`"):
                self._prepare(self._folder)

    @contextmanager
    def _in_all_ranks(self, doing: str) -> Iterator[None]:
        """An error inside, in one rank, is raised in all of them as `SavedError`."""
        problem = None
        try:
            yield
        except SavedError as error:
            problem = str(error)
        except OSError as error:
            problem = f"{doing}: {reason(error)}"
        message = agreed(self._exchange, problem)
        if message is not None:
            raise SavedError(message)

    def _read(self, resume: Path) -> Saved | None:
        folder = resume / self._system
        if (folder / MANIFEST).exists() or not any(resume.glob(f"*/{MANIFEST}")):
            return self._fitting(read_manifest(folder, self._identity, self._system), folder)
        self.note = f"`{resume}` has no saved search of it: started from the beginning"
        return None

    def _fitting(self, saved: Saved, folder: Path) -> Saved:
        """The search as it is gone on with. Raises `SavedError` where it cannot be one of this model."""
        lowered, count = self._lowered, saved.frontier.count
        problem = board_problem(lowered, saved.board, count)
        if saved.width != lowered.layout.words:
            problem = f"its states have {saved.width} words, not {lowered.layout.words}"
        if problem is not None:
            raise SavedError(f"`{folder / MANIFEST}` is damaged: {problem}")
        return replace(saved, board=board_of(lowered, saved.board))

    def _prepare(self, folder: Path) -> None:
        """Make the folder."""
        keeping = self._keeping
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.resumed is not None and _same(keeping.resume, keeping.save):
            self._parts = self.resumed.parts
        elif not keeping.anew and (folder / MANIFEST).exists():
            raise SavedError(
                f"`{keeping.save}` already holds a search of `{self._system}`: resume it (`--resume`), or"
                " save to another folder"
            )
        why = distrust(folder)
        if why is not None:
            raise SavedError(f"cannot save to `{folder}`: {why}")
        if keeping.anew and self._exchange.rank == 0:
            (folder / MANIFEST).unlink(missing_ok=True)

    # Taking up

    def parts(self) -> Iterator[list[Loaded]]:
        """The states that were saved, time after time: those of all ranks, or only this one's where there were as many
        as now. Raises `SavedError`, in all ranks."""
        assert self._keeping.resume is not None
        assert self.resumed is not None
        folder = self._keeping.resume / self._system
        for each in files(self.resumed, self._exchange.rank, self._exchange.size):
            with self._in_all_ranks(f"cannot read `{folder}`"):
                loaded = [self._part(folder, part) for part in each]
            yield loaded

    def _part(self, folder: Path, part: Part) -> Loaded:
        assert self.resumed is not None
        count = self.resumed.frontier.count
        loaded = read_part(folder, part, self._lowered.layout.words, count)
        problem = states_problem(self._lowered, loaded, count)
        if problem is not None:
            raise SavedError(f"`{folder / part.file}` is damaged: {problem}")
        return loaded

    def resumed_with(self, states: int) -> None:
        """Note how many states of this rank were saved before, if the search continues in the same folder."""
        if self._parts and self.resumed is not None:
            self._saved_states, self._stand = states, (self.resumed.frontier.first, self.resumed.frontier.count)

    # Saving

    def due(self) -> bool:
        """Is it time to save again?"""
        return self._folder is not None and not self._failed and perf_counter() - self._last >= self._keeping.every

    def save(self, engine: Engine, /) -> None:
        """See `Store`. Where it goes wrong, the search goes on, but is no longer saved."""
        assert isinstance(engine, Plain | Compiled | Distributed)
        stand = engine.frontier.first, engine.frontier.count
        if self._folder is None or self._failed or stand == self._stand:
            return
        portion, upto = _portion(engine, self._saved_states, self._exchange.rank)
        try:
            self._write(self._folder, engine, portion)
        except SavedError as error:
            self._failed, self.note = True, f"no longer saved: {error}; what was saved before is still there"
        else:
            self._saved_states, self._stand, self._last = upto, stand, perf_counter()

    def _write(self, folder: Path, engine: Engine, portion: Portion) -> None:
        """Raises `SavedError`, in all ranks."""
        width, cannot = self._lowered.layout.words, f"cannot write to `{folder}`"
        with self._in_all_ranks(cannot):
            name = part_name(len(self._parts), self._exchange.rank)
            part = write_part(folder, name, width, portion)
        parts = (*self._parts, self._all_parts(part))
        board, frontier = engine.merged(), engine.frontier
        fired = board[self._lowered.board.fired]
        saved = Saved(self._system, self._identity, self._refused, width, frontier, board, fired, parts)
        with self._in_all_ranks(cannot):
            if self._exchange.rank == 0:
                write_manifest(folder, saved)
        self._parts = parts

    def _all_parts(self, part: Part) -> tuple[Part, ...]:
        """The files of all ranks."""
        row = [part.states, part.bytes, *array("q", bytes.fromhex(part.sha256))]
        size, rank, n = self._exchange.size, self._exchange.rank, len(row)
        rows = self._exchange.all_reduce([*[0] * (rank * n), *row, *[0] * ((size - rank - 1) * n)], "sum")
        parts = []
        for r in range(size):
            states, length, *sums = rows[r * n : (r + 1) * n]
            parts.append(Part(part_name(len(self._parts), r), states, length, array("q", sums).tobytes().hex()))
        return tuple(parts)


def refused_before(resume: Path, system: str) -> dict[str, str]:
    """The sets that a search which is to be gone on with has not reduced. What is wrong with it comes up later."""
    try:
        return read_any(resume / system).refused
    except SavedError:
        return {}


def _same(a: Path | None, b: Path | None) -> bool:
    return a is not None and b is not None and a.resolve() == b.resolve()


def _portion(engine: Plain | Compiled | Distributed, start: int, rank: int) -> tuple[Portion, int]:
    """The states of a rank from a place on, and how many it has. What all have found for themselves the first saves."""
    width = engine.lowered.layout.words
    match engine:
        case Plain():
            count = engine.frontier.count if rank == 0 else start
            words = memoryview(array("q", chain.from_iterable(engine.states[start:count])))
            origins = memoryview(array("I", engine.preds[start:count]))
            return Portion(words, None, origins, (Span(0, start, 0),)), count
        case Compiled():
            count = engine.frontier.count
            words = engine.words.numbers[start * width : count * width]
            return Portion(words, None, engine.preds.numbers[start:count], (Span(0, start, 0),)), count
        case Distributed():
            share = engine.share
            words = share.words.numbers[start * width : share.count * width]
            numbers, origins = (x.numbers[start : share.count] for x in (share.numbers, share.origins))
            begun = max((n for n, s in enumerate(share.spans) if s.place <= start), default=0)
            spans = [Span(max(s.place - start, 0), s.number, s.origin) for s in share.spans[begun:]]
            return Portion(words, numbers, origins, tuple(spans)), share.count
