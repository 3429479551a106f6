"""What a crash does: the function `crash`, of all instances, or of those in a mask."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core.triggers import triggered_by
from fsmdsl.program.builder import Builder, function, numbers, rows
from fsmdsl.program.nodes import ZERO, Function, Int, Var, call, number
from fsmdsl.runs.liveness.plan import Crashes
from fsmdsl.search.layout import WAIT, awaitable, kinds, struck
from fsmdsl.search.lower.context import AT, Context, F, Fail, Scope, T
from fsmdsl.search.lower.machines.handlers import machine_scope
from fsmdsl.search.lower.symmetry.orders import in_doubt_of_fault, lost_apart
from fsmdsl.search.lower.values import masks
from fsmdsl.search.lower.values.expressions import in_leaves, read_state
from fsmdsl.search.lower.values.loops import stretches

CHOSEN, ALL = Var("chosen"), Var("all")


def crashes(context: Context) -> list[Function]:
    """`crash`, behind the functions that it calls: all choose, then what does not last is as in the beginning, then
    each takes its transition."""
    universe, layout, b = context.universe, context.layout, Builder()
    if not universe.system.crashes and not universe.system.process_crashes:
        return []
    machines = struck(universe)
    if context.cuts:
        b.set(T[layout.cut], ZERO)
    if context.obligations:
        b.set(T[layout.mark], Int(sum(1 << n for n, o in enumerate(context.obligations) if isinstance(o, Crashes))))
    with b.if_(ALL):
        for k in range(layout.mask_words):
            b.set(T[layout.struck + k], -1)
    functions = [_choice(context, x) for x in machines if not _Choice(context, x).is_foreseen]
    for x in context.procedure("crash").body:
        functions += _write(context, x, machines, b)
    signature = (*rows("t"), *numbers(ALL.name))
    return [*functions, function("crash", signature, b.block, "All at once, or those in the mask, together.")]


def _write(context: Context, x: s.Statement, machines: Sequence[m.Machine], b: Builder) -> list[Function]:
    """A statement of `crash`, for all or those in the mask; and the functions that it needs."""
    match x:
        case s.Each(body=(s.CallOn("choose crash"),)):
            _choose(context, machines, b)
        case s.Each(body=(s.Forget(), s.Mark("waited"))):
            _forget_answers(context, machines, b)
        case s.DropAll():
            with b.if_(ALL):
                for box in context.layout.boxes:
                    for n in range(box.length, box.length + box.places):
                        b.set(T[n], ZERO)
        case s.Each(body=(s.CallOn("forget"),)):
            for machine in machines:
                body = context.procedure("forget", machine.qualified).body
                _reset(context, machine, [x.name for x in body if isinstance(x, s.Write)], b)
        case s.Each(body=(s.CallOn("follow crash"),)):
            return _follow(context, [k for k in machines if triggered_by(k, m.OnCrash)], b)
        case s.SetDown() if context.layout.down is not None:
            b.set(T[context.layout.down], ALL)
        case s.SetDown() | s.Note() | s.Each(over=s.Flagged("busy")):
            pass  # who is busy is forgotten with the step
        case _:
            raise TypeError(f"{type(x).__name__} is no part of a crash")
    return []


def _if_struck(context: Context, b: Builder, instance: Var | int) -> AbstractContextManager[object]:
    """What is written inside happens where it strikes an instance: all of them, where none crash alone."""
    if not context.universe.system.process_crashes:
        return nullcontext()
    return b.if_(masks.test(context.layout, T, context.layout.struck, instance))


# Which transition ----------------------------------------------------------------------------------------------------


def _choose(context: Context, machines: Sequence[m.Machine], b: Builder) -> None:
    """Which transition each takes is known before any has been taken, and whether an instance is lost."""
    choices = {x.qualified: _Choice(context, x) for x in machines}
    for machine, span in stretches(context, [x for x in machines if choices[x.qualified].matters]):
        choice = choices[machine.qualified]
        if not choice.is_foreseen:
            with b.for_each(AT, span), _if_struck(context, b, AT):
                b.set(F, call(_name(context, machine), T, AT))
                with b.if_(F < 0):
                    in_doubt_of_fault(context, [machine], b)
                    b.return_(-F)
                b.set(T[context.layout.choice + AT], F)
        elif choice.lost:
            with b.for_each(AT, span), _if_struck(context, b, AT):
                state = machine_scope(context, machine, b).at(context.column(machine.qualified, ""), AT)
                with b.if_(in_leaves(state, machine, choice.lost)):
                    lost_apart(context, machine, choice.lost, b)
                    b.return_(context.site(len(machine.leaves)) + state)


class _Choice:
    """What an instance of a machine chooses in a crash."""

    def __init__(self, context: Context, machine: m.Machine) -> None:
        self.body = context.procedure("choose crash", machine.qualified).body
        self.leaves: dict[int, frozenset[str]] = {}
        """Of each transition that is chosen by the state alone."""
        passing: list[str] = []
        self.is_foreseen = True
        """Does the choice depend on the instance's own state alone?"""
        for x in self.body:
            match x:
                case s.If(s.InState(leaves=leaves), (s.Choose(transition=int() as t), s.Return())):
                    # Exit hooks divide the leaves of a composite: each part has a test of its own.
                    self.leaves[t] = self.leaves.get(t, frozenset()) | leaves
                case s.Require(fault=s.Fault(cause=s.Lost(state=state))):
                    passing.append(state)
                case s.Choose():
                    pass
                case _:
                    self.is_foreseen = False
        self.matters = len(self.body) > 1
        """Can a crash move an instance, or lose it?"""
        self.lost = [x for x in passing if not any(x in leaves for leaves in self.leaves.values())]
        """The leaves that do not last, and have no crash transition."""


def _name(context: Context, machine: m.Machine) -> str:
    return f"crash_choice_{kinds(context.universe).index(machine)}"


def _choice(context: Context, machine: m.Machine) -> Function:
    """The function that says which crash transition an instance takes: its index plus 1, or 0; a fault below 0."""
    b = Builder()
    scope = Scope(context, b, T, AT, machine, Fail(lambda code: b.return_(-number(context.code(code)))))
    read_state(scope)
    scope.execute(_Choice(context, machine).body)
    return function(_name(context, machine), (*rows("t"), *numbers("at")), b.block, f"{machine.name}: in a crash")


def _follow(context: Context, moving: Sequence[m.Machine], b: Builder) -> list[Function]:
    """Each takes its crash transition, in a function that says whether one has failed."""
    if not moving:
        return []
    b.set(F, call("crash_transitions", T))
    with b.if_(F.differs(0)):
        in_doubt_of_fault(context, moving, b)
        b.return_(F)
    inner = Builder()
    for machine, span in stretches(context, moving):
        with inner.for_each(AT, span), _if_struck(context, inner, AT):
            scope, choice = machine_scope(context, machine, inner), _Choice(context, machine)
            state = scope.at(context.column(machine.qualified, ""), AT)
            inner.set(CHOSEN, state if choice.is_foreseen else T[context.layout.choice + AT])
            scope.choice = CHOSEN, choice.leaves if choice.is_foreseen else None
            scope.execute(context.procedure("follow crash", machine.qualified).body)
    return [function("crash_transitions", rows("t"), inner.block, "Each takes its crash transition.")]


# What does not last --------------------------------------------------------------------------------------------------


def _forget_answers(context: Context, machines: Sequence[m.Machine], b: Builder) -> None:
    """Pending actions are gone, and the instances that it strikes have followed nothing in this round."""
    layout = context.layout
    if layout.awaited:
        with b.if_(ALL):
            for n in range(layout.pending, layout.pending + layout.pending_places):
                b.set(T[n], ZERO)
        with b.else_():
            for code, p in enumerate(layout.awaited, 1):
                with b.if_(masks.test(layout, T, layout.struck, p.instance)):
                    b.do(call("unasked", T, code))
    if layout.waited is not None and context.cuts:  # in the middle of a round
        for k in range(layout.mask_words):
            b.update(T[layout.waited + k], "&", ~T[layout.struck + k])
    for machine in (k for k in machines if awaitable(k)):
        _reset(context, machine, [WAIT], b)


def _reset(context: Context, machine: m.Machine, names: Sequence[str], b: Builder) -> None:
    """What instances have is as it was in the beginning."""
    first = context.layout.encode(context.universe.start)
    for n in sorted(context.universe.instances_of(machine.qualified)) if names else ():
        with _if_struck(context, b, n):
            for place in (context.column(machine.qualified, name) + n for name in names):
                b.set(T[place], first[place])
