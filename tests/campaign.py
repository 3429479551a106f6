"""Random systems, explored in every way there is, and compared: by the definition of the language, packed in plain
Python, and packed in machine code with one, two and three workers.

    python tests/campaign.py packed --seeds 0:5000
    python tests/campaign.py packed --seeds 0:200 --compiled 1

A line for every difference, and a table at the end; the exit code is 1 if there was one. A seed gives one module, and
every system that there is in it is explored. `--compiled 20` compiles every twentieth system, which takes seconds each.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from random_specs import spec
from random_systems import text_of

from fsmdsl import model as m
from fsmdsl.explore.liveness import Plan, questions
from fsmdsl.explore.packed.search import PackedSearch
from fsmdsl.explore.packed.shapes import UnpackableError
from fsmdsl.explore.search import Search
from fsmdsl.explore.searched import Searched
from fsmdsl.explore.verdict import Limits, Means
from fsmdsl.parse import parse
from fsmdsl.resolve import resolve
from fsmdsl.source import Source
from fsmdsl.step import Universe, closed

STATES = 1000
"""A system with more is explored so far and no further."""


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
    temporal = any(not isinstance(p.formula, m.Recovers) for p in universe.system.properties)
    return questions(universe) if temporal else None


# What is found -------------------------------------------------------------------------------------------------------


def by_definition(model: m.Model, system: m.System, limits: Limits) -> Search:
    """A search by the definition itself."""
    universe = Universe(model, system)
    search = Search(universe, limits, None, plan_of(universe))
    search.run()
    return search


def packed(model: m.Model, system: m.System, limits: Limits, means: Means) -> PackedSearch:
    """A packed search. Raises `UnpackableError`."""
    universe = Universe(model, system)
    search = PackedSearch(universe, limits, means, None, plan_of(universe))
    search.run()
    return search


def found(search: Searched) -> dict[str, object]:
    """What two searches must agree on, by what it is."""
    unasked = any(f.step is None for f in search.faults.values())
    return {
        "states": search.states,
        "transitions": search.transitions,
        "depth": search.depth,
        "levels": search.levels,
        "stopped": search.stopped,
        "settled": {key: (f.world, f.explanation) for key, f in sorted(search.settled.items())},
        "faults": {key: (f.world, f.step, f.fault) for key, f in sorted(search.faults.items())},
        "deadlock": search.deadlock,
        "followed": search.followed,
        # Where the environment itself has no value, which guards were looked at before is nobody's business.
        "guards": None if unasked else search.guards_seen,
        "worlds": [search.world(n) for n in range(search.states)],
        "steps to each": {key: len(search.trace(f).entries) for key, f in sorted(search.settled.items())},
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
        return f"{({k: (v, b[k]) for k, v in a.items() if v != b[k]})}"[:300]
    return f"{str(a)[:200]} != {str(b)[:200]}"


# The campaign --------------------------------------------------------------------------------------------------------


def compare(model: m.Model, system: m.System, compiled: bool, limits: Limits) -> tuple[str, list[str]]:
    """How it went, in a word, and all differences."""
    reference = by_definition(model, system, limits)
    if reference.stopped is not None and "states" not in reference.stopped:
        return "too many choices", []
    wanted = found(reference)
    means = [Means(compiled=False, symmetry=False)]
    means += [Means(compiled=True, workers=n, symmetry=False) for n in (1, 2, 3)] if compiled else []
    told: list[str] = []
    for x in means:
        try:
            search = packed(model, system, limits, x)
        except UnpackableError as error:
            return f"unpackable: {error}", []
        how = f"compiled, {x.workers} workers" if x.compiled else "plain"
        if x.compiled and search.note is not None:
            told.append(f"{how}: {search.note}")
        told += [f"{how}: {line}" for line in differences(wanted, found(search))]
    return "different" if told else "the same", told


def campaign(kind: str, seeds: range, compiled: int, states: int) -> Counter[str]:
    """Compare the systems of all seeds, and tell what differs."""
    counted: Counter[str] = Counter()
    number = 0
    for seed in seeds:
        for model, system in systems(text_of(seed) if kind == "packed" else spec(seed)):
            number += 1
            try:
                outcome, told = compare(model, system, compiled > 0 and number % compiled == 0, Limits(states=states))
            except Exception as error:  # whatever it is, the others are still of interest
                outcome, told = "failed", [repr(error)[:300]]
            counted[outcome] += 1
            for line in told:
                print(f"seed {seed}, {system.name}: {line}", flush=True)
    return counted


def main() -> int:
    """See above."""
    parser = argparse.ArgumentParser(description="Random systems, explored in every way there is, and compared.")
    parser.add_argument("kind", choices=["packed", "specs"], help="systems made to be explored, or specs of all kinds")
    parser.add_argument("--seeds", default="0:100", help="from:to, the last one left out")
    parser.add_argument("--compiled", type=int, default=0, help="compile every so many systems")
    parser.add_argument("--states", type=int, default=STATES, help="where to stop")
    given = parser.parse_args()
    first, last = map(int, given.seeds.split(":"))
    begun = time.perf_counter()
    counted = campaign(given.kind, range(first, last), given.compiled, given.states)
    for outcome, count in counted.most_common():
        print(f"{count:7}  {outcome}")
    print(f"{sum(counted.values()):7}  systems in {time.perf_counter() - begun:.0f} s, {Path(sys.argv[0]).name}")
    return 1 if counted["different"] or counted["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
