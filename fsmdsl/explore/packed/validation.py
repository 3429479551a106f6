"""Whether saved states are such as a search can have found, before machine code sees them.

Machine code takes numbers for places in memory: the number of an instance, the place of an event, the length of a
channel. A file with a fitting check sum may still be forged; what is looked at here can at worst be wrong.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator

from fsmdsl import model as m
from fsmdsl.explore.packed.layout import Box, Layout, kinds
from fsmdsl.explore.packed.lower import Lowered
from fsmdsl.explore.packed.plain import row
from fsmdsl.explore.packed.shapes import Shape, from_number, to_number
from fsmdsl.explore.packed.share import LOWER, Loaded, Stretch

Possible = Callable[[int], bool]
"""Can a place of the row hold this number?"""


def board_problem(lowered: Lowered, board: list[int], count: int) -> str | None:
    """What is wrong with the board of a search that has found `count` states, if anything."""
    b = lowered.board
    if len(board) != lowered.size + 1:
        return f"its board has {len(board)} places, not {lowered.size + 1}"
    firsts = [b.dead, *range(b.first, b.first + lowered.asked), *range(b.faults, b.faults + b.codes)]
    if any(not 0 <= board[x] <= count for x in firsts):
        return "something was found in a state that there is not"
    flags = [*b.followed.values(), *b.guards.values(), *(x + 1 for x in b.guards.values())]
    if any(board[x] not in (0, 1) for x in flags) or board[b.fired] < 0:
        return "its counts are impossible"
    return None


def board_of(lowered: Lowered, board: list[int]) -> list[int]:
    """A board with what a search has found, and everything else as a search begins."""
    b, found = lowered.board, row(lowered)
    kept = [b.fired, b.dead, *range(b.answered, b.first + lowered.asked), *range(b.faults, b.faults + b.codes)]
    for place in (*kept, *b.followed.values(), *b.guards.values(), *(x + 1 for x in b.guards.values())):
        found[place] = board[place]
    return found


def states_problem(lowered: Lowered, loaded: Loaded, count: int) -> str | None:
    """What is wrong with loaded states of a search that has found `count`, if anything."""
    last = -1
    for s in loaded.stretches:
        numbers, origins = ((ctypes.c_uint32 * s.count).from_address(x) for x in (s.numbers, s.origins))
        for k in range(s.count):
            number = s.number + (numbers[k] - s.number & LOWER)
            origin = s.origin + (origins[k] - s.origin & LOWER)
            if not last < number < count:
                return f"the number of a state is {number}, behind {last}, of {count}"
            if origin >= max(number, 1):
                return f"state {number} comes from state {origin}"
            last = number
    return next((x for s in loaded.stretches for x in _impossible(lowered.layout, s)), None)


def _impossible(layout: Layout, s: Stretch) -> Iterator[str]:
    """Words that no world is packed into. Of each place, every number that comes up is looked at once."""
    words = memoryview((ctypes.c_int64 * (s.count * layout.words)).from_address(s.words)).cast("B").cast("q")
    used, possible = [0] * layout.words, dict(_possible(layout))
    for p in layout.packing:
        mask, shift = (1 << p.shape.bits) - 1, p.shift
        used[p.word] |= mask << shift
        for code in {w >> shift & mask for w in words[p.word :: layout.words]}:
            if code >= p.shape.codes or not possible.get(p.place, _any)(p.shape.number(code)):
                yield f"a state has {code} in place {p.place}"
    for n, bits in enumerate(used):
        if any(w & ~bits for w in words[n :: layout.words]):
            yield "a state has bits that mean nothing"


def _any(_: int) -> bool:
    return True


def _possible(layout: Layout) -> Iterator[tuple[int, Possible]]:
    """For the places that cannot hold every number of their shape."""
    universe = layout.universe
    for machine in kinds(universe):
        for f in machine.fields:
            column = layout.columns[machine.qualified, f.name]
            for n in universe.instances_of(machine.qualified):
                yield column + n, _of_type(layout, f.type)
    for box in layout.boxes:
        for n in range(box.channel.bound):
            yield box.first + n, _message(layout, box)


def _of_type(layout: Layout, t: m.Type) -> Possible:
    def possible(number: int) -> bool:
        try:
            return to_number(t, from_number(t, number, layout.universe), layout.universe) == number
        except (IndexError, ValueError, OverflowError):
            return False

    return possible


def _message(layout: Layout, box: Box) -> Possible:
    def possible(number: int) -> bool:
        event = number >> box.argument_bits
        if not 0 <= event < max(len(box.events), 1):
            return False
        if not box.events:
            return number == 0
        parameters = zip(box.events[event].parameters, box.shapes[event], box.offsets(event), strict=True)
        return all(_argument(layout, p.type, s, number >> at & ((1 << s.bits) - 1)) for p, s, at in parameters)

    return possible


def _argument(layout: Layout, t: m.Type, s: Shape, code: int) -> bool:
    return code < s.codes and _of_type(layout, t)(s.number(code))
