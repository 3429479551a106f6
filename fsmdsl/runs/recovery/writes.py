"""How a crash went, write by write: what it cut off, and the origin of each value that is there afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from fsmdsl.dataclasses import dataclass
from fsmdsl.runs.recovery.slots import Slot, slot_value, written
from fsmdsl.runs.trace import Entry, Trace
from fsmdsl.step import Assigned, Crashed, CrashStep, Followed, RecoverStep, TraceEvent, Universe, Value, World, fire
from fsmdsl.step.describe import describe

Writer = Literal["before", "step", "reset", "crash", "recover"]
"""The last writer: a step before the crash, the step that was cut, the crash itself, its transitions, `recover`."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A step, or `recover`, that a crash cut off."""

    name: str
    """As the author would write it."""
    done: tuple[TraceEvent, ...]
    lost: tuple[TraceEvent, ...]
    goal: World
    """Where it would have led."""


@dataclass(frozen=True, slots=True)
class Story:
    """The last crash of a run that found the system up, and all that followed."""

    universe: Universe
    before: World
    step: Cut | None
    """The step that was under way."""
    recoveries: tuple[Cut, ...]
    """The times that recovery was interrupted."""
    after: tuple[tuple[Writer, TraceEvent], ...]

    @property
    def goal(self) -> World:
        """Where the step under way would have led; without one, the world before."""
        return self.before if self.step is None else self.step.goal

    def cause(self, slot: Slot, has: Value, expected: Value) -> str:
        """Why a slot holds something, and not what goes with the rest."""
        it, instead = written(self.universe, slot, has), written(self.universe, slot, expected)
        noun = "change" if slot.field is None else "write"
        for cut in (*reversed(self.recoveries), *self._steps()):
            if self._was_cut_off(cut, slot, expected):
                return f"the {noun} `{instead}` of `{cut.name}` was lost"
        match self._writer(slot, has):
            case "step":
                step = "".join(x.name for x in self._steps())
                return f"the {noun} `{it}` of `{step}` is left over: the rest of that step was lost"
            case "reset":
                return self._reset(slot, has)
            case "crash":
                return f"an `on crash` transition leads to `{it}`, and `{instead}` was lost"
            case "recover":
                return f"`recover` leads to `{it}`; without a crash it would be `{instead}`"
            case "before":
                return f"the {noun} `{it}` survives the crash; without a crash it would be `{instead}`"

    def _steps(self) -> tuple[Cut, ...]:
        return () if self.step is None else (self.step,)

    def _was_cut_off(self, cut: Cut, slot: Slot, expected: Value) -> bool:
        """A change of state comes after the effects of its transition, so that one may have begun to be followed."""
        part = (*cut.done, *cut.lost) if slot.field is None else cut.lost
        return slot_value(cut.goal, slot) == expected and any(self._writes(slot, h, expected) for h in part)

    def _reset(self, slot: Slot, has: Value) -> str:
        assert slot.field is not None
        why = f"`{self.universe.machines[slot.instance].fields[slot.field].name}` is not durable"
        old = slot_value(self.before, slot)
        if old == has:
            return f"the crash leaves `{written(self.universe, slot, has)}`: {why}"
        return f"the write `{written(self.universe, slot, old)}` was lost in the crash: {why}"

    def _writer(self, slot: Slot, has: Value) -> Writer:
        who: Writer = "before"
        for source, happening in self._all():
            if self._writes(slot, happening, has):
                who = source
            elif isinstance(happening, Crashed) and not self._durable(slot):
                who = "reset"
        return who

    def _all(self) -> Iterator[tuple[Writer, TraceEvent]]:
        for cut in self._steps():
            yield from (("step", happening) for happening in cut.done)
        yield from self.after

    def _durable(self, slot: Slot) -> bool:
        return slot.field is None or self.universe.machines[slot.instance].fields[slot.field].durable

    def _writes(self, slot: Slot, happening: TraceEvent, x: Value) -> bool:
        n, k = slot
        match happening:
            case Followed(instance, _, before, after):
                return k is None and (instance, after) == (n, x) and before != after
            case Assigned(instance, field, new):
                return k is not None and (instance, new) == (n, x) and self.universe.slots[n][field] == k
            case _:
                return False


def story(universe: Universe, trace: Trace) -> Story:
    """The story of a run that ends with a crash and what follows from it."""
    befores = [trace.start, *(e.world for e in trace.entries)]
    run = list(zip(befores, trace.entries, strict=False))
    crashes = (n for n, (before, e) in enumerate(run) if isinstance(e.step, CrashStep) and not before.down)
    at = max(n for n in crashes if Crashed() in run[n][1].cascade)
    cuts = [_cut(universe, before, e) for before, e in run[at:]]
    after = tuple(x for _, e in run[at:] for x in _aftermath(e))
    return Story(universe, run[at][0], cuts[0], tuple(x for x in cuts[1:] if x is not None), after)


def _cut(universe: Universe, before: World, entry: Entry) -> Cut | None:
    """What a crash cut off, if it came in the middle of something."""
    inside = entry.step.inside if isinstance(entry.step, CrashStep) else None
    if inside is None:
        return None
    place = entry.cascade.index(Crashed())
    full = fire(universe, before, inside)
    return Cut(describe(universe, inside, before), entry.cascade[:place], full.cascade[place:], full.world)


def _aftermath(entry: Entry) -> Iterator[tuple[Writer, TraceEvent]]:
    """What `recover` does, cut or not, and the crash with its transitions; not what is left of a step before it."""
    who: Writer | None = None
    match entry.step:
        case RecoverStep() | CrashStep(inside=RecoverStep()):
            who = "recover"
        case _:
            pass
    for happening in entry.cascade:
        if isinstance(happening, Crashed):
            who = "crash"
        if who is not None:
            yield who, happening
