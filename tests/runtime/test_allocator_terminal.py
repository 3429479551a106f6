"""Names of gangs and nodes, and answers of a server, on the terminal of the allocator's commands."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from runtime.command import run
from runtime.service import command
from runtime.simulate.text import table

HOSTILE = "x\n2026-01-01  gang y was placed\r\x1b[2J\x9b31m\u202eevil\u2066\u200b\x7f\ud800"

HIDDEN = re.compile(r"[^\n\t -~\xa1-\xac\xae-\u200a\u2010-\u2027\u2030-\u205f\u2070-\ud7ff\ue000-\uffef]")


def safe(text: str) -> None:
    assert HIDDEN.search(text) is None, repr(text)
    assert not any(line.startswith("2026-01-01  gang y") for line in text.splitlines()), text


GANG = {"gang": HOSTILE, "state": HOSTILE, "priority": 1, "devices": 1, "nodes": [HOSTILE], "virtualCluster": HOSTILE}
EVENTS = [{"time": "now", "text": HOSTILE}]
OF_GANG = {
    **GANG, "since": HOSTILE, "place": 1, "waiting": 2, "reason": HOSTILE, "wouldDisplace": [GANG], "inTheWay": [GANG],
    "wouldMakeRoom": {"gangsEnd": [HOSTILE], "nodesHealthy": [HOSTILE]}, "events": EVENTS, "problems": [HOSTILE],
    "pods": {"expected": 1, "known": 1, "placed": 1},
    "failure": None,
}  # fmt: skip
DEVICE = {"index": 1, "chain": HOSTILE, "state": HOSTILE, "gang": HOSTILE, "reservedFor": HOSTILE}
NODE = {"node": HOSTILE, "healthy": False, "reason": HOSTILE, "devices": [DEVICE], "events": EVENTS}
TENANT = {
    "virtualCluster": HOSTILE, "used": 1, "promised": 1, "free": 1, "bad": 1, "gangs": 1, "waiting": [GANG],
    "running": [GANG], "opportunistic": 1, "lent": 1, "waitsLongest": HOSTILE,
    "failing": [{**GANG, "failure": HOSTILE}],
}  # fmt: skip
ROOM = {
    "virtualCluster": HOSTILE, "leafCellType": HOSTILE, "pinnedCellId": HOSTILE, "podDevices": 1, "pods": 1,
    "devices": 1, "free": 2, "fragmentation": 0.5, "exact": False,
}  # fmt: skip
PREEMPTED = {"virtualCluster": HOSTILE, "victim": HOSTILE, "fate": HOSTILE, "gangs": 1, "pods": 2}

ANSWERS: dict[str, tuple[list[str], Any]] = {
    "events": (["events"], {"items": EVENTS}),
    "why": (["why", "g"], OF_GANG),
    "node": (["node", "n"], NODE),
    "tenants": (["virtual-clusters"], {"items": [TENANT]}),
    "tenant": (["virtual-clusters", "v"], TENANT),
    "opportunistic": (
        ["opportunistic"],
        {"items": [{**GANG, "demotedBy": HOSTILE, "leavesFor": [HOSTILE]}], "fits": [ROOM]},
    ),
    "fails": (["why", "g"], {**OF_GANG, "failure": HOSTILE}),
    "fits": (["fits", "v"], {"items": [ROOM]}),
    "preemptions": (["preemptions"], {"items": [PREEMPTED]}),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_what_an_allocator_answers(name: str, options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    arguments, answer = ANSWERS[name]
    monkeypatch.setattr(command, "urlopen", lambda *_, **__: io.BytesIO(json.dumps(answer).encode()))
    (asked,) = (x for x in command.COMMANDS if x.name == arguments[0])
    done = CliRunner().invoke(asked, [*arguments[1:], *options])
    assert done.exception is None, done.exception
    safe(done.output)


def test_what_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps({HOSTILE.replace("\ud800", ""): 1, "physicalCluster": HOSTILE.replace("\ud800", "")}))
    for arguments in (
        ["check-config", str(config)],
        ["check-config", str(tmp_path / HOSTILE.replace("\ud800", ""))],
        ["journal", str(tmp_path / HOSTILE.replace("\ud800", ""))],
        ["events", "--server", HOSTILE],
        ["events", "--since", HOSTILE],
        [HOSTILE],
        ["--x" + HOSTILE],
    ):
        monkeypatch.setattr("sys.argv", ["runtime", *arguments])
        assert run() == 2
        told = capsys.readouterr()
        assert told.err
        safe(told.err + told.out)


def test_a_table_of_names() -> None:
    safe(table(["", HOSTILE], [[HOSTILE, "1"]]))
