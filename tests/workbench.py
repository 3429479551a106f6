"""VS Code in a browser, driven as a person does: by keys, menus and what is on the page.

`python -m tests.workbench` renews the pictures on the extension's page.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests import chromium, code_server
from tests.chromium import PATIENCE, expect

if TYPE_CHECKING:
    from playwright.sync_api import FrameLocator, Locator, Page

SETTINGS = {
    "security.workspace.trust.enabled": False,
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
    "workbench.enableExperiments": False,
    "workbench.colorTheme": "Default Light Modern",
    "editor.minimap.enabled": False,
    "editor.accessibilitySupport": "off",
    "extensions.ignoreRecommendations": True,
    "chat.commandCenter.enabled": False,
    "git.enabled": False,
    "telemetry.telemetryLevel": "off",
    "testing.automaticallyOpenTestResults": "neverOpen",
    "files.autoSave": "off",
}
"""What a person has set: nothing moves by itself, nothing is asked of the network."""


ROOT = Path(__file__).parent.parent
EXTENSION = ROOT / "editors" / "vscode"
LEASE = (ROOT / "editors" / "playground" / "lease.fsm").read_text("utf-8")
BROKEN = LEASE.replace("node.job == j\n", "node.job != j\n", 1)
"""The same with an invariant that does not hold."""


@contextmanager
def opened(home: Path) -> Iterator[Workbench]:
    """A window with the folder `specs` of `home` open, in which the extension is installed from its package."""
    folder = home / "specs"
    folder.mkdir()
    (folder / ".venv").symlink_to(Path(sys.prefix))
    package = home / "fsmdsl.vsix"
    subprocess.run(["npm", "run", "--silent", "package", "--", "--out", str(package)], cwd=EXTENSION, check=True)
    settings(home)
    with code_server.running(package, home) as address, chromium.browser() as browser:
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.set_default_timeout(PATIENCE)
        window = Workbench(page, folder)
        window.start(address)
        yield window


def settings(home: Path) -> None:
    """Write the settings where `code_server.running` looks for them."""
    place = home / "data" / "User"
    place.mkdir(parents=True)
    (place / "settings.json").write_text(json.dumps(SETTINGS), "utf-8")


@dataclass
class Workbench:
    """The window of VS Code, with a folder open."""

    page: Page
    folder: Path

    def start(self, address: str) -> None:
        """Open the folder, and wait until the window is there."""
        self.page.goto(f"{address}/?folder={self.folder}")
        expect(self.page.locator(".explorer-folders-view")).to_be_visible()

    def command(self, name: str) -> None:
        """Run a command from the palette. While the window is loading it has none, and the key is pressed again."""
        self.page.keyboard.press("Escape")
        from playwright.sync_api import TimeoutError

        found = self.rows.and_(self.page.locator(f"[aria-label^='{name}']"))
        for _ in range(PATIENCE // 1000):
            if not self.box.is_visible():
                self.page.keyboard.press("F1")
                self.page.wait_for_timeout(1000)
                continue
            with suppress(TimeoutError):  # it may have closed again
                self.box.fill(">", timeout=2000)
                self.box.fill(f">{name}", timeout=2000)  # an extension's commands come later
            self.page.wait_for_timeout(500)
            if found.count():
                break
        found.first.click()

    @property
    def box(self) -> Locator:
        """The box at the top, for commands and names."""
        return self.page.locator(".quick-input-widget input.input")

    @property
    def rows(self) -> Locator:
        """What a box at the top offers."""
        return self.page.locator(".quick-input-list .monaco-list-row")

    def open(self, name: str, text: str) -> None:
        """Write a file into the folder, and open it."""
        (self.folder / name).write_text(text, "utf-8")
        self.command("File: Open File...")
        expect(self.box).to_have_value(re.compile(re.escape(str(self.folder))))
        self.box.fill(str(self.folder / name))
        expect(self.rows.filter(has_text=name).first).to_be_visible()
        self.page.keyboard.press("Enter")
        expect(self.tab(name)).to_be_visible()
        expect(self.lines.first).to_contain_text("module")

    def tab(self, name: str) -> Locator:
        """The tab of a text or panel, while it is in front."""
        return self.page.locator(".tab.active").filter(has_text=name)

    @property
    def editor(self) -> Locator:
        """The text in front."""
        return self.page.locator(".editor-instance .monaco-editor").first

    @property
    def lines(self) -> Locator:
        """Its lines, as far as they are on the screen."""
        return self.editor.locator(".view-lines .view-line")

    def line(self, words: str) -> Locator:
        """A line by its words. The page has other spaces than the text."""
        return self.lines.filter(has_text=re.compile(r"\s*".join(map(re.escape, words.split()))))

    def point(self, text: str, words: str, by: int = 0) -> None:
        """Put the cursor at words of the text that is open, as it is known here."""
        offset = text.index(words) + by
        line, column = text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1
        self.page.keyboard.press("Control+g")
        expect(self.box).to_have_value(":")
        self.box.fill(f":{line}:{column}")
        self.page.keyboard.press("Enter")
        expect(self.page.locator("#status\\.editor\\.selection")).to_contain_text(f"Ln {line}, Col {column}")

    def type(self, text: str) -> None:
        """Keys, as fast as they are taken."""
        self.page.keyboard.type(text)

    def select_line(self) -> None:
        """The rest of the line behind the cursor."""
        self.page.keyboard.press("Shift+End")

    @property
    def lenses(self) -> Locator:
        return self.editor.locator(".codelens-decoration a")

    @property
    def tree(self) -> Locator:
        """The rows of the results."""
        header = self.page.get_by_role("button", name=re.compile("State machines: results"))
        pane = self.page.locator(".pane").filter(has=header)
        return pane.locator(".monaco-list-row")

    def panel(self) -> FrameLocator:
        """The page of the panel that was opened last."""
        return self.page.frame_locator("iframe.webview.ready").last.frame_locator("iframe#active-frame")

    def close_all(self) -> None:
        """Save and close every text, close every panel, and clear what was announced."""
        self.page.keyboard.press("Escape")
        if self.page.locator(".tab.active.dirty").count():
            self.page.keyboard.press("Control+s")
            expect(self.page.locator(".tab.dirty")).to_have_count(0)
        self.page.keyboard.press("Control+k")
        self.page.keyboard.press("Control+w")
        expect(self.page.locator(".tabs-container .tab")).to_have_count(0)
        if self.page.locator(".notifications-toasts.visible").count():
            self.command("Notifications: Clear All Notifications")


def pictures(window: Workbench, out: Path) -> None:
    """The pictures of the extension's page, into a folder."""
    window.page.set_viewport_size({"width": 1280, "height": 760})
    window.open("lease.fsm", BROKEN)
    window.point(BROKEN, "drain: Lent")
    window.command("fsm: Show the diagram beside the text")
    expect(window.panel().locator(".frame svg")).to_be_visible()
    window.point(BROKEN, "state Draining", 8)
    expect(window.panel().locator(".lit").first).to_be_visible()
    window.page.screenshot(path=out / "editor.png")
    window.close_all()
    window.open("lease.fsm", BROKEN)
    window.command("Testing: Focus on Test Explorer View")
    window.command("Test: Run Tests in Current File")
    row = window.page.locator(".test-explorer .monaco-list-row").filter(has_text="lease").first
    expect(row).to_have_attribute("aria-label", re.compile("Failed"))
    row.click()
    window.page.keyboard.press("ArrowRight")
    window.point(BROKEN, "system Shared")
    expect(window.editor).to_contain_text("is violated")
    window.page.screenshot(path=out / "tests.png")
    window.command("fsm: Step through a counterexample")
    stepper = window.panel().locator(".stepper")
    stepper.press("End")
    window.tree.filter(has_text="invariant alone").first.click()
    window.page.keyboard.press("ArrowRight")
    expect(window.tree.filter(has_text="node.take_back").first).to_be_visible()
    window.page.screenshot(path=out / "results.png")


if __name__ == "__main__":
    with TemporaryDirectory() as folder, opened(Path(folder)) as shown:
        pictures(shown, EXTENSION / "images")
