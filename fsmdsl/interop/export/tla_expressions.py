"""Expressions of core statements in TLA+."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.dataclasses import replace
from fsmdsl.interop.export.scope import identifier
from fsmdsl.interop.export.tla_scope import Env, TlaScope, number_set
from fsmdsl.interop.export.tla_values import constant, record
from fsmdsl.model.typing import bare
from fsmdsl.step.values import domain, keys
from fsmdsl.syntax.operators import Comparison

OPPOSITE: Mapping[Comparison, Comparison] = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def value(scope: TlaScope, e: s.Expr, env: Env) -> str:
    """An expression, in brackets where it needs them."""
    match e:
        case s.Constant():
            return constant(e.type, e.value)
        case s.Variable(name=name):
            return env.variables[name]
        case s.Location(span=span):
            return str(scope.place(span))
        case s.Read():
            return _read(scope, e, env)
        case s.InState(owner=owner, leaves=leaves):
            at, texts = value(scope, owner, env), _texts(sorted(leaves))
            if isinstance(owner.type, m.RefType):
                return f"({env.world}.state[{at}] \\in {{{texts}}})"
            return f"InStates({env.world}, {at}, {{{texts}}})"
        case s.Instances():
            return number_set(_instances(scope, e))
        case s.Not(operand=s.Binary(operator="==" | "!=" | "<" | "<=" | ">" | ">=" as operator) as comparison):
            return value(scope, replace(comparison, operator=OPPOSITE[operator]), env)
        case s.Not(operand=operand):
            return f"(~{value(scope, operand, env)})"
        case s.Negative(operand=operand):
            return f"(-{value(scope, operand, env)})"
        case s.Logic(operator=operator, operands=operands):
            sign = " /\\ " if operator == "and" else " \\/ "
            return f"({sign.join(values(scope, operands, env))})"
        case s.Binary():
            return _binary(scope, e, env)
        case s.Conditional(condition=c, then=x, otherwise=y):
            return "(IF {} THEN {} ELSE {})".format(*values(scope, (c, x, y), env))
        case s.Quantifier():
            return _quantifier(scope, e, env)
        case s.Collection(kind=kind, items=items):
            texts = ", ".join(values(scope, items, env))
            return f"{{{texts}}}" if kind == "set" else f"<<{texts}>>"
        case s.Record(parts=parts, type=t):
            return record(zip((name for name, _ in t.parts), values(scope, parts, env), strict=True))
        case s.Part(of=of, name=name):
            return f"{value(scope, of, env)}.{identifier('part', name)}"
        case s.Apply():
            return _apply(scope, e, env)
        case s.Derived(let=let, arguments=arguments):
            return f"{scope.operator(let)}({', '.join([env.world, *values(scope, arguments, env)])})"
        case _:
            return _query(scope, e, env)


def values(scope: TlaScope, expressions: Sequence[s.Expr], env: Env) -> list[str]:
    """Several expressions."""
    return [value(scope, e, env) for e in expressions]


def sequence(scope: TlaScope, items: Sequence[s.Expr], env: Env) -> str:
    """A sequence of values, such as the arguments of a message."""
    return f"<<{', '.join(values(scope, items, env))}>>"


def _query(scope: TlaScope, e: s.Query, env: Env) -> str:
    w = env.world

    def of(instance: s.Expr) -> str:
        return value(scope, instance, env)

    match e:
        case s.State(owner=owner):
            return f"{w}.state[{of(owner)}]"
        case s.Flag(flag=flag, instance=instance):
            return f"({of(instance)} \\in {w}.{flag})"
        case s.Flagged(flag=flag):
            return f"{w}.{flag}"
        case s.Depth():
            return f"Cardinality({w}.busy)"
        case s.Down():
            return f"{w}.down"
        case s.Waits(instance=instance):
            return f"Waits({w}, {of(instance)})"
        case s.Awaited(instance=instance):
            return f"Awaited({w}, {of(instance)})"
        case s.IsPending(instance=instance, action=action):
            return f'IsPending({w}, {of(instance)}, "{action}")'
        case s.Blocker():
            return f"Blocker({w})"
        case s.Blocks(instance=instance, machine=machine, action=action):
            return f'({scope.is_instance(of(instance), machine)} /\\ Blocks({w}, {of(instance)}, "{action}"))'
        case s.Chosen(instance=instance, transition=transition):
            return f"(<<{of(instance)}, {transition}>> \\in {w}.chosen)"
        case s.Length(queue=queue):
            return f"Len({w}.channels[{queue_number(scope, queue, env)}])"
        case s.IsMessage(queue=queue, position=position, event=event):
            return f'({_message(scope, queue, position, env)}[1] = "{event}")'
        case s.Argument(queue=queue, position=position, number=number):
            return f"{_message(scope, queue, position, env)}[2][{number + 1}]"
        case s.IsRepeated(queue=queue, position=position):
            return f"IsRepeated({w}.channels[{queue_number(scope, queue, env)}], {of(position)} + 1)"
        case _:
            assert_never(e)


def queue_number(scope: TlaScope, queue: s.Queue, env: Env) -> str:
    """The number of a queue."""
    number = scope.queue(queue.channel, values(scope, queue.ends, env))
    assert number is not None
    return number


def _message(scope: TlaScope, queue: s.Queue, position: s.Expr, env: Env) -> str:
    return f"{env.world}.channels[{queue_number(scope, queue, env)}][{value(scope, position, env)} + 1]"


def _texts(texts: Sequence[str]) -> str:
    return ", ".join(f'"{x}"' for x in texts)


def machine_of(e: s.Expr) -> str:
    """The machine (qualified) of an instance that is not none."""
    assert isinstance(e.type, m.RefType)
    return e.type.machine


def _instances(scope: TlaScope, e: s.Instances) -> frozenset[int]:
    u = scope.universe
    match e.kind:
        case "group":
            return u.instances_called(e.name)
        case "machine":
            return u.instances_of(e.name)
        case "system":
            return frozenset(range(len(u.machines)))
        case _:
            assert_never(e.kind)


def _read(scope: TlaScope, e: s.Read, env: Env) -> str:
    machine, owner = machine_of(e.owner), value(scope, e.owner, env)
    if machine not in scope.selections:
        return "0"  # a machine without instances: there is no reference to one, so this is not reached
    match e.kind:
        case "field":
            return f"{env.world}.{scope.field(machine, e.name)}[{owner}]"
        case "initial":
            return f"First.{scope.field(machine, e.name)}[{owner}]"
        case "param":
            return f"{scope.param(machine, e.name)}[{owner}]"
        case _:
            assert_never(e.kind)


def _binary(scope: TlaScope, e: s.Binary, env: Env) -> str:
    left, right = values(scope, (e.left, e.right), env)
    match e.operator:
        case "==" | "!=":
            return f"({left} {'=' if e.operator == '==' else '#'} {right})"
        case "in":
            return f"Holds({right}, {left})" if isinstance(e.right.type, m.ListType) else f"({left} \\in {right})"
        case "union" | "difference" | "intersection":
            sign = {"union": "\\cup", "difference": "\\", "intersection": "\\cap"}[e.operator]
            return f"({left} {sign} {right})"
        case "<" | "<=" | ">" | ">=":
            rank = _rank(e.left.type)
            return f"({rank(left)} {e.operator} {rank(right)})"
        case "+" | "-" | "*":
            return f"({left} {e.operator} {right})"
        case "/" | "%":
            return f"{'Quotient' if e.operator == '/' else 'Remainder'}({left}, {right})"
        case _:
            assert_never(e.operator)


def _rank(t: m.Type) -> Callable[[str], str]:
    """How a value of a type is made a number that orders it."""
    of = bare(t)
    if isinstance(of, m.EnumType):
        texts = _texts(of.members)
        return lambda x: f"Rank(<<{texts}>>, {x})"
    return lambda x: x


def _quantifier(scope: TlaScope, e: s.Quantifier, env: Env) -> str:
    over, (x, inner) = value(scope, e.over, env), env.bind(e.variable)
    body = value(scope, e.body, inner)
    if isinstance(e.over.type, m.ListType):
        n = env.inside.new("i")
        x, over, body = n, f"DOMAIN {over}", f"LET {x} == {over}[{n}] IN {body}"
    match e.kind:
        case "all" | "some":
            sign = "\\A" if e.kind == "all" else "\\E"
            return f"({sign} {x} \\in {over} : {body})"
        case "count":
            return f"Cardinality({{{x} \\in {over} : {body}}})"
        case _:
            assert_never(e.kind)


def _apply(scope: TlaScope, e: s.Apply, env: Env) -> str:
    operands = values(scope, e.arguments, env)
    first = operands[0] if operands else ""
    of = e.arguments[0].type if operands else e.type
    is_list = isinstance(of, m.ListType)
    match e.function:
        case "present":
            return first
        case "size":
            return f"Len({first})" if is_list else f"Cardinality({first})"
        case "min" | "max":
            least, t = "Least" if e.function == "min" else "Most", bare(e.type)
            if isinstance(t, m.EnumType):
                ranks = ", ".join(map(_rank(t), operands))
                return f"<<{_texts(t.members)}>>[{least}({{{ranks}}})]"
            return f"{least}({{{', '.join(operands)}}})"
        case "first":
            return f"Head({in_order(scope, e.arguments[0], env)})"
        case "item" if isinstance(of, m.MapType):
            return f"{first}[{operands[1]}]"
        case "item":
            return f"({in_order(scope, e.arguments[0], env)}[{operands[1]} + 1])"
        case "filled":
            return f"[{env.inside.new('k')} \\in {{{', '.join(_keys(scope, e.type))}}} |-> {first}]"
        case "replaced":
            return f"[{first} EXCEPT ![{operands[1]}] = {operands[2]}]"
        case "concat" | "range":
            sign = "\\o" if e.function == "concat" else ".."
            return f"({first} {sign} {operands[1]})"
        case "rest":
            return f"Rest({first})"
        case "subsets":
            return f"Subsets({first}, {operands[1]})"
        case "add":
            return f"Append({first}, {operands[1]})" if is_list else f"({first} \\cup {{{operands[1]}}})"
        case "remove":
            return f"Without({first}, {operands[1]})" if is_list else f"({first} \\ {{{operands[1]}}})"
        case "domain":
            return f"{{{', '.join(_domain(scope, e))}}}"
        case _:
            assert_never(e.function)


def _domain(scope: TlaScope, e: s.Apply) -> list[str]:
    of = m.element_of(e.type)
    return [constant(of, x) for x in domain(of, scope.universe)]


def _keys(scope: TlaScope, t: m.Type) -> list[str]:
    assert isinstance(t, m.MapType)
    return [constant(t.key, k) for k in keys(t, scope.universe)]


# The order of values -------------------------------------------------------------------------------------------------


def in_order(scope: TlaScope, e: s.Expr, env: Env) -> str:
    """The members of a set or list, as a sequence, in the order of loops."""
    match e:
        case s.Instances():
            return f"<<{', '.join(map(str, sorted(_instances(scope, e))))}>>"
        case s.Apply(function="domain"):
            return f"<<{', '.join(_domain(scope, e))}>>"
        case _:
            return _in_order(scope, e.type, value(scope, e, env), env)


def _in_order(scope: TlaScope, t: m.Type, text: str, env: Env) -> str:
    if isinstance(t, m.ListType):
        return text
    of = m.element_of(t)
    if isinstance(of, m.RangeType | m.RefType | m.DurationType):
        return f"Ascending({text})"
    a, b = env.inside.new("a"), env.inside.new("b")
    return f"SortSeq(AnyOrder({text}), LAMBDA {a}, {b} : Before({_key(scope, of, a, env)}, {_key(scope, of, b, env)}))"


def _key(scope: TlaScope, t: m.Type, text: str, env: Env) -> str:
    """A sequence of numbers that orders a value among those of its type. None is the beginning of another."""
    match t:
        case m.RangeType() | m.RefType() | m.DurationType():
            return f"<<{text}>>"
        case m.BoolType():
            return f"<<IF {text} THEN 1 ELSE 0>>"
        case m.EnumType():
            return f"<<{_rank(t)(text)}>>"
        case m.OptionalType(inner):
            return f"(IF {text} = none THEN <<0>> ELSE <<1>> \\o {_key(scope, inner, text, env)})"
        case m.RecordType(parts=parts):
            return _concatenation(_key(scope, of, f"{text}.{identifier('part', name)}", env) for name, of in parts)
        case m.MapType(of=of):
            return _concatenation(_key(scope, of, f"{text}[{k}]", env) for k in _keys(scope, t))
        case m.SetType(of) | m.ListType(of):
            members, n = env.inside.new("members"), env.inside.new("i")
            each = _key(scope, of, f"{members}[{n}]", env)
            of_each = f"Joined([{n} \\in DOMAIN {members} |-> {each}])"
            return f"(LET {members} == {_in_order(scope, t, text, env)} IN {of_each})"
        case m.NoneType() | m.OpaqueType() | m.NeverType() | m.ErrorType():
            return "<<>>"
        case _:
            assert_never(t)


def _concatenation(keys: Iterable[str]) -> str:
    return "(" + " \\o ".join(keys) + ")"
