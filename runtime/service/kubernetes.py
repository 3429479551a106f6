"""A cluster of Kubernetes: what happens to its nodes and pods is watched, and pods are bound through its API.

Nodes and pods are each watched by a thread. It lists what there is, and follows from there; when a connection ends, it
goes on from the last version that it has seen, and only when the server has forgotten that version does it list again.
What is then missing is gone. The API server tells of each kind in the order in which things happened, so that an event
of a version that has been seen is late or told twice, and means nothing.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from random import uniform
from threading import Condition, Event, Thread
from time import monotonic
from typing import Any
from uuid import uuid4

from runtime.annotations import ISOLATION
from runtime.errors import UserError
from runtime.service.api import Api, ApiError, Kind, selects
from runtime.service.gates import admission_patch
from runtime.service.objects import NodeObject, PodObject, read_node, read_pod
from runtime.service.pod_groups import PodGroupObject, read_pod_group
from runtime.service.source import BudgetError, Change, EndedError, OverloadError

log = logging.getLogger(__name__)

MIN_PAUSE, MAX_PAUSE = 0.25, 30.0
"""Seconds between two attempts; each failure doubles them."""
ABSENT_PAUSE = 300.0
"""Seconds until PodGroups are looked for again, where the server has none or does not permit it."""
ESSENTIAL = (Kind.NODES, Kind.PODS)
"""What the allocator cannot do without. PodGroups are watched where there are any."""
MAX_ADMISSION_ATTEMPTS = 3
"""Maximum number of patches in one attempt to admit a pod that others change meanwhile."""
EVENTS_BY = "hivedscheduler.microsoft.com/allocator"
"""The controller that reports Events."""
MAX_NOTE = 1024
"""Maximum number of characters of the note of an Event, as the API server allows."""
MAX_NAMED = 8
"""Maximum number of gangs that are named in a message."""
MIN_WATCH_SECONDS = 10.0
"""Number of seconds after which a watch that ends does not count as a failure."""


class KubernetesSource:
    """A cluster behind an API server."""

    lists_all = True

    def __init__(self, api: Api) -> None:
        self._api = api
        self._changed = Condition()
        self._changes: list[Change] = []
        self._complete: set[Kind] = set()
        self._heard = dict.fromkeys(ESSENTIAL, monotonic())
        """When the server has last answered, or told something."""
        self._failure: Exception | None = None
        self._ended = Event()
        self._begun = False

    # What happens

    def poll(self) -> list[Change]:
        """What has happened since. The first time, all that there is, when both lists are complete.

        Raises `UserError` where it may not be listed, and `EndedError` when it is closed meanwhile.
        """
        with self._changed:
            if not self._begun:
                self._begin()
            if self._failure is not None:
                raise self._failure
            changes, self._changes = self._changes, []
        return changes

    def _begin(self) -> None:
        self._begun = True
        for kind in Kind:
            Thread(target=Watch(self, self._api, kind).run, name=f"watch {kind.value}", daemon=True).start()
        self._changed.wait_for(lambda: self._complete.issuperset(ESSENTIAL) or self._failure or self.ended)
        if self.ended:
            raise EndedError

    def tell(self, changes: list[Change]) -> None:
        """These things have happened."""
        with self._changed:
            self._changes += changes

    def tell_all(self, kind: Kind, changes: list[Change]) -> None:
        """The same, after a list."""
        with self._changed:
            self._changes += changes
            self._complete.add(kind)
            self._changed.notify_all()

    def refuse(self, kind: Kind, error: ApiError) -> None:
        """The server does not let us list; at the beginning, that is the end."""
        with self._changed:
            if kind in ESSENTIAL and kind not in self._complete:
                self.fail(
                    UserError(
                        f"the API server does not let this account list and watch {kind.value}: {error}; it needs a"
                        f" ClusterRole with the verbs get, list and watch on nodes and pods, and create on pods/binding"
                    )
                )

    def fail(self, error: Exception) -> None:
        """Stops the watches; polling raises an error."""
        with self._changed:
            self._failure = error
            self._changed.notify_all()

    def hear(self, kind: Kind) -> None:
        """The server has told something, if only that nothing has happened."""
        if kind in self._heard:
            self._heard[kind] = monotonic()

    def silence(self) -> float:
        """Of nodes or pods, whichever is longer. A watch that is well ends, and begins again, every minute."""
        return monotonic() - min(self._heard.values())

    @property
    def ended(self) -> bool:
        """Whether the source was closed."""
        return self._ended.is_set()

    def sleep(self, seconds: float) -> None:
        """Unless it ends."""
        self._ended.wait(seconds)

    def close(self) -> None:
        """Ends the watches, each with its next event at the latest."""
        self._ended.set()
        with self._changed:
            self._changed.notify_all()
        self._api.close()

    # Single pods

    def fetch(self, pod: PodObject) -> PodObject | None:
        """The pod as it is now, as the server says; none where it is gone."""
        document = self._api.pod(pod.namespace, pod.name)
        now = read_pod(document) if document is not None else None
        return now if now is not None and now.uid == pod.uid else None

    def bind(self, pod: PodObject, node: str, annotations: Mapping[str, str]) -> None:
        """Binds a pod. That it was bound to this node before is no error: an answer may have been lost."""
        try:
            self._api.bind(pod, node, annotations)
        except ApiError as error:
            if error.code not in (404, 409):
                raise
            now = self.fetch(pod)
            if now is None:
                raise UserError(f"there is no pod {pod.key} with uid {pod.uid} any more") from error
            if now.node != node:
                where = f"; it is bound to {now.node}" if now.node else ""
                raise UserError(f"pod {pod.key} cannot be bound to {node}: {error}{where}") from error

    def admit(self, pod: PodObject, node: str, annotations: Mapping[str, str]) -> None:
        """Opens the gate of a pod. That it has been admitted there before is no error: an answer may have been lost.

        Where others have changed the pod meanwhile, it is read and patched again. Raises `UserError` and `ApiError`.
        """
        for attempt in range(MAX_ADMISSION_ATTEMPTS):
            try:
                self._api.patch(pod, admission_patch(pod, node, annotations))
                return
            except ApiError as error:
                if error.code not in (404, 409, 422):
                    raise
                now = self.fetch(pod)
                if now is None:
                    raise UserError(f"there is no pod {pod.key} with uid {pod.uid} any more") from error
                if not now.gated:
                    if now.place == node and now.isolation == annotations.get(ISOLATION, now.isolation):
                        return
                    devices = f", with the devices {now.isolation}" if now.isolation else ""
                    where = f"it is on {now.place}{devices}" if now.place else "it has no place written on it"
                    raise UserError(f"the gate of pod {pod.key} was removed by somebody else; {where}") from error
                if attempt == MAX_ADMISSION_ATTEMPTS - 1:
                    raise
                pod = now

    def tell_pod(self, pod: PodObject, reason: str, note: str) -> None:
        """Creates an Event of the pod. Raises `ApiError`."""
        now = datetime.now(UTC)
        self._api.tell(
            {
                "apiVersion": "events.k8s.io/v1",
                "kind": "Event",
                "metadata": {"name": f"{pod.name[:200]}.{uuid4().hex[:16]}", "namespace": pod.namespace},
                "eventTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                "type": "Normal",
                "reason": reason,
                "action": "Admission",
                "note": note[:MAX_NOTE],
                "reportingController": EVENTS_BY,
                "reportingInstance": socket.gethostname()[:128],
                "regarding": {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "namespace": pod.namespace,
                    "name": pod.name,
                    "uid": pod.uid,
                },
            }
        )

    def delete(self, pod: PodObject) -> None:
        """Has a pod deleted. One that is gone, or whose name another one has, means nothing."""
        try:
            self._api.delete(pod)
        except ApiError as error:
            if error.code not in (404, 409):
                raise

    def evict(self, pod: PodObject) -> bool:
        """The same, unless a disruption budget forbids it. Answers whether the server has accepted it."""
        try:
            with _overload():
                self._api.evict(pod)
        except ApiError as error:
            if error.budget:
                raise BudgetError(error.budget) from error
            if error.code not in (404, 409):
                raise
            return False
        return True

    def check_budgets(self, gangs: Mapping[str, Collection[PodObject]]) -> None:
        """An eviction is checked for one pod at a time; this checks all pods together.

        It may count more than the server does, which lets pods that are not ready go while their budget is kept without
        them. What it permits, the server permits, unless something changes in between.
        """
        pods = {pod.uid: pod for gang in gangs.values() for pod in gang}
        gang_by_uid = {pod.uid: name for name, gang in gangs.items() for pod in gang}
        for namespace in sorted({pod.namespace for pod in pods.values()}):
            with _overload():
                budgets = self._api.budgets(namespace)
                guarded = self._api.guarded_pods(namespace) if budgets else {}
            labels = {uid: guarded[uid] for uid in pods if uid in guarded}
            covering = {uid: [x.name for x in budgets if selects(x.selector, labels[uid])] for uid in labels}
            for uid, names in covering.items():
                if len(names) > 1:
                    both = " and ".join(f"{namespace}/{name}" for name in names)
                    raise BudgetError(
                        f"disruption budgets {both} cover pod {pods[uid].key} of gang"
                        f" {gang_by_uid[uid]}, and Kubernetes does not evict pods that several budgets cover"
                    )
            for budget in budgets:
                uids = [uid for uid, names in covering.items() if budget.name in names]
                if len(uids) > budget.allowed:
                    raise BudgetError(
                        f"disruption budget {namespace}/{budget.name} covers {_count_pods(len(uids))} of"
                        f" {_name_gangs(gang_by_uid[uid] for uid in uids)}, and now lets {budget.allowed} go"
                    )


@contextmanager
def _overload() -> Iterator[None]:
    """Reports that the server wants to be asked later. Flow control has the status of a disruption budget."""
    try:
        yield
    except ApiError as error:
        if error.budget or (error.code != 429 and error.retry_after is None):
            raise
        raise OverloadError(f"the API server is busy: {error}", error.retry_after) from error


def _count_pods(number: int) -> str:
    return f"{number} pod{'' if number == 1 else 's'}"


def _name_gangs(gangs: Iterable[str]) -> str:
    names = list(dict.fromkeys(gangs))
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"gang{'' if len(names) == 1 else 's'} {', '.join(names[:MAX_NAMED])}{more}"


class Watch:
    """Follows nodes, or pods."""

    def __init__(self, source: KubernetesSource, api: Api, kind: Kind) -> None:
        self._source = source
        self._api = api
        self._kind = kind
        self._objects: dict[str, NodeObject | PodObject | PodGroupObject] = {}
        """As they were last told: nodes by name, our pods by uid."""
        self._version = ""
        """Up to which everything is known; empty where that has to be listed."""
        self._progress = False

    def run(self) -> None:
        """Until the source ends."""
        try:
            self._run()
        except Exception as error:
            log.exception("watching %s cannot continue", self._kind.value)
            self._source.fail(error)

    def _run(self) -> None:
        pause = MIN_PAUSE
        while not self._source.ended:
            begun, self._progress = monotonic(), False
            try:
                if not self._version:
                    self._list()
                self._follow()
            except ApiError as error:
                self._fail(error)
                if self._absent(error):
                    self._source.sleep(ABSENT_PAUSE)
            if self._progress or monotonic() - begun > MIN_WATCH_SECONDS:
                pause = MIN_PAUSE
            self._source.sleep(uniform(pause / 2, pause))
            pause = min(2 * pause, MAX_PAUSE)

    def _fail(self, error: ApiError) -> None:
        """Without an answer, it goes on where it was. With any other than the wanted one, it begins with a list."""
        if self._source.ended:
            return
        if error.code:
            self._version = ""
        if error.code in (401, 403):
            self._source.refuse(self._kind, error)
        level = logging.INFO if error.code == 410 or self._absent(error) else logging.WARNING
        log.log(level, "watching %s: %s; it continues", self._kind.value, error)

    def _absent(self, error: ApiError) -> bool:
        """Whether the server has nothing of a kind that is not essential, or does not show it."""
        return self._kind not in ESSENTIAL and error.code in (401, 403, 404)

    def _list(self) -> None:
        items, version = self._api.list(self._kind)
        objects = {}
        for item in items:
            thing = self._read(item)
            if thing is not None:
                objects[_key(thing)] = thing
        deleted = [Change(thing, deleted=True) for key, thing in self._objects.items() if key not in objects]
        new = [Change(thing, deleted=False) for key, thing in objects.items() if self._objects.get(key) != thing]
        self._objects, self._version, self._progress = objects, version, True
        self._source.hear(self._kind)
        self._source.tell_all(self._kind, [*deleted, *new])

    def _follow(self) -> None:
        for event in self._api.watch(self._kind, self._version):
            if self._source.ended:
                return
            self._source.hear(self._kind)
            metadata = event["object"].get("metadata")
            version = str(metadata.get("resourceVersion", "")) if isinstance(metadata, dict) else ""
            if not version or _late(version, self._version):
                continue
            if event.get("type") != "BOOKMARK":
                self._happen(event)
            self._version, self._progress = version, True
        self._source.hear(self._kind)

    def _happen(self, event: Mapping[str, Any]) -> None:
        thing = self._read(event["object"], is_tracked=True)
        if thing is None:
            return
        key = _key(thing)
        if isinstance(thing, PodObject) and not thing.ours:
            before = self._objects.get(key)
            if before is None:
                return
            if thing.node:
                thing = replace(thing, ours=True)
            elif event.get("type") != "DELETED":
                event = {"type": "DELETED"}
        if event.get("type") == "DELETED":
            if self._objects.pop(key, None) is not None:
                self._source.tell([Change(thing, deleted=True)])
        elif self._objects.get(key) != thing:
            self._objects[key] = thing
            self._source.tell([Change(thing, deleted=False)])

    def _read(self, item: object, *, is_tracked: bool = False) -> NodeObject | PodObject | PodGroupObject | None:
        """None where it is nothing to us: what cannot be meant is noted, and pods of others are passed over.

        `is_tracked`: they may have been ours, before somebody removed their gate.
        """
        try:
            thing = READERS[self._kind](item)
        except UserError as error:
            log.warning("watching %s: %s", self._kind.value, error)
            return None
        return None if isinstance(thing, PodObject) and not (thing.ours or is_tracked) else thing


READERS: dict[Kind, Callable[[object], NodeObject | PodObject | PodGroupObject]] = {
    Kind.NODES: read_node,
    Kind.PODS: read_pod,
    Kind.POD_GROUPS: read_pod_group,
}


def _key(thing: NodeObject | PodObject | PodGroupObject) -> str:
    match thing:
        case NodeObject(name=name):
            return name
        case PodObject(uid=uid):
            return uid
        case PodGroupObject(key=key):
            return key


def _late(version: str, seen: str) -> bool:
    """Versions are rising numbers, except with unusual servers."""
    return version.isdecimal() and seen.isdecimal() and int(version) <= int(seen)
