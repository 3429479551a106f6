"""The operators of a machine in TLA+: guards, transitions, the choice among them, and what handles its events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fsmdsl import model as m
from fsmdsl.core.selection import Selection
from fsmdsl.core.triggers import CRASH, EVENTLESS
from fsmdsl.interop.export.escape import tla_comment
from fsmdsl.interop.export.scope import identifier
from fsmdsl.interop.export.tla_effects import arguments_misfit, event_operator, performed, then
from fsmdsl.interop.export.tla_expressions import FINE, fault, value
from fsmdsl.interop.export.tla_scope import Env, TlaScope
from fsmdsl.model.depth import DEEPEST_CASCADE

Step = Callable[[str], str]


def triggers(machine: m.Machine) -> list[str]:
    """Events, answers, `CRASH` and `EVENTLESS`: whatever finds a transition or may be ignored."""
    answers = [f"{a.name}.{o}" for a in machine.actions for o in a.outcomes]
    return [*(e.name for e in machine.events), *answers, CRASH, EVENTLESS]


def follow_operator(scope: TlaScope, machine: m.Machine, t: m.Transition) -> str:
    """What follows a transition."""
    return identifier("follow", scope.machine_name(machine), str(t.index))


def guard_operator(scope: TlaScope, machine: m.Machine, t: m.Transition) -> str:
    """A guard: 1, 0, or the place where it has no value, negative."""
    return identifier("guard", scope.machine_name(machine), str(t.index))


def choose_operator(scope: TlaScope, machine: m.Machine, trigger: str) -> str:
    """The choice among the transitions of a trigger."""
    label = {CRASH: "crash", EVENTLESS: "next"}.get(trigger)
    return identifier("choose" if label is None else "own", scope.machine_name(machine), label or trigger)


def operators(scope: TlaScope, machine: m.Machine) -> Iterator[str]:
    """All operators of a machine, each a text behind those of the `let`s and loops that it uses."""
    selection = scope.selections[machine.qualified]
    name = scope.machine_name(machine)
    with scope.read_by(machine.qualified):
        for t in machine.transitions:
            if t.guard is not None:
                yield from with_lets(scope, _guard(scope, machine, t))
        for (kind, state), effects in selection.hooks.items():
            text = f"{identifier(kind, name, state)}(w, self) == {performed(scope, effects, Env())}"
            yield from with_lets(scope, text)
        for t in machine.transitions:
            yield from with_lets(scope, _follow(scope, selection, t))
        cases = [f"t = {t.index} -> {follow_operator(scope, machine, t)}(w, self, a)" for t in machine.transitions]
        yield f"follow_{name}(w, self, t, a) == {case(cases, 'w')}"
        yield _tables(scope, selection)
        for trigger in triggers(machine):
            yield _choose(scope, selection, trigger)
        for event in machine.events:
            yield _accepts(scope, selection, event)
            yield _deliver(scope, machine, event)
        for a in machine.actions:
            for o in a.outcomes:
                text = _handling(scope, machine, f"{a.name}.{o}", "[w EXCEPT !.touched = @ \\cup {self}]")
                yield f"{identifier('answer', name, f'{a.name}.{o}')}(w, self, a, place) == {text}"


def with_lets(scope: TlaScope, text: str) -> Iterator[str]:
    """An operator, behind those that it uses and that are new."""
    yield from scope.operators
    scope.operators.clear()
    yield text


def case(cases: Sequence[str], otherwise: str) -> str:
    """`CASE`, with an end."""
    return f"CASE {' [] '.join(cases)} [] OTHER -> {otherwise}" if cases else otherwise


def declared(scope: TlaScope) -> Iterator[str]:
    """What may lead back to itself, and is declared before it is defined."""
    for machine in scope.machines:
        name = scope.machine_name(machine)
        yield f"follow_{name}(_, _, _, _)"
        for event in machine.events:
            yield f"{event_operator(scope, machine.qualified, event.name)}(_, _, _, _)"
    yield from scope.recursive


def _bound(scope: TlaScope, t: m.Transition) -> tuple[Env, str]:
    """The names in brackets behind the event: where they are read, and their definitions."""
    env, definitions = Env(), []
    for n, name in enumerate(t.trigger.arguments if isinstance(t.trigger, m.OnEvent) else ()):
        x, env = env.bind(name)
        definitions.append(f"{x} == a[{n + 1}]")
    return env, f"LET {' '.join(definitions)} IN " if definitions else ""


def _heading(t: m.Transition) -> str:
    return tla_comment(f"{t.source} -> {t.target or '(internal)'} on {t.name}, {t.span}") + "\n"


def _guard(scope: TlaScope, machine: m.Machine, t: m.Transition) -> str:
    assert t.guard is not None
    env, definitions = _bound(scope, t)
    e = scope.elaboration.expression(t.guard)
    text, bad = f"IF {value(scope, e, env)} THEN 1 ELSE 0", fault(scope, e, env)
    if bad != FINE:
        n = scope.fresh("f")
        text = f"LET {n} == {bad} IN IF {n} # 0 THEN -{n} ELSE {text}"
    return f"{_heading(t)}{guard_operator(scope, machine, t)}(w, self, a) == {definitions}{text}"


def _follow(scope: TlaScope, selection: Selection, t: m.Transition) -> str:
    machine, name = selection.machine, scope.machine_name(selection.machine)
    env, definitions = _bound(scope, t)
    head = f"{_heading(t)}{follow_operator(scope, machine, t)}(w, self, a) == {definitions}"

    def effects(w: str) -> str:
        return performed(scope, t.effects, env.at(w))

    arrival = selection.hierarchy.arrival(t)
    if isinstance(t.trigger, m.OnCrash):
        moved: list[Step] = [] if arrival is None else [lambda w: f'[{w} EXCEPT !.state[self] = "{arrival}"]']
        return head + then(scope, "w", [effects, *moved])
    steps: list[Step] = [lambda w: f"Begin({w}, self)", _exits(selection, t, name), effects]
    if arrival is not None:
        steps.append(lambda w: f'Wrote([{w} EXCEPT !.state[self] = "{arrival}"])')
    for state in selection.hierarchy.arrived(t):
        if ("entry", state) in selection.hooks:
            entry = identifier("entry", name, state)
            steps.append(lambda w, entry=entry: f"{entry}({w}, self)")  # type: ignore[misc]
    waits = str(not isinstance(t.trigger, m.OnEvent | m.OnTimer)).upper()
    steps.append(lambda w: f"End({w}, self, {waits})")
    return head + then(scope, "w", steps)


def _exits(selection: Selection, t: m.Transition, name: str) -> Step:
    """The effects of the states that are left, which depend on the leaf."""

    def step(w: str) -> str:
        cases = []
        for leaf in selection.hierarchy.inside[t.source]:
            text = w
            for s in selection.move(leaf, t).left:
                if ("exit", s) in selection.hooks:
                    call = f"{identifier('exit', name, s)}({{}}, self)"
                    left = call.format(text)
                    text = left if text == w else f'(LET e == {text} IN IF e.stop # "" THEN e ELSE {call.format("e")})'
            if text != w:
                cases.append(f'{w}.state[self] = "{leaf}" -> {text}')
        return f"({case(cases, w)})"

    return step


def _tables(scope: TlaScope, selection: Selection) -> str:
    """The priority relation between transitions, and the place of each in the source."""
    name, transitions = scope.machine_name(selection.machine), selection.machine.transitions
    pairs = ", ".join(
        f"<<{a.index}, {b.index}>>" for a in transitions for b in transitions if selection.priority.before(a, b)
    )
    places = ", ".join(str(scope.place(t.span)) for t in transitions)
    return f"before_{name} == {{{pairs}}}\nplaces_{name} == <<{places}>>"


def _choose(scope: TlaScope, selection: Selection, trigger: str) -> str:
    machine, name = selection.machine, scope.machine_name(selection.machine)
    cases = []
    for group in selection.groups(trigger):
        text = ""
        for level in reversed(group.levels):
            options = ", ".join(f"<<{t.index}, {_guard_call(scope, machine, t)}>>" for t in level)
            pick, n = f"Pick(before_{name}, places_{name}, <<{options}>>)", scope.fresh("p")
            text = f'(LET {n} == {pick} IN IF {n}[1] # "none" THEN {n} ELSE {text})' if text else pick
        names = ", ".join(f'"{x}"' for x in group.leaves)
        cases.append(f"w.state[self] \\in {{{names}}} -> {text}")
    text = case(cases, '<<"none", 0, 0>>')
    return f"{choose_operator(scope, machine, trigger)}(w, self, a) == {text}"


def _guard_call(scope: TlaScope, machine: m.Machine, t: m.Transition) -> str:
    return "1" if t.guard is None else f"{guard_operator(scope, machine, t)}(w, self, a)"


def accepts_operator(scope: TlaScope, machine: m.Machine, event: str) -> str:
    """The operator that says whether an instance would handle an event."""
    return identifier("accepts", scope.machine_name(machine), event)


def ignoring(machine: m.Machine, trigger: str) -> str:
    """The set of leaves in which an event or answer is ignored."""
    return "{" + ", ".join(sorted({f'"{x.state}"' for x in machine.ignores if x.event == trigger})) + "}"


def _accepts(scope: TlaScope, selection: Selection, event: m.Event) -> str:
    machine = selection.machine
    cases = []
    for leaf in machine.leaves:
        transitions = selection.candidates(leaf.name, event.name)
        if transitions:
            test = " \\/ ".join(
                "TRUE" if t.guard is None else f"{_guard_call(scope, machine, t)} # 0" for t in transitions
            )
            cases.append(f'w.state[self] = "{leaf.name}" -> {test}')
    return (
        f"{accepts_operator(scope, machine, event.name)}(w, self, a) == ~Awaits(w, self) /\\ ({case(cases, 'FALSE')})"
    )


def _handling(scope: TlaScope, machine: m.Machine, trigger: str, start: str = "w") -> str:
    name = scope.machine_name(machine)
    p, w = scope.fresh("p"), scope.fresh("w")
    return (
        f"LET {w} == {start} {p} == {choose_operator(scope, machine, trigger)}({w}, self, a) IN "
        f'IF {p}[1] = "fault" THEN Fail({w}, {p}[2], {p}[3]) '
        f'ELSE IF {p}[1] = "follow" THEN follow_{name}({w}, self, {p}[2], a) '
        f'ELSE IF {w}.state[self] \\in {ignoring(machine, trigger)} THEN {w} ELSE Fail({w}, "unhandled", place)'
    )


def _deliver(scope: TlaScope, machine: m.Machine, event: m.Event) -> str:
    name = event_operator(scope, machine.qualified, event.name)
    why, n = arguments_misfit(scope, event.parameters, "a"), scope.fresh("m")
    handled = _handling(scope, machine, event.name)
    if why != '""':
        handled = f'LET {n} == {why} IN IF {n} # "" THEN Fail(w, {n}, place) ELSE {handled}'
    nested = f'IF Cardinality(w.busy) > {DEEPEST_CASCADE} THEN Fail(w, "endless", place) ELSE '
    return (
        f"{tla_comment(f'{event.name}, {event.span}')}\n{name}(w, self, a, place) == "
        f'IF self \\in w.busy THEN Fail(w, "reentrance", place) '
        f"ELSE {nested if len(scope.universe.machines) > DEEPEST_CASCADE + 1 else ''}"
        f'IF Awaits(w, self) THEN Fail(w, "busy", place) ELSE {handled}'
    )
