"""`fsm export`: a system in the language of another model checker, a machine as other tools have it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fsmdsl import graphs
from fsmdsl import model as m
from fsmdsl.cli import FINDINGS, usage
from fsmdsl.cli.common import absent, documented_option, loaded_or_exit, paths_argument, settings_option
from fsmdsl.cli.completions import machine_names, system_names
from fsmdsl.cli.limits import MINUTES, limit_options, within
from fsmdsl.cli.messages import misuse, say, say_document
from fsmdsl.cli.output_files import write
from fsmdsl.cli.systems import chosen_systems, settings_of
from fsmdsl.cli.without_option import without_option
from fsmdsl.core.elaborate import TooLargeNumberError
from fsmdsl.interop.export import MACHINE_TARGETS, TARGETS
from fsmdsl.interop.export.refusals import RefusedError
from fsmdsl.model.workspace import Loaded
from fsmdsl.step import FaultError, TooManyValuesError, Universe
from fsmdsl.step.describe import fault_message
from fsmdsl.text.budget import Budget
from fsmdsl.text.diagnostics import did_you_mean

GRAPHS: Mapping[str, Callable[[Any], str]] = {"graphml": graphs.graphml, "networkx": graphs.node_link}


@usage.command("export")
@paths_argument
@documented_option
@without_option
@usage.option(
    "--system", "name", metavar="NAME", shell_complete=system_names, help="Export this system (default: the only one)."
)
@usage.option(
    "--machine",
    metavar="NAME",
    shell_complete=machine_names,
    help="Export this machine (default for scxml and xstate: the only one).",
)
@settings_option
@usage.option(
    "--to", "target", type=usage.choice([*TARGETS, *MACHINE_TARGETS, *GRAPHS]), required=True, help="Output format."
)
@usage.option(
    "--max-states",
    type=usage.integer(1),
    default=graphs.MAX_STATES,
    show_default=True,
    help="Maximum number of states in a graph.",
)
@usage.option(
    "--output", type=usage.path(path_type=Path, dir_okay=False), help="Write to this file (default: standard output)."
)
@limit_options(MINUTES)
def command(
    paths: tuple[str, ...],
    as_documented: bool,
    without: tuple[str, ...],
    name: str | None,
    machine: str | None,
    settings: tuple[str, ...],
    target: str,
    max_states: int,
    output: Path | None,
    budget: Budget,
) -> None:
    """Export a system to another model checker (promela, tla), a machine to a statechart tool (scxml, xstate), or the
    states of a system or a machine as a graph (graphml, or networkx for its node-link JSON). See docs/second-opinion.md
    and docs/export.md.

    For a system, each step in the exported model is one step of the system, so both have the same number of states. For
    a machine, constructs that the other tool does not support are listed on standard error.

    Exit codes: 0 written, 1 errors in the specs, a construct that the target language cannot express, or too many
    states, 2 usage error, 3 a limit was reached.
    """
    if target in MACHINE_TARGETS and name is not None:
        misuse(f"`--to {target}` writes a machine; choose it with `--machine`")
    if target in TARGETS and machine is not None:
        misuse(f"`--to {target}` writes a system; choose it with `--system`")
    if machine is not None and name is not None:
        misuse("`--system` or `--machine`, not both")
    with within(budget, paths, "document", before="the export was complete, so nothing was written"):
        loaded = loaded_or_exit(paths, as_documented=as_documented, without=without, settings=settings_of(settings))
        text = _exported(loaded, target, name, machine, max_states)
    if output is None:
        say_document(text)
    else:
        write(output, text)


def _exported(loaded: Loaded, target: str, name: str | None, machine: str | None, max_states: int) -> str:
    if target in MACHINE_TARGETS:
        return _chart(loaded, machine, target)
    if machine is not None:
        return _graph(target, lambda: graphs.machine(_machine(loaded, machine)))
    model, systems = chosen_systems(loaded, () if name is None else (name,))
    only = _only(systems)
    if target in TARGETS:
        return _text(model, only, target)
    return _graph(target, lambda: _states(model, only, max_states))


def _graph(target: str, model: Callable[[], Any]) -> str:
    try:
        return GRAPHS[target](model())
    except ImportError as error:
        misuse(str(error))


def _states(model: m.Model, system: m.System, most: int) -> Any:
    """The graph of a system; the command ends where it has too many states, or no first one."""
    try:
        return graphs.states(model, system, most)
    except graphs.TooManyStatesError as error:
        say(f"fsm: {error}; a part of them would answer most questions wrongly: raise `--max-states`", err=True)
    except FaultError as error:
        why = fault_message(Universe(model, system), error.fault)
        say(f"fsm: {error.fault.span}: `{system.name}` has no initial state: {why}", err=True)
    sys.exit(FINDINGS)


def _chart(loaded: Loaded, name: str | None, target: str) -> str:
    """A machine as the target has it; what that leaves out goes to standard error."""
    assert loaded.model is not None
    text, left_out = MACHINE_TARGETS[target](loaded.model, _machine(loaded, name))
    for x in left_out:
        say(f"left out: {x.span}: {x.text}", err=True)
    return text


def _machine(loaded: Loaded, name: str | None) -> m.Machine:
    """The machine of a name, of imported modules too; without one, the only one of the files that were given."""
    assert loaded.model is not None
    machines = loaded.model.machines.values()
    if name is None:
        candidates = [x for x in machines if x.module in loaded.root_modules]
    else:
        candidates = [x for x in machines if name in (x.name, x.qualified)]
        if not candidates:
            names = [x.name for x in machines]
            there = ", ".join(f"`{x}`" for x in names) or "none"
            misuse(f"{absent('machine', name)}; {did_you_mean(name, names) or f'there are {there}'}")
    if len(candidates) != 1:
        listed_names = ", ".join(f"`{x.name if name is None else x.qualified}`" for x in candidates)
        misuse(
            f"this export requires exactly one machine; choose it with `--machine`: {listed_names or 'there is none'}"
        )
    return candidates[0]


def _only(systems: list[m.System]) -> m.System:
    if len(systems) != 1:
        names = ", ".join(f"`{x.name}`" for x in systems)
        misuse(f"an export requires exactly one system; choose it with `--system`: {names or 'there is none'}")
    return systems[0]


def _text(model: m.Model, system: m.System, target: str) -> str:
    try:
        return TARGETS[target](model, system)
    except (RefusedError, TooLargeNumberError) as error:
        say(f"fsm: {error}", err=True)
    except TooManyValuesError as error:
        say(
            f"fsm: {system.span}: `{system.name}` cannot be exported: its environment would choose among {error}",
            err=True,
        )
    sys.exit(FINDINGS)
