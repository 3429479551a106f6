"""The tables of `--each-amendment`: systems explored without repairs, with each alone, and with all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.cli.processes import Show, Work, processes, results
from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.model.resolve.declarations.modules import module_name
from fsmdsl.model.workspace import Files, Loaded, resolve_files
from fsmdsl.report.repairs import Scope, Table, Trial, table
from fsmdsl.search import Exploration, Limits, Means, explore
from fsmdsl.syntax.amendments import Repair, alternatives, leave_out, repairs
from fsmdsl.text.budget import Budget, LimitError
from fsmdsl.text.diagnostics import Severity


@dataclass(frozen=True, slots=True)
class RepairSearch:
    """The files that systems are in, and how systems are explored. The budget is for all of them together."""

    loaded: Loaded
    model: m.Model
    settings: Mapping[str, s.Expr]
    limits: Limits
    means: Means
    budget: Budget
    jobs: int | None
    shows_progress: bool
    stutter: bool = False


def tables(
    search: RepairSearch, systems: Sequence[m.System], explorations: Mapping[str, Exploration] | None = None
) -> Iterator[Table]:
    """A table for each system. What the exit code depends on is explored first. `explorations`: those with all repairs,
    by the names of the systems, if there are any already."""
    plan = _plan(search, systems)
    searches: dict[_Key, _Row] = {}
    for row in sorted(plan, key=lambda row: row.variant.scope != "all"):
        searches.setdefault(row.key, row)
    earlier = explorations or {}
    answers: dict[_Key, Exploration | None] = {
        key: earlier[row.system.qualified]
        for key, row in searches.items()
        if row.variant.is_whole and row.system.qualified in earlier
    }
    rows = [row for key, row in searches.items() if key not in answers]
    at_once = processes(search.jobs, len(rows))
    with results(_work(search, rows, at_once), at_once) as outcomes:
        keys = iter(row.key for row in rows)
        for x in systems:
            own = [row for row in plan if row.system is x]
            while any(row.key not in answers for row in own):
                answers[next(keys)] = next(outcomes)
            yield table(x.qualified, [_trial(search, row, searches[row.key], answers[row.key]) for row in own])


def _work(search: RepairSearch, rows: Sequence[_Row], at_once: int) -> Work[Exploration | None]:
    means = replace(search.means, beside_others=at_once > 1)
    models = {id(search.model): search.model}
    for row in rows if at_once > 1 else ():  # the other processes begin with what this one has read
        model = row.variant.model(search)
        if model is not None:
            models[id(model)] = model

    def explored(n: int, show: Show | None) -> Exploration | None:
        return _explored(search, rows[n], means, show)

    names = [f"{row.system.qualified} ({row.variant.label})" for row in rows]
    return Work(list(models.values()), names, search.budget, search.shows_progress, explored)


# Variants ------------------------------------------------------------------------------------------------------------


@dataclass
class _Variant:
    """A module, with what it imports, and some of the repairs."""

    scope: Scope
    repair: Repair | None
    files: Files
    repairs: Sequence[Repair]
    excluded: Sequence[Repair]
    _loaded: list[Loaded | None] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What heads its row."""
        return Trial(self.scope, self.repair, None, None).label

    def loaded(self, search: RepairSearch) -> Loaded | None:
        """The files without the other repairs. None: a limit came first."""
        if not self._loaded:
            whole = replace(search.loaded, model=search.model)
            self._loaded.append(whole if self.is_whole else _resolved(search, self))
        return self._loaded[0]

    def model(self, search: RepairSearch) -> m.Model | None:
        """None: a limit came first, or there is none without the other repairs."""
        loaded = self.loaded(search)
        return None if loaded is None else loaded.model

    @property
    def is_whole(self) -> bool:
        """Is it what the files are?"""
        return self.scope == "all" and self.repair is None


def _resolved(search: RepairSearch, x: _Variant) -> Loaded | None:
    parsed = tuple(replace(p, module=leave_out(p.module, x.excluded)) for p in x.files.parsed)
    try:
        with search.budget:
            search.budget.check()
            return resolve_files(replace(x.files, parsed=parsed), settings=search.settings, incomplete=True)
    except LimitError:
        return None


def _variants(search: RepairSearch, module: str) -> Iterator[_Variant]:
    """In the order of the rows."""
    files = _closure(search.loaded, module)
    candidates = repairs([p.module for p in files.parsed])
    others = [x.repair for x in alternatives(candidates)]

    def variant(scope: Scope, repair: Repair | None, excluded: Sequence[Repair]) -> _Variant:
        return _Variant(scope, repair, files, [r for r in candidates if r not in excluded], excluded)

    yield variant("none", None, candidates)
    for repair in candidates:
        yield variant("one", repair, [r for r in candidates if r is not repair])
    yield variant("all", None, others)
    for repair in others:
        yield variant("all", repair, [x.repair for x in alternatives(candidates, repair)])


def _closure(loaded: Loaded, module: str) -> Files:
    """The file of a module, and those that it imports."""
    files = Files(loaded.parsed, len(loaded.parsed), (), frozenset())
    roots = [p for p in files.parsed if module_name(p.module) == module]
    needed = files.imported_by(roots) - {module}
    return Files((*roots, *(p for p in files.parsed if module_name(p.module) in needed)), len(roots), (), frozenset())


# Rows ----------------------------------------------------------------------------------------------------------------

_Key = tuple[str, frozenset[int]]
"""A system, and the repairs of its machines, by their ids: rows with the same repairs have the same verdicts."""


@dataclass(frozen=True, slots=True)
class _Row:
    system: m.System
    variant: _Variant
    key: _Key


def _plan(search: RepairSearch, systems: Sequence[m.System]) -> list[_Row]:
    """The rows of all tables. They have the repairs of machines that the system has; without any, there is one row."""
    variants = {module: list(_variants(search, module)) for module in dict.fromkeys(x.module for x in systems)}
    plan: list[_Row] = []
    for x in systems:
        machines = set(_machines(x, search.model))
        for variant in variants[x.module]:
            about = variant.excluded if variant.scope == "none" else [r for r in [variant.repair] if r is not None]
            if variant.is_whole or any(_changes(r, machines) for r in about):
                repair_ids = frozenset(id(r) for r in variant.repairs if _changes(r, machines))
                plan.append(_Row(x, variant, (x.qualified, repair_ids)))
    return plan


def _changes(repair: Repair, machines: set[str]) -> bool:
    return any(f"{module_name(y)}.{z.name.text}" in machines for y, z in repair.homes)


def _machines(x: m.System, model: m.Model) -> Iterator[str]:
    """The machines that a system has, or one that it refines."""
    yield from (i.machine for i in x.instances)
    if x.refines is not None:
        yield from _machines(model.systems[x.refines.of], model)


def _explored(search: RepairSearch, row: _Row, means: Means, show: Show | None) -> Exploration | None:
    """None: there is no such system, or a limit came first."""
    model = row.variant.model(search)
    system = None if model is None else model.systems.get(row.system.qualified)
    if model is None or system is None:
        return None
    try:
        with search.budget:
            return explore(model, system, search.limits, show, means, None, search.budget, stutter=search.stutter)
    except LimitError:
        return None


def _trial(search: RepairSearch, row: _Row, origin: _Row, exploration: Exploration | None) -> Trial:
    """A row, and what exploring its system has found. `origin`: the row for which it was explored."""
    trial = Trial(row.variant.scope, row.variant.repair, exploration, origin.variant.model(search))
    loaded = origin.variant.loaded(search)
    if loaded is None or exploration is not None:
        return trial
    if loaded.model is None:
        error = next(d for d in loaded.diagnostics if d.severity is Severity.ERROR)
        return replace(trial, why=f"{error.message} ({error.span})")
    if row.system.qualified not in loaded.model.systems:
        left = (y for home in loaded.model.modules if home.name == row.system.module for y in home.systems_left_out)
        return replace(trial, why=next(y.why for y in left if y.name == row.system.name))
    return trial
