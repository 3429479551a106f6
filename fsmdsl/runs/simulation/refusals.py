"""Why something cannot happen now: the state that ignores it, the guard that does not hold, its possible senders."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.runs.explain import explain
from fsmdsl.runs.rejection import fault_lines
from fsmdsl.runs.simulation.choices import offered
from fsmdsl.runs.simulation.sendings import Sending, TooManyError, sendings
from fsmdsl.step import Fault, FaultError, Universe, Value, World
from fsmdsl.step.cascade import StepInProgress, bound, guard_holds
from fsmdsl.step.describe import shown_arguments
from fsmdsl.step.evaluate import Frame
from fsmdsl.step.offers import awaited, standing_still
from fsmdsl.text.diagnostics import did_you_mean

MAX_LINES = 6
"""Maximum number of ways to send an event that are listed."""


@dataclass(frozen=True, slots=True)
class _Trigger:
    """An event, an action's outcome or a timer, and whose."""

    instance: int
    name: str
    arguments: str | None
    """As the person wrote them, without blanks; None: any."""


def why_not(universe: Universe, world: World, text: str) -> list[str]:
    """Why an event (`schedule`, `g0.schedule`, `g0.schedule({c0})`), an answer (`g0.deploy.ok`), a timer (its label or
    source) or `recover` is not possible in a world; where it is, what it would do."""
    text = text.strip()
    possible = [c for c in offered(universe, world).choices if _matches(c.text, text)]
    if possible:
        return [line for c in possible[:MAX_LINES] for line in _possible(universe, c.text, c.leads, c.fault)]
    if text.startswith(("crash", "recover")):
        return [_restart(universe, world, text)]
    triggers = _triggers(universe, text)
    if not triggers:
        pairs = [(universe.name(n), e) for n, x in enumerate(universe.machines) for e in _names(x)]
        names = [f"{name}.{e}" if "." in text else e for name, e in pairs]
        advice = did_you_mean(text.partition("(")[0], names)
        return [f"there is no event, answer or timer `{text}` here{f'; {advice}' if advice else ''}"]
    return [line for t in triggers for line in _why(universe, world, t)]


def _matches(choice: str, text: str) -> bool:
    """Is a choice meant by all of it, by it without its arguments, or by the event alone?"""
    head = choice.partition("(")[0]
    return "".join(text.split()) == "".join(choice.split()) or text in (head, head.partition(".")[2])


def _possible(universe: Universe, text: str, leads: str, fault: Fault | None) -> Iterator[str]:
    if fault is not None:
        first, *rest = fault_lines(universe, fault)
        yield f"{text} is possible, but fails: {first} ({fault.kind})"
        yield from (f"  {line}" for line in rest)
    else:
        yield f"{text} is possible{f': {leads}' if leads else ''}"


def _restart(universe: Universe, world: World, text: str) -> str:
    if text.startswith("recover"):
        has = universe.system.recover is not None
        return "the system is not down: there is nothing to recover" if has else "the system has no `recover` block"
    if world.down:
        return "the system is down; `recover` must run first"
    system = universe.system
    if text.startswith("crash of"):
        if not system.process_crashes:
            return "the environment of this system has no `crash of`"
        return "the environment crashes only those that it names, and only when its `when` holds"
    if not system.crashes:
        return "the environment of this system has no `crash`" + (" of everything" if system.process_crashes else "")
    return "the environment crashes the system only when its `when` holds, and at the places that it names"


# What is meant -------------------------------------------------------------------------------------------------------


def _names(machine: m.Machine) -> Iterator[str]:
    yield from (e.name for e in machine.events)
    yield from (f"{a.name}.{o}" for a in machine.actions for o in a.outcomes)
    yield from (n for t in _timers(machine) for n in t.timer_names)


def _timers(machine: m.Machine) -> list[m.Transition]:
    return [t for t in machine.transitions if isinstance(t.trigger, m.OnTimer)]


_TIMEOUT = re.compile(r"timeout\s+(\S+)(?:\s+of\s+(\S+))?$")


def _triggers(universe: Universe, text: str) -> list[_Trigger]:
    timeout = _TIMEOUT.match(text)
    if timeout is not None:
        whose, name = timeout.groups()
        at = [n for n in range(len(universe.machines)) if universe.name(n) == whose]
        return [_Trigger(n, x, None) for n in at for x in _timer_names(universe.machines[n], name)]
    head, bracket, rest = text.partition("(")
    arguments = "".join(f"({rest}".split()) if bracket else None
    whose, dot, name = head.strip().partition(".")
    triggers = [
        _Trigger(n, name, arguments) for n in _called(universe, whose) if dot and name in _names(universe.machines[n])
    ]
    if triggers:
        return triggers
    every = enumerate(universe.machines)
    return [_Trigger(n, head.strip(), arguments) for n, machine in every if head.strip() in _names(machine)]


def _timer_names(machine: m.Machine, name: str | None) -> list[str]:
    """The timers of a name; without one, all."""
    return list(dict.fromkeys(t.label or t.source for t in _timers(machine) if name is None or name in t.timer_names))


def _called(universe: Universe, name: str) -> list[int]:
    return [n for n in range(len(universe.machines)) if universe.name(n) == name]


# Why -----------------------------------------------------------------------------------------------------------------


def _why(universe: Universe, world: World, t: _Trigger) -> Iterator[str]:
    machine, state, name = universe.machines[t.instance], world.states[t.instance], universe.name(t.instance)
    draft = StepInProgress(universe, world)
    first = standing_still(draft)
    if world.down:
        yield f"{name}.{t.name}: the system is down; `recover` must run first"
    elif "." in t.name:
        action = t.name.partition(".")[0]
        yield f"{name} is not waiting for an answer to `{action}`"
    elif first is not None and not awaited(draft, first).asynchronous:
        awaiting = f"{universe.name(first.instance)}.{first.action}"
        yield f"{name}.{t.name}: the system is blocked until {awaiting} is answered"
    elif draft.awaits(t.instance) is not None:
        yield f"{name} waits for the answer to `{draft.awaits(t.instance)}`"
    elif t.name not in machine.event_named:
        yield from _timer(universe, world, t)
    else:
        yield from _event(universe, world, t, state)


def _timer(universe: Universe, world: World, t: _Trigger) -> Iterator[str]:
    name, state = universe.name(t.instance), world.states[t.instance]
    running = [x for x in universe.timers(t.instance, state) if t.name in x.timer_names]
    if not running:
        yield f"timer `{t.name}` of {name} does not run in `{state}`"
    for x in running:
        if x.guard is not None:
            yield f"the guard of `{x.name}` of {name} does not hold: {_explained(universe, world, t.instance, x, ())}"


def _event(universe: Universe, world: World, t: _Trigger, state: str) -> Iterator[str]:
    machine, name = universe.machines[t.instance], universe.name(t.instance)
    levels = universe.candidates(t.instance, state, t.name)
    if not levels:
        handled = [s.name for n, s in enumerate(machine.leaves) if universe.candidates(t.instance, s.name, t.name)]
        where = f"it is handled in {', '.join(handled)}" if handled else "no state handles it"
        if universe.ignores(t.instance, state, t.name):
            yield f"{name} ignores `{t.name}` in `{state}`; {where}"
        else:
            yield f"{name} is in `{state}`, where no transition handles `{t.name}`; {where}"
        return
    event = machine.event_named[t.name]
    if not event.from_environment:
        yield f"`{t.name}` comes only from {', '.join(event.senders)}, not from the environment"
        return
    yield from _sent(universe, world, t, [x for level in levels for x in level])


def _sent(universe: Universe, world: World, t: _Trigger, candidates: Sequence[m.Transition]) -> Iterator[str]:
    """The ways in which the environment could send it, each with what stands against it."""
    name, event = universe.name(t.instance), universe.machines[t.instance].event_named[t.name]
    try:
        ways = sendings(universe, world, t.instance, t.name)
    except TooManyError as error:
        yield f"the environment would have to choose among {error}"
        return
    lines: list[str] = []
    for way in ways:
        arguments = shown_arguments(universe, event.parameters, way.arguments)
        if t.arguments in (None, "".join(arguments.split())):
            lines += [f"{name}.{t.name}{arguments}: {line}" for line in _against(universe, world, t, way, candidates)]
    lines = list(dict.fromkeys(lines))
    yield from lines[:MAX_LINES]
    if len(lines) > MAX_LINES:
        yield f"and {len(lines) - MAX_LINES:,} more; name the arguments to see one"
    if not lines:
        what = f"{name}.{t.name}{t.arguments or ''}"
        yield f"no line of the environment of `{universe.system.name}` sends {what} here"


def _against(
    universe: Universe, world: World, t: _Trigger, way: Sending, candidates: Sequence[m.Transition]
) -> Iterator[str]:
    if way.refused is not None:
        yield f"the environment sends it only when {way.refused}"
        return
    draft = StepInProgress(universe, world)
    for x in candidates:
        try:
            stands = guard_holds(draft, t.instance, x, way.arguments)
        except FaultError:
            continue
        if not stands:
            yield f"the guard of `{x.name}` does not hold: {_explained(universe, world, t.instance, x, way.arguments)}"


def _explained(universe: Universe, world: World, instance: int, t: m.Transition, arguments: tuple[Value, ...]) -> str:
    assert t.guard is not None
    return "; ".join(explain(Frame(universe, world, instance, bound(t, arguments)), t.guard))
