"""Sure expressions of core statements in C: each has a value and no effect, so C may compute operands in any order.

A text is a name, a number, a call or in brackets, so that it can be an operand as it is.
"""

from __future__ import annotations

from typing import assert_never

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.interop.export.c_scope import CScope, number
from fsmdsl.interop.export.escape import c_comment
from fsmdsl.model.typing import bare, common

FLAGS = {"busy": "busy", "touched": "touched", "waited": "w.waited"}
"""Where the marks of instances are."""


def local(name: str) -> str:
    """A variable. What stands in front keeps it apart from words of C and from what the runtime defines."""
    return f"v_{name}"


def fitted(scope: CScope, e: s.Expr, t: m.Type) -> str:
    """An expression as a value of a type that holds it."""
    return scope.cast(expression(scope, e), e.type, t)


def expression(scope: CScope, e: s.Expr) -> str:
    """An expression."""
    match e:
        case s.Constant(value, t):
            return number(scope.values.number(t, value))
        case s.Variable(name):
            return local(name)
        case s.Location(span):
            return str(scope.place(span))
        case s.Read():
            return _read(scope, e)
        case s.InState(owner, leaves):
            return _in_state(scope, owner, leaves)
        case s.Instances():
            return number(sum(1 << n for n in _instances(scope, e)))
        case s.Not(operand):
            return f"!{expression(scope, operand)}"
        case s.Negative(operand):
            return f"(- {expression(scope, operand)})"
        case s.Logic(operator, operands):
            sign = " && " if operator == "and" else " || "
            return f"({sign.join(expression(scope, x) for x in operands)})"
        case s.Binary():
            return _binary(scope, e)
        case s.Conditional(condition, then, otherwise, t):
            return f"({expression(scope, condition)} ? {fitted(scope, then, t)} : {fitted(scope, otherwise, t)})"
        case s.Quantifier():
            return _quantifier(scope, e)
        case s.Collection():
            return _collection(scope, e)
        case s.Record(parts, t):
            scope.values.size(t)
            return _packed(scope, [(x, of) for x, (_, of) in zip(parts, t.parts, strict=True)], t)
        case s.Part(of, name, t):
            assert isinstance(of.type, m.RecordType)
            at = dict(zip((n for n, _ in of.type.parts), scope.values.part_places(of.type), strict=True))[name]
            index = f"{expression(scope, of)} >> {at} & {(1 << scope.values.item_bits(t)) - 1}"
            return f"value_at({scope.type(t)}, {index})"
        case s.Apply():
            return _applied(scope, e)
        case s.Derived(let, arguments):
            return f"{scope.function(let)}({passed(scope, let, arguments)})"
        case _:
            return _query(scope, e)


def passed(scope: CScope, procedure: s.Name, arguments: tuple[s.Expr, ...]) -> str:
    """Arguments, as the parameters of a procedure take them."""
    parameters = scope.procedures[procedure].parameters
    return ", ".join(fitted(scope, x, p.type) for p, x in zip(parameters, arguments, strict=True))


# Instances -----------------------------------------------------------------------------------------------------------


def machine_of(scope: CScope, instance: s.Expr) -> m.Machine | None:
    """The machine of an instance, if there are any of it."""
    t = bare(instance.type)
    selection = scope.selections.get(t.machine) if isinstance(t, m.RefType) else None
    return None if selection is None else selection.machine


def place(scope: CScope, machine: m.Machine, field: str, owner: s.Expr) -> str:
    """Where a field of an instance is, in a world."""
    return f"{scope.name('', machine.qualified, field)}[at[{expression(scope, owner)}]]"


def _read(scope: CScope, e: s.Read) -> str:
    machine = machine_of(scope, e.owner)
    if machine is None:
        return "0"  # never reached: the instance is none, which was a fault before
    match e.kind:
        case "field":
            return f"w.{place(scope, machine, e.name, e.owner)}"
        case "initial":
            return f"first.{place(scope, machine, e.name, e.owner)}"
        case "param":
            return f"{scope.name('param', machine.qualified, e.name)}[at[{expression(scope, e.owner)}]]"
        case _:
            assert_never(e.kind)


def _in_state(scope: CScope, owner: s.Expr, leaves: frozenset[str]) -> str:
    machine = machine_of(scope, owner)
    if machine is None:
        return "0"
    marks = "".join("01"[x.name in leaves] for x in machine.leaves)
    return f'in_states({expression(scope, owner)}, "{marks}" {c_comment(", ".join(sorted(leaves)))})'


def _instances(scope: CScope, e: s.Instances) -> frozenset[int]:
    match e.kind:
        case "group":
            return scope.universe.instances_called(e.name)
        case "machine":
            return scope.universe.instances_of(e.name)
        case "system":
            return frozenset(range(len(scope.universe.machines)))
        case _:
            assert_never(e.kind)


# Operators -----------------------------------------------------------------------------------------------------------


def _binary(scope: CScope, e: s.Binary) -> str:
    def both(t: m.Type, form: str) -> str:
        return form.format(fitted(scope, e.left, t), fitted(scope, e.right, t))

    left, right = expression(scope, e.left), expression(scope, e.right)
    match e.operator:
        case "==" | "!=":
            return both(common(e.left.type, e.right.type), f"({{}} {e.operator} {{}})")
        case "in":
            return f"contains({scope.type(e.right.type)}, {right}, {scope.type(e.left.type)}, {left})"
        case "union":
            return both(e.type, "({} | {})")
        case "difference":
            return both(e.type, "({} & ~{})")
        case "intersection":
            return both(e.type, "({} & {})")
        case "/":
            return f"quotient({left}, {right})"
        case "%":
            return f"remainder_of({left}, {right})"
        case "<" | "<=" | ">" | ">=" | "+" | "-" | "*":
            return f"({left} {e.operator} {right})"
        case _:
            assert_never(e.operator)


def turns(scope: CScope, over: s.Expr) -> tuple[str, str, str]:
    """A loop: what it declares, the head of the `for`, and the value in each turn."""
    match over:
        case s.Apply("range", (low, high)):
            return f"V i = {expression(scope, low)}, last = {expression(scope, high)};", "for (; i <= last; i++)", "i"
        case s.Apply("domain", ()):
            table = scope.domain(m.element_of(over.type))
            return f"int i, n = sizeof {table} / sizeof {table}[0];", "for (i = 0; i < n; i++)", f"{table}[i]"
        case s.Apply("subsets", (of, size)):
            values = f"subsets_of({scope.type(of.type)}, {expression(scope, of)}, {expression(scope, size)}, v)"
            return f"V v[SUBSETS]; int i, n = {values};", "for (i = 0; i < n; i++)", "v[i]"
        case _:
            values = f"elements_of({scope.type(over.type)}, {expression(scope, over)}, v)"
            return f"V v[ITEMS]; int i, n = {values};", "for (i = 0; i < n; i++)", "v[i]"


def _quantifier(scope: CScope, e: s.Quantifier) -> str:
    body = expression(scope, e.body)
    match e.kind:
        case "all":
            first, act = 1, f"if (!{body}) {{ r = 0; break; }}"
        case "some":
            first, act = 0, f"if ({body}) {{ r = 1; break; }}"
        case "count":
            first, act = 0, f"if ({body}) r++;"
        case _:
            assert_never(e.kind)
    declared, head, turn = turns(scope, e.over)
    return f"({{ V r = {first}; {declared} {head} {{ V {local(e.variable.name)} = {turn}; {act} }} r; }})"


def _collection(scope: CScope, e: s.Collection) -> str:
    scope.values.size(e.type)
    of = m.element_of(e.type)
    if e.kind == "set":
        bits = [f"1LL << index_of({scope.type(of)}, {fitted(scope, x, of)})" for x in e.items]
        return f"({' | '.join(bits)})" if bits else "0"
    text = "0"
    for x in e.items:
        text = f"put_last({scope.type(e.type)}, {text}, {fitted(scope, x, of)})"
    return text


def _packed(scope: CScope, parts: list[tuple[s.Expr, m.Type]], t: m.RecordType) -> str:
    places = scope.values.part_places(t)
    bits = (
        f"index_of({scope.type(of)}, {fitted(scope, x, of)}) << {at}" for (x, of), at in zip(parts, places, strict=True)
    )
    return f"({' | '.join(bits) or '0'})"


# Functions -----------------------------------------------------------------------------------------------------------


def _applied(scope: CScope, e: s.Apply) -> str:
    t, operands = scope.type, [expression(scope, x) for x in e.arguments]
    types = [x.type for x in e.arguments]
    match e.function:
        case "present":
            return operands[0]
        case "size":
            return f"length_of({t(types[0])}, {operands[0]})"
        case "min" | "max":
            text = operands[0]
            for x in operands[1:]:
                text = f"{e.function}_of({text}, {x})"
            return text
        case "first":
            return f"item_of({t(types[0])}, {operands[0]}, 0)"
        case "rest":
            return f"rest_of({t(types[0])}, {operands[0]})"
        case "item" | "filled" | "replaced" if isinstance(e.type if e.function == "filled" else types[0], m.MapType):
            return _mapped(scope, e, operands)
        case "item":
            return f"item_of({t(types[0])}, {operands[0]}, {operands[1]})"
        case "concat":
            return f"concat({t(e.type)}, {', '.join(fitted(scope, x, e.type) for x in e.arguments)})"
        case "add":
            of = m.element_of(e.type)
            return (
                f"with_item({t(e.type)}, {fitted(scope, e.arguments[0], e.type)}, {fitted(scope, e.arguments[1], of)})"
            )
        case "remove":
            return f"without({t(types[0])}, {operands[0]}, {t(types[1])}, {operands[1]})"
        case "range" | "subsets" | "domain":
            declared, head, turn = turns(scope, e)
            bit = f"1LL << index_of({t(m.element_of(e.type))}, {turn})"
            return f"({{ V r = 0; {declared} {head} r |= {bit}; r; }})"
        case "filled" | "replaced":
            raise TypeError(f"`{e.function}` is of maps")
        case _:
            assert_never(e.function)


def _mapped(scope: CScope, e: s.Apply, operands: list[str]) -> str:
    """Functions of maps: an entry has the place of its key among all keys."""
    table = e.type if e.function == "filled" else e.arguments[0].type
    assert isinstance(table, m.MapType)
    if e.function == "filled":
        return f"filled({scope.type(table)}, {fitted(scope, e.arguments[0], table.of)})"
    key = operands[1]
    match bare(table.key):
        case m.RangeType(low):
            key = f"({key} - {number(low)})"
        case m.RefType():
            key = f"at[{key}]"
        case _:
            pass
    if e.function == "item":
        return f"entry_of({scope.type(table)}, {operands[0]}, {key})"
    return f"with_entry({scope.type(table)}, {operands[0]}, {key}, {fitted(scope, e.arguments[2], table.of)})"


# Questions about instances, the step, and queues ---------------------------------------------------------------------


def _query(scope: CScope, e: s.Query) -> str:
    match e:
        case s.State(owner):
            return f"w.state[{expression(scope, owner)}]"
        case s.Flag(flag, instance):
            return f"({FLAGS[flag]} >> {expression(scope, instance)} & 1)"
        case s.Flagged(flag):
            return FLAGS[flag]
        case s.Depth():
            return "nested()"
        case s.Down():
            return "w.down"
        case s.Waits(instance):
            return f"waits({expression(scope, instance)})"
        case s.Awaited(instance):
            return f"awaited({expression(scope, instance)})"
        case s.IsPending(instance, action):
            machine = machine_of(scope, instance)
            assert machine is not None
            return f"is_pending({expression(scope, instance)}, {scope.action(machine.qualified, action)})"
        case s.Blocker():
            return "blocker()"
        case s.Blocks(instance, name, action):
            return f"blocks({expression(scope, instance)}, {scope.action(name, action)})"
        case s.Chosen(instance, transition):
            return f"(chosen[{expression(scope, instance)}] == {transition})"
        case s.Length(queue):
            return f"w.held[{queue_number(scope, queue)}]"
        case s.IsMessage(queue, position, event):
            return f"({message(scope, queue, position)}.event == {event_number(scope, queue, event)})"
        case s.Argument(queue, position, _, n):
            return f"{message(scope, queue, position)}.a[{n}]"
        case s.IsRepeated(queue, position):
            return f"is_repeated({queue_number(scope, queue)}, {expression(scope, position)})"
        case _:
            assert_never(e)


def message(scope: CScope, queue: s.Queue, position: s.Expr) -> str:
    """The message at a position of a queue."""
    return f"w.messages[{queue_number(scope, queue)}][{expression(scope, position)}]"


def event_number(scope: CScope, queue: s.Queue, event: str) -> int:
    """The number by which the messages of a queue name an event."""
    receiver = scope.universe.model.machines[scope.universe.model.channels[queue.channel].receiver]
    return receiver.events.index(receiver.event_named[event])


def queue_number(scope: CScope, queue: s.Queue) -> str:
    """The number of a queue, which is found by its ends."""
    first = next((n for n, x in enumerate(scope.universe.queues) if x.channel.qualified == queue.channel), 0)
    if not queue.ends:
        return str(first)
    *sender, receiver = (expression(scope, x) for x in queue.ends)
    return f"queue_of({first}, {sender[0] if sender else 'NOTHING'}, {receiver})"
