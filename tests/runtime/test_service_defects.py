"""What HiveD gets wrong, asked over HTTP: each situation in which it misbehaves, and what is right. The numbers are
those of the list of its defects.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from clusters import config, gang, nodes, rack
from serving import leaves, node, serving

TWO = config(nodes("a", "b"), A={"NODE": 2})
RACKS = config([rack("a", "b"), rack("c", "d")], A={"RACK.NODE": 2}, B={"RACK": 1})


def test_a_reservation_of_a_weaker_gang_is_called_off_by_a_stronger_one_in_filtering(tmp_path: Path) -> None:
    """18.1"""
    with serving(tmp_path, config(nodes("a"), A={"NODE": 1}), "a") as cluster:
        low, weak, strong = (gang(x, "A", 4, priority=p) for x, p in (("low", 1), ("weak", 2), ("strong", 3)))
        cluster.run(low)
        cluster.add(*weak, *strong)
        cluster.preempt(weak[0])
        cluster.delete(*low)
        assert cluster.filter(strong[0])["NodeNames"] == ["a"]
        assert cluster.group("weak")["state"] == "Pending"
        cluster.delete(*weak)
        assert {x["cellState"] for x in leaves(cluster.get("clusterstatus/physicalcluster"))} == {"Used"}


def test_another_pod_of_a_gang_that_is_being_preempted_waits(tmp_path: Path) -> None:
    """18.2: and has its place again when the preemption is called off."""
    with serving(tmp_path, config(nodes("a"), A={"NODE": 1}), "a") as cluster:
        weak, strong = gang("weak", "A", 2, 2, priority=1), gang("strong", "A", 4, priority=2)
        cluster.run(weak[:1])
        cluster.add(weak[1], *strong)
        cluster.preempt(strong[0])
        assert "being preempted" in cluster.waits(weak[1])
        cluster.delete(*strong)
        assert cluster.filter(weak[1])["NodeNames"] == ["a"]


def test_nobody_is_demoted_by_an_attempt_that_comes_to_nothing(tmp_path: Path) -> None:
    """18.3"""
    with serving(tmp_path, config(nodes("a", "b"), A={"NODE": 1}), "ab") as cluster:
        cluster.run(gang("lazy", "A", 4, priority=1, lazy_preemption=True))
        cluster.run(gang("o", "A", 4, priority=-1))
        strong = gang("strong", "A", 4, priority=2)
        cluster.add(*strong)
        assert cluster.filter(strong[0])["FailedNodes"]
        assert cluster.group("lazy")["demotion"] is None
        assert cluster.group("lazy")["virtualPlacement"]


def test_a_gang_that_ignores_offers_goes_on_preempting_where_nothing_is_offered(tmp_path: Path) -> None:
    """18.4"""
    with serving(tmp_path, config(nodes("a"), A={"NODE": 1}), "a") as cluster:
        cluster.run(gang("weak", "A", 4, priority=1))
        strong = gang("strong", "A", 4, priority=2, ignore_suggested=True)
        cluster.add(*strong)
        assert cluster.preempt(strong[0]) == cluster.preempt(strong[0], nodes=[]) == {"a": {"weak-0"}}
        assert cluster.group("strong")["state"] == "Preempting"
        other = gang("other", "A", 4, priority=3, ignore_suggested=False)
        cluster.add(*other)
        assert cluster.preempt(other[0]) == {"a": {"weak-0"}}
        assert cluster.preempt(other[0], nodes=[]) == {}
        assert cluster.group("other")["state"] == "Pending", "it wanted only what is offered"


def test_a_bad_node_that_comes_back_finds_its_cell_as_it_was(tmp_path: Path) -> None:
    """18.5: the shortest example, in which a cell was unbound while in use."""
    with serving(tmp_path, RACKS, "abcd") as cluster:
        cluster.bad("a", "c")
        pods = gang("b", "B", 4)
        (place,) = cluster.run(pods)
        assert place in ("b", "d")
        cluster.healthy("a", "c")
        assert {x["vc"] for x in leaves(cluster.get("clusterstatus/physicalcluster")) if x["cellState"] == "Used"} == {
            "B"
        }
        cluster.delete(*pods)
        assert {x["cellState"] for x in leaves(cluster.get("clusterstatus/physicalcluster"))} == {"Free"}


def test_a_preemption_lasts_as_long_as_any_pod_of_the_gang(tmp_path: Path) -> None:
    """18.7"""
    with serving(tmp_path, config(nodes("a"), A={"NODE": 1}), "a") as cluster:
        cluster.run(gang("weak", "A", 4, priority=1))
        strong = gang("strong", "A", 2, 2, priority=2)
        cluster.add(*strong)
        cluster.preempt(strong[0])
        cluster.delete(strong[0])
        assert cluster.group("strong")["state"] == "Preempting"
        cluster.delete(strong[1])
        assert cluster.group("weak")["state"] == "Allocated"


def test_pods_of_one_gang_have_to_agree(tmp_path: Path) -> None:
    """18.8"""
    with serving(tmp_path, TWO, "ab") as cluster:
        first, second = gang("g", "A", 2, 2)
        cluster.run([first])
        other = replace(second, spec=replace(second.spec, priority=7))
        cluster.add(other)
        assert "disagree on priority: 7, but 5" in cluster.refusal(other)


def test_a_gang_that_could_have_places_by_demoting_another_is_told_so_and_nobody_is_demoted_yet(tmp_path: Path) -> None:
    """18.3, in the preempting phase: the answer is that nobody has to go; the next filtering takes the places."""
    with serving(tmp_path, config(nodes("a", "b"), A={"NODE": 1}), "ab") as cluster:
        cluster.run(gang("lazy", "A", 4, priority=1, lazy_preemption=True))
        strong = gang("strong", "A", 4, priority=2)
        cluster.add(*strong)
        before = cluster.group("lazy")
        assert cluster.preempt(strong[0]) == {}
        assert cluster.group("lazy") == before
        cluster.delete(*strong)
        assert cluster.group("lazy") == before
        assert before["virtualPlacement"]


def test_an_opportunistic_pod_on_a_node_that_is_lost_to_somebody_leaves_no_trace(tmp_path: Path) -> None:
    """18.6: its end was booked on whom the bad node was shown to."""
    with serving(tmp_path, config(nodes("a", "b"), A={"NODE": 1}, B={"NODE": 1}), "ab") as cluster:
        empty = cluster.get("clusterstatus")
        pods = gang("o", "B", 4, priority=-1)
        (place,) = cluster.run(pods)
        cluster.bad("a", "b")
        bad = [[x["cellHealthiness"] for x in cluster.get(f"clusterstatus/virtualclusters/{vc}")][:1] for vc in "AB"]
        assert bad == [["Bad"], ["Bad"]]
        cluster.delete(*pods)
        cluster.healthy("a", "b")
        assert cluster.get("clusterstatus") == empty
        assert {*cluster.run(gang("a1", "A", 4)), *cluster.run(gang("b1", "B", 4))} == {"a", "b"}
        assert place in "ab"


def test_a_rack_is_split_for_a_gang_of_two_kinds_of_cells_only_as_far_as_promises_allow(tmp_path: Path) -> None:
    """18.9: the half rack that is free is bad, so that another one is split, once, for both of its pods."""
    racks = [rack("a", "b"), rack("c", "d"), rack("e", "f")]
    quota = {"RACK.NODE": 2, "RACK.NODE.SWITCH": 1}
    with serving(tmp_path, config(racks, A=quota, B={"RACK": 1}), "abcdef") as cluster:
        (place,) = cluster.run(gang("first", "A", 4))
        pairs = {"a": "b", "c": "d", "e": "f"}
        neighbours = pairs | {y: x for x, y in pairs.items()}
        cluster.bad(neighbours[place])
        both = cluster.run(gang("both", "A", 4, 2))
        assert neighbours[both[0]] == both[1], "one rack is split, not two"
        theirs = cluster.run(gang("theirs", "B", 4, 4))
        assert neighbours[theirs[0]] == theirs[1], "the promise of a rack is kept"


def test_a_gang_of_mixed_sizes_is_placed_where_it_fits(tmp_path: Path) -> None:
    """12.3: two nodes with three free devices each are enough for pods of 1, 1, 2 and 2, if one looks twice."""
    with serving(tmp_path, TWO, "ab") as cluster:
        for name in "ab":
            (pod,) = gang(f"on-{name}", "A", 1, ignore_suggested=False)
            cluster.add(pod)
            assert cluster.filter(pod, nodes=[name])["NodeNames"] == [name]
            assert not cluster.bind(pod, name)
        places = cluster.run(gang("mixed", "A", 1, 1, 2, 2))
        assert sorted(places) == ["a", "a", "b", "b"]
        assert places[0] != places[1]


def test_pods_that_are_listed_before_nodes_come_back_to_their_own_virtual_cluster(tmp_path: Path) -> None:
    """18.5, at recovery: where a cell was already shown to another virtual cluster as bad, the pod landed in that."""
    with serving(tmp_path, config(nodes("a", "b"), A={"NODE": 1}, B={"NODE": 1}), "ab") as cluster:
        (mine,) = cluster.run(gang("mine", "A", 4))
        cluster.run(gang("theirs", "B", 4))
        cluster.stop()
        for file in tmp_path.glob("journal*"):
            file.unlink()
        lines = cluster.events.read_text().splitlines(keepends=True)
        cluster.events.write_text("".join(lines[2:]))
        cluster.start()
        assert {x["vc"] for x in leaves(cluster.get("clusterstatus/physicalcluster"))} == {"A", "B"}
        assert cluster.group("mine")["virtualPlacement"].keys() == {"A/0"}
        assert cluster.group("theirs")["virtualPlacement"].keys() == {"B/0"}
        cluster.tell(*(("ADDED", thing) for thing in map(node, "ab")))
        assert list(cluster.group("mine")["physicalPlacement"]) == [mine]
