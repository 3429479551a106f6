"""Gangs that fail for good are told apart from those that wait, and may be corrected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clusters import config, gang, nodes
from desk import Desk
from serving import written

from runtime import Pod, Wait
from runtime.errors import UserError
from runtime.service import failing, questions, status
from runtime.service.objects import read_pod
from runtime.service.source import Change
from runtime.service.why import why, words


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    configuration = config(
        [*nodes("a", "b"), *nodes("o", kind="OLD-NODE")], A={"NODE": 1}, B={"NODE": 1, "OLD-NODE": 1}
    )
    found = Desk(configuration, tmp_path)
    yield found
    found.allocator.close()


def tell(desk: Desk, *pods: Pod, deleted: bool = False) -> None:
    """The cluster tells of pods."""
    for pod in pods:
        desk.scheduler.observe(Change(read_pod(written(pod)), deleted=deleted))
    desk.scheduler.write_history()


def asked(desk: Desk, name: str) -> dict[str, Any]:
    scheduler = desk.scheduler
    return why(desk.allocator, scheduler.tracker, scheduler.history, name)[0]


def tenant(desk: Desk, name: str) -> dict[str, Any]:
    return questions.tenant(desk.allocator, desk.scheduler.tracker, desk.scheduler.history, name)


def failures(desk: Desk) -> dict[str, str]:
    """By gang."""
    return {x.name: x.never for x in failing.gangs(desk.allocator, desk.scheduler.tracker) if x.never}


@pytest.mark.parametrize(
    ("pods", "reason"),
    [
        (gang("g", "nobody", 1), "there is no virtual cluster nobody; there are A, B"),
        (gang("g", "A", 1, leaf_type="GPX"), "there are no leaf cells of type GPX; there are GPU, OLD"),
        (gang("g", "A", 1, leaf_type="OLD"), "virtual cluster A has no leaf cells of type OLD; it has GPU"),
        (gang("g", "A", 1, pinned_cell="p"), "virtual cluster A has no pinned cell p"),
        (gang("g", "A", 1, 1, priority=-1, pinned_cell="p"), "an opportunistic pod cannot ask for a pinned cell (p)"),
    ],
)
def test_a_gang_that_is_refused(desk: Desk, pods: list[Pod], reason: str) -> None:
    tell(desk, *pods)
    assert not desk.allocator.gangs
    assert failures(desk) == {"g": reason}
    answer = asked(desk, "g")
    assert (answer["state"], answer["reason"], answer["failure"]) == ("Pending", reason, reason)
    assert answer["pods"] == {"expected": len(pods), "known": len(pods), "placed": 0}
    assert any(line.startswith("it fails for good") for line in words(answer))
    assert not any("waiting since" in line for line in words(answer))
    found = status.problems(desk.allocator, desk.scheduler.tracker)["items"]
    assert [x["problem"] for x in found] == [reason] * len(pods)
    owner = pods[0].spec.virtual_cluster if pods[0].spec.virtual_cluster in "AB" else ""
    assert desk.series("allocator_failing_gangs") == {f'virtual_cluster="{owner}"': 1}
    if owner:
        assert [(x["gang"], x["failure"]) for x in tenant(desk, "A")["failing"]] == [("g", reason)]
    tell(desk, *pods, deleted=True)
    assert failures(desk) == {}
    with pytest.raises(UserError, match="there is no gang g"):
        asked(desk, "g")


def test_a_gang_that_is_too_large(desk: Desk) -> None:
    huge, waits = gang("huge", "A", 4, 4), gang("waits", "A", 4)
    desk.run(gang("busy", "A", 4))
    tell(desk, *huge, *waits)
    assert failures(desk) == {}, "nobody has asked yet"
    desk.now += 50
    for pods in (huge, waits):
        assert isinstance(desk.allocator.schedule(pods[0]), Wait)
    (reason,) = failures(desk).values()
    assert "A can never have 2 x 4 leaf cells" in reason
    assert asked(desk, "huge")["failure"] == reason
    assert asked(desk, "waits")["failure"] is None
    assert (asked(desk, "waits")["place"], asked(desk, "waits")["waiting"]) == (1, 1), (
        "the other one is not in the queue"
    )
    assert asked(desk, "huge")["place"] == 0
    assert desk.series("allocator_failing_gangs") == {'virtual_cluster="A"': 1}
    assert desk.series("allocator_waiting_gangs") == {'virtual_cluster="A"': 1}
    assert desk.series("allocator_waiting_devices") == {'virtual_cluster="A"': 4}
    full = {x.name: status.full_gang(x)["failure"] for x in failing.gangs(desk.allocator, desk.scheduler.tracker)}
    assert full == {"busy": None, "huge": reason, "waits": None}


def test_a_gang_that_is_corrected_waits_or_is_placed(desk: Desk) -> None:
    """The pod that asks says what its gang is."""
    desk.allocator.schedule(gang("g", "A", 4, 4)[0])
    assert failures(desk).keys() == {"g"}
    desk.run(gang("g", "A", 4))
    assert failures(desk) == {}


def test_a_pod_too_many_is_a_problem_of_its_own(desk: Desk) -> None:
    """Its gang does not fail."""
    pods = gang("g", "A", 1)
    desk.run(pods)
    extra = Pod("extra", "extra", pods[0].spec)
    tell(desk, extra)
    assert failures(desk) == {}
    (found,) = status.problems(desk.allocator, desk.scheduler.tracker)["items"]
    assert found["problem"] == "gang g already has all its 1 pods of 1 leaf cells"
    desk.end(pods)
    assert status.problems(desk.allocator, desk.scheduler.tracker)["items"] == [], "there is room for it now"
