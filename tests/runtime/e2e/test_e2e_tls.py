"""A real kube-scheduler shows its certificate to the allocator, and a new one when that has expired."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import control_plane
import httpx
import pytest
from authorities import Authority, Pair, trusting
from authorities import needed as openssl_needed
from behind import Behind, Instance
from control_plane import ControlPlane, documents, needed

pytestmark = [pytest.mark.full(reason="a Kubernetes control plane"), needed, openssl_needed]

USER = "gang-scheduler"
VALID = 40.0
"""Seconds for which the first certificate of the kube-scheduler is valid: it starts, and binds a gang, in that time."""


class Encrypted(Instance):
    """The allocator with TLS, and the roles of the manifest."""

    def __init__(self, plane: ControlPlane, authority: Authority) -> None:
        super().__init__(plane)
        self._server, self._authority = authority.issue("localhost"), authority.certificate
        reader = trusting(authority.certificate, authority.issue("somebody", "allocator-readers"))
        self.client = httpx.Client(base_url=f"https://{self.address}", verify=reader, timeout=60)

    def command(self) -> list[str]:
        (container,) = control_plane.document("StatefulSet", "allocator")["spec"]["template"]["spec"]["containers"]
        shipped = [x for x in container["args"] if x.startswith("--allow=")]
        files = {
            "--tls-certificate": self._server.certificate,
            "--tls-key": self._server.key,
            "--client-ca": self._authority,
        }
        return [*super().command(), *shipped, *(f"{option}={path}" for option, path in files.items())]


def issue(authority: Authority, seconds: float) -> Pair:
    last = datetime.now(UTC) + timedelta(seconds=seconds)
    return authority.issue(USER, usage="clientAuth", last=f"{last:%Y%m%d%H%M%SZ}")


def replace(shown: Pair, new: Pair) -> None:
    """In place of the files that the kube-scheduler reads. The certificate is last: it is read after each change."""
    for file, fresh in ((shown.key, new.key), (shown.certificate, new.certificate)):
        os.replace(fresh, file)


@pytest.fixture
def behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Behind, Authority, Pair]]:
    authority = Authority(tmp_path / "authority")
    shown = issue(authority, 3600)
    plain = control_plane.scheduler_profile

    def profile(extender: str, requests: int | None) -> dict[str, Any]:
        (shipped,) = plain(extender, requests)["extenders"]
        files = {"certFile": shown.certificate, "keyFile": shown.key, "caFile": authority.certificate}
        tls = {
            "urlPrefix": shipped["urlPrefix"].replace("http:", "https:"),
            "enableHTTPS": True,
            "tlsConfig": {key: str(path) for key, path in files.items()},
        }
        return {**plain(extender, requests), "extenders": [{**shipped, **tls}]}

    monkeypatch.setattr(control_plane, "scheduler_profile", profile)
    plane = ControlPlane(tmp_path / "plane")
    plane.folder.mkdir()
    try:
        plane.start(8)
        for thing in documents("rbac.yaml", "priorities.yaml"):
            plane.apply(thing)
        found = Behind(plane)
        found.allocator = Encrypted(plane, authority)
        found.allocator.start()
        yield found, authority, shown
        assert found.allocator.end() == 0
        assert "Traceback" not in found.allocator.log()
    finally:
        plane.stop()


def test_a_kube_scheduler_binds_gangs_with_its_certificate(behind: tuple[Behind, Authority, Pair]) -> None:
    cluster, authority, shown = behind
    replace(shown, issue(authority, VALID))
    expires = time.monotonic() + VALID
    cluster.await_bound(*cluster.gang("first", "research", 1, (2, 4)))
    assert time.monotonic() < expires, "it was bound with the first certificate"
    time.sleep(max(0.0, expires + 1 - time.monotonic()))
    (pod,) = cluster.gang("second", "research", 1, (1, 4))
    control_plane.until(lambda: "code 401" in cluster.reasons(pod) or "tls" in cluster.reasons(pod), "it is refused")
    replace(shown, issue(authority, 3600))
    cluster.await_bound(pod, wake=True)
    stranger = authority.issue("stranger", usage="clientAuth")
    replace(shown, stranger)
    cluster.allocator.restart()
    (other,) = cluster.gang("third", "research", 1, (1, 4))
    control_plane.until(lambda: "code 403" in cluster.reasons(other), "it has no role")
