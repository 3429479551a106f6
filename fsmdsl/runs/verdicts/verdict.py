"""What an exploration has found, and the evidence for each verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.runs.trace import Trace
from fsmdsl.step.instances import Roster
from fsmdsl.step.world import Fault, Value, World
from fsmdsl.text.source import Span

VerdictKind = Literal["invariant", "deadlock", "fault", "reachable", "property", "refinement"]
Outcome = Literal["holds", "violated", "not checked", "unknown"]


AFTER_VIOLATION = 50_000

AT_VIOLATION = "stopped at violations"

SOME_FAIL = ", but some steps fail"
"""Of a search of all states: a failing step leads nowhere, so nothing is known of what would follow it."""


def is_own(kind: VerdictKind) -> bool:
    """Does the author ask for it? The language itself asks about failing steps and deadlocks."""
    return kind not in ("fault", "deadlock")


@dataclass(frozen=True, slots=True)
class Limits:
    """Where an exploration stops. What it has not found by then is unknown, never a success."""

    states: int | None = None
    seconds: float | None = None
    memory: int | None = None
    """Bytes; else three quarters of what is free."""
    after_violation: int | None = AFTER_VIOLATION
    """Once a state or step violates something, the exploration ends with the first level that is done when so many
    states are found; None: it goes on. A count of states, so that the answer does not depend on the machine."""

    def enough(self, states: int) -> bool:
        """Does the exploration end with this level, if something is violated?"""
        return self.after_violation is not None and states >= self.after_violation


@dataclass(frozen=True, slots=True)
class Means:
    """How an exploration goes about it. None of this changes what it finds."""

    workers: int | None = None
    """Threads of a compiled search; else as many as there are processors."""
    compiled: Literal["hastily"] | bool | None = None
    """Machine code from the beginning (compiled hastily, or well: True), or never (False); else, when plain Python has
    been outgrown, what was compiled hastily, and in time what was compiled well."""
    once: bool = False
    """The system will soon be another: nothing is kept, and only what takes long is compiled well."""
    beside_others: bool = False
    """Other processes explore at the same time: a compiler would take the processor of one of them."""
    symmetry: bool = True
    """Count worlds once that differ only in which instance of a symmetric set is which."""
    counted: bool = False
    """Count how often transitions are followed and states inhabited: `Exploration.tally`."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where an exploration is kept on disk while it goes on, and where one was kept that is to be gone on with."""

    save: Path | None = None
    resume: Path | None = None
    every: float = 60.0
    """Seconds from one time that it is saved to the next, at least."""
    anew: bool = False
    """What is kept there already is given up."""

    def again(self) -> Keeping:
        """From the beginning, in the same place."""
        return Keeping(self.save, None, self.every, True)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an exploration is."""

    states: int
    transitions: int
    depth: int
    waiting: int
    """States found whose steps have not been looked at."""
    seconds: float = 0.0
    memory: int = 0
    """Bytes, about."""
    violated: tuple[str, ...] = ()
    """What is violated so far: `invariant safe after 8 steps`."""


@dataclass(frozen=True, slots=True, order=True)
class QuestionKey:
    """What is asked. For all instances of a machine the same: which of them breaks an invariant makes no difference."""

    kind: Literal["invariant", "reachable", "property"]
    name: str
    machine: str = ""
    """Whose invariant it is (qualified); empty: the system's own."""
    premise: int = -1
    """One of its premises, by number; -1: the question itself."""

    @property
    def forbids(self) -> bool:
        """Is a state that answers it a violation?"""
        return self.kind == "invariant" and self.premise < 0


@dataclass(frozen=True, slots=True)
class Untested:
    """A part of what holds that was not checked, for its premise is never true."""

    message: str
    span: Span
    """The premise; the same in all systems that have the formula."""
    outer: Span | None = None
    """The premise without which this one cannot be true."""


def outermost(parts: Iterable[Untested]) -> tuple[Untested, ...]:
    """Those that are not so because of another, each text once."""
    all_parts = list(parts)
    spans = {x.span for x in all_parts}
    by_message: dict[str, Untested] = {}
    for x in all_parts:
        if x.outer not in spans:
            by_message.setdefault(x.message, x)
    return tuple(by_message.values())


@dataclass(frozen=True, slots=True)
class Images:
    """What the system that is refined looks like before a step that it has not, and after it; or, where there is no
    such step, as it begins and as it is said to begin."""

    roster: Roster = field(repr=False, compare=False)
    before: World
    after: World


@dataclass(frozen=True, slots=True)
class Reliance:
    """What a property that holds relies on: in a state where a run could stand still, one of these `steps` must be
    taken. Steps that can be promised have the name that follows `under fair`. `reasons` explain how a run that stands
    still breaks the property."""

    steps: tuple[str, ...]
    reasons: tuple[str, ...]

    @property
    def headline(self) -> str:
        """That it is so, as a clause about the property."""
        names = ", ".join(f"`{x}`" for x in self.steps)
        which = f"one of {names}" if len(self.steps) > 1 else names
        return (
            f"relies on {which}, which no fairness assumption guarantees: a run that takes no further step violates it"
        )


def extent(stopped: str | None, beyond: int, *, fails: bool) -> str:
    """How far a search went that was stopped, or not, and found so many states beyond the bounds of its system.
    `fails`: does some step fail?"""
    return stopped or ("within the bound" if beyond else "exhaustive") + (SOME_FAIL if fails else "")


def share_beyond(beyond: int) -> str:
    """Of a count of states, how many of them are beyond the bounds."""
    return f", {beyond:,} of them beyond the bound" if beyond else ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One thing asked, and the answer.

    `trace` is a run that shows a violation (a shortest one, unless another was chosen), a witness of `reachable`, or,
    where there is no deadlock, leads to instances that wait for each other all the same. Of a property that holds, it
    is a run that stands still and breaks the property (see `relies`).
    `unknown`: a limit came first.
    """

    kind: VerdictKind
    name: str
    outcome: Outcome
    basis: str
    """`exhaustive: 812 states`, `exhaustive, but some steps fail: 812 states`, `within the bound: 812 states, 90 of
    them beyond it`, `a trace of 3 steps`, `bounded: stopped at 10000 states`."""
    span: Span
    explanation: tuple[str, ...] = ()
    trace: Trace | None = None
    untested: tuple[Untested, ...] = ()
    machine: str | None = None
    """Whose invariant it is (qualified); None: the system's own."""
    deciding: tuple[tuple[str, Value], ...] = ()
    """Of a property that is violated: what the variables stand for that the explanation speaks of."""
    relies: Reliance | None = None
    """Of a property that holds: what has to come, though nothing promises it."""
    unexamined: str = ""
    """Of a property that holds: why it is not known what it relies on."""
    stutters: tuple[tuple[str, int], ...] = ()
    """Of a refinement that holds: transitions, by machine and index, of rows that are followed, but never in a step
    that changes something in the refined system."""
    images: Images | None = None
    """Of a refinement that is violated by a step, or in the beginning."""
    fault: Fault | None = field(default=None, compare=False, repr=False)
    """Of a step that fails: why."""
    ends_in: tuple[Fault, ...] = field(default=(), compare=False, repr=False)
    """Of a property that is violated: why its run does not go on, if every possible step at its end fails."""
    limit: str = ""
    """Why the run may not be the simplest: which limit ended the search for it."""
    text: str = ""
    """Of what the author gave no name: what people read instead."""

    @property
    def is_own(self) -> bool:
        """See `is_own`."""
        return is_own(self.kind)

    @property
    def steps(self) -> int | None:
        """The number of steps of its run."""
        return None if self.trace is None else len(self.trace.entries)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The explanation, without what the run itself says: why its last step fails."""
        in_run = self.kind == "fault" and self.trace is not None and self.trace.fault is not None
        return self.explanation[1:] if in_run else self.explanation

    @property
    def label(self) -> str:
        """What was asked, as a line of text names it: `invariant s7`, `no deadlock`, `fault unhandled`; of what has no
        name, its condition."""
        match self.kind, self.outcome:
            case "deadlock", "violated":
                return "deadlock"
            case ("deadlock", _) | ("fault", "holds" | "unknown" | "not checked"):
                return self.name
            case "refinement", _:
                return f"refines {self.name}"
            case _:
                return f"{self.kind} {self.text or self.name}"

    @property
    def quote(self) -> str:
        """The name, or what people read instead, in backticks."""
        return self.text or f"`{self.name}`"


@dataclass(frozen=True, slots=True)
class Coverage:
    """What never happened in all that was explored: transitions by machine (qualified) and index."""

    unfollowed: tuple[tuple[str, int], ...]
    never_true: tuple[tuple[str, int], ...]
    """Guards that were looked at and never held."""
    never_false: tuple[tuple[str, int], ...]
    """Guards that were looked at and always held."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How often things happened in all that was explored. What never happened may be missing."""

    followed: Counter[tuple[str, int]] = field(default_factory=Counter)
    """By machine (qualified) and index: in how many steps a transition was followed."""
    inhabited: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By machine (qualified) and state: in how many states of the system some instance was in it."""


@dataclass(frozen=True, slots=True)
class Exploration:
    """The outcome of exploring a system.

    `transitions` counts the steps fired, also those that lead to a state already known and those that fail.
    """

    system: m.System
    states: int
    transitions: int
    depth: int
    stopped: str | None
    """Why not everything was explored: `stopped at 10000 states`."""
    seconds: float
    verdicts: tuple[Verdict, ...]
    coverage: Coverage
    levels: tuple[int, ...] = ()
    """How many states were found at each depth."""
    note: str | None = None
    """What could have been faster, and why it was not."""
    reduced: tuple[str, ...] = ()
    """Symmetric sets: states that differ only in which of their instances is which were counted once."""
    at_violation: bool = False
    """Did it stop because something is violated (`Limits.after_violation`)?"""
    beyond: int = 0
    """How many of the states were found to be beyond the bounds of the system: no step from them was followed."""
    tally: Tally | None = None
    """None: not counted."""

    @property
    def complete(self) -> bool:
        """Was every state explored that the bounds of the system leave?"""
        return self.stopped is None

    @property
    def exhaustive(self) -> bool:
        """Was every reachable state explored?"""
        return self.complete and not self.beyond

    @property
    def extent(self) -> str:
        """How far it went: `exhaustive`, `within the bound`, that some steps fail all the same, or why it stopped."""
        return extent(self.stopped, self.beyond, fails=self.fails)

    @property
    def fails(self) -> bool:
        """Does some step fail?"""
        return any(v.kind == "fault" and v.outcome == "violated" for v in self.verdicts)

    @property
    def violations(self) -> tuple[Verdict, ...]:
        """The verdicts that say no."""
        return tuple(v for v in self.verdicts if v.outcome == "violated")

    @property
    def reliances(self) -> tuple[Verdict, ...]:
        """The properties that hold only because something comes that no fairness promises."""
        return tuple(v for v in self.verdicts if v.relies is not None)

    @property
    def stutterings(self) -> tuple[Verdict, ...]:
        """The refinements that hold, but in which some rows only stutter."""
        return tuple(v for v in self.verdicts if v.stutters)

    @property
    def circular_waits(self) -> tuple[Verdict, ...]:
        """That there is no deadlock, where instances wait for each other all the same."""
        deadlock = (v for v in self.verdicts if v.kind == "deadlock")
        return tuple(v for v in deadlock if v.outcome != "violated" and v.trace is not None)
