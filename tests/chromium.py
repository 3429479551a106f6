"""Pages opened in headless Chromium, as a person would see them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, LocatorAssertions, Page

PROGRAM = next((x for x in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if x), None)

MISSING = (
    "SKIPPED, THE PAGES ARE NOT TESTED: there is no Chromium (`apt install chromium`)"
    if PROGRAM is None
    else "SKIPPED, THE PAGES ARE NOT TESTED: there is no playwright (`pip install playwright`)"
)

needed = pytest.mark.skipif(PROGRAM is None or find_spec("playwright") is None, reason=MISSING)
"""For tests that open pages: where no browser is installed they are skipped, and say so."""

PATIENCE = 60_000
"""Milliseconds that anything may take which a person would wait for: a busy machine must not fail a test."""


def expect(there: Locator) -> LocatorAssertions:
    """What a person would see, sooner or later."""
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE)
    return expect(there)


def axe(page: Page) -> list[Any]:
    """What axe-core finds on the page that keeps people out."""
    from axe_playwright_python.sync_playwright import Axe

    return [x for x in Axe().run(page).response["violations"] if x["impact"] in ("serious", "critical")]


QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def browser(fonts: Path | None = None) -> Iterator[Browser]:
    """A browser that fetches nothing by itself. `fonts` is a configuration of fontconfig: those of another machine."""
    from playwright.sync_api import sync_playwright

    environment = {**os.environ, **({} if fonts is None else {"FONTCONFIG_FILE": str(fonts)})}
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=PROGRAM, args=list(QUIET), env=environment)
        try:
            yield opened
        finally:
            opened.close()
