"""Calls of an extender, as a kube-scheduler makes them; each is written down."""

from __future__ import annotations

import http.client
import json
import re
import ssl
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stand_in.store import Thing


class ExtenderError(Exception):
    """A call failed."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """The answer to `filter`."""

    nodes: list[str]
    failed: dict[str, str]
    unresolvable: dict[str, str]


class Extender:
    """Of a configuration (`kubescheduler.config.k8s.io`); the nodes are sent by name (`nodeCacheCapable`)."""

    def __init__(self, settings: Thing, calls: Path) -> None:
        self.settings = settings
        self._url = urlsplit(settings["urlPrefix"])
        self._timeout = seconds(settings.get("httpTimeout", "5s"))
        self._managed = {x["name"] for x in settings.get("managedResources") or ()}
        self.ignored = {x["name"] for x in settings.get("managedResources") or () if x.get("ignoredByScheduler")}
        self._local = threading.local()
        self._calls = calls.open("a")
        self._lock = threading.Lock()
        self._context = _context(settings.get("tlsConfig") or {}) if self._url.scheme == "https" else None
        assert settings.get("nodeCacheCapable"), "whole nodes are not sent"

    def interested(self, pod: Thing) -> bool:
        """Whether the pod asks for something that the extender manages."""
        if not self._managed:
            return True
        for container in [*(pod["spec"].get("containers") or ()), *(pod["spec"].get("initContainers") or ())]:
            resources = container.get("resources") or {}
            if self._managed & {*(resources.get("limits") or ()), *(resources.get("requests") or ())}:
                return True
        return False

    def filter(self, pod: Thing, nodes: list[str]) -> Filtered:
        """Raises `ExtenderError`."""
        answer = self._call("filter", pod, {"Pod": pod, "NodeNames": nodes}, len(nodes))
        found = Filtered(
            answer.get("NodeNames") or [],
            answer.get("FailedNodes") or {},
            answer.get("FailedAndUnresolvableNodes") or {},
        )
        stranger = next((x for x in found.nodes if x not in nodes), None)
        if stranger is not None:
            raise ExtenderError(
                f'extender "{self.settings["urlPrefix"]}" claims a filtered node "{stranger}" which is not found in the'
                f" input node list"
            )
        return found

    def preempt(self, pod: Thing, candidates: dict[str, list[Thing]]) -> dict[str, list[str]]:
        """By node: uids of victims. Raises `ExtenderError`."""
        victims = {
            node: {"Pods": [{"UID": x["metadata"]["uid"]} for x in found], "NumPDBViolations": 0}
            for node, found in candidates.items()
        }
        body = {"Pod": pod, "NodeNameToMetaVictims": victims}
        answer = self._call("preempt", pod, body, len(candidates)).get("NodeNameToMetaVictims") or {}
        return {node: [x["UID"] for x in found.get("Pods") or ()] for node, found in answer.items()}

    def bind(self, pod: Thing, node: str) -> None:
        """Raises `ExtenderError`."""
        metadata = pod["metadata"]
        body = {
            "PodName": metadata["name"],
            "PodNamespace": metadata["namespace"],
            "PodUID": metadata["uid"],
            "Node": node,
        }
        self._call("bind", pod, body, 1)

    def _call(self, verb: str, pod: Thing, body: Any, nodes: int) -> Thing:
        begun = time.time()
        problem = ""
        try:
            answer = self._post(f"{self._url.path}/{self.settings[f'{verb}Verb']}", json.dumps(body).encode())
            problem = str(answer.get("Error") or "")
        except (OSError, ValueError, http.client.HTTPException) as error:
            problem = f'Post "{self.settings["urlPrefix"]}/{verb}": {error}'
        entry = {
            "time": begun,
            "took": time.time() - begun,
            "verb": verb,
            "pod": f"{pod['metadata']['namespace']}/{pod['metadata']['name']}",
            "uid": pod["metadata"]["uid"],
            "nodes": nodes,
            "error": problem,
        }
        with self._lock:
            self._calls.write(json.dumps(entry) + "\n")
            self._calls.flush()
        if problem:
            raise ExtenderError(problem)
        return answer

    def _post(self, path: str, body: bytes) -> Thing:
        """On a connection that is kept; a new one, where the server has closed it meanwhile."""
        for attempt in range(2):
            connection = getattr(self._local, "connection", None)
            fresh = connection is None
            if connection is None:
                connection = self._local.connection = self._connect()
            try:
                connection.request("POST", path, body, {"Content-Type": "application/json"})
                response = connection.getresponse()
                text = response.read()
                break
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                self._local.connection = None
                if fresh or attempt or isinstance(error, TimeoutError):
                    raise
        if response.status != 200:
            raise ValueError(f"failed with extender at URL {self.settings['urlPrefix']}, code {response.status}")
        return dict(json.loads(text))

    def _connect(self) -> http.client.HTTPConnection:
        host = self._url.netloc
        if self._context is not None:
            return http.client.HTTPSConnection(host, timeout=self._timeout, context=self._context)
        return http.client.HTTPConnection(host, timeout=self._timeout)


def _context(settings: Thing) -> ssl.SSLContext:
    """Of `tlsConfig`."""
    context = ssl.create_default_context(cafile=settings.get("caFile"))
    if settings.get("insecure"):
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if settings.get("certFile"):
        context.load_cert_chain(settings["certFile"], settings.get("keyFile"))
    return context


def seconds(text: str) -> float:
    """Of a duration of Go, such as `1m30s`."""
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([0-9.]+)(ms|s|m|h)", text))
