"""VS Code in a browser, driven as a person does: by keys, menus and what is on the page."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.chromium import expect

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
        """Run a command from the palette."""
        self.page.keyboard.press("F1")
        box = self.page.locator(".quick-input-widget input.input")
        expect(box).to_be_visible()
        box.fill(f">{name}")
        expect(self.rows.first).to_contain_text(name.rpartition(": ")[2])
        self.page.keyboard.press("Enter")

    @property
    def rows(self) -> Locator:
        """What a box at the top offers."""
        return self.page.locator(".quick-input-list .monaco-list-row")

    def open(self, name: str, text: str) -> None:
        """Write a file into the folder, and open it."""
        (self.folder / name).write_text(text, "utf-8")
        self.command("Go to File...")
        box = self.page.locator(".quick-input-widget input.input")
        box.fill(name)
        expect(self.rows.first).to_contain_text(name)
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
        self.command("Go to Line/Column...")
        box = self.page.locator(".quick-input-widget input.input")
        box.fill(f":{line}:{column}")
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
        """Close every editor, saved or not."""
        self.command("View: Revert and Close Editor")
        self.command("View: Close All Editors")
