"""Generated classes at run time: atomic steps, actions, time, snapshots, locks.

That they mean what `step` means is shown in tests/twin.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from generating import ALONE, HIVED, Calls, Generated


@pytest.fixture
def made(tmp_path: Path) -> Callable[[str], Generated]:
    return lambda text: Generated(tmp_path, text)


# At run time ---------------------------------------------------------------------------------------------------------


def hived(made: Callable[[str], Generated], calls: Any = None) -> tuple[Generated, Any, Any, Any]:
    """A system of two groups and two cells."""
    package = made(HIVED)
    system = package.System()
    groups = [package.AffinityGroup(system, priority=n) for n in (1, 2)]
    cells = [package.Cell(system, calls or Calls()) for _ in range(2)]
    return package, system, groups, cells


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
    with pytest.raises(package["machinery"].OutOfRange, match="priority is 0 to 1000, not 1001"):
        package.AffinityGroup(system, priority=1001)
    assert system.machines == ()


def test_invariants_can_be_checked(made: Callable[[str], Generated]) -> None:
    package, system, groups, cells = hived(made)
    groups[0].schedule(frozenset(cells))
    system.check_invariants()
    cells[1]._user = None
    with pytest.raises(package["machinery"].InvariantBroken, match=r"<Cell 3: Used>: used: Used => user != none"):
        system.check_invariants()


def test_snapshots_go_through_json(made: Callable[[str], Generated]) -> None:
    package, system, groups, cells = hived(made)
    groups[0].schedule(frozenset(cells[:1]))
    saved = json.loads(json.dumps(system.snapshot()))
    assert saved["machines"][2] == {"number": 2, "state": "Used", "fields": {"user": 0, "reserver": None}}
    groups[1].schedule(frozenset(cells[:1]))
    system.restore(saved)
    assert system.snapshot() == saved
    other = hived(made)[1]
    other.restore(saved)
    assert other.snapshot() == saved
    with pytest.raises(package.ForeignSnapshot, match="a snapshot of 4 machines for a system that has 0"):
        package.System().restore(saved)


OTHERS = {
    "state": ({"state": "Lent"}, "'Lent' is not a valid CellState"),
    "field": ({"fields": {"user": 0}}, "KeyError('reserver')"),
    "reference": ({"fields": {"user": 9, "reserver": None}}, "KeyError(9)"),
    "shape": ({"fields": None}, "TypeError"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_foreign_snapshot_says_what_does_not_fit(kind: str, made: Callable[[str], Generated]) -> None:
    package, system, groups, cells = hived(made)
    groups[0].schedule(frozenset(cells[:1]))
    saved = json.loads(json.dumps(system.snapshot()))
    change, message = OTHERS[kind]
    saved["machines"][0]["state"] = "Deleted"
    saved["machines"][2] |= change
    before = system.snapshot()
    with pytest.raises(package.ForeignSnapshot) as caught:
        system.restore(saved)
    assert str(caught.value).startswith("what the snapshot has does not fit <Cell 2: Used>: ")
    assert message in str(caught.value)
    assert system.snapshot() == before
    with pytest.raises(package.ForeignSnapshot, match="does not fit <Cell 2: Used>"):
        cells[0].restore(saved["machines"][2])


def test_a_snapshot_of_another_version_is_converted(made: Callable[[str], Generated]) -> None:
    package, system, groups, cells = hived(made)
    groups[0].schedule(frozenset(cells[:1]))
    saved = json.loads(json.dumps(system.snapshot()))
    version = saved["version"]
    old = {**saved, "version": "older", "machines": [{**x, "state": x["state"].upper()} for x in saved["machines"]]}
    with pytest.raises(package.ForeignSnapshot, match=f"`migrate` does not convert version older to {version}"):
        system.restore(old, migrate={})
    with pytest.raises(package.ForeignSnapshot, match="does not fit <AffinityGroup 0: Allocated>"):
        system.restore(old)
    system.restore({**saved, "version": "older"})
    groups[0].pods_deleted()

    def newer(data: dict[str, Any]) -> dict[str, Any]:
        return {**data, "machines": [{**x, "state": x["state"].capitalize()} for x in data["machines"]]}

    system.restore(old, migrate={"older": newer})
    assert system.snapshot() == saved
    del saved["version"]
    system.restore(saved)
    assert system.snapshot()["version"] == version


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("// notes", "// other notes", True),
        ("n: 0..5", "n: 0..6", False),
        ("state Idle", "state Idle  state Other", False),
        ("n: 0..5", "n: 0..5  m: bool", False),
        ("A -> A on go  ", "A -> Idle on go  ", True),
    ],
)
def test_a_version_is_of_states_and_fields(before: str, after: str, same: bool, tmp_path: Path) -> None:
    text = """
    module v  // notes
    machine M { n: 0..5  initial state A  state Idle  event go, x  A -> A on go  Idle -> A on x }
    machine N { m: M?  initial state A  event go from environment  A -> A on go when m != none do m.x }
    """
    versions = [Generated(tmp_path, x)["machinery"].VERSION for x in (text, text.replace(before, after))]
    assert before in text
    assert (versions[0] == versions[1]) is same


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


# Actions with outcomes -----------------------------------------------------------------------------------------------

WORKER = """module work
machine Worker {
    tries: 0..3
    action begin -> ok | err
    async action fetch(n: 0..3) -> yes | no
    action log
    initial state Idle
    transient state Trying
    state Fetching
    state Done
    event go, look
    on entry(Trying) do begin
    Idle -> Trying on go do log
    Trying -> Idle on begin.err do tries = tries + 1
    Trying -> Fetching on begin.ok do fetch(tries)
    Fetching -> Done on fetch.yes
    Fetching -> Idle on fetch.no
    Idle, Done on look do log
    again: Idle -> Trying when wait and tries > 0
}
"""


def test_the_answer_of_an_action_is_the_next_step_of_the_round(made: Callable[[str], Generated]) -> None:
    package, calls = made(WORKER), Calls("", "err")
    worker = package.Worker(package.System(), calls)
    worker.go()
    assert calls.names == ["log", "begin"]
    assert (worker.state.display, worker.tries) == ("Idle", 1)


def test_an_action_that_breaks_off_keeps_everything_waiting(made: Callable[[str], Generated]) -> None:
    package = made(WORKER)
    system, calls = package.System(), Calls("", RuntimeError("lost"))
    worker, other = package.Worker(system, calls), package.Worker(system, Calls())
    with pytest.raises(RuntimeError, match="lost"):
        worker.go()
    busy = package["machinery"].Busy
    for blocked in (worker.look, other.look):
        with pytest.raises(busy, match=r"look comes while <Worker 0: Trying> waits for the answer of begin"):
            blocked()
    worker.begin_err()
    assert (worker.state.display, worker.tries) == ("Idle", 1)
    other.look()


def test_an_impossible_answer_is_refused(made: Callable[[str], Generated]) -> None:
    package = made(WORKER)
    worker = package.Worker(package.System(), Calls("", "perhaps"))
    with pytest.raises(ValueError, match="begin answers ok or err, not 'perhaps'"):
        worker.go()
    worker.begin_err()


def test_an_asynchronous_answer_comes_with_its_ticket(made: Callable[[str], Generated]) -> None:
    package = made(WORKER)
    system, calls = package.System(), Calls("", "ok")
    worker, other = package.Worker(system, calls), package.Worker(system, Calls())
    worker.go()
    (_, (who, ticket, n)) = calls.made[-1]
    assert (who, n, worker.state.display) == (worker, 0, "Fetching")
    other.look()
    with pytest.raises(package["machinery"].Busy, match="gets look while it waits for the answer of fetch"):
        worker.look()
    with pytest.raises(package["machinery"].StaleAnswer):
        worker.fetch_yes(ticket + 1)
    worker.fetch_yes(ticket)
    with pytest.raises(package["machinery"].StaleAnswer, match=r"does not wait for fetch.no"):
        worker.fetch_no(ticket)
    assert worker.state.display == "Done"


def test_what_is_awaited_is_part_of_a_snapshot(made: Callable[[str], Generated]) -> None:
    package, calls = made(WORKER), Calls("", "ok")
    system = package.System()
    worker = package.Worker(system, calls)
    worker.go()
    saved = json.loads(json.dumps(system.snapshot()))
    worker.fetch_yes(calls.made[-1][1][1])
    system.restore(saved)
    worker.fetch_no(calls.made[-1][1][1])
    assert worker.state.display == "Idle"


# Time ----------------------------------------------------------------------------------------------------------------

TIMED = """module timed
machine Job {
    param patience: duration = 2s
    ready: bool
    beats: 0..3
    action hold -> done
    initial state Waiting
    state Running { initial state Slow  state Fast }
    final state Over
    event start, prepare, faster, stop, pause
    Waiting -> Running on start
    Waiting on prepare do ready = true
    Slow -> Fast on faster
    Running -> Waiting on stop
    Waiting -> Over after patience when ready
    Running -> Over after 5min
    tick: Fast after 1min do beats = beats + 1
    Slow on pause do hold
    Slow on hold.done
}
"""


def timed(made: Callable[[str], Generated], calls: Any = None, **given: Any) -> tuple[Any, Any, Any]:
    package = made(TIMED)
    clock = package.VirtualClock()
    return clock, package.Job(package.System(clock), calls or Calls(), **given), package


def test_a_timer_waits_for_its_guard(made: Callable[[str], Generated]) -> None:
    clock, job, _ = timed(made)
    clock.advance(3)
    assert job.state.display == "Waiting"
    job.prepare()
    clock.advance(0.9)
    assert job.state.display == "Waiting"
    clock.advance(0.2)
    assert job.state.display == "Over"


def test_a_timer_runs_from_entry_to_exit(made: Callable[[str], Generated]) -> None:
    clock, job, _ = timed(made, patience=1.0)
    job.start()
    clock.advance(299)
    job.stop()
    job.start()
    clock.advance(150)
    job.faster()
    assert job._system.remaining(job) == {"Running after 5min": 150.0, "Fast after 1min": 60.0}
    clock.advance(149)
    assert (job.state.display, job.beats) == ("Fast", 2)
    clock.advance(1)
    assert job.state.display == "Over"
    assert job._system.remaining(job) == {}


def test_a_timer_whose_step_fails_runs_again(made: Callable[[str], Generated]) -> None:
    clock, job, package = timed(made, beats=3)
    job.start()
    job.faster()
    with pytest.raises(package["machinery"].OutOfRange):
        clock.advance(60)
    assert job.beats == 3
    assert job._system.remaining(job) == {"Running after 5min": 240.0, "Fast after 1min": 60.0}


def test_a_timer_waits_for_an_answer(made: Callable[[str], Generated]) -> None:
    clock, job, _ = timed(made, Calls(RuntimeError("later")))
    job.start()
    with pytest.raises(RuntimeError):
        job.pause()
    clock.advance(300)
    assert job.state.display == "Slow"
    job.hold_done()
    assert job.state.display == "Over"


def test_snapshots_hold_what_is_left_of_timers(made: Callable[[str], Generated]) -> None:
    clock, job, _ = timed(made)
    job.start()
    clock.advance(100)
    saved = json.loads(json.dumps(job._system.snapshot()))
    clock.advance(250)
    assert job.state.display == "Over"
    job._system.restore(saved)
    clock.advance(199)
    assert job.state.display == "Slow"
    clock.advance(1)
    assert job.state.display == "Over"


def test_an_event_loop_is_a_clock(made: Callable[[str], Generated]) -> None:
    package = made(TIMED.replace("2s", "20ms"))

    async def wait() -> str:
        job = package.Job(package.System(asyncio.get_running_loop()), Calls(), ready=True)
        await asyncio.sleep(0.2)
        return str(job.state.display)

    assert asyncio.run(wait()) == "Over"


# Standing alone ------------------------------------------------------------------------------------------------------


def test_a_machine_that_stands_alone_needs_no_system(made: Callable[[str], Generated]) -> None:
    package = made(ALONE)
    light = package.Light()
    told: list[Any] = []
    light.listen(told.append)
    light.toggle()
    light.toggle()
    assert [x.label for (x,) in told] == ["t1", "t2"]
    with pytest.raises(package.UnhandledEvent, match=r"Light is Off and does not handle dim \(handled in On\)"):
        light.dim(1)
    assert "class System" not in package.files["alone/machinery.py"]
    assert sys.getsizeof(light) <= 120


def test_a_fault_changes_nothing_in_a_machine_that_stands_alone(made: Callable[[str], Generated]) -> None:
    package = made(ALONE)
    light = package.Light(left=1)
    light.toggle()
    with pytest.raises(package["machinery"].OutOfRange, match="left is 0 to 3, not -1"):
        light.dim(2)
    saved = json.loads(json.dumps(light.snapshot()))
    assert saved == {"state": "On", "fields": {"level": 0, "left": 1}}
    light.toggle()
    light.restore(saved)
    assert light.state.display == "On"


# Locks ---------------------------------------------------------------------------------------------------------------

LOCKS = """module locks
locks Order {
    Partition > Queue
    Queue > child Queue
    write(Queue) > Application
    operation drop { write(Partition) { read(Queue) } }
}
"""


def test_locks_refuse_an_undeclared_order(made: Callable[[str], Generated]) -> None:
    package = made(LOCKS)
    order = package.Order()
    partition, root, application = order.partition(), order.queue(), order.application()
    leaf, stranger = order.queue(root), order.queue()
    with partition.write(), root.write(), leaf.write(), application.read():
        shown = "write(Partition) write(Queue) write(Queue) read(Application)"
        assert " ".join(map(repr, order.held())) == shown
    refused = [(application, partition), (partition, application), (root, stranger), (leaf, root), (root, root)]
    for held, wanted in refused:
        with held.write(), pytest.raises(package.LockOrderBroken), wanted.write():
            raise AssertionError
    why = r"read\(Application\) may not be taken while read\(Queue\) is held"
    with root.read(), pytest.raises(package.LockOrderBroken, match=why), application.read():
        raise AssertionError
    assert order.held() == []


def test_many_can_read_and_one_can_write(made: Callable[[str], Generated]) -> None:
    lock = made(LOCKS).Order().partition()
    counts, inside = [], 0
    together = threading.Barrier(2, timeout=60)

    def read() -> None:
        with lock.read():
            together.wait()

    def add() -> None:
        nonlocal inside
        for _ in range(200):
            with lock.write():
                inside += 1
                counts.append(inside)
                inside -= 1

    for work in (read, add):
        threads = [threading.Thread(target=work) for _ in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
    assert set(counts) == {1}


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
