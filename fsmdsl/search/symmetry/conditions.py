"""What a system must not say about the members of a symmetric set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.model.walk import computed_by, effects, effects_of, expressions, offered, recovery, required
from fsmdsl.runs.liveness.formula import atoms
from fsmdsl.runs.liveness.plan import Atom, Crashes, Delivery, FairnessConstraint, MessageWaits, Obligation, Plan
from fsmdsl.search.symmetry.sets import SymmetricSet, mentions, symmetric_sets, unordered
from fsmdsl.step.data import Value
from fsmdsl.step.describe import words
from fsmdsl.step.universe import Universe
from fsmdsl.step.values import renamed


def objection(universe: Universe, x: SymmetricSet, plan: Plan | None) -> str | None:
    """Why the members of a set cannot be exchanged for one another, as far as the text says. `plan`: what temporal
    properties ask, if they are to be decided."""
    tests = (_compared, _chosen_by_name, _mapped, _recorded, _beginning, _crashing, _choosing)
    objections = (why for test in tests for why in test(universe, x))
    return next(chain(objections, _runs(universe, x, plan)), None)


def _compared(universe: Universe, x: SymmetricSet) -> Iterator[str]:
    del x
    for p in universe.system.properties:
        if isinstance(p.formula, m.Recovers):
            yield f"`{p.name}` is about recovery"
    if universe.system.refines is not None:
        yield f"each member is compared with `{universe.system.refines.path}`"


def _runs(universe: Universe, x: SymmetricSet, plan: Plan | None) -> Iterator[str]:
    """What is asked of states and steps for the sake of a property must be the same for exchanged worlds. Then a run
    is as good as any in which members are exchanged at every step."""
    if plan is None:
        return
    for q in (q for q in plan.questions if q.unchecked is None):
        promised = (o for n, o in enumerate(plan.obligations) if (q.weak | q.strong) >> n & 1)
        if any(_of_one(universe, x, o) for o in promised):
            yield f"`{q.property.name}` assumes fairness of each member"
        formulas = [f for c in q.claims for f in (c.formula, *(p.formula for p in c.premises))]
        if any(_follows(x, plan.atoms[n]) for f in formulas for n in atoms(f)):
            yield f"`{q.property.name}` follows the members one by one through a run"


def _of_one(universe: Universe, x: SymmetricSet, o: FairnessConstraint) -> bool:
    """Does fairness promise something of one of them or another?"""
    match o:
        case Obligation(instance, arguments=arguments):
            return instance in x.numbers or any(_moves(x, p.type, value) for p, value in arguments)
        case Delivery(queue, message) | MessageWaits(queue, message):
            _, receiver, sender = universe.queues[queue]
            event = universe.machines[receiver].event_named[message.event]
            contents = zip(event.parameters, message.arguments, strict=True)
            moved = any(_moves(x, p.type, value) for p, value in contents)
            return moved or receiver in x.numbers or sender in x.numbers
        case Crashes():
            return False
        case _:
            assert_never(o)


def _follows(x: SymmetricSet, atom: Atom) -> bool:
    """Is a condition about one of them or another, and not about all?"""
    types = {e.name: e.type for e in expressions(atom.expr) if isinstance(e, m.Local)}
    return any(name in types and _moves(x, types[name], value) for name, value in atom.bound)


def _moves(x: SymmetricSet, t: m.Type, value: Value) -> bool:
    """Is a value another where members of a set are exchanged?"""
    return any(renamed(t, value, exchanged(a, a + 1)) != value for a in x.numbers[:-1])


# Named by itself -----------------------------------------------------------------------------------------------------


def _chosen_by_name(universe: Universe, x: SymmetricSet) -> Iterator[str]:
    system = universe.system
    lets = (let.value for let in system.lets)
    for e in chain(offered(system), recovery(system), lets, required(system)):
        for inner in expressions(e):
            if isinstance(inner, m.InstanceRef) and inner.name == x.name:
                yield f"`{words(inner)}` is referred to individually ({inner.span})"
            match inner:
                case m.Apply(function="item", arguments=(m.Instances(name=name), _)) if name == x.name:
                    yield f"`{words(inner)}` chooses a member by its number ({inner.span})"


def _kinds(universe: Universe) -> list[m.Machine]:
    return list({x.qualified: x for x in universe.machines}.values())


def _recorded(universe: Universe, x: SymmetricSet) -> Iterator[str]:
    """A set of records that refer to them relates them in a way that no order of theirs follows from."""
    system = universe.system
    computed = chain(*map(computed_by, _kinds(universe)), offered(system), recovery(system), required(system))
    lets = (
        let.value for let in chain(system.lets, *(by_name.values() for by_name in universe.model.module_lets.values()))
    )
    for machine in _kinds(universe):
        places = [(f.name, f.type, f.span) for f in machine.fields]
        places += [(p.name, p.type, p.span) for p in machine.params]
        places += [(p.name, p.type, p.span) for event in machine.events for p in event.parameters]
        for name, t, span in places:
            if unordered(t, x.machine):
                yield f"`{name}` holds sets of records that refer to the members ({span})"
    for e in (inner for whole in chain(computed, lets) for inner in expressions(whole)):
        if unordered(e.type, x.machine):
            yield f"`{words(e)}` is a set of records that refer to the members ({e.span})"


def _mapped(universe: Universe, x: SymmetricSet) -> Iterator[str]:
    """What stands in a map for a member would be about two of them."""
    others = [y.machine for y in symmetric_sets(universe)]
    for machine in universe.model.machines.values():
        carried = ((f"{e.name}({p.name})", p.type) for e in machine.events for p in e.parameters)
        for name, t in chain(((f.name, f.type) for f in machine.fields), carried):
            if isinstance(t, m.MapType) and mentions(t.key, x.machine) and any(mentions(t.of, y) for y in others):
                yield f"`{name}` of {machine.name} maps the members to members of a symmetric set"


# The beginning -------------------------------------------------------------------------------------------------------


def _beginning(universe: Universe, x: SymmetricSet) -> Iterator[str]:
    """Does exchanging two neighbours change the first world or a parameter? All other exchanges come of these."""
    for a in x.numbers[:-1]:
        yield from _differences(universe, a, a + 1)


def _differences(universe: Universe, a: int, b: int) -> Iterator[str]:
    to = exchanged(a, b)
    for n, machine in enumerate(universe.machines):
        here, there = _values(universe, n), _values(universe, to(n))
        begins = universe.system.instances[n].begins_with_any
        fields = {f.name: f.type for f in machine.fields if not begins(f)}
        types = {**fields, **{p.name: p.type for p in machine.params}}
        for name, t in types.items():
            if renamed(t, here[name], to) != there[name]:
                names = universe.name(a), universe.name(b)
                if n in (a, b):
                    yield f"{names[0]} and {names[1]} begin with different `{name}`"
                else:
                    yield f"`{name}` of {universe.name(n)} tells {names[0]} from {names[1]} in the beginning"


def _values(universe: Universe, n: int) -> Mapping[str, Value]:
    fields = zip(universe.machines[n].fields, universe.start.fields[n], strict=True)
    return {**{f.name: value for f, value in fields}, **universe.params[n]}


def exchanged(a: int, b: int) -> Callable[[int], int]:
    """The numbers of instances where two have changed theirs."""
    return lambda n: b if n == a else a if n == b else n


# Order ---------------------------------------------------------------------------------------------------------------


def _crashing(universe: Universe, x: SymmetricSet) -> Iterator[str]:
    machine = universe.machines[x.first]
    for t in machine.transitions:
        if isinstance(t.trigger, m.OnCrash):
            for e in (e for effect in effects(t.effects) for e in m.operands(effect)):
                if _looks_at_others(universe, x.machine, e):
                    yield f"in a crash, `{words(e)}` may read what another member has just changed ({e.span})"


def _looks_at_others(universe: Universe, machine: str, e: m.Expr) -> bool:
    for inner in expressions(e):
        match inner:
            case m.Read(target=target) | m.Derived(target=target) | m.InState(target=target) | m.StateOf(target=target):
                if target is not None and not isinstance(target, m.Self) and mentions(target.type, machine):
                    return True
            case _:
                pass
        if isinstance(inner, m.Derived) and _looks_at_others(universe, machine, universe.let(inner).value):
            return True
    return False


def _choosing(universe: Universe, x: SymmetricSet) -> Iterator[str]:
    """Loops over subsets visit them in the order of their elements."""
    for effect in chain(effects(universe.system.recover or ()), *map(effects_of, universe.machines)):
        match effect:
            case m.ForEach(over=m.Apply(function="subsets") as over) if mentions(_within(over.type), x.machine):
                yield f"a loop visits subsets of them one after the other ({effect.span})"
            case _:
                pass


def _within(t: m.Type) -> m.Type:
    return t.of if isinstance(t, m.SetType | m.ListType) else t
