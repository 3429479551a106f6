"""Functions about a system as a whole: the end of a round, recovery; for crashes see `crashes`."""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl import model as m
from fsmdsl.core.triggers import triggered_by
from fsmdsl.model.depth import LONGEST_ROUND
from fsmdsl.program.builder import Builder, function, numbers, rows
from fsmdsl.program.nodes import (
    FALSE,
    TRUE,
    ZERO,
    Function,
    Not,
    Var,
    all_of,
    any_of,
    call,
)
from fsmdsl.search.layout import WAIT, awaitable, kinds
from fsmdsl.search.lower.context import AT, Context, F, Fail, N, Scope, T
from fsmdsl.search.lower.fault_codes import IGNORED
from fsmdsl.search.lower.helpers import of_library
from fsmdsl.search.lower.machines.handlers import eventless
from fsmdsl.search.lower.symmetry.orders import (
    doubt,
    rivals,
)
from fsmdsl.search.lower.values import masks
from fsmdsl.search.lower.values.loops import each_of, stretches

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
            with b.if_(all_of([AT.equals(instance), any_of([T[N].equals(code) for code in codes])])):
                b.return_(TRUE)
    b.return_(FALSE)
    awaits = function("awaits", (*rows("t"), *numbers("at")), b.block, "Does an instance wait for an answer?")
    return [awaits, *of_library("answers.py", {"FIRST": first, "END": end})]


# Rounds --------------------------------------------------------------------------------------------------------------


def rounds(context: Context) -> list[Function]:
    """`settle`: what follows a step until nothing is left that needs no event."""
    b = Builder()
    machines = [x for x in kinds(context.universe) if triggered_by(x, m.Eventless)]
    functions: list[Function] = []
    for n, machine in enumerate(machines):
        functions.append(eventless(context, machine, f"without_event_{n}"))
        if context.reduction.of_machine(machine.qualified):
            functions.append(eventless(context, machine, f"would_{n}", trial=True))
            functions += rivals(context, machine, f"would_{n}")
    if machines:
        _until_quiet(context, machines, b)
    scope = Scope(context, b, T, None, None, Fail(lambda _: None))
    for machine in kinds(context.universe):
        if awaitable(machine):
            with each_of(context, machine, b), b.if_(Not(call("awaits", T, AT))):
                b.set(scope.at(context.column(machine.qualified, WAIT), AT), ZERO)
    return [*functions, function("settle", rows("t"), b.block, "The round, to its end.")]


def _until_quiet(context: Context, machines: Sequence[m.Machine], b: Builder) -> None:
    """Among the instances touched, the first in order that has one enabled follows one, and so on."""
    b.set(COUNT, ZERO)
    with b.while_(TRUE):
        b.set(QUIET, TRUE)
        for machine, span in stretches(context, machines):
            name = f"without_event_{machines.index(machine)}"
            if context.layout.mask_words == 1:
                for instance in span:
                    _unless_rivals(context, machine, instance, b)
                    _follow_one(context, machine, instance, name, b)
            else:
                with b.for_each(AT, span):
                    _unless_rivals(context, machine, AT, b)
                    _follow_one(context, machine, AT, name, b)
        with b.if_(QUIET):
            b.break_()
        with b.if_(any_of([call("returned", T, COUNT), COUNT >= LONGEST_ROUND])):
            b.return_(ZERO - F)
        b.update(COUNT, "+", 1)


def _unless_rivals(context: Context, machine: m.Machine, instance: Var | int, b: Builder) -> None:
    """A doubt where an instance is the first of a symmetric set of which several could go on."""
    for x in context.reduction.of_machine(machine.qualified):
        if isinstance(instance, Var) or instance == x.first:
            first = [instance.equals(x.first)] if isinstance(instance, Var) else []
            several = masks.several(context.layout, T, context.layout.touched, x)
            with b.if_(all_of([QUIET, *first, several, call(f"rivals_{x.first}", T)])):
                why = "which of them steps first without an event may make a difference"
                b.splice([doubt(context, T, [x.name], why)])


def _follow_one(context: Context, machine: m.Machine, instance: Var | int, name: str, b: Builder) -> None:
    """A touched instance follows a transition without event, if nobody has before it."""
    free = [Not(call("awaits", T, instance))] if awaitable(machine) else []
    touched = masks.test(context.layout, T, context.layout.touched, instance)
    with b.if_(all_of([QUIET, touched, *free])):
        b.set(F, call(name, T, instance))
        with b.if_(F > IGNORED):
            b.return_(F)
        b.set(QUIET, F.equals(IGNORED))


def returned(context: Context) -> Function:
    """`returned`: has the round been in this very world before? Keeps the world."""
    layout, b = context.layout, Builder()
    n, at = layout.history_size, layout.history
    b.do(call("pack", T, T, at + COUNT * n))
    if layout.waited is not None:
        for k in range(layout.mask_words):
            b.set(T[at + COUNT * n + (layout.words + k)], T[layout.waited + k])
    same = [T[at + K * n + i].equals(T[at + COUNT * n + i]) for i in range(n)]
    with b.count(K, COUNT), b.if_(all_of(same)):
        b.return_(TRUE)
    b.return_(FALSE)
    parameters = (*rows("t"), *numbers("count"))
    return function("returned", parameters, b.block, "Has the round been in this world before?")
