"""What the engine looks up by number: functions of machines, channels and actions, places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from fsmdsl import model as m
from fsmdsl.core.triggers import CRASH, EVENTLESS
from fsmdsl.interop.export import c_machines as cm
from fsmdsl.interop.export.c_effects import event_function
from fsmdsl.interop.export.c_scope import CScope
from fsmdsl.interop.export.scope import identifier
from fsmdsl.step.universe import flag


def messages(scope: CScope) -> str:
    """Of each queue: what its messages carry, and what it does to them."""
    channels = [x.channel for x in scope.universe.queues]
    lines = []
    rows = []
    for n, x in enumerate(scope.universe.queues):
        machine = scope.universe.machines[x.receiver]
        types = []
        for e in machine.events:
            parameter_types = [scope.type(p.type) for p in e.parameters]
            types.append("{" + ", ".join([*parameter_types, "0"][: scope.arguments]) + "}")
        lines.append(f"static const Type *types_{n}[][ARGUMENTS] = {{{', '.join(types)}}};")
        rows.append(f"types_{n}")
    lines.append(f"static const Type *(*message_types[])[ARGUMENTS] = {{{', '.join(rows) or '0'}}};")
    bounds = ", ".join(str(c.bound) for c in channels) or "0"
    marks: dict[str, list[bool]] = {
        "ordered": [c.order == "fifo" for c in channels],
        "lossy": [c.lossy for c in channels],
        "duplicating": [c.duplicating for c in channels],
        "patient": [c.waiting for c in channels],
    }
    flags = (f"{name}[] = {{{_join(map(int, values))}}}" for name, values in marks.items())
    return "\n".join([*lines, f"static const int bounds[] = {{{bounds}}}, {', '.join(flags)};"])


def tables(scope: CScope) -> str:
    """By instance, event, action and channel: functions and places."""
    u = scope.universe
    handler = "(int, const V *, int, int)"

    def each(find: Callable[[m.Machine], str]) -> str:
        return ", ".join(find(x) for x in u.machines)

    def chosen(trigger: str) -> str:
        return each(lambda x: cm.choose_function(scope, x, trigger))

    lasting, places = [], []
    for x in scope.machines:
        name = scope.machine_name(x)
        marks = "".join("01"[flag(x, s.name) not in ("volatile", "transient")] for s in x.leaves)
        places.append(f"static const int leaf_places_{name}[] = {{{_join(scope.place(s.span) for s in x.leaves)}}};")
        lasting.append((x, marks))
    marked = dict(lasting)
    events = [event_function(scope, x.qualified, e.name) for x in scope.machines for e in x.events]
    event_places = _join(scope.place(e.span) for x in scope.machines for e in x.events)
    lines = [
        *places,
        f"static int (*const choose_next[])(int, const V *) = {{{chosen(EVENTLESS)}}};",
        f"static int (*const choose_crash[])(int, const V *) = {{{chosen(CRASH)}}};",
        "static void (*const follow_of[])(int, int, const V *) = "
        f"{{{each(lambda x: identifier('follow', scope.machine_name(x)))}}};",
        f"static const int *const transition_places[] = {{{each(lambda x: f'places_{scope.machine_name(x)}')}}};",
        f"static const int *const state_places[] = {{{each(lambda x: f'leaf_places_{scope.machine_name(x)}')}}};",
        "static const char *const lasting[] = {" + each(lambda x: f'"{marked[x]}"') + "};",
        f"static const char *const finals[] = {{{each(_finals)}}};",
        f"static void (*const handlers[]){handler} = {{{', '.join(events) or '0'}}};",
        f"static const int event_places[] = {{{event_places}}};",
        *_action_tables(scope, handler),
        *_channel_tables(scope, handler),
    ]
    return "\n".join(lines)


def _join(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "0"


def _finals(machine: m.Machine) -> str:
    if not any(s.final for s in machine.states):
        return "0"
    return f'"{"".join(str(int(s.final)) for s in machine.leaves)}"'


def _action_tables(scope: CScope, handler: str) -> Iterator[str]:
    actions = [(x, a) for x in scope.machines for a in x.actions]
    rows = []
    for x, a in actions:
        name = f"answers_{identifier(scope.machine_name(x), a.name)}"
        handlers = ", ".join(identifier("answer", scope.machine_name(x), f"{a.name}.{o}") for o in a.outcomes)
        yield f"static void (*const {name}[]){handler} = {{{handlers or '0'}}};"
        rows.append(name)
    yield f"static void (*const *const answers[]){handler} = {{{', '.join(rows) or '0'}}};"
    yield f"static const int outcomes[] = {{{_join(len(a.outcomes) for _, a in actions)}}};"
    yield f"static const int asynchronous[] = {{{_join(int(a.asynchronous) for _, a in actions)}}};"
    yield f"static const int action_places[] = {{{_join(scope.place(a.span) for _, a in actions)}}};"


def _channel_tables(scope: CScope, handler: str) -> Iterator[str]:
    u = scope.universe
    rows, accepts, ignored = list[str](), list[str](), list[str]()
    for n, (c, *_) in enumerate(u.queues):
        machine = u.model.machines[c.receiver]
        functions = ", ".join(event_function(scope, c.receiver, e.name) for e in machine.events)
        yield f"static void (*const messages_{n}[]){handler} = {{{functions or '0'}}};"
        rows.append(f"messages_{n}")
        functions = ", ".join(cm.accepts_function(scope, machine, e.name) for e in machine.events)
        yield f"static int (*const accepts_{n}[])(int, const V *) = {{{functions or '0'}}};"
        accepts.append(f"accepts_{n}")
        masks = (f"{cm.ignored_mask(machine, e.name)}ULL" for e in machine.events)
        yield f"static const unsigned long long ignored_{n}[] = {{{', '.join(masks) or '0'}}};"
        ignored.append(f"ignored_{n}")
    yield f"static void (*const *const message_handlers[]){handler} = {{{', '.join(rows) or '0'}}};"
    yield f"static int (*const *const accepts_of[])(int, const V *) = {{{', '.join(accepts) or '0'}}};"
    yield f"static const unsigned long long *const ignored_of[] = {{{', '.join(ignored) or '0'}}};"
    yield f"static const int receiver[] = {{{_join(x.receiver for x in u.queues)}}};"
    yield f"static const int channel_places[] = {{{_join(scope.place(x.channel.span) for x in u.queues)}}};"
