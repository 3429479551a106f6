"""What is answered otherwise than before: explorations and scenarios of both versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.report.compare.behaviour import Bounds, interruptible
from fsmdsl.runs.replay import with_runs
from fsmdsl.search import Played, Trace, Verdict, explore, play
from fsmdsl.text.budget import LimitError

Key = tuple[str, str, str]
"""Of a verdict: its kind, the machine whose invariant it is, its name."""


@dataclass(frozen=True, slots=True)
class Turn:
    """An answer of which there is another now; None: what was not asked.

    `trace` shows the violation of the new version, else that of the old one that is gone.
    """

    scope: str
    """The system, or the module of a scenario."""
    label: str
    old: str | None
    new: str | None
    explanation: tuple[str, ...] = ()
    trace: Trace | None = None

    @property
    def worse(self) -> bool:
        """Does something go wrong that did not before?"""
        return self.new in ("violated", "fails")

    @property
    def undecided(self) -> bool:
        """Is it open what one of the versions answers? Then nothing says that the answers differ."""
        return bool({"unknown", "not checked"} & {self.old, self.new})


@dataclass(frozen=True, slots=True)
class Answers:
    """What has become of the answers about a system, or of the scenarios."""

    turns: tuple[Turn, ...]
    undecided: tuple[str, ...]
    """What a limit left open in one of the versions."""


@dataclass(frozen=True, slots=True)
class _Verdicts:
    """Of one version of a system. Each fault is a verdict of its own; none says that no step fails."""

    by_key: Mapping[Key, Verdict]
    complete: bool
    undecided: bool

    def outcome(self, key: Key) -> str | None:
        """A fault that was not found does not happen, if everything was explored."""
        if key in self.by_key:
            return self.by_key[key].outcome
        return None if key[0] != "fault" else "holds" if self.complete else "unknown"


def turns(old: m.Model, new: m.Model, name: str, bounds: Bounds) -> Answers:
    """Of a system, by qualified name; of one that is only in one version, what does not hold there."""
    before, after = (_verdicts(model, name, bounds) for model in (old, new))
    there = [x for x in (before, after) if x is not None]
    changed = []
    for key in dict.fromkeys(key for x in there for key in x.by_key):
        was, now = (None if x is None else x.outcome(key) for x in (before, after))
        if was == now or (len(there) < 2 and "holds" in (was, now)):
            continue
        v, w = (None if x is None else x.by_key.get(key) for x in (before, after))
        violation = next((x for x in (w, v) if x is not None and x.outcome == "violated"), None)
        explanation, trace = ((), None) if violation is None else (violation.explanation, violation.trace)
        verdict = w or v
        assert verdict is not None
        changed.append(Turn(name, _question(verdict), was, now, explanation, trace))
    undecided = any(x.undecided for x in there)
    return Answers(tuple(changed), (f"verdicts of {name}",) if undecided else ())


def _question(v: Verdict) -> str:
    """The question, whatever the answer."""
    return v.name if v.kind == "deadlock" else v.label


def _verdicts(model: m.Model, name: str, bounds: Bounds) -> _Verdicts | None:
    """None: this version has no such system."""
    system = model.systems.get(name)
    if system is None:
        return None
    budget = bounds.budget()
    x = with_runs(lambda: explore(model, system, budget=budget), model, budget)
    interruptible(budget)
    verdicts = (v for v in x.verdicts if v.kind != "fault" or v.outcome == "violated")
    by_key: dict[Key, Verdict] = {(v.kind, v.machine or "", v.name): v for v in verdicts}
    undecided = not x.complete or any(v.outcome in ("unknown", "not checked") for v in x.verdicts)
    return _Verdicts(by_key, x.complete, undecided)


def played(old: m.Model, new: m.Model, bounds: Bounds) -> Answers:
    """Of scenarios."""
    changed, undecided = [], []
    for name in dict.fromkeys([*old.scenarios, *new.scenarios]):
        results = [_played(model, name, bounds) if name in model.scenarios else None for model in (old, new)]
        before, after = (x if x is None or isinstance(x, str) else "passes" if x.passed else "fails" for x in results)
        if "unknown" in (before, after):
            undecided.append(f"scenario {name}")
        if before != after:
            last = results[1]
            failure = last.failure if isinstance(last, Played) else None
            explanation = () if failure is None else (failure.message, *failure.notes)
            changed.append(
                Turn(name.rpartition(".")[0], f"scenario {name.rpartition('.')[2]}", before, after, explanation)
            )
    return Answers(tuple(changed), tuple(undecided))


def _played(model: m.Model, name: str, bounds: Bounds) -> Played | Literal["unknown"]:
    budget = bounds.budget()
    try:
        with budget:
            return play(model, model.scenarios[name])
    except LimitError:
        interruptible(budget)
        return "unknown"
