"""Requests that no client library sends: of other versions, framings and forms, and bytes that are none."""

from __future__ import annotations

import re
import socket

_DEEP = "[" * 100_000


def raw_requests(port: int, path: str, headers: str = "") -> dict[str, bytes]:
    """By what is odd about each. `path` takes a POST; `headers` are whole lines."""
    base = f"Host: 127.0.0.1:{port}\r\n{headers}"
    end = f"{base}Connection: close\r\n"
    post = f"POST {path} HTTP/1.1\r\n"

    def body(text: str, length: object = None) -> str:
        return f"{post}{end}Content-Length: {len(text) if length is None else length}\r\n\r\n{text}"

    def chunked(text: str) -> str:
        return f"{post}{end}Transfer-Encoding: chunked\r\n\r\n{text}"

    def get(target: str, more: str = "") -> str:
        return f"GET {target} HTTP/1.1\r\n{end}{more}\r\n"

    texts = {
        "HTTP/1.0": f"POST {path} HTTP/1.0\r\n{base}Content-Length: 2\r\n\r\n{{}}",
        "HTTP/1.0 without a host": "GET / HTTP/1.0\r\n\r\n",
        "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "HTTP/9.9": f"GET / HTTP/9.9\r\n{end}\r\n",
        "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + "\x00" * 100,
        "any bytes": "".join(chr(i % 256) for i in range(3000)) + "\r\n\r\n",
        "no host": "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
        "a host in Latin-1": "GET / HTTP/1.1\r\nHost: \xff\xfe\r\nConnection: close\r\n\r\n",
        "a header name with a space": get("/", "X : y\r\n"),
        "a folded header": get("/", "X: y\r\n  z\r\n"),
        "5,000 headers": get("/", "".join(f"X{i}: y\r\n" for i in range(5000))),
        "an absolute target": get(f"http://127.0.0.1:{port}/"),
        "a foreign absolute target": get("http://evil.example/"),
        "OPTIONS *": f"OPTIONS * HTTP/1.1\r\n{end}\r\n",
        "CONNECT": f"CONNECT evil.example:443 HTTP/1.1\r\n{end}\r\n",
        "TRACE": f"TRACE / HTTP/1.1\r\n{end}\r\n",
        "another method": f"FOO {path} HTTP/1.1\r\n{end}\r\n",
        "a body in pieces": chunked("1\r\n{\r\n1;x=y\r\n}\r\n0\r\nTrailer: x\r\n\r\n"),
        "a piece without a size": chunked("zz\r\n{}\r\n0\r\n\r\n"),
        "HEAD with a piece without a size": chunked("zz\r\n{}\r\n0\r\n\r\n").replace("POST", "HEAD", 1),
        "a length and pieces": chunked("2\r\n{}\r\n0\r\n\r\n").replace("Transfer", "Content-Length: 5\r\nTransfer"),
        "two lengths": f"{post}{end}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}",
        "a negative length": body("{}", -1),
        "a length of 19 digits": body("{}", "9" * 19),
        "a length of 5,000 digits": body("{}", "9" * 5000),
        "a length in superscript": body("{}", "\xb2"),
        "Expect: 100-continue": f"{post}{end}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{{}}",
        "another expectation": f"{post}{end}Expect: pizza\r\nContent-Length: 2\r\n\r\n{{}}",
        "20 at once": f"{post}{base}Content-Length: 2\r\n\r\n{{}}" * 20 + get("/"),
        "a websocket": f"GET / HTTP/1.1\r\n{base}Connection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n",
        "a deep body": body(_DEEP),
        "a number beyond all": body('{"at": 1e999, "number": -1e999}'),
        "a number of 10,000 digits": body('{"at": ' + "9" * 10_000 + "}"),
        "another encoding": f"{post}{end}Content-Type: text/x; charset=utf-7\r\nContent-Length: 2\r\n\r\n{{}}",
        "a path upwards": get("/static/../../../../etc/passwd"),
        "an escaped path upwards": get("/static/..%2f..%2f..%2f..%2fetc/passwd"),
        "a path with NUL": get("/static/%00"),
        "a path with halves of characters": get("/v2/inspect/gangs/%ff%ed%a0%80%0a%0d"),
        "a path with a line end": get("/view%0d%0aX-Forged:%201"),
        "a path to another host": get("//evil.example/"),
        "a range": get("/static/page.js", "Range: bytes=99999999999999999999-,0-0,9-1\r\n"),
        "a date that is none": get("/static/page.js", "If-Modified-Since: x\r\nIf-None-Match: \xff\r\n"),
    }  # fmt: skip
    return {name: text.encode("latin-1") for name, text in texts.items()}


def answers(port: int, request: bytes) -> list[tuple[int, bytes]]:
    """The status of each answer, and the text from there on, until the server closes the connection."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        try:
            client.sendall(request)
            while piece := client.recv(65536):
                received += piece
        except ConnectionError:
            pass
    starts = list(re.finditer(rb"HTTP/1\.[01] (\d{3}) ", received))
    return [(int(x[1]), received[x.start() :]) for x in starts]
