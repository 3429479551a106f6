"""A system as a module of functions: its successor function and what it rests on.

The text is Python that uses whole numbers, rows of them and functions of its own, and no more, so that it runs as it
stands and compiled. Names of the spec stand in comments, docstrings and behind prefixes of our own; nothing else of a
spec's text gets here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsmdsl.explore.liveness.plan import Obligation
from fsmdsl.explore.packed.layout import Layout, lay_out
from fsmdsl.explore.packed.lower import channels, orders, whole
from fsmdsl.explore.packed.lower.canonical import canonical
from fsmdsl.explore.packed.lower.context import Context, Doubt
from fsmdsl.explore.packed.lower.handlers import handler
from fsmdsl.explore.packed.lower.helpers import helpers
from fsmdsl.explore.packed.lower.offers import Offers
from fsmdsl.explore.packed.lower.packing import pack, unpack
from fsmdsl.explore.packed.lower.questions import Asked, ask, stuck
from fsmdsl.explore.packed.shapes import LARGEST
from fsmdsl.explore.symmetry import Reduction
from fsmdsl.step.universe import Universe

__all__ = ["Asked", "Board", "Doubt", "Lowered", "lower"]


@dataclass(frozen=True, slots=True)
class Board:
    """Places that are kept for a whole search."""

    current: int
    """The number of the state that is being expanded."""
    fired: int
    """Steps taken."""
    led: int
    """Steps from this state that lead on: all but crashes."""
    answered: int
    """The questions answered with yes so far, one place for each group of them."""
    first: int
    """For each question: the number plus 1 of the first state that answers it with yes."""
    dead: int
    """The number plus 1 of the first state that nothing leaves and that should not be an end."""
    faults: int
    """For each code: the number plus 1 of the first state from which a step failed so."""
    codes: int
    followed: dict[tuple[str, int], int]
    guards: dict[tuple[str, int], int]
    """Whether a guard was false, and behind it whether it was true."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """The text of a module and where everything stands."""

    layout: Layout
    text: str
    board: Board
    size: int
    """Places of a row with scratch and all that is kept."""
    marked: bool
    """Whether every successor comes with the mark of its step, behind its words."""
    asked: int
    atoms: int
    doubts: tuple[Doubt, ...] = ()
    """What the place of a doubt says, from 1 on."""
    unsure: Doubt | None = None
    """A doubt that is there from the beginning."""

    @property
    def stride(self) -> int:
        """Words of a successor."""
        return self.layout.words + self.marked


def lower(
    universe: Universe,
    asked: Sequence[Asked],
    atoms: Sequence[Asked] = (),
    obligations: Sequence[Obligation] = (),
    reduction: Reduction | None = None,
) -> Lowered:
    """The module of a system, and of what is asked about it. Raises `UnpackableError`.

    With `obligations`, every successor comes with a mark: a bit for each that the step fulfils. With a `reduction`,
    every successor is brought into the order that stands for all worlds that differ in who is who.
    """
    context = Context(lay_out(universe, bool(obligations)), obligations=obligations)
    context.reduction = reduction or Reduction()
    layout = context.layout
    if context.reduction.sets:
        orders.reserve(context)
    current, fired, led, dead = (layout.reserve(1) for _ in range(4))
    answered, answers = layout.reserve(groups(len(asked))), layout.reserve(len(asked))
    offers = Offers(context, led)
    expand = offers.lines()
    held, unsure = _atoms(context, atoms)
    parts = [ask(context, asked, "ask"), held, stuck(context), whole.rounds(context)]
    if universe.system.crashes:
        parts.append(whole.crash(context))
    if layout.down is not None:
        parts.append(whole.recovery(context))
    parts.append(_handlers(context))
    parts.append(orders.functions(context))
    if context.reduction.sets:
        parts.append(canonical(context))
    codes = context.sites.end
    faults = layout.reserve(codes)
    board = Board(current, fired, led, answered, answers, dead, faults, codes, context.followed, context.guards)
    first = [helpers(layout), channels.orders(context), pack(layout), unpack(layout), whole.answers(context)]
    if context.rounds:
        first.append(whole.returned(context))
    arrive = _arrive(context, board, bool(obligations), bool(context.reduction.sets))
    parts += [_note(board, len(asked)), _hold(len(atoms))]
    text = "\n\n".join("\n".join(part).strip("\n") for part in [*first, *parts, arrive, expand] if part)
    head = f'"""{universe.system.name}: every step, on rows of numbers."""'
    return Lowered(
        layout,
        f"{head}\n\n{text}\n",
        board,
        layout.end,
        bool(obligations),
        len(asked),
        len(atoms),
        tuple(context.doubts),
        unsure,
    )


def _atoms(context: Context, atoms: Sequence[Asked]) -> tuple[list[str], Doubt | None]:
    """The functions for atoms, and a doubt that could come up in them: what they say of a state must be beyond doubt
    before the first is asked."""
    kept, context.doubts = context.doubts, []
    lines = ask(context, atoms, "atoms")
    doubts, context.doubts = context.doubts, kept
    return lines, next(iter(doubts), None)


def groups(count: int) -> int:
    """How many functions answer so many questions."""
    return -(-count // LARGEST)


def _handlers(context: Context) -> list[str]:
    """The functions that are called, and those that they call in turn."""
    written: dict[tuple[str, str], list[str]] = {}
    while missing := [key for key in context.wanted if key not in written]:
        for machine, trigger in missing:
            kind = context.universe.model.machines[machine]
            written[machine, trigger] = handler(context, kind, trigger, context.wanted[machine, trigger])
    return [line for lines in written.values() for line in [*lines, ""]]


def _note(board: Board, asked: int) -> list[str]:
    """`note`: what a state answers first."""
    lines = ["def note(s, t):", '    """Which questions does this state answer first?"""']
    for k in range(groups(asked)):
        lines += [
            f"    new = ask_{k}(s) & ~t[{board.answered + k}]",
            "    if new:",
            f"        t[{board.answered + k}] |= new",
            f"        for n in range({LARGEST}):",
            "            if new >> n & 1:",
            f"                t[{board.first + k * LARGEST} + n] = t[{board.current}] + 1",
        ]
    return [*lines, "    return 0"]


def _hold(atoms: int) -> list[str]:
    """`hold`: which atoms are true in a state."""
    lines = ["def hold(s, out, at, apart):", '    """Which atoms are true in this state?"""']
    lines += [f"    out[at + {k} * apart] = atoms_{k}(s)" for k in range(groups(atoms))]
    return [*lines, "    return 0"]


def _arrive(context: Context, board: Board, marked: bool, canonical: bool) -> list[str]:
    """`arrive`: a step is counted; if it ended well, its row is handed on, else the fault is noted."""
    layout = context.layout
    stride = layout.words + marked
    lines = [
        "def arrive(t, f, out, n, cap):",
        '    """What a step has come to."""',
        f"    t[{board.fired}] += 1",
        "    if f != 0:",
        f"        if t[{board.faults} + f] == 0:",
        f"            t[{board.faults} + f] = t[{board.current}] + 1",
        "        return n",
        "    if n < cap:",
    ]
    if canonical:
        lines.append("        canonical(t)")
    lines.append(f"        pack(t, out, n * {stride})")
    if marked:
        lines.append(f"        out[n * {stride} + {layout.words}] = t[{layout.mark}]")
    return [*lines, "    return n + 1"]
