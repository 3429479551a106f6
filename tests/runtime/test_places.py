"""Better places: nobody is displaced who need not be, as few as possible are, and the parts of a gang are close."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from clusters import config, end, gang, healthy, nodes, rack, row, run
from exhaustive import Worth, all_others, worth
from invariants import picture
from tiers import enough, today

from runtime import Allocator, Answer, Bind, BindInfo, Phase, Pod, PodPlacement, Preempt
from runtime.placement.candidate_nodes import CandidateNodes
from runtime.placement.choose import choose
from runtime.placement.proposal import Placement

CLUSTERS = (
    config([rack("a", "b"), rack("c", "d")], A={"RACK.NODE": 2}, B={"RACK.NODE": 1, "RACK.NODE.SWITCH": 1}),
    config([rack("a", "b"), rack("c", "d")], A={"RACK": 1, "RACK.NODE": 1}, B={"RACK.NODE.SWITCH": 2}),
    config([rack("a", "b"), rack("c", "d")], A={"RACK.NODE.SWITCH": 4}, B={"RACK": 1}),
    config([rack("a", "b"), rack("c", "d")], A={"RACK.NODE.SWITCH": 3, "RACK.NODE.SWITCH.GPU": 2}, B={"RACK.NODE": 1}),
    config([row("a", "b", "c", "d")], A={"ROW.RACK": 1, "ROW.RACK.NODE": 1}, B={"ROW.RACK.NODE": 1}),
    config([row("a", "b", "c", "d")], A={"ROW.RACK.NODE": 3}, B={}),
    config(nodes("a", "b", "c"), A={"NODE": 2}, B={"NODE.SWITCH": 2}),
    config([rack("a", "b"), rack("c", "d")], A={"RACK": 2}, B={}),
)
SEEDS = 120


def uids(answer: Answer) -> set[str]:
    return {pod.uid for pod in answer.pods()} if isinstance(answer, Preempt) else set()


def ask(allocator: Allocator, name: str, *sizes: int, **more: Any) -> Answer:
    pods = gang(name, "A", *sizes, **more)
    return allocator.schedule(pods[0])


def lend(allocator: Allocator, name: str, sizes: tuple[int, ...], offered: list[str]) -> None:
    """An opportunistic gang on some nodes."""
    pods = gang(name, "A", *sizes, priority=-1, ignore_suggested=False)
    for pod in pods:
        answer = allocator.schedule(pod, offered)
        assert isinstance(answer, Bind)
        allocator.allocate(pod, answer.info)


def only(allocator: Allocator, names: str, pods: list[Pod]) -> None:
    """Places a gang while only these nodes are good."""
    others = sorted(allocator.cluster.nodes.keys() - set(names))
    for name in others:
        allocator.node_bad(name)
    run(allocator, pods)
    for name in others:
        allocator.node_healthy(name)


# Against everything ---------------------------------------------------------------------------------------------------


def placed(seed: int) -> Iterator[tuple[Allocator, list[Pod], Placement]]:
    """Gangs of A that displace nobody of it, on a cluster where others come and go; each before it takes its places."""
    random = Random(seed)
    allocator = healthy(random.choice(CLUSTERS))
    running: list[list[Pod]] = []
    names = sorted(allocator.cluster.nodes)
    for number in range(random.randint(4, 14)):
        if number == 4 and random.random() < 0.3:
            allocator.node_bad(random.choice(names))
        kind = random.choice(("own", "theirs", "lent", "lent", "lent", "end"))
        if kind == "end" and running:
            end(allocator, running.pop(random.randrange(len(running))))
            continue
        sizes = [random.choice((1, 1, 2, 2, 3, 4)) for _ in range(random.choice((1, 1, 2, 2, 3)))]
        if sum(sizes) > 6:
            continue
        tenant, priority = "B" if kind == "theirs" else "A", -1 if kind == "lent" else 5
        pods = gang(f"g{number}", tenant, *sizes, priority=priority, ignore_suggested=priority >= 0)
        found = choose(allocator.core.ledger, pods[0].spec, CandidateNodes()) if kind == "own" else ""
        if isinstance(found, Placement) and found.peaceful:
            yield allocator, pods, found
        offered = [name for name in names if random.random() < 0.7]
        answer = allocator.schedule(pods[0], offered)
        if not isinstance(answer, Bind):
            end(allocator, pods)
            continue
        for pod in pods:
            answer = allocator.schedule(pod, offered)
            assert isinstance(answer, Bind)
            allocator.allocate(pod, answer.info)
        running.append(pods)


def test_no_place_as_close_displaces_fewer_and_none_is_closer_where_nobody_goes() -> None:
    """Everything is tried: other empty nodes of the virtual cluster, and all cells that can stand for them."""
    seen, displacing = 0, 0
    for seed in today(range(SEEDS)):
        for allocator, pods, found in placed(seed):
            before = picture(allocator)
            forest = allocator.cluster.forests[found.chain]
            mine = worth(forest, list(found.devices()))
            view = allocator.cluster.tenants["A"].views[found.chain]
            for other in all_others(allocator.core.ledger, view, found, CandidateNodes()):
                assert other.spread > mine.spread or other.displaced >= mine.displaced, (seed, pods[0].uid, mine, other)
                assert mine.displaced or not other < mine, (seed, pods[0].uid, mine, other)
            assert picture(allocator) == before
            seen += 1
            displacing += mine > Worth(1, 0)
    assert seen >= enough(SEEDS)
    assert displacing >= enough(10)


# What HiveD has done better -------------------------------------------------------------------------------------------


def test_a_larger_cell_is_split_rather_than_that_a_gang_has_to_go() -> None:
    allocator = healthy(config([rack("a", "b"), rack("c", "d")], A={"RACK.NODE": 3}))
    first = run(allocator, gang("own", "A", 4))[0].node
    mate = {"a": "b", "b": "a", "c": "d", "d": "c"}[first]
    lend(allocator, "guest", (4,), [mate])
    bound = run(allocator, gang("new", "A", 4))[0]
    assert bound.node not in (first, mate)


def test_bad_nodes_do_not_hide_a_free_one_in_a_cell_with_opportunistic_pods() -> None:
    """Two rows, each with a bad node: the last of the four nodes is free, in a rack with pods of somebody else."""
    cells = [row("a", "b", "c", "d"), row("e", "f", "g", "h")]
    allocator = healthy(config(cells, A={"ROW.RACK.NODE": 5}, B={"ROW.RACK.NODE.SWITCH": 6}))
    allocator.node_bad("a")
    allocator.node_bad("e")
    for name, size, node in (("x", 3, "b"), ("y", 2, "c")):
        lend(allocator, name, (size,), [node])
    bound = run(allocator, gang("new", "A", 3, 3, 3, 3))
    assert {x.node for x in bound} == {"d", "f", "g", "h"}


def test_the_pods_of_a_gang_are_distributed_such_that_nobody_has_to_go() -> None:
    """An empty node in each of two racks that are in use: one has two free devices, the other one three."""
    allocator = healthy(config([rack("a", "b"), rack("c", "d")], A={"RACK": 2}))
    placed = {name: run(allocator, gang(name, "A", 4))[0].node for name in ("one", "two", "three")}
    end(allocator, gang("two", "A", 4))
    (last,) = {"a", "b", "c", "d"} - set(placed.values())
    lend(allocator, "x", (2,), [placed["two"]])
    lend(allocator, "y", (1,), [last])
    bound = run(allocator, gang("new", "A", 3, 2))
    assert [x.node for x in bound] == [last, placed["two"]]


def test_cells_that_a_gang_frees_are_its_own_before_it_looks_for_others() -> None:
    """Four nodes are promised, one is bad: the gang has to take those of lazy gangs, not the one that nobody has."""
    allocator = healthy(config([rack("a", "b"), rack("c", "d")], A={"RACK.NODE": 4}))
    allocator.node_bad("d")
    run(allocator, gang("hard", "A", 2, priority=5))
    for name in ("x", "y"):
        run(allocator, gang(name, "A", 4, priority=1, lazy_preemption=True))
    assert uids(ask(allocator, "new", 4, 2, 2, 1, priority=9)) in ({"x-0", "y-0"}, {"x-0", "y-0", "hard-0"})


@pytest.mark.parametrize("others", [0, 12])
def test_the_pod_that_needs_most_gets_the_cell_that_nobody_uses(monkeypatch: pytest.MonkeyPatch, others: int) -> None:
    """Of two nodes of a pinned rack, one has a pod of a large gang, the other one of a small gang.

    Also where no other victims are considered than those that were found first.
    """
    monkeypatch.setattr("runtime.placement.fewest.MAX_GANGS", others)
    cells = [rack("a", "b", pinnedCellId="pin"), rack("c", "d")]
    allocator = healthy(config(cells, A={"pin": 0, "RACK.NODE": 1}))
    for name, sizes, offered in (("large", (3, 2), ["a", "c"]), ("small", (1,), ["b"])):
        lend(allocator, name, sizes, offered)
    answer = ask(allocator, "new", 4, 2, pinned_cell="pin")
    assert len({uid.partition("-")[0] for uid in uids(answer)}) == 1, "the other one can stay"


def test_a_gang_that_is_demoted_is_not_killed_if_others_make_room_with_it() -> None:
    """Two lazy gangs share a node: if both lose their guarantee, another node stands for it, and both go on."""
    cells = [rack("a", "b"), rack("c", "d")]
    allocator = healthy(config(cells, A={"RACK.NODE": 2}))
    (home,) = run(allocator, gang("x", "A", 2, priority=1, lazy_preemption=True))
    run(allocator, gang("y", "A", 2, priority=2, lazy_preemption=True))
    bound = run(allocator, gang("new", "A", 2, 2, 2, priority=9))
    assert home.node not in {x.node for x in bound}
    demoted = {group.name for group in allocator.groups() if group.demotion is not None}
    assert demoted == {"x", "y"}


def test_a_lazy_gang_is_demoted_rather_than_that_another_one_is_killed() -> None:
    allocator = healthy(config(nodes("a", "b", "c"), A={"NODE": 2}))
    (hard,) = run(allocator, gang("hard", "A", 3, priority=1))
    (lazy,) = run(allocator, gang("lazy", "A", 4, priority=1, lazy_preemption=True))
    bound = run(allocator, gang("new", "A", 2, 1, priority=5))
    assert {x.node for x in bound} == {"a", "b", "c"} - {lazy.node}
    assert hard.node in {x.node for x in bound}


def test_a_large_lazy_gang_is_demoted_rather_than_that_a_small_one_is_killed() -> None:
    """On the node of the small one less is displaced."""
    allocator = healthy(config(nodes("a", "b", "c"), A={"NODE": 2}))
    (strong,) = run(allocator, gang("strong", "A", 2, priority=9))
    (hard,) = run(allocator, gang("hard", "A", 2, priority=1))
    (lazy,) = run(allocator, gang("lazy", "A", 4, priority=1, lazy_preemption=True))
    assert strong.node == hard.node
    (bound,) = run(allocator, gang("new", "A", 2, priority=5))
    assert bound.node == min({"a", "b", "c"} - {hard.node, lazy.node})


def test_a_small_gang_stays_where_a_large_one_has_to_go_anyway() -> None:
    allocator = healthy(config([rack("a", "b"), rack("c", "d")], A={"RACK": 2}))
    allocator.node_bad("d")
    run(allocator, gang("small", "A", 2, priority=1))
    run(allocator, gang("large", "A", 1, 4, 4, priority=1))
    answer = ask(allocator, "new", 3, 2, 1, priority=9)
    assert {uid.partition("-")[0] for uid in uids(answer)} == {"large"}


def test_whoever_goes_leaves_room_that_nobody_else_has_to_leave() -> None:
    allocator = healthy(config([row("a", "b", "c", "d")], A={"ROW": 1}))
    own = {x.node for x in run(allocator, gang("weak", "A", 4, 2, priority=1))}
    lent, bad = sorted({"a", "b", "c", "d"} - own)
    lend(allocator, "guest", (3,), [lent])
    allocator.node_bad(bad)
    assert uids(ask(allocator, "new", 3, 2, 2)) == {"weak-0", "weak-1"}


def test_a_node_that_is_lent_in_part_is_left_alone_where_others_have_to_go_anyway() -> None:
    allocator = healthy(config([rack("a", "b"), rack("c", "d")], A={"RACK.NODE": 3}))
    (strong,) = run(allocator, gang("strong", "A", 3, priority=9))
    lend(allocator, "guest", (1,), [strong.node])
    run(allocator, gang("weak", "A", 4, 4, priority=1))
    assert uids(ask(allocator, "new", 3, 1, 1, priority=5)) == {"weak-0", "weak-1"}


def test_a_device_that_is_lent_is_left_alone_where_another_one_of_its_node_does_as_well() -> None:
    """The virtual cluster fills the node that it uses either way."""
    allocator = healthy(config(nodes("a", "b"), A={"NODE": 1}))
    (own,) = run(allocator, gang("own", "A", 1))
    lend(allocator, "guest", (1,), [own.node])
    (new,) = run(allocator, gang("new", "A", 1))
    assert new.node == own.node


def test_a_pair_is_not_torn_for_a_device_that_is_lent() -> None:
    """The other devices are as many, and free, but not as close."""
    allocator = healthy(config(nodes("a", "b"), A={"NODE": 1}))
    (own,) = run(allocator, gang("own", "A", 1))
    for name in ("gone", "guest"):
        lend(allocator, name, (1,), [own.node])
    end(allocator, gang("gone", "A", 1, priority=-1, ignore_suggested=False))
    assert uids(ask(allocator, "new", 2)) == {"guest-0"}


def test_a_lazy_gang_is_demoted_where_it_has_a_node_alone_and_not_killed_where_it_has_not() -> None:
    """Its part of the node of a strong gang is not needed: what is free there is enough beside the other node."""
    allocator = healthy(config(nodes("a", "b", "c", "d"), A={"NODE": 2}))
    run(allocator, gang("strong", "A", 2, priority=9))
    before = run(allocator, gang("lazy", "A", 1, 4, priority=1, lazy_preemption=True))
    run(allocator, gang("new", "A", 2, 2, priority=5))
    lazy = allocator.group("lazy")
    assert lazy is not None
    assert lazy.demotion is not None
    assert {(x.node, x.leaf_cells) for x in lazy.placement} == {(x.node, x.leaf_cells) for x in before}


def bound(allocator: Allocator, name: str, *places: tuple[str, int, int], **more: Any) -> None:
    """A gang of A in racks of its own, whose pods are on nodes, from a device on, so many."""
    pods = gang(name, "A", *(count for _, _, count in places), priority=1, **more)
    own = [PodPlacement(node, tuple(range(at, at + n)), ("RACK",) * n) for node, at, n in places]
    sizes = sorted({n for _, _, n in places})
    whole = tuple(tuple(place for place in own if len(place.leaf_cells) == n) for n in sizes)
    for pod, place in zip(pods, own, strict=True):
        allocator.allocate(pod, BindInfo(place.node, place.leaf_cells, "ROW", whole))


def test_another_gang_goes_than_those_that_are_first_to_go() -> None:
    """To displace least on one node displaces two gangs, and without the larger one of them the largest of all."""
    allocator = healthy(config([row("a", "b", "c", "d")], A={"ROW.RACK": 2}))
    bound(allocator, "lazy", ("a", 0, 2), lazy_preemption=True)
    bound(allocator, "six", ("a", 3, 1), ("b", 0, 1), ("c", 0, 4))
    bound(allocator, "seven", ("b", 1, 1), ("b", 2, 2), ("d", 0, 4))
    assert uids(ask(allocator, "new", 4, priority=5)) == {"six-0", "six-1", "six-2"}


def test_one_lent_node_is_left_alone_where_all_of_them_cannot_be() -> None:
    """The lazy gang loses its guarantee either way: then its rack stands for a free one, and the guests can stay."""
    cells = [row("a", "b", "c", "d"), row("e", "f", "g", "h")]
    allocator = healthy(config(cells, A={"ROW.RACK": 2}))
    only(allocator, "b", gang("strong", "A", 4, priority=9))
    only(allocator, "gh", gang("lazy", "A", 3, 3, priority=1, lazy_preemption=True))
    lend(allocator, "guest", (4,), ["a"])
    lend(allocator, "guests", (3, 3), ["c", "d"])
    answer = ask(allocator, "new", 3, 2, priority=5)
    assert isinstance(answer, Bind)
    assert {place.node for same in answer.info.gang for place in same} == {"e", "f"}


def test_preassigned_cells_of_one_gang_lie_close_together() -> None:
    """Its devices are promised one by one; of those that are free, two are on one switch."""
    allocator = healthy(config([rack("a", "b")], A={"RACK.NODE.SWITCH.GPU": 4}, B={"RACK.NODE.SWITCH": 2}))
    run(allocator, gang("own", "A", 1))
    bound = run(allocator, gang("new", "A", 1, 1))
    assert len({(x.node, x.leaf_cells[0] // 2) for x in bound}) == 1


def test_a_gang_gets_the_rack_that_has_all_its_nodes() -> None:
    """Inside of preassigned cells, too: the first free node is alone in its rack."""
    allocator = healthy(config([rack("a", "b"), rack("c", "d")], A={"RACK": 2}))
    first = run(allocator, gang("own", "A", 4))[0].node
    bound = run(allocator, gang("new", "A", 4, 4))
    assert {x.node for x in bound} == ({"c", "d"} if first in "ab" else {"a", "b"})


@pytest.mark.parametrize("phase", list(Phase))
def test_of_opportunistic_gangs_the_smallest_ones_go(phase: Phase) -> None:
    """Each of two nodes has two of their pods: on one of a large gang, on the other of two small ones."""
    allocator = healthy(config(nodes("a", "b", "c"), A={"NODE": 1}, B={"NODE": 2}))
    for name, sizes, offered in (("large", (4, 4), ["a", "b"]), ("one", (2,), ["c"]), ("two", (2,), ["c"])):
        lend(allocator, name, sizes, offered)
    answer = allocator.schedule(gang("new", "A", 4)[0], phase=phase)
    assert uids(answer) == {"one-0", "two-0"}
