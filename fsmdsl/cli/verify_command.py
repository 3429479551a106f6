"""`fsm verify`: every state of the systems."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsmdsl import model as m
from fsmdsl.cli import BOUNDED, FINDINGS, usage
from fsmdsl.cli.certificates import certificate_options, check_options, write_certificate
from fsmdsl.cli.common import (
    arguments_again,
    documented_option,
    loaded_or_exit,
    paint,
    paths_argument,
    settings_option,
)
from fsmdsl.cli.completions import system_names
from fsmdsl.cli.limits import exit_code, limit_options, within
from fsmdsl.cli.messages import misuse
from fsmdsl.cli.output_files import earlier, force_option, write_folder
from fsmdsl.cli.printing import Printing, printing, printing_options
from fsmdsl.cli.processes import Work, jobs_option, processes, results
from fsmdsl.cli.progress import clear
from fsmdsl.cli.ranks import agreed_code, is_first, several, together
from fsmdsl.cli.second_opinions import code, data, installed, second_opinion_options, second_opinions
from fsmdsl.cli.systems import alternative_lines, chosen_systems, no_system, settings_of, systems_left_out
from fsmdsl.cli.verify_options import VerifyOptions
from fsmdsl.cli.without_option import without_option
from fsmdsl.dataclasses import dataclass
from fsmdsl.report.exploration import details, never_followed_lines, summary, verdict
from fsmdsl.report.frames import frame
from fsmdsl.report.violations import Previous, Style
from fsmdsl.runs.hiding import Hidden, names_in
from fsmdsl.runs.replay import with_runs
from fsmdsl.search import AFTER_VIOLATION, Exploration, Limits, Means, Progress, diagnostics, explore
from fsmdsl.step.instances import Roster
from fsmdsl.text.diagnostics import Diagnostic, Severity, did_you_mean

if TYPE_CHECKING:
    from fsmdsl.interop.second_opinion import SecondOpinion
    from fsmdsl.interop.second_opinion.tools import Tool
    from fsmdsl.report.formats.results import Results


@usage.command("verify")
@paths_argument
@documented_option
@without_option
@usage.option("--each-amendment", is_flag=True, help="Print a table that shows which amendments each property needs.")
@usage.option(
    "--system",
    "names",
    multiple=True,
    metavar="NAME",
    shell_complete=system_names,
    help="Verify only this system (may be repeated).",
)
@settings_option
@usage.option("--max-states", type=usage.integer(1), help="Maximum number of states to explore per system.")
@limit_options(
    summary="Stop after this many seconds per system; reading and checking count toward the first system",
    shared=several,
)
@jobs_option
@usage.option("--workers", type=usage.integer(1), metavar="N", help="Use N threads (default: one per processor).")
@usage.option("--no-symmetry", is_flag=True, help="Turn off symmetry reduction for `symmetric` sets.")
@usage.option(
    "--stutter",
    is_flag=True,
    help="Allow runs to stay in any state, unless a property's fairness assumptions forbid it.",
)
@usage.option(
    "--all", "every", is_flag=True, help="Continue after a violation; also show properties that hold, with witnesses."
)
@usage.option("--runs", is_flag=True, help="Show the run of every violation in full, not only one per cause.")
@usage.option("--brief", is_flag=True, help="Show only the steps of runs, one per line.")
@usage.option(
    "--hide",
    "hide",
    multiple=True,
    metavar="NAME",
    help="Hide a machine, set, instance or event (tick, Clock.tick) in runs (may be repeated).",
)
@usage.option("--shortest", "as_shortest", is_flag=True, help="Show the shortest runs instead of the simplest.")
@usage.option(
    "--explore", "by_hand", is_flag=True, help="Afterwards, step through the states of one system interactively."
)
@usage.option(
    "--replay", type=usage.path(path_type=Path), help="Write replays of the violations to this folder, as pytest tests."
)
@usage.option(
    "--charts", type=usage.path(path_type=Path), help="Write sequence diagrams of the runs to this folder (SVG)."
)
@usage.option("--save", type=usage.path(path_type=Path), help="Save the search to this folder while it runs.")
@usage.option(
    "--save-every",
    type=usage.number(0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Interval between saves.",
)
@usage.option("--resume", type=usage.path(path_type=Path), help="Continue the search saved in this folder.")
@second_opinion_options
@certificate_options
@force_option
@printing_options
@together
def command(**values: Any) -> None:
    """Explore every reachable state of the systems in specs, and report violations, each with its simplest run.

    Exit codes: 0 all systems pass, 1 a violation, 2 usage error, 3 a limit was reached first, something could not be
    checked, or there is no system.
    """
    options = VerifyOptions(**values)
    if options.each_amendment:
        from fsmdsl.cli.each_amendment import verify_each_amendment

        sys.exit(verify_each_amendment(options))
    task = _read(options)
    explorations = _explore(options, task)
    opinions = _report(options, task, explorations)
    sys.exit(agreed_code(exit_code(options.budget, code(opinions, _exit_code(explorations)))))


@dataclass(frozen=True, slots=True)
class _Task:
    """The systems to explore, and how their results are printed and checked."""

    model: m.Model
    systems: list[m.System]
    out: Printing
    checker: Tool | None
    style: Style


def _read(options: VerifyOptions) -> _Task:
    """Read and check the specs, and choose the systems."""
    checker = installed(options.other, options.tool, stutters=options.stutter)
    out = printing(options.form, options.outputs)
    check_options(options.certificate, options.with_states, options.without)
    with within(options.budget, options.paths, out):
        loaded = loaded_or_exit(
            options.paths,
            out,
            as_documented=options.as_documented,
            without=options.without,
            settings=settings_of(options.settings),
        )
    model, systems = chosen_systems(loaded, options.names)
    chosen = _one(systems, out) if options.by_hand else systems
    hidden = _hidden(model, chosen, options.hide)
    style = Style(options.every, options.runs or options.every, options.brief, hidden)
    return _Task(model, chosen, out, checker, style)


def _explore(options: VerifyOptions, task: _Task) -> list[Exploration]:
    """Explore the systems, and print the results of each as soon as it is explored."""
    model, systems, budget, keeping = task.model, task.systems, options.budget, options.keeping
    limits = Limits(options.max_states, after_violation=None if options.every or task.checker else AFTER_VIOLATION)
    symmetry = not (options.no_symmetry or task.checker or options.certificate)
    jobs = processes(options.jobs, len(systems)) if keeping is None else 1
    means = Means(workers=options.workers, symmetry=symmetry, beside_others=jobs > 1)

    def explored(n: int, show: Callable[[Progress], None] | None) -> Exploration:
        run = partial(explore, model, systems[n], limits, show, means, keeping, budget, stutter=options.stutter)
        simple = is_first() and not options.as_shortest
        return with_runs(run, model, budget.renewed() if n else budget, simple=simple)

    work = Work([model], [x.qualified for x in systems], budget, task.out.speaks, explored)
    return _print_results(work, jobs, model, task.out, task.style, by_hand=options.by_hand)


def _report(options: VerifyOptions, task: _Task, explorations: list[Exploration]) -> list[SecondOpinion]:
    """Print the warnings, the second opinions and what was left out; write all files that are asked for."""
    model, out = task.model, task.out
    problems = diagnostics(*explorations, others=[y for y in model.systems.values() if y not in task.systems])
    for d in () if options.by_hand else (d for d in problems if d.severity is Severity.WARNING):
        out.say_text(f"\n{frame(d, paint)}".rstrip("\n"))
    opinions = second_opinions(task.checker, model, explorations, options.budget, out)
    extra = _write_files(options, task, explorations)
    if options.by_hand:
        rest = arguments_again(options.paths, as_documented=options.as_documented, without=options.without)
        _walk(explorations[0], model, rest, own=bool(options.settings))
    for name, left in () if options.names else systems_left_out(model):
        why = f"it refers to something that only an amendment declares: {left.why}"
        out.say(f"{paint('left out', 'warning')}  {name}: {why}")
    for line in alternative_lines(model, task.systems):
        out.say(line)
    if not explorations:
        problems.append(no_system(model, options.paths))
        out.say_text(frame(problems[-1], paint).rstrip("\n"))
    if is_first():
        out.finish(lambda: _results(explorations, model, problems, {**extra, **data(opinions)}))
    return opinions


def _write_files(options: VerifyOptions, task: _Task, explorations: list[Exploration]) -> dict[str, object]:
    """The certificate, the sequence diagrams and the tests; what JSON says of them."""
    o, model, out = options, task.model, task.out
    if o.certificate is not None:
        write_certificate(o.certificate, model, explorations, o.settings, o.as_documented, o.with_states, o.budget, out)
    if o.charts is not None and is_first():
        _draw(explorations, o.charts, task.style.hidden, o.force, prune=not o.names)
    if o.replay is None:
        return {}
    return {"replays": _write_replays(explorations, model, o.replay, out, o.force) if is_first() else []}


def _print_results(
    work: Work[Exploration], jobs: int, model: m.Model, out: Printing, style: Style, *, by_hand: bool
) -> list[Exploration]:
    """The results of the systems, each printed as soon as it is there."""
    done: list[Exploration] = []
    previous: Previous = {}
    with results(work, jobs) as explorations:
        for x in explorations:
            done.append(x)
            if out.speaks:
                clear()
            out.say(summary(x, paint), wrap=True)
            for line in () if by_hand else details(x, model, paint, style, previous):
                out.say(line, wrap=True)
            for line in () if by_hand else never_followed_lines(x, model, paint, every=style.every):
                out.say(line, wrap=True)
    return done


def _results(
    explorations: list[Exploration], model: m.Model, problems: list[Diagnostic], extra: Mapping[str, object]
) -> Results:
    from fsmdsl.report.formats.gather import from_verify

    return from_verify(explorations, model, problems, extra)


def _hidden(model: m.Model, systems: list[m.System], names: tuple[str, ...]) -> Hidden:
    """What runs are shown without: what some system has."""
    available = {name for x in systems for name in names_in(Roster(model, x))} if names else set()
    for name in names:
        if name not in available:
            advice = did_you_mean(name, available) or "it takes the name of a machine, a set, an instance, or an event"
            misuse(f"--hide: no system here has `{name}`; {advice}")
    return Hidden(frozenset(names))


def _draw(explorations: list[Exploration], folder: Path, hidden: Hidden, force: bool, *, prune: bool) -> None:
    """A sequence diagram for every run that shows something."""
    from fsmdsl.draw.sequence_svg import as_svg
    from fsmdsl.draw.svg import is_drawing
    from fsmdsl.report.chart import violation
    from fsmdsl.report.page import anchor

    files: dict[str, str] = {}
    for x in explorations:
        for n, v in enumerate(v for v in x.verdicts if v.trace is not None and v.trace.entries):
            name = f"{x.system.qualified}-{n + 1}-{anchor(v.kind, v.name)}.svg"
            files[name] = as_svg(violation(f"{x.system.qualified}: {v.label}", v, hidden))
    write_folder(folder, "verify --charts", files, ours=earlier(is_drawing), force=force, prune=prune)


def _write_replays(
    explorations: list[Exploration], model: m.Model, folder: Path, out: Printing, force: bool
) -> list[str]:
    """The tests written."""
    from fsmdsl.cli.replays import write_replays

    tests = [str(path) for path in write_replays(explorations, model, folder, force=force)]
    count = f"{len(tests)} test{'s' * (len(tests) != 1)}"
    out.say(f"{count} in {folder}; `pytest {folder}` replays them" if tests else "no violation has a run to replay")
    return tests


def _one(systems: list[m.System], out: Printing) -> list[m.System]:
    """The system to walk through."""
    if out.formal or out.files:
        other = "--output" if out.files else f"--format {out.form}"
        misuse(f"`--explore` is interactive and cannot be combined with `{other}`")
    if several():
        misuse("`--explore` cannot be used with several processes")
    if len(systems) != 1:
        names = ", ".join(f"`{x.name}`" for x in systems)
        misuse(f"`--explore` requires exactly one system; choose it with `--system`: {names or 'there is none'}")
    return systems


def _walk(x: Exploration, model: m.Model, rest: str, *, own: bool) -> None:
    from fsmdsl.cli.walkthrough import PastRun, walkthrough
    from fsmdsl.runs.simulation import NoSuchError, begin

    runs = [PastRun(v.label, v.outcome, v.trace) for v in x.verdicts if v.trace is not None]
    try:
        session = begin(model, x.system)
    except NoSuchError as error:
        misuse(str(error))
    walkthrough(session, runs, lambda path: f"fsm test {path} {rest}", own=own)
    sys.exit(0)


def _exit_code(explorations: list[Exploration]) -> int:
    verdicts = {verdict(x) for x in explorations}
    return FINDINGS if "violated" in verdicts else BOUNDED if "bounded" in verdicts or not verdicts else 0
