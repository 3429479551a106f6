"""Explorations beside the editing: another process explores what the texts are now, and tells when it knows."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from threading import Condition, Thread

from fsmdsl.dataclasses import replace
from fsmdsl.editor.editing.document import Document
from fsmdsl.editor.editing.findings import Findings, Request

SETTLE_TIMEOUT = 5.0
"""Seconds within which the process must begin with a request. Otherwise it is restarted."""


class Explorer:
    """A process that explores. Each request replaces the one before; `answer` is called from another thread, at first
    with nothing found, when the request has been taken up.

    The process is started with the first request, and again should it have ended. Requests are handed over by a thread,
    so that asking takes no time.
    """

    def __init__(self, answer: Callable[[Findings], None]) -> None:
        self._answer = answer
        self._changed = Condition()
        self._request: Request | None = None
        self._number = 0
        self._handed = 0
        self._heard = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._sent: dict[str, str] = {}
        self._sender: Thread | None = None
        self._stopped = False

    def explore(
        self,
        documents: Mapping[str, Document],
        systems: tuple[str, ...] | None = None,
        *,
        states: int | None = None,
        seconds: float | None = None,
        counted: float = 0.0,
    ) -> int:
        """Explore systems (by qualified name; None: all) of files as they stand. The number of the request."""
        texts = {path: d.source.text for path, d in documents.items()}
        with self._changed:
            self._number += 1
            self._request = Request(self._number, tuple(texts), texts, systems, states, seconds, counted)
            self._changed.notify_all()
            if self._sender is None:
                self._sender = Thread(target=self._send_all, daemon=True)
                self._sender.start()
            return self._number

    def stop(self) -> None:
        """End the process, for good."""
        with self._changed:
            self._stopped, self._request = True, None
            self._changed.notify_all()
        self._end()

    def _send_all(self) -> None:
        while (request := self._next()) is not None:
            self._send(request)
            if not self._taken_up(request):
                # It is too busy with an earlier request, or has ended.
                self._end()
                self._send(request)

    def _next(self) -> Request | None:
        """The last request, when there is one that has not been sent; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._number > self._handed)
            self._handed = self._number
            return None if self._stopped else self._request

    def _send(self, request: Request) -> None:
        """To the process, which knows the texts that it was sent before."""
        process = self._running()
        changed = {path: text for path, text in request.texts.items() if self._sent.get(path) is not text}
        assert process.stdin is not None
        try:
            pickle.dump(replace(request, texts=changed), process.stdin)
            process.stdin.flush()
        except OSError:
            return
        self._sent.update(changed)

    def _taken_up(self, request: Request) -> bool:
        """Wait until the process begins with a request, or there is another."""

        def settled() -> bool:
            return self._stopped or self._heard >= request.number or self._number > request.number

        with self._changed:
            return self._changed.wait_for(settled, SETTLE_TIMEOUT)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        command = [sys.executable, "-P", "-m", "fsmdsl.editor.editing.worker"]
        pipe, none = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=none)
        Thread(target=self._listen, args=(self._process,), daemon=True).start()
        return self._process

    def _end(self) -> None:
        process, self._process, self._sent = self._process, None, {}
        if process is not None:
            process.kill()
            process.wait()

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        try:
            while True:
                findings = pickle.load(process.stdout)  # from a process that this one started
                with self._changed:
                    self._heard = max(self._heard, findings.request)
                    self._changed.notify_all()
                    current = self._request is not None and findings.request == self._request.number
                if current:
                    self._answer(findings)
        except (EOFError, OSError, pickle.UnpicklingError):
            return
