"""Documents as values that know their line: YAML text, or what a program has made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import yaml

from runtime.errors import ConfigurationError, Problem

Content: TypeAlias = "str | int | float | bool | list[Value] | dict[str, Value] | None"

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one written in C where PyYAML was built with it: large clusters are long documents."""

MAX_DEPTH = 100
"""Maximum nesting depth of a document."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a document."""

    content: Content
    line: int | None
    """Where it begins, counted from 1."""
    text: str = ""
    """A scalar as it was written: an address `010` is no eight."""


def read_text(text: str, largest: int = 10_000_000) -> Value:
    """The value of a YAML text; refuses what is no YAML, or says something twice.

    Aliases cost nothing to write: this is the maximum number of values with all of them expanded.
    """
    try:
        if sum(map(text.count, "[{-:?")) > MAX_DEPTH:
            _check_depth(text)
        node = yaml.compose(text, Loader=LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error)
        line = min(mark.line, text.rstrip().count("\n")) + 1 if mark is not None else None
        raise ConfigurationError([Problem("", line, f"is no YAML: {what}")]) from error
    if node is None:
        return Value({}, 1)
    reader = _Composer()
    value = reader.value(node, "")
    if reader.sizes[id(node)] > largest:
        raise ConfigurationError([Problem("", 1, f"has more than {largest} values")])
    if reader.problems:
        raise ConfigurationError(reader.problems)
    return value


def _check_depth(text: str) -> None:
    """Looks before anything is built: deep nesting overflows the stack of the C library, and ends the process.

    Each level takes one of `[{-:?` at least, so that a text with few of them need not be looked at.
    """
    depth = 0
    for event in yaml.parse(text, Loader=LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            line = event.start_mark.line + 1 if event.start_mark is not None else None
            raise ConfigurationError([Problem("", line, f"is nested more than {MAX_DEPTH} deep")])


def read_object(content: object) -> Value:
    """The same for a mapping that a program has made."""
    match content:
        case Value():
            return content
        case Mapping():
            return Value({str(k): read_object(v) for k, v in content.items()}, None)
        case str() | int() | float() | bool() | None:
            return Value(content, None, "" if content is None else str(content))
        case Sequence():
            return Value([read_object(x) for x in content], None)
        case _:
            return Value(str(content), None)


class _Composer(yaml.constructor.SafeConstructor):
    """From the nodes of PyYAML, which know where they stand, to values. Aliases share their value."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[Problem] = []
        self.values: dict[int, Value] = {}
        self.open: set[int] = set()
        self.sizes: dict[int, int] = {}
        """Values in a value, aliases written out."""

    def value(self, node: yaml.Node, path: str) -> Value:
        if id(node) in self.values:
            return self.values[id(node)]
        line = node.start_mark.line + 1
        if id(node) in self.open:
            self.problems.append(Problem(path, line, "contains itself"))
            return Value(None, line)
        self.open.add(id(node))
        value = Value(self._content(node, path), line, node.value if isinstance(node, yaml.ScalarNode) else "")
        self.open.discard(id(node))
        self.sizes[id(node)] = 1 + sum(self.sizes.get(id(x), 1) for x in _inside(node))
        self.values[id(node)] = value
        return value

    def _content(self, node: yaml.Node, path: str) -> Content:
        match node:
            case yaml.MappingNode():
                return self._table(node, path)
            case yaml.SequenceNode():
                return [self.value(x, f"{path}[{i}]") for i, x in enumerate(node.value)]
            case _:
                return self._scalar(node, path)

    def _table(self, node: yaml.MappingNode, path: str) -> dict[str, Value]:
        """Keys are texts. Of a merge key (`<<`), what the mapping does not say itself; of several, the first counts."""
        own: dict[str, Value] = {}
        merged: dict[str, Value] = {}
        for key, item in node.value:
            name, here = str(key.value), f"{path}.{key.value}".lstrip(".")
            if key.tag == "tag:yaml.org,2002:merge":
                for source in item.value if isinstance(item, yaml.SequenceNode) else [item]:
                    content = self.value(source, here).content
                    if isinstance(content, dict):
                        merged = {**content, **merged}
                    else:
                        self.problems.append(Problem(here, key.start_mark.line + 1, "can merge mappings only"))
                continue
            if name in own:
                self.problems.append(Problem(here, key.start_mark.line + 1, "is given twice"))
            own[name] = self.value(item, here)
        return {**merged, **own}

    def _scalar(self, node: yaml.Node, path: str) -> Content:
        try:
            scalar = self.construct_object(node)
        except (ValueError, KeyError, AttributeError, OverflowError, yaml.YAMLError):
            self.problems.append(Problem(path, node.start_mark.line + 1, f"cannot be read: {node.value}"))
            return None
        return scalar if isinstance(scalar, str | int | float | bool) or scalar is None else str(node.value)


def _inside(node: yaml.Node) -> list[yaml.Node]:
    match node:
        case yaml.MappingNode():
            return [value for _, value in node.value]
        case yaml.SequenceNode():
            return list(node.value)
        case _:
            return []
