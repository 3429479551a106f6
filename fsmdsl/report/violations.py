"""What is violated in a system, as text that fits on a screen: the first runs, then a line for each other group."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from fsmdsl import model as m
from fsmdsl.check.faults import fault_pages
from fsmdsl.dataclasses import dataclass
from fsmdsl.report.frames import Paint
from fsmdsl.runs.causes import Cause, causes
from fsmdsl.runs.hiding import NOTHING, Hidden
from fsmdsl.runs.narrative import steps, story
from fsmdsl.runs.violation_groups import Group, violation_groups
from fsmdsl.search import Exploration, Trace, Verdict

MAX_RUNS = 3
"""Maximum number of runs that are shown of a system."""
MAX_LINES = 12
"""Of a run but the first, if there are two others: what has more is shown with its steps alone, or where these are
more, not at all."""


@dataclass(frozen=True, slots=True)
class Style:
    """How much is printed of verdicts."""

    every: bool = False
    """Also what holds, with witnesses."""
    runs: bool = False
    """The run of every violation, also of those with one cause."""
    brief: bool = False
    """Of runs only the steps."""
    hidden: Hidden = NOTHING
    """What runs are shown without."""

    def run(self, trace: Trace) -> list[str]:
        """A run that shows something."""
        return steps(trace, self.hidden) if self.brief else story(trace, self.hidden)


@dataclass(frozen=True, slots=True)
class Reference:
    """A violation whose run was shown, to refer to from others with the same cause."""

    label: str
    system: str
    is_own: bool

    def serves(self, group: Group) -> bool:
        """Is it enough to name it? What the author asked for is never shown as part of a fault."""
        return self.is_own or not group.is_own


Previous = dict[Cause, Reference]
"""The violations whose runs were shown, by cause."""


def violation_lines(
    x: Exploration, model: m.Model, paint: Paint, style: Style, previous: Previous | None = None
) -> Iterator[str]:
    """All violations of a system, by group. `previous` has what was shown of other systems; what is shown is added."""
    groups = violation_groups(x, model)
    if style.runs:
        yield from (line for g in groups for line in _every_run(x, g, paint, style))
    else:
        yield from _Screen(x, causes(x, model), paint, style, {} if previous is None else previous).lines(groups)
    yield from _limits(x, groups, paint)


def _every_run(x: Exploration, g: Group, paint: Paint, style: Style) -> Iterator[str]:
    """The run of each violation of a group, below what is wrong in it."""
    for n, member in enumerate(g.members):
        v = x.verdicts[member.verdict]
        title = g.heading if len(g.members) == 1 else member.title
        yield _headline(title, v, paint)
        yield from (f"    {line}" for line in g.details[len(g.states) > 1 :] if n == 0)
        yield from _run(v, style)
        if n == 0:
            yield from _remedy(v, paint)


def _headline(title: str, v: Verdict, paint: Paint) -> str:
    return f"  {paint('violated', 'error')}: {title} ({v.basis})"


def _run(v: Verdict, style: Style) -> Iterator[str]:
    """A counterexample, and at its end what is wrong."""
    yield from (f"    {line}" for line in (style.run(v.trace) if v.trace is not None else ()))
    yield from (f"    {line}" for line in v.reasons)


def _remedy(v: Verdict, paint: Paint) -> Iterator[str]:
    """What to do about a failing step, and the page about it."""
    page = fault_pages().get(v.name) if v.kind == "fault" else None
    if page is not None:
        yield f"    {paint('help', 'quiet')}: {page.remedy}; see `fsm explain {page.kind}`"


class _Screen:
    """What is printed of the groups of a system: runs while there is room, then the others in a line each."""

    def __init__(
        self, x: Exploration, cause_of: dict[int, Cause], paint: Paint, style: Style, previous: Previous
    ) -> None:
        self.x, self.cause_of, self.paint, self.style = x, cause_of, paint, style
        self.references = previous
        self.runs = 0
        self.max_lines = MAX_LINES
        self.is_shortened = False
        """Is a run shown with its steps alone because there is no room for all of it?"""
        self.remedies = set[str]()
        """The remedies that were printed: each once."""
        self.rest: defaultdict[str, list[Group]] = defaultdict(list)
        """Groups whose runs are not shown, by a remark."""
        self.repeated: defaultdict[str, list[str]] = defaultdict(list)
        """Titles by what has the same cause in another system."""

    def lines(self, groups: Sequence[Group]) -> Iterator[str]:
        self.max_lines = MAX_LINES if len(groups) > 2 else MAX_LINES * (MAX_RUNS - 1)
        for g in groups:
            yield from self._group(g)
        for why, titles in self.repeated.items():
            yield f"  {self.paint('violated', 'error')}: {', '.join(titles)} ({why})"
        ways = f"`fsm verify --runs` shows {'every run in full' if self.is_shortened else 'the runs'}"
        if self.is_shortened and not self.rest:
            yield f"  {self.paint('note', 'quiet')}: of some runs, only the steps are shown ({ways})"
        for n, (remark, more) in enumerate(self.rest.items()):
            command = f" ({ways})" if n == 0 else ""
            yield f"  {self.paint('violated as well', 'error')}{remark}{command}:"
            for g in more:
                yield f"    {_length(self.x.verdicts[g.first])}: {': '.join((g.heading, *_states(g)))}"

    def _group(self, g: Group) -> Iterator[str]:
        v = self.x.verdicts[g.first]
        cause = self.cause_of.get(g.first)
        reference = None if cause is None else self.references.get(cause)
        if reference is not None and cause is not None and reference.serves(g):
            if reference.system != self.x.system.qualified:
                why = f"the same cause as {reference.label} of {reference.system}: {cause.name}"
                self.repeated[why].append(g.heading)
            else:
                self.rest[f", with the same cause as {reference.label}"].append(g)
            return
        lines = list(self._fitting_run(v))
        if v.trace is not None and not lines:
            self.rest[""].append(g)
            return
        self.runs += v.trace is not None
        if cause is not None:
            self.references[cause] = Reference(g.title, self.x.system.qualified, g.is_own)
        yield _headline(g.heading, v, self.paint)
        yield from (f"    {line}" for line in g.details)
        yield from lines
        remedy = set(_remedy(v, self.paint))
        yield from remedy - self.remedies
        self.remedies |= remedy

    def _fitting_run(self, v: Verdict) -> Iterator[str]:
        """Its run, in as many lines as there is room for; nothing where there is none."""
        if v.trace is None or self.runs == 0:
            yield from _run(v, self.style)
            return
        if self.runs == MAX_RUNS:
            return
        full = list(_run(v, self.style))
        steps_alone = list(_run(v, Style(self.style.every, False, True, self.style.hidden)))
        if len(full) <= self.max_lines:
            yield from full
        elif len(steps_alone) <= self.max_lines:
            self.is_shortened = True
            yield from steps_alone


def _length(v: Verdict) -> str:
    return "no run" if v.trace is None else v.trace.length


def _states(g: Group) -> Iterator[str]:
    if len(g.states) > 1:
        yield ", ".join(g.states)


def _limits(x: Exploration, groups: Sequence[Group], paint: Paint) -> Iterator[str]:
    """Which limits ended the searches for the simplest runs: each once, whatever the number of runs."""
    verdicts = [x.verdicts[member.verdict] for g in groups for member in g.members]
    for limit, count in Counter(v.limit for v in verdicts if v.limit).items():
        runs = "a simpler run" if count == len(verdicts) == 1 else f"simpler runs for {count} of {len(verdicts)}"
        yield f"  {paint('note', 'quiet')}: there may be {runs}: {limit}"
