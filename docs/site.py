"""The documentation site: `python docs/site.py OUT [PLAYGROUND]` (or `make docs`) writes static files.

The pages are the Markdown that is in the repository, at the same relative places, so that every link that works on a
code host works here. They are collected in a temporary folder; Zensical renders them. PLAYGROUND is a folder that
`make playground` has written; where it is, the site has it, and links to it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import compressobj

ROOT = Path(__file__).parent.parent

TITLES = {
    "Start": (
        "README.md", "docs/tutorial.md", "docs/playground.md", "docs/how-a-document-becomes-a-spec.md",
        "docs/coming-from.md", "docs/faq.md",
    ),
    "Language": (
        "docs/language.md", "docs/semantics.md", "docs/cheat-sheet.md", "docs/keywords.md", "docs/grammar.md",
        "docs/glossary.md",
    ),
    "Tools": (
        "docs/command-line.md", "docs/editor.md", "docs/live.md", "docs/report.md", "docs/diff.md", "docs/ci.md",
        "docs/testing.md", "docs/json.md", "docs/notebook.md", "docs/generated-code.md",
    ),
    "Checker": ("docs/how-the-checker-works.md", "docs/scale.md"),
    "Findings": (
        "docs/findings.md", "docs/findings/hived.md", "docs/findings/confine.md", "docs/findings/grove.md",
        "docs/findings/yunikorn.md",
    ),
    "Allocator": (
        "docs/allocator.md", "docs/lives.md", "docs/simulator.md", "docs/conformance.md",
        "docs/migrating-from-hived.md", "runtime/README.md",
    ),
    "Project": ("docs/architecture.md", "docs/roadmap.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"),
}  # fmt: skip
"""The navigation. Pages of rules and specs are added; a page in no chapter is an error."""

FOLDER = re.compile(r"\]\(((?:\.\./)*(?:specs|generated|benchmarks|editors|tests|docs)(?:/[\w-]+)*)/?\)")
"""A link to a folder."""

LINK = re.compile(r"(?<!!)\]\(([^)\s#]+)(#[^)\s]*)?\)|(?:src|srcset|href)=\"([^\"]+)\"|!\[[^\]]*\]\(([^)\s]+)\)")


def pages() -> list[Path]:
    """Every Markdown file that is a page."""
    outside = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "runtime/README.md")
    return [*(ROOT / name for name in outside), *sorted((ROOT / "docs").rglob("*.md"))]


def collect(source: Path, *, playground: bool) -> None:
    """Copy the pages and whatever they link to. A folder that is linked gets a page that lists its files."""
    for page in pages():
        text = page.read_text("utf-8")
        for target in sorted({*_targets(page, text)}):
            _copy(target, source)
        place = source / page.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_rendered(with_playground(text, page) if playground else text), "utf-8")
    (source / "README.md").rename(source / "index.md")


def _targets(page: Path, text: str) -> Iterator[Path]:
    for found in LINK.finditer(re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)):
        target = found[1] or found[3] or found[4]
        if not re.match(r"\w+:|#", target):
            yield (page.parent / target.partition("#")[0]).resolve()


def _copy(target: Path, source: Path) -> None:
    place = source / target.relative_to(ROOT)
    if target.is_dir():
        rows = [f"- [{x.name}]({x.name})" for x in sorted(target.iterdir()) if _listed(x)]
        place.mkdir(parents=True, exist_ok=True)
        (place / "index.md").write_text(f"# {target.relative_to(ROOT)}\n\n" + "\n".join(rows) + "\n", "utf-8")
        for path in target.iterdir():
            if _listed(path):
                shutil.copy(path, place / path.name)
    elif target.suffix != ".md" or target not in pages():
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(target, place)
        if target.suffix == ".md":
            for other in sorted({*_targets(target, target.read_text("utf-8"))}):
                _copy(other, source)


def _listed(path: Path) -> bool:
    return path.is_file() and path.suffix != ".md" and not path.name.startswith(".")


def _rendered(text: str) -> str:
    """What the site's Markdown needs otherwise: the names of our languages, and links to folders."""
    text = re.sub(r"^```(?:fsm-fragment|fsm)\b[^\n]*$", "```fsm", text, flags=re.MULTILINE)
    text = re.sub(r"^```(?:tla|p|promela|ebnf)$", "```text", text, flags=re.MULTILINE)
    return FOLDER.sub(r"](\1/index.md)", text)


def with_playground(text: str, page: Path) -> str:
    """A page with a link to the playground below each whole module, and where the page asks for one."""
    address = "../" * (len(page.relative_to(ROOT).parts) - 1) + "playground/index.html"

    def linked(found: re.Match[str]) -> str:
        return f'{found[0]}\n\n<a href="{address}#{_packed(found[1])}">Open in the playground</a>\n'

    text = re.sub(r"^```fsm[^\n]*\n(module \w+\n.*?)^```$", linked, text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(
        r"<!-- playground -->.*?<!-- -->", f'<a href="{address}">Open the playground</a>', text, flags=re.DOTALL
    )


def _packed(text: str) -> str:
    """A project as the address of the playground has it: see `editors/playground/src/project.js`."""
    squeezed = compressobj(9, wbits=-15)
    data = squeezed.compress(json.dumps({f"{text.split()[1]}.fsm": text}).encode("utf-8")) + squeezed.flush()
    return f"code={urlsafe_b64encode(data).decode('ascii').rstrip('=')}"


def navigation() -> list[dict[str, object]]:
    """The chapters. Raises `ValueError` if a page is in none."""
    rules = sorted(x.relative_to(ROOT).as_posix() for x in (ROOT / "docs" / "rules").glob("*.md") if x.stem != "index")
    specs = sorted(x.relative_to(ROOT).as_posix() for x in (ROOT / "docs" / "specs").glob("*.md"))
    chapters = {**TITLES, "Documents": tuple(specs), "Rules": ("docs/rules/index.md", *rules)}
    missing = {x.relative_to(ROOT).as_posix() for x in pages()} - {
        name for names in chapters.values() for name in names
    }
    if missing:
        raise ValueError(f"pages in no chapter of docs/site.py: {', '.join(sorted(missing))}")
    return [{title: [_entry(name) for name in names]} for title, names in chapters.items()]


def _entry(name: str) -> dict[str, str]:
    heading = next(x for x in (ROOT / name).read_text("utf-8").splitlines() if x.startswith("# "))
    return {heading.removeprefix("# ").replace("`", ""): "index.md" if name == "README.md" else name}


def configuration() -> str:
    """The text of `zensical.toml`."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    chapters = []
    for chapter in navigation():
        for title, entries in chapter.items():
            assert isinstance(entries, list)
            listed = ", ".join(f'{{ "{key}" = "{path}" }}' for entry in entries for key, path in entry.items())
            chapters.append(f'  {{ "{title}" = [{listed}] }},')
    return "\n".join([
        "[project]",
        f'site_name = "fsmdsl {version}"',
        'site_description = "State machines as text: checked, explored, generated as Python, drawn"',
        'docs_dir = "pages"',
        'site_dir = "site"',
        "use_directory_urls = false",
        "nav = [", *chapters, "]",
        "[project.theme]",
        "font = false",
        'features = ["navigation.indexes", "navigation.top", "content.code.copy", "search.highlight"]',
        "[[project.theme.palette]]",
        'media = "(prefers-color-scheme: light)"', 'scheme = "default"',
        'toggle = { icon = "lucide/sun", name = "Dark" }',
        "[[project.theme.palette]]",
        'media = "(prefers-color-scheme: dark)"', 'scheme = "slate"',
        'toggle = { icon = "lucide/moon", name = "Light" }',
        "",
    ])  # fmt: skip


def build(out: Path, playground: Path | None = None) -> None:
    """Write the site, with a playground that has been built. Raises `CalledProcessError` if Zensical fails."""
    with TemporaryDirectory() as folder:
        work = Path(folder)
        collect(work / "pages", playground=playground is not None)
        (work / "zensical.toml").write_text(configuration(), "utf-8")
        subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=work, check=True)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(work / "site", out)
        if playground is not None:
            shutil.copytree(playground, out / "playground")


if __name__ == "__main__":
    given = [Path(x) for x in sys.argv[1:]]
    build(given[0] if given else Path("build/site"), next((x for x in given[1:] if x.is_dir()), None))
