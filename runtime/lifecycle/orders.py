"""What agents on the nodes are told to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Act(Enum):
    """What is to be done with a pod on its node. An order may come twice, after a restart; it then means the same."""

    DEPLOY = "deploy"
    """Bind the pod to the node, and get its files there. To be answered by `report`."""
    START = "start"
    """Start its containers. To be answered by `report`."""
    STOP = "stop"
    """Stop its containers. `UNDEPLOY` follows."""
    UNDEPLOY = "undeploy"
    """Leave nothing of it on the node. To be answered by `pod_gone`."""


@dataclass(frozen=True, slots=True)
class Order:
    """One thing for the agent of a node to do."""

    act: Act
    uid: str
    """Of the pod."""
    node: str
    leaf_cells: tuple[int, ...]
    """Indices of the devices on the node that the pod has."""
