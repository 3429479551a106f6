"""A file read in parts, so that after an edit only what has changed is read again.

NOTE(parts): a part is one declaration of the module or a few, with the comments before it, and a source of its own.
Its nodes hold positions relative to it, so nothing changes when it moves as a whole; `PartSource` knows its offset.
Parts begin at lines that begin with a word that opens declarations. Each is parsed as if it followed a complete
declaration. A part without mistakes depends on its own text and the word after it alone; one with mistakes also on the
rest of the file, where `recovery` may have looked for a place to resume. Parsing in parts gives exactly what `parse`
gives. A file is one part where that cannot be guaranteed: with comments as in C, unusual spaces, lines that end in
`\\r` alone, or too many errors.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

from fsmdsl import syntax as s
from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.syntax.build import build
from fsmdsl.syntax.parse import soft_keywords as words
from fsmdsl.syntax.parse.automaton import BOTTOM, Frame, advance
from fsmdsl.syntax.parse.reading import go_on, limited, prune, read, straight_on, uncollected, whole
from fsmdsl.syntax.parse.rules import LIMIT, TOO_DEEP
from fsmdsl.syntax.parse.table import load
from fsmdsl.syntax.parse.tokens import Lexed, lex
from fsmdsl.syntax.tree import Comment, Token
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Source, Span, breaks

_INDIVISIBLE = re.compile(r"/\*|[^\S \t\r\n\f]|\r(?!\n)")
_LOOK_AHEAD = 4
"""Number of tokens after a complete declaration that can change how it is read; see NOTE(words)."""
_LOOK_AHEAD_CHARACTERS = 400
"""Number of characters that usually contain `_LOOK_AHEAD` tokens."""


@dataclass(slots=True)
class Standing:
    """Where a passage begins in its file now: the file, and the characters and lines before it."""

    file: Source
    offset: int = 0
    lines: int = 0


@dataclass(frozen=True, eq=False)
class PartSource(Source):
    """The text of a part, and of a part with mistakes all that follows too. Lines and columns are those of the file.

    Moves with its file, so two passages are the same only if they are one object.
    """

    standing: Standing = field(repr=False)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def position(self, offset: int) -> tuple[int, int]:
        line, column = super().position(offset)
        return line + self.standing.lines, column

    def line(self, number: int) -> str:
        return super().line(number - self.standing.lines)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some declarations of a file, and what was wrong with them. `head` is the text up to where the next part might
    have begun, `follower` the word after it."""

    source: PartSource
    length: int
    head: str
    follower: str
    module: s.Module
    tokens: Sequence[Token]
    comments: Sequence[Comment]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def start(self) -> int:
        return self.source.standing.offset

    @property
    def end(self) -> int:
        return self.start + self.length


@dataclass(frozen=True, slots=True)
class _Seam:
    """A place where a part may begin: with the comments before its word."""

    start: int
    word: int
    text: str


def in_file(span: Span) -> Span:
    """A place in its file as that stands now."""
    if not isinstance(span.source, PartSource):
        return span
    standing = span.source.standing
    return Span(standing.file, span.start + standing.offset, span.end + standing.offset)


def read_parts(source: Source, before: Sequence[Part] = ()) -> tuple[Part, ...]:
    """The parts of a file, those of an earlier text of it taken over where they are the same. These move: of a file
    only the parts that were read last stand where they say."""
    if _INDIVISIBLE.search(source.text):
        return (_undivided(source),)
    with uncollected():
        parts = _Reader(source, before).parts()
    if parts is None or sum(len(p.diagnostics) for p in parts) > LIMIT:
        return (_undivided(source),)
    line = 0
    offset = 0
    for part in parts:
        standing = part.source.standing
        standing.file, standing.offset, standing.lines = source, offset, line
        line += source.text.count("\n", offset, offset + part.length)
        offset += part.length
    return tuple(parts)


def _undivided(source: Source) -> Part:
    passage = PartSource(source.name, source.text, Standing(source))
    with uncollected():
        reading = read(passage)
        module = build(passage, reading.tree, reading.tokens, reading.comments)
    text = source.text
    return Part(passage, len(text), text, "", module, reading.tokens, reading.comments, reading.diagnostics)


@cache
def _opening() -> re.Pattern[str]:
    return re.compile(rf"^(?:{'|'.join(sorted(words.opening()))})\b", re.MULTILINE)


def _seams(text: str) -> list[_Seam]:
    """Where parts may begin; the first at the beginning of the text."""
    seams: list[_Seam] = [_Seam(0, 0, "")]
    floor = 0
    for match in _opening().finditer(text):
        start = match.start()
        while start > floor:
            line = text.rfind("\n", floor, start - 1) + 1 or floor
            before = text[line:start].strip()
            if before and not before.startswith("//"):
                break
            start = line
        if start > 0:
            seams.append(_Seam(start, match.start(), match[0]))
        floor = text.find("\n", match.end()) + 1 or len(text)
    return seams


@cache
def _behind_a_declaration() -> Frame:
    """The stack on which a declaration of the module begins that is not the first."""
    table = load()
    top: Frame | None = BOTTOM
    for kind in ("enum", "NAME", "{", "}", "enum"):
        assert top is not None
        top = advance(table, top, Token(kind, "", 0, 0))
    assert top is not None
    assert top.below is not None
    return replace(top.below, value=None)


class _Reader:
    """Reads the parts of one text."""

    def __init__(self, source: Source, before: Sequence[Part]) -> None:
        self._source = source
        self._text = source.text
        self._seams = _seams(self._text)
        self._seam_at = {x.start: n for n, x in enumerate(self._seams)} | {len(self._text): len(self._seams)}
        self._pool: defaultdict[tuple[bool, str], list[Part]] = defaultdict(list)
        for n, part in reversed(list(enumerate(before))):
            self._pool[n == 0, part.head].append(part)

    def parts(self) -> list[Part] | None:
        """The parts; None where the file is not to be read in parts."""
        parts: list[Part] = []
        n = 0
        while n < len(self._seams):
            part = self._unchanged(n) or self._clean(n) or self._mistaken(n)
            if part is None or any(d.rule is TOO_DEEP for d in part.diagnostics):
                return None
            parts.append(part)
            n = self._seam_at[self._seams[n].start + part.length]
        return parts

    def _start(self, n: int) -> int:
        return self._seams[n].start if n < len(self._seams) else len(self._text)

    def _head(self, n: int) -> str:
        return self._text[self._start(n) : self._start(n + 1)]

    def _follower(self, n: int) -> str:
        return self._seams[n].text if n < len(self._seams) else ""

    def _unchanged(self, n: int) -> Part | None:
        """A part of the earlier text that is the same here; each is taken once."""
        start = self._start(n)
        candidates = self._pool[n == 0, self._head(n)]
        for part in reversed(candidates):
            behind = self._seam_at.get(start + part.length)
            if behind is None or part.follower != self._follower(behind):
                continue
            length = len(self._text) - start if part.diagnostics else part.length
            if len(part.source.text) == length and self._text.startswith(part.source.text, start):
                candidates.remove(part)
                return part
        return None

    def _clean(self, n: int) -> Part | None:
        """The text up to the next seam, if it is complete and has no mistake."""
        table, passage = load(), self._passage(self._head(n))
        lexed = lex(table, passage)
        if lexed.diagnostics:
            return None
        end, size = lexed.tokens.pop(), len(passage.text)
        tokens = [*lexed.tokens, *self._glance(n + 1)]
        top, _, i = straight_on(table, tokens, self._bottom(n), 0, frozenset({size + self._indent(n + 1)}))
        if n + 1 == len(self._seams):
            return None if i < len(tokens) else self._part(n, passage, top, tokens, lexed.comments, [])
        if i == len(tokens) or tokens[i].start < size or not words.opens(table, top, tokens[i].kind):
            return None
        return self._part(n, passage, _ended(top, size), [*tokens[:i], end], lexed.comments, [])

    def _indent(self, n: int) -> int:
        """How far behind its seam the word of a part stands."""
        return self._seams[n].word - self._seams[n].start if n < len(self._seams) else 0

    def _glance(self, n: int) -> list[Token]:
        """The first tokens of a part, with places behind the text before it."""
        size = len(self._head(n - 1))
        if n >= len(self._seams):
            return [Token("END", "", size, size)]
        word, shift = self._seams[n].word, size + self._indent(n)
        tokens = lex(load(), Source("", self._text[word : word + _LOOK_AHEAD_CHARACTERS])).tokens[:_LOOK_AHEAD]
        end = Token("END", "", _LOOK_AHEAD_CHARACTERS, _LOOK_AHEAD_CHARACTERS)
        return [Token(t.kind, t.text, t.start + shift, t.end + shift) for t in [*tokens, end]]

    def _mistaken(self, n: int) -> Part | None:
        """The text from a seam on, as far as it takes to get over its mistakes."""
        table, start = load(), self._start(n)
        passage = self._passage(self._text[start:])
        lexed = lex(table, passage)
        tokens, diagnostics = lexed.tokens, list[Diagnostic]()
        words = {x.word - start: x.start - start for x in self._seams[n + 1 :]}
        top, i = go_on(passage, tokens, diagnostics, self._bottom(n), words.keys() - _documented_before(lexed, words))
        length = len(passage.text)
        if i < len(tokens):
            length = words[tokens[i].start]
            tokens = [*tokens[:i], Token("END", "", length, length)]
            top = _ended(top, length)
        diagnostics += (d for d in lexed.diagnostics if d.span.start < length)
        if len(lexed.diagnostics) > LIMIT:
            return None
        if not diagnostics:
            passage = self._passage(passage.text[:length])
        return self._part(n, passage, top, tokens, [c for c in lexed.comments if c.start < length], diagnostics)

    def _passage(self, text: str) -> PartSource:
        return PartSource(self._source.name, text, Standing(self._source))

    def _bottom(self, n: int) -> Frame:
        return BOTTOM if n == 0 else _behind_a_declaration()

    def _part(
        self,
        n: int,
        passage: PartSource,
        top: Frame,
        tokens: list[Token],
        comments: list[Comment],
        diagnostics: list[Diagnostic],
    ) -> Part | None:
        """The part that was read; None where it is nested too deeply."""
        tree, length = whole(top), tokens[-1].end
        if prune(passage, tree):
            return None
        module = build(passage, tree, tokens, comments)
        follower = self._follower(self._seam_at[self._start(n) + length])
        return Part(passage, length, self._head(n), follower, module, tokens, comments, limited(passage, diagnostics))


def _documented_before(lexed: Lexed, seams: Mapping[int, int]) -> set[int]:
    """The words at seams, each with the place of its seam, that a doc comment before the seam belongs to: what is
    between the two was no token."""
    starts, text = [t.start for t in lexed.tokens], lexed.source.text
    alone = (c for c in lexed.comments if c.doc and (c.previous < 0 or breaks(text, c.previous, c.start)))
    words = ((c, starts[bisect_left(starts, c.end)]) for c in alone)
    return {word for c, word in words if word in seams and c.start < seams[word]}


def _ended(top: Frame, at: int) -> Frame:
    """The stack with the end of the file."""
    ended = advance(load(), top, Token("END", "", at, at))
    assert ended is not None
    return ended
