"""What can come next: the function `expand`, which takes every step from a row `s` and hands on what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from fsmdsl import model as m
from fsmdsl.explore.packed.layout import Box, awaitable, kinds, leaf_number
from fsmdsl.explore.packed.lower.context import Context, Scope
from fsmdsl.explore.packed.lower.convert import converted, misfit
from fsmdsl.explore.packed.lower.expressions import collected, is_one_of, joined, reference, value
from fsmdsl.explore.packed.lower.handlers import numbers, timer
from fsmdsl.explore.packed.lower.loops import loop
from fsmdsl.explore.packed.lower.sites import IGNORED
from fsmdsl.explore.packed.lower.writer import Writer
from fsmdsl.explore.packed.shapes import UnpackableError, element, shape
from fsmdsl.step.evaluate import TooManyValuesError
from fsmdsl.walk import expressions

MOST_REPEATED = 512
"""So many different events can be told apart where the environment may come to one in two ways."""


class Offers:
    """Writes `expand`."""

    def __init__(self, context: Context, led: int) -> None:
        self.context = context
        self.led = led
        """Where steps that lead on are counted."""
        self.w = Writer()
        self.scope = Scope(context, self.w, "s", None, None, self._fail)
        self.functions: list[str] = []
        self.fresh: list[str] = []
        """The function that knows which events were offered already, if that can happen."""
        self.seen = 0
        self.width = 0

    def _fail(self, kind: str) -> None:
        """A guard of the environment that has no value: no step is taken at all."""
        del kind
        self.w.line(f"return -{self.context.sites.one()}")

    def lines(self) -> list[str]:
        w, context = self.w, self.context
        layout = context.layout
        if layout.down is not None:
            with w.block(f"if s[{layout.down}]:"):
                self._down()
                w.line("return n")
        self._crashes_between()
        self._outcomes()
        standing = [n + 1 for n, p in enumerate(layout.awaited) if not self._action(n).asynchronous]
        if standing:
            w.line("still = False")
            any_standing = " or ".join(f"s[k] == {code}" for code in standing)
            with self._each_pending(), w.block(f"if {any_standing}:"):
                w.line("still = True")
            with w.block("if not still:"):
                self._open()
        else:
            self._open()
        self._crashes()
        w.line("return n")
        head = ["def expand(s, t, out, n, cap):", '    """Every step from `s`, in order."""', "    copy(s, t)"]
        if self.fresh:
            head.append(f"    t[{self.seen}] = 0")
        return [*self.functions, *self.fresh, *head, *w.lines]

    def _action(self, n: int) -> m.Action:
        p = self.context.layout.awaited[n]
        return self.context.universe.machines[p.instance].action_named[p.action]

    def _open(self) -> None:
        """What comes while nobody holds up the system."""
        self._events()
        self._timers()
        for box in self.context.layout.boxes:
            self._channel(box)

    # One step

    def _take(self, call: str, skips: bool) -> None:
        """One step: what it does to `t`, and, where crashes come between writes, the same cut short after each write.

        `t` equals `s` before and after.
        """
        w, layout = self.w, self.context.layout
        cut = self._cuts()
        if cut:
            w.line("cut = 0")
        with w.block("while True:") if cut else nullcontext():
            if cut:
                w.line(f"t[{layout.cut}] = cut")
            w.line(f"f = {call}")
            with w.block(f"if f >= 0 and f != {IGNORED}:") if skips else nullcontext():
                if cut:
                    self._cut_or_whole()
                else:
                    w.line(f"t[{self.led}] += 1")
                    w.line("n = arrive(t, settle(t) if f == 0 else f, out, n, cap)")
                    w.line("copy(s, t)")
            if skips and (cut or self.context.obligations):
                with w.block("else:"):
                    if self.context.obligations:
                        w.line(f"t[{layout.mark}] = 0")
                    if cut:
                        w.line("break")

    def _cuts(self) -> bool:
        return any(c.kind == "between writes" for c in self.context.universe.system.crashes)

    def _cut_or_whole(self) -> None:
        w, layout = self.w, self.context.layout
        w.line("f = settle(t) if f == 0 else f")
        with w.block("if cut == 0:"):
            w.line(f"writes = t[{layout.writes}] if f == 0 else 0")
            w.line(f"t[{self.led}] += 1")
            w.line("n = arrive(t, f, out, n, cap)")
        with w.block("else:"):
            w.line("n = arrive(t, crash(t), out, n, cap)")
        w.line("copy(s, t)")
        w.line("cut += 1")
        with w.block("if cut >= writes or not between:"):
            w.line("break")

    # Answers

    def _each_pending(self) -> AbstractContextManager[None]:
        layout = self.context.layout
        return self.w.block(f"for k in range({layout.pending}, {layout.pending + layout.pending_places}):")

    def _outcomes(self) -> None:
        layout, w = self.context.layout, self.w
        if not layout.awaited:
            return
        standing = [n + 1 for n in range(len(layout.awaited)) if not self._action(n).asynchronous]
        w.line("first = 0")
        if standing:
            any_standing = " or ".join(f"s[k] == {code}" for code in standing)
            with self._each_pending(), w.block(f"if first == 0 and ({any_standing}):"):
                w.line("first = s[k]")
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
                w.line("pass")
            if standing:
                with w.block("if code > 0 and first == code:"):
                    w.line("break")

    def _outcome(self, n: int, instance: int, trigger: str) -> None:
        context = self.context
        machine = context.universe.machines[instance]
        function = context.handler(machine, trigger)
        touched = f"touch(t, {instance}) + " if context.rounds else ""
        self._take(f"answered(t, {n + 1}) + {touched}ignored_is_fine({function}(t, {instance}))", False)

    # Events

    def _events(self) -> None:
        offers = self.context.universe.system.offers
        if offers is None:
            self._unrestricted()
            return
        for o in offers:
            self._offer(o, 0, [] if o.guard is None else conjuncts(o.guard))

    def _offer(self, o: m.Offer, depth: int, conditions: Sequence[m.Expr]) -> None:
        """The loops of one line of the environment. As soon as the receiver is known, so is whether it listens."""
        w, scope = self.w, self.scope
        if depth == len(o.variables):
            if not conditions:
                self._send(o)
                return
            with w.block(f"if {joined(scope, [(x, False) for x in conditions], 'and')}:"):
                self._send(o)
            return
        name, over = o.variables[depth]
        of = over.type.of if isinstance(over.type, m.SetType | m.ListType) else m.ERROR
        text = collected(scope, over)
        narrowed = self._narrowed(name, over, text, conditions, {x for x, _ in o.variables[depth:]})
        text, conditions = (narrowed, conditions[1:]) if narrowed else (text, conditions)
        with loop(scope, over.type, text, over) as x, scope.binding(name, x, of):
            if isinstance(o.target, m.Local) and o.target.name == name and isinstance(of, m.RefType):
                with w.block(f"if {self._listens(o.machine, o.event, x)}:"):
                    self._offer(o, depth + 1, conditions)
            else:
                self._offer(o, depth + 1, conditions)

    def _narrowed(
        self, name: str, over: m.Expr, text: str, conditions: Sequence[m.Expr], later: set[str]
    ) -> str | None:
        """Of `some p in subsets(all, n)` with `all x in p: …`: those of `all` for which that holds, if it always has a
        value and speaks of nothing that is bound later. Then subsets need to be taken of these alone."""
        match over, conditions:
            case (
                m.Apply(function="subsets", arguments=(whole, _)),
                [m.Quantified(kind="all", variable=x, over=m.Local(name=quantified), body=body), *_],
            ) if quantified == name and not any(
                isinstance(e, m.Local) and e.name in later and e.name != x for e in expressions(body)
            ):
                assert isinstance(whole.type, m.SetType)
                w = self.w
                failing: list[str] = []
                of = element(whole.type.of, self.context.universe)
                scope = replace(self.scope, fail=failing.append)
                with w.aside() as lines:
                    found = w.name()
                    w.line(f"{found} = 0")
                    with loop(scope, whole.type, text) as item, scope.binding(x, item, whole.type.of):
                        w.line(f"if {value(scope, body)}:")
                        w.line(f"    {found} |= 1 << {item}" + (f" - {of.low}" if of.low else ""))
                if failing:
                    return None
                w.put(lines)
                return found
            case _:
                return None

    def _listens(self, machine: str, event: str, at: str) -> str:
        """Is an instance in a state in which it has a transition for an event, and free to take it?"""
        context = self.context
        kind = context.universe.model.machines[machine]
        instance = min(context.universe.instances_of(machine), default=0)
        leaves = [s.name for s in kind.leaves if context.universe.candidates(instance, s.name, event)]
        if not leaves:
            return "False"
        state = self.scope.at(context.column(machine, ""), at)
        text = is_one_of(state, [leaf_number(kind, s) for s in leaves], len(kind.leaves))
        return f"{text} and not awaits(s, {at})" if awaitable(kind) else text

    def _send(self, o: m.Offer) -> None:
        scope, w = self.scope, self.w
        machine = self.context.universe.model.machines[o.machine]
        receiver = reference(scope, o.target)
        parameters = machine.event_named[o.event].parameters
        given, wrong = [], []
        for a, p in zip(o.arguments, parameters, strict=True):
            text = w.named(value(scope, a))
            wrong += [condition for condition, _ in misfit(scope, text, a.type, p.type)]
            given.append(converted(scope, text, a.type, p.type))
        with w.block(f"if {self._listens(o.machine, o.event, receiver)}:"):
            if self._repeats(o):
                self._deliver(machine, o.event, receiver, given, wrong, self._fresh(o, receiver, given))
            else:
                self._deliver(machine, o.event, receiver, given, wrong)

    def _repeats(self, o: m.Offer) -> bool:
        """Can the environment come to the same event in two ways? Then it counts once."""
        offers = self.context.universe.system.offers or ()
        alone = sum(x.machine == o.machine and x.event == o.event for x in offers) == 1
        direct = {x.name for x in (o.target, *o.arguments) if isinstance(x, m.Local)}
        return not alone or any(name not in direct for name, _ in o.variables)

    def _fresh(self, o: m.Offer, receiver: str, given: Sequence[str]) -> str:
        """Whether this is the first time from this row."""
        if not self.fresh:
            width = 2 + max(len(x.arguments) for x in self.context.universe.system.offers or ())
            self.seen, self.width = self.context.layout.reserve(1 + MOST_REPEATED * width), width
            self.fresh = _fresh_function(self.seen, width)
        offers = self.context.universe.system.offers or ()
        number = [(x.machine, x.event) for x in offers].index((o.machine, o.event))
        key = [str(number), receiver, *given]
        return f"fresh(t, {', '.join(key + ['0'] * (self.width - len(key)))})"

    def _deliver(
        self,
        machine: m.Machine,
        event: str,
        receiver: str,
        given: Sequence[str],
        wrong: Sequence[str] = (),
        fresh: str | None = None,
    ) -> None:
        context, w = self.context, self.w
        call = f"{context.handler(machine, event)}({', '.join(['t', receiver, *given])})"
        if wrong:
            # Such a value reaches no guard unharmed; the step is there, and fails.
            site = context.sites.one()
            call = f"({site} if {' or '.join(f'({c})' for c in wrong)} else {call})"
        if fresh is not None:
            w.line(f"new = {fresh}")
            call = f"{call} if new else {IGNORED}"
        self._take(call, True)

    def _unrestricted(self) -> None:
        """Every event from the environment, with all its arguments."""
        universe = self.context.universe
        try:
            offered = universe.unrestricted
        except TooManyValuesError as error:
            raise UnpackableError(f"the environment would have to choose among {error}") from error
        for instance, event, combinations in offered:
            machine = universe.machines[instance]
            with self.w.block(f"if {self._listens(machine.qualified, event, str(instance))}:"):
                if combinations:
                    self._arguments(machine, event, instance, [])

    def _arguments(self, machine: m.Machine, event: str, instance: int, given: list[str]) -> None:
        parameters = machine.event_named[event].parameters
        if len(given) == len(parameters):
            self._deliver(machine, event, str(instance), given)
            return
        x = self.w.name()
        with self.w.block(f"for {x} in {self._domain(parameters[len(given)].type)}:"):
            self._arguments(machine, event, instance, [*given, x])

    def _domain(self, t: m.Type) -> str:
        """All numbers of a type."""
        universe = self.context.universe
        s = shape(t, universe)
        if isinstance(t, m.RefType):
            return numbers(self.context, universe.model.machines[t.machine])
        if isinstance(t, m.DurationType | m.OpaqueType | m.NoneType):
            return "range(1)"
        if isinstance(t, m.ListType) or (isinstance(t, m.SetType | m.OptionalType) and not _plain(t, self.context)):
            raise UnpackableError("the environment chooses among values with gaps")
        if s.none is None:
            return f"range({s.low}, {s.high + 1})"
        if s.none == s.low - 1:
            return f"range({s.none}, {s.high + 1})"
        raise UnpackableError("the environment chooses among values with gaps")

    # Time, channels, crashes

    def _timers(self) -> None:
        context, w = self.context, self.w
        for k, machine in enumerate(kinds(context.universe)):
            timers = [t for t in machine.transitions if isinstance(t.trigger, m.OnTimer)]
            if not timers:
                continue
            with w.block(f"for at in {numbers(context, machine)}:"):
                busy = "not awaits(s, at)" if awaitable(machine) else "True"
                with w.block(f"if {busy}:"):
                    w.line(f"state = {self.scope.at(context.column(machine.qualified, ''), 'at')}")
                    for t in timers:
                        name = f"time_{k}_{t.index}"
                        self.functions += [*timer(context, machine, t, name), ""]
                        leaves = [leaf_number(machine, s) for s in machine.leaves_of(t.source)]
                        with w.block(f"if {is_one_of('state', leaves, len(machine.leaves))}:"):
                            self._take(f"{name}(t, at)", True)

    def _channel(self, box: Box) -> None:
        context, w, channel = self.context, self.w, box.channel
        machine = context.universe.model.machines[channel.receiver]
        receiver = min(context.universe.instances_of(channel.receiver))
        with w.block(f"for k in range(s[{box.length}]):"):
            w.line(f"message = s[{box.first} + k]")
            with w.block(f"if k == 0 or s[{box.first} + k - 1] != message:"):
                free = [f"not awaits(s, {receiver})"] if awaitable(machine) else []
                first = ["k == 0"] if channel.order == "fifo" else []
                with w.block(f"if {' and '.join(free + first) or 'True'}:"):
                    self._receive(box, machine, receiver)
        distinct = f"k == 0 or s[{box.first} + k - 1] != s[{box.first} + k]"
        if channel.lossy:
            with w.block(f"for k in range(s[{box.length}]):"), w.block(f"if {distinct}:"):
                self._take(f"take_out(t, {box.length}, k)", False)
        if channel.duplicating:
            room = f"range(s[{box.length}] if s[{box.length}] < {channel.bound} else 0)"
            with w.block(f"for k in {room}:"), w.block(f"if {distinct}:"):
                self._take(f"double(t, {box.length}, k)", False)

    def _receive(self, box: Box, machine: m.Machine, receiver: int) -> None:
        """Whatever message it is: its arguments, then its handler; that it is not handled is a fault here."""
        context, w = self.context, self.w
        for n, event in enumerate(box.events):
            if box.channel.qualified not in event.senders and event.senders:
                continue
            with w.block(f"if message >> {box.argument_bits} == {n}:"):
                given = []
                for s, at in zip(box.shapes[n], box.offsets(n), strict=True):
                    code = f"message >> {at} & {(1 << s.bits) - 1}"
                    if s.none is not None and s.none != s.low - 1:
                        given.append(w.named(f"{s.none} if {code} == 0 else ({code}) + {s.low - 1}"))
                    else:
                        low = s.low if s.none is None else s.none
                        given.append(w.named(f"({code}) + {low}" if low else code))
                site = context.sites.several(6 + len(machine.leaves))
                function = context.handler(machine, event.name)
                call = f"take_out(t, {box.length}, k) + {function}({', '.join(['t', str(receiver), *given])})"
                self._take(f"delivered({call}, {site})", False)

    def _crashes_between(self) -> None:
        if not self._cuts():
            return
        offered = [c for c in self.context.universe.system.crashes if c.kind == "between writes"]
        texts = [value(self.scope, c.guard) if c.guard is not None else "True" for c in offered]
        self.w.line(f"between = {' or '.join(texts)}")
        self.w.line("writes = 0")

    def _crashes(self) -> None:
        offered = [c for c in self.context.universe.system.crashes if c.kind == "anywhere"]
        w = self.w
        if not offered:
            return
        texts = [value(self.scope, c.guard) if c.guard is not None else "True" for c in offered]
        with w.block(f"if {' or '.join(texts)}:"):
            w.line("n = arrive(t, crash(t), out, n, cap)")
            w.line("copy(s, t)")

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
        texts = [value(self.scope, c.guard) if c.guard is not None else "True" for c in during]
        with w.block(f"if {' or '.join(texts)}:"), w.block("for cut in range(writes if writes > 1 else 1):"):
            with w.block("if cut > 0:"):
                w.line(f"t[{layout.cut}] = cut")
                w.line("f = recover(t)")
                w.line("f = settle(t) if f == 0 else f")
            w.line("n = arrive(t, crash(t), out, n, cap)")
            w.line("copy(s, t)")


def conjuncts(e: m.Expr) -> list[m.Expr]:
    """What must hold, one after the other, for a condition to hold."""
    if isinstance(e, m.Logic) and e.operator == "and":
        return [x for operand in e.operands for x in conjuncts(operand)]
    return [e]


def _plain(t: m.Type, context: Context) -> bool:
    """Has a type every number from its lowest to its highest?"""
    match t:
        case m.SetType(of) | m.OptionalType(of):
            return _plain(of, context)
        case m.RefType(machine):
            of_machine = sorted(context.universe.instances_of(machine))
            return of_machine == list(range(of_machine[0], of_machine[-1] + 1)) if of_machine else False
        case m.ListType():
            return False
        case _:
            return True


def _fresh_function(seen: int, width: int) -> list[str]:
    names = [f"k{n}" for n in range(width)]
    same = " and ".join(f"t[at + {n}] == {name}" for n, name in enumerate(names))
    return [
        f"def fresh(t, {', '.join(names)}):",
        '    """Is this event offered for the first time?"""',
        f"    for n in range(t[{seen}]):",
        f"        at = {seen + 1} + n * {width}",
        f"        if {same}:",
        "            return False",
        f"    if t[{seen}] < {MOST_REPEATED}:",
        f"        at = {seen + 1} + t[{seen}] * {width}",
        *[f"        t[at + {n}] = {name}" for n, name in enumerate(names)],
        f"        t[{seen}] += 1",
        "    return True",
        "",
    ]
