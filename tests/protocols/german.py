"""German's directory coherence protocol with data, after the Murphi text of Chou, Mannava and Park."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

Line = tuple[str, int]
"""A state, or a message, with its data (0 where it has none)."""
NOTHING: Line = ("", 0)
T = TypeVar("T")


class State(NamedTuple):
    """Variables of the Murphi text, those for each cache as tuples."""

    cache: tuple[Line, ...]
    chan1: tuple[str, ...]
    chan2: tuple[Line, ...]
    chan3: tuple[Line, ...]
    inv: frozenset[int] = frozenset()
    shr: frozenset[int] = frozenset()
    exclusive: bool = False
    command: str = ""
    asking: int | None = None
    memory: int = 0
    aux: int = 0


def start(caches: int) -> State:
    """Nobody has anything."""
    none = (NOTHING,) * caches
    return State((("I", 0),) * caches, ("",) * caches, none, none)


def _set(row: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    return (*row[:at], value, *row[at + 1 :])


def after(s: State) -> Iterator[State]:
    """A step for each rule that may fire."""
    for i in range(len(s.cache)):
        yield from _of_cache(s, i)
        yield from _of_home(s, i)


def _of_cache(s: State, i: int) -> Iterator[State]:
    state, data = s.cache[i]
    if state == "E":  # Store
        for d in (0, 1):
            yield s._replace(cache=_set(s.cache, i, ("E", d)), aux=d)
    if s.chan1[i] == "":
        if state == "I":  # SendReqS
            yield s._replace(chan1=_set(s.chan1, i, "ReqS"))
        if state in ("I", "S"):  # SendReqE
            yield s._replace(chan1=_set(s.chan1, i, "ReqE"))
    command, granted = s.chan2[i]
    if command == "Inv" and s.chan3[i] == NOTHING:  # SendInvAck
        answer = ("InvAck", data if state == "E" else 0)
        invalid = _set(s.cache, i, ("I", 0))
        yield s._replace(cache=invalid, chan2=_set(s.chan2, i, NOTHING), chan3=_set(s.chan3, i, answer))
    if command in ("GntS", "GntE"):  # RecvGntS, RecvGntE
        yield s._replace(cache=_set(s.cache, i, (command[-1], granted)), chan2=_set(s.chan2, i, NOTHING))


def _of_home(s: State, i: int) -> Iterator[State]:
    if s.command == "" and s.chan1[i] != "":  # RecvReqS, RecvReqE
        yield s._replace(command=s.chan1[i], asking=i, inv=s.shr, chan1=_set(s.chan1, i, ""))
    invalidates = s.command == "ReqE" or (s.command == "ReqS" and s.exclusive)
    if s.chan2[i] == NOTHING and i in s.inv and invalidates:  # SendInv
        yield s._replace(chan2=_set(s.chan2, i, ("Inv", 0)), inv=s.inv - {i})
    if s.chan3[i] != NOTHING and s.command != "":  # RecvInvAck
        memory = s.chan3[i][1] if s.exclusive else s.memory
        yield s._replace(chan3=_set(s.chan3, i, NOTHING), shr=s.shr - {i}, exclusive=False, memory=memory)
    if s.asking == i and s.chan2[i] == NOTHING and not s.exclusive:
        granted = s._replace(shr=s.shr | {i}, command="", asking=None)
        if s.command == "ReqS":  # SendGntS
            yield granted._replace(chan2=_set(s.chan2, i, ("GntS", s.memory)))
        if s.command == "ReqE" and not s.shr:  # SendGntE
            yield granted._replace(exclusive=True, chan2=_set(s.chan2, i, ("GntE", s.memory)))
