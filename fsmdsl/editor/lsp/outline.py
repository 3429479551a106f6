"""What is asked about a whole text: symbols, folding, colours, lenses, hints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lsprotocol import types as t

from fsmdsl import syntax as s
from fsmdsl.editor.editing import Analysis, Document, Highlight, highlights
from fsmdsl.editor.editing.hints import hints
from fsmdsl.editor.editing.symbols import Symbol, folds, symbols
from fsmdsl.editor.lsp.positions import Lines, path_of, units
from fsmdsl.editor.lsp.state import Results, State
from fsmdsl.runs.verdicts.verdict import share_beyond
from fsmdsl.syntax.parse.incremental import in_file
from fsmdsl.text.source import Span

K = t.SymbolKind

SYMBOLS: dict[str, t.SymbolKind] = {
    "machine": K.Class, "enum": K.Enum, "member": K.EnumMember, "record": K.Struct, "part": K.Field,
    "opaque": K.Interface, "let": K.Function,
    "channel": K.Interface, "system": K.Module, "scenario": K.Method, "locks": K.Object, "state": K.EnumMember,
    "event": K.Event, "action": K.Method, "field": K.Field, "param": K.Property, "transition": K.Operator,
    "invariant": K.Boolean, "property": K.Boolean, "reachable": K.Boolean, "instance": K.Variable, "group": K.Variable,
    "environment": K.Interface,
}  # fmt: skip

FOLDS = {
    "region": t.FoldingRangeKind.Region,
    "comment": t.FoldingRangeKind.Comment,
    "imports": t.FoldingRangeKind.Imports,
}

MAX_SYMBOLS = 500


def on_symbols(state: State, params: t.DocumentSymbolParams) -> list[t.DocumentSymbol]:
    """The outline of a text."""
    document = state.document(params.text_document.uri)
    if document is None:
        return []
    lines = state.lines(document.path)
    return [_symbol(lines, x) for x in symbols(document)]


def _symbol(lines: Lines, x: Symbol) -> t.DocumentSymbol:
    return t.DocumentSymbol(
        x.name or "…",
        SYMBOLS[x.kind],
        lines.range(x.span.start, x.span.end),
        lines.range(max(x.selection.start, x.span.start), min(x.selection.end, x.span.end)),
        x.detail or None,
        children=[_symbol(lines, y) for y in x.children],
    )


def on_workspace_symbols(state: State, params: t.WorkspaceSymbolParams) -> list[t.WorkspaceSymbol]:
    """What all files declare, by a part of its name."""
    matches: list[t.WorkspaceSymbol] = []
    for path in state.open_documents.paths:
        document = state.open_documents.document(path)
        for x, owner in () if document is None else _flat(symbols(document), ""):
            if params.query.casefold() in x.name.casefold() and len(matches) < MAX_SYMBOLS:
                place = state.lines(path).range(x.selection.start, x.selection.end)
                matches.append(
                    t.WorkspaceSymbol(t.Location(state.uri(path), place), x.name, SYMBOLS[x.kind], container_name=owner)
                )
    return matches


def _flat(siblings: Sequence[Symbol], owner: str) -> Iterator[tuple[Symbol, str]]:
    for x in siblings:
        yield x, owner
        yield from _flat(x.children, x.name)


def on_folding(state: State, params: t.FoldingRangeParams) -> list[t.FoldingRange]:
    """What can be folded."""
    document = state.document(params.text_document.uri)
    regions = [] if document is None else folds(document)
    return [t.FoldingRange(x.first - 1, x.last - 1, kind=FOLDS[x.kind]) for x in regions]


# Colours -------------------------------------------------------------------------------------------------------------

TYPES = (
    "keyword", "comment", "string", "number", "operator", "namespace", "class", "enum", "enumMember", "type", "event",
    "method", "property", "parameter", "variable", "function", "decorator",
)  # fmt: skip
MODIFIERS = ("declaration", "readonly", "documentation")

_COLOURS: dict[str, tuple[str, str]] = {
    "keyword": ("keyword", ""), "comment": ("comment", ""), "doc": ("comment", "documentation"),
    "string": ("string", ""), "number": ("number", ""), "module": ("namespace", ""), "system": ("namespace", ""),
    "scenario": ("namespace", ""), "machine": ("class", ""), "enum": ("enum", ""), "member": ("enumMember", ""),
    "state": ("enumMember", ""), "outcome": ("enumMember", ""), "opaque": ("type", ""), "record": ("type", ""),
    "part": ("property", ""), "event": ("event", ""),
    "action": ("method", ""), "field": ("property", ""), "param": ("property", "readonly"),
    "parameter": ("parameter", ""), "local": ("parameter", ""), "let": ("function", ""), "label": ("decorator", ""),
    "invariant": ("function", ""), "property": ("function", ""), "reachable": ("function", ""),
    "group": ("variable", ""), "channel": ("variable", ""), "lock": ("variable", ""),
    "amendment": ("decorator", ""), "locks": ("namespace", ""), "environment": ("namespace", ""),
}  # fmt: skip
"""Kinds of words, and the types and modifiers of the protocol for them. Signs and names without a meaning have none."""

LEGEND = t.SemanticTokensLegend(list(TYPES), list(MODIFIERS))


def on_tokens(state: State, params: t.SemanticTokensParams) -> t.SemanticTokens:
    """The colours of a text."""
    return _tokens(state, path_of(params.text_document.uri), None)


def on_tokens_range(state: State, params: t.SemanticTokensRangeParams) -> t.SemanticTokens:
    """The colours of a part of a text."""
    return _tokens(state, path_of(params.text_document.uri), params.range)


def _tokens(state: State, path: str, only: t.Range | None) -> t.SemanticTokens:
    lines = state.lines(path)
    start, end = (0, None) if only is None else (lines.offset(only.start), lines.offset(only.end))
    words = highlights(state.open_documents.analysis(path), path, start, end)
    data: list[int] = []
    line = column = 0
    document = state.open_documents.document(path)
    text = "" if document is None else document.source.text
    for x in (x for x in words if x.kind in _COLOURS):
        at = lines.position(x.start)
        data += (at.line - line, at.character - column if at.line == line else at.character)
        data += (units(text[x.start : x.end], state.texts.encoding), *_colour(x))
        line, column = at.line, at.character
    return t.SemanticTokens(data)


def _colour(x: Highlight) -> tuple[int, int]:
    kind, modifier = _COLOURS[x.kind]
    bits = 1 << MODIFIERS.index(modifier) if modifier else 0
    return TYPES.index(kind), bits | (1 if x.declares else 0)


# Lenses --------------------------------------------------------------------------------------------------------------


def on_lenses(state: State, params: t.CodeLensParams) -> list[t.CodeLens]:
    """`verify` on systems, `draw` on machines, and how often each transition was followed in the last exploration."""
    uri = params.text_document.uri
    document = state.document(uri)
    if document is None:
        return []
    analysis = state.analysis(uri)
    results = state.results(analysis)
    lenses = [x for member in document.module.members for x in _of_member(state, document, uri, member, results)]
    if state.settings.transition_lenses:
        lenses += _of_transitions(state, analysis, document.path, results)
    return lenses


def _of_member(state: State, document: Document, uri: str, x: s.ModuleMember, results: Results) -> Iterator[t.CodeLens]:
    lines, module = state.lines(document.path), document.name
    match x:
        case s.MachineDecl():
            yield _lens(lines, x.name.span, "draw", "fsm.draw", [uri, x.name.text])
        case s.SystemDecl():
            yield _lens(lines, x.name.span, "verify", "fsm.verify", [uri, x.name.text])
            explored = results.systems.get(f"{module}.{x.name.text}")
            if explored is not None:
                beyond = share_beyond(explored.data["beyond"])
                title = f"{explored.verdict}: {explored.data['states']:,} states{beyond}"
                yield _lens(lines, x.name.span, title, "fsm.verify", [uri, x.name.text])
        case _:
            return


def _of_transitions(state: State, analysis: Analysis, path: str, results: Results) -> Iterator[t.CodeLens]:
    """One lens a line; rows of a machine that was changed since are left out."""
    model, lines = analysis.model, state.lines(path)
    for machine in () if model is None else model.machines.values():
        if machine.span.source.name != path or results.machines.get(machine.qualified) is not machine:
            continue
        rows: dict[Span, list[int]] = {}
        for x in machine.transitions:
            rows.setdefault(x.span, []).append(x.index)
        for span, indexes in rows.items():
            title = _followed(results, machine.qualified, indexes)
            if title:
                yield _lens(lines, span, title, "", None)


def _followed(results: Results, machine: str, indexes: list[int]) -> str:
    """How often a line's transitions were followed, in all systems that were explored to the end."""
    counts = [
        [x.followed[machine, n] for n in indexes]
        for x in results.systems.values()
        if (machine, indexes[0]) in x.followed
    ]
    flat = [c for of_system in counts for c in of_system]
    if not flat:
        return ""
    total = sum(c for c in flat if c is not None)
    if total == 0:
        return "followed" if None in flat else "never followed"
    return f"followed {total:,} time{'s' * (total != 1)}" + (" or more" if None in flat else "")


def _lens(lines: Lines, span: Span, title: str, command: str, arguments: list[str] | None) -> t.CodeLens:
    here = in_file(span)
    return t.CodeLens(lines.range(here.start, here.end), t.Command(title, command, arguments=arguments))


# Hints ---------------------------------------------------------------------------------------------------------------


def on_hints(state: State, params: t.InlayHintParams) -> list[t.InlayHint]:
    """What the document's labels stand for, where they are mentioned."""
    path = path_of(params.text_document.uri)
    lines = state.lines(path)
    start, end = lines.offset(params.range.start), lines.offset(params.range.end)
    return [
        t.InlayHint(lines.position(x.offset), x.text, tooltip=x.tooltip, padding_left=True)
        for x in hints(state.open_documents.analysis(path), path, start, end)
    ]
