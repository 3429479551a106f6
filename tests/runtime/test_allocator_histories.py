"""Random histories, with everything that must hold checked after every step."""

from __future__ import annotations

from collections import Counter

from histories import History

SEEDS = 150
STEPS = 40


def test_whatever_happens_the_books_are_right_and_nothing_is_leaked() -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        history = History(seed)
        try:
            for _ in range(STEPS):
                history.step()
            history.end()
        except BaseException as error:
            error.add_note(f"History({seed})")
            raise
        seen.update(history.seen)
    assert all(seen[what] > 10 for what in ("bind", "preempt", "wait", "demoted", "overthrown")), seen
