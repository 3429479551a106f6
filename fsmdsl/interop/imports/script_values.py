"""What an expression of TypeScript or JavaScript is, as far as the text alone tells: nothing of it is run."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.interop.imports.rules import TOO_DEEP
from fsmdsl.interop.imports.syntax_tree import Node, children, span, text, walk
from fsmdsl.interop.imports.table import ImportFailedError
from fsmdsl.text.source import Source

SPREAD = "\0"
"""What a key begins with that stands for parts of an object that only running the code would tell: `...rest`."""

MAX_EXPRESSIONS = 200_000
"""Maximum number of evaluated expressions; those of a constant count for each use."""

MAX_LEVELS = 400
"""Maximum nesting depth of expressions."""

_WRAPPED = ("parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression")
_SCOPES = ("program", "statement_block", "switch_case")
_FUNCTIONS = (
    "arrow_function", "function_expression", "function_declaration", "method_definition", "generator_function",
    "generator_function_declaration",
)  # fmt: skip
_MUTATING = frozenset({"push", "unshift", "splice", "pop", "shift", "set", "add", "delete", "reverse", "sort", "fill"})
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}


@dataclass(frozen=True, slots=True)
class Code:
    """An expression that only running the code would tell: as it is written, and of a call what is called."""

    text: str
    function: str = ""
    arguments: tuple[Any, ...] = field(compare=False, hash=False, default=())


class Keyed(dict[str, Any]):
    """An object, and the offset at which each of its keys is written."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[str, int] = {}


class Script:
    """The expressions of one file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.left = MAX_EXPRESSIONS
        self.mutated: set[str] | None = None
        """The names whose objects and lists are changed after they were made."""
        self.open: list[int] = []
        """The constants that are being read, and the levels of expressions around."""

    def value(self, node: Node, level: int = 0) -> Any:
        """Texts, numbers, truth values, lists, objects, constants; `Code` for all others.

        Raises `ImportFailedError` where there are too many expressions, or too many levels.
        """
        self.left -= 1
        if self.left < 0 or level > MAX_LEVELS:
            raise ImportFailedError(TOO_DEEP.at(span(self.source, node), "there are too many expressions here"))
        if node.is_error or node.is_missing:
            return Code(_line(node))
        match node.type:
            case "string":
                return "".join(map(_piece, node.named_children))
            case "template_string":
                return self._template(node, level)
            case "number":
                return _number(node)
            case "true" | "false":
                return node.type == "true"
            case "null" | "undefined":
                return None
            case "array":
                return list(self._items(node, level))
            case "object":
                return self._object(node, level)
            case "identifier" | "shorthand_property_identifier":
                return self._value_of_name(node, level)
            case "member_expression" | "subscript_expression":
                return self._member(node, level)
            case "call_expression" | "new_expression":
                return self._call(node, level)
            case "binary_expression":
                return self._sum(node, level)
            case kind if kind in _WRAPPED and node.named_children:
                return self.value(node.named_children[0], level + 1)
            case "arrow_function":
                body = node.child_by_field_name("body")
                return Code(_line(node if body.type == "statement_block" else body), "=>")
        return Code(_line(node))

    def _items(self, node: Node, level: int) -> Iterator[Any]:
        for x in node.named_children:
            if x.type == "spread_element":
                whole = self.value(x.named_children[0], level + 1)
                yield from whole if isinstance(whole, list) else [Code(_line(x))]
            elif x.type != "comment":
                yield self.value(x, level + 1)

    def _object(self, node: Node, level: int) -> Keyed:
        out = Keyed()
        for x in node.named_children:
            match x.type:
                case "pair":
                    self._put(
                        out, self._key(x.child_by_field_name("key"), level), x, x.child_by_field_name("value"), level
                    )
                case "shorthand_property_identifier":
                    self._put(out, text(x), x, x, level)
                case "method_definition":
                    name = text(x.child_by_field_name("name"))
                    out[name], out.places[name] = Code(_line(x), "=>"), span(self.source, x).start
                case "spread_element":
                    whole = self.value(x.named_children[0], level + 1)
                    if isinstance(whole, Keyed):
                        out.update(whole)
                        out.places.update(whole.places)
                    else:
                        out[f"{SPREAD}{_line(x)}"] = Code(_line(x))
                case "comment":
                    pass
                case _:
                    out[f"{SPREAD}{_line(x)}"] = Code(_line(x))
        return out

    def _put(self, out: Keyed, key: str, place: Node, node: Node, level: int) -> None:
        out.pop(key, None)
        out[key], out.places[key] = self.value(node, level + 1), span(self.source, place).start

    def _key(self, node: Node, level: int) -> str:
        """A key as written, or the value of a computed one."""
        if node.type == "property_identifier":
            return text(node)
        key = self.value(node.named_children[0] if node.type == "computed_property_name" else node, level + 1)
        if isinstance(key, Code):
            return f"{SPREAD}{key.text}"
        return _number_text(key) if isinstance(key, int | float) else str(key)

    def _template(self, node: Node, level: int) -> Any:
        parts: list[str] = []
        for x in node.named_children:
            if x.type != "template_substitution":
                parts.append(_piece(x))
                continue
            part = self.value(x.named_children[0], level + 1) if x.named_children else None
            if not isinstance(part, str | int | float):
                return Code(_line(node))
            parts.append(part if isinstance(part, str) else _number_text(part))
        return "".join(parts)

    def _value_of_name(self, node: Node, level: int) -> Any:
        """A constant of the file; a name that is imported, or is a function, stands for itself."""
        declaration = None if text(node) == "undefined" else declared(node)
        if text(node) == "undefined":
            return None
        if declaration is None or declaration.id in self.open:
            return Code(text(node))
        self.open.append(declaration.id)
        constant = (
            self._enum(declaration, level) if declaration.type == "enum_body" else self.value(declaration, level + 1)
        )
        self.open.pop()
        if isinstance(constant, Keyed | list) and text(node) in self.changed(node):
            constant = _changed(constant, text(node))
        return Code(text(node)) if isinstance(constant, Code) else constant

    def changed(self, node: Node) -> set[str]:
        """The names of objects and lists that a statement of the file changes."""
        if self.mutated is None:
            root = node
            while root.parent is not None:
                root = root.parent
            self.mutated = set(_mutations(root))
        return self.mutated

    def _enum(self, body: Node, level: int) -> Keyed:
        out, n = Keyed(), 0
        for x in body.named_children:
            if x.type == "enum_assignment":
                self._put(
                    out, text(x.child_by_field_name("name")).strip("'\""), x, x.child_by_field_name("value"), level
                )
            elif x.type in ("property_identifier", "string"):
                name = text(x).strip("'\"")
                out[name], out.places[name] = n, span(self.source, x).start
            last = next(reversed(out.values()), None)
            n = last + 1 if isinstance(last, int) else n
        return out

    def _member(self, node: Node, level: int) -> Any:
        owner = self.value(node.child_by_field_name("object"), level + 1)
        index = node.child_by_field_name("property") or node.child_by_field_name("index")
        key = text(index) if node.type == "member_expression" else self.value(index, level + 1)
        match owner, key:
            case Keyed(), str() if key in owner:
                return owner[key]
            case list(), int() if not isinstance(key, bool) and 0 <= key < len(owner):
                return owner[key]
        return Code(_line(node))

    def _call(self, node: Node, level: int) -> Any:
        function = text(node.child_by_field_name("function") or node.child_by_field_name("constructor"))
        argument_list = node.child_by_field_name("arguments")
        arguments = (
            list(self._items(argument_list, level))
            if argument_list is not None and argument_list.type == "arguments"
            else []
        )
        name = function.rpartition(".")[2]
        if arguments and (name == "createStateConfig" or function == "Object.freeze"):
            return arguments[0]
        return Code(_line(node), name, tuple(arguments))

    def _sum(self, node: Node, level: int) -> Any:
        left, right = (self.value(node.child_by_field_name(x), level + 1) for x in ("left", "right"))
        numbers = all(isinstance(x, int | float) and abs(x) < 1e15 for x in (left, right))
        match text(node.child_by_field_name("operator")):
            case "*" if numbers:
                return left * right
            case "+" if numbers or (isinstance(left, str) and isinstance(right, str)):
                return left + right
            case "-" if numbers:
                return left - right
        return Code(_line(node))


def _changed(constant: Any, name: str) -> Any:
    """An object or a list with a part that only running the code would tell."""
    if isinstance(constant, list):
        return [*constant, Code(name)]
    out = Keyed()
    out.update(constant)
    out.places.update(constant.places)
    out[f"{SPREAD}{name}"] = Code(name)
    return out


def _mutations(root: Node) -> Iterator[str]:
    """What is assigned to a part of, or changed by one of its methods or by `Object.assign`."""
    for node in walk(root):
        changed: Node | None = None
        if node.type in ("assignment_expression", "augmented_assignment_expression"):
            changed = node.child_by_field_name("left")
        elif node.type == "call_expression":
            function, arguments = (node.child_by_field_name(x) for x in ("function", "arguments"))
            if text(function) == "Object.assign":
                changed = next(iter(children(arguments)), None)
            elif function is not None and text(function.child_by_field_name("property")) in _MUTATING:
                changed = function.child_by_field_name("object")
        while changed is not None and changed.type in ("member_expression", "subscript_expression"):
            changed = changed.child_by_field_name("object")
        if changed is not None and changed.type == "identifier":
            yield text(changed)


def declared(node: Node) -> Node | None:
    """What a name stands for where it is used: the expression of a constant, or the body of an enum."""
    name, here = text(node), node.parent
    while here is not None:
        if here.type in _FUNCTIONS and re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", _parameters(here)):
            return None
        if here.type in _SCOPES:
            for statement in here.named_children:
                inner = statement.child_by_field_name("declaration") if statement.type == "export_statement" else None
                declaration = _declares(inner or statement, name)
                if declaration is not None:
                    return declaration
        here = here.parent
    return None


def _parameters(function: Node) -> str:
    return text(function.child_by_field_name("parameters") or function.child_by_field_name("parameter"))


def _declares(statement: Node, name: str) -> Node | None:
    if statement.type == "enum_declaration" and text(statement.child_by_field_name("name")) == name:
        return statement.child_by_field_name("body")
    if statement.type == "lexical_declaration" and text(statement.child_by_field_name("kind")) == "const":
        for x in statement.named_children:
            if x.type == "variable_declarator" and text(x.child_by_field_name("name")) == name:
                return x.child_by_field_name("value")
    return None


def _piece(node: Node) -> str:
    """A part of a string: as it is, or an escape."""
    written = text(node)
    if node.type != "escape_sequence":
        return written
    code = re.fullmatch(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\})", written)
    if code is None:
        return _ESCAPES.get(written[1:], written[1:])
    n = int(code[1] or code[2] or code[3], 16)
    return chr(n) if n < 0x110000 and not 0xD800 <= n < 0xE000 else "\N{REPLACEMENT CHARACTER}"


def _number(node: Node) -> Any:
    written = text(node).replace("_", "")
    if len(written) > 40:
        return Code(written)
    try:
        return int(written, 0) if re.fullmatch(r"\d+|0[xob][0-9a-fA-F]+", written) else float(written)
    except (ValueError, OverflowError):
        return Code(written)


def _number_text(n: float) -> str:
    return str(int(n)) if math.isfinite(n) and n == int(n) else str(n)


def _line(node: Node) -> str:
    return " ".join(text(node).split())


def source_text(constant: Any) -> str:
    """A value as a person would write it, cut off where that is long."""
    if isinstance(constant, Code):
        return constant.text[:60]
    return json.dumps(constant, default=lambda x: x.text if isinstance(x, Code) else str(x))[:60]
