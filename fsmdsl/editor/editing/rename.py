"""Another name for a thing, wherever it is named; refused where the text would mean something else then."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from fsmdsl.dataclasses import dataclass
from fsmdsl.editor.editing.analysis import Analysis, analyse
from fsmdsl.editor.editing.document import placed, read_document
from fsmdsl.model.resolve import Meaning, Memory, Use
from fsmdsl.model.workspace import shipped
from fsmdsl.syntax.words import RESERVED
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Source, Span

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a text; the span is in the file."""

    span: Span
    text: str


class RefusedError(Exception):
    """Why a thing cannot be called so; the message is for the author."""


def renamable(analysis: Analysis, path: str, offset: int) -> Span:
    """The name at a place. Raises RefusedError where there is none that can be changed."""
    return _use(analysis, path, offset).span


def rename(analysis: Analysis, path: str, offset: int, name: str) -> tuple[Edit, ...]:
    """The changes in all files that give the thing at a place another name. Raises RefusedError where that clashes."""
    use = _use(analysis, path, offset)
    if not _NAME.fullmatch(name):
        raise RefusedError(f"`{name}` is not a name: names have letters a to z, digits and `_`")
    if name in RESERVED:
        raise RefusedError(f"`{name}` is a reserved word and cannot be used as a name")
    meaning = use.meaning
    edits = [Edit(u.span, name) for u in _uses_of_name(analysis, meaning)]
    if name != meaning.name:
        _check(analysis, meaning, name, edits)
    return tuple(dict.fromkeys(edits))


def _use(analysis: Analysis, path: str, offset: int) -> Use:
    uses = analysis.uses_at(path, offset)
    if not uses:
        raise RefusedError("there is no name here that could be changed")
    use = uses[0]
    if use.meaning.kind == "module":
        raise RefusedError("a module is found by the name of its file: change the `module` line and the file together")
    if any(shipped(u.span.source.name) for u in analysis.uses_of([use.meaning]) if u.declares):
        raise RefusedError(f"`{use.meaning.name}` is declared in the library that comes with fsmdsl")
    if use.span.text != use.meaning.name:
        raise RefusedError(f"`{use.span.text}` is made of the name `{use.meaning.name}`: change that one")
    return use


def _uses_of_name(analysis: Analysis, meaning: Meaning) -> Iterator[Use]:
    """The uses that say the name itself: an instance `g0` only begins like its group."""
    yield from (u for u in analysis.uses_of([meaning]) if u.span.text == meaning.name)


# Clashes -------------------------------------------------------------------------------------------------------------


def _check(analysis: Analysis, meaning: Meaning, name: str, edits: list[Edit]) -> None:
    """Read the texts as they would be, and see that every name in them means what it meant."""
    by_file: defaultdict[str, list[Edit]] = defaultdict(list)
    for edit in dict.fromkeys(edits):
        by_file[edit.span.source.name].append(edit)
    sources = {p: Source(p, changed(d.source.text, by_file[p])) for p, d in analysis.documents.items()}
    after = analyse({p: read_document(x) for p, x in sources.items()}, Memory(), checking=False)
    new = _new_error(analysis, after)
    if new is not None:
        raise RefusedError(f"`{meaning.name}` cannot be called `{name}`: {new.message} ({new.span})")
    for path in analysis.documents:
        place = _differs(analysis, after, path)
        if place is not None:
            raise RefusedError(f"`{meaning.name}` cannot be called `{name}`: another thing would be meant at {place}")


def changed(text: str, edits: list[Edit]) -> str:
    """A text after edits that do not overlap."""
    for edit in sorted(edits, key=lambda e: e.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def _new_error(before: Analysis, after: Analysis) -> Diagnostic | None:
    """An error that was not there before, if there are more."""
    errors, earlier = _errors(after), _errors(before)
    if len(errors) <= len(earlier):
        return None
    messages = {d.message for d in earlier}
    return next((d for d in errors if d.message not in messages), errors[0])


def _errors(analysis: Analysis) -> list[Diagnostic]:
    """What the parser and the binding of names have found."""
    read = [d for x in analysis.documents.values() for d in x.diagnostics]
    return [*read, *(placed(d) for d in analysis.resolved.diagnostics)]


def _differs(before: Analysis, after: Analysis, path: str) -> Span | None:
    """The first name that means something else: not the same thing as the same other names."""
    one, other = list(_numbered(before, path)), list(_numbered(after, path))
    for (a, _), (b, span) in zip(one, other, strict=False):
        if a != b:
            return span
    if len(one) == len(other):
        return None
    return before.documents[path].module.span


def _numbered(analysis: Analysis, path: str) -> Iterator[tuple[tuple[str, int, bool], Span]]:
    """Each use in the order of the text, what it means as a number that does not depend on names."""
    numbers: dict[Meaning, int] = {}
    for u in _ordered(analysis, path):
        yield (u.meaning.kind, numbers.setdefault(u.meaning, len(numbers)), u.declares), u.span


def _ordered(analysis: Analysis, path: str) -> list[Use]:
    order: Mapping[str, int] = {k: n for n, k in enumerate(("declares", "uses"))}
    return sorted(
        analysis.uses_in(path),
        key=lambda u: (u.span.start, order["declares" if u.declares else "uses"], u.meaning.kind),
    )
