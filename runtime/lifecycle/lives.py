"""The face: what drivers say, and what they are answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from generated.grove import Rollout
from generated.yunikorn.core import StepRefused
from generated.yunikorn.shim import ShimApplicationState, ShimNodeState
from runtime.durable import DurableAllocator, collector_paused
from runtime.errors import UserError
from runtime.lifecycle import hosts, records, status
from runtime.lifecycle.actions import actions
from runtime.lifecycle.bringing import answer, at_work, awaited, died, outstanding
from runtime.lifecycle.interfaces import Allocating, sizes
from runtime.lifecycle.keys import MADE, host_key, queue_key
from runtime.lifecycle.leaving import end, fail, fault, finish, go_on, lose, settle
from runtime.lifecycle.making import make_life
from runtime.lifecycle.orders import Act, Order
from runtime.lifecycle.placing import Outcome, attempt, in_order
from runtime.lifecycle.registry import Life, Queues, Registry, Slot
from runtime.lifecycle.steps import Steps
from runtime.lifecycle.submission import ApplicationSpec, Settings
from runtime.lifecycle.timers import Timers

__all__ = ["Allocating", "Lives", "Round"]

KILLED = (ShimApplicationState.ACCEPTED, ShimApplicationState.RUNNING)


@dataclass(frozen=True, slots=True)
class Round:
    """What a cycle has done."""

    bound: Mapping[str, str]
    """By the uid of each pod that has got its place: the node."""
    preempted: tuple[str, ...]
    """Pods that have to go, by uid."""
    waiting: Mapping[str, str]
    """By the name of each application that was tried and has pods without a place: why."""


class Lives:
    """All applications, queues and nodes. `now` is in seconds, from any beginning.

    Each call is one step, and belongs to one thread. Before a step, timers ring that were due before it; those that
    are due at the same moment wait for `tick`, so that what happens in time, happens in time.
    """

    def __init__(self, allocator: Allocating, settings: Settings | None = None, now: float = 0.0) -> None:
        timers, bound = Timers(now), actions()
        queues = Queues(list(allocator.configuration.tenants), bound.queue, timers)
        self.registry = Registry(allocator, settings or Settings(), timers, bound, queues, sizes(allocator), settle)
        self._steps = Steps(self.registry)
        if isinstance(allocator, DurableAllocator):
            self._restore(allocator)
        with self._steps.at(now):
            for name, cells in allocator.cluster.nodes.items():
                if cells[0].healthy and name not in self.registry.hosts:
                    self._register(name)

    def _restore(self, allocator: DurableAllocator) -> None:
        """All that the journal has of lives. Pods that the allocator could not take over are lost."""
        with collector_paused():
            records.restore(self.registry, allocator.journal.images)
            self._steps.settle()
        self.registry.journaled = True
        allocator.companion = partial(records.changes, self.registry)
        seated = {pod.uid for pod, info in allocator.bound() if info is not None}
        with self._steps.at(self.registry.timers.time()):
            for uid, slot in list(self.registry.pods.items()):
                if slot.held and uid not in seated:
                    lose(slot, dead=False)

    # Applications

    def submit(self, spec: ApplicationSpec, now: float) -> tuple[str, ...]:
        """An application comes; the uids of its pods. Raises `UserError` where queue or allocator refuse it."""
        with self._steps.at(now):
            life = self._begin(spec)
        return tuple(slot.uid for slot in life.slots)

    def _begin(self, spec: ApplicationSpec) -> Life:
        registry = self.registry
        spec.check()
        registry.queues.get(spec.queue)
        if spec.name in registry.lives:
            raise UserError(f"there is an application {spec.name} already")
        life = make_life(registry, spec, registry.made, registry.timers.time())
        life.shim.submit_application()
        if life.refusal:
            registry.dirty.pop(life, None)
            raise UserError(f"application {spec.name} is refused: {life.refusal}")
        registry.made += 1
        registry.note(MADE)
        registry.lives[spec.name] = life
        rollout = Rollout(life.grove, gang=life.gang, old=None)
        rollout.create_pods()
        rollout.create_gang()
        rollout.remove_gates()
        life.grove.remove(rollout)
        return life

    def finished(self, name: str, now: float) -> None:
        """The work is done: all pods have ended by themselves, and nothing is left of them."""
        with self._steps.at(now):
            end(self._ended(name))

    def failed(self, name: str, now: float) -> None:
        """The work has come to nothing: all pods have ended by themselves, and nothing is left of them."""
        with self._steps.at(now):
            life = self._ended(name)
            if not life.ending:
                fail(life)

    def _ended(self, name: str) -> Life:
        life = self._life(name)
        for slot in life.slots:
            slot.dead = slot.held
            if slot.leaving:
                lose(slot, dead=True)
        return life

    def cancel(self, name: str, now: float) -> None:
        """The user does not want it any more: its pods are told to go."""
        with self._steps.at(now):
            life = self._life(name)
            if life.shim.state in KILLED:
                life.shim.kill_application()
            end(life)

    def cycle(self, now: float) -> Round:
        """Places what waits: the stronger first, then the older; of each queue, the first ones in that order."""
        outcome = Outcome()
        with self._steps.at(now):
            if self.registry.queues.partition.scheduled:
                for life in in_order(self.registry):
                    attempt(life, outcome)
                    self._steps.settle()
        return Round(outcome.bound, tuple(outcome.preempted), outcome.waiting)

    def ask(self, name: str, now: float) -> Round:
        """Places one application, or as much of it as waits, out of its turn."""
        outcome = Outcome()
        with self._steps.at(now):
            life = self._life(name)
            queues = self.registry.queues
            if not (queues.partition.scheduled and queues.get(life.spec.queue).scheduled):
                raise UserError(f"queue {life.spec.queue} is stopped, and places nobody")
            life.tried = -1
            attempt(life, outcome)
        return Round(outcome.bound, tuple(outcome.preempted), outcome.waiting)

    # What agents on the nodes say

    def orders(self) -> tuple[Order, ...]:
        """What they have to do, since this was asked last."""
        registry = self.registry
        given, registry.orders = registry.orders, []
        return tuple(order for order in dict.fromkeys(given) if outstanding(registry.pods.get(order.uid), order.act))

    def report(self, uid: str, act: Act, *, ok: bool, now: float) -> None:
        """`DEPLOY` or `START` has been done, or has failed; what has failed is ordered again after a while."""
        with self._steps.at(now):
            slot = self._slot(uid)
            answer(slot, act, ok=ok)
            go_on(slot)

    def pod_started(self, uid: str, now: float) -> None:
        """It runs: whatever its agent was told to do, has been done."""
        with self._steps.at(now):
            slot = self._slot(uid)
            self._all_done(slot)
            go_on(slot)

    def _all_done(self, slot: Slot) -> None:
        """All orders of its agent are answered with success."""
        while (act := awaited(slot)) is not None:
            answer(slot, act, ok=True)

    def pod_died(self, uid: str, now: float) -> None:
        """Its container went down; it is started again where it is."""
        with self._steps.at(now):
            died(self._slot(uid))

    def pod_failed(self, uid: str, now: float) -> None:
        """It is lost, with nothing left of it on its node; another one takes its place in the gang."""
        with self._steps.at(now):
            slot = self._slot(uid)
            if not slot.held:
                raise UserError(f"pod {uid} is on no node, and cannot have failed there")
            fault(slot, dead=True)

    def pod_finished(self, uid: str, now: float) -> None:
        """It has done its work. When all pods of the gang have, the application is finished."""
        with self._steps.at(now):
            slot = self._slot(uid)
            if slot.leaving:
                lose(slot, dead=True)
                return
            if not at_work(slot):
                raise UserError(f"pod {uid} does not run, and cannot have finished")
            self._all_done(slot)
            finish(slot)

    def pod_gone(self, uid: str, now: float) -> None:
        """Nothing is left of a pod that was told to go."""
        with self._steps.at(now):
            slot = self._slot(uid)
            if not slot.leaving:
                raise UserError(f"pod {uid} was not told to go; has it failed, or finished?")
            lose(slot, dead=True)

    # Nodes

    def node_healthy(self, name: str, now: float) -> None:
        """It is there, and can be used unless it is drained. A name that is not configured means nothing."""
        with self._steps.at(now):
            if name in self.registry.sizes:
                self._register(name)

    def _register(self, name: str) -> None:
        registry = self.registry
        host = registry.hosts.get(name)
        if host is None or host.shim.state is ShimNodeState.REJECTED:
            host = registry.hosts[name] = hosts.make(registry, name)
            host.shim.recover_node()
        host.ready = True
        hosts.tell(host)

    def node_bad(self, name: str, now: float) -> None:
        """It cannot be used for more; what is there stays."""
        with self._steps.at(now):
            host = self.registry.hosts.get(name)
            if host is not None:
                host.ready = False
                hosts.tell(host)

    def node_drain(self, name: str, now: float) -> None:
        """Nothing more is placed on it; what is there stays."""
        with self._steps.at(now):
            host = hosts.known(self.registry.hosts, name)
            if host.shim.state is not ShimNodeState.DRAINING:
                _order(f"node {name}", host.shim.drain_node)

    def node_restore(self, name: str, now: float) -> None:
        """It is not drained any more."""
        with self._steps.at(now):
            host = hosts.known(self.registry.hosts, name)
            if host.shim.state is not ShimNodeState.HEALTHY:
                _order(f"node {name}", host.shim.restore_node)

    def node_gone(self, name: str, now: float) -> None:
        """It is no more; its pods are lost."""
        with self._steps.at(now):
            host = self.registry.hosts.get(name)
            if host is not None:
                host.node.decomission()
                self._steps.settle()
                del self.registry.hosts[name]
                self.registry.note(host_key(name))

    # Queues. An empty name means the whole cluster.

    def queue_stop(self, name: str, now: float) -> None:
        """Its applications wait; what runs goes on."""
        with self._steps.at(now):
            _order(f"queue {name}", self._queue(name).machine.stop)

    def queue_start(self, name: str, now: float) -> None:
        """It is scheduled again."""
        with self._steps.at(now):
            _order(f"queue {name}", self._queue(name).machine.start)

    def queue_drain(self, name: str, now: float) -> None:
        """It takes no new applications; those it has are still placed. There is no way back."""
        with self._steps.at(now):
            _order(f"queue {name}", self._queue(name).machine.remove)

    # Time, and what there is

    def tick(self, now: float) -> None:
        """Time has passed: all timers ring that are due by now, each at its own time."""
        with self._steps.at(now):
            self.registry.timers.advance(now, self._steps.settle, through=True)

    @property
    def next_timer(self) -> float | None:
        """When `tick` has to be called at the latest."""
        return self.registry.timers.next

    def running(self, name: str) -> bool:
        """Does the gang run: is it scheduled, with at least its minimum of pods running?"""
        return self._life(name).running

    def status(self, name: str) -> dict[str, Any]:
        """Every machine along the chain of one application, and what it waits for; as JSON has it."""
        return status.of_application(self._life(name))

    def overview(self) -> dict[str, Any]:
        """Queues, nodes, and applications by state; as JSON has it."""
        return status.of_all(self.registry)

    def check_invariants(self) -> None:
        """Raises `InvariantBroken` where a machine is not as it always must be."""
        self.registry.check_invariants()

    @property
    def broken(self) -> bool:
        """Has a step failed by a fault? Nothing more can be done then, but to begin anew from the journal."""
        return self._steps.broken

    # Names

    def _life(self, name: str) -> Life:
        life = self.registry.lives.get(name)
        if life is None:
            raise UserError(f"there is no application {name}")
        return life

    def _slot(self, uid: str) -> Slot:
        slot = self.registry.pods.get(uid)
        if slot is None:
            raise UserError(f"there is no pod {uid}")
        return slot

    def _queue(self, name: str) -> Any:
        queue = self.registry.queues.get(name)
        self.registry.note(queue_key(name))
        self.registry.freed += 1
        return queue


def _order(what: str, event: Any) -> None:
    """Something that the state may not take."""
    try:
        event()
    except StepRefused as error:
        raise UserError(f"{what}: {error}") from error
