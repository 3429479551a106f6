"""What can come next: the function `expand`, which takes every step from a row `s` and hands on what comes of it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from fsmdsl import model as m
from fsmdsl.core.triggers import triggered_by
from fsmdsl.program.builder import function, rows, words
from fsmdsl.program.builder import numbers as parameters
from fsmdsl.program.nodes import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Choice,
    Expr,
    Function,
    Not,
    Var,
    all_of,
    any_of,
    call,
)
from fsmdsl.search.layout import awaitable, kinds
from fsmdsl.search.lower import tally
from fsmdsl.search.lower.context import AT, STATE, Context, F, N, S, T
from fsmdsl.search.lower.environment.events import Environment
from fsmdsl.search.lower.environment.refusals import Refusals
from fsmdsl.search.lower.environment.steps import CUT, PHASE, WRITES, Steps
from fsmdsl.search.lower.machines.channels import transmissions
from fsmdsl.search.lower.machines.handlers import stretches, timer
from fsmdsl.search.lower.questions import Condition, ask
from fsmdsl.search.lower.values.expressions import in_leaves

K, CODE, FIRST, STILL, AGAIN, CRASHED, CUTTING = map(
    Var, ("k", "code", "first", "still", "again", "crashed", "cutting")
)


class Offers:
    """Builds `expand`."""

    def __init__(self, context: Context, leads_on: int, beyond: int, change: int) -> None:
        self.context, self.leads_on, self.beyond, self.change = context, leads_on, beyond, change
        self.steps = Steps(context, leads_on)
        self.builder, self.scope = self.steps.builder, self.steps.scope
        self.timers: list[Function] = []
        self.refusals = Refusals(context, leads_on)
        self.environment = Environment(self.steps, self.refusals)

    def functions(self) -> list[Function]:
        """The function, behind those that it needs."""
        b, layout = self.builder, self.context.layout
        counting = tally.inhabit(self.context, T[self.change])
        if counting:
            b.do(call("inhabit", S, T))
        within = self._bounded()
        b.do(call("copy", S, T))
        self._still()
        if layout.down is not None:
            with b.if_(S[layout.down]):
                self._down()
                b.return_(N)
        self._in_order()
        b.return_(N)
        signature = (*rows("s", "t"), *words("out"), *parameters("n", "cap"))
        expand = function("expand", signature, b.block, "Every step from `s`, in order.")
        return [*counting, *within, *self.timers, *self.environment.functions, *self.refusals.functions, expand]

    def _bounded(self) -> list[Function]:
        """Beyond the bounds of the system, no step is taken. That is counted, and is no end: as if one had led on."""
        b, bound = self.builder, self.context.universe.system.bound
        if bound is None:
            return []
        with b.if_(Not(call("within_0", S))):
            b.update(T[self.beyond], "+", T[self.change])
            b.set(T[self.leads_on], ONE)
            b.return_(N)
        return ask(self.context, [Condition(bound)], "within")

    # Their order

    def _in_order(self) -> None:
        """All steps; then crashes, as the environment says one after the other, those of some instances last. Crashes
        between the writes of steps take all steps once more."""
        crashes = [c for c in self.context.universe.system.crashes if c.kind != "during recovery"]
        cuts = sum(c.kind == "between writes" for c in crashes)
        b = self.builder
        with b.capture() as alone:
            self.environment.crashes()
        several = len(crashes) - cuts > 1
        if several:
            b.set(CRASHED, FALSE)
        if cuts:
            b.set(CUTTING, FALSE)
        phase = 0
        with b.count(PHASE, cuts + 1) if cuts else nullcontext():
            before = [c for n, c in enumerate(crashes) if any(x.kind == "between writes" for x in crashes[n:])]
            for c in before:
                phase += c.kind == "between writes"
                with b.if_(PHASE.equals(phase + (c.kind == "anywhere"))):
                    if c.kind == "anywhere":
                        self._crash(c, several)
                    else:
                        with b.if_(any_of([CUTTING, Not(self._applies(c))])):
                            b.continue_()
                        b.set(CUTTING, TRUE)
            self._steps()
        for c in crashes[len(before) :]:
            self._crash(c, several)
        b.splice(alone)

    def _steps(self) -> None:
        b = self.builder
        with b.capture() as statements:
            self._outcomes()
            with b.if_(Not(STILL)) if self.context.layout.standing else nullcontext():
                self.environment.events()
                self._timers()
                transmissions(self.steps)
        self.environment.begin()
        b.splice(statements)

    def _applies(self, c: m.CrashOffer) -> Expr:
        refuses = self.refusals.of_crash(c)
        if refuses is not None:
            return call(refuses, S, T)
        return TRUE if c.guard is None else self.scope.evaluate(c.guard)

    def _crash(self, c: m.CrashOffer, several: bool) -> None:
        """A crash between two steps; one is enough."""
        b = self.builder
        applies = self._applies(c)
        with b.if_(all_of([applies, Not(CRASHED)]) if several else applies):
            self.steps.arrive(call("crash", T, 1))
            if several:
                b.set(CRASHED, TRUE)

    # Answers

    def _each_pending(self) -> AbstractContextManager[object]:
        layout = self.context.layout
        return self.builder.count(K, layout.pending + layout.pending_places, layout.pending)

    def _still(self) -> None:
        """`first`: the code of the first action that holds up the system."""
        b = self.builder
        if self.context.layout.awaited:
            b.set(FIRST, 0)
        if standing := self.context.layout.standing:
            any_standing = any_of([S[K].equals(code) for code in standing])
            with self._each_pending(), b.if_(all_of([FIRST.equals(0), any_standing])):
                b.set(FIRST, S[K])
            b.set(STILL, FIRST.differs(0))

    def _outcomes(self) -> None:
        layout, b, j = self.context.layout, self.builder, Var("j")
        if not layout.awaited:
            return
        with self._each_pending():
            b.set(CODE, S[K])
            b.set(AGAIN, FALSE)
            with b.count(j, K, layout.pending), b.if_(S[j].equals(CODE)):
                b.set(AGAIN, TRUE)
            with b.if_(all_of([CODE > 0, Not(AGAIN), any_of([FIRST.equals(0), FIRST.equals(CODE)])])):
                for n, p in enumerate(layout.awaited):
                    with b.if_(CODE.equals(n + 1)):
                        for outcome in layout.action(n).outcomes:
                            self._outcome(n, p.instance, f"{p.action}.{outcome}")

    def _outcome(self, n: int, instance: int, trigger: str) -> None:
        context = self.context
        handled = call(context.handler(context.universe.machines[instance], trigger), T, instance)
        step: Expr = call("answered", T, n + 1)
        if context.rounds:
            step += call("touch", T, instance)
        self.steps.take(step + call("ignored_is_fine", handled))

    # Time

    def _timers(self) -> None:
        context, b = self.context, self.builder
        machines = [x for x in context.universe.machines if triggered_by(x, m.OnTimer)]
        names: dict[tuple[str, int], str] = {}
        for k, machine in enumerate(x for x in kinds(context.universe) if triggered_by(x, m.OnTimer)):
            for t in triggered_by(machine, m.OnTimer):
                name = names[machine.qualified, t.index] = f"time_{k}_{t.index}"
                self.timers.append(timer(context, machine, t, name))
        for machine, stretch in stretches(context, machines):
            free = b.if_(Not(call("awaits", S, AT))) if awaitable(machine) else nullcontext()
            with b.for_each(AT, stretch), free:
                b.set(STATE, self.scope.at(context.column(machine.qualified, ""), AT))
                for t in triggered_by(machine, m.OnTimer):
                    with b.if_(in_leaves(STATE, machine, machine.leaves_of(t.source))):
                        self.steps.take(call(names[machine.qualified, t.index], T, AT))

    # Recovery

    def _recover(self) -> None:
        self.builder.set(F, call("recover", T))
        self.steps.settle()

    def _down(self) -> None:
        """Recovery, and crashes in the middle of it: before its first write, and after each but the last."""
        b, layout = self.builder, self.context.layout
        self._recover()
        b.set(T[self.steps.leads_on], ONE)
        during = [c for c in self.context.universe.system.crashes if c.kind == "during recovery"]
        if during:
            b.set(WRITES, Choice(F.equals(0), T[layout.writes], ZERO))
        self.steps.arrive(F)
        if not during:
            return
        applies = [self._applies(c) for c in during]
        with b.if_(any_of(applies)), b.count(CUT, Choice(WRITES > 1, WRITES, ONE)):
            with b.if_(CUT > 0):
                b.set(T[layout.cut], CUT)
                self._recover()
            self.steps.arrive(call("crash", T, 1))
