"""A search by one process that is saved while it runs, or goes on with one that was saved."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import replace

from fsmdsl.budget import Budget
from fsmdsl.explore.liveness import Plan
from fsmdsl.explore.packed.checkpoint.read import Saved
from fsmdsl.explore.packed.checkpoint.write import Model, Saver
from fsmdsl.explore.packed.compiled import Compiled
from fsmdsl.explore.packed.errors import FullError, SavedError, UnavailableError
from fsmdsl.explore.packed.memory import Memory, processors
from fsmdsl.explore.packed.native import Compilation, Function
from fsmdsl.explore.packed.plain import Plain
from fsmdsl.explore.packed.ranks.exchange import Alone
from fsmdsl.explore.packed.ranks.partition import Whole, append, listed
from fsmdsl.explore.packed.restore import Refilled, answered
from fsmdsl.explore.packed.search import BYTES_OF_TABLE, PackedSearch
from fsmdsl.explore.program.native import missing
from fsmdsl.explore.symmetry import Reduction
from fsmdsl.explore.verdict import Keeping, Limits, Means, Progress
from fsmdsl.step import Universe

MISSING_STATES = "the search that was saved is damaged: of some numbers there is no state, or more than one"

LITTLE = 20_000
"""With so many states, plain Python can go on."""


class KeptSearch(PackedSearch):
    """A `Searched`. See `PackedSearch`."""

    def __init__(
        self,
        universe: Universe,
        limits: Limits,
        means: Means,
        progress: Callable[[Progress], None] | None,
        plan: Plan | None,
        reduction: Reduction,
        keeping: Keeping,
        budget: Budget | None = None,
    ) -> None:
        super().__init__(universe, limits, means, progress, plan, reduction, budget)
        self._keeping, self._cut = keeping, False
        model = Model.of(universe, self.lowered, self._plain.states[0], reduction.refused)
        self._saver = Saver(keeping, model, Alone())
        saved, most = self._saver.resumed, self._most()
        if saved is not None and saved.frontier.count <= LITTLE and (most is None or saved.frontier.count <= most):
            self._take_up_a_little(saved)
        elif saved is not None:
            self._means = replace(means, compiled=False)
            self._take_up(saved)

    def _take_up_a_little(self, saved: Saved) -> None:
        """In plain Python, at once."""
        plain = self._plain
        found = [x for loaded in self._saver.parts(self._keeping) for x in listed(loaded, saved.width)]
        found.sort()
        if [number for number, *_ in found] != list(range(saved.frontier.count)):
            raise SavedError(MISSING_STATES)
        plain.states, plain.preds = [words for _, words, _ in found], [origin for *_, origin in found]
        plain.number = {words: n for n, words in enumerate(plain.states)}
        plain.frontier, plain.board = saved.frontier, answered(self.lowered, saved.board)
        self._saver.resumed_with(saved.frontier.count)

    def _take_up(self, saved: Saved) -> None:
        """In machine code. Raises `UnavailableError`."""
        problem = missing()
        if problem is not None:
            raise UnavailableError(problem)
        compilation = Compilation(self.lowered, ranks=True)
        compilation.done(wait=True)
        if compilation.failed is not None:
            raise UnavailableError(f"compiling failed: {compilation.failed}")
        functions = compilation.functions()
        room = self._memory // (8 * saved.width + BYTES_OF_TABLE)
        if saved.frontier.count >= room:
            raise FullError(f"{saved.frontier.count} states were saved, and there is memory for {room}")
        workers = self._means.workers or processors()
        self.engine = Refilled(
            self.lowered, functions, workers, room, saved.frontier, saved.board, lambda x: self._fill(x, functions)
        )
        del self._plain
        self._saver.resumed_with(saved.frontier.count)

    def _fill(self, engine: Compiled, functions: dict[str, Function]) -> None:
        room = engine.frontier.count
        whole = Whole(engine.words, engine.preds, Memory(room, "I"), self.lowered.layout.words, room)
        for loaded in self._saver.parts(self._keeping):
            append(whole, functions, loaded, 0, 1)
        if whole.count != room or whole.numbers.numbers[:room] != memoryview(array("I", range(room))):
            raise SavedError(MISSING_STATES)

    def _pause(self) -> bool:
        if super()._pause():
            return True
        if self._saver.due():
            self._save()
        return False

    def _save(self) -> None:
        assert isinstance(self.engine, Plain | Compiled)
        self._saver.save(self.engine, lambda: self.engine.board)

    def _limit(self) -> str:
        # What is then found beyond the limit is forgotten; who goes on with a higher one needs it.
        self._save()
        self._cut = True
        return super()._limit()

    def _finish(self) -> None:
        if not (self._cut or self.abandoned):
            self._save()
        super()._finish()
        self.note = self.note or self._saver.note
