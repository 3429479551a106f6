"""One file as it stands in an editor: its text, read in parts, so that each edit costs what it changes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

from fsmdsl import syntax as s
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.model.resolve.declarations.modules import module_name
from fsmdsl.syntax.parse.incremental import Part, in_file, read_parts
from fsmdsl.syntax.tree import Comment, Token
from fsmdsl.text.diagnostics import Diagnostic, Fix, Label, Severity
from fsmdsl.text.source import Source, Span


@dataclass(frozen=True, eq=False)
class Document:
    """What was read of a text. Of a file only the newest document stands where it says, see `parse.incremental`."""

    source: Source
    parts: tuple[Part, ...]
    module: s.Module

    @property
    def path(self) -> str:
        return self.source.name

    @property
    def name(self) -> str:
        """The name of the module."""
        return module_name(self.module)

    @cached_property
    def imports(self) -> tuple[str, ...]:
        return tuple(str(x.path) for x in self.module.imports)

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What the parser found, in the order of the text."""
        diagnostics = [placed(d) for p in self.parts for d in p.diagnostics]
        return tuple(sorted(diagnostics, key=lambda d: d.span.start))

    @property
    def broken(self) -> bool:
        """Whether declarations may be missing."""
        return any(d.severity is Severity.ERROR for p in self.parts for d in p.diagnostics)

    def part_at(self, offset: int) -> Part:
        """The part that a place is in; the place behind the last character is in the last."""
        return self.parts[max(bisect_right(self.parts, offset, key=lambda p: p.start) - 1, 0)]

    def tokens(self, start: int = 0, end: int | None = None) -> Iterator[Token]:
        """The words and signs between two places, with their places in the file."""
        yield from (x for x in self._moved(start, end) if isinstance(x, Token))

    def comments(self, start: int = 0, end: int | None = None) -> Iterator[Comment]:
        """The comments between two places."""
        yield from (x for x in self._moved(start, end) if isinstance(x, Comment))

    def _moved(self, start: int, end: int | None) -> Iterator[Token | Comment]:
        last = len(self.source.text) if end is None else end
        for part in self.parts:
            if part.end <= start or part.start >= last:
                continue
            for t in part.tokens[:-1]:
                if start < t.end + part.start and t.start + part.start < last:
                    yield Token(t.kind, t.text, t.start + part.start, t.end + part.start)
            for c in part.comments:
                if start < c.end + part.start and c.start + part.start < last:
                    yield c._replace(start=c.start + part.start, end=c.end + part.start)


def read_document(source: Source, before: Document | None = None) -> Document:
    """Read a text; what is the same in an earlier one is taken over from there."""
    parts = read_parts(source, () if before is None else before.parts)
    modules = [p.module for p in parts]
    module = replace(
        modules[0],
        sources=tuple(x for y in modules for x in y.sources),
        imports=tuple(x for y in modules for x in y.imports),
        members=tuple(x for y in modules for x in y.members),
        span=Span(source, 0, len(source.text)),
    )
    return Document(source, parts, module)


def placed(d: Diagnostic) -> Diagnostic:
    """The same finding, with places in the files as they stand now."""
    labels = tuple(Label(in_file(x.span), x.text) for x in d.labels)
    fix = None if d.fix is None else Fix(in_file(d.fix.span), d.fix.replacement, d.fix.title)
    return replace(d, span=in_file(d.span), labels=labels, fix=fix)
