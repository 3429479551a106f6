"""What stands on pods, as HiveD writes it."""

from __future__ import annotations

import pytest
from clusters import config, gang, healthy, nodes, run

from runtime import BindInfo, GangSpec, Member, PodPlacement, PodSpec, UserError
from runtime.annotations import BIND_INFO, ISOLATION, read_bind_info, read_spec, write_bind_info
from runtime.errors import Problem


def test_the_shortest_that_a_pod_can_ask_for() -> None:
    spec = read_spec("{virtualCluster: VC1, leafCellNumber: 2}", "team", "job")
    assert spec == PodSpec("VC1", 0, 2, GangSpec("team/job", (Member(1, 2),)))
    assert (spec.lazy_preemption, spec.ignore_suggested) == (False, True)


def test_all_that_a_pod_can_ask_for() -> None:
    spec = read_spec(
        """
        virtualCluster: VC1
        priority: 1000
        pinnedCellId: P
        leafCellType: V100
        leafCellNumber: 4
        lazyPreemptionEnable: true
        ignoreK8sSuggestedNodes: false
        gangReleaseEnable: true
        affinityGroup:
          name: team/gang
          members:
          - {podNumber: 2, leafCellNumber: 4}
          - {podNumber: 1, leafCellNumber: 1}
          - {podNumber: 3, leafCellNumber: 4}
        """,
        "team",
        "job",
    )
    members = (Member(2, 4), Member(1, 1), Member(3, 4))
    assert spec == PodSpec("VC1", 1000, 4, GangSpec("team/gang", members), "V100", "P", True, False)
    assert spec.gang.sizes == {1: 1, 4: 5}


def test_old_names_are_understood() -> None:
    text = "{virtualCluster: A, gpuType: K80, gpuNumber: 1, affinityGroup: {name: g, members: %s}}"
    spec = read_spec(text % "[{podNumber: 1, gpuNumber: 1}]", "n", "p")
    assert (spec.leaf_type, spec.leaf_cells, spec.gang.members) == ("K80", 1, (Member(1, 1),))


def test_old_names_are_replaced_in_values_as_in_hived() -> None:
    notes: list[Problem] = []
    spec = read_spec("{virtualCluster: A, gpuNumber: 1, leafCellType: gpuTypeX}", "n", "p", notes)
    assert spec.leaf_type == "leafCellTypeX"
    (note,) = notes
    assert str(note).startswith("the annotation: old names")


def test_an_opportunistic_pod_with_a_pinned_cell_is_refused_when_it_asks() -> None:
    spec = read_spec("{virtualCluster: A, leafCellNumber: 1, pinnedCellId: p, priority: -1}", "n", "p")
    with pytest.raises(UserError, match="an opportunistic pod cannot ask for a pinned cell"):
        spec.check()


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("{}", ["leafCellNumber: is missing", "virtualCluster: is missing"]),
        (
            "{virtualCluster: A, leafCellNumber: none, priority: 1001, lazyPreemptionEnable: 1, prio: 2}",
            [
                "leafCellNumber: must be a whole number, not 'none'",
                "priority: must be -1 to 1000, not 1001",
                "lazyPreemptionEnable: must be true or false, not 1",
                "prio: is not a known key",
            ],
        ),
        (
            "{virtualCluster: A, leafCellNumber: 1, affinityGroup: {members: [{podNumber: 0}]}}",
            [
                "affinityGroup.name: is missing",
                "affinityGroup.members[0].podNumber: must be at least 1, not 0",
                "affinityGroup.members[0]: must have podNumber and leafCellNumber",
            ],
        ),
        (
            "{virtualCluster: A, leafCellNumber: 1, affinityGroup: {name: g, members: []}}",
            ["gang g has no member whose pods need 1 leaf cells"],
        ),
        ("[", ["is not YAML"]),
        ("- a", ["must be a mapping, not a list"]),
    ],
)
def test_mistakes_are_named_all_at_once(text: str, messages: list[str]) -> None:
    with pytest.raises(UserError) as error:
        read_spec(text, "n", "p")
    for message in messages:
        assert message in str(error.value)


BASE = "virtualCluster: a\nleafCellNumber: 4\n"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (BASE + "foo: 1\nfoo: 2\n", "foo: is given twice"),
        ("virtualCluster: b\nvirtualCluster: a\nleafCellNumber: 4\n", "virtualCluster: is given twice"),
        ("virtualCluster: a\nleafCellNumber: 9\nleafCellNumber: 4\n", "leafCellNumber: is given twice"),
        (BASE + "foo: !custom 1\n", "foo: cannot be read: 1"),
        (BASE + "---\nfoo: 1\n", "line 3: the annotation: only the first document counts, which ends here"),
        (BASE + "...\ngarbage: [", "line 3: the annotation: only the first document counts, which ends here"),
        ("virtualCluster: a\nleafCellNumber: 4.0\n", ""),
        ("virtualCluster: a\nleafCellNumber: 4.5\n", "leafCellNumber: is not a whole number: 4.5 counts as 4"),
        ("virtualCluster: a\nleafCellNumber: 0o4\n", ""),
        ("virtualCluster: a\nleafCellNumber: 4\npriority: 0.0\n", ""),
    ],
)
def test_what_hived_passes_over_is_noted(text: str, note: str) -> None:
    notes: list[Problem] = []
    assert read_spec(text, "d", "p", notes) == read_spec(BASE, "d", "p")
    assert note in "; ".join(map(str, notes))
    assert bool(notes) == bool(note)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("virtualCluster: a\nleafCellNumber: 1:30\n", "must be a whole number, not '1:30'"),
        ("virtualCluster: a\nleafCellNumber: '0o4'\n", "must be a whole number, not '0o4'"),
        ("virtualCluster: a\nleafCellNumber: .inf\n", "must be a whole number, not inf"),
        ("virtualCluster: a\nleafCellNumber: 0.5\n", "must be at least 1, not 0"),
        ("virtualCluster: a\nleafCellNumber: 2147483648\n", "must be at most 2147483647, not 2147483648"),
        (BASE + "affinityGroup: {name: g, members: [{podNumber: 99999999999999999999, leafCellNumber: 4}]}", "at most"),
        (BASE + "? [a, b]\n: 1\n", "line 3: the annotation: a key must be a string"),
        ("- a", "line 1: the annotation: must be a mapping, not a list"),
        ("{", "line 1: the annotation: is not YAML"),
    ],
)
def test_what_hived_refuses_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        read_spec(text, "d", "p")
    assert message in str(error.value)
    assert "the configuration" not in str(error.value)


def test_the_one_default_that_is_true_needs_its_key_to_be_absent() -> None:
    assert read_spec(BASE, "d", "p").ignore_suggested
    assert not read_spec(BASE + "ignoreK8sSuggestedNodes: null\n", "d", "p").ignore_suggested
    assert not read_spec(BASE + "ignoreK8sSuggestedNodes:\n", "d", "p").ignore_suggested


def test_bind_info_is_written_and_read() -> None:
    allocator = healthy(config(nodes("0.0.0.1", "007", "c"), A={"NODE": 2}))
    for name, priority in (("g", 5), ("o", -1)):
        for answer in run(allocator, gang(name, "A", 1, 2, 2, priority=priority)):
            written = write_bind_info(answer.info)
            assert read_bind_info(written[BIND_INFO]) == answer.info
            assert written[ISOLATION] == ",".join(map(str, answer.leaf_cells))


def test_bind_info_of_an_older_scheduler() -> None:
    info = read_bind_info(
        """
        node: n1
        gpuIsolation: [0]
        cellChain: NODE
        affinityGroupBindInfo:
        - podPlacements:
          - {physicalNode: n1, physicalGpuIndices: [0], preassignedCellTypes: [SWITCH]}
        """
    )
    assert info == BindInfo("n1", (0,), "NODE", ((PodPlacement("n1", (0,), ("SWITCH",)),),))


def test_bind_info_that_cannot_be_read() -> None:
    with pytest.raises(UserError, match=r"leafCellIsolation\[0\]: must be a whole number"):
        read_bind_info("{node: n, leafCellIsolation: [x]}")


def test_a_small_text_that_means_a_huge_one() -> None:
    rows = ", ".join(["*a"] * 1000)
    text = f"node: n\nx: &a [{', '.join(['0'] * 1000)}]\ny: &b [{rows}]\nleafCellIsolation: [{rows.replace('a', 'b')}]"
    with pytest.raises(UserError, match="has more than 300000 values"):
        read_bind_info(text)
