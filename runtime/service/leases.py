"""How long something is kept for a client that does not ask for it any more.

An outer scheduler does not say that it has given up on a pod. Times are not journaled: after a restart, every client is
given as long again.
"""

from __future__ import annotations

LEASE = 600.0
"""Seconds. A kube-scheduler asks again for a pod that it could not place after five minutes at the latest."""


class Leases:
    """By name, when it was last asked for: who has not been asked for longest, comes first."""

    __slots__ = ("_renewed", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._renewed: dict[str, float] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._renewed

    def renew(self, name: str, now: float) -> None:
        """It was asked for. Times must not fall."""
        self._renewed.pop(name, None)
        self._renewed[name] = now

    def drop(self, name: str) -> None:
        """Nothing is kept any more."""
        self._renewed.pop(name, None)

    def over(self, now: float) -> list[str]:
        """What has not been asked for in time; it is reported once. Costs what it finds."""
        expired = []
        for name, renewed_at in self._renewed.items():
            if now - renewed_at < self.seconds:
                break
            expired.append(name)
        for name in expired:
            del self._renewed[name]
        return expired
