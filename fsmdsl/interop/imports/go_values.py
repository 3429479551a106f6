"""What an expression of Go source is, as far as the text tells: constants, names of constants, structs, lists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.interop.imports.go_package import Declared, GoFile, Package, receiver, statements
from fsmdsl.interop.imports.python_values import without_warnings
from fsmdsl.interop.imports.rules import TOO_DEEP
from fsmdsl.interop.imports.syntax_tree import Node, children, text, walk
from fsmdsl.interop.imports.table import ImportFailedError
from fsmdsl.text.source import Source, Span

MAX_STEPS = 500_000
"""Maximum number of evaluated expressions and statements; each loop iteration and function call counts."""

MAX_LEVELS = 100
"""Maximum depth of nested calls."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that only running the code would tell."""

    text: str


@dataclass(frozen=True, slots=True)
class Const:
    """A constant of a named type: `RunApplication applicationEvent = 0`."""

    name: str
    type: str
    value: Any
    package: Package = field(compare=False, repr=False, hash=False)


@dataclass(slots=True)
class Struct:
    """A struct or a map: its fields, or its keys."""

    type: str
    fields: dict[Any, Any]
    node: Node
    file: GoFile
    package: Package
    nodes: dict[Any, Node] = field(default_factory=dict)
    """Where the value of each key is written."""


@dataclass(frozen=True, slots=True)
class Instance:
    """The receiver of a method: nothing but its type is known."""

    type: str
    package: Package = field(compare=False, repr=False, hash=False)


@dataclass(slots=True)
class GoList:
    """An array or a slice."""

    items: list[Any]


@dataclass(slots=True)
class Many:
    """What a function returns that returns several values."""

    items: list[Any]


@dataclass(slots=True)
class Env:
    """Where an expression is: its package and file, and what local names stand for."""

    package: Package
    file: GoFile
    names: dict[str, Any]
    level: int = 0
    iota: int = 0


class Evaluator:
    """Finds values; `packages` are those that are known, by their paths."""

    def __init__(self, packages: Mapping[str, Package]) -> None:
        self.packages = packages
        self.steps = 0
        self.conditions = 0
        """The number of `if` statements around the statement at hand."""

    def step(self, env: Env) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS or env.level > MAX_LEVELS:
            place = Span(env.file.source if env is not None else Source("go", ""), 0, 0)
            raise ImportFailedError(TOO_DEEP.at(place, "this is nested too deeply, or too large, to be read"))

    def value(self, node: Node, env: Env) -> Any:
        """The value of an expression."""
        self.step(env)
        match node.type:
            case "interpreted_string_literal" | "raw_string_literal":
                return _string(text(node))
            case "int_literal":
                return int(text(node), 0) if re.fullmatch(r"[1-9]\d{0,15}|0", text(node)) else Unknown(text(node))
            case "iota":
                return env.iota
            case "identifier" | "true" | "false":
                return self.name(text(node), env)
            case "parenthesized_expression" | "unary_expression" | "literal_element" | "expression_list":
                return self.value(node.named_children[-1], env) if node.named_children else Unknown(text(node))
            case "selector_expression":
                return self.selected(node, env)
            case "composite_literal":
                kind = node.child_by_field_name("type")
                return self.literal(node.child_by_field_name("body"), text(kind), env)
            case "literal_value":
                return self.literal(node, "", env)
            case "call_expression":
                return self.called(node, env)
            case "index_expression":
                return self.indexed(node, env)
            case "binary_expression":
                return self.binary(node, env)
            case _:
                return Unknown(text(node))

    def name(self, name: str, env: Env) -> Any:
        """What a name stands for: locally, else in the package."""
        if name in env.names:
            return env.names[name]
        return self.declared(name, env.package, env.level)

    def declared(self, name: str, package: Package, level: int) -> Any:
        """A constant or variable of a package."""
        if name in package.ambiguous:
            return Unknown(name)
        constant = package.consts.get(name)
        if constant is not None:
            inner = Env(package, constant.file, {}, level + 1, constant.iota)
            value = self.value(constant.node, inner)
            if isinstance(value, Const):
                return Const(name, value.type, value.value, package)
            return Const(name, constant.type, value, package) if constant.type else value
        variable = package.variables.get(name)
        if variable is not None:
            return self.value(variable.node, Env(package, variable.file, {}, level + 1))
        if name in package.functions:
            return package.functions[name]
        for function in (x for x in package.functions.values() if name and _assigns(x, name)):
            return self.assigned(function, name, level)
        return Unknown(name)

    def assigned(self, function: Declared, name: str, level: int) -> Any:
        """What a function assigns to a variable of the package, as in `once.Do(func() { v = … })`."""
        for node in walk(function.node):
            if node.type == "assignment_statement" and text(node.child_by_field_name("left")) == name:
                env = Env(function.package, function.file, {}, level + 1)
                return self.value(node.child_by_field_name("right"), env)
        return Unknown(name)

    def selected(self, node: Node, env: Env) -> Any:
        """`states.New`, `events.RunTask`, `task.handle`."""
        operand, name = node.child_by_field_name("operand"), text(node.child_by_field_name("field"))
        if operand.type == "identifier" and text(operand) in env.file.imports and text(operand) not in env.names:
            other = self.packages.get(env.file.imports[text(operand)])
            return Unknown(text(node)) if other is None else self.declared(name, other, env.level + 1)
        owner = self.value(operand, env)
        if isinstance(owner, Struct) and name in owner.fields:
            return owner.fields[name]
        return Unknown(text(node))

    # Literals and operators ------------------------------------------------------------------------------------------

    def literal(self, body: Node, kind: str, env: Env) -> Any:
        """A struct or map where it has keys that are not numbers, else a list."""
        pairs: dict[Any, Any] = {}
        nodes: dict[Any, Node] = {}
        items: list[Any] = []
        array = kind.startswith("[")
        mapped = kind.startswith(("map", "[")) or kind.endswith("Callbacks")
        for element in body.named_children:
            if element.type == "keyed_element":
                key, value = (x.named_children[0] for x in element.named_children[:2])
                item_key = text(key) if key.type == "identifier" and not mapped else self.value(key, env)
                item_key = item_key if isinstance(item_key, str | int | Const) else Unknown(text(key))
                pairs[item_key] = self.value(value, env)
                nodes[item_key] = value
            elif element.type == "literal_element":
                items.append(self.value(element.named_children[0], env))
        if array and pairs:
            at = {n: x for key, x in pairs.items() if (n := _number(key)) is not None}
            return GoList([at.get(n, "") for n in range(min(max(at, default=-1) + 1, 10_000))])
        if items or array or kind.endswith("Events"):
            return GoList(items)
        return Struct(kind, pairs, body, env.file, env.package, nodes)

    def indexed(self, node: Node, env: Env) -> Any:
        """An item of a list by its number, of a map by its key."""
        owner = self.value(node.child_by_field_name("operand"), env)
        index = self.value(node.child_by_field_name("index"), env)
        number = _number(index)
        if isinstance(owner, GoList) and isinstance(number, int) and 0 <= number < len(owner.items):
            return owner.items[number]
        if isinstance(owner, Struct):
            for key, item in owner.fields.items():
                if key == index or (number is not None and _number(key) == number):
                    return item
        return Unknown(text(node))

    def binary(self, node: Node, env: Env) -> Any:
        """`+` of texts and of numbers; other operators are not known."""
        left, right = (self.value(node.child_by_field_name(x), env) for x in ("left", "right"))
        if text(node.child_by_field_name("operator")) == "+":
            texts = text_of(self, left, env), text_of(self, right, env)
            if texts[0] is not None and texts[1] is not None:
                return f"{texts[0]}{texts[1]}"
            numbers = _number(left), _number(right)
            if numbers[0] is not None and numbers[1] is not None:
                return numbers[0] + numbers[1]
        return Unknown(text(node))

    # Calls -----------------------------------------------------------------------------------------------------------

    def called(self, node: Node, env: Env) -> Any:
        """`X.String()`, `string(X)`, `fmt.Sprintf(…)`, `append(…)`, and functions of the packages that are known."""
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments").named_children
        name = text(function)
        if name == "string" and len(arguments) == 1:
            return self.plain(arguments[0], env)
        if name == "append" and arguments:
            return self.appended(arguments, env)
        if name == "make" and arguments:
            return self.empty(node, arguments, env)
        if name in ("fmt.Sprintf", "fmt.Sprint", "strings.ToLower", "strings.ToUpper"):
            return self.formatted(name, node, [self.string(x, env) for x in arguments])
        if function.type == "selector_expression":
            returned = self.method(function, arguments, env)
            if returned is not None:
                return returned
        declared = self.value(function, env)
        if isinstance(declared, Declared):
            return self.result(declared, [self.value(x, env) for x in arguments], env.level)
        return Unknown(text(node))

    def plain(self, node: Node, env: Env) -> Any:
        """A constant as text, without its type."""
        constant = self.value(node, env)
        constant = constant.value if isinstance(constant, Const) else constant
        return constant if isinstance(constant, str) else Unknown(text(node))

    def string(self, node: Node, env: Env) -> str | None:
        """What `%s` shows of an expression."""
        return text_of(self, self.value(node, env), env)

    def appended(self, arguments: list[Node], env: Env) -> Any:
        first, *more = (self.value(x, env) for x in arguments if x.type != "variadic_argument")
        spread = [self.value(x.named_children[0], env) for x in arguments if x.type == "variadic_argument"]
        begun = (
            first.items if isinstance(first, GoList) else [Unknown(text(arguments[0]))] if _is_unknown(first) else []
        )
        spread_items = [y for x in spread for y in (x.items if isinstance(x, GoList) else [Unknown("…")])]
        return GoList([*begun, *more, *spread_items])

    def empty(self, node: Node, arguments: list[Node], env: Env) -> Any:
        """What `make` gives: a map, or a slice without items."""
        kind = text(arguments[0])
        if kind.startswith("map[") or kind.endswith("Callbacks"):
            return Struct(kind, {}, node, env.file, env.package)
        is_slice = kind.startswith("[]") or kind.endswith("Events")
        size = _number(self.value(arguments[1], env)) if len(arguments) > 1 else None
        return GoList([]) if is_slice and size == 0 else Unknown(text(node))

    def formatted(self, name: str, node: Node, texts: list[str | None]) -> Any:
        if not texts or any(x is None for x in texts):
            return Unknown(text(node))
        pattern, *rest = [x for x in texts if x is not None]
        match name:
            case "strings.ToLower":
                return pattern.lower()
            case "strings.ToUpper":
                return pattern.upper()
            case "fmt.Sprint":
                return "".join([pattern, *rest])
        if len(re.findall(r"%[sv]", pattern)) != len(rest):
            return Unknown(text(node))
        left = iter(rest)
        return re.sub(r"%[sv]", lambda _: next(left), pattern)

    def method(self, function: Node, arguments: list[Node], env: Env) -> Any:
        """What a method of a known type returns, such as `String` of a constant; None where it is none."""
        owner = self.value(function.child_by_field_name("operand"), env)
        name = text(function.child_by_field_name("field"))
        if not isinstance(owner, Const | Instance | Struct):
            return None
        declared = owner.package.functions.get(f"{owner.type}.{name}")
        if declared is None or f"{owner.type}.{name}" in owner.package.ambiguous:
            return None
        return self.result(declared, [self.value(x, env) for x in arguments], env.level, owner)

    def result(self, function: Declared, arguments: list[Any], level: int, owner: Any = None) -> Any:
        """What a function returns: the value of its last `return` that is reached, with loops followed."""
        env = self.inside(function, arguments, level, owner)
        self.step(env)
        body = function.node.child_by_field_name("body")
        return Unknown(text(function.node.child_by_field_name("name"))) if body is None else self.run(body, env)

    def inside(self, function: Declared, arguments: list[Any], level: int, owner: Any = None) -> Env:
        """The names inside of a function: its parameters, and the receiver of a method."""
        names: dict[str, Any] = {}
        parameters = function.node.child_by_field_name("parameters")
        values = iter(arguments)
        for parameter in parameters.named_children if parameters is not None else []:
            for x in parameter.children_by_field_name("name"):
                names[text(x)] = next(values, Unknown(text(x)))
        method = function.node.child_by_field_name("receiver")
        for x in walk(method) if method is not None else ():
            if x.type == "identifier":
                names[text(x)] = Instance(receiver(function.node), function.package) if owner is None else owner
        return Env(function.package, function.file, names, level + 1)

    # Statements ------------------------------------------------------------------------------------------------------

    def run(self, block: Node, env: Env) -> Any:
        """Follow the statements of a block; what it returns, or `Unknown`."""
        for statement in statements(block):
            self.step(env)
            match statement.type:
                case "return_statement":
                    expressions = [x for x in statement.named_children if x.type == "expression_list"]
                    values = [self.value(x, env) for x in expressions[0].named_children] if expressions else []
                    return Many(values) if len(values) > 1 else values[0] if values else Unknown("return")
                case "expression_switch_statement":
                    return self.switched(statement, env)
                case _:
                    if may_return(statement):
                        return Unknown(text(statement))
                    self.statement(statement, env)
        return Unknown("nothing is returned")

    def statement(self, node: Node, env: Env) -> None:
        """Assignments, loops over lists, and the bodies of conditions."""
        match node.type:
            case "short_var_declaration" | "assignment_statement":
                self.assign(node, env)
            case "var_declaration":
                for spec in (x for x in walk(node) if x.type == "var_spec"):
                    values = spec.child_by_field_name("value")
                    for name, x in zip(spec.children_by_field_name("name"), children(values), strict=False):
                        env.names[text(name)] = self.value(x, env)
            case "for_statement" if self.iterable(node, env) is not None:
                for turn in self.turns(node, env):
                    env.names |= turn
                    for inner in statements(node.child_by_field_name("body")):
                        self.statement(inner, env)
            case "if_statement":
                self.conditional(node, env)
            case "block":
                for inner in statements(node):
                    self.statement(inner, env)
            case "return_statement":
                pass
            case "expression_statement":
                self.called_for_effect(node, env)
            case _:
                self.forget(node, env)

    def assign(self, node: Node, env: Env) -> None:
        """Local names, and items of maps and lists, that get a value."""
        lefts, rights = (node.child_by_field_name(x).named_children for x in ("left", "right"))
        grown = node.type == "assignment_statement" and text(node.child_by_field_name("operator")) != "="
        values = [Unknown(text(node))] * len(lefts) if grown else [self.value(x, env) for x in rights]
        if len(values) == 1 and isinstance(values[0], Many):
            values = values[0].items
        values += [Unknown(text(x)) for x in lefts[len(values) :]]
        for n, (left, assigned) in enumerate(zip(lefts, values, strict=False)):
            if left.type == "identifier":
                env.names[text(left)] = assigned
            elif left.type == "index_expression":
                owner = self.value(left.child_by_field_name("operand"), env)
                index = self.value(left.child_by_field_name("index"), env)
                where = rights[n] if n < len(rights) else left
                if self.conditions:
                    index = assigned = Unknown(text(node))
                _put(owner, index, assigned, where)
        for literal in (x for y in rights for x in walk(y) if x.type == "func_literal"):
            self.forget(literal, env)

    def called_for_effect(self, node: Node, env: Env) -> None:
        """A call may change what it gets a pointer to, and what function literals in it assign."""
        for x in walk(node):
            if x.type == "unary_expression" and text(x).startswith("&") and text(x)[1:] in env.names:
                self.lose(text(x)[1:], text(node), env)
        self.forget(node, env)

    def lose(self, name: str, why: str, env: Env) -> None:
        """From here on, nothing more is earlier of a name than what it stood for."""
        earlier = env.names[name]
        env.names[name] = GoList([*earlier.items, Unknown(why)]) if isinstance(earlier, GoList) else Unknown(why)

    def conditional(self, node: Node, env: Env) -> None:
        """An `if`: nobody knows whether its blocks run, and so what its names stand for behind it."""
        initializer = node.child_by_field_name("initializer")
        if initializer is not None:
            self.statement(initializer, env)
        before = dict(env.names)
        self.conditions += 1
        for field_name in ("consequence", "alternative"):
            block = node.child_by_field_name(field_name)
            if block is not None:
                self.statement(block, env)
        self.conditions -= 1
        for name, earlier in before.items():
            now = env.names[name]
            if now is not earlier:
                items = now.items if isinstance(now, GoList) else None
                unknown = Unknown(f"if {text(node.child_by_field_name('condition'))}")
                env.names[name] = unknown if items is None or _is_unknown(earlier) else GoList([*items, unknown])

    def forget(self, node: Node, env: Env) -> None:
        """Statements that are not followed: what they assign is no longer earlier."""
        for x in walk(node):
            if x.type in ("assignment_statement", "short_var_declaration"):
                for left in x.child_by_field_name("left").named_children:
                    name = text(left.child_by_field_name("operand") if left.type == "index_expression" else left)
                    if name in env.names:
                        self.lose(name, text(x), env)

    def iterable(self, node: Node, env: Env) -> GoList | Struct | None:
        """What a loop goes through; None where the source does not tell."""
        clause = next((x for x in node.named_children if x.type == "range_clause"), None)
        over = None if clause is None else self.value(clause.child_by_field_name("right"), env)
        return over if isinstance(over, GoList | Struct) else None

    def turns(self, node: Node, env: Env) -> Iterator[dict[str, Any]]:
        """The names of each turn of `for key, value := range list`."""
        clause = next((x for x in node.named_children if x.type == "range_clause"), None)
        if clause is None:
            return
        left = clause.child_by_field_name("left")
        names = [text(x) for x in children(left)]
        over = self.iterable(node, env)
        pairs: Iterable[tuple[Any, Any]] = ()
        if isinstance(over, GoList):
            pairs = enumerate(over.items)
        elif isinstance(over, Struct):
            pairs = over.fields.items()
        for pair in list(pairs):
            self.step(env)
            yield dict(zip(names, pair, strict=False))

    def switched(self, node: Node, env: Env) -> Any:
        """What a `switch` on a constant returns."""
        subject = node.child_by_field_name("value")
        constant = None if subject is None else self.value(subject, env)
        default: Any = Unknown(text(node.children[0]))
        for case in node.named_children:
            if case.type == "default_case":
                default = self.run(case, env)
            elif case.type == "expression_case" and constant is not None:
                values = [self.value(x, env) for x in children(case.child_by_field_name("value"))]
                if constant in values:
                    return self.run(case, env)
        return default


def may_return(statement: Node) -> bool:
    """May a function end in this statement? The function literals in it are functions of their own."""
    waiting = [statement]
    while waiting:
        here = waiting.pop()
        if here.type == "return_statement":
            return True
        waiting += (x for x in here.named_children if x.type != "func_literal")
    return False


def _is_unknown(x: Any) -> bool:
    return isinstance(x, Unknown)


def _put(owner: Any, index: Any, item: Any, node: Node) -> None:
    """An item of a map or a list that is assigned."""
    if isinstance(owner, Struct):
        key = index if isinstance(index, str | int | Const) else Unknown(text(node))
        owner.fields[key], owner.nodes[key] = item, node
    elif isinstance(owner, GoList):
        number = _number(index)
        if number is not None and 0 <= number < len(owner.items):
            owner.items[number] = item
        else:
            owner.items.append(Unknown(text(node)))


def text_of(evaluator: Evaluator, value: Any, env: Env) -> str | None:
    """A value as text: a string, or what the `String` method of a constant's type returns."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Const):
        return None
    method = value.package.functions.get(f"{value.type}.String")
    if method is not None:
        string = evaluator.result(method, [], env.level, value)
        return string if isinstance(string, str) else None
    return value.value if isinstance(value.value, str) else None


def _number(constant: Any) -> int | None:
    value = constant.value if isinstance(constant, Const) else constant
    return value if isinstance(value, int) else None


def _assigns(function: Declared, name: str) -> bool:
    return any(
        x.type == "assignment_statement" and text(x.child_by_field_name("left")) == name for x in walk(function.node)
    )


def _string(literal: str) -> Any:
    if literal.startswith("`"):
        return literal.strip("`")
    try:
        with without_warnings():
            value = ast.literal_eval(literal)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return Unknown(literal)
    return value if isinstance(value, str) else Unknown(literal)
