"""What a page of the site costs and lacks, seen in a browser: requests, bytes, accessibility, structure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

STRUCTURE = """() => ({
    lang: document.documentElement.lang,
    title: document.title,
    description: document.querySelector('meta[name=description]')?.content ?? '',
    viewport: document.querySelector('meta[name=viewport]')?.content ?? '',
    headings: [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map((x) => Number(x.tagName[1])),
    pictures: [...document.images].filter((x) => !x.hasAttribute('alt')).map((x) => x.src),
    broken: [...document.images].filter((x) => x.complete && !x.naturalWidth).map((x) => x.src),
    wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
})"""


@dataclass(frozen=True, slots=True)
class Visit:
    """A page that was opened: what it fetched, and what it is made of.

    `requests` has the addresses with their bytes; `elsewhere` those of other hosts, `failed` those without an answer.
    """

    requests: dict[str, int]
    elsewhere: tuple[str, ...]
    failed: tuple[str, ...]
    structure: dict[str, Any]

    @property
    def weight(self) -> int:
        """Bytes of all that was fetched."""
        return sum(self.requests.values())


def visit(page: Page, address: str) -> Visit:
    """Open an address with an empty cache, and wait until nothing is fetched any more."""
    fetched: dict[str, int] = {}
    elsewhere: list[str] = []
    failed: list[str] = []
    host = urlsplit(address).netloc

    def finished(response: Any) -> None:
        if urlsplit(response.url).netloc != host and not response.url.startswith(("data:", "blob:")):
            elsewhere.append(response.url)
        if response.status >= 400:
            failed.append(f"{response.status} {response.url}")
        fetched[response.url] = int(response.headers.get("content-length", 0))

    page.on("response", finished)
    page.on("requestfailed", lambda request: failed.append(request.url))
    page.goto(address, wait_until="networkidle")
    return Visit(fetched, tuple(elsewhere), tuple(failed), page.evaluate(STRUCTURE))


def first_paint(browser: Browser, address: str) -> float:
    """Milliseconds until something is to be seen, in a fresh profile."""
    page = browser.new_page()
    page.goto(address, wait_until="load")
    script = """() => new Promise((done) => {
        const seen = performance.getEntriesByName('first-contentful-paint');
        if (seen.length) done(seen[0].startTime);
        new PerformanceObserver((list) => list.getEntriesByName('first-contentful-paint')
            .forEach((x) => done(x.startTime))).observe({ type: 'paint', buffered: true });
    })"""
    took = float(page.evaluate(script))
    page.close()
    return took


def problems(structure: dict[str, Any]) -> list[str]:
    """What a reader, a screen reader or a search engine would miss."""
    headings = structure["headings"]
    skipped = [f"h{a} → h{b}" for a, b in pairwise(headings) if b > a + 1]
    return [
        *(["no lang"] if structure["lang"] != "en" else []),
        *(["no title"] if not structure["title"] else []),
        *(["no description"] if len(structure["description"]) < 20 else []),
        *(["no viewport"] if "width=device-width" not in structure["viewport"] else []),
        *([f"{headings.count(1)} first headings"] if headings.count(1) != 1 else []),
        *(f"headings {x}" for x in skipped),
        *(f"no alternative text: {x}" for x in structure["pictures"]),
        *(f"a picture that cannot be shown: {x}" for x in structure["broken"]),
        *(["scrolls sideways"] if structure["wide"] else []),
    ]
