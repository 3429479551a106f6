"""Graphviz's HTML-like labels of states and arrows: one table row for each line, in widths from `metrics`.

With `fixed` widths the layout is the same on every machine; the SVG then has each text fitted to its width. Without
them Graphviz may widen a row for the font that it draws with itself (PNG, PDF).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import ceil
from typing import Literal

from fsmdsl.draw.graph import Label, Node
from fsmdsl.draw.labels import NAME_WIDTH, Part, lines
from fsmdsl.draw.metrics import LINE_HEIGHT, text_width
from fsmdsl.draw.palette import GREY, INK, LINES, TONES
from fsmdsl.draw.text import wrapped

NAME_SIZE = 12
LABEL_SIZE = 10
LEGEND_SIZE = 9

ROOM = 16
"""Width of what crosses the title of a composite, with the space around it, in points."""

GAP = '<TD WIDTH="4" HEIGHT="4" FIXEDSIZE="TRUE"></TD>'
"""Space beside a text. (A cell without a size would be as high as a line of large text.)"""

_TABLE = '<TABLE BORDER="0" CELLSPACING="0" CELLPADDING="0">'


def state_label(node: Node, tag: Literal["B", "I"], *, fixed: bool, room: bool = False) -> str:
    """The name of a state, and below it an overlay's note and the internal transitions. `room`: it is at least twice as
    wide as its text."""
    on = "white" if "error" in node.flags and not node.children else None
    name = f"+{node.name}" if "amended" in node.flags else node.name
    resting = "resting" in node.flags
    rows = [_name_row(line, tag, underlined=resting, fixed=fixed) for line in wrapped(name, NAME_WIDTH) or [" "]]
    if node.mark is not None and node.mark.note:
        colour = on or TONES[node.mark.tone]
        rows += [_note_row(line, colour, fixed=fixed) for line in wrapped(node.mark.note, 24, 2)]
    if node.inside:
        rows.append(f"<TR><TD>{transition_labels(node.inside, on, fixed=fixed)}</TD></TR>")
    if room:
        rows.append(
            f'<TR><TD FIXEDSIZE="TRUE" WIDTH="{ceil(2 * _width(node, name, tag) + ROOM)}" HEIGHT="1"></TD></TR>'
        )
    return f"<{_TABLE}{''.join(rows)}</TABLE>>"


def _width(node: Node, name: str, tag: Literal["B", "I"]) -> float:
    """The width of the widest line in a state's label."""
    widths = [text_width(line, NAME_SIZE, bold=tag == "B") for line in wrapped(name, NAME_WIDTH)]
    rows = (row for label in node.inside for row in lines(label))
    widths += [sum(text_width(part.text, LABEL_SIZE, bold=part.role == "name") for part in row) for row in rows]
    return max(widths, default=0.0)


def transition_labels(labels: Iterable[Label], on: str | None = None, *, fixed: bool) -> str:
    """One row for each transition. `on` is the colour of everything, where the background is dark."""
    labels_in_order = list(labels)
    rows = "".join(
        _label_row(label, on, repeats=n > 0 and _same_head(labels_in_order[n - 1], label), fixed=fixed)
        for n, label in enumerate(labels_in_order)
    )
    return f'<TABLE BORDER="0" CELLSPACING="0" CELLPADDING="2">{rows}</TABLE>'


Shaft = Literal["solid", "dashed", "double"]


def beside_line(rows: str, shaft: Shaft, colour: str, width: int, *, across: bool) -> str:
    """A label with a line at its left, or above it where edges go `across`: a cell named `line`, at whose middle the
    parts of an edge end and begin."""
    match shaft:
        case "solid":
            look, thick = f'BGCOLOR="{colour}"', width
        case "dashed":
            look, thick = f'BORDER="{width}" STYLE="dashed" SIDES="{"T" if across else "L"}" COLOR="{colour}"', 1
        case "double":
            look, thick = f'BORDER="1" SIDES="{"TB" if across else "LR"}" COLOR="{colour}"', 3
    size = f'HEIGHT="{thick}"' if across else f'WIDTH="{thick}"'
    line = f'<TD PORT="line" {size} {look}></TD>'
    inside = f"<TR>{line}</TR><TR><TD>{rows}</TD></TR>" if across else f"<TR>{line}<TD>{rows}</TD></TR>"
    return f"{_TABLE}{inside}</TABLE>"


def text_cell(content: str, width: float, size: float, *, fixed: bool, attributes: str = "") -> str:
    """A cell around one line of text; if `fixed`, of a width that we computed."""
    extent = f'FIXEDSIZE="TRUE" WIDTH="{ceil(width)}" HEIGHT="{ceil(size * LINE_HEIGHT)}"' if fixed else ""
    inside = " ".join(filter(None, (attributes, extent)))
    return f"<TD {inside}>{content}</TD>" if inside else f"<TD>{content}</TD>"


def label_text(text: str) -> str:
    """Text in an HTML-like label, where a backslash and a letter would stand for a name, unless it is doubled."""
    return escape(text).replace("\n", "&#10;").replace("\\", "&#92;&#92;")


def _name_row(line: str, tag: Literal["B", "I"], *, underlined: bool, fixed: bool) -> str:
    text = f"<U>{label_text(line)}</U>" if underlined else label_text(line)
    content = f'<FONT POINT-SIZE="{NAME_SIZE}"><{tag}>{text}</{tag}></FONT>'
    return f"<TR>{text_cell(content, text_width(line, NAME_SIZE, bold=tag == 'B'), NAME_SIZE, fixed=fixed)}</TR>"


def _note_row(line: str, colour: str, *, fixed: bool) -> str:
    content = f'<FONT COLOR="{colour}">{label_text(line)}</FONT>'
    return f"<TR>{text_cell(content, text_width(line, LABEL_SIZE), LABEL_SIZE, fixed=fixed)}</TR>"


def _same_head(one: Label, other: Label) -> bool:
    """May the second go without its name and trigger, because only the guards differ?"""
    heads = [(label.name, label.trigger, label.line) for label in (one, other)]
    return heads[0] == heads[1] and heads[0] != ("", "", "plain") and bool(one.guard and other.guard)


def _label_row(label: Label, on: str | None, *, repeats: bool, fixed: bool) -> str:
    own = TONES[label.mark.tone] if label.mark is not None else INK if label.line == "plain" else LINES[label.line]
    tip = label_text(label.tooltip.replace("&", "&amp;"))
    rows = "".join(_line_row(line, label, on, fixed=fixed) for line in lines(label, repeats=repeats))
    cell = f'<TD ALIGN="LEFT" ID="{label.id}" TITLE="{tip}" TARGET="_self">'
    return f'<TR>{GAP}{cell}<FONT COLOR="{on or own}">{_TABLE}{rows}</TABLE></FONT></TD></TR>'


def _line_row(parts: Sequence[Part], label: Label, on: str | None, *, fixed: bool) -> str:
    width = sum(text_width(part.text, LABEL_SIZE, bold=part.role == "name") for part in parts)
    content = "".join(_part(part, label, on) for part in parts)
    cell = text_cell(f'{content}<BR ALIGN="LEFT"/>', width, LABEL_SIZE, fixed=fixed, attributes='ALIGN="LEFT"')
    return f"<TR>{cell}</TR>"


def _part(part: Part, label: Label, on: str | None) -> str:
    text = label_text(part.text)
    match part.role:
        case "name":
            return f"<B>{text}</B>"
        case "trigger":
            return text
        case "guard":
            return f'<FONT COLOR="{on or GREY}"><I>{text}</I></FONT>'
        case "note":
            colour = GREY if label.mark is None else TONES[label.mark.tone]
            return f'<FONT COLOR="{on or colour}">{text}</FONT>'
