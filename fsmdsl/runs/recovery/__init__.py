"""`recovers on cells, user`: recovery ends, is idempotent, and leads where the system could be without the crash.

Takes time and memory in proportion to the worlds and edges. Where the edges lead is known from the search; what is
fired here is fired by the definition of the language.
"""

from __future__ import annotations

from operator import itemgetter

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.runs.recovery.crash_graph import crash_to, parts
from fsmdsl.runs.recovery.nearest import difference
from fsmdsl.runs.recovery.slots import Slot, changes, compared, not_there, projection
from fsmdsl.runs.search_result import Finding, Searched
from fsmdsl.runs.trace import Trace, taken
from fsmdsl.runs.verdicts.verdict import Outcome, extent
from fsmdsl.step import (
    CrashStep,
    FaultError,
    RecoverStep,
    Step,
    Universe,
    World,
    fire,
    holds,
    within,
)
from fsmdsl.step.describe import fault_message


@dataclass(frozen=True, slots=True)
class Answer:
    """What is to be said of a `recovers`; the trace ends with the crash and the recovery that go wrong."""

    outcome: Outcome
    basis: str
    explanation: tuple[str, ...] = ()
    trace: Trace | None = None


Ending = tuple[int, RecoverStep | None]
"""A world, by its number, and the step that ends a crash there: `recover`; None: the crash itself, where a system has
no `recover`."""

Place = int | World
"""A world, by its number where it was found."""

_number = itemgetter(0)


def check(universe: Universe, recovers: m.Recovers, search: Searched) -> Answer:
    """Does the system recover from every crash that was explored?

    Worlds are compared with those without a crash only if all of these were found: a state that is missing may else
    be one that was not.
    """
    unknown = not_there(universe, recovers)
    if unknown:
        return Answer("not checked", f"`{unknown[0]}` is a field of no instance")
    trial = _Trial(universe, recovers, search)
    wrong = trial.ends() or trial.repeats() or trial.arrives()
    if wrong is not None:
        return wrong
    parts = trial.parts
    if search.stopped is not None:
        why = "" if parts.complete else "; not every state reachable without a crash was explored"
        return Answer("unknown", f"bounded: {search.stopped}{why}")
    notes = () if trial.over else ("no crash ever comes, so there is nothing to recover from",)
    how_far = extent(None, search.beyond, fails=search.fails)
    return Answer("holds", f"{how_far}: {search.states} states, {len(parts.free)} of them without a crash", notes)


class _Trial:
    """Every crash, recovered from once and again. Each question has an answer if something is wrong."""

    def __init__(self, universe: Universe, recovers: m.Recovers, search: Searched) -> None:
        self.universe = universe
        self.slots: tuple[Slot, ...] = compared(self.universe, recovers)
        self.search = search
        self.parts = parts(self.universe, search)
        self.again: tuple[Step, ...] = () if universe.system.recover is None else (RecoverStep(),)
        self.over: dict[Place, Ending] = {}
        """The worlds in which recovery has ended."""

    # Recovery ends

    def ends(self) -> Answer | None:
        """Neither a crash nor `recover` fails."""
        if self.parts.failing:
            crash = min(self.parts.failing, key=_number)
            return self._fails("recovery does not begin: the crash itself fails", *crash)
        if not self.again:
            self.over = {after: (at, None) for after, at in sorted(self.parts.crashes.items(), key=lambda x: x[1])}
            return None
        for number in sorted(self.parts.crashes):
            after = self._after(number, RecoverStep())
            if after is None:
                return self._fails("recovery does not end: `recover` fails", number, RecoverStep())
            self.over.setdefault(after, (number, RecoverStep()))
        return None

    # It is idempotent

    def repeats(self) -> Answer | None:
        """Recovery run again at once changes nothing that is compared."""
        for place, ending in self.over.items():
            wrong = self._crashed_again(place, ending) or self._run_twice(place, ending)
            if wrong is not None:
                return wrong
        return None

    def _crashed_again(self, place: Place, ending: Ending) -> Answer | None:
        """A crash exactly after the last write of recovery, where one can come; it may be one that fails itself."""
        after = self._after(place, CrashStep()) if self._can_crash(place, ending) else None
        if after is None:
            return None
        for step in self.again:
            after = self._after(after, step)
            if after is None:
                why = "recovery does not end after an immediate second crash: `recover` fails"
                return self._fails(why, *self._ending(place, ending), CrashStep(), step)
        what = "an immediate second crash, with its recovery," if self.again else "an immediate second crash"
        return self._changed(place, self._world(after), what, ending, CrashStep(), *self.again)

    def _ending(self, place: Place, ending: Ending) -> tuple[int, Step]:
        """The world in which a crash ends, and the step that leads from there to a place."""
        at, step = ending
        if step is not None:
            return at, step
        assert isinstance(place, int)
        return at, crash_to(self.search, at, place)

    def _can_crash(self, place: Place, ending: Ending) -> bool:
        """Between steps, or as part of `recover`, which is then not yet known to be over."""
        for o in self.universe.system.crashes:
            if o.kind == "anywhere" and self._applies(place, o):
                return True
            if o.kind == "during recovery" and self.again and self._applies(ending[0], o):
                return True
        return False

    def _applies(self, place: Place, offer: m.CrashOffer) -> bool:
        try:
            return offer.guard is None or holds(self.universe, self._world(place), offer.guard)
        except FaultError:
            return False

    def _run_twice(self, place: Place, ending: Ending) -> Answer | None:
        """`recover` on its own result. It never comes so in a run; if it fails then, it changes nothing."""
        if not self.again:
            return None
        result = fire(self.universe, self._world(place)._replace(down=True), RecoverStep())
        return self._changed(place, result.world, "`recover`, run twice,", ending)

    def _changed(self, before: Place, after: World, what: str, ending: Ending, *more: Step) -> Answer | None:
        old, new = projection(self._world(before), self.slots), projection(after, self.slots)
        if old == new:
            return None
        delta = changes(self.universe, self.slots, old, new)
        why = f"recovery is not idempotent: {what} changes {delta}"
        return _answer(self._trace(*self._ending(before, ending), *more), why)

    # It ends where the system could be without the crash

    def arrives(self) -> Answer | None:
        """Every world in which recovery ends is like one without a crash; unknown if these were not all found. Those
        beyond the bounds of the system are not compared."""
        others = [x for x in self.over if not (isinstance(x, int) and self.parts.is_free[x])]
        others = [x for x in others if within(self.universe, self._world(x))]
        if not (others and self.parts.complete):
            return None
        projections = dict.fromkeys(projection(self._world(n), self.slots) for n in self.parts.free)
        for place in others:
            if projection(self._world(place), self.slots) not in projections:
                trace = self._trace(*self._ending(place, self.over[place]))
                explanation = difference(self.universe, self.slots, trace, projections)
                more = ("within the bound: states beyond it were not compared",) if self.search.beyond else ()
                return _answer(trace, *explanation, *more)
        return None

    # Stepping

    def _world(self, place: Place) -> World:
        return self.search.world(place) if isinstance(place, int) else place

    def _after(self, place: Place, step: Step) -> Place | None:
        """Where a crash between steps, or `recover`, leads; None if it fails."""
        result = fire(self.universe, self._world(place), step)
        if result.fault is not None:
            return None
        number = self.search.number(result.world)
        return result.world if number is None else number

    # Showing

    def _fails(self, what: str, number: int, *steps: Step) -> Answer:
        trace = self._trace(number, *steps)
        assert trace.fault is not None
        return _answer(trace, f"{what}, {fault_message(self.universe, trace.fault)} ({trace.fault.kind})")

    def _trace(self, number: int, *steps: Step) -> Trace:
        trace = self.search.trace(Finding(number))
        for step in steps:
            trace = trace.extended(taken(self.universe, trace.end, step))
        return trace


def _answer(trace: Trace, *explanation: str) -> Answer:
    return Answer("violated", f"a trace of {trace.length}", explanation, trace)
