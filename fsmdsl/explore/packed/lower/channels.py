"""What channels do: deliver, lose and duplicate messages, and keep them in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsmdsl import model as m
from fsmdsl.explore.packed.layout import Box, awaitable
from fsmdsl.explore.packed.lower.context import Context
from fsmdsl.explore.packed.lower.convert import decoded
from fsmdsl.explore.packed.shapes import UnpackableError, element

if TYPE_CHECKING:
    from fsmdsl.explore.packed.lower.offers import Offers


def transmissions(offers: Offers) -> None:
    """The steps of all channels."""
    for box in offers.context.layout.boxes:
        _channel(offers, box)


def _channel(offers: Offers, box: Box) -> None:
    context, w, channel = offers.context, offers.w, box.channel
    machine = context.universe.model.machines[channel.receiver]
    receiver = min(context.universe.instances_of(channel.receiver))
    with w.block(f"for k in range(s[{box.length}]):"):
        w.line(f"message = s[{box.first} + k]")
        with w.block(f"if k == 0 or s[{box.first} + k - 1] != message:"):
            free = [f"not awaits(s, {receiver})"] if awaitable(machine) else []
            first = ["k == 0"] if channel.order == "fifo" else []
            with w.block(f"if {' and '.join(free + first) or 'True'}:"):
                _receive(offers, box, machine, receiver)
    distinct = f"k == 0 or s[{box.first} + k - 1] != s[{box.first} + k]"
    if channel.lossy:
        with w.block(f"for k in range(s[{box.length}]):"), w.block(f"if {distinct}:"):
            offers.take(f"take_out(t, {box.length}, k)", skips=False)
    if channel.duplicating:
        room = f"range(s[{box.length}] if s[{box.length}] < {channel.bound} else 0)"
        with w.block(f"for k in {room}:"), w.block(f"if {distinct}:"):
            offers.take(f"double(t, {box.length}, k)", skips=False)


def _receive(offers: Offers, box: Box, machine: m.Machine, receiver: int) -> None:
    """Whatever message it is: its arguments, then its handler; that it is not handled is a fault here."""
    context, w = offers.context, offers.w
    for n, event in enumerate(box.events):
        with w.block(f"if message >> {box.argument_bits} == {n}:"):
            given = []
            for s, at in zip(box.shapes[n], box.offsets(n), strict=True):
                given.append(w.named(decoded(offers.scope, f"(message >> {at} & {(1 << s.bits) - 1})", s)))
            site = context.sites.several(6 + len(machine.leaves))
            function = context.handler(machine, event.name)
            call = f"take_out(t, {box.length}, k) + {function}({', '.join(['t', str(receiver), *given])})"
            offers.take(f"delivered({call}, {site})", skips=False)


# Order ---------------------------------------------------------------------------------------------------------------


def put(context: Context, box: Box) -> str:
    """The function that puts a message into a channel: at the end, or, where order means nothing, in its place."""
    if box.channel.order == "fifo":
        return "put"
    return "put_sorted" if not _structured(box) else f"put_{context.layout.boxes.index(box)}"


def orders(context: Context) -> list[str]:
    """Functions for bags of messages with sets or lists, which are sorted by their elements from the first."""
    lines: list[str] = []
    for n, box in enumerate(context.layout.boxes):
        if box.channel.order == "bag" and _structured(box):
            lines += [*_before(context, box, n), "", *PUT.replace("NUMBER", str(n)).splitlines(), ""]
    return [*ORDERS.splitlines(), "", *lines] if lines else []


def _structured(box: Box) -> bool:
    return any(isinstance(_bare(p.type), m.SetType | m.ListType) for e in box.events for p in e.parameters)


def _bare(t: m.Type) -> m.Type:
    return t.of if isinstance(t, m.OptionalType) else t


def _before(context: Context, box: Box, n: int) -> list[str]:
    """`before`: does one message stand before another? See `step.cascade.message_order`."""
    lines = [f"def before_{n}(x, y):", '    """Does a message stand before another?"""']
    lines += [f"    if x >> {box.argument_bits} != y >> {box.argument_bits}:", "        return x < y"]
    for k, event in enumerate(box.events):
        lines.append(f"    if x >> {box.argument_bits} == {k}:")
        for p, s, at in zip(event.parameters, box.shapes[k], box.offsets(k), strict=True):
            a, b = (f"({name} >> {at} & {(1 << s.bits) - 1})" for name in "xy")
            lines.append(f"        c = {_compared(context, p.type, a, b)}")
            lines += ["        if c != 0:", "            return c < 0"]
        lines.append("        return False")
    return [*lines, "    return False"]


def _compared(context: Context, t: m.Type, a: str, b: str) -> str:
    """A text that is below 0 where one code's value comes first, above where the other's does."""
    match t:
        case m.OptionalType(of=m.SetType() | m.ListType() as of):
            inner = _compared(context, of, f"({a} - 1)", f"({b} - 1)")
            return f"({a} - {b} if {a} == 0 or {b} == 0 else {inner})"
        case m.SetType():
            return f"set_order({a}, {b})"
        case m.ListType(of=m.SetType() | m.ListType()):
            raise UnpackableError("a bag of messages with lists of sets or lists")
        case m.ListType(of=of, bound=bound):
            return f"list_order({a}, {b}, {bound.bit_length()}, {element(of, context.universe).bits})"
        case _:
            return f"{a} - {b}"


ORDERS = '''
def set_order(a, b):
    """Which of two sets comes first, by their elements from the first?"""
    low = (a ^ b) & -(a ^ b)
    if a & low:
        return -1 if b >= low else 1
    if b & low:
        return 1 if a >= low else -1
    return 0


def list_order(a, b, at, bits):
    """Which of two lists comes first, by their items from the first?"""
    n, k = a & (1 << at) - 1, b & (1 << at) - 1
    for i in range(min(n, k)):
        x = a >> at + i * bits & (1 << bits) - 1
        y = b >> at + i * bits & (1 << bits) - 1
        if x != y:
            return x - y
    return n - k
'''

PUT = '''
def put_NUMBER(t, at, message):
    """One message more, in its place."""
    n = t[at]
    while n > 0 and before_NUMBER(message, t[at + n]):
        t[at + 1 + n] = t[at + n]
        n -= 1
    t[at + 1 + n] = message
    t[at] += 1
    return 0
'''
