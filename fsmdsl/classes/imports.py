"""Import statements, in the order in which they are sorted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from fsmdsl.classes.names import numbered

Origin = tuple[str, ...]
"""The path of a module from the top of what is generated: `("hived", "cell")`."""


def relative_imports(
    package: Origin,
    names: Mapping[Origin, Iterable[str]],
    width: int,
    renamed: Mapping[Origin, Mapping[str, str]] = MappingProxyType({}),
) -> list[str]:
    """What a file in a package imports from modules elsewhere, the farthest first; names in brackets where a line is
    longer than `width`. `renamed`: those that have another name in the file, in a line each."""
    origins = sorted({*names, *renamed}, key=lambda x: (-_ups(package, x), relative_path(package, x)))
    lines: list[str] = []
    for x in origins:
        path, others = relative_path(package, x), renamed.get(x, {})
        plain = sorted(set(names.get(x, ())), key=import_order)
        lines += [f"from {path} import {name} as {others[name]}" for name in sorted(others, key=import_order)]
        lines += [import_statement(path, plain, width)] if plain else []
    return lines


def import_statement(path: str, names: Iterable[str], width: int) -> str:
    """One of them."""
    text = ", ".join(names)
    line = f"from {path} import {text}"
    return line if len(line) <= width else f"from {path} import ({text})"


def relative_path(package: Origin, origin: Origin) -> str:
    """How a file in one package names a module elsewhere: `.cell`, `..machinery`."""
    ups = _ups(package, origin)
    return "." * ups + ".".join(origin[len(package) - ups + 1 :])


def _ups(package: Origin, origin: Origin) -> int:
    """How many folders up the two meet; 1 is the package itself."""
    common = 0
    while common < min(len(package), len(origin)) and package[common] == origin[common]:
        common += 1
    return len(package) - common + 1


def import_order(name: str) -> tuple[int, list[tuple[int, str]]]:
    """As imports are sorted: constants, then classes, then functions; numbers in names count as numbers."""
    kind, parts = numbered(name)
    return kind, [(number, text.casefold()) for number, text in parts]
