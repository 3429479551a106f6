"""Cells: physical and virtual trees, free lists, and the ledger of leaf cells."""

from runtime.cells.cell import Device, DeviceMachine, PhysicalCell, View, VirtualCell, VirtualCluster
from runtime.cells.cluster import Cluster
from runtime.cells.forest import Forest
from runtime.cells.index import ALL, FREE, GUARANTEED, NodeIndex
from runtime.cells.ledger import CellLedger

__all__ = [
    "ALL",
    "FREE",
    "GUARANTEED",
    "CellLedger",
    "Cluster",
    "Device",
    "DeviceMachine",
    "Forest",
    "NodeIndex",
    "PhysicalCell",
    "View",
    "VirtualCell",
    "VirtualCluster",
]
