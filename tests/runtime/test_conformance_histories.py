"""Whatever the allocator does in random histories, each step is one that the model allows, and comes to the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance_histories import followed

pytestmark = pytest.mark.full(reason="random histories, long")

STEPS = 40


def test_the_model_follows_random_histories() -> None:
    steps, labels = 0, set()
    for seed in range(40):
        for teller in followed(seed, STEPS):
            steps += teller.steps
            labels |= teller.labels
    assert steps > 150
    assert {"e0", "e1", "e2", "e3", "e4", "e6", "e7", "e8", "back", "lazy"} <= {
        x for machine, x in labels if machine != "Cell"
    }


def test_going_on_with_a_journal_is_no_step_of_the_model(tmp_path: Path) -> None:
    for seed in range(4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        assert sum(teller.steps for teller in followed(seed, STEPS, folder)) > 0
