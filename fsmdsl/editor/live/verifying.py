"""An exploration as a stream of server-sent events. Each exploration has a process of its own, which ends when the
client disconnects."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

Data = dict[str, Any]

MAX_EXPLORATIONS = 4
"""Maximum number of explorations that run at the same time. Further ones wait."""

MAX_ANSWER_BYTES = 512 * 2**20
"""Maximum size of an answer, in bytes."""


class Explorations:
    """Those that run now."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(MAX_EXPLORATIONS)
        self._running: set[asyncio.subprocess.Process] = set()
        self._over = False

    def end(self) -> None:
        """The server ends: those that run now are ended, and no other begins."""
        self._over = True
        for process in self._running:
            _kill(process)

    async def events(self, job: Data) -> AsyncIterator[str]:
        """`progress`, `phase`, and at the end `result` or `failed`, in the format of server-sent events."""
        if self._room.locked():
            yield _event("phase", {"text": f"waiting: {MAX_EXPLORATIONS} other explorations are running"})
        async with self._room:
            if self._over:
                return
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "fsmdsl.editor.live.explorer",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
                limit=MAX_ANSWER_BYTES, start_new_session=True,
            )  # fmt: skip
            self._running.add(process)
            try:
                async for event in _events(process, job):
                    if not self._over:
                        yield event
            finally:
                self._running.discard(process)
                _kill(process)
                await process.wait()


def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()


async def _events(process: asyncio.subprocess.Process, job: Data) -> AsyncIterator[str]:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(ConnectionError):  # which has been ended already
        process.stdin.write(json.dumps(job).encode("utf-8") + b"\n")
        await process.stdin.drain()
    ended = False
    async for line in process.stdout:
        event, content = json.loads(line)
        ended = event in ("result", "failed")
        yield _event(event, content)
    if not ended:
        code = await process.wait()
        message = f"the exploration ended early (exit code {code}); perhaps it ran out of memory: stop at fewer states"
        yield _event("failed", {"message": message})


def _event(name: str, content: Data) -> str:
    return f"event: {name}\ndata: {json.dumps(content)}\n\n"
