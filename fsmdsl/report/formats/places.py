"""Where findings are, as programs ask for it: addresses of files, and names that outlive a change of lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path, PurePath
from urllib.parse import quote

from fsmdsl.model.resolve.declarations.modules import module_name
from fsmdsl.syntax.parse import parse
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import NOWHERE, Source, Span


def path_of(source: Source) -> str:
    """The path as the repository has it, where the command runs at its root: relative, with forward slashes. Empty for
    what is in no file."""
    if source is NOWHERE.source:
        return ""
    path = PurePath(source.name)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return path.as_posix()


def address(source: Source) -> str:
    """The path as a URI reference: relative, unless the file lies elsewhere."""
    path = path_of(source)
    return f"file://{quote(path)}" if path.startswith("/") else quote(path)


def declaration(span: Span) -> str:
    """The module, and the machine, system or scenario around a place: `door.Door`."""
    module, members = _declared(span.source)
    inside = next((name for name, start, end in members if start <= span.start < end), None)
    return module if inside is None else f"{module}.{inside}"


@lru_cache(maxsize=256)
def _declared(source: Source) -> tuple[str, tuple[tuple[str, int, int], ...]]:
    if not source.text or PurePath(source.name).suffix not in ("", ".fsm"):
        return source.name, ()
    module = parse(source).module
    declarations = ((str(getattr(getattr(x, "name", None), "text", "")), x.span) for x in module.members)
    return module_name(module), tuple((name, span.start, span.end) for name, span in declarations if name)


def fingerprints(diagnostics: Iterable[Diagnostic]) -> list[str]:
    """A name for each finding that stays the same when lines are added above it: of its rule, the declaration that it
    is in, and what it says. Those that agree in all of this are numbered."""
    return numbered(map(content_of, diagnostics))


def content_of(d: Diagnostic) -> str:
    """What makes a finding the same as one of an earlier run: not its line."""
    return "\0".join([d.rule.code, declaration(d.span), d.message])


def numbered(contents: Iterable[str]) -> list[str]:
    """A name for each content; equal ones are numbered."""
    counts: Counter[str] = Counter()
    out: list[str] = []
    for content in contents:
        counts[content] += 1
        out.append(sha256(f"{content}\0{counts[content]}".encode("utf-8", "surrogatepass")).hexdigest()[:32])
    return out
