"""Changes of texts: rename, formatting, what to do about findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import accumulate, pairwise

from lsprotocol import types as t
from pygls.exceptions import JsonRpcException

from fsmdsl.editor.editing.actions import Action, actions, heard
from fsmdsl.editor.editing.findings import Mark
from fsmdsl.editor.editing.rename import Edit, RefusedError, renamable, rename
from fsmdsl.editor.lsp.answers import at
from fsmdsl.editor.lsp.positions import Lines, path_of
from fsmdsl.editor.lsp.reports import of_diagnostic, of_mark
from fsmdsl.editor.lsp.state import State
from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source, line_ends


class NotDoneError(JsonRpcException):
    """A request that cannot be granted; the message is for the author, and no fault of ours."""

    CODE = -32803
    MESSAGE = "Request failed"


def on_prepare(state: State, params: t.PrepareRenameParams) -> t.PrepareRenamePlaceholder:
    """The name that would be changed."""
    analysis, path, offset = at(state, params)
    try:
        span = renamable(analysis, path, offset)
    except RefusedError as error:
        raise NotDoneError(str(error)) from None
    return t.PrepareRenamePlaceholder(state.lines(path).range(span.start, span.end), span.text)


def on_rename(state: State, params: t.RenameParams) -> t.WorkspaceEdit:
    """Another name for a thing, in all files."""
    analysis, path, offset = at(state, params)
    try:
        return _changes(state, rename(analysis, path, offset, params.new_name))
    except RefusedError as error:
        raise NotDoneError(str(error)) from None


def _sure(state: State, path: str) -> None:
    """Nothing is changed in a text that may not be what the author sees. Raises `NotDoneError`."""
    why = state.doubt(path)
    if why is not None:
        message = f"no changes were made: the server's copy of {path} may differ from the editor's ({why})"
        raise NotDoneError(f"{message}; close it and open it again")


def _changes(state: State, edits: Iterable[Edit]) -> t.WorkspaceEdit:
    """Raises `NotDoneError` where one of the texts is in doubt."""
    changes: defaultdict[str, list[t.TextEdit]] = defaultdict(list)
    for edit in edits:
        path = edit.span.source.name
        _sure(state, path)
        place = state.lines(path).range(edit.span.start, edit.span.end)
        changes[state.uri(path)].append(t.TextEdit(place, edit.text))
    return t.WorkspaceEdit(changes=dict(changes))


def on_actions(state: State, params: t.CodeActionParams) -> list[t.CodeAction]:
    """What can be done about the findings at a place."""
    path = path_of(params.text_document.uri)
    if any(state.doubt(x) is not None for x in state.open_documents.documents(path)):
        return []
    analysis, lines = state.open_documents.analysis(path), state.lines(path)
    start, end = lines.offset(params.range.start), lines.offset(params.range.end)
    marks = [x for x in state.marks_at(analysis, path, start) if x.unheard]
    return [_action(state, x) for x in (*actions(analysis, path, start, end), *heard(analysis, marks))]


def _action(state: State, x: Action) -> t.CodeAction:
    return t.CodeAction(
        x.title,
        t.CodeActionKind.QuickFix,
        [of_mark(state, x.finding) if isinstance(x.finding, Mark) else of_diagnostic(state, x.finding)],
        is_preferred=x.preferred or None,
        edit=_changes(state, x.edits),
    )


# Formatting ----------------------------------------------------------------------------------------------------------


def on_format(state: State, params: t.DocumentFormattingParams) -> list[t.TextEdit] | None:
    """Canonical text. A text with errors is left alone."""
    return _formatted(state, params.text_document.uri, None)


def on_format_range(state: State, params: t.DocumentRangeFormattingParams) -> list[t.TextEdit] | None:
    """Canonical text, of what stands on some lines."""
    return _formatted(state, params.text_document.uri, params.range)


def _formatted(state: State, uri: str, only: t.Range | None) -> list[t.TextEdit] | None:
    _sure(state, path_of(uri))
    document = state.document(uri)
    if document is None or document.broken:
        return None
    before = document.source.text
    after = format_source(parse(Source(document.path, before)))
    return [x for x in _differences(state.lines(document.path), before, after) if only is None or _touches(x, only)]


def _touches(edit: t.TextEdit, only: t.Range) -> bool:
    return edit.range.start.line <= only.end.line and only.start.line <= edit.range.end.line


def _differences(lines: Lines, before: str, after: str) -> Iterator[t.TextEdit]:
    """The lines that change, so that the cursor and the marks of the others stay where they are."""
    one, other = _lines(before), _lines(after)
    starts = [0, *accumulate(map(len, one))]
    for tag, i, j, k, m in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal":
            yield t.TextEdit(lines.range(starts[i], starts[j]), "".join(other[k:m]))


def _lines(text: str) -> list[str]:
    """With their ends."""
    starts = [0, *(end for _, end in line_ends(text)), len(text)]
    return [text[a:b] for a, b in pairwise(starts) if a < b]
