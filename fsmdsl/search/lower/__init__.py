"""A system as a module of functions: its successor function and all that it calls.

The functions use whole numbers, rows of them and one another, and no more, so that they run as Python and compiled.
Names of the spec stand in comments, docstrings and behind prefixes of our own; nothing else of a spec's text gets here.
"""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl.dataclasses import dataclass
from fsmdsl.program import llvm
from fsmdsl.program.builder import Builder, function, numbers, rows, words
from fsmdsl.program.nodes import Function, Var, call
from fsmdsl.program.queries import bits_of
from fsmdsl.runs.circular_wait import NO_CIRCLE, CircularWaits
from fsmdsl.runs.liveness.plan import FairnessConstraint
from fsmdsl.search.layout import Layout, lay_out
from fsmdsl.search.lower import tally
from fsmdsl.search.lower.context import AT, CAP, OUT, AsymmetryWitness, Context, F, N, S, T
from fsmdsl.search.lower.environment.offers import Offers
from fsmdsl.search.lower.helpers import helpers
from fsmdsl.search.lower.machines import channels
from fsmdsl.search.lower.machines import rounds as whole
from fsmdsl.search.lower.machines.crashes import crashes
from fsmdsl.search.lower.machines.handlers import handler, step
from fsmdsl.search.lower.packing import pack, unpack
from fsmdsl.search.lower.questions import Condition, ask, stuck, waiting
from fsmdsl.search.lower.statements import execute
from fsmdsl.search.lower.symmetry import orders
from fsmdsl.search.lower.symmetry.canonical import canonical
from fsmdsl.search.lower.values.expressions import value
from fsmdsl.search.shapes import LARGEST, width
from fsmdsl.search.symmetry import Reduction
from fsmdsl.step.universe import Universe

__all__ = ["AsymmetryWitness", "Condition", "CounterLayout", "Lowered", "lower"]


@dataclass(frozen=True, slots=True)
class CounterLayout:
    """Places that are kept for a whole search."""

    current: int
    """The number of the state that is being expanded."""
    change: int
    """What a step adds to the counts: 1; or -1, where a state is expanded once more to take back what it added."""
    fired: int
    """Steps taken."""
    leads_on: int
    """Steps from this state that lead on: all but crashes."""
    answered: int
    """The questions answered with yes so far, one place for each group of them."""
    first: int
    """For each question: the number plus 1 of the first state that answers it with yes."""
    dead: int
    """The number plus 1 of the first state that nothing leaves and that should not be an end."""
    waiting: int
    """The number plus 1 of the first end state that is none, and in which instances wait for each other."""
    waits: int
    """How many such states there are."""
    beyond: int
    """How many states are beyond the bounds of the system."""
    faults: int
    """For each code: the number plus 1 of the first state from which a step failed so."""
    codes: int
    followed: dict[tuple[str, int], int]
    guards: dict[tuple[str, int], int]
    """Whether a guard was false, and behind it whether it was true."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """The functions of a module and where everything stands."""

    layout: Layout
    listings: tuple[llvm.Listing, ...]
    """The functions, each with its text."""
    board: CounterLayout
    marked: bool
    """Whether every successor comes with the mark of its step, behind its words."""
    questions: int
    atoms: int
    doubts: tuple[AsymmetryWitness, ...] = ()
    """What the place of a doubt says, from 1 on."""
    unsure: AsymmetryWitness | None = None
    """A doubt that is there from the beginning."""
    width: int = 64
    """Bits of a number, in functions and rows."""

    @property
    def stride(self) -> int:
        """Words of a successor."""
        return self.layout.words + self.marked

    @property
    def firsts(self) -> list[int]:
        """The places of the board with the numbers of the first states of a kind."""
        b = self.board
        return [b.dead, b.waiting, *range(b.first, b.first + self.questions), *range(b.faults, b.faults + b.codes)]

    @property
    def counts(self) -> list[int]:
        """The places of the board with how often something was found."""
        totals = self.layout.totals
        return [self.board.fired, self.board.waits, self.board.beyond, *(() if totals is None else totals.places)]

    @property
    def flags(self) -> list[int]:
        """The places of the board that say what was followed, and which guards were false or true."""
        b = self.board
        return [*b.followed.values(), *b.guards.values(), *(x + 1 for x in b.guards.values())]

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions, those that others call first."""
        return tuple(x.function for x in self.listings)

    @property
    def text(self) -> str:
        """The module in Python, for people; all that the search does depends on it and on numbers of the layout."""
        head = f'"""{self.layout.universe.system.name}: every step, on rows of numbers."""\n'
        return "\n\n".join([head, *(x.text for x in self.listings)])


def lower(
    universe: Universe,
    conditions: Sequence[Condition],
    atoms: Sequence[Condition] = (),
    obligations: Sequence[FairnessConstraint] = (),
    reduction: Reduction | None = None,
    circular: CircularWaits = NO_CIRCLE,
    counted: bool = False,
) -> Lowered:
    """The module of a system, and of what is asked about it. Raises `UnpackableError`.

    With `obligations`, every successor comes with a mark: a bit for each that the step fulfils. With a `reduction`,
    every successor is brought into the order that stands for all worlds that differ in who is who. With `counted`, the
    program counts how often transitions are followed and states inhabited.
    """
    context = Context(lay_out(universe, bool(obligations), counted), value, execute, obligations=obligations)
    context.reduction = reduction or Reduction()
    layout = context.layout
    if context.reduction.sets:
        orders.reserve(context)
    current, change, fired, leads_on, dead, first_waiting, waits, beyond = (layout.reserve(1) for _ in range(8))
    layout.params[change] = 1
    answered, answers = layout.reserve(groups(len(conditions))), layout.reserve(len(conditions))
    expand = Offers(context, leads_on, beyond, change).functions()
    atom_functions, unsure = _atoms(context, atoms)
    parts = [
        *ask(context, conditions, "ask"),
        *atom_functions,
        *stuck(context),
        *waiting(context, circular),
        *whole.rounds(context),
    ]
    parts += crashes(context)
    called = [*_handlers(context), *orders.functions(context)]
    parts += called
    if context.reduction.sets:
        parts += canonical(context)
    faults = layout.reserve(context.codes)
    board = CounterLayout(
        current, change, fired, leads_on, answered, answers, dead, first_waiting, waits, beyond, faults, context.codes,
        context.followed, context.guards,
    )  # fmt: skip
    parts += [_note(board, len(conditions)), _hold(len(atoms)), _arrive(context, board), _unoffered(board), *expand]
    functions = [*_first(context), *context.parts, *parts]
    bits = width(context.bits if context.bits <= LARGEST else max(context.bits, *map(bits_of, functions)))
    return Lowered(
        layout,
        tuple(llvm.listing(f, bits) for f in functions),
        board,
        bool(obligations),
        len(conditions),
        len(atoms),
        tuple(context.doubts),
        unsure,
        bits,
    )


def _first(context: Context) -> list[Function]:
    """What every part of a module calls."""
    layout = context.layout
    first = [*helpers(layout), *channels.orders(context), pack(layout), unpack(layout), *whole.answers(context)]
    return [*first, whole.returned(context)] if context.rounds else first


def _atoms(context: Context, atoms: Sequence[Condition]) -> tuple[list[Function], AsymmetryWitness | None]:
    """The functions for atoms, and a doubt that could come up in them: what they say of a state must be beyond doubt
    before the first is asked."""
    before, context.doubts = context.doubts, []
    functions = ask(context, atoms, "atoms")
    doubts, context.doubts = context.doubts, before
    return functions, next(iter(doubts), None)


def groups(count: int) -> int:
    """How many functions answer so many questions."""
    return -(-count // LARGEST)


def _handlers(context: Context) -> list[Function]:
    """The functions for steps and handlers that are called, and those that they call in turn."""
    steps = [step(context, context.core.procedures[name]) for name in context.steps]
    written: dict[tuple[str, str], Function] = {}
    while missing := [key for key in context.handlers if key not in written]:
        for machine, trigger in missing:
            kind = context.universe.model.machines[machine]
            written[machine, trigger] = handler(context, kind, trigger, context.handlers[machine, trigger])
    return [*written.values(), *steps]


def _note(board: CounterLayout, count: int) -> Function:
    """`note`: what a state answers first."""
    b, new = Builder(), Var("new")
    for k in range(groups(count)):
        answered = T[board.answered + k]
        b.set(new, call(f"ask_{k}", S) & ~answered)
        with b.if_(new):
            b.update(answered, "|", new)
            with b.count(N, LARGEST), b.if_(new >> N & 1):
                b.set(T[board.first + k * LARGEST + N], T[board.current] + 1)
    return function("note", rows("s", "t"), b.block, "Which questions does this state answer first?")


def _hold(atoms: int) -> Function:
    """`hold`: which atoms are true in a state."""
    b, apart = Builder(), Var("apart")
    for k in range(groups(atoms)):
        b.set(OUT[AT + k * apart], call(f"atoms_{k}", S))
    return function(
        "hold", (*rows("s"), *words("out"), *numbers("at", "apart")), b.block, "Which atoms are true in this state?"
    )


def _unoffered(board: CounterLayout) -> Function:
    """`unoffered`: something in the environment has no value in this state."""
    b = Builder()
    with b.if_(T[board.faults + F].equals(0)):
        b.set(T[board.faults + F], T[board.current] + 1)
    b.return_(0)
    return function("unoffered", (*rows("t"), *numbers("f")), b.block, "Something has no value here: the fault.")


def _arrive(context: Context, board: CounterLayout) -> Function:
    """`arrive`: a step is counted; if it ended well, its row is handed on, else the fault is noted."""
    layout, b, marked = context.layout, Builder(), bool(context.obligations)
    stride = layout.words + marked
    b.update(T[board.fired], "+", T[board.change])
    tally.add_followed(layout, T[board.change], b)
    with b.if_(F.differs(0)):
        with b.if_(T[board.faults + F].equals(0)):
            b.set(T[board.faults + F], T[board.current] + 1)
        b.return_(N)
    with b.if_(N < CAP):
        if context.reduction.sets:
            b.do(call("canonical", T))
        b.do(call("pack", T, OUT, N * stride))
        if marked:
            b.set(OUT[N * stride + layout.words], T[layout.mark])
    b.return_(N + 1)
    parameters = (*rows("t"), *numbers("f"), *words("out"), *numbers("n", "cap"))
    return function("arrive", parameters, b.block, "What a step has come to.")
