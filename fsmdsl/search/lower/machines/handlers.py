"""What machines do with events, answers and time: a function for each."""

from __future__ import annotations

from collections.abc import Sequence
from operator import neg

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.program.builder import Builder, function, rows
from fsmdsl.program.builder import numbers as parameters
from fsmdsl.program.nodes import Function, Var
from fsmdsl.search.lower.context import AT, Context, Fail, Scope, T
from fsmdsl.search.lower.fault_codes import IGNORED, UNHANDLED
from fsmdsl.search.lower.machines.channels import MESSAGE, message_at, within
from fsmdsl.search.lower.values.expressions import read_state


def machine_scope(context: Context, machine: m.Machine, builder: Builder) -> Scope:
    """Inside a function about the instance `at` of a machine: a fault is its result."""
    return Scope(context, builder, T, AT, machine, Fail(lambda code: builder.return_(context.code(code))))


def handler(context: Context, machine: m.Machine, trigger: str, name: str) -> Function:
    """The function for an event (`take`) or an answer (`deploy.ok`)."""
    b = Builder()
    scope, event = machine_scope(context, machine, b), machine.event_named.get(trigger)
    procedure = context.procedure("handle", machine.qualified, trigger)
    arguments = {x.name: Var(f"a{n}") for n, x in enumerate(procedure.parameters[1:-1])}
    scope.variables = {**arguments}
    if event is None:
        # The answer was asked for; nobody can be blamed but the machine itself.
        first = context.site(UNHANDLED + len(machine.leaves))
        scope.blame = lambda why: why + first
    else:
        scope.blame = neg
        scope.execute(context.procedure("admit", machine.qualified, trigger).body)
    read_state(scope)
    scope.execute(procedure.body)
    return _of_machine(machine, name, trigger, b, [x.name for x in arguments.values()])


def _of_machine(machine: m.Machine, name: str, what: str, b: Builder, arguments: Sequence[str] = ()) -> Function:
    """A function about the instance `at`."""
    return function(name, (*rows("t"), *parameters("at", *arguments)), b.block, f"{machine.name}: {what}")


def step(context: Context, procedure: s.Procedure) -> Function:
    """The function for a step, up to its round: what it comes to."""
    b, name, channel = Builder(), procedure.name, context.universe.model.channels.get(procedure.name.owner)
    machine = context.universe.model.machines.get(name.owner if channel is None else channel.receiver)
    names = {x.name: AT if x.name == "self" else Var(f"a{n}") for n, x in enumerate(procedure.parameters)}
    scope = Scope(context, b, T, names.get("self"), machine, Fail(lambda code: b.return_(context.code(code))))
    scope.variables = {**names}
    if name.kind == "tick":
        read_state(scope)
    if channel is not None:
        scope = within(scope, channel)
    if name.kind == "deliver message":
        queue, *_ = scope.places
        b.set(MESSAGE, message_at(scope, queue, names["position"]))
        scope.message, scope.waits = MESSAGE, channel is not None and channel.waiting
    if not scope.execute(procedure.body):
        b.return_(0)
    signature = (*rows("t"), *parameters(*(x.name for x in names.values())))
    what = f"{name.kind} {name.subject}" if name.subject else name.kind
    return function(context.steps[name], signature, b.block, what)


def eventless(context: Context, machine: m.Machine, name: str, *, trial: bool = False) -> Function:
    """The function that follows one transition without event, or would: 1 if none is enabled. If it has followed one,
    the code of the fault that this is if the round does not end with it, negated; 0 if it would."""
    b = Builder()
    scope = machine_scope(context, machine, b)
    scope.trial = trial
    read_state(scope)
    *selection, _ = context.procedure("eventless", machine.qualified).body
    scope.execute(tuple(selection))
    b.return_(IGNORED)
    return _of_machine(machine, name, "without event", b)
