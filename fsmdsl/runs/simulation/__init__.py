"""Walking through a system step by step: what `fsm simulate` and the live page have in common.

Pure: a session is a value, and what a person does with it makes another. What a step means is said by `fsmdsl.step`.
"""

from __future__ import annotations

from fsmdsl.runs.simulation.begin import NoSuchError, begin, called, closed_system, subject
from fsmdsl.runs.simulation.choices import Choice, Offered, choices, chosen, matching, offered
from fsmdsl.runs.simulation.questions import ConditionValue, condition_values
from fsmdsl.runs.simulation.refusals import why_not
from fsmdsl.runs.simulation.replay import RecordedRun, ReplayError, recorded_runs, replayed
from fsmdsl.runs.simulation.session import Session

__all__ = [
    "Choice",
    "ConditionValue",
    "NoSuchError",
    "Offered",
    "RecordedRun",
    "ReplayError",
    "Session",
    "begin",
    "called",
    "choices",
    "chosen",
    "closed_system",
    "condition_values",
    "matching",
    "offered",
    "recorded_runs",
    "replayed",
    "subject",
    "why_not",
]
