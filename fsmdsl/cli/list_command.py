"""`fsm list`: machines, states and transitions."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.cli import usage
from fsmdsl.cli.common import documented_option, format_option, model_or_exit, paint, paths_argument, say_json
from fsmdsl.cli.limits import MINUTES, Form, limit_options, within
from fsmdsl.cli.messages import say
from fsmdsl.cli.without_option import without_option
from fsmdsl.report.data import listing
from fsmdsl.text.budget import Budget


@usage.command("list")
@paths_argument
@documented_option
@without_option
@limit_options(MINUTES)
@format_option
def command(paths: tuple[str, ...], as_documented: bool, without: tuple[str, ...], budget: Budget, form: Form) -> None:
    """List the machines in specs, with their states and transitions."""
    with within(budget, paths, form):
        model = model_or_exit(paths, form, as_documented=as_documented, without=without)
    if form == "json":
        say_json("list", listing(model, frozenset(x.name for x in model.modules)))
        return
    for module in model.modules:
        for machine in module.machines:
            say(*_table(machine), "")
        for system in module.systems:
            groups = ", ".join(f"{g.name}: {g.machine.rpartition('.')[2]}[{g.count}]" for g in system.groups)
            say(f"system {paint(system.qualified, 'strong')}  {groups}")


def _table(machine: m.Machine) -> list[str]:
    """The transitions in columns."""
    rows = [
        (t.name, t.source, t.target or "(stays)", t.shown_trigger, "amended" if t.amended else "")
        for t in machine.transitions
    ]
    widths = [max((len(r[i]) for r in rows), default=0) for i in range(3)]
    lines = [
        f"  {label:<{widths[0]}}  {source:<{widths[1]}} -> {target:<{widths[2]}}  {trigger}  {amended}".rstrip()
        for label, source, target, trigger, amended in rows
    ]
    states = ", ".join(s.name for s in machine.states)
    return [f"machine {paint(machine.qualified, 'strong')}", f"  states: {states}", *lines]
