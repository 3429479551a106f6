"""Which nodes an outer scheduler offers to the pods of a gang, over its two phases.

In filtering it offers nodes on which a pod fits as they are; in preempting, those on which it fits once weaker pods are
killed. Neither list has all the nodes that a gang may be placed on: a node that has just been emptied for it is not in
the second, and a node that it still waits for is not in the first. So what was last offered in both phases counts.
"""

from __future__ import annotations

from collections.abc import Iterable

from runtime.answers import Phase

MAX_REMEMBERED = 64
"""Maximum number of pods without a reservation whose last filtering is remembered."""


class Offers:
    """By uid of a pod, the names that it was offered last in each phase."""

    __slots__ = ("_filtering", "_preempting")

    def __init__(self) -> None:
        self._filtering: dict[str, frozenset[str]] = {}
        self._preempting: dict[str, dict[str, frozenset[str]]] = {}
        """By gang that preempts: what its pods were offered in both phases together."""

    def note(self, uid: str, names: Iterable[str] | None, phase: Phase) -> frozenset[str] | None:
        """A pod asks. Answers the nodes that it may be placed on; none for any."""
        if names is None:
            return None
        offered = names if isinstance(names, frozenset) else frozenset(names)
        if phase is Phase.PREEMPTING:
            return offered | self._filtering.get(uid, frozenset())
        self._filtering.pop(uid, None)
        self._filtering[uid] = offered
        if len(self._filtering) > MAX_REMEMBERED:
            del self._filtering[next(iter(self._filtering))]
        return offered

    def keep(self, gang: str, uid: str, names: frozenset[str] | None) -> None:
        """A gang preempts, and one of its pods was offered these."""
        if names is not None:
            self._preempting.setdefault(gang, {})[uid] = names

    def has(self, gang: str, node: str) -> bool:
        """Whether a node was offered to any pod of a gang that preempts, the last time that this pod asked.

        What reserves a node for one pod of the gang can be the reason why it is not offered to the next one.
        """
        return any(node in names for names in self._preempting.get(gang, {}).values())

    def forget_pod(self, gang: str, uid: str) -> None:
        """A pod is gone."""
        self._filtering.pop(uid, None)
        self._preempting.get(gang, {}).pop(uid, None)

    def forget(self, gang: str) -> None:
        """A gang does not preempt any more."""
        self._preempting.pop(gang, None)
