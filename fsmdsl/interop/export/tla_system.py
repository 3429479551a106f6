"""What a system adds to its machines in TLA+: dispatch by instance, the environment, crashes, the first world."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fsmdsl import model as m
from fsmdsl.core.triggers import CRASH, EVENTLESS
from fsmdsl.interop.export import tla_machines as tm
from fsmdsl.interop.export.escape import tla_comment
from fsmdsl.interop.export.scope import identifier
from fsmdsl.interop.export.tla_effects import event_operator, performed
from fsmdsl.interop.export.tla_expressions import FINE, chain, fault, reference_fault, value
from fsmdsl.interop.export.tla_scope import Env, TlaScope
from fsmdsl.interop.export.tla_values import constant, function
from fsmdsl.model.typing import element
from fsmdsl.step import World
from fsmdsl.step.universe import flag

SYSTEM = Env(self="(-1)")
"""Where the system itself reads."""


def constants(scope: TlaScope) -> Iterator[str]:
    """What every operator may name: parameters of machines, and what channels are."""
    u = scope.universe
    names = ", ".join(f"{n} {x.name}" for n, x in enumerate(u.system.instances))
    yield tla_comment(f"Instances by number: {names}")
    yield f"Instances == {len(u.machines)}"
    yield f"Ordinal == {function({n: str(x.index) for n, x in enumerate(u.system.instances)})}"
    for machine in scope.machines:
        for p in machine.params:
            values = {n: constant(p.type, u.params[n][p.name]) for n in scope.numbers(machine)}
            yield f"{identifier(scope.machine_name(machine), p.name)} == {function(values)}"

    def per_channel(test: Callable[[m.Channel], object]) -> str:
        return f"<<{', '.join(str(test(c)).upper() for c, *_ in u.queues)}>>"

    yield f"Fifo == {per_channel(lambda c: c.order == 'fifo')}"
    yield f"Bound == {per_channel(lambda c: c.bound)}"
    yield f"Lossy == {per_channel(lambda c: c.lossy)}"
    yield f"Duplicating == {per_channel(lambda c: c.duplicating)}"
    yield f"Patient == {per_channel(lambda c: c.waiting)}"
    yield f"Receiver == <<{', '.join(str(x.receiver) for x in u.queues)}>>"


def dispatch(scope: TlaScope) -> Iterator[str]:
    """Operators that know which machine an instance is of."""

    def each(text: Callable[[m.Machine], str], otherwise: str) -> str:
        cases = [f"{_is(scope, 'i', x)} -> {text(x)}" for x in scope.machines]
        return tm.case(cases, otherwise)

    none = '<<"none", 0, 0>>'
    for name, trigger in (("ChooseNext", EVENTLESS), ("ChooseCrash", CRASH)):
        chosen = each(lambda x, t=trigger: f"{tm.choose_operator(scope, x, t)}(w, i, <<>>)", none)  # type: ignore[misc]
        yield f"{name}(w, i) == {chosen}"
    yield f"Follow(w, i, t, a) == {each(lambda x: f'follow_{scope.machine_name(x)}(w, i, t, a)', 'w')}"
    yield f"TransitionPlace(i, t) == {each(lambda x: f'places_{scope.machine_name(x)}[t + 1]', '0')}"
    events, answers = [], []
    for x in scope.machines:
        for e in x.events:
            call = f"{event_operator(scope, x.qualified, e.name)}(w, i, a, {scope.place(e.span)})"
            events.append(f'{_is(scope, "i", x)} /\\ e = "{e.name}" -> {call}')
        for a in x.actions:
            for o in a.outcomes:
                call = identifier("answer", scope.machine_name(x), f"{a.name}.{o}")
                test = f'{_is(scope, "i", x)} /\\ act = "{a.name}" /\\ o = "{o}"'
                answers.append(f"{test} -> {call}(w, i, <<>>, {scope.place(a.span)})")
    yield f"Deliver(w, i, e, a) == {tm.case(events, 'w')}"
    yield f"Answer(w, i, act, o) == {tm.case(answers, 'w')}"
    yield from _actions(scope)
    yield f"Receive(w, c, e, a) == {tm.case(list(_receipts(scope)), 'w')}"
    yield f"Takes(w, c, e, a) == {tm.case(list(_takes(scope)), 'TRUE')}"


def _is(scope: TlaScope, i: str, machine: m.Machine) -> str:
    return f"{i} \\in {{{', '.join(map(str, scope.numbers(machine)))}}}"


def _receipts(scope: TlaScope) -> Iterator[str]:
    for n, (c, *_) in enumerate(scope.universe.queues):
        machine = scope.universe.model.machines[c.receiver]
        for e in machine.events:
            call = f"{event_operator(scope, c.receiver, e.name)}(w, Receiver[c], a, {scope.place(c.span)})"
            yield f'c = {n + 1} /\\ e = "{e.name}" -> {call}'


def _takes(scope: TlaScope) -> Iterator[str]:
    """Where a message of a channel that waits is handled, or ignored on purpose."""
    for n, (c, *_) in enumerate(scope.universe.queues):
        machine = scope.universe.model.machines[c.receiver]
        for e in machine.events if c.waiting else ():
            accepts = f"{tm.accepts_operator(scope, machine, e.name)}(w, Receiver[c], a)"
            ignored = tm.ignoring(machine, e.name)
            yield f'c = {n + 1} /\\ e = "{e.name}" -> {accepts} \\/ w.state[Receiver[c]] \\in {ignored}'


def _actions(scope: TlaScope) -> Iterator[str]:
    outcomes, waits = [], []
    for x in scope.machines:
        for a in x.actions:
            test = f'{_is(scope, "p[1]", x)} /\\ p[2] = "{a.name}"'
            texts = ", ".join(f'"{o}"' for o in a.outcomes)
            outcomes.append(f"{test} -> {{{texts}}}")
            waits.append(f"{test} -> {str(a.asynchronous).upper()}")
    yield f"Outcomes(p) == {tm.case(outcomes, '{}')}"
    yield f"Asynchronous(p) == {tm.case(waits, 'FALSE')}"


# What can come -------------------------------------------------------------------------------------------------------


def environment(scope: TlaScope) -> Iterator[str]:
    """Events and timers."""
    yield from _offered(scope)
    yield from _timers(scope)


def crashes(scope: TlaScope) -> Iterator[str]:
    """When the system can crash: at any time, inside a step, inside the recovery."""
    steps, recovery = list[str](), list[str]()
    bad, bad_recovery = list[str](), list[str]()
    for o in scope.universe.system.crashes:
        guard = None if o.guard is None else scope.elaboration.expression(o.guard)
        bad_guard = FINE if guard is None else fault(scope, guard, SYSTEM)
        test = "TRUE" if guard is None else _valued(bad_guard, value(scope, guard, SYSTEM))
        what = {"anywhere": "Anytime", "between writes": "Cuts(w, steps)", "during recovery": "CutRecovery(w)"}[o.kind]
        inside = o.kind == "during recovery"
        (recovery if inside else steps).append(f"(IF {test} THEN {what} ELSE {{}})")
        if bad_guard != FINE:
            (bad_recovery if inside else bad).append(f"{{{bad_guard}}}")
    for crash in scope.universe.system.process_crashes:
        text, failing = _offer(scope, crash, 0, SYSTEM, {})
        steps.append(text)
        bad += failing
    yield from tm.with_lets(scope, f"Crashes(w, steps) == {_union(steps)}")
    yield f"RecoveryCrashes(w) == {_union(recovery)}"
    yield f"CrashFaults(w) == {_faults(bad)}"
    yield f"RecoveryFaults(w) == {_faults(bad_recovery)}"


def _valued(bad: str, test: str) -> str:
    """A condition that is false where it has no value."""
    return test if bad == FINE else f"({bad} = 0 /\\ {test})"


def _faults(parts: list[str]) -> str:
    """The places of faults in sets that have 0 where there is none."""
    return f"({_union(parts)}) \\ {{0}}" if parts else "{}"


def _union(parts: list[str]) -> str:
    return " \\cup ".join(parts) or "{}"


def recovery(scope: TlaScope) -> Iterator[str]:
    """What a crash takes back and where it finds instances, and the `recover` block."""
    u = scope.universe
    text = performed(scope, u.system.recover or (), SYSTEM)
    yield from tm.with_lets(scope, f"Recover(w) == {text}")
    yield f"Recovers == {str(u.system.recover is not None).upper()}"
    empty = ", ".join("<<>>" if c.order == "fifo" else "{}" for c, *_ in u.queues)
    everything = ["!.pending = <<>>", "!.waited = {}", f"!.channels = <<{empty}>>"]
    alone = ["!.pending = SelectSeq(@, LAMBDA p : p[1] \\notin of)", "!.waited = @ \\ of"]
    for x in scope.machines:
        for slot, f in enumerate(x.fields):
            if not f.durable:
                name, first = identifier(scope.machine_name(x), f.name), _first_values(scope, x, slot, f)
                everything.append(f"!.{name} = {first}")
                at = f"[n \\in DOMAIN @ |-> IF n \\in of THEN ({first})[n] ELSE @[n]]"
                alone.append(f"!.{name} = {at}")
    whole = f"[w EXCEPT {', '.join(everything)}]"
    some = f"\n  IF of = {{}} THEN {whole}\n  ELSE [w EXCEPT {', '.join(alone)}]"
    yield f"Reset(w, of) == {some if u.system.process_crashes else whole}"

    def leaves(x: m.Machine, test: Callable[[m.State], bool]) -> str:
        names = (s.name for s in x.leaves if test(s))
        return "{" + ", ".join(f'"{name}"' for name in names) + "}"

    def fleeting(x: m.Machine) -> str:
        return leaves(x, lambda s: flag(x, s.name) in ("volatile", "transient"))

    yield f"Fleeting == {function({n: fleeting(x) for n, x in enumerate(u.machines)})}"
    yield f"Final == {function({n: leaves(x, lambda s: s.final) for n, x in enumerate(u.machines)})}"
    places = [
        f'{_is(scope, "i", x)} /\\ s = "{s.name}" -> {scope.place(s.span)}' for x in scope.machines for s in x.leaves
    ]
    yield f"LeafPlace(i, s) == {tm.case(places, '0')}"


def _offered(scope: TlaScope) -> Iterator[str]:
    offers = scope.universe.system.offers
    parts, bad = [], []
    if offers is None:
        for instance, event, combinations in scope.universe.unrestricted:
            machine = scope.universe.machines[instance]
            types = [p.type for p in machine.event_named[event].parameters]
            rows = ", ".join(
                f"<<{', '.join(constant(t, x) for t, x in zip(types, row, strict=True))}>>" for row in combinations
            )
            accepts = f"{tm.accepts_operator(scope, machine, event)}(w, {instance}, a)"
            parts.append(f'{{<<"event", {instance}, "{event}", a>> : a \\in {{a \\in {{{rows}}} : {accepts}}}}}')
    else:
        for o in offers:
            text, failing = _offer(scope, o, 0, SYSTEM, {})
            parts.append(text)
            bad += failing
    yield from tm.with_lets(scope, f"Offered(w) ==\n  {_union([f'{x}' + chr(10) + ' ' for x in parts])}")
    yield f"OfferFaults(w) == {_faults(bad)}"


def _offer(
    scope: TlaScope, o: m.Offer | m.ProcessCrash, depth: int, env: Env, types: dict[str, m.Type]
) -> tuple[str, list[str]]:
    """The steps of a line of the environment, for all values of its variables from one on, and sets of the faults
    there. What has no value is not offered."""
    if depth < len(o.variables):
        name, written = o.variables[depth]
        over = scope.elaboration.expression(written, types)
        x, inner = env.bind(name)
        text, bad = _offer(scope, o, depth + 1, inner, {**types, name: element(over.type)})
        members, missing = value(scope, over, env), fault(scope, over, env)
        if isinstance(over.type, m.ListType):
            n = scope.fresh("i")
            members = f"{{{members}[{n}] : {n} \\in DOMAIN {members}}}"
        if missing != FINE:
            members = f"(IF {missing} = 0 THEN {members} ELSE {{}})"
        inside = [f"UNION {{{y} : {x} \\in {members}}}" for y in (text, *bad)]
        return inside[0], [*inside[1:], *([f"{{{missing}}}"] if missing != FINE else [])]
    guard = None if o.guard is None else scope.elaboration.expression(o.guard, types)
    tests, step, bad_step = _sent(scope, o, env, types) if isinstance(o, m.Offer) else _struck(scope, o, env, types)
    missing = bad_step
    if guard is not None:
        holds = value(scope, guard, env)
        tests = [holds, *tests]
        missing = chain(
            scope, [fault(scope, guard, env), FINE if bad_step == FINE else f"(IF {holds} THEN {bad_step} ELSE 0)"]
        )
    test = _valued(missing, " /\\ ".join(tests) or "TRUE")
    return f"(IF {test} THEN {{{step}}} ELSE {{}})", [] if missing == FINE else [f"{{{missing}}}"]


def _sent(scope: TlaScope, o: m.Offer, env: Env, types: dict[str, m.Type]) -> tuple[list[str], str, str]:
    """When an event comes, the step, and its fault."""
    target = scope.elaboration.expression(o.target, types)
    expressions = [scope.elaboration.expression(a, types) for a in o.arguments]
    bad = chain(scope, [reference_fault(scope, target, env), *(fault(scope, a, env) for a in expressions)])
    arguments = f"<<{', '.join(value(scope, a, env) for a in expressions)}>>"
    target_text = value(scope, target, env)
    machine = scope.universe.model.machines[o.machine]
    accepts = f"{tm.accepts_operator(scope, machine, o.event)}(w, {target_text}, {arguments})"
    return [accepts], f'<<"event", {target_text}, "{o.event}", {arguments}>>', bad


def _struck(scope: TlaScope, o: m.ProcessCrash, env: Env, types: dict[str, m.Type]) -> tuple[list[str], str, str]:
    """The same for the crash of some instances, which always comes."""
    targets = [scope.elaboration.expression(x, types) for x in o.targets]
    bad = chain(scope, [reference_fault(scope, x, env) for x in targets])
    return [], f'<<"crash", <<"none">>, 0, {{{", ".join(value(scope, x, env) for x in targets)}}}>>', bad


def _timers(scope: TlaScope) -> Iterator[str]:
    parts, guards = [], []
    for machine in scope.machines:
        selection = scope.selections[machine.qualified]
        cases = []
        for leaf in machine.leaves:
            timers = selection.timers(selection.hierarchy.around[leaf.name])
            if timers:
                steps = ", ".join(f'<<"timer", i, {t.index}>>' for t in timers)
                cases.append(f'w.state[i] = "{leaf.name}" -> {{{steps}}}')
            for t in timers:
                if t.guard is not None:
                    call = f"{tm.guard_operator(scope, machine, t)}(w, i, <<>>)"
                    guards.append(f"{_is(scope, 'i', machine)} /\\ t = {t.index} -> {call}")
        if cases:
            numbers = ", ".join(map(str, scope.numbers(machine)))
            parts.append(f"UNION {{{tm.case(cases, '{}')} : i \\in {{i \\in {{{numbers}}} : ~Awaits(w, i)}}}}")
    yield f"TimerGuard(w, i, t) == {tm.case(list(dict.fromkeys(guards)), '1')}"
    yield f"Timers(w) == {{s \\in {_union(parts)} : TimerGuard(w, s[2], s[3]) # 0}}"


def first_world(scope: TlaScope) -> str:
    """The world in which everything begins."""
    u = scope.universe
    start = u.starts[0]
    parts = [f"state |-> {function({n: chr(34) + s + chr(34) for n, s in enumerate(start.states)})}"]
    for machine in scope.machines:
        for slot, f in enumerate(machine.fields):
            parts.append(
                f"{identifier(scope.machine_name(machine), f.name)} |-> {_first_values(scope, machine, slot, f)}"
            )
    empty = ", ".join("<<>>" if c.order == "fifo" else "{}" for c, *_ in u.queues)
    parts += [
        "waited |-> {}", f"channels |-> <<{empty}>>", "pending |-> <<>>", "down |-> FALSE", "busy |-> {}",
        "touched |-> {}", "writes |-> 0", "cut |-> 0", 'stop |-> ""', "fault |-> <<>>",
    ]  # fmt: skip
    first_fault = "" if u.fault is None else f'"fault", "{u.fault.kind}", {scope.place(u.fault.span)}'
    first = f"First == [{', '.join(parts)}]\n"
    if len(u.starts) > 1:
        first += f"Firsts == {{{', '.join(['First', *(_other(scope, x) for x in u.starts[1:])])}}}\n"
    return f"{first}{tla_comment('A first value that does not fit.')}\nFirstFault == <<{first_fault}>>"


def _other(scope: TlaScope, world: World) -> str:
    """Another first world: what it has otherwise than the first."""
    start = scope.universe.starts[0]
    changed = [f'!.state[{n}] = "{s}"' for n, s in enumerate(world.states) if s != start.states[n]]
    for n, machine in enumerate(scope.universe.machines):
        for f, begun, before in zip(machine.fields, world.fields[n], start.fields[n], strict=True):
            if begun != before:
                changed.append(f"!.{identifier(scope.machine_name(machine), f.name)}[{n}] = {constant(f.type, begun)}")
    return f"[First EXCEPT {', '.join(changed)}]"


def _first_values(scope: TlaScope, machine: m.Machine, slot: int, f: m.Field) -> str:
    """Of a field, in all instances."""
    start = scope.universe.starts[0]
    return function({n: constant(f.type, start.fields[n][slot]) for n in scope.numbers(machine)})
