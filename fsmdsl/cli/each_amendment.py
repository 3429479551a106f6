"""`fsm verify --each-amendment`: the verdicts without repairs, with each alone, and with all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fsmdsl import model as m
from fsmdsl.cli import BOUNDED, FINDINGS
from fsmdsl.cli.common import loaded_or_exit, paint
from fsmdsl.cli.limits import exit_code, within
from fsmdsl.cli.messages import misuse
from fsmdsl.cli.printing import Printing, printing
from fsmdsl.cli.progress import clear, progress
from fsmdsl.cli.ranks import several
from fsmdsl.cli.systems import chosen_systems, no_system, settings_of
from fsmdsl.cli.verify_options import VerifyOptions
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.model.resolve.declarations.modules import module_name
from fsmdsl.model.workspace import Files, Loaded, resolve_files
from fsmdsl.report.exploration import verdict
from fsmdsl.report.frames import frame
from fsmdsl.report.repairs import Scope, Table, Trial, table, table_data, table_lines
from fsmdsl.search import Exploration, Limits, Means, diagnostics, explore
from fsmdsl.syntax.amendments import Repair, leave_out, repairs
from fsmdsl.text.budget import LimitError
from fsmdsl.text.diagnostics import Diagnostic, Severity

if TYPE_CHECKING:
    from fsmdsl.report.formats.results import Results


def verify_each_amendment(o: VerifyOptions) -> int:
    """Print a table for each system; returns the exit code."""
    _refuse_others(o)
    out = printing(o.form, o.outputs)
    with within(o.budget, o.paths, out):
        loaded = loaded_or_exit(o.paths, out, settings=settings_of(o.settings))
    model, systems = chosen_systems(loaded, o.names)
    search = _Search(o, loaded, model, out.speaks)
    tables: list[Table] = []
    for module in dict.fromkeys(x.module for x in systems):
        for x in _tables(search, module, [y for y in systems if y.module == module]):
            _say(x, out, is_first=not tables)
            tables.append(x)
    problems = [] if systems else [no_system(model, o.paths)]
    for d in problems:
        out.say_text(frame(d, paint).rstrip("\n"))
    out.finish(lambda: _results(tables, model, problems))
    return exit_code(o.budget, _code(tables))


def _refuse_others(o: VerifyOptions) -> None:
    """Options that choose amendments, or are about runs and single searches, have no meaning here."""
    others = {
        "--as-documented": o.as_documented, "--without": o.without, "--all": o.every, "--runs": o.runs,
        "--brief": o.brief, "--hide": o.hide, "--shortest": o.as_shortest, "--explore": o.by_hand,
        "--replay": o.replay, "--charts": o.charts, "--save": o.save, "--resume": o.resume,
        "--second-opinion": o.other, "--certificate": o.certificate,
    }  # fmt: skip
    for option in (name for name, value in others.items() if value):
        misuse(f"`--each-amendment` prints a table of verdicts: take `{option}` away")
    if several():
        misuse("`--each-amendment` is for one process")


@dataclass(frozen=True, slots=True)
class _Search:
    """How systems are explored, and the files that they are in."""

    options: VerifyOptions
    loaded: Loaded
    model: m.Model
    shows_progress: bool

    def explored(self, model: m.Model, x: m.System, label: str) -> Exploration | None:
        """None: a limit came first."""
        o = self.options
        show = progress(f"{x.qualified} ({label})") if self.shows_progress else None
        means = Means(workers=o.workers, symmetry=not o.no_symmetry)
        try:
            with o.budget:
                return explore(model, x, Limits(o.max_states), show, means, None, o.budget, stutter=o.stutter)
        except LimitError:
            return None

    def without(self, files: Files, excluded: Sequence[Repair]) -> Loaded | None:
        """The files without some repairs. None: a limit came first."""
        parsed = tuple(replace(p, module=leave_out(p.module, excluded)) for p in files.parsed)
        try:
            with self.options.budget:
                self.options.budget.check()
                settings = settings_of(self.options.settings)
                return resolve_files(replace(files, parsed=parsed), settings=settings, incomplete=True)
        except LimitError:
            return None

    def closure(self, module: str) -> Files:
        """The file of a module, and those that it imports."""
        files = Files(self.loaded.parsed, len(self.loaded.parsed), (), frozenset())
        roots = [p for p in files.parsed if module_name(p.module) == module]
        needed = files.imported_by(roots) - {module}
        return Files(
            (*roots, *(p for p in files.parsed if module_name(p.module) in needed)), len(roots), (), frozenset()
        )


def _tables(search: _Search, module: str, systems: Sequence[m.System]) -> list[Table]:
    """The tables of a module's systems. What the exit code depends on is explored first, for limits hold for it all."""
    files = search.closure(module)
    candidates = repairs([p.module for p in files.parsed])
    by_system = {x.qualified: _relevant(candidates, x, search.model) for x in systems}
    every = [r for r in candidates if any(r in relevant for relevant in by_system.values())]
    whole = {x.qualified: Trial("all", None, search.explored(search.model, x, "all"), search.model) for x in systems}
    trials: dict[str, list[Trial]] = {name: [] for name in whole}
    scopes: list[tuple[Scope, Repair | None]] = [("none", None), *(("one", r) for r in every)]
    for scope, repair in scopes if every else ():
        loaded = search.without(files, [r for r in candidates if r is not repair])
        for x in systems:
            relevant = by_system[x.qualified]
            if relevant and (repair is None or repair in relevant):
                alone = whole[x.qualified] if relevant == [repair] else _trial(search, loaded, x, scope, repair)
                trials[x.qualified].append(replace(alone, scope=scope, repair=repair))
    return [table(name, [*trials[name], whole[name]]) for name in whole]


def _relevant(candidates: Sequence[Repair], x: m.System, model: m.Model) -> list[Repair]:
    """The repairs of machines that a system has, or one that it refines."""
    machines = set(_machines(x, model))
    return [r for r in candidates if any(f"{module_name(y)}.{z.name.text}" in machines for y, z in r.homes)]


def _machines(x: m.System, model: m.Model) -> Iterator[str]:
    yield from (i.machine for i in x.instances)
    if x.refines is not None:
        yield from _machines(model.systems[x.refines.of], model)


def _trial(search: _Search, loaded: Loaded | None, x: m.System, scope: Scope, repair: Repair | None) -> Trial:
    if loaded is None:
        return Trial(scope, repair, None, None)
    if loaded.model is None:
        error = next(d for d in loaded.diagnostics if d.severity is Severity.ERROR)
        return Trial(scope, repair, None, None, f"{error.message} ({error.span})")
    system = loaded.model.systems.get(x.qualified)
    if system is None:
        left = (y for home in loaded.model.modules if home.name == x.module for y in home.systems_left_out)
        return Trial(scope, repair, None, None, next(y.why for y in left if y.name == x.name))
    label = "none" if repair is None else repair.title
    return Trial(scope, repair, search.explored(loaded.model, system, label), loaded.model)


def _say(x: Table, out: Printing, *, is_first: bool) -> None:
    if out.speaks:
        clear()
    if not is_first:
        out.say()
    for line in table_lines(x, paint):
        out.say(line, wrap=True)


def _wholes(tables: Sequence[Table]) -> list[Exploration]:
    """The explorations with all repairs."""
    return [t.exploration for x in tables for t in x.trials if t.scope == "all" and t.exploration is not None]


def _code(tables: Sequence[Table]) -> int:
    verdicts = [verdict(x) for x in _wholes(tables)]
    if "violated" in verdicts:
        return FINDINGS
    complete = verdicts and len(verdicts) == len(tables) and "bounded" not in verdicts
    return 0 if complete and not any(x.undecided for x in tables) else BOUNDED


def _results(tables: Sequence[Table], model: m.Model, problems: Sequence[Diagnostic]) -> Results:
    from fsmdsl.report.formats.gather import from_verify

    wholes = _wholes(tables)
    others = [x for x in model.systems.values() if x not in [y.system for y in wholes]]
    problems = [*diagnostics(*wholes, others=others), *problems]
    results = from_verify(wholes, model, problems, {"repairs": [table_data(x) for x in tables]})
    return replace(results, repairs=tuple(tables))
