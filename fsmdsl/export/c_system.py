"""A system in C: its state, its tables, what the environment does, what is asked of each state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from textwrap import indent

from fsmdsl import model as m
from fsmdsl.core.triggers import CRASH, EVENTLESS
from fsmdsl.export import c_machines as cm
from fsmdsl.export.c_effects import TAB, _arguments, action_name, block, event_function
from fsmdsl.export.c_expressions import expression, loop, reference
from fsmdsl.export.c_scope import CScope, local, name_in_c
from fsmdsl.export.questions import Question
from fsmdsl.export.runs import Condition
from fsmdsl.export.refusals import Refusal, RefusedError
from fsmdsl.export.values import BITS
from fsmdsl.model.typing import element
from fsmdsl.step import World
from fsmdsl.step.universe import flag
from fsmdsl.step.values import domains

FAULTS = ("", "unhandled", "overlap", "reentrance", "busy", "none", "range", "overflow", "endless", "lost")
"""By number; the constants in C are `UNHANDLED_FAULT` and so on."""


@dataclass(frozen=True, slots=True)
class CText:
    """The C of a system, in parts that come one after the other; `places` are those that faults name by number."""

    declarations: str
    parts: tuple[str, ...]


def c_text(scope: CScope, questions: tuple[Question, ...], conditions: Sequence[Condition] = ()) -> CText:
    """All of it. Raises `RefusedError`."""
    _check_sizes(scope)
    machines = list(chain.from_iterable(cm.functions(scope, x) for x in scope.machines))
    tables, messages = _tables(scope), _messages(scope)
    system = list(_system_functions(scope, questions, conditions))  # last: it lists the places
    runtime = _resource("runtime.c")
    prototypes = "\n".join(chain.from_iterable(cm.prototypes(scope, x) for x in scope.machines))
    first = f"{_names(scope)}\n{_fixed()}"
    described = "\n".join(scope.descriptions())
    engine, cut = _resource("engine.c"), "static void post("
    head, rest = engine.split("/* Eventless transitions", 1)
    assert cut in head
    parts = [
        first, runtime, described, _parameters(scope), f"{_variables(scope)}\n{messages}", head, prototypes, *machines,
        tables, *system, "/* Eventless transitions" + rest,
    ]  # fmt: skip
    return CText(_world(scope), tuple(parts))


def _resource(name: str) -> str:
    return files("fsmdsl.export").joinpath(name).read_text(encoding="utf-8")


def _check_sizes(scope: CScope) -> None:
    system = scope.universe.system
    if len(system.instances) > BITS:
        raise RefusedError(Refusal("many instances", system.name, system.span))
    for machine in scope.machines:
        if len(machine.leaves) > BITS:
            raise RefusedError(Refusal("many leaves", machine.name, machine.span))


# State ---------------------------------------------------------------------------------------------------------------


def _arguments_most(scope: CScope) -> int:
    return max([1, *(len(e.parameters) for x in scope.machines for e in x.events)])


def _pending(scope: CScope) -> int:
    return 2 * len(scope.universe.machines) + 6 if any(a.outcomes for x in scope.machines for a in x.actions) else 1


def vector_size(scope: CScope) -> int:
    """No less than the bytes of a state."""
    channels = scope.universe.channels
    fields = sum(len(x.fields) for x in scope.universe.machines)
    messages = max(len(channels), 1) * max([1, *(c.bound for c in channels)]) * (1 + 8 * _arguments_most(scope))
    return 256 + len(scope.universe.machines) + 8 * fields + 3 * _pending(scope) + len(channels) + messages


def _world(scope: CScope) -> str:
    """The type of the state, without anything that differs between equal states."""
    channels = scope.universe.channels
    lines = [f"{TAB}signed char state[{len(scope.universe.machines)}];"]
    for machine in scope.machines:
        count = len(scope.numbers(machine))
        for f in machine.fields:
            name = name_in_c(scope.machine_name(machine), f.name)
            lines.append(f"{TAB}V {name}[{count}]; /* {cm_type(f.type)} */")
    lines += [
        f"{TAB}V waited; /* those for which `wait` is false */",
        f"{TAB}signed char down;",
        f"{TAB}signed char waiting, who[{_pending(scope)}]; /* pending actions */",
        f"{TAB}short what[{_pending(scope)}];",
        f"{TAB}signed char held[{max(len(channels), 1)}];",
        f"{TAB}Message messages[{max(len(channels), 1)}][{max([1, *(c.bound for c in channels)])}];",
    ]
    message = f"typedef struct Message {{ signed char event; V a[{_arguments_most(scope)}]; }} PACKED Message;"
    return "\n".join([message, "typedef struct World {", *lines, "} PACKED World;"])


def cm_type(t: m.Type) -> str:
    """A type, for a comment."""
    from fsmdsl.export.c_scope import type_shown

    return type_shown(t)


def _fixed() -> str:
    kinds = ", ".join(f"{x.upper()}_FAULT = {n}" for n, x in enumerate(FAULTS) if x)
    names = ", ".join(f'"{x}"' for x in FAULTS)
    return (
        f"enum {{ {kinds} }};\nstatic const char *fault_names[] = {{{names}}};\n"
        "enum { EVENT_STEP, ANSWER_STEP, TIMER_STEP, DELIVER_STEP, LOSE_STEP, DUPLICATE_STEP, CRASH_STEP, "
        "RECOVER_STEP };\n"
        'static void beyond(const char *why) { printf("beyond: %s\\n", why); exit(9); }'
    )


def _names(scope: CScope) -> str:
    """Constants: leaves, actions, events, instances."""
    lines = []
    for machine in scope.machines:
        leaves = ", ".join(cm.leaf_name(scope, machine, x.name) for x in machine.leaves)
        lines.append(f"enum {{ {leaves} }};")
    actions = [action_name(scope, x, a) for x in scope.machines for a in x.actions]
    lines += [f"enum {{ {', '.join(actions)} }};"] if actions else []
    events = [f"{event_function(scope, x.qualified, e.name)}_event" for x in scope.machines for e in x.events]
    lines += [f"enum {{ {', '.join(events)} }};"] if events else []
    names = ", ".join(f"{n} {i.name}" for n, i in enumerate(scope.universe.system.instances))
    return "\n".join([f"/* instances: {names} */", *lines])


def _variables(scope: CScope) -> str:
    at = dict(chain.from_iterable(((n, k) for k, n in enumerate(scope.numbers(x))) for x in scope.machines))
    instances = scope.universe.system.instances
    slots, ordinals = (", ".join(map(str, x)) for x in ([at[n] for n in sorted(at)], [i.index for i in instances]))
    most = max([1, *(len(x.transitions) for x in scope.machines)])
    return f"""\
enum {{ ARGUMENTS = {_arguments_most(scope)}, RIVALS = {most}, PENDING = {_pending(scope)}, ROUND = 1000 }};
static const int at[] = {{{slots}}}, ordinal[] = {{{ordinals}}};
static World w, expanded, next[CHOICES];
static int known, choices, listed, writes, cut_after, fault_kind, fault_place;
static V busy, touched;
static jmp_buf *out;"""


def _parameters(scope: CScope) -> str:
    lines = []
    for machine in scope.machines:
        for p in machine.params:
            values = [scope.values.number(p.type, scope.universe.params[n][p.name]) for n in scope.numbers(machine)]
            name = name_in_c(scope.machine_name(machine), p.name)
            lines.append(f"static const V {name}[] = {{{', '.join(map(_long, values))}}};")
    return "\n".join(lines)


def _long(n: int) -> str:
    from fsmdsl.export.c_expressions import number

    return number(n)


def first_world(scope: CScope) -> str:
    """A function that makes the first state."""
    start: World = scope.universe.start
    lines = []
    for n, machine in enumerate(scope.universe.machines):
        lines.append(f"first.state[{n}] = {cm.leaf_name(scope, machine, start.states[n])};")
        for f, value in zip(machine.fields, start.fields[n], strict=True):
            found = scope.values.number(f.type, value)
            if found:
                name = name_in_c(scope.machine_name(machine), f.name)
                lines.append(f"first.{name}[at[{n}]] = {_long(found)};")
    body = indent("\n".join(["memset(&first, 0, sizeof first);", *lines, "return first;"]), TAB)
    return f"static World first;\nstatic World first_world(void)\n{{\n{body}\n}}"


# Tables --------------------------------------------------------------------------------------------------------------


def _messages(scope: CScope) -> str:
    channels = scope.universe.channels
    lines = []
    rows = []
    for n, c in enumerate(channels):
        machine = scope.universe.model.machines[c.receiver]
        types = []
        for e in machine.events:
            given = [scope.type(p.type) for p in e.parameters]
            types.append("{" + ", ".join([*given, "0"][: _arguments_most(scope)]) + "}")
        lines.append(f"static const Type *types_{n}[][ARGUMENTS] = {{{', '.join(types)}}};")
        rows.append(f"types_{n}")
    lines.append(f"static const Type *(*message_types[])[ARGUMENTS] = {{{', '.join(rows) or '0'}}};")
    bounds = ", ".join(str(c.bound) for c in channels) or "0"
    flags = [
        f"{name}[] = {{{', '.join(str(int(test(c))) for c in channels) or '0'}}}"
        for name, test in (
            ("ordered", lambda c: c.order == "fifo"), ("lossy", lambda c: c.lossy),
            ("duplicating", lambda c: c.duplicating),
        )
    ]  # fmt: skip
    return "\n".join([*lines, f"static const int bounds[] = {{{bounds}}}, {', '.join(flags)};"])


def _tables(scope: CScope) -> str:
    u = scope.universe
    handler = "(int, const V *, int, int)"

    def each(find: Callable[[m.Machine], str]) -> str:
        return ", ".join(find(x) for x in u.machines)

    lasting, places = [], []
    for x in scope.machines:
        name = scope.machine_name(x)
        marks = "".join("01"[flag(x, s.name) not in ("volatile", "transient")] for s in x.leaves)
        places.append(f"static const int leaf_places_{name}[] = {{{_list(scope.place(s.span) for s in x.leaves)}}};")
        lasting.append((x, marks))
    marked = dict(lasting)
    events = [event_function(scope, x.qualified, e.name) for x in scope.machines for e in x.events]
    lines = [
        *places,
        f"static int (*const choose_next[])(int, const V *) = {{{each(lambda x: cm.choose_function(scope, x, EVENTLESS))}}};",
        f"static int (*const choose_crash[])(int, const V *) = {{{each(lambda x: cm.choose_function(scope, x, CRASH))}}};",
        "static void (*const follow_of[])(int, int, const V *) = "
        f"{{{each(lambda x: name_in_c('follow', scope.machine_name(x)))}}};",
        f"static const int *const transition_places[] = {{{each(lambda x: f'places_{scope.machine_name(x)}')}}};",
        f"static const int *const state_places[] = {{{each(lambda x: f'leaf_places_{scope.machine_name(x)}')}}};",
        "static const char *const lasting[] = {" + each(lambda x: f'"{marked[x]}"') + "};",
        f"static const char *const finals[] = {{{each(_finals)}}};",
        f"static void (*const handlers[]){handler} = {{{', '.join(events) or '0'}}};",
        f"static const int event_places[] = {{{_list(scope.place(e.span) for x in scope.machines for e in x.events)}}};",
        *_action_tables(scope, handler),
        *_channel_tables(scope, handler),
    ]
    return "\n".join(lines)


def _list(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "0"


def _finals(machine: m.Machine) -> str:
    if not any(s.final for s in machine.states):
        return "0"
    return f'"{"".join(str(int(s.final)) for s in machine.leaves)}"'


def _action_tables(scope: CScope, handler: str) -> Iterator[str]:
    actions = [(x, a) for x in scope.machines for a in x.actions]
    rows = []
    for x, a in actions:
        name = f"answers_{name_in_c(scope.machine_name(x), a.name)}"
        found = ", ".join(name_in_c("answer", scope.machine_name(x), f"{a.name}.{o}") for o in a.outcomes)
        yield f"static void (*const {name}[]){handler} = {{{found or '0'}}};"
        rows.append(name)
    yield f"static void (*const *const answers[]){handler} = {{{', '.join(rows) or '0'}}};"
    yield f"static const int outcomes[] = {{{_list(len(a.outcomes) for _, a in actions)}}};"
    yield f"static const int asynchronous[] = {{{_list(int(a.asynchronous) for _, a in actions)}}};"
    yield f"static const int action_places[] = {{{_list(scope.place(a.span) for _, a in actions)}}};"


def _channel_tables(scope: CScope, handler: str) -> Iterator[str]:
    u = scope.universe
    rows = []
    for n, c in enumerate(u.channels):
        machine = u.model.machines[c.receiver]
        found = ", ".join(event_function(scope, c.receiver, e.name) for e in machine.events)
        yield f"static void (*const messages_{n}[]){handler} = {{{found or '0'}}};"
        rows.append(f"messages_{n}")
    yield f"static void (*const *const message_handlers[]){handler} = {{{', '.join(rows) or '0'}}};"
    yield f"static const int receiver[] = {{{_list(min(u.instances_of(c.receiver)) for c in u.channels)}}};"
    yield f"static const int channel_places[] = {{{_list(scope.place(c.span) for c in u.channels)}}};"


# The system ----------------------------------------------------------------------------------------------------------


def _system_functions(scope: CScope, questions: tuple[Question, ...], conditions: Sequence[Condition]) -> Iterator[str]:
    system = scope.universe.system
    yield _engine_variables(scope, questions)
    yield first_world(scope)
    yield _reset(scope)
    yield from _events(scope)
    yield _timers(scope)
    recover = indent(block(scope, system.recover or ()), TAB)
    yield from cm._with_lets(scope, f"static void recover(int self)\n{{\n{recover}}}")
    yield from _crashes(scope)
    yield from _asked(scope, questions)
    for c in conditions:
        yield from cm._with_lets(scope, _condition(scope, c))
    listed = ", ".join(f'"{_plain(str(x))}"' for x in scope.places)
    yield f"static const char *const places[] = {{{listed or '0'}}};"
    fault = scope.universe.fault
    told = "0"
    if fault is not None:
        told = (
            f'"fault {FAULTS.index(fault.kind)} at {scope.place(fault.span)}: {fault.kind}, {_plain(str(fault.span))}"'
        )
    count = max(len(scope.places), 1)
    yield (
        f"static const char *const first_fault = {told};\n"
        f"static int first_seen, deadlock_seen, faults_seen[{len(FAULTS)}][{count}];"
    )


def _plain(text: str) -> str:
    """For a string in C inside Promela: no quotes, braces or backslashes."""
    return "".join(c if c.isprintable() and c.isascii() and c not in '"\\{}' else "_" for c in text)


def _engine_variables(scope: CScope, questions: tuple[Question, ...]) -> str:
    finals = sum(any(s.final for s in x.states) for x in scope.universe.machines)
    u = scope.universe
    return f"""\
enum {{ INSTANCES = {len(u.machines)}, CHANNELS = {len(u.channels)}, FINALS = {finals}, STEPS = 4 * CHOICES,
       RECOVERS = {int(u.system.recover is not None)} }};
typedef struct Step {{ int kind, instance, what, position, misfit, inside, writes; V a[ARGUMENTS]; }} Step;
static Step steps[STEPS];
static void add(int kind, int instance, int what, int position);
static void add_event(int instance, int event, const V *a, int misfit);
static void add_crash(int inside, int after);
static void add_cuts(int inside, int from, int to);
static int writes_of(int n);
static int truth(V (*condition)(int), int self);
static void report(int *seen, const char *text);
static V given[16];"""


def _reset(scope: CScope) -> str:
    lines = []
    for machine in scope.machines:
        for f in machine.fields:
            if not f.durable:
                name = name_in_c(scope.machine_name(machine), f.name)
                lines.append(f"{TAB}memcpy(w.{name}, first.{name}, sizeof w.{name});\n")
    return f"static void reset(void)\n{{\n{''.join(lines)}}}"


def _events(scope: CScope) -> Iterator[str]:
    offers = scope.universe.system.offers
    calls = []
    if offers is None:
        for instance, event, _ in scope.universe.unrestricted:
            calls.append(f"{TAB}{{ {_unrestricted(scope, instance, event)} }}\n")
    else:
        for n, o in enumerate(offers):
            yield from cm._with_lets(scope, _offer(scope, n, o))
            calls.append(f"{TAB}offer_{n}(-1);\n")
    yield f"static void offered(void)\n{{\n{''.join(calls)}}}"


def _unrestricted(scope: CScope, instance: int, event: str) -> str:
    machine = scope.universe.machines[instance]
    types = [p.type for p in machine.event_named[event].parameters]
    found = domains(types, scope.universe)
    name = cm.accepts_function(scope, machine, event)
    constant = f"{event_function(scope, machine.qualified, event)}_event"
    rows = ", ".join(
        "{" + ", ".join(_long(scope.values.number(t, x)) for t, x in zip(types, row, strict=True)) + "}"
        for row in found
    )
    table = f"static const V all[][ARGUMENTS] = {{{rows}}};" if types else "static const V all[1][ARGUMENTS];"
    act = f"if ({name}({instance}, all[i])) add_event({instance}, {constant}, all[i], 0);"
    return f"{table} int i; if (!awaits({instance})) for (i = 0; i < {len(found)}; i++) {act}" if found else ""


def _offer(scope: CScope, n: int, o: m.Offer) -> str:
    """A line of the environment: for all values of its variables, the event, where it is handled."""
    types: dict[str, m.Type] = {}
    head, tail = "", ""
    for name, over in o.variables:
        elaborated = scope.elaboration.expression(over, types)
        k = scope.fresh()
        head += f"{{ {loop(scope, elaborated, k)}\n{TAB}for (i{k} = 0; i{k} < n{k}; i{k}++) {{ V {local(name)} = v{k}[i{k}];\n{TAB}"
        tail += " } }"
        types[name] = element(elaborated.type)
    guard = "" if o.guard is None else f"if ({expression(scope, scope.elaboration.expression(o.guard, types))}) "
    target = reference(scope, scope.elaboration.expression(o.target, types))
    machine = scope.universe.model.machines[o.machine]
    given = [scope.elaboration.expression(x, types) for x in o.arguments]
    arguments = _arguments(scope, given, [p.type for p in machine.event_named[o.event].parameters], keep=True)
    constant = f"{event_function(scope, o.machine, o.event)}_event"
    accepts = f"!awaits(t) && {cm.accepts_function(scope, machine, o.event)}(t, a)"
    act = f"{{ V t = {target}; {arguments}\n{TAB * 2}if ({accepts}) add_event(t, {constant}, a, misfit); }}"
    return f"/* {o.event}, {o.span} */\nstatic void offer_{n}(int self)\n{{\n{TAB}{head}{guard}{act}{tail}\n}}"


def _timers(scope: CScope) -> str:
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


def _crashes(scope: CScope) -> Iterator[str]:
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
    text = (
        f"static void crashes(int others)\n{{\n{TAB}int i, self = -1;\n{''.join(steps)}}}\n\n"
        f"static void crashes_of_recovery(void)\n{{\n{TAB}int self = -1;\n{''.join(recovery)}}}"
    )
    yield from cm._with_lets(scope, text)


def _condition(scope: CScope, c: Condition) -> str:
    """A condition that properties of runs speak of."""
    value = expression(scope, scope.elaboration.expression(c.expression, dict(c.variables)))
    names = [local(name) for name, _ in c.variables]
    read = "".join(f"{TAB}V {x} = given[{n}];\n" for n, x in enumerate(names))
    put = "".join(f"{TAB}given[{n}] = {x};\n" for n, x in enumerate(names))
    return (
        f"/* {c.expression.span} */\nstatic V condition_{c.number}(int self)\n{{\n{read}{TAB}return {value};\n}}\n\n"
        f"static int holds_{c.number}({', '.join(f'V {x}' for x in names) or 'void'})\n{{\n{put}"
        f"{TAB}w = now.w;\n{TAB}return truth(condition_{c.number}, -1);\n}}"
    )


def _asked(scope: CScope, questions: tuple[Question, ...]) -> Iterator[str]:
    calls = []
    for q in questions:
        with scope.read_by(q.machine):
            value = expression(scope, scope.elaboration.expression(q.condition))
        yield from cm._with_lets(
            scope,
            f"/* {q.kind} {q.name}, {q.span} */\nstatic V question_{q.number}(int self)\n{{\n    return {value};\n}}",
        )
        sign = "!" if q.kind == "invariant" else ""
        told = f'"{q.kind} {q.number} {"violated" if sign else "shown"}: {_plain(q.name)}"'
        for n in q.instances:
            test = f"{sign}truth(question_{q.number}, {n})"
            calls.append(f"{TAB}if ({test}) report(&questions_seen[{q.number}], {told});\n")
    count = max(len(questions), 1)
    yield f"static int questions_seen[{count}];\nstatic void ask(void)\n{{\n{''.join(calls)}}}"
