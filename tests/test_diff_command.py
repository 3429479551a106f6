"""`fsm diff` as a person uses it: revisions, pages, formats, versions that cannot be read."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import chromium
import pytest
from axe_playwright_python.sync_playwright import Axe
from in_process import fsm
from test_diff import DROPPED, HIVED, ROOT, difference, edited
from test_formats import quickly

from fsmdsl.report.compare.as_markdown import as_markdown
from fsmdsl.report.compare.page import page
from fsmdsl.report.compare.pictures import as_mermaid, as_svg, merged
from fsmdsl.report.compare.render_text import lines

# As a person uses it -------------------------------------------------------------------------------------------------


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits, and an edit that is in neither."""
    monkeypatch.chdir(tmp_path)
    small = re.sub(r"system (?!PreemptionSmall|Settling)\w+ \{.*?\n\}\n", "", HIVED, flags=re.DOTALL)
    specs = tmp_path / "specs"
    specs.mkdir()
    git(tmp_path, "init", "-q", "-b", "main")
    (specs / "hived.fsm").write_text(small, "utf-8")
    (specs / "two words.fsm").write_text(
        "module other\nmachine A { initial state X  event e from environment  X on e }"
    )
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    (specs / "hived.fsm").write_text(edited(DROPPED, "", small), "utf-8")
    git(tmp_path, "commit", "-q", "-a", "-m", "second")
    (specs / "hived.fsm").write_text(small.replace("Free", "Idle"))
    return tmp_path


def test_revisions(repository: Path) -> None:
    done = fsm("diff", "HEAD~1", "HEAD", cwd=repository)
    assert (done.returncode, done.stderr) == (1, "")
    assert "has lost its guard" in done.stdout
    assert "only HEAD~1:specs allows these 3 steps:" in done.stdout
    assert done.stdout.endswith("1 change, 2 behave differently, 8 changed verdicts\n")
    renamed = quickly("diff", "HEAD~1", "specs", "--quick", cwd=repository)
    assert renamed.stdout == ("machine hived.Cell\n  ~ state `Free` is called `Idle` now\n1 change\n")
    assert quickly("diff", "HEAD", "HEAD", "specs", cwd=repository).returncode == 0
    assert quickly("diff", "git:HEAD:specs/hived.fsm", "HEAD:specs/hived.fsm", cwd=repository).returncode == 0
    assert "hived.Cell" in fsm("diff", "HEAD~1", "--quick", cwd=repository / "specs").stdout


def test_places_in_revisions_go_by_their_names(repository: Path) -> None:
    done = quickly("diff", "HEAD~1", "HEAD", "--no-verdicts", "--format", "json", cwd=repository)
    assert "/fsm-" not in done.stdout
    found = json.loads(done.stdout)
    change = found["parts"][0]["changes"][0]
    assert (change["before"]["file"], change["after"]["file"]) == ("HEAD~1:specs/hived.fsm", "HEAD:specs/hived.fsm")
    assert (found["kind"], found["different"]) == ("diff", True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nowhere", "specs"), "git knows no revision `nowhere`, and there is no file or folder of that name"),
        (("./nowhere.fsm", "specs"), "there is no file or folder `./nowhere.fsm`"),
        (("HEAD:lost", "specs"), "`lost` has no specs in `HEAD`"),
        (("--output=x", "git:"), "`git:` names no revision: write `git:HEAD~1:specs`"),
        (("git:--output=x", "specs"), "git knows no revision `--output=x`"),
    ],
)
def test_misuse(repository: Path, arguments: tuple[str, ...], told: str) -> None:
    done = quickly("diff", *arguments, cwd=repository)
    assert done.returncode == 2
    assert told in done.stderr


def test_outside_of_a_repository(tmp_path: Path) -> None:
    (tmp_path / "a.fsm").write_text("machine A { initial state X }")
    done = fsm("diff", "HEAD", "a.fsm", cwd=tmp_path)
    assert done.returncode == 2
    assert "requires a git repository" in done.stderr


def test_a_version_with_errors_is_not_compared(repository: Path) -> None:
    (repository / "specs" / "hived.fsm").write_text("machine {")
    git(repository, "commit", "-q", "-a", "-m", "broken")
    done = quickly("diff", "HEAD", "HEAD~1", "specs", cwd=repository)
    assert done.returncode == 2
    assert "--> HEAD:specs/hived.fsm:1:" in done.stderr
    assert "in HEAD:specs; fix that first" in done.stderr


def test_the_page_and_the_diagrams(repository: Path) -> None:
    done = quickly("diff", "HEAD~1", "HEAD", "--no-verdicts", "--out", "out", cwd=repository)
    assert done.returncode == 1
    shown = (repository / "out" / "index.html").read_text("utf-8")
    assert "http://" not in shown.replace("http://www.w3.org", "")
    assert "https://" not in shown
    assert "The same steps lead elsewhere; in HEAD~1:specs:" in shown
    svg = ElementTree.parse(repository / "out" / "hived.AffinityGroup.svg").getroot()
    looks = [x.get("class", "") for x in svg.iter() if "diff-" in x.get("class", "")]
    assert any(look.startswith("edge") and look.endswith("diff-changed") for look in looks)
    assert "~ back" in "".join(svg.itertext())


def test_large_machines_are_drawn_where_they_have_changed() -> None:
    rows = "".join(f"  t{n}: S{n % 60} -> S{n * 7 % 60} on e" for n in range(300))
    states = "".join(f"  {'initial ' * (n == 0)}state S{n}" for n in range(60))
    old = f"machine A {{ {states} event e from environment {rows} }}"
    found = difference(old.replace("t123: S3 -> S21 on e", "t123: S3 -> S22 on e"), old, deep=False)
    (both,) = (x for part in found.parts if (x := merged(part)) is not None)
    assert not both.whole
    assert [s.name for s in both.machine.states] == ["S3", "S21", "S22"]
    assert {t.name for t in both.machine.transitions} == {"+ t123", "− t123"}
    assert isinstance(as_svg(both), str)


@chromium.needed
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_in_a_browser(tmp_path: Path, scheme: Literal["light", "dark"]) -> None:
    found = difference(edited(DROPPED, ""))
    svgs = {part.name: as_svg(both) for part in found.parts if (both := merged(part)) is not None}
    path = tmp_path / "index.html"
    path.write_text(page(found, "old", "new", {name: svg for name, svg in svgs.items() if isinstance(svg, str)}))
    with chromium.browser() as browser:
        tab = browser.new_page(color_scheme=scheme)
        asked: list[str] = []
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(path.as_uri())
        assert asked == [path.as_uri()]
        assert tab.get_by_role("heading", level=1).inner_text() == "old → new"
        arrow = tab.locator(".edge.diff-changed > path").first
        assert arrow.evaluate("x => getComputedStyle(x).stroke") == "rgb(168, 111, 0)"
        tab.get_by_text("The run").first.click()
        assert tab.locator("details[open] pre").first.is_visible()
        for width in (390, 720, 1440, 2560):
            tab.set_viewport_size({"width": width, "height": 850})
            assert Axe().run(tab).response["violations"] == [], width
            assert tab.evaluate("document.documentElement.scrollWidth") <= width


HOSTILE = """
/// <script>alert(1)</script> | `code` ]]> @everyone
machine Door "<b>|`x`" {
    initial state Shut "<img src=x onerror=alert(1)>"
    state Open "``` | @team #1"
    event push from environment
    Shut -> Open on push
}
"""


def test_hostile_names_are_text() -> None:
    found = difference(
        HOSTILE.replace("Shut -> Open on push", "Shut on push").replace("state Open", "state Ajar"), HOSTILE
    )
    (part,) = (x for x in found.parts if x.owner == "machine")
    both = merged(part)
    assert both is not None
    svg = as_svg(both)
    assert isinstance(svg, str)
    assert "<img" not in svg
    ElementTree.fromstring(svg)
    assert "<img" not in as_mermaid(both)
    told = as_markdown(found, "<a>|`", "@b")
    assert "@b" not in told.split("\n")[0]
    assert "<a>" not in re.sub(r"`[^`]*`", "", told)
    assert list(lines(found, "old", "new"))
    shown = page(found, "<script>old</script>", "new", {part.name: svg})
    assert "<script" not in shown
    assert "<img" not in shown


def test_markdown(repository: Path) -> None:
    done = quickly("diff", "HEAD~1", "HEAD", "--format", "markdown", "--output", "summary.md", cwd=repository)
    assert (done.returncode, done.stdout) == (1, "1 change, 2 behave differently, 8 changed verdicts\n")
    told = (repository / "summary.md").read_text("utf-8")
    assert told.startswith("### fsm diff `HEAD~1:specs` → `HEAD:specs`: 1 change, 2 behave differently")
    assert told.count("<details>") == told.count("</details>") == 3
    assert "| ✗ holds → violated | hived.Settling | invariant AffinityGroup: s6 |" in told
    assert "```mermaid\nstateDiagram-v2" in told
    assert len(told) < 20_000


def test_as_documented_what_the_document_changes(tmp_path: Path) -> None:
    """Amendments of either version are left out."""
    text = (ROOT / "editors" / "playground" / "lease.fsm").read_text("utf-8")
    (tmp_path / "old.fsm").write_text(text, "utf-8")
    (tmp_path / "new.fsm").write_text(text.replace("ignore leave in Leaving", "ignore leave in Left"), "utf-8")
    done = fsm("diff", "old.fsm", "new.fsm", "--quick", cwd=tmp_path)
    assert (done.returncode, "ignore `leave in Left`" in done.stdout) == (1, True)
    done = fsm("diff", "old.fsm", "new.fsm", "--quick", "--as-documented", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
