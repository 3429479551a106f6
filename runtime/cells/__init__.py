"""Cells: physical and virtual trees, free lists, and the books about who has what."""

from runtime.cells.books import Books
from runtime.cells.cell import Device, DeviceMachine, PhysicalCell, View, VirtualCell, VirtualCluster
from runtime.cells.cluster import Cluster
from runtime.cells.forest import Forest
from runtime.cells.index import ALL, FREE, GUARANTEED, NodeIndex

__all__ = [
    "ALL",
    "FREE",
    "GUARANTEED",
    "Books",
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
