"""`docs/fewer-lines.md`: both versions of each system have the same states, transitions and verdicts, and as many lines
as the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from in_process import fsm
from markdown_blocks import blocks, write
from test_cli import data as json_of

PAGE = Path(__file__).parent.parent / "docs" / "fewer-lines.md"

WORDS = {
    "ring": ("index", " % ", "size(forks)"),
    "quorum": ("subsets(copies):",),
    "window": (" % ", "window[i", "last(", " in 0.."),
    "process": ("crash of ",),
    "controller": ("import kubernetes",),
    "gossip": (" to each ", "size(inbox of next)"),
    "sizes": ("environment Office(", " extends "),
    "monitor": ("map<Member, 0..2>",),
}
"""What the second version of each system has, and the first one has not."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The systems of the page, in `before` and `after`."""
    folder = tmp_path_factory.mktemp("page")
    for block in blocks(PAGE):
        write(folder / block.words[0], block.words[1:], block.text, f"line {block.line}")
    return folder


def verdicts(explored: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Without the library's own invariant."""
    every = [(x["kind"], x["name"], x["outcome"]) for system in explored for x in system["verdicts"]]
    return [x for x in every if x[1] != "Object: enough_lives"]


def counts(explored: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(x["states"], x["transitions"]) for x in explored]


@pytest.mark.full(reason="whole specs")
def test_the_table(folder: Path) -> None:
    rows = re.findall(r"^\| \[[^|]*\| [^|]* \| (\d+) \| (\d+) \| ([\d,]+) \|$", PAGE.read_text("utf-8"), re.M)
    counted: list[tuple[str, ...]] = []
    for name, words in WORDS.items():
        texts = [(folder / which / f"{name}.fsm").read_text("utf-8") for which in ("before", "after")]
        assert [[x in text for x in words] for text in texts] == [[False] * len(words), [True] * len(words)]
        before, after = (json_of("verify", f"{x}/{name}.fsm", cwd=folder)["systems"] for x in ("before", "after"))
        assert verdicts(before) == verdicts(after)
        assert {outcome for _, _, outcome in verdicts(after)} == {"holds"}
        assert counts(before) == counts(after)
        lines = (sum(bool(x.strip()) for x in text.splitlines()) for text in texts)
        counted.append((*map(str, lines), f"{sum(states for states, _ in counts(after)):,}"))
    assert rows == counted
    assert all(int(after) < int(before) for before, after, _ in rows)


def test_the_lines_are_those_of_the_formatter(folder: Path) -> None:
    assert fsm("fmt", "--check", "before", "after", cwd=folder).returncode == 0


@pytest.mark.parametrize("which", ["before", "after"])
def test_nothing_to_complain_about(folder: Path, which: str) -> None:
    done = fsm("check", which, cwd=folder)
    assert (done.returncode, "warning" in done.stdout) == (0, False)


def test_other_sizes(folder: Path) -> None:
    told = re.findall(r"`fsm (verify [^`]*)` (passes|fails)", " ".join(PAGE.read_text("utf-8").split()))
    assert [outcome for _, outcome in told] == ["passes", "passes", "fails"]
    for command, outcome in told:
        assert fsm(*command.split(), cwd=folder).returncode == (outcome == "fails")
