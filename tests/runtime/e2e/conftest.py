"""One control plane for all tests of a session (of a worker of xdist), and a clean cluster for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from behind import NODES, Behind
from control_plane import ControlPlane, documents, missing


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Left out by `-m "not e2e"`."""
    for item in items:
        if "e2e" in item.path.parts:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """With the role and the priority classes of `deploy`, and no allocator yet."""
    assert not missing()
    started = ControlPlane(tmp_path_factory.mktemp("plane"))
    try:
        started.start(NODES)
        for thing in documents("rbac.yaml", "priorities.yaml"):
            started.apply(thing)
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="session")
def running(plane: ControlPlane) -> Iterator[Behind]:
    """With the allocator."""
    behind = Behind(plane)
    behind.allocator.start()
    yield behind
    assert behind.allocator.end() == 0
    assert "Traceback" not in behind.allocator.log(), behind.allocator.log()


@pytest.fixture
def behind(running: Behind) -> Iterator[Behind]:
    """With nobody in the cluster. After each test, all that must hold does."""
    running.clear()
    yield running
    running.settled()
