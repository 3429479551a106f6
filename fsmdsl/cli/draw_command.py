"""`fsm draw`: machines as diagrams."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from fsmdsl import model as m
from fsmdsl.cli.common import FINDINGS, chosen, documented_option, model_or_exit, paint, paths_argument, say_json
from fsmdsl.cli.completing import machine_names
from fsmdsl.cli.messages import misuse, say
from fsmdsl.cli.writing import earlier, force_option, write_folder
from fsmdsl.diagnostics import Diagnostic, did_you_mean
from fsmdsl.draw.dot import dot
from fsmdsl.draw.graph import Graph, Overlay, graph_of
from fsmdsl.draw.mermaid import mermaid
from fsmdsl.draw.plantuml import plantuml
from fsmdsl.draw.svg import is_drawing, picture
from fsmdsl.report.drawing import drawing
from fsmdsl.report.frames import frame

TEXTS: dict[str, tuple[str, Callable[[m.Machine, Overlay | None], str]]] = {
    "dot": ("dot", lambda x, marks: dot(graph_of(x, marks))),
    "mermaid": ("mmd", lambda x, marks: mermaid(graph_of(x, marks, junctions=False))),
    "plantuml": ("puml", lambda x, marks: plantuml(graph_of(x, marks, junctions=False))),
}
"""Formats that need no Graphviz: the ending of their files, and how they are made."""

PICTURES = ("svg", "png", "pdf")


@click.command("draw")
@paths_argument
@documented_option
@click.option(
    "--machine",
    "names",
    multiple=True,
    metavar="NAME",
    shell_complete=machine_names,
    help="Only this machine (may be repeated).",
)
@click.option("--out", "-o", default="diagrams", show_default=True, help="A folder; `-` prints instead.")
@click.option(
    "--format",
    "form",
    type=click.Choice([*PICTURES, *TEXTS, "json"]),
    default="svg",
    show_default=True,
    help="svg, png and pdf need Graphviz or the extra `svg`; json prints the graphs as data.",
)
@click.option(
    "--overlay",
    type=click.Choice(["explored", "scenarios"]),
    help="Mark what exploring all systems reaches, or what scenarios pass through, and what never.",
)
@force_option
def command(
    paths: tuple[str, ...],
    as_documented: bool,
    names: tuple[str, ...],
    out: str,
    form: str,
    overlay: str | None,
    force: bool,
) -> None:
    """Draw the machines of specs: a file for each, called `module.Machine`.

    A manifest in the folder lists what was written. When all machines of the same paths are drawn again, in the same
    format, the diagrams of those that are gone are removed.
    """
    model = model_or_exit(paths, "json" if form == "json" else "text", as_documented=as_documented)
    machines = _chosen(model, names)
    if form == "json":
        say_json("draw", {"machines": [drawing(x.qualified, graph_of(x)) for x in machines]})
        return
    ending = TEXTS[form][0] if form in TEXTS else form
    marks = _marks(model, machines, overlay)
    drawn: dict[str, str | bytes] = {}
    for machine in machines:
        content = _drawn(machine, form, marks.get(machine.qualified))
        if isinstance(content, Diagnostic):
            say(frame(content, paint), err=True)
            sys.exit(FINDINGS)
        if out == "-":
            click.echo(content, nl=not isinstance(content, bytes))
        drawn[f"{machine.qualified}.{ending}"] = content
    if out != "-":
        purpose = f"draw {' '.join(chosen(paths))} --format {form}"
        write_folder(Path(out), purpose, drawn, ours=earlier(is_drawing), force=force, prune=not names)
        say(f"{len(machines)} diagram{'s' * (len(machines) != 1)} in {out}")


def _marks(model: m.Model, machines: list[m.Machine], overlay: str | None) -> dict[str, Overlay]:
    if overlay is None:
        return {}
    from fsmdsl.report.coverage import reached

    return reached(model, machines, overlay)


def _drawn(machine: m.Machine, form: str, marks: Overlay | None) -> str | bytes | Diagnostic:
    if form in TEXTS:
        return TEXTS[form][1](machine, marks)
    graph: Graph = graph_of(machine, marks)
    kind: Any = form
    return picture(graph, kind)


def _chosen(model: m.Model, names: tuple[str, ...]) -> list[m.Machine]:
    if not names:
        return list(model.machines.values())
    known = {name: x for x in model.machines.values() for name in (x.name, x.qualified)}
    for name in names:
        if name not in known:
            misuse(f"there is no machine `{name}`; {did_you_mean(name, known) or '`fsm list` names them'}")
    return list(dict.fromkeys(known[name] for name in names))
