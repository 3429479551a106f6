"""One search by all ranks that `mpiexec` has started: each runs this program; they meet where numbers are exchanged.

What is small every rank goes through for itself, without a word to the others. Verdicts rest on findings that all ranks
know in the end. Properties of runs are decided by the first rank: all states are brought there, if it has the memory.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from fsmdsl.budget import INTERRUPTED as BY_HAND
from fsmdsl.budget import Budget, available
from fsmdsl.explore.liveness import Plan
from fsmdsl.explore.packed.checkpoint.write import Model, Saver
from fsmdsl.explore.packed.errors import FullError, UnavailableError
from fsmdsl.explore.packed.lower import groups
from fsmdsl.explore.packed.native import Compilation, Function
from fsmdsl.explore.packed.ranks.distributed import Distributed
from fsmdsl.explore.packed.ranks.exchange import Exchange, agreed
from fsmdsl.explore.packed.ranks.partition import BYTES, Share, append, laid_out
from fsmdsl.explore.packed.restore import Refilled
from fsmdsl.explore.packed.resumable import MISSING_STATES
from fsmdsl.explore.packed.search import BYTES_OF_TABLE, REPORT_EVERY, PackedSearch
from fsmdsl.explore.program.native import missing
from fsmdsl.explore.symmetry import Reduction
from fsmdsl.explore.verdict import Keeping, Limits, Means, Progress
from fsmdsl.step import Universe

SMALL = 2_000
"""So many states every rank looks at for itself before they are dealt out."""

TIME, INTERRUPTED, MEMORY = 1, 2, 3
"""Why a rank wants to stop."""

BYTES_OF_EDGE = 16


class RanksSearch(PackedSearch):
    """A `Searched`, in every rank. See `PackedSearch`."""

    def __init__(
        self,
        universe: Universe,
        limits: Limits,
        means: Means,
        progress: Callable[[Progress], None] | None,
        plan: Plan | None,
        reduction: Reduction,
        exchange: Exchange,
        keeping: Keeping,
        budget: Budget | None = None,
    ) -> None:
        super().__init__(universe, limits, means, progress, plan, reduction, budget)
        self._exchange, self._keeping = exchange, keeping
        model = Model.of(universe, self.lowered, self._plain.states[0], reduction.refused)
        self._saver = Saver(keeping, model, exchange)
        self._ranks: Distributed | None = None
        self._code: dict[str, Function] = {}

    # Going through

    def run(self) -> None:
        """Search until there is nothing new, or a limit is reached."""
        if self.doubt is not None:
            return
        most, done = self._most(), False
        if self._saver.resumed is None:
            done = self._plain.run(
                lambda: self._doubted() or self._at_violation(self._violated()),
                SMALL if most is None else min(SMALL, most),
            )
        if not (done or self.stopped or self._doubted()) and (most is None or self.states <= most):
            with self.budget.patience():
                self._ranks = self._dealt_out()
                self.engine = self._ranks
                done = self._ranks.run(self._pause_together, most)
        if self._doubted():
            return
        self._save()
        if not done and self.stopped is None:
            self.stopped = self._limit()
        self._finish()
        if self._ranks is not None and self.universe.system.properties:
            self._bring_together(self._ranks)
        self.note = self._saver.note

    def _dealt_out(self) -> Distributed:
        """The states that are known, each with its owner."""
        functions = self._functions()
        saved, exchange = self._saver.resumed, self._exchange
        share = Share(self.lowered, functions, self._room())
        known = (
            [[laid_out(self._plain.states, self._plain.preds)]] if saved is None else self._saver.parts(self._keeping)
        )
        for loaded in known:
            problem = None
            try:
                append(share, functions, loaded, exchange.rank, exchange.size)
            except FullError as error:
                problem = str(error)
            self._unavailable(problem)
        if saved is None:
            return Distributed(self.lowered, functions, exchange, share, self._plain.frontier, self._plain.board)
        total = exchange.all_reduce([share.count], "sum")[0]
        self._unavailable(None if total == saved.frontier.count else MISSING_STATES)
        self._saver.resumed_with(share.count)
        return Distributed(self.lowered, functions, exchange, share, saved.frontier, saved.board)

    def _functions(self) -> dict[str, Function]:
        """Machine code, which the first rank has made if need be. Raises `UnavailableError`, in all ranks."""
        self._unavailable(missing())
        if self._exchange.rank == 0:
            Compilation(self.lowered, ranks=True).done(wait=True)
        self._exchange.all_reduce([0], "max")
        # A rank on another machine may look into another cache.
        compilation = Compilation(self.lowered, ranks=True)
        compilation.done(wait=True)
        self._unavailable(compilation.failed and f"compiling failed: {compilation.failed}")
        self._code = compilation.functions()
        return self._code

    def _unavailable(self, problem: str | None) -> None:
        told = agreed(self._exchange, problem)
        if told is not None:
            raise UnavailableError(told)

    def _room(self) -> int:
        """For so many states this rank has memory."""
        return int(self._memory // self._exchange.neighbours // (8 * self.lowered.layout.words + BYTES))

    # Between two blocks

    def _pause_together(self) -> bool:
        """What `_pause` is to one process: the ranks agree on it."""
        assert self._ranks is not None
        now, first = perf_counter(), self._exchange.rank == 0
        save, tell = first and self._saver.due(), first and self._told_long_ago(now)
        wanted, saving, telling, violated = self._exchange.all_reduce(
            [self._why_stop(), save, tell, self._violated()], "max"
        )
        if self._doubted() or self._at_violation(bool(violated)):
            return True
        if saving:
            self._save()
        if telling:
            self._tell(now)
        if wanted:
            self.stopped = self._stopped(wanted)
        return bool(wanted)

    def _doubted(self) -> bool:
        if self._ranks is not None and self.doubt is None and self.lowered.doubts:
            number = self._exchange.all_reduce([self._ranks.noted(self.lowered.layout.doubt)], "max")[0]
            self.doubt = self.lowered.doubts[number - 1] if number else None
        return super()._doubted()

    def _why_stop(self) -> int:
        assert self._ranks is not None
        if self._ranks.share.full():
            return MEMORY
        if not self.budget.over():
            return 0
        if self.budget.memory_reached:
            return MEMORY
        return INTERRUPTED if self.budget.reached == BY_HAND else TIME

    def _stopped(self, wanted: int) -> str:
        if wanted == TIME:
            return f"stopped after {self._limits.seconds:g} seconds"
        return BY_HAND if wanted == INTERRUPTED else super()._limit()

    def _told_long_ago(self, now: float) -> bool:
        return self._progress is not None and now - self._told > REPORT_EVERY

    def _tell(self, now: float) -> None:
        assert self._ranks is not None
        fired, used = self._exchange.all_reduce([self._ranks.fired(), self._ranks.used()], "sum")
        board = self._ranks.merged()
        self._told = now
        if self._progress is not None:
            f = self._ranks.frontier
            told = self._told_violated(board)
            self._progress(Progress(f.count, fired, f.depth, f.count - f.first, now - self.begun, used, told))

    def _save(self) -> None:
        if self._ranks is None:
            self._saver.save(self._plain, lambda: self._plain.board)
        else:
            self._saver.save(self._ranks, self._ranks.merged)

    # Properties of runs

    def _bring_together(self, ranks: Distributed) -> None:
        """All states to the first rank, if it has the memory for them."""
        first = self._exchange.rank == 0
        needed = self._needed()
        left = (self._limits.memory or available() * 3 // 4) - ranks.used() if first else 0
        fits, left = self._exchange.all_reduce([first and needed <= left, left], "max")
        if not fits:
            self.undecided = (
                f"for this, one process must have all states and steps: about {needed / 2**30:.1f} GiB, and there are"
                f" {max(left, 0) / 2**30:.1f}"
            )
        elif first:
            self.engine = Refilled(self.lowered, self._code, 1, self.states, ranks.frontier, ranks.board, ranks.gather)
        else:
            self.undecided = "decided by the first rank"
            ranks.gather(None)

    def _needed(self) -> int:
        """Bytes for a graph in one process, about."""
        columns = groups(self.lowered.atoms) if self.plan is not None else 0
        each = 8 * self.lowered.layout.words + BYTES_OF_TABLE + 8 * (2 + columns)
        return self.states * each + self.transitions * BYTES_OF_EDGE
