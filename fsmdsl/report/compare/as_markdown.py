"""A difference for a pull request: what has changed in a few lines; runs and diagrams are folded away."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl.report.compare import Behaviour, Compared, Difference
from fsmdsl.report.compare.pictures import as_mermaid, merged
from fsmdsl.report.compare.render_text import MARKS, OUTCOMES, about, alike, alive, sentence, tally, turned
from fsmdsl.report.formats.markdown import cell, fenced, text
from fsmdsl.runs.narrative import story

MAX_CHANGES = 30
"""Changes of one machine, or other answers, that are shown; of the others, how many there are."""

ROOM = 40_000
"""Letters after which runs and diagrams are left out: GitHub takes 65,536."""


def as_markdown(difference: Difference, old: str, new: str) -> str:
    """GitHub's Markdown."""
    lines = [f"### fsm diff {text(f'`{old}` → `{new}`')}: {tally(difference)}", ""]
    for part in difference.parts:
        lines += _part(part, drawn=_size(lines) < ROOM)
    for b in difference.behaviours:
        if b.outcome != "same":
            lines += _behaviour(b, old, new, with_runs=_size(lines) < ROOM)
    same = sum(b.outcome == "same" for b in difference.behaviours)
    if same:
        lines += [f"{alive(same)}.", ""]
    lines += _answers(difference)
    return "\n".join(lines).rstrip("\n") + "\n"


def _size(lines: list[str]) -> int:
    return sum(map(len, lines))


def _part(part: Compared, *, drawn: bool) -> Iterator[str]:
    if part.kind in ("added", "removed"):
        yield from [f"**{MARKS[part.kind]} {part.kind} {part.owner}** {text(f'`{part.name}`')}", ""]
        return
    yield from [f"**{part.owner}** {text(f'`{part.name}`')}", ""]
    for change in part.changes[:MAX_CHANGES]:
        first, *more = sentence(change)
        yield f"- {MARKS[change.kind]} {text(first)}" + "".join(f"<br>{text(line)}" for line in more)
    if len(part.changes) > MAX_CHANGES:
        yield f"- … and {len(part.changes) - MAX_CHANGES} more"
    yield ""
    both = merged(part)
    if drawn and both is not None and (both.states or both.rows):
        what = "The diagram" if both.whole else "What has changed, as a diagram"
        yield from _folded(f"{what} (+ added, − removed, ~ changed)", fenced(as_mermaid(both).rstrip(), "mermaid"))


def _folded(title: str, content: str) -> list[str]:
    return [f"<details><summary>{title}</summary>", "", content, "", "</details>", ""]


def _behaviour(b: Behaviour, old: str, new: str, *, with_runs: bool) -> Iterator[str]:
    answer = f"{OUTCOMES[b.outcome]} ({b.basis})" if b.comparable else b.basis
    yield from [f"**{text(about(b))}** {text(answer)}", ""]
    if not with_runs:
        return
    for run in b.runs[:1] if alike(b) else b.runs:
        mine, other = (old, new) if run.allowed_by == "old" else (new, old)
        head = "The same steps lead elsewhere" if alike(b) else f"Only {text(f'`{mine}`')} allows this"
        lines = [*story(run.trace), f"in {other}: {run.why}"]
        yield from _folded(head, fenced("\n".join(lines), "text"))


def _answers(difference: Difference) -> Iterator[str]:
    if not difference.turns:
        return
    yield from ["| | | |", "| --- | --- | --- |"]
    for t in difference.turns[:MAX_CHANGES]:
        mark = "✗" if t.worse else "?" if t.undecided else ""
        yield f"| {mark} {cell(turned(t))} | {cell(t.scope)} | {cell(t.label)} |"
    if len(difference.turns) > MAX_CHANGES:
        yield f"| | | … and {len(difference.turns) - MAX_CHANGES} more |"
    yield ""
