"""A state as a line of JSON, and back.

Python takes `1`, `1.0` and `True` for the same, and JSON has no sets, records or references. So a line is read by the
declared types, exactly, and each state has one line: no two values that the language tells apart are written alike, and
no value has two spellings.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from json import JSONEncoder
from typing import Any, NoReturn, assert_never

from fsmdsl import model as m
from fsmdsl.interop.certificate.strict_json import RefusedError, parsed, quoted
from fsmdsl.step import Message, Pending, RecordValue, Universe, Value, World
from fsmdsl.step.cascade import message_order
from fsmdsl.step.data import Table
from fsmdsl.step.instances import Queue, Roster
from fsmdsl.step.values import keys


def encoded(world: World) -> str:
    """A state as a line of JSON. Equal states have equal lines, others have others.

    A set is the list of its members in a fixed order, a map the list of its values in the order of the keys, a record
    the list of its parts, an instance its number.
    """
    return _ENCODER.encode(world)


def decoded(universe: Universe, line: str) -> World:
    """The state of a line. Raises `RefusedError` where the line is not what `encoded` writes for a state of the
    system."""
    with _part("the state"):
        states, fields, waited, channels, pending, down = _items(parsed(line), 6)
    world = World(
        _states(universe, states),
        _fields(universe, fields),
        _waited(universe, waited),
        _channels(universe, channels),
        _pending(universe, pending),
        _down(universe, down),
    )
    if encoded(world) != line:
        raise RefusedError(f"the state is not written as `fsm verify` writes it, which is {encoded(world)}")
    return world


def _as_list(value: object) -> Sequence[Value]:
    """What JSON knows nothing of."""
    match value:
        case frozenset():
            return sorted(value, key=_ENCODER.encode)
        case Table(entries):
            return [x for _, x in entries]
        case RecordValue(parts):
            return parts
        case _:
            raise TypeError(f"a {type(value).__name__} is in no state")


_ENCODER = JSONEncoder(separators=(",", ":"), default=_as_list)


# Parts ---------------------------------------------------------------------------------------------------------------


def _states(universe: Universe, plain: Any) -> tuple[str, ...]:
    with _part("the states of the instances"):
        names = _items(plain, len(universe.machines))
    for n, (machine, x) in enumerate(zip(universe.machines, names, strict=True)):
        if type(x) is not str or x not in machine.leaf_numbers:
            with _part(f"the state of `{universe.name(n)}`"):
                _expected(f"a state of `{machine.name}` without states inside it", x)
    return tuple(names)


def _fields(universe: Universe, plain: Any) -> tuple[tuple[Value, ...], ...]:
    with _part("the fields"):
        rows = _items(plain, len(universe.machines))
    return tuple(_row(universe, n, x) for n, x in enumerate(rows))


def _row(universe: Universe, n: int, plain: Any) -> tuple[Value, ...]:
    fields = universe.machines[n].fields
    with _part(f"the fields of `{universe.name(n)}`"):
        items = _items(plain, len(fields))
    return tuple([_field(universe, n, f, x) for f, x in zip(fields, items, strict=True)])


def _field(universe: Universe, n: int, field: m.Field, plain: Any) -> Value:
    try:  # not `_part`: this is done so often that the name would take longer than the rest
        return _value(field.type, plain, universe)
    except _UnexpectedError as error:
        raise RefusedError(f"field `{field.name}` of `{universe.name(n)}`: {error}") from None


def _waited(universe: Universe, plain: Any) -> frozenset[int]:
    with _part("the instances in the middle of a round"):
        return frozenset(_instance(universe, x) for x in _items(plain))


def _channels(universe: Universe, plain: Any) -> tuple[tuple[Message, ...], ...]:
    with _part("the channels"):
        queues = _items(plain, len(universe.queues))
    return tuple(_messages(universe, n, x) for n, x in enumerate(queues))


def _messages(universe: Universe, n: int, plain: Any) -> tuple[Message, ...]:
    queue = universe.queues[n]
    with _part(f"channel `{universe.queue_name(n)}`"):
        items = _items(plain)
        if len(items) > queue.channel.bound:
            _expected(f"at most {queue.channel.bound} messages", plain)
        messages = tuple(_message(universe, queue, x) for x in items)
        if queue.channel.order == "bag" and list(messages) != sorted(messages, key=_order(universe, queue)):
            _expected("the messages of a bag in order", plain)
        return messages


def _order(universe: Universe, queue: Queue) -> Callable[[Message], tuple[object, ...]]:
    return message_order(universe, queue.channel)


def _message(universe: Universe, queue: Queue, plain: Any) -> Message:
    name, arguments = _items(plain, 2)
    events = universe.machines[queue.receiver].event_named
    if type(name) is not str or name not in events or queue.channel.qualified not in events[name].senders:
        _expected("an event that this channel carries", name)
    parameters = events[name].parameters
    items = _items(arguments, len(parameters))
    return Message(name, tuple([_value(p.type, x, universe) for p, x in zip(parameters, items, strict=True)]))


def _pending(universe: Universe, plain: Any) -> tuple[Pending, ...]:
    with _part("the pending actions"):
        return tuple(_answer(universe, x) for x in _items(plain))


def _answer(universe: Universe, plain: Any) -> Pending:
    instance, name = _items(plain, 2)
    actions = universe.machines[_instance(universe, instance)].action_named
    if type(name) is not str or name not in actions or not actions[name].outcomes:
        _expected(f"an action with outcomes of `{universe.name(instance)}`", name)
    return Pending(instance, name)


def _down(universe: Universe, plain: Any) -> bool:
    with _part("whether the system is down"):
        down = _truth(plain)
        if down and universe.system.recover is None:
            _expected("false, as the system does not recover", plain)
        return down


# Values --------------------------------------------------------------------------------------------------------------


def _value(t: m.Type, plain: Any, roster: Roster) -> Value:
    """A value of a type, of exactly its kind."""
    match t:
        case m.BoolType():
            return _truth(plain)
        case m.RangeType(low, high):
            return _number(plain, range(low, high + 1), f"a number from {low} to {high}")
        case m.DurationType():
            return plain if type(plain) is int and plain >= 0 else _expected("a number of milliseconds", plain)
        case m.EnumType(members=members):
            return plain if type(plain) is str and plain in members else _expected(f"a member of `{t.name}`", plain)
        case m.OpaqueType(name):
            return name if type(plain) is str and plain == name else _expected(quoted(name), plain)
        case m.RefType(machine):
            return _number(plain, roster.instances_of(machine), f"the number of an instance of `{machine}`")
        case m.OptionalType(of):
            return None if plain is None else _value(of, plain, roster)
        case m.SetType(of):
            return frozenset(_value(of, x, roster) for x in _items(plain))
        case m.ListType(of, bound):
            items = _items(plain)
            if len(items) > bound:
                _expected(f"at most {bound} items", plain)
            return tuple([_value(of, x, roster) for x in items])
        case m.RecordType(parts=parts):
            items = _items(plain, len(parts))
            return RecordValue(tuple([_value(of, x, roster) for (_, of), x in zip(parts, items, strict=True)]))
        case m.MapType(of=of):
            names = keys(t, roster)
            items = _items(plain, len(names))
            return Table(tuple([(k, _value(of, x, roster)) for k, x in zip(names, items, strict=True)]))
        case m.NoneType() | m.NeverType() | m.ErrorType():
            return _expected("no value", plain)
        case _:
            assert_never(t)


def _truth(plain: object) -> bool:
    return plain if type(plain) is bool else _expected("true or false", plain)


def _number(plain: object, values: Container[int], what: str) -> int:
    """A number and no bool, which is one for Python."""
    return plain if type(plain) is int and plain in values else _expected(what, plain)


def _instance(universe: Universe, plain: object) -> int:
    return _number(plain, range(len(universe.machines)), "the number of an instance")


def _items(plain: Any, count: int | None = None) -> Sequence[Any]:
    if type(plain) is not list or (count is not None and len(plain) != count):
        _expected("a list" if count is None else f"a list of {count}", plain)
    return plain


# What is wrong -------------------------------------------------------------------------------------------------------


class _UnexpectedError(Exception):
    """A value that is not what its place holds."""


def _expected(what: str, plain: Any) -> NoReturn:
    raise _UnexpectedError(f"expected {what}, not {quoted(plain)}")


@contextmanager
def _part(name: str) -> Iterator[None]:
    """Names the part of the state in which something unexpected is."""
    try:
        yield
    except _UnexpectedError as error:
        raise RefusedError(f"{name}: {error}") from None
