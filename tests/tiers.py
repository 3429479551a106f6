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
    "runtime/e2e": "a Kubernetes control plane",
}
"""Files and folders of tests that only `make full` runs, and what they need."""


def today(items: Sequence[T]) -> Sequence[T]:
    """Those of some items that tests try today: all in `make full`, else every eighth, at least one."""
    return items if FULL or len(items) < 2 else items[day() % min(ROTATION, len(items)) :: ROTATION]


def day() -> int:
    """The number of the day; `FSM_DAY` stands for another one."""
    return int(os.environ.get("FSM_DAY", date.today().toordinal()))
