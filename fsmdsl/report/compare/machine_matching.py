"""Machines that have another name than before: found, and given it, so that all else is compared under one name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from fsmdsl import model as m
from fsmdsl.dataclasses import fields, is_dataclass, replace
from fsmdsl.report.compare.rename_detection import Signature, pairs
from fsmdsl.report.compare.source_text import Names, effects, guard, row
from fsmdsl.text.source import plain


def renamed(old: m.Model, new: m.Model) -> Names:
    """The new names of machines, qualified, by their old ones: of one that is gone and one that has come, if their
    states, transitions and fields are alike, and no other is as much alike to one of them."""
    removed = [(name, _signature(x)) for name, x in old.machines.items() if name not in new.machines]
    added = [(name, _signature(x)) for name, x in new.machines.items() if name not in old.machines]
    return dict(pairs(removed, added))


def _signature(x: m.Machine) -> Signature:
    traits: list[tuple[str, ...]] = [("state", s.name, s.parent or "") for s in x.states]
    traits += [("data", plain(p.span.text)) for p in x.params]
    traits += [("data", plain(f.span.text)) for f in x.fields]
    traits += [("from", row(t), guard(t), effects(t.effects)) for t in x.transitions]
    own = re.compile(rf"\b{re.escape(x.name)}\b")
    return frozenset(tuple(own.sub("itself", part) for part in parts) for parts in traits)


def under(old: m.Model, names: Names) -> m.Model:
    """The old model, with its machines called as they are now. Takes time linear in the model."""
    return _called(old, names) if names else old


def _called(x: Any, names: Names) -> Any:
    again = partial(_called, names=names)
    match x:
        case str():
            return names.get(x, x)
        case tuple():
            return tuple(map(again, x))
        case m.Machine(qualified=qualified) if qualified in names:
            return replace(_each(x, names), **_name(x, names[qualified]))
        case m.Fairness(names=entries):
            return replace(x, names=tuple(_first(y, names) for y in entries))
        case m.Recovers(fields=entries):
            return replace(x, fields=tuple(_first(y, names) for y in entries))
    return _each(x, names) if is_dataclass(x) and not isinstance(x, type) else x


def _each(x: Any, names: Names) -> Any:
    """The same with what is in it under new names; places in the text stay."""
    inside = ((f.name, getattr(x, f.name)) for f in fields(x) if f.compare)
    changed = {name: new for name, was in inside if (new := _called(was, names)) is not was and new != was}
    return replace(x, **changed) if changed else x


def _name(x: m.Machine, qualified: str) -> dict[str, str]:
    module, _, name = qualified.rpartition(".")
    return {"module": module, "name": name, "display": name if x.display == x.name else x.display}


def _first(dotted: str, names: Names) -> str:
    """`Machine.event` with the machine's name as it is now; it stands there with its module or without."""
    machine, dot, rest = dotted.rpartition(".")
    return f"{dict(both(names)).get(machine, machine)}{dot}{rest}"


def both(names: Names) -> Iterator[tuple[str, str]]:
    """The names as they are, and without their modules, as they stand in texts."""
    yield from names.items()
    yield from ((old.rpartition(".")[2], new.rpartition(".")[2]) for old, new in names.items())
