"""Which violations of a system are one and the same to its author, and in which order they are worth reading.

One missing row makes the same event unhandled in nine states, and that is one thing to repair. So failing steps are
grouped by what fails: the kind of the fault, the event and the machine, the field or channel, and the row. Everything
that the author asked for (invariants, properties, `reachable`, `refines`) is a group of its own and comes first, with
two exceptions. The faults that end the run of a property come before it, for they are to be repaired first. A
`reachable` that is never true comes last, for it may be a consequence of any step that fails. Properties come after
invariants, for a promise that is missing violates many of them. Groups are computed from the values of faults and
runs, never from messages; every output uses these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.model.workspace import shipped
from fsmdsl.runs.search_result import fault_key
from fsmdsl.runs.trace import Trace
from fsmdsl.runs.verdicts.verdict import Exploration, Verdict, VerdictKind, is_own
from fsmdsl.step import Fault, Followed
from fsmdsl.step.instances import Roster
from fsmdsl.step.world import (
    Cause,
    DivisionByZero,
    Down,
    EndlessRound,
    FaultKind,
    Full,
    Lost,
    Nested,
    NoFirst,
    NoInstance,
    NoItem,
    NoKey,
    NoMessage,
    NoStart,
    NotAwaited,
    NotDown,
    NoTimer,
    Overlap,
    Reentrance,
    StandsStill,
    Unfit,
    Unhandled,
    Waiting,
)
from fsmdsl.text.source import Span

_RANKS: Mapping[VerdictKind, int] = {
    "invariant": 0, "refinement": 0, "property": 1, "fault": 2, "deadlock": 2, "reachable": 3,
}  # fmt: skip

MAX_FAULTS = 3
"""Maximum number of faults that a property is said to end in."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a machine, or what is done on entry to a state or exit from it."""

    machine: str
    """Qualified."""
    name: str
    """Its label, else its trigger; `entry(Completed)` of a hook."""
    span: Span

    @property
    def is_shipped(self) -> bool:
        """Is it a row of the library?"""
        return shipped(self.span.source.name)

    def __str__(self) -> str:
        return f"`{self.name}` of `{_local(self.machine)}`"


@dataclass(frozen=True, slots=True)
class Subject:
    """What the violations of a group have in common. What does not matter to a kind of fault is None."""

    kind: VerdictKind
    name: str = ""
    """Of what the author asked for."""
    fault: FaultKind | None = None
    """Of a failing step."""
    cause: type[Cause] | None = None
    machine: str | None = None
    """The machine of the instance that fails (qualified), or whose invariant it is."""
    event: str | None = None
    """What the instance receives; of an action `action.outcome`."""
    action: str | None = None
    """Whose answer is awaited."""
    field: str | None = None
    """Where a value does not fit: a field, a parameter, a part of a record."""
    of: str | None = None
    """The event, action or record of a parameter or part."""
    channel: str | None = None
    """Qualified."""
    rows: tuple[Row, ...] = ()
    """The row that fails; rows that are enabled at once."""
    span: Span | None = None
    """Where no row fails: the place."""


@dataclass(frozen=True, slots=True)
class Member:
    """One violation of a group."""

    verdict: int
    """Its place among the verdicts."""
    title: str
    """What is wrong, in a phrase."""
    row: Row | None
    """The row that fails, or that sends what is not taken."""


@dataclass(frozen=True, slots=True)
class Group:
    """Violations that are one thing to repair."""

    subject: Subject
    phrase: str
    """What is wrong."""
    members: tuple[Member, ...]
    """The one with the shortest run first."""
    steps: int | None
    """Of the shortest run; None: none has a run."""
    states: tuple[str, ...]
    """The states in which it happens, where there may be several."""
    led_by: Row | None
    """Where the first fails in the library: the last row of the author's own on its run."""
    span: Span
    """Where to show it in the text: never in the library, where a row of the author's leads to it."""
    ends_in: tuple[Group, ...] = ()
    """Of a property: the faults because of which its run does not go on. They come before it."""

    @property
    def first(self) -> int:
        """The place of the violation with the shortest run among the verdicts."""
        return self.members[0].verdict

    @property
    def row(self) -> Row | None:
        """The row that fails, or that sends what is not taken, on the shortest run."""
        return self.members[0].row

    @property
    def title(self) -> str:
        """What is wrong, and the place of the row where others may have its label."""
        return f"{self.phrase}{_place(self.subject)}"

    @property
    def is_own(self) -> bool:
        """See `is_own`."""
        return is_own(self.subject.kind)

    @property
    def heading(self) -> str:
        """The title, after the author's row where the library fails."""
        if self.led_by is None:
            return self.title
        return f"after {self.led_by} ({self.led_by.span}), {self.title}"

    @property
    def details(self) -> tuple[str, ...]:
        """What else there is to say."""
        return (*self.places, *self.end)

    @property
    def places(self) -> tuple[str, ...]:
        """The states, the row of the library."""
        lines = [f"in {', '.join(self.states)}"] if len(self.states) > 1 else []
        if self.led_by is not None and self.row is not None:
            lines.append(f"in the library: {self.row} ({self.row.span})")
        return tuple(lines)

    @property
    def end(self) -> tuple[str, ...]:
        """Which faults are to be repaired first."""
        if not self.ends_in:
            return ()
        faults, them = ("a fault", "it") if len(self.ends_in) == 1 else (f"{len(self.ends_in)} faults", "them")
        titles = "; ".join(g.title for g in self.ends_in[:MAX_FAULTS])
        more = f" and {len(self.ends_in) - MAX_FAULTS} more" if len(self.ends_in) > MAX_FAULTS else ""
        return (f"its run goes no further because of {faults}; repair {them} first: {titles}{more}",)


def violation_groups(x: Exploration, model: m.Model) -> list[Group]:
    """All violations, each in one group, in the order of `_RANKS`, each property behind the faults that end its run;
    otherwise by the length of the shortest run."""
    violations = [n for n, v in enumerate(x.verdicts) if v.outcome == "violated"]
    if not violations:
        return []
    roster = Roster(model, x.system)
    rows = list(chain.from_iterable(map(_rows, dict.fromkeys(roster.machines))))
    members: dict[Subject, list[int]] = {}
    for n in violations:
        members.setdefault(_subject(roster, rows, x.verdicts[n]), []).append(n)
    groups = [_group(roster, rows, x, subject, numbers) for subject, numbers in members.items()]
    by_steps = sorted(groups, key=lambda g: (_RANKS[g.subject.kind], *_by_steps(g.steps)))
    return list(dict.fromkeys(chain.from_iterable((*g.ends_in, g) for g in _with_ends(x, by_steps))))


def _with_ends(x: Exploration, groups: Sequence[Group]) -> Iterator[Group]:
    """The groups, each with the faults that end its run."""
    faults = {n: fault_key(v.fault) for n, v in enumerate(x.verdicts) if v.fault is not None}
    for g in groups:
        ends = {fault_key(fault) for fault in x.verdicts[g.first].ends_in}
        yield replace(
            g, ends_in=tuple(y for y in groups if any(faults.get(member.verdict) in ends for member in y.members))
        )


def _group(roster: Roster, rows: Sequence[Row], x: Exploration, subject: Subject, numbers: list[int]) -> Group:
    ordered = sorted(numbers, key=lambda n: _by_steps(x.verdicts[n].steps))
    first = x.verdicts[ordered[0]]
    states = tuple(dict.fromkeys(chain.from_iterable(_states(x.verdicts[n]) for n in ordered)))
    members = _members(rows, subject, {n: x.verdicts[n] for n in ordered})
    at = first.span if members[0].row is None else members[0].row.span
    led_by = last_own_row(first.trace) if first.trace is not None and shipped(at.source.name) else None
    span = first.span if led_by is None else led_by.span
    return Group(subject, _phrase(subject, states, first), members, first.steps, states, led_by, span)


def _members(rows: Sequence[Row], subject: Subject, verdicts: Mapping[int, Verdict]) -> tuple[Member, ...]:
    """Each with a title. Those that differ only in who sends name it, and the place of the send."""
    titles = {n: f"{_phrase(subject, _states(v), v)}{_place(subject)}" for n, v in verdicts.items()}
    counts = Counter(titles.values())
    members = []
    for n, v in verdicts.items():
        row = None if v.fault is None else _row_at(rows, v.fault.span)
        sender = f", sent by {row} ({v.span})" if counts[titles[n]] > 1 and row is not None else ""
        members.append(Member(n, f"{titles[n]}{sender}", row))
    return tuple(members)


def _by_steps(steps: int | None) -> tuple[bool, int]:
    """What is known without a run comes last."""
    return (True, 0) if steps is None else (False, steps)


def _rows(machine: m.Machine) -> Iterator[Row]:
    """Each row once, also where it has several sources."""
    transitions = {(t.span.start, t.span.end): Row(machine.qualified, t.name, t.span) for t in machine.transitions}
    hooks = {(h.span.start, h.span.end): Row(machine.qualified, f"{h.kind}({h.state})", h.span) for h in machine.hooks}
    yield from (*transitions.values(), *hooks.values())


def _row_at(rows: Sequence[Row], span: Span) -> Row | None:
    """The row that a place is in."""
    around = (r for r in rows if r.span.contains(span))
    return min(around, key=lambda r: r.span.end - r.span.start, default=None)


def last_own_row(trace: Trace, steps: int | None = None) -> Row | None:
    """The last row on a run, or on its first steps, that is not of the library."""
    for h in reversed([h for e in trace.entries[:steps] for h in e.cascade if isinstance(h, Followed)]):
        machine = trace.roster.machines[h.instance]
        t = machine.transitions[h.transition]
        row = Row(machine.qualified, t.name, t.span)
        if not row.is_shipped:
            return row
    return None


# What violations have in common --------------------------------------------------------------------------------------


def _subject(roster: Roster, rows: Sequence[Row], v: Verdict) -> Subject:
    if v.fault is None:
        return Subject(v.kind, v.name, machine=v.machine, span=v.span)
    fault = v.fault
    machine = None if fault.instance is None else roster.machines[fault.instance].qualified
    row = _row_at(rows, fault.span)
    at = (row,) if row is not None else ()
    span = fault.span if row is None else None

    of_kind = Subject("fault", "", fault.kind, type(fault.cause), machine)
    match fault.cause:
        case Unhandled(trigger):
            return replace(of_kind, event=trigger)
        case NotAwaited(action, outcome):
            return replace(of_kind, event=f"{action}.{outcome}")
        case Reentrance(event) | Nested(event):
            return replace(of_kind, event=event)
        case Waiting(event, action):
            return replace(of_kind, event=event, action=action)
        case StandsStill(what, instance, action):
            return replace(of_kind, event=what, action=f"{roster.name(instance)}.{action}")
        case Down(what):
            return replace(of_kind, event=what)
        case Overlap(transitions):
            return replace(of_kind, rows=tuple(dict.fromkeys(_of_index(roster, fault, n) for n in transitions)))
        case EndlessRound(transition) | NoTimer(transition):
            return replace(of_kind, rows=(_of_index(roster, fault, transition),))
        case Full(queue) | NoMessage(queue):
            return replace(of_kind, channel=roster.queues[queue].channel.qualified, rows=at, span=span)
        case Unfit(_, name, of):
            return replace(of_kind, field=name, of=of or None, rows=at, span=span)
        case NoInstance() | NoFirst() | NoItem() | NoKey() | DivisionByZero():
            return replace(of_kind, rows=at, span=span)
        case Lost() | NoStart() | NotDown():
            return of_kind
        case _:
            assert_never(fault.cause)


def _of_index(roster: Roster, fault: Fault, index: int) -> Row:
    assert fault.instance is not None
    machine = roster.machines[fault.instance]
    t = machine.transitions[index]
    return Row(machine.qualified, t.name, t.span)


def _states(v: Verdict) -> tuple[str, ...]:
    """The state in which a step fails, for faults of which there is one for each state."""
    match None if v.fault is None else v.fault.cause:
        case Unhandled(state=state) | Overlap(state=state) | Lost(state=state) | NoTimer(state=state):
            return (state,)
        case _:
            return ()


# In words ------------------------------------------------------------------------------------------------------------


def _phrase(subject: Subject, states: Sequence[str], v: Verdict) -> str:
    if v.fault is None:
        return v.label
    fault = v.fault
    machine = f"`{_local(subject.machine)}`" if subject.machine is not None else "the system"
    row = next(map(str, subject.rows), machine)
    match fault.cause:
        case Unhandled():
            return f"`{subject.event}` is unhandled in {_count(states)} of {machine}"
        case NotAwaited():
            return f"{machine} is not waiting for `{subject.event}`"
        case Reentrance():
            return f"{machine} receives `{subject.event}` in the middle of its own transition"
        case Nested(_, depth):
            return f"{machine} receives `{subject.event}` after {depth} nested sends"
        case Waiting():
            what = "a timer fires" if subject.event is None else f"`{subject.event}` arrives"
            return f"{what} while {machine} waits for the answer to `{subject.action}`"
        case StandsStill():
            return f"`{subject.event}` arrives while the system waits for the answer to `{subject.action}`"
        case Down():
            return f"`{subject.event}` arrives while the system is down"
        case Overlap():
            names = " and ".join(f"`{r.name}`" for r in subject.rows)
            return f"{names} of {machine} overlap in {_count(states)}"
        case EndlessRound():
            return f"the round of {machine} does not end: `{subject.rows[0].name}` is followed again and again"
        case NoTimer():
            return f"the timer {row} cannot fire in {_count(states)}"
        case Full():
            channel = f"`{_local(subject.channel or '')}`"
            return f"{row} overflows {channel}" if subject.rows else f"channel {channel} overflows"
        case NoMessage():
            return f"channel `{_local(subject.channel or '')}` has no such message"
        case Unfit():
            return f"{_unfit(subject, fault.cause)} in {row}"
        case NoInstance(of):
            return f"`{of.quote}` is none in {row}"
        case NoFirst(of) | NoItem(of) | NoKey(of):
            return f"`{of.quote}` lacks an item in {row}"
        case DivisionByZero():
            return f"division by zero in {row}"
        case Lost():
            return f"a crash finds {machine} in {_count(states)} that {_do(states)} not survive one"
        case NoStart():
            return "no initial state satisfies `start when`"
        case NotDown():
            return "`recover` runs without a crash"
        case _:
            assert_never(fault.cause)


def _unfit(subject: Subject, cause: Unfit) -> str:
    of = f" of `{_local(subject.of)}`" if subject.of is not None else ""
    whose = f"`{subject.field}`{of}" if subject.field else "a map"
    match cause.misfit.kind:
        case "range":
            return f"{whose} is out of range"
        case "overflow":
            return f"{whose} gets too long"
        case "none":
            return f"{whose} becomes none"
        case _:
            assert_never(cause.misfit.kind)


def _count(states: Sequence[str]) -> str:
    return f"`{states[0]}`" if len(states) == 1 else f"{len(states)} states"


def _do(states: Sequence[str]) -> str:
    return "does" if len(states) == 1 else "do"


def _place(subject: Subject) -> str:
    """Where the row is; nothing where the names of rows, or the event, say enough."""
    if subject.cause not in (Full, Unfit, NoInstance, NoFirst, NoItem, NoKey, DivisionByZero):
        return ""
    return f" ({subject.rows[0].span})" if subject.rows else f" ({subject.span})"


def _local(qualified: str) -> str:
    return qualified.rpartition(".")[2]
