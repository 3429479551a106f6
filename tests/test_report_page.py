"""The page of `fsm report`, opened from disk in a browser: clicked, searched, stepped through, printed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import chromium
import pytest
from in_process import fsm

from fsmdsl.draw.svg import rendered_together
from fsmdsl.model.workspace import load
from fsmdsl.report.assemble import assemble
from fsmdsl.report.page import page as render
from fsmdsl.report.state_counts import census
from fsmdsl.runs.replay import simplest
from fsmdsl.search import explore, play

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parent.parent

pytestmark = [pytest.mark.full(reason="a browser"), chromium.needed]

TWICE = ROOT / "specs" / "hived" / "holes" / "h04_preempted_twice.fsm"

HOLES = "hived.holes.h04-preempted-twice"
"""The module of `TWICE`, as the page has it."""

WAITING = """
module waiting
/// A lamp that may stay dark.
machine Lamp {
    n: 0..3 = 0
    initial state Off
    state On
    event toggle, look from environment
    up:   Off -> On on toggle when n < 3 do n = n + 1
    down: On -> Off on toggle
    look: Off on look
}
system Room {
    a: Lamp
    b: Lamp
    invariant few: all x in {a, b}: x.n + x.n <= 2 or x in Off
    property lit: a in Off ~> a in On
    reachable both: a in On and b in On
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def documented(folder: Path) -> Path:
    """Two machines of HiveD as their document has them, which is broken, and a lamp."""
    (folder / "waiting.fsm").write_text(WAITING)
    specs = (str(TWICE), str(folder / "waiting.fsm"))
    done = fsm("report", *specs, "--as-documented", "--out", str(folder / "documented"))
    assert done.returncode == 1, done.stderr
    return folder / "documented" / "index.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium.browser() as opened:
        yield opened


@pytest.fixture
def page(browser: Browser, documented: Path) -> Iterator[Page]:
    """The page on its overview; it must not ask for anything, nor say anything on the console."""
    context = browser.new_context(viewport={"width": 1300, "height": 850})
    context.set_default_timeout(chromium.PATIENCE)
    opened = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    opened.on("request", lambda r: asked.append(r.url))
    opened.on("pageerror", lambda e: said.append(str(e)))
    opened.on("console", lambda m: said.append(m.text))
    opened.goto(documented.as_uri())
    yield opened
    context.close()
    assert said == []
    assert {x.partition("#")[0] for x in asked} == {documented.as_uri()}


def attend(page: Page, what: str) -> None:
    """Follow something that needs attention."""
    more = page.locator("button.more")
    if more.count():
        more.click()
    page.locator(".attention a", has_text=what).first.click()


def shown(page: Page) -> str:
    """The id of the view that is in sight; there is one."""
    views = page.locator("section.view:not([hidden])")
    assert views.count() == 1
    return views.first.get_attribute("id") or ""


# All specs -----------------------------------------------------------------------------------------------------------


def test_the_page_over_all_specs_is_small_and_names_no_address() -> None:
    model = load([str(ROOT / "specs")]).model
    assert model is not None
    explored = [simplest(explore(model, x), model) for x in model.systems.values()]
    counted = [(x, census(model, x.system)) for x in explored]
    played = [play(model, x) for module in model.modules for x in module.scenarios]
    report, undrawn = assemble("All", model, [], counted, played, rendered_together)
    text = render(report)
    assert undrawn == []
    assert len(text.encode()) < 30_000 * text.count('<section class="view')
    addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]{2,}[\w./-]*", text))
    assert addresses <= {"http://www.w3.org/2000/svg"}, addresses
    assert not re.search(r"@import|url\(|<link|<img|<iframe|\bsrc=", text)


# Finding one's way ---------------------------------------------------------------------------------------------------


def test_what_needs_attention_comes_first_and_leads_to_the_run(page: Page) -> None:
    assert shown(page) == "overview"
    marks = page.locator(".attention li .mark").all_inner_texts()
    assert marks[0] == "violated"
    first_never = marks.index("never followed") if "never followed" in marks else len(marks)
    assert "violated" not in marks[first_never:]
    attend(page, "waiting.Room: invariant few")
    assert shown(page) == "waiting.Room"
    assert page.title() == "Room · State machines"
    assert page.evaluate("document.activeElement.closest('.run').id").startswith("waiting.Room-run-")
    page.go_back()
    assert shown(page) == "overview"


def test_the_list_leads_everywhere(page: Page) -> None:
    targets = [link.get_attribute("href") or "" for link in page.locator("nav li a").all()]
    assert len(targets) == 7
    for target in targets:
        page.locator(f"nav a[href='{target}']").evaluate("x => x.click()")
        assert shown(page) == target[1:]
        assert page.locator("nav a[aria-current=page]").count() == 1


def test_search_finds_machines_by_their_states_and_rows_by_their_labels(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("Preempting")
    left = page.locator("nav li[data-words]:visible a").all_inner_texts()
    assert "AffinityGroup" in left
    assert "Lamp" not in left
    page.locator("#search").fill("up: off")
    match = page.locator("#matches a")
    assert match.all_inner_texts() == ["up: Off → On Lamp"]
    match.click()
    assert shown(page) == "waiting.Lamp"
    assert "flash" in (page.locator("tr[data-name^='up:']").get_attribute("class") or "")
    page.locator("#search").press("Escape")
    assert page.locator("nav li[data-words]:visible").count() > 6


def test_without_scripts_everything_can_be_read(browser: Browser, documented: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto(documented.as_uri())
    assert opened.locator("section.view:visible").count() == opened.locator("section.view").count() > 6
    assert opened.locator("#waiting\\.Room .sequence svg").first.is_visible()
    context.close()


# A machine -----------------------------------------------------------------------------------------------------------


def test_an_overlay_marks_what_was_reached(page: Page) -> None:
    page.evaluate("location.hash = 'waiting.Lamp'")
    figure = page.locator("#waiting\\.Lamp figure.diagram")
    plain = figure.locator("#waiting\\.Lamp-state-On path").first.evaluate("x => getComputedStyle(x).stroke")
    figure.get_by_text("what was explored").click()
    assert figure.locator(".node.seen").count() == 2
    seen = figure.locator("#waiting\\.Lamp-state-On path").first.evaluate("x => getComputedStyle(x).stroke")
    assert seen != plain
    assert figure.locator(".overlay-key").is_visible()
    page.keyboard.press("ArrowLeft")
    assert figure.locator(".seen, .unseen").count() == 0
    assert figure.locator("input:checked").get_attribute("value") == "none"


def test_what_a_log_shows_is_counted_on_rows_and_arrows(browser: Browser, folder: Path) -> None:
    (folder / "waiting.fsm").write_text(WAITING)
    rows = [("up", "Off", "On", 1234), ("down", "On", "Off", 0)]  # `look` is younger than the counts
    counts = {"waiting.Lamp": [{"row": r, "from": a, "to": b, "count": n} for r, a, b, n in rows]}
    counted = folder / "counts.json"
    counted.write_text(json.dumps({"counts": counts}))
    done = fsm("report", str(folder / "waiting.fsm"), "--counts", str(counted), "--out", str(folder / "c"))
    assert done.returncode == 1, done.stderr
    context = browser.new_context(viewport={"width": 1300, "height": 850})
    opened = context.new_page()
    opened.goto((folder / "c" / "index.html").as_uri())
    assert "1 of 3" in opened.locator("tr", has_text="Lamp").first.inner_text()
    opened.evaluate("location.hash = 'waiting.Lamp'")
    view = opened.locator("#waiting\\.Lamp")
    heads = view.locator(".rows th[scope=col]").all_inner_texts()
    assert heads[-1].startswith("Log")
    assert view.locator(".rows tbody td:last-child").all_inner_texts() == ["1,234", "0", ""]
    figure = view.locator("figure.diagram")
    figure.get_by_text("what the log shows").click()
    assert sorted(figure.locator(".count").all_text_contents()) == ["0×", "1,234×"]
    assert figure.locator(".edge.seen").get_attribute("id") == "edge-waiting.Lamp-state-Off-waiting.Lamp-state-On"
    assert figure.locator(".edge.unseen").count() == 1
    assert figure.locator(".node.seen, .node.unseen").count() == 0
    label, count = (
        figure.locator(f"#waiting\\.Lamp-transition-0 text{x}").bounding_box() for x in (":not(.count)", ".count")
    )
    assert label is not None
    assert count is not None
    assert count["y"] > label["y"]
    figure.get_by_text("what was explored").click()
    assert figure.locator(".count").count() == 0
    context.close()


def test_rows_say_how_often_and_cells_lead_to_rows(page: Page) -> None:
    page.evaluate("location.hash = 'waiting.Lamp'")
    row = page.locator("#waiting\\.Lamp tr", has_text="n = n + 1")
    assert int(row.locator(".num").inner_text()) > 0
    assert row.locator("code").all_inner_texts() == ["toggle", "when n < 3", "do n = n + 1"]
    matrix = page.locator("#waiting\\.Lamp .matrix")
    kinds = [x.get_attribute("class") for x in matrix.locator("tbody td").all()]
    assert kinds == ["guarded", "handled", "handled", "unhandled"]
    matrix.get_by_text("down").click()
    assert page.locator("tr.flash").get_attribute("data-name") == "down: On → Off"


def test_a_diagram_is_zoomed_by_buttons_and_keys(page: Page) -> None:
    page.evaluate("location.hash = 'waiting.Lamp'")
    figure = page.locator("#waiting\\.Lamp figure.diagram")
    svg = figure.locator("svg.fsm-diagram")
    whole = svg.get_attribute("viewBox")
    figure.get_by_label("Zoom in").click()
    zoomed = svg.get_attribute("viewBox")
    assert zoomed != whole
    figure.locator(".zoomed").focus()
    page.keyboard.press("ArrowRight")
    assert svg.get_attribute("viewBox") != zoomed
    page.keyboard.press("0")
    assert [float(x) for x in (svg.get_attribute("viewBox") or "").split()] == pytest.approx(
        [float(x) for x in (whole or "").split()], abs=1
    )


# A run ---------------------------------------------------------------------------------------------------------------


def test_a_counterexample_is_walked_with_the_keyboard(page: Page) -> None:
    attend(
        page, "hived.holes.h04_preempted_twice.OnePreemptor: preempted is unhandled in BeingPreempted of AffinityGroup"
    )
    run = page.locator(".run:not(details)").filter(has=page.locator(".stepper")).first
    place = run.locator("output").first
    assert place.inner_text() == "Step 0 of 2"
    page.keyboard.press("ArrowRight")
    assert place.inner_text() == "Step 1 of 2"
    assert page.url.endswith("/step/1")
    lit = run.locator("[data-machine$='Cell'] .lit > text").first
    assert lit.text_content() == "Used"
    assert run.locator("[data-machine$='Cell'] .token title").first.evaluate("x => x.textContent") == "c0, c1"
    assert run.locator(".followed").count() > 0
    assert "Pending" in run.locator(".stepper-changed del").first.inner_text()
    page.keyboard.press("End")
    assert place.inner_text() == "Step 2 of 2"
    assert "neither handled nor ignored" in run.locator(".stepper-fault").inner_text()
    assert run.locator(".stepper-sequence .future").count() == 0
    page.reload()
    assert place.inner_text() == "Step 2 of 2"
    page.keyboard.press("Home")
    assert run.locator(".stepper-sequence .future").count() > 0


def test_a_step_is_chosen_in_the_list_and_the_formula_follows(page: Page) -> None:
    attend(page, "waiting.Room: invariant few")
    run = page.get_by_role("region", name="invariant few")
    steps = run.locator(".stepper-steps li")
    whole = run.locator(".stepper-formula tbody tr").first
    assert whole.get_attribute("class") == "true"
    steps.last.locator("button").click()
    assert whole.get_attribute("class") == "false"
    assert whole.locator("td").inner_text() == "false"
    assert "x.n + x.n" in run.locator(".stepper-formula").inner_text()
    assert run.locator(".stepper-why").is_visible()
    assert run.get_by_label("Step forward").get_attribute("aria-disabled") == "true"


def test_a_run_for_ever_says_where_it_begins_again(page: Page) -> None:
    attend(page, "waiting.Room: property lit")
    run = page.locator(".run", has_text="property lit").first
    assert "forever" in run.locator(".stepper-loop").inner_text()


def test_a_witness_opens_where_its_verdict_points(page: Page) -> None:
    page.evaluate("location.hash = 'waiting.Room'")
    page.locator("tr", has_text="both").locator("a").click()
    run = page.locator("details.witness[open]")
    assert run.locator("output").first.inner_text() == "Step 0 of 2"
    page.evaluate("location.hash = location.hash + '/step/2'")
    page.wait_for_function("document.querySelector('details.witness[open] output').textContent === 'Step 2 of 2'")


def test_all_states_are_coloured_and_told(page: Page) -> None:
    page.evaluate("location.hash = 'waiting.Room'")
    space = page.locator("#waiting\\.Room .space-view")
    states = space.locator("circle")
    assert space.locator(".space-legend").inner_text().split()[::2] == ["Off", "On"]
    tints = [x.get_attribute("data-tint") for x in states.all()]
    space.locator("select").select_option("a.n")
    assert [x.get_attribute("data-tint") for x in states.all()] != tints
    assert "State 0" in space.locator(".space-told").inner_text()
    space.locator(".zoomed").focus()
    page.keyboard.press("ArrowDown")
    assert "1 step from the beginning" in space.locator(".space-told").inner_text()
    assert space.locator(".here").count() == 1


# For everybody -------------------------------------------------------------------------------------------------------


WIDTHS = {"narrow": (390, 1), "usual": (1440, 1), "wide": (2560, 1), "200 %": (720, 2)}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_serious_is_found_by_axe(browser: Browser, documented: Path, scheme: Any, width: str) -> None:
    wide, scale = WIDTHS[width]
    size: Any = {"width": wide, "height": 850}
    context = browser.new_context(color_scheme=scheme, viewport=size, device_scale_factor=scale, bypass_csp=True)
    opened = context.new_page()
    found = {}
    every = ("overview", HOLES, f"{HOLES}.Cell", f"{HOLES}-scenarios", "waiting.Lamp", "waiting.Room")
    for place in every if width == "usual" else ("overview", "waiting.Lamp", "waiting.Room"):
        opened.goto("about:blank")
        opened.goto(f"{documented.as_uri()}#{place}")
        if place == "waiting.Lamp":
            opened.locator("#waiting\\.Lamp").get_by_text("what was explored").click()
        for violation in chromium.axe(opened):
            found[place, violation["id"]] = [x["html"][:160] for x in violation["nodes"]][:4]
    context.close()
    assert found == {}


def test_everything_is_printed_behind_a_table_of_contents(page: Page) -> None:
    page.evaluate("location.hash = 'waiting.Lamp'")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("section.view:visible").count() == page.locator("section.view").count()
    assert page.locator("nav li:visible").count() == page.locator("nav li[data-words]").count()
    assert page.locator("#search").is_hidden()
    assert page.locator("#theme").is_hidden()
    assert page.locator(f"[id='{HOLES}.Cell'] svg.fsm-diagram").first.bounding_box() is not None
    bars = page.locator(".bar i").evaluate_all("x => x.map((y) => getComputedStyle(y).printColorAdjust)")
    assert {*bars} == {"exact"}
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type ?/Page\b", printed)) > 8


# The reader's choices ------------------------------------------------------------------------------------------------


def reloaded_until(page: Page, holds: str) -> bool:
    """Whether `holds`, JavaScript, comes to hold when the page is opened again, without anything done to it.

    A browser writes what a page keeps in the background: a page that is opened again at once may not see it yet.
    """
    for _ in range(20):
        page.reload()
        if page.evaluate(holds):
            return True
        page.wait_for_timeout(100)
    return False


def test_colours_are_chosen_and_remembered(page: Page) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_label("Colours").select_option("dark")
    dark = page.evaluate(ground)
    assert dark != light
    assert reloaded_until(page, f"{ground} === {dark!r}")
    page.emulate_media(media="print")
    assert page.evaluate(ground) == light
    page.emulate_media(media="screen")
    page.get_by_label("Colours").select_option("automatic")
    assert page.evaluate(ground) == light


def test_tables_are_sorted_by_their_heads(page: Page) -> None:
    page.evaluate("location.hash = 'overview'")
    table = page.get_by_label("Systems", exact=True)
    states = lambda: table.locator("tbody td:nth-child(5)").all_inner_texts()  # noqa: E731
    first = states()
    head = table.get_by_role("button", name="States")
    head.focus()
    page.keyboard.press("Enter")
    down = states()
    assert [int(x.replace(",", "")) for x in down] == sorted((int(x.replace(",", "")) for x in first), reverse=True)
    assert table.locator("[aria-sort='descending']").inner_text() == "States"
    head.click()
    assert states() == down[::-1]
    head.click()
    assert states() == first
    table.get_by_role("button", name="System", exact=True).click()
    names = table.locator("tbody th").all_inner_texts()
    assert names == sorted(names, key=str.casefold)


@pytest.mark.parametrize("kind", ["SVG", "PNG"])
def test_a_diagram_is_saved_as_it_is_shown(page: Page, kind: str) -> None:
    page.evaluate("location.hash = 'waiting.Lamp'")
    page.locator("#waiting\\.Lamp").get_by_text("what was explored").click()
    page.locator("#waiting\\.Lamp").get_by_label("Zoom in").click()
    with page.expect_download() as saved:
        page.locator("#waiting\\.Lamp").get_by_label(f"Save as {kind}").click()
    assert saved.value.suggested_filename == f"waiting.Lamp.{kind.lower()}"
    content = Path(saved.value.path()).read_bytes()
    if kind == "PNG":
        assert content.startswith(b"\x89PNG")
        width = int.from_bytes(content[16:20], "big")
        assert width > 300
    else:
        text = content.decode()
        assert "rgb(23, 102, 58)" in text
        assert text.count("<script") == 0
        whole = page.locator("#waiting\\.Lamp svg.fsm-diagram").get_attribute("data-drawn")
        assert f'viewBox="{whole}"' in text


def test_a_run_opened_by_its_address_takes_the_arrow_keys(browser: Browser, documented: Path) -> None:
    opened = browser.new_page()
    opened.goto(f"{documented.as_uri()}#waiting.Room-run-0/step/1")
    place = opened.locator("[id='waiting.Room-run-0'] output").first
    assert place.inner_text() == "Step 1 of 3"
    opened.keyboard.press("ArrowRight")
    assert place.inner_text() == "Step 2 of 3"
    opened.close()


def test_a_wide_screen_shows_a_diagram_beside_its_table(page: Page) -> None:
    page.set_viewport_size({"width": 2560, "height": 1300})
    page.evaluate("location.hash = 'waiting.Lamp'")
    drawn = page.locator("#waiting\\.Lamp figure.diagram").bounding_box()
    rows = page.locator("#waiting\\.Lamp .rows").bounding_box()
    assert drawn is not None
    assert rows is not None
    assert drawn["x"] + drawn["width"] < rows["x"]
    assert rows["x"] + rows["width"] > 2200


def test_a_diagram_has_its_rows_as_text(page: Page) -> None:
    page.evaluate("location.hash = 'waiting.Lamp'")
    told = page.locator("#waiting\\.Lamp svg.fsm-diagram").evaluate(
        "x => document.getElementById(x.getAttribute('aria-describedby')).textContent"
    )
    assert told.splitlines() == [
        "State Off", "Off, inside: look", "State On",
        "Begins in Off", "Off to On: up toggle [n < 3]", "On to Off: down toggle",
    ]  # fmt: skip


def test_the_page_says_when_of_what_and_how_it_was_made(page: Page) -> None:
    told = page.locator("footer").inner_text()
    assert re.search(r"on \d{4}-\d\d-\d\d \d\d:\d\d UTC", told), told
    assert "fsm report " in told
    assert "--as-documented" in told


def test_what_has_changed_since_a_commit_is_listed(browser: Browser, tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *arguments], check=True, capture_output=True)

    spec = tmp_path / "waiting.fsm"
    spec.write_text(WAITING)
    for arguments in (["init"], ["add", "."], ["commit", "-m", "first"]):
        git(*arguments)
    spec.write_text(WAITING.replace("n < 3 do", "n < 2 do"))
    command = [sys.executable, "-m", "fsmdsl", "report", "waiting.fsm", "--since", "HEAD", "--out", "out"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "86400"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stderr
    opened = browser.new_page()
    opened.goto((tmp_path / "out" / "index.html").as_uri())
    opened.locator("h3", has_text="Changed since HEAD").wait_for()
    assert "changed" in opened.locator(".changed li").inner_text()
    opened.locator("summary a", has_text="waiting.Lamp").click()
    assert opened.locator("#waiting\\.Lamp").is_visible()
    told = opened.locator("footer").inner_text()
    assert "1970-01-02 00:00 UTC" in told
    assert "+ changes" in told
    opened.close()


EVIL = '<img src=x onerror=\\"window.hit=1\\"><script>window.hit=1</script>'


def test_hostile_text_is_text(browser: Browser, folder: Path) -> None:
    evil = EVIL.replace('\\"', "'")
    spec = f"""
module evil
source "{evil}" at "{evil}"
/// {evil} `{evil}`
machine Door "{evil}" {{
    initial state Open "{evil}"
    /// {evil}
    state Shut "</svg></script>{evil}"
    event push, pull from environment
    /// {evil}
    e1: Open -> Shut on push
    amends "{evil}"
    e2: Shut -> Open on pull
}}
/// {evil}
system One {{
    door: Door
    invariant never: door in Open
}}
scenario W1 "{evil}" {{ door: Door  door.push  expect door in Open }}
"""
    (folder / "evil.fsm").write_text(spec)
    done = fsm("report", str(folder / "evil.fsm"), "--title", evil, "--out", str(folder / "evil"))
    assert "1 violation" in done.stdout, done.stderr
    context = browser.new_context()
    opened = context.new_page()
    opened.on("dialog", lambda d: pytest.fail(d.message))
    opened.goto((folder / "evil" / "index.html").as_uri())
    for link in opened.locator("nav li a").all():
        link.evaluate("x => x.click()")
        for _ in range(3):
            opened.keyboard.press("ArrowRight")
    assert opened.evaluate("window.hit") is None
    assert opened.locator("img").count() == 0
    assert all(x.get_attribute("type") in ("module", "application/json") for x in opened.locator("script").all())
    opened.evaluate("location.hash = 'evil.Door'")
    assert opened.locator("#evil\\.Door h2").inner_text() == evil
    assert opened.locator("h1").first.text_content() == evil
    context.close()


def test_the_policy_of_the_page_lets_only_its_own_script_run(browser: Browser, documented: Path) -> None:
    page = browser.new_page()
    page.goto(documented.as_uri())
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p id=probe onclick=\"window.hit = 1\">x</p>')")
    page.locator("#probe").evaluate("x => x.dispatchEvent(new Event('click'))")
    assert page.evaluate("window.hit") is None
    policy = page.locator("meta[http-equiv]").get_attribute("content") or ""
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy
    page.close()


def test_data_in_the_page_is_what_was_found(page: Page) -> None:
    text = page.locator("#waiting\\.Room script[id$='-steps']").first.evaluate("x => x.textContent")
    trace = json.loads(text)
    assert [x["name"] for x in trace["instances"]] == ["a", "b"]
    assert all(trace["places"][n][0] in ("a", "b") for step in trace["steps"] for n, _ in step["changes"])


@pytest.mark.parametrize("width", [390, 720, 1440, 2560])
def test_nothing_scrolls_sideways_and_rows_are_whole(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 850})
    views = page.evaluate("[...document.querySelectorAll('section.view')].map((x) => x.id)")
    for view in views:
        page.evaluate("(id) => { location.hash = id; }", view)
        page.wait_for_function("(id) => !document.getElementById(id).hidden", arg=view)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        if width == 390:
            cut = """(id) => [...document.querySelectorAll(`#${CSS.escape(id)} .rows td.what`)].filter((x) =>
                x.getBoundingClientRect().right > innerWidth).length"""
            assert page.evaluate(cut, view) == 0, view


def test_an_overlay_leaves_error_states_their_colour(page: Page) -> None:
    """Their text is white: on a pale background nobody could read it."""
    plain, marked, error = page.evaluate(
        """() => {
          const node = document.querySelector("figure .fsm-diagram .node.state");
          const fill = () => getComputedStyle(node.querySelector("path, polygon")).fill;
          const fills = [fill()];
          node.classList.add("seen");
          fills.push(fill());
          node.classList.add("error");
          fills.push(fill());
          return fills;
        }"""
    )
    assert plain == error != marked
