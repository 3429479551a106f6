"""Short random histories beside HiveD itself.

Ten thousand: `python tests/runtime/beside_hived.py --histories 10000`.
"""

from __future__ import annotations

from beside_hived import Histories, report
from differences import INTENDED, OURS, Difference
from hived import HiveD, needs_hived

HISTORIES, STEPS = 240, 12
WORSE = (3837, 5299, 6911, 7999, 8236, 10582, 14335, 17300, 19228)
"""Histories of 30 steps in which ours displaced somebody once, and HiveD nobody."""


@needs_hived
def test_whatever_differs_is_known_and_nothing_is_worse() -> None:
    hived = HiveD()
    histories = Histories(hived)
    for seed in range(HISTORIES):
        histories.run(seed, STEPS)
    hived.close()
    print(report(histories))
    assert histories.asks > HISTORIES
    assert min(histories.seen[what] for what in ("bind", "wait", "preempt", "restarts", "reconfigured")) > 3
    assert not sum(histories.found[x] for x in OURS - {Difference.MORE_VICTIMS}), report(histories)
    assert histories.found[Difference.MORE_VICTIMS] <= 0.0005 * histories.asks, report(histories)
    assert sum(histories.found[x] for x in INTENDED) <= 0.002 * histories.asks, report(histories)


@needs_hived
def test_histories_in_which_ours_was_worse() -> None:
    hived = HiveD()
    histories = Histories(hived)
    for seed in WORSE:
        histories.run(seed, 30)
    hived.close()
    assert not sum(histories.found[x] for x in OURS), report(histories)
