"""The formats of diagrams: one list, from which commands, pages, documents and tests take theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.draw import sequence as sequences
from fsmdsl.draw.dot import dot
from fsmdsl.draw.graph import Direction, Graph, Overlay, graph_of
from fsmdsl.draw.mermaid import mermaid
from fsmdsl.draw.plantuml import plantuml
from fsmdsl.draw.sequence import Sequence
from fsmdsl.draw.sequence_svg import as_svg


@dataclass(frozen=True, slots=True)
class Format:
    """A format, and how diagrams are written in it."""

    name: str
    """As the option `--format` takes it."""
    label: str
    ending: str
    """Of the names of files."""
    text: Callable[[Graph, Direction | None], str] | None = None
    """A machine as text; None: Graphviz makes a picture (`svg.picture`)."""
    junctions: bool = True
    """It can draw a junction; otherwise each source has an arrow of its own."""
    sequence: Callable[[Sequence], str] | None = None
    """A sequence diagram; None: the format has none."""

    def graph(self, machine: m.Machine, overlay: Overlay | None = None) -> Graph:
        """The graph of a machine, as this format can draw it."""
        return graph_of(machine, overlay, junctions=self.junctions)


FORMATS = (
    Format("svg", "SVG", "svg", sequence=as_svg),
    Format("png", "PNG", "png"),
    Format("pdf", "PDF", "pdf"),
    Format("mermaid", "Mermaid", "mmd", mermaid, junctions=False, sequence=sequences.as_mermaid),
    Format("plantuml", "PlantUML", "puml", plantuml, junctions=False, sequence=sequences.as_plantuml),
    Format("dot", "DOT", "dot", dot),
)

BY_NAME: Mapping[str, Format] = {x.name: x for x in FORMATS}

PICTURES: Mapping[str, Format] = {x.name: x for x in FORMATS if x.text is None}
"""Formats that Graphviz makes."""

TEXTS: Mapping[str, Format] = {x.name: x for x in FORMATS if x.text is not None}
"""Formats that need no Graphviz."""


def enumerated(names: Iterable[str], word: str) -> str:
    """`a`, `b` and `c`, for sentences about formats."""
    *others, last = names
    return f"{', '.join(others)} {word} {last}" if others else last
