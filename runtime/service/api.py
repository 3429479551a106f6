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
from collections.abc import Callable, Iterator, Mapping
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
CREDENTIAL_HEADERS = ("Authorization",)
"""Headers that identify the caller."""
PLUGIN_PREFIX = "client.authentication.k8s.io/"
"""Prefix of the versions of credential plugins."""


FIRST_POLICY_V1 = 22
"""The minor version of Kubernetes from which evictions are those of policy/v1; earlier ones know policy/v1beta1."""


class Kind(Enum):
    """What can be listed and watched."""

    NODES = "nodes"
    PODS = "pods"


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget."""

    name: str
    selector: str
    """The pods that it covers, as a list of pods is asked for."""
    allowed: int
    """How many of them may be evicted now."""


class ApiError(Exception):
    """A request to the server that came to nothing."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        """The status of the answer; 0 where there was none."""


class Api:
    """Requests to one server, from any thread."""

    def __init__(self, client: httpx2.Client, direct: Direct | None = None) -> None:
        """`direct`: for bindings, as soon as it is known how to say who asks; none where a proxy is on the way."""
        self._client = client
        self._direct = direct
        self.before_change: Callable[[], object] = lambda: None
        """Called when a connection is there, before anything is sent of a request that changes something else than a
        Lease. Nothing is sent if it raises an exception."""
        self._who: dict[str, str] | None = None
        """The headers that said who asks in the last request that was answered; none before the first."""
        self._policy = ""
        """The group and version of evictions and budgets; empty before it is needed."""

    def list(self, kind: Kind) -> tuple[list[dict[str, Any]], str]:
        """All there are, and the version of the cluster that they were listed at. Raises `ApiError`."""
        items: list[dict[str, Any]] = []
        parameters = {"limit": str(PAGE_SIZE)}
        while True:
            answer = self._ask("GET", f"api/v1/{kind.value}", params=parameters)
            metadata = answer.get("metadata") or {}
            items += answer.get("items") or []
            if not metadata.get("continue"):
                return items, str(metadata.get("resourceVersion", ""))
            parameters["continue"] = metadata["continue"]

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
            self._client.stream("GET", f"api/v1/{kind.value}", params=parameters, timeout=timeout) as response,
        ):
            if response.status_code >= 400:
                raise _error(response.status_code, response.read())
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

    def delete(self, pod: PodObject) -> None:
        """Has a pod deleted, in its own time, unless another one has taken its name. Raises `ApiError`."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}}
        self._ask("DELETE", _path(pod.namespace, pod.name), json=options)

    def evict(self, pod: PodObject) -> None:
        """Has a pod deleted, in its own time, unless a disruption budget forbids it (code 429) or another pod has taken
        its name (409). Raises `ApiError`."""
        eviction = {
            "apiVersion": self._policy_version(),
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "deleteOptions": {"preconditions": {"uid": pod.uid}},
        }
        self._post(f"{_path(pod.namespace, pod.name)}/eviction", eviction)

    def budgets(self, namespace: str) -> Iterator[Budget]:
        """The disruption budgets that cover pods of a namespace. Raises `ApiError`."""
        path = f"apis/{self._policy_version()}/namespaces/{quote(namespace, safe='')}/poddisruptionbudgets"
        for item in self._ask("GET", path).get("items") or []:
            selector = (item.get("spec") or {}).get("selector")
            if selector is not None:
                allowed = (item.get("status") or {}).get("disruptionsAllowed") or 0
                yield Budget(item["metadata"]["name"], label_selector(selector), allowed)

    def selected(self, namespace: str, selector: str) -> set[str]:
        """The uids of the pods of a namespace with certain labels. Raises `ApiError`."""
        path = f"api/v1/namespaces/{quote(namespace, safe='')}/pods"
        items = self._ask("GET", path, params={"labelSelector": selector}).get("items") or []
        return {item["metadata"]["uid"] for item in items}

    def _policy_version(self) -> str:
        """An answer that cannot be understood is that of a later version."""
        if not self._policy:
            minor = re.match(r"\d+", str(self._ask("GET", "version").get("minor", "")))
            is_old = minor is not None and int(minor[0]) < FIRST_POLICY_V1
            self._policy = "policy/v1beta1" if is_old else "policy/v1"
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
        """A request whose answer says no more than that it was done. Raises `ApiError`."""
        status, answer = 401, b""
        if self._direct is not None and self._who is not None:
            try:
                body, headers = json.dumps(document).encode(), {**JSON, **self._who}
                status, answer = self._direct.post(path, body, headers, self.before_change)
            except NoAnswerError as error:
                raise ApiError(0, str(error)) from error
        if status == 401:
            self._ask("POST", path, json=document)
        elif status >= 400:
            raise _error(status, answer)

    def _ask(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        if method != "GET" and not path.startswith(LEASES):
            more["extensions"] = {"trace": self._trace}
        with _as_api_errors():
            response = self._client.request(method, path, **more)
            if response.status_code >= 400:
                raise _error(response.status_code, response.content)
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


def label_selector(selector: Mapping[str, Any]) -> str:
    """A LabelSelector as the API takes it in a query."""
    parts = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for x in selector.get("matchExpressions") or []:
        values = f"({','.join(x.get('values') or [])})"
        match x["operator"]:
            case "In":
                parts.append(f"{x['key']} in {values}")
            case "NotIn":
                parts.append(f"{x['key']} notin {values}")
            case "Exists":
                parts.append(x["key"])
            case "DoesNotExist":
                parts.append(f"!{x['key']}")
            case operator:
                raise ApiError(0, f"a selector has the unknown operator {operator}")
    return ",".join(parts)


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


def _error(status: int, body: bytes) -> ApiError:
    """With the message of the server, where there is one."""
    try:
        message = json.loads(body)["message"]
    except (ValueError, KeyError, TypeError, RecursionError):
        message = body[:200].decode(errors="replace")
    return ApiError(status, f"{status}: {message}")


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
