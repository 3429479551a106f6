"""Lamport: Paxos Made Simple, with messages that never vanish."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

Sent = frozenset[tuple[object, ...]]
"""Messages: `("1a", ballot)`, `("1b", acceptor, ballot, voted, value)`, `("2a", ballot, value)`,
`("2b", acceptor, ballot)`, and `("learned",)`."""
Acceptors = tuple[tuple[int, int, int | None], ...]
"""The highest ballot promised, the last one voted in, and for what."""
State = tuple[Sent, Acceptors]


def start(acceptors: int) -> State:
    """Nothing is sent."""
    return frozenset(), ((-1, -1, None),) * acceptors


def after(ballots: int, acceptors: int) -> Callable[[State], Iterator[State]]:
    """The steps with so many ballots and acceptors."""
    quorums = [set(q) for n in range(acceptors + 1) for q in combinations(range(acceptors), n) if 2 * n > acceptors]

    def free(sent: Sent, ballot: int, value: int) -> bool:
        for quorum in quorums:
            answers = [x for x in sent if x[0] == "1b" and x[2] == ballot and x[1] in quorum]
            if {x[1] for x in answers} != quorum:
                continue
            votes = [(x[3], x[4]) for x in answers if x[3] != -1]
            if not votes or max(votes)[1] == value:  # of one ballot there is one value
                return True
        return False

    def steps(state: State) -> Iterator[State]:
        sent, known = state
        for b in range(ballots):
            if ("1a", b) not in sent:
                yield sent | {("1a", b)}, known
            proposed = next((x for x in sent if x[:2] == ("2a", b)), None)
            if proposed is None:
                yield from ((sent | {("2a", b, v)}, known) for v in (0, 1) if free(sent, b, v))
            for a, (promised, voted, value) in enumerate(known):
                if ("1a", b) in sent and b > promised:
                    changed = (*known[:a], (b, voted, value), *known[a + 1 :])
                    yield sent | {("1b", a, b, voted, value)}, changed
                if proposed is not None and b >= promised and ("2b", a, b) not in sent:
                    changed = (*known[:a], (b, b, int(str(proposed[2]))), *known[a + 1 :])
                    yield sent | {("2b", a, b)}, changed
        chosen = any(all(("2b", a, b) in sent for a in q) for b in range(ballots) for q in quorums)
        if chosen and ("learned",) not in sent:
            yield sent | {("learned",)}, known

    return steps
