"""Gray, Lamport: Consensus on Transaction Commit, section 3; its messages never vanish."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class State(NamedTuple):
    """The resource managers, the transaction manager, whom it knows to be prepared, and the messages."""

    resources: tuple[str, ...]
    manager: str
    prepared: frozenset[int]
    messages: frozenset[str | int]


def start(resources: int) -> State:
    """Nobody has done anything."""
    return State(("working",) * resources, "init", frozenset(), frozenset())


def after(state: State) -> Iterator[State]:
    """A step for each action that changes something."""
    resources, manager, prepared, messages = state
    if manager == "init":
        if len(prepared) == len(resources):
            yield state._replace(manager="committed", messages=messages | {"commit"})
        yield state._replace(manager="aborted", messages=messages | {"abort"})
    for r, at in enumerate(resources):

        def becomes(now: str, *sent: int, r: int = r) -> State:
            changed = (*resources[:r], now, *resources[r + 1 :])
            return state._replace(resources=changed, messages=messages | set(sent))

        if manager == "init" and r in messages and r not in prepared:
            yield state._replace(prepared=prepared | {r})
        if at == "working":
            yield becomes("prepared", r)
            yield becomes("aborted")
        if "commit" in messages and at != "committed":
            yield becomes("committed")
        if "abort" in messages and at != "aborted":
            yield becomes("aborted")
