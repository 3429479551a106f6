"""The `fsm` command, with states dealt out to the ranks from the first one on, so that small systems keep all busy.

`dealt_out.py [--in-small-blocks] [--failing RANK|--misused RANK] verify …`: in many blocks; with a rank that fails in
the middle, or that is asked for what there is not.
"""

from __future__ import annotations

import sys

from fsmdsl.cli.run import main
from fsmdsl.search.errors import FullError
from fsmdsl.search.ranks import distributed, process
from fsmdsl.search.ranks.exchange import started
from fsmdsl.search.ranks.partition import Share


def deal_out() -> None:
    """From the first state on."""
    process.SMALL = 1


def small_blocks() -> None:
    """As many as a large system has."""
    distributed.LEAST_MESSAGE, distributed.CAP = 8, 512


def fail() -> None:
    """This process has no memory left after a while."""
    room, calls = Share.make_room, 0

    def make_room(share: Share, coming: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 10:
            raise FullError("no memory, says the test")
        room(share, coming)

    Share.make_room = make_room  # type: ignore[method-assign]


if __name__ == "__main__":
    deal_out()
    if sys.argv[1] == "--in-small-blocks":
        small_blocks()
        del sys.argv[1]
    if sys.argv[1] == "--failing":
        if started()[0] == int(sys.argv[2]):
            fail()
        del sys.argv[1:3]
    elif sys.argv[1] == "--misused":
        more = ["--system", "Nobody"] if started()[0] == int(sys.argv[2]) else []
        sys.argv[1:] = [*sys.argv[3:], *more]
    main()
