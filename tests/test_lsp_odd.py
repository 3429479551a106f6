"""Messages that no editor should send: each has an answer that says whose fault it is, and the log stays short."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from editor import Editor, Message
from test_lsp import CELL, uri

from fsmdsl.editor.lsp.idle import MAX_YOUNG, Idle
from fsmdsl.editor.lsp.log import MAX_LINES, PERIOD, Bounded, OneLine
from fsmdsl.editor.lsp.server import server

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


def test_no_part_of_a_request_is_kept_after_its_answer() -> None:
    """A command is a request with a part; both may fail, or be cancelled."""
    protocol = server("0").protocol
    results: list[str] = []

    async def part(outcome: str) -> str:
        await asyncio.sleep(0)
        if outcome == "fails":
            raise ValueError(outcome)
        return outcome

    def request(outcome: str) -> Iterator[Any]:
        results.append((yield part, (outcome,), {}))

    async def run() -> None:
        for n, outcome in enumerate(("ends", "fails") * 10):
            protocol._execute_handler(n, request, lambda future: future.exception(), (outcome,))
        await asyncio.sleep(0.05)

    asyncio.run(run())
    assert results == ["ends"] * 10
    assert protocol._request_futures == {}


def test_garbage_is_collected_without_a_pause() -> None:
    before = gc.get_threshold()
    try:
        Idle().begin()
        assert gc.isenabled()
        assert gc.get_threshold()[0] == MAX_YOUNG
    finally:
        gc.set_threshold(*before)


def test_the_log_has_so_many_lines_in_a_minute(odd: Editor, tmp_path: Path) -> None:
    for n in range(1000, 1000 + 5 * MAX_LINES):
        odd.send({"id": n, "method": "textDocument/hover", "params": {"textDocument": n}})
    odd.until(lambda: 1000 + 5 * MAX_LINES - 1 in odd.answers)
    assert 0 < len(odd.log.splitlines()) <= MAX_LINES


def test_the_log_says_what_it_leaves_out() -> None:
    now = [0.0]
    lines: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(OneLine().format(record))

    handler = Lines()
    handler.addFilter(Bounded(lambda: now[0]))
    for n in range(MAX_LINES + 7):
        handler.handle(logging.makeLogRecord({"msg": f"odd {n}", "levelname": "ERROR"}))
    assert len(lines) == MAX_LINES
    now[0] = PERIOD
    for _ in range(2):
        handler.handle(logging.makeLogRecord({"msg": "again", "levelname": "ERROR"}))
    assert lines[MAX_LINES:] == ["error: (7 lines were left out) again", "error: again"]
