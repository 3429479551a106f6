"""Diagrams for the page, drawn once for each way that a machine looks."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from typing import Any

from fsmdsl import model as m
from fsmdsl.diagnostics import Diagnostic
from fsmdsl.draw.detail import detailed
from fsmdsl.draw.dot import dot
from fsmdsl.draw.graph import Graph, graph_of
from fsmdsl.draw.mermaid import mermaid
from fsmdsl.draw.restyle import restyled
from fsmdsl.draw.svg import rendered

Data = dict[str, Any]

MANY = 250
"""From so many arrows on they are drawn without labels: a thousand take two seconds then, and more than twenty with."""


def diagram(machine: m.Machine, known: str | None = None, *, with_legend: bool = True) -> Data:
    """A machine as SVG, or as Mermaid text and the reason why there is no picture.

    `known`: the key of the picture that the page has; if it would be the same, only that is said. Mermaid text has no
    key: the next time, there may be a picture.
    """
    graph = detailed(graph_of(machine))
    crowded = len(graph.edges) > MANY
    text = dot(_unlabelled(graph) if crowded else graph, with_legend=with_legend and not crowded, fixed_text=True)
    key = sha256(f"{graph.name}\n{text}".encode()).hexdigest()[:32]
    if key == known:
        return {"key": key, "same": True}
    try:
        drawn = _drawn(text, graph.name)
    except _NotDrawnError as error:
        return {"key": None, "message": error.why.message, "help": error.why.advice, "mermaid": _as_text(machine)}
    note = f"{len(graph.edges):,} arrows, too many for labels: click one to see its row" if crowded else ""
    return {"key": key, "svg": bare(drawn), "note": note}


def _unlabelled(graph: Graph) -> Graph:
    """Labels are most of the work of a layout, and in a crowd nobody could read them."""
    return replace(graph, edges=tuple(replace(e, labels=()) for e in graph.edges))


def bare(svg: str) -> str:
    """A picture without a style sheet of its own: the page has one, and lets no other in."""
    return _STYLE.sub("", svg)


_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)


def _as_text(machine: m.Machine) -> str:
    return mermaid(detailed(graph_of(machine, junctions=False)))


class _NotDrawnError(Exception):
    """There is no picture now. Raised, so that it is not kept: a machine that was too busy may have time again."""

    def __init__(self, why: Diagnostic) -> None:
        super().__init__(why.message)
        self.why = why


@lru_cache(maxsize=64)
def _drawn(text: str, name: str) -> str:
    made = rendered(text, "svg")
    if isinstance(made, Diagnostic):
        raise _NotDrawnError(made)
    return restyled(made.decode("utf-8"), f"State machine {name}")
