"""The application in each library: how an instance is made, and what its state is called. Imports are inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Implementation = tuple[Callable[[], Any], Callable[[Any], str]]

STATES = [
    "New", "Accepted", "Starting", "Running", "Completing", "Completed", "Expired", "Failing", "Failed", "Rejected",
]  # fmt: skip
MOVES = """
run: New Accepted, Accepted Starting, Starting Running, Running Running, Completing Running
complete: Accepted Completing, Running Completing, Completing Completed
expire: Completed Expired
fail: New Failing, Accepted Failing, Starting Failing, Running Failing, Completing Failing, Failing Failed
reject: New Rejected
"""


def moves() -> Iterator[tuple[str, str, str]]:
    """Event, source and target of all sixteen transitions."""
    for line in MOVES.strip().splitlines():
        event, _, pairs = line.partition(": ")
        for pair in pairs.split(", "):
            source, target = pair.split()
            yield event, source, target


def generated() -> Implementation:
    """What `fsm generate` writes."""
    from application import Application  # type: ignore[import-not-found,unused-ignore]

    return Application, lambda x: x.state.value


def by_hand() -> Implementation:
    """A hand-written class with `__slots__` and comparisons of numbers."""
    from hand import Application

    return Application, lambda x: STATES[x.state]


def transitions() -> Implementation:
    """`transitions`, one machine per instance, no automatic transitions."""
    from transitions import Machine

    table = [list(x) for x in moves()]
    return lambda: Machine(states=STATES, transitions=table, initial="New", auto_transitions=False), lambda x: x.state


def transitions_models() -> Implementation:
    """`transitions`, one machine for many models."""
    from transitions import Machine

    machine = Machine(None, STATES, "New", [list(x) for x in moves()], auto_transitions=False)

    class Model:
        pass

    def make() -> Any:
        model = Model()
        machine.add_model(model)
        return model

    return make, lambda x: x.state


def python_statemachine() -> Implementation:
    """`python-statemachine`."""
    from statemachine import State, StateMachine  # type: ignore[import-not-found,unused-ignore]

    states = {s: State(initial=s == "New", final=s in ("Expired", "Failed", "Rejected")) for s in STATES}
    events: dict[str, Any] = {}
    for event, source, target in moves():
        arrow = states[source].to(states[target])
        events[event] = events[event] | arrow if event in events else arrow
    class_ = type(StateMachine)("Application", (StateMachine,), {**states, **events})
    return class_, lambda x: next(iter(x.configuration)).id


ALL: dict[str, Callable[[], Implementation]] = {
    f.__name__: f for f in (generated, by_hand, transitions, transitions_models, python_statemachine)
}
