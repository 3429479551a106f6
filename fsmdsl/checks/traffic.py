"""Who sends which event: found once, for the rules that ask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fsmdsl import model as m
from fsmdsl.walk import effects_of


@dataclass(frozen=True, slots=True)
class Dispatch:
    """An event that a machine or channel sends to a machine; all by their full names."""

    sender: str
    machine: str
    event: str


def dispatches(model: m.Model) -> Iterator[Dispatch]:
    """Everything that machines send, to one another and through channels."""
    for machine in model.machines.values():
        for x in effects_of(machine):
            match x:
                case m.Send(machine=receiver, event=event):
                    yield Dispatch(machine.qualified, receiver, event)
                case m.Post(channel=channel, event=event):
                    yield Dispatch(channel, model.channels[channel].receiver, event)
                case _:
                    pass
