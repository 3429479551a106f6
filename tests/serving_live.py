"""A live page to test: a real `fsm serve`, asked over HTTP or in Chromium."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx


@dataclass(frozen=True)
class Served:
    """A server under way."""

    address: str
    """With the token, as it is printed."""
    process: subprocess.Popen[str]

    @property
    def origin(self) -> str:
        return self.address.partition("/#")[0]

    @property
    def token(self) -> str:
        return self.address.partition("token=")[2]

    def ask(self, name: str, question: dict[str, Any] | None = None, **headers: str) -> httpx.Response:
        """As the page asks."""
        sent = {"x-fsm-token": self.token, **headers}
        return httpx.post(f"{self.origin}/api/{name}", json=question or {}, headers=sent, timeout=60)


@contextmanager
def served(folder: Path, *paths: str) -> Iterator[Served]:
    """`fsm serve` in a folder, on any free port."""
    command = [sys.executable, "-m", "fsmdsl", "serve", *paths, "--port", "0"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    said = ""
    while (found := re.search(r"http\S+", said)) is None:
        line = process.stdout.readline()
        assert line, said
        said += line
    try:
        yield Served(found.group(), process)
    finally:
        process.terminate()
        process.wait(30)
        said = process.stdout.read()
        process.stdout.close()
        assert "Traceback" not in said, said
