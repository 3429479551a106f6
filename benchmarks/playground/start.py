"""How soon the playground is ready, and how large it is: `python benchmarks/playground/start.py [FOLDER]`, where FOLDER
is what `make playground` has written; writes `benchmarks/results/playground.json`.

Static files from this machine, without compression, to headless Chromium; a fresh browser profile for each first visit.
Ready is when Python in the worker has answered, from the beginning of the navigation; `editor` is when the text is
there. The second visit is one to the same profile, once the service worker has all files. Seconds, medians of `TIMES`.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import chromium  # noqa: E402
from static_host import Host  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

RESULTS = ROOT / "benchmarks" / "results" / "playground.json"
TIMES = 5

EDITOR = "() => document.querySelector('.cm-line')?.textContent ? performance.now() : null"


def visit(page: Page, address: str) -> tuple[float, float]:
    """Seconds until the text is there, and until Python answers."""
    page.goto(address, wait_until="commit")
    editor = page.wait_for_function(EDITOR).json_value()
    page.wait_for_selector("html[data-ready]", state="attached")
    return float(editor) / 1000, float(page.evaluate("document.documentElement.dataset.ready")) / 1000


def both(browser: Browser, address: str) -> dict[str, float]:
    """A first and a second visit."""
    context = browser.new_context()
    page = context.new_page()
    editor, ready = visit(page, address)
    page.wait_for_selector("html[data-offline]", state="attached")
    page.close()
    again = context.new_page()
    editor_again, ready_again = visit(again, address)
    context.close()
    return {"editor": editor, "ready": ready, "editor_again": editor_again, "ready_again": ready_again}


def sizes(folder: Path) -> dict[str, list[int]]:
    """Bytes of the largest files, and of all; as they are, and as `gzip -9` sends them."""
    files = {x.relative_to(folder).as_posix(): x.read_bytes() for x in folder.rglob("*") if x.is_file()}
    by_file = {name: [len(x), min(len(x), len(gzip.compress(x, 9)))] for name, x in files.items()}
    largest = sorted(by_file, key=lambda name: -by_file[name][0])[:8]
    return {**{name: by_file[name] for name in largest}, "all": [sum(x[n] for x in by_file.values()) for n in (0, 1)]}


def main(folder: Path) -> None:
    """Measure, print and write down."""
    host = Host(folder)
    results: dict[str, object] = {"bytes": sizes(folder)}
    try:
        with chromium.browser() as browser:
            for kind, query in (("snapshot", ""), ("plain", "?plain")):
                visits = [both(browser, f"{host.address}{query}") for _ in range(TIMES)]
                results[kind] = {name: round(median(x[name] for x in visits), 2) for name in visits[0]}
                print(kind, results[kind], flush=True)
    finally:
        host.stop()
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "playground")
