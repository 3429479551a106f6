"""More loops like those of `kernels`: of runs in which something happens finitely often, see `finally_never`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsmdsl.program.source import Ints, Words


def ending(offsets: Words, marks: Words, apart: int, states: int, ends: Ints) -> int:
    """The states from which edges with a mark in `apart` lead on, and no others. Returns how many."""
    count = 0
    for state in range(states):
        others = 0
        for edge in range(offsets[state], offsets[state + 1]):
            if marks[edge] & apart == 0:
                others = 1
        if others == 0 and offsets[state] < offsets[state + 1]:
            ends[count] = state
            count += 1
    return count


def finally_never(
    offsets: Words, targets: Ints, marks: Words, apart: int, states: int, ends: Ints, ended: int,
    new_offsets: Words, new_targets: Ints, new_marks: Words,
) -> int:  # fmt: skip
    """The same graph, in which edges with a mark in `apart` fulfil nothing else, and each of the states `ends`, so many
    have `ended`, has one more edge, to a new state without edges. There is room in `ends` for every state; -1 is none.
    Returns the number of edges."""
    at = seen = 0
    for state in range(states):
        new_offsets[state] = at
        for edge in range(offsets[state], offsets[state + 1]):
            new_targets[at] = targets[edge]
            new_marks[at] = marks[edge]
            if marks[edge] & apart:
                new_marks[at] = marks[edge] & apart
            at += 1
        if ends[seen] == state:
            new_targets[at] = states + seen
            at += 1
            seen += 1
    for end in range(ended + 1):
        new_offsets[states + end] = at
    return at


def drop(offsets: Words, targets: Ints, marks: Words, nodes: int, unwanted: int) -> int:
    """Take out the edges with one of these marks. Returns how many are left."""
    left = 0
    begin = offsets[0]
    for node in range(nodes):
        end = offsets[node + 1]
        offsets[node] = left
        for edge in range(begin, end):
            if marks[edge] & unwanted == 0:
                targets[left] = targets[edge]
                marks[left] = marks[edge]
                left += 1
        begin = end
    offsets[nodes] = left
    return left
