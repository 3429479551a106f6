"""Diagrams for the page, drawn once for each way that a machine looks."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from typing import Any

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.draw.detail import detailed
from fsmdsl.draw.dot import dot
from fsmdsl.draw.formats import BY_NAME, TEXTS
from fsmdsl.draw.graph import Graph, graph_of
from fsmdsl.draw.mermaid import mermaid
from fsmdsl.draw.restyle import restyled
from fsmdsl.draw.svg import rendered
from fsmdsl.text.diagnostics import Diagnostic

Data = dict[str, Any]

MAX_LABELLED_ARROWS = 250
"""Maximum number of arrows that are drawn with labels. A thousand arrows take two seconds without labels, and more than
twenty with them."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """What is to be drawn of a machine, before Graphviz has laid it out. Sketches with the same `key` look the same."""

    name: str
    text: str
    """In Graphviz's language."""
    note: str

    @property
    def key(self) -> str:
        """From all that matters for the picture."""
        return sha256(f"{self.name}\n{self.text}".encode()).hexdigest()[:32]

    def drawn(self, svg: str) -> str:
        """The picture, from what Graphviz has written."""
        return restyled(svg, f"State machine {self.name}")

    def answer(self, picture: str, *, whole: bool = False) -> Data:
        """The answer with a picture; `whole`: with its style sheet, to stand alone in a file."""
        return {"key": self.key, "svg": picture if whole else bare(picture), "note": self.note}


def sketch(machine: m.Machine, *, with_legend: bool = True) -> Sketch:
    """A machine as text for Graphviz; in a crowd of arrows, without labels and legend."""
    graph = detailed(graph_of(machine))
    crowded = len(graph.edges) > MAX_LABELLED_ARROWS
    text = dot(_unlabelled(graph) if crowded else graph, with_legend=with_legend and not crowded, fixed_text=True)
    note = f"{len(graph.edges):,} arrows, too many for labels: click one to see its row" if crowded else ""
    return Sketch(graph.name, text, note)


def as_text(machine: m.Machine, message: str, advice: str | None) -> Data:
    """The answer where there is no picture: why, and the machine as Mermaid text. It has no key: the next time, there
    may be a picture."""
    text = mermaid(detailed(BY_NAME["mermaid"].graph(machine)))
    return {"key": None, "message": message, "help": advice, "mermaid": text}


def diagram(machine: m.Machine, page_key: str | None = None, *, with_legend: bool = True, whole: bool = False) -> Data:
    """A machine as SVG, or as Mermaid text and the reason why there is no picture. `whole`: see `Sketch.answer`.

    `page_key`: the key of the picture that the page has; if it would be the same, only that is said.
    """
    picture = sketch(machine, with_legend=with_legend)
    if picture.key == page_key:
        return {"key": page_key, "same": True}
    try:
        return picture.answer(_drawn(picture), whole=whole)
    except _NotDrawnError as error:
        return as_text(machine, error.why.message, error.why.advice)


def _unlabelled(graph: Graph) -> Graph:
    """Labels take most of the layout time, and in a crowded picture they are unreadable."""
    return replace(graph, edges=tuple(replace(e, labels=()) for e in graph.edges))


def bare(svg: str) -> str:
    """A picture without a style sheet of its own: the page has one, and lets no other in."""
    return _STYLE.sub("", svg)


_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)


class _NotDrawnError(Exception):
    """There is no picture now. Raised, so that it is not kept: a machine that was too busy may have time again."""

    def __init__(self, why: Diagnostic) -> None:
        super().__init__(why.message)
        self.why = why


@lru_cache(maxsize=64)
def _drawn(picture: Sketch) -> str:
    drawing = rendered(picture.text, "svg")
    if isinstance(drawing, Diagnostic):
        raise _NotDrawnError(drawing)
    return picture.drawn(drawing.decode("utf-8"))


def exported(machine: m.Machine, form: str) -> str | None:
    """A machine in one of the languages for diagrams; None: there is no such language."""
    language = TEXTS.get(form)
    return None if language is None or language.text is None else language.text(language.graph(machine), None)
