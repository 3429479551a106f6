"""Which tests run when.

    make quick    what a change concerns, in half a minute: see `quick.py`
    make test     everything but what is listed here, in minutes; needs nothing but Python
    make full     everything, as CI runs it

Tests with random seeds run on an eighth of their seeds in `make test`, on others each day.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TypeVar

T = TypeVar("T")

FULL = os.environ.get("FSM_TESTS") == "full" or "FSM_SEEDS" in os.environ

ROTATION = 8
"""In how many days `make test` has run on all seeds."""

SEEDS = {"seed", "seeds", "part", "block", "first", "run"}
"""Parameters of tests that are random seeds, or number groups of them."""

ONLY_FULL: Mapping[str, str] = {
    "test_code_server": "VS Code",
    "test_vscode": "npm",
    "test_live_page": "a browser",
    "test_live_delays": "a browser",
    "test_report_page": "a browser",
    "test_report_large": "a browser",
    "test_playground": "npm and a browser",
    "test_playground_answers": "npm",
    "test_draw_everywhere": "a browser",
    "test_site": "the documentation site, and a browser",
    "test_release": "a release",
    "test_package": "a wheel in an empty environment",
    "test_mpi": "mpiexec, and a minute",
    "test_second_opinion": "SPIN",
    "test_tree_sitter": "tree-sitter",
    "test_models": "a minute and a half: the models of papers, whole",
    "test_machine_code": "half a minute: compiled searches",
    "test_operands": "half a minute: every operand behind every word",
    "test_every_feature": "half a minute: every part of the grammar",
    "test_fuzz": "processes of each fuzz target",
    "test_files": "processes that write, full disks, kills",
    "test_action": "processes of the GitHub Action",
    "test_readme": "processes of the README's commands",
    "test_live_defence": "a server under attack",
    "runtime/test_service_holding": "a minute: a server that holds requests",
    "runtime/test_service_defence": "a server under attack",
    "runtime/test_kubernetes": "half a minute: an API server",
    "runtime/test_questions": "half a minute: a server",
    "runtime/test_view": "a server and a browser",
    "runtime/test_simulate_command": "processes of the simulator",
    "runtime/test_journal_kills": "kills at every stage of writing",
    "runtime/test_conformance": "half a minute: all that the model allows",
    "runtime/test_conformance_histories": "random histories, long",
    "runtime/test_allocator_histories": "random histories, long",
    "runtime/test_following_histories": "random histories, long",
    "runtime/test_allocator_private": "random histories, long",
    "runtime/e2e": "a Kubernetes control plane",
}
"""Files and folders of tests that only `make full` runs, and what they need or take."""


def today(items: Sequence[T]) -> Sequence[T]:
    """Those of some items that tests try today: all in `make full`, else every eighth, at least one."""
    return items if FULL or len(items) < 2 else items[day() % min(ROTATION, len(items)) :: ROTATION]


def day() -> int:
    """The number of the day; `FSM_DAY` stands for another one."""
    return int(os.environ.get("FSM_DAY", date.today().toordinal()))
