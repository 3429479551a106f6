"""Asking an ASGI application, without a server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

Headers = tuple[tuple[str, str], ...]


async def ask(app: Any, path: str, body: str, headers: Headers, method: str = "POST") -> tuple[int, bytes]:
    """The status and the body of an answer. Whatever the application raises comes out."""
    sent = [(b"content-type", b"application/json"), *((k.encode(), v.encode()) for k, v in headers)]
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": method,
        "scheme": "http", "path": path, "raw_path": path.encode("utf-8", "replace"), "query_string": b"",
        "root_path": "",
        "headers": sent, "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 9), "state": {},
    }  # fmt: skip
    waiting: list[dict[str, Any]] = [
        {"type": "http.request", "body": body.encode("utf-8", "surrogatepass"), "more_body": False}
    ]
    answered: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop()
        await asyncio.sleep(3600)
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        answered.append(message)

    await app(scope, receive, send)
    status = next(x["status"] for x in answered if x["type"] == "http.response.start")
    return status, b"".join(x.get("body", b"") for x in answered if x["type"] == "http.response.body")


def read(body: bytes) -> Any:
    """An answer as JSON, as strictly as other languages read it: no NaN, no halves of characters left as they are."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} in an answer")

    return json.loads(body.decode("utf-8"), parse_constant=refuse)
