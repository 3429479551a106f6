"""Expressions as Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, assert_never

from fsmdsl import model as m
from fsmdsl.classes.statements.code import Binds, Text, binding
from fsmdsl.classes.statements.limits import fitting, unlimited
from fsmdsl.classes.statements.logic import fixed, flips, gathered, one_more, unique
from fsmdsl.classes.statements.scope import Scope, constant, machine_of
from fsmdsl.classes.statements.state_tests import state_test
from fsmdsl.classes.statements.text import literal, tuple_of
from fsmdsl.classes.types import ranked
from fsmdsl.core.lets import looks_beyond, may_lack_value
from fsmdsl.model.typing import holds
from fsmdsl.syntax.operators import COMPLEMENT, SetOperator


def python(scope: Scope, e: m.Expr, within: Binds = Binds.LOOSE) -> str:
    """An expression as text, in brackets where it stands within something that binds more tightly."""
    return code(scope, e).within(within)


def wide(scope: Scope, e: m.Expr) -> m.Type:
    """The type of an expression, as wide as its values."""
    if scope.loose and not isinstance(e, m.Constant):
        return unlimited(e.type)
    return scope.file.context.elaboration(scope.system).expression(e).type


def code(scope: Scope, e: m.Expr) -> Text:
    """An expression as Python."""
    match e:
        case m.Constant():
            return constant(scope.file, e)
        case m.Self():
            return Text("self")
        case m.Wait():
            return Text("self._wait")
        case m.Local(name=name):
            return Text(scope.locals[name])
        case m.Read():
            return _read(scope, e)
        case m.Derived():
            return _derived(scope, e)
        case m.InState():
            return _in_state(scope, e, positive=True)
        case m.StateOf(target=target):
            own = isinstance(target, m.Self)
            return Text("self._state" if own else f"{python(scope, target, Binds.ATOM)}.state")
        case m.Not():
            return _negated(scope, e.operand)
        case m.Negative(operand=operand):
            return Text(f"-{python(scope, operand, Binds.SIGN)}", Binds.SIGN)
        case m.Logic():
            return _logic(scope, e)
        case m.Binary():
            return _binary(scope, e)
        case m.Conditional(condition=test, then=then, otherwise=otherwise):
            yes = python(scope.knowing(test), then, Binds.OR)
            no = python(scope.knowing(test, holds=False), otherwise, Binds.CONDITIONAL)
            return Text(f"{yes} if {python(scope, test, Binds.OR)} else {no}", Binds.CONDITIONAL)
        case m.Quantified():
            return Text(_quantified(scope, e))
        case m.Collection():
            return Text(collection(scope, e))
        case m.Construction(parts=parts, type=t):
            names = (scope.file.part(t, name) for name, _ in t.parts)
            arguments = (f"{n}={python(scope, x, Binds.CONDITIONAL)}" for n, x in zip(names, parts, strict=True))
            return Text(f"{scope.file.type_(t)}({', '.join(arguments)})")
        case m.Part(of=of, name=name):
            assert isinstance(of.type, m.RecordType)
            return Text(f"{python(scope, of, Binds.ATOM)}.{scope.file.part(of.type, name)}")
        case m.Apply():
            return _applied(scope, e)
        case m.InstanceRef(name=name, index=index):
            return Text(_instance(scope, name, index))
        case m.Instances() | m.AllOf():
            return Text(f"frozenset({_group(scope, e)})")
        case m.ChannelRef() | m.Ordinal() | m.Temporal():
            raise TypeError(f"{type(e).__name__} is nothing that code can compute")
        case _:
            assert_never(e)


# Names ---------------------------------------------------------------------------------------------------------------


def _read(scope: Scope, e: m.Read) -> Text:
    if e.target is None or isinstance(e.target, m.Self):
        if e.kind == "field" and e.name in scope.staged:
            return Text(scope.staged[e.name])
        return Text(scope.own(e.name))
    machine = machine_of(e.target.type)
    return Text(f"{python(scope, e.target, Binds.ATOM)}.{scope.file.context.machine(machine).values[e.name]}")


def _derived(scope: Scope, e: m.Derived) -> Text:
    context = scope.file.context
    arguments = ", ".join(python(scope, a, Binds.CONDITIONAL) for a in e.arguments)
    if e.owner in context.model.machines:
        let = context.model.let(e, scope.system)
        own = e.target is None or isinstance(e.target, m.Self)
        if own and let.name in scope.functions:
            return Text(f"{scope.functions[let.name]}({arguments})")
        target = "self" if e.target is None else python(scope, e.target, Binds.ATOM)
        name = f"{target}.{context.machine(e.owner).values[e.name]}"
        return Text(f"{name}({arguments})" if let.parameters else name)
    if scope.system is not None and e.owner == scope.system.qualified:
        name = f"self.{scope.locals[e.name]}"
        return Text(f"{name}({arguments})" if e.arguments else name)
    let = context.model.let(e, None)
    first = [scope.system_name] if looks_beyond(context.model, let.value) else []
    return Text(f"{scope.file.let(e.owner, let)}({', '.join([*first, *([arguments] if arguments else [])])})")


def _instance(scope: Scope, name: str, index: int) -> str:
    assert scope.system is not None
    single = next(g.single for g in scope.system.groups if g.name == name)
    return f"self.{scope.locals[name]}" if single else f"self.{scope.locals[name]}[{index}]"


# Conditions ----------------------------------------------------------------------------------------------------------


def _logic(scope: Scope, e: m.Logic) -> Text:
    binds = Binds.AND if e.operator == "and" else Binds.OR
    texts: list[str] = []
    operands = gathered(e, lambda x: may_lack_value(scope.file.context.model, x, scope.system))
    if len(operands) == 1:
        return code(scope, operands[0])
    for operand in operands:
        operand_text = code(scope, operand)
        mixed = binds is Binds.OR and operand_text.binds is Binds.AND
        texts.append(f"({operand_text.text})" if mixed else operand_text.within(binds))
        scope = scope.knowing(operand, holds=e.operator == "and")
    return Text(f" {e.operator} ".join(texts), binds)


def _negated(scope: Scope, e: m.Expr) -> Text:
    """`not`, moved inwards where that reads better."""
    match e:
        case m.InState():
            return _in_state(scope, e, positive=False)
        case m.Not(operand=operand):
            return code(scope, operand)
        case m.Binary(operator="in", left=left, right=right):
            return Text(f"{python(scope, left, Binds.UNION)} not in {_container(scope, right)}", Binds.COMPARISON)
        case m.Binary(operator="=>", left=left, right=right):
            return _logic(scope, m.Logic("and", (left, m.Not(right))))
        case m.Binary(operator=operator, left=left, right=right, type=type_) if operator in COMPLEMENT:
            return _binary(scope, m.Binary(COMPLEMENT[operator], left, right, type_))
        case m.Logic(operator=operator, operands=operands) if all(map(flips, operands)):
            other: Literal["and", "or"] = "or" if operator == "and" else "and"
            return _logic(scope, m.Logic(other, tuple(m.Not(x) for x in operands)))
        case _:
            return Text(f"not {python(scope, e, Binds.NOT)}", Binds.NOT)


def _in_state(scope: Scope, e: m.InState, positive: bool) -> Text:
    """A test of the state. Of none it is false."""
    own = isinstance(e.target, m.Self)
    machine = scope.file.context.model.machines[machine_of(e.target.type)]
    target = "self" if own else python(scope, e.target, Binds.ATOM)
    test = state_test(scope, machine, target, own, e.states, positive)
    if not isinstance(e.target.type, m.OptionalType) or e.target in scope.present:
        return test
    if not positive:
        return Text(f"{target} is None or {test.within(Binds.NOT)}", Binds.OR)
    return Text(f"{target} is not None and {test.within(Binds.NOT)}", Binds.AND)


_IDENTICAL = {"==": "is", "!=": "is not"}
_OF_SETS: Mapping[SetOperator, tuple[str, Binds]] = {
    "union": ("|", Binds.UNION),
    "difference": ("-", Binds.SUM),
    "intersection": ("&", Binds.INTERSECTION),
}


def _binary(scope: Scope, e: m.Binary) -> Text:
    match e.operator:
        case "=>":
            conclusion = python(scope.knowing(e.left), e.right, Binds.NOT)
            return Text(f"{_negated(scope, e.left).within(Binds.NOT)} or {conclusion}", Binds.OR)
        case "==" | "!=" if (one := fixed(e.left)) and (other := fixed(e.right)):
            return Text(str((one == other) is (e.operator == "==")))
        case "==" | "!=" if isinstance(e.left.type, m.MapType):
            left, right = (python(scope, x, Binds.CONDITIONAL) for x in (e.left, e.right))
            same = f"{scope.file.machinery('alike')}({left}, {right}, {_keys(scope, e.left.type)})"
            return Text(same) if e.operator == "==" else Text(f"not {same}", Binds.NOT)
        case "==" | "!=":
            return Text(_equality(scope, e), Binds.COMPARISON)
        case "in":
            return Text(f"{python(scope, e.left, Binds.UNION)} in {_container(scope, e.right)}", Binds.COMPARISON)
        case "<" | "<=" | ">" | ">=":
            left, right = (python(scope, x, Binds.UNION) for x in (e.left, e.right))
            return Text(f"{left} {e.operator} {right}", Binds.COMPARISON)
        case "union" | "difference" | "intersection":
            operator, binds = _OF_SETS[e.operator]
            right = _set_display(scope, e.right) or python(scope, e.right, Binds(binds + 1))
            return Text(f"{python(scope, e.left, binds)} {operator} {right}", binds)
        case "/" | "%":
            sign = "//" if e.operator == "/" else "%"
            return Text(f"{python(scope, e.left, Binds.PRODUCT)} {sign} {_divisor(scope, e.right)}", Binds.PRODUCT)
        case _:
            binds = binding(e.operator)
            right = python(scope, e.right, Binds(binds + 1))
            return Text(f"{python(scope, e.left, binds)} {e.operator} {right}", binds)


def _divisor(scope: Scope, e: m.Expr) -> str:
    """A number that is not 0, or an exception."""
    if isinstance(e, m.Constant) and e.value:
        return python(scope, e, Binds(Binds.PRODUCT + 1))
    return f"{scope.file.machinery('divisor')}({python(scope, e, Binds.CONDITIONAL)}, {_quoted(e)})"


def _quoted(e: m.Expr) -> str:
    """What is written in the spec, as a string literal for a message."""
    return literal(_written(e))


def _written(e: m.Expr) -> str:
    """What is written in the spec, for a message."""
    return e.span.quote[:60] or "it"


def _equality(scope: Scope, e: m.Binary) -> str:
    """Of things that there is one of each, identity; else equality."""
    same = any(unique(x.type) for x in (e.left, e.right))
    operator = _IDENTICAL[e.operator] if same else e.operator
    return f"{python(scope, e.left, Binds.UNION)} {operator} {python(scope, e.right, Binds.UNION)}"


def _set_display(scope: Scope, e: m.Expr) -> str | None:
    """`{taken}`, where a set that can change will do."""
    if isinstance(e, m.Collection) and e.items:
        return f"{{{', '.join(python(scope, x, Binds.CONDITIONAL) for x in e.items)}}}"
    return None


def _container(scope: Scope, e: m.Expr) -> str:
    """What stands behind `in`."""
    if isinstance(e, m.Collection) and e.items:
        return _tuple(scope, e)
    return python(scope, e, Binds.UNION)


# Maps ----------------------------------------------------------------------------------------------------------------


def _keys(scope: Scope, t: m.MapType) -> str:
    """All keys of a map."""
    match t.key:
        case m.RangeType(low, high):
            return f"range({low}, {high + 1})"
        case m.EnumType() as of:
            return scope.file.type_(of)
        case m.RefType(machine):
            return _group(scope, m.AllOf(machine, m.SetType(t.key)))
        case _:
            return "(False, True)"


def _map(scope: Scope, e: m.Apply) -> Text:
    """A map that is made, if it may hold what it is given."""
    content, label = e.arguments[-1], _written(e if e.function == "filled" else e.arguments[0])
    assert isinstance(e.type, m.MapType)
    value = fitting(scope.file, e.type.of, code(scope, content), wide(scope, content), label).within(Binds.CONDITIONAL)
    if e.function == "filled":
        return Text(f"{scope.file.machinery('Table')}({value})")
    base, key, _ = e.arguments
    return Text(f"{python(scope, base, Binds.ATOM)}.replaced({_key(scope, base, key)}, {value})")


def _key(scope: Scope, of: m.Expr, key: m.Expr) -> str:
    """A key, or an exception where the map has no such one."""
    text = python(scope, key, Binds.CONDITIONAL)
    t = of.type.key if isinstance(of.type, m.MapType) else m.NEVER
    if not isinstance(t, m.RangeType) or holds(t, wide(scope, key)):
        return text
    return f"{scope.file.machinery('key_of')}({text}, {t.low}, {t.high}, {_quoted(of)})"


# Sets and lists ------------------------------------------------------------------------------------------------------


def collection(scope: Scope, e: m.Collection) -> str:
    """A set or list of what is named."""
    if e.kind == "list":
        return _tuple(scope, e)
    return f"frozenset({_tuple(scope, e)})" if e.items else "frozenset()"


def _tuple(scope: Scope, e: m.Collection) -> str:
    return tuple_of([python(scope, x, Binds.CONDITIONAL) for x in e.items])


def _quantified(scope: Scope, e: m.Quantified) -> str:
    inner = scope.bind(e.variable)
    name, body = inner.locals[e.variable], code(inner, e.body)
    ordered = may_lack_value(scope.file.context.model, e.body, scope.system)
    over = (
        in_order(scope, e.over) if ordered else _visited(scope, e.over)
    )  # in order where it may break off with a fault
    if e.kind == "count":
        display = None if ordered or not isinstance(e.over.type, m.SetType) else _set_display(scope, e.over)
        return f"sum(1 for {name} in {display or over} if {body.within(Binds.OR)})"
    return f"{'all' if e.kind == 'all' else 'any'}({body.within(Binds.CONDITIONAL)} for {name} in {over})"


def _group(scope: Scope, e: m.Instances | m.AllOf) -> str:
    """A tuple of instances, in the order in which they were made."""
    if isinstance(e, m.Instances):
        return f"self.{scope.locals[e.name]}"
    return f"{scope.system_name}.all_of({scope.file.running_class(e.machine)})"


def _visited(scope: Scope, over: m.Expr) -> str:
    if isinstance(over, m.Instances | m.AllOf):
        return _group(scope, over)
    if isinstance(over, m.Collection) and over.items:
        return _tuple(scope, over)
    return python(scope, over, Binds.OR)


def _range(scope: Scope, e: m.Apply) -> str:
    """The numbers from one to another, as Python's `range`, which ends before its second argument."""
    low, high = e.arguments
    first = [] if fixed(low) == (0,) else [python(scope, low, Binds.CONDITIONAL)]
    return f"range({', '.join([*first, python(scope, one_more(high), Binds.CONDITIONAL)])})"


def in_order(scope: Scope, over: m.Expr) -> str:
    """What a loop goes through: instances as they were made, numbers ascending, members as declared, lists as they
    are."""
    if isinstance(over, m.Instances | m.AllOf):
        return _group(scope, over)
    if isinstance(over, m.Apply) and over.function == "range":
        return _range(scope, over)
    match over.type:
        case m.SetType(of=m.RefType()):
            several = _set_display(scope, over) if isinstance(over, m.Collection) and len(over.items) > 1 else None
            return f"{scope.file.machinery('in_order')}({several or _visited(scope, over)})"
        case m.SetType(of=m.EnumType() as t) if not t.ordered:
            return f"sorted({python(scope, over, Binds.CONDITIONAL)}, key=list({scope.file.type_(t)}).index)"
        case m.SetType(of=m.RecordType() | m.OptionalType() | m.ListType() | m.SetType() as of):
            return ranked(scope.file, of, python(scope, over, Binds.CONDITIONAL))
        case m.SetType(of=m.RangeType() | m.BoolType() | m.EnumType() | m.DurationType()):
            return f"sorted({python(scope, over, Binds.CONDITIONAL)})"
        case _:
            return python(scope, over, Binds.CONDITIONAL)


def queue(scope: Scope, channel: str, ends: Sequence[m.Expr]) -> str:
    """The object for a channel, or for one queue of it."""
    arguments = ", ".join([scope.file.channel(channel), *(python(scope, x, Binds.CONDITIONAL) for x in ends)])
    return f"{scope.system_name}.channel({arguments})"


def _applied(scope: Scope, e: m.Apply) -> Text:
    first = e.arguments[0]
    match e.function:
        case "size" if isinstance(first, m.ChannelRef):
            return Text(f"len({queue(scope, first.name, e.arguments[1:])})")
        case "present" if first in scope.present:
            return code(scope, first)
        case "rest":
            return Text(f"{python(scope, first, Binds.ATOM)}[1:]")
        case "concat":
            second = python(scope, e.arguments[1], Binds.PRODUCT)
            return Text(f"{python(scope, first, Binds.SUM)} + {second}", Binds.SUM)
        case "filled" | "replaced":
            return _map(scope, e)
        case "item" if isinstance(first.type, m.MapType):
            return Text(f"{python(scope, first, Binds.ATOM)}[{_key(scope, first, e.arguments[1])}]")
        case _:
            arguments = [python(scope, a, Binds.CONDITIONAL) for a in e.arguments]
    match e.function:
        case "present" | "first":
            return Text(f"{scope.file.machinery(e.function)}({arguments[0]}, {_quoted(first)})")
        case "item":
            of = _group(scope, first) if isinstance(first, m.Instances) else arguments[0]
            return Text(f"{scope.file.machinery('item')}({of}, {arguments[1]}, {_quoted(first)})")
        case "size":
            return Text(f"len({arguments[0]})")
        case "min" | "max":
            return Text(f"{e.function}({', '.join(arguments)})")
        case "range":
            return Text(_range(scope, e))
        case "subsets":
            return Text(f"{scope.file.machinery('subsets')}({', '.join(arguments)})")
        case _:
            assert_never(e.function)
