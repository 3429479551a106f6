"""The questions of a search, and the atoms of temporal properties, as conditions that can be lowered."""

from __future__ import annotations

from collections.abc import Iterable

from fsmdsl import model as m
from fsmdsl.model.walk import expressions
from fsmdsl.runs.liveness.plan import Atom, Plan
from fsmdsl.runs.search_result import Question
from fsmdsl.runs.verdicts.verdict import QuestionKey
from fsmdsl.search.lower import Condition
from fsmdsl.step.world import Value


def conditions(questions: Iterable[Question]) -> dict[QuestionKey, Condition]:
    """One for each key: of the instances of a machine, it makes no difference which."""
    by_key: dict[QuestionKey, Condition] = {}
    for q in questions:
        by_key.setdefault(
            q.key, Condition(q.declaration.condition, q.kind != "invariant", machine=q.key.machine or None)
        )
    return by_key


def of_atoms(plan: Plan) -> list[Condition]:
    """The atoms of a plan, in order."""
    return [
        Condition(m.Constant(False, m.BOOL) if a.of_graphs else a.expr, instance=a.instance, locals=dict(_typed(a)))
        for a in plan.atoms
    ]


def _typed(a: Atom) -> Iterable[tuple[str, tuple[m.Type, Value]]]:
    types = {e.name: e.type for e in expressions(a.expr) if isinstance(e, m.Local)}
    return ((name, (types[name], value)) for name, value in a.bound if name in types)
