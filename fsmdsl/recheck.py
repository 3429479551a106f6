"""Re-checks a certificate of `fsm verify --certificate`, with the definition of the language and without any search.

    python -m fsmdsl.recheck certificate.json specs

Where the certificate has the states: the first state is among them, each step from one of them leads to one of them or
fails, and each invariant holds in each of them. So no run leaves them, and no run breaks an invariant, except beyond
states where a bound of the system (`explore while`) is not true: steps from these are not looked at. Where it has
their digest only, the states are found anew, one step after the other. Takes about 0.1 ms for each step. Imports the
reader of specs and `fsmdsl.step`: an import contract keeps it so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from fsmdsl import model as m
from fsmdsl.settings import given_settings
from fsmdsl.step import FaultError, Message, Pending, TooManyValuesError, Universe, World, enabled, fire, holds, within
from fsmdsl.step.data import Table
from fsmdsl.workspace import load

FORMAT = "fsmdsl certificate 1"


class RefusedError(Exception):
    """A certificate that does not show what it says; the message says why."""


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


# States as text ------------------------------------------------------------------------------------------------------


def encoded(world: World) -> str:
    """A state as a line of JSON. Equal states have equal lines."""
    plain = [world.states, world.fields, sorted(world.waited), world.channels, world.pending, world.down]
    return json.dumps(_plain(plain), separators=(",", ":"))


def decoded(line: str) -> World:
    """The state of a line. Raises `ValueError` or `TypeError` where it is none."""
    states, fields, waited, channels, pending, down = map(_value, json.loads(line))
    held = tuple(tuple(Message(*x) for x in channel) for channel in channels)
    return World(states, fields, frozenset(waited), held, tuple(Pending(*x) for x in pending), down)


def digest(lines: Iterable[str]) -> str:
    """Of a set of states, whatever their order: SHA-256 of the sorted lines."""
    return sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset):
        return {"set": sorted((_plain(x) for x in value), key=json.dumps)}
    if isinstance(value, Table):
        return {"map": [_plain(x) for x in value.entries]}
    return [_plain(x) for x in value] if isinstance(value, list | tuple) else value


def _value(value: Any) -> Any:
    if isinstance(value, dict) and "map" in value:
        return Table(_value(value["map"]))
    if isinstance(value, dict):
        return frozenset(_value(x) for x in value["set"])
    return tuple(_value(x) for x in value) if isinstance(value, list) else value


# Specs ---------------------------------------------------------------------------------------------------------------


def texts(model: m.Model) -> dict[str, str]:
    """The SHA-256 of each module's text, by name: a certificate is of one text."""
    return {x.name: sha256(x.span.source.text.encode()).hexdigest() for x in model.modules}


def invariants(universe: Universe) -> list[tuple[str, m.Invariant, int | None]]:
    """All invariants of a system, with the name that a certificate has for them, and the instance that each is of."""
    listed: list[tuple[str, m.Invariant, int | None]] = [(x.name, x, None) for x in universe.system.invariants]
    for n, machine in enumerate(universe.machines):
        listed += [(f"{universe.name(n)}: {x.name}", x, n) for x in machine.invariants]
    return listed


# Checking ------------------------------------------------------------------------------------------------------------


def recheck(certificate: Mapping[str, Any], specs: Sequence[str | Path]) -> list[Confirmed]:
    """What a certificate shows of specs. Raises `RefusedError`."""
    if certificate.get("format") != FORMAT:
        raise RefusedError(f"not a certificate that this version reads: it has to say `{FORMAT}`")
    settings = given_settings(tuple(certificate["settings"]))
    loaded = load(specs, as_documented=certificate["as_documented"], settings=settings)
    if loaded.model is None:
        raise RefusedError("the specs have errors: `fsm check` lists them")
    now, then = texts(loaded.model), certificate["modules"]
    for name in sorted({*now, *then}):
        if now.get(name) != then.get(name):
            raise RefusedError(
                f"the certificate is of another text of module `{name}`; name the specs it was made from"
            )
    if not certificate["systems"]:
        raise RefusedError("the certificate is of no system")
    confirmed = []
    for about in certificate["systems"]:
        if about["system"] not in loaded.model.systems:
            raise RefusedError(f"there is no system `{about['system']}`")
        confirmed.append(confirm(Universe(loaded.model, loaded.model.systems[about["system"]]), about))
    return confirmed


def confirm(universe: Universe, about: Mapping[str, Any]) -> Confirmed:
    """What a certificate shows of one system. Raises `RefusedError`."""
    name = universe.system.qualified
    asked = invariants(universe)
    if [x for x, _, _ in asked] != about["invariants"]:
        raise RefusedError(f"{name}: the certificate lists other invariants than the system has")
    worlds, failing = _closed(universe, about["worlds"]) if "worlds" in about else _reached(universe)
    if len(worlds) != about["states"]:
        raise RefusedError(f"{name}: there are {len(worlds)} states, not {about['states']}")
    if digest(map(encoded, worlds)) != about["digest"]:
        raise RefusedError(f"{name}: the states have another digest")
    for world in worlds:
        for what, invariant, instance in asked:
            try:
                broken = not holds(universe, world, invariant.condition, instance=instance)
            except FaultError:
                broken = True
            if broken:
                raise RefusedError(f"{name}: `{what}` does not hold in {encoded(world)}")
    return Confirmed(name, len(worlds), len(asked), failing, sum(not within(universe, x) for x in worlds))


def _closed(universe: Universe, lines: Sequence[str]) -> tuple[set[World], int]:
    """The states of a certificate, once it is shown that no step leads out of them."""
    worlds = {decoded(line) for line in lines}
    if not worlds.issuperset(universe.starts):
        raise RefusedError(f"{universe.system.qualified}: a first state is missing")
    failing = 0
    for world in worlds:
        after, fails = _next(universe, world)
        failing += fails
        for x in after:
            if x not in worlds:
                raise RefusedError(
                    f"{universe.system.qualified}: a step leads to a state that is missing: {encoded(x)}"
                )
    return worlds, failing


def _reached(universe: Universe) -> tuple[set[World], int]:
    """All states, and how many steps fail."""
    worlds, waiting, failing = set(universe.starts), list(universe.starts), 0
    while waiting:
        after, fails = _next(universe, waiting.pop())
        failing += fails
        waiting += after - worlds
        worlds |= after
    return worlds, failing


def _next(universe: Universe, world: World) -> tuple[set[World], int]:
    """The states behind one, and how many steps fail there; none are behind one that is beyond the bounds."""
    if not within(universe, world):
        return set(), 0
    try:
        results = [fire(universe, world, step) for step in enabled(universe, world)]
    except FaultError:  # a guard of the environment: nothing can be said to come next
        return set(), 1
    return {x.world for x in results if x.fault is None}, sum(x.fault is not None for x in results)


def main(arguments: Sequence[str]) -> int:
    """0: confirmed; 1: refused; 2: misuse."""
    if len(arguments) < 2:
        print("usage: python -m fsmdsl.recheck CERTIFICATE SPEC...", file=sys.stderr)
        return 2
    try:
        confirmed = recheck(json.loads(Path(arguments[0]).read_text("utf-8")), arguments[1:])
    except (RefusedError, TooManyValuesError) as error:
        print(f"refused: {error}")
        return 1
    except OSError as error:
        print(f"cannot read `{arguments[0]}`: {error.strerror}", file=sys.stderr)
        return 2
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, AssertionError) as error:
        print(f"refused: the certificate is damaged ({type(error).__name__}: {error})")
        return 1
    for x in confirmed:
        fails = f"; {x.failing} steps fail" if x.failing else ""
        hold = "1 invariant holds" if x.invariants == 1 else f"{x.invariants} invariants hold"
        beyond = f", {x.beyond:,} of them beyond the bound" if x.beyond else ""
        print(f"confirmed: {x.system}: {hold} in {x.states:,} states{beyond}{fails}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
