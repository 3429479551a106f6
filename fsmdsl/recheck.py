"""Re-checks a certificate of `fsm verify --certificate`, with the definition of the language and without any search.

    python -m fsmdsl.recheck certificate.json specs

Where the certificate has the states: the first state is among them, each step from one of them leads to one of them or
fails, and each invariant holds in each of them. So no run leaves them, and no run breaks an invariant, except beyond
states where a bound of the system (`explore while`) is not true: steps from these are not looked at. Where it has
their digest only, the states are found anew, one step after the other. Takes about 0.1 ms for each step. Imports the
reader of specs, `fsmdsl.step` and `fsmdsl.interop.certificate`: an import contract keeps it so.

Only the text, the options of this command and the definition decide what is confirmed. The certificate is compared
with them: its modules, its settings, its systems, and each of its states, which is read by the declared types.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TextIO

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.certificate import MAX_BYTES, Certificate, CertifiedSystem, RefusedError, digest, options, parse
from fsmdsl.interop.certificate.states import decoded, encoded
from fsmdsl.model.workspace import Loaded, load
from fsmdsl.step import FaultError, TooManyValuesError, Universe, World, enabled, fire, holds, unoffered, within
from fsmdsl.syntax.settings import given_settings
from fsmdsl.text.files.read import UnreadableError, read_bytes
from fsmdsl.text.terminal import printable


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A system whose certificate was confirmed."""

    system: str
    states: int
    invariants: int
    failing: int
    """Steps that fail: they lead nowhere."""
    beyond: int = 0
    """States beyond the bounds of the system: what lies behind them is not certified."""


@dataclass(frozen=True, slots=True)
class Recheck:
    """What a certificate shows of specs."""

    confirmed: tuple[Confirmed, ...]
    uncertified: tuple[str, ...]
    """Systems of the specs, by qualified name, of which it says nothing."""


# Specs ---------------------------------------------------------------------------------------------------------------


def texts(model: m.Model) -> dict[str, str]:
    """The SHA-256 of each module's text, by name: a certificate is of one text."""
    return {x.name: sha256(x.span.source.text.encode()).hexdigest() for x in model.modules}


def invariants(universe: Universe) -> list[tuple[str, m.Invariant, int | None]]:
    """All invariants of a system, with the name that a certificate has for them, and the instance that each is of."""
    all_invariants: list[tuple[str, m.Invariant, int | None]] = [(x.name, x, None) for x in universe.system.invariants]
    for n, machine in enumerate(universe.machines):
        all_invariants += [(f"{universe.name(n)}: {x.name}", x, n) for x in machine.invariants]
    return all_invariants


# Checking ------------------------------------------------------------------------------------------------------------


def recheck(
    certificate: Certificate, specs: Sequence[str | Path], settings: Sequence[str] = (), as_documented: bool = False
) -> Recheck:
    """What a certificate shows of specs with these settings. Raises `RefusedError`, and `ValueError` if a setting is
    none."""
    values = given_settings(settings)
    if certificate.values != values or certificate.as_documented != as_documented:
        raise RefusedError(_other_options(certificate, options(settings, as_documented)))
    loaded = load(specs, as_documented=as_documented, settings=values)
    if loaded.model is None:
        raise RefusedError("the specs have errors: `fsm check` lists them")
    if loaded.unanswered:
        raise RefusedError("; ".join(loaded.unanswered.values()))
    now, then = texts(loaded.model), certificate.modules
    for name in sorted({*now, *then}):
        if now.get(name) != then.get(name):
            raise RefusedError(
                f"the certificate was made from a different version of module `{name}`; pass the specs it was made from"
            )
    for about in certificate.systems:
        if about.system not in loaded.model.systems:
            raise RefusedError(f"there is no system `{about.system}`")
    confirmed = tuple(
        confirm(Universe(loaded.model, loaded.model.systems[about.system]), about) for about in certificate.systems
    )
    certified = {x.system for x in confirmed}
    return Recheck(confirmed, tuple(x for x in _systems(loaded) if x not in certified))


def _other_options(certificate: Certificate, here: str) -> str:
    there = options(certificate.settings, certificate.as_documented)
    repeat = f"repeat `{there}` after the specs" if there else f"remove `{here}`"
    return (
        f"the certificate was made with {f'`{there}`' if there else 'no options'}, but this command has "
        f"{f'`{here}`' if here else 'none'}: it shows nothing of other sizes and parameters; {repeat}"
    )


def _systems(loaded: Loaded) -> Iterator[str]:
    """The systems of the modules that were named, those included that cannot be read as documented."""
    for x in loaded.model.modules if loaded.model is not None else ():
        if x.name in loaded.root_modules:
            yield from (y.qualified for y in x.systems)
            yield from (f"{x.name}.{y.name}" for y in x.systems_left_out)


def confirm(universe: Universe, about: CertifiedSystem) -> Confirmed:
    """What a certificate shows of one system. Raises `RefusedError`."""
    name = universe.system.qualified
    all_invariants = invariants(universe)
    if [x for x, _, _ in all_invariants] != list(about.invariants):
        raise RefusedError(f"{name}: the certificate lists other invariants than the system has")
    if universe.fault is not None:
        raise RefusedError(f"{name}: the system has no initial state; `fsm verify` says why")
    if about.worlds is None:
        worlds, failing = _reached(universe, about.states)
    else:
        worlds, failing = _closed(universe, states(universe, about.worlds))
    if len(worlds) != about.states:
        raise RefusedError(f"{name}: there are {len(worlds)} states, not {about.states}")
    if digest(worlds) != about.digest:
        raise RefusedError(f"{name}: the states have another digest")
    for line, world in worlds.items():
        for what, invariant, instance in all_invariants:
            try:
                broken = not holds(universe, world, invariant.condition, instance=instance)
            except FaultError:
                broken = True
            if broken:
                raise RefusedError(f"{name}: `{what}` does not hold in {line}")
    return Confirmed(
        name, len(worlds), len(all_invariants), failing, sum(not within(universe, x) for x in worlds.values())
    )


def states(universe: Universe, lines: Sequence[str]) -> dict[str, World]:
    """The states of a certificate, by line. Raises `RefusedError`."""
    worlds = {}
    for n, line in enumerate(lines, 1):
        try:
            worlds[line] = decoded(universe, line)
        except RefusedError as error:
            raise RefusedError(f"{universe.system.qualified}: `worlds`, line {n}: {error}") from None
    if len(worlds) < len(lines):
        raise RefusedError(f"{universe.system.qualified}: `worlds`: a state is listed twice")
    return worlds


def _closed(universe: Universe, worlds: dict[str, World]) -> tuple[dict[str, World], int]:
    """The states of a certificate, once it is shown that no step leads out of them. Two states are the same if their
    lines are: Python takes more for equal."""
    if not all(encoded(x) in worlds for x in universe.starts):
        raise RefusedError(f"{universe.system.qualified}: an initial state is missing")
    failing = 0
    for world in worlds.values():
        after, fails = _next(universe, world)
        failing += fails
        for line in map(encoded, after):
            if line not in worlds:
                raise RefusedError(f"{universe.system.qualified}: a step leads to a state that is missing: {line}")
    return worlds, failing


def _reached(universe: Universe, most: int) -> tuple[dict[str, World], int]:
    """All states, by line, and how many steps fail."""
    worlds, waiting, failing = set(universe.starts), list(universe.starts), 0
    while waiting:
        if len(worlds) > most:
            raise RefusedError(f"{universe.system.qualified}: there are more than {most} states")
        after, fails = _next(universe, waiting.pop())
        failing += fails
        waiting += after - worlds
        worlds |= after
    return {encoded(x): x for x in worlds}, failing


def _next(universe: Universe, world: World) -> tuple[set[World], int]:
    """The states behind one, and how many steps fail there; none are behind one that is beyond the bounds."""
    if not within(universe, world):
        return set(), 0
    results = [fire(universe, world, step) for step in enabled(universe, world)]
    failing = sum(x.fault is not None for x in results) + len(unoffered(universe, world))
    return {x.world for x in results if x.fault is None}, failing


# The command ---------------------------------------------------------------------------------------------------------

INTERRUPTED = 128 + 2
CLOSED_PIPE = 128 + 13
INTERNAL = 70


def main(arguments: Sequence[str]) -> int:
    """0: confirmed; 1: refused; 2: misuse. As of `fsm`, 130 after Ctrl-C and 70 for a mistake of our own."""
    try:
        code = _run(_parser().parse_args(arguments))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more
        return CLOSED_PIPE
    return code


def _parser() -> ArgumentParser:
    parser = ArgumentParser("python -m fsmdsl.recheck", description="Re-check a certificate of `fsm verify`.")
    parser.add_argument("certificate", metavar="CERTIFICATE", help="Check this certificate.")
    parser.add_argument("specs", nargs="+", metavar="SPEC", help="Check it against these specs.")
    change = "Change the size of a set, or a parameter (may be repeated)."
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="NAME=VALUE", help=change)
    as_written = "Ignore amendments, and use the document as written."
    parser.add_argument("--as-documented", action="store_true", help=as_written)
    return parser


def _run(arguments: Namespace) -> int:
    missing = next((x for x in arguments.specs if x != "-" and not os.path.lexists(x)), None)
    if missing is not None:
        return _complain(f"there is no file or folder `{missing}`")
    try:
        given_settings(arguments.settings)
        content = read_bytes(Path(arguments.certificate), limit=MAX_BYTES)
    except ValueError as error:
        return _complain(f"--set: {error}")
    except UnreadableError as error:
        return _complain(f"cannot read `{arguments.certificate}`: {error}")
    try:
        outcome = recheck(parse(content), arguments.specs, arguments.settings, arguments.as_documented)
    except (RefusedError, TooManyValuesError) as error:
        _say(f"refused: {error}")
        return 1
    except (RecursionError, MemoryError) as error:
        _say(f"refused: the specs or the certificate are too large or nested too deeply ({type(error).__name__})")
        return 1
    except Exception as error:
        if os.environ.get("FSM_TRACEBACK"):
            raise
        _complain(f"internal error: {type(error).__name__}; please report it, with both files")
        return INTERNAL
    _print(outcome, options(arguments.settings, arguments.as_documented))
    return 0


def _print(outcome: Recheck, settings: str) -> None:
    having = f" with {settings}" if settings else ""
    for x in outcome.confirmed:
        fails = f"; {x.failing} steps fail" if x.failing else ""
        hold = "1 invariant holds" if x.invariants == 1 else f"{x.invariants} invariants hold"
        beyond = f", {x.beyond:,} of them beyond the bound" if x.beyond else ""
        _say(f"confirmed: {x.system}{having}: {hold} in {x.states:,} states{beyond}{fails}")
    for name in outcome.uncertified:
        _say(f"not certified: {name}")


def _say(text: str, file: TextIO | None = None) -> None:
    """A line for a terminal, whatever names it has in it."""
    file = file or sys.stdout
    encoding = file.encoding or "ascii"
    print(printable(text).encode(encoding, "backslashreplace").decode(encoding), file=file)


def _complain(text: str) -> int:
    _say(text, sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
