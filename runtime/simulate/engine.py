"""The virtual clock: what happens when, and what an outer scheduler does about it.

1. the clock moves on to the next moment at which something happens
2. all that happens at this moment: gangs end or leave, nodes are repaired or fail, gangs come
3. whoever claimed leaf cells that are free now has them
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
from runtime.simulate.life import Life, Stage
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
        self.lives = [Life(request, number) for number, request in enumerate(requests)]
        self.queues: dict[QueueKey, Queue] = {}
        self.accounts = Accounts(configuration, self.lives, lambda: self.waiting, width)
        self.waiting = 0
        """How many gangs wait now."""
        self.came = 0
        """How many have been submitted."""
        self.asked = 0
        """How often the scheduler was asked for a place."""
        self._by_name = {life.request.gang: life for life in self.lives}
        self._on_node: dict[str, dict[Life, None]] = {}
        self._heap: list[tuple[float, int, int, Life | str, int]] = []
        """Time, rank, a running number; the gang and which of its runs, or the node and which of its outages."""
        self._serial = 0
        self._down: dict[str, int] = {}
        """By node: in how many outages it is at the moment."""
        self._claiming: dict[Life, None] = {}
        self._retrying = False
        self._observers = Observers()
        for life in self.lives:
            self._at(life.request.submitted, COME, life)
        for outage in outages:
            self._at(outage.down, FAIL, outage.node)
            if outage.up is not None:
                self._at(outage.up, REPAIR, outage.node)

    def run(self, observers: Sequence[Observer] = ()) -> None:
        """Until nobody runs or comes any more, or until the end that the rules set."""
        with seldom_collecting():
            self._run(Observers(observers))

    def _run(self, observers: Observers) -> None:
        self._observers = observers
        self._observers.begin(self.scheduler.face, self.accounts.capacity)
        open_lives = len(self.lives)
        while self._heap and open_lives and self._heap[0][0] <= self.rules.until:
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
            open_lives -= self.accounts.take_over()
        if self.rules.until < inf and open_lives:
            self._observers.advance(self.rules.until)
            self.clock.time = max(self.clock.time, self.rules.until)
        self.accounts.ledger.finish(self.clock.time)
        self._observers.end(self.clock.time)

    def _at(self, time: float, rank: int, what: Life | str, run: int = 0) -> None:
        self._serial += 1
        heappush(self._heap, (time, rank, self._serial, what, run))

    def _tell(self, kind: Kind, life: Life, node: str = "", detail: str = "") -> None:
        request = life.request
        self._observers.event(Event(self.clock.time, kind, request.gang, request.tenant, node, detail))

    # What happens

    def _happen(self, rank: int, what: Life | str, run: int) -> None:
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
            case _ if run != what.runs or what.stage not in (Stage.RUNNING, Stage.LEAVING):
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
        for life in hit:
            self._stop(life, Ending.LOST)
        self.scheduler.set_health(node, healthy=not failed)
        self.accounts.node(node, self.clock.time, healthy=not failed)
        kind = Kind.NODE_DOWN if failed else Kind.NODE_UP
        self._observers.event(Event(self.clock.time, kind, node=node))
        for life in hit:
            life.lost += 1
            self._tell(Kind.LOST, life, node)
            self._redo(life, "lost")
        for life in list(self._claiming):
            self._claimed(life)
        for queue in self.queues.values():
            queue.anything_new()

    def _wait(self, life: Life) -> None:
        """A gang waits for its turn."""
        life.stage, life.waiting_since = Stage.WAITING, self.clock.time
        self.waiting += 1
        self._queue(life).add(life)

    def _queue(self, life: Life) -> Queue:
        request = life.request
        key = QueueKey(request.tenant, request.guaranteed)
        if key not in self.queues:
            self.queues[key] = Queue(key, self.rules.backfill)
        return self.queues[key]

    def _start(self, life: Life, placed: Placed) -> None:
        life.waited += self.clock.time - life.waiting_since
        life.overtaken = 0
        if life.first_started is None:
            life.first_started = self.clock.time
        life.stage, life.started, life.placed = Stage.RUNNING, self.clock.time, placed
        life.runs += 1
        for node, _ in placed.pods:
            self._on_node.setdefault(node, {})[life] = None
        self.accounts.started(life, self.clock.time)
        left = life.request.duration - life.progress
        self._at(self.clock.time + left, FINISH, life, life.runs)
        self._tell(Kind.STARTED, life)

    def _stop(self, life: Life, ending: Ending) -> None:
        """The pods of a gang are gone, for whatever reason."""
        assert life.placed is not None, "it ran"
        for node, _ in life.placed.pods:
            self._on_node[node].pop(life, None)
        life.demoted = life.demoted or (life.request.lazy_preemption and self._is_demoted(life))
        self.scheduler.end(life.request, ending)
        self.accounts.stopped(life, self.clock.time)
        for claimant in life.claimants:
            claimant.victims.pop(life, None)
        life.claimants.clear()
        life.placed = None
        self._given_back(life.request.tenant, guaranteed=life.request.guaranteed)

    def _is_demoted(self, life: Life) -> bool:
        status = self.scheduler.face.group(life.request.gang)
        return status is not None and status.demotion is not None

    def _redo(self, life: Life, why: str) -> None:
        """A gang begins again where it was last saved."""
        ran = self.clock.time - life.started
        done, every = life.progress + ran, self.rules.checkpoint
        saved = done if every == 0 else floor(done / every) * every if every < inf else 0.0
        life.progress = min(max(saved, life.progress), life.request.duration)
        self.accounts.interrupted(life, done - life.progress, why)
        self._wait(life)

    def _given_back(self, tenant: str, *, guaranteed: bool) -> None:
        """Whoever waits for this asks again.

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
        """Whoever has nobody left to wait for has what it claimed."""
        while ready := [life for life in self._claiming if not life.victims]:
            for life in sorted(ready):
                if life in self._claiming and not life.victims:
                    self._claimed(life)

    def _claimed(self, life: Life) -> None:
        """A gang with a claim asks again."""
        answer = self._answer(life)
        for victim in life.victims:
            victim.claimants.pop(life, None)
        life.victims.clear()
        del self._claiming[life]
        match answer:
            case Placed():
                self.waiting -= 1
                self._start(life, answer)
            case Claimed(victims):
                self._reserve(life, victims)
            case Refused():
                life.stage = Stage.WAITING
                self._queue(life).add(life)
                self._given_back(life.request.tenant, guaranteed=True)

    def _reserve(self, life: Life, victims: Sequence[str]) -> None:
        """Those who are in the way are told to leave."""
        life.stage = Stage.CLAIMING
        self._claiming[life] = None
        self._tell(Kind.RESERVED, life)
        for name in victims:
            victim = self._by_name[name]
            life.victims[victim] = None
            victim.claimants[life] = None
            if victim.stage is Stage.RUNNING:
                victim.stage = Stage.LEAVING
                self._at(self.clock.time + self.rules.grace, LEAVE, victim, victim.runs)
                self._tell(Kind.EVICTED, victim, detail=life.request.gang)

    def _ask(self) -> None:
        """All queues, as long as they have somebody who may have a place."""
        for queue in self.queues.values():
            if queue.stale and queue.length:
                queue.look_again(self.accounts.rooms.may_fit)
        order = [queue for key, queue in self.queues.items() if queue.awake and key.guaranteed]
        rest = [queue for key, queue in self.queues.items() if queue.awake and not key.guaranteed]
        if len(rest) > 1:
            rest.sort(key=lambda queue: self.accounts.opportunistic(queue.key.tenant))
        for queue in (*order, *rest):
            while (life := queue.next()) is not None:
                self._ask_for(queue, life)

    def _ask_for(self, queue: Queue, life: Life) -> None:
        """A place for the next gang of a queue."""
        request = life.request
        if not request.guaranteed and not self.accounts.rooms.may_fit(request.leaf_type, request.sizes):
            if not self._refused_for_good(queue, life):
                queue.refuse(life)
            return
        match self._answer(life):
            case Placed() as placed:
                queue.take(life)
                self.waiting -= 1
                self._start(life, placed)
                self._overthrown(life)
            case Claimed(victims):
                queue.take(life)
                self._reserve(life, victims)
                self._overthrown(life)
            case Refused():
                if not self._refused_for_good(queue, life):
                    queue.refuse(life)

    def _answer(self, life: Life) -> Placed | Claimed | Refused:
        self.asked += 1
        try:
            return self.scheduler.ask(life.request)
        except UserError as error:
            return Refused(str(error))

    def _refused_for_good(self, queue: Queue, life: Life) -> bool:
        """Whether a gang could not run even alone: then it is gone. Asked once for each shape."""
        request = life.request
        if (lane_of(life), request.sizes) in queue.possible:
            return False
        reason = self.scheduler.hopeless(request)
        if not reason:
            queue.possible.add((lane_of(life), request.sizes))
            return False
        queue.take(life)
        self.waiting -= 1
        self.scheduler.end(request, Ending.REFUSED)
        life.stage, life.reason = Stage.REFUSED, reason
        self.accounts.ended(life, self.clock.time)
        self._tell(Kind.REFUSED, life, detail=reason)
        return True

    def _overthrown(self, life: Life) -> None:
        """A stronger gang may have taken what weaker ones of its virtual cluster had reserved: they wait again."""
        tenant, priority = life.request.tenant, life.request.priority
        for other in list(self._claiming):
            weaker = other.request.tenant == tenant and other.request.priority < priority
            if weaker and not self.scheduler.claims(other.request):
                self._claimed(other)
