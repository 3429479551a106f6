"""Graphviz's SVG made fit for a page: its ids are ours, tooltips show, and neutral colours are those of the page."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from fsmdsl.draw.dot import INK

STYLE = """
.fsm-diagram { max-width: 100%; height: auto; }
svg.fsm-diagram:root { color: #24292f; }
@media (prefers-color-scheme: dark) { svg.fsm-diagram:root { color: #e6edf3; } }
.fsm-diagram .edge:hover path { stroke-width: 2.6; }
"""
"""Inside a page, the colour of the text is the page's; alone, the picture follows the reader's light or dark mode."""

_XLINK = "{http://www.w3.org/1999/xlink}title"


def restyled(svg: str, title: str) -> str:
    """The picture without declarations, so that it can stand in a page. `title` is what a screen reader says."""
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for paint in ("fill", "stroke"):
            if element.get(paint) == INK:
                element.set(paint, "currentColor")
    graph = root.find("g")
    assert graph is not None  # Graphviz puts everything into one group
    _retitle(graph, "")
    root.attrib = {
        "xmlns": "http://www.w3.org/2000/svg",
        "class": "fsm-diagram",
        "role": "img",
        "aria-label": title,
        "width": root.get("width", "").removesuffix("pt"),
        "height": root.get("height", "").removesuffix("pt"),
        "viewBox": root.get("viewBox", ""),
    }
    style = ElementTree.Element("style")
    style.text = STYLE
    root.insert(0, style)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _retitle(group: ElementTree.Element, shown: str) -> None:
    """Graphviz writes an element's tooltip on a link inside of it that leads nowhere. It becomes the element's title,
    which is what browsers show, and the link goes; the link around a transition's label becomes a group."""
    for title in group.findall("title"):
        group.remove(title)
    children = [found for child in list(group) for found in _unlinked(child)]
    tips = [tip for tip, _ in children if tip.strip() and tip != shown]
    own = tips[0] if tips and not group.get("id", "").startswith("a_") else ""
    group[:] = []
