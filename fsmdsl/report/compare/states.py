"""States that have another name than before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsmdsl import model as m
from fsmdsl.report.compare.changes import Change
from fsmdsl.report.compare.rename_detection import Signature, pairs
from fsmdsl.report.compare.source_text import Names, trigger


def renamed(old: m.Machine, new: m.Machine) -> Names:
    """The new names of states, by their old ones: of a state that is gone and a state that has come, if their
    transitions and flags are alike, and no other state is as much alike to one of them."""
    names: dict[str, str] = {}
    while certain := dict(_certain(old, new, names)):
        names |= certain
    return names


def _certain(old: m.Machine, new: m.Machine, names: Names) -> Iterator[tuple[str, str]]:
    removed = [s.name for s in old.states if s.name not in new.state_named and s.name not in names]
    added = [s.name for s in new.states if s.name not in old.state_named and s.name not in names.values()]
    stay = {s.name for s in old.states} - set(removed), {s.name for s in new.states} - set(added)
    yield from pairs(
        [(name, _signature(old, name, stay[0], names)) for name in removed],
        [(name, _signature(new, name, stay[1], {})) for name in added],
    )


def _signature(machine: m.Machine, name: str, common: set[str], names: Mapping[str, str]) -> Signature:
    """What is said of a state, other states by their new `names`; those not known in both versions are all the same."""

    def label(state: str | None) -> str:
        if state is None or state == name:
            return "" if state is None else "itself"
        return names.get(state, state) if state in common or state in names else "?"

    s = machine.state_named[name]
    traits = {("flag", *_flags(s)), ("inside", label(s.parent))}
    for t in machine.transitions:
        if t.source == name and not t.wild:
            traits.add(("from", t.label or "", trigger(t), label(t.target)))
        if t.target == name:
            traits.add(("to", t.label or "", trigger(t), "*" if t.wild else label(t.source)))
    return frozenset(traits)


_WORDS = ("initial", "final", "resting", "persistent", "volatile", "transient", "error")


def _flags(s: m.State) -> list[str]:
    return [word for word in _WORDS if getattr(s, word)]


def changes(old: m.Machine, new: m.Machine, names: Names) -> Iterator[Change]:
    """What has become of the states."""
    new_names = {s.name: names.get(s.name, s.name) for s in old.states}
    for s in old.states:
        now = new.state_named.get(new_names[s.name])
        if now is None:
            yield Change("removed", "state", s.name, was=_declaration(s), before=s.span)
            continue
        details = tuple(_details(s, now, names))
        if s.name in names:
            yield Change("renamed", "state", now.name, s.name, now.name, details, s.span, now.span)
        elif details:
            yield Change("changed", "state", now.name, _declaration(s), _declaration(now), details, s.span, now.span)
    for s in new.states:
        if s.name not in new_names.values():
            yield Change("added", "state", s.name, now=_declaration(s), after=s.span)


def _declaration(s: m.State) -> str:
    inside = f" in {s.parent}" if s.parent else ""
    return " ".join([*_flags(s), "state", s.name]) + inside


def _details(old: m.State, new: m.State, names: Names) -> Iterator[str]:
    for word in _WORDS:
        if getattr(old, word) != getattr(new, word):
            yield f"now {word}" if getattr(new, word) else f"no longer {word}"
    if (None if old.parent is None else names.get(old.parent, old.parent)) != new.parent:
        yield f"now inside `{new.parent}`" if new.parent else f"no longer inside `{old.parent}`"
