"""What must hold in a system: invariants, what is reachable, properties of runs and the fairness that they assume."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.dataclasses import replace
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.meanings import Kind
from fsmdsl.model.resolve.names.scope import MachineNames, Member, Scope, SystemNames, unknown
from fsmdsl.model.resolve.values.channels import channel_at
from fsmdsl.model.resolve.values.places import condition

LISTS = {
    "fair": "one `fair` is enough for a list: `fair a, b`",
    "weak": "write `weak fair e`, or only `fair e`",
    "strong": "write `strong fair e`",
    "deliver": "name the channel: `fair deliver c`",
    "finitely": "write `and finitely many crashes`",
}
"""Words that were read as names in a list of what is fair, and what to write instead."""


def _name(name: s.Name | None, kind: str, number: int) -> str:
    return name.text if name is not None else f"{kind} {number}"


def invariants(names: SystemNames, declarations: Sequence[Member[s.InvariantDecl]]) -> tuple[m.Invariant, ...]:
    """The invariants of a system."""
    _unique(names, "invariant", declarations)
    numbered = ((i, x.decl, x.scope(names)) for i, x in enumerate(declarations, 1))
    return tuple(
        m.Invariant(
            _name(d.name, "invariant", i), condition(scope, d.condition), d.doc, None, d.span, d.name is not None
        )
        for i, d, scope in numbered
    )


def reachables(names: SystemNames, declarations: Sequence[Member[s.ReachableDecl]]) -> tuple[m.Reachable, ...]:
    """What must be possible in a system."""
    _unique(names, "reachable", declarations)
    numbered = ((i, x.decl, x.scope(names)) for i, x in enumerate(declarations, 1))
    return tuple(
        m.Reachable(_name(d.name, "reachable", i), condition(scope, d.condition), d.doc, d.span, d.name is not None)
        for i, d, scope in numbered
    )


def properties(names: SystemNames, declarations: Sequence[Member[s.PropertyDecl]]) -> tuple[m.Property, ...]:
    """What must be true of all runs of a system."""
    _unique(names, "property", declarations)
    return tuple(_property(x.scope(names), x.decl, i) for i, x in enumerate(declarations, 1))


def _property(scope: Scope, d: s.PropertyDecl, number: int) -> m.Property:
    inner = replace(scope, temporal=True)
    return m.Property(
        _name(d.name, "property", number),
        _recovers(scope, d.formula) if isinstance(d.formula, s.Recovers) else condition(inner, d.formula),
        tuple(_fairness(scope, f) for f in d.under),
        d.finite,
        d.doc,
        d.span,
        d.name is not None,
    )


def _unique(
    names: SystemNames, kind: Kind, declarations: Sequence[Member[s.InvariantDecl | s.ReachableDecl | s.PropertyDecl]]
) -> None:
    seen: set[str] = set()
    program = names.module.program
    for x in declarations:
        n = x.decl.name
        if n is not None:
            program.note(n.span, kind, x.owner, n.text, declares=x.owner == names.qualified)
        if n is not None and n.text in seen:
            program.diagnostics.append(rules.TWICE.at(n.span, f"`{n.text}` is already declared"))
        seen.add(n.text if n is not None else "")


def _machines(scope: Scope) -> list[MachineNames]:
    assert scope.system is not None
    return [scope.module.program.machines[g.machine] for g in scope.system.groups.values()]


def _recovers(scope: Scope, r: s.Recovers) -> m.Recovers:
    _all_known(scope, "field", r.fields, lambda x: dict.fromkeys(x.fields, "field"))
    return m.Recovers(tuple(str(p) for p in r.fields), r.span)


def _fairness(scope: Scope, f: s.Fairness) -> m.Fairness:
    _all_known(scope, "event or label", f.names, _happenings)
    deliveries = (_delivery(scope, p) for p in f.deliveries)
    names = tuple(str(p) for p in f.names)
    if f.each:
        _each(scope, f)
    each = tuple(str(p) for p in f.each)
    return m.Fairness(f.strength, names, tuple(x for x in deliveries if x is not None), each, f.span)


def _each(scope: Scope, f: s.Fairness) -> None:
    """Behind `for each` stand parameters that every event in front has, in every machine that is meant."""
    for d in f.deliveries:
        diagnostic = rules.MISPLACED.at(
            d.span, "`deliver` cannot be combined with `for each`: it already applies to each message separately"
        )
        scope.report(diagnostic.help(f"write a separate assumption for it: `{f.strength} fair deliver {d}`"))
    for path in () if scope.module.program.incomplete else f.names:
        for x in _machines(scope):
            for event in events_meant(x, str(path)):
                for p in f.each:
                    _parameter(scope, f, path, x, event, p)


def _parameter(scope: Scope, f: s.Fairness, path: s.Path, x: MachineNames, event: m.Event | None, p: s.Path) -> None:
    """One of those behind `for each`, for one of the names in front."""
    if event is None:
        diagnostic = rules.UNKNOWN.at(
            p.span, f"`{path}` is not an event of {x.decl.name.text}, so it has no parameter `{p}`"
        )
        scope.report(diagnostic.help(f"write a separate assumption for it: `{f.strength} fair {path}`"))
        return
    parameters = tuple(v.name for v in event.parameters)
    if str(p) in parameters:
        scope.note(p.names[-1], "parameter", f"{x.qualified}.{event.name}")
        return
    diagnostic = unknown("parameter", str(p), p.span, parameters, event.name).label(path.span, "named here")
    other = f"for another event, begin with `fair` again: `, fair {p}`"
    scope.report(diagnostic.help(other) if any(str(p) in _happenings(y) for y in _machines(scope)) else diagnostic)


def events_meant(x: MachineNames, name: str) -> tuple[m.Event | None, ...]:
    """The events that a name of fairness is about in a machine, those of its rows if it is a label; None: what is none,
    as an answer or a timer."""
    names = _happenings(x).keys() & _spellings(x, name)
    triggers = [t.trigger for t, _ in x.members if isinstance(t, s.TransitionDecl) and x.labels_of(t) & names]
    about = [str(t.path) if isinstance(t, s.On) else "" for t in triggers]
    about += sorted(n for n in names if n in x.events or n not in x.labels)
    return tuple(dict.fromkeys(x.events.get(e) for e in about))


def _delivery(scope: Scope, path: s.Path) -> m.Delivery | None:
    """`to_cache`, or `to_cache.release`; either may be behind a module's name."""
    location = channel_at(scope, path)
    if location is None:
        return None
    home, last, event = location
    located = home.at(home.channels[last].receiver)
    receiver = None if located is None else located[0].machines.get(located[1])
    if event is not None and receiver is not None:
        events = tuple(receiver.events)
        if event in receiver.events:
            scope.note(path.names[-1], "event", receiver.qualified)
        elif not scope.module.program.incomplete:
            scope.report(unknown("event", event, path.names[-1].span, events, receiver.decl.name.text))
    return m.Delivery(f"{home.name}.{last}", event, path.span)


def _happenings(x: MachineNames) -> dict[str, Kind]:
    """What fairness can name in a machine."""
    outcomes = (f"{a.name}.{o}" for a in x.actions.values() for o in a.outcomes)
    return {
        **dict.fromkeys(x.labels, "label"),
        **dict.fromkeys(x.events, "event"),
        **dict.fromkeys(outcomes, "outcome"),
    }


def _all_known(scope: Scope, kind: str, paths: Iterable[s.Path], of: Callable[[MachineNames], dict[str, Kind]]) -> None:
    """Each name, alone or behind a machine's name, is one of a machine that has instances. As documented, it may be an
    amendment's."""
    machines = _machines(scope)
    for path in () if scope.module.program.incomplete else paths:
        name = str(path)
        for x in machines:
            _note_meant(scope, path, x, of(x))
        if not any(of(x).keys() & _spellings(x, name) for x in machines):
            diagnostic = unknown(kind, name, path.span, tuple(n for x in machines for n in of(x)))
            scope.report(diagnostic.help(LISTS[name]) if name in LISTS else diagnostic)


def _note_meant(scope: Scope, path: s.Path, x: MachineNames, kinds: Mapping[str, Kind]) -> None:
    """Keep what the last name of a path stands for in a machine."""
    for name in kinds.keys() & _spellings(x, str(path)):
        *action, last = name.split(".")
        kind, owner = kinds[name], ".".join([x.qualified, *action])
        scope.module.program.note(path.names[-1].span, kind, owner, last)


def _spellings(x: MachineNames, name: str) -> set[str]:
    """A name, and what is behind the machine's own in it."""
    return {name, *(name.removeprefix(f"{front}.") for front in (x.decl.name.text, x.qualified))}
