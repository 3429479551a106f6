"""Requests to an API server, and lists that are followed: for the kube-scheduler and the kubelets."""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit

from stand_in.store import Thing

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


class AnswerError(Exception):
    """The server has refused a request."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class Client:
    """Of one server, from any thread: each has a connection of its own."""

    def __init__(self, address: str, token: str) -> None:
        self._address = urlsplit(address).netloc
        self._headers = {"Authorization": f"Bearer {token}"}
        self._local = threading.local()

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Thing:
        """The answer. Raises `AnswerError`, and `OSError` or `HTTPException` where there is none."""
        data = None if body is None else json.dumps(body).encode()
        headers = {**self._headers, "Content-Type": kind}
        for attempt in range(2):
            connection = getattr(self._local, "connection", None)
            fresh = connection is None
            if fresh:
                connection = self._local.connection = http.client.HTTPConnection(self._address, timeout=30)
            try:
                connection.request(method, path, data, headers)
                response = connection.getresponse()
                text = response.read()
                break
            except (OSError, http.client.HTTPException):
                connection.close()
                self._local.connection = None
                if fresh or attempt:
                    raise
        if response.status >= 400:
            raise AnswerError(response.status, text[:500].decode(errors="replace"))
        return dict(json.loads(text))

    def watch(self, path: str, version: str) -> Iterator[Thing]:
        """What happens after a version, until the server ends it."""
        query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "300", "allowWatchBookmarks": "true"}
        connection = http.client.HTTPConnection(self._address, timeout=330)
        try:
            connection.request("GET", f"{path}?{urlencode(query)}", headers=self._headers)
            response = connection.getresponse()
            if response.status >= 400:
                raise AnswerError(response.status, response.read(500).decode(errors="replace"))
            while line := response.readline():
                event = dict(json.loads(line))
                if event["type"] == "ERROR":
                    raise AnswerError(event["object"].get("code", 500), event["object"].get("message", ""))
                yield event
        finally:
            connection.close()


class Informer(threading.Thread):
    """Follows all objects of a path, and tells of each change: the old object, and the new one, or none."""

    def __init__(self, client: Client, path: str) -> None:
        super().__init__(name=f"watch {path}", daemon=True)
        self._client, self._path = client, path
        self.objects: dict[str, Thing] = {}
        """By uid."""
        self.synced = threading.Event()

    def changed(self, old: Thing | None, new: Thing | None) -> None:
        """Something is there, is different, or is gone."""
        raise NotImplementedError

    def run(self) -> None:
        """For ever."""
        version = ""
        while True:
            try:
                if not version:
                    version = self._list()
                    self.synced.set()
                for event in self._client.watch(self._path, version):
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] == "DELETED":
                        self._gone(event["object"]["metadata"]["uid"], event["object"])
                    elif event["type"] != "BOOKMARK":
                        self._there(event["object"])
            except AnswerError as error:
                print(f"{self._path}: {error}", file=sys.stderr, flush=True)
                version = ""
                time.sleep(0.2)
            except (OSError, ValueError, http.client.HTTPException) as error:
                print(f"{self._path}: {error!r}", file=sys.stderr, flush=True)
                time.sleep(0.2)

    def _list(self) -> str:
        answer = self._client.ask("GET", self._path)
        found = {x["metadata"]["uid"]: x for x in answer["items"]}
        for uid in self.objects.keys() - found.keys():
            self._gone(uid, self.objects[uid])
        for thing in found.values():
            self._there(thing)
        return str(answer["metadata"]["resourceVersion"])

    def _there(self, thing: Thing) -> None:
        uid = thing["metadata"]["uid"]
        old = self.objects.get(uid)
        if old is None or old["metadata"]["resourceVersion"] != thing["metadata"]["resourceVersion"]:
            self.objects[uid] = thing
            self.changed(old, thing)

    def _gone(self, uid: str, last: Thing) -> None:
        if self.objects.pop(uid, None) is not None:
            self.changed(last, None)
