"""What an editor shows of the word under the pointer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.check.machine_graph import Shape
from fsmdsl.dataclasses import dataclass
from fsmdsl.editor.editing.analysis import Analysis
from fsmdsl.editor.editing.declarations import declared
from fsmdsl.model.resolve import Meaning, Use
from fsmdsl.model.resolve.types.type_text import type_text
from fsmdsl.syntax.words import MEANINGS
from fsmdsl.text.source import Span

MAX_LINES = 12
"""Maximum number of lines of a list in a hover text."""


@dataclass(frozen=True, slots=True)
class Hover:
    """Markdown, and the words that it is about."""

    text: str
    span: Span


def hover(analysis: Analysis, path: str, offset: int) -> Hover | None:
    """What is known of the word at a place: its declaration, doc comment, type, and of a state where it leads."""
    uses = analysis.uses_at(path, offset)
    if uses:
        parts = [part for use in uses for part in _about(analysis, use)]
        return Hover("\n\n".join(dict.fromkeys(parts)), uses[0].span) if parts else None
    document = analysis.documents.get(path)
    for token in () if document is None else document.tokens(max(offset - 40, 0), offset + 40):
        if document is not None and token.start <= offset <= token.end and token.kind in MEANINGS:
            return Hover(MEANINGS[token.kind], Span(document.source, token.start, token.end))
    return None


def _about(analysis: Analysis, use: Use) -> Iterator[str]:
    meaning = use.meaning
    if meaning.kind == "local":
        yield fenced(f"{meaning.name}: {type_}" if (type_ := _type_of_local(analysis, use)) else meaning.name)
    for x in declared(analysis, meaning):
        yield fenced(x.text)
        if x.doc:
            yield quoted(x.doc)
        if x.amended is not None:
            yield f"*Amended:* {quoted(x.amended)}"
    if meaning.kind == "state":
        shape = analysis.shape(meaning.owner)
        yield from () if shape is None else about_state(shape, meaning)
    elif meaning.kind == "event":
        shape = analysis.shape(meaning.owner)
        yield from () if shape is None else _about_event(shape, meaning)
    elif meaning.kind == "amendment":
        yield from _about_amendment(analysis, meaning)


def _about_amendment(analysis: Analysis, meaning: Meaning) -> Iterator[str]:
    """Why it does not apply, if another one does."""
    model = analysis.model or analysis.earlier
    modules = () if model is None else (x for x in model.modules if x.name == meaning.owner)
    for x in (x for module in modules for x in module.alternatives if x.name == meaning.name):
        yield f"*Does not apply:* {quoted(f'{x.instead} also replaces {x.row}, and comes first')}"


def fenced(text: str, language: str = "fsm") -> str:
    """A block of text that cannot end early, whatever is in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def quoted(text: str) -> str:
    """Plain words as Markdown, in which nothing of theirs has a meaning; line ends are kept."""
    escaped = "".join(f"\\{c}" if c in "\\`*_{}[]<>()#+-.!|&~" and c not in ".-()" else c for c in text)
    return escaped.replace("\n", "  \n")


def _type_of_local(analysis: Analysis, use: Use) -> str | None:
    types = (u.type for u in analysis.declarations([use.meaning]) if u.type is not None)
    return next((type_text(t) for t in types), None)


# States --------------------------------------------------------------------------------------------------------------


def about_state(shape: Shape, meaning: Meaning) -> Iterator[str]:
    """Where a state leads, what leads to it, and whether it can be reached."""
    if meaning.name not in shape.machine.state_named:
        return
    if meaning.name not in shape.reachable:
        yield "**Can never be entered.**"
    ways = _ways(shape, meaning.name)
    if ways:
        yield "Leads to\n" + "\n".join(_cut(ways))
    arrivals = [
        f"- {_name(t.source)} {_by(t)}"
        for t in shape.machine.transitions
        if t.target is not None and meaning.name in (t.target, shape.hierarchy.arrival(t)) and t.source != meaning.name
    ]
    if arrivals:
        yield "Entered from\n" + "\n".join(_cut(list(dict.fromkeys(arrivals))))
    ignored = [i.event for i in shape.machine.ignores if i.state == meaning.name]
    if ignored:
        yield f"Ignores {', '.join(f'`{e}`' for e in ignored)}"


def _ways(shape: Shape, state: str) -> list[str]:
    by_target: dict[str, list[str]] = defaultdict(list)
    for source in shape.machine.ancestors(state):
        for t in shape.leaving[source]:
            by_target["itself, without leaving" if t.target is None else _name(t.target)].append(_by(t))
    return [f"- {target} {', '.join(dict.fromkeys(triggers))}" for target, triggers in by_target.items()]


def _by(t: m.Transition) -> str:
    label = "" if t.label is None else f"`{t.label}` "
    trigger = f"on `{t.shown_trigger}`" if t.shown_trigger else "by itself"
    guard = "" if t.guard is None else f" when `{_line(t.guard.span.text)}`"
    return f"{label}{trigger}{guard}"


def _line(text: str) -> str:
    line = " ".join(text.replace("`", "'").split())
    return line if len(line) <= 60 else f"{line[:59]}…"


def _name(state: str) -> str:
    return f"**{quoted(state)}**"


def _cut(lines: list[str]) -> list[str]:
    return lines if len(lines) <= MAX_LINES else [*lines[: MAX_LINES - 1], f"- and {len(lines) - MAX_LINES + 1} more"]


# Events --------------------------------------------------------------------------------------------------------------


def _about_event(shape: Shape, meaning: Meaning) -> Iterator[str]:
    taken = [
        f"- {_name(t.source)} → {_name(t.target or t.source)} {_by(t)}"
        for t in shape.machine.transitions
        if isinstance(t.trigger, m.OnEvent) and t.trigger.event == meaning.name
    ]
    if taken:
        yield "Handled\n" + "\n".join(_cut(list(dict.fromkeys(taken))))
    ignored = [i.state for i in shape.machine.ignores if i.event == meaning.name]
    if ignored:
        yield f"Ignored in {', '.join(f'`{x}`' for x in dict.fromkeys(ignored))}"
