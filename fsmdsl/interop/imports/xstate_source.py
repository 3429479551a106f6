"""XState machines in TypeScript and JavaScript: what `createMachine` is given, also behind `setup`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from fsmdsl.interop.imports.name_words import file_name
from fsmdsl.interop.imports.rules import NOT_READ, TOO_DEEP
from fsmdsl.interop.imports.script_values import Keyed, Script, declared
from fsmdsl.interop.imports.syntax_tree import Node, root_of, span, text, walk
from fsmdsl.interop.imports.table import Imported, ImportFailedError, Unread
from fsmdsl.interop.imports.xstate import Config, machine
from fsmdsl.text.source import Source, Span

_MAKERS = ("createMachine", "Machine")


def read(source: Source) -> Imported:
    """All machines that a file makes.

    Raises `ImportFailedError` where it is no TypeScript, makes no machine, or `tree-sitter` is not installed.
    """
    try:
        root = root_of(_parser(re.search(r"\.[mc]?ts$", source.name) is not None), source)
        makers = {*_MAKERS, *_aliases(root)}
        calls = [x for x in walk(root) if _makes(x, makers)]
        if not calls:
            raise _no_machine(source, root)
        read_calls = [(call, _machine(call, source)) for call in calls]
        machines = [x for _, x in read_calls if x is not None]
        missing = [span(source, call) for call, x in read_calls if x is None]
    except RecursionError as error:
        raise ImportFailedError(TOO_DEEP.at(Span(source, 0, 0), "this is nested too deeply to be read")) from error
    tables = tuple(t for x in machines for t in x.tables)
    left_out = tuple(y for x in machines for y in x.left_out)
    if not tables:
        problem = NOT_READ.at(span(source, calls[0]), "the source does not spell out the states of this machine")
        raise ImportFailedError(problem.help("write the argument of `createMachine` as an object with `states`"))
    unread = tuple(y for x in machines for y in x.unread)
    unread += tuple(Unread("a machine whose states the source does not spell out", x) for x in missing)
    return Imported(tables, left_out, unread)


@cache
def _parser(plain: bool) -> Any:
    """The parser for TypeScript: `plain`, or with JSX, which JavaScript is a part of."""
    try:
        import tree_sitter
        import tree_sitter_typescript
    except ImportError as error:
        nowhere = Span(Source("typescript", ""), 0, 0)
        problem = NOT_READ.at(nowhere, "TypeScript and JavaScript are parsed by tree-sitter, which is not installed")
        raise ImportFailedError(problem.help("pip install 'fsmdsl[typescript]'")) from error
    grammar = tree_sitter_typescript.language_typescript if plain else tree_sitter_typescript.language_tsx
    return tree_sitter.Parser(tree_sitter.Language(grammar()))


def _no_machine(source: Source, root: Node) -> ImportFailedError:
    broken = next((x for x in walk(root) if x.type == "ERROR" or x.is_missing), None)
    if broken is not None:
        return ImportFailedError(NOT_READ.at(span(source, broken), "this is not TypeScript or JavaScript"))
    problem = NOT_READ.at(Span(source, 0, 0), "`createMachine` is not called here")
    return ImportFailedError(problem.help("name the file that calls `createMachine`, or `setup(…).createMachine`"))


def _aliases(root: Node) -> Iterator[str]:
    """The names that the file imports `createMachine` as."""
    for x in walk(root):
        alias = x.child_by_field_name("alias") if x.type == "import_specifier" else None
        if alias is not None and text(x.child_by_field_name("name")) in _MAKERS:
            yield text(alias)


def _makes(node: Node, makers: set[str]) -> bool:
    """Is it `createMachine(…)`, or `….createMachine(…)`?"""
    function = node.child_by_field_name("function") if node.type == "call_expression" else None
    if function is None:
        return False
    name = function.child_by_field_name("property") if function.type == "member_expression" else function
    return text(name) in makers


def _machine(call: Node, source: Source) -> Imported | None:
    """The machine of a call; None where the source does not spell out its states."""
    script = Script(source)
    arguments = [x for x in call.child_by_field_name("arguments").named_children if x.type != "comment"]
    config = script.value(arguments[0]) if arguments else None
    if not isinstance(config, Keyed) or not isinstance(config.get("states"), dict) or not config["states"]:
        return None
    place = span(source, call)
    delays: dict[str, float] = {}
    implementations = [*_setups(call.child_by_field_name("function"), 0), *arguments[1:2]]
    for implementation in map(script.value, implementations):
        named_delays = implementation.get("delays") if isinstance(implementation, Keyed) else None
        delays |= (
            {k: x for k, x in (named_delays or {}).items() if isinstance(x, int | float)}
            if isinstance(named_delays, dict)
            else {}
        )
    places = {path: Span(source, at, at) for path, at in _places(config, ())}
    name = _assigned(call) or file_name(source.name).split(".")[0]
    imported = machine(config, Config(name, place, places, delays))
    if any(x.has_error for x in arguments):
        broken = Unread("a part of the source that is not TypeScript", place)
        return Imported(imported.tables, imported.left_out, (broken,))
    return imported


def _setups(function: Node, level: int) -> Iterator[Node]:
    """What `setup` and `extend` were given, of `setup(…).extend(…).createMachine`, the first of them first."""
    owner = function.child_by_field_name("object")
    while owner is not None and level < 20:
        level += 1
        if owner.type == "identifier":
            owner = declared(owner)
        elif owner.type == "call_expression":
            yield from _setups(owner.child_by_field_name("function"), level)
            yield from owner.child_by_field_name("arguments").named_children[:1]
            return
        else:
            return


_AROUND = (
    "as_expression", "satisfies_expression", "parenthesized_expression", "return_statement", "statement_block",
    "arrow_function", "function_expression",
)  # fmt: skip
"""What may be between a machine and what holds or makes it."""

_EMPTY_WORDS = ("make", "create", "build", "new", "get", "init", "setup", "machine", "fsm", "m", "default", "exports")
"""Words that do not say what a machine is."""


def _assigned(call: Node) -> str | None:
    """The constant, the property or the function that holds or makes the machine, unless its name says no more than
    that."""
    here = call.parent
    while here is not None and here.type in _AROUND:
        here = here.parent
    field_name = None if here is None else _HOLDERS.get(here.type)
    if here is None or field_name is None:
        return None
    name = text(here.child_by_field_name(field_name)).rpartition(".")[2].strip("'\"#")
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    if all(x.lower() in _EMPTY_WORDS for x in words):
        return None
    return re.sub(r"^(?:make|create|build|get|new|init|setup)(?=[A-Z])", "", name)


_HOLDERS = {
    "variable_declarator": "name",
    "function_declaration": "name",
    "method_definition": "name",
    "public_field_definition": "name",
    "field_definition": "property",
    "pair": "key",
    "assignment_expression": "left",
}
"""What holds or makes a machine, and the field of its name."""


def _places(config: Keyed, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Where each key of each object is written, by its path."""
    for key, x in config.items():
        yield (*path, key), config.places.get(key, 0)
        if isinstance(x, Keyed):
            yield from _places(x, (*path, key))
