"""Diagrams of the specs on two machines: one that has Liberation, one that has DejaVu alone.

Liberation is looked for where fonts are, and in `FSM_FONTS`. A file by itself, because it starts browsers with an
environment of their own.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from test_draw_everywhere import LIBERATION, MEASURE, drawings, fonts, needs_graphviz

from tests import chromium

TEXTS = """() => [...document.querySelectorAll("svg text")].map((text) => {
  const box = text.getBBox();
  return [text.textContent, box.x, box.width];
})"""


def shown(page: Any, drawn: str) -> tuple[list[list[Any]], bytes, list[str]]:
    """Each text with its place and width in the drawing; the picture without its texts; what is not in its box."""
    page.set_content(f"<style>body {{ margin: 0 }}</style>{drawn}")
    texts = page.evaluate(TEXTS)
    wrong = page.evaluate(MEASURE)
    page.add_style_tag(content="text { visibility: hidden }")
    return texts, page.locator("svg").screenshot(), wrong


def same(one: list[list[Any]], other: list[list[Any]]) -> bool:
    """The same texts, each at the same place and as wide; a slanted letter may lean out of its line by two pixels."""
    pairs = zip(one, other, strict=True)
    return all(a[0] == b[0] and abs(a[1] - b[1]) < 2 and abs(a[2] - b[2]) < 2 for a, b in pairs)


@needs_graphviz
@chromium.needed
@pytest.mark.skipif(not LIBERATION, reason="SKIPPED, NO SECOND MACHINE: there is no Liberation Sans (FSM_FONTS=FOLDER)")
def test_a_diagram_is_the_same_with_and_without_liberation(tmp_path: Path) -> None:
    """Pixel by pixel, but for the shapes of letters. All diagrams with `FSM_EVERY_DIAGRAM`, as every night; else one
    with composites, one with many rows, and one with amendments and crashes."""
    few = () if "FSM_EVERY_DIAGRAM" in os.environ else ("grove.Pod", "yunikorn.core.Application", "hived.Cell")
    drawn = drawings(*few)
    seen = {}
    for family in ("Liberation Sans", "DejaVu Sans"):
        with chromium.browser(fonts(tmp_path, family)) as opened:
            page = opened.new_page(viewport={"width": 1600, "height": 1000})
            seen[family] = {name: shown(page, x) for name, x in drawn.items()}
            page.set_content("<span style='font: 20px Helvetica'>mmmmmmiiiiii</span>")
            width = page.locator("span").bounding_box()
            seen[family]["a text without a width"] = ([[width]], b"", [])
    with_, without = seen["Liberation Sans"], seen["DejaVu Sans"]
    assert with_.pop("a text without a width") != without.pop("a text without a width"), "these are two machines"
    assert [name for name in drawn if not same(with_[name][0], without[name][0])] == []
    assert [name for name in drawn if with_[name][1] != without[name][1]] == []
    assert {name: x[2] for found in (with_, without) for name, x in found.items() if x[2]} == {}
