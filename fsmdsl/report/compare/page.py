"""A difference as a page: one HTML file, which fetches nothing, with the diagrams in it."""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl.dataclasses import dataclass
from fsmdsl.report.compare import Behaviour, Compared, Difference
from fsmdsl.report.compare.pictures import merged
from fsmdsl.report.compare.render_text import MARKS, OUTCOMES, about, alike, sentence, tally, turned
from fsmdsl.report.page import template
from fsmdsl.runs.narrative import story


@dataclass(frozen=True, slots=True)
class PartView:
    """What has changed in one machine, system or module; `svg` is a whole `<svg>` element, or empty."""

    head: str
    changes: Sequence[tuple[str, str, Sequence[str]]]
    """Kind and sign, the sentence, its details."""
    svg: str
    partly: bool
    """The diagram is not of the whole machine."""


@dataclass(frozen=True, slots=True)
class BehaviourView:
    """One of what was run side by side."""

    head: str
    outcome: str
    runs: Sequence[tuple[str, str, str]]
    """What the run shows, its steps, and what the other version does."""


def page(difference: Difference, old: str, new: str, svgs: dict[str, str]) -> str:
    """The whole file; `svgs` are the diagrams, by the name of the machine."""
    rendered = template("fsmdsl.report.compare", "diff.html.jinja").render(
        old=old,
        new=new,
        tally=tally(difference),
        parts=[_part(x, svgs.get(x.name, "")) for x in difference.parts],
        behaviours=[_behaviour(x, old, new) for x in difference.behaviours if x.outcome != "same"],
        same=[x for x in difference.behaviours if x.outcome == "same"],
        turns=[(t, turned(t), "\n".join([] if t.trace is None else story(t.trace))) for t in difference.turns],
    )
    assert isinstance(rendered, str)
    return rendered


def _part(x: Compared, svg: str) -> PartView:
    head = f"{x.owner} {x.name}" + (f": {x.kind}" if x.kind in ("added", "removed") else "")
    changes = []
    for c in x.changes:
        first, *more = sentence(c)
        changes.append((f"{c.kind} {MARKS[c.kind]}", first, more))
    both = merged(x) if svg else None
    return PartView(head, changes, svg, both is not None and not both.whole)


def _behaviour(b: Behaviour, old: str, new: str) -> BehaviourView:
    runs = []
    for run in b.runs[:1] if alike(b) else b.runs:
        mine, other = (old, new) if run.allowed_by == "old" else (new, old)
        head = f"The same steps lead elsewhere; in {mine}:" if alike(b) else f"Only {mine} allows this:"
        runs.append((head, "\n".join(story(run.trace)), f"In {other}: {run.why}"))
    return BehaviourView(f"{about(b)}: {OUTCOMES[b.outcome]} ({b.basis})", b.outcome, runs)
