"""What the machines call for."""

from __future__ import annotations

from dataclasses import dataclass

from generated.confine.actions import SliceActions, SliverActions
from generated.grove.actions import PodGangActions
from generated.yunikorn.core.actions import ApplicationActions, NodeActions, ObjectStateActions
from generated.yunikorn.shim.actions import ShimApplicationActions, ShimNodeActions, TaskActions


@dataclass(frozen=True, slots=True)
class Actions:
    """Of each machine."""

    core: ApplicationActions
    shim: ShimApplicationActions
    task: TaskActions
    gang: PodGangActions
    work: SliceActions
    part: SliverActions
    queue: ObjectStateActions
    node: NodeActions
    host: ShimNodeActions
