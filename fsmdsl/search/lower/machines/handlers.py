"""What machines do with events, answers and time: a function for each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import neg

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core.translate import machines as core
from fsmdsl.core.translate.context import of_machine
from fsmdsl.program.builder import Builder, Inside, function, rows
from fsmdsl.program.builder import numbers as parameters
from fsmdsl.program.nodes import Function, Var
from fsmdsl.search.lower.context import AT, STATE, Context, F, Fail, Scope, T
from fsmdsl.search.lower.fault_codes import IGNORED, UNHANDLED
from fsmdsl.search.lower.statements import admission
from fsmdsl.search.lower.values.expressions import in_leaves


def machine_scope(context: Context, machine: m.Machine, builder: Builder) -> Scope:
    """Inside a function about the instance `at` of a machine: a fault is its result."""
    return Scope(context, builder, T, AT, machine, Fail(lambda code: builder.return_(context.code(code))))


def read_state(scope: Scope) -> None:
    """`state`: the leaf in which the instance `at` is."""
    _, machine = scope.own
    scope.builder.set(STATE, scope.at(scope.context.column(machine.qualified, ""), AT))
    scope.state = STATE


def handler(context: Context, machine: m.Machine, trigger: str, name: str) -> Function:
    """The function for an event (`take`) or an answer (`deploy.ok`)."""
    b = Builder()
    scope, event = machine_scope(context, machine, b), machine.event_named.get(trigger)
    procedure = core.handle(context.core, machine, trigger)
    arguments = {x.name: Var(f"a{n}") for n, x in enumerate(procedure.parameters[1:-1])}
    scope.variables = {**arguments}
    if event is None:
        # The answer was asked for; nobody can be blamed but the machine itself.
        first = context.site(UNHANDLED + len(machine.leaves))
        scope.blame = lambda why: why + first
    else:
        scope.blame = neg
        scope.execute(admission(context, s.Name("admit", machine.qualified, trigger)))
    read_state(scope)
    scope.execute(procedure.body)
    return _of_machine(machine, name, trigger, b, [x.name for x in arguments.values()])


def _of_machine(machine: m.Machine, name: str, what: str, b: Builder, arguments: Sequence[str] = ()) -> Function:
    """A function about the instance `at`."""
    return function(name, (*rows("t"), *parameters("at", *arguments)), b.block, f"{machine.name}: {what}")


def refuser(context: Context, machine: m.Machine, event: str, types: Sequence[m.Type], name: str) -> Function:
    """The function for an event with an argument that its parameter cannot hold: the fault `f` if a transition for it
    is enabled all the same, for then it is offered."""
    b = Builder()
    scope = Scope(context, b, T, AT, machine, Fail(lambda _: b.return_(F)))
    read_state(scope)
    place = of_machine(context.core, scope.names, machine)
    arguments = [scope.standing_for(Var(f"a{n}"), t) for n, t in enumerate(types)]
    for group in context.selection(machine).groups(event):
        with b.if_(in_leaves(STATE, machine, group.leaves)):
            for t in (t for level in group.levels for t in level):
                with scope.names.aside() as needed:
                    enabled = core.guard(place, t, arguments)
                scope.execute(tuple(needed))
                with b.if_(scope.value(enabled)):
                    b.return_(F)
    b.return_(IGNORED)
    return function(name, (*rows("t"), *parameters("at", "f", *(f"a{n}" for n in range(len(types))))), b.block)


# Time and rounds -----------------------------------------------------------------------------------------------------


def timer(context: Context, machine: m.Machine, t: m.Transition, name: str) -> Function:
    """The function for a timer: it does nothing where its guard does not hold."""
    b = Builder()
    scope = machine_scope(context, machine, b)
    read_state(scope)
    place = of_machine(context.core, scope.names, machine)

    def then(t: m.Transition, leaf: str) -> None:
        place.builder.add(s.Call(core.follow(context.core, machine, t, leaf).name, (place.self,)), s.Return())

    for group in context.selection(machine).timer_groups(t):
        with b.if_(in_leaves(STATE, machine, group.leaves)):
            with scope.names.aside() as chosen:
                core.choose(place, group.levels, group.leaves[0], (), then)
            scope.execute(tuple(chosen))
    b.return_(IGNORED)
    return _of_machine(machine, name, f"time is up for transition {t.index}", b)


def eventless(context: Context, machine: m.Machine, name: str, *, trial: bool = False) -> Function:
    """The function that follows one transition without event, or would: 1 if none is enabled. If it has followed one,
    the code of the fault that this is if the round does not end with it, negated; 0 if it would."""
    b = Builder()
    scope = machine_scope(context, machine, b)
    scope.trial = trial
    read_state(scope)
    *selection, _ = context.procedure(s.Name("eventless", machine.qualified), core.eventless, machine).body
    scope.execute(tuple(selection))
    b.return_(IGNORED)
    return _of_machine(machine, name, "without event", b)


# Instances -----------------------------------------------------------------------------------------------------------


def each_of(context: Context, machine: m.Machine, b: Builder) -> Inside:
    """A loop through the instances of a machine."""
    return b.for_each(AT, sorted(context.universe.instances_of(machine.qualified)))


def stretches(context: Context, machines: Sequence[m.Machine]) -> list[tuple[m.Machine, range]]:
    """All instances of some machines in the order in which they were made: stretches of one machine."""
    runs: list[tuple[m.Machine, range]] = []
    for machine, group in groupby(enumerate(context.universe.machines), lambda x: x[1]):
        numbers = [n for n, _ in group]
        if machine in machines:
            runs.append((machine, range(numbers[0], numbers[-1] + 1)))
    return runs
