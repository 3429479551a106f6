"""Who may do what: the roles of clients, which their certificates name.

A client is who its certificate says, as in Kubernetes: its common name is the user, and each of its organizations is a
group. Roles are given to users and groups by name. A role permits nothing of another one, except that an administrator
may do everything. Everybody may ask how the allocator is: a kubelet has no certificate for its probes.

Source: Kubernetes, "X.509 client certificates".
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from runtime.errors import UserError

CLIENT = "client"
"""Key in the state of a request: a `Client`, or none where the connection came without a certificate."""
GROUP_PREFIX = "group:"
PROBES = frozenset({"/healthz", "/readyz"})
"""Paths for which no role is needed."""


class Role(Enum):
    """What clients may do."""

    READ = "read"
    """Look: inspection, the page, metrics."""
    SCHEDULE = "schedule"
    """Place, preempt and bind pods."""
    ADMINISTER = "administer"
    """Everything, including what changes the cluster."""


def required_role(method: str, path: str) -> Role | None:
    """The role for a request; none for what everybody may ask."""
    reads = method in ("GET", "HEAD")
    if reads and path in PROBES:
        return None
    if path.startswith("/v1/extender/"):
        return Role.SCHEDULE
    return Role.READ if reads and not path.startswith("/v1/simulation/") else Role.ADMINISTER


@dataclass(frozen=True, slots=True)
class Client:
    """Who asks."""

    name: str
    """Empty where the certificate has no common name."""
    groups: frozenset[str]
    expires: float
    """The end of the certificate's validity, in seconds since the epoch."""

    def __str__(self) -> str:
        groups = f" (groups: {', '.join(sorted(self.groups))})" if self.groups else ""
        return f"{self.name or 'a client without a common name'}{groups}"


def read_client(certificate: Mapping[str, Any]) -> Client:
    """A valid certificate, in the form of `ssl.SSLSocket.getpeercert`. Of several common names, the last one counts."""
    fields = [field for names in certificate.get("subject", ()) for field in names]
    names = [value for key, value in fields if key == "commonName"]
    groups = frozenset(value for key, value in fields if key == "organizationName")
    return Client(names[-1] if names else "", groups, ssl.cert_time_to_seconds(certificate["notAfter"]))


class Permissions:
    """The roles of users and groups."""

    def __init__(self, rules: Iterable[str]) -> None:
        """`rules`: ROLE=USER or ROLE=group:GROUP. Raises `UserError`."""
        self._users: set[tuple[Role, str]] = set()
        self._groups: set[tuple[Role, str]] = set()
        for rule in rules:
            word, _, name = rule.partition("=")
            role = next((role for role in Role if role.value == word), None)
            group = name.startswith(GROUP_PREFIX)
            name = name.removeprefix(GROUP_PREFIX)
            if role is None or not name:
                roles = ", ".join(role.value for role in Role)
                raise UserError(f"--allow must be ROLE=USER or ROLE=group:GROUP, with a role of {roles}, not {rule}")
            (self._groups if group else self._users).add((role, name))

    def permit(self, client: Client, role: Role) -> bool:
        """Whether a client has a role, or that of an administrator."""
        return any(
            (x, client.name) in self._users or any((x, group) in self._groups for group in client.groups)
            for x in (role, Role.ADMINISTER)
        )


class AccessControl:
    """Refuses requests of clients that do not have the role for it."""

    def __init__(
        self,
        app: ASGIApp,
        permissions: Permissions,
        on_refusal: Callable[[str, int], object] = lambda path, status: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`on_refusal` receives the path and the status of each request that is refused."""
        self._app, self._permissions, self._on_refusal, self._now = app, permissions, on_refusal, now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := self._refusal(scope)) is not None:
            status, why = refusal
            self._on_refusal(scope["path"], status)
            # A client with a new certificate has to connect again to show it.
            headers = {"connection": "close"} if status == 401 else {}
            await JSONResponse(f"user error ({status}): {why}", status, headers)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        role = required_role(scope["method"], scope["path"])
        if role is None:
            return None
        client: Client | None = scope.get("state", {}).get(CLIENT)
        if client is None:
            return 401, "this request requires a client certificate, signed by an authority in --client-ca"
        if self._now() > client.expires:
            return 401, f"the certificate of {client} has expired since the connection was made"
        if not self._permissions.permit(client, role):
            hint = f"--allow {role.value}={client.name or GROUP_PREFIX + 'GROUP'}"
            return 403, f"{client} does not have the role {role.value}: grant it with {hint}"
        return None
