"""Repairs and verdicts as a table: what holds without amendments, with each repair alone, and with all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Literal

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.report.data import place
from fsmdsl.report.frames import Paint, plain
from fsmdsl.report.views import RepairsView
from fsmdsl.runs.verdicts.verdict import VerdictKind
from fsmdsl.runs.violation_groups import Group, violation_groups
from fsmdsl.search import Exploration, Verdict
from fsmdsl.syntax.amendments import Repair
from fsmdsl.text.terminal import printable

if TYPE_CHECKING:
    from fsmdsl.report import shapes

WIDTH = 80
"""Maximum number of columns of a table in a terminal."""
MAX_LABEL = 36
"""Maximum width of the first column. A reason that is longer continues on the next line."""
STAR = "*"
"""Mark of what holds where some steps fail: what would follow them is unknown."""
MAX_SETTLED = 6
"""Maximum number of questions that a line names."""

Outcome = Literal["holds", "violated", "unknown", "-"]
Scope = Literal["none", "one", "all"]

_ROLES: dict[Outcome, str] = {"holds": "good", "violated": "error", "unknown": "warning", "-": "quiet"}


@dataclass(frozen=True, slots=True)
class Question:
    """A column: something that the author asks, that there is no deadlock, or that no step fails in some way."""

    kind: VerdictKind
    name: str
    """What heads the column."""
    title: str
    """What is violated where it does not hold."""


Column = tuple[Question, tuple[Outcome, ...]]


@dataclass(frozen=True, slots=True)
class Cell:
    """An outcome as a table shows it. `is_limited`: it holds, but some steps fail."""

    outcome: Outcome
    is_limited: bool

    @property
    def text(self) -> str:
        """In a word."""
        return f"{self.outcome}{STAR}" if self.is_limited else self.outcome

    @property
    def role(self) -> str:
        """The role of its colour in a terminal."""
        return "warning" if self.is_limited else _ROLES[self.outcome]

    @property
    def mark(self) -> str:
        """The kind of its mark on a page."""
        return "bounded" if self.is_limited else self.outcome


@dataclass(frozen=True, slots=True)
class Trial:
    """A system with some of its repairs: none, one, or all. With alternatives, `all` is all that apply, or, with a
    `repair`, all that apply if that one comes first. `exploration`: None where there is no such system, for the reason
    in `why`, or where a limit came first."""

    scope: Scope
    repair: Repair | None
    exploration: Exploration | None
    model: m.Model | None
    why: str = ""

    @property
    def label(self) -> str:
        """What heads the row."""
        if self.repair is None:
            return self.scope
        return self.repair.title if self.scope == "one" else f"all with {self.repair.title}"

    @property
    def fails(self) -> bool:
        """Does some step fail? What would follow it is unknown."""
        return self.exploration is not None and self.exploration.fails

    @property
    def is_whole(self) -> bool:
        """Does it have the repairs that apply?"""
        return self.scope == "all" and self.repair is None


@dataclass(frozen=True, slots=True)
class Table:
    """The verdicts on a system. `outcomes`: a row for each trial, a column for each question."""

    system: str
    """Qualified."""
    questions: tuple[Question, ...]
    trials: tuple[Trial, ...]
    outcomes: tuple[tuple[Outcome, ...], ...]

    @property
    def has_repairs(self) -> bool:
        """Does the system have any?"""
        return len(self.trials) > 1

    @property
    def undecided(self) -> bool:
        """Is there an answer that is unknown?"""
        return any("unknown" in row for row in self.outcomes)

    @property
    def settled(self) -> tuple[Question, ...]:
        """What holds in every row that has it."""
        return tuple(q for q, column in self.columns if _is_settled(column))

    @property
    def contested(self) -> tuple[Column, ...]:
        """The other columns."""
        return tuple((q, column) for q, column in self.columns if not _is_settled(column))

    def cells(self, column: Column) -> tuple[Cell, ...]:
        """The cells of a column."""
        q, outcomes = column
        by_row = zip(self.trials, outcomes, strict=True)
        return tuple(Cell(outcome, outcome == "holds" and _is_limited(q, trial)) for trial, outcome in by_row)

    @property
    def columns(self) -> Iterator[Column]:
        """All questions, each with its outcomes."""
        for n, q in enumerate(self.questions):
            yield q, tuple(row[n] for row in self.outcomes)


def _is_limited(q: Question, trial: Trial) -> bool:
    """Where some step fails, is an answer that holds one for the states before it alone? A witness is one for all."""
    return trial.fails and q.kind != "reachable"


def _is_settled(column: Sequence[Outcome]) -> bool:
    return set(column) - {"-"} == {"holds"}


_Key = tuple[object, ...]
"""What makes verdicts of several explorations answers to one question."""


def table(system: str, trials: Sequence[Trial]) -> Table:
    """The verdicts of trials of one system. Questions are in the order of the last trial that has them."""
    answers = [_answers(trial) for trial in trials]
    questions: dict[_Key, Question] = {}
    for trial in reversed(trials):
        questions = {**questions, **{k: q for k, q in _questions(trial).items() if k not in questions}}
    if any(key[0] == "failing step" for key in questions):
        questions.pop(_NO_FAULT, None)
    ordered = sorted(questions, key=lambda key: _RANK[questions[key].kind])
    outcomes = tuple(
        tuple(_outcome(key, trial, answer) for key in ordered) for trial, answer in zip(trials, answers, strict=True)
    )
    return Table(system, tuple(_numbered([questions[key] for key in ordered])), tuple(trials), outcomes)


_RANK: dict[VerdictKind, int] = {
    "invariant": 0,
    "property": 0,
    "reachable": 0,
    "refinement": 0,
    "deadlock": 1,
    "fault": 2,
}
_NO_FAULT: _Key = ("fault",)


def _numbered(questions: Sequence[Question]) -> Iterator[Question]:
    """Failing steps have no names: they are numbered, where there are several."""
    failing = [q for q in questions if q.kind == "fault" and not q.name]
    for q in questions:
        name = q.name or ("failing step" if len(failing) == 1 else f"failing step {failing.index(q) + 1}")
        yield Question(q.kind, name, q.title)


def _key(v: Verdict) -> _Key:
    return _NO_FAULT if v.kind == "fault" else (v.kind, v.name, v.machine)


def _key_of(g: Group) -> _Key:
    """Of a failing step: what fails, wherever the row is in the text."""
    s = g.subject
    rows = tuple(row.name for row in s.rows)
    return ("failing step", s.fault, s.cause, s.machine, s.event, s.action, s.field, s.of, s.channel, rows)


def _groups(trial: Trial) -> list[Group]:
    if trial.exploration is None or trial.model is None:
        return []
    return [g for g in violation_groups(trial.exploration, trial.model) if g.subject.kind == "fault"]


def _questions(trial: Trial) -> dict[_Key, Question]:
    if trial.exploration is None:
        return {}
    verdicts = (v for v in trial.exploration.verdicts if v.kind != "fault" or v.outcome != "violated")
    questions = {_key(v): _question(v) for v in verdicts}
    return {**questions, **{_key_of(g): Question("fault", "", g.title) for g in _groups(trial)}}


def _question(v: Verdict) -> Question:
    return Question(v.kind, v.name, f"{v.kind} {v.text or v.name}" if v.is_own else v.name)


def _answers(trial: Trial) -> dict[_Key, Outcome]:
    if trial.exploration is None:
        return {}
    answers: dict[_Key, Outcome] = {}
    for v in trial.exploration.verdicts:
        answers[_key(v)] = "unknown" if v.outcome == "not checked" else v.outcome
    return {**answers, **{_key_of(g): "violated" for g in _groups(trial)}}


def _outcome(key: _Key, trial: Trial, answers: Mapping[_Key, Outcome]) -> Outcome:
    if trial.exploration is None:
        return "-" if trial.why else "unknown"
    if key in answers:
        return answers[key]
    if key[0] == "failing step":
        return "holds" if trial.exploration.complete else "unknown"
    return "-"


# In a terminal -------------------------------------------------------------------------------------------------------


def table_lines(x: Table, paint: Paint = plain) -> Iterator[str]:
    """The table in at most 80 columns; with more questions than fit beside each other, in several parts."""
    yield paint(x.system, "strong")
    labels = [_wrapped(trial.label) for trial in x.trials]
    width = max(len(line) for label in labels for line in label) + 2
    for number, part in enumerate(_parts(x.contested, WIDTH - width)):
        if number > 0:
            yield f"{paint(x.system, 'strong')} (continued)"
        sizes = [_size(q) for q, _ in part]
        names = "".join(printable(q.name).ljust(size) for (q, _), size in zip(part, sizes, strict=True))
        yield f"  {' ' * width}{names}".rstrip()
        for n, (first, *others) in enumerate(labels):
            cells = [x.cells(column)[n] for column in part]
            words = (paint(c.text, c.role) + " " * (k - len(c.text)) for c, k in zip(cells, sizes, strict=True))
            yield f"  {first.ljust(width)}{''.join(words)}".rstrip()
            yield from (f"  {line}" for line in others)
    for note in notes(x):
        yield from wrap(note, WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False)


def _wrapped(label: str) -> list[str]:
    return wrap(printable(label), MAX_LABEL, subsequent_indent="  ") or [""]


def _size(q: Question) -> int:
    return max(len(printable(q.name)), len("violated")) + 2


def _parts(columns: Sequence[Column], room: int) -> Iterator[list[Column]]:
    """The columns that fit beside each other; at least one, and where there is none, an empty part."""
    part: list[Column] = []
    left = room
    for column in columns:
        if part and _size(column[0]) > left:
            yield part
            part, left = [], room
        part.append(column)
        left -= _size(column[0])
    if part:
        yield part


def notes(x: Table) -> Iterator[str]:
    """What the names of columns stand for, what holds in every row, what a star means, and why rows are empty."""
    for q, _ in x.contested:
        if q.name not in q.title:
            yield f"{q.name}: {q.title}"
    if x.settled:
        more = len(x.settled) - MAX_SETTLED
        names = ", ".join(_settled_title(x, q) for q in x.settled[:MAX_SETTLED])
        yield f"holds wherever it was checked: {names}{f' and {more} more' if more > 0 else ''}"
    if any(cell.is_limited for column in x.columns for cell in x.cells(column)):
        yield f"{STAR} some steps fail in this row, and what would follow them is unknown"
    for why, trials in groupby((t for t in x.trials if t.why), key=lambda t: t.why):
        yield f"{', '.join(t.label for t in trials)}: {why}"


def _settled_title(x: Table, q: Question) -> str:
    return f"{q.title}{STAR}" if any(_is_limited(q, trial) for trial in x.trials) else q.title


# On a page -----------------------------------------------------------------------------------------------------------


def repairs_view(x: Table) -> RepairsView:
    """The table for the report."""
    return RepairsView(
        [q.name for q, _ in x.contested],
        [
            (t.label, _reason(t), [(cell.mark, cell.text) for cell in (x.cells(c)[n] for c in x.contested)])
            for n, t in enumerate(x.trials)
        ],
        list(notes(x)),
    )


def _reason(t: Trial) -> str:
    return t.repair.reason if t.repair is not None and t.repair.name is not None and t.scope == "one" else ""


# In other formats ----------------------------------------------------------------------------------------------------


def table_data(x: Table) -> shapes.Repairs:
    """What `fsm verify --each-amendment --format json` prints for a system."""
    module, _, name = x.system.rpartition(".")
    return {
        "system": name,
        "module": module,
        "questions": [{"kind": q.kind, "name": q.name, "title": q.title} for q in x.questions],
        "rows": [_row(trial, outcomes) for trial, outcomes in zip(x.trials, x.outcomes, strict=True)],
    }


def _row(trial: Trial, outcomes: Sequence[Outcome]) -> shapes.RepairRow:
    repair = trial.repair
    return {
        "repairs": trial.scope,
        "name": None if repair is None else repair.name,
        "reason": None if repair is None else repair.reason,
        "amendments": [] if repair is None else [place(a.span) for a in repair.amendments],
        "outcomes": [None if outcome == "-" else outcome for outcome in outcomes],
        "fails": trial.fails,
        "why": trial.why or None,
    }
