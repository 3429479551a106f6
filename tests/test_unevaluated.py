"""No fault is lost where a reader decides something without evaluating it.

The conditions come from `random_faults`, with what they are worth by the language reference.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from random_faults import rows, text_of, worlds
from seeds import seeds
from test_meanings import Case, explored_alike
from tiers import share

ROWS, WORLDS = share(24), 8


@pytest.mark.parametrize("seed", seeds(range(8)))
def test_guards_are_worth_what_the_reference_says_or_are_faults(seed: int, tmp_path: Path) -> None:
    listed = rows(seed, ROWS)
    case = Case(tmp_path, text_of(listed, "guards"))
    for values in worlds(Random(seed), WORLDS):
        for n, row in enumerate(listed):
            wanted = row.taken(values)
            told = row.one.text, row.two.text, values
            assert case.outcome("M", values, f"e{n}") == wanted, told


@pytest.mark.parametrize("seed", seeds(range(100, 108)))
def test_guards_and_invariants_are_explored_as_defined(seed: int, tmp_path: Path) -> None:
    for n, values in enumerate(worlds(Random(seed), 3)):
        listed = rows(seed + 1000 * n, ROWS)
        explored_alike(text_of(listed, "guards", begins=values), tmp_path)
