"""Where nodes and pods come from, and where pods are bound."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Protocol

from runtime.annotations import ENABLE, SPEC
from runtime.errors import UserError
from runtime.service.objects import NodeObject, PodObject, read_node, read_pod
from runtime.service.pod_groups import PodGroupObject, read_pod_group

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Change:
    """A node, a pod or a PodGroup is there, is different, or is gone."""

    thing: NodeObject | PodObject | PodGroupObject
    deleted: bool


class Source(Protocol):
    """A cluster."""

    lists_all: bool
    """Whether the first poll tells of all that there is: what it does not tell of is gone."""

    def poll(self) -> Iterable[Change]:
        """What has happened since, in order. Belongs to one thread."""

    def bind(self, pod: PodObject, node: str, annotations: Mapping[str, str]) -> None:
        """Binds a pod; binding it again to the same node means nothing. May be called from any thread."""

    def admit(self, pod: PodObject, node: str, annotations: Mapping[str, str]) -> None:
        """Opens the gate of a pod, which may go to this node alone; one that has been admitted there means nothing.

        May be called from any thread.
        """

    def tell_pod(self, pod: PodObject, reason: str, note: str) -> None:
        """Tells whoever looks at a pod why it waits. May be called from any thread."""

    def delete(self, pod: PodObject) -> None:
        """Has a pod deleted; one that is gone means nothing. May be called from any thread."""

    def evict(self, pod: PodObject) -> bool:
        """Has a pod deleted if no disruption budget forbids it. Answers whether it leaves for this; one that was gone
        does not. May be called from any thread. Raises `BudgetError` and `OverloadError`."""

    def check_budgets(self, gangs: Mapping[str, Collection[PodObject]]) -> None:
        """Raises `BudgetError` where disruption budgets forbid that all these pods leave together, and `OverloadError`.
        `gangs`: the pods of each gang, by its name. May be called from any thread."""

    def fetch(self, pod: PodObject) -> PodObject | None:
        """The pod as the cluster has it now; none where it is gone. May be called from any thread."""

    def silence(self) -> float:
        """Seconds since the cluster was last heard of; 0 where it cannot be away. May be called from any thread."""

    def close(self) -> None:
        """Ends the source. May be called from any thread; a thread in `poll` gets `EndedError`."""


class BudgetError(Exception):
    """A disruption budget forbids an eviction. Says which, and how many pods it lets go."""


class OverloadError(Exception):
    """The cluster wants to be asked later."""

    def __init__(self, message: str, seconds: float | None) -> None:
        super().__init__(message)
        self.seconds = seconds
        """How much later; none where it does not say."""


class EndedError(Exception):
    """The source was closed while a thread waited for it."""


def read_change(line: str | bytes) -> Change | None:
    """A watch event of Kubernetes: `{"type": "ADDED", "object": {"kind": "Pod", …}}`; none where it is of another kind.

    Raises `UserError`.
    """
    try:
        event = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"this is not JSON: {error}") from error
    if not isinstance(event, dict) or not isinstance(event.get("object"), dict):
        raise UserError("an event must have a type and an object")
    kind, thing = event.get("type"), event["object"]
    if kind not in ("ADDED", "MODIFIED", "DELETED"):
        raise UserError(f"the type of an event must be ADDED, MODIFIED or DELETED, not {kind!r}")
    match thing.get("kind"):
        case "Node":
            return Change(read_node(thing), kind == "DELETED")
        case "Pod":
            return Change(read_pod(thing), kind == "DELETED")
        case "PodGroup":
            return Change(read_pod_group(thing), kind == "DELETED")
        case _:
            return None


def latest(changes: Iterable[Change]) -> tuple[dict[str, NodeObject], dict[str, PodObject]]:
    """What there is in the end: nodes by name, pods by uid. Of pods of one name, the last one."""
    nodes: dict[str, NodeObject] = {}
    pods: dict[str, PodObject] = {}
    uids: dict[str, str] = {}
    for change in changes:
        match change.thing:
            case NodeObject(name=name):
                nodes.pop(name, None)
                if not change.deleted:
                    nodes[name] = change.thing
            case PodObject(uid=uid, key=key):
                before = pods.pop(uid, None)
                if uids.get(key, uid) != uid:
                    pods.pop(uids[key], None)
                if not change.deleted and not change.thing.completed:
                    pods[uid], uids[key] = _first(before, change.thing), uid
    return nodes, pods


def _first(before: PodObject | None, now: PodObject) -> PodObject:
    if before is None or now.admitted_to:
        return now
    return replace(now, spec=before.spec or now.spec, ours=before.ours or now.ours)


def bound_event(pod: PodObject, node: str, annotations: Mapping[str, str]) -> bytes:
    """The watch event that tells of a binding, on a line."""
    metadata = {"uid": pod.uid, "namespace": pod.namespace, "name": pod.name}
    thing = {
        "kind": "Pod",
        "metadata": {**metadata, "annotations": {SPEC: pod.spec, **annotations}},
        "spec": {"nodeName": node, "containers": [{"resources": {"limits": {ENABLE: 1}}}]},
    }
    return json.dumps({"type": "MODIFIED", "object": thing}).encode() + b"\n"


def deleted_event(pod: PodObject) -> bytes:
    """The watch event that tells of a deletion, on a line."""
    metadata = {"uid": pod.uid, "namespace": pod.namespace, "name": pod.name}
    return json.dumps({"type": "DELETED", "object": {"kind": "Pod", "metadata": metadata}}).encode() + b"\n"


class Pods:
    """Pods as last reported. Late reports about a deleted pod are ignored."""

    def __init__(self) -> None:
        self._now: dict[str, PodObject | None] = {}

    def passes(self, change: Change) -> bool:
        """Whether a change can be; it is then what is known."""
        if not isinstance(change.thing, PodObject):
            return True
        uid = change.thing.uid
        late = self._now.get(uid, change.thing) is None
        self._now[uid] = None if late or change.deleted else change.thing
        return not late

    def now(self, pod: PodObject) -> PodObject | None:
        """A pod as last reported; without a report, as it was."""
        return self._now.get(pod.uid, pod)

    def refuse(self, pod: PodObject) -> None:
        """Raises `UserError` for one that is gone."""
        if self.now(pod) is None:
            raise UserError(f"there is no pod {pod.key} with uid {pod.uid} any more")


class MemorySource:
    """A cluster in memory, which receives events by calls."""

    lists_all = False

    def __init__(self) -> None:
        self._lock = Lock()
        self._changes: list[Change] = []
        self._pods = Pods()
        self.bindings: list[tuple[str, str]] = []
        """Key and node of every pod that was bound."""

    def tell(self, changes: Iterable[Change]) -> None:
        """These things happen."""
        with self._lock:
            self._changes += filter(self._pods.passes, changes)

    def poll(self) -> list[Change]:
        """What was reported."""
        with self._lock:
            changes, self._changes = self._changes, []
        return changes

    def bind(self, pod: PodObject, node: str, annotations: Mapping[str, str]) -> None:
        """Happens at once."""
        change = read_change(bound_event(pod, node, annotations))
        assert change is not None, "it is of a pod"
        with self._lock:
            self._pods.refuse(pod)
            self._pods.passes(change)
            self.bindings.append((pod.key, node))
            self._changes.append(change)

    def admit(self, pod: PodObject, node: str, annotations: Mapping[str, str]) -> None:
        """Nobody else binds here: it is bound at once."""
        self.bind(pod, node, annotations)

    def tell_pod(self, pod: PodObject, reason: str, note: str) -> None:
        """Nobody looks at it here."""

    def delete(self, pod: PodObject) -> None:
        """Happens at once."""
        self.tell([Change(pod, deleted=True)])

    def evict(self, pod: PodObject) -> bool:
        """The same: there are no budgets."""
        self.delete(pod)
        return True

    def check_budgets(self, gangs: Mapping[str, Collection[PodObject]]) -> None:
        """There are none."""

    def fetch(self, pod: PodObject) -> PodObject | None:
        """As it was last told of."""
        with self._lock:
            return self._pods.now(pod)

    def silence(self) -> float:
        """It is here."""
        return 0.0

    def close(self) -> None:
        """Nothing is held."""


class FileSource:
    """A cluster that is a file of watch events, one on a line: recorded, or written by a simulation.

    What is in the file at the beginning is the first list. Bindings are added to it.
    """

    lists_all = True

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("rb")
        self._pods = Pods()
        self._begun = b""
        self._line = 0

    def poll(self) -> Iterable[Change]:
        """Lines that have been added. A line without an end is not finished; one that is no event is passed over."""
        while not self._file.closed and (chunk := self._file.read(1 << 20)):
            *lines, self._begun = (self._begun + chunk).split(b"\n")
            for line in lines:
                self._line += 1
                try:
                    change = read_change(line) if line.strip() else None
                except UserError as error:
                    log.warning("%s, line %d: %s", self.path, self._line, error)
                    continue
                if change is not None and self._pods.passes(change):
                    yield change

    def bind(self, pod: PodObject, node: str, annotations: Mapping[str, str]) -> None:
        """Adds the binding to the file."""
        self._pods.refuse(pod)
        self._add(bound_event(pod, node, annotations))

    def admit(self, pod: PodObject, node: str, annotations: Mapping[str, str]) -> None:
        """Nobody else binds here: the binding is added to the file."""
        self.bind(pod, node, annotations)

    def tell_pod(self, pod: PodObject, reason: str, note: str) -> None:
        """Nobody looks at it here."""

    def delete(self, pod: PodObject) -> None:
        """Adds that to the file."""
        self._add(deleted_event(pod))

    def evict(self, pod: PodObject) -> bool:
        """The same: there are no budgets."""
        self.delete(pod)
        return True

    def check_budgets(self, gangs: Mapping[str, Collection[PodObject]]) -> None:
        """There are none."""

    def _add(self, line: bytes) -> None:
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, line)
        finally:
            os.close(file)

    def fetch(self, pod: PodObject) -> PodObject | None:
        """As the file says, as far as it has been read."""
        return self._pods.now(pod)

    def silence(self) -> float:
        """It is here."""
        return 0.0

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
