"""The control planes that the tests run behind: the real 1.20, the stand-in, and a real one of today.

`$BIN` names a folder with the programs kube-apiserver and kube-scheduler, 1.36 or so.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import control_plane
import httpx
import pytest
import yaml
from control_plane import ControlPlane, Plane, until
from stand_in.kubelets import WISH, node

RUNTIME = Path(__file__).parents[1]
ACCOUNTS = {
    "admin": ("admin", ["system:masters"]),
    "scheduler": ("system:kube-scheduler", []),
    "allocator": (
        "system:serviceaccount:kube-system:allocator",
        ["system:serviceaccounts", "system:serviceaccounts:kube-system"],
    ),
}


def profile_of_today(extender: str, requests: int | None) -> dict[str, Any]:
    """The configuration of the kube-scheduler in `deploy`, with addresses of this machine."""
    older = control_plane.scheduler_profile(extender, requests)
    gone = ("healthzBindAddress", "metricsBindAddress")
    rest = {key: value for key, value in older.items() if key not in gone}
    return {**rest, "apiVersion": "kubescheduler.config.k8s.io/v1"}


class PlaneOfToday(Plane):
    """What the stand-in and a real one have in common: accounts, nodes, and the kubelets that are played."""

    scheme = "http"

    def __init__(self, folder: Path, **more: Any) -> None:
        super().__init__(folder, **more)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def spawn(self, name: str, command: list[str | Path], **environment: str) -> subprocess.Popen[bytes]:
        self._processes[name] = super().spawn(name, command, **environment)
        return self._processes[name]

    def kill(self, component: str) -> None:
        super().kill(component)
        self._processes.pop(component).wait()

    @property
    def address(self) -> str:
        """Of the API server."""
        return f"{self.scheme}://127.0.0.1:{self.port + 2}"

    def _make_accounts(self) -> dict[str, str]:
        """Tokens by account, each with a kubeconfig."""
        tokens = {who: secrets.token_hex(16) for who in ACCOUNTS}
        (self.folder / "token").write_text(tokens["admin"])
        cluster = {"server": self.address, **self._trust()}
        for who, token in tokens.items():
            config = {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "loopback", "cluster": cluster}],
                "users": [{"name": who, "user": {"token": token}}],
                "contexts": [{"name": "loopback", "context": {"cluster": "loopback", "user": who}}],
                "current-context": "loopback",
            }
            (self.folder / f"{who}.kubeconfig").write_text(yaml.safe_dump(config))
        self.api = httpx.Client(
            base_url=self.address,
            headers={"Authorization": f"Bearer {tokens['admin']}"},
            verify=self._verify(),
            timeout=60,
        )
        return tokens

    def _trust(self) -> dict[str, str]:
        return {}

    def _verify(self) -> ssl.SSLContext | bool:
        return True

    def _write_profile(self) -> Path:
        """Of the kube-scheduler."""
        path = self.folder / "scheduler.yaml"
        profile = profile_of_today(self.extender, self._requests)
        profile["clientConnection"]["kubeconfig"] = str(self.folder / "scheduler.kubeconfig")
        path.write_text(yaml.safe_dump(profile))
        return path

    def _create_nodes(self, count: int) -> None:
        resources = dict([self._resources.split("=")])
        for number in range(1, count + 1):
            thing = node(f"node-{number}", resources)
            if self.ask("POST", "/api/v1/nodes", thing, expect=(201, 409)).get("kind") == "Node":
                status = {"status": {"conditions": thing["status"]["conditions"]}}
                self.ask("PATCH", f"/api/v1/nodes/node-{number}/status", status)
        self._spawn_module("kubelets", "kubelets", "--server", self.address)

    def _spawn_module(self, name: str, module: str, *arguments: str | Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"stand_in.{module}", self.folder, *arguments]
        return self.spawn(name, command, PYTHONPATH=str(RUNTIME))

    def _answers(self) -> bool:
        try:
            return self.api.get("/readyz", timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    def node_ready(self, node: str, how: str) -> None:
        self.ask("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"annotations": {WISH: how}}})


class StandIn(PlaneOfToday):
    """The package `stand_in`."""

    name = "stand-in"

    def __init__(self, folder: Path, **more: Any) -> None:
        super().__init__(folder, **more)
        self.options: tuple[str, ...] = ()
        """More arguments of the API server."""

    def start(self, nodes: int) -> None:
        tokens = self._make_accounts()
        users = {tokens[who]: {"name": name, "groups": groups} for who, (name, groups) in ACCOUNTS.items()}
        (self.folder / "tokens.json").write_text(json.dumps(users))
        self._write_profile()
        self.revive("kube-apiserver")
        self._create_nodes(nodes)
        self.revive("kube-scheduler")

    def revive(self, component: str) -> None:
        match component:
            case "kube-apiserver":
                options = ("--port", str(self.port + 2), *self.options)
                self._spawn_module(component, "api_server", *options)
                until(self._answers, f"the API server answers: {self._log(component)}")
            case "kube-scheduler":
                ready = self.folder / "kube-scheduler.ready"
                ready.unlink(missing_ok=True)
                config = self.folder / "scheduler.yaml"
                options = ("--server", self.address, "--config", str(config))
                self._spawn_module(component, "kube_scheduler", *options)
                until(ready.exists, f"the kube-scheduler knows the cluster: {self._log(component)}")
            case _:
                raise AssertionError(component)

    def _log(self, component: str) -> str:
        return (self.folder / f"{component}.log").read_text()[-500:]

    # What tests can ask of it alone

    @property
    def changes(self) -> Path:
        """All that has happened, one change on each line."""
        return self.folder / "changes.jsonl"

    def compact(self) -> None:
        """The API server forgets what has happened."""
        self.ask("POST", "/stand-in/compact")

    def calls(self) -> list[dict[str, Any]]:
        """Of the extender: time (in seconds), verb, pod, number of nodes, error."""
        path = self.folder / "extender-calls.jsonl"
        return [json.loads(x) for x in path.read_text().splitlines()] if path.exists() else []


class Binaries(PlaneOfToday):
    """A real kube-apiserver and kube-scheduler of 1.36, in `$BIN`, with an etcd of the path. Kubelets are played."""

    name = "1.36"
    scheme = "https"

    def start(self, nodes: int) -> None:
        self._make_certificates()
        tokens = self._make_accounts()
        rows = [f'{tokens[who]},{name},{who},"{",".join(groups)}"' for who, (name, groups) in ACCOUNTS.items()]
        (self.folder / "tokens.csv").write_text("\n".join(rows) + "\n")
        self._write_profile()
        self.revive("etcd")
        self.revive("kube-apiserver")
        self.ask("POST", "/api/v1/namespaces", NODE_LEASES, expect=(201, 409))
        self._create_nodes(nodes)
        self.revive("kube-scheduler")

    def _make_certificates(self) -> None:
        """An authority, the server's certificate, and the key of service accounts."""
        names = "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc"
        for command in (
            "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 3650 -subj /CN=loopback-ca",
            f"req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=kube-apiserver -addext {names}",
            "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -copy_extensions copy"
            " -out server.crt",
            "genrsa -out accounts.key 2048",
        ):
            subprocess.run(["openssl", *command.split()], cwd=self.folder, check=True, capture_output=True)

    def _trust(self) -> dict[str, str]:
        return {"certificate-authority": str(self.folder / "ca.crt")}

    def _verify(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.folder / "ca.crt"))

    def revive(self, component: str) -> None:
        client, peer = (f"http://127.0.0.1:{self.port + n}" for n in range(2))
        match component:
            case "etcd":
                flags = {
                    "name": "loopback",
                    "data-dir": self.folder / "etcd",
                    "listen-client-urls": client,
                    "advertise-client-urls": client,
                    "listen-peer-urls": peer,
                    "initial-advertise-peer-urls": peer,
                    "initial-cluster": f"loopback={peer}",
                }
                self.spawn(component, [os.environ.get("ETCD", "etcd"), *_flags(flags)])
            case "kube-apiserver":
                # Nobody makes service accounts; nobody would remove the taint of a new node; gangs need two gates.
                flags = {
                    "etcd-servers": client,
                    "bind-address": "127.0.0.1",
                    "advertise-address": "127.0.0.1",
                    "secure-port": self.port + 2,
                    "tls-cert-file": "server.crt",
                    "tls-private-key-file": "server.key",
                    "cert-dir": self.folder,
                    "token-auth-file": "tokens.csv",
                    "authorization-mode": "RBAC",
                    "service-cluster-ip-range": "10.96.0.0/16",
                    "service-account-issuer": "https://kubernetes.default.svc",
                    "service-account-key-file": "accounts.key",
                    "service-account-signing-key-file": "accounts.key",
                    "endpoint-reconciler-type": "none",
                    "disable-admission-plugins": "ServiceAccount,TaintNodesByCondition",
                    "default-watch-cache-size": 100,
                    "feature-gates": GATES,
                    "runtime-config": "scheduling.k8s.io/v1alpha2=true",
                }
                self.spawn(component, [_binary(component), *_flags(flags)])
                until(self._answers, "the API server answers", 120)
            case "kube-scheduler":
                flags = {
                    "config": "scheduler.yaml",
                    "bind-address": "127.0.0.1",
                    "secure-port": self.port + 3,
                    "cert-dir": self.folder,
                    "authentication-kubeconfig": "scheduler.kubeconfig",
                    "authorization-kubeconfig": "scheduler.kubeconfig",
                    "feature-gates": GATES,
                }
                self.spawn(component, [_binary(component), *_flags(flags)])
                until(self._scheduler_answers, "the kube-scheduler is healthy", 60)
            case _:
                raise AssertionError(component)

    def _scheduler_answers(self) -> bool:
        try:
            # It makes its certificate itself.
            return httpx.get(f"https://127.0.0.1:{self.port + 3}/healthz", verify=False).status_code == 200
        except httpx.TransportError:
            return False


GATES = "GenericWorkload=true,GangScheduling=true"
NODE_LEASES = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-node-lease"}}


def _binary(name: str) -> Path:
    return Path(os.environ["BIN"]) / name


def _flags(flags: dict[str, Any]) -> list[str]:
    return [f"--{name}={value}" for name, value in flags.items()]


def binaries_missing() -> str:
    """Why there is no real control plane of today; empty where there is one."""
    if "BIN" not in os.environ:
        return "BIN names no folder of binaries"
    absent = [x for x in ("kube-apiserver", "kube-scheduler") if not _binary(x).exists()]
    programs = [x for x in (os.environ.get("ETCD", "etcd"), "openssl") if shutil.which(x) is None]
    return f"missing: {', '.join(absent + programs)}" if absent or programs else ""


PLANES = {x.name: x for x in (ControlPlane, StandIn, Binaries)}
MISSING = {"1.20": control_plane.missing(), "stand-in": "", "1.36": binaries_missing()}


def each_plane() -> list[Any]:
    """As parameters of a fixture: what is missing is skipped, and says so."""
    return [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                bool(MISSING[name]),
                reason=f"SKIPPED, THE ALLOCATOR IS NOT TESTED BEHIND A REAL {name}: {MISSING[name]}",
            ),
        )
        for name in PLANES
    ]
