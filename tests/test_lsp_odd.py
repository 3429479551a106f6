"""Messages that no editor should send: each has an answer that says whose fault it is, and the log stays short."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from editor import Editor, Message
from test_lsp import CELL, uri

NUMBERS: list[Any] = [
    2**31,
    2**31 - 1,
    2**63,
    10**40,
    -1,
    -(2**31),
    1.5,
    "1",
    None,
    True,
    [],
    {},
    "\x1b[2J\nerror: forged",
]

INVALID = -32602


@pytest.fixture
def odd(tmp_path: Path) -> Iterator[Editor]:
    """An editor whose server may have something to log."""
    (tmp_path / "cell.fsm").write_text(CELL)
    made = Editor([sys.executable, "-m", "fsmdsl", "lsp"], tmp_path / "log.txt")
    made.begin([tmp_path])
    made.open(uri(tmp_path), CELL)
    yield made
    made.process.kill()
    made.process.wait()


def answer(e: Editor, number: int, method: str, params: Any) -> Message:
    e.send({"id": number, "method": method, "params": params})
    e.until(lambda: number in e.answers)
    return e.answers.pop(number)


def test_positions_beyond_the_protocol_are_invalid(odd: Editor, tmp_path: Path) -> None:
    for n, line in enumerate(NUMBERS, 1000):
        place = {"textDocument": {"uri": uri(tmp_path)}, "position": {"line": line, "character": 0}}
        found = answer(odd, n, "fsm/diagram", place)
        good = type(line) is int and 0 <= line < 2**31
        assert ("result" in found) == good, found
        assert good or found["error"]["code"] == INVALID, found


def odd_messages(where: str) -> Iterator[tuple[str, Any]]:
    methods = [
        "hover",
        "completion",
        "rename",
        "codeAction",
        "semanticTokens/range",
        "didChange",
        "didOpen",
        "formatting",
    ]
    values = [None, 1, "x", [], {}, [1], {"textDocument": 1}, {"textDocument": {"uri": 1}}, "\x1b[2J\n" * 5000]
    for value in values:
        yield from ((f"textDocument/{x}", value) for x in methods)
        yield from ((x, value) for x in ("fsm/diagram", "workspace/executeCommand", "fsm/none", "workspace/symbol"))
        commands = ("fsm.verify", "fsm.draw", "fsm.trace", "fsm.systems", "fsm.tests", "fsm.test", "none", value)
        for name in commands:
            for arguments in (value, [value], [where, value], [where, "Small", value]):
                yield "workspace/executeCommand", {"command": name, "arguments": arguments}


def test_odd_messages_are_answered_and_logged_in_short_lines(odd: Editor, tmp_path: Path) -> None:
    messages = list(odd_messages(uri(tmp_path)))
    internal = []
    for n, (method, params) in enumerate(messages, 1000):
        if method.startswith("textDocument/did"):
            odd.notify(method, params)
            continue
        found = answer(odd, n, method, params)
        if found.get("error", {}).get("code") == -32603:
            internal.append((method, json.dumps(params)[:80], found["error"]["message"]))
    assert internal == []
    for raw in (b"{", b"[]", b"1", b'"x"', b'{"jsonrpc": "2.0", "id": {}}', b"\xff\xfe", b"[" * 100_000, b"null"):
        odd.send_raw(b"Content-Length: %d\r\n\r\n%s" % (len(raw), raw))
    assert "result" in answer(odd, 5, "workspace/symbol", {"query": ""})
    lines = odd.log.splitlines()
    assert all(x.startswith(("error: ", "warning: ")) for x in lines), lines
    assert max(map(len, lines), default=0) < 500
    assert len(lines) < 3 * len(messages)
    assert "\x1b" not in odd.log
    assert "Traceback" not in odd.log
