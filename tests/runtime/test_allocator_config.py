"""HiveD's configuration file: read as it is, and everything wrong with it at once."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from runtime import Allocator, ConfigurationError
from runtime.config import configuration, read_configuration, read_text

WHOLE = """
kubeApiServerAddress: http://10.10.10.10:8080
webServerAddress: ":30096"
waitingPodSchedulingBlockMilliSec: 50
physicalCluster:
  skuTypes:
    anything: {goes: here}
  cellTypes:
    DGX2-V100-NODE:
      childCellType: V100-SOCKET
      childCellNumber: 2
      isNodeLevel: true
    V100-SOCKET:
      childCellType: DGX2-V100
      childCellNumber: 2
    2-NODES:
      childCellType: DGX2-V100-NODE
      childCellNumber: 2
  physicalCells:
  - cellType: 2-NODES
    cellChildren:
    - cellAddress: 0.0.1.0
    - cellAddress: 0.0.1.1
      cellChildren:
      - cellChildren: [{cellAddress: 8}, {cellAddress: 9, pinnedCellId: PIN}]
      - {}
  - cellType: DGX2-V100-NODE
    cellAddress: 0.0.2.0
virtualClusters:
  VC1:
    virtualCells:
    - cellType: 2-NODES.DGX2-V100-NODE
      cellNumber: 1
    - cellType: DGX2-V100-NODE
      cellNumber: 1
  VC2:
    pinnedCells:
    - pinnedCellId: PIN
    virtualCells:
    - cellType: 2-NODES.DGX2-V100-NODE.V100-SOCKET.DGX2-V100
      cellNumber: 0
"""


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigurationError) as error:
        Allocator(configuration(read_text(dedent(text))))
    return [str(p) for p in error.value.problems]


def test_a_configuration_becomes_chains_cells_and_virtual_clusters() -> None:
    made = configuration(read_text(WHOLE))
    assert made.settings.web_server == ":30096"
    assert made.settings.force_bind_threshold == 3
    chain = made.forests["2-NODES"].chain
    assert chain.types == ("", "DGX2-V100", "V100-SOCKET", "DGX2-V100-NODE", "2-NODES")
    assert (chain.node, chain.leaves, chain.leaf_type) == (3, (0, 1, 2, 4, 8), "DGX2-V100")
    assert [(q.chain, q.level, q.number) for q in made.tenants["VC1"].quotas] == [
        ("2-NODES", 3, 1),
        ("DGX2-V100-NODE", 3, 1),
    ]
    assert made.tenants["VC2"].pinned == ("PIN",)


def test_addresses_are_counted_where_none_are_given() -> None:
    allocator = Allocator(configuration(read_text(WHOLE)))
    cells = {cell.address: cell for cell in allocator.leaf_cells()}
    assert sorted(cells) == [
        "0.0.2.0/0/0",
        "0.0.2.0/0/1",
        "0.0.2.0/1/2",
        "0.0.2.0/1/3",
        "0/0.0.1.0/0/0",
        "0/0.0.1.0/0/1",
        "0/0.0.1.0/1/2",
        "0/0.0.1.0/1/3",
        "0/0.0.1.1/0/8",
        "0/0.0.1.1/0/9",
        "0/0.0.1.1/1/2",
        "0/0.0.1.1/1/3",
    ]
    assert [cell.index for cell in cells.values() if cell.node == "0.0.1.1"] == [8, 9, 2, 3]
    assert cells["0/0.0.1.1/0/9"].virtual == "VC2/0"
    assert not any(cell.healthy for cell in cells.values()), "nodes are bad until they are reported"


def test_an_address_is_taken_as_it_is_written() -> None:
    text = WHOLE.replace("0.0.2.0", "007")
    assert "007" in {cell.node for cell in Allocator(configuration(read_text(text))).leaf_cells()}


def test_virtual_cells_are_numbered_through_and_pinned_ones_come_last() -> None:
    allocator = Allocator(configuration(read_text(WHOLE)))
    tenants = {tenant.name: tenant.cells for tenant in allocator.virtual_clusters()}
    assert [(c.address, c.cell_type, c.pinned) for c in tenants["VC1"]] == [
        ("VC1/0", "DGX2-V100-NODE", ""),
        ("VC1/1", "DGX2-V100-NODE", ""),
    ]
    assert [(c.address, c.physical, c.pinned) for c in tenants["VC2"]] == [("VC2/0", "0/0.0.1.1/0/9", "PIN")]


def test_everything_wrong_is_reported_at_once_with_its_line() -> None:
    assert problems(
        """\
        webServerAdress: x
        physicalCluster:
          cellTypes:
            NODE: {childCellType: GPU, childCellNumber: 0, isNodeLevel: maybe}
            LOOP: {childCellType: LOOP, childCellNumber: 2}
            PAIR: {childCellType: GPU, childCellNumber: 2}
          physicalCells:
          - cellType: NODES
          - cellType: PAIR
          - cellAddress: n0
          - cellType: NODE
            cellAdress: n1
            cellChildren: [{cellAddress: first}]
        virtualClusters:
          VC1:
            virtualCells:
            - {cellType: NODE.CPU, cellNumber: 1}
            - {cellType: RACK, cellNumber: -1}
            pinnedCells: [{pinnedCellId: P}]
        """
    ) == [
        "line 1: webServerAdress: is not a known key (did you mean webServerAddress?)",
        "line 4: physicalCluster.cellTypes.NODE.childCellNumber: must be at least 1, not 0",
        "line 4: physicalCluster.cellTypes.NODE.isNodeLevel: must be true or false, not 'maybe'",
        "line 5: physicalCluster.cellTypes.LOOP: contains itself: LOOP -> LOOP",
        "line 8: physicalCluster.physicalCells[0].cellType: NODES is not a defined cell type (did you mean NODE?)",
        "line 9: physicalCluster.physicalCells[1].cellType: PAIR is smaller than a node "
        "(a top cell is a node or contains nodes)",
        "line 10: physicalCluster.physicalCells[2]: has no cellType (a top cell must say what it is)",
        "line 12: physicalCluster.physicalCells[3].cellAdress: is not a known key (did you mean cellAddress?)",
        "line 18: virtualClusters.VC1.virtualCells[1].cellNumber: must be at least 0, not -1",
        "line 18: virtualClusters.VC1.virtualCells[1].cellType: there is no chain RACK in physicalCells",
        "line 19: virtualClusters.VC1.pinnedCells[0]: P is not a pinned cell of physicalCells",
    ]


NODES = """\
physicalCluster:
  cellTypes:
    SWITCH: {childCellType: GPU, childCellNumber: 2}
    NODE: {childCellType: SWITCH, childCellNumber: 2, isNodeLevel: true}
    RACK: {childCellType: NODE, childCellNumber: 2}
  physicalCells:
%s
virtualClusters:
%s
"""


@pytest.mark.parametrize(
    ("cells", "tenants", "expected"),
    [
        (
            "  - {cellType: NODE, cellAddress: n}\n  - {cellType: NODE, cellAddress: n}",
            "  A: {}",
            "line 8: physicalCluster.physicalCells: node n is twice in chain NODE",
        ),
        (
            "  - {cellType: NODE, cellAddress: n}\n  - {cellType: RACK, cellChildren: [{cellAddress: n}, {}]}",
            "  A: {}",
            "line 8: physicalCluster.physicalCells: device 0 (GPU) of node n is already in chain NODE "
            "(give the devices their indices as cellAddress)",
        ),
        (
            "  - {cellType: NODE, cellAddress: n, cellChildren: [{cellChildren: [{}, {cellAddress: 0}]}, {}]}",
            "  A: {}",
            "line 7: physicalCluster.physicalCells: node n has two devices of the same index",
        ),
        (
            "  - {cellType: RACK, cellChildren: [{}]}",
            "  A: {}",
            "line 7: physicalCluster.physicalCells[0].cellChildren: has 1 cells, but a RACK has 2 "
            "(omit cellChildren to use the defaults)",
        ),
        (
            "  - {cellType: RACK, cellChildren: [{cellType: SWITCH}, {}]}",
            "  A: {}",
            "line 7: physicalCluster.physicalCells[0].cellChildren[0].cellType: is SWITCH, but must be NODE",
        ),
        (
            "  - cellType: RACK",
            "  A: {virtualCells: [{cellType: RACK.NODE.GPU, cellNumber: 1}]}",
            "line 9: virtualClusters.A.virtualCells[0].cellType: NODE has SWITCH, not GPU",
        ),
        (
            "  - cellType: RACK",
            "  A: {virtualCells: [{cellType: RACK.NODE, cellNumber: 1}]}\n"
            "  B: {virtualCells: [{cellType: RACK, cellNumber: 1}, {cellType: RACK.NODE.SWITCH, cellNumber: 1}]}",
            "line 9: virtualClusters: 1 cells of type NODE of chain RACK are promised to A, "
            "but there are 0 after all larger ones (lower a cellNumber, or add physical cells)",
        ),
        (
            "  - cellType: RACK\n    pinnedCellId: P\n  - cellType: RACK\n    pinnedCellId: P",
            "  A: {}",
            "line 9: physicalCluster.physicalCells: pinnedCellId P is given twice",
        ),
        (
            "  - {cellType: RACK, pinnedCellId: P}",
            "  A: {pinnedCells: [{pinnedCellId: P}]}\n  B: {pinnedCells: [{pinnedCellId: P}]}",
            "line 10: virtualClusters.B.pinnedCells[0]: P already belongs to A",
        ),
        (
            "  - {cellType: RACK, pinnedCellId: P, cellChildren: [{pinnedCellId: Q}, {}]}",
            "  A: {}",
            "line 7: physicalCluster.physicalCells: pinned cell P contains another pinned cell",
        ),
    ],
)
def test_a_mistake_and_what_is_said_of_it(cells: str, tenants: str, expected: str) -> None:
    assert problems(NODES % (cells, tenants)) == [expected]


def test_pinned_cells_that_break_up_too_many_whole_cells_are_refused() -> None:
    """The counts fit: two leaf cells and one node of two nodes. But each node has one of the two."""
    one = "{cellType: NODE, cellAddress: %s, cellChildren: [{cellChildren: [{pinnedCellId: %s}, {}]}, {}]}"
    cells = f"  - {one % ('n', 'P')}\n  - {one % ('m', 'Q')}"
    tenants = "  A: {pinnedCells: [{pinnedCellId: P}, {pinnedCellId: Q}], virtualCells: [%s]}"
    assert problems(NODES % (cells, tenants % "{cellType: NODE, cellNumber: 1}")) == [
        "virtualClusters: the pinned cells of chain NODE leave too few whole cells of type NODE "
        "(pin cells that are close together)"
    ]
    Allocator(configuration(read_text(NODES % (cells, tenants % "{cellType: NODE.SWITCH, cellNumber: 2}"))))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [1, 2", "line 1: the configuration: is not YAML: did not find expected ',' or ']'"),
        ("virtualClusters: {}\nvirtualClusters: {}", "line 2: virtualClusters: is given twice"),
        ("physicalCluster: &a [*a]", "line 1: physicalCluster[0]: contains itself"),
        ("[1, 2]", "line 1: the configuration: must be a mapping, not a list"),
        ("physicalCluster: " + "[" * 90_000 + "]" * 90_000, "line 1: the configuration: is nested more than 100 deep"),
        ("webServerAddress: !!bool perhaps", "line 1: webServerAddress: cannot be read: perhaps"),
        ("webServerAddress: !!timestamp now", "line 1: webServerAddress: cannot be read: now"),
        ("virtualClusters: 7", "line 1: virtualClusters: must be a mapping, not 7"),
        ("{[a]: 1}", "line 1: the configuration: a key must be a string"),
        ("waitingPodSchedulingBlockMilliSec: 1:30", "must be a whole number, not '1:30'"),
    ],
)
def test_a_text_that_is_no_configuration(text: str, expected: str) -> None:
    assert any(expected in problem for problem in problems(text))


def test_merge_keys_are_understood() -> None:
    text = "x: &x {kubeConfigFilePath: a}\n"
    assert problems(text) == [
        "physicalCluster.physicalCells: has no cells "
        "(list the cells of the cluster; an empty file is not a configuration)",
        "line 1: x: is not a known key (known here: forcePodBindThreshold, kubeApiServerAddress, kubeConfigFilePath, "
        "physicalCluster, virtualClusters, waitingPodSchedulingBlockMilliSec, webServerAddress)",
    ]
    made = configuration(read_text(text + WHOLE[WHOLE.index("physicalCluster:") :]))
    assert [str(note) for note in made.notes] == [
        "line 1: x: is not a known key (known here: forcePodBindThreshold, kubeApiServerAddress, kubeConfigFilePath, "
        "physicalCluster, virtualClusters, waitingPodSchedulingBlockMilliSec, webServerAddress)"
    ], "alone, it does no harm"
    merged = "<<: [{kubeConfigFilePath: a, webServerAddress: c}, {kubeConfigFilePath: d}]\nwebServerAddress: b\n"
    merged += WHOLE[WHOLE.index("physicalCluster:") :]
    made = configuration(read_text(merged))
    assert (made.settings.kube_config, made.settings.web_server) == ("a", "b")
    assert problems("<<: 7") == ["line 1: <<: can merge mappings only"]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_configuration(tmp_path / "absent.yaml")
    (tmp_path / "config.yaml").write_text(WHOLE, "utf-8")
    assert read_configuration(tmp_path / "config.yaml") == configuration(read_text(WHOLE))


def test_cells_of_more_levels_or_devices_than_there_can_be() -> None:
    types = "".join(f"    T{i}: {{childCellType: T{i - 1}, childCellNumber: 1}}\n" for i in range(1, 40))
    text = f"physicalCluster:\n  cellTypes:\n{types}    N: {{childCellType: GPU, childCellNumber: 5000000}}\n"
    assert problems(text)[0] == "line 34: physicalCluster.cellTypes.T32: has more than 32 levels"
    assert problems(text)[-1] == (
        "line 42: physicalCluster.cellTypes.N: would have 5000000 leaf cells, which is more than 4194304"
    )


def test_what_a_program_has_made_is_read_the_same_way() -> None:
    with pytest.raises(ConfigurationError) as error:
        Allocator.from_config({"physicalCluster": {"cellTypes": {"N": {"childCellNumber": "two"}}}})
    assert [str(p) for p in error.value.problems] == [
        "physicalCluster.cellTypes.N: has no childCellType (leaf types need no entry)",
        "physicalCluster.cellTypes.N.childCellNumber: must be a whole number, not 'two'",
    ]


@pytest.mark.parametrize(
    "text", ["", "# nothing yet\n", "physicalCluster: {}\n", "physicalCluster:\n  physicalCells: []\n"]
)
def test_a_cluster_without_cells_is_a_mistake(tmp_path: Path, text: str) -> None:
    """Otherwise everybody would wait, and nobody would know why."""
    (tmp_path / "hived.yaml").write_text(text)
    with pytest.raises(ConfigurationError, match=r"physicalCluster\.physicalCells.*has no cells"):
        read_configuration(tmp_path / "hived.yaml")
