"""Expressions as Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, assert_never

from fsmdsl import model as m
from fsmdsl.classes.statements.code import Binds, Text, binding
from fsmdsl.classes.statements.expression_context import Place, constant, machine_of
from fsmdsl.classes.statements.limits import fitting, unlimited
from fsmdsl.classes.statements.logic import fixed, flips, gathered, one_more, unique
from fsmdsl.classes.statements.state_tests import state_test
from fsmdsl.classes.statements.text import literal, tuple_of
from fsmdsl.classes.types import ranked
from fsmdsl.core.lets import looks_beyond, may_lack_value
from fsmdsl.model.typing import holds
from fsmdsl.syntax.operators import COMPLEMENT, SetOperator


def python(place: Place, e: m.Expr, within: Binds = Binds.LOOSE) -> str:
    """An expression as text, in brackets where it stands within something that binds more tightly."""
    return code(place, e).within(within)


def wide(place: Place, e: m.Expr) -> m.Type:
    """The type of an expression, as wide as its values."""
    if place.loose and not isinstance(e, m.Constant):
        return unlimited(e.type)
    return place.file.context.elaboration(place.system).expression(e).type


def code(place: Place, e: m.Expr) -> Text:
    """An expression as Python."""
    match e:
        case m.Constant():
            return constant(place.file, e)
        case m.Self():
            return Text("self")
        case m.Wait():
            return Text("self._wait")
        case m.Local(name=name):
            return Text(place.locals[name])
        case m.Read():
            return _read(place, e)
        case m.Derived():
            return _derived(place, e)
        case m.InState():
            return _in_state(place, e, positive=True)
        case m.StateOf(target=target):
            own = isinstance(target, m.Self)
            return Text("self._state" if own else f"{python(place, target, Binds.ATOM)}.state")
        case m.Not():
            return _negated(place, e.operand)
        case m.Negative(operand=operand):
            return Text(f"-{python(place, operand, Binds.SIGN)}", Binds.SIGN)
        case m.Logic():
            return _logic(place, e)
        case m.Binary():
            return _binary(place, e)
        case m.Conditional(condition=test, then=then, otherwise=otherwise):
            yes = python(place.knowing(test), then, Binds.OR)
            no = python(place.knowing(test, holds=False), otherwise, Binds.CONDITIONAL)
            return Text(f"{yes} if {python(place, test, Binds.OR)} else {no}", Binds.CONDITIONAL)
        case m.Quantified():
            return Text(_quantified(place, e))
        case m.Collection():
            return Text(collection(place, e))
        case m.Construction(parts=parts, type=t):
            names = (place.file.part(t, name) for name, _ in t.parts)
            given = (f"{n}={python(place, x, Binds.CONDITIONAL)}" for n, x in zip(names, parts, strict=True))
            return Text(f"{place.file.type_(t)}({', '.join(given)})")
        case m.Part(of=of, name=name):
            assert isinstance(of.type, m.RecordType)
            return Text(f"{python(place, of, Binds.ATOM)}.{place.file.part(of.type, name)}")
        case m.Apply():
            return _applied(place, e)
        case m.InstanceRef(name=name, index=index):
            return Text(_instance(place, name, index))
        case m.Instances() | m.AllOf():
            return Text(f"frozenset({_group(place, e)})")
        case m.ChannelRef() | m.Ordinal() | m.Temporal():
            raise TypeError(f"{type(e).__name__} is nothing that code can compute")
        case _:
            assert_never(e)


# Names ---------------------------------------------------------------------------------------------------------------


def _read(place: Place, e: m.Read) -> Text:
    if e.target is None or isinstance(e.target, m.Self):
        if e.kind == "field" and e.name in place.staged:
            return Text(place.staged[e.name])
        return Text(place.own(e.name))
    machine = machine_of(e.target.type)
    return Text(f"{python(place, e.target, Binds.ATOM)}.{place.file.context.machine(machine).values[e.name]}")


def _derived(place: Place, e: m.Derived) -> Text:
    context = place.file.context
    arguments = ", ".join(python(place, a, Binds.CONDITIONAL) for a in e.arguments)
    if e.owner in context.model.machines:
        let = context.model.let(e, place.system)
        own = e.target is None or isinstance(e.target, m.Self)
        if own and let.name in place.functions:
            return Text(f"{place.functions[let.name]}({arguments})")
        target = "self" if e.target is None else python(place, e.target, Binds.ATOM)
        name = f"{target}.{context.machine(e.owner).values[e.name]}"
        return Text(f"{name}({arguments})" if let.parameters else name)
    if place.system is not None and e.owner == place.system.qualified:
        name = f"self.{place.locals[e.name]}"
        return Text(f"{name}({arguments})" if e.arguments else name)
    let = context.model.let(e, None)
    first = [place.system_name] if looks_beyond(context.model, let.value) else []
    return Text(f"{place.file.let(e.owner, let)}({', '.join([*first, *([arguments] if arguments else [])])})")


def _instance(place: Place, name: str, index: int) -> str:
    assert place.system is not None
    single = next(g.single for g in place.system.groups if g.name == name)
    return f"self.{place.locals[name]}" if single else f"self.{place.locals[name]}[{index}]"


# Conditions ----------------------------------------------------------------------------------------------------------


def _logic(place: Place, e: m.Logic) -> Text:
    binds = Binds.AND if e.operator == "and" else Binds.OR
    texts: list[str] = []
    operands = gathered(e, lambda x: may_lack_value(place.file.context.model, x, place.system))
    if len(operands) == 1:
        return code(place, operands[0])
    for operand in operands:
        found = code(place, operand)
        mixed = binds is Binds.OR and found.binds is Binds.AND
        texts.append(f"({found.text})" if mixed else found.within(binds))
        place = place.knowing(operand, holds=e.operator == "and")
    return Text(f" {e.operator} ".join(texts), binds)


def _negated(place: Place, e: m.Expr) -> Text:
    """`not`, moved inwards where that reads better."""
    match e:
        case m.InState():
            return _in_state(place, e, positive=False)
        case m.Not(operand=operand):
            return code(place, operand)
        case m.Binary(operator="in", left=left, right=right):
            return Text(f"{python(place, left, Binds.UNION)} not in {_container(place, right)}", Binds.COMPARISON)
        case m.Binary(operator="=>", left=left, right=right):
            return _logic(place, m.Logic("and", (left, m.Not(right))))
        case m.Binary(operator=operator, left=left, right=right, type=type_) if operator in COMPLEMENT:
            return _binary(place, m.Binary(COMPLEMENT[operator], left, right, type_))
        case m.Logic(operator=operator, operands=operands) if all(map(flips, operands)):
            other: Literal["and", "or"] = "or" if operator == "and" else "and"
            return _logic(place, m.Logic(other, tuple(m.Not(x) for x in operands)))
        case _:
            return Text(f"not {python(place, e, Binds.NOT)}", Binds.NOT)


def _in_state(place: Place, e: m.InState, positive: bool) -> Text:
    """A test of the state. Of none it is false."""
    own = isinstance(e.target, m.Self)
    machine = place.file.context.model.machines[machine_of(e.target.type)]
    target = "self" if own else python(place, e.target, Binds.ATOM)
    test = state_test(place, machine, target, own, e.states, positive)
    if not isinstance(e.target.type, m.OptionalType) or e.target in place.present:
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


def _binary(place: Place, e: m.Binary) -> Text:
    match e.operator:
        case "=>":
            conclusion = python(place.knowing(e.left), e.right, Binds.NOT)
            return Text(f"{_negated(place, e.left).within(Binds.NOT)} or {conclusion}", Binds.OR)
        case "==" | "!=" if (one := fixed(e.left)) and (other := fixed(e.right)):
            return Text(str((one == other) is (e.operator == "==")))
        case "==" | "!=" if isinstance(e.left.type, m.MapType):
            left, right = (python(place, x, Binds.CONDITIONAL) for x in (e.left, e.right))
            same = f"{place.file.machinery('alike')}({left}, {right}, {_keys(place, e.left.type)})"
            return Text(same) if e.operator == "==" else Text(f"not {same}", Binds.NOT)
        case "==" | "!=":
            return Text(_equality(place, e), Binds.COMPARISON)
        case "in":
            return Text(f"{python(place, e.left, Binds.UNION)} in {_container(place, e.right)}", Binds.COMPARISON)
        case "<" | "<=" | ">" | ">=":
            left, right = (python(place, x, Binds.UNION) for x in (e.left, e.right))
            return Text(f"{left} {e.operator} {right}", Binds.COMPARISON)
        case "union" | "difference" | "intersection":
            operator, binds = _OF_SETS[e.operator]
            right = _set_display(place, e.right) or python(place, e.right, Binds(binds + 1))
            return Text(f"{python(place, e.left, binds)} {operator} {right}", binds)
        case "/" | "%":
            sign = "//" if e.operator == "/" else "%"
            return Text(f"{python(place, e.left, Binds.PRODUCT)} {sign} {_divisor(place, e.right)}", Binds.PRODUCT)
        case _:
            binds = binding(e.operator)
            right = python(place, e.right, Binds(binds + 1))
            return Text(f"{python(place, e.left, binds)} {e.operator} {right}", binds)


def _divisor(place: Place, e: m.Expr) -> str:
    """A number that is not 0, or an exception."""
    if isinstance(e, m.Constant) and e.value:
        return python(place, e, Binds(Binds.PRODUCT + 1))
    return f"{place.file.machinery('divisor')}({python(place, e, Binds.CONDITIONAL)}, {_shown(e)})"


def _shown(e: m.Expr) -> str:
    """What is written in the spec, as a string literal for a message."""
    return literal(_written(e))


def _written(e: m.Expr) -> str:
    """What is written in the spec, for a message."""
    return e.span.quote[:60] or "it"


def _equality(place: Place, e: m.Binary) -> str:
    """Of things that there is one of each, identity; else equality."""
    same = any(unique(x.type) for x in (e.left, e.right))
    operator = _IDENTICAL[e.operator] if same else e.operator
    return f"{python(place, e.left, Binds.UNION)} {operator} {python(place, e.right, Binds.UNION)}"


def _set_display(place: Place, e: m.Expr) -> str | None:
    """`{taken}`, where a set that can change will do."""
    if isinstance(e, m.Collection) and e.items:
        return f"{{{', '.join(python(place, x, Binds.CONDITIONAL) for x in e.items)}}}"
    return None


def _container(place: Place, e: m.Expr) -> str:
    """What stands behind `in`."""
    if isinstance(e, m.Collection) and e.items:
        return _tuple(place, e)
    return python(place, e, Binds.UNION)


# Maps ----------------------------------------------------------------------------------------------------------------


def _keys(place: Place, t: m.MapType) -> str:
    """All keys of a map."""
    match t.key:
        case m.RangeType(low, high):
            return f"range({low}, {high + 1})"
        case m.EnumType() as of:
            return place.file.type_(of)
        case m.RefType(machine):
            return _group(place, m.AllOf(machine, m.SetType(t.key)))
        case _:
            return "(False, True)"


def _made(place: Place, e: m.Apply) -> Text:
    """A map that is made, if it may hold what it is given."""
    given, shown = e.arguments[-1], _written(e if e.function == "filled" else e.arguments[0])
    assert isinstance(e.type, m.MapType)
    value = fitting(place.file, e.type.of, code(place, given), wide(place, given), shown).within(Binds.CONDITIONAL)
    if e.function == "filled":
        return Text(f"{place.file.machinery('Table')}({value})")
    held, key, _ = e.arguments
    return Text(f"{python(place, held, Binds.ATOM)}.replaced({_key(place, held, key)}, {value})")


def _key(place: Place, of: m.Expr, key: m.Expr) -> str:
    """A key, or an exception where the map has no such one."""
    text = python(place, key, Binds.CONDITIONAL)
    t = of.type.key if isinstance(of.type, m.MapType) else m.NEVER
    if not isinstance(t, m.RangeType) or holds(t, wide(place, key)):
        return text
    return f"{place.file.machinery('key_of')}({text}, {t.low}, {t.high}, {_shown(of)})"


# Sets and lists ------------------------------------------------------------------------------------------------------


def collection(place: Place, e: m.Collection) -> str:
    """A set or list of what is named."""
    if e.kind == "list":
        return _tuple(place, e)
    return f"frozenset({_tuple(place, e)})" if e.items else "frozenset()"


def _tuple(place: Place, e: m.Collection) -> str:
    return tuple_of([python(place, x, Binds.CONDITIONAL) for x in e.items])


def _quantified(place: Place, e: m.Quantified) -> str:
    inner = place.bind(e.variable)
    name, body = inner.locals[e.variable], code(inner, e.body)
    ordered = may_lack_value(place.file.context.model, e.body, place.system)
    over = (
        in_order(place, e.over) if ordered else _visited(place, e.over)
    )  # in order where it may break off with a fault
    if e.kind == "count":
        display = None if ordered or not isinstance(e.over.type, m.SetType) else _set_display(place, e.over)
        return f"sum(1 for {name} in {display or over} if {body.within(Binds.OR)})"
    return f"{'all' if e.kind == 'all' else 'any'}({body.within(Binds.CONDITIONAL)} for {name} in {over})"


def _group(place: Place, e: m.Instances | m.AllOf) -> str:
    """A tuple of instances, in the order in which they were made."""
    if isinstance(e, m.Instances):
        return f"self.{place.locals[e.name]}"
    return f"{place.system_name}.all_of({place.file.running_class(e.machine)})"


def _visited(place: Place, over: m.Expr) -> str:
    if isinstance(over, m.Instances | m.AllOf):
        return _group(place, over)
    if isinstance(over, m.Collection) and over.items:
        return _tuple(place, over)
    return python(place, over, Binds.OR)


def _range(place: Place, e: m.Apply) -> str:
    """The numbers from one to another, as Python's `range`, which ends before its second argument."""
    low, high = e.arguments
    first = [] if fixed(low) == (0,) else [python(place, low, Binds.CONDITIONAL)]
    return f"range({', '.join([*first, python(place, one_more(high), Binds.CONDITIONAL)])})"


def in_order(place: Place, over: m.Expr) -> str:
    """What a loop goes through: instances as they were made, numbers ascending, members as declared, lists as they
    are."""
    if isinstance(over, m.Instances | m.AllOf):
        return _group(place, over)
    if isinstance(over, m.Apply) and over.function == "range":
        return _range(place, over)
    match over.type:
        case m.SetType(of=m.RefType()):
            several = _set_display(place, over) if isinstance(over, m.Collection) and len(over.items) > 1 else None
            return f"{place.file.machinery('in_order')}({several or _visited(place, over)})"
        case m.SetType(of=m.EnumType() as t) if not t.ordered:
            return f"sorted({python(place, over, Binds.CONDITIONAL)}, key=list({place.file.type_(t)}).index)"
        case m.SetType(of=m.RecordType() | m.OptionalType() | m.ListType() | m.SetType() as of):
            return ranked(place.file, of, python(place, over, Binds.CONDITIONAL))
        case m.SetType(of=m.RangeType() | m.BoolType() | m.EnumType() | m.DurationType()):
            return f"sorted({python(place, over, Binds.CONDITIONAL)})"
        case _:
            return python(place, over, Binds.CONDITIONAL)


def queue(place: Place, channel: str, ends: Sequence[m.Expr]) -> str:
    """The object for a channel, or for one queue of it."""
    given = ", ".join([place.file.channel(channel), *(python(place, x, Binds.CONDITIONAL) for x in ends)])
    return f"{place.system_name}.channel({given})"


def _applied(place: Place, e: m.Apply) -> Text:
    first = e.arguments[0]
    match e.function:
        case "size" if isinstance(first, m.ChannelRef):
            return Text(f"len({queue(place, first.name, e.arguments[1:])})")
        case "present" if first in place.present:
            return code(place, first)
        case "rest":
            return Text(f"{python(place, first, Binds.ATOM)}[1:]")
        case "concat":
            second = python(place, e.arguments[1], Binds.PRODUCT)
            return Text(f"{python(place, first, Binds.SUM)} + {second}", Binds.SUM)
        case "filled" | "replaced":
            return _made(place, e)
        case "item" if isinstance(first.type, m.MapType):
            return Text(f"{python(place, first, Binds.ATOM)}[{_key(place, first, e.arguments[1])}]")
        case _:
            given = [python(place, a, Binds.CONDITIONAL) for a in e.arguments]
    match e.function:
        case "present" | "first":
            return Text(f"{place.file.machinery(e.function)}({given[0]}, {_shown(first)})")
        case "item":
            of = _group(place, first) if isinstance(first, m.Instances) else given[0]
            return Text(f"{place.file.machinery('item')}({of}, {given[1]}, {_shown(first)})")
        case "size":
            return Text(f"len({given[0]})")
        case "min" | "max":
            return Text(f"{e.function}({', '.join(given)})")
        case "range":
            return Text(_range(place, e))
        case "subsets":
            return Text(f"{place.file.machinery('subsets')}({', '.join(given)})")
        case _:
            assert_never(e.function)
