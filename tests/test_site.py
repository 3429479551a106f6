"""The documentation site: it builds, links lead somewhere, its search finds what people look for, its pages are light
and accessible, and it works wherever its files are put."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest
from site_audit import problems, visit
from static_server import served

from tests import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.full(reason="the documentation site, and a browser")

ROOT = Path(__file__).parent.parent

needs_zensical = pytest.mark.skipif(
    find_spec("zensical") is None, reason="SKIPPED, THE SITE IS NOT TESTED: pip install -r requirements/docs.txt"
)

SOUGHT = {
    "install": "index",
    "fairness": "docs/semantics",
    "deadlock": "docs/rules/FSM302",
    "symmetry": "docs/how-the-checker-works",
    "preemption": "docs/allocator",
    "amends": "docs/language",
    "invariant": "docs/language",
    "lasso": "docs/how-the-checker-works",
    "durable": "docs/language",
    "FSM201": "docs/rules/FSM201",
    "subsets": "docs/language",
    "glossary": "docs/glossary",
    "precedence": "docs/cheat-sheet",
    "Mermaid": "docs/tutorial",
    "pytest": "docs/testing",
    "SARIF": "docs/ci",
    "journal": "docs/allocator",
    "migrate": "docs/migrating-from-hived",
    "scenario": "docs/language",
    "timeout": "docs/language",
    "vacuous": "docs/rules/FSM306",
    "TLA+": "docs/coming-from",
    "VS Code": "docs/editor",
    "exit code": "docs/command-line",
    "github action": "docs/ci",
    "state explosion": "docs/faq",
    "snapshot": "docs/generated-code",
    "grammar": "docs/grammar",
}
"""What people look for, and the page that should be among the first three."""

PAGES = ("index", "docs/language", "docs/findings/hived", "docs/rules/FSM201")
"""One of each kind: with pictures, with long tables, with long lines, short."""

MAX_REQUESTS, MAX_BYTES = 25, 1_800_000
"""Of a page with an empty cache, without compression and without pictures. Most of it is the search index, which grows
with all pages."""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with this version, as it is put on a server."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "docs/site.py", str(out), "--release"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def site(published: Path) -> Path:
    """The pages of this version."""
    (folder,) = (x for x in published.iterdir() if x.is_dir())
    return folder


@pytest.fixture(scope="module")
def address(published: Path, site: Path) -> Iterator[str]:
    """Where the pages are, below a path."""
    with served(published.parent) as root:
        yield f"{root}{published.name}/{site.name}/"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium.browser() as opened:
        yield opened


class Page(HTMLParser):
    """What a page links to, and the ids on it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids |= {x for x in (given.get("id"), given.get("name")) if x}
        for name in ("href", "src", "srcset"):
            if target := given.get(name):
                self.links.append(target)


def script() -> ModuleType:
    """`docs/site.py`."""
    spec = spec_from_file_location("docs_site", ROOT / "docs" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_a_chapter_once() -> None:
    listed = [
        path
        for chapter in script().navigation()
        for entries in chapter.values()
        for x in entries
        for path in x.values()
    ]
    assert len(listed) == len({*listed})


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """All but the one for addresses that are not there."""
    return {path: Page(path.read_text("utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}


@needs_zensical
def test_every_link_leads_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    """Within the site: a file, and an anchor in it. Nothing begins with a slash, so that it works below any path."""
    assert len(pages) > 100
    broken = []
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            file, _, anchor = unquote(link).partition("#")
            target = (path.parent / file).resolve() if file else path
            target = target / "index.html" if target.is_dir() else target
            missing = not target.exists() or (anchor and target in pages and anchor not in pages[target].ids)
            if link.startswith("/") or (missing and not anchor.startswith("__")):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_whole_modules_open_in_the_playground() -> None:
    """Where there is a playground; the address holds the text, as the playground itself would write it."""
    pages = module_of(ROOT / "docs" / "site.py")
    text = "```fsm specs/a.fsm\nmodule a\n\nmachine A { initial state B }\n```\n\n```fsm change\n    state C\n```\n"
    linked = pages.with_playground(text, ROOT / "docs" / "rules" / "FSM201.md")
    [code] = re.findall(r'<a href="\.\./\.\./playground/index\.html#code=([\w-]+)">', linked)
    project = json.loads(zlib.decompress(base64.urlsafe_b64decode(code + "=" * (-len(code) % 4)), wbits=-15))
    assert project == {"a.fsm": "module a\n\nmachine A { initial state B }\n"}
    asked = (ROOT / "docs" / "playground.md").read_text("utf-8")
    assert "make playground` builds one" in asked
    linked = pages.with_playground(asked, ROOT / "docs" / "playground.md")
    assert '<a href="../playground/index.html">' in linked
    assert "make playground` builds one" not in linked


def module_of(path: Path) -> Any:
    """A script as a module; `site` by itself is a module of Python."""
    spec = spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@needs_zensical
def test_links_to_other_sites_are_well_formed(pages: dict[Path, Page]) -> None:
    """They are not followed: a test must not depend on other people's servers."""
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link) and not link.startswith(("data:", "mailto:")):
                parts = urlsplit(link)
                assert parts.scheme in ("http", "https"), f"{path.name}: {link}"
                assert re.fullmatch(r"[\w.-]+\.[a-z]{2,}|localhost", parts.hostname or ""), f"{path.name}: {link}"


@needs_zensical
def test_every_fence_became_a_block(site: Path) -> None:
    assert [x.name for x in site.rglob("*.html") if "```" in x.read_text("utf-8")] == []


@needs_zensical
def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text("utf-8")
        assert re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="?https?://[^" >]+', text) == [], path


@needs_zensical
@chromium.needed
def test_the_search_finds_what_people_look_for(browser: Browser, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}index.html")
    page.locator(".md-search__button").first.click()
    field = page.get_by_role("combobox")
    missed = {}
    for word, wanted in SOUGHT.items():
        field.fill("")
        chromium.expect(page.locator("[role=listbox] li")).to_have_count(0)
        field.fill(word)
        chromium.expect(page.locator("[role=listbox] li").first).to_be_visible()
        links = page.locator("[role=listbox] li a").evaluate_all("(all) => all.slice(0, 3).map((x) => x.href)")
        first = [re.sub(r"\.html.*", "", x.removeprefix(address)) for x in links]
        if wanted not in first:
            missed[word] = first
    page.close()
    assert missed == {}


@needs_zensical
@chromium.needed
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_light_and_has_what_readers_need(browser: Browser, address: str, name: str) -> None:
    for width in (390, 1440):
        context = browser.new_context(viewport={"width": width, "height": 900})
        seen = visit(context.new_page(), f"{address}{name}.html")
        context.close()
        text = sum(size for link, size in seen.requests.items() if not re.search(r"\.(svg|png|gif)$", link))
        assert problems(seen.structure) == []
        assert (seen.elsewhere, seen.failed) == ((), ())
        assert len(seen.requests) <= MAX_REQUESTS
        assert text <= MAX_BYTES


WIDE_CODE_CAN_BE_FOCUSED = """() => [...document.querySelectorAll("pre > code")].every(
    (code) => code.scrollWidth <= code.clientWidth || code.tabIndex === 0)"""


@needs_zensical
@chromium.needed
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_finding_by_axe(browser: Browser, address: str, scheme: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="SKIPPED: needs axe-playwright-python")
    context = browser.new_context(color_scheme=scheme, reduced_motion="reduce")
    page = context.new_page()
    found = []
    for name in PAGES[:2]:
        page.goto(f"{address}{name}.html", wait_until="networkidle")
        page.wait_for_function(WIDE_CODE_CAN_BE_FOCUSED)  # the theme sees to it after it has measured every block
        for finding in axe.Axe().run(page).response["violations"]:
            found += [f"{name}: {finding['id']}: {node['html'][:150]}" for node in finding["nodes"]]
    context.close()
    assert found == []


@needs_zensical
@chromium.needed
def test_versions_are_offered_and_the_front_page_leads_to_the_latest(
    browser: Browser, published: Path, site: Path, tmp_path: Path
) -> None:
    """Another version is there: an older one."""
    (tmp_path / site.name).symlink_to(site)
    (tmp_path / "0.0").mkdir()
    shutil.copy(site / "index.html", tmp_path / "0.0" / "index.html")
    script().renew(tmp_path)
    with served(tmp_path) as root:
        page = browser.new_page()
        page.goto(root)
        page.wait_for_url(f"{root}{site.name}/index.html")
        offered = page.locator(".md-version__link")
        chromium.expect(offered).to_have_count(2)
        assert [x.strip() for x in offered.all_text_contents()] == [site.name, "0.0"]
        page.close()


@needs_zensical
@chromium.needed
def test_pages_work_without_a_server(browser: Browser, site: Path) -> None:
    """From a disk: the text and the pictures, if not the search."""
    page = browser.new_page()
    page.goto((site / "docs" / "tutorial.html").as_uri())
    chromium.expect(page.get_by_role("heading", level=1)).to_contain_text("Tutorial")
    page.close()
