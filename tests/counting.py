"""How much work something is, as a number that is the same on every machine, however busy: calls of functions."""

from __future__ import annotations

import sys
from collections.abc import Callable


def calls(work: Callable[[], object], most: int | None = None) -> int:
    """How many functions of Python and C are called meanwhile. Fails once there are more than `most`."""
    count = 0

    def called(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")
        if most is not None and count > most:
            raise AssertionError(f"more than {most:,} calls")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def grows_with(work: Callable[[int], Callable[[], object]], count: int = 200) -> bool:
    """Does twice as much take no more than twice as many calls, or a little more? `work` prepares so much of it."""
    work(10)()  # what is done once
    few, many = calls(work(count)), calls(work(2 * count))
    return many < 2.3 * few
