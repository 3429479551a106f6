"""Import statements, in the order in which they are sorted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fsmdsl.classes.names import numbered

Origin = tuple[str, ...]
"""The path of a module from the top of what is generated: `("hived", "cell")`."""


def relative_imports(package: Origin, names: Mapping[Origin, Iterable[str]], width: int) -> list[str]:
    """What a file in a package imports from modules elsewhere, the farthest first; names in brackets where a line is
    longer than `width`."""
    origins = sorted(names, key=lambda x: (-_ups(package, x), relative_path(package, x)))
    sorted_names = {x: sorted(set(names[x]), key=import_order) for x in origins}
    return [line for x in origins for line in _imports(relative_path(package, x), sorted_names[x], width)]


def _imports(path: str, names: list[str], width: int) -> list[str]:
    """The names of one module in a line; those with another name here in a line each, before it."""
    renamed = [x for x in names if " as " in x]
    others = [x for x in names if x not in renamed]
    return [import_statement(path, x, width) for x in ([y] for y in renamed)] + (
        [import_statement(path, others, width)] if others else []
    )


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
