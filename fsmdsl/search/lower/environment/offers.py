"""What can come next: the function `expand`, which takes every step from a row `s` and hands on what comes of it.

A step is taken where it is offered. So whether a guard holds is asked once, by the function that handles the event.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import assert_never

from fsmdsl.core import statements as s
from fsmdsl.model.typing import holds
from fsmdsl.program.builder import Builder, Inside, function, rows, words
from fsmdsl.program.builder import numbers as parameters
from fsmdsl.program.nodes import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Choice,
    Expr,
    Function,
    Int,
    Not,
    Var,
    all_of,
    any_of,
    call,
)
from fsmdsl.runs.liveness.plan import Delivery, MessageWaits
from fsmdsl.search.layout import QueueLayout
from fsmdsl.search.lower import tally
from fsmdsl.search.lower.context import Context, F, Fail, N, S, Scope, T
from fsmdsl.search.lower.environment.repeats import Repeats
from fsmdsl.search.lower.environment.steps import CUT, PHASE, WRITES, Steps, arrive, settle
from fsmdsl.search.lower.fault_codes import FULL, IGNORED
from fsmdsl.search.lower.machines.channels import boxes_of, message_at, place_of
from fsmdsl.search.lower.questions import Condition, ask
from fsmdsl.search.lower.values import masks
from fsmdsl.search.lower.values.expressions import BLOCKER, instance_of, machine_of
from fsmdsl.search.lower.values.parts import StepsFunction, call_steps, steps_apart, steps_function
from fsmdsl.search.shapes import UnpackableError
from fsmdsl.step.evaluate import TooManyValuesError

PROCEDURES: dict[s.ChannelStepKind, s.ProcedureKind] = {
    "deliver": "deliver message", "lose": "lose message", "duplicate": "duplicate message",
}  # fmt: skip

K, CODE, AGAIN = map(Var, ("k", "code", "again"))


class Offers:
    """Builds `expand`."""

    def __init__(self, context: Context, leads_on: int, beyond: int, change: int) -> None:
        self.context, self.leads_on, self.beyond, self.change = context, leads_on, beyond, change
        self.steps = Steps(context, leads_on)
        self.body = context.procedure("offers").body
        self.repeats = Repeats(context)
        self.shared: StepsFunction | None = None
        kinds = [c.kind for c in context.universe.system.crashes]
        self.offered = {x: context.layout.reserve(1) for x in dict.fromkeys(kinds) if kinds.count(x) > 1}
        """Where it is kept that a crash of a kind has been offered, of which there can be several."""
        try:
            _ = context.universe.system.offers or context.universe.unrestricted
        except TooManyValuesError as error:
            raise UnpackableError(f"the environment would have to choose among {error}") from error

    def functions(self) -> list[Function]:
        """The function, behind those that it needs."""
        b = Builder()
        counting = tally.inhabit(self.context, T[self.change])
        if counting:
            b.do(call("inhabit", S, T))
        within = self._bounded(b)
        b.do(call("copy", S, T))
        for place in self.offered.values():
            b.set(T[place], ZERO)
        Scope(self.context, b, S, None, None, Fail(_never), offer=self._write, end=N).execute(self.body)
        b.return_(N)
        signature = (*rows("s", "t"), *words("out"), *parameters("n", "cap"))
        expand = function("expand", signature, b.block, "Every step from `s`, in order.")
        return [*counting, *within, *self.repeats.functions, expand]

    def _bounded(self, b: Builder) -> list[Function]:
        """Beyond the bounds of the system, no step is taken. That is counted, and is no end: as if one had led on."""
        bound = self.context.universe.system.bound
        if bound is None:
            return []
        with b.if_(Not(call("within_0", S))):
            b.update(T[self.beyond], "+", T[self.change])
            b.set(T[self.leads_on], ONE)
            b.return_(N)
        return ask(self.context, [Condition(bound)], "within")

    # Statements

    def _write(self, scope: Scope, x: s.Statement) -> None:
        match x:
            case s.Offer(step):
                self._offer(scope, step)
            case s.Call():
                self._all_steps(scope, 0)
            case s.EachPending():
                self._answers(scope, x)
            case s.Attempt():
                self._attempt(scope, x)
            case _:
                raise TypeError(f"{type(x).__name__} offers no step")

    def _attempt(self, scope: Scope, x: s.Attempt) -> None:
        """A function of its own, which returns where something has no value. What it sets is kept in the row."""
        context, results = self.context, [y.variable for y in x.otherwise if isinstance(y, s.Set)]
        places = {y.name: context.layout.reserve(1) for y in results}

        def keep(inner: Scope) -> None:
            for name, place in places.items():
                inner.builder.set(T[place], inner.variables[name])

        def body(inner: Scope) -> None:
            def fail(code: Expr | None) -> None:
                for y in x.otherwise:
                    if isinstance(y, s.Unoffered):
                        self._unoffered(inner.builder, y, code)
                    else:
                        inner.execute((y,))
                keep(inner)
                inner.builder.return_(N)

            inner.fail = Fail(fail)
            inner.execute(x.body)
            keep(inner)

        steps_apart(scope, body)
        for name, place in places.items():
            scope.variables[name] = scope.builder.temporary(T[place])

    def _unoffered(self, b: Builder, x: s.Unoffered, code: Expr | None) -> None:
        """The fault is noted. An event without a value counts as a step that fails."""
        b.do(call("unoffered", T, self.context.code(code)))
        if not x.crash:
            b.set(T[self.leads_on], ONE)

    # Steps

    def _all_steps(self, scope: Scope, phase: int) -> None:
        """All steps but crashes and the recovery, or, in a later phase, all of them cut short. Where there are such
        phases, they share a function."""
        if not self.steps.cuts:
            self._every_step(scope)
            return
        scope.builder.set(PHASE, phase)
        self.shared = self.shared or steps_function(scope, self._every_step)
        call_steps(scope.builder, self.shared)

    def _every_step(self, scope: Scope) -> None:
        layout, b = self.context.layout, scope.builder
        if self.repeats.seen is not None:
            b.update(T[self.repeats.seen], "+", 1)
        if layout.awaited:
            b.set(BLOCKER, 0)
        if standing := layout.standing:
            blocks = any_of([S[K].equals(code) for code in standing])
            with self._each_pending(b), b.if_(all_of([BLOCKER.equals(0), blocks])):
                b.set(BLOCKER, S[K])
        scope.execute(self.context.procedure("offer steps").body)

    def _offer(self, scope: Scope, x: s.Step) -> None:
        b, context = scope.builder, self.context
        match x:
            case s.EventStep():
                self._event(scope, x)
            case s.OutcomeStep(instance, action, outcome):
                at = instance_of(scope, instance)
                machine = machine_of(scope, instance)
                function = context.step(context.procedure("answer", machine.qualified, f"{action}.{outcome}"))
                self.steps.take(b, call(function, T, at))
            case s.TimerStep(instance, transition):
                machine, at = machine_of(scope, instance), instance_of(scope, instance)
                function = context.step(context.procedure("tick", machine.qualified, f"{transition}"))
                self.steps.take(b, call(function, T, at))
            case s.ChannelStep():
                self._message(scope, x)
            case s.CrashStep():
                self._crash_alone(scope, x)
            case s.SystemCrash(kind):
                with self._once(b, kind):
                    self._crash(scope, kind)
            case s.RecoverStep():
                self._recover(b)
                b.set(T[self.leads_on], ONE)
                if any(c.kind == "during recovery" for c in context.universe.system.crashes):
                    b.set(WRITES, Choice(F.equals(0), T[context.layout.writes], ZERO))
                arrive(b, F)
            case _:
                assert_never(x)

    def _event(self, scope: Scope, x: s.EventStep) -> None:
        """Where its arguments fit, it is handled."""
        context, machine, receiver = self.context, machine_of(scope, x.instance), instance_of(scope, x.instance)
        types = [p.type for p in machine.event_named[x.event].parameters]
        if all(holds(t, y.type) for t, y in zip(types, x.arguments, strict=True)):
            function = context.handler(machine, x.event)
        else:
            procedure = context.procedure("event", machine.qualified, x.event)
            function, types = context.step(procedure), [p.type for p in procedure.parameters[1:]]
        values = [scope.value(y, t) for y, t in zip(x.arguments, types, strict=True)]
        handled: Expr = call(function, T, receiver, *values)
        if self.repeats.is_repeated(x):
            wide = context.core.arguments(machine, machine.event_named[x.event])
            numbers = [scope.value(y, t) for y, t in zip(x.arguments, wide, strict=True)]
            new = self.repeats.fresh(scope, x, [receiver, *numbers])
            handled = Choice(new.equals(1), handled, Choice(new > 1, Int(FULL), Int(IGNORED)))
        self.steps.take(scope.builder, handled)

    def _answers(self, scope: Scope, x: s.EachPending) -> None:
        layout, b, j = self.context.layout, scope.builder, Var("j")
        bodies = {(y.machine, y.action): y.body for y in x.actions}
        if not layout.awaited:
            return
        with self._each_pending(b):
            b.set(CODE, S[K])
            b.set(AGAIN, FALSE)
            with b.count(j, K, layout.pending), b.if_(S[j].equals(CODE)):
                b.set(AGAIN, TRUE)
            with b.if_(all_of([CODE > 0, Not(AGAIN), any_of([BLOCKER.equals(0), BLOCKER.equals(CODE)])])):
                for n, p in enumerate(layout.awaited):
                    machine = self.context.universe.machines[p.instance].qualified
                    with b.if_(CODE.equals(n + 1)):
                        scope.variables[x.variable.name] = Int(p.instance)
                        scope.execute(bodies[machine, p.action])

    def _each_pending(self, b: Builder) -> Inside:
        layout = self.context.layout
        return b.count(K, layout.pending + layout.pending_places, layout.pending)

    # Messages

    def _message(self, scope: Scope, x: s.ChannelStep) -> None:
        """A message of a waiting channel that is not handled remains."""
        b, boxes, position = scope.builder, boxes_of(self.context, x.queue.channel), scope.value(x.position)
        ends = [scope.variable(y) for y in x.queue.ends]
        procedure = self.context.procedure(PROCEDURES[x.kind], x.queue.channel)
        values = [position if p.name == "position" else scope.value(p) for p in procedure.parameters]
        if x.kind == "deliver" and self.context.obligations:
            for box in boxes:
                here = zip(ends, (n for n in (box.sender, box.receiver) if n is not None), strict=True)
                with b.if_(all_of([y.equals(n) for y, n in here])) if len(boxes) > 1 else nullcontext():
                    self._mark(scope, x, box)
        self.steps.take(b, call(self.context.step(procedure), T, *values))
        if x.kind == "deliver" and boxes[0].channel.waiting:
            with b.if_(F.equals(IGNORED)):
                b.do(call("copy", S, T))

    def _mark(self, scope: Scope, x: s.ChannelStep, box: QueueLayout) -> None:
        """Note in the step's mark which message is delivered, and which wait."""
        context, b, j = self.context, scope.builder, Var("j")
        mark, message = T[context.layout.mark], message_at(scope, x.queue, scope.value(x.position))
        for number, bit in context.delivered_bits(box, Delivery).items():
            with b.if_(message.equals(number)):
                b.update(mark, "|", bit)
        waiting = context.delivered_bits(box, MessageWaits)
        if waiting:
            with nullcontext() if box.channel.chooses else b.count(j, scope.row[place_of(scope, x.queue)]):
                for number, bit in waiting.items():
                    with b.if_((message if box.channel.chooses else message_at(scope, x.queue, j)).equals(number)):
                        b.update(mark, "|", bit)

    # Crashes and recovery

    @contextmanager
    def _once(self, b: Builder, kind: str) -> Iterator[None]:
        if kind not in self.offered:
            yield
            return
        with b.if_(T[self.offered[kind]].equals(0)):
            b.set(T[self.offered[kind]], ONE)
            yield

    def _crash(self, scope: Scope, kind: str) -> None:
        b = scope.builder
        match kind:
            case "anywhere":
                arrive(b, call("crash", T, 1))
            case "between writes":
                self._all_steps(scope, 1)
            case _:
                # Before the first write of the recovery, and after each but the last.
                with b.count(CUT, Choice(WRITES > 1, WRITES, ONE)):
                    with b.if_(CUT > 0):
                        b.set(T[self.context.layout.cut], CUT)
                        self._recover(b)
                    arrive(b, call("crash", T, 1))

    def _recover(self, b: Builder) -> None:
        b.set(F, call(self.context.step(self.context.procedure("recover")), T))
        settle(b)

    def _crash_alone(self, scope: Scope, x: s.CrashStep) -> None:
        """Some instances crash: they are written into a mask."""
        b, layout = scope.builder, self.context.layout
        assert isinstance(x.of, s.Collection)
        struck = [instance_of(scope, y) for y in x.of.items]
        mask = [T[layout.struck + k] for k in range(layout.mask_words)]
        for word in mask:
            b.set(word, 0)
        for y in struck:
            masks.add_to(layout, b, T, layout.struck, y)
        if self.repeats.is_repeated(x):
            new = self.repeats.fresh(scope, x, mask)
            with b.if_(new):
                arrive(b, Choice(new > 1, Int(FULL), call("crash", T, 0)))
        else:
            arrive(b, call("crash", T, 0))


def _never(code: Expr | None) -> None:
    raise TypeError("what can fail in the environment is attempted")
