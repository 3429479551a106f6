"""The page stays usable where there is much: a large machine, a long run, many findings."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import chromium
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.full(reason="a browser"), chromium.needed]

PATIENCE = 20_000
"""Milliseconds until a page answers, on a machine that does other things too; alone it is one second."""


def large(states: int, transitions: int, events: int) -> str:
    """A machine in which each state is reached, and arrows lead to states not far away."""
    dice = random.Random(1)
    taken: set[tuple[int, int]] = set()
    rows: list[str] = []
    while len(rows) < transitions:
        target = len(rows) + 1
        if target < states:
            source = dice.randrange(max(0, target - 6), target)
        else:
            source = dice.randrange(states)
            target = min(max(source + dice.randrange(-10, 10), 0), states - 1)
        event = dice.randrange(events)
        if (source, event) not in taken:
            taken.add((source, event))
            rows.append(f"    t{len(rows)}: S{source} -> S{target} on ev{event}")
    names = "\n".join(f"    state S{n}" for n in range(1, states))
    declared = ", ".join(f"ev{n}" for n in range(events))
    lines = "\n".join(rows)
    states_and_events = f"    initial state S0\n{names}\n    event {declared} from environment"
    return f"module large\nmachine Large {{\n{states_and_events}\n{lines}\n}}\nsystem One {{ it: Large }}\n"


LONG = """
module long
machine Counter {
    n: 0..500 = 0
    initial state Even
    state Odd
    event tick from environment
    Even -> Odd on tick do n = n + 1
    Odd -> Even on tick do n = n + 1
}
system Long {
    one: Counter
    two: Counter
    environment { one.tick }
    invariant below: one.n < 500 and two.n == 0
}
"""

MANY = (
    """
module many
machine Switch {
    initial state Off
    state On
    event push from environment
    Off -> On on push
    On -> Off on push
}
system Many {
    a: Switch
    b: Switch
"""
    + "".join(f"    invariant rule{n}: a in Off or b in Off\n" for n in range(50))
    + "}\n"
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("large")
    made = {}
    for name, text in {"large": large(200, 1000, 50), "long": LONG, "many": MANY}.items():
        (folder / f"{name}.fsm").write_text(text)
        command = [sys.executable, "-m", "fsmdsl", "report", str(folder / f"{name}.fsm"), "--out", str(folder / name)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 1, done.stderr
        made[name] = folder / name / "index.html"
    return made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium.browser() as opened:
        yield opened


def opened(browser: Browser, path: Path, place: str) -> Page:
    """The page at a place, once it answers; says after how many milliseconds that was."""
    page = browser.new_page(viewport={"width": 1300, "height": 850})
    page.goto(f"{path.as_uri()}#{place}")
    ready = int(page.evaluate("document.documentElement.dataset.ready"))
    print(f"\n{place}: answers after {ready} ms")
    assert ready < PATIENCE
    return page


def took(page: Page, script: str) -> float:
    """Milliseconds that a script and what it makes the page draw take."""
    drawn = "await new Promise(requestAnimationFrame)"
    timed = f"const t = performance.now(); {script}; {drawn}; return performance.now() - t"
    return float(page.evaluate(f"async () => {{ {timed} }}"))


def test_a_machine_of_200_states_and_1000_transitions(browser: Browser, pages: dict[str, Path]) -> None:
    page = opened(browser, pages["large"], "large.Large")
    figure = page.locator("figure.diagram")
    start = figure.locator("#large\\.Large-state-S0").bounding_box()
    assert start is not None
    assert start["height"] > 20, "the beginning of a large diagram can be read at once"
    figure.locator("select.states").select_option(label="S150")
    there = figure.locator("#large\\.Large-state-S150").bounding_box()
    around = figure.locator(".zoomed").bounding_box()
    assert there is not None
    assert around is not None
    assert around["x"] < there["x"] < around["x"] + around["width"]
    assert around["y"] < there["y"] < around["y"] + around["height"]
    page.locator(".rows input").fill("ev7 s19")
    left = page.locator(".rows tbody tr:visible")
    assert 0 < left.count() < 30
    assert all("ev7" in x for x in left.all_inner_texts())
    figure.get_by_text("what was explored").click()
    assert figure.locator(".node.seen").count() == 200
    page.close()


def test_a_run_of_500_steps(browser: Browser, pages: dict[str, Path]) -> None:
    page = opened(browser, pages["long"], "long.Long-run-0/step/400")
    run = page.locator("#long\\.Long-run-0")
    assert run.locator("output").inner_text() == "Step 400 of 500"
    assert run.locator(".stepper-changed ins").all_inner_texts() == ["Even", "400"]
    chosen = run.locator("[aria-current=step]").bounding_box()
    listed = run.locator(".stepper-steps").bounding_box()
    assert chosen is not None
    assert listed is not None
    assert listed["y"] <= chosen["y"] <= listed["y"] + listed["height"]
    key = "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft', bubbles: true}))"
    spent = took(page, f"for (let n = 0; n < 100; n += 1) {key}")
    assert run.locator("output").inner_text() == "Step 300 of 500"
    print(f"\na step takes {spent / 100:.1f} ms")
    assert spent < 100 * 60
    page.close()


def test_fifty_findings(browser: Browser, pages: dict[str, Path]) -> None:
    page = opened(browser, pages["many"], "overview")
    listed = page.locator(".attention li")
    assert listed.count() >= 50
    assert page.locator(".attention li:visible").count() == 12
    page.get_by_text("Show all").click()
    assert page.locator(".attention li:visible").count() == listed.count()
    page.locator(".attention a", has_text="invariant rule49").click()
    assert page.locator(".stepper").count() < 20, "steppers are made when they come in sight"
    assert page.evaluate("document.activeElement.closest('.run').getAttribute('aria-label')") == "invariant rule49"
    page.close()
