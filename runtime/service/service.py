"""The service from its beginning to its end, without HTTP."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

from generated.hived import AffinityGroupState
from generated.yunikorn.shim import ShimSchedulerState
from runtime.annotations import SPEC, read_spec, write_bind_info, write_spec
from runtime.config import Configuration
from runtime.durable import DurableAllocator, collector_paused
from runtime.errors import UserError
from runtime.gangs import Gang
from runtime.journal import Journal
from runtime.pods import PodSpec
from runtime.preemption.victims import preemptors
from runtime.recovery import Recovered
from runtime.service.election import Election
from runtime.service.engine import Engine, NotServingError
from runtime.service.leases import LEASE
from runtime.service.lifecycle_reporter import Options
from runtime.service.locks import Locks
from runtime.service.metrics import Metrics
from runtime.service.objects import PodObject
from runtime.service.scheduler import EVICTION_RETRY_INTERVAL, PodScheduler
from runtime.service.source import BudgetError, OverloadError, Source
from runtime.service.startup import Startup
from runtime.service.tracker import Tracked

log = logging.getLogger(__name__)


MAX_BINDERS = 16
"""Maximum number of pods that are bound or deleted at a time. Each uses a thread with its own connection."""


class LeadershipLostError(Exception):
    """Another instance decides by now, or may."""


@dataclass(slots=True)
class Eviction:
    """The victims of a gang are to leave together, and how far that has come."""

    preemptor: Gang
    victims: Mapping[Gang, tuple[Tracked, ...]]
    stronger: Mapping[Gang, tuple[str, ...]]
    """The names of all gangs that a victim makes room for."""
    accepted: set[str] = field(default_factory=set)
    """Uids of the pods that leave for this."""
    pod: str = ""
    """The pod that was asked for last, in words; empty while the budgets are checked."""


class Service:
    """Opens the journal, brings it up to date with the cluster, takes requests, and ends when it has served them."""

    def __init__(
        self,
        configuration: Configuration,
        journal: Callable[[], Journal],
        source: Source,
        lease: float = LEASE,
        now: Callable[[], float] = time.monotonic,
        lifecycle: Options = Options(),  # noqa: B008 - it is frozen
        *,
        evict: bool = False,
        election: Election | None = None,
        set_aside: Callable[[], Path | None] = lambda: None,
    ) -> None:
        """`election`: which of several instances decides; none where there is one. `set_aside` puts a journal away that
        is out of date, because another instance has decided since."""
        self.source = source
        self.locks = Locks()
        self.metrics = Metrics()
        self.failure: Exception | None = None
        """Why it cannot go on."""
        self.on_failure: Callable[[], object] = lambda: None
        self._configuration = configuration
        self._journal = journal
        self._lease = lease
        self._now = now
        self._lifecycle = lifecycle
        self._evict = evict
        self._election = election
        self._set_aside = set_aside
        self._scheduler: PodScheduler | None = None
        self._engine: Engine | None = None
        self._binders = ThreadPoolExecutor(MAX_BINDERS, "bind")
        self._notes = ThreadPoolExecutor(1, "notes")
        """Tells pods why they wait; nothing waits for it."""
        self._requests: list[Callable[[], object]] = []
        """What the cycle under way wants of the cluster. Nothing of it may be asked before the cycle is committed."""
        self._evictors = ThreadPoolExecutor(1, "evict")
        """Evicts the victims of one gang after those of another, from reading disruption budgets until all pods are
        evicted: they may share a budget."""
        self._asked: set[Gang] = set()
        """Gangs that preempt, whose victims are being evicted, or wait for their turn."""
        self._stopping = False
        self._startup = Startup(self._register, self._recover, self._run, self._fail)
        self._beginning = Thread(target=self._startup.begin, name="beginning", daemon=True)

    # Beginning

    def start(self) -> None:
        """Begins, in a thread of its own."""
        self._beginning.start()

    def _register(self) -> None:
        if self._election is not None:
            self._stand_for_election(self._election)
        allocator = DurableAllocator(self._configuration, self._journal())
        opened = allocator.opened
        log.info("journal %s: %d pods", allocator.journal.path, opened.pods)
        if opened.damage is not None:
            log.error("%s", opened.damage)
        if opened.takeover is not None:
            _tell(opened.takeover)
        self._scheduler = PodScheduler(
            allocator,
            self.locks,
            self._bind_later,
            self._refresh_later,
            self._lease,
            self._now,
            self._lifecycle,
            self._delete_later if self._lifecycle.terminate or self._evict else None,
            evict=self._evict,
            evict_gangs=self._evict_later,
            admit=self._admit_later,
            tell=self._tell_later,
        )

    def _stand_for_election(self, election: Election) -> None:
        """Waits until this instance leads. A journal that is not the latest leader's is no use: bound pods say more."""
        before = election.acquire()
        election.keep(lambda: self._fail(LeadershipLostError(f"{election.identity} is no longer the leader")))
        if before not in ("", election.identity):
            aside = self._set_aside()
            if aside is not None:
                log.info("%s has been the leader in the meantime; the outdated journal was moved to %s", before, aside)

    def _recover(self) -> None:
        scheduler = self.scheduler
        changes = list(self.source.poll())
        with (
            collector_paused(),
            self.locks.cluster.write(),
            self.locks.partition.write(),
            scheduler.allocator.cycle(),
        ):
            scheduler.recover(changes, lists_all=self.source.lists_all)
        self._send_requests()
        self.metrics.observe(scheduler, self.source, self.locks)
        gc.collect()
        gc.freeze()

    def _run(self) -> None:
        self._engine = Engine(self.scheduler, self.source, self.locks, self.metrics, self._send_requests)
        self._engine.on_failure = self._engine_failed
        self._engine.start()

    def _fail(self, error: Exception) -> None:
        if not self._stopping:
            self.failure = error
            self.on_failure()

    def _engine_failed(self) -> None:
        assert self._engine is not None, "it has failed"
        assert self._engine.failure is not None, "it has failed"
        self._fail(self._engine.failure)

    # Serving

    @property
    def scheduler(self) -> PodScheduler:
        """Once it is there."""
        if self._scheduler is None:
            raise NotServingError("the scheduler is being opened")
        return self._scheduler

    @property
    def allocator(self) -> DurableAllocator:
        """For readers that hold the partition lock."""
        return self.scheduler.allocator

    def ready(self) -> tuple[bool, str]:
        """Whether requests are taken; and how it is."""
        if self.failure is not None:
            return False, f"failed: {self.failure}"
        if self._stopping:
            return False, "stopping"
        if self._election is not None and not self._election.leads:
            return False, f"standing by; {self._election.holder or 'nobody'} holds the Lease"
        serving = self._engine is not None and self._engine.serving
        return serving and self._startup.state is ShimSchedulerState.RUNNING, self._startup.state.display

    async def ask(self, call: Callable[[PodScheduler], Any], *, durable: bool = True) -> Any:
        """The result of a call, when what it has changed is on the disk.

        Without `durable` it comes earlier, and may be forgotten after a loss of power (never after a crash of this
        process): only for answers on which nothing depends but a later request. Raises `JournalError`.
        """
        if self._engine is None:
            raise NotServingError(self.ready()[1])
        result = await asyncio.wrap_future(self._engine.submit(call))
        if durable and not self.allocator.journal.synced:
            await asyncio.to_thread(self.allocator.journal.sync)
        return result

    async def have_bound(self, tracked: Tracked) -> None:
        """The same as `bind`, in one of the threads that do so."""
        await asyncio.get_running_loop().run_in_executor(self._binders, self.bind, tracked)

    def bind(self, tracked: Tracked) -> None:
        """Binds a pod to where it has its place, as soon as that is on the disk. Takes as long as the cluster does."""
        assert tracked.info is not None, "it has a place"
        assert tracked.pod is not None, "it has a place"
        gang, node = tracked.pod.spec.gang.name, tracked.info.node
        self._prepare_request(gang)
        self.source.bind(tracked.seen, node, write_bind_info(tracked.info))
        self.scheduler.history.bound(tracked.seen.key, gang, node)

    def _prepare_request(self, *gangs: str) -> None:
        """Before anything is asked of the cluster: what was decided about these gangs has to be on the disk."""
        self._require_leadership()
        self.allocator.journal.sync()
        for gang in gangs:
            self.scheduler.history.journaled(gang)

    def _require_leadership(self) -> None:
        """Raises `NotServingError` where another instance may decide by now."""
        if self._election is not None:
            self._election.require_leadership()

    def _send_requests(self) -> None:
        """A cycle is committed: what it wants of the cluster is asked now, in other threads."""
        requests, self._requests = self._requests, []
        for request in requests:
            self._binders.submit(request)

    def _bind_later(self, tracked: Tracked) -> None:
        self._requests.append(partial(self._bind_quietly, tracked))

    def _bind_quietly(self, tracked: Tracked) -> None:
        try:
            self.bind(tracked)
        except Exception as error:
            self.metrics.failures.labels("bind").inc()
            log.warning("pod %s could not be bound: %s", tracked.seen.key, error)

    def _admit_later(self, tracked: Tracked) -> None:
        assert tracked.info is not None, "it has a place"
        assert tracked.pod is not None, "it has a place"
        annotations = write_bind_info(tracked.info)
        if not _says(tracked.seen, tracked.pod.spec):
            annotations[SPEC] = write_spec(tracked.pod.spec)
        gang, node = tracked.pod.spec.gang.name, tracked.info.node
        self._requests.append(partial(self._admit_quietly, tracked, gang, node, annotations))

    def _admit_quietly(self, tracked: Tracked, gang: str, node: str, annotations: dict[str, str]) -> None:
        """Whoever has decided tries again later where it fails, until the gate is seen to be open."""
        seen = tracked.seen
        if tracked.leaving or not seen.gated:
            return
        try:
            self._prepare_request(gang)
            self.source.admit(seen, node, annotations)
            self.scheduler.history.admitted(seen.key, gang, node)
        except Exception as error:
            self.metrics.failures.labels("admit").inc()
            log.warning("pod %s could not be admitted to %s: %s", seen.key, node, error)
            why = str(error)
            with suppress(NotServingError):
                if self._engine is not None:
                    self._engine.submit(lambda scheduler: scheduler.admission.failed(seen.uid, why))

    def _tell_later(self, tracked: Tracked, reason: str) -> None:
        seen = tracked.seen
        log.info("pod %s waits: %s", seen.key, reason)
        self._requests.append(lambda: self._notes.submit(self._tell_quietly, seen, reason))

    def _tell_quietly(self, seen: PodObject, reason: str) -> None:
        try:
            self._require_leadership()
            self.source.tell_pod(seen, "Waiting", reason)
        except Exception as error:
            self.metrics.failures.labels("event").inc()
            log.info("the reason why pod %s waits could not be reported: %s", seen.key, error)

    def _delete_later(self, tracked: Tracked) -> None:
        gang = self.allocator.homes.get(tracked.seen.uid)
        stronger = tuple(x.name for x in preemptors(gang)) if gang is not None else ()
        node = tracked.info.node if tracked.info is not None else ""
        self._requests.append(
            partial(self._delete_quietly, tracked.seen, gang.name if gang is not None else "", node, stronger)
        )

    def _delete_quietly(self, seen: PodObject, gang: str, node: str, stronger: tuple[str, ...]) -> None:
        """`stronger`: the gangs that it makes room for, if it is a victim."""
        try:
            self._prepare_request(*stronger)
            self.source.delete(seen)
            if stronger:
                self.scheduler.history.evicted(seen.key, gang, node, stronger)
        except Exception as error:
            self.metrics.failures.labels("delete").inc()
            uid, why = seen.uid, str(error)
            with suppress(NotServingError):
                if self._engine is not None:
                    self._engine.submit(lambda scheduler: scheduler.deletion_failed(uid, why))

    def _evict_later(self, preemptor: Gang, victims: Mapping[Gang, tuple[Tracked, ...]]) -> None:
        """Unless that is under way: the scheduler asks again for pods that do not leave."""
        if preemptor not in self._asked:
            self._asked.add(preemptor)
            stronger = {victim: tuple(x.name for x in preemptors(victim)) for victim in victims}
            eviction = Eviction(preemptor, victims, stronger)
            self._requests.append(lambda: self._evictors.submit(self._evict_quietly, eviction))

    def _evict_quietly(self, eviction: Eviction) -> None:
        """All pods of all victims, or none. What fails is reported to the scheduler, which tries it again."""
        try:
            self._prepare_request(*dict.fromkeys(name for names in eviction.stronger.values() for name in names))
            self._evict_together(eviction)
        except Exception as error:
            self._eviction_failed(eviction, error)
        finally:
            self._asked.discard(eviction.preemptor)

    def _evict_together(self, eviction: Eviction) -> None:
        """Raises what the source raises, where no pod should be evicted, or no other one: a budget may have shrunk
        since it was read.

        A pod that is gone already was not evicted from here. Whether the others have to follow it, the watch decides:
        it tells whether the pod was deleted, or has done its work.
        """
        victims = {x: pods for x, pods in eviction.victims.items() if x.state is AffinityGroupState.BEING_PREEMPTED}
        self.source.check_budgets({x.name: [y.seen for y in pods if not y.leaving] for x, pods in victims.items()})
        for victim, pods in victims.items():
            for tracked in pods:
                eviction.pod = f"pod {tracked.seen.key} of gang {victim.name}"
                if not tracked.leaving and self.source.evict(tracked.seen):
                    eviction.accepted.add(tracked.seen.uid)
                    node = tracked.info.node if tracked.info is not None else ""
                    self.scheduler.history.evicted(tracked.seen.key, victim.name, node, eviction.stronger[victim])

    def _eviction_failed(self, eviction: Eviction, error: Exception) -> None:
        by_budget = isinstance(error, BudgetError)
        if by_budget:
            self.metrics.refused_evictions.inc()
        else:
            self.metrics.failures.labels("evict").inc()
        if eviction.pod:
            why = f"{eviction.pod} cannot be evicted: {error}"
        else:
            why = str(error) if by_budget else f"the eviction failed: {error}"
        preemptor, victims, accepted = eviction.preemptor, eviction.victims, eviction.accepted
        staying = [x.name for x, pods in victims.items() if not any(y.seen.uid in accepted for y in pods)]
        if self.scheduler.history.eviction_refused(preemptor.name, staying, why, by_budget=by_budget):
            log.warning("gang %s waits for gangs that are not evicted: %s", preemptor.name, why)
        seconds = error.seconds if isinstance(error, OverloadError) else None
        seconds = EVICTION_RETRY_INTERVAL if seconds is None else seconds
        if self._engine is not None:
            with suppress(NotServingError):
                self._engine.submit(
                    lambda scheduler: scheduler.eviction_failed(preemptor, victims, accepted, why, seconds)
                )

    def _refresh_later(self, tracked: Tracked) -> None:
        self._binders.submit(self._refresh, tracked.seen)

    def _refresh(self, seen: PodObject) -> None:
        """Whatever comes of it is told to the scheduler, in a cycle."""
        assert self._engine is not None, "it has asked"
        with suppress(NotServingError):
            try:
                now = self.source.fetch(seen)
            except Exception as error:
                self.metrics.failures.labels("fetch").inc()
                log.warning("cannot determine the status of pod %s: %s", seen.key, error)
                self._engine.submit(lambda scheduler: scheduler.renew(seen.uid))
            else:
                self._engine.submit(lambda scheduler: scheduler.settle(seen.uid, now))

    # End

    def stop(self) -> None:
        """Finishes what is under way, and lets go of the cluster and the journal."""
        self._stopping = True
        if self._beginning.is_alive():
            if self._election is not None:
                self._election.close()
            self.source.close()
            self._beginning.join()
        if self._engine is not None:
            self._engine.stop()
        self._binders.shutdown()
        self._evictors.shutdown(cancel_futures=True)
        self._notes.shutdown(cancel_futures=True)
        if self._election is not None:
            self._election.close()
        self.source.close()
        if self._scheduler is not None:
            self._scheduler.allocator.close()


def _says(seen: PodObject, spec: PodSpec) -> bool:
    """Whether the annotation of a pod alone says what was decided for it: then no other process needs more."""
    try:
        return read_spec(seen.spec, seen.namespace, seen.name) == spec
    except UserError:
        return False


def _tell(takeover: Recovered) -> None:
    """The effects of a changed configuration on running gangs."""
    if not (takeover.demoted or takeover.missing or takeover.refused):
        log.info("the configuration has changed; all gangs continue as they were")
    for name, why in takeover.demoted.items():
        log.warning("the configuration has changed; gang %s has lost its guarantee: %s", name, why)
    for name, lost in takeover.missing.items():
        log.warning("the configuration has changed; gang %s has lost devices: %s", name, "; ".join(lost))
    for uid, why in takeover.refused.items():
        log.warning("the configuration has changed; pod with uid %s no longer has a place: %s", uid, why)
