"""Two versions of a spec: what has changed, as machines, as behaviour, and as verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.report.compare.behaviour import Behaviour, Bounds, Run, alone, behaviour, interruptible
from fsmdsl.report.compare.changes import Change, Compared, Match
from fsmdsl.report.compare.machine_matching import renamed, under
from fsmdsl.report.compare.machines import compared
from fsmdsl.report.compare.source_text import Names, essence
from fsmdsl.report.compare.verdicts import Answers, Turn, played, turns
from fsmdsl.step import Universe
from fsmdsl.text.budget import Budget, LimitError

__all__ = [
    "Behaviour",
    "Bounds",
    "Change",
    "Compared",
    "Difference",
    "Match",
    "Run",
    "Texts",
    "Turn",
    "compare",
    "compare_runs",
    "compare_texts",
]


@dataclass(frozen=True, slots=True)
class Difference:
    """All of it. What has not changed is left out of `parts`; `behaviours` are of all that both versions have."""

    parts: tuple[Compared, ...]
    behaviours: tuple[Behaviour, ...] = ()
    turns: tuple[Turn, ...] = ()
    unanswered: tuple[str, ...] = ()
    """What was not verified or played to the end in both versions."""

    @property
    def undecided(self) -> tuple[str, ...]:
        """What could not be compared to the end: nothing says that it is the same."""
        return (*(f"behaviour of {x.name}" for x in self.behaviours if x.outcome == "unknown"), *self.unanswered)

    @property
    def is_different(self) -> bool:
        """Is anything different?"""
        return (
            bool(self.parts)
            or any(not x.undecided for x in self.turns)
            or any(x.outcome == "different" for x in self.behaviours)
        )


def compare(
    old: m.Model, new: m.Model, bounds: Bounds | None = None, *, run: bool = True, verify: bool = True
) -> Difference:
    """Compare two models: their texts, with `run` their behaviour, with `verify` their verdicts. What means the same in
    both is not looked at twice."""
    return compare_runs(compare_texts(old, new), bounds or Bounds(), run=run, verify=verify)


@dataclass(frozen=True, slots=True)
class Texts:
    """Two models whose texts were compared. What has a new name now has it in the old model, too."""

    old: m.Model
    new: m.Model
    parts: tuple[Compared, ...]


def compare_texts(old: m.Model, new: m.Model) -> Texts:
    """Compare the texts of two models, and run nothing."""
    names_now = renamed(old, new)
    old = under(old, names_now)
    return Texts(old, new, compared(old, new, {now: was for was, now in names_now.items()}))


def compare_runs(texts: Texts, bounds: Bounds, *, run: bool = True, verify: bool = True) -> Difference:
    """Compare what the models do, each part within its bounds. Raises `KeyboardInterrupt` after Ctrl-C."""
    old, new, parts = texts.old, texts.new, texts.parts
    names = {x.name: x.states for x in parts if x.owner == "machine"}
    behaviours = tuple(_behaviours(old, new, names, bounds)) if run else ()
    answers = list(_answers(old, new, bounds)) if verify else []
    turns, undecided = ([y for x in answers for y in x.turns], [y for x in answers for y in x.undecided])
    return Difference(parts, behaviours, tuple(turns), tuple(undecided))


def _behaviours(old: m.Model, new: m.Model, names: dict[str, Names], bounds: Bounds) -> Iterator[Behaviour]:
    both = [name for name in new.systems if name in old.systems]
    for name in both:
        if _means(old, name) == _means(new, name):
            yield Behaviour(name, "same", "nothing that it is made of has changed")
        else:
            yield _within(bounds, name, partial(_of_system, old, new, name, names, bounds))
    used = {i.machine for name in both for model in (old, new) for i in model.systems[name].instances}
    for name, machine in new.machines.items():
        if name in used or name not in old.machines:
            continue
        if essence(machine) == essence(old.machines[name]):
            continue
        result = _within(bounds, name, partial(_of_machine, old, new, name, names, bounds))
        if result is not None:
            yield replace(result, name=name, alone=True)


T = TypeVar("T", Behaviour, Behaviour | None)


def _within(bounds: Bounds, name: str, comparison: Callable[[Budget], T]) -> T | Behaviour:
    """A comparison within its limits."""
    budget = bounds.budget()
    try:
        with budget:
            return comparison(budget)
    except LimitError as error:
        interruptible(budget)
        return Behaviour(name, "unknown", f"{error}, before any state was explored")


def _of_system(
    old: m.Model, new: m.Model, name: str, names: dict[str, Names], bounds: Bounds, budget: Budget
) -> Behaviour:
    before, after = (Universe(model, model.systems[name]) for model in (old, new))
    return behaviour(before, after, names, bounds, budget)


def _of_machine(
    old: m.Model, new: m.Model, name: str, names: dict[str, Names], bounds: Bounds, budget: Budget
) -> Behaviour | None:
    before, after = alone(old, old.machines[name]), alone(new, new.machines[name])
    return None if before is None or after is None else behaviour(before, after, names, bounds, budget)


def _answers(old: m.Model, new: m.Model, bounds: Bounds) -> Iterator[Answers]:
    for name in dict.fromkeys([*old.systems, *new.systems]):
        if name in old.systems and name in new.systems and _means(old, name) == _means(new, name):
            continue
        yield turns(old, new, name, bounds)
    if _all(old) != _all(new):
        yield played(old, new, bounds)


def _means(model: m.Model, name: str) -> object:
    """All that the behaviour of a system follows from."""
    system = model.systems[name]
    machines = dict.fromkeys(i.machine for i in system.instances)
    lets = tuple((x.name, essence(x.lets)) for x in _imported(model, [system.module, *map(_module, machines)]))
    channels = tuple(essence(model.channels[c]) for c in system.channels)
    return essence(system), tuple(essence(model.machines[x]) for x in machines), lets, channels


def _module(qualified: str) -> str:
    return qualified.rpartition(".")[0]


def _imported(model: m.Model, names: list[str]) -> list[m.Module]:
    """The modules, and all that they import."""
    by_name = {x.name: x for x in model.modules}
    closure: dict[str, m.Module] = {}
    while names:
        name = names.pop()
        if name in by_name and name not in closure:
            closure[name] = by_name[name]
            names += by_name[name].imports
    return sorted(closure.values(), key=lambda x: x.name)


def _all(model: m.Model) -> object:
    """All that scenarios follow from."""
    return [essence((x.lets, x.machines, x.channels, x.systems, x.scenarios)) for x in model.modules]
