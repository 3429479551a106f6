"""A sliding window whose receiver takes frames in their order only, over two channels that lose what they like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

ROOM = 2
"""Messages in a channel."""


class State(NamedTuple):
    """How far the sender is, what the receiver has, and what is under way: frames (number, item), and numbers."""

    low: int = 0
    """The first item without acknowledgement."""
    high: int = 0
    """The first item that was not sent."""
    received: tuple[int, ...] = ()
    owes: bool = False
    frames: tuple[tuple[int, int], ...] = ()
    answers: tuple[int, ...] = ()
    done: bool = False


def after(window: int, numbers: int, items: int) -> Callable[[State], Iterator[State]]:
    """The steps that send so many items."""

    def sending(s: State) -> Iterator[State]:
        if len(s.frames) < ROOM and not s.done:
            if s.high < min(items, s.low + window):
                yield s._replace(high=s.high + 1, frames=(*s.frames, (s.high % numbers, s.high)))
            for item in range(s.low, s.high):
                yield s._replace(frames=(*s.frames, (item % numbers, item)))
        if len(s.answers) < ROOM and s.owes:
            yield s._replace(owes=False, answers=(*s.answers, len(s.received) % numbers))

    # Of two copies, it is the same which one is lost.
    def losing(s: State) -> Iterator[State]:
        yield from {s._replace(frames=s.frames[:n] + s.frames[n + 1 :]) for n in range(len(s.frames))}
        yield from {s._replace(answers=s.answers[:n] + s.answers[n + 1 :]) for n in range(len(s.answers))}

    def arriving(s: State) -> Iterator[State]:
        if s.frames:
            (number, item), *rest = s.frames
            got = (*s.received, item) if number == len(s.received) % numbers else s.received
            yield s._replace(received=got, owes=True, frames=tuple(rest))
        if s.answers:
            number, *left = s.answers
            low = s.low
            while not s.done and low % numbers != number:  # a window is smaller than the numbers
                low += 1
            yield s._replace(low=low, done=low == items, answers=tuple(left))

    def steps(s: State) -> Iterator[State]:
        yield from sending(s)
        yield from losing(s)
        yield from arriving(s)

    return steps
