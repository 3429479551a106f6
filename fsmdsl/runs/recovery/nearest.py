"""Why a world cannot be reached without a crash: what never comes together, and which write is one too few or many."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from fsmdsl.runs.recovery.slots import Projection, Slot, projection, statement, value, written
from fsmdsl.runs.recovery.writes import story
from fsmdsl.runs.trace import Trace
from fsmdsl.step import Universe, Value

FEW = 3
"""Maximum number of values that an explanation names as those that would go with the rest."""


def difference(
    universe: Universe, slots: Sequence[Slot], trace: Trace, free: Collection[Projection]
) -> tuple[str, ...]:
    """What is wrong with the end of a run, compared with what is reached without a crash. Takes one pass over that."""
    end = projection(trace.end, slots)
    account = story(universe, trace)
    near, agreements = _nearest(end, projection(account.goal, slots), free)
    differs = [n for n, (x, y) in enumerate(zip(end, near, strict=True)) if x != y]
    begun = projection(trace.start, slots)
    moved = [n for n, (x, y) in enumerate(zip(end, begun, strict=True)) if x != y]
    core = _core(len(slots), [*differs, *moved], agreements)
    when = "recovery" if universe.system.recover is not None else "the crash"
    causes = (account.cause(slots[n], end[n], near[n]) for n in differs)
    return (f"after {when} {_together(universe, slots, end, core, differs, free)}", *causes)


def _nearest(end: Projection, goal: Projection, free: Iterable[Projection]) -> tuple[Projection, set[int]]:
    """Of those that agree with `end` in most slots the first that is most like what was meant; and in which slots
    there is agreement, as bits."""
    best: tuple[tuple[int, int], Projection] | None = None
    agreements: set[int] = set()
    for x in free:
        agreement = _agreement(x, end)
        agreements.add(agreement)
        count = agreement.bit_count()
        if best is None or count >= best[0][0]:
            rank = (count, _agreement(x, goal).bit_count())
            if best is None or rank > best[0]:
                best = (rank, x)
    assert best is not None
    return best[1], agreements


def _agreement(a: Projection, b: Projection) -> int:
    bits = 0
    for n, (x, y) in enumerate(zip(a, b, strict=True)):
        if x == y:
            bits |= 1 << n
    return bits


def _core(count: int, telling: Sequence[int], agreements: Collection[int]) -> list[int]:
    """A smallest part of `end` that never comes without a crash: none of its slots can be left out. Those that tell
    most are kept."""
    slots = list(dict.fromkeys([*telling, *range(count)]))
    bits = (1 << count) - 1
    for n in reversed(slots.copy()):
        less = bits & ~(1 << n)
        if not any(x & less == less for x in agreements):
            bits = less
    return [n for n in slots if bits >> n & 1]


def _together(
    universe: Universe,
    slots: Sequence[Slot],
    end: Projection,
    core: Sequence[int],
    differs: Sequence[int],
    free: Iterable[Projection],
) -> str:
    """`c0.user is g1 and g1.cells is {}; without a crash the former occurs only together with g1.cells = {c0}`."""
    odd = next(n for n in core if n in differs)
    rest = [n for n in core if n != odd]
    wrong = statement(universe, slots[odd], end[odd])
    if not rest:
        return f"{wrong}, which it never is without a crash"
    context = " and ".join(statement(universe, slots[n], end[n]) for n in rest)
    with_it: dict[Value, None] = {x[odd]: None for x in free if all(x[n] == end[n] for n in rest)}
    if len(with_it) > FEW:
        return f"{context} while {wrong}; without a crash these never occur together"
    others = " or ".join(
        written(universe, slots[odd], x) if k == 0 else value(universe, slots[odd], x) for k, x in enumerate(with_it)
    )
    only = "these occur" if len(rest) > 1 else "the former occurs"
    return f"{context} while {wrong}; without a crash {only} only together with {others}"
