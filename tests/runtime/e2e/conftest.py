"""Each control plane is started once a session (of a worker of xdist); each test has a clean cluster."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))

from behind import NODES, Behind
from changes import violations
from control_plane import Plane, documents
from planes import PLANES, StandIn, each_plane


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Left out by `-m "not e2e"`."""
    for item in items:
        if "e2e" in item.path.parts:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session", params=each_plane())
def plane(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Plane]:
    """With the role and the priority classes of `deploy`, and no allocator yet."""
    started = PLANES[request.param](tmp_path_factory.mktemp("plane"))
    try:
        started.start(NODES)
        for thing in documents("rbac.yaml", "priorities.yaml"):
            started.apply(thing)
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="session")
def running(plane: Plane) -> Iterator[Behind]:
    """With the allocator."""
    behind = Behind(plane)
    behind.allocator.start()
    yield behind
    assert behind.allocator.end() == 0
    assert "Traceback" not in behind.allocator.log(), behind.allocator.log()
    if isinstance(plane, StandIn):
        assert not list(violations(plane.changes, behind.excused)), "at every moment of all these tests"


@pytest.fixture
def behind(running: Behind) -> Iterator[Behind]:
    """With nobody in the cluster. After each test, all that must hold does."""
    if not running.allocator.runs():  # a test that failed may have left it so
        running.allocator.start()
    running.clear()
    yield running
    running.settled()
