"""What the allocator does with what nobody means: other sites, slow clients, names with line ends, signals."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest
from clusters import config, gang, nodes
from interrupting import MOMENTS, interrupted
from random_requests import RandomRequests
from raw_requests import answers, raw_requests
from seeds import seeds
from serving import ROOT, Cluster, serving, written

from fsmdsl.text.terminal import printable
from runtime.config import read_configuration
from runtime.service.guard import Names, host_of
from runtime.service.serve import _listen

pytestmark = pytest.mark.full(reason="a server under attack")

TWO = config(nodes("a", "b"), A={"NODE": 2})
RECORD = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (INFO|WARNING|ERROR) .")


@pytest.fixture(scope="module", params=["events", "memory"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Both kinds of clusters that need no Kubernetes."""
    with serving(tmp_path_factory.mktemp("served"), TWO, "ab", "--connections", "50") as found:
        if request.param == "memory":
            found.stop()
            found.start("--connections", "50", in_memory=True)
        yield found


def port(cluster: Cluster) -> int:
    found = cluster.client.base_url.port
    assert found is not None
    return found


# Who may ask ---------------------------------------------------------------------------------------------------------


def test_no_other_site_is_answered(cluster: Cluster) -> None:
    event = json.dumps({"type": "ADDED", "object": written(gang("g", "A", 4)[0])})
    for path, method, content in (
        ("/v1/simulation/events", "POST", event), ("/v1/inspect/clusterstatus", "GET", ""), ("/metrics", "GET", ""),
        ("/v1/extender/filter", "POST", "{}"), ("/view/", "GET", ""),
    ):  # fmt: skip

        def ask(path: str = path, method: str = method, content: str = content, **headers: str) -> int:
            sent = {name.replace("_", "-"): x for name, x in headers.items()}
            return cluster.client.request(method, path, content=content, headers=sent).status_code

        assert ask(host="evil.example") == 421
        assert ask(host=f"evil.example:{port(cluster)}") == 421
        assert ask(host="127.0.0.1.evil.example") == 421
        assert ask(origin="http://evil.example") == 403
        assert ask(origin="null") == 403
        assert ask(sec_fetch_site="cross-site") == 403
        assert ask(sec_fetch_site="same-site") == 403
    here = f"127.0.0.1:{port(cluster)}"
    assert cluster.client.get("/healthz", headers={"host": here, "origin": f"http://{here}"}).status_code == 200
    assert cluster.client.get("/healthz", headers={"host": f"localhost:{port(cluster)}"}).status_code == 200


@pytest.mark.parametrize(
    ("address", "yes", "no"),
    [
        ("127.0.0.1", ["localhost", "127.0.0.1", "::1", "LOCALHOST."], ["evil.example", "a", "10.0.0.1", "x.svc", ""]),
        ("0.0.0.0", ["10.0.0.1", "allocator", "allocator.kube-system.svc"], ["evil.example", "svc.evil.example"]),
        ("::", ["allocator.kube-system.svc.cluster.local", "localhost"], ["cluster.local.evil.example", "a.svcx"]),
    ],
)  # fmt: skip
def test_names_under_which_it_may_be_asked(address: str, yes: list[str], no: list[str]) -> None:
    names = Names(address)
    assert [x for x in yes if not names.has(x)] == []
    assert [x for x in no if names.has(x)] == []
    assert all(Names(address, ["*"]).has(x) for x in no)
    assert Names(address, ["Evil.Example"]).has("evil.example")


def test_a_host_is_read_without_its_port() -> None:
    listed = ("a:1", "a", "[::1]:80", "[::1]", "::1", "a.b:")
    assert [host_of(x) for x in listed] == ["a", "a", "::1", "::1", "::1", "a.b"]
    assert [host_of(x) for x in ("a:1@evil.example", "a:x", "[::1]evil.example", "")] == [""] * 4


def test_it_listens_to_this_machine_alone_unless_somebody_says_otherwise(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(json.dumps(TWO))
    assert read_configuration(tmp_path / "config.yaml").settings.web_server == "127.0.0.1:9096"
    (tmp_path / "config.yaml").write_text(json.dumps({**TWO, "webServerAddress": ":30096"}))
    assert read_configuration(tmp_path / "config.yaml").settings.web_server == ":30096"


def test_each_origin_counts(cluster: Cluster) -> None:
    ours = f"Origin: http://127.0.0.1:{port(cluster)}\r\n"
    for more in (f"{ours}Origin: http://evil.example\r\n", "Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n"):
        request = raw_requests(port(cluster), "/v1/extender/filter", more)["a body in pieces"]
        assert [status for status, _ in answers(port(cluster), request)] == [403]
    request = raw_requests(port(cluster), "/v1/extender/filter", ours)["a body in pieces"]
    assert [status for status, _ in answers(port(cluster), request)] == [200]


@pytest.mark.parametrize("path", ["/v1/extender/filter", "/v1/extender/bind", "/v1/simulation/events"])
def test_no_request_is_a_fault(cluster: Cluster, path: str) -> None:
    told = {name: answers(port(cluster), x) for name, x in raw_requests(port(cluster), path).items()}
    assert {name: x[0][0] for name, x in told.items() if not x or x[-1][0] >= 500} == {}
    assert [name for name, x in told.items() if any(b"root:" in text or b"\nX-Forged" in text for _, text in x)] == []
    assert cluster.client.get("/readyz").status_code == 200


# Clients that take their time ----------------------------------------------------------------------------------------


def test_connections_that_never_end_their_headers_keep_nobody_out(cluster: Cluster) -> None:
    """60 of them, where there is room for 50."""
    with ExitStack() as stack:
        for start in (b"", b"GET / HTTP/1.1\r\nX-Slow: ", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1"):
            for _ in range(60):
                client = stack.enter_context(socket.create_connection(("127.0.0.1", port(cluster)), timeout=30))
                client.sendall(start)
            for _ in range(5):
                assert cluster.client.get("/readyz").status_code == 200
                assert cluster.client.get("/v1/inspect/affinitygroups/").status_code == 200


# The log -------------------------------------------------------------------------------------------------------------

FORGED = "2026-01-01 00:00:00,000 INFO pod default/victim is bound"


def test_no_name_writes_a_line_of_the_log(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        for end in ("\n", "\r", "\r\n", "\u2028", "\x85", "\x1b[2K\r"):
            name = f"pod{end}{FORGED}"
            thing = written(gang("g", "A", 4)[0])
            thing["metadata"] |= {"uid": name, "name": name, "namespace": name}
            cluster.tell(("ADDED", thing))
            again = json.loads(json.dumps(thing))
            again["metadata"]["annotations"] = dict.fromkeys(again["metadata"]["annotations"], "{}")
            cluster.tell(("MODIFIED", again))
            cluster.tell(("MODIFIED", {**thing, "spec": {**thing["spec"], "nodeName": f"node{end}{FORGED}"}}))
            cluster.tell(("ADDED", {"kind": "Node", "metadata": {"name": name}}))
            cluster.client.post("/v1/extender/filter", json={"Pod": thing, "NodeNames": ["a", "b"]})
            cluster.tell(("DELETED", thing))
            cluster.get("affinitygroups/")
        log = (tmp_path / "log").read_bytes().decode("utf-8")
        assert FORGED in log, "it is told of, on the line of its record"
        assert all(RECORD.match(x) for x in log.splitlines()), log
        assert not any(x.startswith(FORGED) for x in log.splitlines())


def test_texts_are_escaped() -> None:
    assert printable("a\nb\r\x1b[2J\u2028\u202e\ud800é🔒") == r"a\nb\r\x1b[2J\u2028\u202e\ud800é🔒"


# Signals -------------------------------------------------------------------------------------------------------------


def started(folder: Path, *program: str, **more: Any) -> subprocess.Popen[str]:
    (folder / "config.yaml").write_text(json.dumps(TWO))
    command = [
        sys.executable,
        *(program or ("-m", "runtime")),
        "serve",
        "--config",
        "config.yaml",
        "--journal",
        "journal",
    ]
    return subprocess.Popen(
        [*command, "--address", "127.0.0.1:0"], cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True, **more,
    )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", [0.0, 0.02, 0.1, 0.5])
def test_a_signal_while_it_begins_or_serves_ends_it_quietly(tmp_path: Path, number: int, moment: float) -> None:
    process = started(tmp_path)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(moment)
    process.send_signal(number)
    time.sleep(moment / 5)
    process.send_signal(number)
    told, _ = process.communicate(timeout=60)
    assert "Traceback" not in told, told
    assert process.returncode in (0, -number), "the second may find a process that has done its work"


AT_WORST = """
import signal, threading
from runtime.__main__ import main

notify_all = threading.Condition.notify_all

def with_a_signal(self):
    signal.raise_signal(signal.SIGTERM)
    notify_all(self)

threading.Condition.notify_all = with_a_signal
main()
"""
"""Signals come wherever the program, or a handler of signals, holds a lock to wake others up."""


def test_a_signal_in_the_middle_of_another_does_not_hold_it_up(tmp_path: Path) -> None:
    process = started(tmp_path, "-c", AT_WORST)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    told, _ = process.communicate(timeout=60)
    assert "Traceback" not in told, told
    assert process.returncode in (0, -signal.SIGTERM)


@pytest.mark.parametrize("count", MOMENTS)
def test_an_interrupt_while_the_command_is_loaded(tmp_path: Path, count: int) -> None:
    (tmp_path / "config.yaml").write_text(json.dumps(TWO))
    done = interrupted("runtime", count, "check-config", "config.yaml", cwd=tmp_path)
    assert done.returncode in (0, 130, -signal.SIGINT), done.stderr
    assert done.stderr == ""
    assert count > 100 or done.returncode != 0, "nothing was interrupted"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_full_output_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(json.dumps(TWO))
    command = [sys.executable, "-m", "runtime", "check-config", "config.yaml"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command, cwd=tmp_path, env=env, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert (done.returncode, done.stderr) == (2, "error: the output cannot be written: no space left on device\n")


def test_the_body_of_an_answer_does_not_wait_for_an_acknowledgement_of_its_head() -> None:
    """Of small answers it would, for 40 ms: they are written in two parts, and a client acknowledges late."""
    with _listen("127.0.0.1:0") as listener, socket.create_connection(listener.getsockname()[:2]):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


# Anything ------------------------------------------------------------------------------------------------------------

REQUESTS = 100
"""Of each seed: with 50 seeds and two clusters, 10,000 in all."""
PATHS = (
    *(3 * [f"/v1/extender/{what}" for what in ("filter", "preempt", "bind")]),
    "/", "/healthz", "/readyz", "/metrics", "/view/", "/v1/simulation/events", "/v1/inspect/clusterstatus",
    "/v1/inspect/affinitygroups/", "/v1/inspect/clusterstatus/virtualclusters/A", "/v1/inspect/lives/g",
    "/v2/inspect/gangs/g", "/v2/inspect/why/g", "/v2/inspect/nodes/a", "/v2/inspect/virtualclusters/A",
    "/v2/inspect/events", "/v2/inspect/usage", "/v2/inspect/opportunistic", "/v2/inspect/problems",
)  # fmt: skip


def documents() -> list[dict[str, Any]]:
    """Requests that are meant, of pods that are there."""
    pod = written(gang("g", "A", 4)[0])
    filtered = {"Pod": pod, "Nodes": None, "NodeNames": ["a", "b"]}
    victims = {"a": {"Pods": [{"UID": "g-0"}], "NumPDBViolations": 0}, "b": {"Pods": [], "NumPDBViolations": 0}}
    bound = {"PodName": "g-0", "PodNamespace": "default", "PodUID": "g-0", "Node": "a"}
    event = {"type": "ADDED", "object": pod}
    return [filtered, {"Pod": pod, "NodeNameToMetaVictims": victims}, bound, event]


def sent(port: int, request: bytes) -> bytes:
    """What comes for it; nothing, where it waits for the rest of a request."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        try:
            connection.sendall(request)
            connection.settimeout(0.2)
            while piece := connection.recv(65536):
                received += piece
        except (ConnectionError, TimeoutError):
            pass
    return received


def test_no_request_at_all_is_a_fault(cluster: Cluster) -> None:
    """Whether it is answered or not: failures are counted, and logged."""
    cluster.tell(("ADDED", written(gang("g", "A", 4)[0])))
    statuses: Counter[int] = Counter()
    for seed in seeds(range(50)):
        requests = RandomRequests(Random(seed), f"127.0.0.1:{port(cluster)}", PATHS, documents())
        for _ in range(REQUESTS):
            request = requests.request()
            answer = sent(port(cluster), request)
            status = int(answer[9:12]) if answer.startswith(b"HTTP/1.") else 0
            statuses[status] += 1
            assert status < 500, (seed, request[:2000], answer[:2000])
            assert b"\nX-Forged" not in answer, (seed, request[:2000], answer[:2000])
            assert b"platform error" not in answer, (seed, request[:2000], answer[:2000])
    assert cluster.client.get("/readyz").status_code == 200
    failed = re.findall(
        r'^\w+_requests_total{endpoint="(.*)",outcome="5', cluster.client.get("/metrics").text, re.MULTILINE
    )
    assert set(failed) <= {"/readyz"}, "which says so until the allocator is ready"
    log = cluster.log()
    assert " ERROR " not in log
    assert "Traceback" not in log
    assert all(RECORD.match(x) for x in log.splitlines()), log
    usual = {200, 400, 403, 404, 405, 421}
    assert usual <= statuses.keys(), statuses
    assert statuses[200] > sum(statuses.values()) / 10, "most of each request is as it should be"
    assert statuses[0] < sum(statuses.values()) / 10, "nearly all are answered"
