"""The server of the live page, over HTTP: what it answers, what it refuses, and what it never does."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from counting import calls
from door import DOOR
from serving_live import Served, served

from fsmdsl.cli.parser import cli
from fsmdsl.editor.live.analysis import offset, units
from fsmdsl.editor.live.questions import MisuseError, number

pytest.importorskip("starlette", reason="SKIPPED: the live page needs the extra `serve`")
pytest.importorskip("uvicorn", reason="SKIPPED: the live page needs the extra `serve`")

ROOT = Path(__file__).parent.parent

BROKEN = DOOR.replace("-> Shut on push", "-> Shot on push")

WIDE = """\
module wide
machine M { a: 0..9  b: 0..9  c: 0..9  d: 0..9  e: 0..9  f: 0..9  g: 0..9  h: 0..9
  initial state S  event set(x: 0..9, y: 0..7) from environment
  S on set(x, y) when y == 0 do a = x  S on set(x, y) when y == 1 do b = x  S on set(x, y) when y == 2 do c = x
  S on set(x, y) when y == 3 do d = x  S on set(x, y) when y == 4 do e = x  S on set(x, y) when y == 5 do f = x
  S on set(x, y) when y == 6 do g = x  S on set(x, y) when y == 7 do h = x }
system Huge { m: M }
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("home")
    (found / "specs").mkdir()
    return found


@pytest.fixture(scope="module")
def started(home: Path) -> Iterator[Served]:
    """One server for all: it keeps no text."""
    with served(home, "specs") as found:
        yield found


@pytest.fixture
def folder(home: Path) -> Path:
    """Its specs, as they were at first."""
    for path in (home / "specs").iterdir():
        path.unlink()
    (home / "specs" / "door.fsm").write_text(DOOR)
    (home / "specs" / "wide.fsm").write_text(WIDE)
    (home / "secret.fsm").write_text("module secret\n")
    return home


@pytest.fixture
def server(started: Served, folder: Path) -> Served:
    return started


def events(server: Served, **question: Any) -> list[tuple[str, Any]]:
    """An exploration from its beginning to its end."""
    told = server.ask("verify", question)
    assert told.headers["content-type"].startswith("text/event-stream")
    found = []
    for event in told.text.strip().split("\n\n"):
        name, data = event.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


# Who may ask ---------------------------------------------------------------------------------------------------------


def test_nobody_else_is_answered(server: Served) -> None:
    """Another name for this machine, another site's page, a page without the token."""
    port = server.origin.rpartition(":")[2]
    assert server.ask("files", host=f"evil.example:{port}").status_code == 421
    assert server.ask("files", host="127.0.0.1:1").status_code == 421
    assert server.ask("files", origin="http://evil.example").status_code == 403
    assert server.ask("files", origin="null").status_code == 403
    assert server.ask("files", **{"sec-fetch-site": "cross-site"}).status_code == 403
    assert server.ask("files", **{"x-fsm-token": "guessed"}).status_code == 401
    assert server.ask("files", **{"x-fsm-token": ""}).status_code == 401
    assert server.ask("files", host=f"localhost:{port}", origin=f"http://localhost:{port}").status_code == 200
    page = httpx.get(f"{server.origin}/", headers={"host": f"evil.example:{port}"}, timeout=60)
    assert page.status_code == 421
    assert httpx.get(f"{server.origin}/api/files", timeout=60).status_code in (401, 405)


def test_it_listens_to_this_machine_alone(server: Served) -> None:
    assert server.origin.startswith("http://127.0.0.1:")
    port = int(server.origin.rpartition(":")[2])
    listening = [x.split()[1] for x in Path("/proc/net/tcp").read_text().splitlines() if f":{port:04X} 00000000" in x]
    assert listening == [f"0100007F:{port:04X}"]


def test_every_answer_says_what_the_page_may_load(server: Served) -> None:
    for path in ("/", "/static/main.js", "/static/nothing.js", "/shared/stepper.js"):
        told = httpx.get(server.origin + path, timeout=60).headers
        policy = told["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe-eval" not in policy
        assert "frame-ancestors 'none'" in policy
        assert told["x-content-type-options"] == "nosniff"
        assert told["referrer-policy"] == "no-referrer"
    nonces = {httpx.get(server.origin, timeout=60).text.partition('name="nonce" content="')[2][:20] for _ in range(2)}
    assert len(nonces) == 2


def test_the_page_names_no_other_site(server: Served) -> None:
    """Not in its files either; the licences of the editor are the one place with addresses."""
    for folder in ("editor/live", "report"):
        for path in (ROOT / "fsmdsl" / folder / "static").iterdir():
            if path.suffix in (".js", ".css", ".html"):
                text = path.read_text("utf-8").replace("http://www.w3.org/", "")
                assert "http://" not in text, path
                assert "https://" not in text, path


@pytest.mark.parametrize(
    "body", ["", "[]", "{", '{"texts": 3, "file": "x"}', '{"texts": {"a": 1}, "file": "x"}', '{"file": 1}']
)
def test_bad_questions_are_told_so(server: Served, body: str) -> None:
    sent = {"x-fsm-token": server.token}
    told = httpx.post(f"{server.origin}/api/analysis", content=body, headers=sent, timeout=60)
    assert told.status_code == 400
    assert told.json()["error"]


# Files ---------------------------------------------------------------------------------------------------------------


def test_only_the_specs_named_are_read_and_written(server: Served, folder: Path) -> None:
    assert [x["name"] for x in server.ask("files").json()["files"]] == ["specs/door.fsm", "specs/wide.fsm"]
    for name in ("secret.fsm", "specs/../secret.fsm", "/etc/passwd", "specs", "", "specs/door.fsm\0"):
        assert server.ask("read", {"name": name}).status_code == 400
        told = server.ask("write", {"name": name, "text": "x", "base": ""})
        assert told.status_code == 400, name
    assert (folder / "secret.fsm").read_text() == "module secret\n"


def test_saving_keeps_every_byte_and_the_mode(server: Served, folder: Path) -> None:
    path = folder / "specs" / "door.fsm"
    path.write_bytes(DOOR.replace("\n", "\r\n").encode())
    path.chmod(0o640)
    found = server.ask("read", {"name": "specs/door.fsm"}).json()
    text = found["text"].replace("0..9", "0..8")
    told = server.ask("write", {"name": "specs/door.fsm", "text": text, "base": found["version"]})
    assert told.status_code == 200
    assert path.read_bytes() == text.encode()
    assert b"\r\n" in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in path.parent.iterdir()) == ["door.fsm", "wide.fsm"]


def test_a_file_that_somebody_else_has_changed_is_not_overwritten(server: Served, folder: Path) -> None:
    path = folder / "specs" / "door.fsm"
    base = server.ask("read", {"name": "specs/door.fsm"}).json()["version"]
    path.write_text("module door // theirs\n")
    told = server.ask("write", {"name": "specs/door.fsm", "text": "mine", "base": base})
    assert told.status_code == 409
    assert told.json()["now"]["text"] == "module door // theirs\n"
    assert path.read_text() == "module door // theirs\n"
    path.unlink()
    told = server.ask("write", {"name": "specs/door.fsm", "text": "mine", "base": base})
    assert told.status_code in (400, 409)
    assert not path.exists()


def test_a_link_is_followed_and_stays_one(server: Served, folder: Path) -> None:
    (folder / "specs" / "linked.fsm").symlink_to("wide.fsm")
    base = server.ask("read", {"name": "specs/linked.fsm"}).json()["version"]
    assert server.ask("write", {"name": "specs/linked.fsm", "text": "module s\n", "base": base}).status_code == 200
    assert (folder / "specs" / "linked.fsm").is_symlink()
    assert (folder / "specs" / "wide.fsm").read_text() == "module s\n"


def test_a_new_file_is_begun_beside_another(server: Served, folder: Path) -> None:
    asked = {"beside": "specs/door.fsm", "name": "gate", "text": "module gate\n"}
    made = server.ask("create", asked).json()
    assert made["name"] == "specs/gate.fsm"
    assert (folder / "specs" / "gate.fsm").read_text() == "module gate\n"
    assert server.ask("read", {"name": made["name"]}).json()["version"] == made["version"]
    again = server.ask("create", {**asked, "text": "module other\n"})
    assert (again.status_code, "already exists" in again.json()["error"]) == (400, True)
    for other in ({"beside": "secret.fsm"}, {"name": "../out"}, {"name": "a.b"}, {"text": "\ud800", "name": "half"}):
        body, sent = json.dumps({**asked, **other}), {"x-fsm-token": server.token}
        assert httpx.post(f"{server.origin}/api/create", content=body, headers=sent, timeout=60).status_code == 400
    assert sorted(x.name for x in (folder / "specs").iterdir()) == ["door.fsm", "gate.fsm", "wide.fsm"]


def test_an_old_list_of_files_never_replaces_a_newer_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that looked before a file was made, and is slow to tell."""
    from fsmdsl.editor.live import documents as module

    documents = module.Documents([str(folder / "specs")])
    really, looked, may_tell = module._inside, threading.Event(), threading.Event()

    def slowly(path: Path) -> list[Path]:
        found = really(path)
        looked.set()
        may_tell.wait(60)
        return found

    monkeypatch.setattr(module, "_inside", slowly)
    early = threading.Thread(target=documents.names)
    early.start()
    assert looked.wait(60)
    monkeypatch.setattr(module, "_inside", really)
    (folder / "specs" / "made.fsm").write_text("module made\n")
    late = threading.Thread(target=documents.names, kwargs={"anew": True})
    late.start()
    late.join(0.3)  # it need not be told before the early one
    may_tell.set()
    early.join(60)
    late.join(60)
    assert str(folder / "specs" / "made.fsm") in documents.names()


def test_of_two_pages_that_save_at_once_one_is_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fsmdsl.editor.live import documents as module

    name = str(folder / "specs" / "door.fsm")
    documents = module.Documents([str(folder / "specs")])
    base = documents.read(name).version
    really, asked = module.disk.write, []
    both = threading.Barrier(2)

    def together(path: Path, data: bytes, *, follow: bool) -> None:
        with suppress(threading.BrokenBarrierError):
            both.wait(0.3)  # the other writes at the same time, if it may
        really(path, data, follow=follow)

    def save(text: str) -> None:
        try:
            documents.write(name, text, base)
        except module.ConflictError as error:
            asked.append(error.now)

    monkeypatch.setattr(module.disk, "write", together)
    pages = [threading.Thread(target=save, args=(text,)) for text in ("one", "two")]
    for page in pages:
        page.start()
    for page in pages:
        page.join(60)
    assert [x.text for x in asked if x is not None] == [Path(name).read_text()]


# Text ----------------------------------------------------------------------------------------------------------------


def test_findings_follow_what_is_typed_and_nothing_is_written(server: Served, folder: Path) -> None:
    told = server.ask("analysis", {"file": "specs/door.fsm", "texts": {"specs/door.fsm": BROKEN}}).json()
    (finding,) = [x for x in told["findings"] if x["severity"] == "error"]
    assert (finding["file"], finding["line"]) == ("specs/door.fsm", 9)
    assert BROKEN[finding["from"] : finding["to"]] == "Shot"
    assert told["outline"] is None
    told = server.ask("analysis", {"file": "specs/door.fsm"}).json()
    assert [x["name"] for x in told["outline"]] == ["Door", "One"]
    assert told["systems"] == ["door.One", "wide.Huge"]
    assert (folder / "specs" / "door.fsm").read_text() == DOOR


def test_places_are_counted_as_browsers_do(server: Served) -> None:
    text = BROKEN.replace("module door", "/// \U0001f6aa\U0001f6aa\nmodule door")
    told = server.ask("analysis", {"file": "specs/door.fsm", "texts": {"specs/door.fsm": text}}).json()
    (finding,) = [x for x in told["findings"] if x["severity"] == "error"]
    units = text.encode("utf-16-le")[2 * finding["from"] : 2 * finding["to"]]
    assert units.decode("utf-16-le") == "Shot"


@pytest.mark.full(reason="size")
def test_an_edit_in_a_large_workspace_takes_a_small_part_of_what_the_first_question_takes() -> None:
    from fsmdsl.editor.live.documents import Documents
    from fsmdsl.editor.live.language import Language

    documents = Documents([str(ROOT / "specs")])
    language = Language(documents)
    name = next(x for x in documents.names() if x.endswith("hived.fsm"))
    text = documents.read(name).text
    first = calls(lambda: language.analysis({}, name, documented=False))
    answers: list[dict[str, Any]] = []
    for n in range(3):
        edited = text.replace("e1: Used", f"x{n}: Used -> Free on free when user != none\n    e1: Used", 1)
        spent = calls(lambda t=edited: answers.append(language.analysis({name: t}, name, documented=False)))
        assert answers[-1]["outline"] is not None
        assert 4 * spent < first


def test_a_text_is_formatted_as_fmt_does(server: Served) -> None:
    told = server.ask("format", {"text": "module a machine A {initial state B}"}).json()
    assert told == {"text": "module a\n\nmachine A {\n    initial state B\n}\n"}
    assert server.ask("format", {"text": BROKEN.replace("->", "-")}).json() == {"text": None}


@pytest.mark.parametrize(
    ("form", "begins"), [("mermaid", "stateDiagram-v2"), ("plantuml", "@startuml"), ("dot", "digraph")]
)
def test_a_machine_is_exported(server: Served, form: str, begins: str) -> None:
    assert server.ask("export", {"machine": "door.Door", "form": form}).json()["text"].startswith(begins)
    assert server.ask("export", {"machine": "door.Door", "form": "../x"}).status_code == 400


def test_imports_from_elsewhere_are_found(server: Served, folder: Path) -> None:
    text = "module user\nimport secret\nmachine U { initial state S }\n"
    (folder / "specs" / "user.fsm").write_text(text)
    told = server.ask("analysis", {"file": "specs/user.fsm"}).json()
    assert not [x for x in told["findings"] if x["severity"] == "error"]
    assert "secret" not in str(server.ask("files").json())


def test_a_diagram_is_drawn_once(server: Served) -> None:
    first = server.ask("diagram", {"machine": "door.Door"}).json()
    assert 'id="state-Shut"' in first["svg"]
    assert "<style" not in first["svg"]
    again = server.ask("diagram", {"machine": "door.Door", "known": first["key"]}).json()
    assert again == {"machine": "door.Door", "key": first["key"], "same": True}
    other = DOOR.replace("state Open", "state Opened").replace("Open", "Opened").replace("Openeded", "Opened")
    changed = server.ask("diagram", {"machine": "door.Door", "known": first["key"], "texts": {"specs/door.fsm": other}})
    assert 'id="state-Opened"' in changed.json()["svg"]
    assert server.ask("diagram", {"machine": "door.Nothing"}).status_code == 400


def test_without_graphviz_there_is_text(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stepping import compiled

    from fsmdsl.draw import svg
    from fsmdsl.editor.live.pictures import diagram

    monkeypatch.setattr(svg, "_command", lambda form: None)
    told = diagram(
        compiled(DOOR.replace("push from", "shove from").replace("on push", "on shove")).machines["door.Door"]
    )
    assert "Graphviz is not installed" in told["message"]
    assert "fsmdsl[svg]" in told["help"]
    assert told["mermaid"].startswith("stateDiagram")


def test_a_failure_to_draw_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is too busy to draw in time may draw the next time."""
    from stepping import compiled

    from fsmdsl.draw import svg
    from fsmdsl.editor.live.pictures import diagram

    machine = compiled(DOOR.replace("Door", "Busy")).machines["door.Busy"]  # drawn by no other test
    with monkeypatch.context() as busy:
        busy.setattr(svg, "TIMEOUT", 0.0)
        told = diagram(machine)
    assert "did not finish" in told["message"]
    assert 'id="state-Shut"' in diagram(machine, told["key"])["svg"]


# Explorations --------------------------------------------------------------------------------------------------------


def test_an_exploration_tells_what_it_finds(server: Served) -> None:
    *_, (name, found) = events(server, system="door.One")
    assert name == "result"
    assert (found["verdict"], found["states"]) == ("violated", 19)
    (violated,) = [v for v in found["verdicts"] if v["outcome"] == "violated" and v["kind"] == "invariant"]
    assert len(violated["trace"]["steps"]) == 5
    assert violated["formula"][0]["text"] == "door.n < 3"


def test_it_explores_what_is_typed(server: Served) -> None:
    typed = {"specs/door.fsm": DOOR.replace("door.n < 3", "door.n < 9")}
    *_, (_, found) = events(server, system="door.One", texts=typed)
    assert [len(v["trace"]["steps"]) for v in found["verdicts"] if v["kind"] == "invariant"] == [17]
    *_, (name, told) = events(server, system="door.One", texts={"specs/door.fsm": BROKEN})
    assert (name, "has errors" in told["message"]) == ("failed", True)


def test_limits_stop_it_and_nothing_is_called_a_success(server: Served) -> None:
    told = events(server, system="wide.Huge", seconds=2)
    name, found = told[-1]
    assert name == "result"
    assert found["verdict"] == "bounded"
    assert found["stopped"].startswith("stopped after 2 seconds")
    progress = [data for event, data in told if event == "progress"]
    assert progress
    assert progress[-1]["states"] > progress[0]["states"] > 0
    assert {"depth", "waiting", "seconds", "memory"} <= progress[0].keys()


def test_who_leaves_ends_the_exploration(server: Served) -> None:
    with httpx.stream(
        "POST", f"{server.origin}/api/verify", json={"system": "wide.Huge", "seconds": 600},
        headers={"x-fsm-token": server.token}, timeout=60,
    ) as told:  # fmt: skip
        lines = told.iter_lines()  # kept: without it the stream is closed
        first_progress(lines)
        assert len(workers(server)) == 1
    until = time.monotonic() + 60
    while workers(server) and time.monotonic() < until:
        time.sleep(0.05)
    assert workers(server) == []


def test_explorations_end_with_the_server(folder: Path) -> None:
    with (
        served(folder, "specs") as server,
        httpx.stream(
            "POST", f"{server.origin}/api/verify", json={"system": "wide.Huge", "seconds": 600},
            headers={"x-fsm-token": server.token}, timeout=60,
        ) as told,
    ):  # fmt: skip
        lines = told.iter_lines()  # kept: without it the stream is closed
        first_progress(lines)
        (worker,) = workers(server)
        server.process.kill()
        server.process.wait(10)
    until = time.monotonic() + 60
    while Path(f"/proc/{worker}").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(f"/proc/{worker}").exists()


def workers(server: Served) -> list[int]:
    """The processes that explore for a server."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == server.process.pid and b"fsmdsl.editor.live.explorer" in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def first_progress(lines: Iterator[str]) -> None:
    """Reads up to the first line that tells of progress; nothing else comes before it."""
    line = next(lines)
    assert line == "event: progress", [line, next(lines)]


# Runs ----------------------------------------------------------------------------------------------------------------


def test_a_run_is_walked_and_saved_as_a_scenario_that_passes(server: Served, folder: Path) -> None:
    run = server.ask("start", {"system": "door.One"}).json()
    assert [x["text"] for x in run["choices"]] == ["door.push"]
    for n in range(3):
        run |= server.ask("take", {"id": run["id"], "at": n, "number": 1, "text": "door.push"}).json()
    assert run["run"]["steps"][2]["changes"] == [[0, "Open"], [1, "2"]]
    moved = server.ask("move", {"id": run["id"], "at": 1}).json()
    assert moved["at"] == 1
    why = server.ask("why", {"id": run["id"], "at": 1, "text": "pusch"}).json()
    assert why["told"] == ["there is no event, answer or timer `pusch` here; did you mean `push`?"]
    saved = server.ask("save-run", {"id": run["id"], "at": 3, "name": "thrice"}).json()
    assert saved["name"] == "specs/thrice.fsm"
    done = CliRunner().invoke(cli, ["test", str(folder / "specs")])
    assert done.exit_code == 0, done.output
    assert "1 scenario" in done.output
    again = server.ask("save-run", {"id": run["id"], "at": 3, "name": "thrice"})
    assert (again.status_code, "already exists" in again.json()["error"]) == (400, True)
    for name in ("../out", "a b", "", "x/y", "<b>"):
        assert server.ask("save-run", {"id": run["id"], "at": 3, "name": name}).status_code == 400


def test_a_run_is_taken_up_by_the_texts_of_its_steps(server: Served) -> None:
    *_, (_, found) = events(server, system="door.One")
    trace = next(v["trace"] for v in found["verdicts"] if v["kind"] == "invariant")
    run = server.ask("start", {"system": "door.One", "trace": trace}).json()["run"]
    steps = [x["text"] for x in run["steps"]]
    again = server.ask("start", {"system": "door.One", "steps": [*steps, "door.pull", "door.push"], "at": 2}).json()
    assert (again["at"], again["run"]["steps"]) == (2, run["steps"])
    assert server.ask("start", {"system": "door.One", "steps": [1]}).status_code == 400


def test_a_run_along_what_was_found_goes_on_by_hand(server: Served) -> None:
    *_, (_, found) = events(server, system="door.One")
    trace = next(v["trace"] for v in found["verdicts"] if v["kind"] == "invariant")
    run = server.ask("start", {"system": "door.One", "trace": trace, "at": 1}).json()
    assert (run["at"], len(run["run"]["steps"])) == (1, 5)
    assert run["chart"].startswith("<svg")
    taken = server.ask("take", {"id": run["id"], "at": 2, "number": 1, "text": "door.push"}).json()
    assert (taken["at"], len(taken["run"]["steps"])) == (3, 3)
    stale = server.ask("take", {"id": run["id"], "at": 2, "number": 1, "text": "door.fly"})
    assert (stale.status_code, "no longer possible here" in stale.json()["error"]) == (400, True)
    trace["steps"][0]["step"] = "door.fly"
    told = server.ask("start", {"system": "door.One", "trace": trace})
    assert (told.status_code, "the spec has changed since" in told.json()["error"]) == (400, True)
    assert "no longer available" in server.ask("move", {"id": "other", "at": 0}).json()["error"]


def test_a_run_stays_with_the_text_that_it_began_with(server: Served) -> None:
    run = server.ask("start", {"system": "door.One"}).json()
    assert server.ask("start", {"system": "door.One", "texts": {"specs/door.fsm": BROKEN}}).status_code == 400
    assert server.ask("take", {"id": run["id"], "at": 0, "number": 1, "text": "door.push"}).status_code == 200


# The command ---------------------------------------------------------------------------------------------------------


def test_an_interrupt_ends_the_server_quietly(folder: Path) -> None:
    command = [sys.executable, "-m", "fsmdsl", "serve", "specs", "--port", "0"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    told = b"".join(process.stdout.readline() for _ in range(3)).decode()
    assert "serving specs at" in told
    assert httpx.get(told.split()[-1].partition("#")[0], timeout=60).status_code == 200
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")


def test_misuse_is_explained(folder: Path, server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    port = server.origin.rpartition(":")[2]
    done = CliRunner().invoke(cli, ["serve", str(folder / "specs"), "--port", port])
    assert done.exit_code == 2
    assert "choose another with `--port`" in done.output
    done = CliRunner().invoke(cli, ["serve", "no/such/folder"])
    assert (done.exit_code, "there is no file or folder `no/such/folder`" in done.output) == (2, True)
    from fsmdsl.cli import serve_command

    monkeypatch.setattr(serve_command, "find_spec", lambda name: None)
    done = CliRunner().invoke(cli, ["serve", str(folder / "specs")])
    assert done.exit_code == 2
    assert "pip install 'fsmdsl[serve]'" in done.output


# The editor's bundle -------------------------------------------------------------------------------------------------

EDITOR = ROOT / "editors" / "live"


@pytest.mark.parametrize("folder", ["live", "playground"])
def test_the_lock_names_no_registry(folder: str) -> None:
    lock = json.loads((EDITOR.parent / folder / "package-lock.json").read_text())
    assert not any("resolved" in x for x in lock["packages"].values())
    assert all("integrity" in x for name, x in lock["packages"].items() if name)


def test_the_bundle_is_what_the_lock_builds(tmp_path: Path) -> None:
    if shutil.which("node") is None or not (EDITOR / "node_modules").is_dir():
        pytest.skip("SKIPPED: whether codemirror.js is what its lock builds needs node, and `npm ci` in editors/live")
    lock = json.loads((EDITOR / "package-lock.json").read_text())
    for name, x in lock["packages"].items():
        manifest = EDITOR / name / "package.json"
        if name and manifest.exists():
            assert json.loads(manifest.read_text())["version"] == x["version"], f"run `npm ci` in {EDITOR}"
    subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=EDITOR, check=True)
    for name in ("codemirror.js", "codemirror.LICENSE.txt"):
        built, kept = tmp_path / name, ROOT / "fsmdsl" / "editor" / "live" / "static" / name
        assert built.read_bytes() == kept.read_bytes(), f"`npm run build` in {EDITOR} makes another {name}"


@pytest.mark.parametrize("text", ["abc", "a\U0001f600b", "\ud800", "a\ud800b\U0001f600c\udc00"], ids=ascii)
def test_a_place_is_the_same_in_code_points_and_in_utf_16(text: str) -> None:
    """Also in texts with halves of characters, which a browser may send."""
    for at in range(len(text) + 1):
        assert offset(text, units(text, at)) == at
    assert offset("\U0001f600x", 1) == 0, "in the middle of a character: its beginning"
    assert offset(text, 1000) == len(text)


@pytest.mark.parametrize("value", [True, 1.0, "1", None, [], 2**80])
def test_a_number_of_a_question_is_a_whole_one(value: object) -> None:
    with pytest.raises(MisuseError, match="must be a whole number"):
        number({"at": value}, "at")
