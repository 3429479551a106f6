"""What a reader of the report should look at, the most urgent first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from fsmdsl.report.views import Attention, MachineView, ModuleView, SystemView
from fsmdsl.text.diagnostics import Diagnostic, Severity

ORDER = ("violated", "failing", "error", "warning", "bounded", "never")


def attention(modules: Sequence[ModuleView], diagnostics: Iterable[Diagnostic]) -> list[Attention]:
    """Violations, failing scenarios, errors and warnings of the checks, what a limit left open, and transitions that no
    exploration follows, except those of the library."""
    entries = [
        *(x for module in modules for system in module.systems for x in _verdicts(module, system)),
        *(x for module in modules for x in _scenarios(module)),
        *(_diagnostic(d) for d in diagnostics if d.severity > Severity.NOTE),
        *(x for module in modules for machine in module.machines for x in _never(module, machine)),
    ]
    return sorted(entries, key=lambda x: ORDER.index(x.urgency))


def _verdicts(module: ModuleView, system: SystemView) -> Iterator[Attention]:
    for g in system.groups:
        href = g.first.id if g.first.steps is not None else system.id
        detail = "; ".join(g.details or g.first.explanation[:2]) or g.first.basis
        yield Attention("violated", "violated", f"`{module.name}.{system.name}`: {g.title}", detail, href)
    for v in system.verdicts:
        if v.outcome not in ("holds", "violated"):
            yield Attention("bounded", v.outcome, f"`{module.name}.{system.name}`: {v.label}", v.basis, system.id)


def _scenarios(module: ModuleView) -> Iterator[Attention]:
    for s in module.scenarios:
        if s.outcome != "passes":
            urgency = "failing" if s.outcome == "fails" else "bounded"
            of = f" of `{s.system}`" if s.system else ""
            yield Attention(urgency, s.outcome, f"scenario `{module.name}.{s.name}`{of}", s.detail, s.id)


def _diagnostic(d: Diagnostic) -> Attention:
    severity = "error" if d.severity is Severity.ERROR else "warning"
    return Attention(severity, f"{d.rule.code}", d.message, d.advice or "", "", str(d.span))


def _never(module: ModuleView, machine: MachineView) -> Iterator[Attention]:
    rows = [r for r in machine.rows if r.never]
    if machine.is_shipped or not rows:
        return
    labels = Counter(r.label for r in machine.rows)
    names = []
    for r in rows:
        whole = labels[r.label] == 1 and len(r.never) == len(r.transitions)
        name = r.label if whole else f"{r.label} from {', '.join(r.never)}"
        names.append(f"{name} ({r.place})")
    what = f"`{module.name}.{machine.name}`: {len(rows)} of {len(machine.rows)} rows never followed"
    yield Attention("never", "never followed", what, ", ".join(names), machine.id)
