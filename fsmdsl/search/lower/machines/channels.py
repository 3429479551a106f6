"""What channels do: deliver, lose and duplicate messages, and keep them in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import groupby
from pathlib import Path

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.model.typing import is_structured
from fsmdsl.program.builder import Builder, function, numbers, rows
from fsmdsl.program.nodes import FALSE, ZERO, Choice, Expr, Function, Int, Not, Var, all_of, any_of, call
from fsmdsl.program.source import functions_in
from fsmdsl.runs.liveness.plan import Delivery, MessageWaits
from fsmdsl.search.layout import QueueLayout, awaitable
from fsmdsl.search.lower.context import Context, F, S, Scope, T
from fsmdsl.search.lower.environment.steps import Steps
from fsmdsl.search.lower.fault_codes import IGNORED
from fsmdsl.search.lower.values.convert import number_of
from fsmdsl.search.shapes import UnpackableError, parts_of, shape

K, MESSAGE, RECEIVER, SENDER = Var("k"), Var("message"), Var("receiver"), Var("sender")


def place_of(scope: Scope, queue: s.Queue) -> tuple[QueueLayout, Expr]:
    """A box like a queue, and where the number of its messages stands."""
    boxes = [x for x in scope.context.layout.boxes if x.channel.qualified == queue.channel]
    return boxes[0], _place(boxes, [scope.variable(x) for x in queue.ends])


def length_of_queue(scope: Scope, queue: s.Queue) -> Expr:
    """How many messages wait in a queue."""
    return scope.row[place_of(scope, queue)[1]]


def _place(boxes: Sequence[QueueLayout], ends: Sequence[Expr]) -> Expr:
    """Where one of the queues of a channel begins, by its ends."""
    first = boxes[0]
    if not ends:
        return Int(first.length)
    rank = _rank(receivers(boxes), ends[-1])
    if len(ends) > 1:
        rank = rank * first.senders + _rank(senders(boxes), ends[0])
    return rank * first.places + first.length


def receivers(boxes: Iterable[QueueLayout]) -> list[int]:
    """The instances to which queues lead."""
    return sorted({x.receiver for x in boxes})


def senders(boxes: Iterable[QueueLayout]) -> list[int]:
    """The instances from which queues lead, where each has its own."""
    return sorted({x.sender for x in boxes if x.sender is not None})


def _rank(instances: Sequence[int], x: Expr) -> Expr:
    """The place of an instance among others."""
    if instances[-1] - instances[0] == len(instances) - 1:
        return x - instances[0]
    rank: Expr = ZERO
    for n, instance in enumerate(instances[1:], 1):
        rank = Choice(x.equals(instance), Int(n), rank)
    return rank


def transmissions(steps: Steps) -> None:
    """The steps of all channels. The queues of one share their text."""
    b = steps.builder
    for _, group in groupby(steps.context.layout.boxes, lambda x: x.channel):
        boxes = list(group)
        with _each(b, RECEIVER, receivers(boxes)) as receiver, _each(b, SENDER, senders(boxes)) as sender:
            ends = [*sender, *receiver]
            _queue(steps, boxes, ends, b.temporary(_place(boxes, ends)))


@contextmanager
def _each(b: Builder, variable: Var, of: Sequence[int]) -> Iterator[list[Expr]]:
    """A loop, where there are several; no number where there is none."""
    with b.for_each(variable, of) if len(of) > 1 else nullcontext():
        yield [variable] if len(of) > 1 else [Int(n) for n in of]


def _queue(steps: Steps, boxes: Sequence[QueueLayout], ends: Sequence[Expr], length: Expr) -> None:
    receiver = ends[-1]
    context, b, row, channel = steps.context, steps.builder, steps.scope.row, boxes[0].channel
    machine, first = context.universe.machines[boxes[0].receiver], length + 1
    with b.count(K, row[length]):
        b.set(MESSAGE, row[first + K])
        with b.if_(any_of([K.equals(0), row[first + K - 1].differs(MESSAGE)])):
            free = [Not(call("awaits", row, receiver))] if awaitable(machine) else []
            foremost = [K.equals(0)] if channel.order == "fifo" else []
            with b.if_(all_of([*free, *foremost])):
                for box in boxes:
                    here = zip(ends, (x for x in (box.sender, box.receiver) if x is not None), strict=True)
                    with b.if_(all_of([x.equals(n) for x, n in here])) if len(boxes) > 1 else nullcontext():
                        _mark(steps, box)
                _receive(steps, boxes[0], machine, receiver, length)
    distinct = any_of([K.equals(0), row[first + K - 1].differs(row[first + K])])
    if channel.lossy:
        with b.count(K, row[length]), b.if_(distinct):
            steps.take(call("take_out", T, length, K))
    if channel.duplicating:
        room = Choice(row[length] < channel.bound, row[length], ZERO)
        with b.count(K, room), b.if_(distinct):
            steps.take(call("double", T, length, K))


def _mark(steps: Steps, box: QueueLayout) -> None:
    """Note in the step's mark which message is delivered, and which wait."""
    context, b, row, j = steps.context, steps.builder, steps.scope.row, Var("j")
    mark = T[context.layout.mark]
    for number, bit in context.delivered_bits(box, Delivery).items():
        with b.if_(MESSAGE.equals(number)):
            b.update(mark, "|", bit)
    waiting = context.delivered_bits(box, MessageWaits)
    if waiting:
        with nullcontext() if box.channel.chooses else b.count(j, row[box.length]):
            for number, bit in waiting.items():
                with b.if_((MESSAGE if box.channel.chooses else row[box.first + j]).equals(number)):
                    b.update(mark, "|", bit)


def _receive(steps: Steps, box: QueueLayout, machine: m.Machine, receiver: Expr, length: Expr) -> None:
    """Whatever message it is: its arguments, then its handler. That it is not handled is a fault here, or no step at
    all if the channel waits."""
    context, b, waits = steps.context, steps.builder, box.channel.waiting
    come_to = "delivered_if_taken" if waits else "delivered"
    for n, event in enumerate(box.events):
        with b.if_((MESSAGE >> box.argument_bits).equals(n)):
            arguments = []
            for _, part, at in parts_of(box.records[n], context.universe).values():
                arguments.append(b.temporary(number_of(MESSAGE >> at & (1 << part.bits) - 1, part)))
            site = context.site(6 + len(machine.leaves))
            handled = call(context.handler(machine, event.name), T, receiver, *arguments)
            steps.take(call(come_to, call("take_out", T, length, K) + handled, site))
            if waits:
                with b.if_(F.equals(IGNORED)):
                    b.do(call("copy", S, T))


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
