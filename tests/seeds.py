"""The seeds that random tests try: a few in each run of the tests, others in a campaign."""

from __future__ import annotations

import os


def seeds(usual: range) -> range:
    """The usual ones, or those of `FSM_SEEDS=from:to`, the last one left out."""
    given = os.environ.get("FSM_SEEDS")
    if not given:
        return usual
    first, last = map(int, given.split(":"))
    return range(first, last)
