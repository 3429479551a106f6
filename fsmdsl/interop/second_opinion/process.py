"""Programs of others, run within limits."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.second_opinion.opinion import MissingError


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended; `code` None: the time was up."""

    code: int | None
    output: str


def run(command: Sequence[str], folder: Path, seconds: float) -> Ended:
    """Run a program to its end, or end it with all that it has started when the time is up."""
    if seconds <= 0:
        return Ended(None, "")
    # A session of its own: the tools start processes themselves, and `killpg` must end these as well.
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        text=True, errors="replace", start_new_session=True,
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return Ended(None, output)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return Ended(process.returncode, output)


def program(names: Sequence[str], configured: str | None, advice: str) -> str:
    """The path of the first that is installed. Raises `MissingError`."""
    candidates = [configured] if configured is not None else names
    for name in candidates:
        path = shutil.which(name)
        if path is not None:
            return os.path.abspath(path)
    raise MissingError(f"`{candidates[0]}` is not installed, or not on PATH; {advice}")
