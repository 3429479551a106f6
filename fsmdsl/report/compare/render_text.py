"""A difference in words, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl.report.compare import Behaviour, Change, Compared, Difference, Run, Turn
from fsmdsl.report.frames import Paint, plain
from fsmdsl.runs.narrative import story

MARKS = {"added": "+", "removed": "−", "changed": "~", "renamed": "~", "moved": "~"}
MAX_NAMES = 3
"""Maximum number of names in a summary."""
OUTCOMES = {"same": "behaves the same", "different": "behaves differently", "unknown": "shows no difference"}
"""Of two versions of a system that were run side by side, wholly or in part."""
ROLES = {"+": "good", "−": "error", "~": "warning"}


def lines(difference: Difference, old: str, new: str, paint: Paint = plain, *, every: bool = False) -> Iterator[str]:
    """All of it; `old` and `new` are what the versions are called. With `every`, also the runs behind the answers, and
    each system that behaves the same."""
    if not difference.is_different and not difference.undecided:
        yield f"{paint('same', 'good')}: {old} and {new} say the same"
        return
    for part in difference.parts:
        yield from _part(part, paint)
    for b in difference.behaviours:
        if every or b.outcome != "same":
            yield from _behaviour(b, old, new, paint)
    same = sum(b.outcome == "same" for b in difference.behaviours)
    if same and not every:
        yield paint(alive(same), "good")
    for t in difference.turns:
        yield from _turn(t, old, new, paint, every)
    yield tally(difference)


def tally(difference: Difference) -> str:
    """`5 changes in 2 machines, 1 system behaves differently, 2 changed verdicts`."""
    changes = sum(max(len(x.changes), 1) for x in difference.parts)
    different = sum(b.outcome == "different" for b in difference.behaviours)
    parts = [f"{changes} change{'s' * (changes != 1)}"] if changes else []
    if different:
        parts.append(f"{different} behave{'s' * (different == 1)} differently")
    if turns := sum(not t.undecided for t in difference.turns):
        parts.append(f"{turns} changed verdict{'s' * (turns != 1)}")
    if difference.undecided:
        names = ", ".join(difference.undecided[:MAX_NAMES])
        more = f" and {len(difference.undecided) - MAX_NAMES} more" if len(difference.undecided) > MAX_NAMES else ""
        parts.append(f"{'' if parts else 'no difference found, '}not compared to the end: {names}{more}")
    return ", ".join(parts) or "nothing has changed"


# As machines ---------------------------------------------------------------------------------------------------------


def _part(part: Compared, paint: Paint) -> Iterator[str]:
    head = f"{part.owner} {paint(part.name, 'strong')}"
    if part.kind in ("added", "removed"):
        mark = MARKS[part.kind]
        yield f"{paint(f'{mark} {part.kind}', ROLES[mark])} {head}"
        return
    yield head
    for change in part.changes:
        mark = MARKS[change.kind]
        first, *more = sentence(change)
        yield f"  {paint(mark, ROLES[mark])} {first}"
        yield from (f"      {line}" for line in more)


def sentence(change: Change) -> list[str]:
    """What has changed; further lines say in what."""
    subject = f"{change.what} `{change.name}`" if change.name else change.what
    match change.kind:
        case "renamed":
            return [f"{change.what} `{change.was}` is called `{change.now}` now", *change.details]
        case "added" | "removed":
            text = change.now or change.was
            repeated = text in ("", change.name, f"{change.what} {change.name}")
            return [f"{change.kind} {subject}", *([] if repeated else [f"`{text}`"])]
        case "changed" | "moved":
            return [f"{change.kind} {subject}", *change.details]


# As behaviour --------------------------------------------------------------------------------------------------------


def alive(same: int) -> str:
    """How many systems, and machines alone, do what they did."""
    return f"{same} behave{'s' * (same == 1)} the same"


def about(b: Behaviour) -> str:
    """What was run."""
    return f"machine {b.name} alone" if b.alone else f"system {b.name}"


def _behaviour(b: Behaviour, old: str, new: str, paint: Paint) -> Iterator[str]:
    role = {"same": "good", "different": "error", "unknown": "warning"}[b.outcome]
    word = OUTCOMES[b.outcome]
    if not b.comparable:
        yield f"{about(b)}: {paint(b.basis, role)}"
        return
    yield f"{about(b)} {paint(word, role)} ({b.basis})"
    if alike(b):
        yield f"  the same {_steps(b.runs[0])} {paint('lead elsewhere', 'strong')}; in {old}:"
        yield from (f"    {line}" for line in story(b.runs[0].trace))
        yield f"    in {new}: {b.runs[0].why}"
        return
    for run in b.runs:
        mine, other = (old, new) if run.allowed_by == "old" else (new, old)
        yield f"  only {paint(mine, 'strong')} allows these {_steps(run)}:"
        yield from (f"    {line}" for line in story(run.trace))
        yield f"    in {other}: {run.why}"


def alike(b: Behaviour) -> bool:
    """Do both versions take the same steps, and come to different states?"""
    return len(b.runs) == 2 and b.runs[0].trace.steps() == b.runs[1].trace.steps()


def _steps(run: Run) -> str:
    steps = len(run.trace.entries)
    return f"{steps} step{'s' * (steps != 1)}"


# As verdicts ---------------------------------------------------------------------------------------------------------


def turned(t: Turn) -> str:
    """`holds → violated`, `new: holds`, `no longer asked (held)`."""
    if t.old is None:
        return f"new: {t.new}"
    return f"{t.old} → {t.new}" if t.new is not None else f"gone: {t.old}"


def _turn(t: Turn, old: str, new: str, paint: Paint, every: bool) -> Iterator[str]:
    yield f"{t.scope}: {t.label}: {paint(turned(t), 'error' if t.worse else 'warning' if t.undecided else 'strong')}"
    if every and t.trace is not None:
        yield f"  in {new if t.new in ('violated', 'fails') else old}:"
        yield from (f"    {line}" for line in story(t.trace))
    yield from (f"    {line}" for line in t.explanation)
