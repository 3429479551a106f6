"""Expressions in C. `self` is the instance that reads (-1: the system); what has no value fails at its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.interop.export.c_scope import CScope, local
from fsmdsl.interop.export.escape import c_comment
from fsmdsl.interop.export.scope import identifier
from fsmdsl.interop.export.values import NONE, machine_of
from fsmdsl.model.typing import common, holds


def expression(scope: CScope, e: m.Expr) -> str:
    """An elaborated expression."""
    match e:
        case m.Constant():
            return number(scope.values.number(e.type, e.value))
        case m.Self():
            return "self"
        case m.Wait():
            return "!(w.waited >> self & 1)"
        case m.Local(name=name):
            return local(name)
        case m.Read():
            return _read(scope, e)
        case m.Derived():
            return _derived(scope, e)
        case m.InState(target=target, states=states):
            machine = scope.universe.model.machines[machine_of(target.type)]
            mask = sum(1 << machine.leaf_numbers[x] for x in states)
            return f"in_states({expression(scope, target)}, {mask}ULL {c_comment(name_list(states))})"
        case m.StateOf(target=target):
            return f"w.state[{reference(scope, target)}]"
        case m.Not(operand=operand):
            return f"!({expression(scope, operand)})"
        case m.Negative(operand=operand):
            return f"-({expression(scope, operand)})"
        case m.Logic(operator=operator, operands=operands):
            return f" {'&&' if operator == 'and' else '||'} ".join(f"({expression(scope, x)})" for x in operands)
        case m.Binary():
            return _binary(scope, e)
        case m.Conditional(condition=condition):
            then, otherwise = (scope.cast(expression(scope, x), x.type, e.type) for x in (e.then, e.otherwise))
            return f"({expression(scope, condition)}) ? ({then}) : ({otherwise})"
        case m.Quantified():
            return _quantified(scope, e)
        case m.Collection():
            return _collection(scope, e)
        case m.Construction():
            return _record(scope, e)
        case m.Part(of=of, name=name):
            assert isinstance(of.type, m.RecordType)
            at = dict(zip((n for n, _ in of.type.parts), scope.values.part_places(of.type), strict=True))[name]
            index = f"({expression(scope, of)}) >> {at} & {(1 << scope.values.item_bits(e.type)) - 1}"
            return f"value_at({scope.type(e.type)}, {index})"
        case m.Apply():
            return _apply(scope, e)
        case m.InstanceRef(name=name, index=index):
            return str(scope.universe.system.number_of[(name, index)])
        case m.Instances(name=name):
            return number(sum(1 << n for n in scope.universe.instances_called(name)))
        case m.AllOf(machine=qualified):
            return number(sum(1 << n for n in scope.universe.instances_of(qualified)))
        case m.Ordinal():
            return "ordinal[self]"
        case m.ChannelRef() | m.Temporal():
            raise TypeError(f"{type(e).__name__} has no value in one world")
        case _:
            assert_never(e)


def number(n: int) -> str:
    """A constant."""
    if n == NONE:
        return "NOTHING"
    return str(n) if abs(n) < 1 << 31 else f"{n}LL"


def name_list(names: frozenset[str]) -> str:
    """For a comment."""
    return ", ".join(sorted(names))


def reference(scope: CScope, e: m.Expr) -> str:
    """An instance; a fault where it is none."""
    text = expression(scope, e)
    if isinstance(e, m.Self | m.InstanceRef):
        return text
    return f"present({text}, {scope.place(e.span)})"


def _read(scope: CScope, e: m.Read) -> str:
    owner = "self" if e.target is None else reference(scope, e.target)
    if e_owner(scope, e) not in scope.selections:
        return f"({{ {owner}; 0; }})"  # a machine without instances: the reference to one has failed before
    return f"{read_name(scope, e)}[at[{owner}]]"


def read_name(scope: CScope, e: m.Read) -> str:
    """The array of a field or parameter."""
    machine = scope.universe.model.machines[e_owner(scope, e)]
    name = identifier(scope.machine_name(machine), e.name)
    return f"w.{name}" if e.kind == "field" else name


def e_owner(scope: CScope, e: m.Read) -> str:
    """The machine that has the field or parameter."""
    if e.target is not None:
        return machine_of(e.target.type)
    return scope.reader


def _derived(scope: CScope, e: m.Derived) -> str:
    body = scope.elaboration.body(e)
    own = e.owner in scope.universe.model.machines
    key = (e.owner, e.name, id(body))
    if key not in scope.lets:
        _add_let(scope, e, own)
    name, body = scope.lets[key]
    target = "self" if e.target is None else reference(scope, e.target)
    types = body.parameters.values()
    arguments = (scope.cast(expression(scope, a), a.type, t) for a, t in zip(e.arguments, types, strict=True))
    if len(e.arguments) + (e.target is not None) < 2:
        return f"{name}({', '.join([target, *arguments])})"
    # C does not say which argument it computes first, and the first that fails is what counts.
    n = scope.fresh()
    operands = [target, *arguments]
    names = [f"a{n}_{k}" for k in range(len(operands))]
    first = "".join(f"V {x} = {y}; " for x, y in zip(names, operands, strict=True))
    return f"({{ {first}{name}({', '.join(names)}); }})"


def _add_let(scope: CScope, e: m.Derived, own: bool) -> None:
    body = scope.elaboration.body(e)
    same = sum((e.owner, e.name) == key[:2] for key in scope.lets)
    owner = scope.machine_name(scope.universe.model.machines[e.owner]) if own else e.owner.rpartition(".")[2]
    name = identifier("let", owner, e.name) + (f"_{same + 1}" if same else "")
    key = (e.owner, e.name, id(body))
    scope.lets[key] = name, body
    with scope.read_by(e.owner if own else ""):
        value = expression(scope, body.value)
    parameters = ", ".join(["int self", *(f"V {local(p)}" for p in body.parameters)])
    let = scope.universe.model.let(e, scope.universe.system)
    scope.functions.append(
        f"{c_comment(f'let {e.name}, {let.span}')}\nstatic V {name}({parameters})\n{{\n    return {value};\n}}"
    )


def _binary(scope: CScope, e: m.Binary) -> str:
    left, right = expression(scope, e.left), expression(scope, e.right)
    match e.operator:
        case "=>":
            return f"!({left}) || ({right})"
        case "==" | "!=":
            both = common(e.left.type, e.right.type)
            left, right = scope.cast(left, e.left.type, both), scope.cast(right, e.right.type, both)
            return _ordered(scope, left, right, f"{{}} {e.operator} {{}}")
        case "in":
            call = f"contains({scope.type(e.right.type)}, {{1}}, {scope.type(e.left.type)}, {{0}})"
            return _ordered(scope, left, right, call)
        case "union" | "difference" | "intersection":
            left, right = scope.cast(left, e.left.type, e.type), scope.cast(right, e.right.type, e.type)
            sign = {"union": "{} | {}", "difference": "{} & ~{}", "intersection": "{} & {}"}[e.operator]
            return _ordered(scope, left, right, sign)
        case "/" | "%":
            function = "quotient" if e.operator == "/" else "remainder_of"
            return _ordered(scope, left, right, f"{function}({{}}, {{}}, {scope.place(e.span)})")
        case "<" | "<=" | ">" | ">=" | "+" | "-" | "*":
            return _ordered(scope, left, right, f"{{}} {e.operator} {{}}")
        case _:
            assert_never(e.operator)


def _ordered(scope: CScope, left: str, right: str, form: str) -> str:
    """Both sides, the left one first: C does not say which it computes first, and either may fail."""
    if "(" not in left or "(" not in right:
        return form.format(f"({left})", f"({right})")
    n = scope.fresh()
    return f"({{ V l{n} = {left}; V r{n} = {right}; {form.format(f'l{n}', f'r{n}')}; }})"


def loop(scope: CScope, over: m.Expr, n: int) -> str:
    """Statements that make `v<n>` the values to visit, and `n<n>` how many they are."""
    if isinstance(over, m.Apply) and over.function == "subsets":
        of, size = over.arguments
        t = scope.type(of.type)
        return (
            f"V v{n}[SUBSETS]; V s{n} = {expression(scope, of)}; "
            f"int i{n}, n{n} = subsets_of({t}, s{n}, {expression(scope, size)}, v{n});"
        )
    if isinstance(over, m.Apply) and over.function == "range":
        low, high = (expression(scope, x) for x in over.arguments)
        scope.values.size(over.type)
        return (
            f"V v{n}[ITEMS]; V f{n} = {low}; V e{n} = {high}; "
            f"int i{n}, n{n}; for (n{n} = 0; f{n} + n{n} <= e{n}; n{n}++) v{n}[n{n}] = f{n} + n{n};"
        )
    return f"V v{n}[ITEMS]; int i{n}, n{n} = elements_of({scope.type(over.type)}, {expression(scope, over)}, v{n});"


def _quantified(scope: CScope, e: m.Quantified) -> str:
    n = scope.fresh()
    head = f"{loop(scope, e.over, n)} V r{n} = {int(e.kind == 'all')};"
    body = expression(scope, e.body)
    match e.kind:
        case "all":
            act = f"if (!({body})) {{ r{n} = 0; break; }}"
        case "some":
            act = f"if ({body}) {{ r{n} = 1; break; }}"
        case "count":
            act = f"r{n} += !!({body});"
        case _:
            assert_never(e.kind)
    turn = f"for (i{n} = 0; i{n} < n{n}; i{n}++) {{ V {local(e.variable)} = v{n}[i{n}]; {act} }}"
    return f"({{ {head} {turn} r{n}; }})"


def _collection(scope: CScope, e: m.Collection) -> str:
    n = scope.fresh()
    if not e.items:
        return "0"
    t, of = scope.type(e.type), m.element_of(e.type)
    parts = [f"V c{n} = 0;"]
    for x in e.items:
        item = scope.cast(expression(scope, x), x.type, of)
        if e.kind == "set":
            parts.append(f"c{n} |= 1LL << index_of({scope.type(of)}, {item});")
        else:
            parts.append(f"c{n} = put_last({t}, c{n}, {item});")
    return f"({{ {' '.join(parts)} c{n}; }})"


def _record(scope: CScope, e: m.Construction) -> str:
    """All parts are computed before it is looked at whether they fit."""
    n = scope.fresh()
    scope.values.size(e.type)
    names = [f"p{n}_{k}" for k in range(len(e.parts))]
    first = [f"V {name} = {expression(scope, x)};" for name, x in zip(names, e.parts, strict=True)]
    checks, packed_parts = [f"int why{n} = 0;"], []
    for name, x, (_, of), at in zip(names, e.parts, e.type.parts, scope.values.part_places(e.type), strict=True):
        if not holds(of, x.type):
            why = f"misfit_of({scope.type(x.type)}, {scope.type(of)}, {name})"
            checks.append(f"if ((why{n} = {why})) fail(why{n}, {scope.place(x.span)});")
        packed_parts.append(f"(V) index_of({scope.type(of)}, {scope.cast(name, x.type, of)}) << {at}")
    return f"({{ {' '.join([*first, *checks])} {' | '.join(packed_parts)}; }})"


def _apply(scope: CScope, e: m.Apply) -> str:
    first = e.arguments[0]
    match e.function:
        case "present":
            return f"present({expression(scope, first)}, {scope.place(first.span)})"
        case "size":
            return _size(scope, first, e.arguments[1:])
        case "min" | "max":
            n = scope.fresh()
            sign = "<" if e.function == "min" else ">"
            parts = [f"V m{n} = {expression(scope, first)};"]
            for x in e.arguments[1:]:
                parts.append(f"{{ V x{n} = {expression(scope, x)}; if (x{n} {sign} m{n}) m{n} = x{n}; }}")
            return f"({{ {' '.join(parts)} m{n}; }})"
        case "first":
            n, t = scope.fresh(), scope.type(first.type)
            head = f"V v{n}[ITEMS]; int n{n} = elements_of({t}, {expression(scope, first)}, v{n});"
            return f"({{ {head} if (!n{n}) fail(NONE_FAULT, {scope.place(e.span)}); v{n}[0]; }})"
        case "item" if isinstance(first.type, m.MapType):
            raise scope.values.refused("map", first.type)
        case "filled" | "replaced":
            raise scope.values.refused("map", e.type)
        case "item":
            place = scope.place(e.span)
            call = f"item_of({scope.type(first.type)}, {{}}, {{}}, {place})"
            return _ordered(scope, expression(scope, first), expression(scope, e.arguments[1]), call)
        case "concat":
            left, right = (scope.cast(expression(scope, x), x.type, e.type) for x in e.arguments)
            return _ordered(scope, left, right, f"concat({scope.type(e.type)}, {{}}, {{}})")
        case "rest":
            return f"rest_of({scope.type(first.type)}, {expression(scope, first)})"
        case "range" | "subsets":
            raise TypeError(f"`{e.function}` is for binders only")
        case _:
            assert_never(e.function)


def _size(scope: CScope, of: m.Expr, ends: Sequence[m.Expr]) -> str:
    if not isinstance(of, m.ChannelRef):
        return f"length_of({scope.type(of.type)}, {expression(scope, of)})"
    names = [f"t{scope.fresh()}" for _ in ends]
    queue = scope.queue(of.name, names)
    size = "0" if queue is None else f"w.held[{queue}]"
    return f"({{ {instances(scope, names, ends)}{size}; }})" if ends else size


def instances(scope: CScope, names: Sequence[str], of: Sequence[m.Expr]) -> str:
    """Variables that are instances."""
    return "".join(f"V {name} = {reference(scope, x)}; " for name, x in zip(names, of, strict=True))
