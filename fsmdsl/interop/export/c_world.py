"""The state of a system in C: its type, its first value, the constants of machines, instances and queues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from textwrap import indent

from fsmdsl.core.rest import resting_leaves
from fsmdsl.interop.export.c_scope import CScope, number
from fsmdsl.interop.export.c_statements import TAB
from fsmdsl.interop.export.escape import c_comment
from fsmdsl.interop.export.values import type_shown
from fsmdsl.model.depth import LONGEST_ROUND
from fsmdsl.step import Universe, World
from fsmdsl.step.values import domain


def vector_size(scope: CScope) -> int:
    """No less than the bytes of a state, also where a compiler knows no packed structures (`tcc` does not)."""
    channels = [x.channel for x in scope.universe.queues]
    fields = sum(len(x.fields) for x in scope.universe.machines)
    messages = max(len(channels), 1) * max([1, *(c.bound for c in channels)]) * (8 + 8 * scope.arguments)
    return 256 + 2 * len(scope.universe.machines) + 8 * fields + 3 * pending_most(scope) + 2 * len(channels) + messages


def world_type(scope: CScope) -> str:
    """The type of the state, without anything that differs between equal states."""
    channels = [x.channel for x in scope.universe.queues]
    lines = [f"{TAB}short state[{len(scope.universe.machines)}];"]
    for machine in scope.machines:
        count = len(scope.numbers(machine))
        for f in machine.fields:
            name = scope.name("", machine.qualified, f.name)
            lines.append(f"{TAB}V {name}[{count}]; {c_comment(type_shown(f.type))}")
    lines += [
        f"#ifdef PROPERTIES\n{TAB}V happened; {c_comment('promises that the last step kept')}\n#endif",
        f"{TAB}V waited; {c_comment('those for which wait is false')}",
        f"{TAB}signed char down;",
        f"{TAB}signed char waiting, who[{pending_most(scope)}]; {c_comment('pending actions')}",
        f"{TAB}short what[{pending_most(scope)}];",
        f"{TAB}short held[{max(len(channels), 1)}];",
        f"{TAB}Message messages[{max(len(channels), 1)}][{max([1, *(c.bound for c in channels)])}];",
    ]
    if len(scope.universe.starts) > 1:
        lines.append(f"#ifdef PROPERTIES\n{TAB}signed char begun;\n#endif")
    message = f"typedef struct Message {{ short event; V a[{scope.arguments}]; }} PACKED Message;"
    return "\n".join([message, "typedef struct World {", *lines, "} PACKED World;"])


def pending_most(scope: CScope) -> int:
    """Maximum number of pending actions."""
    return 2 * len(scope.universe.machines) + 6 if any(a.outcomes for x in scope.machines for a in x.actions) else 1


def constants(scope: CScope) -> Iterator[str]:
    """The names of leaves and actions; those of instances as a comment; the tables of instances, actions, queues."""
    instances, queues = scope.universe.system.instances, scope.universe.queues
    yield c_comment(f"instances: {', '.join(f'{n} {i.name}' for n, i in enumerate(instances))}")
    for machine in scope.machines:
        yield f"enum {{ {', '.join(scope.leaf(machine, x.name) for x in machine.leaves)} }};"
    actions = [(x, a) for x in scope.machines for a in x.actions]
    if actions:
        yield f"enum {{ {', '.join(scope.action(x.qualified, a.name) for x, a in actions)} }};"
    yield _table("int asynchronous", (a.asynchronous for _, a in actions))
    slots = dict(chain.from_iterable(((n, k) for k, n in enumerate(scope.numbers(x))) for x in scope.machines))
    yield _table("int at", (slots[n] for n in sorted(slots)))
    yield _table("char *const resting", _resting(scope.universe))
    yield _table("int ordered", (x.channel.order == "fifo" for x in queues))
    yield _table("V sender", ("NOTHING" if x.sender is None else x.sender for x in queues))
    yield _table("V receiver", (x.receiver for x in queues))


def _table(name: str, values: Iterable[str | int]) -> str:
    return f"static const {name}[] = {{{', '.join(x if isinstance(x, str) else str(int(x)) for x in values) or '0'}}};"


def _resting(universe: Universe) -> Iterator[str]:
    """Of each instance, for each leaf: may it stay there where nothing can happen?"""
    leaves = resting_leaves(universe.machines)
    for x in universe.machines:
        yield f'"{"".join(str(int(s.name in leaves[x.qualified])) for s in x.leaves)}"'


def parameters(scope: CScope) -> Iterator[str]:
    """The parameters of machines, for each instance."""
    for machine in scope.machines:
        for p in machine.params:
            values = [scope.values.number(p.type, scope.universe.params[n][p.name]) for n in scope.numbers(machine)]
            yield _table(f"V {scope.name('param', machine.qualified, p.name)}", map(number, values))


def message_types(scope: CScope) -> Iterator[str]:
    """What the messages of each queue carry."""
    rows = []
    for n, x in enumerate(scope.universe.queues):
        events = scope.universe.machines[x.receiver].events
        types = [", ".join([*(scope.type(p.type) for p in e.parameters), "0"][: scope.arguments]) for e in events]
        yield f"static const Type *types_{n}[][ARGUMENTS] = {{{', '.join(f'{{{x}}}' for x in types)}}};"
        rows.append(f"types_{n}")
    yield f"static const Type *(*message_types[])[ARGUMENTS] = {{{', '.join(rows) or '0'}}};"


def domains(scope: CScope) -> Iterator[str]:
    """The values of types that are enumerated. Raises `TooManyValuesError`."""
    for t, name in scope.domains.items():
        values = [number(scope.values.number(t, x)) for x in domain(t, scope.universe)]
        yield f"static const V {name}[{len(values)}] = {{{', '.join(values) or '0'}}}; {c_comment(type_shown(t))}"


def variables(scope: CScope) -> str:
    """What the search has beside the state."""
    u = scope.universe
    steps = max([1, *(len(scope.procedures[x].parameters) for x in scope.steps)])
    return f"""\
enum {{ INSTANCES = {len(u.machines)}, CHANNELS = {len(u.queues)}, STEPS = 4 * CHOICES,
       ARGUMENTS = {scope.arguments}, STEP_ARGUMENTS = {steps}, PENDING = {pending_most(scope)} }};
static World w, first, expanded, next[CHOICES], seen[{LONGEST_ROUND}];
static int known, choices, listed, unoffered, writes, cut_after, worlds, fault_kind, fault_place, chosen[INSTANCES];
static V busy, touched, happened;"""


def first_world(scope: CScope) -> str:
    """A function that makes the first state, and one that makes each of several."""
    starts = scope.universe.starts
    body = ["memset(&first, 0, sizeof first);", *_begun(scope, "first", starts[0], None), "return first;"]
    first = f"static World first_world(void)\n{{\n{indent(chr(10).join(body), TAB)}\n}}"
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
            yield f"{name}.state[{n}] = {scope.leaf(machine, world.states[n])};"
        for slot, (f, value) in enumerate(zip(machine.fields, world.fields[n], strict=True)):
            code = scope.values.number(f.type, value)
            if code != (0 if before is None else scope.values.number(f.type, before.fields[n][slot])):
                yield f"{name}.{scope.name('', machine.qualified, f.name)}[at[{n}]] = {number(code)};"
