"""Random systems, explored in every way there is, and compared: by the definition of the language, packed in plain
Python, and packed in machine code, compiled well or in a hurry, with one, two and three workers, from the beginning or
from somewhere on; and, by their verdicts, with symmetric sets reduced.

    python tests/campaign.py packed --seeds 0:5000
    python tests/campaign.py specs --seeds 0:2000 --compiled 4

`core` takes steps as core statements say, and as the definition does, in systems of all kinds (see `core_comparison`).
`packed` explores systems made for it, `specs` those of specs of all kinds, `newer` both with the newer words of the
language, `environments` those whose environment may have no value, `unevaluated` both with much that is decided
without being evaluated. A seed gives one module of each kind, of which every system is explored, and a small one around
each machine.
A line tells every difference, a table at the end what came out how often; the exit code is 1 if there was a difference.
Every tenth system is compiled, or as `--compiled` says.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import chain
from math import inf
from random import Random
from typing import Any
from unittest.mock import patch

import core_comparison
from random_crowds import crowd
from random_environments import text_of as environment
from random_mail import mail
from random_polls import poll
from random_specs import spec
from random_systems import text_of
from random_unevaluated import unevaluated_spec, unevaluated_system

from fsmdsl import model as m
from fsmdsl.dataclasses import replace
from fsmdsl.model.resolve import resolve
from fsmdsl.runs import search_result
from fsmdsl.runs.liveness.grounding import questions
from fsmdsl.runs.liveness.plan import Plan
from fsmdsl.runs.search_result import Searched
from fsmdsl.runs.simulation.closed_system import closed
from fsmdsl.runs.verdicts.judge import judge
from fsmdsl.runs.verdicts.verdict import Limits, Means
from fsmdsl.search import compiled, cross_check, explore, plain
from fsmdsl.search import packed_search as searching
from fsmdsl.search.definition_search import Search
from fsmdsl.search.engine import Engine
from fsmdsl.search.lower import Lowered, lower
from fsmdsl.search.machine_code import MachineCode
from fsmdsl.search.packed_search import PackedSearch
from fsmdsl.search.plain import Plain
from fsmdsl.search.shapes import UnpackableError
from fsmdsl.search.symmetry import Reduction
from fsmdsl.step import GuardsSeen, Result, Step, Universe, World, enabled, fire
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

KINDS = (
    "systems made to be explored, specs of all kinds, both with newer words; environments, operands without values; "
    "core statements"
)

STATES = 1000
"""A system with more is explored so far and no further."""

CORE_STATES = 6
"""The same, where the steps of each state are taken both ways, and some that are not enabled."""

REPORT_EVERY = 200
"""Seeds between two lines that tell how far the campaign is."""

# What is explored ----------------------------------------------------------------------------------------------------


def model_of(text: str) -> m.Model:
    """The model of a text that has nothing wrong."""
    parsed = parse(Source("random.fsm", text))
    resolved = resolve([parsed.module])
    found = [*parsed.diagnostics, *resolved.diagnostics]
    assert found == [], f"{found[0].span}: {found[0].message}"
    assert resolved.model is not None
    return resolved.model


def systems(text: str) -> Iterator[tuple[m.Model, m.System]]:
    """The systems of a text, and a small one around each of its machines."""
    model = model_of(text)
    for system in (*model.systems.values(), *(closed(model, x) for x in model.machines.values())):
        yield model, system


def plan_of(universe: Universe) -> Plan | None:
    """What temporal properties ask of the states."""
    return questions(universe) if universe.system.properties else None


# Ways to explore -----------------------------------------------------------------------------------------------------


def by_definition(model: m.Model, system: m.System, limits: Limits, *, counted: bool = False) -> Search:
    """A search by the definition itself."""
    universe = Universe(model, system)
    search = Search(universe, limits, None, plan_of(universe), counted=counted)
    search.run()
    return search


def packed(model: m.Model, system: m.System, limits: Limits, means: Means, late: int | None = None) -> PackedSearch:
    """A packed search; compiled code takes over from plain Python when there are so many states. Raises
    `UnpackableError`."""
    universe = Universe(model, system)
    search = PackedSearch(universe, limits, means, None, plan_of(universe))
    if late is not None:
        search.engines = ChangingOver(search.lowered, means, search.budget, search.memory)
        search.engines.late = late
    search.run()
    return search


class ChangingOver(MachineCode):
    """Changes over to compiled code at a certain number of states."""

    late = 0

    def better(self, engine: Engine) -> bool:
        """See `Engines`."""
        if isinstance(engine, Plain) and engine.frontier.count >= self.late:
            self.compile(wait=True)
            return self.ready()
        return super().better(engine)


@contextmanager
def narrow(cap: int, bits: int) -> Iterator[None]:
    """Compiled searches with little room in their buffers and tables, so that they have to make more."""
    before = compiled.CAP, compiled.LEAST_BITS, plain.PAUSE
    compiled.CAP, compiled.LEAST_BITS, plain.PAUSE = cap, bits, 1
    yield
    compiled.CAP, compiled.LEAST_BITS, plain.PAUSE = before


@contextmanager
def lowered_once() -> Iterator[None]:
    """A system is lowered once, however often it is explored; with symmetry, it is another."""
    known: list[Lowered] = []

    def once(universe: Universe, *given: Any) -> Lowered:
        if any(isinstance(x, Reduction) for x in given):
            return lower(universe, *given)
        if not known:
            known.append(lower(universe, *given))
        return known[0]

    with patch.object(searching, "lower", once):
        yield


@contextmanager
def stepped_once() -> Iterator[None]:
    """A step of a world is taken by the definition once, however often a system is explored."""
    offers: dict[World, tuple[list[Step], GuardsSeen]] = {}
    results: dict[tuple[World, Step], tuple[Result, GuardsSeen]] = {}

    def enabled_once(universe: Universe, world: World, seen: GuardsSeen | None = None) -> list[Step]:
        if world not in offers:
            looked_at: GuardsSeen = set()
            offers[world] = enabled(universe, world, looked_at), looked_at
        steps, looked_at = offers[world]
        if seen is not None:
            seen |= looked_at
        return steps

    def fire_once(universe: Universe, world: World, step: Step, seen: GuardsSeen | None = None) -> Result:
        key = (world, step)
        if key not in results:
            looked_at: GuardsSeen = set()
            results[key] = fire(universe, world, step, looked_at), looked_at
        result, looked_at = results[key]
        if seen is not None:
            seen |= looked_at
        return result

    with ExitStack() as patches:
        for module in (search_result, cross_check):
            patches.enter_context(patch.object(module, "enabled", enabled_once))
            patches.enter_context(patch.object(module, "fire", fire_once))
        yield


@contextmanager
def checked_closely(states: int = 25) -> Iterator[None]:
    """Every search compares so many of its states with the definition, however long that takes."""
    with patch.object(cross_check, "SHARE", inf), patch.object(cross_check, "MAX_STATES", states):
        yield


@contextmanager
def own_cache() -> Iterator[None]:
    """Compiled code goes where nobody else looks for it."""
    before = os.environ.get("FSMDSL_CACHE")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FSMDSL_CACHE"] = folder
        yield
    if before is None:
        del os.environ["FSMDSL_CACHE"]
    else:
        os.environ["FSMDSL_CACHE"] = before


# What is found -------------------------------------------------------------------------------------------------------


def found(search: Searched) -> dict[str, object]:
    """What two searches must agree on, by what it is."""
    return {
        "states": search.states,
        "transitions": search.transitions,
        "depth": search.depth,
        "levels": search.levels,
        "stopped": search.stopped,
        "settled": {key: (f.world, f.explanation) for key, f in search.settled.items()},
        "faults": {key: (f.world, f.step, f.fault) for key, f in search.faults.items()},
        "deadlock": search.deadlock,
        "waiting": (search.waiting, search.waiting_states),
        "beyond": search.beyond,
        "followed": search.followed,
        "guards": search.guards_seen,
        "tally": search.tally and (search.tally.followed, search.tally.inhabited),
        "worlds": [search.world(n) for n in range(search.states)],
        "steps to each": {key: len(search.trace(f).entries) for key, f in search.settled.items()},
        "graph": graph(search),
    }


def graph(search: Searched) -> object:
    """The graph that liveness is decided on, if properties ask for it."""
    if search.plan is None:
        return None
    g = search.graph()
    return list(g.offsets), list(g.targets), list(g.marks), [list(x) for x in g.atoms], g.expanded


def differences(a: Mapping[str, object], b: Mapping[str, object]) -> list[str]:
    """In what two searches differ, briefly."""
    return [f"{key}: {_apart(a[key], b[key])}" for key in a if a[key] != b[key]]


def _apart(a: object, b: object) -> str:
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        at = next(n for n, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)
        return f"at {at}: {str(a[at])[:200]} != {str(b[at])[:200]}"
    if isinstance(a, set | dict) and isinstance(b, set | dict) and set(a) != set(b):
        return f"without {sorted(set(a) - set(b))}, but {sorted(set(b) - set(a))}"[:300]
    if isinstance(a, dict) and isinstance(b, dict):
        return f"{ ({k: (v, b[k]) for k, v in a.items() if v != b[k]}) }"[:300]
    return f"{str(a)[:200]} != {str(b)[:200]}"


# The campaign --------------------------------------------------------------------------------------------------------


def compare(
    model: m.Model, system: m.System, states: int = STATES, *, compiled: bool = False, random: Random | None = None
) -> tuple[str, list[str]]:
    """How it went, in a word, and all differences: with up to so many states, once more with fewer, and once more where
    a violation ends the search after a few."""
    with lowered_once(), stepped_once(), checked_closely():
        return _compare(model, system, states, random or Random(0), compiled=compiled)


def _compare(model: m.Model, system: m.System, states: int, random: Random, *, compiled: bool) -> tuple[str, list[str]]:
    plain = Means(compiled=False, symmetry=False, counted=bool(random.getrandbits(1)))
    reference = by_definition(model, system, Limits(states), counted=plain.counted)
    if reference.stopped is not None and "states" not in reference.stopped:
        return "too many choices", []
    told: list[str] = []
    many, few = Limits(states), Limits(random.randint(1, max(reference.states - 1, 1)))
    for limits in (many, few, Limits(states, after_violation=random.randint(0, reference.states // 2))):
        if limits is not many:
            reference = by_definition(model, system, limits, counted=plain.counted)
        wanted = found(reference)
        try:
            told += _differing("plain", wanted, packed(model, system, limits, plain))
        except UnpackableError as error:
            return f"unpackable: {error}", []
        if limits is many and reference.stopped is None and any(g.symmetric for g in system.groups):
            told += _reduced(model, system, reference)
        if compiled:
            with narrow(random.choice([4, 32, 1 << 15]), random.choice([3, 6, 17])):
                told += _compiled(model, system, limits, wanted, random, plain)
    return "different" if told else "the same", told


def _reduced(model: m.Model, system: m.System, reference: Search) -> Iterator[str]:
    """With symmetry there are fewer states, and the same verdicts. A system that cannot begin has neither."""
    if reference.universe.cannot_begin:
        return
    x = explore(model, system, Limits(), means=Means(compiled=False))
    found, wanted = ({(v.kind, v.name, v.outcome, str(v.span)) for v in y} for y in (x.verdicts, judge(reference)))
    if found != wanted:
        yield f"with symmetry: without {sorted(wanted - found)}, but {sorted(found - wanted)}"[:300]
    if x.states > reference.states:
        yield f"with symmetry: {x.states} states, without {reference.states}"


def _compiled(
    model: m.Model, system: m.System, limits: Limits, wanted: Mapping[str, object], random: Random, plain: Means
) -> Iterator[str]:
    for workers in (1, 2, 3):
        means = replace(plain, compiled=True, workers=workers)
        yield from _differing(f"{workers} workers", wanted, packed(model, system, limits, means))
    means = replace(plain, compiled="hastily", workers=random.choice([1, 2, 3]), once=True)
    yield from _differing("compiled in a hurry", wanted, packed(model, system, limits, means))
    late, means = random.randint(1, 50), replace(plain, workers=random.choice([1, 2, 3]))
    yield from _differing(f"late, at {late}", wanted, packed(model, system, limits, means, late))


def _differing(how: str, wanted: Mapping[str, object], search: PackedSearch) -> Iterator[str]:
    if search.note is not None:
        yield f"{how}: {search.note}"
    yield from (f"{how}, {search.limits}: {line}" for line in differences(wanted, found(search)))


def compare_core(model: m.Model, system: m.System, states: int, random: Random) -> tuple[str, list[str]]:
    """How core statements compare with the definition, in a word, and all differences."""
    told = core_comparison.compare(model, system, states, random)
    return ("different", told) if told else ("the same", [])


def texts(kind: str, seed: int) -> list[str]:
    """The modules of a seed."""
    match kind:
        case "packed":
            return [text_of(seed)]
        case "specs":
            return [spec(seed)]
        case "environments":
            return [environment(seed)]
        case "unevaluated":
            return [unevaluated_system(seed), unevaluated_spec(seed)]
        case "core":
            kinds = (text_of, spec, crowd, mail, poll, environment, unevaluated_system, unevaluated_spec)
            return [kinds[seed % len(kinds)](seed), (text_of, spec)[seed % 2](seed, newer=True)]
        case _:
            return [text_of(seed, newer=True), spec(seed, newer=True)]


def campaign(kind: str, seeds: range, every: int, states: int) -> Counter[str]:
    """Compare the systems of all seeds, and tell what differs."""
    counted: Counter[str] = Counter()
    number = 0
    for seed in seeds:
        if seed % REPORT_EVERY == 0 and seed > seeds.start:
            print(f"{seed - seeds.start} of {len(seeds)} seeds, {dict(counted)}", file=sys.stderr, flush=True)
        random = Random(seed)
        try:
            made = list(chain.from_iterable(systems(text) for text in texts(kind, seed)))
        except AssertionError as error:
            counted["failed"] += 1
            print(f"seed {seed}: {error}", flush=True)
            continue
        for model, system in made:
            number += 1
            try:
                compiled = every > 0 and number % every == 0
                if kind == "core":
                    outcome, told = compare_core(model, system, min(states, CORE_STATES), random)
                else:
                    outcome, told = compare(model, system, states, compiled=compiled, random=random)
            except Exception as error:  # whatever it is, the others are still of interest
                outcome, told = "failed", [repr(error)[:300]]
            counted[outcome] += 1
            for line in told:
                print(f"seed {seed}, {system.name}: {line}", flush=True)
    return counted


def main() -> int:
    """See above."""
    parser = argparse.ArgumentParser(description="Random systems, explored in every way there is, and compared.")
    choices = ["packed", "specs", "newer", "environments", "unevaluated", "core"]
    parser.add_argument("kind", choices=choices, help=KINDS)
    parser.add_argument("--seeds", default="0:100", help="from:to, the last one left out")
    parser.add_argument("--compiled", type=int, default=10, help="compile every so many systems; 0: none")
    parser.add_argument("--states", type=int, default=STATES, help="where to stop")
    given = parser.parse_args()
    first, last = map(int, given.seeds.split(":"))
    begun = time.perf_counter()
    with own_cache():
        counted = campaign(given.kind, range(first, last), given.compiled, given.states)
    for outcome, count in counted.most_common():
        print(f"{count:7}  {outcome}")
    print(f"{sum(counted.values()):7}  systems in {time.perf_counter() - begun:.0f} s")
    return 1 if counted["different"] or counted["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
