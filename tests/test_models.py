"""Protocols as their papers have them (`benchmarks/models`), counted by programs that know nothing of the language."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Hashable, Iterable
from itertools import combinations
from pathlib import Path
from typing import TypeVar

import pytest

ROOT = Path(__file__).parent.parent

S = TypeVar("S", bound=Hashable)


def verified(model: str, **sizes: int) -> tuple[int, int, str, dict[str, str]]:
    """What `fsm verify` says of a model: states, transitions, the verdict, and what is violated."""
    settings = [f"--set={name}={n}" for name, n in sizes.items()]
    command = [
        sys.executable,
        "-m",
        "fsmdsl",
        "verify",
        f"benchmarks/models/{model}.fsm",
        *settings,
        "--format",
        "json",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    (system,) = json.loads(done.stdout)["systems"]
    outcomes = {x["name"]: x["outcome"] for x in system["verdicts"]}
    return system["states"], system["transitions"], system["verdict"], outcomes


def counted(start: S, after: Callable[[S], Iterable[S]]) -> tuple[int, int]:
    """States and transitions of a transition system."""
    seen, waiting, transitions = {start}, [start], 0
    for state in waiting:
        for x in after(state):
            transitions += 1
            if x not in seen:
                seen.add(x)
                waiting.append(x)
    return len(seen), transitions


# Chang and Roberts ---------------------------------------------------------------------------------------------------

Process = tuple[str, tuple[int, ...]]
"""What it is, and what it was sent."""


def election(size: int) -> Callable[[tuple[Process, ...]], Iterable[tuple[Process, ...]]]:
    def with_(
        ring: tuple[Process, ...], at: int, kind: str, queue: tuple[int, ...], sent: int | None
    ) -> tuple[Process, ...]:
        changed = list(ring)
        changed[at] = kind, queue
        if sent is not None:
            kind_of_next, queue_of_next = changed[(at + 1) % size]
            changed[(at + 1) % size] = kind_of_next, (*queue_of_next, sent)
        return tuple(changed)

    def after(ring: tuple[Process, ...]) -> Iterable[tuple[Process, ...]]:
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

    return after


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_a_ring_of_any_size_elects_its_highest(size: int) -> None:
    start: tuple[Process, ...] = tuple(("asleep", ()) for _ in range(size))
    states, transitions, verdict, outcomes = verified("chang_roberts", ring=size)
    assert (states, transitions) == counted(start, election(size))
    assert verdict == "holds", outcomes


# Paxos ---------------------------------------------------------------------------------------------------------------

Sent = frozenset[tuple[object, ...]]
"""Messages, which never vanish: `("1a", ballot)`, `("1b", acceptor, ballot, voted, value)`, `("2a", ballot, value)`,
`("2b", acceptor, ballot)`, and `("learned",)`."""
Acceptors = tuple[tuple[int, int, int | None], ...]
"""The highest ballot promised, the last one voted in, and for what."""


def paxos(ballots: int, acceptors: int) -> Callable[[tuple[Sent, Acceptors]], Iterable[tuple[Sent, Acceptors]]]:
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

    def after(state: tuple[Sent, Acceptors]) -> Iterable[tuple[Sent, Acceptors]]:
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

    return after


@pytest.mark.parametrize(("ballots", "acceptors"), [(2, 2), (2, 3), (3, 2)])
def test_paxos_chooses_one_value(ballots: int, acceptors: int) -> None:
    start: tuple[Sent, Acceptors] = (frozenset(), ((-1, -1, None),) * acceptors)
    pairs = ballots * acceptors
    states, transitions, verdict, outcomes = verified(
        "paxos", ballots=ballots, acceptors=acceptors, promises=pairs, votes=pairs
    )
    assert (states, transitions) == counted(start, paxos(ballots, acceptors))
    assert verdict == "holds", outcomes
