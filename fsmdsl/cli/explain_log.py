"""`fsm explain LOG`: reads spec, mapping and log, and prints the answer."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, cast

from fsmdsl.cli import BOUNDED, FINDINGS
from fsmdsl.cli.common import follows_links, model_or_exit, paint, say_json
from fsmdsl.cli.explain_watch import Watch, check, following, metrics
from fsmdsl.cli.limits import Form, end_bounded, exit_code, within
from fsmdsl.cli.messages import misuse, say, say_text
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.text.budget import Budget, LimitError
from fsmdsl.text.files import reason

if TYPE_CHECKING:
    from fsmdsl import model as m
    from fsmdsl.interop.logs.amendments import OtherReading
    from fsmdsl.interop.logs.binding import Reading
    from fsmdsl.interop.logs.explanation import Explanation
    from fsmdsl.interop.logs.lines import Line, Match, Readable
    from fsmdsl.interop.logs.mapping import LogMapping
    from fsmdsl.interop.logs.rules import LogError

STRETCH = 16
"""Lines between two looks at the limits."""

PATTERN_TIME = 1.0
"""Seconds for a pattern on one line."""


@dataclass(frozen=True, slots=True)
class Output:
    """How much of the answer is printed, and what is written."""

    show: bool
    coverage: bool
    counts: Path | None


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for."""

    log: str
    mapping: Path
    specs: tuple[str, ...]
    system: str | None
    settings: tuple[str, ...]
    hidden: int | None
    as_documented: bool
    output: Output
    watch: Watch
    budget: Budget


def explain_log(request: Request, form: Form) -> None:
    """Explain a log, print the answer, and end with its exit code."""
    from fsmdsl.interop.logs.render_text import coverage, details, summary
    from fsmdsl.interop.logs.to_json import data

    with within(request.budget, request.specs, form):
        mapping = _mapping(request, form)
        reading = _reading(request, mapping, form)
    name = "<stdin>" if request.log == "-" else request.log
    reported = form == "text" and request.watch.keep_going
    explanation = _explained(request, reading, form, name)
    other = None if explanation.failure is None or request.watch.keep_going else _other(request, mapping, explanation)
    if request.output.counts is not None:
        _write_counts(request.output.counts, explanation)
    if form == "json":
        say_json("explain", data(explanation, name, other=other))
    else:
        say(summary(explanation, paint))
        for line in details(explanation, name, paint, whole=request.output.show, other=other, reported=reported):
            say(line)
        if explanation.outcome == "explained" and explanation.summary.hidden and _can_show(request):
            say("  to see the run with its hidden steps, add `--show`")
        for line in ("  rows:", *coverage(explanation)) if request.output.coverage else ():
            say(line)
    code = {"explained": 0, "undecided": BOUNDED}.get(explanation.outcome, FINDINGS)
    sys.exit(exit_code(request.budget, code))


def _can_show(request: Request) -> bool:
    """Whether the run could be printed, and was not asked for."""
    return not (request.output.show or request.watch.follow or request.watch.keep_going)


# Reading -------------------------------------------------------------------------------------------------------------


def _mapping(request: Request, form: str) -> LogMapping:
    from fsmdsl.interop.logs.mapping import read
    from fsmdsl.interop.logs.rules import LogError
    from fsmdsl.text.files.read import UnreadableError, read_text, root_of
    from fsmdsl.text.source import Source

    path = request.mapping
    if not path.exists():
        misuse(f"there is no mapping `{path}`")
    try:
        return read(Source(str(path), read_text(path, None if follows_links() else root_of(path))))
    except UnreadableError as error:
        misuse(f"`{path}`: {error}")
    except LogError as error:
        _refuse(error, form)


def _reading(request: Request, mapping: LogMapping, form: str) -> Reading:
    from fsmdsl.cli.systems import settings_of
    from fsmdsl.interop.logs.rules import LogError

    options = {"as_documented": request.as_documented, "settings": settings_of(request.settings)}
    model = model_or_exit(_specs(request, mapping), form, whole=True, **options)
    try:
        return _bound(request, mapping, model)
    except LogError as error:
        _refuse(error, form)


def _specs(request: Request, mapping: LogMapping) -> list[str]:
    """Those of the command line, else those of the mapping, whose paths begin at its folder."""
    paths = list(request.specs) or [str(request.mapping.parent / x) for x in mapping.specs]
    if not paths:
        misuse(f'which spec? Name it with `--spec`, or write `spec = "…"` in `{request.mapping}`')
    return paths


def _bound(request: Request, mapping: LogMapping, model: m.Model) -> Reading:
    """Raises `LogError`."""
    from fsmdsl.interop.logs.binding import bind
    from fsmdsl.runs.simulation import NoSuchError, subject
    from fsmdsl.step import TooManyValuesError, Universe
    from fsmdsl.step.describe import fault_message

    try:
        system = subject(model, request.system or mapping.system)
    except NoSuchError as error:
        misuse(str(error))
    universe = Universe(model, system)
    if universe.fault is not None:
        misuse(f"{system.qualified} cannot begin: {fault_message(universe, universe.fault)}")
    try:
        universe.starts  # noqa: B018 - any of them may come before the first line
    except TooManyValuesError as error:
        misuse(f"{system.qualified} may begin in {error}: too many to follow a log from each")
    return bind(mapping, universe)


def _refuse(error: LogError, form: str) -> NoReturn:
    """Print why a mapping cannot be used, or does not describe the log, and end with 1."""
    from fsmdsl.report.data import diagnostics
    from fsmdsl.report.frames import frames

    if form == "json":
        say_json("diagnostics", diagnostics(error.diagnostics))
    else:
        say_text(frames(error.diagnostics, paint), err=True)
    sys.exit(FINDINGS)


# Explaining ----------------------------------------------------------------------------------------------------------


def _explained(request: Request, reading: Reading, form: Form, name: str) -> Explanation:
    from fsmdsl.interop.logs.explanation import Explainer
    from fsmdsl.interop.logs.lines import lines
    from fsmdsl.interop.logs.nearest import LINES_AFTER
    from fsmdsl.interop.logs.render_text import unexplained
    from fsmdsl.interop.logs.rules import LogError

    def tell(explanation: Explanation) -> None:
        for line in unexplained(explanation, name, paint) if form == "text" else ():
            say(line)

    depth = reading.mapping.hidden if request.hidden is None else request.hidden
    watch = request.watch
    check(watch, whole=request.output.show)
    try:
        with metrics(watch, reading) as report, _limited(request), _guarded() as match:
            opened = following(request.log, report.tick) if watch.follow else _opened(request.log)
            with opened as file:
                log = _in_time(lines(file, growing=watch.follow), request.budget)
                # With `--follow` a failure is reported at once, before the lines after it are written.
                whole, ahead = request.output.show, 0 if watch.follow else LINES_AFTER
                explainer = Explainer(reading, request.log, log, depth=depth, whole=whole, match=match, ahead=ahead)
                report.explainer = explainer
                explanation = explainer.explanation(tell if watch.keep_going else None)
                report.end()
                reached = request.budget.reached
                if reached is None or (explanation.failure is not None and not watch.keep_going):
                    return explanation
                outcome = explanation.outcome if explanation.failure else "undecided"
                return replace(explanation, outcome=outcome, undecided=f"line {explanation.tally.lines}: {reached}")
    except LimitError:  # in the middle of a line
        end_bounded(request.budget, request.specs, form, "the log was explained")
    except LogError as error:
        _refuse(error, form)
    except OSError as error:
        misuse(f"`{request.log}` cannot be read: {reason(error)}")


@contextmanager
def _limited(request: Request) -> Iterator[None]:
    """The limits hold inside a line too, which gets the time to end. Ctrl-C is the usual end of `--follow`."""
    if request.watch.follow:
        yield
        return
    with request.budget, request.budget.patience():
        yield


def _in_time(log: Iterable[Line], budget: Budget) -> Iterator[Line]:
    """The lines, until a limit is reached: `budget.reached` says so."""
    for count, line in enumerate(log):
        if count % STRETCH == 0 and budget.over():
            return
        yield line


def _write_counts(path: Path, explanation: Explanation) -> None:
    from fsmdsl.report.counts import write_counts
    from fsmdsl.text.files.write import write

    machines = dict.fromkeys(explanation.summary.roster.machines)
    try:
        write(path, write_counts(machines, lambda machine, t: explanation.summary.rows[machine.qualified, t.index]))
    except OSError as error:
        misuse(f"`{path}` cannot be written: {reason(error)}")


def _other(request: Request, mapping: LogMapping, explanation: Explanation) -> OtherReading | None:
    """Whether the spec explains the failing line with its amendments, or without them: whichever was not asked for."""
    from fsmdsl.cli.systems import settings_of
    from fsmdsl.interop.logs.amendments import OtherReading, amended_rows
    from fsmdsl.interop.logs.explanation import Explainer
    from fsmdsl.interop.logs.lines import lines
    from fsmdsl.interop.logs.rules import LogError
    from fsmdsl.model.workspace import load

    assert explanation.failure is not None
    if request.watch.follow or not Path(request.log).is_file():  # a pipe is read once, and the log may be another now
        return None
    documented, last = not request.as_documented, explanation.failure.record.line
    settings = settings_of(request.settings)
    specs = _specs(request, mapping)
    loaded = load(specs, as_documented=documented, settings=settings, follow_links=follows_links())
    depth = mapping.hidden if request.hidden is None else request.hidden
    if loaded.model is None:
        return None
    name = explanation.reading.universe.system.qualified
    if name not in loaded.model.systems:
        return None
    with suppress(LogError, OSError), _opened(request.log) as file, _guarded() as match:
        reading = _bound(request, mapping, loaded.model)
        log = takewhile(lambda x: x[0] <= last, _in_time(lines(file), request.budget))
        other = Explainer(reading, request.log, log, depth=depth, match=match, ahead=None).explanation()
        if other.outcome == "explained" and request.budget.reached is None:
            amended = explanation.reading.universe.model if documented else loaded.model
            return OtherReading(documented, amended_rows(other.summary, amended))
    return None


@contextmanager
def _opened(log: str) -> Iterator[Readable]:
    """The bytes of a log; a pipe may be one. Raises OSError."""
    if log == "-":
        if sys.stdin is None:
            misuse("standard input is closed")
        yield cast("Readable", sys.stdin.buffer)
        return
    try:
        file = open(log, "rb")  # noqa: SIM115  (closed below; what cannot be opened is misuse)
    except (OSError, ValueError) as error:
        misuse(f"`{log}` cannot be read: {reason(error)}")
    with file:
        yield file


@contextmanager
def _guarded() -> Iterator[Match]:
    """Matching with a time limit for each line, where the system has timers that interrupt."""
    from fsmdsl.interop.logs.lines import search

    if not hasattr(signal, "setitimer"):
        yield search
        return

    def interrupt(_: int, __: FrameType | None) -> NoReturn:
        raise TimeoutError(f"more than {PATTERN_TIME:g} s")

    def guarded(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
        handler = signal.signal(signal.SIGALRM, interrupt)
        timer = signal.setitimer(signal.ITIMER_REAL, PATTERN_TIME)
        try:
            return search(pattern, text)
        finally:  # the timer of the budget continues
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)
            signal.setitimer(signal.ITIMER_REAL, *timer)

    yield guarded
