"""The pods that an outer scheduler has to delete when a gang preempts.

A kube-scheduler deletes the victims on one node for each pod that it preempts for, and does so again for that pod only
when they are gone. So each pod of a gang is answered with one node, another one than its siblings, and with no victim
that leaves already: a node with leaving pods alone needs no second preemption.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from runtime.pods import Pod

MAX_REMEMBERED = 1000
"""Maximum number of gangs that are remembered."""


class Evictions:
    """By gang that preempts: the node in the last answer for each of its pods."""

    __slots__ = ("_nodes",)

    def __init__(self) -> None:
        self._nodes: dict[str, dict[str, str]] = {}

    def share(
        self,
        gang: str,
        uid: str,
        victims: Mapping[str, tuple[Pod, ...]],
        leaving: Callable[[str], bool],
        own: Iterable[str],
    ) -> dict[str, tuple[Pod, ...]]:
        """The victims on one node, for one pod of a gang; none where all victims leave already.

        Nodes on which the gang itself has its places (`own`) come first, then nodes that are in no sibling's answer.
        """
        node_by_uid = self._nodes.setdefault(gang, {})
        if len(self._nodes) > MAX_REMEMBERED:
            del self._nodes[next(iter(self._nodes))]
        node_by_uid.pop(uid, None)
        staying = {node: tuple(pod for pod in pods if not leaving(pod.uid)) for node, pods in victims.items()}
        staying = {node: pods for node, pods in staying.items() if pods}
        if not staying:
            return {}
        places, taken = set(own), set(node_by_uid.values())
        node = min(staying, key=lambda name: (name in taken, name not in places))
        node_by_uid[uid] = node
        return {node: staying[node]}

    def forget(self, gang: str) -> None:
        """It does not preempt any more."""
        self._nodes.pop(gang, None)
