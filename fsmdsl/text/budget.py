"""Limits of time and memory for a piece of work, from its first moment on; and Ctrl-C, which is a limit like them.

A `Budget` is entered around the work. In the main thread of a process a timer looks at the clock and at the memory of
the process twenty times a second, and raises `LimitError` in the middle of whatever is under way. Work that can stop by
itself at a good moment (a search between two states) asks for `patience`: then the budget only notes that a limit is
reached, and raises if the work has not stopped within `GRACE`. So the work ends within about a second of the limit,
except in one call into C that does not return.

Where signals cannot be used (another thread, a system without `setitimer`, a process whose signals are taken), the
limits hold where `check` or `over` is called.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType, TracebackType
from typing import Any, Self

CHECK_INTERVAL = 0.05
"""Interval between two checks of the clock and the memory, in seconds."""

GRACE = 0.3
"""Time in seconds that patient work has to stop by itself."""

RAISE_INTERVAL = 5.0
"""Seconds from one `LimitError` to the next. Clean-up code after the first is not interrupted. An error that was lost,
in a destructor or a callback that lets no error out, is raised again."""

SLACK = 64 << 20
"""Bytes by which patient work may exceed the memory limit while it stops."""

INTERRUPTED = "interrupted"


class LimitError(BaseException):
    """A limit was reached in the middle of something. The message is `Budget.reached`.

    Like `KeyboardInterrupt` it is no `Exception`: code that answers or suppresses those does not mean this, and only
    the code that entered the budget catches it.
    """


class Budget:
    """How long a piece of work may take, and how much memory the process may have. The clock starts when it is made, or
    has started at `begun` (`time.monotonic`).

    `memory`: bytes of the whole process, as the system counts them (resident size, buffers included). It may be entered
    several times, one after the other.
    """

    def __init__(
        self,
        seconds: float | None = None,
        memory: int | None = None,
        *,
        shared: bool = False,
        begun: float | None = None,
    ) -> None:
        self.seconds, self.memory = seconds, memory
        self.shared = shared
        """Do other processes take part, which must all stop at the same place? Then nothing is raised; `over` tells."""
        self.reached: str | None = None
        """Why the work is to end: `stopped after 5 seconds`."""
        self.memory_reached = False
        self.crowded = False
        """Did work end because there was no more memory? With more, it would go on."""
        self.raised = False
        """Has `LimitError` been raised? Then there is no time for anything more."""
        self._begun = monotonic() if begun is None else begun
        self._again = 0.0
        """Since a limit is reached: when to raise next."""
        self._looked = 0.0
        self._patient = False
        self._entered = 0
        self._restore: list[Callable[[], object]] = []

    def __enter__(self) -> Self:
        self._entered += 1
        if _in_main_thread():
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                signal.signal(signal.SIGINT, self._interrupt)
                self._restore.append(lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
            limited = (self.seconds is not None or self.memory is not None) and not self.shared
            if limited and hasattr(signal, "setitimer") and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL:
                self._start_timer()
        return self

    def _start_timer(self) -> None:
        def stop() -> None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)

        signal.signal(signal.SIGALRM, self._tick)
        self._restore.append(stop)
        signal.setitimer(signal.ITIMER_REAL, CHECK_INTERVAL, CHECK_INTERVAL)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._entered -= 1
        restore, self._restore = self._restore, []
        for undo in restore:
            undo()

    def renewed(self) -> Self:
        """The same limits for the next piece of work, from now on. An interruption ends that too."""
        if self.reached != INTERRUPTED:
            self.reached, self.memory_reached, self.raised = None, False, False
        self._begun, self._again = monotonic(), 0.0
        return self

    @contextmanager
    def patience(self) -> Iterator[None]:
        """Inside, work looks at `over` by itself; nothing is raised before `GRACE` has passed."""
        before, self._patient = self._patient, True
        try:
            yield
        finally:
            self._patient = before

    # Asking

    def over(self) -> bool:
        """Is a limit reached? The memory is looked at from time to time only."""
        now = monotonic()
        if self.reached is None and self.seconds is not None and now - self._begun > self.seconds:
            self._reach(f"stopped after {self.seconds:g} seconds", now)
        if self.reached is None and self.memory is not None and now - self._looked > CHECK_INTERVAL:
            self._looked = now
            if resident() > self.memory:
                self.memory_reached = self.crowded = True
                self._reach(f"stopped at {self.memory / 2**30:.1f} GiB of memory", now)
        return self.reached is not None

    def check(self) -> None:
        """Raise `LimitError` if a limit is reached."""
        if self.over() and not self.shared:
            self._raise(monotonic())

    def interrupt(self) -> None:
        """Make an end as after Ctrl-C; for the handler of another signal."""
        if self.reached is None:
            now = monotonic()
            self._reach(INTERRUPTED, now)
            if self._entered and not self._patient:
                self._raise(now)

    def proceed(self) -> None:
        """Before a next stage: raise `LimitError` once more if it was raised in the one before."""
        if self.raised:
            self._raise(monotonic())

    def stop(self, reason: str) -> None:
        """Make an end for another reason."""
        if self.reached is None:
            self._reach(reason, monotonic())

    def left(self) -> float | None:
        """Seconds until the limit; None: there is none."""
        return None if self.seconds is None else max(self.seconds - (monotonic() - self._begun), 0.0)

    def room(self) -> int | None:
        """Bytes until the limit; None: there is none."""
        return None if self.memory is None else max(self.memory - resident(), 0)

    def spent(self) -> float:
        """Seconds since the beginning."""
        return monotonic() - self._begun

    # Being called

    def _tick(self, _: int, __: FrameType | None) -> None:
        if not (self._restore and self.over()):
            return
        now = monotonic()
        far_over = self.memory is not None and resident() > self.memory + self.memory // 10 + SLACK
        if now >= self._again or (self._patient and far_over):
            self._raise(now)

    def _interrupt(self, _: int, frame: FrameType | None) -> None:
        if self.reached is not None or (self.shared and not self._patient):
            signal.default_int_handler(signal.SIGINT, frame)
        now = monotonic()
        self._reach(INTERRUPTED, now)
        if not self._patient:
            self._raise(now)

    def _reach(self, reason: str, now: float) -> None:
        self.reached = reason
        self._again = now + GRACE if self._patient else 0.0

    def _raise(self, now: float) -> None:
        self._again, self.raised = now + RAISE_INTERVAL, True
        raise LimitError(self.reached)


def _in_main_thread() -> bool:
    """Without `threading` there is one thread only, and to import it takes as long as to parse a small spec."""
    threading = sys.modules.get("threading")
    return threading is None or threading.current_thread() is threading.main_thread()


def resident() -> int:
    """Bytes of memory that this process has; where the system does not say, the most that it ever had; else 0."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * _page()
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def available() -> int:
    """Bytes of memory that are free for use; a guess where the system does not say."""
    try:
        with open("/proc/meminfo", "rb") as file:
            for line in file:
                if line.startswith(b"MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 4 << 30


def _page() -> int:
    names: Any = os.sysconf_names
    return os.sysconf("SC_PAGE_SIZE") if "SC_PAGE_SIZE" in names else 4096
