"""The virtual clock, and what the outer scheduler does."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from invariants import check
from simulating import RACKS, TWO, Log, request, run, simulation, workloads
from tiers import share

from runtime.simulate.checking import Checking
from runtime.simulate.figures import series, summary
from runtime.simulate.job import Stage
from runtime.simulate.observe import ClusterFace, Event
from runtime.simulate.outages import Outage
from runtime.simulate.workload import Request


def test_a_gang_runs_as_long_as_it_needs() -> None:
    made, log = run(TWO, [request("g", at=5, lasts=60, pods=2, each=2)])
    assert log.of("g") == [(5, "submitted"), (5, "started"), (65, "finished")]
    assert log.capacity == 8
    assert log.moments == [5, 65]
    assert log.ended == 65
    job = made.jobs[0]
    assert (job.used, job.wasted, job.waited, job.runs) == (240, 0, 0, 1)


def test_whoever_came_first_is_first() -> None:
    gangs = [request("one", each=3), request("two", at=1, each=3), request("three", at=2, each=3)]
    _, log = run(TWO, gangs)
    assert [event.gang for event in log.events if event.kind.value == "started"] == ["one", "two", "three"]
    assert log.of("three")[1] == (200, "started")


def test_small_gangs_overtake_a_large_one_that_waits_but_not_for_ever() -> None:
    """One leaf cell is always free for small gangs: without a limit, the large one would wait for all of them."""
    small = [request(f"s{n}", at=n * 10, lasts=95) for n in range(40)]
    large = request("large", at=5, lasts=10, each=4)
    for limit in (0, 3):
        _, log = run(TWO, [*small, large], backfill=limit)
        began = {event.gang: event.time for event in log.events if event.kind.value == "started"}
        overtook = [gang for gang, time in began.items() if 5 < time < began["large"]]
        assert len(overtook) == limit
    _, log = run(TWO, [*small, large], backfill=1000)
    assert log.of("large")[1][0] > 400


def test_stronger_gangs_come_before_older_ones() -> None:
    gangs = [request("now", each=4), request("old", at=1, each=4), request("strong", at=2, each=4, priority=0)]
    _, log = run(TWO, [*gangs, request("weak", at=3, each=4, tenant="B", priority=-1, lasts=500)])
    assert log.of("weak")[1] == (3, "started")
    assert log.of("old")[1] == (100, "started")


def test_a_stronger_gang_displaces_a_weaker_one_which_begins_again_at_its_checkpoint() -> None:
    weak, strong = request("weak", each=4, lasts=1000, priority=1), request("strong", at=250, each=4, priority=9)
    made, log = run(TWO, [weak, strong], grace=30, checkpoint=100)
    assert log.of("weak") == [
        (0, "submitted"),
        (0, "started"),
        (250, "evicted"),
        (280, "preempted"),
        (380, "started"),
        (1180, "finished"),
    ]
    assert log.of("strong") == [(250, "submitted"), (250, "reserved"), (280, "started"), (380, "finished")]
    assert next(event.detail for event in log.events if event.kind.value == "evicted") == "strong"
    job = made.jobs[0]
    assert (job.preempted, job.runs, job.waited) == (1, 2, 100)
    assert job.wasted == 80 * 4
    assert job.used == (1000 + 80) * 4
    found = summary(made)
    assert found["preemptions"] == {"guaranteed": 1, "opportunistic": 0, "lost": 0, "demoted": 0}
    assert found["wasted_device_seconds"] == 320
    assert sum(series(made)["preempted"]["guaranteed"]) == 1


@pytest.mark.parametrize(("checkpoint", "lost"), [(0, 0), (float("inf"), 280), (90, 10)])
def test_what_is_lost_depends_on_how_often_work_is_saved(checkpoint: float, lost: float) -> None:
    weak, strong = request("weak", each=4, lasts=1000, priority=-1), request("strong", at=250, tenant="B", each=4)
    other = request("other", tenant="A", each=4, lasts=2000)
    made, _ = run(TWO, [weak, strong, other], checkpoint=checkpoint)
    job = next(job for job in made.jobs if job.request.gang == "weak")
    assert job.wasted == lost * 4 * (job.preempted > 0)
    assert job.preempted == 1


def test_a_gang_that_finishes_while_it_is_told_to_leave_has_finished() -> None:
    weak, strong = request("weak", each=4, lasts=260, priority=1), request("strong", at=250, each=4, priority=9)
    made, log = run(TWO, [weak, strong], grace=30)
    assert log.of("weak")[-1] == (260, "finished")
    assert log.of("strong")[2] == (260, "started")
    assert made.jobs[0].preempted == 0


def test_a_reservation_is_overthrown_by_a_stronger_gang() -> None:
    gangs = [
        request("weak", each=4, lasts=1000, priority=1),
        request("middle", at=100, each=4, priority=5),
        request("strong", at=110, each=4, priority=9),
    ]
    _, log = run(TWO, gangs, grace=30, checkpoint=0)
    assert log.of("strong") == [(110, "submitted"), (110, "reserved"), (130, "started"), (230, "finished")]
    assert log.of("middle")[-2:] == [(230, "started"), (330, "finished")]


def test_a_gang_under_which_a_node_fails_waits_until_it_can_run_again() -> None:
    made, log = run(TWO, [request("g", each=4, lasts=500)], Outage("a", 100, 250), Outage("b", 100, 200), checkpoint=60)
    assert log.of("g")[1:] == [(0, "started"), (100, "lost"), (200, "started"), (640, "finished")]
    assert made.jobs[0].lost == 1
    found = summary(made)
    assert found["preemptions"]["lost"] == 1
    assert found["available_device_seconds"] == 8 * 640 - 4 * 150 - 4 * 100
    assert min(series(made)["capacity"]) < 8


def test_outages_of_a_node_that_overlap_end_with_the_last() -> None:
    _, log = run(TWO, [request("g", at=150, each=4)], Outage("a", 0, 200), Outage("a", 100, 400), Outage("b", 10, None))
    assert log.of("g")[1] == (400, "started")
    assert [(e.time, e.kind.value) for e in log.events if e.node == "a"] == [(0, "node down"), (400, "node up")]


def test_a_gang_that_could_not_run_even_alone_is_refused_and_blocks_nobody() -> None:
    gangs = [request("huge", pods=2, each=4), request("small", at=2)]
    made, log = run(TWO, gangs, backfill=0)
    assert log.of("huge") == [(0, "submitted"), (0, "refused")]
    assert "can never have 2 x 4 leaf cells" in made.jobs[0].reason
    assert log.of("small")[-1] == (102, "finished")
    assert summary(made)["gangs"] == {
        "all": 2,
        "finished": 1,
        "failed": 0,
        "refused": 1,
        "running": 0,
        "waiting": 0,
        "never_started": 1,
    }
    assert made.waiting == 0


def test_opportunistic_gangs_use_what_others_do_not_and_go_when_they_come() -> None:
    gangs = [
        request("wide", tenant="A", pods=2, each=4, priority=-1, lasts=300),
        request("owner", tenant="B", at=50, each=4, lasts=100),
    ]
    made, log = run(TWO, gangs, grace=10, checkpoint=0)
    assert log.of("wide")[1:4] == [(0, "started"), (50, "evicted"), (60, "preempted")]
    assert log.of("wide")[4:] == [(160, "started"), (400, "finished")]
    tenant = summary(made)["tenants"]["A"]
    assert tenant["guaranteed_utilisation"] == 0
    assert tenant["opportunistic_utilisation"] == 1, "in the 50 seconds in which gangs came"
    assert summary(made)["utilisation"] == pytest.approx((8 * 300 + 4 * 100) / (8 * 400), abs=1e-4)


def test_a_gang_that_is_lazily_preempted_goes_on() -> None:
    gangs = [
        request("lazy", each=4, lasts=500, priority=1, lazy_preemption=True),
        request("strong", at=100, each=4, priority=9),
    ]
    made, log = run(TWO, gangs)
    assert log.of("lazy") == [(0, "submitted"), (0, "started"), (500, "finished")]
    assert log.of("strong")[1] == (100, "started")
    assert summary(made)["preemptions"]["demoted"] == 1


def test_failed_gangs_end_and_do_not_come_back() -> None:
    made, log = run(TWO, [request("g", failed=True)])
    assert log.of("g")[-1] == (100, "failed")
    assert made.jobs[0].stage is Stage.FAILED


def test_it_can_be_stopped_early() -> None:
    made, log = run(TWO, [request("g", lasts=1000), request("h", at=5, each=4), request("i", at=900)], until=500)
    assert log.ended == 500
    found = summary(made)
    assert found["gangs"]["running"] == 1
    assert found["gangs"]["waiting"] == 2
    assert found["used_device_seconds"] == 500


# Whatever is asked for


class Invariants:
    """An observer that counts all books of the allocator anew at each moment."""

    def begin(self, cluster: ClusterFace, capacity: int) -> None:
        self.cluster = cluster

    def advance(self, to: float) -> None:
        check(self.cluster)  # type: ignore[arg-type]

    def event(self, event: Event) -> None:
        pass

    def end(self, time: float) -> None:
        check(self.cluster)  # type: ignore[arg-type]


@given(workloads(), st.sampled_from((0.0, 20.0, 60.0)), st.sampled_from((0, 2, 50)))
@settings(max_examples=share(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_is_lost_and_nothing_counted_twice(
    workload: tuple[list[Request], list[Outage]], grace: float, backfill: int
) -> None:
    requests, outages = workload
    made, log = simulation(RACKS, requests, outages, grace=grace, backfill=backfill, checkpoint=30.0), Log()
    made.run([Invariants(), Checking(made, 1000), log])
    kinds = Counter((event.gang, event.kind.value) for event in log.events)
    for job in made.jobs:
        name = job.request.gang
        assert job.stage.over, "all nodes are repaired in the end, so everybody ends"
        assert kinds[name, "submitted"] == 1
        assert sum(kinds[name, end] for end in ("finished", "failed", "refused")) == 1
        assert kinds[name, "started"] == job.runs == job.preempted + job.lost + (job.stage is not Stage.REFUSED)
        assert job.used == pytest.approx(
            job.wasted + (0 if job.stage is Stage.REFUSED else job.request.duration * job.request.devices)
        )
    found, over_time = summary(made), series(made)
    assert found["used_device_seconds"] == pytest.approx(sum(job.used for job in made.jobs), abs=0.01)
    assert found["used_device_seconds"] <= found["available_device_seconds"] + 0.01
    assert found["gangs"]["waiting"] == made.waiting == 0
    for n, capacity in enumerate(over_time["capacity"]):
        used = sum(v[n] for kind in ("guaranteed", "opportunistic") for v in over_time[kind].values())
        assert 0 <= used <= capacity + 0.001
    again, log_again = simulation(RACKS, requests, outages, grace=grace, backfill=backfill, checkpoint=30.0), Log()
    again.run([log_again])
    assert log_again.events == log.events
    assert summary(again) == found
