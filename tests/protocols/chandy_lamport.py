"""Chandy, Lamport: a snapshot of processes that pay coins to one another."""

from __future__ import annotations

from collections.abc import Callable, Iterator

Process = tuple[str, frozenset[int], frozenset[int], frozenset[int], frozenset[int]]
"""What it is, what it has, what of that is in the snapshot, what was caught on its way to it, and from whom a marker is
still to come."""
MARKER = -1
Link = tuple[int, ...]
"""Coins by their number, and markers, first come first."""
State = tuple[tuple[Process, ...], tuple[tuple[Link, ...], ...]]
"""And the links, by sender and receiver."""
NONE: frozenset[int] = frozenset()


def start(size: int, coins: int) -> State:
    """The first process has everything."""
    processes = tuple(("before", frozenset(range(coins if n == 0 else 0)), NONE, NONE, NONE) for n in range(size))
    return processes, tuple(tuple(() for _ in range(size)) for _ in range(size))


def with_process(state: State, at: int, process: Process) -> State:
    processes, links = state
    return (*processes[:at], process, *processes[at + 1 :]), links


def with_link(state: State, sender: int, receiver: int, change: Callable[[Link], Link]) -> State:
    processes, links = state
    row = links[sender]
    changed = (*row[:receiver], change(row[receiver]), *row[receiver + 1 :])
    return processes, (*links[:sender], changed, *links[sender + 1 :])


def recorded(state: State, at: int, still: frozenset[int]) -> State:
    """A process keeps its own state, and sends a marker on each of its links, before anything else."""
    purse, size = state[0][at][1], len(state[0])
    state = with_process(state, at, ("recording" if still else "recorded", purse, purse, NONE, still))
    for other in range(size):
        if other != at:
            state = with_link(state, at, other, lambda held: (*held, MARKER))
    return state


def received(state: State, at: int, sender: int, what: int) -> State:
    kind, purse, saved, caught, still = state[0][at]
    others = frozenset(range(len(state[0]))) - {at}
    if what == MARKER and kind == "before":
        return recorded(state, at, others - {sender})
    if what == MARKER:
        left = still - {sender}
        return with_process(state, at, ("recording" if left else "recorded", purse, saved, caught, left))
    on_its_way = {what} if kind == "recording" and sender in still else NONE
    return with_process(state, at, (kind, purse | {what}, saved, caught | on_its_way, still))


def after(state: State) -> Iterator[State]:
    """The steps: pay, begin, receive."""
    processes, links = state
    everybody = range(len(processes))
    for at in everybody:
        kind, purse, saved, caught, still = processes[at]
        for coin in purse:
            paid = with_process(state, at, (kind, purse - {coin}, saved, caught, still))
            for other in everybody:
                if other != at:
                    yield with_link(paid, at, other, lambda held, coin=coin: (*held, coin))  # type: ignore[misc]
        if kind == "before":
            yield recorded(state, at, frozenset(everybody) - {at})
        for sender in everybody:
            if links[sender][at]:
                yield received(with_link(state, sender, at, lambda held: held[1:]), at, sender, links[sender][at][0])
