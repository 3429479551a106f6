"""The statements of Python source, followed as far as their text alone tells."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.imports.python_values import (
    Called,
    Class,
    Function,
    Keyed,
    Member,
    Scope,
    TooLargeError,
    Unknown,
    bound,
    items,
    merge,
    value,
    without_warnings,
)
from fsmdsl.interop.imports.rules import NOT_READ, TOO_DEEP
from fsmdsl.interop.imports.table import ImportFailedError
from fsmdsl.text.source import Source, Span

MAX_STATEMENTS = 200_000
"""Maximum number of evaluated statements; each loop iteration counts."""

_ENUMS = ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "States")


@dataclass(frozen=True, slots=True)
class Program:
    """What a file says: its calls and its classes, in the order of the text."""

    source: Source
    calls: tuple[Called, ...]
    classes: tuple[Class, ...]
    names: dict[str, object]

    def span(self, node: ast.AST) -> Span:
        """Where a node is written."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        start = self.source.line_starts[min(line, len(self.source.line_starts)) - 1]
        before = self.source.line(line).encode("utf-8", "replace")[:column].decode("utf-8", "replace")
        return Span(self.source, start + len(before), start + len(before))


def program(source: Source) -> Program:
    """Read a file. Raises `ImportFailedError` where it is not Python."""
    try:
        with without_warnings():
            tree = ast.parse(source.text)
        walk = _Walk()
        walk.body(tree.body, walk.top)
    except SyntaxError as error:
        line = min(max(error.lineno or 1, 1), len(source.line_starts))
        start = source.line_starts[line - 1]
        raise ImportFailedError(NOT_READ.at(Span(source, start, start), f"this is not Python: {error.msg}")) from error
    except ValueError as error:
        raise ImportFailedError(NOT_READ.at(Span(source, 0, 0), f"this is not Python: {error}")) from error
    except TooLargeError as error:
        message = "there are too many statements, or too many items in a list, to be read"
        raise ImportFailedError(TOO_DEEP.at(Span(source, 0, 0), message)) from error
    except (RecursionError, MemoryError) as error:
        raise ImportFailedError(TOO_DEEP.at(Span(source, 0, 0), "this is nested too deeply to be read")) from error
    return Program(source, tuple(walk.top.calls), tuple(walk.classes), walk.top.names)


class _Walk:
    def __init__(self) -> None:
        self.top = Scope({"State.separator": "_", "NestedState.separator": "_"})
        self.classes: list[Class] = []
        self.left = MAX_STATEMENTS

    def body(self, statements: Iterable[ast.stmt], scope: Scope) -> None:
        later: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
        for statement in statements:
            self.left -= 1
            if self.left < 0:
                raise TooLargeError
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                plain = isinstance(statement, ast.FunctionDef)
                scope.names[statement.name] = Function(statement, scope) if plain else Unknown(statement.name)
                later.append(statement)
            else:
                self.statement(statement, scope)
        for function in later:
            self.function(function, scope)

    def statement(self, statement: ast.stmt, scope: Scope) -> None:
        match statement:
            case ast.Assign(targets=targets, value=node):
                assigned = value(node, scope)
                for target in targets:
                    self.assign(target, assigned, scope)
            case ast.AnnAssign(target=target, value=ast.expr() as node):
                self.assign(target, value(node, scope), scope)
            case ast.AugAssign(target=ast.Name() | ast.Attribute() as target, op=sign, value=node):
                self.assign(target, value(ast.BinOp(target, sign, node), scope), scope)
            case ast.AugAssign(target=ast.Subscript() as target):
                self.assign(target, Unknown(ast.unparse(statement)), scope)
            case ast.Expr(value=ast.Await(value=node)) | ast.Expr(value=node):
                self.expression(node, scope)
            case ast.Return(value=ast.expr() as node):
                value(node, scope)
            case ast.For() | ast.AsyncFor():
                self.loop(statement, scope)
            case ast.If():
                self.conditional(statement, scope)
            case ast.Delete(targets=targets):
                for target in (x for x in targets if isinstance(x, ast.Subscript)):
                    _lose(value(target.value, scope), ast.unparse(statement))
            case ast.Match(cases=cases):
                self.body([x for case in cases for x in case.body], scope)
            case ast.With(body=body) | ast.AsyncWith(body=body):
                self.body(body, scope)
            case ast.Try() | ast.TryStar():
                handlers = [x for handler in statement.handlers for x in handler.body]
                self.body([*statement.body, *statement.orelse, *handlers, *statement.finalbody], scope)
            case ast.While(body=body, orelse=orelse):
                self.body([*body, *orelse], scope)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                scope.names.update({x.asname: Unknown(x.name) for x in names if x.asname is not None})
            case ast.ClassDef():
                self.defined(statement, scope)

    def conditional(self, statement: ast.If, scope: Scope) -> None:
        """Both branches; what they assign differently is not known behind them."""
        condition = ast.unparse(statement.test)
        if re.search(r"__name__|TYPE_CHECKING", condition):
            self.body([*statement.body, *statement.orelse], scope)
            return
        outer, before = scope.under, dict(scope.names)
        scope.under = condition
        self.body(statement.body, scope)
        between = dict(scope.names)
        self.body(statement.orelse, scope)
        scope.under = outer
        for name, now in list(scope.names.items()):
            others = [x[name] for x in (before, between) if name in x]
            if any(x is not now and x != now for x in others) and isinstance(now, list | dict | str | int):
                scope.names[name] = [*now, Unknown(f"if {condition}")] if isinstance(now, list) else Unknown(name)

    def loop(self, statement: ast.For | ast.AsyncFor, scope: Scope) -> None:
        """The turns of a loop; one with unknown items where the text does not tell what it goes through."""
        turns = items(value(statement.iter, scope))
        names = {x.id: Unknown(x.id) for x in ast.walk(statement.target) if isinstance(x, ast.Name)}
        if turns is None:
            scope.names.update(names)
            self.body(statement.body, scope)
        for item in turns or ():
            scope.names.update(names | bound(statement.target, item))
            self.body(statement.body, scope)
        self.body(statement.orelse, scope)

    def expression(self, node: ast.expr, scope: Scope) -> None:
        """A statement that is an expression: mostly a call. Lists grow by `append` and `extend`, dicts by `update`."""
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in _MUTATING:
                collection = value(owner, scope)
                if scope.under and isinstance(collection, list | Keyed):
                    _lose(collection, f"{ast.unparse(node)} if {scope.under}")
                if isinstance(collection, list):
                    _change_list(collection, method, node, scope)
                elif isinstance(collection, Keyed):
                    _change_dict(collection, method, node, scope)
                else:
                    value(node, scope)
            case _:
                value(node, scope)

    def assign(self, target: ast.expr, assigned: object, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                scope.names[name] = assigned
            case ast.Tuple() | ast.List():
                scope.names.update(bound(target, assigned))
            case ast.Subscript(value=owner, slice=index):
                collection = value(owner, scope)
                if scope.under:
                    _lose(collection, f"{ast.unparse(target)} if {scope.under}")
                _put(collection, value(index, scope), assigned, ast.unparse(target))
            case ast.Attribute(value=owner, attr=name):
                owner_value = value(owner, scope)
                if isinstance(owner_value, Class):
                    owner_value.names[name] = assigned
                else:
                    self.top.names[ast.unparse(target)] = assigned

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope, owner: Class | None = None) -> None:
        """The body of a function, with what its parameters are when they are not given."""
        names: dict[str, object] = {}
        positional = [*node.args.posonlyargs, *node.args.args]
        for parameter in [*positional, *node.args.kwonlyargs]:
            names[parameter.arg] = Unknown(parameter.arg)
        for parameter, default in zip(reversed(positional), reversed(node.args.defaults), strict=False):
            names[parameter.arg] = value(default, scope)
        for parameter, default_node in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            if default_node is not None:
                names[parameter.arg] = value(default_node, scope)
        if owner is not None and positional:
            names[positional[0].arg] = owner
        self.body(node.body, Scope(names, scope, owner))

    def defined(self, node: ast.ClassDef, scope: Scope) -> None:
        """A class: its body, then its methods, the constructor first."""
        bases = tuple(_base(x, scope) for x in node.bases)
        declaration = Class(node.name, bases, {}, {}, node)
        scope.names[node.name] = declaration
        self.classes.append(declaration)
        inner = Scope(declaration.names, scope, declaration)
        methods = [x for x in node.body if isinstance(x, ast.FunctionDef | ast.AsyncFunctionDef)]
        declaration.methods |= {x.name: x for x in methods}
        self.body([x for x in node.body if x not in methods], inner)
        if any(base.rpartition(".")[2] in _ENUMS for base in bases):
            _as_members(declaration)
        for method in sorted(methods, key=lambda x: x.name not in ("__init__", "__new__", "setUp")):
            self.function(method, scope, declaration)


_MUTATING = frozenset(
    {"append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update", "setdefault", "popitem"}
)


def _change_list(collection: list[object], method: str, node: ast.Call, scope: Scope) -> None:
    """What a method changes in a list; where the text does not tell, an unknown item says so."""
    arguments = [value(x, scope) for x in node.args]
    match method, arguments:
        case "append", [item]:
            collection.append(item)
        case "extend", [more] if (whole := items(more)) is not None:
            collection.extend(whole)
        case "insert", [int() as index, item]:
            collection.insert(index, item)
        case (("sort" | "reverse"), _):
            pass  # The order of states and rows of one event may change, and no more.
        case "clear", []:
            collection.clear()
        case _:
            collection.append(Unknown(ast.unparse(node)))


def _change_dict(collection: Keyed, method: str, node: ast.Call, scope: Scope) -> None:
    """What a method changes in a dict."""
    match method, [value(x, scope) for x in node.args]:
        case "update", [more] if not node.keywords:
            merge(collection, more, ast.unparse(node))
        case "clear", []:
            collection.clear()
        case _:
            collection.unknown.append(ast.unparse(node))


def _lose(collection: object, text: str) -> None:
    """Say in a collection that only running the code would tell what else is in it."""
    if isinstance(collection, Keyed):
        collection.unknown.append(text)
    elif isinstance(collection, list):
        collection.append(Unknown(text))


def _put(collection: object, index: object, item: object, text: str) -> None:
    """An item of a list or of a dict that is assigned."""
    match collection, index:
        case Keyed(), str() | int() | Member():
            collection[index] = item
        case Keyed(), _:
            collection.unknown.append(text)
        case list(), int() if -len(collection) <= index < len(collection):
            collection[index] = item
        case list(), _:
            collection.append(Unknown(text))


def _base(node: ast.expr, scope: Scope) -> str:
    """The name of a base class, as it was imported."""
    base = value(node, scope)
    return base.text if isinstance(base, Unknown) else ast.unparse(node).split("[")[0]


def _as_members(declaration: Class) -> None:
    for name, item in list(declaration.names.items()):
        if not name.startswith("_") and not isinstance(item, Member):
            declaration.names[name] = Member(declaration.name, name, item)
