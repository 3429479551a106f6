"""`fsm draw`: machines as diagrams."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from fsmdsl import model as m
from fsmdsl.cli import FINDINGS, usage
from fsmdsl.cli.common import (
    absent,
    chosen,
    documented_option,
    has_left_out,
    model_or_exit,
    paint,
    paths_argument,
    say_json,
)
from fsmdsl.cli.completions import machine_names
from fsmdsl.cli.counts import counted, counts_option
from fsmdsl.cli.limits import MINUTES, Form, limit_options, within
from fsmdsl.cli.messages import misuse, say, say_document, say_text
from fsmdsl.cli.output_files import earlier, force_option, write_folder
from fsmdsl.cli.without_option import without_option
from fsmdsl.dataclasses import NamedTuple
from fsmdsl.draw.detail import Detail, detailed
from fsmdsl.draw.formats import BY_NAME, PICTURES, Format, enumerated
from fsmdsl.draw.graph import Direction, Overlay, graph_of
from fsmdsl.draw.restyle import Theme
from fsmdsl.draw.svg import is_drawing, picture
from fsmdsl.report.drawing import drawing
from fsmdsl.report.frames import frame
from fsmdsl.text.budget import Budget
from fsmdsl.text.diagnostics import Diagnostic, did_you_mean

_PICTURES = enumerated(PICTURES, "and")


@usage.command("draw")
@paths_argument
@documented_option
@without_option
@usage.option(
    "--machine",
    "names",
    multiple=True,
    metavar="NAME",
    shell_complete=machine_names,
    help="Draw only this machine (may be repeated).",
)
@usage.option("--out", "-o", default="diagrams", show_default=True, help="Write to this folder; `-` prints instead.")
@usage.option(
    "--format",
    "form",
    type=usage.choice([*BY_NAME, "json"]),
    default="svg",
    show_default=True,
    help=f"Output format; {_PICTURES} require Graphviz or the extra `svg`; json prints the graphs as data.",
)
@usage.option(
    "--overlay",
    type=usage.choice(["explored", "scenarios"]),
    help="Mark the states and transitions that are reached, or never reached, when exploring all systems or "
    "running the scenarios.",
)
@counts_option
@usage.option(
    "--direction",
    type=usage.choice(["down", "right"]),
    help="Draw downwards or to the right, regardless of `layout` in the spec.",
)
@usage.option(
    "--detail",
    type=usage.choice(["folded", "full", "labels"]),
    default="folded",
    show_default=True,
    help="Level of detail; `full` shows every row inside a state, `labels` only transition labels.",
)
@usage.option(
    "--theme",
    type=usage.choice(["auto", "light", "dark", "mono"]),
    default="auto",
    show_default=True,
    help="Colors of SVG files; `auto` follows the reader's light or dark mode.",
)
@limit_options(MINUTES)
@force_option
def command(
    paths: tuple[str, ...],
    as_documented: bool,
    without: tuple[str, ...],
    names: tuple[str, ...],
    out: str,
    form: str,
    overlay: str | None,
    counts: Path | None,
    direction: str | None,
    detail: Detail,
    theme: Theme,
    budget: Budget,
    force: bool,
) -> None:
    """Draw the machines in specs, each in a file named `module.Machine`.

    A manifest in the output folder lists the files. When all machines of the same paths are drawn again in the same
    format, the diagrams of machines that no longer exist are removed.
    """
    if theme != "auto" and form not in ("svg", "json"):
        misuse(f"`--theme` applies only to SVG and cannot be combined with `--format {form}`")
    printed: Form = "json" if form == "json" else "document" if out == "-" else "text"
    with within(budget, paths, printed, before="all diagrams were drawn, so nothing was written"):
        model = model_or_exit(paths, "json" if form == "json" else "text", as_documented=as_documented, without=without)
        machines = _chosen(model, names)
        if form == "json":
            graphs = [drawing(x.qualified, graph_of(x)) for x in machines]
        else:
            look = _Look(BY_NAME[form], None if direction is None else _DIRECTIONS[direction], detail, theme)
            drawn = _all_drawn(machines, look, _marks(model, machines, overlay, counts, budget))
    if form == "json":
        say_json("draw", {"machines": graphs})
    elif out == "-":
        for content in drawn.values():
            say_document(content if isinstance(content, bytes) else f"{content}\n")
    else:
        purpose = f"draw {' '.join(chosen(paths))} --format {form}"
        write_folder(
            Path(out), purpose, drawn, ours=earlier(is_drawing), force=force, prune=not (names or has_left_out())
        )
        say(f"{len(machines)} diagram{'s' * (len(machines) != 1)} in {out}")


def _all_drawn(machines: list[m.Machine], look: _Look, marks: Mapping[str, Overlay]) -> dict[str, str | bytes]:
    """The contents of the files, by name. The command ends with 1 where Graphviz cannot draw one."""
    drawn: dict[str, str | bytes] = {}
    for machine in machines:
        content = _drawn(machine, look, marks.get(machine.qualified))
        if isinstance(content, Diagnostic):
            if content.advice:
                content = content.help(f"{content.advice}, or draw with `--format mermaid`")
            say_text(frame(content, paint), err=True)
            sys.exit(FINDINGS)
        drawn[f"{machine.qualified}.{look.form.ending}"] = content
    return drawn


def _marks(
    model: m.Model, machines: list[m.Machine], overlay: str | None, counts: Path | None, budget: Budget
) -> Mapping[str, Overlay]:
    if overlay is not None and counts is not None:
        misuse("`--overlay` cannot be combined with `--counts`")
    if counts is not None:
        from fsmdsl.report.counts import marks

        return marks(counted(counts, machines))
    if overlay is None:
        return {}
    from fsmdsl.report.coverage import reached

    return reached(model, machines, overlay, budget)


_DIRECTIONS: dict[str, Direction] = {"down": "TB", "right": "LR"}


class _Look(NamedTuple):
    """How machines are drawn."""

    form: Format
    direction: Direction | None
    detail: Detail
    theme: Theme


def _drawn(machine: m.Machine, look: _Look, marks: Overlay | None) -> str | bytes | Diagnostic:
    graph = detailed(look.form.graph(machine, marks), look.detail)
    if look.form.text is not None:
        return look.form.text(graph, look.direction)
    return picture(graph, look.form.name, look.direction, look.theme)


def _chosen(model: m.Model, names: tuple[str, ...]) -> list[m.Machine]:
    if not names:
        return list(model.machines.values())
    by_name = {name: x for x in model.machines.values() for name in (x.name, x.qualified)}
    for name in names:
        if name not in by_name:
            misuse(f"{absent('machine', name)}; {did_you_mean(name, by_name) or '`fsm list` names them'}")
    return list(dict.fromkeys(by_name[name] for name in names))
