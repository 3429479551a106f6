"""Who may do what: roles by certificate, at every endpoint, and what the others are told."""

from __future__ import annotations

import json
import re
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from authorities import Authority, Pair, needed, trusting
from clusters import config, gang, healthy, nodes
from serving import ROOT, Cluster, started, until, written
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from runtime.errors import UserError
from runtime.journal import Journal
from runtime.service.access import CLIENT, AccessControl, Client, Permissions, Role, read_client, required_role
from runtime.service.service import Service
from runtime.service.source import MemorySource
from runtime.service.web import ANY, Web

TWO = config(nodes("a", "b"), A={"NODE": 2})

# Roles ----------------------------------------------------------------------------------------------------------------

SCHEDULING = {f"/v1/extender/{what}" for what in ("filter", "preempt", "bind")}
CHANGING = {"/v1/simulation/events"}
OPEN = {"/healthz", "/readyz"}


def test_each_path_has_the_role_that_it_should_have(tmp_path: Path) -> None:
    """A new path that is not read-only must be added here, and in `required_role`."""
    service = Service(healthy(TWO).configuration, lambda: Journal(tmp_path / "journal"), MemorySource())
    paths = {getattr(route, "path", "") for route in Web(service, 1).app().routes}
    assert paths >= SCHEDULING | CHANGING | OPEN
    for path in paths:
        for method in (*ANY, "HEAD"):
            if path in SCHEDULING:
                role: Role | None = Role.SCHEDULE
            elif method not in ("GET", "HEAD") or path in CHANGING:
                role = Role.ADMINISTER
            else:
                role = None if path in OPEN else Role.READ
            assert required_role(method, path) is role, (method, path)
    reading = {path for path in paths if required_role("GET", path) is Role.READ}
    assert all(
        path == "/" or path.startswith(("/v1/inspect/", "/v2/inspect/", "/view", "/metrics")) for path in reading
    )


def client(name: str, *groups: str, expires: float = 100.0) -> Client:
    return Client(name, frozenset(groups), expires)


def test_roles_are_given_to_users_and_groups() -> None:
    permissions = Permissions(["schedule=system:kube-scheduler", "read=group:operators", "read=x=y", "administer=root"])

    def roles(client: Client) -> set[Role]:
        return {role for role in Role if permissions.permit(client, role)}

    assert roles(client("system:kube-scheduler")) == {Role.SCHEDULE}
    assert roles(client("somebody", "others", "operators")) == {Role.READ}
    assert roles(client("root")) == set(Role)
    assert roles(client("x=y")) == {Role.READ}
    for nobody in (client("operators"), client("group:operators"), client("", "root"), client("x", "x=y"), client("")):
        assert roles(nobody) == set(), nobody


@pytest.mark.parametrize("rule", ["", "read", "read=", "=x", "write=x", "Read=x", "read=group:"])
def test_a_rule_names_a_role_and_a_client(rule: str) -> None:
    with pytest.raises(UserError, match="--allow must be ROLE=USER or ROLE=group:GROUP, with a role of read, schedule"):
        Permissions([rule])


def test_a_certificate_names_a_user_and_groups() -> None:
    subject = ((("organizationName", "a"), ("organizationName", "b")), (("commonName", "x"),), (("commonName", "y"),))
    found = read_client({"subject": subject, "notAfter": "Jan  1 00:00:10 1970 GMT"})
    assert found == client("y", "a", "b", expires=10.0)
    assert read_client({"subject": (), "notAfter": "Jan  1 00:00:10 1970 GMT"}) == client("", expires=10.0)
    assert str(found) == "y (groups: a, b)"
    assert str(client("")) == "a client without a common name"


def test_a_certificate_that_expires_while_it_is_connected_counts_no_longer() -> None:
    now, refused = [99.0], []
    app = Starlette()
    app.add_route("/", lambda _: PlainTextResponse("yes"))

    async def known(scope: Any, receive: Any, send: Any) -> None:
        await control({**scope, "state": {CLIENT: client("x")}}, receive, send)

    control = AccessControl(app, Permissions(["read=x"]), lambda *x: refused.append(x), lambda: now[0])
    asked = TestClient(known)
    assert asked.get("/").text == "yes"
    now[0] = 101.0
    answer = asked.get("/")
    assert answer.status_code == 401
    assert answer.json() == "user error (401): the certificate of x has expired since the connection was made"
    assert answer.headers["connection"] == "close", "a client that has a new one connects again"
    assert refused == [("/", 401)]


# A server -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Site:
    """An allocator with TLS, and clients of it."""

    cluster: Cluster
    authority: Authority
    server: Pair
    clients: dict[str, Pair | None]

    def context(self, name: str) -> ssl.SSLContext:
        return trusting(self.authority.certificate, self.clients[name])

    def asking(self, name: str) -> httpx.Client:
        return httpx.Client(base_url=self.cluster.client.base_url, verify=self.context(name), timeout=60)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("served")
    authority = Authority(folder / "authority")
    server = authority.issue("localhost", usage="serverAuth")
    clients: dict[str, Pair | None] = {
        "scheduler": authority.issue("system:kube-scheduler", usage="clientAuth"),
        "prometheus": authority.issue("prometheus", "monitoring", usage="clientAuth"),
        "administrator": authority.issue("somebody", "people", "administrators"),
        "stranger": authority.issue("system:kube-controller-manager\n2026-01-01 INFO x", "system:masters"),
        "nobody": None,
    }
    cluster = Cluster(folder, TWO)
    found = Site(cluster, authority, server, clients)
    cluster.verify = found.context("administrator")
    options = {
        "--tls-certificate": server.certificate,
        "--tls-key": server.key,
        "--client-ca": authority.certificate,
    }
    given = [str(x) for option in options.items() for x in option]
    given += ["--allow", "schedule=system:kube-scheduler", "--allow", "read=group:monitoring"]
    given += ["--allow", "administer=group:administrators"]
    cluster.add_nodes("ab")
    try:
        cluster.start(*given, in_memory=True)
        yield found
        cluster.end()
    finally:
        if cluster.process is not None:
            cluster.process.kill()
            cluster.process.wait()


EVENT = json.dumps({"type": "ADDED", "object": written(gang("g", "A", 4)[0])})
REQUESTS: dict[str, tuple[tuple[str, str, str], set[str]]] = {
    "probe": (("GET", "/healthz", ""), {"scheduler", "prometheus", "administrator", "stranger", "nobody"}),
    "probe of readiness": (("GET", "/readyz", ""), {"scheduler", "prometheus", "administrator", "stranger", "nobody"}),
    "metrics": (("GET", "/metrics", ""), {"prometheus", "administrator"}),
    "page": (("GET", "/view/", ""), {"prometheus", "administrator"}),
    "paths": (("GET", "/", ""), {"prometheus", "administrator"}),
    "inspection": (("GET", "/v1/inspect/clusterstatus", ""), {"prometheus", "administrator"}),
    "filter": (("POST", "/v1/extender/filter", "{}"), {"scheduler", "administrator"}),
    "filter by GET": (("GET", "/v1/extender/filter", "{}"), {"scheduler", "administrator"}),
    "bind": (("POST", "/v1/extender/bind", "{}"), {"scheduler", "administrator"}),
    "events": (("POST", "/v1/simulation/events", EVENT), {"administrator"}),
    "events by GET": (("GET", "/v1/simulation/events", EVENT), {"administrator"}),
    "something else": (("GET", "/nothing", ""), {"prometheus", "administrator"}),
    "a path with an end": (("POST", "/v1/extender/filter/", "{}"), {"scheduler", "administrator"}),
    "a path that goes up": (("GET", "/healthz/../metrics", ""), {"prometheus", "administrator"}),
    "a probe that changes": (("POST", "/healthz", ""), {"administrator"}),
}


@needed
@pytest.mark.parametrize("name", REQUESTS)
def test_everybody_may_do_what_the_role_permits(site: Site, name: str) -> None:
    (method, path, content), permitted = REQUESTS[name]
    for who, pair in site.clients.items():
        with site.asking(who) as asking:
            answer = asking.request(method, path, content=content.encode())
        if who in permitted:
            assert answer.status_code not in (401, 403), (who, answer.text)
        elif pair is None:
            assert answer.status_code == 401
            assert answer.json().startswith("user error (401): this request requires a client certificate")
        else:
            assert answer.status_code == 403
            assert "does not have the role" in answer.json()


@needed
def test_refusals_say_who_may_not_do_what_and_are_counted(site: Site) -> None:
    with site.asking("prometheus") as prometheus, site.asking("nobody") as nobody:
        answer = prometheus.post("/v1/extender/bind", content=b"{}").json()
        assert answer == (
            "user error (403): prometheus (groups: monitoring) does not have the role schedule: grant it with"
            " --allow schedule=prometheus"
        )
        nobody.get("/metrics")
        told = prometheus.get("/metrics").text
        assert 'allocator_requests_total{endpoint="/v1/extender/bind",outcome="403"}' in told
        assert 'allocator_requests_total{endpoint="/metrics",outcome="401"}' in told
        assert re.search(r"^allocator_handshake_failures_total [0-9.]+$", told, re.MULTILINE)


@needed
def test_another_site_is_refused_whoever_looks_at_it(site: Site) -> None:
    """A browser shows the certificate for each page that sends requests."""
    with site.asking("administrator") as asking:
        assert asking.get("/metrics", headers={"origin": "https://evil.example"}).status_code == 403
        assert asking.get("/metrics", headers={"host": "evil.example"}).status_code == 421
        here = str(site.cluster.client.base_url).rstrip("/")
        assert asking.get("/metrics", headers={"origin": here}).status_code == 200


# The command line -----------------------------------------------------------------------------------------------------


def asked(site: Site, *arguments: object, **environment: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "runtime", "virtual-clusters", *map(str, arguments)]
    given = {key: str(value) for key, value in environment.items()}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, env={"PATH": "", **given})


@needed
def test_the_command_line_says_who_asks(site: Site) -> None:
    server, ca = str(site.cluster.client.base_url), site.authority.certificate
    known = site.clients["prometheus"]
    assert known is not None
    options = ("--server", server, "--ca", ca, "--certificate", known.certificate, "--key", known.key)
    done = asked(site, *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("A: ")
    environment = {
        "ALLOCATOR_SERVER": server, "ALLOCATOR_CA": ca,
        "ALLOCATOR_CERTIFICATE": known.certificate, "ALLOCATOR_KEY": known.key,
    }  # fmt: skip
    assert asked(site, **environment).stdout == done.stdout


@needed
@pytest.mark.full(reason="many processes")
def test_the_command_line_says_what_is_wrong(site: Site, tmp_path: Path) -> None:
    server, ca = str(site.cluster.client.base_url), site.authority.certificate
    stranger, other = site.clients["stranger"], Authority(tmp_path / "other")
    assert stranger is not None
    foreign = other.issue("x")
    cases: list[tuple[tuple[object, ...], str]] = [
        (("--ca", ca), "user error (401): this request requires a client certificate"),
        (("--ca", ca, "--certificate", stranger.certificate, "--key", stranger.key), "user error (403): "),
        ((), "is not accepted: self-signed certificate in certificate chain; --ca names its authority"),
        (("--ca", other.certificate), "is not accepted: "),
        (("--ca", tmp_path / "none"), "none cannot be used as --ca: No such file or directory"),
        (("--ca", ca, "--key", stranger.key), "--key requires --certificate"),
        (("--ca", ca, "--certificate", tmp_path / "none"), "cannot be used as --certificate and --key: No such file"),
        (("--ca", ca, "--certificate", stranger.certificate, "--key", foreign.key), "key values mismatch"),
        (("--ca", ca, "--certificate", foreign.certificate, "--key", foreign.key), "unknown ca"),
    ]  # fmt: skip
    for arguments, message in cases:
        done = asked(site, "--server", server, *arguments)
        assert done.returncode == 2, done
        assert done.stderr.startswith("error: ")
        assert message in done.stderr.lower() if message.islower() else message in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
        assert len(done.stderr.splitlines()) == 1
    plain = asked(site, "--server", server.replace("https:", "http:"))
    assert plain.returncode == 2
    assert "this port requires HTTPS" in plain.stderr


# Options --------------------------------------------------------------------------------------------------------------


@needed
@pytest.mark.full(reason="many processes")
def test_options_that_do_not_fit_are_refused(site: Site, tmp_path: Path) -> None:
    pair, authority = site.server, site.authority.certificate
    certificate, key = ("--tls-certificate", pair.certificate), ("--tls-key", pair.key)
    cases: list[tuple[tuple[object, ...], str]] = [
        (certificate, "--tls-certificate and --tls-key must be given together"),
        (key, "--tls-certificate and --tls-key must be given together"),
        (("--client-ca", authority), "--client-ca requires --tls-certificate and --tls-key"),
        ((*certificate, *key, "--client-ca", authority), "--client-ca requires --allow"),
        ((*certificate, *key, "--allow", "read=x"), "--allow requires --client-ca"),
        ((*certificate, *key, "--client-ca", authority, "--allow", "x"), "--allow must be ROLE=USER"),
        ((*certificate, "--tls-key", authority), "the key is not one in PEM format"),
        ((*key, "--tls-certificate", tmp_path / "none"), "none cannot be read: No such file or directory"),
    ]
    for arguments, message in cases:
        command = [sys.executable, "-m", "runtime", "serve", "--config", site.cluster.config]
        command += ["--journal", tmp_path / "journal", "--in-memory", "--address", "127.0.0.1:0", *arguments]
        done = subprocess.run([str(x) for x in command], cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr


@needed
@pytest.mark.full(reason="waits for the check of the files")
def test_a_running_server_takes_new_certificates(tmp_path: Path) -> None:
    first, second = Authority(tmp_path / "first", "first"), Authority(tmp_path / "second", "second")
    pair = first.issue("localhost")
    cluster = Cluster(tmp_path, TWO)
    cluster.verify = trusting(first.certificate)
    with started(cluster, "ab", "--tls-certificate", str(pair.certificate), "--tls-key", str(pair.key)):
        other = second.issue("localhost")
        pair.key.write_bytes(other.key.read_bytes())
        until(lambda: "the new certificates cannot be used; the previous ones stay in use: " in cluster.log())
        assert cluster.client.get("/readyz").status_code == 200
        pair.certificate.write_bytes(other.certificate.read_bytes())
        until(lambda: "the certificates have changed" in cluster.log())
        with httpx.Client(base_url=cluster.client.base_url, verify=trusting(second.certificate)) as fresh:
            assert fresh.get("/readyz").status_code == 200
