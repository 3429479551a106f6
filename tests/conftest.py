"""What every test can rely on."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from pathlib import Path

import chromium
import pytest
import slow_tests
import tiers
from hypothesis import settings

# Who is started in the background ignores interrupts, and so do all whom it starts; the tests of interrupts need them.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Searches are sealed with a key of the tests' own; the processes that they start have it too.
os.environ.setdefault("FSMDSL_KEY", str(Path(tempfile.mkdtemp(prefix="fsm-key-")) / "key"))

# What tests make is small beside modules, items and trees, which stay: to look through them for garbage again and again
# took a tenth of the time.
gc.set_threshold(50_000, 20, 10)

# Output is as wide as it is where nobody looks. What loads `readline` sets this for the processes that it starts.
os.environ.pop("COLUMNS", None)

# In CI a test does the same each time. Elsewhere it tries something new; `--hypothesis-profile campaign`: much of it.
settings.register_profile("dev", max_examples=tiers.share(60), deadline=None)
settings.register_profile("ci", max_examples=tiers.share(60), deadline=None, derandomize=True, database=None)
settings.register_profile("campaign", max_examples=3000, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_configure(config: pytest.Config) -> None:
    """Leave the asserts of `fsmdsl` as they are. Pytest rewrites those of every package that has a plugin, which takes
    a sixth of the time before the first test, and `fsmdsl` is not a plugin here but what is tested."""
    getattr(config.pluginmanager.rewrite_hook, "_must_rewrite", set()).discard("fsmdsl")
    if config.getoption("note_slow") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(slow_tests.Stopwatch())


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--second-try`: used by CI with `--last-failed`."""
    parser.addoption("--second-try", action="store_true", help="only tests of a browser may be run a second time")
    parser.addoption("--note-slow", action="store_true", help="list the slow tests of this run in slow_tests.txt")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """`make test` does not even import files that are for `make full`."""
    return True if not tiers.FULL and tiers.is_full(collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`make test` leaves out tests marked `full`, what needs a browser, and slow tests whose turn is another day."""
    if tiers.FULL:
        return
    selection = slow_tests.of_today([x for x in items if not _only_full(x)])
    config.hook.pytest_deselected(items=[*{*items} - {*selection}])
    items[:] = selection


def _only_full(item: pytest.Item) -> bool:
    return item.get_closest_marker("full") is not None or chromium.needed.mark in item.iter_markers()


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is there from now on is no garbage. Browsers starve now and then on a small machine: no other test that
    failed gets a second try."""
    gc.freeze()
    if session.config.getoption("second_try"):
        for item in session.items:
            if chromium.needed.mark not in item.iter_markers():
                pytest.exit(f"{item.nodeid} failed and opens no browser: it is not run again", returncode=1)
