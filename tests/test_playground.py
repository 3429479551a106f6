"""The playground in Chromium: static files, built as the site has them, used as a person does."""

from __future__ import annotations

import base64
import fcntl
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import chromium
import pytest
from chromium import PATIENCE
from door import DOOR
from static_host import Host
from test_live import WIDE
from test_live_page import look
from watching import expect, replace

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytest.importorskip("playwright.sync_api", reason="SKIPPED: tests of the playground need `playwright`")

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "editors" / "playground"
needed = pytest.mark.skipif(
    shutil.which("node") is None or not (FOLDER / "node_modules").is_dir(),
    reason="SKIPPED, THE PLAYGROUND IS NOT TESTED: it needs node, and `npm ci` in editors/playground",
)
pytestmark = [pytest.mark.full(reason="npm and a browser"), chromium.needed, needed]


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The playground, built once for all processes that test; `FSM_PLAYGROUND` names one that is built already."""
    if given := os.environ.get("FSM_PLAYGROUND"):
        return Path(given)
    base = tmp_path_factory.getbasetemp()
    folder = base if worker_id == "master" else base.parent
    out = folder / "playground"
    with (folder / "playground.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists():
            subprocess.run([sys.executable, str(FOLDER / "build.py"), str(out)], check=True)
    return out


@pytest.fixture
def host(files: Path) -> Iterator[Host]:
    found = Host(files)
    yield found
    if found.thread.is_alive():
        found.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium.browser() as found:
        yield found


@dataclass
class Visitor:
    """A person with a browser of their own, and everything that goes wrong in it."""

    context: BrowserContext
    wrong: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def open(self, address: str) -> Page:
        """A page, once Python answers in it."""
        page = self.context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda m: self.wrong.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: self.wrong.append(str(e)))
        page.on("request", lambda r: self.asked.append(r.url))
        page.goto(address)
        self.ready(page)
        return page

    def ready(self, page: Page) -> None:
        page.wait_for_selector("html[data-ready]", state="attached")


@contextmanager
def visiting(browser: Browser, **look: Any) -> Iterator[Visitor]:
    context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **look})
    visitor = Visitor(context)
    try:
        yield visitor
        assert visitor.wrong == []
        assert all(x.startswith(("http://127.0.0.1:", "data:", "blob:")) for x in visitor.asked), visitor.asked
    finally:
        context.close()


def verify(page: Page, system: str) -> None:
    page.click("#tab-verify")
    page.select_option("#verify select", system)
    page.click("#verify button:has-text('Verify')")


# What the issue asks for ---------------------------------------------------------------------------------------------


def test_the_tutorial_is_edited_checked_drawn_verified_shared_and_reopened_offline(
    browser: Browser, host: Host
) -> None:
    with visiting(browser) as author:
        link = edited_and_shared(author.open(f"{host.address}#example=tutorial-2"))
    assert link.startswith(f"{host.address}#"), link
    with visiting(browser) as reader:
        page = reader.open(link)
        expect(page, ".cm-line >> nth=15").to_contain_text("Lent, Draining -> Idle")
        page.wait_for_selector("html[data-offline]", state="attached")
        host.stop()
        page.reload()
        reader.ready(page)
        expect(page, ".cm-line >> nth=15").to_contain_text("Lent, Draining -> Idle")
        page.click("#tab-diagram")
        expect(page, "#diagram [data-id='state-Draining']").to_be_visible()
        verify(page, "lease.Shared")
        expect(page, "#verify .progress").to_contain_text(HOLDS)


HOLDS = "holds lease.Shared: 12 states, 16 transitions, depth 4"
"""What the tutorial says of its system, once the row is there."""


def edited_and_shared(page: Page) -> str:
    """The first repair of the tutorial; → the link to what comes of it."""
    expect(page, "#diagram [data-id='state-Draining']").to_be_visible()
    arrows = page.locator("#diagram .edge").count()
    verify(page, "lease.Shared")
    expect(page, "#verify .progress").to_contain_text("violated lease.Shared: 12 states, 16 transitions, depth 6")
    page.click("button:has-text('Step through (2 steps)')")
    expect(page, "#run .stepper-bar output").to_have_text("Step 1 of 2")
    page.keyboard.press("ArrowRight")
    expect(page, "#run .stepper-fault").to_contain_text("neither handled nor ignored")
    replace(page, 16, "Draining", "Drainin")
    expect(page, "#checks .findings").to_contain_text("did you mean Draining?")
    replace(page, 16, "Drainin", "Lent, Draining")
    expect(page, "#checks").to_contain_text("No problems")
    expect(page, "#run .since").to_be_visible()
    page.click("#tab-diagram")
    expect(page, "#diagram .edge").to_have_count(arrows + 1)
    verify(page, "lease.Shared")
    expect(page, "#verify .progress").to_contain_text(HOLDS)
    expect(page, "#saved").to_have_text("saved")
    with page.expect_download() as download:
        page.click("#download")
    archive = zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes()))
    assert archive.namelist() == ["fsm-project/README.md", "fsm-project/specs/lease.fsm"]
    assert "Lent, Draining -> Idle" in archive.read("fsm-project/specs/lease.fsm").decode()
    page.click("#share")
    link = page.locator("dialog input").first.input_value()
    page.click("dialog button:has-text('Close')")
    return link


# The parts -----------------------------------------------------------------------------------------------------------


def link_to(address: str, files: dict[str, str], **place: str) -> str:
    """As the playground makes it."""
    squeezed = zlib.compressobj(wbits=-15)
    data = squeezed.compress(json.dumps(files).encode()) + squeezed.flush()
    code = base64.urlsafe_b64encode(data).decode().rstrip("=")
    return f"{address}#{urlencode({'code': code, **place})}"


def test_a_link_leads_to_a_place_in_a_run(browser: Browser, host: Host) -> None:
    steps = json.dumps(["door.push", "door.push"])
    link = link_to(host.address, {"door.fsm": DOOR}, tab="run", run="system door.One", steps=steps, step="1")
    with visiting(browser) as visitor:
        page = visitor.open(link)
        expect(page, "#run .stepper-bar output").to_have_text("Step 1 of 2")
        page.keyboard.press("ArrowRight")
        expect(page, "#run .stepper-bar output").to_have_text("Step 2 of 2")


def test_a_damaged_link_is_told_so(browser: Browser, host: Host) -> None:
    with visiting(browser) as visitor:
        page = visitor.open(f"{host.address}#code=eJxLTAQAAkkBJQ")
        expect(page, "#engine").to_contain_text("This link is damaged")
        expect(page, "#place").to_have_text("specs/lease.fsm")


def test_a_search_is_ended_and_the_next_one_begins(browser: Browser, host: Host) -> None:
    with visiting(browser) as visitor:
        page = visitor.open(link_to(host.address, {"wide.fsm": WIDE}))
        verify(page, "wide.Huge")
        expect(page, "#verify .progress").to_contain_text("states/s")
        page.click("#verify button:has-text('Cancel')")
        expect(page, "#verify .progress").to_have_text("cancelled: nothing is decided")
        page.fill("#verify input[type=number]", "1")
        page.click("#verify button:has-text('Verify')")
        expect(page, "#verify .progress").to_contain_text("stopped after 1 second")


def test_without_the_snapshot_it_works_as_well(browser: Browser, host: Host) -> None:
    with visiting(browser) as visitor:
        page = visitor.open(f"{host.address}?plain#example=tutorial-2")
        expect(page, "#diagram [data-id='state-Lent']").to_be_visible()


def test_it_fits_and_axe_has_no_serious_finding(browser: Browser, host: Host) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="SKIPPED: needs axe-playwright-python")
    with visiting(browser, reduced_motion="reduce") as visitor:
        page: Any = visitor.open(f"{host.address}#example=tutorial-2&tab=run&run=system+lease.Shared&step=0")
        expect(page, "#run .stepper-pictures svg").to_have_count(2)
        for width, scheme in ((390, "light"), (1440, "dark"), (2560, "light")):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            for tab in ("run", "verify", "diagram"):
                page.click(f"#tab-{tab}")
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (width, tab)
            look(axe, page)
        page.click("#share")
        look(axe, page)


def test_embedded_it_keeps_nothing_and_leads_to_the_whole(browser: Browser, host: Host) -> None:
    with visiting(browser) as visitor:
        page = visitor.open(link_to(f"{host.address}?embed", {"door.fsm": DOOR}))
        expect(page, "#diagram [data-id='state-Shut']").to_be_visible()
        expect(page, "#files").to_be_hidden()
        assert page.evaluate("localStorage.getItem('fsm-playground')") is None
        with visitor.context.expect_page() as opened:
            page.click("#whole")
        expect(opened.value, "#files button >> nth=0").to_contain_text("door.fsm")
