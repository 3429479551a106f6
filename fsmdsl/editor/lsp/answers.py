"""What is asked about a place in a text: hover, completion, definition, references."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from lsprotocol import types as t

from fsmdsl.editor.editing import Analysis, complete, hover
from fsmdsl.editor.editing.findings import Mark
from fsmdsl.editor.editing.hover import fenced
from fsmdsl.editor.lsp.positions import path_of
from fsmdsl.editor.lsp.state import State
from fsmdsl.model.resolve import Use
from fsmdsl.text.source import Span

K = t.CompletionItemKind

ICONS: dict[str, t.CompletionItemKind] = {
    "keyword": K.Keyword, "function": K.Function, "type": K.Class, "module": K.Module, "machine": K.Class,
    "enum": K.Enum, "member": K.EnumMember, "record": K.Struct, "part": K.Field, "opaque": K.Interface,
    "let": K.Function, "channel": K.Interface,
    "system": K.Module, "scenario": K.Module, "state": K.EnumMember, "event": K.Event, "action": K.Method,
    "outcome": K.EnumMember, "field": K.Field, "param": K.Property, "parameter": K.Variable, "local": K.Variable,
    "label": K.Reference, "amendment": K.Reference, "group": K.Variable,
    "environment": K.Interface,
}  # fmt: skip


_ASKING = re.compile(r"(->|[=!]=|\b(on|in|from|of|via|fair|ignore|priority|after|under|import)) ?\Z")
"""Behind these a list of names is welcome before the first letter is typed; behind other words it is in the way."""


class Where(Protocol):
    """A place in a text, in whatever parameters."""

    @property
    def text_document(self) -> t.TextDocumentIdentifier: ...

    @property
    def position(self) -> t.Position: ...


def at(state: State, where: Where) -> tuple[Analysis, str, int]:
    """The analysis of a text, its path, and an offset in it."""
    path = path_of(where.text_document.uri)
    return state.open_documents.analysis(path), path, state.lines(path).offset(where.position)


def location(state: State, span: Span) -> t.Location:
    """A place in a file."""
    path = span.source.name
    return t.Location(state.uri(path), state.lines(path).range(span.start, span.end))


def on_hover(state: State, params: t.HoverParams) -> t.Hover | None:
    """What is known of the word under the pointer; on the line of something violated, also the run that shows it."""
    analysis, path, offset = at(state, params)
    tooltip = hover(analysis, path, offset)
    parts = [] if tooltip is None else [tooltip.text]
    parts += (_marked(x) for x in state.marks_at(analysis, path, offset))
    if not parts:
        return None
    lines = state.lines(path)
    place = None if tooltip is None else lines.range(tooltip.span.start, tooltip.span.end)
    return t.Hover(t.MarkupContent(t.MarkupKind.Markdown, "\n\n---\n\n".join(parts)), place)


def _marked(mark: Mark) -> str:
    """A violation and its run."""
    message = fenced("\n".join([mark.message, *(mark.notes if mark.story else mark.remarks)]), "text")
    return f"**{mark.code}**\n\n{message}" + (f"\n\n{fenced(chr(10).join(mark.story), 'text')}" if mark.story else "")


def on_completion(state: State, params: t.CompletionParams) -> t.CompletionList:
    """What could be written at the cursor."""
    analysis, path, offset = at(state, params)
    if state.doubt(path) is not None:
        return t.CompletionList(False, [])
    lines = state.lines(path)
    document = analysis.documents.get(path)
    sign = None if params.context is None else params.context.trigger_character
    if document is not None and sign in (" ", ">"):
        before = document.source.text[max(offset - 40, 0) : offset]
        if _ASKING.search(before) is None:
            return t.CompletionList(False, [])
    completions = complete(analysis, path, offset)
    items = [
        t.CompletionItem(
            x.label,
            kind=ICONS.get(x.kind, K.Text),
            detail=x.detail or None,
            documentation=x.doc or None,
            sort_text=f"{x.rank}{n:04}",
            text_edit=t.TextEdit(lines.range(x.start, x.end), x.label),
        )
        for n, x in enumerate(completions)
    ]
    return t.CompletionList(False, items)


def _uses_at(state: State, where: Where) -> tuple[Analysis, list[Use]]:
    analysis, path, offset = at(state, where)
    return analysis, analysis.uses_at(path, offset)


def on_definition(state: State, params: t.DefinitionParams) -> list[t.Location]:
    """Where a thing is declared; of what is nowhere declared (a lock), where it is first named."""
    analysis, uses = _uses_at(state, params)
    meanings = [u.meaning for u in uses]
    modules = [
        analysis.modules[x.name].syntax.span for x in meanings if x.kind == "module" and x.name in analysis.modules
    ]
    spans = [u.span for u in analysis.declarations(meanings)] or [u.span for u in analysis.uses_of(meanings)[:1]]
    if modules:
        spans = [Span(x.source, 0, 0) for x in modules]
    return _locations(state, spans)


def on_references(state: State, params: t.ReferenceParams) -> list[t.Location]:
    """Wherever a thing is named."""
    analysis, uses_here = _uses_at(state, params)
    declaring = params.context.include_declaration
    uses = analysis.uses_of(u.meaning for u in uses_here)
    return _locations(state, [u.span for u in uses if declaring or not u.declares])


def _locations(state: State, spans: Iterable[Span]) -> list[t.Location]:
    return [location(state, x) for x in dict.fromkeys(spans)]


def on_highlight(state: State, params: t.DocumentHighlightParams) -> list[t.DocumentHighlight]:
    """Wherever a thing is named in the same text."""
    analysis, path, offset = at(state, params)
    lines = state.lines(path)
    uses = analysis.uses_of(u.meaning for u in analysis.uses_at(path, offset))
    return [
        t.DocumentHighlight(
            lines.range(u.span.start, u.span.end),
            t.DocumentHighlightKind.Write if u.declares else t.DocumentHighlightKind.Read,
        )
        for u in uses
        if u.span.source.name == path
    ]
