"""A Kubernetes API server, as far as it matters here: lists and watches of nodes and pods, binding, and Leases.

lightkube provides the address of the server and the credentials (kubeconfig, service account, certificates, tokens).
The requests are made here: lightkube's watch waits for ever on a connection that has died without a word, and begins
anew in silence where the past is gone, so that deletions in between would go unnoticed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
from lightkube.config.client_adapter import Client, ConnectionParams, verify_cluster
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.config.models import NameValue, User
from lightkube.core.exceptions import ConfigError

from runtime.errors import UserError
from runtime.service.direct import Direct, NoAnswerError
from runtime.service.election import LeaseConflictError
from runtime.service.objects import PodObject

PAGE_SIZE = 500
"""Maximum number of objects in one page of a list."""
WATCH_TIMEOUT = 60
"""Seconds after which the server ends a watch. Another one goes on where it was, so that a connection that died without
a word is missed for no longer than this."""
CONNECT_TIMEOUT = 10.0
"""Seconds for any other request, and for what is late on a watch."""
LEASES = "apis/coordination.k8s.io/v1/"
JSON = {"Content-Type": "application/json"}
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
CREDENTIAL_HEADERS = ("Authorization",)
"""Headers that identify the caller."""
PLUGIN_PREFIX = "client.authentication.k8s.io/"
"""Prefix of the versions of credential plugins."""


POLICY_V1BETA1 = "policy/v1beta1"
FIRST_POLICY_V1 = 22
"""The minor version of Kubernetes from which evictions are those of policy/v1; earlier ones know policy/v1beta1."""


class Kind(Enum):
    """What can be listed and watched."""

    NODES = "nodes"
    PODS = "pods"
    POD_GROUPS = "podgroups"


POD_GROUP_VERSIONS = ("scheduling.k8s.io/v1alpha3", "scheduling.k8s.io/v1alpha2")
"""Versions of PodGroups that are understood, the best first. Both have `spec.schedulingPolicy.gang.minCount`."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget."""

    name: str
    selector: Mapping[str, Any]
    """The LabelSelector of the pods that it covers."""
    allowed: int
    """How many of them may be evicted now."""


NO_BUDGET_NEEDED = ("Pending", "Succeeded", "Failed")
"""Phases of pods that the server evicts whatever their disruption budgets say, as it does pods that are leaving.

Source: `canIgnorePDB` of the eviction API (pkg/registry/core/pod/storage/eviction.go)."""


class ApiError(Exception):
    """A request to the server that came to nothing."""

    def __init__(self, code: int, message: str, *, budget: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        """The status of the answer; 0 where there was none."""
        self.budget = budget
        """What the server says of the disruption budget that forbids an eviction; empty where none does. A status 429
        alone does not mean a budget: flow control has the same one."""
        self.retry_after = retry_after
        """Seconds for which the server wants to be left alone; none where it does not say."""


class Api:
    """Requests to one server, from any thread."""

    def __init__(self, client: httpx2.Client, direct: Direct | None = None) -> None:
        """`direct`: for bindings, as soon as it is known how to say who asks; none where a proxy is on the way."""
        self._client = client
        self._direct = direct
        self.before_change: Callable[[], object] = lambda: None
        """Called when a connection is there, before anything is sent of a request that changes something else than a
        Lease. Nothing is sent if it raises an exception."""
        self._pod_groups = ""
        """The version of PodGroups that the server has; empty where that is not known."""
        self._who: dict[str, str] | None = None
        """The headers that said who asks in the last request that was answered; none before the first."""
        self._policy = ""
        """The group and version of evictions and budgets; empty before it is needed."""

    def _list(self, path: str) -> tuple[list[dict[str, Any]], str]:
        """All objects of a collection, and the version of the cluster that they were listed at. Raises `ApiError`."""
        items: list[dict[str, Any]] = []
        parameters = {"limit": str(PAGE_SIZE)}
        while True:
            answer = self._ask("GET", path, params=parameters)
            metadata = answer.get("metadata") or {}
            items += answer.get("items") or []
            if not metadata.get("continue"):
                return items, str(metadata.get("resourceVersion", ""))
            parameters["continue"] = metadata["continue"]

    def list(self, kind: Kind) -> tuple[list[dict[str, Any]], str]:
        """All there are, and the version of the cluster that they were listed at. Raises `ApiError`."""
        return self._list(self._collection(kind))

    def watch(self, kind: Kind, version: str) -> Iterator[dict[str, Any]]:
        """Events since a version, until the server ends it. Raises `ApiError`, with code 410 where these are gone."""
        parameters = {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_TIMEOUT),
        }
        timeout = httpx2.Timeout(CONNECT_TIMEOUT, read=WATCH_TIMEOUT + CONNECT_TIMEOUT)
        with (
            _as_api_errors(),
            self._client.stream("GET", self._collection(kind), params=parameters, timeout=timeout) as response,
        ):
            if response.status_code >= 400:
                raise _error(response.status_code, response.read(), response.headers.get("Retry-After", ""))
            begun = b""
            for chunk in response.iter_bytes():
                *lines, begun = (begun + chunk).split(b"\n")
                yield from map(_event, filter(bytes.strip, lines))

    def pod(self, namespace: str, name: str) -> dict[str, Any] | None:
        """A pod; none where there is no such. Raises `ApiError`."""
        try:
            return self._ask("GET", _path(namespace, name))
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    def bind(self, pod: PodObject, node: str, annotations: Mapping[str, str]) -> None:
        """Binds a pod; the server adds the annotations to it in the same step. Raises `ApiError`.

        The uid should make the server refuse when another pod has taken the name meanwhile; servers up to 1.20 at least
        do not look at it. What protects is that a pod is bound only while it is known under its uid and name.
        """
        metadata = {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid, "annotations": dict(annotations)}
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        self._post(f"{_path(pod.namespace, pod.name)}/binding", binding)

    def _collection(self, kind: Kind) -> str:
        """The path of all objects of a kind. Raises `ApiError` with 404 where the server has no such kind."""
        if kind is not Kind.POD_GROUPS:
            return f"api/v1/{kind.value}"
        if not self._pod_groups:
            group = self._ask("GET", "apis/scheduling.k8s.io")
            served = [x.get("groupVersion") for x in group.get("versions") or () if isinstance(x, dict)]
            version = next((x for x in POD_GROUP_VERSIONS if x in served), "")
            if not version:
                raise ApiError(404, "the API server serves no PodGroups of a version that is understood")
            self._pod_groups = version
        return f"apis/{self._pod_groups}/{kind.value}"

    def patch(self, pod: PodObject, operations: Sequence[Mapping[str, Any]]) -> None:
        """Changes a pod by a JSON patch: all of it, or nothing. Raises `ApiError`."""
        self._send("PATCH", _path(pod.namespace, pod.name), operations, JSON_PATCH)

    def tell(self, event: dict[str, Any]) -> None:
        """Creates an Event of a namespace. Raises `ApiError`."""
        namespace = quote(event["metadata"]["namespace"], safe="")
        self._ask("POST", f"apis/events.k8s.io/v1/namespaces/{namespace}/events", json=event)

    def delete(self, pod: PodObject) -> None:
        """Has a pod deleted, in its own time, unless another one has taken its name. Raises `ApiError`."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}}
        self._ask("DELETE", _path(pod.namespace, pod.name), json=options)

    def evict(self, pod: PodObject) -> None:
        """Has a pod deleted, in its own time, unless a disruption budget forbids it (code 429, and `budget`) or another
        pod has taken its name (409). Raises `ApiError`."""
        eviction = {
            "apiVersion": self._policy_version(),
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "deleteOptions": {"preconditions": {"uid": pod.uid}},
        }
        self._post(f"{_path(pod.namespace, pod.name)}/eviction", eviction)

    def budgets(self, namespace: str) -> tuple[Budget, ...]:
        """The disruption budgets that cover pods of a namespace, by name. Raises `ApiError`.

        An empty selector covers all pods in policy/v1, and none in policy/v1beta1. A budget that was changed lets
        nobody go until the server has counted its pods anew, and answers evictions with 429 until then.
        """
        version = self._policy_version()
        budgets = []
        for item in self._list(f"apis/{version}/namespaces/{quote(namespace, safe='')}/poddisruptionbudgets")[0]:
            metadata, status = item["metadata"], item.get("status") or {}
            selector = (item.get("spec") or {}).get("selector")
            if selector is None or (version == POLICY_V1BETA1 and _is_empty(selector)):
                continue
            counted = (status.get("observedGeneration") or 0) >= (metadata.get("generation") or 0)
            allowed = (status.get("disruptionsAllowed") or 0) if counted else 0
            budgets.append(Budget(metadata["name"], selector, max(0, allowed)))
        return tuple(sorted(budgets, key=lambda budget: budget.name))

    def guarded_pods(self, namespace: str) -> dict[str, Mapping[str, str]]:
        """The labels of the pods of a namespace that the server evicts only if their disruption budgets permit it, by
        uid. Raises `ApiError`.

        A pod may begin to run after this. Its eviction may then be refused, as if its budget had shrunk meanwhile.
        """
        items, _ = self._list(f"api/v1/namespaces/{quote(namespace, safe='')}/pods")
        return {
            item["metadata"]["uid"]: item["metadata"].get("labels") or {}
            for item in items
            if (item.get("status") or {}).get("phase") not in NO_BUDGET_NEEDED
            and not item["metadata"].get("deletionTimestamp")
        }

    def _policy_version(self) -> str:
        """An answer that cannot be understood is that of a later version."""
        if not self._policy:
            minor = re.match(r"\d+", str(self._ask("GET", "version").get("minor", "")))
            is_old = minor is not None and int(minor[0]) < FIRST_POLICY_V1
            self._policy = POLICY_V1BETA1 if is_old else "policy/v1"
        return self._policy

    def lease(self, namespace: str, name: str) -> dict[str, Any] | None:
        """A Lease; none where there is no such. Raises `ApiError`."""
        try:
            return self._ask("GET", f"{_leases(namespace)}/{quote(name, safe='')}")
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    def write_lease(self, namespace: str, lease: dict[str, Any]) -> dict[str, Any]:
        """Creates a Lease without a version, or replaces the one of its version.

        Raises `LeaseConflictError` where that is not the latest, and `ApiError`.
        """
        new = "resourceVersion" not in lease["metadata"]
        path = _leases(namespace) if new else f"{_leases(namespace)}/{quote(lease['metadata']['name'], safe='')}"
        try:
            return self._ask("POST" if new else "PUT", path, json=lease)
        except ApiError as error:
            if error.code == 409:
                raise LeaseConflictError(str(error)) from error
            raise

    def _post(self, path: str, document: dict[str, Any]) -> None:
        self._send("POST", path, document, JSON)

    def _send(self, method: str, path: str, document: object, content: dict[str, str]) -> None:
        """A request whose answer says no more than that it was done. Raises `ApiError`."""
        status, answer, retry_after = 401, b"", ""
        if self._direct is not None and self._who is not None:
            try:
                body = json.dumps(document).encode()
                headers = {**content, **self._who}
                status, answer, retry_after = self._direct.send(method, path, body, headers, self.before_change)
            except NoAnswerError as error:
                raise ApiError(0, str(error)) from error
        if status == 401:
            self._ask(method, path, content=json.dumps(document).encode(), headers=content)
        elif status >= 400:
            raise _error(status, answer, retry_after)

    def _ask(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        if method != "GET" and not path.startswith(LEASES):
            more["extensions"] = {"trace": self._trace}
        with _as_api_errors():
            response = self._client.request(method, path, **more)
            if response.status_code >= 400:
                raise _error(response.status_code, response.content, response.headers.get("Retry-After", ""))
            self._who = {x: response.request.headers[x] for x in CREDENTIAL_HEADERS if x in response.request.headers}
            answer = response.json()
        if not isinstance(answer, dict):
            raise ApiError(0, f"the answer to {method} {path} is not an object")
        return answer

    def _trace(self, event: str, _: Mapping[str, Any]) -> None:
        """The client for everything tells of each step of a request."""
        if event.endswith("send_request_headers.started"):
            self.before_change()

    def close(self) -> None:
        """Closes all idle connections."""
        self._client.close()
        if self._direct is not None:
            self._direct.close()


def _path(namespace: str, name: str) -> str:
    return f"api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}"


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a LabelSelector selects these labels; an empty one selects all. Raises `ApiError`."""
    required = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in required.items()) and all(
        _holds(x, labels) for x in selector.get("matchExpressions") or ()
    )


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case operator:
            raise ApiError(0, f"a selector has the unknown operator {operator}")


def _is_empty(selector: Mapping[str, Any]) -> bool:
    return not (selector.get("matchLabels") or selector.get("matchExpressions"))


def _leases(namespace: str) -> str:
    return f"{LEASES}namespaces/{quote(namespace, safe='')}/leases"


@contextmanager
def _as_api_errors() -> Iterator[None]:
    """Reports every failure on the way to the server as an `ApiError` with status 0."""
    try:
        yield
    except (httpx2.HTTPError, httpx2.StreamError, ConfigError, OSError, ValueError, RecursionError) as error:
        raise ApiError(0, f"{type(error).__name__}: {error}") from error


def _event(line: bytes) -> dict[str, Any]:
    """Lines end with a line feed alone: others may be part of what users wrote."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ApiError(500, f"an event is not JSON: {error}") from error
    if not isinstance(event, dict) or not isinstance(event.get("object"), dict):
        raise ApiError(500, "an event has no object")
    if event.get("type") == "ERROR":
        status = event["object"]
        code = status.get("code")
        raise ApiError(code if isinstance(code, int) else 500, str(status.get("message", "")))
    return event


def _error(status: int, body: bytes, retry_after: str) -> ApiError:
    """With the message of the server, where there is one. `retry_after`: the header of this name."""
    try:
        answer = json.loads(body)
        message = answer["message"]
    except (ValueError, KeyError, TypeError, RecursionError):
        answer, message = {}, body[:200].decode(errors="replace")
    details = answer.get("details")
    details = details if isinstance(details, dict) else {}
    seconds = retry_after if retry_after.isdecimal() else details.get("retryAfterSeconds")
    return ApiError(
        status,
        f"{status}: {message}",
        budget=_budget_cause(details.get("causes"), str(message)) if status == 429 else "",
        retry_after=float(seconds) if isinstance(seconds, int | str) else None,
    )


def _budget_cause(causes: object, message: str) -> str:
    """What is said of a disruption budget; empty where none is the cause."""
    for cause in causes if isinstance(causes, list) else ():
        if isinstance(cause, dict) and cause.get("reason") == "DisruptionBudget":
            return str(cause.get("message") or message)
    return ""


def connect(kubeconfig: Path | None, server: str = "") -> Api:
    """The cluster of a kubeconfig; without one, the cluster that this runs in, or else what the environment says.

    `server` is an address to use instead of the one that is found. Raises `UserError`.
    """
    try:
        config = _single(kubeconfig, server)
        if config.user is None:
            config = config._replace(user=User())
        if server:
            config.cluster.server = server
        _tell_plugin(config.user)
        client = Client(config, ConnectionParams(timeout=httpx2.Timeout(CONNECT_TIMEOUT)))
        return Api(client, None if _proxied(config.cluster.server) else _direct(config))
    except KeyError as error:
        raise UserError(f"the cluster cannot be reached: the kubeconfig has no {error}") from error
    except Exception as error:
        raise UserError(f"the cluster cannot be reached: {error}") from error


def _direct(config: SingleConfig) -> Direct:
    assert config.user is not None, "there is one, if only one that says nothing"
    return Direct(config.cluster.server, verify_cluster(config.cluster, config.user, config.abs_file), CONNECT_TIMEOUT)


def _proxied(server: str) -> bool:
    """Whether the environment names a proxy for it."""
    return bool(getproxies()) and not proxy_bypass(urlsplit(server).hostname or "")


def _tell_plugin(user: User | None) -> None:
    """Of plugins for credentials lightkube knows the versions before v1; the answers are the same. Which one it is to
    answer in, a plugin is told by its environment.

    Source: Kubernetes, "client-go credential plugins". Raises `ConfigError` where there is no such program.
    """
    if user is None or user.exec is None or not user.exec.apiVersion.startswith(PLUGIN_PREFIX):
        return
    if shutil.which(user.exec.command) is None:
        hint = f" ({user.exec.installHint})" if user.exec.installHint else ""
        raise ConfigError(f"the credential plugin {user.exec.command} was not found{hint}")
    exec_info = {"apiVersion": user.exec.apiVersion, "kind": "ExecCredential", "spec": {"interactive": False}}
    user.exec.env = [*(user.exec.env or ()), NameValue("KUBERNETES_EXEC_INFO", json.dumps(exec_info))]
    if user.exec.apiVersion == f"{PLUGIN_PREFIX}v1":
        user.exec.apiVersion = f"{PLUGIN_PREFIX}v1beta1"


def _single(kubeconfig: Path | None, server: str) -> SingleConfig:
    try:
        kube_config = KubeConfig.from_file(kubeconfig) if kubeconfig is not None else KubeConfig.from_env()
    except ConfigError:
        if kubeconfig is not None or not server or "KUBECONFIG" in os.environ:
            raise
        kube_config = KubeConfig.from_server(server)
    config = kube_config.get()
    assert config is not None, "it has a context, or has said so"
    return config
