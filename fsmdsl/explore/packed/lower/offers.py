"""What can come next: the function `expand`, which takes every step from a row `s` and hands on what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from fsmdsl import model as m
from fsmdsl.explore.packed.layout import awaitable, kinds, leaf_number
from fsmdsl.explore.packed.lower.channels import transmissions
from fsmdsl.explore.packed.lower.context import Context, Scope
from fsmdsl.explore.packed.lower.environment import Environment
from fsmdsl.explore.packed.lower.expressions import is_one_of, value
from fsmdsl.explore.packed.lower.handlers import stretches, timer
from fsmdsl.explore.packed.lower.refusals import refusals
from fsmdsl.explore.packed.lower.sites import IGNORED
from fsmdsl.explore.packed.lower.widen import widened
from fsmdsl.explore.packed.lower.writer import Writer


class Offers:
    """Writes `expand`."""

    def __init__(self, context: Context, led: int) -> None:
        self.context = context
        self.led = led
        """Where steps that lead on are counted."""
        self.w = Writer()
        self.scope = Scope(context, self.w, "s", None, None, lambda _: None)
        """A condition of the environment that has no value here never comes into question: see `refusals`."""
        self.functions: list[str] = []
        self.environment = Environment(context, self)

    def lines(self) -> list[str]:
        """The function, behind those that it needs."""
        w, layout = self.w, self.context.layout
        refused = refusals(self.context)
        w.line("copy(s, t)")
        if refused:
            w.line("f = refused(s)")
            with w.block("if f != 0:"):
                w.line("return -f")
        if layout.down is not None:
            with w.block(f"if s[{layout.down}]:"):
                self._down()
                w.line("return n")
        self._still()
        self._in_order()
        w.line("return n")
        head = ["def expand(s, t, out, n, cap):", '    """Every step from `s`, in order."""']
        return [*self.functions, *self.environment.functions, *refused, *head, *w.lines]

    # Their order

    def _in_order(self) -> None:
        """All steps; then crashes, as the environment says one after the other. Crashes between the writes of steps
        take all steps once more."""
        crashes = [c for c in self.context.universe.system.crashes if c.kind != "during recovery"]
        cuts = sum(c.kind == "between writes" for c in crashes)
        w = self.w
        several = len(crashes) - cuts > 1
        if several:
            w.line("crashed = False")
        if cuts:
            w.line("cutting = False")
        phase = 0
        with w.block(f"for phase in range({cuts + 1}):") if cuts else nullcontext():
            before = [c for n, c in enumerate(crashes) if any(x.kind == "between writes" for x in crashes[n:])]
            for c in before:
                phase += c.kind == "between writes"
                with w.block(f"if phase == {phase + (c.kind == 'anywhere')}:"):
                    if c.kind == "anywhere":
                        self._crash(c, several)
                    else:
                        with w.block(f"if cutting or not {self._applies(c)}:"):
                            w.line("continue")
                        w.line("cutting = True")
            self._steps()
        for c in crashes[len(before) :]:
            self._crash(c, several)

    def _steps(self) -> None:
        with self.w.aside() as lines:
            self._outcomes()
            with self.w.block("if not still:") if self._standing() else nullcontext():
                self.environment.events()
                self._timers()
                transmissions(self)
        self.environment.begin()
        self.w.put(lines)

    def _applies(self, c: m.CrashOffer) -> str:
        return "True" if c.guard is None else value(self.scope, widened(self.context.universe, c.guard))

    def _crash(self, c: m.CrashOffer, several: bool) -> None:
        """A crash between two steps; one is enough."""
        w = self.w
        text = self._applies(c)
        with w.block(f"if {text} and not crashed:" if several else f"if {text}:"):
            w.line("n = arrive(t, crash(t), out, n, cap)")
            w.line("copy(s, t)")
            if several:
                w.line("crashed = True")

    # One step

    def take(self, call: str, *, skips: bool) -> None:
        """One step, or, in a later phase, the same cut short by a crash after each write but the last. `t` equals `s`
        before and after. `skips`: it may be none at all."""
        w = self.w
        w.line(f"f = {call}")
        with w.block(f"if f >= 0 and f != {IGNORED}:") if skips else nullcontext():
            if self._cuts():
                self._whole_or_cut(call)
            else:
                w.line(f"t[{self.led}] += 1")
                w.line("n = arrive(t, settle(t) if f == 0 else f, out, n, cap)")
                w.line("copy(s, t)")
        if skips and self.context.obligations:
            with w.block("else:"):
                w.line(f"t[{self.context.layout.mark}] = 0")

    def _cuts(self) -> bool:
        return any(c.kind == "between writes" for c in self.context.universe.system.crashes)

    def _whole_or_cut(self, call: str) -> None:
        w, layout = self.w, self.context.layout
        w.line("f = settle(t) if f == 0 else f")
        with w.block("if phase == 0:"):
            w.line(f"t[{self.led}] += 1")
            w.line("n = arrive(t, f, out, n, cap)")
            w.line("copy(s, t)")
        with w.block("else:"):
            w.line(f"writes = t[{layout.writes}] if f == 0 else 0")
            w.line("copy(s, t)")
            with w.block("for cut in range(1, writes):"):
                w.line(f"t[{layout.cut}] = cut")
                w.line(f"f = {call}")
                w.line("f = settle(t) if f == 0 else f")
                w.line("n = arrive(t, crash(t), out, n, cap)")
                w.line("copy(s, t)")

    # Answers

    def _standing(self) -> list[int]:
        """The codes of actions that hold up the system."""
        awaited = self.context.layout.awaited
        return [n + 1 for n in range(len(awaited)) if not self._action(n).asynchronous]

    def _action(self, n: int) -> m.Action:
        p = self.context.layout.awaited[n]
        return self.context.universe.machines[p.instance].action_named[p.action]

    def _each_pending(self) -> AbstractContextManager[None]:
        layout = self.context.layout
        return self.w.block(f"for k in range({layout.pending}, {layout.pending + layout.pending_places}):")

    def _still(self) -> None:
        """`first`: the code of the first action that holds up the system."""
        if self.context.layout.awaited:
            self.w.line("first = 0")
        if self._standing():
            any_standing = " or ".join(f"s[k] == {code}" for code in self._standing())
            with self._each_pending(), self.w.block(f"if first == 0 and ({any_standing}):"):
                self.w.line("first = s[k]")
            self.w.line("still = first != 0")

    def _outcomes(self) -> None:
        layout, w = self.context.layout, self.w
        if not layout.awaited:
            return
        with self._each_pending():
            w.line("code = s[k]")
            w.line("again = False")
            with w.block(f"for j in range({layout.pending}, k):"), w.block("if s[j] == code:"):
                w.line("again = True")
            with w.block("if code > 0 and not again and (first == 0 or first == code):"):
                for n, p in enumerate(layout.awaited):
                    with w.block(f"if code == {n + 1}:"):
                        for outcome in self._action(n).outcomes:
                            self._outcome(n, p.instance, f"{p.action}.{outcome}")

    def _outcome(self, n: int, instance: int, trigger: str) -> None:
        context = self.context
        function = context.handler(context.universe.machines[instance], trigger)
        touched = f"touch(t, {instance}) + " if context.rounds else ""
        self.take(f"answered(t, {n + 1}) + {touched}ignored_is_fine({function}(t, {instance}))", skips=False)

    # Time

    def _timers(self) -> None:
        context, w = self.context, self.w
        machines = [x for x in context.universe.machines if _timers_of(x)]
        names: dict[tuple[str, int], str] = {}
        for k, machine in enumerate(x for x in kinds(context.universe) if _timers_of(x)):
            for t in _timers_of(machine):
                name = names[machine.qualified, t.index] = f"time_{k}_{t.index}"
                self.functions += [*timer(context, machine, t, name), ""]
        for machine, stretch in stretches(context, machines):
            free = w.block("if not awaits(s, at):") if awaitable(machine) else nullcontext()
            with w.block(f"for at in {stretch}:"), free:
                w.line(f"state = {self.scope.at(context.column(machine.qualified, ''), 'at')}")
                for t in _timers_of(machine):
                    leaves = [leaf_number(machine, s) for s in machine.leaves_of(t.source)]
                    with w.block(f"if {is_one_of('state', leaves, len(machine.leaves))}:"):
                        self.take(f"{names[machine.qualified, t.index]}(t, at)", skips=True)

    # Recovery

    def _down(self) -> None:
        """Recovery, and crashes in the middle of it: before its first write, and after each but the last."""
        w, layout = self.w, self.context.layout
        w.line("f = recover(t)")
        w.line("f = settle(t) if f == 0 else f")
        w.line(f"t[{self.led}] += 1")
        during = [c for c in self.context.universe.system.crashes if c.kind == "during recovery"]
        if during:
            w.line(f"writes = t[{layout.writes}] if f == 0 else 0")
        w.line("n = arrive(t, f, out, n, cap)")
        w.line("copy(s, t)")
        if not during:
            return
        texts = [self._applies(c) for c in during]
        with w.block(f"if {' or '.join(texts)}:"), w.block("for cut in range(writes if writes > 1 else 1):"):
            with w.block("if cut > 0:"):
                w.line(f"t[{layout.cut}] = cut")
                w.line("f = recover(t)")
                w.line("f = settle(t) if f == 0 else f")
            w.line("n = arrive(t, crash(t), out, n, cap)")
            w.line("copy(s, t)")


def _timers_of(machine: m.Machine) -> Sequence[m.Transition]:
    return [t for t in machine.transitions if isinstance(t.trigger, m.OnTimer)]
