"""Expressions in TLA+: their value, and the place where they have none, by number (0: they have one)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.interop.export.escape import tla_comment
from fsmdsl.interop.export.scope import identifier
from fsmdsl.interop.export.tla_scope import Env, TlaScope
from fsmdsl.interop.export.tla_values import constant, record
from fsmdsl.interop.export.values import machine_of, type_shown
from fsmdsl.model.typing import bare, holds
from fsmdsl.step.describe import words
from fsmdsl.step.values import keys
from fsmdsl.syntax.operators import may_divide_by_zero

FINE = "0"
"""Of an expression that always has a value."""


def value(scope: TlaScope, e: m.Expr, env: Env) -> str:
    """The value of an elaborated expression, in brackets where it needs them."""
    match e:
        case m.Constant():
            return constant(e.type, e.value)
        case m.Self():
            return env.self
        case m.Wait():
            return f"({env.self} \\notin {env.world}.waited)"
        case m.Local(name=name):
            return env.names[name]
        case m.Read(target=target) if (machine_of(target.type) if target else scope.reader) not in scope.selections:
            return "0"  # a machine without instances: the reference to one has failed before
        case m.Read():
            return f"{_array(scope, e, env)}[{env.self if e.target is None else value(scope, e.target, env)}]"
        case m.Derived():
            name, owner, arguments = _call(scope, e, env)
            return f"{name}({', '.join([env.world, owner, *arguments])})"
        case m.InState(target=target, states=states):
            texts = ", ".join(f'"{x}"' for x in sorted(states))
            return f"InStates({env.world}, {value(scope, target, env)}, {{{texts}}})"
        case m.StateOf(target=target):
            return f"{env.world}.state[{value(scope, target, env)}]"
        case m.Not(operand=operand):
            return f"(~{value(scope, operand, env)})"
        case m.Negative(operand=operand):
            return f"(-{value(scope, operand, env)})"
        case m.Logic(operator=operator, operands=operands):
            sign = " /\\ " if operator == "and" else " \\/ "
            return f"({sign.join(value(scope, x, env) for x in operands)})"
        case m.Binary():
            return _binary(scope, e, env)
        case m.Conditional(condition=c, then=x, otherwise=y):
            return f"(IF {value(scope, c, env)} THEN {value(scope, x, env)} ELSE {value(scope, y, env)})"
        case m.Quantified():
            return _quantified(scope, e, env)
        case m.Collection(kind=kind, items=items):
            texts = ", ".join(value(scope, x, env) for x in items)
            return f"{{{texts}}}" if kind == "set" else f"<<{texts}>>"
        case m.Construction(parts=parts, type=t):
            return record((name, value(scope, x, env)) for (name, _), x in zip(t.parts, parts, strict=True))
        case m.Part(of=of, name=name):
            return f"{value(scope, of, env)}.{identifier('part', name)}"
        case m.Apply():
            return _apply(scope, e, env)
        case m.InstanceRef(name=name, index=index):
            return str(scope.universe.system.number_of[(name, index)])
        case m.Instances(name=name):
            return _numbers(scope.universe.instances_called(name))
        case m.AllOf(machine=qualified):
            return _numbers(scope.universe.instances_of(qualified))
        case m.Ordinal():
            return f"Ordinal[{env.self}]"
        case m.ChannelRef() | m.Temporal():
            raise TypeError(f"{type(e).__name__} has no value in one world")
        case _:
            assert_never(e)


def _numbers(instances: frozenset[int]) -> str:
    return f"{{{', '.join(map(str, sorted(instances)))}}}"


def _array(scope: TlaScope, e: m.Read, env: Env) -> str:
    owner = scope.reader if e.target is None else machine_of(e.target.type)
    name = identifier(scope.machine_name(owner), e.name)
    return f"{env.world}.{name}" if e.kind == "field" else name


def _binary(scope: TlaScope, e: m.Binary, env: Env) -> str:
    left, right = value(scope, e.left, env), value(scope, e.right, env)
    match e.operator:
        case "=>":
            return f"({left} => {right})"
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
        texts = ", ".join(f'"{x}"' for x in of.members)
        return lambda x: f"Rank(<<{texts}>>, {x})"
    return lambda x: x


def in_order(scope: TlaScope, t: m.Type, text: str) -> str:
    """What a set or list holds, as a sequence, in the order of loops. Raises `RefusedError`."""
    if isinstance(t, m.ListType):
        return text
    return _sequence(scope, m.element_of(t), text)


def _sequence(scope: TlaScope, of: m.Type, text: str) -> str:
    match of:
        case m.RangeType() | m.RefType() | m.DurationType():
            return f"Ascending({text})"
        case m.BoolType():
            return f"Among(<<FALSE, TRUE>>, {text})"
        case m.EnumType(members=members):
            texts = ", ".join(f'"{x}"' for x in members)
            return f"Among(<<{texts}>>, {text})"
        case m.OptionalType(inner):
            others = _sequence(scope, inner, f"({text} \\ {{none}})")
            return f"(Among(<<none>>, {text}) \\o {others})"
        case m.NoneType() | m.OpaqueType() | m.NeverType() | m.ErrorType():
            return f"AnyOrder({text})"
        case m.SetType(m.RangeType() | m.RefType()):
            return f"AscendingSets({text})"
        case m.SetType() | m.ListType() | m.RecordType() | m.MapType():
            raise scope.refused("no order", type_shown(m.SetType(of)))
        case _:
            assert_never(of)


def _quantified(scope: TlaScope, e: m.Quantified, env: Env) -> str:
    x, inner = env.bind(e.variable)
    over, body = value(scope, e.over, env), value(scope, e.body, inner)
    sign = "\\A" if e.kind == "all" else "\\E"
    if isinstance(e.over.type, m.ListType):
        n = scope.fresh("i")
        part = f"LET {x} == {over}[{n}] IN {body}"
        if e.kind == "count":
            return f"Cardinality({{{n} \\in DOMAIN {over} : {part}}})"
        return f"({sign} {n} \\in DOMAIN {over} : {part})"
    if e.kind == "count":
        return f"Cardinality({{{x} \\in {over} : {body}}})"
    return f"({sign} {x} \\in {over} : {body})"


def _apply(scope: TlaScope, e: m.Apply, env: Env) -> str:
    first = e.arguments[0]
    match e.function:
        case "present":
            return value(scope, first, env)
        case "size":
            if isinstance(first, m.ChannelRef):
                queue = scope.queue(first.name, [value(scope, x, env) for x in e.arguments[1:]])
                return "0" if queue is None else f"Held({env.world}, {queue})"
            text = value(scope, first, env)
            return f"Len({text})" if isinstance(first.type, m.ListType) else f"Cardinality({text})"
        case "min" | "max":
            rank, sign = _rank(e.type), "<=" if e.function == "min" else ">="
            text = value(scope, first, env)
            for x in e.arguments[1:]:
                other = value(scope, x, env)
                text = f"(IF {rank(text)} {sign} {rank(other)} THEN {text} ELSE {other})"
            return text
        case "first":
            return f"Head({in_order(scope, first.type, value(scope, first, env))})"
        case "item" if isinstance(first.type, m.MapType):
            return f"{value(scope, first, env)}[{value(scope, e.arguments[1], env)}]"
        case "filled":
            key, each = scope.fresh("k"), scope.fresh("x")
            return f"(LET {each} == {value(scope, first, env)} IN [{key} \\in {_keys(scope, e.type)} |-> {each}])"
        case "replaced":
            table, key, new = (value(scope, a, env) for a in e.arguments)
            return f"[{table} EXCEPT ![{key}] = {new}]"
        case "item":
            of = in_order(scope, first.type, value(scope, first, env))
            return f"({of}[{value(scope, e.arguments[1], env)} + 1])"
        case "concat" | "range":
            sign = "\\o" if e.function == "concat" else ".."
            return f"({value(scope, first, env)} {sign} {value(scope, e.arguments[1], env)})"
        case "rest":
            return f"Rest({value(scope, first, env)})"
        case "subsets":
            return f"Subsets({value(scope, first, env)}, {value(scope, e.arguments[1], env)})"
        case _:
            assert_never(e.function)


def _keys(scope: TlaScope, t: m.Type) -> str:
    assert isinstance(t, m.MapType)
    return f"{{{', '.join(constant(t.key, k) for k in keys(t, scope.universe))}}}"


# `let`s --------------------------------------------------------------------------------------------------------------


def _call(scope: TlaScope, e: m.Derived, env: Env) -> tuple[str, str, list[str]]:
    """The operator of a `let`, the instance, and the arguments."""
    name = _let(scope, e)[0]
    owner = env.self if e.target is None else value(scope, e.target, env)
    return name, owner, [value(scope, a, env) for a in e.arguments]


def _let(scope: TlaScope, e: m.Derived) -> tuple[str, bool]:
    """The operator of a `let`, which is made when it is first used, and whether it may have no value."""
    body = scope.elaboration.body(e)
    key = (e.owner, e.name, id(body))
    if key not in scope.lets:
        own = e.owner in scope.universe.model.machines
        same = sum(key[:2] == other[:2] for other in scope.lets)
        owner = scope.machine_name(e.owner) if own else e.owner.rpartition(".")[2]
        name = identifier("let", owner, e.name) + (f"_{same + 1}" if same else "")
        env, names = Env(), []
        for p in body.parameters:
            x, env = env.bind(p)
            names.append(x)
        with scope.read_by(e.owner if own else ""):
            text, bad = value(scope, body.value, env), fault(scope, body.value, env)
        head = ", ".join(["w", "self", *names])
        let = scope.universe.model.let(e, scope.universe.system)
        scope.operators.append(f"{tla_comment(f'let {e.name}, {let.span}')}\n{name}({head}) == {text}")
        if bad != FINE:
            scope.operators.append(f"{name}_fault({head}) == {bad}")
        scope.lets[key] = name, body, bad != FINE
    let_entry = scope.lets[key]
    return let_entry[0], let_entry[2]


# Where there is no value ---------------------------------------------------------------------------------------------


def chain(scope: TlaScope, parts: Sequence[str]) -> str:
    """The first place that is not 0; what comes later is looked at only then."""
    left = [x for x in parts if x != FINE]
    if not left:
        return FINE
    text = left[-1]
    for part in reversed(left[:-1]):
        n = scope.fresh("f")
        text = f"(LET {n} == {part} IN IF {n} # 0 THEN {n} ELSE {text})"
    return text


def is_none(scope: TlaScope, e: m.Expr, env: Env) -> str:
    """The fault of what is used as an instance, and is none."""
    if isinstance(e, m.Self | m.InstanceRef):
        return FINE
    return f"(IF {value(scope, e, env)} = none THEN {scope.place(e.span)} ELSE 0)"


def reference_fault(scope: TlaScope, e: m.Expr, env: Env) -> str:
    """That of an expression that is to be an instance."""
    return chain(scope, [fault(scope, e, env), is_none(scope, e, env)])


def fault(scope: TlaScope, e: m.Expr, env: Env) -> str:
    """The place where an expression has no value, looked for from left to right, no further than it is computed."""

    def all_of(parts: Sequence[m.Expr]) -> str:
        return chain(scope, [fault(scope, x, env) for x in parts])

    match e:
        case m.Read(target=target):
            return FINE if target is None else reference_fault(scope, target, env)
        case m.Derived(target=target, arguments=arguments):
            parts = [] if target is None else [reference_fault(scope, target, env)]
            parts.append(all_of(arguments))
            if _let(scope, e)[1]:
                name, owner, values = _call(scope, e, env)
                parts.append(f"{name}_fault({', '.join([env.world, owner, *values])})")
            return chain(scope, parts)
        case m.StateOf(target=target):
            return reference_fault(scope, target, env)
        case m.InState(target=x) | m.Not(operand=x) | m.Negative(operand=x):
            return fault(scope, x, env)
        case m.Logic(operator=operator, operands=operands):
            return _logic_fault(scope, operands, operator == "and", env)
        case m.Binary(operator="=>", left=left, right=right):
            return _logic_fault(scope, (left, right), True, env)
        case m.Binary(operator=operator, left=left, right=right):
            operand_fault = all_of((left, right))
            if isinstance(right.type, m.RangeType) and may_divide_by_zero(operator, (right.type.low, right.type.high)):
                zero = f"(IF {value(scope, right, env)} = 0 THEN {scope.place(e.span)} ELSE 0)"
                return chain(scope, [operand_fault, zero])
            return operand_fault
        case m.Conditional(condition=c, then=x, otherwise=y):
            one, other = fault(scope, x, env), fault(scope, y, env)
            branch = FINE if one == other == FINE else f"(IF {value(scope, c, env)} THEN {one} ELSE {other})"
            return chain(scope, [fault(scope, c, env), branch])
        case m.Quantified():
            return chain(scope, [fault(scope, e.over, env), _quantified_fault(scope, e, env)])
        case m.Collection(items=items):
            return all_of(items)
        case m.Construction(parts=parts, type=t):
            for (_, of), x in zip(t.parts, parts, strict=True):
                if not holds(of, x.type):
                    raise scope.refused("doubtful part", words(x))
            return all_of(parts)
        case m.Part(of=of):
            return fault(scope, of, env)
        case m.Apply():
            return _apply_fault(scope, e, env)
        case (
            m.Constant()
            | m.Self()
            | m.Wait()
            | m.Local()
            | m.InstanceRef()
            | m.Instances()
            | m.AllOf()
            | m.Ordinal()
            | m.ChannelRef()
            | m.Temporal()
        ):
            return FINE
        case _:
            assert_never(e)


def _logic_fault(scope: TlaScope, operands: Sequence[m.Expr], goes_on: bool, env: Env) -> str:
    rest = fault(scope, operands[-1], env)
    for x in reversed(operands[:-1]):
        if rest != FINE:
            test = value(scope, x, env)
            rest = f"(IF {test} THEN {rest} ELSE 0)" if goes_on else f"(IF {test} THEN 0 ELSE {rest})"
        rest = chain(scope, [fault(scope, x, env), rest])
    return rest


def _quantified_fault(scope: TlaScope, e: m.Quantified, env: Env) -> str:
    """That of the first for which there is none, unless the answer is known before."""
    x, inner = env.bind(e.variable)
    bad = fault(scope, e.body, inner)
    if bad == FINE:
        return FINE
    body = value(scope, e.body, inner)
    decided = {"all": f"~{body}", "some": body, "count": "FALSE"}[e.kind]
    n, s, i = scope.fresh("bad"), scope.fresh("seq"), scope.fresh("i")
    ends = f"LET {x} == {s}[{i}] IN IF {bad} # 0 THEN TRUE ELSE {decided}"
    over = in_order(scope, e.over.type, value(scope, e.over, env))
    return (
        f"(LET {s} == {over}  {n} == {{{i} \\in DOMAIN {s} : {ends}}} "
        f"IN IF {n} = {{}} THEN 0 ELSE LET {x} == {s}[Least({n})] IN {bad})"
    )


def map_fault(scope: TlaScope, e: m.Apply, env: Env) -> str:
    """That of reading or making a map, but for a value that the map cannot hold."""
    faults = [fault(scope, x, env) for x in e.arguments]
    of = e.arguments[0].type
    if isinstance(of, m.MapType) and isinstance(of.key, m.RangeType) and not holds(of.key, e.arguments[1].type):
        key = value(scope, e.arguments[1], env)
        faults.append(f"(IF {key} \\in ({of.key.low})..({of.key.high}) THEN 0 ELSE {scope.place(e.span)})")
    return chain(scope, faults)


def _apply_fault(scope: TlaScope, e: m.Apply, env: Env) -> str:
    first = e.arguments[0]
    if isinstance(e.type, m.MapType) and e.function in ("filled", "replaced"):
        if not holds(e.type.of, e.arguments[-1].type):
            raise scope.refused("unsure entry", e.arguments[-1].span.quote)
        return map_fault(scope, e, env)
    if isinstance(first.type, m.MapType):
        return map_fault(scope, e, env)
    faults = [fault(scope, x, env) for x in e.arguments if not isinstance(x, m.ChannelRef)]
    match e.function:
        case "present":
            faults.append(f"(IF {value(scope, first, env)} = none THEN {scope.place(first.span)} ELSE 0)")
        case "first":
            empty = "<<>>" if isinstance(first.type, m.ListType) else "{}"
            faults.append(f"(IF {value(scope, first, env)} = {empty} THEN {scope.place(e.span)} ELSE 0)")
        case "item":
            of = in_order(scope, first.type, value(scope, first, env))
            inside = f"({value(scope, e.arguments[1], env)} + 1) \\in DOMAIN {of}"
            faults.append(f"(IF {inside} THEN 0 ELSE {scope.place(e.span)})")
        case "size" | "min" | "max" | "rest" | "concat" | "range" | "subsets" | "filled" | "replaced":
            pass
        case _:
            assert_never(e.function)
    return chain(scope, faults)
