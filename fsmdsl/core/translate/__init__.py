"""A model as core statements: what each event, answer, timer, message, crash and recovery does, and what can come next.

Each procedure is written by one function, named after its kind. The rules of the language and where they are:

- what fits: `fitting.fits`
- the order of evaluation, and what needs a value: `expressions.value`, `joined`
- delivery: `effects.deliver`, `machines.admit`, `handle`, `choose`, `follow`
- rounds: `steps.round`, `machines.eventless`
- crashes: `steps.crash`, `strike`, `machines.choose_crash`, `forget`, `follow_crash`
- what can come next: `offers.offers`; how a system begins: `beginning.begin`
- what is asked of states: `conditions.holds`

A back end can translate a whole system, or ask for the procedures of one machine with a `Context` of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core.elaborate import Elaboration
from fsmdsl.core.translate import beginning, machines, offers, steps
from fsmdsl.core.translate.conditions import holds
from fsmdsl.core.translate.context import Builder, Context, Scope
from fsmdsl.core.triggers import triggered_by

__all__ = ["Builder", "Context", "Scope", "all_procedures", "holds", "translate"]

EMPTY: Mapping[str, tuple[str, m.Expr]] = MappingProxyType({})


def translate(
    model: m.Model,
    system: m.System | None = None,
    elaboration: Elaboration | None = None,
    conditions: Mapping[str, tuple[str, m.Expr]] = EMPTY,
) -> s.Program:
    """All procedures of a system, or of all machines of a model, without a system. Raises `TooLargeNumberError`.

    `conditions`, by any names: what is asked of worlds, each with the machine (qualified) of which an instance reads
    it; empty: the system does.
    """
    context = Context(elaboration or Elaboration(model, system))
    for name, (machine, condition) in conditions.items():
        holds(context, name, condition, model.machines.get(machine))
    return all_procedures(context)


def all_procedures(context: Context) -> s.Program:
    """The same, and what the context has already. Offers come first: see `Context.closed`."""
    if context.system is not None:
        offers.offers(context)
    for machine in context.machines:
        _machine(context, machine)
    for channel in context.channels:
        _channel(context, channel)
    steps.round(context)
    if context.system is not None:
        steps.crash(context)
        steps.crash_alone(context)
        steps.recover(context)
        beginning.begin(context)
        beginning.may_begin(context)
    return s.Program(context.procedures)


def _machine(context: Context, machine: m.Machine) -> None:
    for event in machine.events:
        machines.admit(context, machine, event)
        machines.handle(context, machine, event.name)
        steps.event(context, machine, event)
    for action in machine.actions:
        for outcome in action.outcomes:
            machines.handle(context, machine, f"{action.name}.{outcome}")
            steps.answer(context, machine, action, outcome)
    for t in triggered_by(machine, m.OnTimer):
        steps.tick(context, machine, t)
    machines.eventless(context, machine)
    machines.choose_crash(context, machine)
    machines.forget(context, machine)
    machines.follow_crash(context, machine)


def _channel(context: Context, channel: m.Channel) -> None:
    steps.deliver_message(context, channel)
    if channel.lossy:
        steps.lose_message(context, channel)
    if channel.duplicating:
        steps.duplicate_message(context, channel)
