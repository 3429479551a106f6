"""State diagrams in PlantUML."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fsmdsl.interop.imports.diagram import Diagram
from fsmdsl.interop.imports.name_words import file_name
from fsmdsl.interop.imports.rules import NOT_READ
from fsmdsl.interop.imports.table import Imported, ImportFailedError, LeftOut, Table, Unread
from fsmdsl.text.source import Source, Span

_ID = r"(?:\[\*\]|\[H\*?\]|[\w.]+(?:\[H\*?\])?)"
_ARROW = re.compile(
    rf"({_ID})\s*(?:#\w+\s*)?(-+(?:\[[^\]]*\])?(?:up|down|left|right|[udlr])?(?:\[[^\]]*\])?-*>|<-+(?:\[[^\]]*\])?-*)\s*({_ID})"
    r"\s*(?:<<\w+>>)?\s*(?:#[\w;:.-]+\s*)?(?::\s*(.*))?"
)
_STATE = re.compile(
    r'state\s+(?:"(?P<title>[^"]*)"\s+as\s+(?P<name>[\w.]+)|(?P<name2>[\w.]+)\s+as\s+"(?P<title2>[^"]*)"|"(?P<only>[^"]*)"'
    r"|(?P<bare>[\w.]+))\s*(?P<kind><<\w+>>)?\s*(?:#[^\s{]*\s*)*(?P<open>\{|begin)?\s*(?::\s*(?P<text>.*))?"
)
_TEXT = re.compile(r"([\w.]+)\s*:\s*(.*)")
_SKIPPED = re.compile(
    r"(?:(?:hide|show|skinparam|scale|title|caption|header|footer|left to right|top to bottom|allow_mixing|mainframe"
    r"|sprite|json)\b|!|'|@|<style|</style)",
    re.IGNORECASE,
)
_PREPROCESSED = re.compile(r"!\s*(?:include|import|procedure|function|if|while|foreach|define|\$)", re.IGNORECASE)
"""Directives that add lines to a diagram, or take some away."""

_DRAWN = re.compile(
    r"hide empty description\n(?:left to right direction\n)?skinparam shadowing false\nskinparam state \{\n"
)
"""How `fsm draw` begins a diagram."""

_BLOCKS = (
    (
        re.compile(r"(?:floating\s+)?note\b(?![^:]*:)(?!.*\"\s+as\s)", re.IGNORECASE),
        re.compile(r"end\s*note", re.IGNORECASE),
    ),
    (re.compile(r"legend\b", re.IGNORECASE), re.compile(r"end\s*legend", re.IGNORECASE)),
    (re.compile(r"skinparam\b.*\{\s*$", re.IGNORECASE), re.compile(r"\}")),
    (re.compile(r"/'(?!.*'/)"), re.compile(r".*'/")),
    (re.compile(r"<style>", re.IGNORECASE), re.compile(r"</style>", re.IGNORECASE)),
    (
        re.compile(r"(?:header|footer|title|caption)\s*$", re.IGNORECASE),
        re.compile(r"end\s*(?:header|footer|title|caption)", re.IGNORECASE),
    ),
)
"""What begins a block that says nothing of the machine, and what ends it."""


def read(source: Source) -> Imported:
    """All state diagrams of a file: each from `@startuml` to `@enduml`. Raises `ImportFailedError`."""
    tables: list[Table] = []
    left_out: list[LeftOut] = []
    unread: list[Unread] = []
    stem = file_name(source.name).split(".")[0]
    for name, lines in _diagrams(source):
        diagram = Diagram(name or stem + (f" {len(tables) + 1}" if tables else ""), lines[0][1])
        diagram.drawn = _DRAWN.match("\n".join(x for x, _ in lines[1:6])) is not None
        for line, place in _without_blocks(lines, diagram):
            _line(diagram, line, place)
        table = diagram.table()
        if table is not None:
            tables.append(table)
            left_out += diagram.left_out
        else:
            unread += diagram.unread
    if not tables:
        problem = NOT_READ.at(Span(source, 0, 0), "there is no state diagram between `@startuml` and `@enduml`")
        raise ImportFailedError(problem)
    return Imported(tuple(tables), tuple(left_out), tuple(unread))


def _diagrams(source: Source) -> Iterator[tuple[str, list[tuple[str, Span]]]]:
    """The name and lines of each diagram."""
    name: str | None = None
    lines: list[tuple[str, Span]] = []
    offset = 0
    for raw in source.text.splitlines(keepends=True):
        begin = offset + len(raw) - len(raw.lstrip())
        line, place = raw.strip(), Span(source, begin, max(begin, offset + len(raw.rstrip())))
        offset += len(raw)
        if (start := re.match(r"@startuml\b\s*(.*)", line)) is not None:
            name, lines = start[1].strip().strip('"'), [("", place)]
        elif re.match(r"@enduml\b", line) and name is not None:
            yield name, lines
            name = None
        elif name is not None:
            lines.append((line, place))
    if name is not None:
        raise ImportFailedError(NOT_READ.at(lines[0][1], "this diagram has no `@enduml`"))


def _without_blocks(lines: list[tuple[str, Span]], diagram: Diagram) -> Iterator[tuple[str, Span]]:
    end: re.Pattern[str] | None = None
    opened = lines[0][1]
    for line, place in lines:
        if end is not None:
            end = None if end.match(line) else end
        elif _ARROW.fullmatch(line):
            # Before all keywords: a state may be called `note` or `title`.
            yield line, place
        elif _PREPROCESSED.match(line):
            diagram.missed(f"a directive, which is not followed: `{line[:60]}`", place)
        else:
            end = next((stop for start, stop in _BLOCKS if start.match(line)), None)
            opened = place
            if end is None and line and not _SKIPPED.match(line) and not re.match(r"(?:floating\s+)?note\b|/'", line):
                yield line, place
    if end is not None:
        diagram.missed("a block that is not closed, and all that follows", opened)


def _line(diagram: Diagram, line: str, place: Span) -> None:
    """One statement."""
    if line in ("}", "end state"):
        diagram.close(place)
    elif line in ("--", "||"):
        diagram.region(place)
    elif (arrow := _ARROW.fullmatch(line)) is not None:
        if "hidden" in arrow[2]:
            return  # It moves states apart, and is not drawn.
        ends = (arrow[3], arrow[1]) if arrow[2].startswith("<") else (arrow[1], arrow[3])
        source, target = (_plain_end(diagram, x, place) for x in ends)
        diagram.arrow(source, target, _plain(arrow[4] or ""), place)
    elif (state := _STATE.fullmatch(line)) is not None:
        _state(diagram, state, place)
    elif (text := _TEXT.fullmatch(line)) is not None:
        if not (diagram.drawn and text[2].startswith("«")):
            diagram.described(text[1], _plain(text[2]), place)
    else:
        problem = NOT_READ.at(place, "unsupported state diagram syntax")
        raise ImportFailedError(problem.help('write `A --> B : event [guard] / action`, or `state "Title" as A`'))


def _plain_end(diagram: Diagram, name: str, place: Span) -> str:
    """The end of an arrow without history, which the language does not have."""
    plain = re.sub(r"\[H\*?\]", "", name)
    if plain != name:
        diagram.note(
            f"the history of `{plain or diagram.scope or diagram.name}`: it is entered at its beginning", place
        )
    return plain or diagram.scope or name


def _state(diagram: Diagram, match: re.Match[str], place: Span) -> None:
    name = match["name"] or match["name2"] or match["bare"] or re.sub(r"\W+", "_", match["only"] or "") or "state"
    title = next((x for x in (match["title"], match["title2"], match["only"]) if x is not None), None)
    plain_title = None if title is None else " ".join(_plain(title))
    if match["open"]:
        diagram.open(name, place, plain_title)
        return
    diagram.state(name, place, plain_title, match["kind"] or "")
    if match["text"]:
        diagram.described(name, _plain(match["text"]), place)


def _plain(text: str) -> list[str]:
    """The lines of a text, with characters in the place of their numbers."""
    return [re.sub(r"<U\+([0-9A-Fa-f]{4})>", lambda x: chr(int(x[1], 16)), x).strip() for x in text.split(r"\n")]
