"""One step from a row: taken, brought to its end, counted and handed on."""

from __future__ import annotations

from fsmdsl.program.builder import Builder
from fsmdsl.program.nodes import ONE, ZERO, Choice, Expr, Var, all_of, call
from fsmdsl.search.lower.context import CAP, OUT, Context, F, Fail, N, S, Scope, T
from fsmdsl.search.lower.fault_codes import IGNORED

PHASE, WRITES, CUT = map(Var, ("phase", "writes", "cut"))
"""Of a function that takes steps: whether they are taken whole or cut short, how many writes one had, and where it is
cut."""


class Steps:
    """The function that takes steps, while it is built."""

    def __init__(self, context: Context, leads_on: int) -> None:
        self.context = context
        self.leads_on = leads_on
        """Where it is kept whether a step leads on."""
        self.builder = Builder()
        self.scope = Scope(context, self.builder, S, None, None, Fail(lambda _: None))
        """What has no value in the environment here is not looked at: see `refusals`."""

    def arrive(self, code: Expr) -> None:
        """Hand on what a step has come to, and begin anew."""
        self.builder.set(N, call("arrive", T, code, OUT, N, CAP))
        self.builder.do(call("copy", S, T))

    def settle(self) -> None:
        """The round to its end, if nothing has failed."""
        self.builder.set(F, SETTLED)

    def take(self, step: Expr) -> None:
        """One step, if it is one; or, in a later phase, the same cut short by a crash after each write but the last.
        `t` equals `s` before and after."""
        b = self.builder
        b.set(F, step)
        with b.if_(all_of([F >= 0, F.differs(IGNORED)])):
            if self._cuts():
                self._whole_or_cut(step)
            else:
                b.set(T[self.leads_on], ONE)
                self.arrive(SETTLED)
        if self.context.obligations:
            with b.else_():
                b.set(T[self.context.layout.mark], 0)

    def _cuts(self) -> bool:
        return any(c.kind == "between writes" for c in self.context.universe.system.crashes)

    def _whole_or_cut(self, step: Expr) -> None:
        b, layout = self.builder, self.context.layout
        self.settle()
        with b.if_(PHASE.equals(0)):
            b.set(T[self.leads_on], ONE)
            self.arrive(F)
        with b.else_():
            b.set(WRITES, Choice(F.equals(0), T[layout.writes], ZERO))
            b.do(call("copy", S, T))
            with b.count(CUT, WRITES, 1):
                b.set(T[layout.cut], CUT)
                b.set(F, step)
                self.settle()
                self.arrive(call("crash", T, 1))


SETTLED = Choice(F.equals(0), call("settle", T), F)
"""What a step comes to: the round to its end, if nothing has failed."""
