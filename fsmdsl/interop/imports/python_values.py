"""What an expression of Python source is, as far as the text alone tells: nothing is imported, called or evaluated."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from warnings import catch_warnings, simplefilter

from fsmdsl.dataclasses import dataclass, field

MAX_ITEMS = 10_000
"""Maximum number of list items, or iterations of a loop, that are evaluated."""

_FIELD = re.compile(r"\{\d{0,4}\}|%s")


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that only running the code would tell; the text that it comes from."""

    text: str


@dataclass(frozen=True, slots=True)
class Part(Unknown):
    """An attribute of something that the text does not define: `State(…).to`."""

    owner: Any = field(compare=False, hash=False, repr=False)
    name: str


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an enum."""

    enum: str
    name: str
    value: Any = field(compare=False, hash=False)


class TooLargeError(RecursionError):
    """There is more than a reader takes."""


class Items(list[Any]):
    """A list, tuple or set, and where it is written."""

    def __init__(self, items: Iterable[Any], node: ast.expr) -> None:
        super().__init__(items)
        self.node = node


class Keyed(dict[Any, Any]):
    """A dict, and where it is written. `unknown`: parts of it that only running the code would tell."""

    def __init__(self, pairs: dict[Any, Any], node: ast.expr, unknown: Iterable[str] = ()) -> None:
        super().__init__(pairs)
        self.node = node
        self.unknown = list(unknown)

    def copy(self) -> Keyed:
        return Keyed(self, self.node, self.unknown)


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the file, which may be what an expression calls."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    scope: Any = field(compare=False, hash=False, repr=False)


@dataclass(slots=True)
class Class:
    """A class: what is assigned in its body and to `self`, its methods, its bases as written."""

    name: str
    bases: tuple[str, ...]
    names: dict[str, Any]
    methods: dict[str, ast.FunctionDef | ast.AsyncFunctionDef]
    node: ast.ClassDef
    calls: list[Called] = field(default_factory=list)
    """The calls of methods of an instance, in the order of the text."""

    @property
    def members(self) -> list[Member]:
        """Of an enum, its members."""
        return [x for x in self.names.values() if isinstance(x, Member)]


@dataclass(slots=True)
class Called:
    """A call of something that the text does not define: `State(name="A")`."""

    function: str
    arguments: list[Any]
    keywords: dict[str, Any]
    node: ast.Call
    owner: Class | None = None
    """The class in whose methods the call is."""
    calls: list[Called] = field(default_factory=list)
    """The calls of methods of what this call makes, in the order of the text."""
    receiver: Any = field(default=None, repr=False)
    """What the method is called on: `off` of `off.to(on)`."""
    unknown: tuple[str, ...] = ()
    """Arguments that only running the code would tell: `*rows`, `**options`."""
    under: str = ""
    """The condition of an `if` around the call."""

    def argument(self, index: int, name: str, default: Any = None) -> Any:
        """An argument by keyword, else by position."""
        if name in self.keywords:
            return self.keywords[name]
        return self.arguments[index] if index < len(self.arguments) else default


class Scope:
    """Names and what they stand for, from the inside out."""

    def __init__(self, names: dict[str, Any], outer: Scope | None = None, owner: Class | None = None) -> None:
        self.names = names
        self.outer = outer
        self.owner: Class | None = owner if owner is not None or outer is None else outer.owner
        self.calls: list[Called] = [] if outer is None else outer.calls
        """All calls that were read, in the order of the text."""
        self.under: str = "" if outer is None else outer.under
        """The condition of an `if` that is being read."""

    def find(self, name: str) -> Any:
        """What the name stands for; None: nothing that the text says."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


@contextmanager
def without_warnings() -> Iterator[None]:
    """Python's warnings about a source that is parsed are suppressed: they do not concern its machines."""
    with catch_warnings():
        simplefilter("ignore")
        yield


def value(node: ast.expr, scope: Scope) -> Any:
    """The value of an expression: literals, lists, dicts, names, enums, calls; `Unknown` for all others."""
    match node:
        case ast.Constant(value=constant):
            return constant
        case ast.Name(id=name):
            binding = scope.find(name)
            return Unknown(name) if binding is None or isinstance(binding, Function) else binding
        case ast.List() | ast.Tuple() | ast.Set():
            return Items(_items(node.elts, scope), node)
        case ast.Dict():
            return _dict(node, scope)
        case ast.Attribute():
            return _attribute(node, scope)
        case ast.Call():
            return _call(node, scope)
        case ast.JoinedStr():
            return _joined(node, scope)
        case ast.BinOp(left=left, op=ast.Mod(), right=right):
            pattern, operand = value(left, scope), value(right, scope)
            operands = operand if isinstance(operand, list) else [operand]
            return _filled(node, pattern, operands) if isinstance(pattern, str) else Unknown(ast.unparse(node))
        case ast.BinOp(op=ast.Add() | ast.BitOr()):
            return _sum(node, scope)
        case ast.Subscript():
            return _subscript(node, scope)
        case ast.ListComp(generators=[generator]) if (turns := _turns(generator, scope)) is not None:
            return [value(node.elt, inner) for inner in turns]
        case ast.DictComp(generators=[generator]) if (turns := _turns(generator, scope)) is not None:
            pairs = [(value(node.key, inner), value(node.value, inner)) for inner in turns]
            unknown = [ast.unparse(node)] if any(not isinstance(k, str | int | Member) for k, _ in pairs) else []
            return Keyed({k: v for k, v in pairs if isinstance(k, str | int | Member)}, node, unknown)
        case _:
            return Unknown(ast.unparse(node))


def _items(nodes: list[ast.expr], scope: Scope) -> Iterator[Any]:
    for node in nodes:
        if isinstance(node, ast.Starred):
            whole = items(value(node.value, scope))
            yield from [Unknown(ast.unparse(node))] if whole is None else whole
        else:
            yield value(node, scope)


def items(iterable: Any) -> list[Any] | None:
    """What going through a value yields; None where the text does not tell."""
    match iterable:
        case list():
            if len(iterable) > MAX_ITEMS:
                raise TooLargeError
            return iterable
        case dict():
            return list(iterable)
        case Class() if iterable.members:
            return list(iterable.members)
    return None


def _dict(node: ast.Dict, scope: Scope) -> Any:
    out = Keyed({}, node)
    for key, item in zip(node.keys, node.values, strict=True):
        if key is None:
            merge(out, value(item, scope), f"**{ast.unparse(item)}")
            continue
        item_key = value(key, scope)
        if isinstance(item_key, str | int | Member):
            out[item_key] = value(item, scope)
        else:
            out.unknown.append(ast.unparse(key))
    return out


def merge(out: Keyed, whole: Any, text: str) -> None:
    """Put what a value holds into a dict: `**whole`, `out.update(whole)`."""
    if not isinstance(whole, dict):
        out.unknown.append(text)
        return
    out.update(whole)
    out.unknown += whole.unknown if isinstance(whole, Keyed) else []


def _attribute(node: ast.Attribute, scope: Scope) -> Any:
    owner = value(node.value, scope)
    match owner:
        case Class():
            return owner.names.get(node.attr, Part(ast.unparse(node), owner, node.attr))
        case Member() if node.attr == "name":
            return owner.name
        case Member() if node.attr == "value":
            return owner.value
    assigned = scope.find(ast.unparse(node))
    if assigned is not None:
        return assigned
    return Part(ast.unparse(node), owner, node.attr) if isinstance(owner, Called | Part) else Unknown(ast.unparse(node))


def _call(node: ast.Call, scope: Scope) -> Any:
    function = _function(node.func, scope)
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("keys", "values", "items", "copy", "format"):
        return _method(node, value(node.func.value, scope), node.func.attr, scope)
    if function in ("list", "tuple", "set", "sorted") and len(node.args) == 1:
        whole = items(value(node.args[0], scope))
        return Unknown(ast.unparse(node)) if whole is None else whole
    keywords = Keyed({}, node)
    for keyword in node.keywords:
        item = value(keyword.value, scope)
        if keyword.arg is not None:
            keywords[keyword.arg] = item
        else:
            merge(keywords, item, f"**{ast.unparse(keyword.value)}")
    if function == "dict" and not node.args:
        return keywords
    if function == "str" and len(node.args) == 1:
        text = value(node.args[0], scope)
        return text if isinstance(text, str) else Unknown(ast.unparse(node))
    returned = _returned(node, keywords, scope)
    if returned is not None:
        return returned
    owner: Any = value(node.func.value, scope) if isinstance(node.func, ast.Attribute) else None
    arguments = list(_items(node.args, scope))
    unknown = tuple(keywords.unknown)
    for x in node.args:
        if isinstance(x, ast.Starred) and items(value(x.value, scope)) is None:
            unknown += (ast.unparse(x),)
    call = Called(function, arguments, {str(k): x for k, x in keywords.items()}, node, scope.owner, receiver=owner)
    call.unknown, call.under = unknown, scope.under
    if isinstance(owner, Called | Class):
        owner.calls.append(call)
    scope.calls.append(call)
    return call


def _returned(node: ast.Call, keywords: Keyed, scope: Scope) -> Any:
    """The list, dict or text that a function of the file returns, if it does nothing else; None for all others."""
    function = scope.find(node.func.id) if isinstance(node.func, ast.Name) else None
    if not isinstance(function, Function) or keywords.unknown or any(isinstance(x, ast.Starred) for x in node.args):
        return None
    parameters = function.node.args
    body = [x for x in function.node.body if not (isinstance(x, ast.Expr) and isinstance(x.value, ast.Constant))]
    if parameters.vararg or parameters.kwarg or function.node.decorator_list:
        return None
    match body:
        case [ast.Return(value=ast.expr() as expression)]:
            pass
        case _:
            return None
    positional = [*parameters.posonlyargs, *parameters.args]
    names: dict[str, Any] = {x.arg: Unknown(x.arg) for x in [*positional, *parameters.kwonlyargs]}
    defaults = [*zip(reversed(positional), reversed(parameters.defaults), strict=False)]
    defaults += [(x, y) for x, y in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True) if y is not None]
    names |= {x.arg: value(y, function.scope) for x, y in defaults}
    names |= {x.arg: value(y, scope) for x, y in zip(positional, node.args, strict=False)} | keywords
    calls = len(scope.calls)
    returned = value(expression, Scope(names, function.scope))
    del scope.calls[calls:]
    return returned if isinstance(returned, list | dict | str) else None


def _function(node: ast.expr, scope: Scope) -> str:
    """What is called, by the name that it was imported as."""
    callee = scope.find(node.id) if isinstance(node, ast.Name) else None
    match callee:
        case Unknown(text):
            return text
        case Called() if callee.function.endswith("MachineFactory.get_predefined"):
            return "Machine"
    return ast.unparse(node)


def _method(node: ast.Call, owner: Any, name: str, scope: Scope) -> Any:
    match owner, name:
        case str(), "format":
            return _filled(node, owner, [value(x, scope) for x in node.args])
        case dict(), "keys":
            return list(owner)
        case dict(), "values":
            return list(owner.values())
        case dict(), "items":
            return [[k, v] for k, v in owner.items()]
        case dict() | list(), "copy":
            return owner.copy()
    return Unknown(ast.unparse(node))


def _filled(node: ast.expr, pattern: str, texts: list[Any]) -> Any:
    """The pattern with plain texts in the place of `{}`, `{0}` and `%s`; other fields of a pattern are not known."""
    if not all(isinstance(x, str) for x in texts) or len(pattern) > MAX_ITEMS:
        return Unknown(ast.unparse(node))
    left = iter(range(len(texts)))
    places = [next(left, -1) if place in ("{}", "%s") else int(place[1:-1]) for place in _FIELD.findall(pattern)]
    if any(not 0 <= n < len(texts) for n in places):
        return Unknown(ast.unparse(node))
    filled = iter(places)
    text = _FIELD.sub(lambda _: texts[next(filled)], pattern)
    return Unknown(ast.unparse(node)) if re.search(r"[{}%]", text) else text


def _joined(node: ast.JoinedStr, scope: Scope) -> Any:
    parts: list[str] = []
    for piece in node.values:
        part = value(piece.value if isinstance(piece, ast.FormattedValue) else piece, scope)
        if not isinstance(part, str | int):
            return Unknown(ast.unparse(node))
        parts.append(str(part))
    return "".join(parts)


def _sum(node: ast.BinOp, scope: Scope) -> Any:
    match value(node.left, scope), value(node.right, scope):
        case (list() as left, list() as right):
            if len(left) + len(right) > MAX_ITEMS:
                raise TooLargeError
            return [*left, *right]
        case (str() as left, str() as right):
            return left + right
        case (dict() as left, dict() as right):
            both = Keyed({}, node)
            merge(both, left, "")
            merge(both, right, "")
            return both
        case (Called() | list() as left, Called() | list() as right) if isinstance(node.op, ast.BitOr):
            operands = [y for x in (left, right) for y in (x if isinstance(x, list) else [x])]
            if len(operands) > MAX_ITEMS:
                raise TooLargeError
            return Items(operands, node)
    return Unknown(ast.unparse(node))


def _subscript(node: ast.Subscript, scope: Scope) -> Any:
    owner, index = value(node.value, scope), value(node.slice, scope)
    match owner, index:
        case (list(), int()) if not isinstance(index, bool) and -len(owner) <= index < len(owner):
            return owner[index]
        case (dict(), str() | int() | Member()) if index in owner:
            return owner[index]
        case (Class(), str()):
            return owner.names.get(index, Unknown(ast.unparse(node)))
    return Unknown(ast.unparse(node))


def _turns(generator: ast.comprehension, scope: Scope) -> list[Scope] | None:
    """The names in each turn of a comprehension; None where the text does not tell."""
    iterable = None if generator.ifs or generator.is_async else items(value(generator.iter, scope))
    return None if iterable is None else [Scope(bound(generator.target, item), scope) for item in iterable]


def bound(target: ast.expr, item: Any) -> dict[str, Any]:
    """The names that a target gives an item, or its parts."""
    match target:
        case ast.Name(id=name):
            return {name: item}
        case ast.Tuple(elts=elements) | ast.List(elts=elements) if isinstance(item, list) and len(item) == len(
            elements
        ):
            return {k: v for x, y in zip(elements, item, strict=True) for k, v in bound(x, y).items()}
    return {}
