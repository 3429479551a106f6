"""What can come next, in C: events of the environment, timers, crashes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from fsmdsl import model as m
from fsmdsl.interop.export import c_machines as cm
from fsmdsl.interop.export.c_effects import TAB, event_function, set_arguments
from fsmdsl.interop.export.c_expressions import expression, loop, number, reference
from fsmdsl.interop.export.c_scope import CScope, local
from fsmdsl.interop.export.escape import c_comment
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
            yield from _line(scope, f"offer_{n}", o, partial(_sent, scope, o))
            calls.append(f"{TAB}offer(offer_{n}_0, 0);\n")
    yield f"static void offered(void)\n{{\n{''.join(calls)}}}"


def _unrestricted(scope: CScope, instance: int, event: str) -> str:
    machine = scope.universe.machines[instance]
    types = [p.type for p in machine.event_named[event].parameters]
    argument_rows = domains(types, scope.universe)
    name = cm.accepts_function(scope, machine, event)
    constant = f"{event_function(scope, machine.qualified, event)}_event"
    rows = ", ".join(
        "{" + ", ".join(number(scope.values.number(t, x)) for t, x in zip(types, row, strict=True)) + "}"
        for row in argument_rows
    )
    table = f"static const V all[][ARGUMENTS] = {{{rows}}};" if types else "static const V all[1][ARGUMENTS];"
    act = f"if ({name}({instance}, all[i])) add_event({instance}, {constant}, all[i], 0);"
    return (
        f"{table} int i; if (!awaits({instance})) for (i = 0; i < {len(argument_rows)}; i++) {act}"
        if argument_rows
        else ""
    )


def _line(
    scope: CScope, name: str, o: m.Offer | m.ProcessCrash, act: Callable[[Mapping[str, m.Type]], str]
) -> Iterator[str]:
    """The functions of a line of the environment: one for each variable, which calls the next for all values, and one
    for what it offers. Each takes the values before it, and is called by `offer`, since it may have no value."""
    types: dict[str, m.Type] = {}
    texts: list[list[str]] = []
    for depth, (variable, over) in enumerate(o.variables):
        elaborated, k = scope.elaboration.expression(over, types), scope.fresh()
        body = (
            f"{loop(scope, elaborated, k)} V y[{depth + 1}];\n"
            f"{TAB}memcpy(y, x, {depth} * sizeof(V));\n"
            f"{TAB}for (i{k} = 0; i{k} < n{k}; i{k}++) {{ y[{depth}] = v{k}[i{k}]; offer({name}_{depth + 1}, y); }}"
        )
        texts.append([*cm.with_lets(scope, _level(f"{name}_{depth}", o, depth, body))])
        types[variable] = element(elaborated.type)
    guard = None if o.guard is None else expression(scope, scope.elaboration.expression(o.guard, types))
    body = act(types) if guard is None else f"if ({guard}) {act(types)}"
    texts.append([*cm.with_lets(scope, _level(f"{name}_{len(o.variables)}", o, len(o.variables), body))])
    for text in reversed(texts):
        yield from text


def _level(name: str, o: m.Offer | m.ProcessCrash, depth: int, body: str) -> str:
    """A function of the values of the first `depth` variables."""
    what = o.event if isinstance(o, m.Offer) else "crash"
    numbers = {variable: n for n, (variable, _) in enumerate(o.variables[:depth])}
    read = "".join(f" V {local(variable)} = x[{n}];" for variable, n in numbers.items())
    head = c_comment(f"{what}, {o.span}")
    return f"{head}\nstatic void {name}(const V *x)\n{{\n{TAB}int self = -1;{read}\n{TAB}{body}\n}}"


def _sent(scope: CScope, o: m.Offer, types: Mapping[str, m.Type]) -> str:
    """The event of a line, where it is handled."""
    target = reference(scope, scope.elaboration.expression(o.target, types))
    machine = scope.universe.model.machines[o.machine]
    arguments = [scope.elaboration.expression(x, types) for x in o.arguments]
    set_up = set_arguments(scope, arguments, [p.type for p in machine.event_named[o.event].parameters], keep=True)
    constant = f"{event_function(scope, o.machine, o.event)}_event"
    accepts = f"!awaits(t) && {cm.accepts_function(scope, machine, o.event)}(t, a)"
    return f"{{ V t = {target}; {set_up}\n{TAB * 2}if ({accepts}) add_event(t, {constant}, a, misfit); }}"


def _struck(scope: CScope, o: m.ProcessCrash, types: Mapping[str, m.Type]) -> str:
    """The crash of some instances."""
    targets = [reference(scope, scope.elaboration.expression(x, types)) for x in o.targets]
    mask = " ".join(f"of |= 1LL << {x};" for x in targets)
    return f"{{ V of = 0; {mask} add_crash_of(of); }}"


def timers(scope: CScope) -> str:
    """The timers that run, and their guards."""
    adds, holds = [], []
    for n, machine in enumerate(scope.universe.machines):
        selection = scope.selections[machine.qualified]
        cases = []
        for leaf in machine.leaves:
            timers_of_leaf = selection.timers(selection.hierarchy.around[leaf.name])
            tests = [
                (f"if (may({cm.guard_function(scope, machine, t)}, {n}, 0)) " if t.guard is not None else "")
                + f"add(TIMER_STEP, {n}, {t.index}, 0);"
                for t in timers_of_leaf
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
    for n, o in enumerate(scope.universe.system.crashes):
        guard = ""
        if o.guard is not None:
            value = expression(scope, scope.elaboration.expression(o.guard))
            yield from cm.with_lets(scope, f"static V crash_when_{n}(int self)\n{{\n{TAB}return {value};\n}}")
            guard = f"if (comes(crash_when_{n})) "
        match o.kind:
            case "anywhere":
                steps.append(f"{TAB}{guard}add_crash(0, 0);\n")
            case "between writes":
                steps.append(f"{TAB}{guard}for (i = 0; i < others; i++) add_cuts(i, 1, writes_of(i));\n")
            case "during recovery":
                recovery.append(f"{TAB}{guard}{{ int n = writes_of(0); add_cuts(0, 0, n > 1 ? n : 1); }}\n")
    for k, crash in enumerate(scope.universe.system.process_crashes):
        yield from _line(scope, f"crash_of_{k}", crash, partial(_struck, scope, crash))
        steps.append(f"{TAB}offer(crash_of_{k}_0, 0);\n")
    yield (
        f"static void crashes(int others)\n{{\n{TAB}int i;\n{''.join(steps)}}}\n\n"
        f"static void crashes_of_recovery(void)\n{{\n{''.join(recovery)}}}"
    )
