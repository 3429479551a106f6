"""Threads and event loops: one at a time may use a system, and a call that disturbs a step is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from generating import Calls, Generated


class Pause:
    """A value that stops the thread that looks at it, in the middle of a step, until another has done something."""

    def __init__(self) -> None:
        self.reached, self.done = Event(), Event()

    def __hash__(self) -> int:
        self.reached.set()
        self.done.wait(10)
        return 0


HELD = """module held
opaque Blob
channel post: fifo[2] to each Door
machine Door {
    initial state Shut
    state Open
    event hold(x: Blob), push from environment
    event letter from post
    action look -> ok
    Shut -> Open on hold(x)
    Shut, Open on push do look
    Shut, Open on look.ok
    Shut, Open on letter
}
system Doors { doors: Door[2]  environment { some d in doors: d.push  crash } }
"""


@pytest.fixture
def package(tmp_path: Path) -> Generated:
    return Generated(tmp_path, HELD)


class Doors:
    """Two doors, a channel, and a thread that is inside a step of the first."""

    def __init__(self, package: Generated) -> None:
        self.package, self.system = package, package.System()
        self.first, self.second = (package.Door(self.system, Calls(*["ok"] * 9)) for _ in range(2))
        self.post = package.Post(self.system, self.second)
        self.before = self.system.snapshot()

    def during_a_step(self, call: Callable[[], object]) -> BaseException | None:
        """What a call raises while another thread is inside a step."""
        pause = Pause()
        thread = Thread(target=self.first.hold, args=(pause,))
        thread.start()
        assert pause.reached.wait(10)
        try:
            call()
        except Exception as error:
            return error
        finally:
            pause.done.set()
            thread.join(10)
        return None


CALLS: dict[str, Callable[[Doors], object]] = {
    "an event of another machine": lambda x: x.second.push(),
    "an event of the same machine": lambda x: x.first.push(),
    "an answer": lambda x: x.second.look_ok(),
    "a delivery": lambda x: x.post.deliver(),
    "a message": lambda x: x.post.letter(),
    "a trial": lambda x: x.system.can(x.second.push),
    "a crash": lambda x: x.system.crash(),
    "a snapshot": lambda x: x.system.snapshot(),
    "restore": lambda x: x.system.restore(x.before),
    "remove": lambda x: x.system.remove(x.second),
}


@pytest.mark.parametrize("what", CALLS)
def test_a_call_during_the_step_of_another_thread_is_refused(what: str, package: Generated) -> None:
    doors = Doors(package)
    error = doors.during_a_step(lambda: CALLS[what](doors))
    assert isinstance(error, package["machinery"].ConcurrentStep)
    assert isinstance(error, package.StepRefused)
    assert "comes while another thread is inside a step of this system" in str(error)
    assert "guard it with a lock" in str(error)
    assert [x.state.display for x in doors.system.machines] == ["Open", "Shut"]
    assert len(doors.post) == 0


def test_threads_may_take_turns(package: Generated) -> None:
    doors = Doors(package)
    for _ in range(3):
        thread = Thread(target=doors.second.push)
        thread.start()
        thread.join(10)
        doors.first.push()
    assert doors.system.can(doors.first.push)


def test_another_system_is_free(package: Generated) -> None:
    doors, others = Doors(package), Doors(package)
    assert doors.during_a_step(others.first.push) is None


RESTLESS = """module restless
machine Door {
    n: 0..3
    initial state Shut
    state Open
    event push from environment
    action ring
    Shut -> Open on push do n = 3
    Open when n > 0 do n = n - 1
}
"""


def test_a_round_belongs_to_its_step(tmp_path: Path) -> None:
    package = Generated(tmp_path, RESTLESS)
    system = package.System()
    first, second = (package.Door(system, Calls()) for _ in range(2))
    errors: list[Exception] = []

    def disturb() -> None:
        try:
            second.push()
        except package.StepRefused as error:
            errors.append(error)

    go_on = package.Door._go_on

    def disturbed(machine: Any) -> bool:
        thread = Thread(target=disturb)
        thread.start()
        thread.join(10)
        return bool(go_on(machine))

    package.Door._go_on = disturbed
    first.push()
    assert errors
    assert {type(x) for x in errors} == {package["machinery"].ConcurrentStep}
    assert (first.n, second.state.display) == (0, "Shut")


def test_listeners_and_actions_are_outside_of_the_step(package: Generated) -> None:
    doors = Doors(package)
    states: list[str] = []

    def push(rows: object) -> None:
        doors.system.unlisten(push)
        thread = Thread(target=doors.second.hold, args=("x",))
        thread.start()
        thread.join(10)
        states.append(doors.second.state.display)

    doors.system.listen(push)
    doors.first.hold("x")
    assert states == ["Open"]


# Event loops ---------------------------------------------------------------------------------------------------------

TIMED = """module timed
machine Lamp {
    initial state Off
    state On
    event press from environment
    Off -> On on press
    On -> Off after 1s
    On -> Off on press
}
"""


def test_a_timer_on_an_event_loop_is_set_by_the_thread_of_the_loop(tmp_path: Path) -> None:
    package = Generated(tmp_path, TIMED)

    async def use() -> tuple[Any, list[BaseException]]:
        lamp = package.Lamp(package.System(asyncio.get_running_loop()))
        errors: list[BaseException] = []

        def press() -> None:
            try:
                lamp.press()
            except package.StepRefused as error:
                errors.append(error)

        await asyncio.to_thread(press)
        assert lamp.state.display == "Off"
        lamp.press()
        await asyncio.to_thread(press)
        assert lamp.state.display == "On"
        lamp.press()
        await asyncio.to_thread(lambda: asyncio.run(later(press)))
        return lamp, errors

    async def later(press: Callable[[], None]) -> None:
        press()

    lamp, errors = asyncio.run(use())
    assert lamp.state.display == "Off"
    assert [type(x) for x in errors] == [package["machinery"].ConcurrentStep] * 3
    assert all("call_soon_threadsafe" in str(x) for x in errors)


def test_a_loop_that_does_not_run_yet_takes_timers(tmp_path: Path) -> None:
    package = Generated(tmp_path, TIMED)
    loop = asyncio.new_event_loop()
    try:
        lamp = package.Lamp(package.System(loop))
        lamp.press()
        assert lamp.state.display == "On"
        lamp.press()
    finally:
        loop.close()


@pytest.mark.parametrize("timers", [{"after 9s": 1.0}, {"": 1.0}, [], None, {"after 1s": -1}, {"after 1s": True}])
def test_a_snapshot_with_timers_that_there_are_not_is_refused(timers: Any, tmp_path: Path) -> None:
    package = Generated(tmp_path, TIMED)
    system = package.System(package.VirtualClock())
    lamp = package.Lamp(system)
    lamp.press()
    saved = system.snapshot()
    (name,) = saved["machines"][0]["timers"]
    system.restore(saved)
    if isinstance(timers, dict):
        timers = {key.replace("after 1s", name): left for key, left in timers.items()}
    own = {**saved["machines"][0], "timers": timers}
    for part, data in ((system, {**saved, "machines": [own]}), (lamp, own)):
        with pytest.raises(package.ForeignSnapshot):
            part.restore(data)
    assert system.snapshot() == saved
