"""`fsm explain --follow` and `--metrics`: a log that grows, and how far its explanation is."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from fsmdsl.cli.messages import misuse, say
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.text.files import reason
from fsmdsl.text.files.tail import PipeTail, Tail
from fsmdsl.text.files.write import write

if TYPE_CHECKING:
    from fsmdsl.interop.logs.binding import Reading
    from fsmdsl.interop.logs.explanation import Explainer
    from fsmdsl.interop.logs.metrics import Metrics

LOOPBACK = "127.0.0.1"
INTERVAL = 1.0
"""Seconds between two updates of the metrics."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Watch:
    """What the command line asks for."""

    follow: bool
    keep_going: bool
    metrics: Path | None
    port: int | None


def check(watch: Watch, *, whole: bool) -> None:
    """Refuse what does not go together."""
    if watch.follow and whole:
        why = "which has no complete log; the last steps are shown in any case"
        misuse(f"`--show` cannot be combined with `--follow`, {why}")
    if watch.keep_going and whole:
        misuse("`--show` cannot be combined with `--keep-going`: after an unexplained line, a new run begins")
    if watch.port is not None and not watch.follow:
        misuse("`--metrics-port` requires `--follow`; without it, write the metrics with `--metrics FILE`")


@contextmanager
def following(log: str, tick: Callable[[], None]) -> Iterator[Tail | PipeTail]:
    """A log that grows, until Ctrl-C or SIGTERM; a second one ends at once."""
    if log == "-" and sys.stdin is None:
        misuse("standard input is closed")
    if log != "-" and not Path(log).exists():
        say(f"waiting for `{log}`", err=True)
    tail = PipeTail(sys.stdin.fileno(), tick) if log == "-" else Tail(Path(log), tick)

    def stop(number: int, _: FrameType | None) -> None:
        tail.stop()
        signal.signal(number, before[signal.Signals(number)])

    before = {number: signal.signal(number, stop) for number in SIGNALS}
    try:
        yield tail
    finally:
        tail.close()
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(slots=True)
class Report:
    """Keeps the metrics up to date; does nothing where none are asked for."""

    metrics: Metrics | None = None
    path: Path | None = None
    explainer: Explainer | None = None
    _due: float = field(default=0.0, repr=False)

    def tick(self) -> None:
        """Update them if it is time."""
        if self.metrics is not None and time.monotonic() >= self._due:
            self.end()

    def end(self) -> None:
        """Update them now."""
        if self.metrics is None or self.explainer is None:
            return
        from prometheus_client import generate_latest

        self._due = time.monotonic() + INTERVAL
        self.metrics.update(self.explainer)
        if self.path is not None:
            try:
                write(self.path, generate_latest(self.metrics.registry()))
            except OSError as error:
                misuse(f"`{self.path}` cannot be written: {reason(error)}")


@contextmanager
def metrics(watch: Watch, reading: Reading) -> Iterator[Report]:
    """The metrics that are asked for, served as long as the log is read."""
    if watch.metrics is None and watch.port is None:
        yield Report()
        return
    try:
        from prometheus_client import start_http_server

        from fsmdsl.interop.logs.metrics import Metrics
    except ImportError:
        misuse("metrics need `prometheus_client`; run `pip install 'fsmdsl[metrics]'`")
    counters = Metrics(reading.universe.system.qualified)
    if watch.port is None:
        yield Report(counters, watch.metrics)
        return
    try:
        server, thread = start_http_server(watch.port, LOOPBACK, counters.registry())
    except OSError as error:
        misuse(f"port {watch.port} cannot be used: {reason(error)}")
    say(f"metrics at http://{LOOPBACK}:{server.server_port}/metrics", err=True)
    try:
        yield Report(counters, watch.metrics)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
