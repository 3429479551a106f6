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


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a document."""

    content: Content
    line: int | None
    """Where it begins, counted from 1."""
    text: str = ""
    """A scalar as it was written: an address `010` is no eight."""


def read_text(text: str) -> Value:
    """The value of a YAML text; refuses what is no YAML, or says something twice."""
    try:
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
    if reader.problems:
        raise ConfigurationError(reader.problems)
    return value


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
        self.known: dict[int, Value] = {}
        self.open: set[int] = set()

    def value(self, node: yaml.Node, path: str) -> Value:
        if id(node) in self.known:
            return self.known[id(node)]
        line = node.start_mark.line + 1
        if id(node) in self.open:
            self.problems.append(Problem(path, line, "contains itself"))
            return Value(None, line)
        self.open.add(id(node))
        value = Value(self._content(node, path), line, node.value if isinstance(node, yaml.ScalarNode) else "")
        self.open.discard(id(node))
        self.known[id(node)] = value
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
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen and name != "<<":
                self.problems.append(Problem(f"{path}.{name}".lstrip("."), key.start_mark.line + 1, "is given twice"))
            seen.add(name)
        self.flatten_mapping(node)
        return {str(key.value): self.value(x, f"{path}.{key.value}".lstrip(".")) for key, x in node.value}

    def _scalar(self, node: yaml.Node, path: str) -> Content:
        try:
            made = self.construct_object(node)
        except (ValueError, yaml.YAMLError):
            self.problems.append(Problem(path, node.start_mark.line + 1, f"cannot be read: {node.value}"))
            return None
        return made if isinstance(made, str | int | float | bool) or made is None else str(node.value)
