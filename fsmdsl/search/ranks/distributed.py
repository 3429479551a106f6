"""A breadth-first search over ranks: each owns states by their hash, and all go through the same stretch of states.

A block of states goes like this. Each rank expands those of them that it owns, and hands the successors to their
owners. An owner keeps what is new, with the least key that it came with. Then the keys of what is new are dealt out by
the states that they come from, sorted, and sent back with numbers: the ones that a single process would have given. So
a search finds the same states under the same numbers, and therefore the same findings and traces, whatever the number
of ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fsmdsl.runs.frontier import Frontier
from fsmdsl.search.compiled import Compiled
from fsmdsl.search.counters import CounterMemory
from fsmdsl.search.engine import Together
from fsmdsl.search.errors import FullError
from fsmdsl.search.lower import Lowered
from fsmdsl.search.memory import Memory
from fsmdsl.search.native import Function
from fsmdsl.search.plain import row
from fsmdsl.search.ranks.exchange import Exchange
from fsmdsl.search.ranks.partition import DIGITS, Scratch, Share, stretches

CAP = 1 << 18
"""Room for the successors that a rank finds in one block; more is made where it does not do."""

LEAST_MESSAGE = 1 << 10
"""Number of successors that each rank should send to each other in a block: small messages waste time."""

MAX_BLOCK = 1 << 20
"""Maximum number of successors that a rank should find in one block: each takes 100 bytes."""

SEEN = 1 << 15
"""Number of sent states that are remembered, so that they are not sent again."""

CHUNK = 1 << 20
"""Number of states that are collected at once."""

NEVER = 1 << 62


class Distributed:
    """What one rank does. Some of it, where it says so, all ranks do together."""

    def __init__(
        self,
        lowered: Lowered,
        functions: dict[str, Function],
        exchange: Exchange,
        share: Share,
        frontier: Frontier,
        before: Sequence[int],
    ) -> None:
        self.lowered, self.exchange, self.share = lowered, exchange, share
        self.frontier = frontier
        """Of all ranks."""
        self._f = functions
        self._before = before
        """The board of what was found before, with numbers of all ranks."""
        self._row, self._board = (CounterMemory(lowered) for _ in range(2))
        self._cap = 0
        self._out, self._hashes, self._origins, self._marks = Memory(1), Memory(1), Memory(1, "I"), Memory(1)
        self._hold(CAP)
        self._seen = Memory(SEEN * (share.width + 1))
        self._keys, self._order, self._spare, self._spared, self._slots = (Scratch() for _ in range(5))
        self._sent, self._moved, self._numbers, self._dealt = (Scratch() for _ in range(4))
        self._counts, self._places = Memory(DIGITS), Memory(2 * exchange.size)
        self._target = min(max(CAP // 2, LEAST_MESSAGE * exchange.size), MAX_BLOCK)
        self._step = LEAST_MESSAGE * exchange.size
        self._cache: dict[int, tuple[tuple[int, ...], int]] = {}
        self._merged: list[int] | None = None
        self.sent = 0
        """Bytes handed to other ranks."""

    def _hold(self, cap: int, count: int = 0) -> None:
        """Room for so many successors; the first of them are kept."""
        stride = self.lowered.stride
        out, hashes, origins = Memory(cap * stride), Memory(cap), Memory(cap, "I")
        if count:
            out.numbers[: count * stride] = self._out.numbers[: count * stride]
            hashes.numbers[:count] = self._hashes.numbers[:count]
            origins.numbers[:count] = self._origins.numbers[:count]
        self._out, self._hashes, self._origins, self._marks = out, hashes, origins, Memory(cap)
        self._cap = cap

    def run(self, pause: Callable[[], bool], most: int | None) -> bool:
        """See `Engine`. All ranks run together, and agree when to pause."""
        while self.frontier.advance():
            if pause():
                return False
            self.block()
            if most is not None and self.frontier.count > most:
                return False
        return True

    # A block

    def block(self) -> None:
        """Go through one block, all together. Raises `FullError`."""
        frontier, share = self.frontier, self.share
        first, last = frontier.first, min(frontier.level_end, frontier.first + self._step)
        n = self._expand(first, last)
        received, count = self._exchange_states(n, first)
        share.make_room(count)
        start = share.count
        keys, slots = self._keys.at(count), self._slots.at(count)
        share.count = self._f["admit_block"](
            received.address, count, share.words.address, start, start, share.table.address, share.slots - 1,
            share.bits, keys, slots,
        )  # fmt: skip
        new = share.count - start
        order = self._order.at(new)
        self._sort(keys, order, new)
        numbers, total, most = self._number(new, last - first, n)
        share.reach(start, frontier.count, frontier.count + total, first, last)
        self._f["arrange_block"](
            keys, order, new, numbers.address, start, first, share.words.address, share.numbers.address,
            share.origins.address, share.table.address, slots, share.bits, self._moved.at(new * share.width),
        )  # fmt: skip
        frontier.first, frontier.count = last, frontier.count + total
        self._adapt(most)

    def _adapt(self, most: int) -> None:
        """As many states to the next block as will have a good number of successors."""
        if most > self._target:
            self._step = max(self._step // 2, self.exchange.size)
        elif most < self._target // 2 and self._step < 1 << 30:
            self._step *= 2

    def _expand(self, first: int, last: int) -> int:
        """How many successors the states of this rank have, of those with these numbers."""
        at, end = self.share.place(first), self.share.place(last)
        n, stride = 0, 8 * self.lowered.stride
        while at < end:
            n += self._f["expand_block"](
                self.share.words.address, at, end, self._out.address + n * stride, self._origins.address + 4 * n,
                self._hashes.address + 8 * n, self._cap - n, self._row.address, self._board.address,
            )  # fmt: skip
            at = self._board.numbers[self.lowered.layout.end]
            if at < end:
                self._hold(2 * self._cap, n)
        return n

    def _exchange_states(self, n: int, first: int) -> tuple[Memory, int]:
        """The successors that belong to this rank, from all, and how many."""
        each = self.share.width + 1
        total = self._f["address_block"](
            self._out.address, self._hashes.address, self._origins.address, n, self.share.numbers.address, first,
            self._seen.address, SEEN - 1, self.exchange.size, self._places.address, self._marks.address,
            self._sent.at(n * each),
        )  # fmt: skip
        if total < 0:
            raise FullError("a state has more than 16,777,216 successors")
        counts = [each * x for x in self._places.numbers[: self.exchange.size]]
        received, got = self._all_to_all(self._sent.memory, counts)
        return received, sum(got) // each

    def _number(self, new: int, stretch: int, successors: int) -> tuple[Memory, int, int]:
        """The numbers of the new states, in the order of their keys; how many are new in all ranks; how many successors
        a rank has found at most."""
        size, rank = self.exchange.size, self.exchange.rank
        self._f["share_keys"](self._keys.memory.address, new, -(-stretch // size), size, self._places.address)
        dealt, got = self._all_to_all(self._keys.memory, list(self._places.numbers[:size]))
        count = sum(got)
        order = self._dealt.at(count)
        self._sort(dealt.address, order, count)
        counts = [count if r == rank else 0 for r in range(size)]
        *counts, most = self.exchange.all_reduce([*counts, successors], "max")
        first = self.frontier.count + sum(counts[:rank])
        self._f["number_keys"](order, count, first, self._numbers.at(count))
        numbers, _ = self._all_to_all(self._numbers.memory, got)
        return numbers, sum(counts), most

    def _sort(self, keys: int, order: int, n: int) -> None:
        self._f["sort_keys"](keys, order, n, self._spare.at(n), self._spared.at(n), self._counts.address)

    def _all_to_all(self, sent: Memory, counts: list[int]) -> tuple[Memory, list[int]]:
        self.sent += 8 * (sum(counts) - counts[self.exchange.rank])
        return self.exchange.all_to_all(sent, counts)

    def rewind(self, most: int) -> None:
        """See `Engine`; by all together. What was noted is forgotten too, and the states that stay are asked anew."""
        self.frontier.back(self.origin(most), most)
        self.share.count = self.share.place(most)
        self._before = row(self.lowered)
        self._row, self._board = (CounterMemory(self.lowered) for _ in range(2))
        for first in range(0, self.frontier.first, self._step):
            self._expand(first, min(first + self._step, self.frontier.first))

    # What was found

    def note_rest(self) -> None:
        """Ask the questions of the states that are not expanded."""
        first, last = self.share.place(self.frontier.first), self.share.place(self.frontier.count)
        self._f["note_block"](self.share.words.address, first, last, self._row.address, self._board.address)

    @property
    def board(self) -> list[int]:
        """See `Engine`, when the search is over; by all together at first. Its findings are looked up then."""
        if self._merged is None:
            self._merged = self.merged()
            self.look_up(self._merged[x] - 1 for x in self.lowered.firsts if self._merged[x])
        return self._merged

    def agree(self, numbers: Sequence[int], how: Together) -> list[int]:
        """See `Engine`."""
        return self.exchange.all_reduce(numbers, how)

    def noted(self, place: int) -> int:
        """What this rank has noted at a place of a row, if anything."""
        return max(int(self._before[place]), *(int(x.numbers[place]) for x in (self._row, self._board)))

    def fired(self) -> int:
        """Steps taken, by this rank."""
        return self._board.numbers[self.lowered.board.fired]

    def merged(self) -> list[int]:
        """The boards of all ranks as one, with numbers of all ranks; by all together."""
        own, counts = self._board.numbers, self.lowered.counts
        firsts, flags = self.lowered.firsts, self.lowered.flags
        nearest = [-self.share.number(own[x] - 1) - 1 if own[x] else -NEVER for x in firsts]
        merged = list(self._before)
        for place, number in zip(firsts, self.exchange.all_reduce(nearest, "max"), strict=True):
            merged[place] = min((x for x in (merged[place], -number) if 0 < x < NEVER), default=0)
        for place, number in zip(flags, self.exchange.all_reduce([own[x] for x in flags], "max"), strict=True):
            merged[place] |= number
        for place, number in zip(counts, self.exchange.all_reduce([own[x] for x in counts], "sum"), strict=True):
            merged[place] += number
        return merged

    def look_up(self, states: Iterable[int]) -> None:
        """Learn the words and origins of these states, and of those that they came from; by all together."""
        each = self.share.width + 1
        missing = sorted(set(states) - self._cache.keys())
        while missing:
            answer = [x for number in missing for x in self._own_row(number)]
            rows = self.exchange.all_reduce(answer, "sum")
            for k, number in enumerate(missing):
                *words, origin = rows[k * each : (k + 1) * each]
                self._cache[number] = tuple(words), origin
            missing = sorted({self._cache[x][1] for x in missing} - self._cache.keys())

    def _own_row(self, number: int) -> list[int]:
        place, width = self.share.has(number), self.share.width
        if place is None:
            return [0] * (width + 1)
        return [*self.share.words.numbers[place * width : (place + 1) * width], self.share.origin(place)]

    def state(self, number: int) -> tuple[int, ...]:
        """See `Engine`; by all together, for a state that was not looked up."""
        self.look_up([number])
        return self._cache[number][0]

    def origin(self, number: int) -> int:
        """See `Engine`; by all together, for a state that was not looked up."""
        self.look_up([number])
        return self._cache[number][1]

    def find(self, words: tuple[int, ...]) -> int | None:
        """See `Engine`; by all together."""
        place = self.share.find(words)
        number = self.exchange.all_reduce([0 if place is None else self.share.number(place) + 1], "max")[0]
        return number - 1 if number else None

    # Bringing it together

    def gather(self, into: Compiled | None) -> None:
        """Bring all states to the first rank, which has an empty search for them; by all together."""
        share, each, numbers = self.share, self.share.width + 2, Scratch("I")
        addresses = share.words.address, share.numbers.address, share.origins.address
        for begin in range(0, self.frontier.count, CHUNK):
            first, last = (share.place(min(x, self.frontier.count)) for x in (begin, begin + CHUNK))
            chosen, count = self._sent.at((last - first) * each), 0
            for s in stretches(share.spans, share.width, addresses, first, last):
                count = self._f["choose_block"](
                    s.words, s.numbers, s.origins, s.count, s.number, s.origin, 0, 1, chosen, count
                )
            got, counts = self.exchange.all_to_all(self._sent.memory, [count * each, *[0] * (self.exchange.size - 1)])
            if into is not None:
                n = sum(counts) // each
                keys, order = self._keys.at(n), self._order.at(n)
                self._f["take_keys"](got.address, n, keys)
                self._sort(keys, order, n)
                self._f["place_block"](
                    got.address, order, n, into.words.address, numbers.at(n) - 4 * begin, into.preds.address, begin
                )  # fmt: skip

    def used(self) -> int:
        """Bytes in use."""
        return self.share.used()
