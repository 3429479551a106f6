"""Access control: only the page that this server has sent may use it.

A server on a loopback address can still be reached by any page that the browser shows, and by other people on the
machine. So three things are asked of every request: the name that it was sent to is a loopback one (a foreign name that
leads here is how DNS rebinding works), it does not come from another site's page, and what reads or changes specs knows
the token that `fsm serve` has printed.
"""

from __future__ import annotations

from secrets import compare_digest, token_urlsafe
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN = "x-fsm-token"
"""A header that no page of another site can send without asking first."""

LARGEST = 64 * 2**20
"""Maximum size of a request, in bytes."""


def policy(nonce: str) -> str:
    """What the page may load: its own files, and nothing else. The editor makes a style sheet, hence the nonce; the
    stepper indents by an attribute `style`."""
    return (
        "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
        f"style-src 'self' 'nonce-{nonce}'; style-src-attr 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class Guard:
    """Refuses what does not come from our page, and says with each answer what the page may do."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope["fsm.nonce"] = nonce = token_urlsafe(16)
        refusal = self._refusal(scope)

        async def send_hardened(message: Message) -> None:
            if message["type"] == "http.response.start":
                _harden(MutableHeaders(scope=message), nonce)
            await send(message)

        if refusal is None:
            await self.app(scope, _limited(receive), send_hardened)
        else:
            status, why = refusal
            await JSONResponse({"error": why}, status)(scope, receive, send_hardened)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self.hosts:
            return 421, "this server accepts requests only to its loopback address"
        if any(x != f"http://{host}" for x in headers.getlist("origin")):
            return 403, "cross-site request refused"
        if not {"same-origin", "none"}.issuperset(headers.getlist("sec-fetch-site")):
            return 403, "cross-site request refused"
        if int(headers.get("content-length") or 0) > LARGEST:
            return 413, "request too large"
        if scope["path"].startswith("/api/") and not compare_digest(
            headers.get(TOKEN, "").encode(), self.token.encode()
        ):
            return 401, "open the address that `fsm serve` printed: it has the token that this page lacks"
        return None


def _limited(receive: Receive) -> Receive:
    """The body, which ends the connection where it grows too large."""
    taken = 0

    async def limited() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        return message if taken <= LARGEST else {"type": "http.disconnect"}

    return limited


def _harden(headers: Any, nonce: str) -> None:
    headers["content-security-policy"] = policy(nonce)
    headers["x-content-type-options"] = "nosniff"
    headers["referrer-policy"] = "no-referrer"
    headers["cross-origin-opener-policy"] = "same-origin"
    headers["cross-origin-resource-policy"] = "same-origin"
    headers["cache-control"] = "no-store"
