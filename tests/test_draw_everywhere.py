"""Diagrams look the same on every machine: layout without fonts, text inside its box, contrast in both schemes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fsmdsl.draw import svg
from fsmdsl.draw.detail import detailed
from fsmdsl.draw.graph import graph_of
from fsmdsl.draw.metrics import text_width
from fsmdsl.draw.palette import BACKGROUND, DARK, DARK_BACKGROUND, DARK_INK, GREY, INK, LINES, RED, TONES, WHITE
from fsmdsl.draw.sequence_svg import as_svg
from fsmdsl.model.workspace import load
from fsmdsl.report.chart import violation
from fsmdsl.search import explore
from fsmdsl.text.diagnostics import Diagnostic
from tests import chromium

pytestmark = pytest.mark.full(reason="a browser")

ROOT = Path(__file__).parent.parent
STATIC = ROOT / "fsmdsl" / "report" / "static"

needs_graphviz = pytest.mark.skipif(svg._command("svg") is None, reason="no Graphviz")


def drawings(*names: str) -> dict[str, str]:
    """Every machine of the specs as SVG, or those of some names, by name."""
    loaded = load([ROOT / "specs"])
    assert loaded.model is not None
    machines = [x for x in loaded.model.machines.values() if not names or x.qualified in names]
    drawn = svg.pictures([detailed(graph_of(x)) for x in machines])
    return {x.qualified: y for x, y in zip(machines, drawn, strict=True) if not isinstance(y, Diagnostic)}


# Layout --------------------------------------------------------------------------------------------------------------


PLACES = [Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), Path.home() / ".local/share/fonts"]
if "FSM_FONTS" in os.environ:
    PLACES.append(Path(os.environ["FSM_FONTS"]))

LIBERATION = any(True for place in PLACES for _ in place.rglob("LiberationSans-Regular.*"))


def fonts(folder: Path, family: str) -> Path:
    """A configuration of fontconfig in which every family is one: a machine with other fonts."""
    path = folder / f"{family.replace(' ', '')}.conf"
    path.write_text(
        '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>'
        f"{''.join(f'<dir>{place}</dir>' for place in PLACES)}<cachedir>{folder / 'cache'}</cachedir>"
        '<match target="pattern"><edit name="family" mode="assign" binding="strong">'
        f"<string>{family}</string></edit></match></fontconfig>",
        "utf-8",
    )
    return path


@needs_graphviz
def test_the_layout_does_not_depend_on_fonts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_font = []
    for family in ("DejaVu Sans Mono", "DejaVu Sans Condensed"):
        monkeypatch.setitem(os.environ, "FONTCONFIG_FILE", str(fonts(tmp_path, family)))
        by_font.append(drawings())
    assert len(by_font[0]) == 47
    assert by_font[0] == by_font[1]


def test_widths_are_those_of_helvetica() -> None:
    assert text_width("Allocated", 1000) == 667 + 222 + 222 + 556 + 500 + 556 + 278 + 556 + 556
    assert text_width("Allocated", 10, bold=True) > text_width("Allocated", 10)
    assert text_width("→", 10) == 10
    assert text_width("e\u0301", 10) == text_width("e", 10)


# Text in its box -----------------------------------------------------------------------------------------------------

MEASURE = """() => {
  const wrong = [];
  const svg = document.querySelector("svg");
  const view = svg.getBoundingClientRect();
  for (const text of svg.querySelectorAll("text")) {
    const box = text.getBoundingClientRect();
    if (box.left < view.left - 1 || box.right > view.right + 1) wrong.push(`outside the picture: ${text.textContent}`);
    const group = text.closest(".node, .cluster");
    if (group?.id.startsWith("label-")) continue; // beside an edge, with the line that it is beside
    const outline = group && group.querySelector(":scope > path, :scope > polygon");
    if (!outline) continue;
    const around = outline.getBoundingClientRect();
    if (box.left < around.left || box.right > around.right) wrong.push(`outside its state: ${text.textContent}`);
  }
  const texts = [...svg.querySelectorAll("text")].map((x) => [x.textContent, x.getBoundingClientRect()]);
  for (const [i, [one, a]] of texts.entries())
    for (const [other, b] of texts.slice(i + 1)) {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && high > 5) wrong.push(`one over the other: ${one} / ${other}`);
    }
  return wrong;
}"""


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    with chromium.browser() as opened:
        yield opened.new_page()


@needs_graphviz
@chromium.needed
def test_text_is_inside_its_state_and_no_text_covers_another(page: Any) -> None:
    wrong = {}
    for name, drawn in drawings().items():
        page.set_content(drawn)
        found = page.evaluate(MEASURE)
        if found:
            wrong[name] = found
    assert wrong == {}


SEQUENCE = """() => {
  const wrong = [];
  for (const text of document.querySelectorAll("svg text")) {
    const rect = text.previousElementSibling;
    if (!rect || rect.tagName !== "rect" || text.closest(".step")) continue;
    const a = text.getBoundingClientRect(), b = rect.getBoundingClientRect();
    if (a.left < b.left || a.right > b.right) wrong.push(text.textContent);
  }
  return wrong;
}"""


@chromium.needed
def test_text_of_a_sequence_is_inside_its_box(page: Any) -> None:
    loaded = load([ROOT / "specs" / "hived" / "holes"], as_documented=True)
    assert loaded.model is not None
    drawn = 0
    for system in list(loaded.model.systems.values())[:4]:
        for verdict in explore(loaded.model, system).verdicts:
            if verdict.outcome == "violated" and verdict.trace is not None:
                page.set_content(as_svg(violation("a run", verdict)))
                assert page.evaluate(SEQUENCE) == []
                drawn += 1
    assert drawn


# Colours -------------------------------------------------------------------------------------------------------------


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21 (WCAG 2)."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def mixed(ink: str, ground: str, share: float) -> str:
    """`ink`, translucent, on `ground`: the inside of a state."""
    pairs = [(int(ink[i : i + 2], 16), int(ground[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


COLOURS = {GREY, *LINES.values(), *TONES.values()}


@pytest.mark.parametrize("colour", sorted(COLOURS))
def test_each_colour_can_be_read_on_both_backgrounds(colour: str) -> None:
    inside = mixed(INK, BACKGROUND, 0.05), mixed(DARK_INK, DARK_BACKGROUND, 0.05)
    assert all(contrast(colour, ground) >= 4.5 for ground in (BACKGROUND, inside[0]))
    assert all(contrast(DARK[colour], ground) >= 4.5 for ground in (DARK_BACKGROUND, inside[1]))
    assert contrast(WHITE, RED) >= 4.5


def test_the_pages_replace_each_colour() -> None:
    theme = (STATIC / "theme.css").read_text("utf-8")
    assert {*re.findall(r'\.fsm-diagram \[\w+="(#\w+)"\]', theme)} == COLOURS == {*DARK}
