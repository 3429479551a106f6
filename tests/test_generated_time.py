"""Generated classes at run time: answers that come later, timers, locks of threads."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from generating import Calls, Generated


@pytest.fixture
def made(tmp_path: Path) -> Callable[[str], Generated]:
    return lambda text: Generated(tmp_path, text)


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
        with pytest.raises(busy, match=r"look arrives while <Worker 0: Trying> waits for the answer to begin"):
            blocked()
    worker.begin_err()
    assert (worker.state.display, worker.tries) == ("Idle", 1)
    other.look()


def test_an_impossible_answer_is_refused(made: Callable[[str], Generated]) -> None:
    package = made(WORKER)
    worker = package.Worker(package.System(), Calls("", "perhaps"))
    with pytest.raises(
        package["machinery"].OutOfRange, match=r"<Worker 0: .*>: begin must answer ok or err, not 'perhaps'"
    ):
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
    with pytest.raises(package["machinery"].Busy, match="gets look while it waits for the answer to fetch"):
        worker.look()
    with pytest.raises(package["machinery"].StaleAnswer):
        worker.fetch_yes(ticket + 1)
    worker.fetch_yes(ticket)
    with pytest.raises(package["machinery"].StaleAnswer, match=r"is not waiting for fetch.no"):
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


def test_an_event_loop_is_a_clock(made: Callable[[str], Generated]) -> None:
    package = made(TIMED.replace("2s", "20ms"))

    async def wait() -> str:
        job = package.Job(package.System(asyncio.get_running_loop()), Calls(), ready=True)
        await asyncio.sleep(0.2)
        return str(job.state.display)

    assert asyncio.run(wait()) == "Over"


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
