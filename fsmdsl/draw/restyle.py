"""Graphviz's SVG made fit for a page: its ids are ours, tooltips show, and neutral colours are those of the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal
from xml.etree.ElementTree import Element, SubElement, fromstring, tostring

from fsmdsl.draw.metrics import text_width
from fsmdsl.draw.palette import BACKGROUND, DARK, DARK_BACKGROUND, DARK_INK, INK, RED
from fsmdsl.draw.placement import placed

Theme = Literal["auto", "light", "dark", "mono"]
"""`auto` follows the reader's scheme, `mono` has one colour: for print, and for readers who set their own."""


def _style(theme: Theme) -> str:
    """Inside a page, background and text have the page's colours; alone, the picture has a background of its own.
    Renderers that know no `light-dark` show the colours for a light page. `:where` lets a page's own rules win."""
    return "\n".join([
        ".fsm-diagram { max-width: 100%; height: auto; }",
        *_themed(theme),
        ".fsm-diagram .edge:hover path { stroke-width: 2.6; }",
    ])  # fmt: skip


def _themed(theme: Theme) -> Iterator[str]:
    alone = "svg.fsm-diagram:root"
    light = f"color: {INK}; background: {BACKGROUND}"
    dark = f"color: {DARK_INK}; background: {DARK_BACKGROUND}"
    match theme:
        case "auto":
            yield f"{alone} {{ {light}; color-scheme: light dark; }}"
            yield f"@media (prefers-color-scheme: dark) {{ {alone} {{ {dark}; }} }}"
            yield from _painted(lambda colour: f"light-dark({colour}, {DARK[colour]})")
        case "light":
            yield f".fsm-diagram {{ {light}; }}"
        case "dark":
            yield f".fsm-diagram {{ {dark}; }}"
            yield from _painted(lambda colour: DARK[colour])
        case "mono":
            yield f".fsm-diagram {{ {light}; }}"
            yield from _painted(lambda _: "currentColor")
            yield f':where(.fsm-diagram [fill="{RED}"]) {{ fill: currentColor; }}'
            yield f':where(.fsm-diagram [stroke="{RED}"]) {{ stroke: currentColor; }}'


def _painted(colour: Callable[[str], str]) -> Iterator[str]:
    for x in DARK:
        yield from (f':where(.fsm-diagram [{paint}="{x}"]) {{ {paint}: {colour(x)}; }}' for paint in ("fill", "stroke"))


STYLE = f"\n{_style('auto')}\n"
"""The style sheet of a diagram that follows the reader's scheme."""

_TOOLTIP = "{http://www.w3.org/1999/xlink}title"


def restyled(svg: str, title: str, theme: Theme = "auto", *, described: tuple[str, str] = ("", "")) -> str:
    """The picture without declarations, so that it can stand in a page. `title` is what a screen reader says, and then,
    if the reader wants more, the text that is `described` under an id."""
    root = fromstring(svg)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for paint in ("fill", "stroke"):
            if element.get(paint) == INK:
                element.set(paint, "currentColor")
    _tidy(root)
    for text in root.iter("text"):
        _fit(text)
    placed(root)
    sizes = {name: root.get(name, "") for name in ("width", "height", "viewBox")}
    root.attrib = {
        "xmlns": "http://www.w3.org/2000/svg", "class": "fsm-diagram", "role": "img", "aria-label": title, **sizes,
    }  # fmt: skip
    name, description_text = described
    if description_text:
        root.set("aria-describedby", name)
        description = Element("desc", {"id": name})
        description.text = description_text
        root.insert(0, description)
    style = Element("style")
    style.text = f"\n{_style(theme)}\n"
    root.insert(0, style)
    return tostring(root, encoding="unicode") + "\n"


def _tidy(group: Element) -> None:
    """Graphviz writes tooltips on links that lead nowhere, and as titles names of its own. Here each element has its
    tooltip as its title, which browsers show; a link inside a label, which is a transition's, becomes a group."""
    title = ""
    children: list[Element] = []
    for child in group:
        tooltip, inside = _unlinked(child)
        if child.tag == "title":
            continue
        if tooltip is None:
            _tidy(child)
            children.append(child)
            continue
        part = Element("g")
        part.extend(inside)
        _tidy(part)
        name = child.get("id", "").removeprefix("a_")
        if name.removesuffix("-label") == group.get("id"):
            title = title or tooltip
            children.extend(part)
        else:
            part.attrib = {"id": name, "class": "label"}
            _entitle(part, tooltip)
            children.append(part)
    group[:] = _joined(children)
    if group.get("class", "").startswith(("node", "cluster")):
        _centre(group)
    _entitle(group, title)


def _centre(group: Element) -> None:
    """A name is in the middle of its state."""
    outline = next((x for x in group if x.tag in ("path", "polygon")), None)
    across = [] if outline is None else _NUMBER.findall(outline.get("d") or outline.get("points") or "")[::2]
    for text in group.findall("text") if across else ():
        middle = (min(map(float, across)) + max(map(float, across))) / 2
        text.attrib |= {"x": f"{middle:.2f}", "text-anchor": "middle"}


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def _unlinked(element: Element) -> tuple[str | None, list[Element]]:
    """The tooltip and the contents of `<g><a xlink:title="…">…</a></g>`; None for anything else."""
    link = element[0] if element.tag == "g" and len(element) == 1 else None
    if link is None or link.tag != "a":
        return None, []
    return link.get(_TOOLTIP, "").strip(), list(link)


def _fit(text: Element) -> None:
    """The renderer fits the line to the width for which the layout has room, whatever its font."""
    size = float(text.get("font-size", "10"))
    pieces = [text, *text.findall("tspan")]
    width = sum(text_width(p.text or "", size, bold=p.get("font-weight") == "bold") for p in pieces)
    if width:
        text.attrib |= {"textLength": f"{width:.2f}", "lengthAdjust": "spacingAndGlyphs"}


def _entitle(element: Element, text: str) -> None:
    if text:
        title = Element("title")
        title.text = text
        element.insert(0, title)


def _joined(children: list[Element]) -> list[Element]:
    """Pieces of one line become one text, so that they follow one another in fonts of any width."""
    joined: list[Element] = []
    for child in children:
        last = joined[-1] if joined else None
        if last is not None and _continues(last, child):
            look = {"font-weight": "normal", "font-style": "normal", **child.attrib}
            piece = SubElement(last, "tspan", {k: look[k] for k in ("font-weight", "font-style", "fill") if k in look})
            piece.text = child.text
        else:
            joined.append(child)
    return joined


def _continues(last: Element, child: Element) -> bool:
    same_line = last.tag == child.tag == "text" and last.get("y") == child.get("y")
    return same_line and (child.text or "")[:1].isspace()
