"""Random histories that HiveD itself has answered. Nothing is worse here, and whatever differs is explained exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from beside_hived import Histories, History, report, table
from differences import OURS, Difference
from hived import ANNOTATIONS, HISTORIES, RECORDS, lowered, needs_records, records
from tiers import DAY

from runtime import Pod, Preempt, UserError, Wait
from runtime.annotations import read_spec
from runtime.cycle import Cycle
from runtime.placement import choose
from runtime.placement.candidate_nodes import CandidateNodes

DOCUMENT = Path(__file__).parents[2] / "docs/migrating-from-hived.md"
EVERY = 75
"""In `make test`, one history of so many; others each day."""


def run(recorded: Iterable[dict[str, Any]]) -> Histories:
    results = Histories()
    results.run(recorded)
    return results


def unexplained(results: Histories) -> set[Difference]:
    return {difference for difference in OURS if results.differences[difference]}


@needs_records
def test_some_histories() -> None:
    results = run(islice(records(HISTORIES), DAY % EVERY, None, EVERY))
    assert results.histories == 1500 // EVERY
    assert not unexplained(results), report(results)


@needs_records
@pytest.mark.full(reason="two minutes")
def test_all_histories_and_the_documents_quote_the_figures() -> None:
    results = run(records(HISTORIES))
    print(report(results))
    assert not unexplained(results), report(results)
    assert all(results.seen[kind] > 100 for kind in ("bind", "preempt", "refuse", "wait", "restarts"))
    assert table(results) in DOCUMENT.read_text("utf-8"), table(results)


def refuses(history: History, pod: Pod) -> UserError:
    return UserError("no")


def waits(history: History, pod: Pod) -> Wait:
    history.allocator.submit(pod)
    return Wait("no reason")


def displaces(history: History, pod: Pod) -> Preempt:
    """All pods of the cluster."""
    history.allocator.submit(pod)
    return Preempt({"x": tuple(other for gang in history.allocator.gangs.values() for other in gang.allocated)})


@needs_records
@pytest.mark.parametrize(
    ("plant", "difference"),
    [
        (refuses, Difference.OURS_REFUSES),
        (waits, Difference.OURS_WAITS),
        (displaces, Difference.OURS_DISPLACES),
    ],
)
def test_answers_that_are_worse_are_noticed(
    plant: Callable[[History, Pod], Any], difference: Difference, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third ask of a history is answered in another way."""
    schedule = History._schedule

    def planted(history: History, pod: Pod, offered: list[str]) -> Any:
        number = sum(event["op"] == "ask" for event in history.record["events"][: history.number])
        return plant(history, pod) if number == 2 else schedule(history, pod, offered)

    monkeypatch.setattr(History, "_schedule", planted)
    assert difference in unexplained(run(islice(records(HISTORIES), 40)))


@needs_records
def test_places_that_are_not_offered_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    find = choose.choose
    monkeypatch.setattr("runtime.cycle.choose", lambda ledger, spec, _: find(ledger, spec, CandidateNodes()))
    assert Difference.OURS_UNSOUND in unexplained(run(islice(records(HISTORIES), 40)))


@needs_records
def test_gangs_that_are_demoted_for_nothing_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    take = Cycle.take

    def planted(cycle: Cycle, gang: Any, places: Any, demoted: Any) -> None:
        others = (x for x in cycle.gangs.values() if x.priority >= 0 and x.places.written and x not in (gang, *demoted))
        take(cycle, gang, places, (*demoted, *islice(others, 1)))

    monkeypatch.setattr(Cycle, "take", planted)
    assert Difference.OURS_DEMOTES in unexplained(run(islice(records(HISTORIES), 40)))


def reading(text: str) -> Any:
    """What the allocator makes of an annotation; none where it refuses it."""
    try:
        spec = read_spec(text, "d", "p")
    except UserError:
        return None
    members = [{"podNumber": x.pods, "leafCellNumber": x.leaf_cells} for x in spec.gang.members]
    return {
        "virtualCluster": spec.virtual_cluster,
        "priority": spec.priority,
        "pinnedCellId": spec.pinned_cell,
        "leafCellType": spec.leaf_type,
        "leafCellNumber": spec.leaf_cells,
        "lazyPreemptionEnable": spec.lazy_preemption,
        "ignoreK8sSuggestedNodes": spec.ignore_suggested,
        "affinityGroup": {"name": spec.gang.name, "members": members},
    }


@needs_records
def test_annotations_are_read_as_hived_reads_them() -> None:
    """All but one, which the document explains."""
    recorded, different = list(records(ANNOTATIONS)), []
    for record in recorded:
        theirs = lowered(record["hived"].get("spec"))
        if theirs is not None:
            del theirs["gangReleaseEnable"]  # nothing asks for it, on either side
        if reading(record["text"]) != theirs:
            different.append(record["text"])
    assert len(recorded) == 139
    assert different == ["%YAML 1.2\n---\nvirtualCluster: a\nleafCellNumber: 1\n"]
    assert "`%YAML 1.2`" in DOCUMENT.read_text("utf-8")


def test_what_is_missing_is_named() -> None:
    (reason,) = (mark.kwargs["reason"] for mark in [needs_records.mark])
    assert reason.startswith(f"HIVED IS NOT HERE: {RECORDS}")
