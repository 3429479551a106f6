"""The extension in VS Code as it is: what a person does with it, and what the window shows then.

VS Code is set up by `make code-server`; without it these tests are skipped, and say so.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests import chromium, code_server
from tests.chromium import expect
from tests.workbench import BROKEN, LEASE, Workbench, opened

if TYPE_CHECKING:
    pass

pytestmark = [
    pytest.mark.full(reason="VS Code"),
    pytest.mark.vscode,
    pytest.mark.skipif(bool(code_server.missing()), reason=code_server.missing()),
    chromium.needed,
]


def named(name: str, text: str = LEASE) -> str:
    """The spec as a module of its own: tests do not see one another."""
    return text.replace("module lease", f"module {name}", 1)


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    """A window with a folder open, in which the extension is installed from its package."""
    with opened(tmp_path_factory.mktemp("vscode")) as window:
        yield window


@pytest.fixture
def code(window: Workbench, request: pytest.FixtureRequest) -> Iterator[Workbench]:
    """The window with no text open. A failure leaves a picture of it in `build/vscode`."""
    failed = request.session.testsfailed
    yield window
    if request.session.testsfailed > failed:
        window.page.screenshot(path=f"build/vscode/{request.node.name}.png")
    window.close_all()


def test_a_spec_has_colours_and_its_file_an_icon(code: Workbench) -> None:
    code.open("colours.fsm", named("colours"))
    word = code.line("machine Node {").locator("span span").first
    expect(word).to_have_text("machine")
    colour = "e => getComputedStyle(e).color"
    comment = code.line("/// One node, lent").locator("span span").first
    assert word.evaluate(colour) != comment.evaluate(colour)
    icon = code.page.locator(".explorer-folders-view .fsm-lang-file-icon").first
    expect(icon).to_be_visible()
    assert "fsm-light.svg" in icon.evaluate("e => getComputedStyle(e, '::before').backgroundImage")


def test_a_problem_appears_and_a_quick_fix_repairs_it(code: Workbench) -> None:
    text = named("problem")
    code.open("problem.fsm", text)
    code.point(text, "gone; node = none")
    code.type("x")
    expect(code.editor.locator(".squiggly-error").first).to_be_visible()
    offered = code.page.locator(".action-widget .monaco-list-row.action")
    for _ in range(chromium.PATIENCE // 2000):  # the problem may be there before what repairs it
        code.page.keyboard.press("Control+.")
        code.page.wait_for_timeout(2000)
        if offered.count():
            break
        code.page.keyboard.press("Escape")
    code.page.keyboard.press("Enter")
    expect(code.editor.locator(".squiggly-error")).to_have_count(0)


def test_hover_says_what_a_name_is(code: Workbench) -> None:
    text = named("hover")
    code.open("hover.fsm", text)
    code.point(text, 'Draining "', 2)
    code.page.keyboard.press("Control+k")
    code.page.keyboard.press("Control+i")
    expect(code.page.locator(".monaco-hover:visible").first).to_contain_text("the job has been asked to leave")


def test_definition(code: Workbench) -> None:
    text = named("definition")
    code.open("definition.fsm", text)
    code.point(text, "j in Leaving", 6)
    code.page.keyboard.press("F12")
    line = text[: text.index("state Leaving")].count("\n") + 1
    expect(code.page.locator("#status\\.editor\\.selection")).to_contain_text(f"Ln {line}, ")


def test_rename_changes_every_place(code: Workbench) -> None:
    text = named("rename")
    code.open("rename.fsm", text)
    code.point(text, "state Lent", 7)
    code.page.keyboard.press("F2")
    box = code.page.locator(".rename-box input")
    expect(box).to_be_visible()
    box.fill("Taken")
    code.page.keyboard.press("Enter")
    expect(code.line("Idle -> Taken on lend(to)")).to_have_count(1)
    expect(code.line("Lent")).to_have_count(0)


def test_completion_offers_what_would_mean_something(code: Workbench) -> None:
    text = named("completion")
    code.open("completion.fsm", text)
    code.point(text, "-> Lent ", 3)
    code.page.keyboard.press("Control+Space")
    rows = code.page.locator(".suggest-widget .monaco-list-row")
    expect(rows.first).to_be_visible()
    names = {x.split(",")[0] for x in rows.evaluate_all("rows => rows.map(x => x.ariaLabel)")}
    assert {"Idle", "Lent", "Draining"} <= names
    assert not {"Running", "lend"} & names
    code.page.keyboard.press("Escape")


def test_a_file_is_formatted_when_it_is_saved(code: Workbench) -> None:
    text = named("formatting").replace(
        "    lend:  Idle     -> Lent      on lend(to)", "    lend: Idle->Lent on lend(to)"
    )
    code.open("formatting.fsm", text)
    code.point(text, "lend: Idle")
    code.page.keyboard.press("Control+s")
    expect(code.page.locator(".tab.active.dirty")).to_have_count(0)
    expect(code.lines.filter(has_text="lend:  Idle     -> Lent      on lend(to)".replace(" ", "\u00a0"))).to_have_count(
        1
    )


def test_a_lens_verifies_and_the_verdict_is_shown(code: Workbench) -> None:
    code.open("verified.fsm", named("verified"))
    code.point(named("verified"), "system Shared")
    code.lenses.get_by_text("verify", exact=True).first.click()
    expect(code.tree.filter(has_text="Shared").first).to_contain_text("holds")
    expect(code.tree.filter(has_text="invariant alone")).to_contain_text("holds")
    expect(code.page.locator(".notifications-toasts")).to_contain_text("every verdict holds")
    assert code.page.evaluate("document.activeElement.closest('.monaco-editor') !== null"), "keys go to the text"


def test_what_is_violated_is_marked_and_its_run_listed(code: Workbench) -> None:
    text = named("violated", BROKEN)
    code.open("violated.fsm", text)
    code.point(text, "system Shared")
    expect(code.editor.locator(".squiggly-error").first).to_be_visible()
    code.command("fsm: Verify a system")
    expect(code.tree.filter(has_text="Shared").first).to_contain_text("violated")
    step = code.tree.filter(has_text="node.take_back").first
    expect(step).to_be_visible()
    step.click()
    line = text[: text.index("drain: Lent")].count("\n") + 1
    expect(code.page.locator("#status\\.editor\\.selection")).to_contain_text(f"Ln {line}, ")


def test_a_run_is_stepped_through(code: Workbench) -> None:
    text = named("stepped", BROKEN)
    code.open("stepped.fsm", text)
    code.point(text, "system Shared")
    code.command("fsm: Step through a counterexample")
    stepper = code.panel().locator(".stepper")
    expect(stepper).to_contain_text("node.lend(j0)")
    before = stepper.inner_text()
    stepper.press("ArrowRight")
    expect(stepper).not_to_have_text(before)


def test_the_diagram_follows_the_cursor_and_can_be_zoomed(code: Workbench) -> None:
    text = named("diagram")
    code.open("diagram.fsm", text)
    code.point(text, "machine Node")
    code.command("fsm: Show the diagram beside the text")
    panel = code.panel()
    expect(panel.locator("h1")).to_contain_text("Node")
    svg = panel.locator(".frame svg")
    expect(svg).to_be_visible()
    before = svg.bounding_box()
    panel.get_by_role("button", name="Zoom in").click()
    panel.get_by_role("button", name="Zoom in").click()
    after = svg.bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > before["width"] * 1.3
    expect(panel.locator("output")).to_contain_text("%")
    code.editor.click()
    code.point(text, "machine Job")
    expect(panel.locator("h1")).to_contain_text("Job")


def test_the_test_explorer_runs_systems_and_scenarios(code: Workbench) -> None:
    text = named("explored", BROKEN)
    code.open("explored.fsm", text)
    code.point(text, "system Shared")
    code.command("Testing: Focus on Test Explorer View")
    rows = code.page.locator(".test-explorer .monaco-list-row")
    expect(rows.filter(has_text="explored").first).to_be_visible()
    code.command("Test: Run Tests in Current File")
    rows.filter(has_text="explored").first.click()
    code.page.keyboard.press("ArrowRight")
    expect(rows.and_(code.page.locator("[aria-label^='Shared (Failed)']"))).to_have_count(1)
    expect(rows.and_(code.page.locator("[aria-label^='the first job leaves'][aria-label*='(Passed)']"))).to_have_count(
        1
    )
    expect(code.editor).to_contain_text("invariant alone is violated")


def test_a_snippet_is_a_machine_to_fill_in(code: Workbench) -> None:
    text = "module snippets\n"
    code.open("snippets.fsm", text)
    code.page.keyboard.press("Control+End")
    code.command("Snippets: Insert Snippet")
    expect(code.rows.first).to_be_visible()
    code.box.fill("A machine with two states")
    code.page.keyboard.press("Enter")
    expect(code.line("machine Machine {")).to_have_count(1)
    code.type("Door")
    expect(code.line("machine Door {")).to_have_count(1)


def test_an_interpreter_is_selected(code: Workbench) -> None:
    text = named("selected")
    code.open("selected.fsm", text)
    code.command("fsm: Select the Python interpreter")
    choice = code.rows.filter(has_text=re.compile(r"\.venv/bin/python.*fsm 0"))
    expect(choice).to_have_count(1)
    choice.click()
    expect(code.page.locator(".quick-input-widget")).to_be_hidden()
    expect(code.lenses.get_by_text("draw", exact=True).first).to_be_visible()
    written = code.folder / ".vscode" / "settings.json"
    for _ in range(chromium.PATIENCE // 100):
        if written.exists() and "python" in written.read_text("utf-8"):  # it is made empty first
            break
        code.page.wait_for_timeout(100)
    assert ".venv/bin/python" in written.read_text("utf-8")
    shutil.rmtree(written.parent)


def test_the_walkthrough_opens_an_example(code: Workbench) -> None:
    code.command("Welcome: Open Walkthrough...")
    code.rows.filter(has_text="State machines that are checked").click()
    page = code.page.locator(".gettingStartedContainer")
    expect(page).to_contain_text("Say which Python has fsmdsl")
    page.get_by_text("Open a spec").first.click()
    page.get_by_role("button", name="Open the example").click()
    expect(code.line("machine Node {")).to_have_count(1)
    expect(code.lenses.get_by_text("draw", exact=True).first).to_be_visible()
    code.command("View: Revert and Close Editor")
