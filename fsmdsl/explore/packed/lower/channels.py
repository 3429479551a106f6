"""What channels do: deliver, lose and duplicate messages, and keep them in order."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from fsmdsl import model as m
from fsmdsl.explore.liveness.plan import Delivery, Waits
from fsmdsl.explore.packed.layout import Box, awaitable
from fsmdsl.explore.packed.lower.context import Context, T
from fsmdsl.explore.packed.lower.convert import decoded
from fsmdsl.explore.packed.lower.steps import Steps
from fsmdsl.explore.packed.shapes import UnpackableError, shape
from fsmdsl.explore.program.builder import Builder, function, numbers, rows
from fsmdsl.explore.program.nodes import FALSE, ZERO, Choice, Expr, Function, Int, Not, Var, all_of, any_of, call
from fsmdsl.explore.program.source import functions_in
from fsmdsl.model.typing import bare

K, MESSAGE, RECEIVER = Var("k"), Var("message"), Var("receiver")


def place_of(context: Context, channel: str, receiver: Expr | None) -> tuple[Box, Expr] | None:
    """Where the number of messages of a queue stands, and a box like it: the queue of a receiver, or the only one. None
    where the channel leads out of the system."""
    boxes = [x for x in context.layout.boxes if x.channel.qualified == channel]
    if not boxes:
        return None
    first = boxes[0]
    if receiver is None:
        return first, Int(first.length)
    if boxes[-1].receiver - first.receiver == len(boxes) - 1:
        return first, _at(first, receiver)
    place: Expr = Int(first.length)
    for x in boxes[1:]:
        place = Choice(receiver.equals(x.receiver), Int(x.length), place)
    return first, place


def _at(first: Box, receiver: Expr) -> Expr:
    """Where the queue of a receiver stands, if all those from the first receiver on have one."""
    return receiver * first.places + (first.length - first.receiver * first.places)


def transmissions(steps: Steps) -> None:
    """The steps of all channels. Queues of receivers one after the other share their text."""
    row: list[Box] = []
    for box in steps.context.layout.boxes:
        if row and (row[-1].channel is not box.channel or row[-1].receiver != box.receiver - 1):
            _queues(steps, row)
            row = []
        row.append(box)
    if row:
        _queues(steps, row)


def _queues(steps: Steps, boxes: Sequence[Box]) -> None:
    b, first = steps.builder, boxes[0]
    if len(boxes) == 1:
        _queue(steps, boxes, Int(first.receiver), Int(first.length))
        return
    with b.count(RECEIVER, first.receiver + len(boxes), first.receiver):
        _queue(steps, boxes, RECEIVER, b.named(_at(first, RECEIVER)))


def _queue(steps: Steps, boxes: Sequence[Box], receiver: Expr, length: Expr) -> None:
    context, b, s, channel = steps.context, steps.builder, steps.scope.row, boxes[0].channel
    machine, first = context.universe.machines[boxes[0].receiver], length + 1
    with b.count(K, s[length]):
        b.set(MESSAGE, s[first + K])
        with b.when(any_of([K.equals(0), s[first + K - 1].differs(MESSAGE)])):
            free = [Not(call("awaits", s, receiver))] if awaitable(machine) else []
            foremost = [K.equals(0)] if channel.order == "fifo" else []
            with b.when(all_of([*free, *foremost])):
                for box in boxes:
                    with b.when(receiver.equals(box.receiver)) if len(boxes) > 1 else nullcontext():
                        _mark(steps, box)
                _receive(steps, boxes[0], machine, receiver, length)
    distinct = any_of([K.equals(0), s[first + K - 1].differs(s[first + K])])
    if channel.lossy:
        with b.count(K, s[length]), b.when(distinct):
            steps.take(call("take_out", T, length, K), skips=False)
    if channel.duplicating:
        room = Choice(s[length] < channel.bound, s[length], ZERO)
        with b.count(K, room), b.when(distinct):
            steps.take(call("double", T, length, K), skips=False)


def _mark(steps: Steps, box: Box) -> None:
    """Note in the step's mark which message is delivered, and which wait."""
    context, b, s, j = steps.context, steps.builder, steps.scope.row, Var("j")
    mark = T[context.layout.mark]
    for number, bit in context.delivered_bits(box, Delivery).items():
        with b.when(MESSAGE.equals(number)):
            b.update(mark, "|", bit)
    waiting = context.delivered_bits(box, Waits)
    if waiting:
        with b.count(j, s[box.length]):
            for number, bit in waiting.items():
                with b.when(s[box.first + j].equals(number)):
                    b.update(mark, "|", bit)


def _receive(steps: Steps, box: Box, machine: m.Machine, receiver: Expr, length: Expr) -> None:
    """Whatever message it is: its arguments, then its handler; that it is not handled is a fault here."""
    context, b = steps.context, steps.builder
    for n, event in enumerate(box.events):
        with b.when((MESSAGE >> box.argument_bits).equals(n)):
            given = []
            for s, at in zip(box.shapes[n], box.offsets(n), strict=True):
                given.append(b.named(decoded(steps.scope, MESSAGE >> at & (1 << s.bits) - 1, s)))
            site = context.sites.several(6 + len(machine.leaves))
            handled = call(context.handler(machine, event.name), T, receiver, *given)
            steps.take(call("delivered", call("take_out", T, length, K) + handled, site), skips=False)


# Order ---------------------------------------------------------------------------------------------------------------


def put(context: Context, box: Box) -> str:
    """The function that puts a message into a queue: at the end, or, where order means nothing, in its place."""
    if box.channel.order == "fifo":
        return "put"
    if not _structured(box):
        return "put_sorted"
    return f"put_{next(n for n, x in enumerate(context.layout.boxes) if x.channel is box.channel)}"


def orders(context: Context) -> list[Function]:
    """Functions for bags of messages with sets, lists or maps, which are sorted by what is in them from the first."""
    functions: list[Function] = []
    for n, box in enumerate(context.layout.boxes):
        if put(context, box) == f"put_{n}":
            functions += [_before(context, box, n), _put_sorted(n)]
    return [*functions_in(LIBRARY), *functions] if functions else []


LIBRARY = Path(__file__).parent / "library_messages.py"


def _structured(box: Box) -> bool:
    return any(isinstance(bare(p.type), m.SetType | m.ListType | m.MapType) for e in box.events for p in e.parameters)


def _before(context: Context, box: Box, n: int) -> Function:
    """`before`: does one message stand before another? See `step.cascade.message_order`."""
    b, x, y, c = Builder(), Var("x"), Var("y"), Var("c")
    with b.when((x >> box.argument_bits).differs(y >> box.argument_bits)):
        b.leave(x < y)
    for k, event in enumerate(box.events):
        with b.when((x >> box.argument_bits).equals(k)):
            for p, s, at in zip(event.parameters, box.shapes[k], box.offsets(k), strict=True):
                one, other = (message >> at & (1 << s.bits) - 1 for message in (x, y))
                b.set(c, _compared(context, p.type, one, other))
                with b.when(c.differs(0)):
                    b.leave(c < 0)
            b.leave(FALSE)
    b.leave(FALSE)
    return function(f"before_{n}", numbers("x", "y"), b.block, "Does a message stand before another?")


def _compared(context: Context, t: m.Type, a: Expr, b: Expr) -> Expr:
    """A number below 0 where one code's value comes first, above where the other's does."""
    match t:
        case m.OptionalType(of=m.SetType() | m.ListType() as of):
            inner = _compared(context, of, a - 1, b - 1)
            return Choice(any_of([a.equals(0), b.equals(0)]), a - b, inner)
        case m.SetType():
            return call("set_order", a, b)
        case m.ListType(of=m.SetType() | m.ListType()):
            raise UnpackableError("a bag of messages with lists of sets or lists")
        case m.ListType(of=of, bound=bound):
            return call("list_order", a, b, bound.bit_length(), shape(of, context.universe).bits)
        case m.MapType(of=m.SetType() | m.ListType() | m.OptionalType(of=m.SetType() | m.ListType())):
            raise UnpackableError("a bag of messages with maps to sets or lists")
        case m.MapType(key, of):
            keys, s = shape(key, context.universe).codes, shape(of, context.universe)
            return call("map_order", a, b, keys, s.bits)
        case _:
            return a - b


def _put_sorted(n: int) -> Function:
    """`put`: one message more, in its place."""
    b, at, message, count = Builder(), Var("at"), Var("message"), Var("n")
    b.set(count, T[at])
    with b.repeat(all_of([count > 0, call(f"before_{n}", message, T[at + count])])):
        b.set(T[at + 1 + count], T[at + count])
        b.update(count, "-", 1)
    b.set(T[at + 1 + count], message)
    b.update(T[at], "+", 1)
    b.leave(0)
    return function(f"put_{n}", (*rows("t"), *numbers("at", "message")), b.block, "One message more, in its place.")
