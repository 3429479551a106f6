"""The process that explores what is being edited: `python -m fsmdsl.editor.editing.worker`, requests in, findings out.

It keeps the texts and what was found; a system is explored again only when its own text or that of one of its machines
was read again. A newer request ends the work on the one before it, whatever that is at. First comes what an edit may
have broken, for all systems; then how to show it simply, and how often transitions are followed.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from operator import is_
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.editor.editing.analysis import analyse
from fsmdsl.editor.editing.document import Document, placed, read_document
from fsmdsl.editor.editing.findings import Explored, Findings, Mark, Request, Unheard
from fsmdsl.model.resolve import Memory
from fsmdsl.report.exploration import details, exploration, summary
from fsmdsl.report.exploration import verdict as verdict_of
from fsmdsl.report.stepping import of_verdict
from fsmdsl.runs.narrative import story
from fsmdsl.runs.replay import simplest_in_time
from fsmdsl.runs.simplest_run import Effort
from fsmdsl.runs.space import visits
from fsmdsl.runs.verdicts.diagnose import group_diagnostic, violation_diagnostic
from fsmdsl.runs.violation_groups import Group, violation_groups
from fsmdsl.search import Exploration, Limits, Means, Progress, Verdict, budget_of, diagnostics, explore
from fsmdsl.step import Followed, Universe
from fsmdsl.step.world import Unhandled
from fsmdsl.text.budget import Budget, LimitError
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Source

SIMPLER = 5_000, 0.5
"""Limits of the search for a simpler run than the shortest: number of worlds, seconds."""


class SupersededError(Exception):
    """A newer request has come."""


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    """An exploration, and the declarations that it was made of."""

    slice: Slice
    limits: Limits
    exploration: Exploration
    summary: Explored
    simple: bool
    """Do violations show the simplest runs?"""


class Worker:
    """Answers one request after the other."""

    def __init__(self, requests: SimpleQueue[Request | None], answers: BinaryIO) -> None:
        self._requests = requests
        self._answers = answers
        self._documents: dict[str, Document] = {}
        self._memory = Memory()
        self._cache: dict[str, _CacheEntry] = {}

    def run(self) -> None:
        """Answer until there are no more requests."""
        while (request := self._requests.get()) is not None:
            self._take(request)
            while not self._requests.empty():
                newer = self._requests.get()
                if newer is None:
                    return
                request = newer
                self._take(request)
            try:
                self._answer(request)
            except SupersededError:
                continue

    def _take(self, request: Request) -> None:
        for path, text in request.texts.items():
            self._documents[path] = read_document(Source(path, text), self._documents.get(path))

    def _answer(self, request: Request) -> None:
        self._send(Findings(request.number, {}, (), False))
        documents = {p: self._documents[p] for p in request.paths}
        model = self._read(documents, request.seconds)
        if model is None:
            self._send(Findings(request.number, {}, (), True))
            return
        self._cache = {name: k for name, k in self._cache.items() if name in model.systems}
        chosen = [x for x in model.systems.values() if request.systems is None or x.qualified in request.systems]
        limits = Limits(request.states, request.seconds)
        entries = {x.qualified: entry for x in chosen if (entry := self._still(x, model, limits)) is not None}
        touched = [x for x in chosen if x.qualified not in entries]
        touched.sort(key=self._seconds)
        for system in touched:
            entries[system.qualified] = self._explored(model, system, limits)
            self._send(self._findings(request, model, entries, done=False))
        for system in chosen:
            if not entries[system.qualified].simple:
                entries[system.qualified] = self._simpler(model, entries[system.qualified])
                self._send(self._findings(request, model, entries, done=False))
        if request.counted:
            self._count(model, entries, request.counted)
        self._send(self._findings(request, model, entries, done=True))

    def _read(self, documents: dict[str, Document], seconds: float | None) -> m.Model | None:
        """The model; None where the text has errors, or takes longer to be understood than its exploration may."""
        try:
            with budget_of(Limits(seconds=seconds)):
                return analyse(documents, self._memory, checking=False).model
        except LimitError:
            self._memory = Memory()
            return None

    def _still(self, system: m.System, model: m.Model, limits: Limits) -> _CacheEntry | None:
        """What is known of a system, if nothing was touched that it is made of."""
        entry = self._cache.get(system.qualified)
        same = entry is not None and entry.limits == limits and entry.slice.same(slice_of(model, system))
        return entry if same else None

    def _seconds(self, system: m.System) -> float:
        """Duration of the last exploration, in seconds."""
        entry = self._cache.get(system.qualified)
        return 0.0 if entry is None else entry.exploration.seconds

    def _explored(self, model: m.Model, system: m.System, limits: Limits) -> _CacheEntry:
        """What is found."""
        self._still_wanted()
        with budget_of(limits) as budget:
            x = explore(model, system, limits, self._progress, Means(workers=1, once=True), budget=budget)
        entry = _CacheEntry(slice_of(model, system), limits, x, _summary(model, x), simple=not x.violations)
        self._cache[system.qualified] = entry
        return entry

    def _simpler(self, model: m.Model, entry: _CacheEntry) -> _CacheEntry:
        """The same once more, with the simplest runs to what is violated."""
        with Budget(2 * SIMPLER[1]) as budget:
            effort = Effort(*SIMPLER, self._still_wanted)
            x = simplest_in_time(entry.exploration, model, budget, effort)
        simpler = replace(entry, exploration=x, summary=_summary(model, x), simple=True)
        self._cache[x.system.qualified] = simpler
        return simpler

    def _count(self, model: m.Model, entries: dict[str, _CacheEntry], seconds: float) -> None:
        """Count how often each transition is followed, in those systems for which that is quickly done."""
        for name, entry in entries.items():
            if None in entry.summary.followed.values() and entry.exploration.exhaustive:
                counts = None
                with suppress(LimitError), Budget(seconds):
                    counts = _counted(Universe(model, entry.exploration.system), self._still_wanted)
                if counts is not None:
                    followed = {key: counts.get(key, 0) for key in entry.summary.followed}
                    summary = replace(entry.summary, followed=followed)
                    entries[name] = self._cache[name] = replace(entry, summary=summary)

    def _findings(
        self, request: Request, model: m.Model, entries: Mapping[str, _CacheEntry], *, done: bool
    ) -> Findings:
        marks = tuple(_marks(model, [k.exploration for k in entries.values()]))
        return Findings(request.number, {name: k.summary for name, k in entries.items()}, marks, done)

    def _progress(self, _: Progress) -> None:
        self._still_wanted()

    def _still_wanted(self) -> None:
        if not self._requests.empty():
            raise SupersededError

    def _send(self, findings: Findings) -> None:
        pickle.dump(findings, self._answers)
        self._answers.flush()


@dataclass(frozen=True, slots=True)
class Slice:
    """The declarations that can matter to a system: itself, the machines of its instances, and what modules declare
    besides. Machines without instances cannot."""

    system: m.System
    machines: tuple[m.Machine, ...]
    beside: tuple[object, ...]

    def same(self, other: Slice) -> bool:
        """Not read again since: places in what was found are places in them."""
        alike = len(self.machines) == len(other.machines) and self.beside == other.beside
        return alike and self.system is other.system and all(map(is_, self.machines, other.machines))


def slice_of(model: m.Model, system: m.System) -> Slice:
    """What an exploration of a system is made of."""
    machines = dict.fromkeys(i.machine for i in system.instances)
    beside = tuple(x for module in model.modules for x in (module.lets, module.enums, module.records, module.channels))
    return Slice(system, tuple(model.machines[q] for q in machines), beside)


def _summary(model: m.Model, x: Exploration) -> Explored:
    text = "\n".join([summary(x), *details(x, model)])
    universe = Universe(model, x.system)
    broken = {n: v for n, v in enumerate(x.verdicts) if v.outcome == "violated" and v.trace is not None}
    runs = {n: of_verdict(universe, v, f"run-{n}") for n, v in broken.items()}
    followed = _followed(model, x)
    return Explored(x.system.qualified, verdict_of(x), summary(x), text, exploration(x, model), followed, runs)


def _followed(model: m.Model, x: Exploration) -> dict[tuple[str, int], int | None]:
    never = set(x.coverage.unfollowed)
    machines = {i.machine for i in x.system.instances}
    keys = [(q, t.index) for q in machines for t in model.machines[q].transitions]
    return {key: 0 if key in never else None for key in keys} if x.exhaustive else {}


def _counted(universe: Universe, watch: Callable[[], None]) -> dict[tuple[str, int], int]:
    """In how many steps of all states each transition is followed."""
    instances = universe.system.instances
    counts: dict[tuple[str, int], int] = {}
    for visit in visits(universe, sys.maxsize):
        watch()
        for h in (h for arc in visit.arcs for h in arc.result.cascade if isinstance(h, Followed)):
            key = (instances[h.instance].machine, h.transition)
            counts[key] = counts.get(key, 0) + 1
    return counts


def _marks(model: m.Model, explored: list[Exploration]) -> Iterator[Mark]:
    """Every violation with its run, then what was not checked, then where a limit came first."""
    for x in explored:
        for g in violation_groups(x, model):
            yield from _group_marks(x, g)
    others = [x for x in model.systems.values() if all(x is not e.system for e in explored)]
    violations = sum(len(x.violations) for x in explored)
    for d in diagnostics(*explored, others=others)[violations:]:
        yield _mark(placed(d))


def _group_marks(x: Exploration, g: Group) -> Iterator[Mark]:
    """The first violation stands for all of its group; marks of the others have their runs."""
    for n in (member.verdict for member in g.members):
        v, is_first = x.verdicts[n], n == g.first
        d = placed(group_diagnostic(x, g) if is_first else violation_diagnostic(x, g, n))
        same = [_unheard(x.system, x.verdicts[k.verdict]) for k in g.members] if is_first else []
        unheard = tuple(dict.fromkeys(u for u in same if u is not None))
        run = () if v.trace is None else tuple(story(v.trace))
        yield replace(_mark(d), system=x.system.qualified, verdict=n, story=run, unheard=unheard, is_published=is_first)


def _mark(d: Diagnostic) -> Mark:
    place = (d.span.source.name, d.span.start, d.span.end)
    return Mark(None, *place, d.severity, d.rule.code, d.message, d.notes, run=d.run)


def _unheard(system: m.System, v: Verdict) -> Unheard | None:
    """The event that its receiver does not handle."""
    if v.fault is None or v.fault.instance is None or not isinstance(v.fault.cause, Unhandled):
        return None
    return Unheard(system.instances[v.fault.instance].machine, v.fault.cause.trigger, v.fault.cause.state)


# The process ---------------------------------------------------------------------------------------------------------


def _read(stream: BinaryIO, requests: SimpleQueue[Request | None]) -> None:
    try:
        while True:
            requests.put(pickle.load(stream))  # from the process that started this one
    except (EOFError, OSError, pickle.UnpicklingError):
        requests.put(None)


def main() -> None:
    """Answer requests from standard input until it ends. What anything prints goes to standard error."""
    gc.set_threshold(100_000, 50, 100)
    answers: Any = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    requests: SimpleQueue[Request | None] = SimpleQueue()
    Thread(target=_read, args=(sys.stdin.buffer, requests), daemon=True).start()
    try:
        Worker(requests, answers).run()
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
