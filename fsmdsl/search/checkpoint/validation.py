"""Whether saved states are such as a search can have found, before machine code sees them.

Machine code takes numbers for places in memory: the number of an instance, the place of an event, the length of a
channel. A file with a fitting check sum may still be forged; what is looked at here can at worst be wrong.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import islice
from operator import lt, or_

from fsmdsl import model as m
from fsmdsl.search.counters import counted
from fsmdsl.search.layout import Layout, QueueLayout, kinds
from fsmdsl.search.lower import Lowered
from fsmdsl.search.plain import row
from fsmdsl.search.ranks.partition import LOWER, Loaded, Stretch
from fsmdsl.search.shapes import Shape, from_number, parts_of, to_number

Possible = Callable[[int], bool]
"""Can a place of the row hold this number?"""


def board_problem(lowered: Lowered, board: list[int], count: int) -> str | None:
    """What is wrong with the board of a search that has found `count` states, if anything."""
    if len(board) != lowered.layout.end + 1:
        return f"its board has {len(board)} places, not {lowered.layout.end + 1}"
    if any(not 0 <= board[x] <= count for x in lowered.firsts):
        return "it refers to a state that does not exist"
    if any(board[x] not in (0, 1) for x in lowered.flags) or any(board[x] < 0 for x in lowered.counts):
        return "its counts are impossible"
    return None


def board_of(lowered: Lowered, board: list[int]) -> list[int]:
    """A board with what a search has found, and everything else as a search begins."""
    counters = row(lowered)
    for place in counted(lowered):
        counters[place] = board[place]
    return counters


def states_problem(lowered: Lowered, loaded: Loaded, count: int) -> str | None:
    """What is wrong with loaded states of a search that has found `count`, if anything. About a microsecond a state."""
    last = -1
    for s in loaded.stretches:
        problem = _misnumbered(s, last, count)
        if problem is not None:
            return problem
        last = _full(s.number, _numbers(s.numbers, s.count)[-1]) if s.count else last
    return next((x for s in loaded.stretches for x in _impossible(lowered.layout, s)), None)


def _misnumbered(s: Stretch, last: int, count: int) -> str | None:
    """Numbers rise from one state to the next, and each state comes from one before it."""
    if not s.count:
        return None
    lower, origins = _numbers(s.numbers, s.count), _numbers(s.origins, s.count)
    numbers: Sequence[int] = lower
    if count > LOWER:  # beyond 32 bits, only the lower halves are there
        numbers, origins = [_full(s.number, x) for x in lower], [_full(s.origin, x) for x in origins]
    elif min(lower) < s.number or min(origins) < s.origin:
        return "the number of a state is below that of its span"
    if numbers[0] <= last or numbers[-1] >= count or not all(map(lt, numbers, islice(numbers, 1, None))):
        return f"the numbers of its states do not rise from {last} to {count}"
    rest = 1 if numbers[0] == 0 else 0
    if (rest and origins[0] != 0) or not all(map(lt, islice(origins, rest, None), islice(numbers, rest, None))):
        return "a state comes from one that was found after it"
    return None


def _numbers(address: int, count: int) -> Sequence[int]:
    return memoryview((ctypes.c_uint32 * count).from_address(address)).cast("B").cast("I")


def _full(base: int, lower: int) -> int:
    """A number from its lower half; `base` is not above it."""
    return base + (lower - base & LOWER)


def _impossible(layout: Layout, s: Stretch) -> Iterator[str]:
    """Words that no world is packed into. Of each place, every number that comes up is looked at once."""
    if not s.count:
        return
    words = memoryview((ctypes.c_int64 * (s.count * layout.words)).from_address(s.words)).cast("B").cast("q")
    used, possible = [0] * layout.words, dict(_possible(layout))
    for p in layout.packing:
        for x in p.pieces:
            used[x.word] |= x.mask << x.shift
        if p.shape.codes == 1 << p.shape.bits and p.place not in possible:
            continue
        for code in map(p.code, set(zip(*(words[x.word :: layout.words] for x in p.pieces), strict=True))):
            if code >= p.shape.codes or not possible.get(p.place, _any)(p.shape.number(code)):
                yield f"a state has {code} in place {p.place}"
    for n, bits in enumerate(used):
        if reduce(or_, words[n :: layout.words]) & ~bits:
            yield "a state has unused bits set"


def _any(_: int) -> bool:
    return True


def _possible(layout: Layout) -> Iterator[tuple[int, Possible]]:
    """For the places that cannot hold every number of their shape: lists, records, and messages."""
    universe = layout.universe
    for machine in kinds(universe):
        for f in (f for f in machine.fields if _has_list(f.type)):
            column = layout.columns[machine.qualified, f.name]
            for n in universe.instances_of(machine.qualified):
                yield column + n, _of_type(layout, f.type)
    for box in layout.boxes:
        for n in range(box.channel.bound):
            yield box.first + n, _message(layout, box)


def _has_list(t: m.Type) -> bool:
    match t:
        case m.ListType():
            return True
        case m.OptionalType(of) | m.SetType(of):
            return _has_list(of)
        case m.RecordType():
            return True
        case _:
            return False


def _of_type(layout: Layout, t: m.Type) -> Possible:
    def possible(number: int) -> bool:
        try:
            return to_number(t, from_number(t, number, layout.universe), layout.universe) == number
        except (IndexError, ValueError, OverflowError):
            return False

    return possible


def _message(layout: Layout, box: QueueLayout) -> Possible:
    def possible(number: int) -> bool:
        event = number >> box.argument_bits
        if not 0 <= event < max(len(box.events), 1):
            return False
        if not box.events:
            return number == 0
        parts = parts_of(box.records[event], layout.universe).values()
        return all(_argument(layout, t, s, number >> at & ((1 << s.bits) - 1)) for t, s, at in parts)

    return possible


def _argument(layout: Layout, t: m.Type, s: Shape, code: int) -> bool:
    return code < s.codes and _of_type(layout, t)(s.number(code))
