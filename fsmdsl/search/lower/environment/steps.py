"""One step from a row: taken, brought to its end, counted and handed on."""

from __future__ import annotations

from fsmdsl.dataclasses import dataclass
from fsmdsl.program.builder import Builder
from fsmdsl.program.nodes import ONE, ZERO, Choice, Expr, Var, all_of, call
from fsmdsl.search.lower.context import CAP, OUT, Context, F, N, S, T
from fsmdsl.search.lower.fault_codes import IGNORED

PHASE, WRITES, CUT = map(Var, ("phase", "writes", "cut"))
"""Of a function that takes steps: whether they are taken whole or cut short, how many writes one had, and where it is
cut."""


def arrive(b: Builder, code: Expr) -> None:
    """Hand on what a step has come to, and begin anew."""
    b.set(N, call("arrive", T, code, OUT, N, CAP))
    b.do(call("copy", S, T))


def settle(b: Builder) -> None:
    """The round to its end, if nothing has failed."""
    b.set(F, SETTLED)


@dataclass(frozen=True, slots=True)
class Steps:
    """Takes steps."""

    context: Context
    leads_on: int
    """Where it is kept whether a step leads on."""

    @property
    def cuts(self) -> bool:
        """Can a crash come between the writes of a step?"""
        return any(c.kind == "between writes" for c in self.context.universe.system.crashes)

    def take(self, b: Builder, step: Expr) -> None:
        """One step, if it is one; or, in a later phase, the same cut short by a crash after each write but the last.
        `t` equals `s` before and after."""
        b.set(F, step)
        with b.if_(all_of([F >= 0, F.differs(IGNORED)])):
            if self.cuts:
                self._whole_or_cut(b, step)
            else:
                b.set(T[self.leads_on], ONE)
                arrive(b, SETTLED)
        if self.context.obligations:
            with b.else_():
                b.set(T[self.context.layout.mark], 0)

    def _whole_or_cut(self, b: Builder, step: Expr) -> None:
        layout = self.context.layout
        settle(b)
        with b.if_(PHASE.equals(0)):
            b.set(T[self.leads_on], ONE)
            arrive(b, F)
        with b.else_():
            b.set(WRITES, Choice(F.equals(0), T[layout.writes], ZERO))
            b.do(call("copy", S, T))
            with b.count(CUT, WRITES, 1):
                b.set(T[layout.cut], CUT)
                b.set(F, step)
                settle(b)
                arrive(b, call("crash", T, 1))


SETTLED = Choice(F.equals(0), call("settle", T), F)
"""What a step comes to: the round to its end, if nothing has failed."""
