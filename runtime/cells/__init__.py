"""Cells: physical and virtual trees, free lists, and the books about who has what."""

from runtime.cells.books import Books
from runtime.cells.cluster import Cluster
from runtime.cells.index import ALL, FREE, GUARANTEED, NodeIndex
from runtime.cells.physical import Device, DeviceMachine, Forest, PhysicalCell
from runtime.cells.virtual import View, VirtualCell, VirtualCluster

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
