"""The folders with mutants, and the tests that can notice them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

_LANGUAGE = "test_meanings test_cases test_evaluate test_systems"
_WALKED = f"{_LANGUAGE} test_step test_rounds test_crash test_explore"

TESTS: Mapping[str, tuple[str, str]] = {
    "fsmdsl/step": (_WALKED, "test_core test_packed"),
    "fsmdsl/resolve": (f"{_WALKED} test_scenario", "test_generated test_documents"),
    "runtime/journal": ("runtime/test_journal runtime/test_durable", ""),
    "runtime/preemption": (
        "runtime/test_allocator_preemption runtime/test_allocator_defects runtime/test_allocator_private"
        " runtime/test_allocator_lent",
        "runtime/test_conformance_histories runtime/test_allocator_histories",
    ),
    "runtime/placement": (
        "runtime/test_allocator_packing runtime/test_allocator_scheduling runtime/test_allocator_preemption"
        " runtime/test_allocator_defects runtime/test_allocator_requests runtime/test_allocator_growth"
        " runtime/test_allocator_private runtime/test_allocator_lent",
        "runtime/test_conformance_histories runtime/test_allocator_histories",
    ),
    "fsmdsl/emit": (
        f"{_LANGUAGE} test_emit::test_golden test_emit::test_the_committed_classes_are_those_of_the_specs"
        " test_emit::test_hostile_names_and_texts_stay_text test_generated test_emit_cases test_replay",
        "test_program twin/test_random_twin twin/test_twin_scenarios",
    ),
    "fsmdsl/checks": ("test_meanings test_cases test_checks", "test_oracles"),
    "fsmdsl/explore/packed/lower": (_WALKED, "test_packed test_symmetry test_liveness"),
}
"""Folder → files of tests: the fast ones, then the slow ones. Which of the tests run with a mutant, and in which order,
follows from what they execute. Folders are tried in this order."""


def names(tests: str) -> tuple[str, ...]:
    """What pytest takes: files, relative to the root, or tests in them."""
    parts = (x.partition("::") for x in tests.split())
    return tuple(f"tests/{file}.py{colons}{name}" for file, colons, name in parts)


def area_of(path: str) -> str:
    """The folder of `TESTS` that a file is in."""
    return next(area for area in TESTS if path.startswith(f"{area}/"))
