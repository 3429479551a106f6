"""A machine of two versions as one diagram: what was added, removed and changed, each with a sign, a colour and a line.

The signs (`+`, `−`, `~`) and the dashes of what is gone say the same as the colours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal
from xml.etree.ElementTree import Element, SubElement, fromstring, tostring

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.draw.graph import Graph, graph_of
from fsmdsl.draw.mermaid import RESERVED, mermaid
from fsmdsl.draw.svg import picture
from fsmdsl.draw.text import identifiers, safe
from fsmdsl.report.compare.changes import Compared, Match
from fsmdsl.text.diagnostics import Diagnostic

Status = Literal["added", "removed", "changed"]

SIGNS: Mapping[Status, str] = {"added": "+", "removed": "−", "changed": "~"}
COLOURS: Mapping[Status, str] = {"added": "#1f8a4c", "removed": "#d1383f", "changed": "#a86f00"}
"""Readable on white and on black."""


@dataclass(frozen=True, slots=True)
class Merged:
    """Both versions as one machine; amendments are not told apart. `rows` are by index, states by name."""

    machine: m.Machine
    states: Mapping[str, Status]
    rows: Mapping[int, Status]
    whole: bool = True
    """False: of a large machine, only what has changed, and the states at both ends of it."""


LARGE = 120
"""Transitions of a machine that is not drawn as a whole."""


def merged(part: Compared) -> Merged | None:
    """The new version with what is gone from the old one; None for what is no machine."""
    both = _merged(part)
    return both if both is None or len(both.machine.transitions) <= LARGE else _focused(both)


def _focused(x: Merged) -> Merged:
    rows = [t for t in x.machine.transitions if t.index in x.rows]
    near = {*x.states, *(t.source for t in rows), *(t.target for t in rows)}
    # With what is inside of a composite, and what it is inside of.
    names = {s.name for s in x.machine.states if not near.isdisjoint(x.machine.ancestors(s.name))}
    names |= {outer for name in near if name is not None for outer in x.machine.ancestors(name)}
    states = tuple(s for s in x.machine.states if s.name in names)
    machine = replace(x.machine, states=states, transitions=tuple(replace(t, index=n) for n, t in enumerate(rows)))
    return Merged(machine, x.states, {n: x.rows[t.index] for n, t in enumerate(rows)}, False)


def _merged(part: Compared) -> Merged | None:
    old, new = part.old, part.new
    base = new if isinstance(new, m.Machine) else old
    if not isinstance(base, m.Machine):
        return None
    before = old if isinstance(old, m.Machine) else None
    after = new if isinstance(new, m.Machine) else None
    states = dict(_states(before, after, part))
    rows = list(_rows(part.rows or _all(before, after), part.states))
    machine = replace(
        base,
        states=tuple(_with_status(s, status) for s, status in states.values()),
        transitions=tuple(replace(t, index=n) for n, (t, _) in enumerate(rows)),
        hooks=(), ignores=(), priority=(), priority_spans=(),
    )  # fmt: skip
    status = {name: x for name, (_, x) in states.items() if x is not None}
    return Merged(machine, status, {n: x for n, (_, x) in enumerate(rows) if x is not None})


def _all(old: m.Machine | None, new: m.Machine | None) -> tuple[Match, ...]:
    """Of a machine that is only in one version."""
    removed = (Match(t, None) for t in (old.transitions if old is not None and new is None else ()))
    added = (Match(None, t) for t in (new.transitions if new is not None and old is None else ()))
    return (*removed, *added)


def _states(
    old: m.Machine | None, new: m.Machine | None, part: Compared
) -> Iterator[tuple[str, tuple[m.State, Status | None]]]:
    touched = {c.name for c in part.changes if c.what == "state" and c.kind in ("changed", "renamed")}
    was = {b: a for a, b in part.states.items()}
    for s in () if new is None else new.states:
        in_both = old is not None and was.get(s.name, s.name) in old.state_named
        display = f"{s.display} (was {was[s.name]})" if s.name in was else s.display
        yield (
            s.name,
            (
                replace(s, display=display),
                None if in_both and s.name not in touched else "changed" if in_both else "added",
            ),
        )
    for s in () if old is None else old.states:
        if part.states.get(s.name, s.name) not in (new.state_named if new is not None else {}):
            parent = None if s.parent is None else part.states.get(s.parent, s.parent)
            inside = parent is not None and (new is None or parent not in new.state_named)
            yield s.name, (replace(s, parent=parent, initial=s.initial and (inside or new is None)), "removed")


def _with_status(s: m.State, status: Status | None) -> m.State:
    return replace(s, amended=None, display=s.display if status is None else f"{SIGNS[status]} {s.display}")


def _rows(matches: tuple[Match, ...], names: Mapping[str, str]) -> Iterator[tuple[m.Transition, Status | None]]:
    """What has moved is shown where it was, and where it is."""
    for x in matches:
        if x.new is not None:
            status: Status | None = "added" if x.old is None or x.moved else "changed" if x.details else None
            doc = "" if x.old is None else "\n".join([x.new.doc, *x.details])
            yield _signed(replace(x.new, doc=doc or x.new.doc), status), status
        if x.old is not None and (x.new is None or x.moved):
            target = None if x.old.target is None else names.get(x.old.target, x.old.target)
            removed = replace(x.old, source=names.get(x.old.source, x.old.source), target=target)
            yield _signed(removed, "removed"), "removed"


def _signed(t: m.Transition, status: Status | None) -> m.Transition:
    return replace(t, amended=None, label=t.label if status is None else f"{SIGNS[status]} {t.label or ''}".rstrip())


# Mermaid -------------------------------------------------------------------------------------------------------------


def as_mermaid(x: Merged) -> str:
    """For Markdown. Its arrows have no colours: there the signs stand alone."""
    graph = graph_of(x.machine, junctions=False)
    names = _names(graph)
    looks = []
    for status, colour in COLOURS.items():
        members = [
            names[f"state-{safe(s)}"] for s, y in x.states.items() if y == status and f"state-{safe(s)}" in names
        ]
        if members:
            dashes = ",stroke-dasharray:6 4" if status == "removed" else ""
            looks += [
                f"classDef {status} stroke:{colour},stroke-width:3px{dashes}",
                f"class {','.join(members)} {status}",
            ]
    return mermaid(graph) + "".join(f"    {line}\n" for line in looks)


def _names(graph: Graph) -> dict[str, str]:
    """What `draw.mermaid` calls leaves, which alone can have a look."""
    own = {f"{n.name}_{end}".casefold() for n in graph.every() if n.children for end in ("start", "end")}
    names = identifiers((n.id for n in graph.every() if n.kind in ("state", "any")), RESERVED | own)
    leaves = {n.id for n in graph.every() if n.kind == "state" and not n.children}
    return {node: name for node, name in names.items() if node in leaves}


# SVG -----------------------------------------------------------------------------------------------------------------

STYLE = "".join(
    f"""
.diff-{status} > path, .diff-{status} > polygon, .diff-{status} > polyline {{
  stroke: {colour}; stroke-width: 2; {dash} }}
.edge.diff-{status} > polygon {{ fill: {colour}; }}
.node.diff-{status} > text, .label.diff-{status} text,
.label.diff-{status} tspan, text.diff-{status} {{ fill: {colour}; }}"""
    for (status, colour), dash in zip(COLOURS.items(), ("", "stroke-dasharray: 6 4;", ""), strict=True)
)

FOOT = 24
"""Units of the picture for what the signs mean."""


def as_svg(x: Merged, prefix: str = "") -> str | Diagnostic:
    """The diagram, ready to stand in a page. `prefix` keeps the ids of several pictures on one page apart."""
    graph = graph_of(x.machine, prefix=prefix)
    drawn = picture(graph, "svg")
    if isinstance(drawn, Diagnostic):
        return drawn
    root = fromstring(drawn.decode("utf-8"))
    looks = dict(_looks(x, graph, prefix))
    for element in root.iter():
        status = looks.get(element.get("id", "").removesuffix("-head"))
        if status is not None:
            element.set("class", f"{element.get('class', '')} diff-{status}".strip())
    for style in root.iter("{http://www.w3.org/2000/svg}style"):
        style.text = f"{style.text or ''}{STYLE}\n"
    _explain(root)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    root.set("xmlns", "http://www.w3.org/2000/svg")
    return tostring(root, encoding="unicode") + "\n"


def _looks(x: Merged, graph: Graph, prefix: str) -> Iterator[tuple[str, Status]]:
    """By id: nodes, edges that stand for nothing else, and labels."""
    yield from ((f"{prefix}state-{safe(name)}", status) for name, status in x.states.items())
    yield from ((f"{prefix}transition-{index}", status) for index, status in x.rows.items())
    for edge in graph.edges:
        statuses = {x.rows.get(index) for index in edge.transitions}
        status = next(iter(statuses)) if len(statuses) == 1 else None
        if status is not None:
            yield edge.id, status


def _explain(root: Element) -> None:
    """Below the picture, what the signs mean."""
    left, top, wide, high = (float(n) for n in root.get("viewBox", "0 0 100 100").split())
    wide = max(wide, 230.0)
    root.set("viewBox", f"{left:g} {top:g} {wide:g} {high + FOOT:g}")
    root.set("width", f"{wide:g}pt")
    root.set("height", f"{high + FOOT:g}pt")
    for n, (status, sign) in enumerate(SIGNS.items()):
        look = {"x": f"{left + 10 + n * 75:g}", "y": f"{top + high + 14:g}", "class": f"diff-{status}"}
        SubElement(
            root, "text", {**look, "font-size": "11", "font-family": "Helvetica,Arial,sans-serif"}
        ).text = f"{sign} {status}"
