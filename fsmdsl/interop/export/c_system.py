"""A system in C: its state, its tables, what the environment does, what is asked of each state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import chain
from textwrap import indent

from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.export import c_machines as cm
from fsmdsl.interop.export.c_effects import TAB, block
from fsmdsl.interop.export.c_environment import crashes, events, timers
from fsmdsl.interop.export.c_expressions import expression
from fsmdsl.interop.export.c_scope import CScope, local
from fsmdsl.interop.export.c_tables import messages, tables
from fsmdsl.interop.export.c_world import constants, first_world, parameters, pending_most, reset, world_type
from fsmdsl.interop.export.escape import c_comment, c_string
from fsmdsl.interop.export.questions import Question
from fsmdsl.interop.export.refusals import Refusal, RefusedError
from fsmdsl.interop.export.runs import Condition
from fsmdsl.interop.export.values import BITS

FAULTS = ("", "unhandled", "overlap", "reentrance", "busy", "none", "range", "overflow", "endless", "lost")
"""By number; the constants in C are `UNHANDLED_FAULT` and so on."""


@dataclass(frozen=True, slots=True)
class CText:
    """The C of a system, in parts that come one after the other."""

    declarations: str
    parts: tuple[str, ...]


def c_text(scope: CScope, questions: tuple[Question, ...], conditions: Sequence[Condition] = ()) -> CText:
    """All of it. Raises `RefusedError`."""
    _check_sizes(scope)
    machines = list(chain.from_iterable(cm.functions(scope, x) for x in scope.machines))
    dispatch_tables, channels = tables(scope), messages(scope)
    system = list(_system_functions(scope, questions, conditions))  # last: it lists the places
    prototypes = "\n".join(chain.from_iterable(cm.prototypes(scope, x) for x in scope.machines))
    parts = (
        f"{constants(scope)}\n{_fixed()}",
        _resource("runtime.c"),
        "\n".join(scope.descriptions()),
        parameters(scope),
        f"{_variables(scope)}\n{channels}",
        _resource("cascade.c"),
        prototypes,
        *machines,
        dispatch_tables,
        *system,
        _resource("steps.c"),
    )
    return CText(world_type(scope), parts)


def _resource(name: str) -> str:
    return files("fsmdsl.interop.export").joinpath(name).read_text(encoding="utf-8")


def _check_sizes(scope: CScope) -> None:
    system = scope.universe.system
    if len(system.instances) > BITS:
        raise RefusedError(Refusal("many instances", system.name, system.span))
    for machine in scope.machines:
        if len(machine.leaves) > BITS:
            raise RefusedError(Refusal("many leaves", machine.name, machine.span))


def _system_functions(scope: CScope, questions: tuple[Question, ...], conditions: Sequence[Condition]) -> Iterator[str]:
    system = scope.universe.system
    yield _engine_variables(scope, questions)
    yield first_world(scope)
    yield reset(scope)
    yield from events(scope)
    yield timers(scope)
    recover = indent(block(scope, system.recover or ()), TAB)
    yield from cm.with_lets(scope, f"static void recover(int self)\n{{\n{recover}}}")
    yield from crashes(scope)
    yield from _question_functions(scope, questions)
    for c in conditions:
        yield from cm.with_lets(scope, _condition(scope, c))
    places = ", ".join(c_string(str(x)) for x in scope.places)
    yield f"static const char *const places[] = {{{places or '0'}}};"
    fault = scope.universe.fault
    first_fault = "0"
    if fault is not None:
        first_fault = c_string(
            f"fault {FAULTS.index(fault.kind)} at {scope.place(fault.span)}: {fault.kind}, {fault.span}"
        )
    count = max(len(scope.places), 1)
    yield (
        f"static const char *const first_fault = {first_fault};\n"
        f"static int first_seen, deadlock_seen, faults_seen[{len(FAULTS)}][{count}];"
    )


def _fixed() -> str:
    kinds = ", ".join(f"{x.upper()}_FAULT = {n}" for n, x in enumerate(FAULTS) if x)
    names = ", ".join(f'"{x}"' for x in FAULTS)
    return (
        f"enum {{ {kinds} }};\nstatic const char *fault_names[] = {{{names}}};\n"
        "enum { EVENT_STEP, ANSWER_STEP, TIMER_STEP, DELIVER_STEP, LOSE_STEP, DUPLICATE_STEP, CRASH_STEP, "
        "RECOVER_STEP };\n"
        'static void beyond(const char *why) { printf("beyond: %s\\n", why); exit(9); }'
    )


def _variables(scope: CScope) -> str:
    at = dict(chain.from_iterable(((n, k) for k, n in enumerate(scope.numbers(x))) for x in scope.machines))
    instances = scope.universe.system.instances
    slots, ordinals = (", ".join(map(str, x)) for x in ([at[n] for n in sorted(at)], [i.index for i in instances]))
    most = max([1, *(len(x.transitions) for x in scope.machines)])
    return f"""\
enum {{ ARGUMENTS = {scope.arguments}, RIVALS = {most}, PENDING = {pending_most(scope)}, ROUND = 1000 }};
static const int at[] = {{{slots}}}, ordinal[] = {{{ordinals}}};
static World w, expanded, next[CHOICES];
static int known, choices, listed, unoffered, writes, cut_after, fault_kind, fault_place;
static V busy, touched, happened;
static jmp_buf *out;

{c_comment("Fairness: which promises a step keeps.")}
static void happens(int self, int t)
{{
{"".join(_promise_tests(scope))}}}"""


def _promise_tests(scope: CScope) -> Iterator[str]:
    for n, x in enumerate(scope.promises):
        test = " || ".join(f"t == {t}" for t in sorted(x.transitions)) or "0"
        yield f"{TAB}if (self == {x.instance} && ({test})) happened |= {1 << n}LL;\n"


def _engine_variables(scope: CScope, questions: tuple[Question, ...]) -> str:
    finals = sum(any(s.final for s in x.states) for x in scope.universe.machines)
    u = scope.universe
    return f"""\
enum {{ INSTANCES = {len(u.machines)}, CHANNELS = {len(u.queues)}, FINALS = {finals}, STEPS = 4 * CHOICES,
       RECOVERS = {int(u.system.recover is not None)} }};
typedef struct Step {{ int kind, instance, what, position, misfit, inside, writes; V of, a[ARGUMENTS]; }} Step;
static Step steps[STEPS];
static void add(int kind, int instance, int what, int position);
static void add_event(int instance, int event, const V *a, int misfit);
static void add_crash(int inside, int after);
static void add_crash_of(V of);
static void add_cuts(int inside, int from, int to);
static int writes_of(int n);
static int truth(V (*condition)(int), int self);
static int comes(V (*condition)(int));
static void offer(void (*line)(const V *), const V *x);
static void report(int *seen, const char *text);
static V given[16];"""


def _condition(scope: CScope, c: Condition) -> str:
    """A condition that properties of runs speak of."""
    value = expression(scope, scope.elaboration.expression(c.expression, dict(c.variables)))
    names = [local(name) for name, _ in c.variables]
    read = "".join(f"{TAB}V {x} = given[{n}];\n" for n, x in enumerate(names))
    put = "".join(f"{TAB}given[{n}] = {x};\n" for n, x in enumerate(names))
    head = c_comment(str(c.expression.span))
    return (
        f"{head}\nstatic V condition_{c.number}(int self)\n{{\n{read}{TAB}return {value};\n}}\n\n"
        f"static int holds_{c.number}({', '.join(f'V {x}' for x in names) or 'void'})\n{{\n{put}"
        f"{TAB}w = now.w;\n{TAB}return truth(condition_{c.number}, -1);\n}}"
    )


def _question_functions(scope: CScope, questions: tuple[Question, ...]) -> Iterator[str]:
    calls, bounds = [], []
    for q in questions:
        with scope.read_by(q.machine):
            value = expression(scope, scope.elaboration.expression(q.condition))
        head = c_comment(f"{q.kind} {q.name}, {q.span}")
        text = f"{head}\nstatic V question_{q.number}(int self)\n{{\n    return {value};\n}}"
        yield from cm.with_lets(scope, text)
        if q.kind == "bound":
            bounds.append(f"truth(question_{q.number}, -1)")
            continue
        sign = "!" if q.kind == "invariant" else ""
        line = c_string(f"{q.kind} {q.number} {'violated' if sign else 'shown'}: {q.name}")
        for n in q.instances:
            test = f"{sign}truth(question_{q.number}, {n})"
            calls.append(f"{TAB}if ({test}) report(&questions_seen[{q.number}], {line});\n")
    count = max(len(questions), 1)
    yield f"static int questions_seen[{count}];\nstatic void ask(void)\n{{\n{''.join(calls)}}}"
    inside = " && ".join(bounds) or "1"
    yield f"{c_comment('Are steps explored from here?')}\nstatic int inside(void)\n{{\n{TAB}return {inside};\n}}"
