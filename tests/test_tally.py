"""How often transitions are followed and states inhabited: every search counts what the definition counts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from campaign import narrow, packed
from hived_lite import hived_lite
from packed_search import needs_compiler, own_objects
from stepping import compiled, only_system
from tiers import enough, today

from fsmdsl import model as m
from fsmdsl.dataclasses import replace
from fsmdsl.model.workspace import load
from fsmdsl.runs.disagreement import DisagreementError
from fsmdsl.runs.search_result import states_inhabited, transitions_followed
from fsmdsl.runs.space import visits
from fsmdsl.search import Limits, Means, Tally, explore, plain
from fsmdsl.search.lower.machines import notes
from fsmdsl.step import Universe

pytestmark = pytest.mark.usefixtures(own_objects.__name__)

SPECS = Path(__file__).parent.parent / "specs"
PLAIN = Means(compiled=False, symmetry=False, counted=True)
MOST = 500
"""States up to which a system of the specs is counted by the definition."""

CROWD = """
machine Guest {
  initial state Out
  state In { initial state Waiting  state Served }
  event enter, leave, close from environment
  Out -> Waiting on enter
  Waiting -> Served when wait
  In -> Out on close
  Served -> Out on leave
  ignore enter in In
  ignore leave, close in Out
  ignore leave in Waiting
}
system Inn { guests: Guest[3]%s }
"""

WIDE = f"""
machine Wide {{
  initial state S0
  {" ".join(f"state S{n}" for n in range(1, 70))}
  event go from environment
  {" ".join(f"S{n} -> S{(n + 1) % 70} on go" for n in range(70))}
}}
system W {{ a: Wide  b: Wide }}
"""
"""More states and transitions than a word has bits."""


def by_definition(model: m.Model, system: m.System) -> Tally:
    universe, tally = Universe(model, system), Tally()
    for visit in visits(universe, sys.maxsize):
        tally.inhabited.update(states_inhabited(universe, visit.world))
        for arc in visit.arcs:
            tally.followed.update(transitions_followed(universe, arc.result))
    return tally


def spec_systems() -> list[tuple[m.Model, m.System]]:
    model = load([str(SPECS)]).model
    assert model is not None
    return [(model, x) for x in model.systems.values()]


def test_of_all_specs_the_definition_counts_the_same() -> None:
    compared = 0
    for model, system in today(spec_systems()):
        x = explore(model, system, Limits(MOST), means=PLAIN)
        if x.complete:
            assert x.tally == by_definition(model, system), system.qualified
            compared += 1
    assert compared > enough(10)


@pytest.mark.parametrize("text", [hived_lite(2, 3, 2), CROWD % "", WIDE])
def test_what_does_not_fit_into_the_room_there_is_counts_once(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state whose successors find no room is expanded once more."""
    monkeypatch.setattr(plain, "CAP", 1)
    model = compiled(text)
    system = only_system(model)
    assert explore(model, system, means=PLAIN).tally == by_definition(model, system)


@needs_compiler
@pytest.mark.parametrize("workers", today([1, 2, 3]))
@pytest.mark.parametrize("text", [hived_lite(3, 5, 2), CROWD % "", WIDE])
def test_machine_code_counts_the_same(text: str, workers: int) -> None:
    """With so little room that blocks are cut off all the time, and parts of them are expanded again."""
    model = compiled(text)
    system = only_system(model)
    with narrow(4, 3):
        search = packed(model, system, Limits(), replace(PLAIN, compiled=True, workers=workers))
    assert search.tally == explore(model, system, means=PLAIN).tally


def test_by_symmetry_states_and_steps_count_once() -> None:
    model = compiled(CROWD % " symmetric")
    x, whole = (explore(model, only_system(model), means=replace(PLAIN, symmetry=s)) for s in (True, False))
    assert x.reduced
    assert x.tally is not None
    assert whole.tally is not None
    assert x.states < whole.states
    assert {*x.tally.followed} == {*whole.tally.followed}
    assert {*x.tally.inhabited} == {*whole.tally.inhabited}
    assert max(x.tally.inhabited.values()) <= x.states


def test_nobody_counts_who_is_not_asked() -> None:
    model = compiled(CROWD % "")
    assert explore(model, only_system(model)).tally is None


def test_a_program_that_counts_wrong_disagrees_with_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes.tally, "follow", lambda *_: None)
    model = compiled(CROWD % "")
    with pytest.raises(DisagreementError, match="how often transitions are followed"):
        explore(model, only_system(model), means=PLAIN)
