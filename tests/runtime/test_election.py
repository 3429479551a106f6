"""Which of several instances decides: exactly one, whatever the server and the candidates do."""

from __future__ import annotations

import copy
import random
import threading
from pathlib import Path
from typing import Any

import pytest
from tiers import today

from runtime.errors import UserError
from runtime.service.election import DEADLINE, DURATION, RELEASED, RETRY_INTERVAL, Election, LeaseConflictError
from runtime.service.source import EndedError

MANUAL = (Path(__file__).parents[2] / "docs/allocator.md").read_text("utf-8")


class Server:
    """Stores one Lease, and refuses old versions of it."""

    def __init__(self) -> None:
        self.stored: dict[str, Any] | None = None
        self.version = 0
        self.away = False

    def lease(self, namespace: str, name: str) -> dict[str, Any] | None:
        if self.away:
            raise OSError("no answer")
        return copy.deepcopy(self.stored)

    def write_lease(self, namespace: str, lease: dict[str, Any]) -> dict[str, Any]:
        if self.away:
            raise OSError("no answer")
        before = None if self.stored is None else self.stored["metadata"]["resourceVersion"]
        if lease["metadata"].get("resourceVersion") != before:
            raise LeaseConflictError("another version")
        self.version += 1
        self.stored = copy.deepcopy(lease)
        self.stored["metadata"]["resourceVersion"] = str(self.version)
        return self.stored


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_the_first_one_leads_and_the_second_one_waits_until_the_lease_expires(server: Server, clock: Clock) -> None:
    a, b = Election(server, "ns/x", "a", clock), Election(server, "ns/x", "b", clock)
    assert a.attempt() == ""
    assert a.leads
    assert b.attempt() is None
    clock.now += DURATION - 1
    assert b.attempt() is None
    clock.now += 1
    assert b.attempt() == "a"
    assert b.leads
    assert not a.leads
    assert a.attempt() is None
    assert a.holder == "b"
    assert server.stored is not None
    assert server.stored["spec"]["leaseTransitions"] == 1


@pytest.mark.parametrize(("stopped", "limit"), [(False, DURATION + RETRY_INTERVAL), (True, RELEASED + RETRY_INTERVAL)])
def test_another_one_leads_in_the_time_that_the_manual_says(stopped: bool, limit: float) -> None:
    """From the death of the holder at the latest, or from when it was stopped, whenever the other one looked last."""
    event = (
        "if the holder is stopped, within" if stopped else "If the holder dies, another instance takes the Lease within"
    )
    assert f"{event} {limit:g} seconds" in " ".join(MANUAL.split())
    times: set[float] = set()
    for tenths in range(int(10 * RETRY_INTERVAL)):
        server, clock = Server(), Clock()
        a, b = Election(server, "ns/x", "a", clock), Election(server, "ns/x", "b", clock)
        a.attempt()
        b.attempt()
        clock.now += tenths / 10
        a.attempt()
        died = clock.now
        if stopped:
            a.close()
        clock.now += b.pause() - tenths / 10
        while b.attempt() is None:
            clock.now += b.pause()
        times.add(round(clock.now - died, 3))
    assert max(times) <= limit
    assert min(times) >= (RELEASED if stopped else DURATION)


def test_a_lease_that_cannot_be_taken_is_not_tried_without_pause(server: Server, clock: Clock) -> None:
    a, b = Election(server, "ns/x", "a", clock), Election(server, "ns/x", "b", clock)
    a.attempt()
    b.attempt()
    clock.now += DURATION + 1
    server.away = True
    assert b.attempt() is None
    assert b.pause() == RETRY_INTERVAL


def test_a_holder_that_renews_keeps_it(server: Server, clock: Clock) -> None:
    a, b = Election(server, "ns/x", "a", clock), Election(server, "ns/x", "b", clock)
    a.attempt()
    for _ in range(20):
        clock.now += 5
        assert a.attempt() == "a"
        assert b.attempt() is None


def test_who_has_held_it_before_a_restart_takes_it_at_once(server: Server, clock: Clock) -> None:
    assert Election(server, "ns/x", "a", clock).attempt() == ""
    again = Election(server, "ns/x", "a", clock)
    assert again.attempt() == "a"
    assert again.leads


def test_without_an_answer_the_holder_does_not_lead_and_resumes_if_nobody_has_led_meanwhile(
    server: Server, clock: Clock
) -> None:
    a = Election(server, "ns/x", "a", clock)
    a.attempt()
    server.away = True
    clock.now += DEADLINE
    assert a.attempt() is None
    assert not a.leads
    clock.now += 10 * DURATION
    server.away = False
    assert a.attempt() == "a"
    assert a.leads


def test_a_lease_that_is_given_up_is_taken_a_second_later(server: Server, clock: Clock) -> None:
    a, b = Election(server, "ns/x", "a", clock), Election(server, "ns/x", "b", clock)
    a.attempt()
    b.attempt()
    a.close()
    assert not a.leads
    assert b.attempt() is None
    clock.now += 1
    assert b.attempt() == "a", "it is known who led before, whose journal is the latest"


def test_never_two_lead(server: Server) -> None:
    """Candidates and the server stop and go on at random; the times of all are the same, and each has its own clock."""
    for seed in today(range(200)):
        choice, server = random.Random(seed), Server()
        clocks = [Clock() for _ in range(3)]
        candidates = [Election(server, "ns/x", str(n), clock) for n, clock in enumerate(clocks)]
        for n, clock in enumerate(clocks):
            clock.now += 1000.0 * n
        for _ in range(200):
            passed = choice.choice([0.5, 2.0, 3.0, 9.0])
            for clock in clocks:
                clock.now += passed
            server.away = choice.random() < 0.1
            for candidate in choice.sample(candidates, choice.randrange(4)):
                candidate.attempt()
            assert sum(x.leads for x in candidates) <= 1, seed


def test_losing_it_is_reported_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.service.election.RETRY_INTERVAL", 0.01)
    clock, lost = Clock(), threading.Event()
    a, b = Election(server, "ns/x", "a", clock), Election(server, "ns/x", "b", clock)
    assert a.acquire() == ""
    b.attempt()
    clock.now += DURATION
    assert b.attempt() == "a"
    a.keep(lost.set)
    assert lost.wait(60)
    assert not a.leads
    a.close()
    assert server.stored is not None
    assert server.stored["spec"]["holderIdentity"] == "b", "it gives up nothing that it does not have"


def test_waiting_ends_when_it_is_closed(server: Server, clock: Clock) -> None:
    Election(server, "ns/x", "a", clock).attempt()
    b = Election(server, "ns/x", "b", clock)
    threading.Timer(0.1, b.close).start()
    with pytest.raises(EndedError):
        b.acquire()


@pytest.mark.parametrize("name", ["", "x", "/x", "ns/", "a/b/c"])
def test_a_lease_has_a_namespace_and_a_name(server: Server, name: str) -> None:
    with pytest.raises(UserError, match="must be named NAMESPACE/NAME"):
        Election(server, name, "a")
