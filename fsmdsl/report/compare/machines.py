"""Two models side by side: what each machine, system and module was and is."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.dataclasses import replace
from fsmdsl.report.compare import parts, rows, states
from fsmdsl.report.compare.changes import Change, Compared
from fsmdsl.report.compare.machine_matching import both
from fsmdsl.report.compare.source_text import Names


def compared(old: m.Model, new: m.Model, called: Names) -> tuple[Compared, ...]:
    """Everything that has changed, or come or gone: machines first, then modules, then systems.

    `called`: the names that machines had before, by those that they have in both models now.
    """
    machines = tuple(replace(x, was=called.get(x.name)) for x in _machines(old, new))
    names = {a: b for x in machines for a, b in x.states.items()}
    names.update(both({was: now for now, was in called.items()}))
    others = (*_modules(old, new, names), *_systems(old, new, names))
    return tuple(x for x in (*_renamed_in(machines, names), *others) if x.kind is not None)


def _machines(old: m.Model, new: m.Model) -> Iterator[Compared]:
    """With the states renamed and the transitions matched; the other declarations are compared when all the new names
    are known."""
    for name in dict.fromkeys([*old.machines, *new.machines]):
        before, after = old.machines.get(name), new.machines.get(name)
        if before is None or after is None:
            yield Compared("machine", name, (), before, after)
        else:
            yield Compared("machine", name, (), before, after, states.renamed(before, after))


def _renamed_in(machines: tuple[Compared, ...], names: Names) -> Iterator[Compared]:
    for x in machines:
        before, after = x.old, x.new
        if not isinstance(before, m.Machine) or not isinstance(after, m.Machine):
            yield x
            continue
        # A name means what it does in its own machine first.
        all_names = {**names, **x.states}
        matched = rows.matched(before, after, x.states, all_names)
        changes = (
            *states.changes(before, after, x.states),
            *rows.changes(matched),
            *parts.changes(parts.of_machine(before), parts.of_machine(after), all_names),
        )
        if x.was is not None:
            changes = (Change("renamed", "machine", x.name, x.was, x.name, (), before.span, after.span), *changes)
        yield replace(x, changes=changes, rows=matched)


def _modules(old: m.Model, new: m.Model, names: Names) -> Iterator[Compared]:
    olds, news = ({x.name: x for x in model.modules} for model in (old, new))
    for name in dict.fromkeys([*olds, *news]):
        before, after = olds.get(name), news.get(name)
        changes: tuple[Change, ...] = ()
        if before is not None and after is not None:
            changes = tuple(parts.changes(parts.of_module(before), parts.of_module(after), names))
        yield Compared("module", name, changes, before, after)


def _systems(old: m.Model, new: m.Model, names: Names) -> Iterator[Compared]:
    for name in dict.fromkeys([*old.systems, *new.systems]):
        before, after = old.systems.get(name), new.systems.get(name)
        changes: tuple[Change, ...] = ()
        if before is not None and after is not None:
            changes = tuple(parts.changes(parts.of_system(before), parts.of_system(after), names))
        yield Compared("system", name, changes, before, after)
