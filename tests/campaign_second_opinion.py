"""Random systems, explored by us and by another checker: states, invariants, faults, deadlocks, properties compared.

    python tests/campaign_second_opinion.py --tool spin --count 10000 --seed 0 --log spin.jsonl
    TLA2TOOLS=tla2tools.jar python tests/campaign_second_opinion.py --tool tlc --count 1000 --log tlc.jsonl
    python tests/campaign_second_opinion.py --tool graph --kind runs --count 5000 --log graph.jsonl

A seed gives a module, of which its system and a small one around each machine are explored. With `--log`, every seed
that is done is written down, and the same command goes on where it was interrupted. A line tells every difference, a
table at the end what came out how often; the exit code is 1 if there was a difference. For `graph`, `--count` is the
number of properties of runs that are compared, and in the systems of every fourth seed runs may stutter.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from campaign import systems
from random_crowds import crowd
from random_mail import mail
from random_polls import poll
from random_records import members
from random_runs import runs
from random_specs import spec
from random_systems import text_of

from fsmdsl import model as m
from fsmdsl.interop.second_opinion import Budgeted, SecondOpinion, compare
from fsmdsl.interop.second_opinion.judge import Judge
from fsmdsl.interop.second_opinion.spin import Spin
from fsmdsl.interop.second_opinion.tools import TOOLS, Tool
from fsmdsl.runs.liveness.grounding import questions
from fsmdsl.runs.verdicts.judge import judged
from fsmdsl.runs.verdicts.verdict import Exploration, Limits
from fsmdsl.search.definition_search import Search
from fsmdsl.step import Universe

STATES = 300
"""A system with more is left out."""

SECONDS = 20.0
"""The same, for one that takes longer to explore."""

BUDGET = Budgeted(120.0, 1 << 30)

KINDS = {
    "systems": text_of, "newer": partial(text_of, newer=True), "specs": spec, "crowds": crowd, "mail": mail,
    "records": members, "polls": poll, "runs": runs,
}  # fmt: skip


def explored(model: m.Model, system: m.System, states: int = STATES, *, stutters: bool = False) -> Exploration:
    """By the definition of the language, as a whole or not at all."""
    universe = Universe(model, system)
    plan = questions(universe, stutters=stutters) if system.properties else None
    search = Search(universe, Limits(states, SECONDS), None, plan)
    search.run()
    return judged(search, time.perf_counter())


@dataclass(slots=True)
class Tally:
    """What came out, how often; `told` are the differences."""

    systems: Counter[str] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    states: int = 0
    told: list[str] = field(default_factory=list)

    def add(self, x: SecondOpinion, seed: int) -> None:
        first = x.rows[0]
        unseen = first.agreement == "not confirmed"
        compared = "different" if x.agreement == "different" else f"left out: {first.theirs}" if unseen else "the same"
        self.systems[compared[:80]] += 1
        if not unseen:
            self.states += int(first.ours)
            self.rows.update(f"{r.what.split()[0]} {r.agreement}" for r in x.rows)
        for r in x.rows:
            if r.agreement == "different":
                self.told.append(f"seed {seed}, {x.system}: {r.what}: {r.ours}, but {x.tool}: {r.theirs}")

    def as_json(self) -> dict[str, Any]:
        return {"systems": self.systems, "rows": self.rows, "states": self.states, "told": self.told}

    def merge(self, other: dict[str, Any]) -> None:
        self.systems.update(other["systems"])
        self.rows.update(other["rows"])
        self.states += other["states"]
        self.told += other["told"]


def of_seed(kind: str, seed: int, tool: Tool, states: int) -> Tally:
    """The systems of one seed."""
    tally = Tally()
    stutters = isinstance(tool, Judge) and seed % 4 == 3
    tool = Judge(stutters=True) if stutters else tool
    for model, system in systems(KINDS[kind](seed)):
        if isinstance(tool, Judge) and not system.properties:
            continue
        x = explored(model, system, states, stutters=stutters)
        if x.stopped is not None:
            tally.systems["left out: too many states or choices for us"] += 1
            continue
        if isinstance(tool, Judge) and x.transitions == 0:
            tally.systems["left out: no steps"] += 1
            continue
        tally.add(compare(x, tool.opinion(model, system, x.states, BUDGET)), seed)
    return tally


def known(log: Path | None) -> dict[int, dict[str, Any]]:
    """The seeds that are done, and what came out."""
    if log is None or not log.exists():
        return {}
    lines = (json.loads(x) for x in log.read_text("utf-8").splitlines() if x.endswith("}"))
    return {x.pop("seed"): x for x in lines}


def campaign(kind: str, seeds: Iterator[int], tool: Tool, count: int, log: Path | None, states: int) -> Tally:
    """Until `count` systems, or properties, have been compared."""
    done, total = known(log), Tally()
    while _compared(total, tool) < count:
        seed = next(seeds)
        if seed in done:
            total.merge(done[seed])
            continue
        found = of_seed(kind, seed, tool, states)
        for line in found.told:
            print(line, flush=True)
        if log is not None:
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"seed": seed, **found.as_json()}) + "\n")
        total.merge(found.as_json())
    return total


def _compared(total: Tally, tool: Tool) -> int:
    if isinstance(tool, Judge):
        return total.rows["property confirmed"] + total.rows["property different"]
    return total.systems["the same"] + total.systems["different"]


def installed(name: str) -> Tool:
    return Spin.installed(quick=True) if name == "spin" else TOOLS[name](None)


def main() -> int:
    """See above."""
    parser = argparse.ArgumentParser(description="Random systems, explored by us and by another checker.")
    parser.add_argument("--tool", choices=list(TOOLS), default="spin")
    parser.add_argument("--kind", choices=list(KINDS), default="systems", help="which random systems")
    parser.add_argument("--count", type=int, default=100, help="the number of systems (or properties) to compare")
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--step", type=int, default=1, help="for several processes: from one seed to the next")
    parser.add_argument("--states", type=int, default=STATES, help="a system with more is left out")
    parser.add_argument("--log", type=Path, help="where to write down what is done")
    given = parser.parse_args()
    begun = time.perf_counter()
    seeds = iter(range(given.seed, 1 << 31, given.step))
    total = campaign(given.kind, seeds, installed(given.tool), given.count, given.log, given.states)
    for counted in (total.systems, total.rows):
        print("\n".join(f"{n:8}  {what}" for what, n in sorted(counted.items(), key=lambda x: -x[1])) + "\n")
    print(f"{total.states:8}  states in {time.perf_counter() - begun:.0f} s; {len(total.told)} differences")
    return 1 if total.told else 0


if __name__ == "__main__":
    sys.exit(main())
