"""Our verdicts beside those of another tool, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.second_opinion.opinion import Key, Opinion
from fsmdsl.runs.verdicts.verdict import Exploration, Verdict

Agreement = Literal["confirmed", "different", "not confirmed"]


@dataclass(frozen=True, slots=True)
class Row:
    """One verdict, or the count of states. `ours` and `theirs` are words for people."""

    what: str
    ours: str
    theirs: str
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """All that was compared of one system."""

    system: str
    tool: str
    rows: tuple[Row, ...]
    seconds: float = 0.0

    @property
    def agreement(self) -> Agreement:
        """Different where one row is; confirmed where all are."""
        agreements = {x.agreement for x in self.rows}
        return (
            "different"
            if "different" in agreements
            else "not confirmed"
            if "not confirmed" in agreements
            else "confirmed"
        )

    def count(self, agreement: Agreement) -> int:
        """How many rows agree so."""
        return sum(x.agreement == agreement for x in self.rows)


def compare(x: Exploration, opinion: Opinion) -> SecondOpinion:
    """Beside an exploration of every state, without symmetry: `fsm verify --no-symmetry --all` of that system."""
    return SecondOpinion(x.system.qualified, opinion.tool, tuple(_rows(x, opinion)), opinion.seconds)


def _rows(x: Exploration, opinion: Opinion) -> Iterator[Row]:
    why = opinion.unfinished
    if why is None and x.stopped is not None:
        why = f"our own search did not end: {x.stopped}"
    if why is None and x.reduced:
        why = "our own search counted states up to symmetry"
    if why is not None:
        yield Row("states", str(x.states), why, "not confirmed")
        yield from (Row(v.label, v.outcome, why, "not confirmed") for v in x.verdicts)
        return
    yield _row("states", str(x.states), str(opinion.states))
    reported = set[Key]()
    for v in x.verdicts:
        match v.kind:
            case "property":
                yield _run(v, opinion)
            case "fault":
                key = Key("fault", v.name, str(v.span))
                reported.add(key)
                if v.outcome == "violated":
                    theirs = "violated" if key in opinion.findings else "holds"
                    yield _row(f"{v.label} at {v.span}", "violated", theirs)
            case "refinement":
                yield Row(v.label, v.outcome, "other checkers are not asked about it", "not confirmed")
            case "invariant" | "deadlock" | "reachable":
                yield _row(v.label, v.outcome, _theirs(v, opinion))
    others = sorted(k for k in opinion.findings if k.kind == "fault" and k not in reported)
    yield from (_row(f"fault {k.name} at {k.place}", "holds", "violated") for k in others)
    if not x.fails and not others:
        yield _row("no step fails", "holds", "holds")


def _row(what: str, ours: str, theirs: str) -> Row:
    return Row(what, ours, theirs, "confirmed" if ours == theirs else "different")


def _theirs(v: Verdict, opinion: Opinion) -> str:
    name = "" if v.kind == "deadlock" else v.name
    is_reported = Key(v.kind, name) in opinion.findings
    return "holds" if is_reported is (v.kind == "reachable") else "violated"


def _run(v: Verdict, opinion: Opinion) -> Row:
    what = v.label
    if v.name in opinion.without:
        return Row(what, v.outcome, opinion.without[v.name], "not confirmed")
    if v.outcome not in ("holds", "violated"):
        return Row(what, v.outcome, "there is no verdict to confirm", "not confirmed")
    theirs = "holds" if opinion.runs[v.name] else "violated"
    if v.outcome == theirs == "violated" and v.trace is not None:
        reason = opinion.refusal(v.name, v.trace)
        if reason is not None:
            return Row(what, "violated", f"violated, but not by the run shown: {reason}", "different")
    return _row(what, v.outcome, theirs)
