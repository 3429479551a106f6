"""What can come next, as a person chooses from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, assert_never

from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.runs.causality_tree import caused, receiver_of
from fsmdsl.runs.simulation.session import Session
from fsmdsl.runs.trace import Trace, first_choices
from fsmdsl.step import (
    ChannelStep,
    CrashStep,
    EventStep,
    Fault,
    OutcomeStep,
    RecoverStep,
    Step,
    TimerStep,
    TooManyValuesError,
    Universe,
    World,
    enabled,
    fire,
    unoffered,
)
from fsmdsl.step.describe import describe, fault_message

Kind = Literal["start", "event", "answer", "timer", "delivery", "loss", "repetition", "crash", "recovery"]

TRIED = 400
"""More steps than this are not taken on trial to say what each leads to."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An enabled step. `leads` says which transition it begins with (`e0 Free → Used`), `fault` why it fails, if it
    does; both are unknown where there are too many steps to try them all."""

    number: int
    """From 1, in the order of `step.enabled`."""
    step: Step | World
    """A world: the run begins there instead."""
    text: str
    kind: Kind
    instance: str | None
    """The instance that it happens to, if there is one."""
    leads: str = ""
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class Offered:
    """The choices, and why it cannot be said what else can come next."""

    choices: tuple[Choice, ...]
    problem: str | None = None


def offered(universe: Universe, world: World) -> Offered:
    """The choices in a world. Takes each of them on trial, unless there are more than `TRIED`."""
    try:
        steps, faults = enabled(universe, world), unoffered(universe, world)
    except TooManyValuesError as error:
        return Offered((), f"the environment would have to choose among {error}")
    messages = [f"{fault_message(universe, x)} ({x.kind})" for x in faults]
    problem = f"a condition of the environment has no value here: {'; '.join(messages)}" if messages else None
    tried = len(steps) <= TRIED
    return Offered(tuple(_choice(universe, world, n, step, tried) for n, step in enumerate(steps, 1)), problem)


def choices(session: Session) -> Offered:
    """The choices where a session stands. At the beginning of a run, the other worlds that it can begin in are among
    them, behind the steps."""
    universe, offer = session.universe, offered(session.universe, session.world)
    if session.at or len(universe.starts) == 1:
        return offer
    others = (Trace(universe, x) for x in universe.starts if x != session.start)
    numbered = enumerate(others, len(offer.choices) + 1)
    starts = (Choice(n, x.start, f"start with {', '.join(first_choices(x))}", "start", None) for n, x in numbered)
    return replace(offer, choices=(*offer.choices, *starts))


def chosen(session: Session, choice: Choice) -> Session:
    """The session after a choice."""
    return session.begun(choice.step) if isinstance(choice.step, World) else session.took(choice.step)


def _choice(universe: Universe, world: World, number: int, step: Step, tried: bool) -> Choice:
    at = receiver_of(universe, step)
    name = None if at is None else universe.name(at)
    text, kind = describe(universe, step, world), kind_of(step)
    if not tried:
        return Choice(number, step, text, kind, name)
    result = fire(universe, world, step)
    leads = "" if kind == "crash" else caused(universe, step, result.cascade, world).then
    return Choice(number, step, text, kind, name, leads, result.fault)


def kind_of(step: Step) -> Kind:
    """What kind of thing comes from outside."""
    match step:
        case EventStep():
            return "event"
        case OutcomeStep():
            return "answer"
        case TimerStep():
            return "timer"
        case ChannelStep(kind):
            return "delivery" if kind == "deliver" else "loss" if kind == "lose" else "repetition"
        case CrashStep():
            return "crash"
        case RecoverStep():
            return "recovery"
        case _:
            assert_never(step)


def matching(choices: Sequence[Choice], text: str) -> list[Choice]:
    """The choices meant by a number or a text: those that read so, else begin so, else have it in them."""
    if text.isascii() and text.isdecimal():
        return [c for c in choices if c.number == int(text[:9])]
    key = _squeezed(text)
    if not key:
        return []
    candidates = [(c, _squeezed(c.text)) for c in choices]
    exact = [c for c, label in candidates if label == key]
    return (
        exact
        or [c for c, label in candidates if label.startswith(key)]
        or [c for c, label in candidates if key in label]
    )


def _squeezed(text: str) -> str:
    """Blanks make no difference, unless they part words."""
    out = " ".join(text.split())
    for sign in "(),{}[].":
        out = out.replace(f" {sign}", sign).replace(f"{sign} ", sign)
    return out
