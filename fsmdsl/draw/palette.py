"""The colours and the font of diagrams, on white and on a dark page.

Text in each colour has a contrast of at least 4.5:1 on the background of its scheme. No colour is the only carrier of a
meaning: a shape, a line style or a sign says the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from fsmdsl.draw.arrows import Line
from fsmdsl.draw.graph import Tone

INK = "#24292f"
"""Neutral lines and text; `restyle` replaces it with the colour of the page's text."""
PALE = f"{INK}0d"
PALER = f"{INK}08"
GREY = "#656d76"
RED = "#c4323d"
WHITE = "#ffffff"
LINES: Mapping[Line, str] = {"plain": GREY, "amended": "#8250df", "crash": "#9a5714"}
TONES: Mapping[Tone, str] = {"focus": "#0969da", "seen": "#1a7f37", "unseen": "#bf3989"}

BACKGROUND = "#ffffff"
DARK_BACKGROUND = "#0d1117"
DARK_INK = "#e6edf3"
DARK: Mapping[str, str] = {
    GREY: "#9198a1",
    LINES["amended"]: "#b794f6",
    LINES["crash"]: "#e0a266",
    TONES["focus"]: "#58a6ff",
    TONES["seen"]: "#3fb950",
    TONES["unseen"]: "#f778ba",
}
"""The counterpart on a dark page of each colour that is too dim there. `RED` is a fill under white text in both."""

FONT = "Helvetica,Arial,Liberation Sans,sans-serif"
