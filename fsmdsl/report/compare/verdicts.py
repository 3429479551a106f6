"""What is answered otherwise than before: explorations and scenarios of both versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.runs.replay import with_runs
from fsmdsl.search import Limits, Played, Trace, Verdict, budget_of, explore, play
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
        return self.new in ("violated", "fails") or (self.new not in ("holds", "passes", None) and self.old == "holds")


def turns(old: m.Model, new: m.Model, name: str, limits: Limits) -> Iterator[Turn]:
    """Of a system, by qualified name; of one that is only in one version, what does not hold there."""
    before, after = (_verdicts(model, name, limits) for model in (old, new))
    both = name in old.systems and name in new.systems
    for key in dict.fromkeys([*before, *after]):
        v, w = before.get(key), after.get(key)
        was, now = _outcome(v, key, both), _outcome(w, key, both)
        if was == now or (not both and "holds" in (was, now)):
            continue
        violation = next((x for x in (w, v) if x is not None and x.outcome == "violated"), None)
        explanation, trace = ((), None) if violation is None else (violation.explanation, violation.trace)
        verdict = w or v
        assert verdict is not None
        yield Turn(name, _question(verdict), was, now, explanation, trace)


def _outcome(v: Verdict | None, key: Key, both: bool) -> str | None:
    """A step that does not fail in this way is no verdict, but an answer."""
    return v.outcome if v is not None else "holds" if both and key[0] == "fault" else None


def _question(v: Verdict) -> str:
    """The question, whatever the answer."""
    if v.kind == "refinement":
        return v.label
    return v.name if v.kind == "deadlock" else f"{v.kind} {v.name}"


def _verdicts(model: m.Model, name: str, limits: Limits) -> Mapping[Key, Verdict]:
    """By kind, machine and name. What says only that no step fails is left out: each fault is a verdict of its own."""
    system = model.systems.get(name)
    if system is None:
        return {}
    budget = budget_of(limits)
    x = with_runs(lambda: explore(model, system, limits, budget=budget), model, budget)
    verdicts = (v for v in x.verdicts if v.kind != "fault" or v.outcome == "violated")
    return {(v.kind, v.machine or "", v.name): v for v in verdicts}


def played(old: m.Model, new: m.Model, limits: Limits) -> Iterator[Turn]:
    """Of scenarios."""
    for name in dict.fromkeys([*old.scenarios, *new.scenarios]):
        results = [_played(model, name, limits) if name in model.scenarios else None for model in (old, new)]
        before, after = (x if x is None or isinstance(x, str) else "passes" if x.passed else "fails" for x in results)
        if before != after:
            last = results[1]
            failure = last.failure if isinstance(last, Played) else None
            explanation = () if failure is None else (failure.message, *failure.notes)
            yield Turn(name.rpartition(".")[0], f"scenario {name.rpartition('.')[2]}", before, after, explanation)


def _played(model: m.Model, name: str, limits: Limits) -> Played | Literal["unknown"]:
    try:
        with budget_of(limits):
            return play(model, model.scenarios[name])
    except LimitError:
        return "unknown"
