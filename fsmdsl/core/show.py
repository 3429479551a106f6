"""Core statements as text, for people. Nothing reads it back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from fsmdsl.core import statements as s
from fsmdsl.text.source import Span

INDENT = "    "


def show(procedure: s.Procedure) -> str:
    """A procedure, with a fault behind each statement that can end in one."""
    head = f"{_name(procedure.name)}({_list(procedure.parameters)})"
    return "".join(f"{line}\n" for line in (head, *_block(procedure.body, INDENT)))


def _name(name: s.Name) -> str:
    return " ".join([name.kind, ".".join(x for x in (name.owner, name.subject) if x)]).rstrip()


# Statements ----------------------------------------------------------------------------------------------------------


def _block(block: s.Block, indent: str) -> Iterator[str]:
    for x in block:
        for part in _parts(x):
            if isinstance(part, str):
                yield indent + part
            else:
                yield from _block(part, indent + INDENT)


def _parts(x: s.Statement) -> Sequence[str | s.Block]:
    """The lines of a statement, and the blocks behind them."""
    match x:
        case s.If(condition, then, otherwise):
            parts: list[str | s.Block] = [f"if {_text(condition)}", then]
            return [*parts, "else", otherwise] if otherwise else parts
        case s.Each(variable, over, body):
            return [f"each {variable.name} in {_text(over)}", body]
        case s.EachPending(variable, actions):
            parts = [f"each pending {variable.name}"]
            for action in actions:
                parts += [f"of {action.machine}.{action.action}", action.body]
            return parts
        case s.Repeat(body):
            return ["repeat", body]
        case s.Attempt(body, otherwise):
            return ["attempt", body, "failing", otherwise]
        case _:
            return [_line(x)]


def _line(x: s.Simple | s.Change) -> str:
    """A statement without blocks."""
    match x:
        case s.Let(variable, value):
            return f"let {variable.name} = {_text(value)}"
        case s.Set(variable, value):
            return f"set {variable.name} = {_text(value)}"
        case s.Require(condition, fault):
            return f"require {_text(condition)}  else {_fault(fault)}"
        case s.Fail(fault):
            return f"fail {_fault(fault)}"
        case s.Call(procedure, arguments, into):
            return f"{_into(into)}call {_name(procedure)}({_list(arguments)})"
        case s.CallOn(kind, instance, into):
            return f"{_into(into)}call {kind} of {_text(instance)}"
        case s.Return(value):
            return "return" if value is None else f"return {_text(value)}"
        case s.Leave():
            return "leave"
        case s.Unoffered(crash):
            return "unoffered crash" if crash else "unoffered"
        case s.Note(happening):
            return f"note {_node(happening)}"
        case s.Offer(step, tentative):
            return f"offer {_node(step)}{', if a guard holds' if tentative else ''}"
        case s.Progress(fault, limit):
            return f"progress {limit}  else {_fault(fault)}"
        case _:
            return _change(x)


def _into(variable: s.Variable | None) -> str:
    return "" if variable is None else f"set {variable.name} = "


def _change(x: s.Change) -> str:
    match x:
        case s.Write(_, owner, name, value):
            return f"write {_text(owner)}.{name} = {_text(value)}"
        case s.Enter(instance, leaf):
            return f"enter {_text(instance)} {leaf}"
        case s.Cut():
            return "cut"
        case s.Arm(instance, transition):
            return f"arm {_text(instance)} {transition}"
        case s.Disarm(instance, transition):
            return f"disarm {_text(instance)} {transition}"
        case s.Put(queue, event, arguments):
            return f"put {_queue(queue)} {event}({_list(arguments)})"
        case s.Drop(queue, position):
            return f"drop {_queue(queue)}[{_text(position)}]"
        case s.Duplicate(queue, position):
            return f"duplicate {_queue(queue)}[{_text(position)}]"
        case s.DropAll():
            return "drop all"
        case s.Await(instance, action):
            return f"await {_text(instance)} {action}"
        case s.Answered(instance, action):
            return f"answered {_text(instance)} {action}"
        case s.Forget(instance):
            return f"forget {_text(instance)}"
        case s.Mark(flag, instance, on):
            return f"mark {'' if on else 'not '}{flag} {_text(instance)}"
        case s.Choose(instance, transition):
            return f"choose {_text(instance)} {'none' if transition is None else transition}"
        case s.SetDown(down):
            return "down" if down else "up"
        case _:
            assert_never(x)


# Faults, happenings, steps -------------------------------------------------------------------------------------------


def _fault(fault: s.Fault) -> str:
    return f"{_node(fault.cause)} in {_text(fault.instance)} at {_text(fault.location)}"


def _node(x: s.Cause | s.Happening | s.Step) -> str:
    """The name of a class, and its data."""
    data = (getattr(x, name) for name in x.__match_args__)
    return f"{type(x).__name__}({', '.join(map(_datum, data))})"


Datum = s.Expr | s.Queue | Span | str | int | tuple["Datum", ...] | None


def _datum(x: Datum) -> str:
    match x:
        case None | bool() | int() | str():
            return _constant(x)
        case tuple():
            return f"[{', '.join(map(_datum, x))}]"
        case s.Queue():
            return _queue(x)
        case Span():
            return _place(x)
        case _:
            return _text(x)


def _queue(queue: s.Queue) -> str:
    return f"{queue.channel}({_list(queue.ends)})"


# Expressions ---------------------------------------------------------------------------------------------------------


def _list(expressions: Sequence[s.Expr]) -> str:
    return ", ".join(map(_text, expressions))


def _text(e: s.Expr) -> str:
    match e:
        case s.Constant(value):
            return _constant(value)
        case s.Variable(name):
            return name
        case s.Location(span):
            return _place(span)
        case s.Read(kind, owner, name):
            return f"initial {_text(owner)}.{name}" if kind == "initial" else f"{_text(owner)}.{name}"
        case s.InState(owner, leaves):
            return f"{_text(owner)} in {{{', '.join(sorted(leaves))}}}"
        case s.Instances(kind, name):
            return f"{kind} {name}".rstrip()
        case s.Not(operand):
            return f"not {_text(operand)}"
        case s.Negative(operand):
            return f"-{_text(operand)}"
        case s.Logic(operator, operands):
            return f"({f' {operator} '.join(map(_text, operands))})"
        case s.Binary(operator, left, right):
            return f"({_text(left)} {operator} {_text(right)})"
        case s.Conditional(condition, then, otherwise):
            return f"(if {_text(condition)} then {_text(then)} else {_text(otherwise)})"
        case s.Quantifier(kind, variable, over, body):
            return f"({kind} {variable.name} in {_text(over)}: {_text(body)})"
        case s.Collection(kind, items):
            return f"{{{_list(items)}}}" if kind == "set" else f"[{_list(items)}]"
        case s.Record(parts, t):
            return f"{t.name}({_list(parts)})"
        case s.Part(of, name):
            return f"{_text(of)}.{name}"
        case s.Apply(function, arguments):
            return f"{function}({_list(arguments)})"
        case s.Derived(let, arguments):
            return f"{_name(let)}({_list(arguments)})"
        case _:
            return _query(e)


def _query(e: s.Query) -> str:
    match e:
        case s.State(owner):
            return f"state({_text(owner)})"
        case s.Flag(flag, instance):
            return f"{flag}({_text(instance)})"
        case s.Waits(instance):
            return f"waits({_text(instance)})"
        case s.Awaited(instance):
            return f"awaited({_text(instance)})"
        case s.IsPending(instance, action):
            return f"pending({_text(instance)}, {action})"
        case s.Blocks(instance, machine, action):
            return f"blocks({_text(instance)}, {machine}.{action})"
        case s.Chosen(instance, transition):
            return f"chosen({_text(instance)}, {transition})"
        case s.Flagged(flag):
            return flag
        case s.Depth():
            return "depth"
        case s.Down():
            return "down"
        case s.Blocker():
            return "blocker"
        case s.Length(queue):
            return f"length({_queue(queue)})"
        case s.IsMessage(queue, position, event):
            return f"{_queue(queue)}[{_text(position)}] is {event}"
        case s.Argument(queue, position, _, number):
            return f"{_queue(queue)}[{_text(position)}].{number}"
        case s.IsRepeated(queue, position):
            return f"repeated({_queue(queue)}[{_text(position)}])"
        case _:
            assert_never(e)


def _constant(value: bool | int | str | None) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case _:
            return f"{value}"


def _place(span: Span) -> str:
    line, column = span.source.position(span.start)
    return f"{line}:{column}"
