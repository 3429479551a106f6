"""Which violation is found first, however a search is run."""

from __future__ import annotations

import pytest
from stepping import compiled, only_system
from test_explore import COUNTER, explored, steps, verdict

from fsmdsl.program.native import missing
from fsmdsl.search import Exploration, Limits, Means, Progress, data, explore
from fsmdsl.search import definition_search as search_module
from fsmdsl.search import packed_search as packed_module
from fsmdsl.step import Universe

# The first violation -------------------------------------------------------------------------------------------------

BROKEN = COUNTER % ("", 3, "invariant low: counters[0].n < 2  invariant later: counters[0].n < 4  reachable no: false")

HOW = [Means(compiled=False), *(Means(compiled=how, workers=n) for how in ("hastily", True) for n in (1, 3))]


def outcomes(x: Exploration) -> dict[str, str]:
    return {v.name: v.outcome for v in x.verdicts}


def answer(x: Exploration) -> object:
    """All but the time it took."""
    runs = [None if v.trace is None else data(v.trace) for v in x.verdicts]
    verdicts = [(v.name, v.outcome, v.basis, v.explanation) for v in x.verdicts]
    return x.states, x.transitions, x.levels, x.stopped, verdicts, runs, x.coverage


def test_a_violation_ends_the_exploration_with_its_level() -> None:
    whole = explored(BROKEN, Limits(after_violation=None))
    assert whole.complete
    assert outcomes(whole)["later"] == outcomes(whole)["no"] == "violated"
    x = explored(BROKEN, Limits(after_violation=0))
    assert (x.stopped, x.at_violation) == ("stopped at violations", True)
    # The level of the states that are two steps away is expanded, and what it leads to is asked.
    assert x.levels == whole.levels[:4]
    assert outcomes(x) == {
        "low": "violated", "later": "unknown", "no": "unknown", "no step fails": "unknown", "no deadlock": "unknown",
    }  # fmt: skip
    assert verdict(x, "later").basis == "bounded: stopped at violations"
    assert steps(verdict(x, "low")) == steps(verdict(whole, "low"))


def test_a_small_system_is_explored_whole_though_something_is_violated() -> None:
    assert answer(explored(BROKEN)) == answer(explored(BROKEN, Limits(after_violation=None)))
    assert explored(BROKEN, Limits(after_violation=344)).complete
    levels = explored(BROKEN).levels
    for most in (50, 200):
        found = explored(BROKEN, Limits(after_violation=most)).levels
        assert found == levels[: len(found)]
        assert sum(found[:-1]) < most <= sum(found)


def test_where_nothing_is_violated_nothing_ends_early() -> None:
    fine = COUNTER % ("", 2, "invariant fine: counters[0].n < 9  reachable five: counters[0].n == 5")
    x = explored(fine, Limits(after_violation=0))
    assert (x.states, x.stopped, x.at_violation) == (49, None, False)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("deadlock", "machine Gate { initial state Open  state Shut  event shut from environment"
         "  Open -> Shut on shut }"
         "machine M { param gate: Gate  n: 0..9  initial state A  event e from environment"
         "  A on e when n < 9 and gate in Open do n = n + 1 } system S { gate: Gate  m: M { gate = gate } }"),
        ("fault", "machine M { n: 0..3  initial state A  event e, f from environment  A on e do n = n + 1  A on f }"
         "system S { m: M[3] }"),
        ("fault", "machine M { n: 0..3 = 4  initial state A  state B  event e from environment  A -> B on e }"
         "system S { m: M }"),
    ],
)  # fmt: skip
def test_faults_and_deadlocks_are_violations_too(what: str, text: str) -> None:
    x, whole = explored(text, Limits(after_violation=0)), explored(text)
    assert x.at_violation
    assert x.states < whole.states
    (found,), (wanted,) = ([v for v in y.violations if v.kind == what] for y in (x, whole))
    assert (found.name, found.basis) == (wanted.name, wanted.basis)


@pytest.mark.parametrize("least", [0, 60])
def test_every_search_ends_with_the_same_level(least: int) -> None:
    """Where code is compiled, where it is not, and by definition."""
    model, limits = compiled(BROKEN), Limits(after_violation=least)
    universe = Universe(model, only_system(model))
    reference = search_module.Search(universe, limits)
    reference.run()
    for means in HOW:
        if means.compiled and missing() is not None:
            continue
        x = explore(model, only_system(model), limits, means=means)
        assert (x.states, x.transitions, list(x.levels)) == (reference.states, reference.transitions, reference.levels)
        assert answer(x) == answer(explored(BROKEN, limits))


def test_the_progress_names_what_is_violated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_module, "REPORT_EVERY", 0)
    monkeypatch.setattr(search_module, "REPORT_EVERY", 1)
    model = compiled(BROKEN)
    packed: list[Progress] = []
    explore(model, only_system(model), None, packed.append, Means(compiled=False))
    by_definition: list[Progress] = []
    search_module.Search(Universe(model, only_system(model)), Limits(), by_definition.append).run()
    for told in (packed, by_definition):
        assert told[0].violated == ()
        assert told[-1].violated == ("invariant low after 2 steps", "invariant later after 4 steps")
