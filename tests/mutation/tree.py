"""Copies of the working tree that mutants run in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutation.areas import ROOT


@dataclass(frozen=True, slots=True)
class Tree:
    """A copy. Each process that tries mutants has its own."""

    path: Path

    def copied(self) -> None:
        """A fresh copy: what git knows and what it does not ignore."""
        shutil.rmtree(self.path, ignore_errors=True)
        names = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        for name in filter(None, names.stdout.decode().split("\0")):
            if (ROOT / name).is_file():
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.path / name)

    def put(self, path: str, text: str) -> None:
        """A file of the copy, and nothing left of what it was compiled to before."""
        file = self.path / path
        for old in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
            old.unlink()
        file.write_text(text, "utf-8")

    def environment(self, tier: str, turns: int = 1) -> dict[str, str]:
        """The copy comes first on the path. Examples and seeds are the same each time, those of day 0 in `make test`.
        Slow tests rest only where `turns` says so. Processes that tests start find the module that notes what they
        execute, which it does during a recording."""
        own_paths = (self.path / x for x in ("", "tests", "tests/mutation/children"))
        paths = [*map(str, own_paths), os.environ.get("PYTHONPATH", "")]
        own = {"PYTHONPATH": os.pathsep.join(paths), "CI": "1", "FSMDSL_CACHE": str(self.path / ".cache")}
        own |= {"FSM_TESTS": tier, "FSM_DAY": "0", "FSM_TURNS": str(turns)}
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return {**inherited, **own}


def command(*arguments: str) -> list[str]:
    """How the server of tests is started. See `mutation/server.py`."""
    return [sys.executable, "-P", str(ROOT / "tests" / "mutation" / "server.py"), *arguments]


Request = dict[str, object]
"""See `mutation/server.py`."""


class Server:
    """A process that has imported and collected files of tests, and answers requests."""

    def __init__(self, tree: Tree, tests: Sequence[str], tier: str, how: str = "serve", turns: int = 1) -> None:
        self.process = subprocess.Popen(
            command(how, *tests),
            cwd=tree.path,
            env=tree.environment(tier, turns),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        first = self._line()
        self.collected: list[str] = json.loads(first)["tests"] if first else []

    def ask(self, request: Request) -> dict[str, Any] | None:
        """The answer, or `None` from a process that has ended."""
        if not self.collected or self.process.stdin is None:
            return None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self._line()
        return dict(json.loads(line)) if line else None

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def _line(self) -> str:
        return "" if self.process.stdout is None else self.process.stdout.readline()
