"""The API server of the stand-in: `python -m stand_in.api_server FOLDER --port PORT`.

Everything happens in one thread, and every request is answered at once: what `kubectl` and controllers can observe is
as if each request were a transaction. `FOLDER/tokens.json` says who has which token, `FOLDER/changes.jsonl` has the
state and how it came to be.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from stand_in import budgets, patches, pods, rbac
from stand_in.errors import RefusedError, conflict, invalid, missing, uid_conflict
from stand_in.http_server import Request, Response, Stream, serve
from stand_in.rbac import Action, User
from stand_in.resources import META, REVIEWS, Paths, Resource, Target, read_event, show
from stand_in.store import Change, Store, Stored, Thing, copy_of, encode

BOOKMARK_SECONDS = 60.0
"""From its sources: a watch has a bookmark each minute, and another one two seconds before it ends."""
DEFAULT_WATCH_SECONDS = 1800.0
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
FREE_NAMES = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
"""Names of these may have colons."""
LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
MAX_ANNOTATIONS = 256 << 10
FIXED = ("uid", "creationTimestamp", "name", "namespace", "generation", "resourceVersion")
LEAVING = ("deletionTimestamp", "deletionGracePeriodSeconds")
READY = ("/readyz", "/healthz", "/livez")


class ApiServer:
    """Answers requests."""

    def __init__(self, folder: Path, remembered: int = 10_000, without: tuple[str, ...] = ()) -> None:
        self.store = Store(folder / "changes.jsonl", remembered)
        self._paths = Paths(without)
        self._users = {
            token: User(x["name"], tuple(x["groups"]))
            for token, x in json.loads((folder / "tokens.json").read_text()).items()
        }
        self._pages: dict[str, tuple[list[Stored], str]] = {}
        self._watchers: dict[str, list[Watcher]] = {}
        for name in ("default", "kube-system", "kube-node-lease"):
            if self.store.get("namespaces", name) is None:
                thing = _head("Namespace", "v1", {"name": name, "uid": str(uuid.uuid4())})
                self.store.put("namespaces", name, thing)

    def handle(self, request: Request) -> Response | Stream:
        """Answers a request."""
        try:
            return self._handle(request)
        except RefusedError as error:
            return Response(error.code, encode(error.status))

    def _handle(self, request: Request) -> Response | Stream:
        if request.path in READY:
            return Response(200, b'"ok"')
        if request.path == "/version":
            return Response(200, encode({"major": "1", "minor": "36", "gitVersion": "v1.36.2"}))
        user = self._users.get(request.headers.get("authorization", "").removeprefix("Bearer "))
        if user is None:
            raise RefusedError(401, "Unauthorized")
        if request.path == "/stand-in/compact":
            self.store.compact()
            self._pages.clear()
            return Response(200, b"{}")
        if request.path.rpartition("/")[2] in REVIEWS and request.method == "POST":
            return self._review(user, _body(request))
        target = self._paths.find(request.path)
        if target is None:
            found = self._paths.discovery(request.path) if request.method == "GET" else None
            if found is None:
                raise RefusedError(404, "the server could not find the requested resource")
            return Response(200, encode(found))
        verb = _verb(request, target)
        action = Action(
            verb,
            target.resource.group,
            f"{target.resource.name}/{target.part}" if target.part else target.resource.name,
            target.namespace,
            target.name,
        )
        if not rbac.allowed(self.store, user, action):
            where = (
                f'{action.resource} "{target.name}" is forbidden' if target.name else f"{action.resource} is forbidden"
            )
            raise RefusedError(403, f'{where}: User "{user.name}" {action}')
        match verb:
            case "list":
                return self._list(target, request.query)
            case "watch":
                return self._watch(target, request.query)
            case "get":
                return _shown(self._get(target), target.resource)
            case "create":
                return self._create(target, _body(request))
            case "update":
                return self._update(target, _body(request))
            case "patch":
                return self._patch(target, request)
            case "delete":
                return self._delete(target, _options(request))
            case _:
                return self._delete_all(target, request)

    def _review(self, user: User, review: Thing) -> Response:
        spec = review["spec"]
        asked = spec.get("resourceAttributes") or {}
        part = asked.get("subresource")
        action = Action(
            asked.get("verb", ""),
            asked.get("group", ""),
            f"{asked.get('resource', '')}/{part}" if part else asked.get("resource", ""),
            asked.get("namespace", ""),
            asked.get("name", ""),
        )
        who = User(spec["user"], tuple(spec.get("groups") or ())) if "user" in spec else user
        allowed = rbac.allowed(self.store, who, action)
        return Response(201, encode({**review, "status": {"allowed": allowed}}))

    # Reading

    def _get(self, target: Target) -> Stored:
        found = self.store.get(target.resource.name, target.key)
        if found is None or target.part not in ("", "status"):
            raise missing(_plural(target), target.name)
        return found

    def _list(self, target: Target, query: dict[str, str]) -> Response:
        """From its sources: a page names where the next one begins; all pages are of one version."""
        token, limit = query.get("continue", ""), int(query.get("limit", 0) or 0)
        if token:
            if token not in self._pages:
                why = "The provided continue parameter is too old to display a consistent list result."
                raise RefusedError(410, why)
            items, version = self._pages.pop(token)
        else:
            selects = _selection(target, query)
            found = self.store.objects[target.resource.name]
            items, version = [found[key] for key in sorted(found) if selects(found[key].thing)], str(self.store.version)
        metadata: Thing = {"resourceVersion": version}
        if limit and len(items) > limit:
            metadata["continue"] = token = uuid.uuid4().hex
            metadata["remainingItemCount"] = len(items) - limit
            self._pages[token] = items[limit:], version
            items = items[:limit]
        head = {
            "kind": f"{target.resource.kind}List",
            "apiVersion": target.resource.group_version,
            "metadata": metadata,
        }
        texts = b",".join(_bare(x, target.resource) for x in items)
        return Response(200, encode(head)[:-1] + b',"items":[' + texts + b"]}")

    def _watch(self, target: Target, query: dict[str, str]) -> Stream:
        """From its sources: a watch of a version that is forgotten begins with an event ERROR, code 410."""
        selects, resource = _selection(target, query), target.resource
        version = int(query.get("resourceVersion") or 0)
        if resource.name not in self._watchers:
            self._watchers[resource.name] = []
            self.store.listeners[resource.name].append(lambda x: self._tell(resource.name, x))
        oldest = self.store.oldest(resource.name)
        watchers = self._watchers[resource.name]

        def begin(stream: Stream) -> None:
            if version and version < oldest:
                error = RefusedError(410, f"too old resource version: {version} ({oldest})")
                stream.write(_line("ERROR", encode(error.status)))
                stream.end()
                return
            watcher = Watcher(stream, resource, selects)
            if version:
                for change in self.store.since(resource.name, version):
                    watcher.tell(change)
            else:
                for found in list(self.store.objects[resource.name].values()):
                    watcher.tell(Change(0, "ADDED", found, None))
            watchers.append(watcher)
            seconds = float(query.get("timeoutSeconds") or DEFAULT_WATCH_SECONDS)
            loop = asyncio.get_running_loop()
            timers = [loop.call_later(seconds, stream.end)]
            if query.get("allowWatchBookmarks") in ("true", "1"):
                moments = [n * BOOKMARK_SECONDS for n in range(1, int(seconds / BOOKMARK_SECONDS) + 1)]
                for moment in {*moments, max(seconds - 2, 0)}:
                    timers.append(loop.call_later(moment, self._bookmark, stream, resource))

            def close() -> None:
                watchers.remove(watcher)
                for timer in timers:
                    timer.cancel()

            stream.on_close = close

        return Stream(begin)

    def _bookmark(self, stream: Stream, resource: Resource) -> None:
        mark = _head(resource.kind, resource.group_version, {"resourceVersion": str(self.store.version)})
        stream.write(_line("BOOKMARK", encode(mark)))

    def _tell(self, resource: str, change: Change) -> None:
        text = _line(change.what, change.new.text)
        for watcher in list(self._watchers[resource]):
            watcher.tell(change, text)

    # Writing

    def _create(self, target: Target, thing: Thing) -> Response:
        match target.resource.name, target.part:
            case "pods", "binding":
                return self._bind(target, thing)
            case "pods", "eviction":
                return self._evict(target, thing)
        if target.part or target.name:
            raise RefusedError(405, "the server does not allow this method on the requested resource")
        return self._add(target, thing)

    def _add(self, target: Target, thing: Thing) -> Response:
        resource = target.resource
        if resource.name == "events":
            thing = read_event(thing, resource)
        metadata = thing.setdefault("metadata", {})
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = f"{metadata['generateName']}{uuid.uuid4().hex[:12]}"
        if resource.namespaced:
            metadata["namespace"] = namespace = target.namespace or metadata.get("namespace") or "default"
            if self.store.get("namespaces", namespace) is None:
                raise missing("namespaces", namespace)
        _check(resource, thing)
        key = f"{metadata['namespace']}/{metadata['name']}" if resource.namespaced else metadata["name"]
        if self.store.get(resource.name, key) is not None:
            why = f'{_plural(target)} "{metadata["name"]}" already exists'
            raise RefusedError(409, why, "AlreadyExists")
        for name in (*LEAVING, "resourceVersion", "managedFields"):
            metadata.pop(name, None)
        metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": pods.stamp(), "generation": 1}
        if resource.status:
            thing.pop("status", None)
        if resource.name == "pods":
            pods.prepare(self.store, thing)
        kind, version = ("Event", "v1") if resource.name == "events" else (resource.kind, resource.group_version)
        rest = {k: v for k, v in thing.items() if k not in (*META, "metadata")}
        stored = self.store.put(resource.name, key, _head(kind, version, metadata, rest))
        self._count_budgets(resource, metadata.get("namespace", ""))
        return _shown(self.store.get(resource.name, key) or stored, resource, 201)

    def _update(self, target: Target, thing: Thing) -> Response:
        stored = self._get(target)
        if target.resource.name == "events":
            thing = read_event(thing, target.resource)
        return self._replace(target, stored, thing)

    def _patch(self, target: Target, request: Request) -> Response:
        stored = self._get(target)
        patch, before = _body(request), show(copy_of(stored), target.resource)
        try:
            match request.headers.get("content-type", "").partition(";")[0]:
                case "application/merge-patch+json":
                    thing = patches.merge(before, patch)
                case "application/strategic-merge-patch+json":
                    thing = patches.strategic(before, patch)
                case "application/json-patch+json":
                    thing = patches.json_patch(before, patch)
                case other:
                    raise RefusedError(415, f"the body of the request was in an unknown format: {other}")
        except patches.PatchError as error:
            why = f"the server rejected our request due to an error in our request: {error}"
            raise RefusedError(422, why) from error
        if target.resource.name == "events":
            thing = read_event(thing, target.resource)
        return self._replace(target, stored, thing)

    def _replace(self, target: Target, stored: Stored, thing: Thing) -> Response:
        """Of an object, what this request may change."""
        resource, old = target.resource, stored.thing
        asked, metadata = thing.get("metadata") or {}, old["metadata"]
        if asked.get("uid", metadata["uid"]) != metadata["uid"]:
            raise uid_conflict(resource.name, target.name, asked["uid"], metadata["uid"])
        if asked.get("resourceVersion") not in (None, "", metadata["resourceVersion"]):
            why = "the object has been modified; please apply your changes to the latest version and try again"
            raise conflict(_plural(target), target.name, why)
        kept = {k: metadata[k] for k in (*FIXED, *LEAVING) if k in metadata}
        rest = {k: v for k, v in asked.items() if k not in (*FIXED, *LEAVING)}
        if target.part == "status":
            new = {**copy_of(stored), "status": thing.get("status") or {}}
        else:
            status = {"status": old["status"]} if resource.status and "status" in old else {}
            new = {**{k: v for k, v in thing.items() if k not in META}, **status}
            new = _head(old["kind"], old["apiVersion"], {**kept, **rest}, new)
            _check(resource, new)
            if resource.name == "pods":
                pods.validate_update(old, new)
        if new == old:
            return _shown(stored, resource)
        if new.get("spec") != old.get("spec") and resource.name != "nodes":
            new["metadata"]["generation"] = metadata.get("generation", 1) + 1
        if "deletionTimestamp" in metadata and not new["metadata"].get("finalizers") and metadata.get("finalizers"):
            stored = self.store.remove(resource.name, target.key, new)
        else:
            stored = self.store.put(resource.name, target.key, new)
        self._count_budgets(resource, target.namespace)
        return _shown(stored, resource)

    def _bind(self, target: Target, binding: Thing) -> Response:
        """Measured behind 1.36.2: "A Binding with a wrong `metadata.uid` is refused (409, "Precondition failed: UID in
        precondition"); 1.20 bound it."
        """
        pod = copy_of(self._get_pod(target))
        uid = (binding.get("metadata") or {}).get("uid")
        if uid and uid != pod["metadata"]["uid"]:
            raise uid_conflict("pods/binding", target.name, uid, pod["metadata"]["uid"])
        pods.bind(pod, binding)
        self.store.put("pods", target.key, pod)
        return Response(201, SUCCESS)

    def _evict(self, target: Target, eviction: Thing) -> Response:
        pod, options = self._get_pod(target), eviction.get("deleteOptions") or {}
        self._check_preconditions(target, pod, options)
        budgets.take(self.store, pod.thing)
        self._delete(replace(target, part=""), options)
        return Response(201, SUCCESS)

    def _get_pod(self, target: Target) -> Stored:
        found = self.store.get("pods", target.key)
        if found is None:
            raise missing("pods", target.name)
        return found

    def _check_preconditions(self, target: Target, stored: Stored, options: Thing) -> None:
        metadata, wanted = stored.thing["metadata"], options.get("preconditions") or {}
        if wanted.get("uid") not in (None, metadata["uid"]):
            raise uid_conflict(target.resource.name, target.name, wanted["uid"], metadata["uid"])
        if wanted.get("resourceVersion") not in (None, metadata["resourceVersion"]):
            why = f"Precondition failed: ResourceVersion in precondition: {wanted['resourceVersion']},"
            raise conflict(
                _plural(target), target.name, f"{why} ResourceVersion in object meta: {metadata['resourceVersion']}"
            )

    def _delete(self, target: Target, options: Thing) -> Response:
        """Pods that a node has are gone when their kubelet deletes them with a grace of 0."""
        stored = self._get(target)
        self._check_preconditions(target, stored, options)
        resource, thing = target.resource, copy_of(stored)
        grace = pods.grace_of(thing, options) if resource.name == "pods" else 0
        changed = pods.begin_deletion(thing, grace)
        if grace == 0 and not thing["metadata"].get("finalizers"):
            stored = self.store.remove(resource.name, target.key, thing)
        elif changed:
            stored = self.store.put(resource.name, target.key, thing)
        self._count_budgets(resource, target.namespace)
        return _shown(stored, resource)

    def _delete_all(self, target: Target, request: Request) -> Response:
        selects, resource = _selection(target, request.query), target.resource
        for stored in list(self.store.objects[resource.name].values()):
            if selects(stored.thing):
                metadata = stored.thing["metadata"]
                one = Target(resource, metadata.get("namespace", ""), metadata["name"], "")
                self._delete(one, _options(request))
        return Response(200, SUCCESS)

    def _count_budgets(self, resource: Resource, namespace: str) -> None:
        if resource.name in ("pods", budgets.RESOURCE) and self.store.objects[budgets.RESOURCE]:
            budgets.refresh(self.store, namespace)


SUCCESS = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}'


class Watcher:
    """Whoever watches a resource, or those objects of it that a selection names."""

    def __init__(self, stream: Stream, resource: Resource, selects: Callable[[Thing], bool]) -> None:
        self._stream, self._resource, self._selects = stream, resource, selects

    def tell(self, change: Change, text: bytes = b"") -> None:
        """From its sources: an object that leaves or enters a selection is told as deleted or added."""
        now = change.what != "DELETED" and self._selects(change.new.thing)
        before = self._selects(change.old.thing) if change.old is not None else False
        what = "MODIFIED" if now and before else "ADDED" if now else "DELETED" if before else ""
        if not what:
            return
        if what != change.what or not text or self._resource.group_version == "events.k8s.io/v1":
            shown = show(change.new.thing, self._resource)
            text = _line(what, change.new.text if shown is change.new.thing else encode(shown))
        self._stream.write(text)


def _line(what: str, text: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (what.encode(), text)


def _head(kind: str, version: str, metadata: Thing, rest: Thing | None = None) -> Thing:
    """An object whose kind and version come first when it is written."""
    others = {k: v for k, v in (rest or {}).items() if k not in (*META, "metadata")}
    return {"kind": kind, "apiVersion": version, "metadata": metadata, **others}


def _bare(stored: Stored, resource: Resource) -> bytes:
    """From its sources: objects in lists do not say their kind."""
    shown = show(stored.thing, resource)
    if shown is not stored.thing:
        return encode({k: v for k, v in shown.items() if k not in META})
    return b"{" + stored.text[_head_length(stored.thing["kind"], stored.thing["apiVersion"]) :]


@cache
def _head_length(kind: str, version: str) -> int:
    return len(encode({"kind": kind, "apiVersion": version}))


def _shown(stored: Stored, resource: Resource, status: int = 200) -> Response:
    shown = show(stored.thing, resource)
    return Response(status, stored.text if shown is stored.thing else encode(shown))


def _plural(target: Target) -> str:
    group = target.resource.group
    return f"{target.resource.name}.{group}" if group else target.resource.name


def _verb(request: Request, target: Target) -> str:
    match request.method:
        case "GET" if target.name:
            return "get"
        case "GET":
            return "watch" if request.query.get("watch") in ("true", "1") else "list"
        case "POST":
            return "create"
        case "PUT":
            return "update"
        case "PATCH":
            return "patch"
        case "DELETE":
            return "delete" if target.name else "deletecollection"
        case _:
            raise RefusedError(405, "the server does not allow this method on the requested resource")


def _body(request: Request) -> Any:
    try:
        thing = request.json()
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, f"the object provided is unrecognized: {error}") from error
    if not isinstance(thing, (dict, list)):
        raise RefusedError(400, "the object provided is unrecognized: it is not an object")
    return thing


def _options(request: Request) -> Thing:
    options = _body(request) if request.body else {}
    if "gracePeriodSeconds" in request.query:
        options["gracePeriodSeconds"] = int(request.query["gracePeriodSeconds"])
    return dict(options)


def _check(resource: Resource, thing: Thing) -> None:
    """Types are checked as far as the allocator reads them: a real server never hands on what it cannot decode."""
    metadata = thing.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        raise invalid(resource.kind, "", "metadata.name: Required value: name or generateName is required")
    name = metadata["name"]
    if resource.name not in FREE_NAMES and (not NAME.fullmatch(name) or len(name) > 253):
        raise invalid(resource.kind, name, f"metadata.name: Invalid value: {json.dumps(name)}")
    for field in ("labels", "annotations"):
        values = metadata.get(field)
        if values is None:
            metadata.pop(field, None)
        elif not isinstance(values, dict) or not all(isinstance(x, str) for x in values.values()):
            raise RefusedError(
                400, f"json: cannot unmarshal into Go struct field ObjectMeta.metadata.{field} of type string"
            )
    for key, value in (metadata.get("labels") or {}).items():
        if len(value) > 63 or not LABEL.fullmatch(value):
            raise invalid(resource.kind, name, f"metadata.labels: Invalid value: {json.dumps(value)} (label {key})")
    if (
        sum(len(k) + len(v.encode("utf-8", "surrogatepass")) for k, v in (metadata.get("annotations") or {}).items())
        > MAX_ANNOTATIONS
    ):
        raise invalid(resource.kind, name, "metadata.annotations: Too long: may not be more than 262144 bytes")
    if resource.name == "pods":
        _check_pod(thing)


def _check_pod(pod: Thing) -> None:
    spec = pod.get("spec")
    if not isinstance(spec, dict):
        raise RefusedError(400, "json: cannot unmarshal into Go struct field Pod.spec of type v1.PodSpec")
    types: dict[str, type] = {
        "containers": list,
        "schedulingGates": list,
        "schedulerName": str,
        "priorityClassName": str,
        "nodeSelector": dict,
        "affinity": dict,
        "tolerations": list,
        "nodeName": str,
        "schedulingGroup": dict,
    }
    for field, kind in types.items():
        if spec.get(field) is not None and not isinstance(spec[field], kind):
            raise RefusedError(400, f"json: cannot unmarshal into Go struct field PodSpec.spec.{field}")
    for gate in spec.get("schedulingGates") or ():
        if not isinstance(gate, dict) or not isinstance(gate.get("name"), str):
            raise RefusedError(400, "json: cannot unmarshal into Go struct field PodSchedulingGate.name of type string")


def _selection(target: Target, query: dict[str, str]) -> Callable[[Thing], bool]:
    """Namespace, label selector and field selector, as a predicate."""
    namespace = target.namespace
    labels = [_equation(x) for x in COMMA.split(query.get("labelSelector", "")) if x]
    fields = [_equation(x) for x in COMMA.split(query.get("fieldSelector", "")) if x]
    if not namespace and not labels and not fields:
        return lambda _: True

    def selects(thing: Thing) -> bool:
        metadata = thing["metadata"]
        if namespace and metadata.get("namespace") != namespace:
            return False
        own = metadata.get("labels") or {}
        if not all(_holds(own.get(key), sign, value) for key, sign, value in labels):
            return False
        return all(_holds(_field(thing, key), sign, value) for key, sign, value in fields)

    return selects


COMMA = re.compile(r",(?![^(]*\))")
"""Not the one between values in parentheses."""
SET = re.compile(r"\s*(\S+)\s+(in|notin)\s+\(([^)]*)\)\s*")


def _equation(text: str) -> tuple[str, str, str]:
    among = SET.fullmatch(text)
    if among is not None:
        return among[1], among[2], among[3]
    for sign in ("!=", "==", "="):
        key, found, value = text.partition(sign)
        if found:
            return key.strip(), "!=" if sign == "!=" else "=", value.strip()
    bare = text.strip()
    return (bare[1:], "!", "") if bare.startswith("!") else (bare, "exists", "")


def _holds(value: str | None, sign: str, wanted: str) -> bool:
    match sign:
        case "=":
            return value == wanted
        case "!=":
            return value != wanted
        case "!":
            return value is None
        case "in":
            return value in [x.strip() for x in wanted.split(",")]
        case "notin":
            return value not in [x.strip() for x in wanted.split(",")]
        case _:
            return value is not None


def _field(thing: Thing, path: str) -> str:
    found: Any = thing
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return "" if found is None else str(found)


def main() -> None:
    """Until it is told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument(
        "--remembered", type=int, default=10_000, help="changes of each kind that a watch may begin before"
    )
    parser.add_argument("--without", action="append", default=[], help="GROUP/VERSION that is not served")
    options = parser.parse_args()
    server = ApiServer(options.folder, options.remembered, tuple(options.without))
    asyncio.run(serve(server.handle, "127.0.0.1", options.port))


if __name__ == "__main__":
    main()
