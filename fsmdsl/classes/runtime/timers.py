"""Timers, and a clock for tests."""

from __future__ import annotations

import sys
from functools import partial

from .errors import ConcurrentStep, StepRefused
from .snapshots import duration, fitting
from .system import Machine, System

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar

    from .clock import Alarm, Clock
    from .snapshots import Data, Migrations, Saved


class TimedMachine(Machine):
    """A machine of a system with a clock."""

    __slots__ = ()

    _TIMERS: ClassVar[tuple[str, ...]] = ()
    """The names of its timers."""

    @property
    def _timers(self) -> TimedSystem:
        system = self._system
        assert isinstance(system, TimedSystem)
        return system

    def restore(self, data: Data) -> None:
        """Restores a snapshot. Raises `ForeignSnapshot`, and changes nothing, if it is not one of this machine."""
        self._timers._check_loop()
        timers = fitting(self, self._running, data, {})
        super().restore(data)
        self._timers._reset(self, timers)

    def _running(self, data: Data, _: Mapping[int, Any]) -> Saved:
        """The timers of a snapshot that run, and the seconds that are left of them."""
        for timer in data["timers"]:
            if timer not in self._TIMERS:
                raise ValueError(f"there is no timer {timer!r}")
        return tuple((timer, duration(left, timer)) for timer, left in data["timers"].items())

    def _due(self, timer: str) -> None:
        """Time is up."""

    def _period(self, timer: str) -> float | None:
        """The period of a timer; None while its state is not active."""
        return None

    def _start_timers(self) -> None:
        """Starts the timers of the present state."""


class TimedSystem(System):
    """Machines that act together, one step at a time, some of them when time is up."""

    __slots__ = ("_overdue", "_settings", "_timers", "clock")

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        self._timers: dict[tuple[TimedMachine, str], tuple[float, Alarm]] = {}
        self._overdue: list[tuple[TimedMachine, str]] = []
        # What the step in progress does to timers.
        self._settings: list[tuple[TimedMachine, str, float | None]] = []

    def start(self, machine: TimedMachine, timer: str, seconds: float) -> None:
        """Starts a timer anew, when the step in progress has happened."""
        self._check_loop()
        if self._handling:
            self._settings.append((machine, timer, seconds))
        else:
            self._set(machine, timer, seconds)

    def stop(self, machine: TimedMachine, timer: str) -> None:
        """Stops a timer, when the step in progress has happened."""
        self._check_loop()
        self._settings.append((machine, timer, None))

    def _check_loop(self) -> None:
        """An event loop that is running takes timers from its own thread only."""
        asyncio = sys.modules.get("asyncio")  # importing it is slow, and a running loop has imported it
        if asyncio is None or not isinstance(self.clock, asyncio.AbstractEventLoop) or not self.clock.is_running():
            return
        if asyncio._get_running_loop() is not self.clock:
            raise ConcurrentStep(
                "a timer is set outside of the event loop that is the clock of this system: call events from the loop, "
                "or with its call_soon_threadsafe"
            )

    def remaining(self, machine: TimedMachine) -> dict[str, float]:
        """The seconds that are left of each running timer of a machine."""
        now = self.clock.time()
        running = {name: at - now for (x, name), (at, _) in self._timers.items() if x is machine}
        return {**running, **{name: 0.0 for x, name in self._overdue if x is machine}}

    def remove(self, machine: Machine) -> None:
        """Removes a machine that nothing refers to any more."""
        super().remove(machine)
        if isinstance(machine, TimedMachine):
            self._reset(machine, ())

    def _reset(self, machine: TimedMachine, running: Saved) -> None:
        for timer in self.remaining(machine):
            self._set(machine, timer, None)
        for timer, seconds in running:
            self._set(machine, timer, seconds)

    def _set(self, machine: TimedMachine, timer: str, seconds: float | None) -> None:
        key = (machine, timer)
        if key in self._timers:
            self._timers.pop(key)[1].cancel()
        if key in self._overdue:
            self._overdue.remove(key)
        if seconds is not None:
            alarm = self.clock.call_later(seconds, partial(self._ring, machine, timer))
            self._timers[key] = (self.clock.time() + seconds, alarm)

    def _ring(self, machine: TimedMachine, timer: str) -> None:
        """Time is up. While the machine can take no event, the timer waits. If its step fails, it runs again."""
        self._timers.pop((machine, timer), None)
        if self._occupied(machine):
            self._overdue.append((machine, timer))
            return
        try:
            machine._due(timer)
        except StepRefused:
            seconds = machine._period(timer)
            if seconds is not None and (machine, timer) not in self._timers:
                self._set(machine, timer, seconds)
            raise

    def _occupied(self, machine: TimedMachine) -> bool:
        """Can a machine take no event from outside?"""
        return self.down or any(x.machine is machine or not x.asynchronous for x in self._pending)

    # The other parts of a step

    def _undo(self) -> None:
        self._settings = []
        super()._undo()

    def _clear(self) -> None:
        super()._clear()
        settings, self._settings = self._settings, []
        for machine, timer, seconds in settings:
            self._set(machine, timer, seconds)

    def _publish(self) -> list[Exception]:
        errors = super()._publish()
        for key in tuple(self._overdue):
            if key in self._overdue and not self._occupied(key[0]):
                self._overdue.remove(key)
                try:
                    self._ring(*key)
                except Exception as error:
                    errors.append(error)
        return errors

    def _restart_timers(self, crashed: list[Machine]) -> None:
        self._overdue = [x for x in self._overdue if x[0] not in crashed]
        for machine in crashed:
            if isinstance(machine, TimedMachine):
                for timer in self.remaining(machine):
                    self.stop(machine, timer)
                machine._start_timers()

    def _decode(self, data: Data, machines: Mapping[int, Any]) -> Saved:
        saved = super()._decode(data, machines)
        pairs = zip(data["machines"], self._machines.values(), strict=True)
        timers = [(x, fitting(x, x._running, values, {})) for values, x in pairs if isinstance(x, TimedMachine)]
        return saved, timers

    def restore(self, data: Data, migrate: Migrations | None = None) -> None:
        """As without timers, and starts those of the snapshot."""
        self._check_loop()
        super().restore(data, migrate)

    def _load(self, saved: Saved) -> None:
        parts, timers = saved
        super()._load(parts)
        for machine, running in timers:
            self._reset(machine, running)


class VirtualClock:
    """A clock for tests: time passes when a test says so."""

    __slots__ = ("_alarms", "_now")

    def __init__(self) -> None:
        self._now = 0.0
        self._alarms: list[VirtualAlarm] = []

    def time(self) -> float:
        """Seconds since the clock was made."""
        return self._now

    def call_later(self, delay: float, callback: Callable[[], None], /) -> VirtualAlarm:
        """Calls back after a delay."""
        alarm = VirtualAlarm(self, self._now + delay, callback)
        self._alarms.append(alarm)
        return alarm

    def advance(self, seconds: float) -> None:
        """Lets time pass, and calls back in order what is due."""
        until = self._now + seconds
        while due := [x for x in self._alarms if x.at <= until]:
            alarm = min(due, key=_time_of)
            self._alarms.remove(alarm)
            self._now = max(self._now, alarm.at)
            alarm.callback()
        self._now = until


class VirtualAlarm:
    """A call that a virtual clock will make."""

    __slots__ = ("at", "callback", "clock")

    def __init__(self, clock: VirtualClock, at: float, callback: Callable[[], None]) -> None:
        self.clock = clock
        self.at = at
        self.callback = callback

    def cancel(self) -> None:
        """It will not be made."""
        if self in self.clock._alarms:
            self.clock._alarms.remove(self)


def _time_of(alarm: VirtualAlarm) -> float:
    return alarm.at
