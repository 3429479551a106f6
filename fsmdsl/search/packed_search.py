"""A search on packed states: it goes through them with one engine after the other, and knows what was found.

What it is made of (see `engine`) is put together by `compose`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from time import perf_counter

from fsmdsl.runs.frontier import Frontier
from fsmdsl.runs.liveness.graph import Graph
from fsmdsl.runs.liveness.plan import Plan
from fsmdsl.runs.search_result import (
    Finding,
    beyond_limit,
    broken_why,
    violated,
)
from fsmdsl.runs.trace import Entry, Trace, taken
from fsmdsl.runs.verdicts.verdict import AT_VIOLATION, Limits, Means, Progress
from fsmdsl.search.compiled import Compiled
from fsmdsl.search.cross_check import Defined, ProgramSearch, check_graph, confirm, cross_check
from fsmdsl.search.engine import Engine, Engines, Store
from fsmdsl.search.lower import AsymmetryWitness, Lowered, lower
from fsmdsl.search.machine_code import MachineCode
from fsmdsl.search.plain import Plain, row
from fsmdsl.search.queries import conditions, of_atoms
from fsmdsl.search.shapes import UnpackableError
from fsmdsl.search.symmetry import Reduction
from fsmdsl.step import TooManyValuesError, Universe, World
from fsmdsl.text.budget import INTERRUPTED, Budget, LimitError, available

REPORT_EVERY = 0.1
"""Seconds between two reports of progress; a tenth of that where the system may be another by now."""

TIME, BY_HAND, MEMORY = 1, 2, 3
"""Why a process wants to stop."""


class PackedSearch(ProgramSearch):
    """A `Searched`. Raises `UnpackableError` where a system has something that does not fit in words."""

    def __init__(
        self,
        universe: Universe,
        limits: Limits,
        means: Means,
        progress: Callable[[Progress], None] | None = None,
        plan: Plan | None = None,
        reduction: Reduction | None = None,
        budget: Budget | None = None,
    ) -> None:
        super().__init__(universe, limits, plan, budget, counted=means.counted)
        self.conditions = conditions(self.questions)
        self.lowered: Lowered = lower(
            universe,
            list(self.conditions.values()),
            () if plan is None else of_atoms(plan),
            () if plan is None else plan.obligations,
            reduction,
            self.circular,
            means.counted,
        )
        self.reduced = () if reduction is None else reduction.names
        self.refused: Mapping[str, str] = {} if reduction is None else reduction.refused
        """Why sets are not reduced, by name."""
        self.doubt: AsymmetryWitness | None = self.lowered.unsure
        """How members of a symmetric set are told apart: then what was found means nothing."""
        self._progress = progress
        self._every = REPORT_EVERY * (0.1 if means.once else 1)
        room = (limits.memory, self.budget.room(), None if limits.memory else available() * 3 // 4)
        self.memory = min(x for x in room if x is not None)
        """Bytes for states."""
        self.begun = self._last_report = perf_counter()
        self._spare: list[int] = []
        self._entries: dict[int, Entry] = {}
        """Steps of runs that were reported, by the states that they lead to."""
        b = self.lowered.board
        self._invariants = {key: b.first + n for n, key in enumerate(self.conditions) if key.forbids}
        self._violations = [*self._invariants.values(), b.dead, *range(b.faults, b.faults + b.codes)]
        """Where a board has a number once something is violated."""
        plain = Plain(self.lowered)
        self._canonical = plain.functions["canonical"] if self.reduced else None
        self._begins: dict[tuple[int, ...], World] = {}
        for world in _firsts(universe):
            self._begins.setdefault(self.words(world), world)
        self.firsts = tuple(self._begins)
        """The words of the states that a run begins in."""
        plain.begin(self.firsts[: self._most()])
        self.engine: Engine = plain
        self.engines: Engines = MachineCode(self.lowered, means, self.budget, self.memory)
        self.store = Store()
        self._gives_way = False
        """Has the engine stopped because there is a better one?"""
        self._sample: list[Defined] = []
        """States that the definition has expanded, too."""
        self._graph: Graph | None = None
        self._cut = False
        """Were states forgotten that are kept in the store?"""

    # Going through

    def run(self) -> None:
        """Search until there is nothing new, or a limit is reached."""
        if self.doubt is not None:
            return
        try:
            with self.budget.patience():
                self._go_through()
        except (KeyboardInterrupt, LimitError):
            if self.budget.shared:  # the others must not wait for this process
                raise
            self._leave()
        finally:
            self.engines.stop()
        if self._doubted():
            return
        if not (self._cut or self.abandoned):
            self.store.save(self.engine)
        self._finish()
        if self.universe.system.properties or self.universe.system.refines is not None:
            self.engine, self.undecided = self.engines.last(self.engine)
        self.note = self.engines.note or self.store.note

    def _leave(self) -> None:
        """In the middle of something, which counts as not begun."""
        self.budget.stop(INTERRUPTED)
        self.stopped = self._reason(self._why())
        self._spare = []
        if isinstance(self.engine, Plain):
            self.engine.roll_back()
        else:
            self.abandoned = True
            if isinstance(self.engine, Compiled):
                self.engine.abandon()

    def _go_through(self) -> None:
        most = self._most()
        if self.frontier.count < len(self.firsts):
            self.stopped, self._cut = f"stopped at {self.limits.states} states", True
        while self.stopped is None:
            self.engine, self._gives_way = self.engines.next(self.engine), False
            if self.engine.run(self._pause, most) or self.doubt is not None or self.stopped is not None:
                return
            if self.states > (most or inf) or not self._gives_way:
                self.stopped = self._limit()

    def _most(self) -> int | None:
        """Maximum number of states, at least 1."""
        return None if self.limits.states is None else max(self.limits.states, 1)

    def _limit(self) -> str:
        most = self._most()
        if most is None or self.states <= most:
            return self._reason(MEMORY)
        # A search that continues with a higher limit needs what is forgotten now.
        self.store.save(self.engine)
        self._cut = True
        self.engine.rewind(most)
        return f"stopped at {self.limits.states} states"

    # Between two blocks

    def _pause(self) -> bool:
        """Should the engine stop, for good or to give way to a better one? All that search together agree on it."""
        now, why, full, save, tell = perf_counter(), 0, 0, 0, 0
        broken = int(self._violated())
        if self.engines.watched:
            silent = self._progress is None or now - self._last_report <= self._every
            flags = [self._why(), self.engines.full(self.engine), self.store.due(), not silent, broken]
            why, full, save, tell, broken = self.engine.agree(flags, "max")
        if self._doubted():
            return True
        if broken:
            self.stopped, self.at_violation = AT_VIOLATION, True
        elif why:
            self.stopped = self._reason(why)
        elif save:
            self.store.save(self.engine)
        if tell and self.stopped is None:
            self._tell(now)
        self._gives_way = self.engines.better(self.engine)
        return self.stopped is not None or bool(full) or self._gives_way

    def _why(self) -> int:
        """Why this process wants to stop, if it does."""
        if not self.budget.over():
            return 0
        if self.budget.memory_reached:
            return MEMORY
        return BY_HAND if self.budget.reached == INTERRUPTED else TIME

    def _reason(self, why: int) -> str:
        """The same, in words."""
        if why == MEMORY:
            self.budget.crowded = True
            reached = self.budget.memory_reached and self.budget.memory is not None
            memory = self.budget.memory if reached else self.memory
            return f"stopped at {(memory or 0) / 2**30:.1f} GiB of memory, {self.states} states"
        return INTERRUPTED if why == BY_HAND else f"stopped after {self.budget.seconds:g} seconds"

    def _violated(self) -> bool:
        """Does the search end here, for something is violated in the states that are expanded or a step from them?"""
        frontier = self.frontier
        if not (frontier.between_levels and self.limits.enough(frontier.count)):
            return False
        return self.universe.fault is not None or any(self.engine.noted(x) for x in self._violations)

    def _doubted(self) -> bool:
        """Has it come up that the members of a symmetric set are told apart?"""
        if self.doubt is None and self.lowered.doubts:
            number = self.engine.agree([self.engine.noted(self.lowered.layout.doubt)], "max")[0]
            self.doubt = self.lowered.doubts[number - 1] if number else None
        return self.doubt is not None

    def _tell(self, now: float) -> None:
        self._last_report, frontier = now, self.frontier
        fired, used = self.engine.agree([self.engine.fired(), self.engine.used()], "sum")
        violations = self._violation_texts(self.engine.merged())
        waiting = frontier.count - frontier.first
        if self._progress is None:
            return
        try:
            self._progress(Progress(frontier.count, fired, frontier.depth, waiting, now - self.begun, used, violations))
        except KeyboardInterrupt:
            self.budget.stop(INTERRUPTED)
            self.stopped = INTERRUPTED

    def _violation_texts(self, board: Sequence[int]) -> tuple[str, ...]:
        """What is violated so far."""
        b = self.lowered.board
        broken = {key: board[place] - 1 for key, place in self._invariants.items() if board[place]}
        failing = min((x - 1 for x in board[b.faults : b.faults + b.codes] if x), default=None)
        return violated(self, broken, board[b.dead] - 1 if board[b.dead] else None, failing)

    # What was found

    def _finish(self) -> None:
        if self.stopped is not None and not self.abandoned:
            self._note_rest()
        board, b = self.engine.board, self.lowered.board
        if board[b.faults + 3]:
            raise UnpackableError("more answers awaited, or events offered at once, than there is room for")
        self.transitions = board[b.fired]
        self.followed = {key for key, place in b.followed.items() if board[place]}
        totals = self.lowered.layout.totals
        if self.tally is not None and totals is not None:
            self.tally.followed.update({key: board[place] for key, place in totals.followed.items() if board[place]})
            self.tally.inhabited.update({key: board[place] for key, place in totals.inhabited.items() if board[place]})
        self.guards_seen = {
            (*key, value) for key, place in b.guards.items() for value in (False, True) if board[place + value]
        }
        first = ((key, board[b.first + n]) for n, key in enumerate(self.conditions))
        self.settled = {key: Finding(at - 1) for key, at in first if at}
        self.deadlock = Finding(board[b.dead] - 1) if board[b.dead] else None
        self.waiting = Finding(board[b.waiting] - 1) if board[b.waiting] else None
        self.waiting_states = board[b.waits]
        self.beyond = board[b.beyond]
        failing = sorted({x - 1 for x in board[b.faults : b.faults + b.codes] if x})
        try:
            self._look_closer(failing)
        except LimitError as error:
            self._spare = []
            self.unshown = str(error) if failing else None

    def _note_rest(self) -> None:
        try:
            self.budget.proceed()
            self.engine.note_rest()
        except LimitError:
            self._leave()

    def _look_closer(self, failing: Sequence[int]) -> None:
        """What the definition says of what was found: which faults there are, and why invariants are broken. Raises
        `DisagreementError` where it says something else."""
        self.budget.proceed()
        confirm(self, failing)
        for key, finding in self.settled.items():
            same = [q for q in self.questions if q.key == key]
            if same[0].kind == "invariant":
                why = broken_why(self.universe, self.trace(finding).end, same)
                self.settled[key] = Finding(finding.world, explanation=why)
        frontier = self.frontier
        if self._cut and frontier.first < frontier.count >= len(self.firsts):
            beyond_limit(self, frontier.first)
        self._sample = cross_check(self)

    @property
    def frontier(self) -> Frontier:
        """See `Searched`."""
        return self.engine.frontier

    def world(self, number: int) -> World:
        """See `Searched`."""
        layout = self.lowered.layout
        return layout.decode(layout.unpack(self.engine.state(number)))

    def number(self, world: World) -> int | None:
        """See `Searched`."""
        return self.engine.find(self.words(world)) if self.lowered.layout.fits(world) else None

    def words(self, world: World) -> tuple[int, ...]:
        """See `ProgramSearch`."""
        layout = self.lowered.layout
        numbers = layout.encode(world)
        if self._canonical is None:
            return layout.pack(numbers)
        self._spare = self._spare or row(self.lowered)
        self._spare[: len(numbers)] = numbers
        self._canonical(self._spare)
        return layout.pack(self._spare)

    def shows(self, world: World, number: int) -> bool:
        """See `Searched`."""
        return self.lowered.layout.fits(world) and self.words(world) == self.engine.state(number)

    def graph(self) -> Graph:
        """See `Searched`."""
        assert isinstance(self.engine, Plain | Compiled)
        if self._graph is None:
            self._graph = self.engine.graph()
            check_graph(self, self._graph, self._sample)
        return self._graph

    def trace(self, finding: Finding) -> Trace:
        """A shortest run to a finding, fired anew."""
        path = [finding.world]
        while path[-1] >= self.frontier.firsts:
            path.append(self.engine.origin(path[-1]))
        world = start = self._begins[self.engine.state(path[-1])]
        entries = []
        for number in reversed(path[:-1]):
            if number not in self._entries:
                self._entries[number] = self.leading(world, number)
            entries.append(self._entries[number])
            world = entries[-1].world
        if finding.step is not None:
            entries.append(taken(self.universe, world, finding.step))
        return Trace(self.universe, start, tuple(entries))


def _firsts(universe: Universe) -> tuple[World, ...]:
    try:
        return universe.starts
    except TooManyValuesError as error:
        raise UnpackableError(str(error)) from None
