"""Temporal properties, decided on the graph of all states, under weak and strong fairness.

An explorer makes a `Plan` with `questions`, records a `Graph` (with a `Recorder`, or in its own way), and asks for
`answers`; `counterexample` turns a lasso into steps of the system, and
`why` says what is wrong with them.
"""

from fsmdsl.explore.liveness.answer import Answer, Breach, answers, counterexample
from fsmdsl.explore.liveness.graph import BITS, STAYS, Graph, Hop, Ints, Lasso
from fsmdsl.explore.liveness.ground import questions
from fsmdsl.explore.liveness.plan import Atom, Claim, Obligation, Plan, Premise, Question
from fsmdsl.explore.liveness.record import Marks, Recorder
from fsmdsl.explore.liveness.why import why

__all__ = [
    "BITS", "STAYS", "Answer", "Atom", "Breach", "Claim", "Graph", "Hop", "Ints", "Lasso", "Marks", "Obligation",
    "Plan", "Premise", "Question", "Recorder", "answers", "counterexample", "questions",
    "why",
]  # fmt: skip
