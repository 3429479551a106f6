"""What a crash does: the functions `crash`, of all instances, and `crash_alone`, of those in a mask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from fsmdsl import model as m
from fsmdsl.core.selection import Selection
from fsmdsl.core.triggers import CRASH, triggered_by
from fsmdsl.explore.liveness.plan import Crashes
from fsmdsl.explore.packed.layout import awaitable, kinds, struck_alone
from fsmdsl.explore.packed.lower.context import AT, STATE, Context, F, Fail, Scope, T
from fsmdsl.explore.packed.lower.machines.effects import perform
from fsmdsl.explore.packed.lower.machines.handlers import (
    Span,
    choose,
    machine_scope,
    mark_followed,
    read_state,
    stretches,
)
from fsmdsl.explore.packed.lower.symmetry.orders import apart_where_symmetric, in_doubt_of_fault, lost_apart
from fsmdsl.explore.packed.lower.values import masks
from fsmdsl.explore.packed.lower.values.expressions import in_leaves
from fsmdsl.explore.program.builder import Builder, function, numbers, rows
from fsmdsl.explore.program.nodes import ONE, ZERO, Function, Int, Var, call, number

CHOSEN = Var("chosen")


@dataclass(frozen=True, slots=True)
class _Crash:
    """A crash while its function is built."""

    context: Context
    machines: Sequence[m.Machine]
    """Whose instances it can strike."""
    struck: int | None
    """The mask of those whom it strikes; none: all."""
    builder: Builder = field(default_factory=Builder)

    @contextmanager
    def each(self, span: Span) -> Iterator[None]:
        """Those of a stretch whom it strikes."""
        b = self.builder
        with span.each(b, AT):
            if self.struck is None:
                yield
            else:
                with b.when(masks.test(self.context.layout, T, self.struck, AT)):
                    yield


def crashes(context: Context) -> list[Function]:
    """The functions that the environment needs, behind those that they call."""
    universe = context.universe
    made: list[_Crash] = []
    if universe.system.crashes:
        made.append(_Crash(context, kinds(universe), None))
    if universe.system.process_crashes:
        made.append(_Crash(context, struck_alone(universe), context.layout.struck))
    struck = [x for x in kinds(universe) if any(x in crash.machines for crash in made)]
    choices = [_choice(context, x) for x in struck if _concerned(context, x) and not _foreseen(x)]
    return [*choices, *(f for x in made for f in _functions(x))]


def _functions(crash: _Crash) -> list[Function]:
    """All choose, then what does not last is as in the beginning, then each takes its transition."""
    context, b, layout = crash.context, crash.builder, crash.context.layout
    name, doc = ("crash", "All at once.") if crash.struck is None else ("crash_alone", "Those in the mask, together.")
    if context.cuts:
        b.set(T[layout.cut], ZERO)
    if context.obligations:
        b.set(T[layout.mark], Int(sum(1 << n for n, o in enumerate(context.obligations) if isinstance(o, Crashes))))
    _choose(crash)
    _forget(crash)
    moving = [x for x in crash.machines if triggered_by(x, m.OnCrash)]
    with apart_where_symmetric(context, moving, b, f"{name}_effects", crash.struck) as functions:
        for machine, span in stretches(context, moving):
            with crash.each(span):
                _effects(context, machine, b)
    if crash.struck is None and layout.down is not None:
        b.set(T[layout.down], ONE)
    return [*functions, function(name, rows("t"), b.block, doc)]


# Which transition ----------------------------------------------------------------------------------------------------


def _choose(crash: _Crash) -> None:
    """Which transition each takes is known before any has been taken, and whether an instance is lost."""
    context, b = crash.context, crash.builder
    for machine, span in stretches(context, [x for x in crash.machines if _concerned(context, x)]):
        if not _foreseen(machine):
            with crash.each(span):
                b.set(F, call(_name(context, machine), T, AT))
                with b.when(F < 0):
                    in_doubt_of_fault(context, [machine], b, crash.struck)
                    b.leave(-F)
                b.set(T[context.layout.choice + AT], F)
        elif fragile := _lost(context, machine):
            with crash.each(span):
                state = machine_scope(context, machine, b).at(context.column(machine.qualified, ""), AT)
                with b.when(in_leaves(state, machine, fragile)):
                    lost_apart(context, machine, fragile, b, crash.struck)
                    b.leave(context.site(len(machine.leaves)) + state)


def _concerned(context: Context, machine: m.Machine) -> bool:
    """Can a crash move an instance, or lose it?"""
    return bool(triggered_by(machine, m.OnCrash) or _passing(context.selection(machine)))


def _name(context: Context, machine: m.Machine) -> str:
    return f"crash_choice_{kinds(context.universe).index(machine)}"


def _foreseen(machine: m.Machine) -> bool:
    """Does what an instance does in a crash depend on its own state alone?"""
    crashes = triggered_by(machine, m.OnCrash)
    leaves = [leaf for t in crashes for leaf in machine.leaves_of(t.source)]
    return all(t.guard is None for t in crashes) and len(set(leaves)) == len(leaves)


def _lost(context: Context, machine: m.Machine) -> list[str]:
    """The leaves that do not last and have no crash transition."""
    selection = context.selection(machine)
    return [s for s in _passing(selection) if not selection.levels(s, CRASH)]


def _passing(selection: Selection) -> list[str]:
    """The leaves that do not last through a crash."""
    endurance = selection.hierarchy.endurance
    return [s.name for s in selection.machine.leaves if endurance(s.name) in ("volatile", "transient")]


def _choice(context: Context, machine: m.Machine) -> Function:
    """The function that says which crash transition an instance takes: its index plus 1, or 0; a fault below 0."""
    b, selection = Builder(), context.selection(machine)
    passing = _passing(selection)
    scope = Scope(context, b, T, AT, machine, Fail(lambda code: b.leave(-number(context.code(code)))))
    read_state(scope, machine)
    for s in machine.leaves:
        levels, lasting = selection.levels(s.name, CRASH), s.name not in passing
        if not levels and lasting:
            continue
        with b.when(STATE.equals(machine.leaf_numbers[s.name])):
            choose(scope, levels, s.name, {}, lambda _, t, leaf: b.leave(t.index + 1))
            if not lasting:
                scope.fail()
    return function(_name(context, machine), (*rows("t"), *numbers("at")), b.block, f"{machine.name}: in a crash")


def _effects(context: Context, machine: m.Machine, b: Builder) -> None:
    """What an instance does in a crash: by its state, or by what it has chosen."""
    scope = machine_scope(context, machine, b)
    state = scope.at(context.column(machine.qualified, ""), AT)
    foreseen = _foreseen(machine)
    b.set(CHOSEN, state if foreseen else T[context.layout.choice + AT])
    for t in triggered_by(machine, m.OnCrash):
        own = in_leaves(CHOSEN, machine, machine.leaves_of(t.source))
        with b.when(own if foreseen else CHOSEN.equals(t.index + 1)):
            mark_followed(context, machine, t, b)
            perform(scope, t.effects)
            if t.target is not None:
                b.set(state, machine.leaf_numbers[machine.entered(t.target)])


# What does not last --------------------------------------------------------------------------------------------------


def _forget(crash: _Crash) -> None:
    """Pending actions are gone, and in a crash of everything messages; what is not durable is as it was in the
    beginning."""
    context, b, layout = crash.context, crash.builder, crash.context.layout
    if crash.struck is None:
        for n in range(layout.pending, layout.pending + layout.pending_places):
            b.set(T[n], ZERO)
        for box in layout.boxes:
            for n in range(box.length, box.first + box.channel.bound):
                b.set(T[n], ZERO)
    else:
        for code, p in enumerate(layout.awaited, 1):
            if context.universe.machines[p.instance] in crash.machines:
                with b.when(masks.test(layout, T, crash.struck, p.instance)):
                    b.do(call("unasked", T, code))
    first = layout.encode(context.universe.start)
    for machine in crash.machines:
        passing = [f.name for f in machine.fields if not f.durable]
        columns = [context.column(machine.qualified, name) for name in passing]
        for n in sorted(context.universe.instances_of(machine.qualified)):
            struck = None if crash.struck is None else masks.test(layout, T, crash.struck, n)
            with nullcontext() if struck is None else b.when(struck):
                if awaitable(machine):
                    b.set(T[context.column(machine.qualified, "wait") + n], ZERO)
                for column in columns:
                    b.set(T[column + n], first[column + n])
