"""Where the messages of channels stand, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core.translate.steps import Mailbox
from fsmdsl.dataclasses import replace
from fsmdsl.model.typing import is_structured
from fsmdsl.program.builder import Builder, function, numbers, rows
from fsmdsl.program.nodes import FALSE, ZERO, Choice, Expr, Function, Int, Var, all_of, any_of, call
from fsmdsl.program.source import functions_in
from fsmdsl.search.layout import QueueLayout
from fsmdsl.search.lower.context import Context, Scope, T
from fsmdsl.search.lower.values.convert import number_of
from fsmdsl.search.shapes import UnpackableError, parts_of, shape

MESSAGE = Var("message")


def within(scope: Scope, channel: m.Channel) -> Scope:
    """Inside a procedure about a queue of a channel, whose place is computed once."""
    queue = Mailbox(scope.context.core, channel).queue
    return replace(scope, places={queue: scope.builder.temporary(place_of(scope, queue))})


def boxes_of(context: Context, channel: str) -> list[QueueLayout]:
    """The queues of a channel."""
    return [x for x in context.layout.boxes if x.channel.qualified == channel]


def place_of(scope: Scope, queue: s.Queue) -> Expr:
    """Where the number of the messages in a queue stands."""
    if queue in scope.places:
        return scope.places[queue]
    boxes, ends = boxes_of(scope.context, queue.channel), [scope.variable(x) for x in queue.ends]
    first = boxes[0]
    if not ends:
        return Int(first.length)
    rank = _rank(sorted({x.receiver for x in boxes}), ends[-1])
    if len(ends) > 1:
        rank = rank * first.senders + _rank(sorted({x.sender for x in boxes if x.sender is not None}), ends[0])
    return rank * first.places + first.length


def _rank(instances: Sequence[int], x: Expr) -> Expr:
    """The place of an instance among others."""
    if instances[-1] - instances[0] == len(instances) - 1:
        return x - instances[0]
    rank: Expr = ZERO
    for n, instance in enumerate(instances[1:], 1):
        rank = Choice(x.equals(instance), Int(n), rank)
    return rank


# Messages ------------------------------------------------------------------------------------------------------------


def message_at(scope: Scope, queue: s.Queue, position: Expr) -> Expr:
    """The number of the message at a position of a queue."""
    return scope.row[place_of(scope, queue) + 1 + position]


def about_queue(scope: Scope, e: s.Length | s.IsMessage | s.Argument | s.IsRepeated) -> Expr:
    """What is asked of a queue, or of a message in it."""
    box = boxes_of(scope.context, e.queue.channel)[0]
    if isinstance(e, s.Length):
        return scope.row[place_of(scope, e.queue)]
    position = scope.value(e.position)
    message = scope.message or message_at(scope, e.queue, position)
    match e:
        case s.IsMessage(event=event):
            return (message >> box.argument_bits).equals([x.name for x in box.events].index(event))
        case s.Argument(event=event, number=number):
            record = box.records[[x.name for x in box.events].index(event)]
            _, part, at = [*parts_of(record, scope.context.universe).values()][number]
            return number_of(message >> at & (1 << part.bits) - 1, part)
        case s.IsRepeated():
            return all_of([position > 0, message_at(scope, e.queue, position - 1).equals(message)])
        case _:
            assert_never(e)


# Order ---------------------------------------------------------------------------------------------------------------


def put(context: Context, box: QueueLayout) -> str:
    """The function that puts a message into a queue: at the end, or, where order means nothing, in its place."""
    if box.channel.order == "fifo":
        return "put"
    if not any(map(is_structured, box.records)):
        return "put_sorted"
    return f"put_{next(n for n, x in enumerate(context.layout.boxes) if x.channel is box.channel)}"


def orders(context: Context) -> list[Function]:
    """Functions for bags of messages with sets, lists or maps, which are sorted by what is in them from the first."""
    functions: list[Function] = []
    for n, box in enumerate(context.layout.boxes):
        if put(context, box) == f"put_{n}":
            functions += [_before(context, box, n), _put_sorted(n)]
    return [*functions_in(LIBRARY), *functions] if functions else []


LIBRARY = Path(__file__).parents[1] / "library" / "messages.py"


def _before(context: Context, box: QueueLayout, n: int) -> Function:
    """`before`: does one message stand before another? See `step.cascade.message_order`."""
    b, x, y = Builder(), Var("x"), Var("y")
    with b.if_((x >> box.argument_bits).differs(y >> box.argument_bits)):
        b.return_(x < y)
    for k, arguments in enumerate(box.records):
        with b.if_((x >> box.argument_bits).equals(k)):
            b.return_(_compared(context, arguments, x, y) < 0)
    b.return_(FALSE)
    return function(f"before_{n}", numbers("x", "y"), b.block, "Does a message stand before another?")


def _compared(context: Context, t: m.Type, a: Expr, b: Expr) -> Expr:
    """A number below 0 where one code's value comes first, above where the other's does."""
    match t:
        case m.OptionalType(of=of) if is_structured(of):
            inner = _compared(context, of, a - 1, b - 1)
            return Choice(any_of([a.equals(0), b.equals(0)]), a - b, inner)
        case m.SetType():
            return call("set_order", a, b)
        case m.RecordType():
            compared: Expr = ZERO
            for of, part, at in reversed(parts_of(t, context.universe).values()):
                first = _compared(context, of, *(x >> at & (1 << part.bits) - 1 for x in (a, b)))
                compared = Choice(first.differs(0), first, compared)
            return compared
        case m.ListType(of=of) if is_structured(of):
            raise UnpackableError("a bag of messages with lists of sets or lists")
        case m.ListType(of=of, bound=bound):
            return call("list_order", a, b, bound.bit_length(), shape(of, context.universe).bits)
        case m.MapType(of=of) if is_structured(of):
            raise UnpackableError("a bag of messages with maps to sets or lists")
        case m.MapType(key, of):
            keys, entry = shape(key, context.universe).codes, shape(of, context.universe)
            return call("map_order", a, b, keys, entry.bits)
        case _:
            return a - b


def _put_sorted(n: int) -> Function:
    """`put`: one message more, in its place."""
    b, at, message, count = Builder(), Var("at"), Var("message"), Var("n")
    b.set(count, T[at])
    with b.while_(all_of([count > 0, call(f"before_{n}", message, T[at + count])])):
        b.set(T[at + 1 + count], T[at + count])
        b.update(count, "-", 1)
    b.set(T[at + 1 + count], message)
    b.update(T[at], "+", 1)
    b.return_(0)
    return function(f"put_{n}", (*rows("t"), *numbers("at", "message")), b.block, "One message more, in its place.")
