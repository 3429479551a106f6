"""Diagrams as golden files.

`UPDATE=1 pytest tests/test_draw_golden.py` rewrites them; each holds the spec that it was made from.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from test_draw import GOLDEN, documented, machine, needs_graphviz, of
from test_draw_sequences import chart

from fsmdsl.dataclasses import replace
from fsmdsl.draw import svg
from fsmdsl.draw.formats import TEXTS
from fsmdsl.draw.graph import graph_of
from fsmdsl.draw.mermaid import mermaid
from fsmdsl.draw.sequence import Change, Failure, LoopBegins, LoopEnds, Message, Note, Step
from fsmdsl.draw.sequence_svg import as_svg

# Golden files --------------------------------------------------------------------------------------------------------


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^===== (\w+)\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_golden(path: Path) -> None:
    kept = sections(path.read_text("utf-8"))
    x = machine(kept["source"])
    now = {
        "source": kept["source"],
        **{name: form.text(form.graph(x), None) for name, form in sorted(TEXTS.items()) if form.text is not None},
    }
    if os.environ.get("UPDATE"):
        path.write_text("".join(f"===== {name}\n{text}" for name, text in now.items()), "utf-8")
    else:
        assert kept == now


def test_golden_sequence() -> None:
    path = GOLDEN / "sequence.out"
    forms = [(name, x.sequence) for name, x in sorted(TEXTS.items())]
    now = "".join(f"===== {name}\n{write(chart())}" for name, write in forms if write is not None)
    if os.environ.get("UPDATE"):
        path.write_text(now, "utf-8")
    else:
        assert path.read_text("utf-8") == now


def test_golden_picture_of_a_sequence() -> None:
    """Our own code places everything; that it looks right, a person has to see."""
    path = GOLDEN / "sequence.svg"
    again = (LoopBegins("again and again"), Step("g0 again"), Message(0, 1, "again"), LoopEnds())
    wide = (
        Note(0, "a note that takes much room"),
        Change(2, "Used", "Used for quite some time", "e8"),
        Failure(3, "a failure that takes much room"),
    )
    now = as_svg(replace(chart(), items=(*chart().items, *again, *wide)), prefix="golden-")
    if os.environ.get("UPDATE"):
        path.write_text(now, "utf-8")
    else:
        assert path.read_text("utf-8") == now


@needs_graphviz
def test_golden_dot_is_dot() -> None:
    """What the golden files hold, Graphviz reads without a word."""
    for path in sorted(GOLDEN.glob("*.txt")):
        command = svg._command("svg")
        assert command is not None
        done = subprocess.run(command, input=sections(path.read_text("utf-8"))["dot"].encode(), capture_output=True)
        said = [x for x in done.stderr.decode().splitlines() if x and "ontconfig" not in x]
        assert (done.returncode, said) == (0, [])


def test_mermaid_has_composites_at_one_level() -> None:
    """Mermaid draws the states of an inner composite outside of it."""
    body = """
    initial state A  event go, back, tick
    state Outer {
      initial state B
      state Inner { initial state C  state D }
    }
    Inner on tick
    B -> Inner on go
    C -> D on go
    Inner -> B on back
    A -> Outer on go
    """
    drawn = mermaid(graph_of(of(body), junctions=False))
    assert drawn.count("{") == 1
    assert 'state "Inner / C" as C' in drawn
    assert {"B --> C : go", "C --> D : go", "C --> B : back", "D --> B : back", "A --> Outer : go"} <= {
        line.strip() for line in drawn.splitlines()
    }
    assert {"C : tick", "D : tick"} <= {line.strip() for line in drawn.splitlines()}


@needs_graphviz
def test_a_page_of_pdf_is_as_large_as_the_drawing() -> None:
    graph = graph_of(next(x for x in documented() if x.qualified == "hived.Cell"))
    drawn, page = svg.picture(graph, "svg"), svg.picture(graph, "pdf")
    assert isinstance(drawn, bytes)
    assert isinstance(page, bytes)
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+)", page)
    assert box is not None
    width = float(ElementTree.fromstring(drawn).get("width", "0").removesuffix("pt"))
    assert 0.8 * width < float(box[1]) < 1.4 * width
