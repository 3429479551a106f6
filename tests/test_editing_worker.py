"""What explores beside the editing: what comes first, what ends it, and how code is made for it."""

from __future__ import annotations

import pickle
from inspect import stack
from io import BytesIO
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from hived_lite import hived_lite

from fsmdsl.editor.editing.findings import Findings, Request
from fsmdsl.editor.editing.worker import SupersededError, Worker
from fsmdsl.program import native
from fsmdsl.search import machine_code, packed_search

TWO = """module x
machine Door {
    initial state Shut
    state Open
    event push from environment
    Shut -> Open, Open -> Shut on push
}
system Hall { door: Door }
machine Lamp {
    n: 0..3
    initial state Off
    event flip from environment
    Off on flip when n < 3 do n = n + 1
    final state Broken
    Off -> Broken on flip when n == 3
    ignore flip in Broken
    invariant dark: n < 4
}
system Room { lamp: Lamp }
"""


def request(text: str, states: int = 100_000, counted: float = 0.0) -> Request:
    return Request(1, ("x.fsm",), {"x.fsm": text}, None, states, 3600.0, counted)


def answered(worker: Worker, asked: Request) -> list[Findings]:
    """What a worker has to say."""
    worker._answers = said = BytesIO()
    worker._take(asked)
    worker._answer(asked)
    length, found = said.tell(), []
    said.seek(0)
    while said.tell() < length:
        found.append(pickle.load(said))
    return found


def test_what_was_not_touched_is_known_at_once() -> None:
    worker = Worker(SimpleQueue(), BytesIO())
    answered(worker, request(TWO))
    before = dict(worker._cache)
    taken_up, first, *_, last = answered(worker, request(TWO.replace("dark: n < 4", "dark: n < 3")))
    assert (taken_up.systems, taken_up.done, last.done) == ({}, False, True)
    for found in (first, last):
        assert {name: x.verdict for name, x in found.systems.items()} == {"x.Hall": "holds", "x.Room": "violated"}
        assert [x.code for x in found.marks if x.system] == ["FSM301"]
    assert worker._cache["x.Hall"] is before["x.Hall"]
    assert worker._cache["x.Room"] is not before["x.Room"]


LARGE = hived_lite(3, 5, 2)
BROKEN = LARGE.replace(
    "    reachable handover", "    invariant stays: all g in groups: g not in Deleted\n    reachable handover"
)


@pytest.mark.parametrize(("where", "text"), [("_progress", LARGE), ("simplest", BROKEN), ("_counted", LARGE)])
def test_a_newer_text_ends_the_work_wherever_it_is(where: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the search, while a simpler run is sought, and while transitions are counted."""
    monkeypatch.setattr(packed_search, "REPORT_EVERY", 0)
    requests: SimpleQueue[Request | None] = SimpleQueue()
    worker = Worker(requests, BytesIO())
    still_wanted, asked = worker._still_wanted, 0

    def watched() -> None:
        nonlocal asked
        if any(frame.function == where for frame in stack(0)):
            asked += 1
            if asked == 1:
                requests.put(request(TWO))
        still_wanted()

    monkeypatch.setattr(worker, "_still_wanted", watched)
    with pytest.raises(SupersededError):
        answered(worker, request(text, counted=3600.0))
    assert asked == 1


@pytest.mark.skipif(native.missing() is not None, reason="needs the extra `fast`")
def test_code_is_made_in_a_hurry_and_not_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """For the next text needs another."""
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path))
    made: list[bool] = []
    hastily = machine_code.hastily

    def watched(lowered: Any, *, store: bool) -> Any:
        made.append(store)
        return hastily(lowered, store=store)

    monkeypatch.setattr(machine_code, "hastily", watched)
    found = answered(Worker(SimpleQueue(), BytesIO()), request(hived_lite(3, 6, 2)))[-1].systems.values()
    assert [(x.verdict, x.data["states"], x.data["note"]) for x in found] == [("holds", 11_918, None)]
    assert made == [False]
    assert list(tmp_path.iterdir()) == []
