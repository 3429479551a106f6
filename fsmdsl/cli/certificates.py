"""`fsm verify --certificate`: what `fsmdsl.recheck` needs to confirm that invariants hold, without any search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from fsmdsl import model as m
from fsmdsl.budget import Budget
from fsmdsl.cli.messages import misuse
from fsmdsl.cli.printing import Printing
from fsmdsl.cli.ranks import several
from fsmdsl.cli.writing import write
from fsmdsl.explore import Exploration, Limits, Means
from fsmdsl.explore.compose import run
from fsmdsl.step import Universe

F = TypeVar("F", bound=Callable[..., Any])


def certificate_options(command: F) -> F:
    """`--certificate` and `--with-states`."""
    told = "Write what `python -m fsmdsl.recheck` confirms: the states' digest, for invariants. Implies --no-symmetry."
    path = click.option("--certificate", type=click.Path(path_type=Path), metavar="FILE", help=told)
    states = click.option("--with-states", is_flag=True, help="Write the states into the certificate, too.")
    return path(states(command))


def check_options(certificate: Path | None, with_states: bool, without: Sequence[str]) -> None:
    """What does not go together ends the command with 2."""
    if with_states and certificate is None:
        misuse("`--with-states` says what `--certificate` writes")
    if certificate is not None and several():
        misuse("`--certificate` is for one process")
    if certificate is not None and without:
        misuse("`--certificate` is for all amendments, or with `--as-documented` for none: take `--without` away")


def write_certificate(
    path: Path,
    model: m.Model,
    done: Sequence[Exploration],
    settings: Sequence[str],
    as_documented: bool,
    with_states: bool,
    budget: Budget,
    out: Printing,
) -> None:
    """A certificate for the systems whose invariants hold in every state; says why others are left out."""
    import json

    from fsmdsl.recheck import FORMAT, texts

    systems = []
    for x in done:
        left_out = _left_out(x)
        with budget.renewed():
            certified = left_out or certify(model, x.system, with_states, budget)
        if isinstance(certified, str):
            out.say(f"no certificate for {x.system.qualified}: {certified}")
        else:
            systems.append(certified)
    certificate = {
        "format": FORMAT,
        "modules": texts(model),
        "as_documented": as_documented,
        "settings": list(settings),
        "systems": systems,
    }
    write(path, json.dumps(certificate, indent=1) + "\n")
    out.say(f"{path} certifies {len(systems)} of {len(done)} systems")


def _left_out(x: Exploration) -> str | None:
    broken = [v.shown for v in x.verdicts if v.kind == "invariant" and v.outcome != "holds"]
    return x.stopped or (f"`{broken[0]}` does not hold" if broken else None)


def certify(model: m.Model, system: m.System, with_states: bool, budget: Budget) -> dict[str, object] | str:
    """What is certified, or why nothing is. Searches the states, and takes a few hundred bytes for each."""
    from fsmdsl.recheck import digest, encoded, invariants

    universe = Universe(model, system)
    search = run(universe, Limits(), Means(symmetry=False), budget=budget)
    if search.stopped is not None:
        return search.stopped
    lines = sorted(encoded(search.world(n)) for n in range(search.states))
    certified = {
        "system": system.qualified,
        "invariants": [name for name, _, _ in invariants(universe)],
        "states": len(lines),
        "digest": digest(lines),
    }
    return {**certified, "worlds": lines} if with_states else certified
