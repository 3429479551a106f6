"""A session as values that JSON knows: what a page shows of it."""

from __future__ import annotations

from typing import Any

from fsmdsl.report.stepping import stepping
from fsmdsl.runs.rejection import fault_lines
from fsmdsl.runs.simulation.choices import Choice, choices
from fsmdsl.runs.simulation.questions import condition_values
from fsmdsl.runs.simulation.session import Session
from fsmdsl.step import Universe, within

Data = dict[str, Any]


def view(session: Session, name: str, title: str) -> Data:
    """The whole run in the shape of `report.stepping`, and what is so at the place where the session stands."""
    return {"run": stepping(session.whole, name, title), **here(session)}


def here(session: Session) -> Data:
    """What can come next, and what of all that is asked holds now. Independent of the length of the run."""
    universe = session.universe
    options = choices(session)
    return {
        "at": session.at,
        "choices": [_choice(universe, c) for c in options.choices],
        "problem": options.problem,
        "beyond": not within(universe, session.world),
        "asked": [
            {"kind": a.kind, "name": a.name, "holds": a.holds, "why": list(a.why)}
            for a in condition_values(universe, session.world)
        ],
    }


def _choice(universe: Universe, c: Choice) -> Data:
    return {
        "number": c.number,
        "text": c.text,
        "kind": c.kind,
        "instance": c.instance,
        "leads": c.leads,
        "fault": None if c.fault is None else {"kind": c.fault.kind, "told": list(fault_lines(universe, c.fault))},
    }
