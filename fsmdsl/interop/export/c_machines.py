"""The functions of a machine in C: guards, transitions, the choice among them, and what handles its events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import indent

from fsmdsl import model as m
from fsmdsl.core.selection import Move, Selection
from fsmdsl.core.triggers import CRASH, EVENTLESS
from fsmdsl.interop.export.c_effects import TAB, block, event_function
from fsmdsl.interop.export.c_expressions import expression
from fsmdsl.interop.export.c_scope import CScope, local
from fsmdsl.interop.export.escape import c_comment
from fsmdsl.interop.export.scope import identifier


def leaf_name(scope: CScope, machine: m.Machine, leaf: str) -> str:
    """The constant that stands for a leaf."""
    return identifier("at", scope.machine_name(machine), leaf)


def guard_function(scope: CScope, machine: m.Machine, t: m.Transition) -> str:
    """The function that is a transition's guard."""
    return identifier("guard", scope.machine_name(machine), str(t.index))


def follow_function(scope: CScope, machine: m.Machine, t: m.Transition) -> str:
    """The function that follows a transition."""
    return identifier("follow", scope.machine_name(machine), str(t.index))


def choose_function(scope: CScope, machine: m.Machine, trigger: str) -> str:
    """The function that chooses among the transitions of a trigger."""
    label = {CRASH: "on crash", EVENTLESS: "next"}.get(trigger, trigger)
    kind = "choose" if trigger not in (CRASH, EVENTLESS) else "choose_own"
    return identifier(kind, scope.machine_name(machine), label)


def accepts_function(scope: CScope, machine: m.Machine, event: str) -> str:
    """The function that says whether an event from the environment would be handled."""
    return identifier("accepts", scope.machine_name(machine), event)


def ignored_mask(machine: m.Machine, trigger: str) -> int:
    """The leaves in which an event or answer is ignored, as bits."""
    return sum(1 << machine.leaf_numbers[x] for x in {x.state for x in machine.ignores if x.event == trigger})


def triggers(machine: m.Machine) -> list[str]:
    """Events, answers, `CRASH` and `EVENTLESS`: whatever finds a transition or may be ignored."""
    answers = [f"{a.name}.{o}" for a in machine.actions for o in a.outcomes]
    return [*(e.name for e in machine.events), *answers, CRASH, EVENTLESS]


def prototypes(scope: CScope, machine: m.Machine) -> Iterator[str]:
    """Of what effects call, as machines call one another."""
    for event in machine.events:
        name = event_function(scope, machine.qualified, event.name)
        yield f"static void {name}(int self, const V *a, int misfit, int place);"


def functions(scope: CScope, machine: m.Machine) -> Iterator[str]:
    """All functions of a machine, each a text; the `let`s that they use come before."""
    selection = scope.selections[machine.qualified]
    with scope.read_by(machine.qualified):
        for t in machine.transitions:
            if t.guard is not None:
                yield from with_lets(scope, _guard(scope, machine, t))
        yield from with_lets(scope, "\n\n".join(_hooks(scope, selection)))
        for t in machine.transitions:
            yield from with_lets(scope, _follow(scope, selection, t))
        yield _follow_any(scope, machine)
        yield _before(scope, selection)
        for trigger in triggers(machine):
            yield _choose(scope, selection, trigger)
        for event in machine.events:
            yield _accepts(scope, selection, event)
            yield _deliver(scope, machine, event)
        for a in machine.actions:
            for o in a.outcomes:
                yield _handle(scope, machine, f"{a.name}.{o}")


def with_lets(scope: CScope, text: str) -> Iterator[str]:
    """A function, behind those of the `let`s that it uses and that are new."""
    yield from scope.functions
    scope.functions.clear()
    if text:
        yield text


# Guards and transitions ----------------------------------------------------------------------------------------------


def _bound(scope: CScope, t: m.Transition) -> str:
    """The names in brackets behind the event."""
    names = t.trigger.arguments if isinstance(t.trigger, m.OnEvent) else ()
    return "".join(f"{TAB}V {local(name)} = a[{n}];\n" for n, name in enumerate(names))


def _heading(t: m.Transition) -> str:
    return c_comment(f"{t.source} -> {t.target or '(internal)'} on {t.name}, {t.span}")


def _guard(scope: CScope, machine: m.Machine, t: m.Transition) -> str:
    assert t.guard is not None
    value = expression(scope, scope.elaboration.expression(t.guard))
    name = guard_function(scope, machine, t)
    return f"{_heading(t)}\nstatic V {name}(int self, const V *a)\n{{\n{_bound(scope, t)}{TAB}return {value};\n}}"


def _hooks(scope: CScope, selection: Selection) -> Iterator[str]:
    for (kind, state), effects in selection.hooks.items():
        name = identifier(kind, scope.machine_name(selection.machine), state)
        yield f"static void {name}(int self)\n{{\n{indent(block(scope, effects), TAB)}}}"


def _moves(selection: Selection, t: m.Transition) -> dict[str, Move]:
    """What a transition does, from each leaf."""
    return {leaf: selection.move(leaf, t) for leaf in selection.hierarchy.inside[t.source]}


def _follow(scope: CScope, selection: Selection, t: m.Transition) -> str:
    machine = selection.machine
    name = follow_function(scope, machine, t)
    lines = [f"{_heading(t)}\nstatic void {name}(int self, const V *a)\n{{\n{_bound(scope, t)}"]
    if any(t.index in x.transitions and scope.universe.machines[x.instance] is machine for x in scope.promises):
        lines.append(f"{TAB}happens(self, {t.index});\n")
    if isinstance(t.trigger, m.OnCrash):
        lines.append(indent(block(scope, t.effects), TAB))
        if t.target is not None:
            arrival = selection.hierarchy.arrival(t)
            assert arrival is not None
            lines.append(f"{TAB}w.state[self] = {leaf_name(scope, machine, arrival)};\n")
        return "".join([*lines, "}"])
    lines.append(f"{TAB}begin(self);\n")
    moves = _moves(selection, t)
    lines.append(_exits(scope, selection, moves))
    lines.append(indent(block(scope, t.effects), TAB))
    move = next(iter(moves.values()))
    if move.target is not None:
        lines.append(f"{TAB}w.state[self] = {leaf_name(scope, machine, move.target)};\n{TAB}wrote();\n")
        for state in move.entered:
            if ("entry", state) in selection.hooks:
                lines.append(f"{TAB}{identifier('entry', scope.machine_name(machine), state)}(self);\n")
    waits = not isinstance(t.trigger, m.OnEvent | m.OnTimer)
    lines.append(f"{TAB}end(self, {int(waits)});\n}}")
    return "".join(lines)


def _exits(scope: CScope, selection: Selection, moves: dict[str, Move]) -> str:
    machine = selection.machine
    lines = []
    for leaf, move in moves.items():
        left = [s for s in move.left if ("exit", s) in selection.hooks]
        if left:
            calls = " ".join(f"{identifier('exit', scope.machine_name(machine), s)}(self);" for s in left)
            lines.append(f"{TAB}case {leaf_name(scope, machine, leaf)}: {calls} break;\n")
    return f"{TAB}switch (w.state[self]) {{\n{''.join(lines)}{TAB}}}\n" if lines else ""


def _follow_any(scope: CScope, machine: m.Machine) -> str:
    """Follow a transition by its number."""
    cases = "".join(
        f"{TAB}case {t.index}: {follow_function(scope, machine, t)}(self, a); break;\n" for t in machine.transitions
    )
    name = identifier("follow", scope.machine_name(machine))
    return f"static void {name}(int self, int t, const V *a)\n{{\n{TAB}switch (t) {{\n{cases}{TAB}}}\n}}"


# The choice ----------------------------------------------------------------------------------------------------------


def _before(scope: CScope, selection: Selection) -> str:
    """The priority relation between transitions, and the place of each in the source."""
    machine, name = selection.machine, scope.machine_name(selection.machine)
    transitions = machine.transitions
    rows = ", ".join(
        f'"{"".join(str(int(selection.priority.before(a, b))) for b in transitions)}"' for a in transitions
    )
    places = ", ".join(str(scope.place(t.span)) for t in transitions)
    before = f"static const char *before_{name}[] = {{{rows or '0'}}};"
    return f"{before}\nstatic const int places_{name}[] = {{{places or '0'}}};"


def _choose(scope: CScope, selection: Selection, trigger: str) -> str:
    """The transition to follow, or -1."""
    machine, name = selection.machine, scope.machine_name(selection.machine)
    lines = [f"static int {choose_function(scope, machine, trigger)}(int self, const V *a)\n{{\n"]
    lines.append(f"{TAB}int found[{max(len(machine.transitions), 1)}], n;\n{TAB}switch (w.state[self]) {{\n")
    for group in selection.groups(trigger):
        lines += [f"{TAB}case {leaf_name(scope, machine, leaf)}:\n" for leaf in group.leaves]
        lines += [_level(scope, machine, name, level) for level in group.levels]
        lines.append(f"{TAB * 2}return -1;\n")
    return "".join([*lines, f"{TAB}}}\n{TAB}return -1;\n}}"])


def _level(scope: CScope, machine: m.Machine, name: str, level: Sequence[m.Transition]) -> str:
    lines = [f"{TAB * 2}n = 0;\n"]
    for t in level:
        test = "" if t.guard is None else f"if ({guard_function(scope, machine, t)}(self, a)) "
        lines.append(f"{TAB * 2}{test}found[n++] = {t.index};\n")
    return "".join([*lines, f"{TAB * 2}if (n) return preferred(before_{name}, places_{name}, found, n);\n"])


def _accepts(scope: CScope, selection: Selection, event: m.Event) -> str:
    machine = selection.machine
    name = accepts_function(scope, machine, event.name)
    lines = [f"static int {name}(int self, const V *a)\n{{\n{TAB}switch (w.state[self]) {{\n"]
    for leaf in machine.leaves:
        transitions = selection.candidates(leaf.name, event.name)
        if transitions:
            test = " || ".join(
                "1" if t.guard is None else f"may({guard_function(scope, machine, t)}, self, a)" for t in transitions
            )
            lines.append(f"{TAB}case {leaf_name(scope, machine, leaf.name)}: return {test};\n")
    return "".join([*lines, f"{TAB}}}\n{TAB}return 0;\n}}"])


# Handling ------------------------------------------------------------------------------------------------------------


def _handling(scope: CScope, machine: m.Machine, trigger: str) -> str:
    name, mask = scope.machine_name(machine), ignored_mask(machine, trigger)
    promises = _ignoring(scope, machine, trigger)
    bits = [f"{TAB}else if (self == {i}) happened |= {bits}LL;\n" for i, bits in promises]
    return (
        f"{TAB}int t = {choose_function(scope, machine, trigger)}(self, a);\n"
        f"{TAB}if (t >= 0) follow_{name}(self, t, a);\n"
        f"{TAB}else if (!({mask}ULL >> w.state[self] & 1)) fail(UNHANDLED_FAULT, place);\n" + "".join(bits)
    )


def _ignoring(scope: CScope, machine: m.Machine, trigger: str) -> list[tuple[int, int]]:
    """For each instance, the promises that it keeps by ignoring an event, as bits."""
    promises: dict[int, int] = {}
    for n, x in enumerate(scope.promises):
        if trigger in x.ignored and scope.universe.machines[x.instance] is machine:
            promises[x.instance] = promises.get(x.instance, 0) | 1 << n
    return list(promises.items())


def _deliver(scope: CScope, machine: m.Machine, event: m.Event) -> str:
    name = event_function(scope, machine.qualified, event.name)
    head = c_comment(f"{event.name}, {event.span}")
    return (
        f"{head}\nstatic void {name}(int self, const V *a, int misfit, int place)\n{{\n"
        f"{TAB}receive(self, misfit, place);\n{_in_place(_handling(scope, machine, event.name))}}}"
    )


def _in_place(text: str) -> str:
    """In a block, as declarations come first in C."""
    return f"{TAB}{{\n{indent(text, TAB)}{TAB}}}\n"


def _handle(scope: CScope, machine: m.Machine, trigger: str) -> str:
    name = identifier("answer", scope.machine_name(machine), trigger)
    return (
        f"{c_comment(trigger)}\nstatic void {name}(int self, const V *a, int misfit, int place)\n{{\n"
        f"{TAB}touched |= 1LL << self;\n{_in_place(_handling(scope, machine, trigger))}}}"
    )
