"""The steps between the states that compiled code has found, taken once more."""

from __future__ import annotations

from array import array
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

from fsmdsl.explore.liveness import Graph
from fsmdsl.explore.packed.lower import groups
from fsmdsl.explore.packed.memory import Memory
from fsmdsl.explore.packed.plain import row

if TYPE_CHECKING:
    from fsmdsl.explore.packed.compiled import Compiled


def graph_of(engine: Compiled) -> Graph:
    """The states that were expanded with all their steps, which are taken once more."""
    count, done, edges = engine.frontier.count, engine.frontier.first, engine.fired()
    offsets, targets, marks = Memory(count + 1), Memory(edges), Memory(edges)
    board = _fresh_board(engine)
    at = first = 0
    while first < done:
        last = min(first + engine._most(), done)
        again = partial(
            engine._f["expand_block"], engine.words.address, first, last, engine._out.address, engine._origins.address,
            engine._hashes.address, engine._cap, engine._rows[0].address, board.address,
        )  # fmt: skip
        n = engine._by_one(again, last - first)
        following = board.numbers[engine.lowered.size]
        if following == first:
            engine._buffers(2 * engine._cap)
            continue
        first = following
        engine._f["find_block"](
            engine._out.address, engine._hashes.address, n, engine.words.address, engine._table.address,
            engine._slots - 1, engine._bits, engine.workers, targets.address, at,
        )  # fmt: skip
        engine._f["link_block"](
            engine._out.address, engine._origins.address, n, offsets.address, marks.address, at
        )  # fmt: skip
        at += n
    columns = groups(engine.lowered.atoms)
    atoms = Memory(max(columns, 1) * count)
    hold, own = engine._f["hold_block"], engine._rows[0].address
    engine._stretches(0, lambda first, last: hold(engine.words.address, first, last, own, atoms.address, count))
    return Graph(
        array("q", accumulate(offsets.numbers)),
        targets.numbers[:at],
        marks.numbers[:at],
        tuple(atoms.numbers[k * count : (k + 1) * count] for k in range(columns)),
        None if done == count else done,
    )


def _fresh_board(engine: Compiled) -> Memory:
    board = Memory(engine.lowered.size + 1)
    for place, number in enumerate(row(engine.lowered)):
        board.numbers[place] = number
    return board
