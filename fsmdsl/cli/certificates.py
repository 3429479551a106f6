"""`fsm verify --certificate`: what `fsmdsl.recheck` needs to confirm that invariants hold, without any search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fsmdsl import model as m
from fsmdsl.cli import usage
from fsmdsl.cli.messages import misuse
from fsmdsl.cli.output_files import write
from fsmdsl.cli.printing import Printing
from fsmdsl.cli.ranks import several
from fsmdsl.search import Exploration, Limits, Means
from fsmdsl.search.compose import run
from fsmdsl.step import Universe
from fsmdsl.text.budget import Budget

if TYPE_CHECKING:
    from fsmdsl.interop.certificate import CertifiedSystem

F = TypeVar("F", bound=Callable[..., Any])


def certificate_options(command: F) -> F:
    """`--certificate` and `--with-states`."""
    about = (
        "Write a certificate of the invariants, with a digest of the states, for `python -m fsmdsl.recheck`. "
        "Implies --no-symmetry."
    )
    path = usage.option("--certificate", type=usage.path(path_type=Path), metavar="FILE", help=about)
    states = usage.option("--with-states", is_flag=True, help="Include the states in the certificate.")
    return path(states(command))


def check_options(certificate: Path | None, with_states: bool, without: Sequence[str]) -> None:
    """What does not go together ends the command with 2."""
    if with_states and certificate is None:
        misuse("`--with-states` requires `--certificate`")
    if certificate is not None and several():
        misuse("`--certificate` cannot be used with several processes")
    if certificate is not None and without:
        misuse("`--certificate` cannot be combined with `--without`")


def write_certificate(
    path: Path,
    model: m.Model,
    explorations: Sequence[Exploration],
    settings: Sequence[str],
    as_documented: bool,
    with_states: bool,
    budget: Budget,
    out: Printing,
) -> None:
    """A certificate for the systems whose invariants hold in every state; says why others are left out."""
    from fsmdsl.interop.certificate import MAX_BYTES, Certificate, rendered
    from fsmdsl.recheck import texts

    systems: list[CertifiedSystem] = []
    for x in explorations:
        left_out = _left_out(x)
        with budget.renewed():
            certified = left_out or certify(model, x.system, with_states, budget)
        if isinstance(certified, str):
            out.say(f"no certificate for {x.system.qualified}: {certified}")
        else:
            systems.append(certified)
    content = rendered(Certificate(texts(model), as_documented, tuple(settings), tuple(systems)))
    if len(content) > MAX_BYTES:
        misuse(f"`{path}` would have {len(content):,} bytes, more than can be read; remove `--with-states`")
    write(path, content)
    out.say(f"{path} certifies {len(systems)} of {len(explorations)} systems")


def _left_out(x: Exploration) -> str | None:
    broken = [v.label for v in x.verdicts if v.kind == "invariant" and v.outcome != "holds"]
    return x.stopped or (f"`{broken[0]}` does not hold" if broken else None)


def certify(model: m.Model, system: m.System, with_states: bool, budget: Budget) -> CertifiedSystem | str:
    """What is certified, or why nothing is. Searches the states, and takes a few hundred bytes for each."""
    from fsmdsl.interop.certificate import CertifiedSystem, digest
    from fsmdsl.interop.certificate.states import encoded
    from fsmdsl.recheck import invariants

    universe = Universe(model, system)
    if universe.fault is not None:
        return "there is no initial state"
    search = run(universe, Limits(), Means(symmetry=False), budget=budget)
    if search.stopped is not None:
        return search.stopped
    lines = sorted(encoded(search.world(n)) for n in range(search.states))
    names = tuple(name for name, _, _ in invariants(universe))
    return CertifiedSystem(system.qualified, names, len(lines), digest(lines), tuple(lines) if with_states else None)
