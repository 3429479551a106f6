"""What is walked through: a system of the model, or one machine by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from fsmdsl import model as m
from fsmdsl.dataclasses import replace
from fsmdsl.runs.simulation.closed_system import closed
from fsmdsl.runs.simulation.session import Session
from fsmdsl.step import TooManyValuesError, Universe
from fsmdsl.step.describe import fault_message
from fsmdsl.syntax.words import RESERVED
from fsmdsl.text.diagnostics import did_you_mean

X = TypeVar("X", m.System, m.Machine)


class NoSuchError(Exception):
    """There is no system or machine of a name, or several come into question; the message says what there is."""


def begin(model: m.Model, system: m.System) -> Session:
    """A run of a system that has not begun. Raises `NoSuchError` where there is no world to begin in, or too many."""
    universe = Universe(model, system)
    if universe.fault is not None and universe.cannot_begin:
        raise NoSuchError(f"`{system.name}` cannot begin: {fault_message(universe, universe.fault)}")
    try:
        return Session(universe, first=universe.starts[0])
    except TooManyValuesError as error:
        raise NoSuchError(f"`{system.name}` may begin in {error}: too many to choose from") from None


def closed_system(model: m.Model, machine: m.Machine) -> m.System:
    """A machine by itself, with what it has to do with, see `closed`; its names can stand in a scenario."""
    system = closed(model, machine)
    instances = (replace(x, name=f"{x.name}_") if x.name in RESERVED else x for x in system.instances)
    return replace(system, instances=tuple(instances))


def called(system: m.System, model: m.Model) -> str:
    """What a person calls what is walked through: a system, or `hived.Cell by itself`."""
    if model.systems.get(system.qualified) is system:
        return system.qualified
    return f"{system.instances[0].machine} by itself"


def subject(model: m.Model, system: str | None = None, machine: str | None = None) -> m.System:
    """What a person means by the name of a system or machine; without a name, the only one there is.

    Names may be qualified. Raises `NoSuchError`.
    """
    if system is not None:
        return _lookup(model.systems, system, "system")
    if machine is not None:
        return closed_system(model, _lookup(model.machines, machine, "machine"))
    systems = list(model.systems.values())
    if len(systems) == 1:
        return systems[0]
    if systems:
        raise NoSuchError(f"choose a system with `--system`: {_names(model.systems)}")
    if len(model.machines) == 1:
        return closed_system(model, next(iter(model.machines.values())))
    if not model.machines:
        raise NoSuchError("there is no machine in these specs")
    raise NoSuchError(f"there is no system; choose a machine with `--machine`: {_names(model.machines)}")


def _lookup(among: Mapping[str, X], name: str, what: str) -> X:
    matches = [x for x in among.values() if name in (x.name, x.qualified)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise NoSuchError(f"several {what}s are called `{name}`: {', '.join(f'`{x.qualified}`' for x in matches)}")
    advice = did_you_mean(name, (y for x in among.values() for y in (x.name, x.qualified)))
    there = f"there are {_names(among)}" if among else "there is none"
    raise NoSuchError(f"there is no {what} `{name}`; {advice or there}")


def _names(among: Mapping[str, m.System] | Mapping[str, m.Machine]) -> str:
    short = [x.name for x in among.values()]
    return ", ".join(f"`{x.name if short.count(x.name) == 1 else x.qualified}`" for x in among.values())
