"""The statements of Python source, followed as far as their text alone tells."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.imports.python_values import Called, Class, Member, Scope, Unknown, bound, items, value
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
        tree = ast.parse(source.text)
        walk = _Walk()
        walk.body(tree.body, walk.top)
    except SyntaxError as error:
        line = min(max(error.lineno or 1, 1), len(source.line_starts))
        start = source.line_starts[line - 1]
        raise ImportFailedError(NOT_READ.at(Span(source, start, start), f"this is not Python: {error.msg}")) from error
    except ValueError as error:
        raise ImportFailedError(NOT_READ.at(Span(source, 0, 0), f"this is not Python: {error}")) from error
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
                return
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                scope.names[statement.name] = Unknown(statement.name)
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
            case ast.AugAssign(target=ast.Name() as target, op=ast.Add() | ast.BitOr() as sign, value=node):
                whole = value(ast.BinOp(target, sign, node), scope)
                self.assign(target, whole, scope)
            case ast.Expr(value=ast.Await(value=node)) | ast.Expr(value=node):
                self.expression(node, scope)
            case ast.Return(value=ast.expr() as node):
                value(node, scope)
            case ast.For(target=target, iter=iterable, body=body):
                for item in items(value(iterable, scope)) or []:
                    for name, part in bound(target, item).items():
                        scope.names[name] = part
                    self.body(body, scope)
            case ast.If(body=body, orelse=orelse):
                self.body([*body, *orelse], scope)
            case ast.With(body=body) | ast.AsyncWith(body=body) | ast.Try(body=body) | ast.While(body=body):
                self.body(body, scope)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                scope.names.update({x.asname: Unknown(x.name) for x in names if x.asname is not None})
            case ast.ClassDef():
                self.defined(statement, scope)

    def expression(self, node: ast.expr, scope: Scope) -> None:
        """A statement that is an expression: mostly a call. Lists grow by `append` and `extend`."""
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="append" | "extend" as how), args=[argument]):
                grown, more = value(owner, scope), value(argument, scope)
                if isinstance(grown, list):
                    grown.extend([more] if how == "append" else items(more) or [])
            case _:
                value(node, scope)

    def assign(self, target: ast.expr, assigned: object, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                scope.names[name] = assigned
            case ast.Tuple() | ast.List():
                scope.names.update(bound(target, assigned))
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


def _base(node: ast.expr, scope: Scope) -> str:
    """The name of a base class, as it was imported."""
    base = value(node, scope)
    return base.text if isinstance(base, Unknown) else ast.unparse(node).split("[")[0]


def _as_members(declaration: Class) -> None:
    for name, item in list(declaration.names.items()):
        if not name.startswith("_") and not isinstance(item, Member):
            declaration.names[name] = Member(declaration.name, name, item)
