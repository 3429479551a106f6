"""The exceptions of machines and systems."""

from __future__ import annotations


class StepRefused(Exception):
    """The step did not happen: everything is as it was before."""


class Overlap(StepRefused):
    """Two transitions are enabled at once, and neither has priority."""

    def __init__(self, machine: object, event: str, first: str, second: str) -> None:
        on = f" on {event}" if event else ""
        super().__init__(f"{machine!r} can follow both {first} and {second}{on}, and neither has priority")
        self.machine = machine


class ReentrantEvent(StepRefused):
    """A machine got an event in the middle of its own transition."""


class ConcurrentStep(StepRefused):
    """A thread called a system while another one was inside a step of it, or while its event loop ran in another."""


class Busy(StepRefused):
    """An event came while an answer is awaited, or while the system is down."""


class StaleAnswer(StepRefused):
    """The answer to an action that no machine waits for any more."""


class MissingReference(StepRefused):
    """A value that is needed is none, or is not there."""


class OutOfRange(StepRefused):
    """A value is not one of its variable: outside its range, or of another type."""


class Full(StepRefused):
    """A list or channel would exceed its capacity."""


class EndlessRound(StepRefused):
    """Transitions follow one another forever, or events are nested too deeply."""


class Lost(StepRefused):
    """A crash found a machine in a state that does not survive it, without a crash transition."""


class InvariantBroken(Exception):
    """An invariant is false."""

    def __init__(self, holder: object, name: str, condition: str) -> None:
        super().__init__(f"{holder!r}: {name}: {condition}")
        self.holder = holder
        self.name = name


class ForeignSnapshot(ValueError):
    """A snapshot that does not fit these classes, or the machines of a system."""
