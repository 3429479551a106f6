"""Many clients at once, while nodes fail. For a minute: `python tests/runtime/load.py --clients 64 --seconds 60`."""

from __future__ import annotations

from pathlib import Path

import pytest
from load import loaded


@pytest.mark.full(reason="load")
def test_many_clients_get_no_error_and_leave_no_inconsistency(tmp_path: Path) -> None:
    load = loaded(tmp_path, clients=16, seconds=3)
    assert len(load.seconds) > 100
    assert all(load.seen[what] for what in ("bound", "waits", "preempted", "mistakes", "nodes"))
