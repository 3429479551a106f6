"""Functions about a system as a whole: the end of a round, a crash, recovery."""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl import model as m
from fsmdsl.core.selection import Selection
from fsmdsl.core.triggers import CRASH, triggered_by
from fsmdsl.explore.packed.layout import awaitable, kinds
from fsmdsl.explore.packed.lower import masks
from fsmdsl.explore.packed.lower.context import AT, STATE, Context, F, N, Scope, T
from fsmdsl.explore.packed.lower.effects import perform
from fsmdsl.explore.packed.lower.expressions import is_one_of
from fsmdsl.explore.packed.lower.handlers import choose, eventless, machine_scope, mark_followed, read_state, stretches
from fsmdsl.explore.packed.lower.handlers import numbers as instances
from fsmdsl.explore.packed.lower.helpers import of_library
from fsmdsl.explore.packed.lower.orders import (
    apart_where_symmetric,
    doubt,
    in_doubt_of_fault,
    lost_apart,
    rivals,
)
from fsmdsl.explore.packed.lower.sites import IGNORED
from fsmdsl.explore.program.builder import Builder, function, numbers, rows
from fsmdsl.explore.program.nodes import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Function,
    Not,
    Var,
    all_of,
    any_of,
    call,
    number,
)
from fsmdsl.step.cascade import LONGEST_ROUND

CHOSEN, COUNT, K, QUIET = (Var(name) for name in ("chosen", "count", "k", "quiet"))

# Answers awaited -----------------------------------------------------------------------------------------------------


def answers(context: Context) -> list[Function]:
    """`awaits`, `expect`, `answered`: actions that are pending."""
    layout, b = context.layout, Builder()
    if not layout.awaited:
        return []
    first, end = layout.pending, layout.pending + layout.pending_places
    with b.count(N, end, first):
        for instance in dict.fromkeys(p.instance for p in layout.awaited):
            codes = [n + 1 for n, p in enumerate(layout.awaited) if p.instance == instance]
            with b.when(all_of([AT.equals(instance), any_of([T[N].equals(code) for code in codes])])):
                b.leave(TRUE)
    b.leave(FALSE)
    awaits = function("awaits", (*rows("t"), *numbers("at")), b.block, "Does an instance wait for an answer?")
    return [awaits, *of_library("library_answers.py", {"FIRST": first, "END": end})]


# Rounds --------------------------------------------------------------------------------------------------------------


def rounds(context: Context) -> list[Function]:
    """`settle`: what follows a step until nothing is left that needs no event."""
    b = Builder()
    machines = [x for x in kinds(context.universe) if triggered_by(x, m.Eventless)]
    functions: list[Function] = []
    for n, machine in enumerate(machines):
        functions.append(eventless(context, machine, f"without_event_{n}"))
        if context.reduction.of_machine(machine.qualified):
            functions.append(eventless(context, machine, f"would_{n}", only_asked=True))
            functions += rivals(context, machine, f"would_{n}")
    if machines:
        _until_quiet(context, machines, b)
    scope = Scope(context, b, T, None, None, lambda _, __=None: None)
    for machine in kinds(context.universe):
        if awaitable(machine):
            with instances(context, machine).each(b, AT), b.when(Not(call("awaits", T, AT))):
                b.set(scope.at(context.column(machine.qualified, "wait"), AT), ZERO)
    return [*functions, function("settle", rows("t"), b.block, "The round, to its end.")]


def _until_quiet(context: Context, machines: Sequence[m.Machine], b: Builder) -> None:
    """Among the instances touched, the first in order that has one enabled follows one, and so on."""
    b.set(COUNT, ZERO)
    with b.repeat(TRUE):
        b.set(QUIET, TRUE)
        for machine, span in stretches(context, machines):
            name = f"without_event_{machines.index(machine)}"
            if context.layout.mask_words == 1:
                for instance in span.values:
                    _unless_rivals(context, machine, instance, b)
                    _follow_one(context, machine, instance, name, b)
            else:
                with span.each(b, AT):
                    _unless_rivals(context, machine, AT, b)
                    _follow_one(context, machine, AT, name, b)
        with b.when(QUIET):
            b.stop()
        with b.when(any_of([call("returned", T, COUNT), COUNT >= LONGEST_ROUND])):
            b.leave(context.sites.one())
        b.update(COUNT, "+", 1)


def _unless_rivals(context: Context, machine: m.Machine, instance: Var | int, b: Builder) -> None:
    """A doubt where an instance is the first of a symmetric set of which several could go on."""
    for x in context.reduction.of_machine(machine.qualified):
        if isinstance(instance, Var) or instance == x.first:
            first = [instance.equals(x.first)] if isinstance(instance, Var) else []
            several = masks.several(context.layout, T, context.layout.touched, x)
            with b.when(all_of([QUIET, *first, several, call(f"rivals_{x.first}", T)])):
                why = "which of them steps first without an event may make a difference"
                b.put([doubt(context, T, [x.name], why)])


def _follow_one(context: Context, machine: m.Machine, instance: Var | int, name: str, b: Builder) -> None:
    """A touched instance follows a transition without event, if nobody has before it."""
    free = [Not(call("awaits", T, instance))] if awaitable(machine) else []
    touched = masks.test(context.layout, T, context.layout.touched, instance)
    with b.when(all_of([QUIET, touched, *free])):
        b.set(F, call(name, T, instance))
        with b.when(F > IGNORED):
            b.leave(F)
        b.set(QUIET, F.equals(IGNORED))


def returned(context: Context) -> Function:
    """`returned`: has the round been in this very world before? Keeps the world."""
    layout, b = context.layout, Builder()
    n, at = layout.kept, layout.history
    b.do(call("pack", T, T, at + COUNT * n))
    if layout.waited is not None:
        for k in range(layout.mask_words):
            b.set(T[at + COUNT * n + (layout.words + k)], T[layout.waited + k])
    same = [T[at + K * n + i].equals(T[at + COUNT * n + i]) for i in range(n)]
    with b.count(K, COUNT), b.when(all_of(same)):
        b.leave(TRUE)
    b.leave(FALSE)
    parameters = (*rows("t"), *numbers("count"))
    return function("returned", parameters, b.block, "Has the round been in this world before?")


# Crashes -------------------------------------------------------------------------------------------------------------


def crash(context: Context) -> list[Function]:
    """`crash`: all choose, then what does not last is as in the beginning, then each takes its transition."""
    layout, b = context.layout, Builder()
    if context.cuts:
        b.set(T[layout.cut], ZERO)
    if context.obligations:
        b.set(T[layout.mark], ZERO)
    functions = _crash_choices(context, b)
    _forget(context, b)
    moving = [x for x in kinds(context.universe) if triggered_by(x, m.OnCrash)]
    with apart_where_symmetric(context, moving, b) as functions_of_effects:
        for machine, span in stretches(context, moving):
            with span.each(b, AT):
                _crash_effects(context, machine, b)
    if layout.down is not None:
        b.set(T[layout.down], ONE)
    return [*functions, *functions_of_effects, function("crash", rows("t"), b.block, "All at once.")]


def _crash_choices(context: Context, b: Builder) -> list[Function]:
    """Which transition each takes is known before any has been taken, and whether an instance is lost. Returns the
    functions that say so."""
    concerned = [x for x in kinds(context.universe) if triggered_by(x, m.OnCrash) or _passing(context.selection(x))]
    chosen = {n: x for n, x in enumerate(concerned) if not _foreseen(x)}
    functions = [_crash_choice(context, x, f"crash_choice_{n}") for n, x in chosen.items()]
    for machine, span in stretches(context, concerned):
        if not _foreseen(machine):
            with span.each(b, AT):
                b.set(F, call(f"crash_choice_{concerned.index(machine)}", T, AT))
                with b.when(F < 0):
                    in_doubt_of_fault(context, [machine], b)
                    b.leave(-F)
                b.set(T[context.layout.choice + AT], F)
        elif fragile := _lost(context, machine):
            with span.each(b, AT):
                state = machine_scope(context, machine, b).at(context.column(machine.qualified, ""), AT)
                with b.when(is_one_of(state, fragile, len(machine.leaves))):
                    lost_apart(context, machine, fragile, b)
                    b.leave(context.sites.several(len(machine.leaves)) + state)
    return functions


def _foreseen(machine: m.Machine) -> bool:
    """Does what an instance does in a crash depend on its own state alone?"""
    crashes = triggered_by(machine, m.OnCrash)
    leaves = [leaf for t in crashes for leaf in machine.leaves_of(t.source)]
    return all(t.guard is None for t in crashes) and len(set(leaves)) == len(leaves)


def _lost(context: Context, machine: m.Machine) -> list[int]:
    """The leaves that do not last and have no crash transition."""
    selection = context.selection(machine)
    return [machine.leaf_numbers[s] for s in _passing(selection) if not selection.levels(s, CRASH)]


def _passing(selection: Selection) -> list[str]:
    """The leaves that do not last through a crash."""
    endurance = selection.hierarchy.endurance
    return [s.name for s in selection.machine.leaves if endurance(s.name) in ("volatile", "transient")]


def _crash_choice(context: Context, machine: m.Machine, name: str) -> Function:
    """The function that says which crash transition an instance takes: its index plus 1, or 0; a fault below 0."""
    b, selection = Builder(), context.selection(machine)
    passing = _passing(selection)
    scope = Scope(context, b, T, AT, machine, lambda _, code=None: b.leave(-number(context.code(code))))
    read_state(scope, machine)
    for s in machine.leaves:
        levels, lasting = selection.levels(s.name, CRASH), s.name not in passing
        if not levels and lasting:
            continue
        with b.when(STATE.equals(machine.leaf_numbers[s.name])):
            choose(scope, levels, s.name, {}, lambda _, t, leaf: b.leave(t.index + 1))
            if not lasting:
                scope.fail("lost")
    return function(name, (*rows("t"), *numbers("at")), b.block, f"{machine.name}: in a crash")


def _crash_effects(context: Context, machine: m.Machine, b: Builder) -> None:
    """What an instance does in a crash: by its state, or by what it has chosen."""
    scope = machine_scope(context, machine, b)
    state = scope.at(context.column(machine.qualified, ""), AT)
    foreseen = _foreseen(machine)
    b.set(CHOSEN, state if foreseen else T[context.layout.choice + AT])
    for t in triggered_by(machine, m.OnCrash):
        leaves = [machine.leaf_numbers[s] for s in machine.leaves_of(t.source)]
        with b.when(is_one_of(CHOSEN, leaves, len(machine.leaves)) if foreseen else CHOSEN.equals(t.index + 1)):
            mark_followed(context, machine, t, b)
            perform(scope, t.effects)
            if t.target is not None:
                b.set(state, machine.leaf_numbers[machine.entered(t.target)])


def _forget(context: Context, b: Builder) -> None:
    """Pending actions and messages are gone; what is not durable is as it was in the beginning."""
    universe, layout = context.universe, context.layout
    first = layout.encode(universe.start)
    for n in range(layout.pending, layout.pending + layout.pending_places):
        b.set(T[n], ZERO)
    for box in layout.boxes:
        for n in range(box.length, box.first + box.channel.bound):
            b.set(T[n], ZERO)
    for machine in kinds(universe):
        of = sorted(universe.instances_of(machine.qualified))
        if awaitable(machine):
            column = context.column(machine.qualified, "wait")
            for n in of:
                b.set(T[column + n], ZERO)
        for f in machine.fields:
            if not f.durable:
                column = context.column(machine.qualified, f.name)
                for n in of:
                    b.set(T[column + n], first[column + n])


def recovery(context: Context) -> Function:
    """`recover`: the system's block, as one step."""
    b = Builder()
    scope = Scope(context, b, T, None, None, lambda _, code=None: b.leave(context.code(code)))
    assert context.layout.down is not None
    b.set(T[context.layout.down], ZERO)
    perform(scope, context.universe.system.recover or ())
    return function("recover", rows("t"), b.block, "What comes first after a crash.")
