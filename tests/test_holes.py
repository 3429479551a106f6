"""Every hole shows: as documented, the systems below `specs/*/holes` go wrong as they say; amended, nothing does.

What is to go wrong stands in the doc comment of each system (or `locks`, or machine), so that a reader finds it there:

    /// As documented: fault unhandled in 2 steps; invariant s7 in 3 steps.

That is everything that exploring the system finds: kind, name, and length of the shortest run; `reachable x` has no
run, a rule such as `FSM301` is something that `fsm check` reports. The first is the one that is drawn, for
`docs/findings`, as `docs/pictures/findings/<folder>-<file>-<system>.svg`.

`python tests/test_holes.py` draws the pictures, and puts what the commands print now into the findings.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from markdown_blocks import blocks, commands
from test_tutorial import followed, renewed

from fsmdsl import model as m
from fsmdsl.check import check
from fsmdsl.draw.sequence_svg import as_svg
from fsmdsl.model.workspace import load, read
from fsmdsl.report.chart import violation
from fsmdsl.search import Exploration, Verdict, explore, play
from fsmdsl.text.diagnostics import Severity

ROOT = Path(__file__).absolute().parent.parent
HOLES = sorted((ROOT / "specs").glob("*/holes/*.fsm"))
FINDINGS = [ROOT / "docs" / "findings.md", *sorted((ROOT / "docs" / "findings").glob("*.md"))]
PICTURES = ROOT / "docs" / "pictures" / "findings"

STATED = re.compile(r"As documented: ([^.]*)\.")


def short(path: Path) -> str:
    """`hived-h04_preempted_twice`."""
    return f"{path.parent.parent.name}-{path.stem}"


each_hole = pytest.mark.parametrize("path", HOLES, ids=short)


@cache
def model(path: Path, *, as_documented: bool = False) -> m.Model:
    loaded = load([path], as_documented=as_documented)
    assert loaded.model is not None, [d.message for d in loaded.diagnostics]
    return loaded.model


@cache
def explored(path: Path, *, as_documented: bool = False) -> tuple[Exploration, ...]:
    """The systems of the file, not those of what it imports."""
    of = model(path, as_documented=as_documented)
    return tuple(explore(of, x) for x in of.systems.values() if Path(x.span.source.name) == path)


def stated(doc: str) -> list[str]:
    """What a doc comment says will go wrong."""
    return [" ".join(x.split()) for found in STATED.findall(doc) for x in found.split(";")]


def told(v: Verdict) -> str:
    """A violation in the words of the doc comments."""
    name = v.kind if v.kind == "deadlock" else f"{v.kind} {v.name}"
    if v.trace is None:
        return name
    count = len(v.trace.entries)
    return f"{name} in {count} step{'s' * (count != 1)}"


# The documents -------------------------------------------------------------------------------------------------------


@each_hole
def test_as_documented_each_system_goes_wrong_as_it_says(path: Path) -> None:
    for x in explored(path, as_documented=True):
        assert x.complete
        unchecked = {f"property {v.name}" for v in x.verdicts if v.outcome == "not checked"}
        said = [s for s in stated(x.system.doc) if s.partition(" in ")[0] not in unchecked]
        assert sorted(told(v) for v in x.violations) == sorted(said), x.system.qualified
        assert x.violations, f"{x.system.qualified} shows no hole"


@each_hole
def test_as_documented_the_checks_find_what_is_said_of_locks_and_machines(path: Path) -> None:
    of = model(path, as_documented=True)
    found = {d.rule.code for d in check(of) if d.severity is Severity.ERROR}
    said = [*(locks.doc for x in of.modules for locks in x.locks), *(x.doc for x in of.machines.values())]
    assert found == {code for doc in said for code in stated(doc)}


@each_hole
def test_each_file_says_what_goes_wrong(path: Path) -> None:
    of = model(path)
    said = [x.doc for x in of.systems.values()] + [locks.doc for x in of.modules for locks in x.locks]
    assert any(stated(doc) for doc in said)


# Their repair --------------------------------------------------------------------------------------------------------


@each_hole
def test_amended_nothing_goes_wrong(path: Path) -> None:
    assert [d for d in check(model(path)) if d.severity > Severity.NOTE] == []
    for x in explored(path):
        assert x.complete
        assert [told(v) for v in x.violations] == []


@each_hole
def test_the_repair_is_seen_in_a_worked_example(path: Path) -> None:
    scenarios = model(path).scenarios.values()
    assert [x.failure for x in (play(model(path), s) for s in scenarios) if not x.passed] == []
    documented = model(path, as_documented=True)
    left_out = len(scenarios) - len(documented.scenarios)  # these speak of what only the repair declares
    if documented.systems:
        assert left_out or any(not play(documented, s).passed for s in documented.scenarios.values())


# Where they are ------------------------------------------------------------------------------------------------------


def test_commands_pass_over_studies_unless_they_are_named() -> None:
    assert {x.source.name for x in load([ROOT / "specs"]).parsed} & set(map(str, HOLES)) == set()
    for folder in {x.parent for x in HOLES}:
        assert [x.source.name for x in read([folder])[0]] == [str(x) for x in HOLES if x.parent == folder]


# What is shown of them -----------------------------------------------------------------------------------------------


def pictures() -> Iterator[tuple[Path, str]]:
    """Each system's first stated violation as a sequence diagram."""
    for path in HOLES:
        for x in explored(path, as_documented=True):
            (shown,) = [v for v in x.violations if told(v) == stated(x.system.doc)[0]][:1]
            if shown.trace is not None and shown.trace.entries:
                title = f"{x.system.qualified}: {told(shown)}"
                yield PICTURES / f"{short(path)}-{x.system.name}.svg", as_svg(violation(title, shown))


def test_the_pictures_are_those_of_the_holes() -> None:
    drawn = dict(pictures())
    assert {p.name for p in PICTURES.glob("*")} == {p.name for p in drawn}
    for path, text in drawn.items():
        assert path.read_text("utf-8") == text, f"{path.name}: `python tests/test_holes.py` draws it anew"


def test_every_picture_is_shown() -> None:
    text = "".join(x.read_text("utf-8") for x in FINDINGS)
    assert [p.name for p in PICTURES.glob("*.svg") if f"../pictures/findings/{p.name}" not in text] == []


@pytest.mark.full(reason="commands of a page; others of that kind are tested one by one")
@pytest.mark.parametrize("document", FINDINGS, ids=lambda p: p.stem)
def test_the_findings_print_what_the_commands_print(document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert list(followed(document))


def test_every_hole_is_told() -> None:
    for path in HOLES:
        findings = ROOT / "docs" / "findings" / f"{path.parent.parent.name}.md"
        assert path.relative_to(ROOT).as_posix() in findings.read_text("utf-8")


def main() -> None:
    """Draw the pictures, and put into the findings what the commands print."""
    drawn = dict(pictures())
    PICTURES.mkdir(parents=True, exist_ok=True)
    for path in PICTURES.glob("*.svg"):
        if path not in drawn:
            path.unlink()
    for path, text in drawn.items():
        path.write_text(text, "utf-8")
    os.chdir(ROOT)
    for document in FINDINGS:
        text = document.read_text("utf-8")
        for block in blocks(document):
            if block.language == "console":
                printed = "\n".join(f"$ {c}\n{abridged(told, renewed(c, told))}" for c, told in commands(block))
                text = text.replace(f"```console\n{block.text}```", f"```console\n{printed}\n```", 1)
        document.write_text(text, "utf-8")


def abridged(before: str, now: str) -> str:
    """Without the runs of those violations that were shown without them before."""
    for head in re.findall(r"^(  violated: [^(\n]*)\([^\n]*\n…$", before, re.MULTILINE):
        now = re.sub(rf"^({re.escape(head)}\([^\n]*\n)(?: {{4}}[^\n]*(?:\n|$))+", r"\1…\n", now, flags=re.MULTILINE)
    return now.rstrip("\n")


if __name__ == "__main__":
    sys.exit(main())
