"""What people read uses the words of the field: no entry of `INSTEAD` occurs in documents, messages and pages.

Docstrings are for those who change the code. They are held to most of the list (`DOCSTRINGS`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from sources import ROOT, modules, strings

TOLD = r"(is|are|was|were|be|been|being) told"

INSTEAD = {
    r"(?<!a)(?<!com)mend(s|ed|ing)?": "fix, the quick fix; no problems",
    r"cannot stand( here)?": "unexpected … here",
    r"not a sign of": "is not an operator",
    r"holds of any values?": "is always true",
    r"everything that was asked": "all 31 systems pass",
    r"(make|makes|made) of (each|every|an) (event|state)": "state × event table",
    r"rest(s|ed)? (up)?on": "evidence; depends on",
    r"(for )?who runs (it|them|HiveD)": "for operators",
    r"worth an alarm": "alert on",
    r"no limit that was reached": "a run cut short is never reported as a pass",
    r"at home in": "is declared in",
    r"stands? in\b": "is in",
    TOLD: "is reported, says",
    r"(come|comes|came|coming) about": "happens",
    r"(a )?runs? that breaks? (it|them|the)": "a counterexample",
    r"go(es|ing)? through (the |all |every |each )?(states|steps)": "explores states",
    r"put to the test": "checked",
    r"(go|goes|going|went) on\b(?!e)": "resume, continue",
}
"""A pattern, and what to write."""

LENIENT = {r"stands? in\b", r"(go|goes|going|went) on\b(?!e)"}
DOCSTRINGS = {
    rf"{pattern}(?! (apart|by|from|to|what|whether)\b)" if pattern == TOLD else pattern: meant
    for pattern, meant in INSTEAD.items()
    if pattern not in LENIENT
}
"""In docstrings, "told" stays where an agent gets an order or information; an error is reported."""


def compiled(instead: dict[str, str]) -> re.Pattern[str]:
    """Each entry of a list is the group `w0`, `w1` …"""
    entries = "|".join(rf"(?P<w{n}>{pattern})" for n, pattern in enumerate(instead))
    return re.compile(rf"\b(?:{entries})\b", re.IGNORECASE)


COMMENT = re.compile(r"/\*.*?\*/|(?<![:\w])//[^\n]*", re.DOTALL)

PAGES = [
    path
    for folder in ("fsmdsl", "runtime", "editors/vscode", "editors/live", "editors/playground")
    for suffix in ("html", "jinja", "js", "css", "json", "ts", "md")
    for path in sorted((ROOT / folder).rglob(f"*.{suffix}"))
    if "node_modules" not in path.parts and path.name not in ("table.json", "codemirror.js", "package-lock.json")
]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "RELEASING.md",
    ROOT / "SECURITY.md",
    ROOT / "runtime" / "README.md",
    ROOT / "deploy" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
CODE = modules("fsmdsl", "runtime")


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines that people read: of a program, its texts without the docstrings."""
    if path.suffix != ".py":
        text = path.read_text("utf-8")
        if path.suffix in (".js", ".ts", ".css"):
            text = COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
        yield from enumerate(text.splitlines(), 1)
        return
    for docstring, node in strings(path):
        if not docstring:
            yield from enumerate(node.value.splitlines(), node.lineno)


def problems(path: Path, lines: Iterable[tuple[int, str]], pattern: re.Pattern[str], instead: list[str]) -> list[str]:
    """What is in a text that should not be, with what to write."""
    return [
        f"{path.relative_to(ROOT)}:{number}: `{match[0]}`: write {instead[int(match.lastgroup[1:])]}"
        for number, line in lines
        for match in pattern.finditer(line)
        if match.lastgroup
    ]


def test_words() -> None:
    pattern, instead = compiled(INSTEAD), list(INSTEAD.values())
    files = [*DOCUMENTS, *PAGES, *CODE]
    assert [x for path in files for x in problems(path, prose(path), pattern, instead)] == []


def test_words_of_docstrings() -> None:
    """Sentences, wherever their lines end."""
    pattern, instead = compiled(DOCSTRINGS), list(DOCSTRINGS.values())
    texts = {
        path: [(x.lineno, re.sub(r"\s+", " ", x.value)) for docstring, x in strings(path) if docstring]
        for path in modules("action", "benchmarks", "docs", "fsmdsl", "release", "runtime")
    }
    assert [x for path, lines in texts.items() for x in problems(path, lines, pattern, instead)] == []
