"""The folders with mutants, and the tests that can notice them.

There are two campaigns. That of all tests covers the folders of `TESTS`, which also names the tests. That of `make
test` covers every folder and asks what `make test` alone notices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import quick
import tiers

ROOT = Path(__file__).parent.parent.parent

_SMALL = "test_evaluate test_step test_crash test_rounds test_scenario test_systems test_cases"
_GOLDEN = "test_emit::test_golden test_emit::test_the_committed_classes_are_those_of_the_specs"
_GENERATED = "test_generated test_generated_alone test_generated_borders test_generated_snapshots test_generated_time"
_EXPLORED = "test_explore test_explore_findings test_explore_first test_explore_limits test_packed test_packed_cases"
_CLASSES = (
    "test_meanings test_emit_cases test_emit_faults test_emit_names test_emit_docstrings test_emit_choices"
    f" test_emit::test_hostile_names_and_texts_stay_text {_GENERATED}"
)
_EDITING = (
    f"test_names test_error_type test_connections test_documents {_GENERATED} test_rewording test_editing"
    " test_completion test_ordinals test_binders test_workspace test_refinement test_fair_deliveries test_without"
)
_FEATURES = (
    "test_records test_maps test_state_values test_first_states test_first_leaves test_sharing test_queues test_pairs"
    " test_waiting_channels test_bounds test_named_amendments test_every_feature test_holes test_crash_alone"
    " test_fair_arguments"
)
_ALLOCATOR = (
    "runtime/test_allocator_packing runtime/test_allocator_scheduling runtime/test_allocator_preemption"
    " runtime/test_allocator_defects runtime/test_allocator_requests runtime/test_allocator_growth"
    " runtime/test_allocator_lent"
)
_HISTORIES = (
    "runtime/test_conformance_histories runtime/test_allocator_histories runtime/test_allocator_private"
    " runtime/test_places runtime/test_allocator_cells runtime/test_allocator_recovery"
)

TESTS: Mapping[str, tuple[str, ...]] = {
    "fsmdsl/step": (_SMALL, "test_meanings test_core", f"{_EXPLORED} {_FEATURES}"),
    "fsmdsl/model/resolve": (_SMALL, f"test_meanings {_EDITING}", _FEATURES),
    "runtime/journal": ("runtime/test_journal runtime/test_durable",),
    "runtime/preemption": (_ALLOCATOR, _HISTORIES),
    "runtime/placement": (_ALLOCATOR, _HISTORIES),
    "fsmdsl/classes": (_GOLDEN, _CLASSES, f"test_replay test_program {_FEATURES} twin/test_random_twin"),
    "fsmdsl/check": ("test_cases", "test_meanings test_checks test_vacuity test_oracles", _FEATURES),
    "fsmdsl/search/lower": (
        "test_meanings test_symmetry_cases",
        _EXPLORED,
        f"test_symmetry test_liveness test_fairness test_properties test_packed_wide {_FEATURES}",
    ),
}
"""Folder → files of tests, in stages: what takes seconds, then what takes minutes. Which of the tests run with a
mutant, and in which order, follows from what they execute. Folders are tried in this order."""


def names(tests: str) -> tuple[str, ...]:
    """What pytest takes: files, relative to the root, or tests in them."""
    parts = (x.partition("::") for x in tests.split())
    return tuple(f"tests/{file}.py{colons}{name}" for file, colons, name in parts)


Stages = tuple[tuple[str, ...], ...]
"""Files of tests, or tests in them, as pytest takes them: those of the second stage run if the first one passes."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """What is mutated, and which tests may notice."""

    tier: Literal["full", "test"]
    areas: Mapping[str, Stages]
    """Folder → tests. A folder inside of another one comes first."""

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that no other one contains."""
        return tuple(x for x in self.areas if not any(x.startswith(f"{y}/") for y in self.areas))

    @property
    def results(self) -> Path:
        """Where the results are."""
        return ROOT / "tests" / "mutation" / ("results.json" if self.tier == "full" else f"results-{self.tier}.json")

    def area_of(self, path: str) -> str:
        """The folder that a file is in."""
        return next(area for area in self.areas if path.startswith(f"{area}/"))

    def needed(self, area: str) -> Stages:
        """The stages of an area but those that a later one contains: recordings say in which order tests run."""
        stages = self.areas[area]
        return tuple(x for n, x in enumerate(stages) if not any({*x} <= {*later} for later in stages[n + 1 :]))

    def files(self) -> list[str]:
        """The modules that mutants are made of."""
        return sorted({p.relative_to(ROOT).as_posix() for area in self.areas for p in (ROOT / area).rglob("*.py")})


@cache
def campaign(tier: Literal["full", "test"]) -> Campaign:
    """The campaign of a tier."""
    if tier == "full":
        return Campaign(tier, {area: tuple(map(names, stages)) for area, stages in TESTS.items()})
    packages = ("fsmdsl", "runtime")
    below = sorted(f"{x}/{p.name}" for x in packages for p in (ROOT / x).iterdir() if any(p.glob("*.py")))
    paths = sorted(p for p in (ROOT / "tests").rglob("test_*.py") if not tiers.is_full(p))
    every = tuple(p.relative_to(ROOT).as_posix() for p in paths)
    likely = {area: tuple(quick.concerned([f"{area}/any.py"])) for area in (*below, *packages)}
    return Campaign(tier, {area: (files, every) for area, files in likely.items()})
