"""A small system around one machine, for walks through it where no system is declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsmdsl import model as m
from fsmdsl.model.resolve.types.first_values import default
from fsmdsl.model.typing import referred


def closed(model: m.Model, machine: m.Machine) -> m.System:
    """One instance of a machine (two, if it refers to itself), and two of each that it has to do with (one where a
    channel leads to it).

    The environment may send whatever it is a sender of. Parameters without a value have the type's own.
    """
    names = list(dict.fromkeys([machine.qualified, *_around(model, machine)]))
    groups = _groups(model, machine, names)
    group_of = {g.machine: g for g in groups}
    instances = tuple(_instance(model, group_of, g, i) for g in groups for i in range(g.count))
    channels = tuple(c for c, x in model.channels.items() if x.receiver in group_of)
    return m.System(
        f"closed_{machine.name}", machine.module, groups, instances, None, (), None, (), (), (), (), channels,
        f"`{machine.name}` and what it has to do with.", machine.span,
    )  # fmt: skip


def _groups(model: m.Model, machine: m.Machine, names: list[str]) -> tuple[m.InstanceGroup, ...]:
    receivers = {c.receiver for c in model.channels.values() if not c.each}
    alone = machine.qualified not in _mentioned(machine)
    single = {x for x in names if x in receivers or (x == machine.qualified and alone)}
    return tuple(
        m.InstanceGroup(_called(x, names), x, 1 if x in single else 2, x in single, False, model.machines[x].span)
        for x in names
    )


def _called(machine: str, names: list[str]) -> str:
    """`cell` for `hived.Cell`, or `hived_Cell` where another module has one too."""
    short = machine.rpartition(".")[2]
    alone = sum(x.rpartition(".")[2].lower() == short.lower() for x in names) == 1
    return short[:1].lower() + short[1:] if alone else machine.replace(".", "_")


def _instance(
    model: m.Model, group_of: Mapping[str, m.InstanceGroup], group: m.InstanceGroup, index: int
) -> m.Instance:
    machine = model.machines[group.machine]
    name = group.name if group.single else f"{group.name}{index}"
    values = tuple((p.name, _first(p.type, group_of)) for p in machine.params if p.default is None)
    return m.Instance(name, group.name, index, group.machine, machine.initial.name, values, machine.span)


def _first(t: m.Type, group_of: Mapping[str, m.InstanceGroup]) -> m.Expr:
    """The value of a parameter without an argument."""
    match t:
        case m.RefType(machine):
            return m.InstanceRef(group_of[machine].name, 0, t)
        case m.RecordType(parts=parts):
            return m.Construction(tuple(_first(of, group_of) for _, of in parts), t)
        case m.MapType(of=of):
            return m.Apply("filled", (_first(of, group_of),), t)
        case m.SetType() | m.ListType():
            return m.Collection("set" if isinstance(t, m.SetType) else "list", (), t)
        case _:
            return default(t) or m.Constant(None, t)


def _around(model: m.Model, machine: m.Machine) -> list[str]:
    """The machines that one depends on, directly or through others: those it refers to, and those that send to it."""
    names: dict[str, None] = {}
    todo = [machine]
    while todo:
        for name in _mentioned(todo.pop(0)):
            if name in model.channels:
                continue
            if name not in names:
                names[name] = None
                todo.append(model.machines[name])
    return list(names)


def _mentioned(machine: m.Machine) -> Iterator[str]:
    types = [p.type for e in machine.events for p in e.parameters]
    types += [p.type for a in machine.actions for p in a.parameters]
    for t in [*(p.type for p in machine.params), *(f.type for f in machine.fields), *types]:
        yield from referred(t)
    for event in machine.events:
        yield from (s for s in event.senders if s != "environment")
