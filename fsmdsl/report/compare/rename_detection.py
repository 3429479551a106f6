"""Things of two versions that have another name, known by what is said of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product

ALIKE = 0.5
"""How much of what is said of two things has to be the same for them to be one: of 1."""

Signature = frozenset[tuple[str, ...]]
"""What is said of something, its own name left out."""


def pairs(
    removed: Sequence[tuple[str, Signature]], added: Sequence[tuple[str, Signature]]
) -> Iterator[tuple[str, str]]:
    """What is gone and what has come that are one: alike, and nothing else is as much alike to either of them."""
    scores = [(_likeness(one, other), a, b) for (a, one), (b, other) in product(removed, added)]
    best: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for score, a, b in scores:
        for end in (("removed", a), ("added", b)):
            best[end] = sorted([*best[end], score])[1:]
    for score, a, b in scores:
        second = max(best["removed", a][0], best["added", b][0])
        if score >= ALIKE and score > second:
            yield a, b


def _likeness(a: Signature, b: Signature) -> float:
    """How much is the same; nothing where no transition is."""
    if not any(x[0] in ("from", "to") for x in a & b):
        return 0.0
    return len(a & b) / len(a | b)
