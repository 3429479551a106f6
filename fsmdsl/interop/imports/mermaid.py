"""State diagrams in Mermaid, alone or in the code blocks of a Markdown file."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from fsmdsl.interop.imports.diagram import Diagram
from fsmdsl.interop.imports.name_words import file_name
from fsmdsl.interop.imports.rules import NOT_READ
from fsmdsl.interop.imports.table import Imported, ImportFailedError, LeftOut, Table, Unread
from fsmdsl.text.source import Source, Span

_BLOCK = re.compile(r"^[ \t]*(?:```|~~~)\s*mermaid[^\n]*\n(.*?)^[ \t]*(?:```|~~~)", re.MULTILINE | re.DOTALL)
_HEAD = re.compile(r"stateDiagram(?:-v2)?\s*$")
_HEADING = re.compile(r"^#{1,6}[ \t]+(.*)$", re.MULTILINE)
_ID = r"(?:\[\*\]|[^\s:{}\"<>,;]+?)"
_ARROW = re.compile(rf"({_ID})(?::::\w+)?\s*-->\s*({_ID})(?::::\w+)?\s*(?::\s*(.*))?")
_STATE = re.compile(
    r'state\s+(?:"(?P<title>[^"]*)"\s+as\s+)?(?P<name>[^\s"{}<:]+)(?::::\w+)?\s*(?P<kind><<\w+>>)?\s*(?P<open>\{)?'
)
_TEXT = re.compile(rf"({_ID})\s*:\s+(.*)|({_ID}):([^:].*)")
_BARE = re.compile(r"([\w.-]+)(?::::\w+)?")
_SKIPPED = re.compile(
    r"(?:direction|classDef|class|style|hide|scale|accTitle|accDescr|title|click|linkStyle)\b|%%|---\s*$", re.IGNORECASE
)


def read(source: Source) -> Imported:
    """All state diagrams of a file. Raises `ImportFailedError` where it has none."""
    tables: list[Table] = []
    left_out: list[LeftOut] = []
    unread: list[Unread] = []
    for start, end in _diagrams(source.text):
        diagram = _Reader(source, start, end, len(tables)).read()
        table = None if diagram is None else diagram.table()
        if diagram is not None and table is not None:
            tables.append(table)
            left_out += diagram.left_out
        elif diagram is not None:
            unread += diagram.unread
    if not tables:
        problem = NOT_READ.at(Span(source, 0, 0), "there is no `stateDiagram` with a state in it")
        raise ImportFailedError(problem.help("a diagram begins with a line `stateDiagram-v2`"))
    return Imported(tuple(tables), tuple(left_out), tuple(unread))


def _diagrams(text: str) -> Iterator[tuple[int, int]]:
    blocks = [x.span(1) for x in _BLOCK.finditer(text)]
    yield from blocks or [(0, len(text))]


class _Reader:
    def __init__(self, source: Source, start: int, end: int, number: int) -> None:
        self.source = source
        self.lines = list(self._lines(start, end))
        self.number = number
        headings = _HEADING.findall(source.text, 0, start) if start else []
        self.heading: str = headings[-1].strip("# `*") if headings else ""
        """That of the section of Markdown in which the diagram is."""

    def _lines(self, start: int, end: int) -> Iterator[tuple[str, Span]]:
        offset = start
        for line in self.source.text[start:end].splitlines(keepends=True):
            begin = offset + len(line) - len(line.lstrip())
            stop = offset + len(line.rstrip())
            yield line.strip(), Span(self.source, begin, max(begin, stop))
            offset += len(line)

    def read(self) -> Diagram | None:
        head = next((n for n, (line, _) in enumerate(self.lines) if _HEAD.match(line)), None)
        if head is None:
            return None
        title = next((x[6:].strip() for x, _ in self.lines[:head] if x.startswith("title:")), "")
        name = (
            title
            or self.heading
            or file_name(self.source.name).split(".")[0] + (f" {self.number + 1}" if self.number else "")
        )
        diagram = Diagram(name, self.lines[head][1], drawn=_is_drawn([x for x, _ in self.lines[head + 1 :]]))
        inside, opened = "", self.lines[head][1]
        for line, place in self.lines[head + 1 :]:
            if not inside:
                opened = place
            if inside:
                inside = "" if re.match(inside, line) else inside
            elif _ARROW.fullmatch(plain := re.sub(r"\s%%.*", "", line).rstrip(";")):
                # Before all keywords: a state may be called `note` or `title`.
                _line(diagram, plain, place)
            elif re.match(r"note\b[^:]*$", line):
                inside = r"end\s*note"
            elif re.match(r"accDescr\s*\{", line) and "}" not in line:
                inside = r".*\}"
            elif line and not _SKIPPED.match(line) and not line.startswith("note "):
                _line(diagram, plain, place)
        if inside:
            diagram.missed("a block that is not closed, and all that follows", opened)
        return diagram


def _is_drawn(lines: list[str]) -> bool:
    """Has `fsm draw` written this? Then it declares every state by `state "…" as …` before any arrow."""
    states = {x[1] for line in lines if (x := re.match(r'state ".*" as (\S+)(?: \{)?$', line))}
    arrows = [x for line in lines if (x := _ARROW.fullmatch(line))]
    ends = {name for x in arrows for name in (x[1], x[2]) if name != "[*]"}
    return bool(lines) and re.match(r"direction \w\w$", lines[0]) is not None and bool(states) and ends <= states


def _line(diagram: Diagram, line: str, place: Span) -> None:
    """One statement."""
    if line == "}":
        diagram.close(place)
    elif line == "--":
        diagram.region(place)
    elif (arrow := _ARROW.fullmatch(line)) is not None:
        diagram.arrow(arrow[1], arrow[2], _plain(arrow[3] or ""), place)
    elif (state := _STATE.fullmatch(line)) is not None:
        _state(diagram, state, place)
    elif (text := _TEXT.fullmatch(line)) is not None:
        diagram.described(text[1] or text[3], _plain(text[2] or text[4]), place)
    elif (bare := _BARE.fullmatch(line)) is not None:
        diagram.state(bare[1], place)
    else:
        problem = NOT_READ.at(place, "unsupported state diagram syntax")
        raise ImportFailedError(problem.help('write `A --> B : event [guard] / action`, or `state "Title" as A`'))


def _state(diagram: Diagram, match: re.Match[str], place: Span) -> None:
    lines = None if match["title"] is None else _plain(match["title"])
    if match["open"] and diagram.drawn:
        # `fsm draw` writes the internal transitions of a composite below its title.
        diagram.open(match["name"], place, lines[0] if lines else None)
        if lines is not None and len(lines) > 1:
            diagram.described(match["name"], lines[1:], place)
    elif match["open"]:
        diagram.open(match["name"], place, " ".join(lines or ()))
    else:
        diagram.state(match["name"], place, None if lines is None else " ".join(lines), match["kind"] or "")


def _plain(text: str) -> list[str]:
    """The lines of a text without colours, with characters in the place of their numbers."""
    text = re.sub(r"</?font\b[^>]*>", "", text, flags=re.IGNORECASE)
    lines = re.split(r"<br\s*/?>|\\n", text, flags=re.IGNORECASE)
    return [html.unescape(_entities(x)).strip() for x in lines]


def _entities(text: str) -> str:
    """`#62;` and `#quot;` as HTML writes them."""
    return re.sub(r"#(\d+|\w+);", lambda x: f"&#{x[1]};" if x[1].isdigit() else f"&{x[1]};", text)
