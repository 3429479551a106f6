"""What has happened to gangs and nodes, as events with words; and how full the cluster was.

Kept in memory: a restart begins with an empty history. What the log of the process has survives longer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from threading import Lock
from time import time
from typing import NamedTuple, assert_never

from generated.hived import AffinityGroupState as State
from runtime.durable import DurableAllocator
from runtime.gangs import Gang
from runtime.pods import OPPORTUNISTIC
from runtime.preemption.victims import displaced, reserver
from runtime.service.objects import NodeObject
from runtime.service.tally import Fate, Tally

MAX_EVENTS = 10_000
MAX_NAMES = 8
"""Maximum number of names of nodes or gangs in one event."""
SAMPLE_INTERVAL = 15.0
"""Seconds between two samples of the usage."""
MAX_SAMPLES = 5760
"""Maximum number of samples: one day."""


WAITING = (State.PENDING, State.PREEMPTING)


class Kind(Enum):
    """What can happen."""

    STARTED = "Started"
    SUBMITTED = "Submitted"
    PLACED = "Placed"
    RESERVED = "Reserved"
    CALLED_OFF = "CalledOff"
    ASKED_TO_LEAVE = "AskedToLeave"
    STAYS = "Stays"
    DEMOTED = "Demoted"
    JOURNALED = "Journaled"
    EVICTED = "Evicted"
    EVICTION_REFUSED = "EvictionRefused"
    ADMITTED = "Admitted"
    BOUND = "Bound"
    LEFT = "Left"
    ENDED = "Ended"
    NODE_BAD = "NodeBad"
    NODE_HEALTHY = "NodeHealthy"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that has happened."""

    number: int
    """Rises by one with each event."""
    time: float
    """Seconds since the epoch."""
    kind: Kind
    gang: str = ""
    tenant: str = ""
    """The virtual cluster of the gang."""
    nodes: tuple[str, ...] = ()
    """Where the gang is, or the node that it happened to."""
    others: tuple[str, ...] = ()
    """Other gangs involved: the gang that it leaves for, or the gangs that leave for it."""
    detail: str = ""
    pods: tuple[str, ...] = ()
    """Namespace and name of the pods that it happened to, where it did not happen to the gang as a whole."""

    @property
    def text(self) -> str:
        """A sentence."""
        return _sentence(self)


def _sentence(event: Event) -> str:
    who, nodes, others = event.gang, _enumerate(event.nodes), _enumerate(event.others)
    pods = _enumerate(event.pods)
    match event.kind:
        case Kind.STARTED:
            return f"the allocator started: {event.detail}"
        case Kind.SUBMITTED:
            return f"{who} was submitted to {event.tenant or 'no virtual cluster'}: {event.detail}"
        case Kind.PLACED:
            return f"{who} was placed on {nodes}" + (f", {event.detail}" if event.detail else "")
        case Kind.RESERVED:
            return f"{who} has reserved cells on {nodes}, and waits for {others or 'others'} to leave"
        case Kind.CALLED_OFF:
            return f"{who} has given back what it had reserved, and waits again"
        case Kind.ASKED_TO_LEAVE:
            return f"{who} was asked to leave {nodes} for {others or 'a stronger gang'}"
        case Kind.STAYS:
            return f"{who} stays: its cells are no longer needed"
        case Kind.DEMOTED:
            return f"{who} has lost its guarantee to {others or 'a changed configuration'}, and runs opportunistically"
        case Kind.JOURNALED:
            return f"the decision about {who} is in the journal, on the disk"
        case Kind.EVICTED:
            return f"{pods} of {who} was evicted from {nodes} for {others or 'a stronger gang'}"
        case Kind.EVICTION_REFUSED:
            return f"{who} is not evicted for {others or 'a stronger gang'}: {event.detail}"
        case Kind.ADMITTED:
            return f"{pods} of {who} was admitted to {nodes}"
        case Kind.BOUND:
            return f"{pods} of {who} was bound to {nodes}"
        case Kind.LEFT:
            return f"{who} has left {nodes} for {others or 'a stronger gang'}"
        case Kind.ENDED:
            return f"{who} has ended" + (f" on {nodes}" if nodes else "; it had no place")
        case Kind.NODE_BAD:
            return f"{nodes} is bad: {event.detail}"
        case Kind.NODE_HEALTHY:
            return f"{nodes} is healthy again"
        case _:
            assert_never(event.kind)


def _enumerate(names: tuple[str, ...]) -> str:
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


class Sample(NamedTuple):
    """How full the cluster was."""

    time: float
    guaranteed: int
    """Devices in use with a guarantee."""
    opportunistic: int
    devices: int
    waiting: int
    """Gangs."""


class Refusal(NamedTuple):
    """The victims of a gang are not evicted."""

    why: str
    victims: frozenset[str]
    """Those that have not begun to leave."""
    by_budget: bool
    """A disruption budget forbids it; otherwise the eviction fails for another reason."""


class _GangState(NamedTuple):
    """A gang as it was."""

    state: State
    demoted: bool
    tenant: str
    nodes: tuple[str, ...]
    others: tuple[str, ...]
    guaranteed: bool
    pods: int
    """Those with places; of a gang that is being preempted, as many as there were when that began."""
    since: float
    """When it began to wait, in seconds since the epoch; 0 where it does not wait."""


class History:
    """Changes of gangs and nodes are written by the thread that runs cycles; answers of the API server by any thread,
    as are `journaled` and what is read."""

    def __init__(self, now: Callable[[], float] = time, tenants: Collection[str] = ()) -> None:
        """`tenants`: the names of the virtual clusters that are configured."""
        self.tally = Tally(tenants)
        self._now = now
        self._lock = Lock()
        self._events: deque[Event] = deque(maxlen=MAX_EVENTS)
        self._samples: deque[Sample] = deque(maxlen=MAX_SAMPLES)
        self._number = 0
        self._states: dict[str, _GangState] = {}
        self._journaled: set[str] = set()
        """Gangs whose last decision is known to be in the journal."""
        self._refusals: dict[str, Refusal] = {}
        """By gang that preempts."""

    # Writing

    def begin(self, allocator: DurableAllocator) -> None:
        """What there is already has happened before."""
        with self._lock:
            self._events.clear()
            self._journaled = set(allocator.gangs)
            self._refusals.clear()
        self._states = {name: _state_of(gang, None, self._now()) for name, gang in allocator.gangs.items()}
        placed = sum(len(gang.assigned) for gang in allocator.gangs.values())
        self._record(Kind.STARTED, detail=f"{len(self._states)} gangs are known, {placed} pods have places")

    def record_changes(self, allocator: DurableAllocator, names: Iterable[str]) -> None:
        """Records how these gangs differ from when they were last looked at."""
        for name in names:
            gang, before = allocator.gangs.get(name), self._states.get(name)
            if gang is None:
                if before is not None:
                    self._ended(name, before)
                    del self._states[name]
                continue
            after = self._states[name] = _state_of(gang, before, self._now())
            self._changed(gang, before, after)

    def node(self, before: NodeObject | None, after: NodeObject | None, name: str) -> None:
        """A node is different, or is gone."""
        was, now = before is not None and before.healthy, after is not None and after.healthy
        if now and not was:
            self._record(Kind.NODE_HEALTHY, nodes=(name,))
        elif was and not now:
            self._record(Kind.NODE_BAD, nodes=(name,), detail=after.reason if after is not None else "it is gone")

    def journaled(self, gang: str, nodes: tuple[str, ...] = ()) -> None:
        """What was decided about a gang is on the disk; told once. For the function that has waited for the disk."""
        with self._lock:
            if gang in self._journaled:
                return
            self._journaled.add(gang)
        self._record(Kind.JOURNALED, gang, nodes=nodes)

    def evicted(self, pod: str, gang: str, node: str, preemptors: Iterable[str]) -> None:
        """The API server has accepted that a pod leaves."""
        with self._lock:
            self._refusals = {
                name: x._replace(victims=x.victims - {gang})
                for name, x in self._refusals.items()
                if not x.victims <= {gang}
            }
        self._record(Kind.EVICTED, gang, nodes=(node,), others=tuple(preemptors), pods=(pod,))

    def eviction_refused(self, preemptor: str, victims: Iterable[str], why: str, *, by_budget: bool) -> bool:
        """The victims of a gang that have not begun to leave are not evicted. Answers whether the reason is new. There
        are events where it is, and of victims that it did not keep before."""
        after = Refusal(why, frozenset(victims), by_budget)
        with self._lock:
            before = self._refusals.get(preemptor)
            self._refusals[preemptor] = after
        is_known = before is not None and before.why == why
        for victim in sorted(after.victims - before.victims if before is not None and is_known else after.victims):
            self._record(Kind.EVICTION_REFUSED, victim, others=(preemptor,), detail=why)
        return not is_known

    def admitted(self, pod: str, gang: str, node: str) -> None:
        """The scheduling gate of a pod is gone, and its place is written on it."""
        self._record(Kind.ADMITTED, gang, nodes=(node,), pods=(pod,))

    def bound(self, pod: str, gang: str, node: str) -> None:
        """The API server has accepted our binding of a pod."""
        self._record(Kind.BOUND, gang, nodes=(node,), pods=(pod,))

    def sample(self, allocator: DurableAllocator) -> None:
        """How full the cluster is, if it is time. Costs a look at all gangs."""
        now = self._now()
        if self._samples and now - self._samples[-1].time < SAMPLE_INTERVAL:
            return
        guaranteed = opportunistic = waiting = 0
        for gang in allocator.gangs.values():
            if gang.is_waiting:
                waiting += 1
            elif gang.priority == OPPORTUNISTIC:
                opportunistic += len(gang.virtual)
            else:
                guaranteed += len(gang.virtual)
        devices = sum(len(forest.levels[1]) for forest in allocator.cluster.forests.values())
        with self._lock:
            self._samples.append(Sample(now, guaranteed, opportunistic, devices, waiting))

    def _record(
        self,
        kind: Kind,
        gang: str = "",
        tenant: str = "",
        nodes: tuple[str, ...] = (),
        others: tuple[str, ...] = (),
        detail: str = "",
        pods: tuple[str, ...] = (),
    ) -> None:
        with self._lock:
            self._number += 1
            self._events.append(Event(self._number, self._now(), kind, gang, tenant, nodes, others, detail, pods))

    def _changed(self, gang: Gang, before: _GangState | None, after: _GangState) -> None:
        name, tenant = gang.name, after.tenant
        was = State.PENDING if before is None else before.state
        if before is None:
            pods = sum(gang.spec.gang.sizes.values())
            detail = f"{pods} pods, {gang.spec.gang.leaf_cells} devices, priority {gang.spec.priority}"
            self._record(Kind.SUBMITTED, name, tenant, detail=detail)
        if after.demoted and not (before is not None and before.demoted):
            stronger = gang.demotion.preemptor if gang.demotion is not None else ""
            self._record(Kind.DEMOTED, name, tenant, after.nodes, (stronger,) if stronger else ())
            if stronger:
                self.tally.preempted(self._now(), tenant, after.pods, Fate.DEMOTED, guaranteed=True)
        if was is after.state:
            return
        if State.BEING_PREEMPTED not in (was, after.state):
            self._forget(name)
        match after.state:
            case State.ALLOCATED:
                kind = Kind.STAYS if was is State.BEING_PREEMPTED else Kind.PLACED
                detail = "as reserved" if was is State.PREEMPTING else ""
                self._record(kind, name, tenant, after.nodes, detail=detail)
                if was in WAITING:
                    began = self._now() if before is None else before.since
                    self.tally.placed(tenant, max(0.0, self._now() - began))
            case State.PREEMPTING:
                self._record(Kind.RESERVED, name, tenant, after.nodes, after.others)
            case State.BEING_PREEMPTED:
                self._record(Kind.ASKED_TO_LEAVE, name, tenant, after.nodes, after.others)
            case State.PENDING if was is State.PREEMPTING:
                self._record(Kind.CALLED_OFF, name, tenant)
            case _ if before is not None:
                self._ended(name, before)

    def _forget(self, name: str) -> None:
        """What is decided about a gang now is not in the journal yet."""
        with self._lock:
            self._journaled.discard(name)
            self._refusals.pop(name, None)

    def _ended(self, name: str, before: _GangState) -> None:
        self._forget(name)
        kind = Kind.LEFT if before.state is State.BEING_PREEMPTED else Kind.ENDED
        placed = before.state in (State.ALLOCATED, State.BEING_PREEMPTED)
        others = before.others if kind is Kind.LEFT else ()
        self._record(kind, name, before.tenant, before.nodes if placed else (), others)
        if kind is Kind.LEFT:
            self.tally.preempted(self._now(), before.tenant, before.pods, Fate.KILLED, guaranteed=before.guaranteed)

    # Reading

    def refusal(self, preemptor: str) -> str:
        """Why the victims of a gang are not evicted; empty where they are."""
        with self._lock:
            refusal = self._refusals.get(preemptor)
        return refusal.why if refusal is not None and self._staying(refusal) else ""

    def not_evicted(self, *, by_budget: bool) -> set[str]:
        """Victims that are not evicted, because a disruption budget forbids it, or for any other reason."""
        with self._lock:
            refusals = [x for x in self._refusals.values() if x.by_budget == by_budget]
        return {victim for refusal in refusals for victim in self._staying(refusal)}

    def _staying(self, refusal: Refusal) -> list[str]:
        """Those victims that still have to leave."""
        return [
            victim
            for victim in refusal.victims
            if (state := self._states.get(victim)) is not None and state.state is State.BEING_PREEMPTED
        ]

    def waiting_since(self, gang: str) -> float:
        """When a gang that waits began to, in seconds since the epoch: as far as this process has seen."""
        state = self._states.get(gang)
        return state.since if state is not None and state.since else self._now()

    def waited(self, gang: str) -> float:
        """For how many seconds a gang that waits has done so."""
        return max(0.0, self._now() - self.waiting_since(gang))

    def events(
        self, since: float = 0.0, gang: str = "", node: str = "", tenant: str = "", after: int = 0
    ) -> list[Event]:
        """Oldest first: since a time, after a number, of a gang, a node, a virtual cluster."""
        with self._lock:
            events = list(self._events)
        return [
            event
            for event in events
            if event.time >= since
            and event.number > after
            and (not gang or gang == event.gang or gang in event.others)
            and (not node or node in event.nodes)
            and (not tenant or tenant == event.tenant)
        ]

    def samples(self, since: float = 0.0) -> list[Sample]:
        """Oldest first."""
        with self._lock:
            return [sample for sample in self._samples if sample.time >= since]


def _state_of(gang: Gang, before: _GangState | None, now: float) -> _GangState:
    nodes = tuple(gang.places.nodes)
    match gang.state:
        case State.PREEMPTING:
            others = sorted(x.name for x in displaced(gang.virtual))
        case State.BEING_PREEMPTED:
            others = sorted({x.name for x in map(reserver, gang.virtual) if x is not None})
        case _:
            others = []
    pods, since = len(gang.assigned), 0.0
    if gang.is_waiting:
        since = before.since if before is not None and before.since else now
    elif gang.state is State.BEING_PREEMPTED and before is not None:
        pods = max(pods, before.pods)
    tenant, guaranteed = gang.spec.virtual_cluster, gang.priority != OPPORTUNISTIC
    return _GangState(gang.state, gang.machine.demoted, tenant, nodes, tuple(others), guaranteed, pods, since)
