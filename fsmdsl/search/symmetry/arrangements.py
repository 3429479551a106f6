"""How a world is brought into the order that stands for all its likes: which sets can be sorted, and of which all
arrangements must be tried."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import factorial, prod

from fsmdsl import model as m
from fsmdsl.search.symmetry.sets import SymmetricSet, is_reference, mentions
from fsmdsl.step.instances import Roster

MAX_ARRANGEMENTS = 720
"""More than these are not compared for one world."""

MAX_MESSAGES = 15
"""Maximum size of a bag in which the messages of each instance are counted by kind: more would not fit in a word."""


def division(roster: Roster, sets: Sequence[SymmetricSet]) -> tuple[list[SymmetricSet], list[SymmetricSet]]:
    """Those to be sorted, and those to be arranged in all ways before.

    Members of a set can be sorted by what concerns them if no such thing is about two of them, or about one and a
    member of another set that is not in order yet.
    """
    ordered: list[SymmetricSet] = []
    for x in sorted(sets, key=lambda x: -x.count):
        if not any(_linked(roster, x, other) for other in (x, *ordered)):
            ordered.append(x)
    return ordered, [x for x in sets if x not in ordered]


def arrangements(sets: Iterable[SymmetricSet]) -> int:
    """In how many ways the members of all these sets can be arranged."""
    return prod(factorial(x.count) for x in sets)


def _linked(roster: Roster, a: SymmetricSet, b: SymmetricSet) -> bool:
    """Can something be about members of both, or about two of the one? A field of a member that refers to another, a
    message in its queue that does, a queue from one to the other, or a message in a bag, where only arguments tell one
    message from another."""
    for x, y in ((a, b), (b, a)):
        own = {q.channel for q in roster.queues if x.first in (q.sender, q.receiver)}
        if any(q.sender in x.numbers and q.receiver in y.numbers for q in roster.queues):
            return True
        types = [f.type for f in roster.machines[x.first].fields]
        types += [p.type for c in own for e in _carried(roster, c) for p in e.parameters]
        if any(mentions(t, y.machine) for t in types):
            return True
    bags = {x.channel for x in roster.queues if x.channel.order == "bag"}
    return any(_in_one_message(c, e, a, b) for c in bags for e in roster.model.machines[c.receiver].events)


def _carried(roster: Roster, channel: m.Channel) -> list[m.Event]:
    return [e for e in roster.model.machines[channel.receiver].events if channel.qualified in e.senders]


def _in_one_message(bag: m.Channel, event: m.Event, a: SymmetricSet, b: SymmetricSet) -> bool:
    types = [p.type for p in event.parameters]
    of_a, of_b = ([t for t in types if mentions(t, x.machine)] for x in (a, b))
    if a is not b:
        return bool(of_a and of_b)
    return len(of_a) > 1 or not all(map(is_reference, of_a)) or (bool(of_a) and bag.bound > MAX_MESSAGES)
