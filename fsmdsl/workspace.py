"""Files to a model: reads specs, and the modules that they import."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.diagnostics import Diagnostic, Rule, Severity, ordered
from fsmdsl.parse import Parsed, parse
from fsmdsl.resolve import resolve
from fsmdsl.resolve.modules import module_name
from fsmdsl.settings import with_settings
from fsmdsl.source import Source, Span

UNREADABLE = Rule(
    "FSM510",
    "unreadable-file",
    Severity.ERROR,
    "a file or folder that cannot be read as a spec",
    """
The path does not exist, may not be read, or holds bytes that are not UTF-8 text. The rest of what was asked for is
still checked.

```console
$ fsm check no/such/file.fsm
```

Correct the path, or save the file as UTF-8.
""",
)

NOTHING = Rule(
    "FSM511",
    "no-specs",
    Severity.ERROR,
    "a folder without `.fsm` files",
    """
The command was given a folder, and neither it nor the folders in it have a file whose name ends in `.fsm`.

```console
$ fsm check empty-folder
```

Name the folder of the specs, or a file.
""",
)

RULES = (UNREADABLE, NOTHING)

STUDIES = "holes"
"""The name of folders that hold studies of what is wrong with a document. Nobody runs such a machine, so a command that
is given a folder passes over them; they are read when they are named."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was read, the model if nothing was wrong, and what was wrong."""

    parsed: tuple[Parsed, ...]
    model: m.Model | None
    diagnostics: tuple[Diagnostic, ...]
    asked: frozenset[str]
    """The modules of the files that were named, apart from those that came by import."""
    unanswered: Mapping[str, str] = field(default_factory=dict)
    """Settings that no set of instances and no parameter answered to, each with the reason."""


def load(
    paths: Sequence[Path | str], *, as_documented: bool = False, settings: Mapping[str, s.Expr] | None = None
) -> Loaded:
    """Read files and folders (searched for `*.fsm`; `-` is standard input), what they import, and resolve it all.

    `settings` replace sizes and parameters of systems, see `settings.with_settings`.
    """
    parsed, found = read(paths)
    asked = frozenset(module_name(p.module) for p in parsed)
    known = len(parsed)
    _read_imports(parsed, found)
    settled = with_settings([p.module for p in parsed], settings or {})
    resolved = resolve(settled.modules, as_documented=as_documented)
    found.extend(d for p in parsed[known:] for d in p.diagnostics)
    if not any(d.severity is Severity.ERROR for d in found):
        # Otherwise declarations are missing, and what resolve would say of the rest could be a consequence.
        found.extend(resolved.diagnostics)
    broken = any(d.severity is Severity.ERROR for d in found)
    model = None if broken else resolved.model
    return Loaded(tuple(parsed), model, tuple(ordered(found)), asked, settled.unanswered)


def read(paths: Sequence[Path | str]) -> tuple[list[Parsed], list[Diagnostic]]:
    """Read and parse files and folders, and nothing else."""
    found: list[Diagnostic] = []
    parsed = [p for p in (_read(path, found) for path in _files(paths, found)) if p is not None]
    found.extend(d for p in parsed for d in p.diagnostics)
    return parsed, found


def _files(paths: Iterable[Path | str], found: list[Diagnostic]) -> Iterator[Path]:
    for path in map(Path, paths):
        if not path.is_dir():
            yield path
            continue
        inside = sorted(p for p in path.rglob("*.fsm") if not any(map(_passed_over, p.relative_to(path).parts)))
        if not inside:
            found.append(NOTHING.at(_whole(str(path)), f"`{path}` has no `.fsm` file"))
        yield from inside


def _passed_over(name: str) -> bool:
    return name.startswith(".") or name == STUDIES


def _read(path: Path, found: list[Diagnostic]) -> Parsed | None:
    try:
        if str(path) == "-":
            return parse(Source("<stdin>", sys.stdin.buffer.read().decode("utf-8")))
        return parse(Source(str(path), path.read_bytes().decode("utf-8")))
    except UnicodeDecodeError as error:
        found.append(UNREADABLE.at(_whole(str(path)), f"this is not UTF-8 text: byte {error.start} cannot be read"))
    except OSError as error:
        found.append(UNREADABLE.at(_whole(str(path)), f"cannot be read: {(error.strerror or 'unknown error').lower()}"))
    return None


def _whole(name: str) -> Span:
    return Span(Source(name, ""), 0, 0)


def _read_imports(parsed: list[Parsed], found: list[Diagnostic]) -> None:
    """Add the files of imported modules, until no import is left that a file could answer."""
    known = {module_name(p.module) for p in parsed}
    i = 0
    while i < len(parsed):
        for imported in parsed[i].module.imports:
            name = str(imported.path)
            path = home_of(Path(parsed[i].source.name), name) if name not in known else None
            extra = _read(path, found) if path is not None else None
            if extra is not None and module_name(extra.module) == name:
                known.add(name)
                parsed.append(extra)
        i += 1


def home_of(importer: Path, name: str) -> Path | None:
    """The file of a module: `a/b.fsm`, `b.fsm` or `a.b.fsm` beside the importer or in a folder above it."""
    names = name.split(".")
    tries = [Path(*names).with_suffix(".fsm"), Path(f"{names[-1]}.fsm"), Path(*names, f"{names[-1]}.fsm")]
    for folder in importer.absolute().parents:
        for candidate in tries:
            path = folder / candidate
            if path.is_file():
                return _shortened(path, importer)
        if (folder / ".git").exists():
            break
    return None


def _shortened(path: Path, importer: Path) -> Path:
    """The path as the author would name it: relative where the importer's is."""
    if importer.is_absolute():
        return path
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path
