"""The service, asked over HTTP as by an outer scheduler: what HiveD's documentation shows, and what outlives it."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
from clusters import config, gang, nodes, rack
from serving import leaves, serving, until, written

from runtime import Pod

TWO = config(nodes("a", "b"), A={"NODE": 2})
RACKS = config([rack("a", "b"), rack("c", "d")], A={"RACK.NODE": 2}, B={"RACK": 1})


# What HiveD's documentation shows ------------------------------------------------------------------------------------


def test_a_virtual_cluster_gets_what_it_is_promised_whatever_the_others_do(tmp_path: Path) -> None:
    with serving(tmp_path, RACKS, "abcd") as cluster:
        used = {*cluster.run(gang("a1", "A", 4)), *cluster.run(gang("a2", "A", 4))}
        assert used in ({"a", "b"}, {"c", "d"}), "the other rack is kept whole"
        third = gang("a3", "A", 4)
        cluster.add(*third)
        assert "A has no room" in cluster.waits(third[0])
        assert set(cluster.run(gang("b", "B", 4, 4))) == {"a", "b", "c", "d"} - used
        assert cluster.group("b")["virtualPlacement"].keys() == {"B/0"}


def test_a_pinned_cell_belongs_to_those_who_ask_for_it(tmp_path: Path) -> None:
    cells = [rack("a", "b", pinnedCellId="pin1"), rack("c", "d")]
    with serving(tmp_path, config(cells, A={"pin1": 0, "RACK.NODE": 1}, B={"RACK.NODE": 1}), "abcd") as cluster:
        assert set(cluster.run(gang("pinned", "A", 4, pinned_cell="pin1"))) <= {"a", "b"}
        assert set(cluster.run(gang("not", "A", 4))) <= {"c", "d"}
        more = gang("more", "A", 4)
        cluster.add(*more)
        assert cluster.waits(more[0]), "although there is room in the pinned cell"
        assert set(cluster.run(gang("again", "A", 4, pinned_cell="pin1"))) <= {"a", "b"}


def test_a_gang_is_placed_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        large = gang("large", "A", 4, 4, 4)
        cluster.add(*large)
        assert all(cluster.waits(pod) for pod in large)
        assert cluster.group("large")["state"] == "Pending"
        assert {x["cellState"] for x in leaves(cluster.get("clusterstatus/physicalcluster"))} == {"Free"}
        small = gang("small", "A", 4, 2)
        cluster.add(*small)
        assert cluster.filter(small[0])["NodeNames"]
        assert len(cluster.group("small")["physicalPlacement"]) == 2, "with the first pod, all have their places"


def test_pods_that_are_no_gang_come_one_by_one(tmp_path: Path) -> None:
    """Incremental scaling: as many as there is room for run, the others wait for room."""
    with serving(tmp_path, TWO, "ab") as cluster:
        pods = [gang(f"worker-{i}", "A", 2)[0] for i in range(6)]
        assert len(cluster.run(pods[:4])) == 4
        cluster.add(*pods[4:])
        assert cluster.waits(pods[4])
        cluster.delete(pods[0])
        assert cluster.filter(pods[4])["NodeNames"]
        assert cluster.waits(pods[5])


def test_opportunistic_pods_use_what_is_left_and_go_when_it_is_wanted(tmp_path: Path) -> None:
    with serving(tmp_path, config(nodes("a", "b"), A={"NODE": 1}, B={"NODE": 1}), "ab") as cluster:
        cluster.run(gang("own", "A", 4))
        (spare,) = cluster.run(gang("more", "A", 4, priority=-1))
        (shown,) = [x for x in cluster.get("clusterstatus/virtualclusters/A") if x["cellAddress"].endswith("/0/0-opp")]
        assert (shown["cellPriority"], shown["cellState"]) == (-1, "Used")
        theirs = gang("theirs", "B", 4, priority=0)
        cluster.add(*theirs)
        assert cluster.filter(theirs[0])["FailedNodes"] == {spare: "these pods have to go first: default/more-0"}
        assert cluster.preempt(theirs[0]) == {spare: {"more-0"}}
        assert cluster.group("theirs")["waitingPods"] == ["theirs-0"]
        assert cluster.group("more")["state"] == "BeingPreempted"
        cluster.delete(*gang("more", "A", 4, priority=-1))
        assert cluster.preempt(theirs[0]) == {}, "the next filtering binds"
        assert cluster.filter(theirs[0])["NodeNames"] == [spare]
        assert not cluster.bind(theirs[0], spare)


def test_inside_of_a_virtual_cluster_the_higher_priority_displaces_the_lower(tmp_path: Path) -> None:
    with serving(tmp_path, config(nodes("a"), A={"NODE": 1}), "a") as cluster:
        weak, strong, weaker = (gang(x, "A", 2, 2, priority=p) for x, p in (("weak", 2), ("strong", 3), ("weaker", 1)))
        cluster.run(weak)
        cluster.add(*strong, *weaker)
        assert cluster.waits(weaker[0])
        assert cluster.preempt(weaker[0]) == {}
        assert cluster.preempt(strong[0]) == {"a": {"weak-0", "weak-1"}}
        cluster.delete(weak[0])
        assert "have to go" in cluster.filter(strong[0])["FailedNodes"]["a"]
        cluster.delete(weak[1])
        assert [cluster.filter(pod)["NodeNames"] for pod in strong] == [["a"], ["a"]]


def test_a_lazy_gang_loses_its_guarantee_and_goes_on(tmp_path: Path) -> None:
    with serving(tmp_path, config(nodes("a", "b"), A={"NODE": 1}), "ab") as cluster:
        (place,) = cluster.run(gang("lazy", "A", 4, priority=1, lazy_preemption=True))
        (other,) = cluster.run(gang("strong", "A", 4, priority=2))
        assert place != other
        status = cluster.group("lazy")
        assert status["demotion"]["preemptor"] == "strong"
        assert status["virtualPlacement"] == {}
        assert status["state"] == "Allocated"
        cluster.restart()
        assert cluster.group("lazy") == status


def test_bad_nodes_are_avoided_and_shown_to_whom_they_are_missing(tmp_path: Path) -> None:
    with serving(tmp_path, config(nodes("a", "b", "c"), A={"NODE": 2}), "abc") as cluster:

        def health() -> list[str]:
            return [cell["cellHealthiness"] for cell in cluster.get("clusterstatus/virtualclusters/A")]

        cluster.bad("a")
        assert health() == ["Healthy", "Healthy"], "two of three nodes are enough for two cells"
        cluster.bad("b")
        assert sorted(health()) == ["Bad", "Healthy"]
        assert cluster.run(gang("own", "A", 4)) == ["c"]
        cluster.bad("c")
        assert health() == ["Bad", "Bad"]
        assert cluster.group("own")["state"] == "Allocated", "who is there stays"
        more = gang("more", "A", 4)
        cluster.add(*more)
        assert cluster.waits(more[0])
        cluster.tell(("DELETED", {"kind": "Node", "metadata": {"name": "b"}}))
        assert cluster.waits(more[0])
        cluster.healthy("a")
        assert cluster.filter(more[0])["NodeNames"] == ["a"]
        cluster.healthy("b", "c")
        assert health() == ["Healthy", "Healthy"]


def test_a_changed_configuration_is_taken_over_and_nobody_is_killed(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        cluster.run(gang("weak", "A", 4, priority=1))
        cluster.run(gang("strong", "A", 4, priority=2))
        places = cluster.bound()
        cluster.stop(signal.SIGKILL)
        cluster.configure(config(nodes("a", "b"), A={"NODE": 1}, B={"NODE": 1}))
        cluster.start()
        assert cluster.group("weak")["demotion"] is not None
        assert cluster.group("strong")["demotion"] is None
        assert cluster.bound() == places
        theirs = gang("theirs", "B", 4, priority=0)
        cluster.add(*theirs)
        assert set().union(*cluster.preempt(theirs[0]).values()) == {"weak-0"}


# What outlives the process -------------------------------------------------------------------------------------------


def test_a_killed_server_goes_on_where_it_was(tmp_path: Path) -> None:
    with serving(tmp_path, config(nodes("a", "b"), A={"NODE": 2}), "ab") as cluster:
        cluster.run(gang("weak", "A", 4, priority=1))
        half = gang("half", "A", 2, 2, priority=1)
        cluster.add(*half)
        (place,) = cluster.filter(half[0])["NodeNames"]
        strong = gang("strong", "A", 4, priority=9)
        cluster.add(*strong)
        victims = cluster.preempt(strong[0])
        before = cluster.everything()
        cluster.restart()
        assert cluster.everything() == before
        assert cluster.preempt(strong[0]) == victims
        assert cluster.filter(half[0])["NodeNames"] == [place], "it has its place, and may be bound"
        assert not cluster.bind(half[0], place)
        assert cluster.bound().keys() == {"weak-0", "half-0"}


def test_what_happened_while_nobody_served_is_taken_in(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        gone, stays = gang("gone", "A", 4), gang("stays", "A", 4)
        cluster.run(gone)
        (place,) = cluster.run(stays)
        cluster.stop()
        cluster.delete(*gone)
        cluster.bad(place)
        cluster.start()
        groups = cluster.get("affinitygroups/")["items"]
        assert [x["metadata"]["name"] for x in groups] == ["stays"]
        assert cluster.run(gang("new", "A", 4)) == list({"a", "b"} - {place})


def test_without_its_journal_it_recovers_from_what_bound_pods_carry(tmp_path: Path) -> None:
    with serving(tmp_path, RACKS, "abcd") as cluster:
        cluster.run(gang("g", "A", 4, 2))
        cluster.run(gang("o", "A", 1, priority=-1))
        cluster.run(gang("theirs", "B", 4))
        before = [
            (x["cellAddress"], x["cellState"], x["cellPriority"], x.get("vc"))
            for x in leaves(cluster.get("clusterstatus/physicalcluster"))
        ]
        cluster.stop(signal.SIGKILL)
        for file in tmp_path.glob("journal*"):
            file.unlink()
        lines = cluster.events.read_text().splitlines(keepends=True)
        cluster.events.write_text("".join(lines[4:] + lines[:4]))
        cluster.start()
        after = [
            (x["cellAddress"], x["cellState"], x["cellPriority"], x.get("vc"))
            for x in leaves(cluster.get("clusterstatus/physicalcluster"))
        ]
        assert after == before, "although pods are listed before nodes"


def test_binding_that_takes_too_many_attempts_is_done_from_here(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        (pod,) = gang("g", "A", 4)
        cluster.add(pod)
        answers = [cluster.filter(pod) for _ in range(3)]
        assert cluster.bound() == {}
        answers.append(cluster.filter(pod))
        assert all(x == answers[0] for x in answers)
        until(lambda: len(cluster.bound()) == 1)
        other = gang("h", "A", 4)
        cluster.add(*other)
        (place,) = cluster.filter(other[0])["NodeNames"]
        cluster.filter(other[0], nodes=[])
        until(lambda: len(cluster.bound()) == 2)
        assert cluster.bound()["h-0"][0] == place, "its node is not offered any more, and is its node all the same"


def test_it_finishes_what_is_under_way_and_then_ends(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        cluster.run(gang("g", "A", 4))
        assert cluster.stop(signal.SIGTERM) == 0
        cluster.start()
        assert cluster.group("g")["state"] == "Allocated"
        assert cluster.stop(signal.SIGINT) == 0


def test_told_to_stop_in_the_middle_of_work_it_answers_what_it_has_taken(tmp_path: Path) -> None:
    with serving(tmp_path, config(nodes(*"abcdefgh"), A={"NODE": 8}), "abcdefgh") as cluster:
        pods = [gang(f"g{i}", "A", 1)[0] for i in range(32)]
        cluster.add(*pods)
        url, answered = cluster.client.base_url, dict[str, str]()

        def work(mine: list[Pod]) -> None:
            with httpx.Client(base_url=url, timeout=60) as client, suppress(httpx.TransportError):
                for pod in mine:
                    body = {"Pod": written(pod), "NodeNames": cluster.nodes}
                    answer = client.post("/v1/extender/filter", json=body)
                    assert answer.status_code == 200, answer.text
                    answered[pod.uid] = answer.json()["NodeNames"][0]

        with ThreadPoolExecutor() as threads:
            working = [threads.submit(work, pods[i::4]) for i in range(4)]
            until(lambda: len(answered) > 3)
            assert cluster.stop(signal.SIGTERM) == 0
            for future in working:
                future.result()
        assert answered
        cluster.start()
        for uid, name in answered.items():
            assert list(cluster.group(uid.removesuffix("-0"))["physicalPlacement"]) == [name]
