"""The JSON documents of `check`, `verify`, `test` and `diff`, as types.

The functions that make them are checked against these types, and `docs/schema` is made from them (`formats.schema`).
Fields may be added to a shape; one that is removed or changes its meaning raises `data.VERSION`.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

# Findings ------------------------------------------------------------------------------------------------------------


class Place(TypedDict):
    """A place in a file. Lines and columns count from 1, columns in code points; the end is one behind the last."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


class Label(Place):
    """A further place that explains a finding."""

    text: str


class Fix(Place):
    """A change that settles a finding: put `text` where the place is."""

    title: str
    text: str


class Diagnostic(Place):
    """A finding: what is wrong, and where."""

    code: str
    rule: str
    severity: Literal["error", "warning", "note"]
    message: str
    labels: list[Label]
    notes: list[str]
    help: str | None
    fix: Fix | None


class Summary(TypedDict):
    """How many findings there are."""

    errors: int
    warnings: int
    notes: int


class Diagnostics(TypedDict):
    """What `fsm check` finds; of commands that need a model, why there is none."""

    summary: Summary
    diagnostics: list[Diagnostic]


# Runs ----------------------------------------------------------------------------------------------------------------


class Instance(TypedDict):
    """An instance in a world. Values are those of JSON; instances go by their names, sets are lists."""

    machine: str
    state: str
    params: dict[str, Any]
    fields: dict[str, Any]


class World(TypedDict):
    """Everything that can change, between two steps."""

    instances: dict[str, Instance]
    channels: dict[str, list[str]]
    pending: list[str]
    down: bool


class Cause(TypedDict):
    """Something that happened in a step, what it led to there, and what that caused."""

    what: str
    then: str | None
    inside: list[Cause]


class Values(TypedDict):
    """Of something that has changed."""

    before: str
    after: str


class Fault(TypedDict):
    """Why a step failed."""

    kind: str
    instance: str | None
    message: str
    at: str


class Step(TypedDict):
    """A step, all that happened in it, and the world after it; of a step that failed, still the world before."""

    step: str
    happenings: list[str]
    cascade: Cause
    changes: dict[str, Values]
    world: World
    fault: Fault | None


class Trace(TypedDict):
    """A run. `loop`: the place in `steps`, from 0, of the first of those that are repeated for ever; where it is the
    number of steps, nothing happens any more."""

    start: World
    steps: list[Step]
    loop: int | None


# Verdicts ------------------------------------------------------------------------------------------------------------


class Images(TypedDict):
    """The system that is refined: before a step that it does not have, and after it; or as it begins, and as it is said
    to begin."""

    before: World
    after: World


class Verdict(TypedDict):
    """One thing asked, and the answer; `basis` is the evidence. `title`: what a list shows, which tells apart the steps
    that fail. `cause`: of a violation that has a run, what goes
    wrong first on it. `group`: of a violation, the place of its group in `groups`, else null. `limit`: null, or which
    limit ended the search for a simpler run. `relies`: of a property that holds, steps that no fairness promises, one
    of which has to come, and `trace` is then a run that stands still and breaks it; null where this was not examined.
    `images`: null, or of a refinement that is violated by a step or in the beginning. `stutters`: of a refinement that
    holds, the transitions of rows that are followed, but only in steps without a counterpart in the refined system."""

    kind: Literal["invariant", "deadlock", "fault", "reachable", "property", "refinement"]
    name: str
    title: str
    outcome: Literal["holds", "violated", "not checked", "unknown"]
    basis: str
    explanation: list[str]
    trace: Trace | None
    cause: str | None
    group: int | None
    limit: str | None
    relies: list[str] | None
    stutters: list[Unfollowed]
    images: Images | None


class Row(Place):
    """A row of a machine (qualified), by its label or trigger; `entry(Done)` is what is done on entry to a state."""

    machine: str
    row: str


class Group(TypedDict):
    """Violations that are one thing to repair. `name`: of what the author asked for, else null; `fault`: the kind of a
    step that fails, else null. What matters to that kind is not null: `machine` and `channel` (qualified), `event`,
    `action` (whose answer is awaited), `field`. `states`: where there is a violation for each state. `rows`: the row
    that fails, or those that are enabled at once. `led_by`: if the first violation is in the library, the last row of
    the author's on its run, else null. `steps`: of the shortest run, null if there is none. `ends_in`: of a property,
    the places of the groups of faults because of which its run goes no further. `verdicts`: the places in `verdicts`,
    the one with the shortest run first."""

    title: str
    kind: Literal["invariant", "deadlock", "fault", "reachable", "property", "refinement"]
    name: str | None
    fault: str | None
    machine: str | None
    event: str | None
    action: str | None
    field: str | None
    channel: str | None
    states: list[str]
    rows: list[Row]
    led_by: Row | None
    steps: int | None
    ends_in: list[int]
    verdicts: list[int]


class Unfollowed(Place):
    """A transition that no run follows: its label, its source, and the place of its row. Rows with several sources have
    several."""

    machine: str
    transition: str
    index: int
    source: str


class Exploration(TypedDict):
    """What exploring a system has found. `beyond`: how many of the states are beyond the bounds of the system
    (`explore while`), so that no step from them was followed; `stopped`: null, or why not everything was explored;
    `at_violation`: did it stop because something is violated; `explored`: what was explored, and what may be missing;
    `groups`: the violations, by what has to be repaired, the author's own properties first; `levels`: how many states
    were found at each depth; `note`: null, or what could have been faster and why it was not."""

    name: str
    module: str
    states: int
    beyond: int
    transitions: int
    depth: int
    seconds: float
    verdict: Literal["holds", "violated", "bounded"]
    stopped: str | None
    at_violation: bool
    explored: str
    note: str | None
    levels: list[int]
    verdicts: list[Verdict]
    groups: list[Group]
    never_followed: list[Unfollowed]


class Question(TypedDict):
    """A column of a table of repairs: something that is asked of a system. `title`: what is violated where it does not
    hold."""

    kind: Literal["invariant", "deadlock", "fault", "reachable", "property", "refinement"]
    name: str
    title: str


class RepairRow(TypedDict):
    """The verdicts on a system without repairs (`none`), with `one`, or with `all`. `name`, `reason`, `amendments`: of
    the one repair, or, for `all`, of the alternative that comes first; else null and empty. `outcomes`: in the order of
    the questions, null where there is no such question. `fails`: do some steps fail, so that what holds, unless it is a
    `reachable`, holds only up to them? `why`: null, or why there is no such system with these repairs."""

    repairs: Literal["none", "one", "all"]
    name: str | None
    reason: str | None
    amendments: list[Place]
    outcomes: list[Literal["holds", "violated", "unknown"] | None]
    fails: bool
    why: str | None


class Repairs(TypedDict):
    """The verdicts on a system, with each of its repairs alone."""

    system: str
    module: str
    questions: list[Question]
    rows: list[RepairRow]


class Alternative(TypedDict):
    """A repair that does not apply, as another one (`instead`: its name, or its reason) replaces the same row."""

    name: str | None
    reason: str
    module: str
    machine: str
    row: str
    instead: str


class Verify(Diagnostics):
    """What `fsm verify` finds: the explorations, and the violations at their places. `systems_left_out`: as documented,
    those that need what only amendments declare. `alternatives`: the repairs that do not apply. `repairs`: with
    `--each-amendment`, a table for each system."""

    systems: list[Exploration]
    systems_left_out: list[LeftOut]
    alternatives: list[Alternative]
    repairs: list[Repairs]


# Scenarios -----------------------------------------------------------------------------------------------------------


class Scenario(TypedDict):
    """A worked example, played."""

    name: str
    module: str
    title: str
    passed: bool
    message: str | None
    trace: Trace


class LeftOut(TypedDict):
    """A scenario or system that speaks of what only amendments declare. A system's title is its name."""

    name: str
    module: str
    title: str
    why: str


class Test(Diagnostics):
    """What `fsm test` finds."""

    passed: int
    failed: int
    undecided: list[str]
    scenarios: list[Scenario]
    left_out: list[LeftOut]


# Differences ---------------------------------------------------------------------------------------------------------


class Change(TypedDict):
    """Something that is not as it was: `was` and `now` are texts or names, `details` say what is different."""

    kind: Literal["added", "removed", "changed", "renamed", "moved"]
    what: str
    name: str
    was: str | None
    now: str | None
    details: list[str]
    before: Place | None
    after: Place | None


class Part(TypedDict):
    """A machine, system or module that has changed. `renamed_states`: new names by old ones."""

    owner: Literal["machine", "system", "module"]
    name: str
    kind: Literal["added", "removed", "changed", "renamed", "moved"] | None
    renamed_states: dict[str, str]
    changes: list[Change]


class Run(TypedDict):
    """A shortest run that one version allows and the other does not; `why`: what the other does instead."""

    allowed_by: Literal["old", "new"]
    why: str
    steps: list[str]
    trace: Trace


class Behaviour(TypedDict):
    """Two versions of a system (`alone`: of one machine by itself), run side by side; `basis` is how far."""

    name: str
    alone: bool
    outcome: Literal["same", "different", "unknown"]
    basis: str
    runs: list[Run]


class Answer(TypedDict):
    """A question with another answer than before; null: it is not asked in that version."""

    scope: str
    asked: str
    old: str | None
    new: str | None
    explanation: list[str]
    trace: Trace | None


class Diff(TypedDict):
    """What `fsm diff` finds."""

    old: str
    new: str
    different: bool
    parts: list[Part]
    behaviours: list[Behaviour]
    answers: list[Answer]
    undecided: list[str]


# Logs ----------------------------------------------------------------------------------------------------------------


class SystemName(TypedDict):
    """A system, and the module that declares it."""

    name: str
    module: str


class LogLines(TypedDict):
    """How many lines of a log were read, say something, say nothing, and cannot be read; why the first of those."""

    read: int
    matched: int
    skipped: int
    unreadable: int
    first_unreadable: str | None


class LoggedStep(TypedDict):
    """A step of the run that explains a log. `lines`: those that told of it; none: it was hidden."""

    number: int
    step: str
    lines: list[int]
    happenings: list[str]


class RowCount(TypedDict):
    """How often a row was followed."""

    machine: str
    row: str
    arrow: str
    count: int


class LogChange(TypedDict):
    """A change of a log after which it is explained: a line that repeats `other`, is swapped with `other`, is one too
    many, or has one of `steps` missing before it."""

    kind: Literal["duplicate", "swapped", "missing", "superfluous"]
    line: int
    other: int | None
    steps: list[str]
    message: str


class LogAmendment(TypedDict):
    """A row that an amendment has added or changed."""

    machine: str
    row: str
    reason: str


class OtherReading(TypedDict):
    """The spec as documented, or with its amendments: whichever was not asked for explains the line."""

    as_documented: bool
    rows: list[LogAmendment]


class Unexplained(TypedDict):
    """The first line that nothing explains. `worlds`: how many were possible before it; `world`: the likeliest.
    `all_tried`: whether every change was tried."""

    line: int
    text: str
    says: str
    worlds: int
    world: World
    reasons: list[str]
    enabled: list[str]
    changes: list[LogChange]
    all_tried: bool
    other_reading: OtherReading | None


class Explain(TypedDict):
    """What `fsm explain LOG` finds. `run` is the whole run with `--show`, else its last steps. `unexplained`: so many
    lines are explained by nothing, of which `failure` is the first."""

    system: SystemName
    log: str
    outcome: Literal["explained", "not explained", "nothing to explain", "undecided"]
    undecided: str | None
    lines: LogLines
    steps: int
    hidden: int
    names: dict[str, str]
    run: list[LoggedStep]
    coverage: list[RowCount]
    unexplained: int
    failure: Unexplained | None
