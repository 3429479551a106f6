"""The documentation site: it builds, every link on it leads somewhere, its search finds what people look for."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests import chromium

ROOT = Path(__file__).parent.parent

needs_zensical = pytest.mark.skipif(
    find_spec("zensical") is None, reason="SKIPPED, THE SITE IS NOT TESTED: pip install -r requirements/docs.txt"
)

SOUGHT = (
    "fairness", "deadlock", "symmetric", "preemption", "amends", "invariant", "lasso", "durable", "FSM201", "subsets",
    "glossary", "precedence", "Mermaid", "pytest", "SARIF", "journal", "migrate", "scenario", "timeout", "vacuous",
)  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "docs/site.py", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


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
            if (target := given.get(name)) and tag not in ("link", "script"):
                self.links.append(target)


@needs_zensical
def test_every_link_leads_somewhere(site: Path) -> None:
    pages = {path: Page(path.read_text("utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}
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
            if missing and not anchor.startswith("__"):
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
def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text("utf-8")
        assert re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="?https?://[^" >]+', text) == [], path


@needs_zensical
def test_the_index_of_the_search_has_what_people_look_for(site: Path) -> None:
    index = json.dumps(json.loads((site / "search.json").read_text("utf-8"))).casefold()
    assert [word for word in SOUGHT if word.casefold() not in index] == []


@needs_zensical
@chromium.needed
@pytest.mark.parametrize("width", [390, 1440])
def test_no_page_scrolls_sideways(site: Path, width: int) -> None:
    with chromium.browser() as browser:
        page: Any = browser.new_page(viewport={"width": width, "height": 900})
        for name in ("index", "docs/language", "docs/semantics", "docs/findings/hived", "docs/coming-from"):
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
