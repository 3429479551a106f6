"""The virtual clock: what happens when, and what an outer scheduler does about it.

1. the clock moves on to the next moment at which something happens
2. all that happens at this moment: gangs end or leave, nodes are repaired or fail, gangs come
3. gangs whose claimed leaf cells are free now get them
4. queues are asked: guaranteed ones, then opportunistic ones, of which those come first that use the least

A gang that is told to leave, or whose node fails, waits again, and has to do again what it did since its last
checkpoint.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import heappop, heappush
from math import floor, inf

from runtime.config import Configuration
from runtime.errors import UserError
from runtime.simulate.accounts import Accounts
from runtime.simulate.job import Job, Stage
from runtime.simulate.observe import Event, Kind, Observer, Observers
from runtime.simulate.outages import Outage
from runtime.simulate.queues import Queue, QueueKey, lane_of
from runtime.simulate.scheduler import Claimed, Ending, GangScheduler, Placed, Refused
from runtime.simulate.workload import Request


@dataclass(frozen=True, slots=True)
class Rules:
    """What the outer scheduler does, and what gangs do."""

    backfill: int = 50
    """How many gangs may go before the first of their queue."""
    grace: float = 30.0
    """Seconds from telling a gang to leave until it is gone."""
    checkpoint: float = 1800.0
    """Seconds of work between two checkpoints: 0 loses nothing, infinity all."""
    retry: float = 300.0
    """Seconds after which, while nodes are bad, all queues ask again if something was given back."""
    until: float = inf
    """When to stop, even if gangs still wait or run."""


# What happens first at a moment: the rank of an event.
LEAVE, FINISH, REPAIR, FAIL, RETRY, COME = range(6)


class Clock:
    """Virtual time, to be called for it."""

    __slots__ = ("time",)

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """What was there before is not looked through for garbage, and the rest not so often: a quarter of the time."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


class Simulation:
    """A workload on a cluster. `run` can be called once."""

    def __init__(
        self,
        configuration: Configuration,
        scheduler: GangScheduler,
        clock: Clock,
        requests: Sequence[Request],
        outages: Iterable[Outage] = (),
        rules: Rules | None = None,
        width: float | None = None,
    ) -> None:
        self.configuration = configuration
        self.scheduler = scheduler
        self.clock = clock
        self.rules = rules or Rules()
        self.jobs = [Job(request, number) for number, request in enumerate(requests)]
        self.queues: dict[QueueKey, Queue] = {}
        self.accounts = Accounts(configuration, self.jobs, lambda: self.waiting, width)
        self.waiting = 0
        """How many gangs wait now."""
        self.came = 0
        """How many have been submitted."""
        self.queries = 0
        """How often the scheduler was asked for a place."""
        self._by_name = {job.request.gang: job for job in self.jobs}
        self._on_node: dict[str, dict[Job, None]] = {}
        self._heap: list[tuple[float, int, int, Job | str, int]] = []
        """Time, rank, a running number; the gang and which of its runs, or the node and which of its outages."""
        self._serial = 0
        self._down: dict[str, int] = {}
        """By node: in how many outages it is at the moment."""
        self._claiming: dict[Job, None] = {}
        self._retrying = False
        self._observers = Observers()
        for job in self.jobs:
            self._at(job.request.submitted, COME, job)
        for outage in outages:
            self._at(outage.down, FAIL, outage.node)
            if outage.up is not None:
                self._at(outage.up, REPAIR, outage.node)

    def run(self, observers: Sequence[Observer] = ()) -> None:
        """Until all gangs have ended, or until the end that the rules set."""
        with seldom_collecting():
            self._run(Observers(observers))

    def _run(self, observers: Observers) -> None:
        self._observers = observers
        self._observers.begin(self.scheduler.face, self.accounts.capacity)
        open_jobs = len(self.jobs)
        while self._heap and open_jobs and self._heap[0][0] <= self.rules.until:
            time = self._heap[0][0]
            self._observers.advance(time)
            self.accounts.ledger.advance(time)
            self.clock.time = time
            with self.scheduler.instant():
                while self._heap and self._heap[0][0] == time:
                    _, rank, _, what, run = heappop(self._heap)
                    self._happen(rank, what, run)
                self._claim()
                self._ask()
            open_jobs -= self.accounts.take_over()
        if self.rules.until < inf and open_jobs:
            self._observers.advance(self.rules.until)
            self.clock.time = max(self.clock.time, self.rules.until)
        self.accounts.ledger.finish(self.clock.time)
        self._observers.end(self.clock.time)

    def _at(self, time: float, rank: int, what: Job | str, run: int = 0) -> None:
        self._serial += 1
        heappush(self._heap, (time, rank, self._serial, what, run))

    def _tell(self, kind: Kind, job: Job, node: str = "", detail: str = "") -> None:
        request = job.request
        self._observers.event(Event(self.clock.time, kind, request.gang, request.tenant, node, detail))

    # What happens

    def _happen(self, rank: int, what: Job | str, run: int) -> None:
        match what:
            case _ if rank == RETRY:
                self._retrying = False
                for queue in self.queues.values():
                    queue.anything_new()
            case str():
                self._node(what, failed=rank == FAIL)
            case _ if rank == COME:
                self.came += 1
                self._tell(Kind.SUBMITTED, what)
                self._wait(what)
            case _ if run != what.runs or not what.stage.has_leaf_cells:
                pass  # that run is over already
            case _ if rank == FINISH:
                self._stop(what, Ending.FAILED if what.request.failed else Ending.FINISHED)
                what.stage = Stage.FAILED if what.request.failed else Stage.FINISHED
                self.accounts.ended(what, self.clock.time)
                self._tell(Kind.FAILED if what.request.failed else Kind.FINISHED, what)
            case _:
                self._stop(what, Ending.DISPLACED)
                what.preempted += 1
                self._tell(Kind.PREEMPTED, what)
                self._redo(what, "preempted")

    def _node(self, node: str, *, failed: bool) -> None:
        """A node that is in several outages at once is bad until the end of the last one."""
        self._down[node] = self._down.get(node, 0) + (1 if failed else -1)
        if self._down[node] != (1 if failed else 0):
            return
        hit = list(self._on_node.get(node, ())) if failed else []
        for job in hit:
            self._stop(job, Ending.LOST)
        self.scheduler.set_health(node, healthy=not failed)
        self.accounts.node(node, self.clock.time, healthy=not failed)
        kind = Kind.NODE_DOWN if failed else Kind.NODE_UP
        self._observers.event(Event(self.clock.time, kind, node=node))
        for job in hit:
            job.lost += 1
            self._tell(Kind.LOST, job, node)
            self._redo(job, "lost")
        for job in list(self._claiming):
            self._claimed(job)
        for queue in self.queues.values():
            queue.anything_new()

    def _wait(self, job: Job) -> None:
        """A gang waits for its turn."""
        job.stage, job.waiting_since = Stage.WAITING, self.clock.time
        self.waiting += 1
        self._queue(job).add(job)

    def _queue(self, job: Job) -> Queue:
        request = job.request
        key = QueueKey(request.tenant, request.guaranteed)
        if key not in self.queues:
            self.queues[key] = Queue(key, self.rules.backfill)
        return self.queues[key]

    def _start(self, job: Job, placed: Placed) -> None:
        job.waited += self.clock.time - job.waiting_since
        job.overtaken = 0
        if job.first_started is None:
            job.first_started = self.clock.time
        job.stage, job.started, job.placed = Stage.RUNNING, self.clock.time, placed
        job.runs += 1
        for node, _ in placed.pods:
            self._on_node.setdefault(node, {})[job] = None
        self.accounts.started(job, self.clock.time)
        left = job.request.duration - job.progress
        self._at(self.clock.time + left, FINISH, job, job.runs)
        self._tell(Kind.STARTED, job)

    def _stop(self, job: Job, ending: Ending) -> None:
        """The pods of a gang are gone, for whatever reason."""
        assert job.placed is not None, "it ran"
        for node, _ in job.placed.pods:
            self._on_node[node].pop(job, None)
        job.demoted = job.demoted or (job.request.lazy_preemption and self._is_demoted(job))
        self.scheduler.end(job.request, ending)
        self.accounts.stopped(job, self.clock.time)
        for claimant in job.claimants:
            claimant.victims.pop(job, None)
        job.claimants.clear()
        job.placed = None
        self._given_back(job.request.tenant, guaranteed=job.request.guaranteed)

    def _is_demoted(self, job: Job) -> bool:
        status = self.scheduler.face.group(job.request.gang)
        return status is not None and status.demotion is not None

    def _redo(self, job: Job, why: str) -> None:
        """A gang begins again where it was last saved."""
        ran = self.clock.time - job.started
        done, every = job.progress + ran, self.rules.checkpoint
        saved = done if every == 0 else floor(done / every) * every if every < inf else 0.0
        job.progress = min(max(saved, job.progress), job.request.duration)
        self.accounts.interrupted(job, done - job.progress, why)
        self._wait(job)

    def _given_back(self, tenant: str, *, guaranteed: bool) -> None:
        """Queues that may profit ask again.

        A virtual cluster depends on others only where nodes are bad: then its queues ask again from time to time.
        """
        for key, queue in self.queues.items():
            if not key.guaranteed:
                queue.stale = True
            elif not self.scheduler.isolated or (guaranteed and key.tenant == tenant):
                queue.anything_new()
        if self.accounts.rooms.bad and not self._retrying:
            self._retrying = True
            self._at(self.clock.time + self.rules.retry, RETRY, "")

    # Asking

    def _claim(self) -> None:
        """Gangs whose victims have all left get the leaf cells that they claimed."""
        while ready := [job for job in self._claiming if not job.victims]:
            for job in sorted(ready):
                if job in self._claiming and not job.victims:
                    self._claimed(job)

    def _claimed(self, job: Job) -> None:
        """A gang with a claim asks again."""
        answer = self._answer(job)
        for victim in job.victims:
            victim.claimants.pop(job, None)
        job.victims.clear()
        del self._claiming[job]
        match answer:
            case Placed():
                self.waiting -= 1
                self._start(job, answer)
            case Claimed(victims):
                self._reserve(job, victims)
            case Refused():
                job.stage = Stage.WAITING
                self._queue(job).add(job)
                self._given_back(job.request.tenant, guaranteed=True)

    def _reserve(self, job: Job, victims: Sequence[str]) -> None:
        """Those who are in the way are told to leave."""
        job.stage = Stage.CLAIMING
        self._claiming[job] = None
        self._tell(Kind.RESERVED, job)
        for name in victims:
            victim = self._by_name[name]
            job.victims[victim] = None
            victim.claimants[job] = None
            if victim.stage is Stage.RUNNING:
                victim.stage = Stage.LEAVING
                self._at(self.clock.time + self.rules.grace, LEAVE, victim, victim.runs)
                self._tell(Kind.EVICTED, victim, detail=job.request.gang)

    def _ask(self) -> None:
        """All queues, as long as they have a gang that may get a place."""
        for queue in self.queues.values():
            if queue.stale and queue.length:
                queue.look_again(self.accounts.rooms.may_fit)
        order = [queue for key, queue in self.queues.items() if queue.awake and key.guaranteed]
        rest = [queue for key, queue in self.queues.items() if queue.awake and not key.guaranteed]
        if len(rest) > 1:
            rest.sort(key=lambda queue: self.accounts.opportunistic(queue.key.tenant))
        for queue in (*order, *rest):
            while (job := queue.next()) is not None:
                self._ask_for(queue, job)

    def _ask_for(self, queue: Queue, job: Job) -> None:
        """A place for the next gang of a queue."""
        request = job.request
        if not request.guaranteed and not self.accounts.rooms.may_fit(request.leaf_type, request.sizes):
            if not self._refused_for_good(queue, job):
                queue.refuse(job)
            return
        match self._answer(job):
            case Placed() as placed:
                queue.take(job)
                self.waiting -= 1
                self._start(job, placed)
                self._overthrown(job)
            case Claimed(victims):
                queue.take(job)
                self._reserve(job, victims)
                self._overthrown(job)
            case Refused():
                if not self._refused_for_good(queue, job):
                    queue.refuse(job)

    def _answer(self, job: Job) -> Placed | Claimed | Refused:
        self.queries += 1
        try:
            return self.scheduler.ask(job.request)
        except UserError as error:
            return Refused(str(error))

    def _refused_for_good(self, queue: Queue, job: Job) -> bool:
        """Whether a gang could not run even alone: then it is gone. Asked once for each shape."""
        request = job.request
        if (lane_of(job), request.sizes) in queue.possible:
            return False
        reason = self.scheduler.hopeless(request)
        if not reason:
            queue.possible.add((lane_of(job), request.sizes))
            return False
        queue.take(job)
        self.waiting -= 1
        self.scheduler.end(request, Ending.REFUSED)
        job.stage, job.reason = Stage.REFUSED, reason
        self.accounts.ended(job, self.clock.time)
        self._tell(Kind.REFUSED, job, detail=reason)
        return True

    def _overthrown(self, job: Job) -> None:
        """A stronger gang may have taken what weaker ones of its virtual cluster had reserved: they wait again."""
        tenant, priority = job.request.tenant, job.request.priority
        for other in list(self._claiming):
            weaker = other.request.tenant == tenant and other.request.priority < priority
            if weaker and not self.scheduler.claims(other.request):
                self._claimed(other)
