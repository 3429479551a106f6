"""Leader election: of several instances, the one that holds a Lease of Kubernetes decides.

A candidate takes the Lease when it has no holder, when the holder has not renewed it for its duration (by the
candidate's own clock, so that clocks need not agree), or when it held the Lease itself before a restart. The server
refuses an update of a version that is not the latest, so that two candidates never both succeed. The holder renews, and
acts only for `DEADLINE` seconds after its last success, which end before another instance can take over. It resumes
when it succeeds again, and gives way when another instance has the Lease.

Source: Kubernetes, "Leases", and client-go, `leaderelection`, whose durations these are.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Event, Thread
from time import monotonic
from typing import Any, Protocol

from runtime.errors import UserError
from runtime.service.engine import NotServingError
from runtime.service.source import EndedError

log = logging.getLogger(__name__)

DURATION = 15
"""Seconds after which a Lease that is not renewed may be taken."""
DEADLINE = 10.0
"""Seconds after its last renewal in which the holder may act."""
RETRY_INTERVAL = 2.0
"""Seconds between two attempts to take or renew."""
RELEASED = 1
"""Duration of a Lease that its holder has given up."""


class LeaseConflictError(Exception):
    """Another instance has changed the Lease meanwhile."""


class Leases(Protocol):
    """Where Leases are stored. All methods raise an exception where the server does not answer."""

    def lease(self, namespace: str, name: str) -> dict[str, Any] | None:
        """A Lease; none where there is no such."""

    def write_lease(self, namespace: str, lease: dict[str, Any]) -> dict[str, Any]:
        """Creates, or replaces the version that it names. Raises `LeaseConflictError`."""


class Election:
    """One candidate. `name` is NAMESPACE/NAME of the Lease, `identity` says who holds it."""

    def __init__(self, leases: Leases, name: str, identity: str, now: Callable[[], float] = monotonic) -> None:
        namespace, slash, short = name.partition("/")
        if not (namespace and slash and short) or "/" in short:
            raise UserError(f"a Lease must be named NAMESPACE/NAME, not {name}")
        self._leases, self._namespace, self._name = leases, namespace, short
        self.identity = identity
        self.holder = ""
        """Who held the Lease when it was last read."""
        self._now = now
        self._seen: tuple[Any, float] = (None, 0.0)
        """The version of the Lease that was last read, and when this version was first read."""
        self._expires = float("inf")
        """When the Lease may be taken, unless it is renewed."""
        self._renewed = float("-inf")
        self._ended = Event()
        self._renewing: Thread | None = None

    @property
    def leads(self) -> bool:
        """Whether this instance may act now."""
        return self._now() - self._renewed < DEADLINE

    def require_leadership(self) -> None:
        """Raises `NotServingError` where another instance may act."""
        if not self.leads:
            raise NotServingError("this instance is no longer the leader")

    def acquire(self) -> str:
        """Waits until this instance leads. Returns the previous leader; empty if there was none.

        Raises `EndedError` when `close` is called meanwhile.
        """
        while not self._ended.is_set():
            before = self.attempt()
            if before is not None:
                log.info("this instance, %s, leads", self.identity)
                return before
            self._ended.wait(self.pause())
        raise EndedError

    def attempt(self) -> str | None:
        """Tries once. Answers who held the Lease before; none where it cannot be had now."""
        begun = self._now()
        try:
            lease = self._leases.lease(self._namespace, self._name)
            spec = (lease or {}).get("spec") or {}
            holder = str(spec.get("holderIdentity") or "")
            if holder != self.holder:
                log.info("Lease %s/%s is held by %s", self._namespace, self._name, holder or "nobody")
            self.holder = holder
            if lease is not None and holder not in ("", self.identity) and not self._expired(lease, spec):
                return None
            self._write(lease, DURATION)
        except Exception as error:
            log.warning("Lease %s/%s cannot be taken: %s", self._namespace, self._name, error)
            return None
        self._renewed, self.holder = begun, self.identity
        return holder

    def pause(self) -> float:
        """Seconds until the next attempt: no longer than until the Lease that was read may be taken."""
        remaining = self._expires - self._now()
        return min(RETRY_INTERVAL, remaining) if remaining > 0 else RETRY_INTERVAL

    def _expired(self, lease: dict[str, Any], spec: dict[str, Any]) -> bool:
        version = lease.get("metadata", {}).get("resourceVersion")
        if self._seen[0] != version:
            self._seen = version, self._now()
        self._expires = self._seen[1] + float(spec.get("leaseDurationSeconds") or DURATION)
        return self._now() >= self._expires

    def _write(self, lease: dict[str, Any] | None, duration: int) -> None:
        spec = dict((lease or {}).get("spec") or {})
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        if spec.get("holderIdentity") != self.identity:
            spec["leaseTransitions"] = int(spec.get("leaseTransitions") or 0) + (lease is not None)
            spec["acquireTime"] = now
        spec |= {"holderIdentity": self.identity, "leaseDurationSeconds": duration, "renewTime": now}
        metadata = dict((lease or {}).get("metadata") or {}) | {"name": self._name, "namespace": self._namespace}
        document = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        self._leases.write_lease(self._namespace, document)

    def keep(self, on_loss: Callable[[], object]) -> None:
        """Renews in a thread from now on. `on_loss` is called once, when another instance holds the Lease.

        Where the server does not answer for too long, this instance does not lead for that time. When it finds itself
        the holder afterwards, no other instance has led meanwhile, and it resumes.
        """
        self._renewing = Thread(target=self._renew, args=(on_loss,), name="leader election", daemon=True)
        self._renewing.start()

    def _renew(self, on_loss: Callable[[], object]) -> None:
        while not self._ended.wait(RETRY_INTERVAL):
            before = self.attempt()
            if before not in (None, self.identity) or self.holder != self.identity:
                self._renewed = float("-inf")
                log.error("Lease %s/%s is lost to %s", self._namespace, self._name, self.holder or "nobody")
                on_loss()
                return

    def close(self) -> None:
        """Gives up the Lease, if this instance leads: another one takes over a second later."""
        self._ended.set()
        if self._renewing is not None:
            self._renewing.join(DEADLINE)
        if not self.leads:
            return
        self._renewed = float("-inf")
        try:
            lease = self._leases.lease(self._namespace, self._name)
            if lease is not None and (lease.get("spec") or {}).get("holderIdentity") == self.identity:
                self._write(lease, RELEASED)
        except Exception as error:
            log.warning("Lease %s/%s could not be given up: %s", self._namespace, self._name, error)
