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

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core.elaborate import Elaboration
from fsmdsl.core.translate import beginning, machines, offers, steps
from fsmdsl.core.translate.conditions import holds
from fsmdsl.core.translate.context import Builder, Context, Scope
from fsmdsl.core.triggers import triggered_by

__all__ = ["Builder", "Context", "Scope", "all_procedures", "holds", "procedure", "translate"]

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
    names = [name for x in context.machines for name in _of_machine(x)]
    names += [name for x in context.channels for name in _of_channel(x)]
    names.append(s.Name("round"))
    if context.system is not None:
        offers.offers(context)
        names += [s.Name("crash"), s.Name("crash alone"), s.Name("recover"), s.Name("begin"), s.Name("may begin")]
    for name in names:
        procedure(context, name)
    return s.Program(context.procedures)


def _of_machine(machine: m.Machine) -> Iterator[s.Name]:
    of = machine.qualified
    for e in machine.events:
        yield from (s.Name("admit", of, e.name), s.Name("handle", of, e.name), s.Name("event", of, e.name))
    for trigger in (f"{a.name}.{outcome}" for a in machine.actions for outcome in a.outcomes):
        yield from (s.Name("handle", of, trigger), s.Name("answer", of, trigger))
    yield from (s.Name("tick", of, f"{t.index}") for t in triggered_by(machine, m.OnTimer))
    yield from (s.Name("eventless", of), s.Name("choose crash", of), s.Name("forget", of), s.Name("follow crash", of))


def _of_channel(channel: m.Channel) -> Iterator[s.Name]:
    yield s.Name("deliver message", channel.qualified)
    if channel.lossy:
        yield s.Name("lose message", channel.qualified)
    if channel.duplicating:
        yield s.Name("duplicate message", channel.qualified)


def procedure(context: Context, name: s.Name) -> s.Procedure:
    """A procedure of a system. If it is not there yet, the function that is named like it writes it."""
    existing = context.procedures.get(name)
    if existing is not None:
        return existing
    function = name.kind.replace(" ", "_")
    module = next(x for x in (machines, steps, offers, beginning) if hasattr(x, function))
    result: s.Procedure = getattr(module, function)(context, *_about(context, name))
    return result


def _about(context: Context, name: s.Name) -> tuple[object, ...]:
    """What a procedure is about."""
    if name.owner in context.model.channels:
        return (context.model.channels[name.owner],)
    if not name.owner:
        return ()
    machine = context.model.machines[name.owner]
    match name.kind:
        case "admit" | "event":
            return machine, machine.event_named[name.subject]
        case "handle":
            return machine, name.subject
        case "answer":
            action, outcome = name.subject.split(".")
            return machine, machine.action_named[action], outcome
        case "tick":
            return machine, machine.transitions[int(name.subject)]
        case _:
            return (machine,)
