"""Who may ask the allocator: other programs, and its own pages. No page of another site.

Unless clients have to show certificates, every client that reaches the port may do what a scheduler may (see `access`).
A browser sends requests for any page that it shows, and shows a certificate with them. So the guard checks two things
of every request: no page of another site has sent it, and its host name is one of ours. A foreign name that leads here
is how DNS rebinding works.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
CLUSTER = (".svc", ".svc.cluster.local")
"""Names of services inside a cluster of Kubernetes, which no site can have."""


class Names:
    """The names under which the allocator may be asked: on a loopback address, those of it; on others, addresses, names
    without a dot, those of Kubernetes, and of this machine. `more` are others; `*` is any."""

    def __init__(self, address: str, more: Iterable[str] = ()) -> None:
        self._any = "*" in more
        self._more = {x.lower().rstrip(".") for x in more}
        self._loopback = address in LOOPBACK or (_is_address(address) and ip_address(address).is_loopback)
        if not self._loopback:
            self._more |= {address.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}

    def has(self, name: str) -> bool:
        """Whether a name, without its port, is one of them."""
        name = name.lower().rstrip(".")
        if self._any or name in LOOPBACK or name in self._more:
            return True
        return not self._loopback and ("." not in name or name.endswith(CLUSTER) or _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def host_of(header: str) -> str:
    """The name in a `Host`, without its port; the empty text where what follows the name is none."""
    if header.startswith("["):
        name, _, rest = header[1:].partition("]")
    elif header.count(":") > 1:
        name, rest = header, ""
    else:
        name, colon, port = header.partition(":")
        rest = colon + port
    return name if rest.rstrip("0123456789") in ("", ":") else ""


class Guard:
    """Refuses what a page of another site has sent."""

    def __init__(
        self, app: ASGIApp, names: Names, on_refusal: Callable[[str, int], object] = lambda path, status: None
    ) -> None:
        """`on_refusal` receives the path and the status of each request that is refused."""
        self._app, self._names, self._on_refusal = app, names, on_refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := self._refusal(Headers(scope=scope))) is not None:
            status, why = refusal
            self._on_refusal(scope["path"], status)
            await JSONResponse(f"user error ({status}): {why}", status)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, headers: Headers) -> tuple[int, str] | None:
        hosts = headers.getlist("host")
        if len(hosts) > 1 or any(not self._names.has(host_of(x)) for x in hosts):
            return 421, "requests to this host name are not accepted; allow it with --host"
        ours = {f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts}
        if not ours.issuperset(headers.getlist("origin")):
            return 403, "cross-site request refused"
        if not {"same-origin", "none"}.issuperset(headers.getlist("sec-fetch-site")):
            return 403, "cross-site request refused"
        return None
