"""The live page where answers are late, lost, or overtake each other: as on a busy machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import chromium
import pytest
import watching
from door import DOOR
from serving_live import Served
from test_live import WIDE
from watching import Held, Watched, expect

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytest.importorskip("starlette", reason="SKIPPED: the live page needs the extra `serve`")
pytest.importorskip("playwright.sync_api", reason="SKIPPED: tests of the live page need `playwright`")
pytestmark = [pytest.mark.full(reason="a browser"), chromium.needed]

browser, home, started, folder, watched = watching.FIXTURES

TWO = """\
module two
machine Lamp { initial state Off  state On  event press, hold from environment  Off -> On on press  Off -> On on hold }
system First { lamp: Lamp }
system Second { lamp: Lamp }
"""


def typed(page: Page, text: str) -> None:
    """At the beginning of the text."""
    page.locator(".cm-line").nth(0).click()
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text(text)
    expect(page, "#saved").to_have_text("not saved")


def counted(page: Page, name: str) -> list[str]:
    """Grows with each question of one kind."""
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url) if r.url.endswith(f"/api/{name}") else None)
    return asked


# Files ---------------------------------------------------------------------------------------------------------------


def test_the_file_clicked_last_stays(started: Served, watched: Watched, folder: Path) -> None:
    """The page opens the first file by itself; its text comes when the person has long clicked another."""
    (folder / "two.fsm").write_text(TWO)
    page = watched.page
    read = Held(page, "read")
    page.goto(started.address)
    read.wait()
    page.click("#files button:has-text('two.fsm')")
    read.wait(2)
    read.let_go(1)
    expect(page, "#place").to_have_text("specs/two.fsm")
    read.let_go()
    expect(page, "#place").to_have_text("specs/two.fsm")
    expect(page, ".cm-line >> nth=0").to_have_text("module two")
    expect(page, "#files [aria-current]").to_have_text(re.compile("two.fsm"))
    expect(page, ".drawing svg [data-id='state-Off']").to_have_count(1)


def test_a_change_on_disk_does_not_take_what_is_typed_meanwhile(
    started: Served, watched: Watched, folder: Path
) -> None:
    page = watched.open(started, "door.fsm")
    read = Held(page, "read")
    (folder / "door.fsm").write_text("// theirs\n" + DOOR)
    read.wait()
    typed(page, "// mine\n")
    read.end()
    expect(page, ".cm-line >> nth=0").to_have_text("// mine")
    expect(page, "#banner").to_contain_text("has changed on disk; saving will ask what to do")


def test_a_look_at_the_disk_from_before_a_save_changes_nothing(started: Served, watched: Watched) -> None:
    page = watched.open(started, "door.fsm")
    typed(page, "// mine\n")
    files, reads = Held(page, "files"), counted(page, "read")
    files.wait()
    page.keyboard.press("Control+s")
    expect(page, "#saved").to_have_text("saved")
    files.let_go()
    files.wait()
    files.end()
    assert reads == []
    page.keyboard.press("Control+z")
    expect(page, ".cm-line >> nth=0").to_have_text("module door")


def test_a_file_list_that_does_not_come_is_asked_for_again(started: Served, watched: Watched) -> None:
    page = watched.page
    page.route("**/api/files", lambda route: route.fulfill(status=400, json={"error": "too busy"}), times=1)
    page.goto(started.address)
    expect(page, "#banner").to_have_text("too busy")
    expect(page, "#place").to_have_text("specs/door.fsm")
    expect(page, "#banner").to_be_hidden()
    expect(page, "[data-id='state-Shut']").to_be_visible()


# Saving --------------------------------------------------------------------------------------------------------------


def test_saving_writes_once(started: Served, watched: Watched, folder: Path) -> None:
    page = watched.open(started, "door.fsm")
    writes = counted(page, "write")
    typed(page, "// mine\n")
    page.keyboard.press("Control+s")
    expect(page, "#saved").to_have_text("saved")
    expect(page, "dialog").to_be_hidden()
    assert len(writes) == 1
    assert (folder / "door.fsm").read_text() == "// mine\n" + DOOR


def test_saving_again_while_the_first_is_under_way_is_no_conflict(
    started: Served, watched: Watched, folder: Path
) -> None:
    page = watched.open(started, "door.fsm")
    typed(page, "// mine\n")
    write = Held(page, "write")
    page.keyboard.press("Control+s")
    write.wait()
    page.keyboard.insert_text("// more\n")
    page.keyboard.press("Control+s")
    page.keyboard.press("Control+s")
    write.let_go()
    write.wait()
    write.end()
    expect(page, "#saved").to_have_text("saved")
    expect(page, "dialog").to_be_hidden()
    assert (folder / "door.fsm").read_text() == "// mine\n// more\n" + DOOR


def test_a_conflict_is_asked_about_once(started: Served, watched: Watched, folder: Path) -> None:
    """However often, and however impatiently, the person saves."""
    page = watched.open(started, "door.fsm")
    typed(page, "// mine\n")
    write, writes, looks = Held(page, "write"), counted(page, "write"), Held(page, "files")
    looks.wait()  # the page does not notice by itself that the file has changed
    (folder / "door.fsm").write_text("// theirs\n" + DOOR)
    for _ in range(3):
        page.keyboard.press("Control+s")
    write.wait()
    write.let_go()
    expect(page, "dialog").to_contain_text("The file has changed on disk")
    page.keyboard.press("Control+s")
    page.click("dialog button:has-text('Not now')")
    expect(page, "dialog").to_be_hidden()
    write.end()
    expect(page, "dialog").to_be_hidden()
    assert len(writes) == 1
    page.keyboard.press("Control+s")
    expect(page, "dialog").to_be_visible()
    page.click("dialog button:has-text('Write what is here')")
    expect(page, "#saved").to_have_text("saved")
    assert (folder / "door.fsm").read_text() == "// mine\n" + DOOR
    looks.end()


def test_what_is_typed_before_the_conflict_is_told_is_kept(started: Served, watched: Watched, folder: Path) -> None:
    page = watched.open(started, "door.fsm")
    typed(page, "// mine\n")
    write, looks = Held(page, "write"), Held(page, "files")
    looks.wait()  # the page does not notice by itself that the file has changed
    (folder / "door.fsm").write_text("// theirs\n" + DOOR)
    page.keyboard.press("Control+s")
    write.wait()
    page.keyboard.insert_text("// more\n")
    write.end()
    page.click("dialog button:has-text('Write what is here')")
    expect(page, "#saved").to_have_text("saved")
    assert (folder / "door.fsm").read_text() == "// mine\n// more\n" + DOOR
    looks.end()


def test_a_write_that_arrives_twice_is_no_conflict(started: Served, watched: Watched, folder: Path) -> None:
    """A browser sends a question again where the connection ended before the answer."""
    page = watched.open(started, "door.fsm")
    typed(page, "// mine\n")

    def twice(route: Route) -> None:
        assert route.fetch().ok
        route.continue_()

    page.route("**/api/write", twice)
    page.keyboard.press("Control+s")
    expect(page, "#saved").to_have_text("saved")
    expect(page, "dialog").to_be_hidden()
    assert (folder / "door.fsm").read_text() == "// mine\n" + DOOR


def test_a_refusal_to_save_stays_in_sight(started: Served, watched: Watched) -> None:
    page = watched.open(started, "door.fsm")
    told = {"error": "cannot write `specs/door.fsm`: permission denied"}
    page.route("**/api/write", lambda route: route.fulfill(status=400, json=told), times=1)
    typed(page, "// mine\n")
    analysis = Held(page, "analysis")
    page.keyboard.press("Control+s")
    expect(page, "#banner").to_contain_text("permission denied")
    page.keyboard.insert_text("// more\n")
    analysis.wait()
    analysis.end()
    expect(page, "#banner").to_contain_text("permission denied")
    page.keyboard.press("Control+s")
    expect(page, "#saved").to_have_text("saved")
    expect(page, "#banner").to_be_hidden()


# Diagrams ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["analysis", "diagram"])
def test_an_answer_that_does_not_come_is_asked_for_again(started: Served, watched: Watched, name: str) -> None:
    page = watched.open(started, "door.fsm")
    expect(page, "[data-id='state-Shut']").to_be_visible()
    refused = {"error": "too busy"}
    page.route(f"**/api/{name}", lambda route: route.fulfill(status=400, json=refused), times=1)
    page.locator(".cm-line").nth(4).click()
    page.keyboard.press("End")
    page.keyboard.insert_text("\n    state Ajar")
    expect(page, "[data-id='state-Ajar']").to_be_visible()
    expect(page, "#checks").to_contain_text("Ajar")


def test_a_picture_comes_when_there_is_time_again(started: Served, watched: Watched) -> None:
    told = {"machine": "door.Door", "message": "Graphviz did not finish", "mermaid": "stateDiagram-v2"}

    def busy(route: Route) -> None:
        route.fulfill(json={**told, "key": route.fetch().json()["key"]})

    watched.page.route("**/api/diagram", busy, times=1)
    page = watched.open(started, "door.fsm")
    expect(page, ".drawing pre").to_have_text("stateDiagram-v2")
    typed(page, "// mine\n")
    expect(page, "[data-id='state-Shut']").to_be_visible()


# Runs ----------------------------------------------------------------------------------------------------------------


def test_nothing_is_begun_before_there_is_something_to_begin(started: Served, watched: Watched) -> None:
    analysis = Held(watched.page, "analysis")
    page = watched.open(started, "door.fsm")
    analysis.wait()
    expect(page, "button:has-text('Simulate this machine')").to_be_disabled()
    page.click("#tab-verify")
    expect(page, "#verify button:has-text('Verify')").to_be_disabled()
    page.click("#tab-run")
    expect(page, "#run button:has-text('Simulate')").to_be_disabled()
    analysis.end()
    page.click("#run button:has-text('Simulate')")
    expect(page, ".choices button").to_have_count(1)


def test_a_choice_stays_chosen(started: Served, watched: Watched, folder: Path) -> None:
    """The systems of a file are listed before it is analysed, among those of others."""
    (folder / "two.fsm").write_text(TWO)
    page = watched.open(started, "door.fsm")
    expect(page, "#run option[value='system two.Second']").to_have_count(1)
    analysis = Held(page, "analysis")
    page.click("#files button:has-text('two.fsm')")
    expect(page, "#place").to_have_text("specs/two.fsm")
    page.click("#tab-verify")
    page.select_option("#verify select", "two.Second")
    page.click("#tab-run")
    page.select_option("#run select", "system two.Second")
    analysis.wait()
    analysis.end()
    expect(page, "#run option >> nth=0").to_have_text("two.First")
    expect(page, "#run select").to_have_value("system two.Second")
    expect(page, "#verify select").to_have_value("two.Second")


def test_the_run_asked_for_last_is_shown(started: Served, watched: Watched, folder: Path) -> None:
    (folder / "two.fsm").write_text(TWO)
    page = watched.open(started, "door.fsm")
    start = Held(page, "start")
    watched.simulate("system door.One")
    start.wait()
    watched.simulate("system two.Second")
    start.wait(2)
    start.let_go(1)
    expect(page, ".choices button").to_have_count(2)
    start.let_go()
    expect(page, ".choices button").to_have_count(2)
    page.click(".choices button:has-text('lamp.press')")
    expect(page, "#run .stepper-bar output").to_have_text("Step 1 of 1")


def test_of_two_steps_at_once_the_first_is_taken(started: Served, watched: Watched, folder: Path) -> None:
    (folder / "two.fsm").write_text(TWO)
    page = watched.open(started, "two.fsm")
    watched.simulate("system two.First")
    expect(page, ".choices button").to_have_count(2)
    take, takes = Held(page, "take"), counted(page, "take")
    page.click(".choices button:has-text('lamp.press')")
    page.click(".choices button:has-text('lamp.hold')")
    take.wait()
    take.end()
    expect(page, "#run .stepper-bar output").to_have_text("Step 1 of 1")
    expect(page, ".stepper-steps").to_contain_text("lamp.press")
    assert len(takes) == 1


def test_an_old_answer_does_not_replace_the_choices(started: Served, watched: Watched, folder: Path) -> None:
    (folder / "two.fsm").write_text(TWO)
    page = watched.open(started, "two.fsm")
    watched.simulate("system two.First")
    page.click(".choices button:has-text('lamp.press')")
    expect(page, "#run .stepper-bar output").to_have_text("Step 1 of 1")
    expect(page, ".choices").to_contain_text("No step is possible here")
    move = Held(page, "move")
    page.click("#run button:has-text('Undo')")
    move.wait()
    page.click("#run button:has-text('Redo')")
    move.let_go()
    expect(page, "#run .stepper-bar output").to_have_text("Step 1 of 1")
    expect(page, ".choices").to_contain_text("No step is possible here")
    move.end()
    expect(page, ".choices").to_contain_text("No step is possible here")


def test_diagrams_that_come_during_a_click_do_not_lose_it(started: Served, watched: Watched) -> None:
    page = watched.open(started, "door.fsm")
    expect(page, "[data-id='state-Shut']").to_be_visible()
    diagram = Held(page, "diagram")
    watched.simulate("system door.One")
    diagram.wait()
    page.locator(".choices button").hover()
    page.mouse.down()
    diagram.let_go()
    page.mouse.up()
    expect(page, "#run .stepper-bar output").to_have_text("Step 1 of 1")
    expect(page, ".stepper-pictures [data-id='state-Open'].lit").to_have_count(1)


def test_an_explanation_stays_when_the_diagrams_come(started: Served, watched: Watched, folder: Path) -> None:
    (folder / "wide.fsm").write_text(WIDE)
    page = watched.open(started, "door.fsm")
    expect(page, "[data-id='state-Shut']").to_be_visible()
    diagram = Held(page, "diagram")
    watched.simulate("system door.One")
    page.click("summary:has-text('Something is missing')")
    page.fill(".ask input", "door.pull")
    page.click("button:has-text('Why not?')")
    expect(page, ".because").to_contain_text("there is no event, answer or timer door.pull here")
    diagram.wait()
    diagram.end()
    expect(page, ".stepper-pictures [data-id='state-Shut'].lit").to_have_count(1)
    expect(page, ".because").to_contain_text("there is no event, answer or timer door.pull here")
