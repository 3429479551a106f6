"""The search in machine code: states in flat arrays, expanded and kept block by block, by any number of workers.

The numbers of states do not depend on how many workers there are. The workers expand parts of the same range of states.
Each worker then looks up, part after part, the successors that it owns by their hash. Finally, each worker writes the
new successors of its part after those of the parts before it. A single worker would find them in the same order.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, pairwise
from time import perf_counter

from fsmdsl.program.thread_pool import Crew
from fsmdsl.runs.frontier import Frontier
from fsmdsl.runs.liveness.graph import Graph
from fsmdsl.search import counters as boards
from fsmdsl.search.engine import Expansion, OneProcess
from fsmdsl.search.lower import Lowered, groups
from fsmdsl.search.memory import Memory
from fsmdsl.search.native import Function

CAP = 1 << 15
"""Room for the successors that a worker finds in one block."""

RECENT = 1 << 13
"""Number of recent successors that a worker remembers: about half of all successors are among them."""

LOAD = 0.7
"""A table fuller than this is made anew, twice as large."""

LEAST_BITS = 17

BLOCK = 0.05
"""Seconds that a block takes at most, unless a single state takes longer: so long a limit may wait."""

SLOW = 0.01
"""Seconds for one state above which a single worker runs in its own thread, so that a limit need not wait for it."""

LONG = 1 << 22
"""Number of states above which filling a new table takes long."""

STRETCH = 1 << 14
"""Number of states whose questions are answered between two checks of the limits, unless they are slow."""


class Compiled(OneProcess):
    """States that come from elsewhere, and the means to find more. `fill` writes the words and origins of as many as
    the frontier says; the board is what they answered."""

    def __init__(
        self,
        lowered: Lowered,
        functions: dict[str, Function],
        workers: int,
        room: int,
        frontier: Frontier,
        board: Sequence[int],
        fill: Callable[[Compiled], None],
    ) -> None:
        self.lowered, self.frontier = lowered, frontier
        self.workers = workers
        self.room = room
        """There is room for so many states."""
        self.code = functions
        """May change for other code, compiled from the same text."""
        self._words = self.lowered.layout.words
        self.words = Memory(room * self._words)
        self.preds = Memory(room, "I")
        self.boards = [boards.CounterMemory(self.lowered) for _ in range(workers)]
        self._rows = [boards.CounterMemory(self.lowered) for _ in range(workers)]
        self._brought = [0] * workers
        """How many successors each worker found in this block."""
        self._recent = [Memory(RECENT * self._words) for _ in range(workers)]
        for recent in self._recent:
            recent.fill(0xFF)
        self._step = 256
        """Number of states that a worker expands at once."""
        self._pace = SLOW
        """Seconds that a worker takes for a state; it is not known before the first block."""
        self._buffers(_block(workers, room))
        self._crew = Crew(workers) if workers > 1 else None
        for place in boards.counted(lowered):
            self.boards[0].numbers[place] = board[place]
        fill(self)
        self._bits = 0
        self._slots = 0
        self._table = Memory(1, "I")
        self._entries = [0] * workers
        self._make_room(0)

    def _buffers(self, cap: int) -> None:
        parts = self.workers
        self._cap = cap
        self._out = Memory(parts * cap * self.lowered.stride)
        self._origins = Memory(parts * cap, "I")
        self._hashes = Memory(parts * cap)
        self._marks = Memory(parts * cap)
        self._lists = Memory(parts * parts * cap, "I")
        self._lengths = Memory(parts * parts)
        self._counts = Memory(parts * parts)

    # The table

    def _make_room(self, coming: int) -> None:
        """Room in the tables for so many successors of each owner, of which few are new."""
        entries = max(self._entries) if self._slots else -(-self.frontier.count // self.workers)
        places = self.frontier.count + self.workers * self._cap

        def suffice(slots: int) -> bool:
            return entries + coming < 0.9 * slots and entries + coming // 4 <= LOAD * slots

        if suffice(self._slots) and places < 1 << self._bits:
            return
        slots = max(1 << LEAST_BITS, self._slots)
        while not suffice(slots):
            slots *= 2
        self._table.close()
        self._slots = slots
        self._bits = max((slots * self.workers).bit_length(), (2 * places).bit_length())
        self._table = Memory(slots * self.workers, "I")
        self._entries = self._each(self._fill, long=self.frontier.count > LONG)

    def _fill(self, owner: int) -> int:
        return self.code["fill_table"](
            self.words.address, self.frontier.count, self._table.address, self._slots - 1, self._bits, owner,
            self.workers,
        )  # fmt: skip

    def _each(self, work: Callable[[int], int], *, long: bool = False) -> list[int]:
        """What every worker makes of it, at the same time; in a thread of its own if that may take long."""
        if self.workers == 1 and self._pace < SLOW and not long:
            return [work(0)]
        self._crew = self._crew or Crew(self.workers)
        return self._crew.each(work)

    def _timed(self, states: int, work: Callable[[], list[int]]) -> list[int]:
        """Work on so many states for each worker: it shows how many can be done in the time of a block."""
        begun = perf_counter()
        counts = work()
        self._pace = (perf_counter() - begun) / max(states, 1)
        return counts

    def _most(self) -> int:
        """Number of states that a worker can expand in the time of a block."""
        return max(min(self._step, int(BLOCK / max(self._pace, 1e-9))), 1)

    # Searching

    def run(self, pause: Callable[[], bool], most: int | None) -> bool:
        """As `Plain.run`."""
        while self.frontier.advance():
            if pause() or self.frontier.count + self.workers * self._cap > self.room:
                return False
            if self.workers == 1:
                self._alone()
            else:
                self._together()
            if most is not None and self.frontier.count > most:
                return False
        return True

    def rewind(self, most: int) -> None:
        """As `Plain.rewind`. Other states may have been expanded in the same block: what was noted of them is forgotten
        with all the rest, and the states that stay are asked anew."""
        self.frontier.back(self.origin(most), most)
        self.boards = [boards.CounterMemory(self.lowered) for _ in self.boards]
        self._each(self._ask_anew)
        self._table.close()
        self._table = Memory(self._slots * self.workers, "I")
        self._entries = self._each(self._fill)

    def _ask_anew(self, worker: int) -> int:
        first, last = (self.frontier.first * (worker + n) // self.workers for n in (0, 1))
        while first < last:
            self._expand(worker, first, last)
            first = self._next(worker)
        return 0

    def _alone(self) -> None:
        frontier = self.frontier
        last = min(frontier.first + self._most(), frontier.level_end)
        n = self._timed(
            last - frontier.first,
            lambda: self._each(lambda w: self._unrepeated(w, self._expand(w, frontier.first, last))),
        )[0]
        following = self._next(0)
        self._step = min(2 * self._step, 1 << 30)
        if following == frontier.first:
            self._buffers(2 * self._cap)
            return
        frontier.first = following
        self._make_room(n)
        frontier.count = self.code["insert_block"](
            self._out.address, self._origins.address, self._hashes.address, n, self.words.address, self.preds.address,
            self._table.address, self._slots - 1, self._bits, frontier.count,
        )  # fmt: skip
        self._entries[0] = frontier.count

    def _expand(self, worker: int, first: int, last: int, board: boards.CounterMemory | None = None) -> int:
        """Count into a board, by default the worker's own. A thread that was abandoned keeps its board alive."""
        return self.code["expand_block"](
            self.words.address, first, last, *self._successors(worker), self._cap, self._rows[worker].address,
            (board or self.boards[worker]).address,
        )  # fmt: skip

    def _successors(self, worker: int) -> tuple[int, int, int]:
        """Where a worker puts those that it finds: their words, origins and hashes."""
        at = worker * self._cap
        words = self._out.address + at * 8 * self.lowered.stride
        return words, self._origins.address + at * 4, self._hashes.address + at * 8

    def _next(self, worker: int) -> int:
        return int(self.boards[worker].numbers[self.lowered.layout.end])

    def _together(self) -> None:
        frontier, parts = self.frontier, self.workers
        bounds = self._bounds()
        before = [[b.numbers[place] for place in self.lowered.counts] for b in self.boards]
        states = bounds[1] - bounds[0]
        counts = self._timed(states, lambda: self._each(lambda w: self._part(w, bounds[w], bounds[w + 1])))
        # Behind the first part that has not come to its end, nothing counts: its states are expanded again.
        full = next((w for w in range(parts) if bounds[w] < bounds[w + 1] and self._next(w) < bounds[w + 1]), None)
        for w in range(parts):
            if full is not None and w > full:
                counts[w] = self._share(w, 0)
                self._recent[w].fill(0xFF)
                for place, count in zip(self.lowered.counts, before[w], strict=True):
                    self.boards[w].numbers[place] = count
        following = bounds[-1] if full is None else self._next(full)
        if following == frontier.first:
            self._buffers(2 * self._cap)
            return
        self._adapt(bounds, full)
        frontier.first = following
        lengths = self._lengths.numbers
        self._make_room(max(sum(lengths[parts * part + owner] for part in range(parts)) for owner in range(parts)))
        self._keep(counts)

    def _part(self, worker: int, first: int, last: int) -> int:
        """Expand one part, and sort what it brings by owner."""
        self._brought[worker] = self._expand(worker, first, last) if first < last else 0
        return self._share(worker, self._unrepeated(worker, self._brought[worker]))

    def _unrepeated(self, worker: int, n: int) -> int:
        return self.code["drop_repeated"](*self._successors(worker), n, self._recent[worker].address, RECENT)

    def _share(self, worker: int, n: int) -> int:
        self.code["share_block"](
            self._hashes.address, worker, n, self._cap, self.workers, self._lists.address, self._lengths.address
        )
        return n

    def _adapt(self, bounds: Sequence[int], full: int | None) -> None:
        """How many states a worker expands in the next block: as many as leave some of its room free, since what
        comes behind a part that was cut off is lost."""
        if full is not None:
            self._step = max(self._step // 2, 1)
            return
        widest = max(n / max(b - a, 1) for n, (a, b) in zip(self._brought, pairwise(bounds), strict=True))
        self._step = min(2 * self._step, max(int(0.7 * self._cap / max(widest, 1)), 1))

    def _bounds(self) -> list[int]:
        first, last = self.frontier.first, self.frontier.level_end
        each = min(self._most(), -(-(last - first) // self.workers))
        return [min(first + w * each, last) for w in range(self.workers + 1)]

    def _keep(self, counts: Sequence[int]) -> None:
        """Each worker looks up the successors that it owns by hash, then writes the new ones of its part."""
        parts, count = self.workers, self.frontier.count
        table = self._table.address, self._slots - 1, self._bits

        def claim(owner: int) -> int:
            return self.code["claim_block"](
                self._out.address, self._hashes.address, self._lists.address, self._lengths.address, parts, self._cap,
                owner, self.words.address, *table, count, self._marks.address, self._counts.address,
            )  # fmt: skip

        for owner, new in enumerate(self._each(claim)):
            self._entries[owner] += new
        numbers = self._counts.numbers
        new_of_part = [sum(numbers[parts * o + w] for o in range(parts)) for w in range(parts)]
        begins = [count, *(count + x for x in accumulate(new_of_part))]

        def keep(part: int) -> int:
            return self.code["keep_block"](
                self._out.address, self._origins.address, part * self._cap, counts[part], self._marks.address,
                self.words.address, self.preds.address, self._table.address, self._bits, begins[part],
            )  # fmt: skip

        self._each(keep)
        self.frontier.count = begins[-1]

    # What was found

    def note_rest(self) -> None:
        """Ask the questions of the states that are not expanded."""
        note, row, board = self.code["note_block"], self._rows[0].address, self.boards[0].address
        self._stretches(self.frontier.first, lambda first, last: note(self.words.address, first, last, row, board))

    def _stretches(self, first: int, work: Callable[[int, int], int]) -> None:
        """Work on all states from one on, a stretch at a time, between which a limit can come; by one worker."""
        while first < self.frontier.count:
            last = min(first + max(min(STRETCH, int(BLOCK / max(self._pace, 1e-9))), 1), self.frontier.count)
            self._by_one(partial(work, first, last), last - first)
            first = last

    def _by_one(self, work: Callable[[], int], states: int) -> int:
        """Work of one worker on so many states, in a thread of its own if they are slow."""
        return self._timed(states, lambda: self._each(lambda worker: 0 if worker else work()))[0]

    @property
    def board(self) -> list[int]:
        """The boards of all workers, as one."""
        return boards.merged(self.lowered, self.boards)

    def state(self, n: int) -> tuple[int, ...]:
        """The words of a state."""
        return tuple(self.words.numbers[n * self._words : (n + 1) * self._words])

    def origin(self, n: int) -> int:
        """The state from which one was found."""
        return int(self.preds.numbers[n])

    def find(self, words: tuple[int, ...]) -> int | None:
        """The number of a state."""
        self._out.numbers[: self._words] = memoryview(array("q", words))
        self.code["find_block"](
            self._out.address, 1, self.words.address, self._table.address, self._slots - 1,
            self._bits, self.workers, self._marks.address, 0,
        )  # fmt: skip
        return None if self._marks.numbers[0] < 0 else self._marks.numbers[0]

    def expansion(self, at: int) -> Expansion:
        """What the program says about one state. Changes nothing."""
        board, layout, stride = boards.CounterMemory(self.lowered), self.lowered.layout, self.lowered.stride
        while True:
            n = self._expand(0, at, at + 1, board)
            if board.numbers[layout.end] > at:
                break
            self._buffers(2 * self._cap)
        out = self._out.numbers
        successors = [tuple(out[k : k + layout.words]) for k in range(0, n * stride, stride)]
        return Expansion(list(board.numbers), successors)

    def graph(self) -> Graph:
        """The states that were expanded with all their steps, which are taken once more."""
        count, done, edges = self.frontier.count, self.frontier.first, self.fired()
        offsets, targets, marks = Memory(count + 1), Memory(edges), Memory(edges)
        board = boards.CounterMemory(self.lowered)
        at = first = 0
        while first < done:
            last = min(first + self._most(), done)
            n = self._by_one(partial(self._expand, 0, first, last, board), last - first)
            following = board.numbers[self.lowered.layout.end]
            if following == first:
                self._buffers(2 * self._cap)
                continue
            first = following
            self.code["find_block"](
                self._out.address, n, self.words.address, self._table.address, self._slots - 1, self._bits,
                self.workers, targets.address, at,
            )  # fmt: skip
            self.code["link_block"](
                self._out.address, self._origins.address, n, offsets.address, marks.address, at
            )  # fmt: skip
            at += n
        columns = groups(self.lowered.atoms)
        atoms = Memory(max(columns, 1) * count)
        hold, own = self.code["hold_block"], self._rows[0].address
        self._stretches(0, lambda first, last: hold(self.words.address, first, last, own, atoms.address, count))
        return Graph(
            array("q", accumulate(offsets.numbers)),
            targets.numbers[:at],
            marks.numbers[:at],
            tuple(atoms.numbers[k * count : (k + 1) * count] for k in range(columns)),
            None if done == count else done,
            self.frontier.firsts,
        )

    def noted(self, place: int) -> int:
        """What any worker has noted at a place of a row, if anything was."""
        return max(int(x.numbers[place]) for x in (*self.boards, *self._rows))

    def fired(self) -> int:
        """Steps taken."""
        return sum(b.numbers[self.lowered.board.fired] for b in self.boards)

    def used(self) -> int:
        """Bytes in use."""
        return self.frontier.count * (8 * self._words + 4) + 4 * self._slots * self.workers

    def close(self) -> None:
        """End the workers."""
        if self._crew is not None:
            self._crew.close()

    def abandon(self) -> None:
        """Never free what the workers use: they may still run for a long time."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))


def _block(workers: int, room: int) -> int:
    """For how many successors of a worker there is room in a block. Workers wait for one another twice a block, so that
    several take larger ones; but no block is more than a part of all the room there is."""
    size = CAP if workers == 1 else max(32 * CAP // workers, CAP)
    return max(min(size, room // (8 * workers)), 1 << 10)
