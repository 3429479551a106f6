"""Chang, Roberts: elections in a ring."""

from __future__ import annotations

from collections.abc import Callable, Iterator

Process = tuple[str, tuple[int, ...]]
"""What it is, and what it was sent."""
Ring = tuple[Process, ...]


def start(size: int) -> Ring:
    """All asleep."""
    return tuple(("asleep", ()) for _ in range(size))


def after(size: int) -> Callable[[Ring], Iterator[Ring]]:
    """The steps of a ring."""

    def with_(ring: Ring, at: int, kind: str, queue: tuple[int, ...], sent: int | None) -> Ring:
        changed = list(ring)
        changed[at] = kind, queue
        if sent is not None:
            kind_of_next, queue_of_next = changed[(at + 1) % size]
            changed[(at + 1) % size] = kind_of_next, (*queue_of_next, sent)
        return tuple(changed)

    def steps(ring: Ring) -> Iterator[Ring]:
        for at, (kind, queue) in enumerate(ring):
            if kind == "asleep":
                yield with_(ring, at, "candidate", queue, at)
            if queue and kind != "leader":
                heard, *rest = queue
                if heard > at:
                    yield with_(ring, at, "passive", tuple(rest), heard)
                elif heard == at:
                    if kind == "candidate":
                        yield with_(ring, at, "leader", tuple(rest), None)
                elif kind == "asleep":
                    yield with_(ring, at, "candidate", tuple(rest), at)
                else:
                    yield with_(ring, at, kind, tuple(rest), None)

    return steps
