"""Worlds in which instances are called otherwise, by brute force: what a reduction by symmetry is judged by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product

from fsmdsl import model as m
from fsmdsl.step import RecordValue, Universe, Value, World
from fsmdsl.step.cascade import message_order
from fsmdsl.step.data import Table
from fsmdsl.step.instances import Queue
from fsmdsl.step.world import Message


def orbits(universe: Universe, worlds: Sequence[World], groups: Sequence[str]) -> list[frozenset[World]]:
    """The worlds by what they differ in beside who is who in these groups. Every world so reached is one of them."""
    renamings = list(_renamings(universe, groups))
    known = set(worlds)
    found: list[frozenset[World]] = []
    seen: set[World] = set()
    for world in worlds:
        if world not in seen:
            orbit = frozenset(renamed(universe, world, to) for to in renamings)
            assert orbit <= known, f"{world} is reachable, and one of its likes is not"
            seen |= orbit
            found.append(orbit)
    return found


def _renamings(universe: Universe, groups: Sequence[str]) -> Iterator[list[int]]:
    """By number: the new number of each instance."""
    members = [sorted(universe.instances_called(name)) for name in groups]
    for arrangement in product(*map(permutations, members)):
        to = list(range(len(universe.machines)))
        for old, new in zip(members, arrangement, strict=True):
            for a, b in zip(old, new, strict=True):
                to[a] = b
        yield to


def renamed(universe: Universe, world: World, to: Sequence[int]) -> World:
    """The same world, where each instance has another number."""
    back = {new: old for old, new in enumerate(to)}
    order = [back[n] for n in range(len(to))]
    fields = [
        tuple(_value(f.type, x, to) for f, x in zip(universe.machines[n].fields, world.fields[n], strict=True))
        for n in order
    ]
    return World(
        tuple(world.states[n] for n in order),
        tuple(fields),
        frozenset(to[n] for n in world.waited),
        tuple(_held(universe, c, world.channels[old], to) for c, old in _moved(universe, back)),
        tuple(p._replace(instance=to[p.instance]) for p in world.pending),
        world.down,
    )


def _moved(universe: Universe, back: Mapping[int, int]) -> Iterator[tuple[m.Channel, int]]:
    """Of each queue, its channel and the number of the queue that it was: that of the old numbers of its ends."""
    for channel, receiver, sender in universe.queues:
        old = Queue(channel, back[receiver], None if sender is None else back[sender])
        yield channel, universe.queues.index(old)


def _held(universe: Universe, channel: m.Channel, held: tuple[Message, ...], to: Sequence[int]) -> tuple[Message, ...]:
    events = universe.model.machines[channel.receiver].event_named
    found = []
    for x in held:
        pairs = zip(events[x.event].parameters, x.arguments, strict=True)
        found.append(Message(x.event, tuple(_value(p.type, value, to) for p, value in pairs)))
    return tuple(sorted(found, key=message_order(universe, channel)) if channel.order == "bag" else found)


def _value(t: m.Type, value: Value, to: Sequence[int]) -> Value:
    match t, value:
        case m.RefType(), int():
            return to[value]
        case m.OptionalType(of), _ if value is not None:
            return _value(of, value, to)
        case m.RecordType(parts=parts), RecordValue(values):
            return RecordValue(tuple(_value(of, x, to) for (_, of), x in zip(parts, values, strict=True)))
        case m.SetType(of), frozenset():
            return frozenset(_value(of, x, to) for x in value)
        case m.ListType(of), tuple():
            return tuple(_value(of, x, to) for x in value)
        case m.MapType(key, of), Table(entries):
            moved = [(_value(key, k, to), _value(of, x, to)) for k, x in entries]
            return Table(tuple(sorted(moved) if isinstance(key, m.RefType) else moved))  # type: ignore[type-var]
        case _:
            return value
