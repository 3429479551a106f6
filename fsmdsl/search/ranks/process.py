"""One search by all ranks that `mpiexec` has started: each runs this program; they meet where numbers are exchanged.

What is small every rank goes through for itself, without a word to the others. Verdicts depend on findings that all
ranks know in the end. Properties of runs are decided by the first rank: all states are brought there, if it has the
memory.
"""

from __future__ import annotations

from fsmdsl.program.native import missing
from fsmdsl.search.checkpoint.write import Saver
from fsmdsl.search.compiled import Compiled
from fsmdsl.search.counters import answered
from fsmdsl.search.engine import Engine, Engines
from fsmdsl.search.errors import FullError, UnavailableError
from fsmdsl.search.lower import groups
from fsmdsl.search.machine_code import BYTES_OF_TABLE
from fsmdsl.search.native import Compilation, Function, jobs
from fsmdsl.search.packed_search import PackedSearch
from fsmdsl.search.plain import Plain
from fsmdsl.search.ranks.distributed import Distributed
from fsmdsl.search.ranks.exchange import Exchange, agreed
from fsmdsl.search.ranks.partition import BYTES, Share, append, from_lists
from fsmdsl.search.resumable import MISSING_STATES
from fsmdsl.text.budget import available

SMALL = 2_000
"""Number of states that every rank explores by itself before they are distributed."""

BYTES_OF_EDGE = 16


class Ranks(Engines):
    """In every rank: plain Python, then what all do together."""

    def __init__(self, search: PackedSearch, exchange: Exchange, saver: Saver) -> None:
        self._search, self._exchange, self._saver = search, exchange, saver
        self._ranks: Distributed | None = None
        self._code: dict[str, Function] = {}

    @property
    def watched(self) -> bool:
        """See `Engines`."""
        return self._ranks is not None

    def better(self, engine: Engine) -> bool:
        """See `Engines`."""
        return self._ranks is None and (self._saver.resumed is not None or engine.frontier.count > SMALL)

    def next(self, engine: Engine) -> Engine:
        """See `Engines`."""
        return self._dealt_out() if self.better(engine) else engine

    def full(self, engine: Engine) -> bool:
        """See `Engines`."""
        return self._ranks is not None and self._ranks.share.full()

    def last(self, engine: Engine) -> tuple[Engine, str | None]:
        """See `Engines`. All states to the first rank, if it has the memory for them."""
        ranks = self._ranks
        if ranks is None:
            return engine, None
        first = self._exchange.rank == 0
        needed = self._needed(ranks)
        left = (self._search.limits.memory or available() * 3 // 4) - ranks.used() if first else 0
        fits, left = self._exchange.all_reduce([first and needed <= left, left], "max")
        if not fits:
            return engine, (
                f"for this, one process must have all states and steps: about {needed / 2**30:.1f} GiB, and there are"
                f" {max(left, 0) / 2**30:.1f}"
            )
        if first:
            lowered, count = self._search.lowered, ranks.frontier.count
            board = answered(lowered, ranks.board)
            return Compiled(lowered, self._code, 1, count, ranks.frontier, board, ranks.gather), None
        ranks.gather(None)
        return engine, "decided by the first rank"

    # Dealing out

    def _dealt_out(self) -> Distributed:
        """The states that are known, each with its owner."""
        functions, plain = self._functions(), self._search.engine
        assert isinstance(plain, Plain)
        saved, exchange, lowered = self._saver.resumed, self._exchange, self._search.lowered
        share = Share(lowered, functions, self._room())
        batches = [[from_lists(plain.states, plain.preds)]] if saved is None else self._saver.parts()
        for loaded in batches:
            problem = None
            try:
                append(share, functions, loaded, exchange.rank, exchange.size)
            except FullError as error:
                problem = str(error)
            self._unavailable(problem)
        if saved is None:
            self._ranks = Distributed(lowered, functions, exchange, share, plain.frontier, plain.board)
            return self._ranks
        total = exchange.all_reduce([share.count], "sum")[0]
        self._unavailable(None if total == saved.frontier.count else MISSING_STATES)
        self._saver.resumed_with(share.count)
        self._ranks = Distributed(lowered, functions, exchange, share, saved.frontier, saved.board)
        return self._ranks

    def _functions(self) -> dict[str, Function]:
        """Machine code, which the first rank has made if need be. Raises `UnavailableError`, in all ranks."""
        self._unavailable(missing())
        batch = jobs(self._search.lowered, ranks=True)
        if self._exchange.rank == 0:
            Compilation(batch).done(wait=True)
        self._exchange.all_reduce([0], "max")
        # A rank on another machine may look into another cache.
        compilation = Compilation(batch)
        compilation.done(wait=True)
        self._unavailable(compilation.failed and f"compiling failed: {compilation.failed}")
        self._code = compilation.functions()
        return self._code

    def _unavailable(self, problem: str | None) -> None:
        message = agreed(self._exchange, problem)
        if message is not None:
            raise UnavailableError(message)

    def _room(self) -> int:
        """For so many states this rank has memory."""
        return int(self._search.memory // self._exchange.neighbours // (8 * self._search.lowered.layout.words + BYTES))

    def _needed(self, ranks: Distributed) -> int:
        """Bytes for a graph in one process, about."""
        search = self._search
        columns = groups(search.lowered.atoms) if search.plan is not None else 0
        each = 8 * search.lowered.layout.words + BYTES_OF_TABLE + 8 * (2 + columns)
        return ranks.frontier.count * each + search.transitions * BYTES_OF_EDGE
