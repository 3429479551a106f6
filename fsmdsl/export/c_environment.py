"""What can come next, in C: events of the environment, timers, crashes."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.export import c_machines as cm
from fsmdsl.export.c_effects import TAB, event_function, set_arguments
from fsmdsl.export.c_expressions import expression, loop, number, reference
from fsmdsl.export.c_scope import CScope, local
from fsmdsl.export.escape import c_comment
from fsmdsl.model.typing import element
from fsmdsl.step.values import domains


def events(scope: CScope) -> Iterator[str]:
    """The function `offered`, and one for each line of the environment."""
    offers = scope.universe.system.offers
    calls = []
    if offers is None:
        for instance, event, _ in scope.universe.unrestricted:
            calls.append(f"{TAB}{{ {_unrestricted(scope, instance, event)} }}\n")
    else:
        for n, o in enumerate(offers):
            yield from cm.with_lets(scope, _offer(scope, n, o))
            calls.append(f"{TAB}offer_{n}(-1);\n")
    yield f"static void offered(void)\n{{\n{''.join(calls)}}}"


def _unrestricted(scope: CScope, instance: int, event: str) -> str:
    machine = scope.universe.machines[instance]
    types = [p.type for p in machine.event_named[event].parameters]
    found = domains(types, scope.universe)
    name = cm.accepts_function(scope, machine, event)
    constant = f"{event_function(scope, machine.qualified, event)}_event"
    rows = ", ".join(
        "{" + ", ".join(number(scope.values.number(t, x)) for t, x in zip(types, row, strict=True)) + "}"
        for row in found
    )
    table = f"static const V all[][ARGUMENTS] = {{{rows}}};" if types else "static const V all[1][ARGUMENTS];"
    act = f"if ({name}({instance}, all[i])) add_event({instance}, {constant}, all[i], 0);"
    return f"{table} int i; if (!awaits({instance})) for (i = 0; i < {len(found)}; i++) {act}" if found else ""


def _offer(scope: CScope, n: int, o: m.Offer) -> str:
    """A line of the environment: for all values of its variables, the event, where it is handled."""
    head, tail, types = _choices(scope, o)
    target = reference(scope, scope.elaboration.expression(o.target, types))
    machine = scope.universe.model.machines[o.machine]
    given = [scope.elaboration.expression(x, types) for x in o.arguments]
    set_up = set_arguments(scope, given, [p.type for p in machine.event_named[o.event].parameters], keep=True)
    constant = f"{event_function(scope, o.machine, o.event)}_event"
    accepts = f"!awaits(t) && {cm.accepts_function(scope, machine, o.event)}(t, a)"
    act = f"{{ V t = {target}; {set_up}\n{TAB * 2}if ({accepts}) add_event(t, {constant}, a, misfit); }}"
    return f"{c_comment(f'{o.event}, {o.span}')}\nstatic void offer_{n}(int self)\n{{\n{TAB}{head}{act}{tail}\n}}"


def _choices(scope: CScope, o: m.Offer | m.ProcessCrash) -> tuple[str, str, dict[str, m.Type]]:
    """What stands before and behind the act of a line of the environment, and the types of its variables."""
    types: dict[str, m.Type] = {}
    head, tail = "", ""
    for name, over in o.variables:
        elaborated = scope.elaboration.expression(over, types)
        k = scope.fresh()
        head += f"{{ {loop(scope, elaborated, k)}\n{TAB}for (i{k} = 0; i{k} < n{k}; i{k}++) {{ "
        head += f"V {local(name)} = v{k}[i{k}];\n{TAB}"
        tail += " } }"
        types[name] = element(elaborated.type)
    guard = "" if o.guard is None else f"if ({expression(scope, scope.elaboration.expression(o.guard, types))}) "
    return head + guard, tail, types


def _crash_of(scope: CScope, n: int, o: m.ProcessCrash) -> str:
    """A line of the environment: for all values of its variables, the crash of some instances."""
    head, tail, types = _choices(scope, o)
    targets = [reference(scope, scope.elaboration.expression(x, types)) for x in o.targets]
    mask = " ".join(f"of |= 1LL << {x};" for x in targets)
    act = f"{{ V of = 0; {mask} add_crash_of(of); }}"
    return f"{c_comment(f'crash, {o.span}')}\nstatic void crash_of_{n}(int self)\n{{\n{TAB}{head}{act}{tail}\n}}"


def timers(scope: CScope) -> str:
    """The timers that run, and their guards."""
    adds, holds = [], []
    for n, machine in enumerate(scope.universe.machines):
        selection = scope.selections[machine.qualified]
        cases = []
        for leaf in machine.leaves:
            found = selection.timers(selection.hierarchy.around[leaf.name])
            tests = [
                (f"if (may({cm.guard_function(scope, machine, t)}, {n}, 0)) " if t.guard is not None else "")
                + f"add(TIMER_STEP, {n}, {t.index}, 0);"
                for t in found
            ]
            if tests:
                cases.append(f"case {cm.leaf_name(scope, machine, leaf.name)}: {' '.join(tests)} break;")
        if cases:
            adds.append(f"{TAB}if (!awaits({n})) switch (w.state[{n}]) {{ {' '.join(cases)} }}\n")
        guarded = [t for t in machine.transitions if isinstance(t.trigger, m.OnTimer) and t.guard is not None]
        for t in guarded:
            test = f"if (instance == {n} && t == {t.index})"
            holds.append(f"{TAB}{test} return {cm.guard_function(scope, machine, t)}(instance, 0) != 0;\n")
    return (
        f"static void timers(void)\n{{\n{''.join(adds)}}}\n\n"
        f"static int timer_holds(int instance, int t)\n{{\n{''.join(holds)}{TAB}return 1;\n}}"
    )


def crashes(scope: CScope) -> Iterator[str]:
    """When the system can crash: at any time, inside a step, inside the recovery."""
    steps, recovery = [], []
    for o in scope.universe.system.crashes:
        guard = "" if o.guard is None else f"if ({expression(scope, scope.elaboration.expression(o.guard))}) "
        match o.kind:
            case "anywhere":
                steps.append(f"{TAB}{guard}add_crash(0, 0);\n")
            case "between writes":
                steps.append(f"{TAB}{guard}for (i = 0; i < others; i++) add_cuts(i, 1, writes_of(i));\n")
            case "during recovery":
                recovery.append(f"{TAB}{guard}{{ int n = writes_of(0); add_cuts(0, 0, n > 1 ? n : 1); }}\n")
    for k, crash in enumerate(scope.universe.system.process_crashes):
        yield from cm.with_lets(scope, _crash_of(scope, k, crash))
        steps.append(f"{TAB}crash_of_{k}(-1);\n")
    text = (
        f"static void crashes(int others)\n{{\n{TAB}int i, self = -1;\n{''.join(steps)}}}\n\n"
        f"static void crashes_of_recovery(void)\n{{\n{TAB}int self = -1;\n{''.join(recovery)}}}"
    )
    yield from cm.with_lets(scope, text)
