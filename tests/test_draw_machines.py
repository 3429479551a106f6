"""Every diagram of the specs on two machines: one that has Liberation, one that has DejaVu alone.

Liberation is looked for where fonts are, and in `FSM_FONTS`. A file by itself, because it starts browsers with an
environment of their own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_draw_everywhere import LIBERATION, MEASURE, drawings, fonts, needs_graphviz

from tests import chromium

TEXTS = """() => [...document.querySelectorAll("svg text")].map((text) => {
  const box = text.getBBox();
  return [text.textContent, Math.round(box.x), Math.round(box.width)];
})"""


def shown(page: Any, drawn: str) -> tuple[list[list[Any]], bytes, list[str]]:
    """Each text with its place and width in the drawing; the picture without its texts; what is not in its box."""
    page.set_content(f"<style>body {{ margin: 0 }}</style>{drawn}")
    texts = page.evaluate(TEXTS)
    wrong = page.evaluate(MEASURE)
    page.add_style_tag(content="text { visibility: hidden }")
    return texts, page.locator("svg").screenshot(), wrong


@needs_graphviz
@chromium.needed
@pytest.mark.skipif(not LIBERATION, reason="SKIPPED, NO SECOND MACHINE: there is no Liberation Sans (FSM_FONTS=FOLDER)")
def test_a_diagram_is_the_same_with_and_without_liberation(tmp_path: Path) -> None:
    """Every diagram of the specs, pixel by pixel, but for the shapes of the letters."""
    drawn = drawings()
    seen = {}
    for family in ("Liberation Sans", "DejaVu Sans"):
        with chromium.browser(fonts(tmp_path, family)) as opened:
            page = opened.new_page(viewport={"width": 1600, "height": 1000})
            seen[family] = {name: shown(page, x) for name, x in drawn.items()}
            letters = "<span style='font: 20px Helvetica'>mmmmmmiiiiii</span>"
            page.set_content(letters)
            seen[family]["a text without a width"] = ([page.locator("span").bounding_box()], b"", [])
    with_, without = seen["Liberation Sans"], seen["DejaVu Sans"]
    assert with_.pop("a text without a width") != without.pop("a text without a width"), "these are two machines"
    different = [name for name in drawn if with_[name][:2] != without[name][:2]]
    assert different == []
    assert {name: x[2] for found in (with_, without) for name, x in found.items() if x[2]} == {}
