"""What a file declares, as an outline; and what can be folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from fsmdsl import syntax as s
from fsmdsl.dataclasses import dataclass
from fsmdsl.editor.editing.declarations import row
from fsmdsl.editor.editing.document import Document
from fsmdsl.model.resolve.names.meanings import Kind
from fsmdsl.syntax.parse.incremental import in_file
from fsmdsl.text.source import Span, line_end


@dataclass(frozen=True, slots=True)
class Symbol:
    """A declaration: where all of it stands, and where its name does."""

    name: str
    kind: Kind | Literal["transition", "instance"]
    detail: str
    span: Span
    selection: Span
    children: tuple[Symbol, ...] = ()


def symbols(document: Document) -> tuple[Symbol, ...]:
    """The outline of a file, in the order of the text."""
    return tuple(x for member in document.module.members for x in _member(member))


_KINDS: dict[type[object], Kind] = {
    s.EnumDecl: "enum", s.RecordDecl: "record", s.LetDecl: "let", s.ChannelDecl: "channel",
    s.MachineDecl: "machine", s.LocksDecl: "locks", s.SharedEnvironment: "environment",
    s.SystemDecl: "system", s.ScenarioDecl: "scenario", s.FieldDecl: "field", s.ParamDecl: "param",
    s.InvariantDecl: "invariant", s.PropertyDecl: "property", s.ReachableDecl: "reachable", s.InstanceDecl: "group",
}  # fmt: skip


def _member(x: s.ModuleMember) -> Iterator[Symbol]:
    match x:
        case s.OpaqueDecl():
            yield from (_symbol(n, "opaque", "", x.span) for n in x.names)
        case s.EnumDecl():
            inside = tuple(_symbol(y.name, "member", "", y.span) for y in x.members)
            yield _symbol(x.name, "enum", "", x.span, inside)
        case s.RecordDecl():
            inside = tuple(_symbol(y.name, "part", "", y.span) for y in x.parts)
            yield _symbol(x.name, "record", "", x.span, inside)
        case s.MachineDecl():
            title = "" if x.display is None else x.display.text
            inside = tuple(z for y in x.members for z in _machine_member(y))
            yield _symbol(x.name, "machine", title, x.span, inside)
        case s.SystemDecl():
            inside = tuple(z for y in x.members for z in _system_member(y))
            related = (("extends", x.extends), ("refines", x.refines))
            detail = ", ".join(f"{word} {path}" for word, path in related if path is not None)
            yield _symbol(x.name, "system", detail, x.span, inside)
        case s.ScenarioDecl():
            yield _symbol(x.name, "scenario", "" if x.title is None else x.title.text, x.span)
        case s.LocksDecl():
            yield _symbol(x.name or s.Name("locks", x.span), "locks", "", x.span)
        case s.LetDecl() | s.ChannelDecl() | s.SharedEnvironment():
            yield _symbol(x.name, _KINDS[type(x)], "", x.span)


def _machine_member(x: s.MachineMember) -> Iterator[Symbol]:
    match x:
        case s.StateDecl():
            yield _state(x)
        case s.EventDecl(events=declarations) | s.ActionDecl(actions=declarations):
            kind: Kind = "event" if isinstance(x, s.EventDecl) else "action"
            yield from (_symbol(y.name, kind, "", y.span) for y in declarations)
        case s.TransitionDecl():
            detail = "" if x.trigger is None else x.trigger.span.text
            name = row(x) or line_end().split(x.span.text, maxsplit=1)[0]
            if x.label is not None:
                yield _symbol(s.Name(f"{x.label.text}: {name}", x.label.span), "transition", detail, x.span)
            else:
                yield _symbol(s.Name(name, x.edges[0].span if x.edges else x.span), "transition", detail, x.span)
        case s.FieldDecl() | s.ParamDecl():
            yield _symbol(x.name, _KINDS[type(x)], x.type.span.text, x.span)
        case s.LetDecl():
            yield _symbol(x.name, "let", "", x.span)
        case s.InvariantDecl():
            yield _symbol(x.name or s.Name("invariant", x.span), "invariant", "", x.span)
        case s.AmendDecl():
            for member in x.members:
                yield from _machine_member(member)
        case s.HookDecl() | s.IgnoreDecl() | s.PriorityDecl() | s.LayoutDecl():
            return


def _state(x: s.StateDecl) -> Symbol:
    return _symbol(x.name, "state", " ".join(x.flags), x.span, tuple(_state(y) for y in x.children))


def _system_member(x: s.SystemMember) -> Iterator[Symbol]:
    match x:
        case s.InstanceDecl():
            count = "" if x.count is None else f"[{x.count}]"
            yield _symbol(x.name, "instance", f"{x.machine}{count}", x.span)
        case s.LetDecl():
            yield _symbol(x.name, "let", "", x.span)
        case s.InvariantDecl() | s.PropertyDecl() | s.ReachableDecl():
            kind = _KINDS[type(x)]
            yield _symbol(x.name or s.Name(kind, x.span), kind, "", x.span)
        case (
            s.StartDecl() | s.RestDecl() | s.BoundDecl() | s.EnvironmentDecl() | s.EnvironmentUse() | s.RecoverDecl()
            | s.MapState() | s.MapField()
        ):  # fmt: skip
            return


def _symbol(
    name: s.Name,
    kind: Kind | Literal["transition", "instance"],
    detail: str,
    span: Span,
    inside: Sequence[Symbol] = (),
) -> Symbol:
    return Symbol(name.text, kind, detail, in_file(span), in_file(name.span), tuple(inside))


# Folding -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fold:
    """Lines, counted from 1, of which all but the first can be hidden."""

    first: int
    last: int
    kind: Literal["region", "comment", "imports"]


def folds(document: Document) -> list[Fold]:
    """Blocks in braces, comments of several lines, and imports that follow one another."""
    all_folds = [*_blocks(document), *_comments(document), *_imports(document)]
    return sorted(dict.fromkeys(all_folds), key=lambda f: (f.first, -f.last))


def _blocks(document: Document) -> Iterator[Fold]:
    open_: list[int] = []
    for token in document.tokens():
        if token.kind == "{":
            open_.append(token.start)
        elif token.kind == "}" and open_:
            first = document.source.position(open_.pop())[0]
            last = document.source.position(token.start)[0]
            if last - 1 > first:
                yield Fold(first, last - 1, "region")


def _comments(document: Document) -> Iterator[Fold]:
    """Comments on lines of their own, one below the other."""
    run: list[int] = []
    for comment in document.comments():
        line, column = document.source.position(comment.start)
        alone = not document.source.line(line)[: column - 1].strip()
        if run and alone and line == run[-1] + 1:
            run.append(line)
            continue
        if len(run) > 1:
            yield Fold(run[0], run[-1], "comment")
        run = [line] if alone else []
    if len(run) > 1:
        yield Fold(run[0], run[-1], "comment")


def _imports(document: Document) -> Iterator[Fold]:
    spans = [in_file(x.span) for x in document.module.imports]
    if len(spans) > 1:
        first, last = document.source.position(spans[0].start)[0], document.source.position(spans[-1].end)[0]
        if last > first:
            yield Fold(first, last, "imports")
