"""What generated code needs for a spec, in any language: parts of the runtime, names and versions in snapshots.

Nothing here knows how a language is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from itertools import chain

from fsmdsl import model as m
from fsmdsl.core.graphs import reachable
from fsmdsl.core.lets import looks_beyond
from fsmdsl.core.triggers import triggered_by
from fsmdsl.dataclasses import dataclass
from fsmdsl.model.typing import referred, types_in
from fsmdsl.model.walk import computed_by, effects_of, expressions, recovery, required
from fsmdsl.text.source import Span


@dataclass(frozen=True, slots=True)
class Traits:
    """Of modules whose machines can meet in one system."""

    outcomes: bool
    timers: bool
    crashes: bool
    alone: bool
    """Some machines crash while others live on."""
    recovers: bool
    channels: bool
    systems: bool


def traits(model: m.Model, modules: Iterable[str]) -> Traits:
    """What modules make use of together."""
    these = [x for x in model.modules if x.name in set(modules)]
    machines = [x for module in these for x in module.machines]
    return Traits(
        outcomes=any(a.outcomes for x in machines for a in x.actions),
        timers=any(triggered_by(x, m.OnTimer) for x in machines),
        crashes=any(map(_crashing, these)),
        alone=any(s.process_crashes for module in these for s in _systems(module)),
        recovers=any(s.recover is not None for module in these for s in _systems(module)),
        channels=any(module.channels for module in these),
        systems=any(not standalone(model, x) for x in machines) or any(module.systems for module in these),
    )


def has_rounds(machine: m.Machine) -> bool:
    """Is there something to do at the end of a step: transitions without an event, or `wait` to become true again?"""
    answered = bool(triggered_by(machine, m.OnOutcome))
    return bool(triggered_by(machine, m.Eventless)) or (answered and reads_wait(machine))


def reads_wait(machine: m.Machine) -> bool:
    """Does anything of a machine read `wait`?"""
    return _wait(machine) is not None


def _wait(machine: m.Machine) -> m.Wait | None:
    """Where it does so first."""
    return next((x for e in computed_by(machine) for x in expressions(e) if isinstance(x, m.Wait)), None)


def stored(machine: m.Machine) -> tuple[m.Param | m.Field, ...]:
    """What an instance holds beside its state."""
    return (*machine.params, *machine.fields)


def _knows_crashes(machine: m.Machine) -> bool:
    durable = any(f.durable for f in machine.fields)
    return durable or any(s.volatile for s in machine.states) or bool(triggered_by(machine, m.OnCrash))


def family(model: m.Model, module: str) -> tuple[str, ...]:
    """The modules that a module has to do with, itself among them: by imports, in either direction, directly or not."""
    near = {x.name: set(x.imports) for x in model.modules}
    for name, others in list(near.items()):
        for other in others:
            near.setdefault(other, set()).add(name)
    return tuple(sorted(reachable([module], near.__getitem__)))


# Machines that stand alone -------------------------------------------------------------------------------------------


def standalone(model: m.Model, machine: m.Machine) -> bool:
    """Can a machine do without a system? It has nothing to do with others, nor with actions, time, rounds, crashes."""
    alone = (
        not machine.actions
        and not reads_wait(machine)
        and not any(triggered_by(machine, kind) for kind in (m.Eventless, m.OnTimer, m.OnOutcome, m.OnCrash))
    )
    if not alone or _knows_crashes(machine) or any(isinstance(e, m.Send | m.Post) for e in effects_of(machine)):
        return False
    referring = {r for x in model.machines.values() for r in references(x)}
    if set(references(machine)) or machine.qualified in referring | _receivers(model) | _counted(model):
        return False
    if any(looks_beyond(model, e) for e in computed_by(machine)):
        return False
    near = family(model, machine.module)
    return not machine.fields or not any(_crashing(x) for x in model.modules if x.name in near)


def _crashing(module: m.Module) -> bool:
    """Does a crash, which would reset fields, occur in a module?"""
    struck = any(s.crashes or s.process_crashes or s.recover is not None for s in _systems(module))
    return struck or any(map(_knows_crashes, module.machines))


def _systems(module: m.Module) -> list[m.System]:
    """The systems of a module, those of its scenarios too."""
    return [*module.systems, *(x.system for x in module.scenarios)]


def _receivers(model: m.Model) -> set[str]:
    sent = {e.machine for x in model.machines.values() for e in effects_of(x) if isinstance(e, m.Send)}
    return sent | {c.receiver for c in model.channels.values()}


def _counted(model: m.Model) -> set[str]:
    """The machines of which all instances are looked at, which a system has to know."""
    lets = (x.value for module in model.modules for x in module.lets)
    systems = [x for module in model.modules for x in _systems(module)]
    inside = (e for s in systems for e in (*(x.value for x in s.lets), *required(s), *recovery(s)))
    return {x.machine for e in (*lets, *inside) for x in expressions(e) if isinstance(x, m.AllOf)}


def value_types(machine: m.Machine) -> Iterator[m.Type]:
    """The types of what a machine can hold, receive, or send."""
    yield from (x.type for x in (*stored(machine), *_parameters(machine)))


def references(machine: m.Machine) -> Iterator[str]:
    """The machines whose instances a machine can hold, receive, or send."""
    for t in value_types(machine):
        yield from referred(t)


def _parameters(machine: m.Machine) -> Iterator[m.Variable]:
    """Those of events and actions."""
    return (v for owner in (machine.events, machine.actions) for x in owner for v in x.parameters)


def snapshot_version(machines: Iterable[m.Machine]) -> str:
    """The version of snapshots. It differs where states, fields or their types differ."""
    shapes = [(x.qualified, [s.name for s in x.leaves], [(f.name, repr(f.type)) for f in x.fields]) for x in machines]
    return sha256(repr(sorted(shapes)).encode()).hexdigest()[:12]


def timer_name(machine: m.Machine, t: m.Transition) -> str:
    """What a timer is called in snapshots: `Starting after 5min`."""
    assert isinstance(t.trigger, m.OnTimer)
    name = f"{t.source} after {t.trigger.duration_text}"
    same = [u for u in triggered_by(machine, m.OnTimer) if f"{u.source} {u.shown_trigger}" == name]
    return name if len(same) == 1 else f"{name} ({same.index(t) + 1})"


def _is_of_states(t: m.Type) -> bool:
    """Does a value of a type hold states of machines?"""
    return any(isinstance(x, m.EnumType) and x.machine for x in types_in(t))


# Parameters that go in circles ---------------------------------------------------------------------------------------


def connected(model: m.Model, machine: m.Machine) -> tuple[m.Param, ...]:
    """Parameters without a default that cannot all be given when an instance is made, as they lead back to it."""

    @cache
    def needed(name: str) -> frozenset[str]:
        params = model.machines[name].params
        return frozenset(r for p in params if p.default is None for r in referred(p.type))

    def leads_back(p: m.Param) -> bool:
        return machine.qualified in reachable(referred(p.type), needed)

    return tuple(p for p in machine.params if p.default is None and leads_back(p))


def circular(model: m.Model, machine: m.Machine) -> tuple[m.Field, ...]:
    """Fields that begin with any instance, where that leads back to the machine: the first instance has none to be
    given."""

    @cache
    def needed(name: str) -> frozenset[str]:
        types = [x.type for x in model.machines[name].params if x.default is None]
        types += [x.type for x in model.machines[name].fields if x.any]
        return frozenset(r for t in types for r in referred(t))

    anything = (f for f in machine.fields if f.any)
    return tuple(f for f in anything if machine.qualified in reachable(referred(f.type), needed))


# Expressions ---------------------------------------------------------------------------------------------------------


def beyond_tables(model: m.Model, machine: m.Machine) -> tuple[str, Span] | None:
    """Why `transitions` cannot run a machine, and where: rounds, states as values, `wait`, or a look at channels or at
    all machines of a kind. None: it can."""
    eventless = triggered_by(machine, m.Eventless)
    if eventless:
        return "has rows without events", eventless[0].span
    of_states = (x for x in (*stored(machine), *_parameters(machine)) if _is_of_states(x.type))
    compared = (x for e in computed_by(machine) for x in expressions(e) if isinstance(x, m.StateOf))
    first = next(chain(of_states, compared), None)
    if first is not None:
        return "uses states as values", first.span
    waiting = _wait(machine)
    if waiting is not None:
        return "reads `wait`", waiting.span
    guards = [t.guard for t in machine.transitions if t.guard is not None]
    looking = next((e for e in (*guards, *(x.value for x in machine.lets)) if looks_beyond(model, e)), None)
    return None if looking is None else ("looks at channels, or at all machines of a kind", looking.span)
