"""Starting the service: `ShimScheduler` as generated, and the actions it calls."""

from __future__ import annotations

from collections.abc import Callable

from generated.yunikorn.shim import ShimScheduler, ShimSchedulerState, System, VirtualClock


class Startup:
    """Registers, recovers and runs; a failure on the way ends the service.

    In the document, to register is to make oneself known to the core; here, the journal is opened. The machine has no
    timers, so that any clock does.
    """

    def __init__(
        self,
        register: Callable[[], object],
        recover: Callable[[], object],
        run: Callable[[], object],
        fail: Callable[[Exception], object],
    ) -> None:
        self._register, self._recover, self._run, self._fail = register, recover, run, fail
        self._failure: Exception | None = None
        self._machine = ShimScheduler(System(VirtualClock()), self)

    def begin(self) -> None:
        """Comes back when it is running, or has failed."""
        self._machine.register_scheduler()

    @property
    def state(self) -> ShimSchedulerState:
        """How far it has come."""
        return self._machine.state

    def register(self, machine: ShimScheduler) -> None:
        """Opens the journal."""
        if self._succeeds(self._register):
            machine.register_scheduler_succeed()
        else:
            machine.register_scheduler_failed()

    def dispatch_recover(self, machine: ShimScheduler) -> None:
        """There is nothing to wait for."""
        machine.recover_scheduler()

    def recover_all(self, machine: ShimScheduler) -> None:
        """Takes in the first list of nodes and pods."""
        if self._succeeds(self._recover):
            machine.recover_scheduler_succeed()
        else:
            machine.recover_scheduler_failed()

    def start(self, machine: ShimScheduler) -> None:
        """Takes requests from now on."""
        self._run()

    def exit(self, machine: ShimScheduler) -> None:
        """It could not begin."""
        assert self._failure is not None, "nothing else leads here"
        self._fail(self._failure)

    def _succeeds(self, action: Callable[[], object]) -> bool:
        try:
            action()
        except Exception as error:
            self._failure = error
            return False
        return True
