"""Files to a model: reads specs, and the modules that they import."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.model.resolve import resolve
from fsmdsl.model.resolve.declarations.modules import module_name
from fsmdsl.syntax import amendments
from fsmdsl.syntax.parse import Parsed, parse
from fsmdsl.syntax.settings import with_settings
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity, ordered
from fsmdsl.text.files.read import UnreadableError, read_stdin, read_text, root_of
from fsmdsl.text.source import Source, Span
from fsmdsl.text.terminal import has_hidden, printable

UNREADABLE = Rule(
    "FSM510",
    "unreadable-file",
    Severity.ERROR,
    "a file or folder that cannot be read as a spec",
    """
The file cannot be used for one of these reasons:

- It is not readable.
- It is not a regular file, but a device, a named pipe or a folder.
- It is larger than 16 MiB.
- It contains bytes that are not UTF-8 text.
- It is reached through a link that points outside the given folder.
- Its name contains an invisible character, such as a line break, which could be used to forge messages.

All other files are still checked. A path that does not exist is a usage error: the command exits with code 2.

```console
$ mkfifo specs/door.fsm
$ fsm check specs
```

Save the file as UTF-8, or split a large file into modules. `--follow-links` also follows links that point outside the
given folder.
""",
)

NOTHING = Rule(
    "FSM511",
    "no-specs",
    Severity.ERROR,
    "a folder without `.fsm` files",
    """
The given folder and its subfolders contain no file whose name ends in `.fsm`.

```console
$ fsm check empty-folder
```

Pass the folder that contains the specs, or a file. `fsm init` creates a folder with a small spec.
""",
)

UNFINISHED = Rule(
    "FSM512",
    "unfinished",
    Severity.ERROR,
    "a time or memory limit was reached before the specs were read and checked",
    """
The time and memory for reading, resolving and checking the specs count towards `--max-seconds` and `--max-memory`. When
a limit is reached, the command stops with exit code 3 and gives no result for the specs.

```console
$ fsm check --max-seconds 0.001 specs
```

Raise the limit, or check fewer files at once. If a small spec takes long, please report it.
""",
)

NO_SYSTEM = Rule(
    "FSM513",
    "no-system",
    Severity.WARNING,
    "specs without a system to verify",
    """
`fsm verify` explores systems. Each system declares how many instances of each machine it contains, and what must hold
for them. The given files declare no system, so nothing was verified, and the exit code is 3.

```console
$ fsm verify machines.fsm
```

Add a system next to the machines, such as `system One { door: Door }`, which contains one instance of the machine
`Door`.
""",
)

RULES = (UNREADABLE, NOTHING, UNFINISHED, NO_SYSTEM)

STUDY_FOLDER = "holes"
"""The name of folders with studies of mistakes in a document. These machines are not meant to run, so a command skips
such a folder inside the folders that it searches. It reads one that is named explicitly."""


STDIN = "-"
"""What names standard input."""

T = TypeVar("T")

LIBRARY = Path(__file__).parent / "library"
"""The modules that come with the toolkit. A file of the same name beside the importer or above it comes first."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was read, the model if nothing was wrong, and what was wrong."""

    parsed: tuple[Parsed, ...]
    model: m.Model | None
    diagnostics: tuple[Diagnostic, ...]
    root_modules: frozenset[str]
    """The modules of the files that were named, apart from those that came by import."""
    unanswered: Mapping[str, str] = field(default_factory=dict)
    """Settings that no set of instances and no parameter answered to, and names of no amendment or of several, with the
    reason of each."""


@dataclass(frozen=True, slots=True)
class Files:
    """The files that were named, then those that they import, before any name is resolved."""

    parsed: tuple[Parsed, ...]
    root_count: int
    """How many of them were named."""
    diagnostics: tuple[Diagnostic, ...]
    """What reading and parsing found."""
    unread: frozenset[str]
    """Modules that are imported, and whose file cannot be read."""

    def without(self, modules: Iterable[str]) -> Files:
        """Those that are sound without some modules: neither these, nor what imports them, nor imports that nothing
        else needs."""
        removed = set(modules)
        while more := {module_name(p.module) for p in self.parsed if _imports(p) & removed} - removed:
            removed |= more
        roots = [p for p in self.parsed[: self.root_count] if module_name(p.module) not in removed]
        needed = self.imported_by(roots)
        imported = [p for p in self.parsed[self.root_count :] if module_name(p.module) in needed]
        diagnostics = tuple(d for p in (*roots, *imported) for d in p.diagnostics)
        return Files((*roots, *imported), len(roots), diagnostics, frozenset())

    def imported_by(self, importers: Iterable[Parsed]) -> set[str]:
        """The modules that some files import, directly or not."""
        imports = {module_name(p.module): _imports(p) for p in self.parsed}
        modules = {x for p in importers for x in _imports(p)}
        while more := {x for name in modules for x in imports.get(name, ())} - modules:
            modules |= more
        return modules


def _imports(p: Parsed) -> set[str]:
    return {str(x.path) for x in p.module.imports}


def load(
    paths: Sequence[Path | str],
    *,
    as_documented: bool = False,
    without: Sequence[str] = (),
    settings: Mapping[str, s.Expr] | None = None,
    follow_links: bool = False,
) -> Loaded:
    """Read files and folders (searched for `*.fsm`; `-` is standard input), what they import, and resolve it all.

    `without` names amendments to leave out (see `syntax.amendments`). `settings` replace sizes and parameters of
    systems (see `syntax.settings`). `follow_links`: see `read`.
    """
    files = read_files(paths, follow_links=follow_links)
    return resolve_files(files, as_documented=as_documented, without=without, settings=settings)


def read_files(paths: Sequence[Path | str], *, follow_links: bool = False) -> Files:
    """Read and parse files and folders, and what they import."""
    parsed, diagnostics = read(paths, follow_links=follow_links)
    root_count = len(parsed)
    unread = _read_imports(parsed, diagnostics, follow_links)
    diagnostics.extend(d for p in parsed[root_count:] for d in p.diagnostics)
    return Files(tuple(parsed), root_count, tuple(diagnostics), frozenset(unread))


def resolve_files(
    files: Files,
    *,
    as_documented: bool = False,
    without: Sequence[str] = (),
    settings: Mapping[str, s.Expr] | None = None,
    incomplete: bool = False,
) -> Loaded:
    """Resolve what was read; see `load`. `incomplete`: have amendments been left out of it already?"""
    root_modules = frozenset(module_name(p.module) for p in files.parsed[: files.root_count])
    left = amendments.without([p.module for p in files.parsed], without)
    settled = with_settings(left.modules, settings or {})
    incomplete = incomplete or bool(without)
    resolved = resolve(settled.modules, as_documented=as_documented, incomplete=incomplete, omitted=left.omitted)
    diagnostics = list(files.diagnostics)
    if not any(d.severity is Severity.ERROR for d in diagnostics):
        # Otherwise declarations are missing, and what resolve would say of the rest could be a consequence.
        diagnostics.extend(resolved.diagnostics)
    broken = any(d.severity is Severity.ERROR for d in diagnostics)
    model = None if broken else resolved.model
    return Loaded(
        files.parsed, model, tuple(ordered(diagnostics)), root_modules, {**settled.unanswered, **left.unanswered}
    )


def read(paths: Sequence[Path | str], *, follow_links: bool = False) -> tuple[list[Parsed], list[Diagnostic]]:
    """Read and parse files and folders, and nothing else. `follow_links`: also links that lead out of the folder that
    was named, or of the current folder where a file was."""
    diagnostics: list[Diagnostic] = []
    files = ((path, None if follow_links else within) for path, within in distinct(_files(paths, diagnostics)))
    parsed = [p for p in (_read(path, within, diagnostics) for path, within in files) if p is not None]
    diagnostics.extend(d for p in parsed for d in p.diagnostics)
    return parsed, diagnostics


def distinct(files: Iterable[tuple[Path, T]]) -> Iterator[tuple[Path, T]]:
    """Files that are named several times, in whatever way, once: by their first name, with what comes with that."""
    real_paths: set[str] = set()
    for path, value in files:
        real = _real(path)
        if real not in real_paths:
            real_paths.add(real)
            yield path, value


def _real(path: Path) -> str:
    if str(path) == STDIN:
        return STDIN
    try:
        return os.path.realpath(path)
    except ValueError:  # no file has such a name; reading it says so
        return str(path)


def _files(paths: Iterable[Path | str], diagnostics: list[Diagnostic]) -> Iterator[tuple[Path, Path]]:
    """Each file, and the folder out of which it may not lead."""
    for path in map(Path, paths):
        if not path.is_dir():
            yield path, root_of(path)
            continue
        inside = sorted(p for p in path.rglob("*.fsm") if not any(map(_passed_over, p.relative_to(path).parts)))
        if not inside:
            diagnostics.append(NOTHING.at(_whole(printable(str(path))), f"`{path}` has no `.fsm` file"))
        yield from ((p, path) for p in inside)


def _passed_over(name: str) -> bool:
    return name.startswith(".") or name == STUDY_FOLDER


def _read(path: Path, within: Path | None, diagnostics: list[Diagnostic]) -> Parsed | None:
    try:
        if has_hidden(str(path)):  # messages could be forged by it
            raise UnreadableError("its name has a line end or another character that cannot be seen", "rename it")
        if str(path) == STDIN:
            return parse(Source("<stdin>", read_stdin()))
        return parse(Source(str(path), read_text(path, within)))
    except UnreadableError as error:
        diagnostics.append(unreadable(str(path), error))
    return None


def unreadable(name: str, error: UnreadableError) -> Diagnostic:
    """The finding for a file that cannot be read."""
    diagnostic = UNREADABLE.at(_whole(printable(name)), str(error))
    return diagnostic if error.help is None else diagnostic.help(error.help)


def _whole(name: str) -> Span:
    return Span(Source(name, ""), 0, 0)


def _read_imports(parsed: list[Parsed], diagnostics: list[Diagnostic], follow_links: bool) -> set[str]:
    """Add the files of imported modules, until no import is left that a file could answer; the modules whose file
    cannot be read."""
    names = {module_name(p.module) for p in parsed}
    unread: set[str] = set()
    i = 0
    while i < len(parsed):
        for imported in parsed[i].module.imports:
            name = str(imported.path)
            path = home_of(Path(parsed[i].source.name), name) if name not in names | unread else None
            if path is None:
                continue
            extra = _read(path, None if follow_links else root_of(path), diagnostics)
            if extra is None:
                unread.add(name)
            elif module_name(extra.module) == name:
                names.add(name)
                parsed.append(extra)
        i += 1
    return unread


def home_of(importer: Path, name: str) -> Path | None:
    """The file of a module: `a/b.fsm`, `b.fsm` or `a/b/b.fsm` beside the importer or in a folder above it, else in the
    library."""
    names = name.split(".")
    tries = [Path(*names).with_suffix(".fsm"), Path(f"{names[-1]}.fsm"), Path(*names, f"{names[-1]}.fsm")]
    for folder in importer.absolute().parents:
        for candidate in tries:
            path = folder / candidate
            if path.is_file():
                return _shortened(path, importer)
        if (folder / ".git").exists():
            break
    ours = LIBRARY.joinpath(*names).with_suffix(".fsm")
    return ours if ours.is_file() else None


def shipped(path: str | Path) -> bool:
    """Whether a file is of the library. What the user's files say of it may be changed, the file not."""
    return Path(path).is_relative_to(LIBRARY)


def shipped_modules() -> tuple[str, ...]:
    """The names of the modules in the library."""
    return tuple(sorted(".".join(x.relative_to(LIBRARY).with_suffix("").parts) for x in LIBRARY.rglob("*.fsm")))


def _shortened(path: Path, importer: Path) -> Path:
    """The path as the author would name it: relative where the importer's is."""
    if importer.is_absolute():
        return path
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path
