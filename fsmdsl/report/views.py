"""What the page shows, as plain values: everything is found out and drawn by then."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.report.data import Data
from fsmdsl.text.diagnostics import Diagnostic

Urgency = str
"""`violated`, `failing`, `error`, `warning`, `bounded`, `never`: in the order in which they want attention."""


@dataclass(frozen=True, slots=True)
class Attention:
    """Something that a reader should look at: what, more of it, where the page shows it, where it stands in a spec."""

    urgency: Urgency
    mark: str
    what: str
    detail: str = ""
    href: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class RowView:
    """A line of a machine's table: the transitions that one line of the spec makes, from one or several sources."""

    id: str
    label: str
    sources: Sequence[str]
    target: str
    """Empty where the transition is internal."""
    trigger: str
    guard: str
    effects: str
    doc: str
    amended: str
    """The reason, or empty."""
    transitions: Sequence[int]
    explored: str
    """How often, for all sources; empty where nothing was explored."""
    covered: str
    logged: str
    """Empty where it was not counted."""
    never: Sequence[str]
    """Sources from which exploration never follows it."""
    place: str
    """In the spec."""


@dataclass(frozen=True, slots=True)
class CellView:
    """A cell of the state × event table, `handled`, `guarded`, `ignored`, `waiting` or `unhandled`, and the rows that
    do it."""

    kind: str
    rows: Sequence[tuple[str, str]] = ()
    """Id and label."""


@dataclass(frozen=True, slots=True)
class ReachView:
    """How much of a machine was reached: `followed` of `transitions`, `entered` of `states`; and where that was."""

    followed: int
    transitions: int
    entered: int
    states: int
    where: Sequence[tuple[str, str]]
    """Id on the page (may be empty) and name."""
    exact: bool = True
    """Are counts of all there is?"""

    @property
    def share(self) -> float:
        """Of the transitions, from 0 to 1."""
        return self.followed / self.transitions if self.transitions else 1.0


@dataclass(frozen=True, slots=True)
class MachineView:
    """A machine. `svg` is a whole `<svg>` element made by `draw`, or empty; `overlays` has for each overlay what the
    elements of the drawing count, by id."""

    id: str
    name: str
    display: str
    doc: str
    svg: str
    rows: Sequence[RowView]
    events: Sequence[str]
    matrix: Sequence[tuple[str, Sequence[CellView]]]
    amendments: Sequence[tuple[str, str]]
    """What is amended, and why."""
    amendment_count: int
    """An amendment can change several elements."""
    alternatives: Sequence[tuple[str, str, str]]
    """The repairs that do not apply: what each is called, its reason, and which repair applies instead."""
    explored: ReachView
    covered: ReachView
    logged: ReachView
    overlays: Data = field(default_factory=dict)
    is_shipped: bool = False
    """Is it a machine of the library, which the reader cannot change?"""

    @property
    def large(self) -> bool:
        """Is the drawing higher than a person scrolls? Then it is shown whole, to be zoomed."""
        height = re.search(r' height="(\d+)', self.svg[:600])
        return height is not None and int(height[1]) > 1400

    @property
    def waits(self) -> bool:
        """Is there a message that stays in its channel in some state?"""
        return any(cell.kind == "waiting" for _, cells in self.matrix for cell in cells)

    @property
    def words(self) -> str:
        """What a search finds it by, beside its name."""
        return " ".join(dict.fromkeys([*(state for state, _ in self.matrix), *self.events]))


@dataclass(frozen=True, slots=True)
class VerdictView:
    """`outcome`: `holds`, `violated`, `not checked` or `unknown`; `basis` is the evidence."""

    name: str
    kind: str
    label: str
    """Kind and name as a sentence has them."""
    outcome: str
    basis: str
    id: str
    """Where the page shows the run."""
    formula: str = ""
    """The formula, in the author's words."""
    explanation: Sequence[str] = ()
    trace: str = ""
    """The run as text."""
    chart: str = ""
    """The sequence diagram of a run that breaks something: a whole `<svg>` element made by `draw`."""
    steps: Data | None = None
    """The run for a stepper, see `stepping`."""
    title: str = ""
    """Of a violation: what tells it from the others of its group."""


@dataclass(frozen=True, slots=True)
class GroupView:
    """Violations that are one thing to repair."""

    title: str
    details: Sequence[str]
    """The states, the row of the library."""
    first: VerdictView
    """The one with the shortest run."""
    others: Sequence[VerdictView] = ()


@dataclass(frozen=True, slots=True)
class SpaceView:
    """A picture of all states: an `<svg>` element, and what each state is, for colours (see `static/space.js`)."""

    svg: str
    data: Data


@dataclass(frozen=True, slots=True)
class RepairsView:
    """The verdicts on a system with each of its repairs: see `report.repairs`."""

    questions: Sequence[str]
    """The heads of the columns."""
    rows: Sequence[tuple[str, str, Sequence[tuple[str, str]]]]
    """The head of each row, the reason of its repair if that is not the head, and the kinds and texts of the marks."""
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class SystemView:
    """A system and what exploring it found."""

    id: str
    name: str
    doc: str
    instances: Sequence[tuple[str, str, str]]
    """How many, the machine, and its id on the page."""
    states: int
    transitions: int
    depth: int
    seconds: float
    basis: str
    verdicts: Sequence[VerdictView]
    groups: Sequence[GroupView]
    """Those that are violated."""
    never_followed: Sequence[tuple[str, Sequence[str]]]
    """By machine, the rows that no run follows, with their places."""
    library_never_followed: int
    """How many rows of the library no run follows."""
    note: str = ""
    """What could have been faster, and why it was not."""
    levels: str = ""
    """How many states there are at each depth: a whole `<svg>` element, or empty."""
    space: SpaceView | None = None
    beyond: int = 0
    """How many of the states are beyond the bounds of the system."""
    repairs: RepairsView | None = None

    @property
    def outcome(self) -> str:
        """The worst of its verdicts: `violated`, `bounded`, `holds`."""
        outcomes = {v.outcome for v in self.verdicts}
        return "violated" if "violated" in outcomes else "bounded" if outcomes - {"holds"} else "holds"


@dataclass(frozen=True, slots=True)
class ScenarioView:
    id: str
    name: str
    title: str
    outcome: str
    """`passes`, `fails`, or `unknown`: a limit came first."""
    detail: str
    system: str
    """The system that it is of; empty where it has instances of its own."""

    @property
    def mark(self) -> str:
        """The outcome as a verdict has it."""
        return {"passes": "holds", "fails": "failing"}.get(self.outcome, "bounded")


@dataclass(frozen=True, slots=True)
class LocksView:
    """A lock order: which lock may be taken while which is held, why if the document lacks it; and what takes which."""

    name: str
    doc: str
    pairs: Sequence[tuple[str, str, str]]
    operations: Sequence[tuple[str, str, str]]
    """Name, what it takes, and its doc."""


@dataclass(frozen=True, slots=True)
class ModuleView:
    """A module with everything in it."""

    id: str
    name: str
    doc: str
    documents: Sequence[tuple[str, str]]
    machines: Sequence[MachineView]
    systems: Sequence[SystemView]
    scenarios: Sequence[ScenarioView]
    channels: Sequence[tuple[str, str, str]] = ()
    """Name, kind and receiver."""
    locks: Sequence[LocksView] = ()

    @property
    def outcome(self) -> str:
        """`violated` where something is not as it should be, `bounded` where something is open, else `holds`."""
        outcomes = {*(x.outcome for x in self.systems), self.scenarios_outcome}
        return next((x for x in ("violated", "bounded") if x in outcomes), "holds")

    @property
    def scenarios_outcome(self) -> str:
        """The worst of its scenarios, as a verdict has it."""
        outcomes = {x.outcome for x in self.scenarios}
        return "violated" if "fails" in outcomes else "bounded" if "unknown" in outcomes else "holds"


@dataclass(frozen=True, slots=True)
class Origin:
    """When a page was made, of what, and how."""

    date: str
    commit: str
    """Short, with `+ changes` where files differ from it; empty outside of git."""
    command: str


@dataclass(frozen=True, slots=True)
class ChangedView:
    """What has changed in one machine, system or module since another version, in sentences."""

    head: str
    href: str
    """Its place on the page; empty where it is gone."""
    changes: Sequence[tuple[str, str, Sequence[str]]]
    """Its sign (`+`, `−`, `~`), a sentence, details."""


@dataclass(frozen=True, slots=True)
class Report:
    """All that the page says."""

    title: str
    modules: Sequence[ModuleView]
    diagnostics: Sequence[Diagnostic]
    attention: Sequence[Attention] = ()
    version: str = ""
    limit: str = ""
    """What was asked of all explorations, if something was: `at most 1,000 states each`."""
    origin: Origin | None = None
    since: str = ""
    """The version that `changed` compares with."""
    changed: Sequence[ChangedView] = ()

    @property
    def failing(self) -> Sequence[tuple[ModuleView, ScenarioView]]:
        """The scenarios that fail, each with its module."""
        return [(module, x) for module in self.modules for x in module.scenarios if x.outcome == "fails"]

    @property
    def totals(self) -> dict[str, int]:
        """Counts for the overview."""
        machines = [x for module in self.modules for x in module.machines]
        systems = [x for module in self.modules for x in module.systems]
        scenarios = [x for module in self.modules for x in module.scenarios]
        return {
            "modules": len(self.modules),
            "machines": len(machines),
            "transitions": sum(len(row.transitions) for x in machines for row in x.rows),
            "amendments": sum(x.amendment_count for x in machines),
            "systems": len(systems),
            "states explored": sum(x.states for x in systems),
            "violations": sum(v.outcome == "violated" for x in systems for v in x.verdicts),
            "undecided": sum(v.outcome in ("unknown", "not checked") for x in systems for v in x.verdicts)
            + sum(x.outcome == "unknown" for x in scenarios),
            "scenarios": len(scenarios),
            "failing": len(self.failing),
        }
