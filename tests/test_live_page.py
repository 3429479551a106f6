"""The live page in Chromium: opened, typed into, clicked and read as a person does."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import chromium
import pytest
import watching
from click.testing import CliRunner
from door import DOOR
from serving_live import Served
from test_live import WIDE
from watching import Watched, expect, replace

from fsmdsl.cli.parser import cli

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("starlette", reason="SKIPPED: the live page needs the extra `serve`")
pytest.importorskip("playwright.sync_api", reason="SKIPPED: tests of the live page need `playwright`")
pytestmark = [pytest.mark.full(reason="a browser"), chromium.needed]

browser, home, started, folder, watched = watching.FIXTURES

ROOT = Path(__file__).parent.parent
HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'

NASTY = f"""\
module nasty
/// {HOSTILE} `<b>`
machine Nasty {{
    initial state A "</text><script>window.hacked=1</script>"   /// {HOSTILE}
    state B "&lt;b&gt; ' --> "
    event go from environment   /// {HOSTILE}
    /// {HOSTILE}
    A -> B on go
    /// {HOSTILE}
    invariant stays: A
}}
/// {HOSTILE}
system Trap {{ nasty: Nasty }}
"""


def large(states: int, each: int) -> str:
    """A machine in which each state leads to the next few."""
    named = "\n".join(f"    {'initial ' * (n == 0)}state S{n}" for n in range(states))
    events = ", ".join(f"e{k}" for k in range(each))
    rows = "\n".join(f"    S{n} -> S{(n + 1 + k) % states} on e{k}" for n in range(states) for k in range(each))
    machine = f"machine Large {{\n{named}\n    event {events} from environment\n{rows}\n}}"
    return f"module large\n{machine}\nsystem One {{ m: Large }}\n"


LONG = """\
module long
machine Counter { n: 0..600  initial state S  event tick from environment  S on tick do n = n + 1 }
system Far { c: Counter  invariant near: c.n < 500 }
"""


# Text and diagram ----------------------------------------------------------------------------------------------------


def test_an_error_is_marked_while_typing_until_it_is_fixed(started: Served, watched: Watched) -> None:
    page = watched.open(started, "door.fsm")
    expect(page, "[data-id='state-Shut']").to_be_visible()
    expect(page, "#checks").to_contain_text("No problems")
    replace(page, 8, "Open", "Opne")
    expect(page, ".cm-lintRange-error").to_have_text("Opne")
    expect(page, "#checks .findings").to_contain_text("did you mean Open?")
    expect(page, "#diagram").to_contain_text("the last good diagram")
    expect(page, "[data-id='state-Shut']").to_be_visible()
    expect(page, "#files .badge.error").to_have_text("1")
    expect(page, "#saved").to_have_text("not saved")
    page.click(".cm-line >> nth=0")
    page.click("#checks .findings button")
    expect(page, ".cm-activeLine").to_contain_text("Opne")
    for _ in range(8):
        page.keyboard.press("Control+z")
    expect(page, ".cm-lintRange-error").to_have_count(0)
    expect(page, "#saved").to_have_text("saved")


def test_the_diagram_follows_the_text_and_the_cursor(started: Served, watched: Watched) -> None:
    page = watched.open(started, "door.fsm")
    page.locator(".cm-line").nth(7).click()
    expect(page, ".edge.transition-0.here").to_have_count(1)
    page.locator(".cm-line").nth(4).click()
    expect(page, "[data-id='state-Shut'].here").to_have_count(1)
    page.locator(".cm-line").nth(4).click()
    page.keyboard.press("End")
    page.keyboard.insert_text("\n    state Ajar")
    expect(page, "[data-id='state-Ajar']").to_be_visible()
    page.click("[data-id='transition-1']")
    expect(page, ".cm-activeLine").to_contain_text("close: Open -> Shut")


def test_completion_and_explanations_know_the_spec(started: Served, watched: Watched) -> None:
    page = watched.open(started, "door.fsm")
    page.locator(".cm-line").nth(8).click()
    page.keyboard.press("End")
    page.keyboard.type("\n    again: Op")
    expect(page, ".cm-tooltip-autocomplete li[aria-selected]").to_contain_text("Open")
    page.wait_for_timeout(120)  # CodeMirror takes no choice in the first moments of its list
    page.keyboard.press("Enter")
    expect(page, ".cm-activeLine").to_contain_text("again: Open")
    page.locator(".cm-line").nth(5).get_by_text("Open").hover()
    expect(page, ".explained").to_contain_text("state Open")


def test_a_finding_that_knows_its_fix_offers_it(started: Served, watched: Watched) -> None:
    page = watched.open(started, "door.fsm")
    replace(page, 8, "->", "=>")
    page.locator(".cm-lintRange-error").first.hover()
    expect(page, ".cm-diagnosticAction").to_have_text("write `->`")
    page.click(".cm-diagnosticAction")
    expect(page, ".cm-lintRange-error").to_have_count(0)
    expect(page, ".cm-line >> nth=7").to_contain_text("open:  Shut -> Open on push")


# Saving --------------------------------------------------------------------------------------------------------------


def test_saving_by_keyboard_and_noticing_others(started: Served, watched: Watched, folder: Path) -> None:
    page = watched.open(started, "door.fsm")
    page.locator(".cm-line").nth(2).click()
    page.keyboard.press("Home")
    page.keyboard.insert_text("/// A door.\n")
    expect(page, "#save").to_be_enabled()
    page.keyboard.press("Control+s")
    expect(page, "#saved").to_have_text("saved")
    assert (folder / "door.fsm").read_text() == DOOR.replace("machine Door", "/// A door.\nmachine Door")
    (folder / "door.fsm").write_text("// theirs\n" + DOOR)
    expect(page, ".cm-line >> nth=0").to_have_text("// theirs")
    expect(page, "#saved").to_have_text("saved")


@pytest.mark.parametrize("answer", ["Show what is on disk", "Write what is here", "Not now"])
def test_a_conflict_is_asked_about_and_loses_nothing(
    started: Served, watched: Watched, folder: Path, answer: str
) -> None:
    page = watched.open(started, "door.fsm")
    page.locator(".cm-line").nth(0).click()
    page.keyboard.press("Home")
    page.keyboard.insert_text("// mine\n")
    expect(page, "#saved").to_have_text("not saved")
    theirs, mine = "// theirs\n" + DOOR, "// mine\n" + DOOR
    (folder / "door.fsm").write_text(theirs)
    page.keyboard.press("Control+s")
    expect(page, "dialog").to_contain_text("The file has changed on disk")
    page.click(f"dialog button:has-text('{answer}')")
    first = page.locator(".cm-line").nth(0)
    if answer == "Show what is on disk":
        chromium.expect(first).to_have_text("// theirs")
        page.click(".cm-content")
        page.keyboard.press("Control+z")
        chromium.expect(first).to_have_text("// mine")
        assert (folder / "door.fsm").read_text() == theirs
    elif answer == "Write what is here":
        expect(page, "#saved").to_have_text("saved")
        assert (folder / "door.fsm").read_text() == mine
        page.click(".cm-content")
        page.keyboard.press("Control+z")
        chromium.expect(first).to_have_text("// theirs")
    else:
        chromium.expect(first).to_have_text("// mine")
        expect(page, "#saved").to_have_text("not saved")
        assert (folder / "door.fsm").read_text() == theirs


# Verifying -----------------------------------------------------------------------------------------------------------


def test_a_fault_is_listed_before_the_property_whose_run_it_ends(
    started: Served, watched: Watched, folder: Path
) -> None:
    (folder / "cut.fsm").write_text("""module cut
machine Lock { initial state Free  state Held  event take from Job  Free -> Held on take }
machine Job { param lock: Lock  initial state Idle  state Waiting  state Done  event begin, end from environment
              Idle -> Waiting on begin do lock.take  Waiting -> Done on end do lock.take }
system S { lock: Lock  job: Job { lock = lock }  property ends: job in Waiting ~> job in Done }
""")
    page = watched.open(started, "cut.fsm")
    watched.verify("cut.S")
    expect(page, "#verify .progress").to_contain_text("(every reachable state, but some steps fail)")
    listed = page.locator("#verify .verdicts >> nth=0").locator(":scope > li")
    chromium.expect(listed).to_have_count(2)
    chromium.expect(listed.nth(0)).to_contain_text("take is unhandled in Held of Lock")
    chromium.expect(listed.nth(1)).to_contain_text("property ends")
    chromium.expect(listed.nth(1)).to_contain_text(
        "its run goes no further because of a fault; repair it first: take is unhandled in Held of Lock"
    )


def test_hived_as_documented_is_refuted_and_stepped_through(started: Served, watched: Watched, folder: Path) -> None:
    shutil.copy(ROOT / "specs" / "hived" / "hived.fsm", folder)
    page = watched.open(started, "hived.fsm")
    page.check("#documented")
    watched.verify("hived.PreemptionSmall")
    expect(page, "#verify .progress").to_contain_text("violated")
    expect(page, "#verify .verdicts >> nth=0").to_contain_text("is unhandled in")
    page.click("button:has-text('Step through')")
    expect(page, "#run .stepper-bar output").to_have_text("Step 1 of 2")
    lit = page.locator(".stepper-pictures .lit")
    chromium.expect(lit).to_have_count(3)
    expect(page, ".stepper-pictures figure >> nth=0").to_contain_text("g1")
    expect(page, ".stepper-values tr:has(th:has-text('c0')) .stepper-changed >> nth=0").to_have_text("Free → Used")
    expect(page, ".stepper-sequence .step.current").to_contain_text("g0.schedule")
    page.keyboard.press("ArrowRight")
    expect(page, "#run .stepper-bar output").to_have_text("Step 2 of 2")
    expect(page, ".stepper-what .stepper-fault").to_contain_text("preempted reaches g0 in BeingPreempted")
    page.keyboard.press("Home")
    expect(page, ".stepper-title").to_have_text("The beginning")
    expect(page, ".choices >> nth=0").to_contain_text("g0.schedule({c0, c1})")
    page.click(".choices button:has-text('g1.schedule')")
    expect(page, "#run .stepper-bar output").to_have_text("Step 1 of 1")


def test_the_failing_formula_is_shown_with_its_parts(started: Served, watched: Watched) -> None:
    page = watched.open(started, "door.fsm")
    watched.verify("door.One")
    page.click("li:has-text('invariant few') button")
    expect(page, "#run .stepper-bar output").to_have_text("Step 1 of 5")
    page.keyboard.press("End")
    expect(page, "#run .stepper-bar output").to_have_text("Step 5 of 5")
    expect(page, ".stepper-formula").to_contain_text("door.n < 3")
    expect(page, ".stepper-formula tr.false >> nth=0").to_be_visible()
    expect(page, ".broken").to_contain_text("invariant few")
    page.click(".cm-content")
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("// more")
    expect(page, "#run").to_contain_text("The text has changed since this run began.")


def test_progress_is_told_and_an_exploration_can_be_cancelled(started: Served, watched: Watched, folder: Path) -> None:
    (folder / "wide.fsm").write_text(WIDE)
    page = watched.open(started, "wide.fsm")
    watched.verify("wide.Huge")
    chromium.expect(page.locator("#verify .progress")).to_have_text(
        re.compile(r"[\d,]+ states · depth \d+ · .* waiting · .*states/s")
    )
    page.click("#verify button:has-text('Cancel')")
    expect(page, "#verify .progress").to_have_text("cancelled: nothing is decided")
    expect(page, "#verify button:has-text('Verify')").to_be_enabled()


# Simulating ----------------------------------------------------------------------------------------------------------


def test_a_run_by_hand_is_undone_and_saved_as_a_scenario(started: Served, watched: Watched, folder: Path) -> None:
    page = watched.open(started, "door.fsm")
    watched.simulate("system door.One")
    for n in range(1, 4):
        page.click(".choices button:has-text('door.push')")
        expect(page, "#run .stepper-bar output").to_have_text(f"Step {n} of {n}")
    expect(page, ".stepper-pictures [data-id='state-Open'].lit").to_have_count(1)
    page.click("#run button:has-text('Undo')")
    expect(page, ".stepper-pictures [data-id='state-Shut'].lit").to_have_count(1)
    expect(page, "#run .stepper-bar output").to_have_text("Step 2 of 3")
    page.click("#run button:has-text('Redo')")
    expect(page, "#run .stepper-bar output").to_have_text("Step 3 of 3")
    page.click("summary:has-text('Something is missing')")
    page.fill(".ask input", "door.pull")
    page.click("button:has-text('Why not?')")
    expect(page, ".because").to_contain_text("there is no event, answer or timer door.pull here")
    page.click("button:has-text('Save as scenario')")
    page.fill("dialog input", "thrice")
    page.keyboard.press("Enter")
    expect(page, "#run .progress").to_have_text("Saved as specs/thrice.fsm")
    expect(page, "#files").to_contain_text("thrice.fsm")
    done = CliRunner().invoke(cli, ["test", str(folder)])
    assert done.exit_code == 0, done.output
    assert "1 scenario: all pass" in done.output


def test_a_machine_by_itself_from_its_diagram(started: Served, watched: Watched) -> None:
    page = watched.open(started, "door.fsm")
    page.click("button:has-text('Simulate this machine')")
    expect(page, "#tab-run").to_have_attribute("aria-selected", "true")
    expect(page, ".choices button").to_have_count(1)


def test_the_choice_names_what_is_stepped_through(started: Served, watched: Watched) -> None:
    """Whether it was begun from the diagram, from a verdict, or by a link."""
    page = watched.open(started, "door.fsm")
    subject = chromium.expect(page.locator("#run select"))
    page.click("button:has-text('Simulate this machine')")
    subject.to_have_value("machine door.Door")
    page.wait_for_url("**run=machine*")
    page.reload()
    subject.to_have_value("machine door.Door")
    watched.verify("door.One")
    page.click("li:has-text('invariant few') button")
    subject.to_have_value("system door.One")


def test_several_pages_at_once(started: Served, watched: Watched, browser: Browser) -> None:
    other = Watched(browser)
    one, two = watched.open(started, "door.fsm"), other.open(started, "door.fsm")
    replace(one, 8, "Open", "Opne")
    expect(one, ".cm-lintRange-error").to_have_count(1)
    expect(two, "#checks").to_contain_text("No problems")
    for page in (one, two):
        page.click("#tab-run")
    two.click("#run button:has-text('Simulate')")
    two.click(".choices button")
    expect(two, "#run .stepper-bar output").to_have_text("Step 1 of 1")
    one.click("#run button:has-text('Simulate')")
    expect(one, "#run .progress").to_contain_text("the text has errors; fix them first")
    assert other.wrong == []
    other.context.close()


# Everybody -----------------------------------------------------------------------------------------------------------


def test_hostile_text_appears_as_text(started: Served, watched: Watched, folder: Path) -> None:
    (folder / "nasty.fsm").write_text(NASTY)
    (folder / "<b>bold&.fsm").write_text(f"machine {HOSTILE}")
    page = watched.open(started, "<b>bold&.fsm")
    expect(page, "#checks .findings").to_contain_text("FSM001")
    (folder / "<b>bold&.fsm").unlink()
    page = watched.open(started, "nasty.fsm")
    expect(page, ".drawing svg").to_contain_text("</text><script>window.hacked=1</script>")
    page.locator(".cm-line").nth(3).get_by_text("A", exact=True).hover()
    expect(page, ".explained").to_contain_text(HOSTILE)
    page.hover("#files h2")  # away from the word: the explanation may lie over what comes next
    expect(page, ".explained").to_have_count(0)
    watched.verify("nasty.Trap")
    page.click("button:has-text('Step through')")
    expect(page, ".stepper-pictures svg").to_contain_text("</text><script>window.hacked=1</script>")
    assert page.locator("svg script, svg foreignObject, svg a, svg image, main img").count() == 0


def test_without_a_mouse(started: Served, watched: Watched, folder: Path) -> None:
    page = watched.page
    page.goto(started.address)
    expect(page, "#place").to_have_text("specs/door.fsm")
    focused = "document.activeElement"

    def tab_to(selector: str) -> None:
        for _ in range(40):
            if page.evaluate(f"{focused}.matches({selector!r})"):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"no way to {selector}")

    tab_to(".cm-content")
    page.keyboard.press("Control+End")
    page.keyboard.type("// typed")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert not page.evaluate(f"{focused}.matches('.cm-content')")
    tab_to("#divider")
    before = page.locator("#side").bounding_box()
    page.keyboard.press("ArrowLeft")
    after = page.locator("#side").bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > before["width"]
    tab_to("[role=tab]")
    page.keyboard.press("ArrowLeft")
    expect(page, "#run").to_be_visible()
    expect(page, "#run button.primary").to_be_enabled()
    tab_to("#run button.primary")
    page.keyboard.press("Enter")
    expect(page, ".choices button").to_be_focused()
    page.keyboard.press("Enter")
    expect(page, "#run .stepper-bar output").to_have_text("Step 1 of 1")
    expect(page, ".choices button").to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(page, "#run .stepper-bar output").to_have_text("Step 0 of 1")
    page.keyboard.press("Control+s")
    expect(page, "#saved").to_have_text("saved")
    assert (folder / "door.fsm").read_text() == DOOR + "// typed"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_finding_by_axe(started: Served, browser: Browser, folder: Path, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="SKIPPED: needs axe-playwright-python")
    watched = Watched(browser, color_scheme=scheme, reduced_motion="reduce")
    page = watched.open(started, "door.fsm")
    replace(page, 8, "n + 1", "m + 1")
    expect(page, ".cm-lintRange-error").to_have_count(1)
    look(axe, page)
    page.keyboard.press("Control+z")
    expect(page, ".cm-lintRange-error").to_have_count(0)
    look(axe, page)
    watched.verify("door.One")
    expect(page, "#verify .verdicts").to_have_count(2)
    look(axe, page)
    page.click("li:has-text('invariant few') button")
    expect(page, "#run .stepper-bar output").to_have_text("Step 1 of 5")
    page.keyboard.press("End")
    expect(page, ".broken").to_contain_text("invariant few")
    look(axe, page)
    page.click("button:has-text('Save as scenario')")
    look(axe, page)
    watched.context.close()


def look(axe: Any, page: Page) -> None:
    found = axe.Axe().run(page).response["violations"]
    serious = [x for x in found if x["impact"] in ("serious", "critical")]
    assert serious == [], [(x["id"], [n["target"] for n in x["nodes"]]) for x in serious]


def test_without_the_token_nothing_is_told(started: Served, browser: Browser, folder: Path) -> None:
    watched = Watched(browser)
    watched.page.goto(started.origin)
    expect(watched.page, "#banner").to_contain_text("open the address that `fsm serve` printed")
    expect(watched.page, "#files button").to_have_count(0)
    watched.context.close()


def test_where_nothing_can_be_drawn_there_is_text(started: Served, watched: Watched) -> None:
    told = {"machine": "door.Door", "key": "", "message": "Graphviz is not installed", "mermaid": "stateDiagram-v2"}
    watched.page.route("**/api/diagram", lambda route: route.fulfill(json=told))
    page = watched.open(started, "door.fsm")
    expect(page, ".drawing").to_contain_text("Graphviz is not installed")
    expect(page, ".drawing pre").to_have_text("stateDiagram-v2")


# Where one is, and what one takes along -------------------------------------------------------------------------------


def test_a_reload_leads_to_the_same_place(started: Served, watched: Watched, folder: Path) -> None:
    (folder / "a.fsm").write_text(DOOR.replace("module door", "module a"))
    page = watched.open(started, "door.fsm")
    watched.verify("a.One")
    expect(page, "#verify .verdicts").to_have_count(2)
    page.click("li:has-text('invariant few') button")
    expect(page, "#run .stepper-bar output").to_have_text("Step 1 of 5")
    page.keyboard.press("ArrowRight")
    expect(page, "#run .stepper-bar output").to_have_text("Step 2 of 5")
    page.check("#documented")
    page.wait_for_url("**step=2*")
    page.reload()
    expect(page, "#place").to_have_text("specs/door.fsm")
    expect(page, "#run").to_be_visible()
    expect(page, "#run .stepper-bar output").to_have_text("Step 2 of 5")
    expect(page, "#documented").to_be_checked()
    page.click("#tab-verify")
    chromium.expect(page.locator("#verify select")).to_have_value("a.One")


@pytest.mark.parametrize("place", ["file=x&tab=x&machine=x&system=x", "run=system+x&steps=5&step=x", "run=a&steps=%7B"])
def test_a_place_that_is_gone_is_no_harm(started: Served, watched: Watched, place: str) -> None:
    watched.page.goto(f"{started.address}&{place}")
    expect(watched.page, "#place").to_have_text("specs/door.fsm")
    expect(watched.page, "#checks").to_contain_text("No problems")
    expect(watched.page, "[data-id='state-Shut']").to_be_visible()


def test_a_new_file_is_begun_and_formatted(started: Served, watched: Watched, folder: Path) -> None:
    page = watched.open(started, "door.fsm")
    page.click("#files .more")
    page.fill("dialog input", "gate")
    page.click("dialog button:has-text('Create')")
    expect(page, "#place").to_have_text("specs/gate.fsm")
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("machine Gate {initial state Up}")
    page.click("#format")
    expect(page, ".cm-line >> nth=3").to_have_text("    initial state Up")
    page.keyboard.press("Control+s")
    expect(page, "#saved").to_have_text("saved")
    assert (folder / "gate.fsm").read_text() == "module gate\n\nmachine Gate {\n    initial state Up\n}\n"
    page.keyboard.insert_text("state {")
    page.keyboard.press("Shift+Alt+F")
    expect(page, "#banner").to_contain_text("The text has errors")


def test_a_diagram_is_taken_along(started: Served, watched: Watched) -> None:
    page = watched.open(started, "door.fsm")
    expect(page, "[data-id='state-Shut']").to_be_visible()
    for form, name, part in (("svg", "door.Door.svg", "<style>"), ("mermaid", "door.Door.mmd", "stateDiagram-v2")):
        with page.expect_download() as download:
            page.select_option("#diagram [aria-label='Download the diagram']", form)
        assert download.value.suggested_filename == name
        assert part in download.value.path().read_text()


def test_the_keys_are_listed_and_lead_to_the_views(started: Served, watched: Watched) -> None:
    page = watched.open(started, "door.fsm")
    page.click("#keys")
    expect(page, "dialog .keys").to_contain_text("Shift-Alt-F")
    page.keyboard.press("Escape")
    for number, view in ((2, "verify"), (3, "run"), (1, "diagram")):
        page.keyboard.press(f"Alt+{number}")
        expect(page, f"#{view}").to_be_visible()
    page.click("#wrap")
    expect(page, ".cm-lineWrapping").to_have_count(0)
    page.reload()
    expect(page, "#place").to_have_text("specs/door.fsm")
    expect(page, ".cm-lineWrapping").to_have_count(0)


@pytest.mark.parametrize("width", [390, 1440, 2560])
def test_it_fits_and_pictures_of_a_run_can_be_read(started: Served, browser: Browser, folder: Path, width: int) -> None:
    shutil.copy(ROOT / "specs" / "hived" / "hived.fsm", folder)
    watched = Watched(browser)
    watched.page.set_viewport_size({"width": width, "height": 900})
    page = watched.open(started, "hived.fsm")
    watched.simulate("system hived.PreemptionSmall")
    expect(page, ".stepper-pictures svg").to_have_count(2)
    for tab in ("run", "diagram", "verify"):
        page.click(f"#tab-{tab}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, tab
    page.click("#tab-run")
    letters = page.evaluate(LETTERS)
    assert min(letters) >= 7.7, letters
    if width >= 1440:
        assert page.evaluate(CROPPED) == []
    watched.context.close()


LETTERS = """() => [...document.querySelectorAll(".stepper-pictures svg")].map((svg) => {
  const [outer, inner] = [svg.getBoundingClientRect(), svg.viewBox.baseVal];
  const sizes = [...svg.querySelectorAll("text:not(.token text)")].map((x) => Number(x.getAttribute("font-size")));
  return Math.min(...sizes) * Math.min(outer.width / inner.width, outer.height / inner.height);
})"""
"""Pixels of the smallest letters in each picture of a run."""

CROPPED = """() => [...document.querySelectorAll(".stepper-pictures .stepper-scroll")]
  .filter((x) => x.scrollWidth > x.clientWidth).map((x) => x.getAttribute("aria-label"))"""
"""Pictures of a run that are wider than their place."""


# Large inputs --------------------------------------------------------------------------------------------------------


def test_a_large_machine_stays_usable(started: Served, watched: Watched, folder: Path) -> None:
    (folder / "large.fsm").write_text(large(200, 5))
    page = watched.open(started, "large.fsm")
    expect(page, "#checks").to_contain_text("No problems")
    page.locator(".cm-line").nth(2).click()
    page.keyboard.press("End")
    page.keyboard.insert_text("   // a word")
    expect(page, "#saved").to_have_text("not saved")
    watched.simulate("system large.One")
    expect(page, ".choices button").to_have_count(5)
    page.click("#tab-diagram")
    expect(page, ".drawing svg [data-id='state-S199']").to_have_count(1)


def test_a_long_run_stays_usable(started: Served, watched: Watched, folder: Path) -> None:
    (folder / "long.fsm").write_text(LONG)
    page = watched.open(started, "long.fsm")
    watched.verify("long.Far")
    page.click("button:has-text('Step through (500 steps)')")
    expect(page, "#run .stepper-bar output").to_have_text("Step 1 of 500")
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    expect(page, "#run .stepper-bar output").to_have_text("Step 31 of 500")
    page.keyboard.press("End")
    expect(page, ".stepper-values .stepper-changed").to_have_text("499 → 500")
    expect(page, ".broken").to_contain_text("c.n < 500")
