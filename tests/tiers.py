"""Which tests run when.

    make quick    the tests for the changed files, in half a minute: see `quick.py`
    make test     the whole toolkit and the allocator, in five minutes on two cores; needs nothing but Python
    make full     everything

`make test` differs from `make full` in three ways:

* It leaves out tests marked `full`: those that need another program, open a browser, or take long for what they add to
  the other tests of the same code. The reason is the argument of the marker.
* It does an eighth of what is random: `today` chooses the seeds, others each day, `share` is the number of runs or
  steps, and `enough` the number of cases of a kind that a test has to come across.
* Slow tests take turns (`slow_tests.py`): a sixteenth of their cases runs, others each day.

CI runs both, the second with a third of what is random (`FSM_ROTATION=3`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

FULL = os.environ.get("FSM_TESTS") == "full" or "FSM_SEEDS" in os.environ

ROTATION = int(os.environ.get("FSM_ROTATION") or (1 if FULL or os.environ.get("UPDATE") else 8))
"""The number of days after which all seeds have run. `UPDATE=1` rewrites all golden files, not only those of today."""

TURNS = int(os.environ.get("FSM_TURNS") or 1)
"""The number of days after which all slow tests have run."""

TURNS_OF_MAKE_TEST = 16
"""What `make test` sets `FSM_TURNS` to. Without it, as for a single file, all slow tests run."""

DAY = int(os.environ.setdefault("FSM_DAY", str(date.today().toordinal())))
"""The number of the day, or `FSM_DAY`. Workers inherit it, so that midnight does not divide them."""

_FULL_FILE = re.compile(r"^pytestmark = (\[\s*)?pytest\.mark\.full\b", re.MULTILINE)


def today(items: Sequence[T]) -> Sequence[T]:
    """The seeds, or cases of a table, that run today: all in `make full`, otherwise every eighth, at least one."""
    return items if ROTATION == 1 or len(items) < 2 else items[DAY % min(ROTATION, len(items)) :: ROTATION]


def share(count: int) -> int:
    """A number of random steps, runs or examples: all in `make full`, otherwise an eighth, at least one."""
    return max(1, count // ROTATION)


def enough(count: int) -> int:
    """How many random cases are of a kind, at least: with an eighth of them half of an eighth, which may be none."""
    return count if ROTATION == 1 else count // ROTATION // 2


def is_full(path: Path) -> bool:
    """Does a file have only tests for `make full`? Read from its text, which takes less time than importing it."""
    return path.match("test_*.py") and _FULL_FILE.search(path.read_text("utf-8")) is not None
