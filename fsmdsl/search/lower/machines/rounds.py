"""The end of a round, and answers that are awaited."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.dataclasses import replace
from fsmdsl.model.depth import LONGEST_ROUND
from fsmdsl.program.builder import Builder, function, numbers, rows
from fsmdsl.program.nodes import FALSE, TRUE, ZERO, Function, Int, Var, all_of, any_of, call
from fsmdsl.search.layout import awaitable, kinds
from fsmdsl.search.lower.context import AT, Context, F, Fail, N, Scope, T
from fsmdsl.search.lower.fault_codes import IGNORED
from fsmdsl.search.lower.helpers import of_library
from fsmdsl.search.lower.machines.handlers import eventless
from fsmdsl.search.lower.symmetry.orders import doubt, rivals
from fsmdsl.search.lower.values import masks
from fsmdsl.search.lower.values.loops import each_of, stretches

COUNT, K, LEFT = (Var(name) for name in ("count", "k", "left"))

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
    b, functions = Builder(), list[Function]()
    for n, machine in enumerate(kinds(context.universe)):
        if machine.has_rounds:
            functions.append(eventless(context, machine, f"without_event_{n}"))
            if context.reduction.of_machine(machine.qualified):
                functions.append(eventless(context, machine, f"would_{n}", trial=True))
                functions += rivals(context, machine, f"would_{n}")
    if context.rounds:
        b.set(COUNT, ZERO)
    scope = Scope(context, b, T, None, None, Fail(lambda _: None))
    scope.execute(context.procedure("round").body)
    return [*functions, function("settle", rows("t"), b.block, "The round, to its end.")]


def repeat(scope: Scope, x: s.Repeat) -> None:
    """The turns of a round. Behind each it is asked whether the round has been in this world before; see `Progress`."""
    b, before = scope.builder, scope.leave
    with b.while_(TRUE):
        scope.leave = b.break_
        scope.execute(x.body)
        with b.if_(any_of([call("returned", T, COUNT), COUNT >= LONGEST_ROUND])):
            b.return_(ZERO - F)
        b.update(COUNT, "+", 1)
    scope.leave = before


def each_flagged(scope: Scope, x: s.Each, flag: s.FlagName) -> None:
    """A loop over the instances that are marked. It may be left, so that it stands in a loop of one turn."""
    context, b = scope.context, scope.builder
    if flag == "waited":
        # What others have waited for is forgotten with the step.
        for machine in (k for k in kinds(context.universe) if awaitable(k)):
            with each_of(context, machine, b):
                _turn(scope, x, machine, AT)
        return
    with b.while_(TRUE):
        for machine, span in stretches(context, [k for k in kinds(context.universe) if k.has_rounds]):
            if context.layout.mask_words == 1:
                for instance in span:
                    _unless_rivals(context, machine, Int(instance), b)
                    with b.if_(masks.test(context.layout, T, context.layout.touched, instance)):
                        _turn(scope, x, machine, Int(instance))
                continue
            b.set(LEFT, FALSE)
            with b.for_each(AT, span):
                _unless_rivals(context, machine, AT, b)
                with b.if_(masks.test(context.layout, T, context.layout.touched, AT)):
                    _turn(scope, x, machine, AT)
            with b.if_(LEFT):
                b.break_()
        b.break_()


def _turn(scope: Scope, x: s.Each, machine: m.Machine, instance: Var | Int) -> None:
    b = scope.builder

    def leave() -> None:
        if isinstance(instance, Var):
            b.set(LEFT, TRUE)
        b.break_()

    inside = replace(scope, instance=instance, machine=machine, leave=leave)
    inside.variables[x.variable.name] = instance
    inside.execute(x.body)


def follow_one(scope: Scope, into: s.Variable) -> None:
    """An instance follows a transition without event, if one is enabled."""
    b, (instance, machine) = scope.builder, scope.own
    b.set(F, call(f"without_event_{kinds(scope.context.universe).index(machine)}", T, instance))
    with b.if_(F > IGNORED):
        b.return_(F)
    followed = scope.variables[into.name]
    assert isinstance(followed, Var)
    b.set(followed, F.differs(IGNORED))


def _unless_rivals(context: Context, machine: m.Machine, instance: Var | Int, b: Builder) -> None:
    """A doubt where an instance is the first of a symmetric set of which several could go on."""
    for x in context.reduction.of_machine(machine.qualified):
        if isinstance(instance, Var) or instance == Int(x.first):
            first = [instance.equals(x.first)] if isinstance(instance, Var) else []
            several = masks.several(context.layout, T, context.layout.touched, x)
            with b.if_(all_of([*first, several, call(f"rivals_{x.first}", T)])):
                why = "which member steps first without an event may make a difference"
                b.splice([doubt(context, T, [x.name], why)])


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
