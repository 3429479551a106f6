"""What finds a transition."""

from __future__ import annotations

from typing import Final, assert_never

from fsmdsl import model as m

CRASH: Final = "on crash"
"""No event is called so, as a name holds no space."""

EVENTLESS: Final = ""


def trigger_name(trigger: m.Trigger) -> str | None:
    """`take` for an event, `deploy.ok` for an outcome, `CRASH`, `EVENTLESS`; nothing finds a timer."""
    match trigger:
        case m.OnEvent(event, _):
            return event
        case m.OnOutcome(action, outcome):
            return f"{action}.{outcome}"
        case m.OnCrash():
            return CRASH
        case m.Eventless():
            return EVENTLESS
        case m.OnTimer():
            return None
        case _:
            assert_never(trigger)


def triggered_by(machine: m.Machine, kind: type[m.Trigger]) -> tuple[m.Transition, ...]:
    """A machine's transitions with a kind of trigger, in the order of the text."""
    return tuple(t for t in machine.transitions if isinstance(t.trigger, kind))
