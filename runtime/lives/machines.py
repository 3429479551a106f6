"""The generated machines, each with what it stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generated.confine import Slice, Sliver, System
from generated.grove import Pod, PodGang
from generated.yunikorn.core import Application, Node, ObjectState
from generated.yunikorn.shim import ShimApplication, ShimNode, Task

if TYPE_CHECKING:
    from runtime.lives.hosts import Host
    from runtime.lives.life import Life, Slot
    from runtime.lives.queues import Queue

__all__ = ["Core", "Gang", "HostNode", "HostShim", "Part", "Place", "PodTask", "QueueState", "Shim", "Work"]


class Core(Application):
    """An application, as the scheduler sees it."""

    __slots__ = ("life",)
    life: Life


class Shim(ShimApplication):
    """An application, as whoever submitted it sees it."""

    __slots__ = ("life",)
    life: Life


class Gang(PodGang):
    """The gang of an application."""

    __slots__ = ("life",)
    life: Life


class Work(Slice):
    """What the nodes are to do for a gang."""

    __slots__ = ("life", "system")
    life: Life
    system: System


class Place(Pod):
    """A place in a gang, whichever pod fills it."""

    __slots__ = ("slot",)
    slot: Slot


class PodTask(Task):
    """One pod."""

    __slots__ = ("slot",)
    slot: Slot


class Part(Sliver):
    """One pod on its node. Each has a system of its own: one may wait for its agent while the others go on."""

    __slots__ = ("slot", "system")
    slot: Slot
    system: System


class QueueState(ObjectState):
    """A queue, or the whole cluster."""

    __slots__ = ("queue",)
    queue: Queue


class HostNode(Node):
    """A node, as the scheduler sees it."""

    __slots__ = ("host",)
    host: Host


class HostShim(ShimNode):
    """A node, as it registers."""

    __slots__ = ("host",)
    host: Host
