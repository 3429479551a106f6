"""What the live page does with what nobody means: links, odd requests, names, signals."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from door import DOOR
from raw_requests import answers, raw_requests
from serving_live import Served, served
from test_live import WIDE

from fsmdsl.text.files.read import MAX_BYTES

pytestmark = pytest.mark.full(reason="a server under attack")

pytest.importorskip("starlette", reason="SKIPPED: the live page needs the extra `serve`")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("home")
    (home / "specs").mkdir()
    (home / "specs" / "door.fsm").write_text(DOOR)
    (home / "secret.fsm").write_text("module secret\n")
    (home / "specs" / "out.fsm").symlink_to(home / "secret.fsm")
    (home / "specs" / "inside.txt").write_text(DOOR)
    (home / "specs" / "in.fsm").symlink_to("inside.txt")
    (home / "specs" / "zero.fsm").symlink_to("/dev/zero")
    with served(home, "specs") as found:
        yield found


# Links ---------------------------------------------------------------------------------------------------------------


def test_a_link_that_leaves_the_folder_is_neither_read_nor_written(server: Served) -> None:
    for name in ("specs/out.fsm", "specs/zero.fsm"):
        told = server.ask("read", {"name": name})
        assert told.status_code == 400
        assert "secret" not in told.text
        told = server.ask("write", {"name": name, "text": "mine", "base": ""})
        assert told.status_code in (400, 409)
    assert "secret" not in server.ask("files").text
    assert server.ask("read", {"name": "specs/in.fsm"}).json()["text"] == DOOR, "one that stays inside is"


def test_a_file_that_turns_into_such_a_link_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "door.fsm").write_text(DOOR)
    (tmp_path / "victim.fsm").write_text(DOOR)
    with served(tmp_path, "specs") as server:
        base = server.ask("read", {"name": "specs/door.fsm"}).json()["version"]
        (tmp_path / "specs" / "door.fsm").unlink()
        (tmp_path / "specs" / "door.fsm").symlink_to(tmp_path / "victim.fsm")
        assert server.ask("write", {"name": "specs/door.fsm", "text": "", "base": base}).status_code == 409
    assert (tmp_path / "victim.fsm").read_text() == DOOR


# Requests ------------------------------------------------------------------------------------------------------------

ODD = ("1" + "0" * 400, "NaN", "-Infinity", "1e400", '"\\ud800"', "[" * 3000 + "]" * 3000, "null", "true", "[]", "{}")


@pytest.mark.parametrize("odd", ODD, ids=lambda x: x[:12])
def test_no_number_and_no_text_is_a_fault(server: Served, odd: str) -> None:
    fields = {
        "verify": ("system", "seconds", "states", "texts"), "start": ("system", "trace", "at"), "read": ("name",),
        "hover": ("file", "at", "texts"), "write": ("name", "text", "base"), "diagram": ("machine", "known", "texts"),
    }  # fmt: skip
    usual = {"file": "specs/door.fsm", "name": "specs/door.fsm", "machine": "door.Door", "base": "", "text": "x"}
    for route, names in fields.items():
        for name in names:
            asked = {**usual, "at": 0, "texts": {}, "system": "door.One", "states": 10}
            body = json.dumps({**asked, name: "ODD"}).replace('"ODD"', odd)
            headers = {"x-fsm-token": server.token}
            asking = httpx.stream("POST", f"{server.origin}/api/{route}", content=body, headers=headers, timeout=60)
            with asking as told:
                assert told.status_code in (200, 400, 409), (route, name)


@pytest.mark.parametrize("body", ["[" * 100_000, "\ud800", "nul", "", "[]", '{"a":' * 100_000])
def test_a_body_that_is_no_question_is_no_fault(server: Served, body: str) -> None:
    for route in ("verify", "files", "analysis"):
        told = httpx.post(
            f"{server.origin}/api/{route}",
            content=body.encode("utf-8", "surrogatepass"),
            headers={"x-fsm-token": server.token},
            timeout=60,
        )
        assert told.status_code == 400, (route, told.text)


def test_half_a_character_cannot_be_saved_and_nothing_is_lost(server: Served) -> None:
    here = server.ask("read", {"name": "specs/door.fsm"}).json()
    body = json.dumps({"name": "specs/door.fsm", "text": "// \ud800", "base": here["version"]})
    headers = {"x-fsm-token": server.token}
    told = httpx.post(f"{server.origin}/api/write", content=body, headers=headers, timeout=60)
    assert (told.status_code, "is an unpaired surrogate" in told.json()["error"]) == (400, True)
    assert server.ask("read", {"name": "specs/door.fsm"}).json()["text"] == DOOR


def test_a_text_that_is_too_large_is_neither_read_nor_written(server: Served) -> None:
    here = server.ask("read", {"name": "specs/door.fsm"}).json()
    large = "// " + "é" * (MAX_BYTES // 2)
    for route, question in (
        ("analysis", {"texts": {"specs/door.fsm": large}, "file": "specs/door.fsm"}),
        ("write", {"name": "specs/door.fsm", "text": large, "base": here["version"]}),
    ):
        told = server.ask(route, question)
        assert told.status_code == 400
        assert "larger than 16,777,216 bytes" in told.json()["error"]
    assert server.ask("read", {"name": "specs/door.fsm"}).json()["text"] == DOOR


def test_connections_that_never_end_their_headers_keep_nobody_out(server: Served) -> None:
    port = int(server.origin.rpartition(":")[2])
    with ExitStack() as stack:
        for _ in range(200):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            client.sendall(b"POST /api/files HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        assert server.ask("files").status_code == 200


def test_no_request_is_a_fault(server: Served) -> None:
    port = int(server.origin.rpartition(":")[2])
    requests = raw_requests(port, "/api/files", f"x-fsm-token: {server.token}\r\n")
    told = {name: answers(port, x) for name, x in requests.items()}
    assert {name: x[0][0] for name, x in told.items() if not x or x[-1][0] >= 500} == {}
    assert [name for name, x in told.items() if any(b"root:" in text or b"\nX-Forged" in text for _, text in x)] == []
    assert server.ask("files").status_code == 200


def test_each_origin_counts(server: Served) -> None:
    port = int(server.origin.rpartition(":")[2])
    for name, evil in (("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site")):
        ours = {"Origin": server.origin, "Sec-Fetch-Site": "same-origin"}[name]
        request = raw_requests(
            port, "/api/files", f"x-fsm-token: {server.token}\r\n{name}: {ours}\r\n{name}: {evil}\r\n"
        )
        assert [status for status, _ in answers(port, request["an absolute target"])] == [403]


# Names and signals ---------------------------------------------------------------------------------------------------


def test_a_name_writes_no_line_of_its_own(tmp_path: Path) -> None:
    name = "a\nserving evil at\r\x1b[2J.fsm"
    (tmp_path / name).write_text(DOOR)
    process = _started(tmp_path, name)
    assert process.stdout is not None
    assert process.stdout.readline() == b"serving a\\nserving evil at\\r\\x1b[2J.fsm at\n"
    process.terminate()
    assert process.wait(60) == 0
    process.stdout.close()


def _started(folder: Path, *paths: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "fsmdsl", "serve", *paths, "--port", "0"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=subprocess.STDOUT, start_new_session=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", [0.0, 0.05, 0.3, 0.8])
def test_a_signal_at_any_moment_ends_it_quietly(tmp_path: Path, number: int, moment: float) -> None:
    """While it starts, and while it serves."""
    (tmp_path / "door.fsm").write_text(DOOR)
    process = _started(tmp_path, ".")
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(moment)
    os.kill(process.pid, number)
    told, _ = process.communicate(timeout=60)
    assert b"Traceback" not in told
    assert process.returncode == 0


def _asked(address: str, route: str, question: dict[str, Any]) -> socket.socket:
    """A question that is under way: nobody waits for the answer yet."""
    origin, _, token = address.partition("/#token=")
    host = origin.removeprefix("http://")
    body = json.dumps(question).encode()
    client = socket.create_connection(("127.0.0.1", int(host.rpartition(":")[2])), timeout=60)
    head = f"POST /api/{route} HTTP/1.1\r\nHost: {host}\r\nx-fsm-token: {token}\r\nContent-Length: {len(body)}\r\n\r\n"
    client.sendall(head.encode() + body)
    return client


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["exploration", "analysis"])
def test_a_signal_in_the_middle_of_work_ends_it_quietly(tmp_path: Path, number: int, moment: str) -> None:
    (tmp_path / "wide.fsm").write_text(WIDE)
    process = _started(tmp_path, ".")
    assert process.stdout is not None
    address = [process.stdout.readline() for _ in range(3)][2].decode().strip()
    if moment == "exploration":
        clients = [_asked(address, "verify", {"system": "wide.Huge", "seconds": 600}) for _ in range(6)]
        while b"event: p" not in clients[0].recv(65536):
            pass
    else:
        machine = WIDE.replace("module wide\n", "").partition("system")[0]
        large = "module wide\n" + "".join(machine.replace("machine M", f"machine M{n}") for n in range(60))
        asked = {"texts": {"wide.fsm": large}, "file": "wide.fsm"}
        clients = [_asked(address, "analysis", asked) for _ in range(3)]
        time.sleep(0.3)
    os.kill(process.pid, number)
    told, _ = process.communicate(timeout=60)
    for client in clients:
        client.close()
    assert b"Traceback" not in told, told.decode()
    assert process.returncode == 0
    assert told.strip() in (b"", b"Ctrl-C ends it"), told.decode()
