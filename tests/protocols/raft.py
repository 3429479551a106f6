"""Ongaro, Ousterhout: Raft, figure 2; messages never vanish, and servers may read them late, again or never.

A message says what its sender had then: a request for votes in a term, an entry and what comes before it, a heartbeat
with or without a commit index, and the two answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

Log = tuple[int, ...]
"""The term of each entry."""
Message = tuple[str | int | Log, ...]


class Server(NamedTuple):
    """A server; who crashes keeps all but its role and its commit index."""

    role: str = "follower"
    term: int = 0
    voted: int | None = None
    log: Log = ()
    commit: int = 0


class State(NamedTuple):
    """The servers, and what was ever sent."""

    servers: tuple[Server, ...]
    sent: frozenset[Message] = frozenset()


def start(servers: int) -> State:
    """All are followers in term 0."""
    return State((Server(),) * servers)


def after(terms: int, entries: int) -> Callable[[State], Iterator[State]]:
    """The steps with so many terms and entries of a log."""

    def steps(state: State) -> Iterator[State]:
        for at, s in enumerate(state.servers):

            def then(*sent: Message, at: int = at, s: Server = s, **changed: object) -> State:
                servers = (*state.servers[:at], s._replace(**changed), *state.servers[at + 1 :])  # type: ignore[arg-type]
                return State(servers, state.sent | set(sent))

            yield then(role="follower", commit=0)  # crashes and is there again
            if s.role != "leader" and s.term < terms:  # an election
                ask = ("ask", s.term + 1, at, _last(s.log), len(s.log))
                yield then(ask, role="candidate", term=s.term + 1, voted=at)
            yield from _leading(state, at, s, entries, then)
            for message in state.sent:
                yield from _heard(message, at, s, then)

    return steps


def _last(log: Log) -> int:
    return log[-1] if log else 0


Then = Callable[..., State]


def _most(state: State, at: int, said: set[object]) -> bool:
    """Are those who said something most servers, together with who counts them?"""
    return 2 * len(said | {at}) > len(state.servers)


def _leading(state: State, at: int, s: Server, entries: int, then: Then) -> Iterator[State]:
    sent = state.sent
    if s.role == "candidate" and _most(state, at, {x[-1] for x in sent if x[:3] == ("vote", s.term, at)}):
        yield then(("leads", s.term, at), *_prefixes("log", s.term, at, s.log), role="leader")
    if s.role == "leader":
        if len(s.log) < entries:
            log = (*s.log, s.term)
            yield then(("log", s.term, at, log), log=log)
        for n in range(s.commit + 1, len(s.log) + 1):
            holding = {x[-1] for x in sent if x[:2] == ("held", s.term) and isinstance(x[2], int) and x[2] >= n}
            if s.log[n - 1] == s.term and _most(state, at, holding):
                yield then(*_prefixes("commit", s.term, at, s.log[:n]), commit=n)


def _prefixes(kind: str, term: int, leader: int, log: Log) -> list[Message]:
    """What a leader sends about each entry: the entry, and what comes before it."""
    return [(kind, term, leader, log[: n + 1]) for n in range(len(log))]


def _heard(message: Message, at: int, s: Server, then: Then) -> Iterator[State]:
    match message:
        case ("ask", int(term), int(who), int(last), int(size)) if who != at:
            better = (last, size) >= (_last(s.log), len(s.log))
            if term > s.term or (term == s.term and s.role == "follower" and s.voted is None and better):
                vote = [("vote", term, who, at)] if better else []
                yield then(*vote, role="follower", term=term, voted=who if better else None)
            else:
                yield then()
        case ("leads", int(term), int(who)) if who != at:  # a heartbeat
            if term > s.term or (term == s.term and s.role == "candidate"):
                yield then(role="follower", term=term, voted=None if term > s.term else s.voted)
        case ("log", int(term), int(who), tuple(log)) if who != at:
            before, agrees = len(log) - 1, s.log[: len(log) - 1][-1:] == log[:-1][-1:] and len(s.log) >= len(log) - 1
            if term > s.term or (term == s.term and s.role == "candidate"):
                yield then(role="follower", term=term, voted=None if term > s.term else s.voted)
            elif term == s.term and s.role == "follower" and agrees:
                held = s.log if s.log[before : len(log)] == log[-1:] else (*s.log[:before], log[-1])
                yield then(("held", term, len(log), at), log=held)
        case ("commit", int(term), int(who), tuple(log)) if who != at:
            matches = s.log[len(log) - 1 : len(log)] == log[-1:]
            if term == s.term and s.role == "follower" and matches and len(log) > s.commit:
                yield then(commit=len(log))
        case _:
            pass
