"""Random requests as bytes: what is meant, with one or more things about it that nobody means.

Each has a method, a target, headers and a body. Most of them are as they should be, so that what is odd is reached.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from random import Random
from typing import Any

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD")
ODD_METHODS = (
    "get",
    "TRACE",
    "CONNECT",
    "PROPFIND",
    "X" * 300,
    "G\x00T",
    "GET\t",
    "",
    "\xff",
    "!#$%&'*+-.^_`|~",
    "PRI",
)
VERSIONS = ("HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "HTTP/0.9", "http/1.1", "HTTP/1.1 ", "HTTP/11", "", "\r")
SEGMENTS = (
    "..", ".", "%2e%2e", "%2f", "%00", "%0d%0aX-Forged:%20x", "%ff", "%c0%af", "%ed%a0%80", "%", "%zz", "a" * 3000,
    "%F0%9F%94%92", ";x=y", "a?b", "\\", "*", "{name}", "%252e", "~", "NaN", "<script>", "'", "%e2%80%a8",
)  # fmt: skip
QUERIES = (
    "seconds=nan", "seconds=-1", "seconds=1e999", "seconds=", "seconds=%00", "seconds=1&seconds=2", "gang=%ff&node=%00",
    "virtualCluster=" + "x" * 5000, "=", "&&&", "a[b]=c", "%", "from=-1", "after=9" * 200, "seconds=١٢", "after=x",
)  # fmt: skip
ODD_HEADERS = (
    "Content-Type: text/plain; charset=utf-7", "Content-Type: multipart/form-data; boundary=" + "b" * 500,
    "Content-Type: application/x-www-form-urlencoded", "Content-Encoding: gzip", "Accept-Encoding: \x00",
    "Accept: \xff",
    "Expect: 100-continue", "Expect: x", "Upgrade: websocket", "Upgrade: h2c", "Connection: upgrade",
    "Connection: keep-alive, close, x", "Range: bytes=0-,5-1,-9", "If-None-Match: *", "If-Modified-Since: x",
    "Cookie: " + "a=b; " * 500, "Origin: http://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site",
    "X-Forwarded-For: 1.2.3.4", "X-Forwarded-Proto: https", "X-Forwarded-Host: evil.example", "Forwarded: for=x",
    "Authorization: Bearer x", "Authorization: Basic \xff", "X-HTTP-Method-Override: DELETE", "TE: trailers",
    "Trailer: Content-Length", "Transfer-Encoding: identity", "Transfer-Encoding: gzip, chunked", "X: " + "y" * 70_000,
    "X : y", " X: y", "X", ": y", "X:\x0by", "\xff: y", "Transfer-Encoding : chunked", "X: y\r\n folded",
    "Content-Length: 5", "Content-Length: -1", "Content-Length: +2", "Content-Length: 0x2", "Content-Length: 2, 2",
    "Content-Length: 1e3", "Content-Length: " + "9" * 40, "Host: evil.example", "Host: ", "Host: a, b",
)  # fmt: skip
HOSTS = (
    "evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "[::1", "[::ffff:127.0.0.1]", "0", "", "\xe9",
    "127.1:80", "localhost:99999999", "xn--a", "a" * 300, "127.0.0.1:80:80", "LOCALHOST", "localhost.",
)  # fmt: skip
ODD_VALUES: Sequence[Any] = (
    None, True, 0, -1, 2**31, -(2**63) - 1, 10**400, 1.5, float("nan"), float("inf"), "", "x" * 5000, "\ud800", "\x00",
    "a\r\n2026-01-01 00:00:00,000 INFO forged", "\u2028", "🔒", [], {}, [[]], [None], {"": None},
    {"a": {"a": {"a": 1}}},
    ["a"] * 500, "../../etc/passwd", "1", "null", [{}, []], {"metadata": None}, {"uid": ["x"]},
)  # fmt: skip
ENCODINGS = ("utf-16", "utf-32", "utf-8-sig", "latin-1", "utf-7")


class RandomRequests:
    """Requests to `host`, with these paths, and with bodies that are `documents` until something happens to them."""

    def __init__(self, choice: Random, host: str, paths: Sequence[str], documents: Sequence[Any]) -> None:
        self._choice, self._host, self._paths, self._documents = choice, host, paths, documents

    def _rarely(self, chance: float = 0.05) -> bool:
        return self._choice.random() < chance

    def request(self) -> bytes:
        """One, with the last header `Connection: close`."""
        choice = self._choice
        document = choice.randrange(len(self._documents))
        body = self._body(deepcopy(self._documents[document]))
        method = choice.choice(ODD_METHODS if self._rarely() else METHODS if self._rarely(0.3) else ("POST", "GET"))
        version = choice.choice(VERSIONS) if self._rarely() else "HTTP/1.1"
        headers = [f"Host: {choice.choice(HOSTS) if self._rarely() else self._host}"] * (not self._rarely(0.02))
        framing, content = self._framed(body)
        headers += framing
        for _ in range(choice.choice((0, 0, 0, 1, 1, 2))):
            headers.insert(choice.randrange(len(headers) + 1), choice.choice(ODD_HEADERS))
        if self._rarely(0.02):
            headers += [f"X-{n}: y" for n in range(choice.choice((100, 3000)))]
        lines = [f"{method} {self._target()} {version}", *headers, "Connection: close", "", ""]
        end = "\n" if self._rarely(0.02) else "\r\n"
        return end.join(lines).encode("utf-8", "surrogatepass") + content

    def _target(self) -> str:
        choice, path = self._choice, self._choice.choice(self._paths)
        for _ in range(choice.choice((0, 0, 0, 1, 2))):
            parts = path.split("/")
            parts.insert(choice.randrange(1, len(parts) + 1), choice.choice(SEGMENTS))
            path = "/".join(parts)
        if self._rarely(0.2):
            path += "?" + "&".join(choice.choices(QUERIES, k=choice.choice((1, 1, 3))))
        if self._rarely(0.02):
            path = choice.choice(
                ("*", "", f"http://evil.example{path}", f"//evil.example{path}", f"{path}#x", "a" * 70_000)
            )
        return path

    def _body(self, document: Any) -> bytes:
        for _ in range(self._choice.choice((0, 1, 1, 1, 2, 4))):
            document = self._changed(document)
        text = json.dumps(document, ensure_ascii=self._rarely(0.5))
        if self._rarely():
            cut = self._choice.randrange(len(text) + 1)
            text = self._choice.choice((text[:cut], text + text, f"{text[:cut]}\x00{text[cut:]}", f"{text},", ""))
        if self._rarely(0.01):
            text = self._choice.choice(("[" * 60_000, '{"a":' * 20_000, "9" * 60_000, '"' + "\\u0000" * 9000 + '"'))
        encoding = self._choice.choice(ENCODINGS) if self._rarely() else "utf-8"
        return text.encode(
            encoding, "surrogatepass" if encoding.startswith("utf-") and encoding != "utf-7" else "replace"
        )

    def _changed(self, value: Any) -> Any:
        """Something somewhere inside is another value, is missing, or is there under another name."""
        choice = self._choice
        if isinstance(value, dict) and value and not self._rarely(0.15):
            key = choice.choice(sorted(value))
            inside = value.pop(key)
            match choice.randrange(8):
                case 0:
                    return value
                case 1:
                    return {**value, choice.choice((key.upper(), key.lower(), "", key + "\u2028", "__proto__")): inside}
                case _:
                    return {**value, key: self._changed(inside)}
        if isinstance(value, list) and value and not self._rarely(0.15):
            place = choice.randrange(len(value))
            return [*value[:place], self._changed(value[place]), *value[place + choice.randrange(2) :]]
        return choice.choice(ODD_VALUES)

    def _framed(self, body: bytes) -> tuple[list[str], bytes]:
        """Headers that say how long a body is, and its bytes. Now and then they do not fit."""
        choice = self._choice
        if self._rarely(0.1):
            size = choice.choice((1, 7, 100_000))
            pieces = [body[n : n + size] for n in range(0, min(len(body), 200 * size), size)]
            chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
            if self._rarely(0.2):
                chunks = (
                    choice.choice((b"zz\r\n", b"-1\r\n\r\n", b"ffffffffffffffff\r\n", b"1;" + b"x" * 9000)) + chunks
                )
            return ["Transfer-Encoding: chunked"], chunks
        length = len(body) + choice.choice((-1, -len(body), 1)) if self._rarely(0.02) else len(body)
        return [f"Content-Length: {length}"], body
