"""Drives the life-cycle machines of applications, pods and nodes after what the cluster and the allocator do.

The caller reports the current state, in any order: `pods_reported`, `pod_ended`, `node` and `node_gone`. Events then
move each machine to that state. An event that a state does not accept changes nothing and is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from generated.grove import PodState, Rollout, TerminationState
from generated.hived import AffinityGroupState, Followed
from generated.yunikorn.shim import ShimApplicationState, ShimNodeState, TaskState
from runtime.allocator import Allocator
from runtime.durable import DurableAllocator
from runtime.errors import UserError
from runtime.gangs import GangMachine
from runtime.lifecycle import persistence, status
from runtime.lifecycle.actions import actions
from runtime.lifecycle.create import create_application, create_host
from runtime.lifecycle.deploy import Act, answer, awaited
from runtime.lifecycle.reconcile import PLACEABLE, advance, hold, reconcile, send_back, tell_to_go
from runtime.lifecycle.refusals import Refusals, whose
from runtime.lifecycle.registry import Application, Host, Queues, Registry, Slot
from runtime.lifecycle.release import end, fail, fill, finish, leave
from runtime.lifecycle.reports import Ending, PodReport, Stage
from runtime.lifecycle.submission import HOUR, ApplicationSpec, CliqueSpec
from runtime.lifecycle.timers import Timers
from runtime.pods import Pod, PodSpec

MAX_PAST = 1000
"""Maximum number of ended applications that are kept, for at most three days."""


class ApplicationFollower:
    """All applications, queues and nodes of an allocator that others ask. `now` is in seconds, from any beginning.

    An affinity group of the allocator is an application with one gang, its members are the cliques: all pods must run.
    It applications as long as the allocator knows any of its pods. Each call is one step, and belongs to one thread.
    """

    def __init__(
        self,
        allocator: Allocator | DurableAllocator,
        now: float,
        delay: float = 4 * HOUR,
        images: Mapping[str, str] | None = None,
    ) -> None:
        """`images`: what `changes` gave in an earlier run. After it, or without, all that there is has to be reported
        first, and then `caught_up`."""
        timers, bound = Timers(now), actions()
        queues = Queues(allocator.configuration.tenants, bound.queue, timers)
        sizes = {
            name: sum(1 for cell in cells for _ in cell.devices()) for name, cells in allocator.cluster.nodes.items()
        }
        self.registry = Registry(allocator, timers, bound, queues, sizes)
        self.refusals = Refusals()
        self.breaches = self.torn_down = 0
        """How often a clique fell below its minimum, and how often a gang stayed there for too long."""
        self.on_tear_down: Callable[[tuple[str, ...]], object] = lambda _: None
        """Receives the uids of pods that have to be deleted, as their gang has been below its minimum for too long."""
        self._delay = delay
        self._moved: dict[str, None] = {}
        """Gangs that the allocator has moved, and of which nothing has been made here yet."""
        self._persisted = persistence.read(images or {})
        """Until all is reported."""
        self._written = {name: persistence.write(one) for name, one in self._persisted.items()}
        self._changed: set[str] = set()
        self._seen: dict[str, tuple[bool, tuple[float | None, ...], int]] = {}
        """By application: what was seen of it last, as far as a change of it is to be journaled, or counted."""
        self._terminating: set[str] = set()
        self._beginning = True
        allocator.cluster.system.listen(self._listen)

    def _listen(self, followed: tuple[Followed, ...]) -> None:
        for row in followed:
            if isinstance(row.machine, GangMachine):
                self._moved[row.machine.gang.name] = None

    @contextmanager
    def _step(self, now: float) -> Iterator[None]:
        """Something happens. What was due before comes first; what is due at that very moment, later."""
        self.registry.timers.advance(now, self._reconcile_all, through=False)
        yield
        self._reconcile_all()

    # Pods

    def pods_reported(self, reports: Iterable[PodReport], now: float) -> None:
        """How pods are that the allocator knows, in one step."""
        with self._step(now):
            for pod in reports:
                self._tell(pod)
            self._follow_gangs()

    def _tell(self, reports: PodReport) -> None:
        slot = self._slot(reports.pod)
        if slot is None:
            return
        self._place(slot, reports)
        self._advance(slot, reports.stage)
        if reports.leaving or slot.leaving:
            tell_to_go(slot, self.refusals)

    def _slot(self, pod: Pod) -> Slot | None:
        """Where a pod is; a new one takes an empty place of its size. None where its gang has another form."""
        slot = self.registry.pods.get(pod.uid)
        if slot is not None:
            return slot
        application = self._life(pod.spec)
        free = [s for s in application.slots if s.pod is None and s.size == pod.spec.leaf_cells]
        slot = next((s for s in free if not s.done), free[0] if free else None)
        if slot is None:
            return None
        if slot.done:
            slot.done = False
            self._changed.add(application.name)
            send_back(slot, self.refusals)
        fill(slot, pod)
        return slot

    def _life(self, spec: PodSpec) -> Application:
        """The application of a pod. One of the same name that is over makes room."""
        registry, name = self.registry, spec.gang.name
        application = registry.applications.get(name)
        if application is not None and not application.ending:
            return application
        if application is not None:
            self._fire(application, application.core.complete)
        record = self._persisted.get(name)
        registry.queues.keep(spec.virtual_cluster)
        submitted = record.submitted if record is not None else registry.timers.time()
        self._forget_oldest()
        number = registry.application_count
        application = create_application(registry, application_spec(spec, self._delay), number, submitted)
        registry.application_count += 1
        registry.applications[name] = application
        if self._beginning:
            application.shim.recover_application()
        else:
            application.shim.submit_application()
        rollout = Rollout(application.grove, gang=application.gang, old=None)
        rollout.create_pods()
        rollout.create_gang()
        rollout.remove_gates()
        application.grove.remove(rollout)
        if record is not None:
            application.failures = record.failures
        return application

    def _place(self, slot: Slot, reports: PodReport) -> None:
        """It has a place, or has none any more. One that has another now has begun anew."""
        info = reports.info
        if slot.is_allocated and (info is None or (info.node, info.leaf_cells) != (slot.node, slot.leaf_cells)):
            self._leave(slot)
            fill(slot, reports.pod)
        if info is None or slot.is_allocated:
            return
        registry = self.registry
        if info.node not in registry.hosts:
            registry.hosts[info.node] = create_host(registry, info.node)
        hold(slot, info)

    def _advance(self, slot: Slot, stage: Stage) -> None:
        """The cluster has brought it so far: what it was not told to have done on the way, it has done."""
        for act in (Act.DEPLOY, Act.START)[:stage]:
            if awaited(slot) is act:
                answer(slot, act, ok=True)
            advance(slot, self.refusals)

    def pod_ended(self, uid: str, ending: Ending, now: float) -> None:
        """A pod is no more. One that is not known means nothing."""
        with self._step(now):
            slot = self.registry.pods.get(uid)
            if slot is not None:
                self._end(slot, ending)
            self._follow_gangs()

    def _end(self, slot: Slot, ending: Ending) -> None:
        application = slot.application
        if slot.is_allocated and ending is Ending.FINISHED and slot.place.state is not PodState.TERMINATING:
            self._advance(slot, Stage.RUNNING)
            finish(slot)
            self._changed.add(application.name)
            return
        failed = slot.is_allocated and ending is Ending.FAILED
        self._leave(slot)
        if failed:
            application.failures += 1
            slot.failures = 1

    def _leave(self, slot: Slot) -> None:
        """A pod gives back its place in the gang, and all that it held or asked for."""
        if slot.is_allocated:
            send_back(slot, self.refusals)
            if slot.task is not None and slot.task.state is TaskState.ALLOCATED:
                slot.task.task_fail()
        leave(slot)
        if slot.place.state is PodState.TERMINATING:
            slot.place.gone()
        self.registry.dirty[slot.application] = None

    def knows(self, uid: str) -> bool:
        """Whether a pod has a place in an application."""
        return uid in self.registry.pods

    # Gangs

    def _follow_gangs(self) -> None:
        """Those that the allocator has moved."""
        while self._moved:
            name, _ = self._moved.popitem()
            application, gang = self.registry.applications.get(name), self.registry.allocator.gangs.get(name)
            if application is None or application.ending:
                continue
            self.registry.dirty[application] = None
            if gang is None:
                self._over(application)
            elif gang.state is AffinityGroupState.BEING_PREEMPTED and application.gang.state in PLACEABLE:
                self._fire(application, application.gang.preempted)

    def _over(self, application: Application) -> None:
        """The last pod of a gang is gone: it has done its work, or has failed, or was deleted."""
        if all(slot.done for slot in application.slots):
            end(application)
        elif any(slot.failures and not slot.done for slot in application.slots):
            self._fire(application, lambda: fail(application))
            end(application)
        else:
            if application.shim.state is ShimApplicationState.RUNNING:
                application.shim.kill_application()
            end(application)

    def _reconcile_all(self) -> None:
        """All that has moved is looked after."""
        dirty = self.registry.dirty
        while dirty:
            application, _ = dirty.popitem()
            if application.slots:
                self._reconcile(application)
                dirty.pop(application, None)

    def _reconcile(self, application: Application) -> None:
        gang = self.registry.allocator.gangs.get(application.name)
        keeps = gang is not None and gang.state is AffinityGroupState.ALLOCATED and not application.ending
        reconcile(application, self.refusals, keeps=keeps)
        if application.ending:
            self._changed.add(application.name)
            self._seen.pop(application.name, None)
            self._terminating.discard(application.name)
            return
        since = persistence.since(application)
        seen = application.termination.armed, since, application.failures
        before = self._seen.get(application.name)
        if seen != before:
            self._seen[application.name] = seen
            self._changed.add(application.name)
            previous = before[1] if before is not None else (None,) * len(since)
            self.breaches += sum(now is not None and now != then for now, then in zip(since, previous, strict=True))
        if application.termination.state is not TerminationState.TERMINATING:
            self._terminating.discard(application.name)
        elif application.name not in self._terminating:
            self._terminating.add(application.name)
            self.torn_down += 1
            self.on_tear_down(tuple(slot.uid for slot in application.slots if slot.leaving))

    def _forget_oldest(self) -> None:
        past = self.registry.past
        while len(past) > MAX_PAST:
            next(iter(past.values())).core.expire()

    # Nodes

    def node(self, name: str, *, healthy: bool, cordoned: bool, now: float) -> None:
        """How a node is. A name that is not configured means nothing."""
        if name not in self.registry.sizes:
            return
        with self._step(now):
            host = self.registry.hosts.get(name)
            if host is None or host.shim.state is ShimNodeState.NEW:
                new = create_host(self.registry, name, cordoned=cordoned)
                new.slots = host.slots if host is not None else {}
                host = self.registry.hosts[name] = new
                self._fire_host(host, host.shim.recover_node)
            elif cordoned and host.shim.state is ShimNodeState.HEALTHY:
                self._fire_host(host, host.shim.drain_node)
            elif not cordoned and host.shim.state is ShimNodeState.DRAINING:
                self._fire_host(host, host.shim.restore_node)
            host.ready = healthy

    def node_gone(self, name: str, now: float) -> None:
        """It is no more. Pods that are still there to the cluster are reported by themselves."""
        with self._step(now):
            host = self.registry.hosts.pop(name, None)
            if host is None:
                return
            if host.shim.state is not ShimNodeState.NEW:
                self._fire_host(host, host.node.decomission)
            if host.slots:
                left = self.registry.hosts[name] = create_host(self.registry, name)
                left.slots = host.slots

    # After a restart

    def caught_up(self, now: float) -> None:
        """All that there was has been reported: what was remembered of it counts from now on."""
        records, self._persisted = self._persisted, {}
        with self._step(now):
            for name, record in records.items():
                application = self.registry.applications.get(name)
                if application is not None:
                    for slot in persistence.finished_slots(application, record):
                        slot.done = True
                        advance(slot, self.refusals)
        with self._step(now):
            for name, record in records.items():
                application = self.registry.applications.get(name)
                if application is not None:
                    persistence.restore_armed(application, record)
                    self.registry.dirty[application] = None
        self._changed |= records.keys()
        self._beginning = False

    def changes(self) -> dict[str, str | None]:
        """What is to be journaled, and is different since this was asked last."""
        names, self._changed = self._changed, set()
        images: dict[str, str | None] = {}
        for name in sorted(names):
            application = self.registry.applications.get(name)
            text = (
                None
                if application is None or application.ending
                else persistence.write(persistence.snapshot(application))
            )
            if text != self._written.get(name):
                images[f"{persistence.PREFIX}{name}"] = text
                if text is None:
                    self._written.pop(name, None)
                else:
                    self._written[name] = text
        return images

    # Time, and what there is

    def due(self, now: float) -> bool:
        """Whether a timer rings by now."""
        next_one = self.registry.timers.next
        return next_one is not None and next_one <= now

    def tick(self, now: float) -> None:
        """Time has passed: all timers ring that are due by now, each at its own time."""
        if self.due(now):
            self.registry.timers.advance(now, self._reconcile_all, through=True)

    def status(self, name: str) -> dict[str, Any]:
        """Every machine along the chain of one application, and what it waits for; as JSON has it."""
        application = self.registry.applications.get(name)
        if application is None:
            raise UserError(f"there is no application {name}")
        return status.of_application(application)

    def overview(self) -> dict[str, Any]:
        """Queues, nodes, applications by state, pods to delete, and events that were not accepted; as JSON has it."""
        applications = self.registry.applications.values()
        return {
            **status.of_all(self.registry),
            "items": [
                {
                    "application": application.name,
                    "gang": application.gang.state.display,
                    "running": application.running,
                }
                for application in applications
            ],
            "to delete": sorted(self.to_delete()),
            "unhandled": {
                "events": sum(self.refusals.counts.values()),
                "last": [asdict(unhandled) for unhandled in self.refusals.last],
            },
        }

    def below(self) -> int:
        """How many cliques run below their minimum."""
        return sum(at is not None for _, since, _ in self._seen.values() for at in since)

    def to_delete(self) -> list[str]:
        """The uids of pods whose gang was below its minimum for too long."""
        applications = [
            x for x in self.registry.applications.values() if x.termination.state is TerminationState.TERMINATING
        ]
        return [slot.uid for application in applications for slot in application.slots if slot.leaving]

    def _fire(self, application: Application, event: Callable[[], object]) -> None:
        self.refusals.fire(whose(application), self.registry.timers.time(), event)

    def _fire_host(self, host: Host, event: Callable[[], object]) -> None:
        self.refusals.fire(f"node {host.name}", self.registry.timers.time(), event)


def application_spec(spec: PodSpec, delay: float) -> ApplicationSpec:
    """What the pods of an affinity group stand for."""
    return ApplicationSpec(
        name=spec.gang.name,
        queue=spec.virtual_cluster,
        cliques=tuple(CliqueSpec(f"member-{i}", m.pods, m.leaf_cells) for i, m in enumerate(spec.gang.members)),
        priority=spec.priority,
        termination_delay=delay,
    )
