"""A live page that is watched while a person's work is done in it: nothing may go wrong unnoticed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import chromium
import pytest
from door import DOOR
from serving_live import Served, served

if TYPE_CHECKING:
    from playwright.sync_api import APIResponse, Browser, Page, Request, Route


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium.browser() as found:
        yield found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("page")
    (found / "specs").mkdir()
    return found


@pytest.fixture(scope="module")
def started(home: Path) -> Iterator[Served]:
    with served(home, "specs") as found:
        yield found


@pytest.fixture
def folder(home: Path) -> Path:
    """The specs as they were at first."""
    for path in (home / "specs").iterdir():
        path.unlink()
    (home / "specs" / "door.fsm").write_text(DOOR)
    return home / "specs"


class Watched:
    """A page, and everything that went wrong in it or was asked for elsewhere."""

    def __init__(self, browser: Browser, **look: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1440, "height": 900}, **look)
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(chromium.PATIENCE)
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda m: self.wrong.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.wrong.append(str(e)))
        self.page.on("request", lambda r: self.asked.append(r.url))

    def open(self, server: Served, file: str) -> Page:
        self.page.goto(server.address)
        self.page.click(f"#files button:has-text('{file}')")
        chromium.expect(self.page.locator("#place")).to_have_text(f"specs/{file}")
        return self.page

    def verify(self, system: str) -> None:
        """Explore a system."""
        self.page.click("#tab-verify")
        self.page.select_option("#verify select", system)
        self.page.click("#verify button:has-text('Verify')")

    def simulate(self, what: str) -> None:
        """Begin a run by hand."""
        self.page.click("#tab-run")
        self.page.select_option("#run select", what)
        self.page.click("#run button:has-text('Simulate')")


@pytest.fixture
def watched(browser: Browser, folder: Path) -> Iterator[Watched]:
    found = Watched(browser)
    yield found
    # The browser notes every answer that is a refusal.
    assert [x for x in found.wrong if "the server responded with a status of 4" not in x] == []
    assert all(x.startswith(("http://127.0.0.1:", "data:")) for x in found.asked), found.asked
    assert found.page.evaluate("window.hacked") is None
    found.context.close()


def expect(page: Page, selector: str) -> Any:
    """What a person would see there, sooner or later."""
    return chromium.expect(page.locator(selector))


def replace(page: Page, line: int, old: str, new: str) -> None:
    """Select a word of a line with the keyboard and type over it."""
    here = page.locator(".cm-line").nth(line - 1)
    here.click()
    page.keyboard.press("Home")
    page.keyboard.press("Home")
    for _ in range(here.inner_text().index(old)):
        page.keyboard.press("ArrowRight")
    for _ in old:
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.insert_text(new)


class Held:
    """Answers of one kind that are on their way until they are let go. Where the page does not want one any more, it
    does not arrive."""

    def __init__(self, page: Page, name: str) -> None:
        self.page, self.name, self.ended = page, name, False
        self.waiting: list[tuple[Route, APIResponse]] = []
        self.arrived: list[Request] = []
        page.on("requestfinished", lambda r: self.arrived.append(r))
        page.on("requestfailed", lambda r: self.arrived.append(r))
        page.route(f"**/api/{name}", self._answered)

    def _answered(self, route: Route) -> None:
        response = route.fetch()
        if self.ended:
            route.fulfill(response=response)
        else:
            self.waiting.append((route, response))

    def wait(self, count: int = 1) -> None:
        """Until so many are on their way."""
        self._until(lambda: len(self.waiting) >= count)

    def let_go(self, number: int = 0) -> None:
        """One arrives, and the page has shown what follows from it."""
        route, response = self.waiting.pop(number)
        route.fulfill(response=response)
        self._until(lambda: route.request in self.arrived)
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def end(self) -> None:
        """All arrive, and those that come later at once."""
        self.ended = True
        while self.waiting:
            self.let_go()

    def _until(self, so: Callable[[], bool]) -> None:
        for _ in range(chromium.PATIENCE // 20):
            if so():
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"{len(self.waiting)} answers to `{self.name}` are on their way")


FIXTURES = (browser, home, started, folder, watched)
"""For a module of tests to have them."""
