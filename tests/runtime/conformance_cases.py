"""Small clusters, each as a system of the spec and as a configuration of the allocator: the two that are compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TypeAlias

from fsmdsl import model as m
from fsmdsl.model.resolve import resolve
from fsmdsl.step import Followed, Universe, Value, World, holds
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source
from runtime.config import Configuration, read_configuration
from runtime.pods import GangSpec, Member, Pod, PodSpec

SPEC = Path(__file__).parent.parent.parent / "specs" / "hived" / "hived.fsm"

Picture: TypeAlias = tuple[tuple[tuple[str, bool], ...], tuple[tuple[str, str | None, str | None, int], ...]]
"""Each gang's state and whether it is demoted; each leaf cell's state, user, reserver and priority."""

Row: TypeAlias = tuple[str, str, str, str]
"""A transition that was followed: who, its label, from where, to where."""

FREE = -2
"""The priority of a leaf cell that nobody has."""


@dataclass(frozen=True, slots=True)
class GangCase:
    """A gang of pods of one leaf cell each."""

    size: int
    priority: int
    tenant: str = "A"
    lazy: bool = False


@dataclass(frozen=True)
class Case:
    """A cluster of nodes of one leaf cell each, in which the nodes that are offered say which leaf cells are chosen."""

    name: str
    gangs: tuple[GangCase, ...]
    cells: int
    quotas: dict[str, int] = field(hash=False)
    """Leaf cells by virtual cluster."""
    states: int = 0
    """How many both have in common."""

    @cached_property
    def universe(self) -> Universe:
        """The system of the model: whoever is stronger may take whatever there is."""
        return universe(self.gangs, self.cells)

    @cached_property
    def configuration(self) -> Configuration:
        """What the allocator reads."""
        types = {"NODE": {"childCellType": "GPU", "childCellNumber": 1, "isNodeLevel": True}}
        nodes = [{"cellType": "NODE", "cellAddress": name} for name in self.nodes]
        tenants = {
            name: {"virtualCells": [{"cellType": "NODE", "cellNumber": number}]} for name, number in self.quotas.items()
        }
        physical = {"cellTypes": types, "physicalCells": nodes}
        return read_configuration({"physicalCluster": physical, "virtualClusters": tenants})

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """By the number of their leaf cell."""
        return tuple(f"c{i}" for i in range(self.cells))

    @cached_property
    def pods(self) -> tuple[tuple[Pod, ...], ...]:
        """By gang."""
        return tuple(tuple(self._pods(number)) for number in range(len(self.gangs)))

    def _pods(self, number: int) -> Iterator[Pod]:
        gang = self.gangs[number]
        whole = GangSpec(f"g{number}", (Member(gang.size, 1),))
        spec = PodSpec(gang.tenant, gang.priority, 1, whole, lazy_preemption=gang.lazy, ignore_suggested=False)
        for i in range(gang.size):
            yield Pod(f"g{number}-{i}", f"g{number}-{i}", spec)


def universe(gangs: Iterable[GangCase], cells: int) -> Universe:
    """The amended spec with a system of these."""
    own = tuple(gangs)
    return _universe(tuple(x.size for x in own), tuple(x.priority for x in own), cells)


@cache
def _universe(sizes: tuple[int, ...], priorities: tuple[int, ...], cells: int) -> Universe:
    parsed = parse(Source("hived.fsm", SPEC.read_text("utf-8") + _system(sizes, priorities, cells)))
    resolved = resolve([parsed.module])
    assert (parsed.diagnostics, resolved.diagnostics) == ((), ())
    assert resolved.model is not None
    return Universe(resolved.model, resolved.model.systems["hived.Conformance"])


def _system(sizes: tuple[int, ...], priorities: tuple[int, ...], cells: int) -> str:
    return f"""
        system Conformance {{
            groups: AffinityGroup[{len(sizes)}] {{ priority = {_by_index(priorities)}, size = {_by_index(sizes)} }}
            cells:  Cell[{cells}]
            environment {{
                some g in groups, choice in subsets(cells, g.size):
                    g.schedule(choice) when all c in choice: may_take(g, c)
                some g in groups: g.proceed
                some g in groups: g.pods_deleted
                some g in groups: g.call_off
                some g in groups: g.demote when g in Allocated and g.priority >= 0
                crash
            }}
            invariant s8: all g in groups: g in {{Pending, Deleted}} => all c in cells: c.user != g and c.reserver != g
            invariant s11: all g in groups: not ((some c in cells: c.user == g) and some c in cells: c.reserver == g)
            invariant books: all g in groups, c in cells: (g.cells has c) == (c.user == g or c.reserver == g)
            property s12: all c in cells, g in groups:
                always (c.reserver == g => next (c.reserver in {{none, g}} or c.reserver.priority > g.priority))
            property s13: all c in cells, g in groups: always (c.user == g => next (c.user in {{none, g}}))
            property s14: recovers on cells, user
        }}
    """


def _by_index(values: tuple[int, ...]) -> str:
    first = "".join(f"if index == {i} then {value} else " for i, value in enumerate(values[:-1]))
    return f"{first}{values[-1]}"


# Worlds of the model --------------------------------------------------------------------------------------------------


def allowed(universe: Universe, world: World, group: int, choice: frozenset[int]) -> bool:
    """Whether the environment lets a group choose these cells."""
    offer = next(x for x in universe.system.offers or () if x.event == "schedule")
    assert offer.guard is not None
    names: dict[str, Value] = {"g": group, "choice": choice}
    return holds(universe, world, offer.guard, names)


def value_of(universe: Universe, world: World, instance: int, name: str) -> Value:
    """A field of an instance."""
    return world.fields[instance][_places(universe)[universe.machines[instance].name, name]]


@cache
def _places(universe: Universe) -> dict[tuple[str, str], int]:
    machines = {x.name: x for x in universe.machines}.values()
    return {(x.name, f.name): place for x in machines for place, f in enumerate(x.fields)}


def settled(universe: Universe, world: World) -> World:
    """Whether a group was demoted in a life that is over makes no difference."""
    place = _places(universe)["AffinityGroup", "demoted"]
    fields = list(world.fields)
    for number, state in enumerate(world.states):
        if state == "Deleted" and fields[number][place]:
            fields[number] = (*fields[number][:place], False, *fields[number][place + 1 :])
    return world._replace(fields=tuple(fields))


def picture(universe: Universe, world: World) -> Picture:
    """What is compared."""
    groups = sum(x.group == "groups" for x in universe.system.instances)

    def name(number: Value) -> str | None:
        return None if number is None else f"g{number}"

    def rank(number: Value) -> int:
        assert isinstance(number, int)
        priority = universe.params[number]["priority"]
        assert isinstance(priority, int)
        return -1 if value_of(universe, world, number, "demoted") else priority

    cells = []
    for number in range(groups, len(world.states)):
        user, reserver = (value_of(universe, world, number, x) for x in ("user", "reserver"))
        holder = user if reserver is None else reserver
        cells.append((world.states[number], name(user), name(reserver), FREE if holder is None else rank(holder)))
    return (
        tuple((world.states[x], bool(value_of(universe, world, x, "demoted"))) for x in range(groups)),
        tuple(cells),
    )


def rows(universe: Universe, cascade: Iterable[object]) -> list[Row]:
    """The transitions that a step follows, in order."""
    found = []
    for x in cascade:
        if isinstance(x, Followed):
            transition: m.Transition = universe.machines[x.instance].transitions[x.transition]
            found.append((universe.system.instances[x.instance].name, transition.label or "", x.before, x.after))
    return found
