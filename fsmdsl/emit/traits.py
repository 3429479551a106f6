"""What a spec makes use of, so that generated code holds nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from fsmdsl import model as m
from fsmdsl.emit.rows import effects_of, triggers
from fsmdsl.walk import expressions, operands


@dataclass(frozen=True, slots=True)
class Traits:
    """Of modules whose machines can meet in one system."""

    actions: bool
    outcomes: bool
    asynchronous: bool
    timers: bool
    rounds: bool
    crashes: bool
    recovers: bool
    channels: bool
    systems: bool


def traits(model: m.Model, modules: Iterable[str]) -> Traits:
    """What modules make use of together."""
    these = [x for x in model.modules if x.name in set(modules)]
    machines = [x for module in these for x in module.machines]
    systems = [s for module in these for s in (*module.systems, *(x.system for x in module.scenarios))]
    actions = [a for x in machines for a in x.actions]
    return Traits(
        actions=bool(actions),
        outcomes=any(a.outcomes for a in actions),
        asynchronous=any(a.asynchronous for a in actions),
        timers=any(triggers(x, m.OnTimer) for x in machines),
        rounds=any(map(_has_rounds, machines)),
        crashes=any(s.crashes or s.recover is not None for s in systems) or any(map(_knows_crashes, machines)),
        recovers=any(s.recover is not None for s in systems),
        channels=any(module.channels for module in these),
        systems=any(not standalone(model, x) for x in machines) or any(module.systems for module in these),
    )


def _has_rounds(machine: m.Machine) -> bool:
    """Is there something to do at the end of a step: transitions without an event, or `wait` to become true again?"""
    return bool(triggers(machine, m.Eventless)) or (bool(triggers(machine, m.OnOutcome)) and reads_wait(machine))


def reads_wait(machine: m.Machine) -> bool:
    """Does anything of a machine read `wait`?"""
    read = [t.guard for t in machine.transitions if t.guard is not None] + [x.value for x in machine.lets]
    read += [x.condition for x in machine.invariants]
    read += [x for effect in effects_of(machine) for x in operands(effect)]
    return any(isinstance(x, m.Wait) for e in read for x in expressions(e))


def _knows_crashes(machine: m.Machine) -> bool:
    durable = any(f.durable for f in machine.fields)
    return durable or any(s.volatile for s in machine.states) or bool(triggers(machine, m.OnCrash))


def family(model: m.Model, module: str) -> tuple[str, ...]:
    """The modules that a module has to do with, itself among them: by imports, in either direction, directly or not."""
    near = {x.name: set(x.imports) for x in model.modules}
    for name, others in list(near.items()):
        for other in others:
            near.setdefault(other, set()).add(name)
    found, todo = {module}, [module]
    while todo:
        new = near[todo.pop()] - found
        found |= new
        todo += new
    return tuple(sorted(found))


# Machines that stand alone -------------------------------------------------------------------------------------------


def standalone(model: m.Model, machine: m.Machine) -> bool:
    """Can a machine do without a system? It has nothing to do with others, nor with actions, time, rounds, crashes."""
    alone = not machine.actions and not any(
        triggers(machine, kind) for kind in (m.Eventless, m.OnTimer, m.OnOutcome, m.OnCrash)
    )
    if not alone or _knows_crashes(machine) or any(isinstance(e, m.Send | m.Post) for e in effects_of(machine)):
        return False
    referring = {r for x in model.machines.values() for r in references(x)}
    if set(references(machine)) or machine.qualified in referring | _receivers(model):
        return False
    return not machine.fields or not _crashing(model, machine.module)


def _crashing(model: m.Model, module: str) -> bool:
    """Does a crash, which would reset fields, occur among the modules around?"""
    these = [x for x in model.modules if x.name in family(model, module)]
    systems = [s for x in these for s in (*x.systems, *(y.system for y in x.scenarios))]
    return any(s.crashes or s.recover is not None for s in systems) or any(
        _knows_crashes(x) for module_ in these for x in module_.machines
    )


def _receivers(model: m.Model) -> set[str]:
    sent = {e.machine for x in model.machines.values() for e in effects_of(x) if isinstance(e, m.Send)}
    return sent | {c.receiver for c in model.channels.values()}


def references(machine: m.Machine) -> Iterator[str]:
    """The machines whose instances a machine can hold, be told of, or tell of."""
    parameters = [v.type for x in machine.events for v in x.parameters]
    parameters += [v.type for x in machine.actions for v in x.parameters]
    for t in (*(p.type for p in machine.params), *(f.type for f in machine.fields), *parameters):
        yield from referred(t)


def referred(t: m.Type) -> Iterator[str]:
    """The machines that a type mentions."""
    match t:
        case m.RefType(machine):
            yield machine
        case m.SetType(of) | m.ListType(of=of) | m.OptionalType(of):
            yield from referred(of)
        case _:
            return


# Parameters that go in circles ---------------------------------------------------------------------------------------


def connected(model: m.Model, machine: m.Machine) -> tuple[m.Param, ...]:
    """Parameters without a default that cannot all be given when an instance is made, as they lead back to it."""

    @cache
    def needed(name: str) -> frozenset[str]:
        params = model.machines[name].params
        return frozenset(r for p in params if p.default is None for r in referred(p.type))

    def leads_back(start: str) -> bool:
        seen, todo = {start}, [start]
        while todo:
            new = needed(todo.pop()) - seen
            seen |= new
            todo += new
        return machine.qualified in seen

    return tuple(p for p in machine.params if p.default is None and any(map(leads_back, referred(p.type))))


# Expressions ---------------------------------------------------------------------------------------------------------


def may_fail(model: m.Model, e: m.Expr, system: m.System | None = None) -> bool:
    """Can an expression have no value, because something in it is none or empty?"""
    for x in expressions(e):
        if isinstance(x, m.Apply) and x.function in ("present", "first"):
            return True
        if isinstance(x, m.Derived) and may_fail(model, model.let(x, system).value, system):
            return True
    return False


def needs_system(model: m.Model, e: m.Expr) -> bool:
    """Does an expression look at more than the machines that it is given: at channels, at all machines of a kind?"""
    return _mentions(model, e, (m.ChannelRef, m.AllOf))


def surveys(model: m.Model, e: m.Expr) -> bool:
    """Does an expression look at all machines of a kind?"""
    return _mentions(model, e, (m.AllOf,))


def _mentions(model: m.Model, e: m.Expr, kinds: tuple[type, ...]) -> bool:
    for x in expressions(e):
        if isinstance(x, kinds):
            return True
        let = model.let(x, None) if isinstance(x, m.Derived) and x.owner in model.module_lets else None
        if let is not None and _mentions(model, let.value, kinds):
            return True
    return False


def is_flat(model: m.Model, machine: m.Machine) -> bool:
    """Can `transitions` run a machine as it is? Not with states inside states, rounds, or a look at channels."""
    if any(s.children for s in machine.states) or triggers(machine, m.Eventless):
        return False
    read = [*(t.guard for t in machine.transitions if t.guard is not None), *(x.value for x in machine.lets)]
    return not any(needs_system(model, e) for e in read)
