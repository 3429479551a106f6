"""Objects with versions, and what has happened to them: on disk, and told to whoever watches."""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Thing = dict[str, Any]
"""An object of Kubernetes. What is in the store is never changed in place."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An object, and how it is written."""

    thing: Thing
    text: bytes


@dataclass(frozen=True, slots=True)
class Change:
    """Something has happened."""

    version: int
    what: str
    """ADDED, MODIFIED or DELETED."""
    new: Stored
    old: Stored | None


Listener = Callable[[Change], None]


def encode(thing: Any) -> bytes:
    """As JSON."""
    return json.dumps(thing, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def copy_of(stored: Stored) -> Thing:
    """The object, to be changed."""
    return dict(json.loads(stored.text))


class Store:
    """What an etcd holds, and the changes that a watch cache remembers.

    Each change is one line of `changes`, written before anybody hears of it: a kill at any moment loses nothing that
    was answered.
    """

    def __init__(self, changes: Path, remembered: int) -> None:
        """`remembered` is the number of changes of each resource that a watch may begin before."""
        self.objects: dict[str, dict[str, Stored]] = defaultdict(dict)
        self.version = 1000
        self.listeners: dict[str, list[Listener]] = defaultdict(list)
        self._remembered = remembered
        self._changes: dict[str, deque[Change]] = defaultdict(deque)
        self._forgotten: dict[str, int] = {}
        self._read(changes)
        self._started = self.version
        self._file = os.open(changes, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def _read(self, changes: Path) -> None:
        if not changes.exists():
            return
        whole = 0
        with changes.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                whole += len(line)
                entry = json.loads(line)
                self.version = entry["version"]
                if entry["type"] == "DELETED":
                    self.objects[entry["resource"]].pop(entry["key"], None)
                else:
                    self.objects[entry["resource"]][entry["key"]] = Stored(entry["object"], encode(entry["object"]))
        os.truncate(changes, whole)

    def get(self, resource: str, key: str) -> Stored | None:
        """An object, or none."""
        return self.objects[resource].get(key)

    def put(self, resource: str, key: str, thing: Thing) -> Stored:
        """Creates or replaces an object; it gets the next version."""
        old = self.objects[resource].get(key)
        thing["metadata"]["resourceVersion"] = str(self.version + 1)
        new = Stored(thing, encode(thing))
        self._happen(resource, key, "MODIFIED" if old else "ADDED", new, old)
        return new

    def remove(self, resource: str, key: str, thing: Thing) -> Stored:
        """Deletes an object; `thing` is how it was at last."""
        old = self.objects[resource][key]
        thing["metadata"]["resourceVersion"] = str(self.version + 1)
        new = Stored(thing, encode(thing))
        self._happen(resource, key, "DELETED", new, old)
        return new

    def _happen(self, resource: str, key: str, what: str, new: Stored, old: Stored | None) -> None:
        version = self.version + 1
        entry = {"time": time.time(), "version": version, "resource": resource, "key": key, "type": what}
        os.write(self._file, encode(entry)[:-1] + b',"object":' + new.text + b"}\n")
        self.version = version
        if what == "DELETED":
            self.objects[resource].pop(key)
        else:
            self.objects[resource][key] = new
        change = Change(version, what, new, old)
        remembered = self._changes[resource]
        remembered.append(change)
        if len(remembered) > self._remembered:
            self._forgotten[resource] = remembered.popleft().version
        for listener in list(self.listeners[resource]):
            listener(change)

    def oldest(self, resource: str) -> int:
        """A watch may begin at this version or later."""
        return max(self._started, self._forgotten.get(resource, 0))

    def since(self, resource: str, version: int) -> Iterator[Change]:
        """What has happened after a version."""
        return (x for x in list(self._changes[resource]) if x.version > version)

    def compact(self) -> None:
        """Forgets how everything came to be as it is."""
        self._started = self.version
        self._changes.clear()
