"""Runs a command, and measures it with all processes that it starts."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from time import perf_counter

EVERY = 0.05
"""Seconds between two readings of the memory."""

PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of a command."""

    seconds: float
    cpu: float
    """Seconds of all processors together."""
    memory: int
    """Bytes, the most that all its processes had at a time; 0 where it ended too soon to see."""
    output: str
    code: int
    """As it exited; below 0 where a signal ended it."""

    @property
    def ok(self) -> bool:
        return self.code == 0


def run(command: Sequence[str], folder: Path, longest: float, environment: Mapping[str, str] | None = None) -> Ran:
    """Run a command to its end, or for at most `longest` seconds."""
    with TemporaryFile() as output:
        begun = perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        watch = _Watch(process.pid, begun + longest)
        watch.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        seconds = perf_counter() - begun
        process.returncode = code = os.waitstatus_to_exitcode(status)
        watch.ended.set()
        watch.join()
        output.seek(0)
        text = output.read().decode(errors="replace")
    # What the kernel says includes the moment before the command began, when it was still this process.
    kernel_most = usage.ru_maxrss * 1024
    most = max(watch.most, kernel_most if kernel_most > 1.1 * own_most() else 0)
    return Ran(seconds, usage.ru_utime + usage.ru_stime, most, text, code)


def own_most() -> int:
    """Bytes, the most that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class _Watch(threading.Thread):
    """Looks at a process and those below it from time to time, and ends them when their time is over."""

    def __init__(self, pid: int, end: float) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._end = end
        self.ended = threading.Event()
        self.most = 0

    def run(self) -> None:
        while not self.ended.wait(EVERY):
            self.most = max(self.most, memory(self._pid))
            if perf_counter() > self._end:
                os.killpg(self._pid, signal.SIGKILL)
                return


def memory(pid: int) -> int:
    """Bytes that a process and those below it have; what they share counts once."""
    own = shared = 0
    for one in _tree(pid):
        try:
            fields = Path(f"/proc/{one}/statm").read_bytes().split()
        except OSError:
            continue
        own += int(fields[1]) - int(fields[2])
        shared = max(shared, int(fields[2]))
    return (own + shared) * PAGE


def _tree(pid: int) -> Iterator[int]:
    yield pid
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(x) for thread in threads for x in (thread / "children").read_bytes().split()]
    except OSError:
        return
    for child in children:
        yield from _tree(child)
