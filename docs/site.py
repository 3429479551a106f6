"""The documentation site: `python docs/site.py OUT [PLAYGROUND]` (or `make docs`) writes static files.

The pages are the Markdown that is in the repository, at the same relative places, so that every link that works on a
code host works here. They are collected in a temporary folder; Zensical renders them. PLAYGROUND is a folder that
`make playground` has written; where it is, the site has it, and links to it.

`--release` writes them to a folder of OUT that is named after the version (`0.1`), beside those of other versions, and
renews `versions.json`, from which each page offers the others, and `index.html`, which leads to the latest.
"""

from __future__ import annotations

import argparse
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
        "docs/kubernetes.md", "docs/coming-from.md", "docs/faq.md",
    ),
    "Language": (
        "docs/language.md", "docs/semantics.md", "docs/cheat-sheet.md", "docs/fewer-lines.md", "docs/keywords.md",
        "docs/grammar.md", "docs/glossary.md",
    ),
    "Tools": (
        "docs/command-line.md", "docs/editor.md", "docs/live.md", "docs/report.md", "docs/diff.md", "docs/ci.md",
        "docs/testing.md", "docs/twin-in-another-language.md", "docs/import.md", "docs/export.md", "docs/explain.md",
        "docs/json.md", "docs/notebook.md", "docs/generated-code.md",
    ),
    "Checker": ("docs/how-the-checker-works.md", "docs/scale.md", "docs/second-opinion.md"),
    "Findings": (
        "docs/findings.md", "docs/findings/hived.md", "docs/findings/confine.md", "docs/findings/grove.md",
        "docs/findings/yunikorn.md", "docs/findings/kubernetes.md",
    ),
    "Allocator": (
        "docs/allocator.md", "docs/lives.md", "docs/simulator.md", "docs/conformance.md",
        "docs/migrating-from-hived.md", "deploy/README.md", "runtime/README.md",
    ),
    "Project": (
        "docs/architecture.md", "docs/roadmap.md", "CONTRIBUTING.md", "RELEASING.md", "CHANGELOG.md", "SECURITY.md",
    ),
}  # fmt: skip
"""The navigation. Pages of rules and specs are added; a page in no chapter is an error."""

FOLDER = re.compile(r"\]\(((?:\.\./)*(?:specs|generated|benchmarks|editors|tests|docs)(?:/[\w-]+)*)/?\)")
"""A link to a folder."""

LINK = re.compile(r"(?<!!)\]\(([^)\s#]+)(#[^)\s]*)?\)|(?:src|srcset|href)=\"([^\"]+)\"|!\[[^\]]*\]\(([^)\s]+)\)")


def pages() -> list[Path]:
    """Every Markdown file that is a page."""
    outside = (
        "README.md",
        "CONTRIBUTING.md",
        "RELEASING.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "runtime/README.md",
        "deploy/README.md",
    )
    return [*(ROOT / name for name in outside), *sorted((ROOT / "docs").rglob("*.md"))]


def collect(source: Path, *, playground: bool = False) -> None:
    """Copy the pages and whatever they link to. A folder that is linked gets a page that lists its files.

    What is no page of the navigation, such as tables of results, is not searched.
    """
    for page in pages():
        text = page.read_text("utf-8")
        for target in sorted({*_targets(page, text)}):
            _copy(target, source)
        place = source / page.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_rendered(with_playground(text, page) if playground else text, page), "utf-8")
    (source / "README.md").rename(source / "index.md")
    for name in ("site.css", "site.js"):
        shutil.copy(ROOT / "docs" / name, source / name)


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
            place.write_text(f"---\nsearch:\n  exclude: true\n---\n{target.read_text('utf-8')}", "utf-8")
            for other in sorted({*_targets(target, target.read_text("utf-8"))}):
                _copy(other, source)


def _listed(path: Path) -> bool:
    return path.is_file() and path.suffix != ".md" and not path.name.startswith(".")


LANGUAGES = {"fsm-fragment": "fsm", **dict.fromkeys(("tla", "quint", "fizz", "p", "promela", "ebnf"), "text")}
"""How the site highlights languages that it does not know by their names."""


def _rendered(text: str, page: Path) -> str:
    """What the site's Markdown needs otherwise: descriptions, fences, links to folders and to the front page."""
    text = re.sub(r"^( *)```(\S+)([^\n]*)$", _fence, text, flags=re.MULTILINE)
    up = "../" * (len(page.relative_to(ROOT).parts) - 1)
    text = FOLDER.sub(r"](\1/index.md)", text.replace(f"]({up}README.md", f"]({up}index.md"))
    return f"---\ndescription: {json.dumps(_described(text))}\n---\n{text}"


def _fence(found: re.Match[str]) -> str:
    """The beginning of a block. What the tests read behind the language is a file's name, which becomes a title."""
    file = re.search(r"[\w./-]+\.\w+", found[3])
    title = f' title="{file[0]}"' if file else ""
    return f"{found[1]}```{LANGUAGES.get(found[2], found[2])}{title}"


def _described(text: str) -> str:
    """The first sentences of a page, as search engines show them: plain text of at most 160 characters."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    paragraphs = (x for x in text.split("\n\n") if re.match(r"[A-Z`*\[]", x) and len(x) > 40)
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(next(paragraphs, "").split()))
    plain = re.sub(r"[`*]", "", plain)
    if len(plain) <= 160:
        return plain
    sentences = plain[:160].rpartition(". ")[0]
    return f"{sentences}." if len(sentences) > 60 else f"{plain[:159].rpartition(' ')[0]}…"


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


def version() -> str:
    """`0.1` of the version 0.1.0: what is corrected in it changes no page."""
    full = str(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"])
    return ".".join(full.split(".")[:2])


def configuration(*, switch: bool) -> str:
    """The text of `zensical.toml`. With a `switch`, pages look for other versions in `../versions.json`."""
    chapters = []
    for chapter in navigation():
        for title, entries in chapter.items():
            assert isinstance(entries, list)
            listed = ", ".join(f'{{ "{key}" = "{path}" }}' for entry in entries for key, path in entry.items())
            chapters.append(f'  {{ "{title}" = [{listed}] }},')
    return "\n".join([
        "[project]",
        f'site_name = "fsmdsl{"" if switch else f" {version()}"}"',
        'site_description = "State machines as text: checked, explored, generated as Python, drawn"',
        'docs_dir = "pages"',
        'site_dir = "site"',
        "use_directory_urls = false",
        'extra_css = ["site.css"]',
        'extra_javascript = ["site.js"]',
        "nav = [", *chapters, "]",
        *(["[project.extra.version]", 'provider = "mike"', 'default = "latest"'] if switch else []),
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


def build(out: Path, playground: Path | None = None, *, switch: bool = False) -> None:
    """Write the site, with a playground that has been built. Raises `CalledProcessError` if Zensical fails."""
    with TemporaryDirectory() as folder:
        work = Path(folder)
        collect(work / "pages", playground=playground is not None)
        (work / "zensical.toml").write_text(configuration(switch=switch), "utf-8")
        subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=work, check=True)
        for page in (work / "site").rglob("*.html"):
            page.write_text(accessible(page.read_text("utf-8")), "utf-8")
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(work / "site", out)
        if playground is not None:
            shutil.copytree(playground, out / "playground")


def accessible(html: str) -> str:
    """A page without what a screen reader stumbles over: a link without a name for each line of code, empty headers."""
    html = re.sub(r'<a id="__codelineno-[\d-]+" name="[^"]*" href="[^"]*"></a>', "", html)
    return re.sub(r"<th([^>]*)></th>", r"<td\1></td>", html)


FRONT = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>fsmdsl</title><meta http-equiv="refresh" content="0; url={0}/index.html"></head>
<body><a href="{0}/index.html">fsmdsl {0}</a></body>
</html>
"""


def publish(out: Path, playground: Path | None = None) -> None:
    """Write this version beside others."""
    build(out / version(), playground, switch=True)
    renew(out)


def renew(out: Path) -> None:
    """List the versions that are there; the front page leads to the latest."""
    there = [x.name for x in out.iterdir() if re.fullmatch(r"\d+\.\d+", x.name)]
    there.sort(key=lambda x: [int(number) for number in x.split(".")], reverse=True)
    listed = [{"version": x, "title": x, "aliases": ["latest"] if x == there[0] else []} for x in there]
    (out / "versions.json").write_text(json.dumps(listed, indent=2) + "\n", "utf-8")
    (out / "index.html").write_text(FRONT.format(there[0]), "utf-8")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", nargs="?", type=Path, default=Path("build/site"))
    parser.add_argument("playground", nargs="?", type=Path)
    parser.add_argument(
        "--release", action="store_true", help="write to a folder named after the version, next to the others"
    )
    chosen = parser.parse_args()
    there = chosen.playground is not None and chosen.playground.is_dir()
    (publish if chosen.release else build)(chosen.out, chosen.playground if there else None)


if __name__ == "__main__":
    main()
