"""JSON Schema of the documents that commands print, made from `report.shapes`.

`python -m fsmdsl.report.formats.schema docs/schema` writes a file for each.
"""

from __future__ import annotations

import json
import sys
from inspect import cleandoc
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from fsmdsl.report import shapes
from fsmdsl.report.data import VERSION, Data
from fsmdsl.text.files.write import write

DOCUMENTS: dict[str, tuple[type, tuple[str, ...]]] = {
    "check": (shapes.Diagnostics, ("check", "diagnostics", "drift")),
    "verify": (shapes.Verify, ("verify",)),
    "test": (shapes.Test, ("test",)),
    "diff": (shapes.Diff, ("diff",)),
    "explain": (shapes.Explain, ("explain",)),
}
"""The shape of each document, and the kinds that it comes under."""


def schemas() -> dict[str, Data]:
    """Every document's schema, by name. More fields than it says are allowed: they may come under the same version."""
    return {name: _document(name, shape, kinds) for name, (shape, kinds) in DOCUMENTS.items()}


def _document(name: str, shape: type, kinds: tuple[str, ...]) -> Data:
    parts: Data = {}
    whole = _object(shape, parts)
    envelope = {"kind": {"enum": list(kinds)}, "version": {"const": VERSION}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"fsm {name} --format json",
        **whole,
        "properties": {**envelope, **whole["properties"]},
        "required": [*envelope, *whole["required"]],
        "$defs": dict(sorted(parts.items())),
    }


def _object(shape: type, parts: Data) -> Data:
    hints = get_type_hints(shape)
    properties = {name: _type(hint, parts) for name, hint in hints.items()}
    description = " ".join(cleandoc(shape.__doc__ or "").split())
    return {"description": description, "type": "object", "properties": properties, "required": list(hints)}


_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def _type(hint: Any, parts: Data) -> Data:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return {}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if is_typeddict(hint):
        if hint.__name__ not in parts:
            parts[hint.__name__] = {}
            parts[hint.__name__] = _object(hint, parts)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": _type(arguments[0], parts)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _type(arguments[1], parts)}
    if origin in (Union, UnionType):
        return {"anyOf": [_type(x, parts) for x in arguments]}
    raise TypeError(f"no schema for {hint}")


def files() -> dict[str, str]:
    """The name and text of every file."""
    return {f"{name}.schema.json": json.dumps(x, indent=2) + "\n" for name, x in schemas().items()}


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/schema")
    for file, content in files().items():
        write(folder / file, content)
