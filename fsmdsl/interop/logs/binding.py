"""What lines say, in the terms of a system: a mapping whose names are those of instances, events, rows and states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.interop.logs.mapping import LineRule, LogMapping
from fsmdsl.interop.logs.rules import MAPPING, LogError
from fsmdsl.interop.logs.unify import Directory
from fsmdsl.step import Universe
from fsmdsl.text.diagnostics import Diagnostic, closest
from fsmdsl.text.source import Span

UNBOUND_EVENTS = ("crash", "recover")
CHANNEL_WORDS = ("deliver", "lose", "duplicate")


@dataclass(frozen=True, slots=True)
class Meaning:
    """A `[[line]]` of the mapping, bound to a system."""

    number: int
    """Its place in the mapping."""
    rule: LineRule = field(repr=False)
    choice: tuple[int, ...]
    """The instances that the line may be about, in order."""
    leaves: frozenset[str]
    """The leaf states that `state` stands for; empty: it says nothing of the state."""
    types: tuple[tuple[m.Type, ...], ...]
    """Of each argument, then of each field: its types in the machines of these instances."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What one line says. `name` None: of the whole system, as a crash."""

    meaning: Meaning = field(repr=False)
    name: str | None
    event: str | None
    row: str | None
    arguments: tuple[tuple[str, object], ...] = ()
    fields: tuple[tuple[str, object], ...] = ()

    @property
    def state(self) -> str | None:
        """The state that the instance is in, as the mapping names it."""
        return self.meaning.rule.state

    def __str__(self) -> str:
        of = "" if self.name is None else f"{self.name}"
        arguments = f"({', '.join(f'{k} = {x}' for k, x in self.arguments)})" if self.arguments else ""
        parts = [f"{of}{'.' if of else ''}{self.event}{arguments}"] if self.event else []
        parts += [f"row {self.row}{f' of {of}' if not parts else ''}"] if self.row else []
        parts += [f"{of if not parts else 'now'} in {self.state}"] if self.state else []
        parts += [f"{'' if parts else f'{of}: '}{k} = {x}" for k, x in self.fields]
        return ", ".join(parts)


@dataclass(frozen=True)
class Reading:
    """A mapping bound to a system."""

    universe: Universe = field(repr=False)
    mapping: LogMapping
    meanings: tuple[Meaning, ...]
    directory: Directory = field(repr=False)

    @cached_property
    def events(self) -> frozenset[tuple[int | None, str]]:
        """Events that lines are about, of each instance (None: of the whole system)."""
        return frozenset((n, x.rule.event) for x in self.meanings if x.rule.event for n in x.choice or (None,))

    @cached_property
    def logged_events(self) -> frozenset[tuple[int | None, str]]:
        """Those that never happen without a line."""
        lost = {(n, x.rule.event) for x in self.meanings if x.rule.lost for n in x.choice or (None,)}
        return self.events - lost

    @cached_property
    def rows(self) -> frozenset[tuple[int, str]]:
        """Rows that lines are about."""
        return frozenset((n, x.rule.row) for x in self.meanings if x.rule.row for n in x.choice)

    @cached_property
    def logged_rows(self) -> frozenset[tuple[int, str]]:
        """Those that are never followed without a line."""
        return self.rows - {(n, x.rule.row) for x in self.meanings if x.rule.lost for n in x.choice}

    @cached_property
    def stated(self) -> frozenset[int]:
        """Instances whose states lines are about."""
        return frozenset(n for x in self.meanings if x.leaves for n in x.choice)


# Binding a mapping to a system ---------------------------------------------------------------------------------------


def bind(mapping: LogMapping, universe: Universe) -> Reading:
    """A mapping for a system. Raises `LogError` for names that the system does not have."""
    binder = _Binder(mapping, universe)
    fixed = dict(binder.fixed())
    meanings = tuple(binder.meaning(n, x) for n, x in enumerate(mapping.lines))
    if binder.problems:
        raise LogError(binder.problems)
    return Reading(universe, mapping, meanings, Directory(universe, fixed, in_order=mapping.in_order))


class _Binder:
    def __init__(self, mapping: LogMapping, universe: Universe) -> None:
        self.mapping, self.universe = mapping, universe
        self.problems: list[Diagnostic] = []
        self.own = {universe.name(n): n for n in range(len(universe.machines))}

    def fixed(self) -> Iterator[tuple[str, str]]:
        for name, instance in self.mapping.names:
            if instance in self.own:
                yield name, instance
            else:
                self._unknown(self.mapping.place[f"names.{name}"], "instance", instance, self.own)

    def meaning(self, number: int, rule: LineRule) -> Meaning:
        choice = self._choice(rule)
        machines = {self.universe.machines[n].qualified: self.universe.machines[n] for n in choice}
        fits = [x for x in machines.values() if self._fits(rule, x)]
        if machines and not fits:
            self._misfit(rule, machines)
        if not machines and rule.instance is None and rule.event is not None:
            self._global(rule)
        chosen = {x.qualified for x in fits}
        leaves = {s.name for x in fits for s in x.leaves if rule.state in x.ancestors(s.name)} if rule.state else ()
        instances = tuple(n for n in sorted(choice) if self.universe.machines[n].qualified in chosen)
        return Meaning(number, rule, instances, frozenset(leaves), tuple(_types(rule, fits)))

    def _choice(self, rule: LineRule) -> frozenset[int]:
        """The instances that a line may be about: those of `of`, the one that it names, or all."""
        if rule.instance is None:
            return frozenset()
        if rule.of is not None:
            groups = {g.name for g in self.universe.system.groups}
            machines = {name: x for x in self.universe.machines for name in (x.name, x.qualified)}
            if rule.of in groups:
                return self.universe.instances_called(rule.of)
            if rule.of in machines:
                return self.universe.instances_of(machines[rule.of].qualified)
            self._unknown(rule.place["of"], "set or machine", rule.of, [*groups, *machines])
            return frozenset()
        if len(rule.instance.parts) == 1:
            name = dict(self.mapping.names).get(rule.instance.text, rule.instance.text)
            if name not in self.own:
                self._unknown(rule.place["instance"], "instance", name, self.own)
                return frozenset()
            return frozenset({self.own[name]})
        return frozenset(self.own.values())

    def _fits(self, rule: LineRule, machine: m.Machine) -> bool:
        parameters = _parameters(machine, rule.event)
        fields = {f.name for f in machine.fields}
        return (
            (rule.event is None or rule.event in self._events(machine))
            and (rule.row is None or rule.row in _rows(machine))
            and (rule.state is None or rule.state in machine.state_named)
            and all(k in parameters for k, _ in rule.arguments)
            and all(k in fields for k, _ in rule.fields)
        )

    def _events(self, machine: m.Machine) -> list[str]:
        """What a line can say has come to an instance, also in a queue of its own."""
        struck = any(machine.qualified in x.machines for x in self.universe.system.process_crashes)
        names = [x for x in _events(machine) if not self._channels_of(machine, x)]
        return [*names, *(["crash"] if struck else []), *self._queues(machine)]

    def _channels_of(self, machine: m.Machine, name: str) -> list[m.Channel]:
        """The channels that an event comes from, if it comes from nowhere else: a line is then about its delivery."""
        event = machine.event_named.get(name)
        if event is None or event.from_environment:
            return []
        channels = self.universe.model.channels
        return [channels[x] for x in event.senders] if all(x in channels for x in event.senders) else []

    def _queues(self, machine: m.Machine) -> Iterator[str]:
        for c in {
            x.channel for x in self.universe.queues if x.channel.each and x.channel.receiver == machine.qualified
        }:
            carried = [e.name for e in machine.events if c.qualified in e.senders]
            yield from (
                f"{word} {name}" for word in CHANNEL_WORDS for name in (c.name, *(f"{c.name}.{x}" for x in carried))
            )

    def _misfit(self, rule: LineRule, machines: Mapping[str, m.Machine]) -> None:
        """The first name that no machine has."""
        every = list(machines.values())
        checks = [("event", rule.event, [e for x in every for e in self._events(x)])] if rule.event else []
        checks += [("row", rule.row, [r for x in every for r in _rows(x)])] if rule.row else []
        checks += [("state", rule.state, [s for x in every for s in x.state_named])] if rule.state else []
        parameters = [p for x in every for p in _parameters(x, rule.event)]
        checks += [("arguments", name, parameters) for name, _ in rule.arguments]
        checks += [("fields", name, [f.name for x in every for f in x.fields]) for name, _ in rule.fields]
        what = {"arguments": "parameter", "fields": "field"}
        for key, name, names in checks:
            if name not in names:
                assert name is not None
                channels = [c for x in every for c in self._channels_of(x, name)] if key == "event" else []
                if channels:
                    self.problems.append(MAPPING.at(rule.place[key], _about_delivery(name, channels)))
                    return
                self._unknown(rule.place[key], what.get(key, key), name, names, " of these instances")
                return
        message = "no machine of these instances has all that this `[[line]]` names; name the set with `of`"
        self.problems.append(MAPPING.at(rule.place[""], message))

    def _global(self, rule: LineRule) -> None:
        """Events of no instance: `crash`, `recover`, `deliver CHANNEL`."""
        assert rule.event is not None
        channels = [x.channel.name for x in self.universe.queues if not x.channel.each]
        global_events = [*UNBOUND_EVENTS, *(f"{word} {c}" for word in CHANNEL_WORDS for c in channels)]
        head = rule.event.partition(".")[0]
        if head not in global_events:
            advice = '; an event of an instance needs `instance`, such as `instance = "{uid}"`'
            message = f"`{rule.event}` is not an event of a system as a whole{advice}"
            self.problems.append(MAPPING.at(rule.place["event"], message))

    def _unknown(self, at: Span, what: str, name: str, names: object, where: str = " in the system") -> None:
        candidates = list(dict.fromkeys(str(x) for x in names))  # type: ignore[attr-defined]
        close = closest(name, candidates)
        sample = ", ".join(f"`{x}`" for x in candidates[:12]) + (" …" if len(candidates) > 12 else "")
        advice = f"did you mean `{close}`?" if close else f"there are {sample}" if candidates else "there is none"
        self.problems.append(MAPPING.at(at, f"there is no {what} `{name}`{where}; {advice}"))


def _about_delivery(event: str, channels: list[m.Channel]) -> str:
    """What to write about an event that comes only from channels."""
    names = list(dict.fromkeys(x.name for x in channels))
    advice = " or ".join(f"`deliver {x}.{event}`" for x in names)
    shared = "" if all(x.each for x in channels) else " without `instance`, because all receivers share the queue"
    return f"`{event}` comes only from {' and '.join(f'`{x}`' for x in names)}: write {advice}{shared}"


def _types(rule: LineRule, machines: list[m.Machine]) -> Iterator[tuple[m.Type, ...]]:
    events = [x.event_named.get(rule.event or "") for x in machines]
    parameters = [p for event in events if event is not None for p in event.parameters]
    for name, _ in rule.arguments:
        yield tuple(dict.fromkeys(p.type for p in parameters if p.name == name))
    for name, _ in rule.fields:
        yield tuple(dict.fromkeys(f.type for x in machines for f in x.fields if f.name == name))


def _events(machine: m.Machine) -> list[str]:
    """What a line can say has come: events, answers, timers."""
    timers = [t for t in machine.transitions if isinstance(t.trigger, m.OnTimer)]
    names = dict.fromkeys(f"timeout {n}" for t in timers for n in sorted(t.timer_names))
    outcomes = [f"{a.name}.{o}" for a in machine.actions for o in a.outcomes]
    return [*(e.name for e in machine.events), *outcomes, *(["timeout"] if timers else []), *names]


def _rows(machine: m.Machine) -> list[str]:
    return list(dict.fromkeys(name for t in machine.transitions for name in sorted(t.names)))


def _parameters(machine: m.Machine, event: str | None) -> set[str]:
    declaration = machine.event_named.get(event or "")
    return set() if declaration is None else {p.name for p in declaration.parameters}
