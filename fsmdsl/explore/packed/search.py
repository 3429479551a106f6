"""A search on packed states: first in plain Python, then in machine code, compiled in a hurry, then compiled well.

Each takes over when the one before has taken as long as it takes to make the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from time import perf_counter, sleep

from fsmdsl.budget import INTERRUPTED, Budget, LimitError, available
from fsmdsl.explore.liveness import Graph, Plan
from fsmdsl.explore.packed.compiled import Compiled
from fsmdsl.explore.packed.engine import Engine
from fsmdsl.explore.packed.lower import Doubt, Lowered, lower
from fsmdsl.explore.packed.memory import processors
from fsmdsl.explore.packed.native import Compilation, Function, cached, hastily
from fsmdsl.explore.packed.plain import Plain, row
from fsmdsl.explore.packed.queries import conditions, of_atoms
from fsmdsl.explore.packed.shapes import UnpackableError
from fsmdsl.explore.program.native import at_hand, missing
from fsmdsl.explore.refire import Refired
from fsmdsl.explore.search_result import (
    FaultKey,
    Finding,
    beyond_limit,
    broken_why,
    fault_key,
    faults_from,
    questions,
)
from fsmdsl.explore.symmetry import Reduction
from fsmdsl.explore.trace import Entry, Trace
from fsmdsl.explore.verdict import Limits, Means, Progress
from fsmdsl.step import Universe, World, enabled, fire

LOADING = 0.05
"""Seconds that it takes to load the compiler."""

IN_A_HURRY = 2.5e-6, 1e-6
"""Seconds that it takes to compile a character of a system's text in a hurry; and where one much like it was before."""

IN_USE = 0.06, 1.0
"""Seconds that code compiled in a hurry is used until it is compiled well; and those if it is for this once."""

BYTES_OF_PLAIN = 400
"""What a state takes in plain Python, about."""

BYTES_OF_TABLE = 12
"""What a compiled search keeps of a state beside its words: where it came from, and its place in the table."""

GLANCE = 0.005
"""Seconds between two looks at whether a compiler is done."""

REPORT_EVERY = 0.1
"""Seconds between two reports of progress; a tenth of that where the system may be another by now."""


class PackedSearch:
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
        self.universe = universe
        self.budget = budget or Budget(limits.seconds)
        self.questions = questions(universe)
        self.stopped: str | None = None
        self.note: str | None = None
        """Why the search was slower than it could be."""
        self.undecided: str | None = None
        self._asked = conditions(self.questions)
        self.plan = plan
        self.lowered: Lowered = lower(
            universe,
            list(self._asked.values()),
            () if plan is None else of_atoms(plan),
            () if plan is None else plan.obligations,
            reduction,
        )
        self.reduced: tuple[str, ...] = () if reduction is None else reduction.names
        self.refused: Mapping[str, str] = {} if reduction is None else reduction.refused
        """Why sets are not reduced, by name."""
        self.doubt: Doubt | None = self.lowered.unsure
        """How members of a symmetric set are told apart: then what was found means nothing."""
        self._limits, self._means, self._progress = limits, means, progress
        self.unshown: str | None = None
        """Why some steps that fail are not among the faults: a limit came while they were looked at."""
        self.abandoned = False
        """Was the search left in the middle of a block? Then its engine cannot be used any more."""
        room = (limits.memory, self.budget.room(), None if limits.memory else available() * 3 // 4)
        self._memory = min(x for x in room if x is not None)
        self.begun = self._told = perf_counter()
        self._spare: list[int] = []
        self._entries: dict[int, Entry] = {}
        """Steps of runs that were told, by the states that they lead to."""
        layout = self.lowered.layout
        self._plain = Plain(self.lowered, layout.pack(layout.encode(universe.start)))
        self._canonical = self._plain.functions["canonical"] if self.reduced else None
        self.engine: Engine = self._plain
        self._compilation: Compilation | None = None
        self._hastened = inf
        """Since when code is used that was compiled in a hurry."""
        self._well = False
        """Is code used that was compiled well?"""

    # Going through

    def run(self) -> None:
        """Search until there is nothing new, or a limit is reached."""
        if self.doubt is not None:
            return
        try:
            with self.budget.patience():
                self._go_through()
        except (KeyboardInterrupt, LimitError):
            self._leave()
        finally:
            if self._compilation is not None:
                self._compilation.stop()
        if not self._doubted():
            self._finish()

    def _leave(self) -> None:
        """In the middle of something, which counts as not begun."""
        self.budget.stop(INTERRUPTED)
        self.stopped = self._reason()
        self._spare = []
        if isinstance(self.engine, Plain):
            self.engine.mend()
        else:
            self.abandoned = True
            if isinstance(self.engine, Compiled):
                self.engine.abandon()

    def _reason(self) -> str | None:
        """Why the budget ends the search."""
        why = self.budget.reached
        return f"{why}, {self.states} states" if self.budget.memory_reached else why

    def _go_through(self) -> None:
        known = cached(self.lowered) if self._means.compiled is None else None
        if self._means.compiled is True or known == "well":
            self._compile(wait=True)
        elif known == "hastily":
            self._hasten()
        while self.stopped is None:
            if self._ready():
                self._change_over()
            elif self._outgrown():
                self._hasten()
            if self.engine.run(self._pause, self._most()) or self.doubt is not None:
                return
            too_many = self.states > (self._most() or inf)
            if self.stopped is None and (too_many or not (self._ready() or self._outgrown())):
                self.stopped = self._limit()

    def _most(self) -> int | None:
        """So many states; there is always the first."""
        return None if self._limits.states is None else max(self._limits.states, 1)

    def _limit(self) -> str:
        most = self._most()
        if most is not None and self.states > most:
            self.engine.rewind(most)
            return f"stopped at {self._limits.states} states"
        return f"stopped at {self._memory / 2**30:.1f} GiB of memory, {self.states} states"

    def _pause(self) -> bool:
        """Should the engine stop, for good or to give way to a faster one?"""
        if self._doubted():
            return True
        if self._out_of_time():
            return True
        now = perf_counter()
        if self._progress is not None and now - self._told > REPORT_EVERY * (0.1 if self._means.once else 1):
            self._told = now
            try:
                self._progress(self._state_of_things(now))
            except KeyboardInterrupt:
                self.budget.stop(INTERRUPTED)
                return self._out_of_time()
        if isinstance(self.engine, Plain):
            return self._outgrown() or self._plain.frontier.count * BYTES_OF_PLAIN > self._memory
        if self._means.compiled is None and now - self._hastened > IN_USE[self._means.once]:
            self._compile(wait=False)
        return self._ready()

    def _out_of_time(self) -> bool:
        """Has someone had enough?"""
        if self.stopped is None and self.budget.over():
            self.stopped = self._reason()
        return self.stopped is not None

    def _doubted(self) -> bool:
        """Has it come up that the members of a symmetric set are told apart?"""
        if self.doubt is None and self.lowered.doubts and isinstance(self.engine, Plain | Compiled):
            number = self.engine.noted(self.lowered.layout.doubt)
            self.doubt = self.lowered.doubts[number - 1] if number else None
        return self.doubt is not None

    def _state_of_things(self, now: float) -> Progress:
        frontier = self.engine.frontier
        used = self.engine.used() if isinstance(self.engine, Compiled) else frontier.count * BYTES_OF_PLAIN
        fired = self.engine.fired()
        return Progress(frontier.count, fired, frontier.depth, frontier.count - frontier.first, now - self.begun, used)

    # Machine code

    def _compile(self, wait: bool) -> None:
        if self._compilation is None and self.note is None:
            self.note = missing()
            if self.note is None:
                self._compilation = Compilation(self.lowered)
        while self._compilation is not None and wait and not self._compilation.done():
            sleep(GLANCE)
            if self._out_of_time():
                return

    def _outgrown(self) -> bool:
        """Has plain Python taken long enough for machine code to be made?"""
        if self.note is not None or not isinstance(self.engine, Plain):
            return False
        patience = (0 if at_hand() else LOADING) + IN_A_HURRY[self._means.once] * len(self.lowered.text)
        means = self._means.compiled
        if means is None and self.budget.left() is not None and 2 * patience > (self.budget.left() or 0.0):
            return False  # it would not be done in time
        return means == "hastily" or (means is None and perf_counter() - self.begun > patience)

    def _ready(self) -> bool:
        """Is there code compiled well to change over to?"""
        if self._compilation is None or self._well or not self._compilation.done():
            return False
        if self._compilation.failed is not None:
            self._no_code(f"compiling failed: {self._compilation.failed}")
        return self._compilation is not None

    def _no_code(self, why: str) -> None:
        """The search goes on as it is."""
        self.note = why
        if self._compilation is not None:
            self._compilation.stop()
            self._compilation = None

    def _change_over(self) -> None:
        assert self._compilation is not None
        self._use(self._compilation.functions)
        self._well = True

    def _hasten(self) -> None:
        """Go on in machine code that is made here and now."""
        self.note = missing()
        if self.note is None:
            self._use(lambda: hastily(self.lowered, kept=not self._means.once))
            self._hastened = perf_counter()

    def _use(self, made: Callable[[], dict[str, Function]]) -> None:
        room = self._memory // (8 * self.lowered.layout.words + BYTES_OF_TABLE)
        if room <= 2 * self.states:
            self._no_code("no memory for a compiled search")
            return
        try:
            if isinstance(self.engine, Compiled):
                self.engine.use(made())
            else:
                self.engine = Compiled(self._plain, made(), self._means.workers or processors(), room)
        except (ImportError, OSError, RuntimeError, TypeError, MemoryError) as error:
            self._no_code(f"compiled code cannot be used: {error}")

    # What was found

    def _finish(self) -> None:
        if self.stopped is not None and not self.abandoned:
            self._note_rest()
        board, b = self.engine.board, self.lowered.board
        if board[b.faults + 3]:
            raise UnpackableError("more answers awaited, or events offered at once, than there is room for")
        self.transitions = board[b.fired]
        self.depth = self.engine.frontier.depth
        self.followed = {key for key, place in b.followed.items() if board[place]}
        self.guards_seen = {
            (*key, held) for key, place in b.guards.items() for held in (False, True) if board[place + held]
        }
        first = ((key, board[b.first + n]) for n, key in enumerate(self._asked))
        self.settled = {key: Finding(at - 1) for key, at in first if at}
        self.deadlock = Finding(board[b.dead] - 1) if board[b.dead] else None
        failing = sorted({x - 1 for x in board[b.faults : b.faults + b.codes] if x})
        self.faults: dict[FaultKey, Finding] = {}
        try:
            self._look_closer(failing)
        except LimitError as error:
            self._spare = []
            self.unshown = str(error) if failing else None

    def _note_rest(self) -> None:
        try:
            self.engine.note_rest()
        except LimitError:
            self._leave()

    def _look_closer(self, failing: Sequence[int]) -> None:
        """What the definition says of what was found: which faults there are, and why invariants are broken."""
        for at in failing:
            for finding in faults_from(self.universe, self.trace(Finding(at)).end, at):
                assert finding.fault is not None
                self.faults.setdefault(fault_key(finding.fault), finding)
        for key, finding in self.settled.items():
            same = [q for q in self.questions if q.key == key]
            if same[0].kind == "invariant":
                why = broken_why(self.universe, self.trace(finding).end, same)
                self.settled[key] = Finding(finding.world, explanation=why)
        frontier = self.engine.frontier
        if self.stopped is not None and frontier.first < frontier.count == self._most():
            beyond_limit(self, self.number, frontier.first)

    @property
    def states(self) -> int:
        """How many states were found."""
        return self.engine.frontier.count

    @property
    def levels(self) -> list[int]:
        """How many states were found at each depth."""
        return self.engine.frontier.levels

    def world(self, number: int) -> World:
        """The world of a state."""
        layout = self.lowered.layout
        return layout.decode(layout.unpack(self.engine.state(number)))

    def number(self, world: World) -> int | None:
        """The number of the state of a world, if it was found."""
        return self.engine.find(self._words(world))

    def _words(self, world: World) -> tuple[int, ...]:
        """The words of the state that stands for a world."""
        layout = self.lowered.layout
        numbers = layout.encode(world)
        if self._canonical is None:
            return layout.pack(numbers)
        self._spare = self._spare or row(self.lowered)
        self._spare[: len(numbers)] = numbers
        self._canonical(self._spare)
        return layout.pack(self._spare)

    def shows(self, world: World, number: int) -> bool:
        """Is a world that of a state, or one that differs from it only in who is who?"""
        return self._words(world) == self.engine.state(number)

    def graph(self) -> Graph:
        """Every state and step, with what the plan asks about them."""
        assert isinstance(self.engine, Plain | Compiled)
        return self.engine.graph()

    def explored(self) -> Refired:
        """What was found, as worlds and steps."""
        return Refired(self, self.world, self.number)

    def trace(self, finding: Finding) -> Trace:
        """A shortest run to a finding, fired anew."""
        path = [finding.world]
        while path[-1] != 0:
            path.append(self.engine.origin(path[-1]))
        world, entries = self.universe.start, []
        for number in reversed(path[:-1]):
            if number not in self._entries:
                self._entries[number] = self._entry(world, self.engine.state(number))
            entries.append(self._entries[number])
            world = entries[-1].world
        if finding.step is not None:
            result = fire(self.universe, world, finding.step)
            entries.append(Entry(finding.step, result.cascade, result.world, result.fault))
        return Trace(self.universe, self.universe.start, tuple(entries))

    def _entry(self, world: World, words: tuple[int, ...]) -> Entry:
        """The first step that leads from a world to a state, or to one that differs in who is who."""
        for step in enabled(self.universe, world):
            result = fire(self.universe, world, step)
            if result.fault is None and self._words(result.world) == words:
                return Entry(step, result.cascade, result.world)
        raise ValueError("no step of the definition leads to a state that was found")
