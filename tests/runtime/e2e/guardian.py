"""Ends all processes of a folder as soon as whoever started it is gone, in whatever way.

    guardian.py FOLDER

Started with a pipe as its standard input; the other end is held by the tests. When that is closed, by the tests or by
their death, each process with a `*.pid` in FOLDER, and with FOLDER as its working directory, is ended.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path


def processes(folder: Path) -> list[int]:
    """Of this folder, and of nobody else: a number may have gone to another process since."""
    alive = []
    for file in folder.glob("*.pid"):
        pid = file.read_text().strip()
        try:
            if pid and Path(os.readlink(f"/proc/{pid}/cwd")) == folder:
                alive.append(int(pid))
        except OSError:
            continue
    return alive


def end(folder: Path, seconds: float = 5.0) -> None:
    """First they are asked, then killed."""
    for number in (signal.SIGCONT, signal.SIGTERM, signal.SIGKILL):
        for pid in processes(folder):
            os.kill(pid, number)
        until = time.monotonic() + (seconds if number != signal.SIGCONT else 0)
        while processes(folder) and time.monotonic() < until:
            time.sleep(0.05)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.read()
    end(Path(sys.argv[1]).resolve())
