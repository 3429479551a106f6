"""Control planes on the loopback, and the real one of Kubernetes 1.20: etcd, kube-apiserver, kube-scheduler, kubelets.

The real one is looked for in `$KUBERNETES_CONTROL_PLANE`, then in `../shared/kubernetes` beside the repository. The
allocator is its extender, with the scheduler profile, the role and the arguments of `deploy/kubernetes`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import httpx
import pytest
import yaml

ROOT = Path(__file__).parents[3]
KUBERNETES = Path(os.environ.get("KUBERNETES_CONTROL_PLANE", ROOT.parent / "shared/kubernetes"))
DEPLOY = ROOT / "deploy" / "kubernetes"
BINARIES = ROOT / "build" / "kubernetes"
GUARDIAN = Path(__file__).with_name("guardian.py")


def missing() -> str:
    """Why there is no control plane; empty where there is one."""
    if not (KUBERNETES / "up").exists():
        return f"{KUBERNETES / 'up'} is missing"
    programs = [x for x in ("etcd", "openssl", "curl", "xz", "bash") if shutil.which(x) is None]
    return f"not installed: {', '.join(programs)}" if programs else ""


needed = pytest.mark.skipif(
    bool(missing()), reason=f"SKIPPED, THE ALLOCATOR IS NOT TESTED BEHIND A REAL KUBE-SCHEDULER: {missing()}"
)

T = TypeVar("T")


def until(condition: Callable[[], T], what: str, seconds: float = 90.0) -> T:
    """Waits for what happens in its own time; answers the first result that is true."""
    ends = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < ends, f"not within {seconds:g} s: {what}"
        time.sleep(0.1)
    return result


def free_ports(count: int = 12) -> int:
    """The first of so many ports in a row that nobody listens on."""
    for first in range(23_000 + os.getpid() % 50 * 100, 32_000, count):
        try:
            for port in range(first, first + count):
                with socket.socket() as tried:
                    tried.bind(("127.0.0.1", port))
        except OSError:
            continue
        return first
    raise AssertionError("no ports are free")


def documents(*names: str) -> Iterator[dict[str, Any]]:
    """The Kubernetes objects of files in `deploy/kubernetes`; of all, without names."""
    files = [DEPLOY / name for name in names] or sorted(DEPLOY.glob("*.yaml"))
    for file in files:
        yield from (x for x in yaml.safe_load_all(file.read_text()) if x is not None)


def document(kind: str, name: str) -> dict[str, Any]:
    """One of them."""
    return next(x for x in documents() if x["kind"] == kind and x["metadata"]["name"] == name)


def scheduler_profile(extender: str, requests: int | None) -> dict[str, Any]:
    """The configuration of the kube-scheduler in `deploy`, as version 1.20 reads it, with addresses of this machine,
    and without TLS.

    `requests` is how many the kube-scheduler may send to the API server in a second; none for what it allows itself
    (50, and 100 at once).
    """
    shipped = yaml.safe_load(document("ConfigMap", "gang-scheduler")["data"]["configuration.yaml"])
    (only,) = shipped["extenders"]
    plain = {**{key: value for key, value in only.items() if key != "tlsConfig"}, "enableHTTPS": False}
    path = only["urlPrefix"].split("/", 3)[3]
    return {
        **shipped,
        "apiVersion": "kubescheduler.config.k8s.io/v1beta1",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {
            "kubeconfig": "@KUBECONFIG@",
            **({} if requests is None else {"qps": requests, "burst": requests}),
        },
        "healthzBindAddress": "127.0.0.1:@HEALTH@",
        "metricsBindAddress": "127.0.0.1:@HEALTH@",
        # Waiting pods are tried again after a second at most, not after ten: a test has no time for that.
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 1,
        "extenders": [{**plain, "urlPrefix": f"http://{extender}/{path}"}],
    }


class Plane:
    """In one folder, on ports of its own; ended when the tests end, in whatever way."""

    name: ClassVar[str]

    def __init__(
        self,
        folder: Path,
        port: int | None = None,
        resources: str = "nvidia.com/gpu=8",
        requests: int | None = 400,
    ) -> None:
        self.folder = folder.resolve()
        self.port = free_ports() if port is None else port
        self.extender = f"127.0.0.1:{self.port + 8}"
        self._resources = resources
        self._requests = requests
        self._guardian = subprocess.Popen(
            [sys.executable, GUARDIAN, self.folder], stdin=subprocess.PIPE, start_new_session=True
        )
        self.api = httpx.Client()

    def start(self, nodes: int) -> None:
        """All components, and so many nodes, named `node-1` and so on."""
        raise NotImplementedError

    def revive(self, component: str) -> None:
        """Starts a component again that was killed, and waits until it is healthy."""
        raise NotImplementedError

    def node_ready(self, node: str, how: str) -> None:
        """`yes`, `no`, or `silent`."""
        raise NotImplementedError

    def spawn(self, name: str, command: list[str | Path], **environment: str) -> subprocess.Popen[bytes]:
        """A process of this control plane, with `NAME.pid` and `NAME.log`."""
        with (self.folder / f"{name}.log").open("a") as log:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env={**os.environ, **environment},
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        (self.folder / f"{name}.pid").write_text(str(process.pid))
        return process

    def stop(self) -> None:
        """Everything. Watches end with the API server; a connection that is closed beside a thread that reads from it
        leaves that thread with the number of a file that is another's by then."""
        assert self._guardian.stdin is not None
        self._guardian.stdin.close()
        self._guardian.wait(60)
        self.api.close()

    # Faults

    def kill(self, component: str) -> None:
        """Without a word. It is dead afterwards: a large process takes a moment to die."""
        pid = int((self.folder / f"{component}.pid").read_text())
        os.kill(pid, signal.SIGKILL)
        for _ in range(1000):
            try:
                os.readlink(f"/proc/{pid}/cwd")  # the dead have none
            except OSError:
                return
            time.sleep(0.01)
        raise AssertionError(f"{component} does not die")

    # Requests

    def ask(self, method: str, path: str, body: Any = None, expect: tuple[int, ...] = (200, 201, 202)) -> Any:
        """The answer of the API server, as an administrator."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        content = None if body is None else json.dumps(body)
        for attempt in range(5):
            try:
                answer = self.api.request(method, path, content=content, headers={"Content-Type": kind})
                break
            except httpx.TransportError:
                if attempt == 4:
                    raise
                time.sleep(1)
        assert answer.status_code in expect, f"{method} {path}: {answer.text[:500]}"
        return answer.json()

    def apply(self, thing: dict[str, Any]) -> dict[str, Any]:
        """Creates an object, or replaces it. What the server drops, because it does not know it, fails."""
        collection = self.collection(thing)
        name = thing["metadata"]["name"]
        existing = self.ask("GET", f"{collection}/{name}", expect=(200, 404))
        if existing.get("kind") == "Status":
            answer = self.ask("POST", collection, thing)
        else:
            version = {"resourceVersion": existing["metadata"]["resourceVersion"]}
            answer = self.ask("PUT", f"{collection}/{name}", {**thing, "metadata": {**thing["metadata"], **version}})
        assert not list(dropped(thing, answer)), list(dropped(thing, answer))
        return dict(answer)

    def collection(self, thing: dict[str, Any]) -> str:
        """The path of all objects of this kind."""
        group = thing["apiVersion"]
        prefix = f"/api/{group}" if "/" not in group else f"/apis/{group}"
        resources = self.ask("GET", prefix)["resources"]
        found = next(x for x in resources if x["kind"] == thing["kind"] and "/" not in x["name"])
        inside = f"/namespaces/{thing['metadata'].get('namespace', 'default')}" if found["namespaced"] else ""
        return f"{prefix}{inside}/{found['name']}"


class ControlPlane(Plane):
    """Kubernetes 1.20, by the scripts that come with its binaries."""

    name = "1.20"

    def start(self, nodes: int) -> None:
        """All components, and so many nodes, named `node-1` and so on."""
        BINARIES.mkdir(parents=True, exist_ok=True)
        config = self.folder / "profile.yaml"
        config.write_text(yaml.safe_dump(scheduler_profile(self.extender, self._requests)))
        with (BINARIES / "lock").open("w") as lock:
            flock(lock, LOCK_EX)  # it makes the binaries where there are none, and another worker may do so, too
            self._run("up", self.folder, config)
        context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        token = (self.folder / "token").read_text()
        self.api = httpx.Client(
            base_url=f"https://127.0.0.1:{self.port + 2}",
            headers={"Authorization": f"Bearer {token}"},
            verify=context,
            timeout=60,
        )
        self._run("nodes.py", self.folder, "create", str(nodes), "--resource", self._resources)
        self.spawn("kubelets", [sys.executable, KUBERNETES / "nodes.py", self.folder, "play"])

    def _run(self, program: str, *arguments: str | Path) -> None:
        environment = {**os.environ, "PORT": str(self.port), "BIN": str(BINARIES), "WATCH_CACHE": "100"}
        interpreter = sys.executable if program.endswith(".py") else "bash"
        command = [interpreter, KUBERNETES / program, *arguments]
        with (self.folder / "setup.log").open("a") as log:
            done = subprocess.run(command, env=environment, stdout=log, stderr=log, timeout=180)
        assert done.returncode == 0, (self.folder / "setup.log").read_text()[-2000:]

    def revive(self, component: str) -> None:
        """Starts a component again that was killed, and waits until it is healthy."""
        if component == "kube-scheduler":
            self._run("scheduler", self.folder)
        else:
            self._run("up", self.folder)

    def node_ready(self, node: str, how: str) -> None:
        """`yes`, `no`, or `silent`."""
        self._run("nodes.py", self.folder, "ready", node, how)


def dropped(sent: Any, stored: Any, path: str = "") -> Iterator[str]:
    """Paths of what was sent and is not in the answer: unknown fields, which a server drops in silence."""
    match sent:
        case dict():
            for key, value in sent.items():
                if not isinstance(stored, dict) or key not in stored:
                    yield f"{path}.{key}"
                else:
                    yield from dropped(value, stored[key], f"{path}.{key}")
        case list():
            if not isinstance(stored, list) or len(stored) < len(sent):
                yield path
            else:
                for number, (one, other) in enumerate(zip(sent, stored, strict=False)):
                    yield from dropped(one, other, f"{path}[{number}]")
        case _ if sent != stored:
            yield f"{path}: {sent!r} became {stored!r}"
