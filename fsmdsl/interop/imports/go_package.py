"""Go sources as packages: their constants, variables, functions and methods, by name. Parsed by tree-sitter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.interop.imports.rules import NOT_READ
from fsmdsl.interop.imports.syntax_tree import Node, root_of, span, text, walk
from fsmdsl.interop.imports.table import ImportFailedError, Unread
from fsmdsl.text.source import Source, Span


@dataclass(frozen=True, slots=True)
class GoFile:
    """One file, and the paths of the packages that it imports, by the names that they have in it."""

    source: Source
    imports: dict[str, str]


@dataclass(frozen=True, slots=True)
class Declared:
    """A constant, variable or function: where its expression or body is, and for constants the value of `iota`."""

    node: Node
    file: GoFile
    package: Package
    iota: int = 0
    type: str = ""


@dataclass
class Package:
    """What the files of a folder declare. Methods are called `Type.Method`."""

    path: str
    files: list[GoFile] = field(default_factory=list)
    consts: dict[str, Declared] = field(default_factory=dict)
    variables: dict[str, Declared] = field(default_factory=dict)
    functions: dict[str, Declared] = field(default_factory=dict)
    trees: list[tuple[GoFile, Node]] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    """The declarations that are not Go."""
    ambiguous: set[str] = field(default_factory=set)
    """Constants, variables and functions that are declared several times, for several platforms."""


@cache
def _parser() -> Any:
    """The parser for Go. Raises `ImportFailedError` where the extra is not installed."""
    try:
        import tree_sitter
        import tree_sitter_go
    except ImportError as error:
        nowhere = Span(Source("go", ""), 0, 0)
        problem = NOT_READ.at(nowhere, "Go sources are parsed by tree-sitter, which is not installed")
        raise ImportFailedError(problem.help("pip install 'fsmdsl[go]'")) from error
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_go.language()))


def package(path: str, sources: Sequence[Source]) -> Package:
    """The package of some files. What is not Go in them is `Package.unread`."""
    go_package = Package(path)
    for source in sources:
        root = root_of(_parser(), source)
        if root.has_error:
            root = root_of(_parser(), Source(source.name, _with_terminators(source.text)))
        file = GoFile(source, dict(_imports(root)))
        go_package.files.append(file)
        go_package.trees.append((file, root))
        if root.type == "ERROR":
            go_package.unread.append(Unread("a file that is not Go", span(source, root)))
            continue
        for node in root.named_children:
            if node.has_error or node.is_error:
                broken = next((x for x in walk(node) if x.is_error or x.is_missing), node)
                go_package.unread.append(Unread("a declaration that is not Go", span(source, broken)))
            else:
                _declare(go_package, file, node)
    return go_package


_TOKEN = re.compile(
    r"""//[^\n]* | /\*.*?(?:\*/|\Z) | `[^`]*(?:`|\Z) | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | \w+ | \s+ | .""",
    re.DOTALL | re.VERBOSE,
)
_GROUPS = ("const", "var", "type", "import")


def _with_terminators(text: str) -> str:
    """The text with the terminators that the parser needs, and without those that it does not know; its positions are
    those of the text.

    Go allows `const (A = 1; B = 2 )` and `;;` on one line, as nobody who uses gofmt writes it.
    """
    tokens: list[str] = []
    depth, group = 0, -1
    last = ""
    for token in _TOKEN.findall(text):
        if token == "(":
            depth += 1
            group = depth if last in _GROUPS else group
        elif token == ")":
            if depth == group:
                group = -1
                if tokens[-1].isspace() and "\n" not in tokens[-1] and last != ";":
                    tokens[-1] = f"{tokens[-1][:-1]};"
            depth -= 1
        if token == ";" and last in ("", ";", "{"):
            token = " "
        tokens.append(token)
        last = last if token.isspace() or token.startswith(("//", "/*")) else token
    return "".join(tokens)


def statements(block: Node | None) -> list[Node]:
    """The statements of a block or a case."""
    if block is None:
        return []
    return [y for x in block.named_children for y in (x.named_children if x.type == "statement_list" else [x])]


def _imports(root: Node) -> Iterator[tuple[str, str]]:
    for spec in walk(root):
        if spec.type == "import_spec" and not spec.has_error:
            path = text(spec.child_by_field_name("path")).strip('"`')
            name = spec.child_by_field_name("name")
            yield text(name) if name is not None else _package_name(path), path


def _package_name(path: str) -> str:
    """The usual name of a package: the last part of its path that is not a version."""
    parts = [x for x in path.split("/") if not re.fullmatch(r"v\d+", x)]
    return parts[-1].removeprefix("go-") if parts else path


def _declare(go_package: Package, file: GoFile, node: Node) -> None:
    match node.type:
        case "const_declaration":
            _constants(go_package, file, node)
        case "var_declaration":
            for spec in walk(node):
                if spec.type == "var_spec":
                    _variable(go_package, file, spec)
        case "function_declaration":
            _function(go_package, text(node.child_by_field_name("name")), Declared(node, file, go_package))
        case "method_declaration":
            owner = receiver(node)
            _function(go_package, f"{owner}.{text(node.child_by_field_name('name'))}", Declared(node, file, go_package))


def _function(go_package: Package, name: str, declared: Declared) -> None:
    """One function. There may be several `init`, and one of a name for each platform."""
    n = 2
    unique = name
    if name in go_package.functions and name != "init":
        go_package.ambiguous.add(name)
    while unique in go_package.functions:
        unique = f"{name} {n}"
        n += 1
    go_package.functions[unique] = declared


def receiver(method: Node) -> str:
    """The type that a method belongs to."""
    parameters = method.child_by_field_name("receiver")
    return (
        next((text(x) for x in walk(parameters) if x.type == "type_identifier"), "") if parameters is not None else ""
    )


def _constants(go_package: Package, file: GoFile, node: Node) -> None:
    """The constants of a block; one without a value repeats the expression before it, with the next `iota`."""
    last: tuple[list[Node], str] = ([], "")
    specs = [x for x in node.named_children if x.type == "const_spec"]
    for iota, spec in enumerate(specs):
        values = spec.child_by_field_name("value")
        kind = spec.child_by_field_name("type")
        if values is not None:
            last = (values.named_children, text(kind))
        names = [x for x in spec.children_by_field_name("name") if x.type == "identifier"]
        for name, value in zip(names, last[0], strict=False):
            _declare_value(go_package, go_package.consts, text(name), Declared(value, file, go_package, iota, last[1]))


def _variable(go_package: Package, file: GoFile, spec: Node) -> None:
    values = spec.child_by_field_name("value")
    names = spec.children_by_field_name("name")
    for name, value in zip(names, values.named_children if values is not None else [], strict=False):
        _declare_value(go_package, go_package.variables, text(name), Declared(value, file, go_package))


def _declare_value(go_package: Package, values: dict[str, Declared], name: str, declared: Declared) -> None:
    earlier = values.get(name)
    if earlier is not None and (text(earlier.node), earlier.iota) != (text(declared.node), declared.iota):
        go_package.ambiguous.add(name)
    values[name] = declared
