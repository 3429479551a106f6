"""The pictures of the README and the documents, made by headless Chromium: `python docs/pictures/make.py [NAME…]`.

A scene brings a page to what is to be seen, and says which part of it (None: what is in the window). It is a context,
so that what it starts for itself (a server) ends with it. Each is taken in light and in dark: `NAME-light.png`,
`NAME-dark.png` beside this file. A scene in `KEYS` is taken once more after each of these keys: `NAME-light.gif`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import mkdtemp
from threading import Thread

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, sync_playwright

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

WIDE, HIGH, SCALE = 1240, 800, 1.25
COLOURS = 255
"""Enough for pages, and a third of the bytes."""
MOST = 300_000
"""Bytes of one picture."""

QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]

Scene = Callable[[Page], AbstractContextManager[Locator | None]]


# The report ----------------------------------------------------------------------------------------------------------


@cache
def documented() -> Path:
    """The report over two documents, taken at their word."""
    folder = Path(mkdtemp())
    arguments = ["specs/hived", "specs/grove", "--as-documented", "--title", "HiveD and Grove, as documented"]
    subprocess.run([sys.executable, "-m", "fsmdsl", "report", *arguments, "--out", folder], cwd=ROOT, check=False)
    return folder / "index.html"


@contextmanager
def overview(page: Page) -> Iterator[None]:
    """What needs attention."""
    page.goto(documented().as_uri())
    yield


@contextmanager
def machine(page: Page) -> Iterator[None]:
    """A diagram, with what exploration reached."""
    page.goto(f"{documented().as_uri()}#hived.AffinityGroup")
    page.locator("#hived\\.AffinityGroup").get_by_text("what was explored").click()
    page.mouse.move(0, 0)
    yield


@contextmanager
def stepper(page: Page) -> Iterator[Locator]:
    """The last step of a counterexample, with the formula."""
    page.goto(documented().as_uri())
    page.locator("button.more").click()
    page.locator(".attention a", has_text="hived.Takeover: invariant books").click()
    run = page.locator(".run[aria-label='invariant books']:visible")
    page.keyboard.press("End")
    page.mouse.move(0, 0)
    run.locator(".stepper-sequence").evaluate("x => { x.open = false }")
    yield run.locator(".stepper")


@contextmanager
def deadlock(page: Page) -> Iterator[Locator]:
    """The counterexample of the example that `fsm init` writes, at its beginning."""
    folder = Path(mkdtemp())
    for arguments in (["init", "demo"], ["report", "demo", "--out", "report"]):
        subprocess.run([sys.executable, "-m", "fsmdsl", *arguments], cwd=folder, check=False, stdout=subprocess.DEVNULL)
    page.goto((folder / "report" / "index.html").as_uri())
    page.locator(".attention a", has_text="deadlock").first.click()
    run = page.locator(".run:visible")
    page.keyboard.press("Home")
    page.mouse.move(0, 0)
    run.locator(".stepper-sequence").evaluate("x => { x.open = false }")
    yield run.locator(".stepper")


# The editor ----------------------------------------------------------------------------------------------------------

FORGETFUL = ("    durable job: Job?    /// who", "    job: Job?    /// who")
"""Who has the node does not survive a crash: the mistake that is found."""


@contextmanager
def editor(page: Page) -> Iterator[Locator]:
    """Neovim a moment after a word was taken away."""
    from editor import shown

    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    spec = (ROOT / "editors" / "playground" / "lease.fsm").read_text("utf-8").replace(*FORGETFUL, 1)
    escape, enter = "\x1b", "\r"
    steps = [
        ("does not hold", f"{escape}:lua vim.lsp.codelens.refresh(){enter}"),
        (
            "followed",
            f"{escape}:9{enter}zt:22{enter}:lua vim.diagnostic.open_float({{border='rounded'}}){enter}:{escape}",
        ),
    ]
    page.set_content(shown("dark" if dark else "light", spec, steps))
    yield page.locator("#screen")


# The live page -------------------------------------------------------------------------------------------------------


@contextmanager
def serving(pattern: str, *command: str) -> Iterator[str]:
    """A server under way: the address that it prints."""
    process = subprocess.Popen([sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            found = re.search(pattern, line.decode())
            if found:
                # Nobody reads on, and what it says must not stop it.
                Thread(target=process.stdout.read, daemon=True).start()
                yield found[0]
                break
        else:
            sys.exit(f"{' '.join(command)} did not start")
    finally:
        process.kill()
        process.wait()


@contextmanager
def live(page: Page) -> Iterator[None]:
    """HiveD as documented, refuted, and the run walked through."""
    with serving(r"http\S+", "-m", "fsmdsl", "serve", "specs/hived", "--port", "0") as address:
        page.set_viewport_size({"width": 1500, "height": 900})
        page.goto(address)
        page.wait_for_selector("#files button")
        page.check("#documented")
        page.click("#tab-verify")
        page.select_option("#verify select", "hived.PreemptionSmall")
        page.click("#verify button:has-text('Verify')")
        page.click("button:has-text('Step through')")
        page.wait_for_selector(".stepper-pictures svg")
        yield


# The allocator -------------------------------------------------------------------------------------------------------


@contextmanager
def cluster(page: Page) -> Iterator[None]:
    """A simulated cluster after some days."""
    load = "gangs=6000 days=9 load=1.2 opportunistic=0.3"
    arguments = ["--config", "runtime/samples/cluster.yaml", "--generate", load, "--outages", "every=30d repair=12h"]
    command = ["-m", "runtime", "simulate", *arguments, "--view", "0", "--pace", "12h", "--quiet"]
    with serving(r"http\S+", *command) as address:
        page.set_viewport_size({"width": 1500, "height": 900})
        page.goto(address)
        page.wait_for_selector("body[data-ready]", timeout=60_000)
        page.locator("#clock", has_text="day 4").wait_for(timeout=60_000)
        page.click("#pause")
        page.wait_for_selector("text=Resume")
        page.wait_for_timeout(600)
        page.locator("#rows tr", has_text="Allocated").first.get_by_role("button").click()
        yield


SCENES: Mapping[str, Scene] = {
    "report-overview": overview,
    "report-machine": machine,
    "report-stepper": stepper,
    "editor": editor,
    "live": live,
    "cluster": cluster,
    "deadlock": deadlock,
}
KEYS: Mapping[str, tuple[str, ...]] = {"deadlock": ("ArrowRight", "ArrowRight")}
"""Scenes that move, with the keys that are pressed one after the other."""
FRAME_MS, LAST_FRAME_MS = 1600, 3200
"""How long a frame of a moving scene is shown."""


# Taking them ---------------------------------------------------------------------------------------------------------


def take(browser: Browser, name: str, scheme: str) -> None:
    """One picture. Fails where it is larger than a page of documents should load."""
    context = browser.new_context(
        viewport={"width": WIDE, "height": HIGH},
        device_scale_factor=SCALE,
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    frames = []
    with SCENES[name](page) as part:
        page.wait_for_timeout(300)
        frames.append(photograph(page, part))
        for key in KEYS.get(name, ()):
            page.keyboard.press(key)
            page.wait_for_timeout(300)
            frames.append(photograph(page, part))
    context.close()
    path = HERE / f"{name}-{scheme}.{'gif' if name in KEYS else 'png'}"
    if name in KEYS:
        durations = [FRAME_MS] * (len(frames) - 1) + [LAST_FRAME_MS]
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)
    else:
        frames[0].save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.relative_to(ROOT)}: {size // 1000} kB")
    if size > MOST:
        sys.exit(f"{path.name} is larger than {MOST // 1000} kB: show less, or make SCALE smaller")


def photograph(page: Page, part: Locator | None) -> Image.Image:
    """What is to be seen now, in few colours."""
    data = page.screenshot() if part is None else part.screenshot()
    with Image.open(BytesIO(data)) as picture:
        return picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)


def main() -> None:
    """All pictures, or those that are named."""
    names = sys.argv[1:] or list(SCENES)
    unknown = [name for name in names if name not in SCENES]
    if unknown:
        sys.exit(f"there is no picture {', '.join(unknown)}; there are {', '.join(SCENES)}")
    program = next((x for x in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if x), None)
    if program is None:
        sys.exit("pictures are taken by Chromium, which is not installed: apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=QUIET)
        for name in names:
            for scheme in ("light", "dark"):
                take(browser, name, scheme)
        browser.close()


if __name__ == "__main__":
    main()
