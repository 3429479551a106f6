"""What an operator sees of virtual clusters in the metrics: devices, waiting, preemptions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from clusters import config, gang, nodes, rack
from desk import Desk

from runtime import Bind
from runtime.holding import Claim
from runtime.service import questions

TWO = config(nodes(*"abcd"), research={"NODE": 3}, product={"NODE": 1})


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    found = Desk(TWO, tmp_path)
    yield found
    found.allocator.close()


def of(tenant: str) -> str:
    return f'virtual_cluster="{tenant}"'


def test_devices_of_virtual_clusters(desk: Desk) -> None:
    assert desk.series("allocator_promised_devices") == {of("research"): 12, of("product"): 4}
    desk.run(gang("long", "research", 4, 2))
    desk.run(gang("cheap", "product", 4, 2, priority=-1))
    assert desk.series("allocator_used_devices") == {of("research"): 6}
    assert desk.series("allocator_opportunistic_devices") == {of("product"): 6}


def test_devices_count_as_lent_by_whose_cells_they_are_in(tmp_path: Path) -> None:
    """A cell of a virtual cluster stands for a physical one as long as something guaranteed is in it."""
    desk = Desk(config([rack("a", "b"), rack("c", "d")], owner={"RACK": 1}, guest={"RACK": 1}), tmp_path)
    (pod,) = gang("own", "owner", 4)
    desk.run([pod])
    desk.run(gang("cheap", "guest", 4, 4, 4, priority=-1))
    assert desk.series("allocator_lent_devices") == {of("owner"): 4}
    assert desk.series("allocator_opportunistic_devices") == {of("guest"): 12}
    desk.end([pod])
    assert desk.series("allocator_lent_devices") == {}, "no cell is its own now"
    desk.allocator.close()


def test_who_waits_and_for_how_long(desk: Desk) -> None:
    desk.submit(gang("first", "research", 4, 4))
    desk.now += 100
    desk.submit(gang("second", "research", 2))
    desk.submit(gang("third", "product", 1))
    desk.now += 11
    assert desk.series("allocator_waiting_gangs") == {of("research"): 2, of("product"): 1}
    assert desk.series("allocator_waiting_devices") == {of("research"): 10, of("product"): 1}
    assert desk.series("allocator_oldest_wait_seconds") == {of("research"): 111, of("product"): 11}


def test_waiting_times_are_counted_when_the_wait_is_over(desk: Desk) -> None:
    slow, quick = gang("slow", "research", 4, 4), gang("quick", "research", 2)
    desk.submit(slow)
    desk.now += 59
    desk.submit(quick)
    desk.run(quick)
    assert desk.series("allocator_wait_seconds_count") == {of("research"): 1}
    assert desk.series("allocator_wait_seconds_sum") == {}
    desk.now += 1
    desk.run(slow)
    assert desk.series("allocator_wait_seconds_sum") == {of("research"): 60}
    buckets = desk.series("allocator_wait_seconds_bucket")
    limits = [1, 5, 15, 60, 300, 900, 3600, 14400, 86400]
    assert [buckets[f'le="{x:.1f}",{of("research")}'] for x in limits] == [1, 1, 1, 2, 2, 2, 2, 2, 2]
    assert buckets[f'le="+Inf",{of("research")}'] == 2
    desk.end(slow)
    desk.submit(gang("gone", "product", 1))
    desk.end(gang("gone", "product", 1))
    assert desk.series("allocator_wait_seconds_count") == {of("research"): 2}, "who gave up was not placed"


def test_a_gang_waits_from_its_first_pod(desk: Desk) -> None:
    """Neither other pods nor a reservation begin the wait anew."""
    desk.run(gang("weak", "product", 4, priority=1))
    first, second = gang("strong", "product", 2, 2, priority=9)
    desk.submit([first])
    desk.now += 10
    desk.submit([second])
    desk.now += 10
    desk.preempt([first, second])
    desk.now += 10
    assert desk.series("allocator_oldest_wait_seconds") == {of("product"): 30}


def test_a_gang_waits_from_when_it_has_lost_its_place(desk: Desk) -> None:
    pods = gang("again", "research", 4)
    desk.run(pods)
    desk.now += 500
    desk.allocator.delete(pods[0])
    desk.submit(pods)
    desk.now += 7
    assert desk.series("allocator_oldest_wait_seconds") == {of("research"): 7}


def key(tenant: str, victim: str, fate: str) -> str:
    return f'fate="{fate}",victim="{victim}",virtual_cluster="{tenant}"'


def test_victims_are_counted_when_they_have_left(desk: Desk) -> None:
    weak, cheap = gang("weak", "research", 4, 4, 4, priority=1), gang("cheap", "product", 2, 2, priority=-1)
    desk.run(weak)
    desk.run(cheap)
    strong, own = gang("strong", "research", 4, priority=9), gang("own", "product", 4, priority=9)
    desk.preempt(strong)
    desk.preempt(own)
    assert desk.series("allocator_preempted_gangs_total") == {}
    desk.end(cheap)
    desk.end(weak)
    expected = {key("research", "guaranteed", "killed"): 1, key("product", "opportunistic", "killed"): 1}
    assert desk.series("allocator_preempted_gangs_total") == expected
    assert desk.series("allocator_preempted_pods_total") == {
        key("research", "guaranteed", "killed"): 3,
        key("product", "opportunistic", "killed"): 2,
    }
    desk.end(strong)
    assert desk.series("allocator_preempted_gangs_total") == expected, "the preemptor is no victim"


def test_preemptions_since_a_time(desk: Desk) -> None:
    for name in ("one", "two"):
        weak, strong = gang(f"weak-{name}", "product", 2, 2, priority=1), gang(name, "product", 4, priority=9)
        desk.run(weak)
        desk.preempt(strong)
        desk.end(weak)
        desk.end(strong)
        desk.now += 60

    def since(time: float) -> list[tuple[object, ...]]:
        return [tuple(x.values()) for x in questions.preemptions(desk.scheduler.history, time)["items"]]

    assert since(0) == [("product", "guaranteed", "killed", 2, 4)]
    assert since(desk.now - 60) == [("product", "guaranteed", "killed", 1, 2)]
    assert since(desk.now) == []


def test_victims_that_may_stay_are_not_counted(desk: Desk) -> None:
    weak, strong = gang("weak", "product", 4, priority=1), gang("strong", "product", 4, priority=9)
    desk.run(weak)
    desk.preempt(strong)
    desk.end(strong)
    assert desk.series("allocator_wait_seconds_count") == {of("product"): 1}, "who stays had its places"
    desk.end(weak)
    assert desk.series("allocator_preempted_gangs_total") == {}


def test_gangs_that_a_budget_keeps(desk: Desk) -> None:
    weak, strong = gang("weak", "product", 4, priority=1), gang("strong", "product", 4, priority=9)
    desk.run(weak)
    desk.preempt(strong)
    assert desk.series("allocator_gangs_kept_by_budget") == {}
    history = desk.scheduler.history
    assert history.eviction_refused("strong", ["weak"], "budget b allows 0 pods to leave", by_budget=True)
    assert not history.eviction_refused("strong", ["weak"], "budget b allows 0 pods to leave", by_budget=True), "known"
    assert desk.series("allocator_gangs_kept_by_budget") == {"": 1}
    assert desk.series("allocator_gangs_kept_by_failure") == {}
    assert history.eviction_refused("strong", ["weak"], "the API server is away", by_budget=False)
    assert desk.series("allocator_gangs_kept_by_budget") == {}
    assert desk.series("allocator_gangs_kept_by_failure") == {"": 1}
    assert history.eviction_refused("strong", ["weak"], "budget b allows 0 pods to leave", by_budget=True)
    desk.end(strong)
    assert desk.series("allocator_gangs_kept_by_budget") == {}, "it may stay"


def test_demoted_gangs_are_counted(desk: Desk) -> None:
    desk.run(gang("lazy", "product", 2, 2, priority=1, lazy_preemption=True))
    desk.run(gang("strong", "product", 4, priority=9))
    assert desk.series("allocator_preempted_gangs_total") == {key("product", "guaranteed", "demoted"): 1}
    assert desk.series("allocator_preempted_pods_total") == {key("product", "guaranteed", "demoted"): 2}


def test_labels_are_names_of_the_configuration(desk: Desk) -> None:
    """A pod that runs and claims to belong to somebody else cannot make up a series."""
    desk.allocator.hold(Claim("u", "odd", "default", "a", (0, 1)))
    answer = desk.allocator.schedule(gang("own", "research", 3)[0])
    assert isinstance(answer, Bind)
    desk.allocator.allocate(gang("foreign", "made-up", 3)[0], answer.info)
    desk.scheduler.write_history()
    assert desk.series("allocator_opportunistic_devices") == {of(""): 5}
    assert desk.series("allocator_wait_seconds_count") == {of(""): 2}
    assert set(re.findall(r'virtual_cluster="(.*?)"', desk.metrics.text().decode())) == {"research", "product", ""}


def test_series_are_there_from_the_beginning(desk: Desk) -> None:
    """A rate needs a first value."""
    text = desk.metrics.text().decode()
    assert text.count("allocator_preempted_gangs_total{") == 9
    assert text.count("allocator_wait_seconds_count{") == 3
