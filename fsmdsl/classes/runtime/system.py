"""Systems: machines that act together, in steps that happen completely or not at all."""

from __future__ import annotations

from _thread import get_ident

from .errors import (
    Busy,
    ConcurrentStep,
    EndlessRound,
    ForeignSnapshot,
    OutOfRange,
    ReentrantEvent,
    StaleAnswer,
    StepRefused,
)
from .kinds import quoted
from .machine import Followed, Named, Part
from .snapshots import converted, fitting, items, truth
from .values import number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar, TypeAlias, TypeVar

    from .machine import Listener, State
    from .snapshots import Data, Migrations, Saved

    M = TypeVar("M", bound="Machine")
    Q = TypeVar("Q", bound="Queue")

    Call: TypeAlias = tuple[Callable[..., object], tuple[Any, ...], "Machine | None"]
    """An action, its arguments, and the machine that waits for the answer if everything else has to wait for it."""

DEEPEST_CASCADE = 64
"""Maximum number of events inside one another."""
LONGEST_ROUND = 1000
"""Maximum number of transitions without an event that follow one another."""


class Machine(Named):
    """A machine that belongs to a system, and has a number in it."""

    __slots__ = ("_number", "_system")

    _ROUNDS: ClassVar[bool] = False
    """Has the machine something to do at the end of a round: transitions without an event, or `wait` to set?"""

    def __init__(self, system: System, name: str) -> None:
        if not isinstance(system, System):
            raise OutOfRange(f"{type(self).__name__}: system must be a System of this package, not {quoted(system)}")
        self._system = system
        self._name = name
        self._number = system._add(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name or self._number}: {self.state.display}>"

    def check_invariants(self) -> None:
        """Raises `InvariantBroken` if an invariant is false."""

    def restore(self, data: Data) -> None:
        """Restores a snapshot. Raises `ForeignSnapshot`, and changes nothing, if it is not one of this machine."""
        self._system._check_thread("restore")
        self._load(fitting(self, self._decode, data, self._system._machines))

    def _follow(self, label: str, event: str, target: State) -> None:
        system = self._system
        # Not `self.state`, which each class has as a property: the call would cost a thirtieth of the step.
        source: State = self._state  # type: ignore[attr-defined]
        system._followed.append(Followed(self, label, event, source, target))
        if self._ROUNDS:
            system._touched.add(self)

    def _go_on(self) -> bool:
        """Follows one transition that needs no event, if any is enabled."""
        return False

    def _end_round(self) -> None:
        """Now `wait` is true again."""

    def _crash_row(self) -> str:
        """The crash transition that will be followed; empty if there is none."""
        return ""

    def _forget(self) -> None:
        """Fields that are not durable get their first values."""

    def _crash(self, row: str) -> None:
        """Follows a crash transition."""


class Queue(Part):
    """Events between steps: see `channels.Channel`."""

    __slots__ = ("_system",)

    def __init__(self, system: System, *ends: Machine | None) -> None:
        if not isinstance(system, System):
            raise OutOfRange(f"{type(self).__name__}: system must be a System of this package, not {quoted(system)}")
        self._system = system
        system._channels[type(self), tuple(x for x in ends if x is not None)] = self

    def _empty(self) -> None:
        raise NotImplementedError

    def _encode(self) -> list[Data]:
        raise NotImplementedError

    def _decode(self, data: list[Data], machines: Mapping[int, Any]) -> Saved:
        raise NotImplementedError


class Request:
    """An action whose answer is awaited."""

    __slots__ = ("action", "asynchronous", "machine", "ticket")

    def __init__(self, machine: Machine, action: str, ticket: int, asynchronous: bool) -> None:
        self.machine = machine
        self.action = action
        self.ticket = ticket
        self.asynchronous = asynchronous


class System:
    """Machines that act together, one step at a time.

    A step is an event from outside with everything that it causes. It happens completely or, when an exception ends it,
    not at all. Afterwards, listeners are called, and then the actions that it called for, in order. One thread at a
    time may use a system.
    """

    __slots__ = (
        "_before",
        "_calls",
        "_channels",
        "_count",
        "_delivering",
        "_followed",
        "_handling",
        "_is_outside",
        "_listeners",
        "_machines",
        "_outbox",
        "_pending",
        "_pending_before",
        "_recovering",
        "_recovery",
        "_running_thread",
        "_tickets",
        "_touched",
        "down",
    )

    _VERSION: ClassVar[str] = ""
    """Of snapshots."""
    _SAVED: ClassVar[tuple[str, ...]] = ()
    """The entries of a snapshot besides the machines: some of `channels`, `pending` and `down`."""

    def __init__(self) -> None:
        # By number, which is the order in which they were made.
        self._machines: dict[int, Machine] = {}
        self._count = 0
        self._channels: dict[tuple[type[Queue], tuple[Machine, ...]], Queue] = {}
        self._listeners: tuple[Listener, ...] = ()
        # The step in progress: the parts in the middle of an event, outermost first; their earlier values. The system
        # itself stands for whatever is no event. While there is a step, something is in the list.
        self._handling: list[object] = []
        # The thread of the step in progress, or of the last one.
        self._running_thread = 0
        # Does the event that a machine gets come from outside? Within a trial or a round, all count as such.
        self._is_outside = False
        self._before: dict[Part, Saved] = {}
        self._followed: list[Followed] = []
        self._touched: set[Machine] = set()
        self._calls: list[Call] = []
        # Actions that previous steps called for, and that have not been called yet.
        self._outbox: list[Call] = []
        self._delivering = False
        self._pending: tuple[Request, ...] = ()
        self._pending_before: tuple[Request, ...] = ()
        self._tickets = 0
        self.down = False
        """After a crash, until `recover` has run."""
        self._recovery: Callable[[], None] | None = None
        self._recovering = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._machines)} machines>"

    @property
    def machines(self) -> tuple[Machine, ...]:
        """All machines, in the order in which they were made."""
        return tuple(self._machines.values())

    def all_of(self, kind: type[M]) -> tuple[M, ...]:
        """All machines of a kind, in the order in which they were made."""
        return tuple(x for x in self._machines.values() if isinstance(x, kind))

    def _renumber(self, *machines: Machine) -> None:
        """Numbers all machines anew, in this order."""
        self._machines = dict(enumerate(machines))
        for number, machine in self._machines.items():
            machine._number = number

    def _add(self, machine: Machine) -> int:
        number = self._count
        self._count += 1
        self._machines[number] = machine
        return number

    def remove(self, machine: Machine) -> None:
        """Removes a machine that nothing refers to any more."""
        self._check_thread("remove")
        if not isinstance(machine, Machine) or self._machines.get(machine._number) is not machine:
            raise ValueError(f"{quoted(machine)} is not in this system")
        del self._machines[machine._number]
        for key in [x for x in self._channels if machine in x[1]]:
            del self._channels[key]

    def channel(self, kind: type[Q], *ends: Machine) -> Q:
        """The one channel of a kind, or that of a receiver, or of a sender and a receiver. One that was not made leads
        out of the system."""
        channel = self._channels.get((kind, ends))
        return channel if isinstance(channel, kind) else kind(self)

    def listen(self, listener: Listener) -> None:
        """Calls a listener after every step from now on."""
        self._listeners = (*self._listeners, listener)

    def unlisten(self, listener: Listener) -> None:
        """Calls a listener no more."""
        if listener not in self._listeners:
            raise ValueError(f"{listener!r} does not listen to this system")
        self._listeners = tuple(x for x in self._listeners if x != listener)

    def can(self, event: Callable[..., object], *arguments: object) -> bool:
        """Would a step happen? It is tried and undone; no listener and no action is called."""
        self._check_thread("a trial")
        if self._handling:
            raise ReentrantEvent("a step cannot be tried in the middle of another one")
        owner = getattr(event, "__self__", self)
        if isinstance(owner, Machine | Queue) and owner._system is not self:
            raise StepRefused(f"{owner!r} belongs to another system, which has to be asked")
        self._running_thread = get_ident()
        self._handling.append(self)
        try:
            self._check_ready("a step")
            event(*arguments)
            self._finish_round()
        except StepRefused:
            return False
        finally:
            self._undo()
        return True

    def check_invariants(self) -> None:
        """Raises `InvariantBroken` if an invariant of a machine is false."""
        for machine in self._machines.values():
            machine.check_invariants()

    # Steps

    def step(self, machine: Machine, event: str) -> System:
        """The context in which a machine handles an event: a step, or part of the one in progress."""
        thread = get_ident()
        handling = self._handling
        if handling:
            if thread != self._running_thread or machine in handling or len(handling) > DEEPEST_CASCADE:
                self._check_inner(machine, event)
            if self._pending or self.down:
                self._check_free(machine, event)
            self._is_outside = handling[0] is self
        else:
            if self._pending or self.down:
                self._check_free(machine, event)
            self._is_outside = True
            self._running_thread = thread  # and no other thread comes before the next line
        handling.append(machine)
        if machine not in self._before:  # as in `touch`: a call would cost a tenth of the step
            self._before[machine] = machine._save()
        return self

    def transmission(self, channel: Queue, what: str) -> System:
        """The context in which a channel delivers, loses or repeats a message."""
        self._check_thread(what)
        self._check_ready(what)
        self._begin(channel)
        self.touch(channel)
        return self

    def touch(self, part: Part) -> None:
        """Records what a part is like before the step changes it."""
        if part not in self._before:
            self._before[part] = part._save()

    def outside(self) -> bool:
        """Does a message come from outside, so that its arguments can be anything?"""
        return not self._handling or self._handling[-1] is self

    def _begin(self, what: object) -> None:
        """Begins a step, or a part of the one in progress, that is no event."""
        if not self._handling:
            self._running_thread = get_ident()
        self._handling.append(what)

    def _check_thread(self, what: str) -> None:
        """Refuses what comes from another thread than the step in progress."""
        if self._handling and self._running_thread != get_ident():
            raise ConcurrentStep(
                f"{what} comes while another thread is inside a step of this system: only one thread at a time may use "
                "a system, so guard it with a lock"
            )

    def _check_inner(self, machine: Machine, event: str) -> None:
        """Refuses an event during a step: of another thread, or one that never ends."""
        self._check_thread(event)
        if machine in self._handling:
            raise ReentrantEvent(f"{machine!r} gets {event} in the middle of its own transition")
        if sum(isinstance(x, Machine) for x in self._handling) > DEEPEST_CASCADE:
            raise EndlessRound(f"{machine!r} gets {event} after {DEEPEST_CASCADE} nested sends")

    def _check_free(self, machine: Machine, event: str) -> None:
        """Refuses an event that comes while an answer is awaited or the system is down."""
        if not self._handling:
            self._check_ready(event)
        for request in self._pending:
            if request.machine is machine:
                raise Busy(f"{machine!r} gets {event} while it waits for the answer to {request.action}")

    def _check_ready(self, event: str) -> None:
        """Refuses what comes from outside while the system is not ready."""
        if self.down:
            raise Busy(f"{event} arrives while the system is down; recover must run first")
        for request in self._pending:
            if not request.asynchronous:
                raise Busy(f"{event} arrives while {request.machine!r} waits for the answer to {request.action}")

    def __enter__(self) -> bool:
        """Does the event come from outside, so that its arguments can be anything?"""
        return self._is_outside

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if len(self._handling) > 1:
            self._handling.pop()
            return
        if error is not None:
            self._undo()
            return
        if self._touched:
            self._handling[0] = self
            try:
                self._finish_round()
            except BaseException:
                self._undo()
                raise
        self._commit()

    def _undo(self) -> None:
        for part, saved in self._before.items():
            part._load(saved)
        self._pending = self._pending_before
        self._calls = []
        self.down = self.down or self._recovering
        self._clear()

    def _clear(self) -> None:
        self._handling.clear()
        self._before.clear()
        self._followed = []
        self._touched.clear()
        self._pending_before = self._pending
        self._recovering = False

    def _commit(self) -> None:
        errors = self._publish()
        if len(errors) == 1:
            raise errors[0]
        if errors:
            raise ExceptionGroup("after a step", errors)

    def _publish(self) -> list[Exception]:
        """Ends the step: listeners and actions are called. What they raise."""
        followed = tuple(self._followed)
        self._clear()
        if self._calls:
            self._outbox += self._calls
            self._calls = []
        errors: list[Exception] = []
        for listener in self._listeners if followed else ():
            try:
                listener(followed)
            except Exception as error:
                errors.append(error)
        if self._outbox and not self._delivering and not self._stands_still():
            self._hand_over(errors)
        return errors

    # Rounds

    def _finish_round(self) -> None:
        """Follows transitions that need no event, until none is enabled.

        One at a time, among the machines touched, in the order in which they were made, each time from the first.
        """
        seen: list[object] = []
        while (machine := self._next_on()) is not None:
            now = self._changes()
            if now in seen or len(seen) >= LONGEST_ROUND:
                raise EndlessRound(f"{machine!r} follows transitions again and again, and its round does not end")
            seen.append(now)
        for machine in self._touched:
            if not self._awaits(machine):
                machine._end_round()

    def _next_on(self) -> Machine | None:
        """The machine that has followed a transition, if one has."""
        for machine in sorted(self._touched, key=number_of):
            if self._awaits(machine):
                continue
            self._handling.append(machine)
            followed = machine._go_on()
            self._handling.pop()
            if followed:
                return machine
        return None

    def _changes(self) -> object:
        """What has changed in the step so far."""
        changed = [(x, now) for x, old in self._before.items() if (now := x._save()) != old]
        return dict(changed), self._pending

    # Actions

    def later(self, action: Callable[..., object], *arguments: object) -> None:
        """Calls an action when the step has happened."""
        self._calls.append((action, arguments, None))

    def ask(self, machine: Machine, action: str, call: Callable[..., object], *arguments: object) -> None:
        """Calls an action when the step has happened; its answer is the next step of the round."""
        self._tickets += 1
        self._pending = (*self._pending, Request(machine, action, self._tickets, False))
        self._calls.append((call, arguments, machine))

    def ask_later(self, machine: Machine, action: str, call: Callable[..., object], *arguments: object) -> None:
        """As `ask`, but the answer comes at any time, with the ticket that the action gets."""
        self._tickets += 1
        self._pending = (*self._pending, Request(machine, action, self._tickets, True))
        self._calls.append((call, (machine, self._tickets, *arguments), None))

    def _hand_over(self, errors: list[Exception]) -> None:
        """Calls the actions of the outbox, and those that they add to it.

        An action that fails neither undoes the step nor prevents the other calls; but without an answer that is awaited
        the system stands still.
        """
        self._delivering = True
        try:
            while self._outbox:
                action, arguments, asks = self._outbox.pop(0)
                try:
                    result = action(*arguments)
                    if result is not None:
                        _refuse_coroutine(action, result)
                except Exception as error:
                    errors.append(error)
                    if asks is not None:
                        break
        finally:
            self._delivering = False

    def answer(self, machine: Machine, action: str, outcome: str, ticket: int | None = None) -> System:
        """The context in which a machine handles the answer to its action."""
        self._check_thread(f"{action}.{outcome}")
        request = self._request(machine, action, ticket)
        if request is None:
            raise StaleAnswer(f"{machine!r} is not waiting for {action}.{outcome}")
        for other in self._pending:
            first = request.asynchronous or other.ticket < request.ticket
            if other is not request and not other.asynchronous and first:
                raise Busy(f"{action}.{outcome} arrives while {other.machine!r} waits for {other.action}")
        self._begin(machine)
        self.touch(machine)
        self._pending = tuple(x for x in self._pending if x is not request)
        if machine._ROUNDS:
            self._touched.add(machine)
        return self

    def _request(self, machine: Machine, action: str, ticket: int | None) -> Request | None:
        for x in self._pending:
            is_its_answer = not x.asynchronous or (type(ticket) is int and ticket == x.ticket)
            if x.machine is machine and x.action == action and is_its_answer:
                return x
        return None

    def _awaits(self, machine: Machine) -> bool:
        return any(x.machine is machine for x in self._pending)

    def _stands_still(self) -> bool:
        """Has an action been called whose answer everything waits for? The others are still in the outbox."""
        if not self._pending:
            return False
        return sum(not x.asynchronous for x in self._pending) > sum(asks is not None for _, _, asks in self._outbox)

    # Crash and recovery

    def _restart(self, machines: tuple[Machine, ...]) -> None:
        """A crash of some machines, together, or of the whole system if there are none."""
        self._check_thread("a crash")
        if machines and self.down:
            raise Busy("some machines crash while the system is down; recover must run first")
        for machine in machines:
            if not isinstance(machine, Machine) or machine._system is not self:
                raise OutOfRange(f"only machines of this system can crash, not {quoted(machine)}")
        crashed = [x for x in self._machines.values() if not machines or x in machines]
        emptied = [] if machines else list(self._channels.values())
        self._begin(self)
        for part in (*crashed, *emptied):
            self.touch(part)
        try:
            rows = [(x, x._crash_row()) for x in crashed]
            for machine in crashed:
                machine._forget()
            for channel in emptied:
                channel._empty()
            for machine, row in rows:
                machine._crash(row)
        except BaseException:
            self._undo()
            raise
        if machines:
            self._pending = tuple(x for x in self._pending if x.machine not in crashed)
            # The first argument of an action is the machine that calls for it, unless that waits for the answer.
            self._outbox = [x for x in self._outbox if (x[2] or x[1][0]) not in crashed]
        else:
            self._pending = ()
            self._outbox = []
            self.down = self._recovery is not None
        self._restart_timers(crashed)
        self._commit()

    def _restart_timers(self, crashed: list[Machine]) -> None:
        """What a crash does to timers: see `timers.TimedSystem`."""

    def recover(self) -> None:
        """The first step after a crash."""
        self._check_thread("recover")
        recovery = self._recovery
        if recovery is None or not self.down:
            raise StepRefused("the system is not down: there is nothing to recover")
        self._begin(self)
        self._recovering = True
        self.down = False
        with self:
            recovery()

    # Snapshots

    def snapshot(self) -> Data:
        """All machines, as JSON has them."""
        self._check_thread("a snapshot")
        machines = [{"number": x._number, **x.snapshot()} for x in self._machines.values()]
        return {"version": self._VERSION, "machines": machines, **{name: self._entry(name) for name in self._SAVED}}

    def _entry(self, name: str) -> object:
        """Another entry of a snapshot."""
        if name == "channels":
            return {_title(*key): x._encode() for key, x in self._channels.items()}
        if name == "pending":
            return [
                {"machine": x.machine._number, "action": x.action, "ticket": x.ticket, "async": x.asynchronous}
                for x in self._pending
            ]
        return self.down

    def restore(self, data: Data, migrate: Migrations | None = None) -> None:
        """Restores a snapshot. The machines must have been made in the same order as those of the snapshot.

        `migrate` has, by the version of a snapshot, a function that converts it to this version. Without `migrate`, and
        if the snapshot has no version, it is taken as it is. Raises `ForeignSnapshot`, and changes nothing, if the
        snapshot does not fit, or `migrate` does not have its version.
        """
        self._check_thread("restore")
        self._load(fitting(self, self._decode, converted(data, self._VERSION, migrate), {}))

    def _decode(self, data: Data, _: Mapping[int, Any]) -> Saved:
        saved_machines = items(data["machines"], "machines")
        if len(saved_machines) != len(self._machines):
            raise ForeignSnapshot(
                f"a snapshot of {len(saved_machines)} machines for a system that has {len(self._machines)}"
            )
        pairs = list(zip(saved_machines, self._machines.values(), strict=True))
        machines = {saved["number"]: machine for saved, machine in pairs}
        if len(machines) != len(pairs) or any(type(x) is not int for x in machines):
            raise ForeignSnapshot(f"the machines of a snapshot must have different numbers, not {list(machines)}")
        parts: list[tuple[Part, Saved]] = [(x, fitting(x, x._decode, saved, machines)) for saved, x in pairs]
        if "channels" in self._SAVED:
            for key, channel in self._channels.items():
                saved = data["channels"].get(_title(*key))
                parts.append((channel, fitting(channel, channel._decode, saved, machines)))
        pending: list[Request] = []
        if "pending" in self._SAVED:
            pending = [_request(x, machines) for x in items(data["pending"], "pending")]
        return parts, tuple(pending), truth(data["down"], "down") if "down" in self._SAVED else False

    def _load(self, saved: Saved) -> None:
        parts, self._pending, self.down = saved
        self._pending_before = self._pending
        for part, values in parts:
            part._load(values)
        self._tickets = max(self._tickets, *(x.ticket for x in self._pending), 0)


def _refuse_coroutine(action: Callable[..., object], result: Any) -> None:
    """Refuses what an `async def` returns: nothing would await it, so that the action would never run."""
    if hasattr(result, "__await__"):
        if hasattr(result, "close"):
            result.close()
        name = getattr(action, "__qualname__", repr(action))
        raise TypeError(
            f"the action {name} is a coroutine, which nothing awaits: an action must be an ordinary function"
        )


def _request(data: Data, machines: Mapping[int, Machine]) -> Request:
    """A request of a snapshot."""
    machine, action, ticket = data["machine"], data["action"], data["ticket"]
    if (type(machine), type(action), type(ticket)) != (int, str, int):
        raise ValueError(f"a request must have a machine, an action and a ticket, not {data!r}")
    return Request(machines[machine], action, ticket, truth(data["async"], "async"))


def _title(kind: type[Queue], ends: tuple[Machine, ...]) -> str:
    """The name of a channel in a snapshot."""
    whose = ("", " of {}", " from {} to {}")[len(ends)].format(*(x._number for x in ends))
    return f"{kind.__name__}{whose}"
