"""Lives on a journal: what they were before, they are after; in a changed configuration, as far as there is room."""

from __future__ import annotations

from pathlib import Path

import pytest
from clusters import config, nodes
from living import TWO_QUEUES, Ward, application, check, memory

from runtime import UserError
from runtime.durable import DurableAllocator
from runtime.lifecycle import Act, CliqueSpec, Settings
from runtime.lifecycle.steps import BrokenError


def opened(path: Path, configuration: dict[str, object] = TWO_QUEUES, settings: Settings | None = None) -> Ward:
    """The ward of a journal."""
    return Ward(DurableAllocator.open(configuration, path / "journal", now=lambda: 1000.0), settings)


def reopened(ward: Ward, path: Path, configuration: dict[str, object] = TWO_QUEUES) -> Ward:
    """The process ends, and another one begins."""
    assert isinstance(ward.allocator, DurableAllocator)
    ward.allocator.close()
    after = opened(path, configuration, ward.lives.registry.settings)
    after.now = ward.now
    return after


def test_orders_that_were_not_answered_come_again(tmp_path: Path) -> None:
    ward = opened(tmp_path).healthy()
    ward.submit(application("t"))
    ward.cycle()
    ward.lives.report("t/worker-0.1", Act.DEPLOY, ok=True, now=1.0)
    ward.lives.orders()
    ward = reopened(ward, tmp_path)
    told = {(order.uid, order.act) for order in ward.lives.orders()}
    assert told == {("t/worker-0.1", Act.START), ("t/worker-1.1", Act.DEPLOY)}
    ward.lives.cancel("t", 2.0)
    ward.lives.report("t/worker-1.1", Act.DEPLOY, ok=True, now=3.0)
    ward = reopened(ward, tmp_path)
    told = {(order.uid, order.act) for order in ward.lives.orders()}
    assert told == {("t/worker-0.1", Act.START), ("t/worker-1.1", Act.UNDEPLOY)}
    check(ward.lives)


def test_timers_go_on(tmp_path: Path) -> None:
    """Retries, the delay of termination, the end of an application: each at the time at which it would have come."""
    ward = opened(tmp_path).healthy()
    ward.run(application("done")).run(application("torn", queue="B"))
    ward.submit(application("tried", CliqueSpec("worker", 1, 4)))
    ward.cycle()
    ward.lives.report("tried/worker-0.1", Act.DEPLOY, ok=False, now=7.0)
    ward.now = 9.0
    ward.lives.pod_failed("torn/worker-0.1", 9.0)
    ward.lives.finished("done", 9.0)
    before = memory(ward.lives)
    ward = reopened(ward, tmp_path)
    assert memory(ward.lives) == before
    assert ward.lives.next_timer == pytest.approx(17.0)
    ward.at(18.0)
    assert {order.uid for order in ward.lives.orders()} == {"tried/worker-0.1"}
    ward = reopened(ward, tmp_path).at(38.9)
    assert {life.name for life in ward.lives.registry.lives.values()} == {"done", "torn", "tried"}
    assert ward.phases("torn")[0] == "Scheduled"
    ward.at(39.1)
    assert ward.phases("torn")[0] == "phase not set"
    assert list(ward.lives.registry.past) == ["done@0"]
    ward = reopened(ward, tmp_path)
    assert list(ward.lives.registry.past) == ["done@0"]
    ward.at(10.0 + 30 + 3 * 86400)
    assert not reopened(ward, tmp_path).lives.registry.past


def test_a_timer_that_begins_again_while_pods_are_slow_to_go(tmp_path: Path) -> None:
    """The machine of a clique below its minimum asks again and again whether the gang is to be torn down."""
    ward = opened(tmp_path).healthy().run(application("t"))
    ward.lives.pod_failed("t/worker-0.1", 5.0)
    ward.at(35.0)
    assert ward.phases("t")[1] == ["Absent", "Terminating"]
    ward.at(66.0)
    assert ward.lives.next_timer == 95.0
    before = memory(ward.lives)
    ward = reopened(ward, tmp_path)
    assert memory(ward.lives) == before
    ward.serve()
    assert ward.phases("t") == ("Pending", ["Queued"] * 2)
    assert ward.lives.next_timer is None


def test_a_configuration_that_has_lost_a_queue_and_a_node(tmp_path: Path) -> None:
    ward = opened(tmp_path).healthy()
    for name, queue in (("stays", "A"), ("goes", "B"), ("waits", "B")):
        ward.submit(application(name, CliqueSpec("worker", 2, 4), queue=queue))
        ward.cycle()
        ward.serve()
    kept = {slot.node for slot in ward.life("stays").slots} | {ward.slot("goes/worker-0").node}
    ward = reopened(ward, tmp_path, config(nodes(*sorted(kept)), A={"NODE": 2}))
    check(ward.lives)
    assert ward.lives.running("stays")
    left = ward.lives.registry.queues.get("B")
    assert left.state.display == "Draining"
    with pytest.raises(UserError, match="queue B is draining"):
        ward.submit(application("new", queue="B"))
    assert ward.lives.running("goes"), "what runs goes on, with no guarantee"
    lost = ward.slot("goes/worker-1").node
    assert lost not in kept
    ward.lives.node_gone(lost, 5.0)
    check(ward.lives)
    assert "no virtual cluster B" in ward.cycle().waiting["waits"]
    for name in ("goes", "waits"):
        ward.lives.cancel(name, 6.0)
    ward.serve()
    ward.at(40.0)
    assert ward.lives.registry.lives.keys() == {"stays"}


def test_after_a_fault_nothing_is_done_and_the_journal_has_what_was_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ward = opened(tmp_path).healthy().run(application("t"))
    before = memory(ward.lives)

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("runtime.lifecycle.lives.end", fail)
        with pytest.raises(ZeroDivisionError):
            ward.lives.cancel("t", 5.0)
    assert ward.lives.broken
    with pytest.raises(BrokenError):
        ward.lives.cycle(6.0)
    ward = reopened(ward, tmp_path)
    assert memory(ward.lives) == before
    assert ward.lives.running("t")


def test_steps_that_are_committed_together(tmp_path: Path) -> None:
    """With the allocator's own: all of them last, or none."""
    ward = opened(tmp_path).healthy()
    assert isinstance(ward.allocator, DurableAllocator)
    with ward.allocator.cycle():
        ward.submit(application("t"))
        ward.cycle()
        number = ward.allocator.journal.number
    assert ward.allocator.journal.number == number + 1, "lives are one record, at the end"
    assert reopened(ward, tmp_path).life("t").gang.state.display == "Binding"
