"""The parser, the formatter, and all that is found in a text without exploring it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from fsmdsl.check import check
from fsmdsl.editor.editing import OpenDocuments
from fsmdsl.model.resolve import resolve
from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import Parsed, parse
from fsmdsl.syntax.parse.table import load
from fsmdsl.syntax.parse.tokens import lex
from fsmdsl.text.diagnostics import Diagnostic, Severity
from fsmdsl.text.source import Source
from fuzz.target import Target
from fuzz.texts import ANY, texts

_LINE_END = re.compile("\r\n|\n|\r")
_CROWDED = re.compile(r"\A(///?)(?=\w)")


def _right_places(found: Iterable[Diagnostic]) -> None:
    for d in found:
        for span in (d.span, *(x.span for x in d.labels), *(() if d.fix is None else (d.fix.span,))):
            assert 0 <= span.start <= span.end <= len(span.source.text), (d, span.start, span.end)
            line, column = span.source.position(span.start)
            assert column >= 1, d
            assert len(span.source.line(line)) >= column - 1, (d, line, column)
        assert d.message, d


def _serious(found: Iterable[Diagnostic]) -> bool:
    return any(d.severity is Severity.ERROR for d in found)


def _parse(text: str) -> None:
    """Places are real ones, no token and no comment is longer than its line, and reading in parts is reading."""
    source = Source("fuzz.fsm", text)
    parsed = parse(source)
    _right_places(parsed.diagnostics)
    lexed = lex(load(), source)
    for place in (*lexed.tokens, *lexed.comments):
        assert _LINE_END.search(text, place.start, place.end) is None, place
    documents = OpenDocuments()
    assert documents.open("fuzz.fsm", text).module == parsed.module


def _format(text: str) -> None:
    """Formatting twice is formatting once; the meaning and the comments stay."""
    parsed = parse(Source("fuzz.fsm", text))
    if _serious(parsed.diagnostics):
        return
    once = format_source(parsed)
    again = parse(Source("again.fsm", once))
    assert not again.diagnostics, (once, [str(d) for d in again.diagnostics])
    assert again.module == parsed.module, once
    assert format_source(again) == once
    assert _comments(again) == _comments(parsed)
    assert not once or once.endswith("\n")
    assert "\r" not in once


def _comments(parsed: Parsed) -> Counter[str]:
    """By text; the formatter puts a space before the first word."""
    lexed = lex(load(), parsed.module.span.source)
    return Counter(_CROWDED.sub(r"\1 ", x.text.rstrip(), count=1) for x in lexed.comments)


def _check(text: str) -> None:
    """Resolving and checking say where."""
    parsed = parse(Source("fuzz.fsm", text))
    resolved = resolve([parsed.module])
    _right_places(resolved.diagnostics)
    if resolved.model is not None and not _serious([*parsed.diagnostics, *resolved.diagnostics]):
        _right_places(check(resolved.model))


parser = Target("parser", ANY, _parse)
formatter = Target("formatter", texts(), _format)
checks = Target("checks", texts(), _check)
