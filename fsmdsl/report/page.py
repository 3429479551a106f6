"""The report as one HTML file: no script is needed, nothing is fetched, every text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from fsmdsl.diagnostics import Diagnostic
from fsmdsl.report.data import diagnostic


@dataclass(frozen=True, slots=True)
class MachineView:
    """A machine as the page shows it. `svg` is a whole `<svg>` element made by `draw`, or empty; `rows` are
    `data.row`s with `doc`; `matrix` has a row a state, a cell an event: `handled`,
    `guarded` (handled where a guard holds), `ignored` or `error`."""

    name: str
    display: str
    doc: str
    svg: str
    rows: Sequence[dict[str, Any]]
    events: Sequence[str]
    matrix: Sequence[tuple[str, Sequence[str]]]
    amendments: Sequence[tuple[str, str]]
    """Each row or declaration that is amended, and why."""


@dataclass(frozen=True, slots=True)
class VerdictView:
    """`outcome`: `holds`, `violated`, `not checked` or `unknown`; `basis` is what that rests on."""

    name: str
    kind: str
    shown: str
    """Kind and name as a sentence has them."""
    outcome: str
    basis: str
    id: str
    """Where the page shows the run."""
    explanation: Sequence[str] = ()
    trace: str = ""
    chart: str = ""
    """The sequence diagram of a run that breaks something: a whole `<svg>` element made by `draw`."""


@dataclass(frozen=True, slots=True)
class SystemView:
    """A system and what exploring it found."""

    name: str
    doc: str
    instances: str
    states: int
    transitions: int
    depth: int
    seconds: float
    basis: str
    verdicts: Sequence[VerdictView]
    never_fired: Sequence[str]
    note: str = ""
    """What could have been faster, and why it was not."""
    levels: str = ""
    """How many states there are at each depth: a whole `<svg>` element, or empty."""

    @property
    def violated(self) -> bool:
        return any(v.outcome == "violated" for v in self.verdicts)


@dataclass(frozen=True, slots=True)
class ScenarioView:
    name: str
    title: str
    passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class LocksView:
    """A lock order: which lock may be taken while which is held, why if the document lacks it; and who takes what."""

    name: str
    doc: str
    pairs: Sequence[tuple[str, str, str]]
    operations: Sequence[tuple[str, str, str]]
    """Name, what it takes, and its doc."""


@dataclass(frozen=True, slots=True)
class ModuleView:
    """A module with everything in it."""

    name: str
    doc: str
    documents: Sequence[tuple[str, str]]
    machines: Sequence[MachineView]
    systems: Sequence[SystemView]
    scenarios: Sequence[ScenarioView]
    channels: Sequence[tuple[str, str, str]] = ()
    """Name, kind and receiver."""
    locks: Sequence[LocksView] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """All that the page says."""

    title: str
    modules: Sequence[ModuleView]
    found: Sequence[Diagnostic]
    legend: str = ""
    """An `<svg>` that explains the diagrams."""
    version: str = ""

    @property
    def totals(self) -> dict[str, int]:
        """Counts for the overview."""
        machines = [x for module in self.modules for x in module.machines]
        systems = [x for module in self.modules for x in module.systems]
        scenarios = [x for module in self.modules for x in module.scenarios]
        return {
            "modules": len(self.modules),
            "machines": len(machines),
            "transitions": sum(len(x.rows) for x in machines),
            "amendments": sum(len(x.amendments) for x in machines),
            "systems": len(systems),
            "states explored": sum(x.states for x in systems),
            "violations": sum(v.outcome == "violated" for x in systems for v in x.verdicts),
            "undecided": sum(v.outcome in ("unknown", "not checked") for x in systems for v in x.verdicts),
            "scenarios": len(scenarios),
            "failing": sum(not x.passed for x in scenarios),
        }


def page(report: Report) -> str:
    """The whole file."""
    text = _template().render(report=report, found=[diagnostic(d) for d in report.found])
    assert isinstance(text, str)
    return text


@cache
def _template() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("fsmdsl.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["anchor"] = anchor
    environment.filters["prose"] = prose
    return environment.get_template("page.html.jinja")


def anchor(*names: str) -> str:
    """An id made of names; only letters, digits, dots and dashes."""
    return "-".join("".join(c if (c.isalnum() and c.isascii()) or c == "." else "-" for c in n) for n in names)


def prose(text: str) -> Any:
    """A doc comment as HTML: escaped, and what stands between backticks as code."""
    from markupsafe import Markup, escape

    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    shown = (Markup("<code>{}</code>").format(p) if i % 2 else escape(p) for i, p in enumerate(parts))
    return Markup("").join(shown)
