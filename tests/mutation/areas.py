"""The folders with mutants, and the tests that can notice them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

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


def area_of(path: str) -> str:
    """The folder of `TESTS` that a file is in."""
    return next(area for area in TESTS if path.startswith(f"{area}/"))
