"""Amendments and repairs: which of them apply, and which are left out, before names are bound.

A repair is what is judged as one: all amendments of a module with the same name, or, without one, with the same reason.
Repairs that replace the same row are alternatives, of which one applies.

`--without` leaves a repair out by its name, `amends stale_copy "…"`, or an amendment by what it has: `Cell.e4` is the
one of machine `Cell` that has a row `e4`, or declares an event, a state, a field `e4`; a row without a label goes by
its event. `hived.fsm:78`, the place of its `amends`, is always one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, assert_never, cast

from fsmdsl import syntax as s
from fsmdsl.dataclasses import dataclass, fields, replace
from fsmdsl.text.diagnostics import did_you_mean
from fsmdsl.text.source import Span


@dataclass(frozen=True, slots=True)
class Left:
    """The modules that are left. `unanswered` says of each name that is not that of one amendment, why."""

    modules: tuple[s.Module, ...]
    unanswered: Mapping[str, str]
    omitted: tuple[s.AmendDecl | s.LockAmendment, ...] = ()


@dataclass(frozen=True, slots=True)
class Amendment:
    """An amendment, where it is (`hived.fsm:78`), and what it goes by."""

    decl: s.AmendDecl | s.LockAmendment
    module: str
    """Empty for a module without a name."""
    place: str
    names: tuple[str, ...]

    @property
    def repair_names(self) -> tuple[str, ...]:
        """What its repair goes by: its own name, alone and behind the module's."""
        own = "" if self.decl.name is None else self.decl.name.text
        return tuple(x for x in (own, own and self.module and f"{self.module}.{own}") if x)

    def answers(self, name: str) -> bool:
        """Is this its name, or its place? Folders before a file may be left out."""
        return name in self.names or self.place == name or self.place.endswith(f"/{name}")


def amendments(module: s.Module) -> Iterator[s.AmendDecl | s.LockAmendment]:
    """The amendments of a module, in the order of the text; those inside others, too."""
    yield from (x.decl for x in _amendments(module))


def without(modules: Sequence[s.Module], names: Sequence[str]) -> Left:
    """The modules without the repairs and amendments of these names. Rows that those replace stand again."""
    if not names:
        return Left(tuple(modules), {})
    amendments = [x for module in modules for x in _amendments(module)]
    unanswered: dict[str, str] = {}
    excluded_ids: set[int] = set()
    for name in names:
        matches = [x for x in amendments if x.answers(name)]
        if len(matches) == 1 or _are_one_repair(matches, name):
            excluded_ids.update(id(x.decl) for x in matches)
        else:
            unanswered[name] = _several(name, matches) if matches else _none(name, amendments)
    omitted = tuple(x.decl for x in amendments if id(x.decl) in excluded_ids)
    return Left(tuple(_left(module, excluded_ids) for module in modules), unanswered, omitted)


def _are_one_repair(matches: Sequence[Amendment], name: str) -> bool:
    files = {x.decl.span.source.name for x in matches}  # modules may be without a name
    return len(files) == 1 and all(name in x.repair_names for x in matches)


# Repairs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Repair:
    """What is judged as one: all amendments of a module's machines that have the same name, or, without one, the same
    reason."""

    name: str | None
    reason: str
    amendments: tuple[s.AmendDecl, ...]
    homes: tuple[tuple[s.Module, s.MachineDecl], ...]
    """The machines that they change."""
    rows: frozenset[tuple[int, str]]
    """The labels of documented rows that they replace, each with the id of its machine's declaration."""

    @property
    def title(self) -> str:
        """The name, else the reason."""
        return self.name or self.reason


@dataclass(frozen=True, slots=True)
class Alternative:
    """A repair that does not apply, as another one that does replaces the same row."""

    repair: Repair
    instead: Repair
    machine: s.MachineDecl
    label: str
    """Of the row, or of the first of several."""


def repairs(modules: Sequence[s.Module]) -> list[Repair]:
    """The repairs of machines, in the order of the text. An amendment inside another belongs to it."""
    groups: dict[tuple[int, bool, str], list[tuple[s.Module, s.MachineDecl, s.AmendDecl]]] = {}
    for module in modules:
        for machine in (x for x in module.members if isinstance(x, s.MachineDecl)):
            for x in (x for x in machine.members if isinstance(x, s.AmendDecl)):
                key = (id(module), x.name is None, x.reason.text if x.name is None else x.name.text)
                groups.setdefault(key, []).append((module, machine, x))
    return [_repair(group) for group in groups.values()]


def _repair(group: Sequence[tuple[s.Module, s.MachineDecl, s.AmendDecl]]) -> Repair:
    first = group[0][2]
    name = None if first.name is None else first.name.text
    homes = {id(machine): (module, machine) for module, machine, _ in group}
    rows = {(id(machine), n.text) for _, machine, x in group for y in s.amendments_in([x]) for n in replaced_labels(y)}
    return Repair(name, first.reason.text, tuple(x for *_, x in group), tuple(homes.values()), frozenset(rows))


def replaced_labels(decl: s.AmendDecl) -> list[s.Name]:
    """The labels of documented rows that an amendment takes the place of."""
    if decl.label is not None:
        return [decl.label]
    return labels(decl) if decl.replaces else []


def labels(decl: s.AmendDecl) -> list[s.Name]:
    """The labels of the rows of an amendment."""
    return [x.label for x in decl.members if isinstance(x, s.TransitionDecl) and x.label is not None]


def alternatives(repairs: Sequence[Repair], first: Repair | None = None) -> list[Alternative]:
    """The repairs that do not apply. One after the other in the order of the text, each applies unless one that does
    replaces the same row. `first` comes before all others."""
    owners: dict[tuple[int, str], Repair] = {}
    out: list[Alternative] = []
    for x in [*([] if first is None else [first]), *(x for x in repairs if x is not first)]:
        row = next((row for row in owners if row in x.rows), None)
        if row is None:
            owners.update(dict.fromkeys(x.rows, x))
        else:
            machine = next(machine for _, machine in x.homes if id(machine) == row[0])
            out.append(Alternative(x, owners[row], machine, row[1]))
    return out


def declared_names(repair: Repair) -> set[str]:
    """The names of what a repair adds: labels, events, fields, states and so on."""
    return {n for x in repair.amendments for y in s.amendments_in([x]) for z in y.members for n in _names(z)}


def mentioned_names(decls: Iterable[s.AmendDecl | s.LockAmendment]) -> set[str]:
    """Every name in some amendments, whatever it means."""
    names: set[str] = set()
    parts: list[object] = [*decls]
    while parts:
        match parts.pop():
            case s.Name(text):
                names.add(text)
            case tuple() as items:
                parts.extend(items)
            case Span() | str() | int() | None:
                pass
            case node:
                parts.extend(getattr(node, x.name) for x in fields(cast(Any, node)))
    return names


def name_for_without(repair: Repair, machine: s.MachineDecl, label: str) -> str:
    """What `--without` takes to leave out a repair, or what of it replaces a row."""
    if repair.name is not None:
        return repair.name
    own = {id(x) for x in s.amendments_in(machine.members)}
    every = (x for x in repair.amendments if id(x) in own)
    return next(
        _place(x) for x in every if any(n.text == label for y in s.amendments_in([x]) for n in replaced_labels(y))
    )


def ids(repairs: Iterable[Repair]) -> frozenset[int]:
    """The ids of their amendments."""
    return frozenset(id(x) for repair in repairs for x in repair.amendments)


def leave_out(module: s.Module, repairs: Sequence[Repair]) -> s.Module:
    """A module without some repairs. Rows that they replace stand again."""
    return _left(module, ids(repairs))


# Names that are none, or of several ----------------------------------------------------------------------------------


def _several(name: str, matches: Sequence[Amendment]) -> str:
    modules = list(dict.fromkeys(x.module for x in matches))
    if all(modules) and all(name in x.repair_names for x in matches):
        return f"{len(modules)} modules have `{name}`; choose one: {_ways(f'{x}.{name}' for x in modules)}"
    return f"{len(matches)} amendments have `{name}`; choose one by its place: {_ways(x.place for x in matches)}"


def _ways(names: Iterable[str]) -> str:
    return " or ".join(f"`--without {x}`" for x in names)


def _none(name: str, amendments: Sequence[Amendment]) -> str:
    if not amendments:
        return f"no amendment has `{name}`: there are none"
    file = name.rpartition(":")[0]
    lines = [x.place.rpartition(":")[2] for x in amendments if file and x.place.rpartition(":")[0].endswith(file)]
    if lines:
        return f"no amendment begins at `{name}`; those of `{file}` begin in lines {', '.join(lines)}"
    advice = did_you_mean(name, (n for x in amendments for n in x.names))
    ways = "specify an amendment by name, by element, such as `Machine.row`, or by `file:line`"
    return f"no amendment has `{name}`; {advice or ways}"


# What there is -------------------------------------------------------------------------------------------------------


def _amendments(module: s.Module) -> Iterator[Amendment]:
    name = "" if module.name is None else str(module.name)
    for decl in module.members:
        if isinstance(decl, s.MachineDecl):
            for x in s.amendments_in(decl.members):
                own = [] if x.label is None else [x.label.text]
                has = [f"{decl.name.text}.{n}" for n in (*own, *(n for y in x.members for n in _names(y)))]
                yield _amendment(x, has, name)
        elif isinstance(decl, s.LocksDecl):
            owner = "locks" if decl.name is None else decl.name.text
            for y in decl.members:
                if isinstance(y, s.LockAmendment):
                    has = [f"{owner}.{o.name.text}" for o in y.members if isinstance(o, s.OperationDecl)]
                    yield _amendment(y, has, name)


def _amendment(x: s.AmendDecl | s.LockAmendment, has: Sequence[str], module: str) -> Amendment:
    names = [*([] if x.name is None else [x.name.text]), *has]
    qualified = (f"{module}.{n}" for n in names) if module else ()
    return Amendment(x, module, _place(x), tuple(dict.fromkeys([*names, *qualified])))


def _place(x: s.AmendDecl | s.LockAmendment) -> str:
    return f"{x.span.source.name}:{x.span.source.position(x.span.start)[0]}"


def _names(x: s.MachineMember) -> Iterator[str]:
    """What a line of a machine is called."""
    match x:
        case s.TransitionDecl(label=s.Name() as label):
            yield label.text
        case s.TransitionDecl(trigger=s.On(path=path)):
            yield str(path)
        case s.IgnoreDecl(events=events):
            yield from map(str, events)
        case s.EventDecl(events=signatures) | s.ActionDecl(actions=signatures):
            yield from (signature.name.text for signature in signatures)
        case s.FieldDecl(name=name) | s.ParamDecl(name=name) | s.LetDecl(name=name) | s.StateDecl(name=name):
            yield name.text
        case s.InvariantDecl(name=s.Name() as name):
            yield name.text
        case s.TransitionDecl() | s.InvariantDecl() | s.HookDecl() | s.PriorityDecl() | s.LayoutDecl() | s.AmendDecl():
            return
        case _:
            assert_never(x)


# What is left --------------------------------------------------------------------------------------------------------


def _left(module: s.Module, excluded_ids: AbstractSet[int]) -> s.Module:
    return replace(module, members=tuple(_member(x, excluded_ids) for x in module.members))


def _member(x: s.ModuleMember, excluded_ids: AbstractSet[int]) -> s.ModuleMember:
    match x:
        case s.MachineDecl():
            return remaining(x, excluded_ids)
        case s.LocksDecl():
            return replace(x, members=tuple(y for y in x.members if id(y) not in excluded_ids))
        case _:
            return x


def remaining(x: s.MachineDecl, excluded_ids: AbstractSet[int]) -> s.MachineDecl:
    """A machine without some amendments; the same object if it has none of them."""
    if excluded_ids.isdisjoint(map(id, s.amendments_in(x.members))):
        return x
    return replace(x, members=tuple(_remaining_members(x.members, excluded_ids)))


def _remaining_members(members: Sequence[s.MachineMember], excluded_ids: AbstractSet[int]) -> Iterator[s.MachineMember]:
    for x in members:
        if isinstance(x, s.AmendDecl):
            if id(x) not in excluded_ids:
                yield replace(x, members=tuple(_remaining_members(x.members, excluded_ids)))
        else:
            yield x
