"""Documents as values that know their line: YAML text, or what a program has made."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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


OCTAL = re.compile(r"[-+]?0o[0-7_]+")
"""A whole number to HiveD's YAML library, and none to YAML 1.1."""
SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")
"""A number in YAML 1.1, and a text to HiveD's library: `1:30` is no 90."""


def read_text(text: str, largest: int = 10_000_000, *, notes: list[Problem] | None = None) -> Value:
    """The value of a YAML text; refuses what is no YAML, or says something twice.

    Aliases cost nothing to write: `largest` is the maximum number of values with all of them expanded. With `notes`, a
    text is read as HiveD reads it: of a repeated key, the last one counts; a tag that is not known means nothing; what
    follows the first document is passed over. Each of these is noted.
    """
    lenient = notes is not None
    try:
        if sum(map(text.count, "[{-:?")) > MAX_DEPTH:
            _check_depth(text, first=lenient)
        compose = partial(yaml.compose, Loader=LOADER) if notes is None else partial(_first_document, notes=notes)
        node: yaml.Node | None = compose(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error)
        line = min(mark.line, text.rstrip().count("\n")) + 1 if mark is not None else None
        raise ConfigurationError([Problem("", line, f"is not YAML: {what}")]) from error
    if node is None:
        return Value({}, 1)
    reader = _Composer(notes)
    value = reader.value(node, "")
    if reader.sizes[id(node)] > largest:
        raise ConfigurationError([Problem("", 1, f"has more than {largest} values")])
    if reader.problems:
        raise ConfigurationError(reader.problems)
    return value


def _first_document(text: str, notes: list[Problem]) -> yaml.Node | None:
    """The first document of a text; that there are others, or something that is no YAML behind it, is noted."""
    loader = LOADER(text)
    try:
        if not loader.check_node():
            return None
        node: yaml.Node | None = loader.get_node()
        assert node is not None, "there is one"
        line = node.end_mark.line + 1
        try:
            more = loader.check_node()
        except yaml.YAMLError:
            more = True
        if more:
            notes.append(Problem("", line, "only the first document counts, which ends here"))
        return node
    finally:
        loader.dispose()


def _check_depth(text: str, *, first: bool) -> None:
    """Looks before anything is built: deep nesting overflows the stack of the C library, and ends the process.

    Each level takes one of `[{-:?` at least, so that a text with few of them need not be looked at. With `first`, only
    the first document is read.
    """
    depth = 0
    for event in yaml.parse(text, Loader=LOADER):
        if first and isinstance(event, yaml.DocumentEndEvent):
            return
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

    def __init__(self, notes: list[Problem] | None = None) -> None:
        super().__init__()
        self.problems: list[Problem] = []
        self.doubtful = self.problems if notes is None else notes
        """What HiveD passes over: a problem, unless the text is read as HiveD reads it."""
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
            if not isinstance(key, yaml.ScalarNode):
                self.problems.append(Problem(path, key.start_mark.line + 1, "a key must be a string"))
                continue
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
                self.doubtful.append(Problem(here, key.start_mark.line + 1, "is given twice"))
            own[name] = self.value(item, here)
        return {**merged, **own}

    def _scalar(self, node: yaml.Node, path: str) -> Content:
        text = str(node.value)
        plain = isinstance(node, yaml.ScalarNode) and not node.style
        if plain and OCTAL.fullmatch(text):
            return int(text.replace("0o", "", 1).replace("_", ""), 8)
        if plain and SEXAGESIMAL.fullmatch(text):
            return text
        try:
            scalar = self.construct_object(node)
        except (ValueError, KeyError, AttributeError, OverflowError, yaml.YAMLError):
            self.doubtful.append(Problem(path, node.start_mark.line + 1, f"cannot be read: {node.value}"))
            return None if self.doubtful is self.problems else text
        return scalar if isinstance(scalar, str | int | float | bool) or scalar is None else str(node.value)


def _inside(node: yaml.Node) -> list[yaml.Node]:
    match node:
        case yaml.MappingNode():
            return [value for _, value in node.value]
        case yaml.SequenceNode():
            return list(node.value)
        case _:
            return []
