"""The states that one of several ranks owns.

They stand in the order of their numbers, and these are the numbers that a single process would have given them: they do
not depend on how many ranks there are.
"""

from __future__ import annotations

import ctypes
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Literal

from fsmdsl.dataclasses import dataclass
from fsmdsl.search.errors import FullError
from fsmdsl.search.lower import Lowered
from fsmdsl.search.memory import Memory
from fsmdsl.search.native import Function

LOAD = 0.7
"""A table fuller than this is made anew, twice as large."""

LEAST_SLOTS = 1 << 16

DIGITS = 1 << 11
"""Keys are sorted by so many values at a time."""

LOWER = (1 << 32) - 1

SPAN = 1 << 32
"""So far apart the numbers of one span may be."""

BYTES = 8 + 4 / (LOAD / 2)
"""What a state takes beside its words, at most: its number, its origin's, and its place in a table just made anew."""


@dataclass(frozen=True, slots=True)
class Span:
    """From which place on, and from where numbers are to be counted of which the lower half is kept."""

    place: int
    number: int
    origin: int


class Scratch:
    """Memory that is replaced by more when more is needed; what stood in it is lost."""

    def __init__(self, kind: Literal["q", "I"] = "q", count: int = 1) -> None:
        self._kind = kind
        self.memory = Memory(count, kind)

    def at(self, count: int) -> int:
        """The address of so much."""
        if count > len(self.memory.numbers):
            self.memory = Memory(2 * count, self._kind)
        return self.memory.address


class Share:
    """States by their places; a table of them; where each came from."""

    def __init__(self, lowered: Lowered, functions: dict[str, Function], room: int) -> None:
        self.width = lowered.layout.words
        self.room = room
        """There is room for so many states."""
        self.count = 0
        self.words = Memory(room * self.width)
        self.numbers = Memory(room, "I")
        self.origins = Memory(room, "I")
        self.spans: list[Span] = []
        self._f = functions
        self.table = Memory(1, "I")
        self.slots = 1
        self.bits = 1

    # What is where

    def reach(self, place: int, first: int, last: int, origin: int, beyond: int) -> None:
        """What stands from a place on has numbers from `first` up to `last`, and origins from `origin` up to `beyond`:
        a new span, if these are too far from where the last one begins."""
        if not self.spans or last - self.spans[-1].number > SPAN or beyond - self.spans[-1].origin > SPAN:
            self.spans.append(Span(place, first, origin))

    def number(self, place: int) -> int:
        """The number of the state in a place."""
        base = self._span(place).number
        return base + (self.numbers.numbers[place] - base & LOWER)

    def origin(self, place: int) -> int:
        """The number of the state that it was found from."""
        base = self._span(place).origin
        return base + (self.origins.numbers[place] - base & LOWER)

    def _span(self, place: int) -> Span:
        return next(s for s in reversed(self.spans) if s.place <= place)

    def place(self, number: int) -> int:
        """How many states have a smaller number: where that state is, if it is here."""
        end = self.count
        for s in reversed(self.spans):
            if s.number <= number:
                return self._place_in(s, number, end)
            end = s.place
        return 0

    def _place_in(self, span: Span, number: int, end: int) -> int:
        def above(lower: int) -> int:
            return lower - span.number & LOWER

        return bisect_left(self.numbers.numbers, number - span.number, span.place, end, key=above)

    def has(self, number: int) -> int | None:
        """The place of a state, if it is here."""
        place = self.place(number)
        return place if place < self.count and self.number(place) == number else None

    def find(self, words: tuple[int, ...]) -> int | None:
        """The place of the state with these words, if it is here."""
        if not self.count:
            return None
        sought, places = Memory(self.width), Memory(1)
        sought.numbers[:] = memoryview(array("q", words))
        self._f["find_block"](
            sought.address, 1, self.words.address, self.table.address, self.slots - 1, self.bits, 1,
            places.address, 0,
        )  # fmt: skip
        place = places.numbers[0]
        return place if 0 <= place < self.count else None

    # Growing

    def make_room(self, coming: int) -> None:
        """Room for so many more. Raises `FullError`."""
        if self.count + coming > self.room:
            raise FullError(f"no memory for more than {self.room} states in one process")
        if self.count + coming <= LOAD * self.slots and self.count + coming < 1 << self.bits:
            return
        slots = max(LEAST_SLOTS, self.slots)
        while self.count + coming > LOAD * slots:
            slots *= 2
        self.table.close()
        self.slots = slots
        self.bits = max(slots.bit_length(), (self.count + 2 * coming).bit_length())
        self.table = Memory(slots, "I")
        self._f["fill_table"](self.words.address, self.count, self.table.address, slots - 1, self.bits, 0, 1)

    def full(self) -> bool:
        """Is there little room left?"""
        return self.room - self.count < min(1 << 20, self.room // 4)

    def used(self) -> int:
        """Bytes."""
        return self.count * (8 * self.width + 8) + 4 * self.slots


# States from elsewhere -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stretch:
    """States in the order of their numbers, by the addresses where they stand."""

    words: int
    numbers: int
    origins: int
    count: int
    number: int
    """From where the numbers are to be counted of which the lower half is given."""
    origin: int


def stretches(
    spans: Sequence[Span], width: int, addresses: tuple[int, int, int], first: int, last: int
) -> Iterator[Stretch]:
    """The states from one place up to another, by the addresses of all words, numbers and origins."""
    words, numbers, origins = addresses
    for s, end in zip(spans, [*(s.place for s in spans[1:]), last], strict=True):
        at, beyond = max(s.place, first), min(end, last)
        if at < beyond:
            yield Stretch(words + 8 * width * at, numbers + 4 * at, origins + 4 * at, beyond - at, s.number, s.origin)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Stretches, and the memory that they stand in."""

    stretches: tuple[Stretch, ...]
    memory: tuple[Memory, ...]


def from_lists(states: Sequence[tuple[int, ...]], origins: Sequence[int]) -> Loaded:
    """States that have the numbers from 0 on."""
    words = array("q", chain.from_iterable(states))
    memory = Memory(len(words)), Memory(len(states), "I"), Memory(len(states), "I")
    for numbers, values in zip(memory, (words, array("I", range(len(states))), array("I", origins)), strict=True):
        numbers.numbers[: len(values)] = memoryview(values)
    at_words, at_numbers, at_origins = (x.address for x in memory)
    return Loaded((Stretch(at_words, at_numbers, at_origins, len(states), 0, 0),), memory)


def states_of(loaded: Iterable[Loaded], width: int) -> Iterator[tuple[int, tuple[int, ...], int]]:
    """The states one by one: number, words, number of the origin."""
    for s in (s for x in loaded for s in x.stretches):
        words = (ctypes.c_int64 * (s.count * width)).from_address(s.words)
        numbers, origins = ((ctypes.c_uint32 * s.count).from_address(x) for x in (s.numbers, s.origins))
        for k in range(s.count):
            number, origin = s.number + (numbers[k] - s.number & LOWER), s.origin + (origins[k] - s.origin & LOWER)
            yield number, tuple(words[k * width : (k + 1) * width]), origin


def append(share: Share, functions: dict[str, Function], loaded: Iterable[Loaded], rank: int, size: int) -> None:
    """Append those states that belong to a rank. None of their numbers is below those that there are. The table is to
    be made afterwards. Raises `FullError`."""
    stretches = [s for x in loaded for s in x.stretches]
    for base in sorted({(s.number, s.origin) for s in stretches}):
        if not share.spans or base != (share.spans[-1].number, share.spans[-1].origin):
            share.spans.append(Span(share.count, *base))
        _append(share, functions, [s for s in stretches if (s.number, s.origin) == base], rank, size)


def _append(share: Share, functions: dict[str, Function], stretches: list[Stretch], rank: int, size: int) -> None:
    count = 0
    chosen = Memory(sum(s.count for s in stretches) * (share.width + 2))
    for s in stretches:
        count = functions["choose_block"](
            s.words, s.numbers, s.origins, s.count, s.number, s.origin, rank, size, chosen.address, count
        )
    if share.count + count > share.room:
        raise FullError(f"no memory for more than {share.room} states in one process")
    keys, order, spare, spared, counts = (Memory(x) for x in (count, count, count, count, DIGITS))
    functions["take_keys"](chosen.address, count, keys.address)
    functions["sort_keys"](keys.address, order.address, count, spare.address, spared.address, counts.address)
    share.count = functions["place_block"](
        chosen.address, order.address, count, share.words.address, share.numbers.address, share.origins.address,
        share.count,
    )  # fmt: skip
