"""Reports about pods, for the life cycles that follow them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

from runtime.pods import BindInfo, Pod


class Stage(IntEnum):
    """How far a pod is, as its cluster says."""

    WAITING = 0
    """Without a place, or not yet bound to its place."""
    BOUND = 1
    RUNNING = 2


class Ending(Enum):
    """How a pod has ended."""

    FINISHED = "finished"
    FAILED = "failed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class PodReport:
    """How a pod is."""

    pod: Pod
    info: BindInfo | None
    """Its place; none while it has none."""
    stage: Stage
    leaving: bool = False
    """Its deletion has been requested."""
