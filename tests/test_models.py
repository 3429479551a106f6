"""Protocols as their papers have them (`benchmarks/models`), counted by programs that know nothing of the language
(`tests/protocols`); and the same protocols with mistakes that are known of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pytest
from protocols import (
    chandy_lamport,
    chang_roberts,
    chord,
    dijkstra_ring,
    german,
    paxos,
    raft,
    sliding_window,
    two_phase_commit,
)

from fsmdsl.interop.second_opinion import MissingError
from fsmdsl.interop.second_opinion.spin import Spin
from fsmdsl.interop.second_opinion.tlc import Tlc

pytestmark = pytest.mark.full(reason="a minute and a half: the models of papers, whole")

ROOT = Path(__file__).parent.parent
MODELS = ROOT / "benchmarks" / "models"

S = TypeVar("S", bound=Hashable)


def verified(model: str, sizes: dict[str, int], *options: str) -> Any:
    """What `fsm verify` says of the system of a model, as JSON."""
    settings = [f"--set={name}={n}" for name, n in sizes.items()]
    command = [
        sys.executable,
        "-m",
        "fsmdsl",
        "verify",
        str(MODELS / f"{model}.fsm"),
        *settings,
        *options,
        "--format",
        "json",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return json.loads(done.stdout)


def counted(starts: Iterable[S], after: Callable[[S], Iterable[S]]) -> tuple[int, int]:
    """States and transitions of a transition system."""
    waiting, transitions = list(starts), 0
    seen = set(waiting)
    for state in waiting:
        for x in after(state):
            transitions += 1
            if x not in seen:
                seen.add(x)
                waiting.append(x)
    return len(seen), transitions


@dataclass(frozen=True, slots=True)
class Case:
    """A model of some size, its oracle, and what is not to be reached in so small a system."""

    model: str
    sizes: dict[str, int]
    starts: Sequence[Any]
    after: Callable[[Any], Iterable[Any]]
    unreached: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return "-".join([self.model, *(f"{name}={n}" for name, n in self.sizes.items())])


def paxos_of(ballots: int, acceptors: int) -> Case:
    pairs = ballots * acceptors
    sizes = {"ballots": ballots, "acceptors": acceptors, "promises": pairs, "votes": pairs}
    return Case("paxos", sizes, [paxos.start(acceptors)], paxos.after(ballots, acceptors))


def window_of(window: int, numbers: int, items: int) -> Case:
    sizes = {"window": window, "numbers": numbers, "items": items}
    return Case("sliding_window", sizes, [sliding_window.State()], sliding_window.after(window, numbers, items))


def ring_of(size: int, k: int, *unreached: str) -> Case:
    return Case(
        "dijkstra_ring", {"ring": size, "k": k}, dijkstra_ring.starts(size, k), dijkstra_ring.after(k), unreached
    )


def raft_of(servers: int, terms: int, entries: int, *unreached: str) -> Case:
    sizes = {"servers": servers, "campaigns": servers * terms, "entries": entries}
    return Case("raft", sizes, [raft.start(servers)], raft.after(terms, entries), unreached)


CASES = [
    *(Case("chang_roberts", {"ring": n}, [chang_roberts.start(n)], chang_roberts.after(n)) for n in (2, 3, 4, 5, 6)),
    *(
        Case("chandy_lamport", {"processes": n, "coins": k}, [chandy_lamport.start(n, k)], chandy_lamport.after)
        for n, k in ((2, 1), (2, 2), (2, 3), (3, 1))
    ),
    *(Case("chord", {"nodes": n}, [chord.start(n)], chord.after) for n in (3, 4, 5, 6)),
    *(paxos_of(*x) for x in ((2, 2), (2, 3), (3, 2))),
    *(
        Case("two_phase_commit", {"resources": n}, [two_phase_commit.start(n)], two_phase_commit.after)
        for n in (1, 2, 3, 5)
    ),
    *(window_of(*x) for x in ((1, 2, 4), (2, 3, 4), (2, 4, 5), (3, 4, 6))),
    *(Case("german", {"caches": n}, [german.start(n)], german.after) for n in (1, 2, 3)),
    *(ring_of(*x) for x in ((3, 2), (3, 5), (4, 3), (5, 4))),
    ring_of(2, 3, "disturbed"),
    raft_of(2, 2, 2, "two_leaders", "overwritten"),
    raft_of(2, 3, 1, "two_leaders", "overwritten"),
    raft_of(3, 1, 2, "two_leaders", "overwritten"),
    raft_of(3, 2, 1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_model_has_the_states_and_transitions_of_its_paper(case: Case) -> None:
    (system,) = verified(case.model, case.sizes, "--no-symmetry")["systems"]
    assert (system["states"], system["transitions"]) == counted(case.starts, case.after)
    left = {x["name"] for x in system["verdicts"] if x["outcome"] != "holds"}
    assert left == set(case.unreached)


def test_published_counts() -> None:
    """What TwoPhase.tla says of six resource managers, and rumur of German's protocol with four caches."""
    (commit,) = verified("two_phase_commit", {"resources": 6})["systems"]
    assert commit["states"] == 50_816
    (coherence,) = verified("german", {"caches": 4}, "--no-symmetry")["systems"]
    assert coherence["states"] == 1_105_353


@pytest.mark.parametrize(("size", "k"), [(n, k) for n in (2, 3, 4, 5) for k in (2, 3, 4, 5)])
def test_a_ring_stabilises_where_it_has_enough_states(size: int, k: int) -> None:
    (system,) = verified("dijkstra_ring", {"ring": size, "k": k}, "--all")["systems"]
    outcomes = {x["name"]: x["outcome"] for x in system["verdicts"]}
    assert outcomes["converges"] == ("holds" if dijkstra_ring.stabilises(size, k) else "violated")
    assert outcomes["closure"] == outcomes["alive"] == outcomes["fair_share"] == "holds"


OTHERS = {
    "chandy_lamport": ({}, set()),
    "chang_roberts": ({"ring": 3}, {"property ends"}),
    "chord": ({"nodes": 4}, {"property ideal"}),
    "german": ({"caches": 2}, set()),
    "paxos": ({"acceptors": 2, "promises": 4, "votes": 4}, set()),
    "dijkstra_ring": ({}, set()),
    "raft": ({"servers": 2, "campaigns": 4}, set()),
    "sliding_window": ({}, {"property delivered"}),
    "two_phase_commit": ({}, set()),
}
"""Sizes for other checkers, and what SPIN's formulas have no room for."""


@pytest.mark.parametrize(("checker", "installed"), [("spin", Spin.installed), ("tlc", Tlc.installed)])
@pytest.mark.parametrize("model", OTHERS)
def test_another_checker_counts_the_same(model: str, checker: str, installed: Callable[[], object]) -> None:
    try:
        installed()
    except MissingError as error:
        pytest.skip(f"{checker} SAYS NOTHING HERE: {error}")
    sizes, unasked = OTHERS[model]
    (opinion,) = verified(model, sizes, "--second-opinion", checker)["second_opinions"]
    assert "states" in {row["what"] for row in opinion["rows"]}
    left = {row["what"] for row in opinion["rows"] if row["agreement"] != "confirmed"}
    if checker == "tlc":  # which is asked nothing about runs
        left, unasked = {x for x in left if not x.startswith("property ")}, set()
    assert left == unasked


# Mistakes ------------------------------------------------------------------------------------------------------------


def loaded(path: Path) -> ModuleType:
    """A script, as a module."""
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


BUGS = loaded(MODELS / "bugs.py")


@pytest.mark.parametrize("bug", list(BUGS.bugs()), ids=lambda bug: f"{bug.model}: {bug.what}")
def test_a_known_mistake_is_found_early(bug: Any) -> None:
    found = BUGS.find(bug)
    assert bug.violates in found.violated
    assert found.states < 300_000  # a second's work
    assert bug.what in (MODELS / "README.md").read_text("utf-8")


def test_figure_8_is_harmless_where_terms_are_looked_at() -> None:
    """The last mistake changes where the system begins, too: that alone violates nothing."""
    (bug,) = (x for x in BUGS.bugs() if "figure 8" in x.what)
    guard = "and n <= size(s.log)"
    repaired = re.sub(re.escape(guard), f"{guard} and s.log[n - 1] == s.term", bug.text)
    assert repaired != bug.text
    found = BUGS.find(BUGS.Bug(bug.model, bug.what, repaired, bug.sizes, bug.violates))
    assert set(found.violated) <= {"two_leaders", "all_committed", "overwritten"}
