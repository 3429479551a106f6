"""The runtime of generated classes, where it is: without any generated code."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from stepping import compiled

import fsmdsl.classes.runtime
from fsmdsl import classes as emit
from fsmdsl.classes.runtime import MODULES, source
from fsmdsl.classes.runtime.channels import Channel, Message
from fsmdsl.classes.runtime.errors import Busy, EndlessRound, ForeignSnapshot, Full, ReentrantEvent, StepRefused
from fsmdsl.classes.runtime.machine import Followed, State, UnhandledEvent
from fsmdsl.classes.runtime.system import DEEPEST_CASCADE, LONGEST_ROUND, Machine, System
from fsmdsl.classes.runtime.timers import TimedMachine, TimedSystem, VirtualClock
from fsmdsl.classes.statements.text import mark
from fsmdsl.model.depth import DEEPEST_CASCADE as DEEPEST
from fsmdsl.model.depth import LONGEST_ROUND as LONGEST

FOLDER = Path(fsmdsl.classes.runtime.__file__).parent


# What is copied ------------------------------------------------------------------------------------------------------


def test_every_module_is_known() -> None:
    assert {x.stem for x in FOLDER.glob("*.py")} == {"__init__", *MODULES}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_defines_and_imports_what_the_table_says(name: str) -> None:
    tree = ast.parse(source(name))
    assigned = (x.target for x in ast.walk(tree) if isinstance(x, ast.AnnAssign))
    defined = {x.name for x in tree.body if isinstance(x, ast.ClassDef | ast.FunctionDef)}
    defined |= {x.id for x in assigned if isinstance(x, ast.Name)}
    imported = {x.module for x in ast.walk(tree) if isinstance(x, ast.ImportFrom) and x.level == 1}
    assert {*MODULES[name].public, *MODULES[name].internal} <= defined
    assert imported == set(MODULES[name].requires)


def test_modules_are_copied_whole_and_only_where_they_are_needed() -> None:
    switch = "module m machine M { initial state A  state B  event go from environment  A -> B on go"
    alone = emit.python(compiled(f"{switch} }}"), "m")
    timed = emit.python(compiled(f"{switch}  B -> A after 1s }}"), "m")
    of = [{p.removeprefix("m/machinery/") for p in files if "machinery" in p} for files in (alone, timed)]
    assert of[0] == {"__init__.py", "errors.py", "kinds.py", "machine.py", "snapshots.py", "standalone.py", "values.py"}
    assert of[1] - of[0] == {"clock.py", "system.py", "timers.py"}
    assert of[0] - of[1] == {"standalone.py"}
    assert timed["m/machinery/system.py"] == f"{mark(None)}\n{source('system')}"


def test_a_machine_may_have_the_name_of_a_base_class() -> None:
    text = "module m machine TimedMachine { initial state A  event go from environment  A -> A on go  A -> A after 1s }"
    assert "class TimedMachine_(TimedMachine):" in emit.python(compiled(text), "m")["m/timed_machine.py"]


def test_limits_are_those_of_the_language() -> None:
    assert (DEEPEST_CASCADE, LONGEST_ROUND) == (DEEPEST, LONGEST)


# Machines written by hand --------------------------------------------------------------------------------------------


class Lamp(State):
    OFF = "Off"
    ON = "On"


class Switch(TimedMachine):
    """A machine as the generator writes it, with just enough for the tests."""

    __slots__ = ("_state", "peer")

    _ROUNDS = True

    def __init__(self, system: System, peer: Switch | None = None) -> None:
        self._state = Lamp.OFF
        self.peer = peer
        super().__init__(system, "")

    @property
    def state(self) -> Lamp:
        return self._state

    def press(self) -> None:
        with self._system.step(self, "press"):
            if self._state is Lamp.ON:
                raise UnhandledEvent(self, self._state, "press", (Lamp.OFF,))
            self._follow("press", "press", Lamp.ON)
            self._state = Lamp.ON
            self._system.later(notes.append, self)
            if self.peer is not None:
                self.peer.press()

    def ask(self, asynchronous: bool = False) -> None:
        with self._system.step(self, "ask"):
            asking = self._system.ask_later if asynchronous else self._system.ask
            asking(self, "look", lambda *given: notes.append(given))

    def look_ok(self, ticket: int | None = None) -> None:
        with self._system.answer(self, "look", "ok", ticket):
            self._state = Lamp.OFF

    def snapshot(self) -> dict[str, Any]:
        return {"state": self._state.value, "timers": {}}

    def _decode(self, data: dict[str, Any], machines: Any) -> tuple[Any, ...]:
        return (Lamp(data["state"]),)

    def _save(self) -> tuple[Any, ...]:
        return (self._state,)

    def _load(self, saved: tuple[Any, ...]) -> None:
        (self._state,) = saved


class Inbox(Channel):
    __slots__ = ("receiver",)

    bound = 1

    def __init__(self, system: System, receiver: Switch | None = None) -> None:
        super().__init__(system, receiver)
        self.receiver = receiver

    def press(self) -> None:
        receiver = self.receiver
        if receiver is not None:
            self._put(Message("press", (), receiver.press), len(self))

    def deliver(self) -> None:
        with self._system.transmission(self, "a message"):
            self._take(0).call()


notes: list[Any] = []


@pytest.fixture(autouse=True)
def _no_notes() -> None:
    notes.clear()


def test_a_step_happens_completely_or_not_at_all() -> None:
    system = System()
    first = Switch(system)
    second = Switch(system, first)
    steps: list[tuple[Followed, ...]] = []
    system.listen(steps.append)
    first.press()
    with pytest.raises(UnhandledEvent, match="Switch is On and does not handle press"):
        second.press()
    assert (second.state, notes, len(steps)) == (Lamp.OFF, [first], 1)
    assert not system.can(second.press)
    assert system.machines == (first, second)


def test_a_machine_gets_no_event_in_the_middle_of_its_own() -> None:
    system = System()
    switch = Switch(system)
    switch.peer = switch
    with pytest.raises(ReentrantEvent):
        switch.press()
    assert switch.state is Lamp.OFF


def test_an_endless_round_is_refused() -> None:
    class Restless(Switch):
        __slots__ = ()

        def _go_on(self) -> bool:
            self._state = Lamp.OFF if self._state is Lamp.ON else Lamp.ON
            return True

    switch = Restless(System())
    with pytest.raises(EndlessRound):
        switch.press()
    assert switch.state is Lamp.OFF


def test_a_machine_without_rounds_takes_no_part_in_them() -> None:
    class Plain(Switch):
        __slots__ = ()
        _ROUNDS = False

        def _go_on(self) -> bool:
            raise AssertionError

    switch = Plain(System())
    switch.press()
    assert switch.state is Lamp.ON


def test_everything_waits_for_an_answer() -> None:
    system = System()
    asking, other = Switch(system), Switch(system)
    asking.ask()
    assert notes == [()]
    with pytest.raises(Busy, match="press arrives while <Switch 0: Off> waits for the answer to look"):
        other.press()
    asking.look_ok()
    other.press()


def test_a_late_answer_needs_its_ticket() -> None:
    system = System()
    asking, other = Switch(system), Switch(system)
    asking.ask(asynchronous=True)
    other.press()
    ((machine, ticket),) = (x for x in notes if x is not other)
    assert machine is asking
    with pytest.raises(StepRefused, match=r"is not waiting for look\.ok"):
        asking.look_ok(ticket + 1)
    asking.look_ok(ticket)


def test_an_action_that_is_a_coroutine_is_refused() -> None:
    async def look(machine: Switch) -> None:
        notes.append(machine)

    class Hasty(Switch):
        __slots__ = ()

        def press(self) -> None:
            with self._system.step(self, "press"):
                self._state = Lamp.ON
                self._system.later(look, self)
                self._system.later(notes.append, "next")

    switch = Hasty(System())
    with pytest.raises(TypeError, match=r"the action .*look is a coroutine, which nothing awaits"):
        switch.press()
    assert (switch.state, notes) == (Lamp.ON, ["next"])


def test_a_message_is_lost_neither_in_a_failed_step_nor_in_a_full_channel() -> None:
    system = System()
    switch = Switch(system)
    inbox = Inbox(system, switch)
    inbox.press()
    with pytest.raises(Full, match="Inbox holds 1 messages"):
        inbox.press()
    switch.press()
    with pytest.raises(UnhandledEvent):
        inbox.deliver()
    assert len(inbox) == 1
    assert system.channel(Inbox, switch) is inbox
    assert system.channel(Inbox).receiver is None


def test_a_message_from_outside_survives_the_failure_of_the_next_step() -> None:
    system = System()
    switch = Switch(system)
    switch.press()
    inbox = Inbox(system, switch)
    inbox.press()
    with pytest.raises(UnhandledEvent):
        switch.press()
    assert [x.event for x in inbox.messages] == ["press"]


def test_timers_wait_while_the_system_cannot_take_events() -> None:
    class Timed(Switch):
        __slots__ = ()

        def _due(self, timer: str) -> None:
            self.press()

        def begin(self) -> None:
            with self._system.step(self, "begin"):
                self._timers.start(self, "soon", 5.0)

    clock = VirtualClock()
    system = TimedSystem(clock)
    timed, asking = Timed(system), Switch(system)
    timed.begin()
    asking.ask()
    clock.advance(6)
    assert (timed.state, system.remaining(timed)) == (Lamp.OFF, {"soon": 0.0})
    asking.look_ok()
    assert (timed.state, system.remaining(timed)) == (Lamp.ON, {})


def test_a_snapshot_of_another_system_is_refused() -> None:
    system = System()
    Switch(system)
    saved = system.snapshot()
    with pytest.raises(ForeignSnapshot, match="a snapshot of 1 machines for a system that has 0"):
        System().restore(saved)
    with pytest.raises(ForeignSnapshot, match="Broken"):
        system.restore({**saved, "machines": [{"number": 0, "state": "Broken"}]})


def test_a_removed_machine_is_gone() -> None:
    system = System()
    switch = Switch(system)
    Inbox(system, switch)
    system.remove(switch)
    assert (system.machines, system.all_of(Machine)) == ((), ())
    with pytest.raises(ValueError, match="is not in this system"):
        system.remove(switch)
