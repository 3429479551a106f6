"""Which fault generated classes raise, where values do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from generating import Calls, Generated

TWICE_WRONG = """module twice
record Entry { term: 0..3 }
record Few { few: list<0..3>[1] }
machine Node {
    peer: Node?
    n: 0..3 = 2
    some_: Few = Few([1])
    kept: map<bool, 0..1> = 1
    initial state A
    event join(x: Node), go, ask from environment
    event poke(x: Node), take(votes: map<bool, 0..1>) from Node
    action tell(few: list<0..3>[1], e: Entry)
    A on join(x) do peer = x
    A on go do if peer != none { peer.poke(self) }
    A on poke(x) do x.take(n)
    A on take(votes) do kept = votes
    A on ask do tell([n, n], Entry(n + n))
}
"""


@pytest.mark.parametrize(
    ("event", "why"),
    [("go", "n must be from 0 to 1, not 2"), ("ask", "Entry: term must be a whole number from 0 to 3, not 4")],
)
def test_of_two_faults_the_one_that_is_computed_first_is_raised(event: str, why: str, tmp_path: Path) -> None:
    """A map holds what it is made of before it is sent to a machine that is busy; what is handed to an action is
    computed before it is looked at whether it fits."""
    made: Any = Generated(tmp_path, TWICE_WRONG)
    system = made.System()
    a, b = (made.Node(system, Calls()) for _ in range(2))
    a.join(b)
    b.join(a)
    with pytest.raises(made.StepRefused, match=why):
        getattr(a, event)()


def test_a_first_value_that_does_not_fit_is_no_matter_where_another_is_given(tmp_path: Path) -> None:
    made: Any = Generated(tmp_path, TWICE_WRONG.replace("1> = 1", "1> = 2"))
    system = made.System()
    node = made.Node(system, Calls(), kept=made.Table(0))
    assert node.kept[True] == 0
    with pytest.raises(made.StepRefused, match="2 must be from 0 to 1, not 2"):
        made.Node(system, Calls())
    long: Any = Generated(tmp_path, TWICE_WRONG.replace("Few([1])", "Few([1, 2])"))
    with pytest.raises(long.StepRefused, match="few holds at most 1, not 2"):
        long.Node(long.System(), Calls())


def test_a_derived_value_may_be_given_what_its_parameters_do_not_hold(tmp_path: Path) -> None:
    text = """module derived
    let at(votes: map<0..2, bool>, k: 0..2) = votes[k]
    machine Node {
        votes: map<0..2, bool> = true
        n: 0..9 = 3
        initial state A
        event own, ours, well from environment
        let entry(k: 0..2) = votes[k]
        A on own when entry(n) do n = 0
        A on ours when at(votes, n) do n = 0
        A on well when entry(n - 1) and at(votes, n - 1) do n = 0
    }
    """
    made: Any = Generated(tmp_path, text)
    node = made.Node()
    for event in (node.own, node.ours):
        with pytest.raises(made.StepRefused, match="votes has the keys 0 to 2, not 3"):
            event()
    node.well()
    assert node.n == 0
