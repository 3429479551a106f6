"""Generated classes at run time: atomic steps, actions, crashes. Time, snapshots and what comes from outside have files
of their own.

That they mean what `step` means is shown in tests/twin.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from generating import HIVED, Calls, Generated, hived


@pytest.fixture
def made(tmp_path: Path) -> Callable[[str], Generated]:
    return lambda text: Generated(tmp_path, text)


def test_an_event_and_what_it_causes(made: Callable[[str], Generated]) -> None:
    calls = Calls()
    package, system, groups, cells = hived(made, calls)
    told: list[Any] = []
    system.listen(told.append)
    groups[0].schedule(frozenset(cells))
    assert groups[0].state is package.AffinityGroupState.ALLOCATED
    assert [c.state.display for c in cells] == ["Used", "Used"]
    assert calls.made == [("allocate", (cells[0], groups[0])), ("allocate", (cells[1], groups[0]))]
    assert [list(map(repr, step)) for step in told] == [
        ["AffinityGroup e0: Pending -> Allocated", "Cell e0: Free -> Used", "Cell e0: Free -> Used"]
    ]
    assert (told[0][0].label, told[0][0].event, told[0][0].source.value) == ("e0", "schedule", "Pending")


def test_an_unhandled_event_says_where_it_is_handled(made: Callable[[str], Generated]) -> None:
    package, _, groups, _ = hived(made)
    groups[0].schedule(frozenset())
    groups[0].pods_deleted()
    with pytest.raises(package.UnhandledEvent) as caught:
        groups[0].schedule(frozenset())
    assert str(caught.value) == "AffinityGroup is Deleted and does not handle schedule (handled in Pending)"


def test_a_guard_that_does_not_hold_is_told_apart(made: Callable[[str], Generated]) -> None:
    package, _, groups, cells = hived(made)
    groups[0].schedule(frozenset(cells[:1]))
    groups[1].schedule(frozenset(cells[:1]))
    with pytest.raises(package.UnhandledEvent, match="Pending, and no guard of its transitions on schedule holds"):
        package.AffinityGroup(groups[0]._system, priority=3).schedule(frozenset([cells[0]]))


def test_a_fault_in_the_middle_leaves_everything_as_it_was(made: Callable[[str], Generated]) -> None:
    """Without the amendment the second `preempted` is refused, when one cell has been reserved already."""
    package = made(HIVED.replace("ignore preempted in Allocated", "Pending on preempted"))
    system, calls = package.System(), Calls()
    groups = [package.AffinityGroup(system, priority=n) for n in (1, 2)]
    cells = [package.Cell(system, calls) for _ in range(2)]
    groups[0].schedule(frozenset(cells))
    before, calls.made = system.snapshot(), []
    told: list[Any] = []
    system.listen(told.append)
    with pytest.raises(package.UnhandledEvent, match="Allocated and does not handle preempted"):
        groups[1].schedule(frozenset(cells))
    assert system.snapshot() == before
    assert (calls.made, told) == ([], [])
    groups[0].pods_deleted()
    assert [c.state.display for c in cells] == ["Free", "Free"]


def test_an_interrupt_in_the_middle_undoes_the_step(made: Callable[[str], Generated]) -> None:
    _, system, groups, cells = hived(made)
    before = system.snapshot()

    class Breaking(frozenset[Any]):
        def __iter__(self) -> Any:
            yield from cells
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        groups[0].schedule(Breaking(cells))
    assert system.snapshot() == before
    groups[0].schedule(frozenset(cells))


def test_an_action_that_fails_undoes_nothing_and_stops_no_other(made: Callable[[str], Generated]) -> None:
    calls = Calls(ValueError("first"), OSError("second"))
    _, _, groups, cells = hived(made, calls)
    with pytest.raises(ExceptionGroup) as caught:
        groups[0].schedule(frozenset(cells))
    assert [type(e) for e in caught.value.exceptions] == [ValueError, OSError]
    assert [c.state.display for c in cells] == ["Used", "Used"]
    assert len(calls.made) == 2


def test_an_action_may_send_events(made: Callable[[str], Generated]) -> None:
    package = made(HIVED)
    system = package.System()
    group = package.AffinityGroup(system, priority=1)
    seen: list[str] = []

    class Hasty:
        def allocate(self, cell: Any, to: Any) -> None:
            seen.append("allocate")
            to.pods_deleted()
            seen.append(to.state.display)

        def release(self, cell: Any) -> None:
            seen.append("release")

    cells = [package.Cell(system, Hasty()) for _ in range(1)]
    group.schedule(frozenset(cells))
    assert seen == ["allocate", "Deleted", "release"]


def test_values_cannot_be_set_from_outside(made: Callable[[str], Generated]) -> None:
    _, _, groups, cells = hived(made)
    for thing, name in ((groups[0], "state"), (groups[0], "priority"), (cells[0], "user")):
        with pytest.raises(AttributeError):
            setattr(thing, name, None)
    with pytest.raises(AttributeError):
        groups[0].new_attribute = 1


def test_parameters_are_checked(made: Callable[[str], Generated]) -> None:
    package = made(HIVED)
    system = package.System()
    refused = package["machinery"].OutOfRange
    with pytest.raises(refused, match="AffinityGroup: priority must be a whole number from 0 to 1000, not 1001"):
        package.AffinityGroup(system, priority=1001)
    assert system.machines == ()


def test_invariants_can_be_checked(made: Callable[[str], Generated]) -> None:
    package, system, groups, cells = hived(made)
    groups[0].schedule(frozenset(cells))
    system.check_invariants()
    cells[1]._user = None
    with pytest.raises(package["machinery"].InvariantBroken, match=r"<Cell 3: Used>: used: Used => user != none"):
        system.check_invariants()


def test_a_listener_that_was_taken_away_is_told_nothing(made: Callable[[str], Generated]) -> None:
    _, system, groups, _ = hived(made)
    told: list[Any] = []
    other: list[Any] = []
    system.listen(told.append)
    system.listen(other.append)
    system.unlisten(told.append)
    groups[0].schedule(frozenset())
    assert (len(told), len(other)) == (0, 1)
    with pytest.raises(ValueError, match="does not listen to this system"):
        system.unlisten(told.append)


def test_a_step_can_be_tried(made: Callable[[str], Generated]) -> None:
    calls = Calls()
    _, system, groups, cells = hived(made, calls)
    told: list[Any] = []
    system.listen(told.append)
    before = system.snapshot()
    assert system.can(groups[0].schedule, frozenset(cells))
    assert not system.can(groups[0].pods_deleted)
    assert (system.snapshot(), told, calls.made) == (before, [], [])
    tried: list[bool] = []
    calls.allocate = lambda cell, to: tried.append(system.can(groups[1].schedule, frozenset()))
    groups[0].schedule(frozenset(cells))
    assert tried == [True, True]
    with pytest.raises(TypeError):
        system.can(groups[1].schedule)
    assert system.snapshot()["machines"][1]["state"] == "Pending"
    groups[1].schedule(frozenset())


def test_a_crash_reaches_the_whole_system(made: Callable[[str], Generated]) -> None:
    _, system, groups, cells = hived(made)
    groups[0].schedule(frozenset(cells[:1]))
    groups[1].schedule(frozenset(cells[:1]))
    assert (cells[0].state.display, cells[0].reserver) == ("being reserved", groups[1])
    system.crash()
    assert (cells[0].state.display, cells[0].reserver, cells[0].user) == ("Used", None, groups[0])
    assert [g.state.display for g in groups] == ["Allocated", "Pending"]


def test_a_machine_can_be_taken_out(made: Callable[[str], Generated]) -> None:
    package, system, groups, cells = hived(made)
    groups[0].schedule(frozenset(cells))
    groups[0].pods_deleted()
    system.remove(groups[0])
    assert system.machines == (groups[1], *cells)
    assert package.AffinityGroup(system, priority=7)._number == 4
    with pytest.raises(ValueError, match="is not in this system"):
        system.remove(groups[0])


# Machines that are made in circles -----------------------------------------------------------------------------------


def test_parameters_in_a_circle_are_given_later(made: Callable[[str], Generated]) -> None:
    package = made("""module ring
machine Node {
    param next: Node
    param weight: 0..3 = 1
    let far = next.next.weight
    initial state Calm
    state Called
    event call, reset
    Calm -> Called on call do if next.next in Called { next.call }
    * -> Calm on reset
}
""")
    system = package.System()
    nodes = [package.Node(system, weight=n) for n in range(3)]
    for a, b in zip(nodes, [*nodes[1:], nodes[0]], strict=True):
        a.connect(next=b)
    assert [n.far for n in nodes] == [2, 0, 1]
    for n in (2, 0):
        nodes[n].call()
    assert [n.state.display for n in nodes] == ["Called", "Called", "Called"]


def test_machines_that_count_each_other_are_files_in_a_circle(made: Callable[[str], Generated]) -> None:
    package = made("""module circle
let busy(n: 0..3) = (count r in R: r in B) + (count q in Q: q in B) >= n
machine R {
    counted: map<Q, bool>
    initial state A
    state B
    event go from environment
    A -> B on go when not busy(1) and counted == counted
}
machine Q {
    counted: map<R, bool>
    initial state A
    state B
    event go from environment
    A -> B on go when not busy(2) and counted == counted
}
""")
    system = package.System()
    r, q = package.R(system), package.Q(system)
    r.go()
    q.go()
    with pytest.raises(package.UnhandledEvent):
        package.R(system).go()


def test_a_machine_whose_instances_are_counted_is_known_to_a_system(made: Callable[[str], Generated]) -> None:
    package = made("""module counted
let busy(n: 0..3) = (count r in R: r in B) >= n
machine R { initial state A  state B  event go from environment  A -> B on go }
machine Q { initial state A  state B  event go from environment  A -> B on go when busy(1) }
""")
    system = package.System()
    r, q = package.R(system), package.Q(system)
    r.go()
    q.go()
    assert q.state.value == "B"


# The order of loops --------------------------------------------------------------------------------------------------


def test_loops_go_through_none_first_and_lists_in_order(made: Callable[[str], Generated]) -> None:
    package = made("""module turns
enum Colour { red | green | blue }
machine M {
    numbers: set<0..9?> = {7, none, 3}
    colours: set<Colour?> = {Colour.blue, none, Colour.green}
    lists: set<list<0..9>[2]>
    far: set<duration> = {3s, 1s, 2s}
    n: 0..9?
    c: Colour?
    seen: list<0..9>[9]
    last: duration
    initial state A
    event go from environment
    event put(x: list<0..9>[2]) from environment
    A on put(x) do add x to lists
    A on go do {
        for x in numbers { n = x  if x != none { add x to seen } }
        for y in colours { c = y }
        for z in lists { for one in z { add one to seen } }
        for d in far { last = d }
    }
}
""")
    alone = package.M()
    for x in ((9, 1), (2,), (2, 0)):
        alone.put(x)
    alone.go()
    assert (alone.n, alone.c, alone.last) == (7, package.Colour.BLUE, 3.0)
    assert alone.seen == (3, 7, 2, 2, 0, 9, 1)
    assert alone.snapshot()["fields"]["numbers"] == [None, 3, 7]


# A crash of some instances, while actions are still to be called -----------------------------------------------------


def test_an_instance_that_has_crashed_calls_no_more_actions(made: Callable[[str], Generated]) -> None:
    package = made("""module asking
machine M {
    initial state Idle
    state Asked
    state Told
    event poke from Boss
    action ask -> ok
    Idle -> Asked on poke do ask
    Asked -> Told on ask.ok
    * -> Idle on crash
}
machine Boss {
    param ms: set<M>
    initial state A
    event go from environment
    A on go do for x in ms { x.poke }
}
system S { ms: M[3]  boss: Boss { ms = ms }  environment { boss.go  some x in ms: crash of x } }
""")
    system = package.System()
    asked: list[Any] = []

    class Answering:
        def ask(self, machine: Any) -> str:
            if not asked:
                system.crash(ms[1])
            asked.append(machine)
            return "ok"

    ms = [package.M(system, Answering()) for _ in range(3)]
    package.Boss(system, ms=frozenset(ms)).go()
    assert asked == [ms[0], ms[2]]
    assert [x.state.value for x in ms] == ["Told", "Idle", "Told"]
