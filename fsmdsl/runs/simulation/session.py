"""A run under way: the steps taken, and those that have been undone and can be taken again."""

from __future__ import annotations

from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.runs.trace import Entry, Trace
from fsmdsl.step import Step, Universe, World, fire


@dataclass(frozen=True, slots=True)
class Session:
    """A person's place in a run. Only the last entry can be a step that failed; it has changed nothing."""

    universe: Universe = field(repr=False, compare=False)
    entries: tuple[Entry, ...] = ()
    at: int = 0
    """How many of the entries have been taken; those behind were undone, or belong to a trace that was loaded."""
    loop: int | None = None
    """As in `Trace`: the run was loaded from a lasso, and its last steps are repeated for ever."""
    first: World | None = None
    """The world in which it begins; None: the first of those in which the system may begin."""

    @property
    def world(self) -> World:
        """Where everything is now."""
        return self.entries[self.at - 1].world if self.at else self.start

    @property
    def before(self) -> World:
        """Where everything was before the last step; the beginning where there was none."""
        return self.entries[self.at - 2].world if self.at > 1 else self.start

    @property
    def last(self) -> Entry | None:
        """The step taken last, also where it failed."""
        return self.entries[self.at - 1] if self.at else None

    @property
    def trace(self) -> Trace:
        """The steps taken, as a trace."""
        return Trace(self.universe, self.start, self.entries[: self.at])

    @property
    def whole(self) -> Trace:
        """All steps, with those that have been undone."""
        return Trace(self.universe, self.start, self.entries, self.loop)

    @property
    def start(self) -> World:
        """The world in which the run begins."""
        return self.first or self.universe.starts[0]

    # Going on

    def begun(self, start: World) -> Session:
        """A run that has not begun, in another world in which the system may begin."""
        return Session(self.universe, first=start)

    def took(self, step: Step) -> Session:
        """One step further; what had been undone is given up, and so is a step that failed."""
        here = self.settled()
        result = fire(self.universe, here.world, step)
        entry = Entry(step, result.cascade, result.world, result.fault)
        return replace(here, entries=(*here.entries[: here.at], entry), at=here.at + 1, loop=None)

    def settled(self) -> Session:
        """The same place, without the step that failed there."""
        return self.moved(self.at - 1) if self.at and self.entries[self.at - 1].fault is not None else self

    def moved(self, to: int) -> Session:
        """The place after so many steps of the run, as near as there is one."""
        return replace(self, at=max(0, min(to, len(self.entries))))

    def undone(self, count: int = 1) -> Session:
        """Back by so many steps, or to the beginning."""
        return self.moved(self.at - count)

    def redone(self, count: int = 1) -> Session:
        """Forward again by so many steps that have been undone, or to the last."""
        return self.moved(self.at + count)

    def along(self, trace: Trace, at: int) -> Session:
        """Another run of the same system, with this place in it."""
        return Session(self.universe, trace.entries, 0, trace.loop, trace.start).moved(at)
