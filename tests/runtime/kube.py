"""The part of Kubernetes' API that lists, watches and binds, as an HTTP server; with faults that it is told to have.

Objects have versions that rise with every change of anything. A list names the version that it is of; a watch tells of
all changes after a version, in order, with bookmarks between them; versions that have been compacted away are answered
with 410.
"""

from __future__ import annotations

import asyncio
import copy
import json
import socket
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock, Thread
from typing import Any

import httpx
import uvicorn
import yaml
from serving import Cluster, started, until, written
from stand_in.budgets import matches
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from runtime import Allocator, GangSpec, Member, Pod, PodSpec
from runtime.annotations import ISOLATION

TOKEN = "a-token"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"


class ApiServer:
    """A cluster that has what it is told."""

    def __init__(self) -> None:
        self.things: dict[str, dict[str, dict[str, Any]]] = {"pods": {}, "nodes": {}}
        self.leases: dict[str, dict[str, Any]] = {}
        self.tokens: set[str] = set()
        """Of others who may ask."""
        self.changes: list[tuple[str, str, str]] = []
        """Token, request and, for Leases, new holder of each change that was made."""
        self.delay = 0.0
        """Seconds by which each answer is late."""
        self.log: list[tuple[int, str, str, dict[str, Any]]] = []
        """Version, kind, type of event, object."""
        self.version = 1000
        self.oldest = 1000
        """Changes up to here are forgotten."""
        self.requests: list[str] = []
        self.raw: list[tuple[str, bytes]] = []
        """Told to whoever watches this kind, as it is."""
        self.bookmarks = False
        self.pages: dict[str, tuple[list[dict[str, Any]], str]] = {}
        self.failures: dict[str, list[int]] = {}
        """By the beginning of a request: statuses with which the next ones are answered."""
        self.late_pages = 0
        """How many pieces of lists will be asked for too late."""
        self.marks = 0
        self._streams = 0
        self._lock = RLock()
        self.budgets: list[dict[str, Any]] = []
        """PodDisruptionBudgets, of all namespaces."""
        self.minor = "36+"
        """The minor version of the server."""
        self.retry_after = ""
        """The header Retry-After of the failures."""
        self.evictions: list[str] = []
        """Names of evicted pods, in order."""
        self.longest = 3600.0
        """Seconds after which a watch ends, whatever was asked for."""

    # What happens

    def put(self, thing: dict[str, Any]) -> None:
        """A thing is there, or is different."""
        with self._lock:
            kind, key = f"{thing['kind'].lower()}s", _key(thing)
            known = self.things[kind].get(key)
            uid = thing["metadata"].get("uid")
            if known is not None and known["metadata"].get("uid") != uid:
                self.delete(known)
                known = None
            self._change(kind, "MODIFIED" if known else "ADDED", copy.deepcopy(thing))

    def delete(self, thing: dict[str, Any]) -> None:
        """A thing is gone."""
        with self._lock:
            kind, key = f"{thing['kind'].lower()}s", _key(thing)
            known = self.things[kind].pop(key, None)
            if known is not None:
                self._change(kind, "DELETED", copy.deepcopy(known))

    def _change(self, kind: str, what: str, thing: dict[str, Any]) -> None:
        self.version += 1
        thing["metadata"]["resourceVersion"] = str(self.version)
        if what != "DELETED":
            self.things[kind][_key(thing)] = thing
        self.log.append((self.version, kind, what, thing))

    def compact(self) -> None:
        """Forgets how it came to be as it is."""
        with self._lock:
            self.version += 1
            self.oldest = self.version
            self.log.clear()

    def drop(self) -> None:
        """All watches break off, in the middle of an answer."""
        self._streams += 1

    def tell_raw(self, kind: str, what: str, thing: dict[str, Any]) -> None:
        """An event is told, whatever has happened."""
        self.raw.append((kind, json.dumps({"type": what, "object": thing}).encode() + b"\n"))

    # What is asked

    def app(self) -> Starlette:
        routes = [
            Route("/api/v1/{kind}", self.all_of),
            Route("/api/v1/namespaces/{namespace}/pods/{name}", self.pod, methods=["GET"]),
            Route("/api/v1/namespaces/{namespace}/pods/{name}", self.delete_pod, methods=["DELETE"]),
            Route("/api/v1/namespaces/{namespace}/pods/{name}/binding", self.bind, methods=["POST"]),
            Route("/version", self.server_version),
            Route("/apis/policy/{version}/namespaces/{namespace}/poddisruptionbudgets", self.all_budgets),
            Route("/api/v1/namespaces/{namespace}/pods", self.pods_of),
            Route("/api/v1/namespaces/{namespace}/pods/{name}/eviction", self.evict, methods=["POST"]),
            Route(f"{LEASES}/{{name}}", self.lease, methods=["GET"]),
            Route(f"{LEASES}/{{name}}", self.write_lease, methods=["PUT"]),
            Route(LEASES, self.write_lease, methods=["POST"]),
        ]
        return Starlette(routes=routes)

    def _refused(self, request: Request) -> Response | None:
        asked = f"{request.method} {request.url.path}" + ("?watch" if "watch" in request.query_params else "")
        self.requests.append(asked)
        if _token(request) not in {TOKEN, *self.tokens}:
            return _status(401, "Unauthorized")
        for beginning, statuses in self.failures.items():
            if asked.startswith(beginning) and statuses:
                code = statuses.pop(0)
                headers = {"Retry-After": self.retry_after} if self.retry_after else None
                return _status(code, f"told to answer {code}", headers)
        return None

    async def all_of(self, request: Request) -> Response:
        kind, asked = request.path_params["kind"], request.query_params
        refused = self._refused(request)
        if refused is not None:
            return refused
        if asked.get("watch") != "true":
            return self._list(kind, int(asked.get("limit", 0)), asked.get("continue", ""))
        since = int(asked["resourceVersion"])
        if since < self.oldest and self._streams % 2:
            return _status(410, "too old resource version")
        seconds = min(float(asked["timeoutSeconds"]), self.longest)
        return StreamingResponse(self._watch(kind, since, seconds), media_type="application/json")

    def _list(self, kind: str, limit: int, token: str, namespace: str = "") -> Response:
        with self._lock:
            if not token:
                things, version = self.things[kind].items(), str(self.version)
                items = [x for key, x in things if not namespace or key.startswith(f"{namespace}/")]
            elif not self.late_pages:
                items, version = self.pages.pop(token)
            else:
                self.late_pages -= 1
                return _status(410, "the provided continue parameter is too old")
            metadata = {"resourceVersion": version}
            if limit and len(items) > limit:
                metadata["continue"] = token = f"{version}-{len(items)}"
                self.pages[token] = items[limit:], version
                items = items[:limit]
            bare = [{k: v for k, v in item.items() if k != "kind"} for item in items]
            return JSONResponse({"kind": "List", "metadata": metadata, "items": bare})

    async def _watch(self, kind: str, since: int, seconds: float) -> AsyncIterator[bytes]:
        stream, raw, ends, marked = self._streams, len(self.raw), time.monotonic() + seconds, time.monotonic()
        while time.monotonic() < ends:
            if since < self.oldest:
                gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
                yield json.dumps({"type": "ERROR", "object": gone}).encode() + b"\n"
                return
            with self._lock:
                events = [entry for entry in self.log if entry[0] > since]
            for version, whose, what, thing in events:
                since = version
                if whose == kind:
                    yield json.dumps({"type": what, "object": thing}, ensure_ascii=False).encode() + b"\n"
            for whose, line in self.raw[raw:]:
                if whose == kind:
                    yield line
            raw = len(self.raw)
            if self.bookmarks and time.monotonic() > marked + 0.05:
                marked, since = time.monotonic(), max(since, self.version)
                mark = {"kind": kind[:-1].title(), "metadata": {"resourceVersion": str(since)}}
                yield json.dumps({"type": "BOOKMARK", "object": mark}).encode() + b"\n"
                self.marks += 1
            if self._streams != stream:
                yield b'{"type": "MODIFIED", "obj'
                raise ConnectionError
            await asyncio.sleep(0.005)

    async def lease(self, request: Request) -> Response:
        await asyncio.sleep(self.delay)
        refused = self._refused(request)
        if refused is not None:
            return refused
        stored = self.leases.get("{namespace}/{name}".format(**request.path_params))
        return JSONResponse(stored) if stored else _status(404, "leases not found")

    async def write_lease(self, request: Request) -> Response:
        """Refuses what is not made from the latest version."""
        await asyncio.sleep(self.delay)
        refused = self._refused(request)
        if refused is not None:
            return refused
        lease = await request.json()
        key = f"{request.path_params['namespace']}/{lease['metadata']['name']}"
        stored = self.leases.get(key)
        version = None if stored is None else stored["metadata"]["resourceVersion"]
        if lease["metadata"].get("resourceVersion") != version:
            return _status(409, "the object has been modified")
        self.version += 1
        lease["metadata"]["resourceVersion"] = str(self.version)
        self.leases[key] = lease
        self._changed(request, lease["spec"]["holderIdentity"])
        return JSONResponse(lease, status_code=201 if stored is None else 200)

    def _changed(self, request: Request, holder: str = "") -> None:
        self.changes.append((_token(request), f"{request.method} {request.url.path}", holder))

    async def pod(self, request: Request) -> Response:
        refused = self._refused(request)
        if refused is not None:
            return refused
        found = self.things["pods"].get("{namespace}/{name}".format(**request.path_params))
        return JSONResponse(found) if found else _status(404, "pods not found")

    async def delete_pod(self, request: Request) -> Response:
        """It goes at once, if it is the one that is meant."""
        await asyncio.sleep(self.delay)
        refused = self._refused(request)
        if refused is not None:
            return refused
        meant = (await request.json())["preconditions"]["uid"]
        found = self.things["pods"].get("{namespace}/{name}".format(**request.path_params))
        if found is None:
            return _status(404, "pods not found")
        if found["metadata"]["uid"] != meant:
            return _status(409, "the UID in the precondition does not match the UID in record")
        self.delete(found)
        self._changed(request)
        return JSONResponse({"kind": "Status", "status": "Success"})

    async def server_version(self, request: Request) -> Response:
        return self._refused(request) or JSONResponse({"major": "1", "minor": self.minor})

    async def all_budgets(self, request: Request) -> Response:
        return self._refused(request) or JSONResponse({"items": self.budgets})

    async def pods_of(self, request: Request) -> Response:
        asked = request.query_params
        refused = self._refused(request)
        namespace = request.path_params["namespace"]
        return refused or self._list("pods", int(asked.get("limit", 0)), asked.get("continue", ""), namespace)

    async def evict(self, request: Request) -> Response:
        """It goes at once, if it is the one that is meant, and is charged to its budget.

        From its sources (`EvictionREST.Create`), for pods that are ready.
        """
        refused = self._refused(request)
        if refused is not None:
            return refused
        eviction = await request.json()
        assert (eviction["apiVersion"], eviction["kind"]) == ("policy/v1", "Eviction")
        found = self.things["pods"].get("{namespace}/{name}".format(**request.path_params))
        if found is None:
            return _status(404, "pods not found")
        if found["metadata"]["uid"] != eviction["deleteOptions"]["preconditions"]["uid"]:
            return _status(409, "the UID in the precondition does not match the UID in record")
        if (found.get("status") or {}).get("phase") not in ("Pending", "Succeeded", "Failed"):
            labels = found["metadata"].get("labels")
            budgets = [x for x in self.budgets if matches(x["spec"].get("selector"), labels)]
            if len(budgets) > 1:
                return _status(500, "This pod has more than one PodDisruptionBudget")
            for budget in budgets:
                if budget["status"]["disruptionsAllowed"] <= 0:
                    return _refused_by(budget)
                budget["status"]["disruptionsAllowed"] -= 1
        self.evictions.append(found["metadata"]["name"])
        self.delete(found)
        self._changed(request)
        return JSONResponse({"kind": "Status", "status": "Success"}, status_code=201)

    async def bind(self, request: Request) -> Response:
        """As the API server does: the annotations of the binding are added to the pod, which is bound once."""
        await asyncio.sleep(self.delay)
        refused = self._refused(request)
        if refused is not None:
            return refused
        binding = await request.json()
        with self._lock:
            found = self.things["pods"].get("{namespace}/{name}".format(**request.path_params))
            if found is None:
                return _status(404, f"pods {binding['metadata']['name']!r} not found")
            if binding["metadata"].get("uid", found["metadata"]["uid"]) != found["metadata"]["uid"]:
                return _status(409, "the UID in the precondition does not match the UID in record")
            if found["spec"].get("nodeName"):
                return _status(409, f"pod is already assigned to node {found['spec']['nodeName']!r}")
            assert binding["target"]["kind"] == "Node"
            bound = copy.deepcopy(found)
            bound["spec"]["nodeName"] = binding["target"]["name"]
            bound["metadata"].setdefault("annotations", {}).update(binding["metadata"]["annotations"])
            self._change("pods", "MODIFIED", bound)
            self._changed(request)
        return JSONResponse({"kind": "Status", "status": "Success"}, status_code=201)


def _token(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ")


def _key(thing: dict[str, Any]) -> str:
    metadata = thing["metadata"]
    return f"{metadata.get('namespace', 'default')}/{metadata['name']}" if thing["kind"] == "Pod" else metadata["name"]


def _status(code: int, message: str, headers: dict[str, str] | None = None, **more: Any) -> Response:
    status = {"kind": "Status", "status": "Failure", "message": message, "code": code, **more}
    return JSONResponse(status, status_code=code, headers=headers)


def _refused_by(budget: dict[str, Any]) -> Response:
    why = f"The disruption budget {budget['metadata']['name']} needs 2 healthy pods and has 2 currently"
    cause = {"reason": "DisruptionBudget", "message": why}
    text = "Cannot evict pod as it would violate the pod's disruption budget."
    return _status(429, text, reason="TooManyRequests", details={"causes": [cause]})


class Running:
    """The server, in a thread; it can be away for a while."""

    def __init__(self, api: ApiServer) -> None:
        self.api = api
        self.port = 0
        self.start()

    def start(self) -> None:
        listener = socket.create_server(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(self.api.app(), log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = Thread(target=self._server.run, kwargs={"sockets": [listener]}, daemon=True)
        self._thread.start()
        until(lambda: self._server.started)

    def stop(self) -> None:
        self.api.drop()
        self._server.should_exit = True
        self._thread.join(10)


def kubeconfig(folder: Path, port: int, **user: Any) -> Path:
    """A file that names the server of a port, and who asks."""
    path = folder / "kubeconfig"
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": user or {"token": TOKEN}}],
    }
    path.write_text(yaml.safe_dump(config))
    return path


class KubeCluster(Cluster):
    """A server of the allocator, beside an API server."""

    def __init__(self, folder: Path, configuration: dict[str, Any]) -> None:
        super().__init__(folder, configuration)
        self.api = ApiServer()
        self.running = Running(self.api)
        self.kubeconfig = folder / "kubeconfig"
        self.source = ["--kubernetes", "--kubeconfig", self.kubeconfig]
        self.log_in(TOKEN)
        self._waited = 0
        self.configured = set(Allocator.from_config(configuration).cluster.nodes)

    def log_in(self, token: str) -> None:
        """Writes the kubeconfig."""
        config = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": {"server": f"http://127.0.0.1:{self.running.port}"}}],
            "users": [{"name": "u", "user": {"token": token}}],
        }
        self.kubeconfig.write_text(yaml.safe_dump(config))

    def tell(self, *events: tuple[str, dict[str, Any]]) -> None:
        """Things happen; when it comes back, the allocator knows."""
        for kind, thing in events:
            (self.api.delete if kind == "DELETED" else self.api.put)(thing)
        if self.process is not None:
            self.wait_until_known({thing["kind"] for _, thing in events})

    def wait_until_known(self, kinds: Iterable[str] = ("Pod", "Node")) -> None:
        """A node and a pod come and go: what happened before is known when these are."""
        self._waited += 1
        name = f"last-{self._waited}"
        if "Node" in kinds:
            last = {"kind": "Node", "metadata": {"name": name}}
            self.api.put(last)
            until(lambda: self.nodes_known() == len(self.api.things["nodes"].keys() | self.configured))
        if "Pod" in kinds:
            pod = Pod(name, name, PodSpec("nobody", 0, 1, GangSpec(name, (Member(1, 1),))))
            self.api.put(written(pod))
            until(lambda: "no virtual cluster nobody" in str(self.post("filter", {"Pod": written(pod)})))
            self.api.delete(written(pod))
            until(lambda: name not in self.client.get("/v2/inspect/gangs/").text)

    def metric(self, name: str) -> float:
        """The sum of it."""
        lines = self.client.get("/metrics").text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name))

    def nodes_known(self) -> int:
        return int(self.metric("allocator_nodes{"))

    def silence(self) -> float:
        return self.metric("allocator_cluster_silent_seconds ")

    def bound(self) -> dict[str, tuple[str, str]]:
        pods = self.api.things["pods"].values()
        return {
            pod["metadata"]["uid"]: (pod["spec"]["nodeName"], pod["metadata"]["annotations"][ISOLATION])
            for pod in list(pods)
            if pod["spec"].get("nodeName")
        }


@contextmanager
def serving(folder: Path, configuration: dict[str, Any], nodes: Iterable[str], *options: str) -> Iterator[KubeCluster]:
    """An API server and an allocator's, for as long as the test lasts; afterwards, all that must hold is checked."""
    cluster = KubeCluster(folder, configuration)
    try:
        with started(cluster, nodes, *options):
            yield cluster
    finally:
        with suppress(httpx.HTTPError):
            cluster.client.close()
        cluster.running.stop()
