"""The state of a system in C: its type, its first value, and the names of what it holds."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent

from fsmdsl.interop.export import c_machines as cm
from fsmdsl.interop.export.c_effects import TAB, action_name, event_function
from fsmdsl.interop.export.c_expressions import number
from fsmdsl.interop.export.c_scope import CScope
from fsmdsl.interop.export.escape import c_comment
from fsmdsl.interop.export.scope import identifier
from fsmdsl.interop.export.values import type_shown
from fsmdsl.step import World


def vector_size(scope: CScope) -> int:
    """No less than the bytes of a state."""
    channels = [x.channel for x in scope.universe.queues]
    fields = sum(len(x.fields) for x in scope.universe.machines)
    messages = max(len(channels), 1) * max([1, *(c.bound for c in channels)]) * (1 + 8 * scope.arguments)
    return 256 + len(scope.universe.machines) + 8 * fields + 3 * pending_most(scope) + len(channels) + messages


def world_type(scope: CScope) -> str:
    """The type of the state, without anything that differs between equal states."""
    channels = [x.channel for x in scope.universe.queues]
    lines = [f"{TAB}signed char state[{len(scope.universe.machines)}];"]
    for machine in scope.machines:
        count = len(scope.numbers(machine))
        for f in machine.fields:
            name = identifier(scope.machine_name(machine), f.name)
            lines.append(f"{TAB}V {name}[{count}]; {c_comment(type_shown(f.type))}")
    lines += [
        f"#ifdef PROPERTIES\n{TAB}V happened; {c_comment('promises that the last step kept')}\n#endif",
        f"{TAB}V waited; {c_comment('those for which wait is false')}",
        f"{TAB}signed char down;",
        f"{TAB}signed char waiting, who[{pending_most(scope)}]; {c_comment('pending actions')}",
        f"{TAB}short what[{pending_most(scope)}];",
        f"{TAB}signed char held[{max(len(channels), 1)}];",
        f"{TAB}Message messages[{max(len(channels), 1)}][{max([1, *(c.bound for c in channels)])}];",
    ]
    if len(scope.universe.starts) > 1:
        lines.append(f"#ifdef PROPERTIES\n{TAB}signed char begun;\n#endif")
    message = f"typedef struct Message {{ signed char event; V a[{scope.arguments}]; }} PACKED Message;"
    return "\n".join([message, "typedef struct World {", *lines, "} PACKED World;"])


def pending_most(scope: CScope) -> int:
    """For so many pending actions there is room."""
    return 2 * len(scope.universe.machines) + 6 if any(a.outcomes for x in scope.machines for a in x.actions) else 1


def constants(scope: CScope) -> str:
    """The names of leaves, actions and events; those of instances as a comment."""
    lines = []
    for machine in scope.machines:
        leaves = ", ".join(cm.leaf_name(scope, machine, x.name) for x in machine.leaves)
        lines.append(f"enum {{ {leaves} }};")
    actions = [action_name(scope, x, a) for x in scope.machines for a in x.actions]
    lines += [f"enum {{ {', '.join(actions)} }};"] if actions else []
    events = [f"{event_function(scope, x.qualified, e.name)}_event" for x in scope.machines for e in x.events]
    lines += [f"enum {{ {', '.join(events)} }};"] if events else []
    names = ", ".join(f"{n} {i.name}" for n, i in enumerate(scope.universe.system.instances))
    return "\n".join([c_comment(f"instances: {names}"), *lines])


def parameters(scope: CScope) -> str:
    """The parameters of machines, for each instance."""
    lines = []
    for machine in scope.machines:
        for p in machine.params:
            values = [scope.values.number(p.type, scope.universe.params[n][p.name]) for n in scope.numbers(machine)]
            name = identifier(scope.machine_name(machine), p.name)
            lines.append(f"static const V {name}[] = {{{', '.join(map(number, values))}}};")
    return "\n".join(lines)


def first_world(scope: CScope) -> str:
    """A function that makes the first state, and one that makes each of several."""
    starts = scope.universe.starts
    body = ["memset(&first, 0, sizeof first);", *_begun(scope, "first", starts[0], None), "return first;"]
    first = f"static World first;\nstatic World first_world(void)\n{{\n{indent(chr(10).join(body), TAB)}\n}}"
    if len(starts) == 1:
        return first
    cases = [f"case {k}: {' '.join(_begun(scope, 'now.w', x, starts[0]))} break;" for k, x in enumerate(starts)]
    chosen = indent("\n".join(["now.w = first;", "switch (k) {", *cases, "}"]), TAB)
    begun = f"#ifdef PROPERTIES\n{TAB}now.w.begun = 1;\n#endif"
    return f"{first}\n\nstatic void begin_in(int k)\n{{\n{chosen}\n{begun}\n}}"


def _begun(scope: CScope, name: str, world: World, before: World | None) -> Iterator[str]:
    """Statements that give a state, all zeros or what it was before, what a world has."""
    for n, machine in enumerate(scope.universe.machines):
        if before is None or world.states[n] != before.states[n]:
            yield f"{name}.state[{n}] = {cm.leaf_name(scope, machine, world.states[n])};"
        for slot, (f, value) in enumerate(zip(machine.fields, world.fields[n], strict=True)):
            code = scope.values.number(f.type, value)
            if code != (0 if before is None else scope.values.number(f.type, before.fields[n][slot])):
                yield f"{name}.{identifier(scope.machine_name(machine), f.name)}[at[{n}]] = {number(code)};"


def reset(scope: CScope) -> str:
    """What a crash takes back: all fields that are not durable, of all instances or of those of a mask."""
    cases = []
    for machine in scope.machines:
        names = [identifier(scope.machine_name(machine), f.name) for f in machine.fields if not f.durable]
        if names:
            cases += [f"case {n}:" for n in scope.numbers(machine)]
            cases += [f"{TAB}w.{name}[at[i]] = first.{name}[at[i]];" for name in names]
            cases.append(f"{TAB}break;")
    loop = ["int i;", "for (i = 0; i < INSTANCES; i++) {", f"{TAB}if (of && !(of >> i & 1)) continue;"]
    body = [*loop, f"{TAB}switch (i) {{", *(f"{TAB}{x}" for x in cases), f"{TAB}}}", "}"] if cases else ["(void) of;"]
    return "static void reset(V of)\n{\n" + "".join(f"{TAB}{x}\n" for x in body) + "}"
