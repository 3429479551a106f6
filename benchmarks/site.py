"""What the pages of the documentation site cost: bytes, requests, and the time until something is to be seen.

Usage: python benchmarks/site.py SITE [--runs 5]. SITE is what `make docs` has written. Writes
benchmarks/results/site.json.

Each page is opened in a browser with an empty cache, from a server on this machine, in turns with a page that has one
line and nothing else: the ratio says what ours cost beyond what any page does.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from site_audit import first_paint, visit  # noqa: E402
from static_server import served  # noqa: E402

from tests import chromium  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "site.json"
PAGES = ("index", "docs/tutorial", "docs/language", "docs/findings/hived", "docs/allocator", "docs/rules/FSM201")
BLANK = "<!doctype html><html lang='en'><title>blank</title><body>A line.</body></html>"


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("site", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args()
    took: dict[str, list[float]] = {name: [] for name in ("blank", *PAGES)}
    with TemporaryDirectory() as folder, chromium.browser() as browser:
        Path(folder, "blank.html").write_text(BLANK, "utf-8")
        with served(Path(folder)) as plain, served(chosen.site) as address:
            for _ in range(chosen.runs):
                for name, paints in took.items():
                    paints.append(first_paint(browser, f"{plain if name == 'blank' else address}{name}.html"))
            visits = {name: visit(browser.new_page(), f"{address}{name}.html") for name in PAGES}
    blank = median(took["blank"])
    results = {
        "machine": {"python": platform.python_version(), "cores": os.cpu_count(), "system": platform.platform()},
        "runs": chosen.runs,
        "blank page, milliseconds": round(blank),
        "pages": {
            name: {
                "requests": len(seen.requests), "kilobytes": round(seen.weight / 1000),
                "first paint, milliseconds": round(median(took[name])),
                "times a blank page": round(median(took[name]) / blank, 1),
            }
            for name, seen in visits.items()
        },
    }  # fmt: skip
    print(json.dumps(results, indent=2))
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
