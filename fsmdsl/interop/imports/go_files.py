"""The Go files that belong to a table: those of its package, and of the packages of the same module that it imports."""

from __future__ import annotations

import re
from pathlib import Path

from fsmdsl.text.files.read import read_text
from fsmdsl.text.source import Source

_MODULE = re.compile(r"^module\s+(\S+)", re.MULTILINE)
_IMPORT = re.compile(r'^\s*(?:import\s+)?(?:\w+\s+)?"([^"\n]+)"', re.MULTILINE)


def go_sources(path: Path, *, follow_links: bool) -> tuple[dict[str, list[Source]], str]:
    """The packages by path, and the path of the one that was named: by its folder, or by a file of it.

    `follow_links`: also links that lead out of the module. Raises `UnreadableError`.
    """
    folder = path if path.is_dir() else path.parent
    root = _module_root(folder)
    module, top = ("", folder) if root is None else root
    within = None if follow_links else top
    main = _package_path(module, top, folder)
    packages = {main: _read(folder, within)}
    for source in list(packages[main]):
        for imported in _IMPORT.findall(source.text):
            if module and imported.startswith(f"{module}/") and imported not in packages:
                inside = top / imported.removeprefix(f"{module}/")
                if inside.is_dir():
                    packages[imported] = _read(inside, within)
    return packages, main


def _module_root(folder: Path) -> tuple[str, Path] | None:
    """The name of the module and its folder: the nearest `go.mod`."""
    for outer in (folder.absolute(), *folder.absolute().parents):
        module_file = outer / "go.mod"
        if module_file.is_file():
            match = _MODULE.search(read_text(module_file))
            return None if match is None else (match[1], outer)
    return None


def _package_path(module: str, top: Path, folder: Path) -> str:
    inside = folder.absolute().relative_to(top.absolute()).as_posix()
    parts = [x for x in (module, "" if inside == "." else inside) if x]
    return "/".join(parts) or folder.absolute().name


def _read(folder: Path, within: Path | None) -> list[Source]:
    """The files of a package, without its tests."""
    paths = sorted(x for x in folder.glob("*.go") if x.is_file() and not x.name.endswith("_test.go"))
    return [Source(str(x), read_text(x, within)) for x in paths]
