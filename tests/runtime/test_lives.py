"""The machines of all layers, bound together: worked examples of the documents, end to end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from clusters import healthy
from living import DELAY, TWO_QUEUES, Ward, application, check, check_empty

from generated.confine import SliceState, SliverState
from generated.yunikorn.core import ApplicationState
from generated.yunikorn.shim import ShimApplicationState, TaskState
from runtime import UserError
from runtime.lifecycle import Act, CliqueSpec, Settings

SCHEDULED = "Scheduled"


@pytest.fixture
def ward() -> Ward:
    """Four healthy nodes, two queues."""
    return Ward().healthy()


# The whole life


def test_an_application_from_submission_to_its_end(ward: Ward) -> None:
    ward.submit(application("t", CliqueSpec("worker", 4, 1), CliqueSpec("lead", 2, 2)))
    life = ward.life("t")
    assert (life.core.state, life.shim.state) == (ApplicationState.ACCEPTED, ShimApplicationState.RUNNING)
    assert ward.phases("t") == ("Pending", ["Queued"] * 6)
    assert life.work.state is SliceState.REGISTER
    round_ = ward.cycle()
    assert len(round_.bound) == 6
    assert ward.phases("t") == ("Binding", ["Permitted"] * 6)
    assert life.core.state is ApplicationState.RUNNING
    check(ward.lives)
    orders = ward.lives.orders()
    assert {order.act for order in orders} == {Act.DEPLOY}
    for order in orders[:5]:
        ward.obey(order)
    assert ward.phases("t")[0] == "Binding"
    ward.obey(orders[5])
    assert ward.phases("t") == (SCHEDULED, ["Bound"] * 6)
    assert not ward.lives.running("t")
    ward.serve()
    assert ward.phases("t") == (SCHEDULED, ["Running"] * 6)
    assert ward.lives.running("t")
    assert life.termination.armed
    assert life.score == 1.0
    check(ward.lives)

    ward.lives.finished("t", 500.0)
    check(ward.lives)
    assert life.core.state.display == "Completing"
    assert life.work.state.display == "gone"
    assert ward.lives.next_timer == 530.0
    ward.at(529.9)
    assert "t" in ward.lives.registry.lives
    ward.at(530.0)
    assert (life.core.state, life.shim.state) == (ApplicationState.COMPLETED, ShimApplicationState.COMPLETED)
    check_empty(ward.lives)
    ward.at(530.0 + 3 * 86400)
    assert life.core.state.display == "Expired"
    assert not ward.lives.registry.past
    assert ward.lives.next_timer is None


def test_pods_that_finish_one_by_one(ward: Ward) -> None:
    ward.run(application("t", CliqueSpec("worker", 3, 1)))
    for index in (0, 1):
        ward.lives.pod_finished(f"t/worker-{index}.1", 50.0)
        check(ward.lives)
        assert ward.life("t").core.state is ApplicationState.RUNNING
    ward.lives.pod_finished("t/worker-2.1", 60.0)
    assert ward.life("t").core.state is ApplicationState.COMPLETING
    ward.at(90.0)
    check_empty(ward.lives)


def test_a_name_can_be_used_again(ward: Ward) -> None:
    ward.run(application("t"))
    with pytest.raises(UserError, match="there is an application t already"):
        ward.submit(application("t"))
    ward.lives.finished("t", 10.0)
    ward.at(40.0)
    ward.run(application("t"))
    assert len(ward.lives.registry.past) == 1


def test_the_user_takes_it_back(ward: Ward) -> None:
    ward.run(application("t"))
    ward.submit(application("waits", CliqueSpec("worker", 20, 1)))
    for name in ("t", "waits"):
        ward.lives.cancel(name, 5.0)
    check(ward.lives)
    life = ward.life("t")
    assert life.shim.state is ShimApplicationState.KILLING
    assert [slot.task and slot.task.state for slot in life.slots] == [TaskState.KILLING] * 2
    assert ward.life("waits").shim.state.display == "Killed"
    assert [order.act for order in ward.serve()] == [Act.STOP, Act.UNDEPLOY] * 2
    assert life.shim.state.display == "Killed"
    ward.at(35.0)
    check_empty(ward.lives)


# Grove's worked examples


def test_g1_three_cliques(ward: Ward) -> None:
    ward.submit(application("g", CliqueSpec("prefill", 2, 2), CliqueSpec("decode", 2, 1), CliqueSpec("router", 1, 1)))
    ward.cycle()
    orders = ward.lives.orders()
    for bound, order in enumerate(orders, 1):
        assert ward.phases("g")[0] == "Binding"
        ward.obey(order)
        assert ward.phases("g")[1].count("Bound") == bound
    assert ward.phases("g")[0] == SCHEDULED
    starts = ward.lives.orders()
    for order in starts[:-1]:
        ward.obey(order)
        assert not ward.life("g").termination.armed
        assert not ward.lives.running("g")
    ward.obey(starts[-1])
    assert ward.life("g").termination.armed
    assert ward.lives.running("g")


def test_g2_best_effort_pods_wait_for_room() -> None:
    """Room for three pods: the guaranteed ones run, and the others come when there is room."""
    ward = Ward().healthy("a", "b")
    ward.run(application("old", CliqueSpec("worker", 1, 4), priority=5))
    ward.submit(application("g", CliqueSpec("worker", 4, 1, minimum=2), CliqueSpec("lead", 1, 2)))
    round_ = ward.cycle()
    assert len(round_.bound) == 3
    ward.serve()
    assert ward.phases("g") == (SCHEDULED, ["Running", "Running", "Queued", "Queued", "Running"])
    assert ward.lives.running("g")
    assert "no room for 1 x 1 leaf cells" in round_.waiting["g"]
    check(ward.lives)
    ward.lives.finished("old", 50.0)
    ward.cycle()
    ward.serve()
    assert ward.phases("g") == (SCHEDULED, ["Running"] * 5)
    check(ward.lives)


def test_g3_a_loss_that_is_repaired_in_time(ward: Ward) -> None:
    ward.run(application("g")).at(200.0)
    ward.lives.pod_failed("g/worker-0.1", 200.0)
    life = ward.life("g")
    assert (life.cliques[0].state.display, life.gang.state.display) == ("Breached", SCHEDULED)
    assert not ward.lives.running("g")
    assert ward.lives.status("g")["waits for"] == [
        "1 pod to get a place",
        "1 pod of worker to run, or all are torn down in 30 s",
    ]
    ward.at(205.0)
    assert ward.cycle().bound.keys() == {"g/worker-0.2"}
    ward.at(222.0).serve()
    assert (life.cliques[0].state.display, life.gang.state.display) == ("Healthy", SCHEDULED)
    ward.at(230.0)
    assert ward.lives.running("g")
    check(ward.lives)


def test_g4_a_loss_that_is_not_repaired(ward: Ward) -> None:
    """The gang is torn down after the delay, not before, and made anew elsewhere."""
    ward.run(application("g", CliqueSpec("prefill", 2, 2), CliqueSpec("decode", 3, 1, minimum=2)))
    lost = ward.slot("g/decode-1").node
    victims = [s.name for s in ward.life("g").slots if s.node == lost]
    ward.at(140.0)
    ward.lives.node_gone(lost, 140.0)
    check(ward.lives)
    assert "g/decode-1" in victims
    assert ward.lives.next_timer == 170.0
    ward.cycle()
    ward.serve()
    ward.at(169.999)
    assert ward.life("g").termination.state.display == "Alive"
    ward.at(170.0)
    assert ward.life("g").termination.state.display == "Terminating"
    assert ward.life("g").gang.state.display == "phase not set"
    assert set(ward.phases("g")[1]) <= {"Terminating", "Absent"}
    check(ward.lives)
    assert {order.act for order in ward.serve()} == {Act.STOP, Act.UNDEPLOY}
    assert ward.phases("g") == ("Pending", ["Queued"] * 5)
    assert not ward.life("g").termination.armed
    ward.cycle()
    ward.serve()
    assert ward.lives.running("g")
    assert lost not in {slot.node for slot in ward.life("g").slots}
    check(ward.lives)


def test_a10_repaired_at_the_very_moment(ward: Ward) -> None:
    """What happens at the deadline comes before the deadline."""
    ward.run(application("g")).at(100.0)
    ward.lives.pod_failed("g/worker-0.1", 100.0)
    ward.cycle()
    for order in ward.lives.orders():
        ward.obey(order)
    ward.now = 100.0 + DELAY
    ward.lives.pod_started("g/worker-0.2", ward.now)
    ward.at(ward.now)
    assert ward.life("g").termination.state.display == "Alive"
    assert ward.lives.running("g")


def test_g5_preemption_and_one_that_lasts(ward: Ward) -> None:
    ward.run(application("g", CliqueSpec("decode", 2, 4), priority=1)).at(10.0)
    ward.submit(application("strong", CliqueSpec("worker", 2, 4), priority=9))
    round_ = ward.cycle()
    assert set(round_.preempted) == {"g/decode-0.1", "g/decode-1.1"}
    assert ward.phases("g") == ("Pending", ["Queued"] * 2)
    assert ward.lives.status("g")["waits for"] == [
        "2 pods to go from their nodes",
        "2 pods of decode to run, or all are torn down in 30 s",
    ]
    check(ward.lives)
    assert not ward.cycle().bound
    ward.serve()
    assert ward.cycle().bound.keys() == {"strong/worker-0.1", "strong/worker-1.1"}
    ward.serve()
    check(ward.lives)
    assert ward.lives.running("strong")
    ward.at(39.0)
    assert ward.life("g").termination.state.display == "Alive"
    ward.at(41.0)
    assert ward.phases("g") == ("Pending", ["Queued"] * 2)
    assert not ward.life("g").termination.armed
    ward.lives.finished("strong", 50.0)
    assert ward.cycle().bound.keys() == {"g/decode-0.3", "g/decode-1.3"}
    ward.serve()
    assert ward.lives.running("g")
    check(ward.lives)


def test_g6_two_short_losses_that_overlap(ward: Ward) -> None:
    ward.run(application("g", CliqueSpec("a", 2, 1), CliqueSpec("b", 2, 1))).at(100.0)
    ward.lives.pod_failed("g/a-0.1", 100.0)
    ward.at(115.0)
    ward.lives.pod_failed("g/b-0.1", 115.0)
    ward.now = 120.0
    ward.lives.ask("g", 120.0)
    orders = [order for order in ward.lives.orders() if order.uid.startswith("g/a")]
    ward.lives.pod_started(orders[0].uid, 120.0)
    ward.at(130.0)
    states = [clique.state.display for clique in ward.life("g").cliques]
    assert states == ["Healthy", "Breached"]
    ward.at(135.0)
    ward.lives.pod_started("g/b-0.2", 135.0)
    ward.at(200.0)
    assert ward.lives.running("g")


def test_g7_a_gang_that_never_fits_is_never_terminated(ward: Ward) -> None:
    ward.submit(application("g", CliqueSpec("a", 9, 4)))
    for now in range(0, 100, 10):
        ward.at(float(now))
        ward.cycle()
    assert ward.phases("g") == ("Pending", ["Queued"] * 9)
    assert ward.lives.next_timer is None
    status = ward.lives.status("g")
    assert status["waits for"] == ["9 pods to get a place"]
    assert status["no place because"] == "no chain has 36 leaf cells"


def test_g8_the_phase_while_a_gang_is_torn_down_and_made_anew(ward: Ward) -> None:
    ward.run(application("g", CliqueSpec("a", 2, 4)))
    ward.lives.pod_failed("g/a-0.1", 100.0)
    ward.at(100.0 + DELAY)
    assert ward.phases("g") == ("phase not set", ["Absent", "Terminating"])
    assert ward.lives.status("g")["waits for"] == ["1 pod to go, before all are made again"]
    assert not ward.cycle().bound
    ward.serve()
    assert ward.phases("g") == ("Pending", ["Queued", "Queued"])
    assert ward.life("g").core.state is ApplicationState.RUNNING
    check(ward.lives)


def test_g10_two_gangs_and_room_for_one(ward: Ward) -> None:
    """Gangs are placed whole, so that none holds what the other waits for."""
    for name in ("x", "y"):
        ward.submit(application(name, CliqueSpec("pod", 2, 4), priority=1))
    assert ward.cycle().bound.keys() == {"x/pod-0.1", "x/pod-1.1"}
    assert ward.phases("y") == ("Pending", ["Queued"] * 2)
    ward.serve()
    ward.lives.finished("x", 10.0)
    assert len(ward.cycle().bound) == 2


@pytest.mark.parametrize(("lost", "torn"), [(["pc-a-0"], True), (["pc-c-0"], False), (["pc-c-0", "pc-c-2"], True)])
def test_gt_losses_that_are_not_made_good(ward: Ward, lost: list[str], torn: bool) -> None:
    """Grove's public cases: all must run of one clique, two of three of the other."""
    ward.run(application("g", CliqueSpec("pc-a", 2, 1), CliqueSpec("pc-c", 3, 1, minimum=2)))
    ward.lives.queue_stop("A", 10.0)
    for name in lost:
        ward.lives.pod_failed(f"g/{name}.1", 10.0)
    ward.at(10.0 + DELAY)
    ward.serve()
    check(ward.lives)
    before = {name for name in ward.lives.registry.pods if name.endswith(".1")}
    assert (not before) == torn
    assert ward.lives.running("g") == (not torn)


def test_g9_a_bind_fails_and_what_runs_goes_on(ward: Ward) -> None:
    ward.submit(application("g"))
    ward.cycle()
    ward.lives.pod_started("g/worker-0.1", 1.0)
    ward.lives.pod_failed("g/worker-1.1", 2.0)
    assert ward.phases("g") == ("Pending", ["Running", "Queued"])
    check(ward.lives)
    assert ward.cycle().bound.keys() == {"g/worker-1.2"}
    ward.serve()
    assert ward.lives.running("g")


def test_g9_a_bind_fails_and_the_others_go_back(ward: Ward) -> None:
    ward.submit(application("g"))
    ward.cycle()
    ward.lives.report("g/worker-0.1", Act.DEPLOY, ok=True, now=1.0)
    ward.lives.pod_failed("g/worker-1.1", 2.0)
    assert ward.phases("g") == ("Pending", ["Queued", "Queued"])
    check(ward.lives)
    assert not ward.cycle().bound, "its pods before have not gone yet"
    ward.lives.report("g/worker-0.1", Act.START, ok=True, now=3.0)
    ward.serve()
    assert len(ward.cycle().bound) == 2
    ward.serve()
    assert ward.lives.running("g")
    check(ward.lives)


def test_a_gang_that_has_not_run_yet_waits_for_no_node(ward: Ward) -> None:
    """No delay runs for it; so it gives up its places when one of them cannot be used."""
    ward.submit(application("g", CliqueSpec("worker", 2, 4)))
    ward.cycle()
    ward.lives.pod_started("g/worker-0.1", 1.0)
    ward.lives.node_gone(ward.slot("g/worker-1").node, 2.0)
    ward.cycle()
    ward.serve()
    assert len(ward.cycle().bound) == 2
    ward.serve()
    assert ward.lives.running("g")
    check(ward.lives)


# CONFINE's worked examples


def test_w2_a_failed_deploy_is_tried_again(ward: Ward) -> None:
    ward.submit(application("t", CliqueSpec("worker", 1, 4)))
    ward.cycle()
    ward.lives.report("t/worker-0.1", Act.DEPLOY, ok=False, now=1.0)
    slot = ward.slot("t/worker-0")
    assert slot.part is not None
    assert slot.part.state is SliverState.FAIL_DEPLOY
    assert ward.lives.next_timer == 11.0
    assert ward.lives.status("t")["waits for"] == ["1 pod to be tried again"]
    ward.at(11.0)
    ward.serve()
    assert slot.part.state.display == "started"
    assert ward.lives.running("t")


def test_retries_are_put_off_longer_and_longer_and_then_the_pod_has_failed() -> None:
    ward = Ward(settings=Settings(attempts=4, first_retry=10, last_retry=30)).healthy()
    ward.submit(application("t", CliqueSpec("worker", 1, 4)))
    ward.cycle()
    waits = []
    for _ in range(3):
        ward.lives.report("t/worker-0.1", Act.DEPLOY, ok=False, now=ward.now)
        due = ward.lives.next_timer
        assert due is not None
        waits.append(due - ward.now)
        ward.at(due)
    assert waits == [10.0, 20.0, 30.0]
    ward.lives.report("t/worker-0.1", Act.DEPLOY, ok=False, now=ward.now)
    assert ward.phases("t") == ("Pending", ["Queued"])
    assert ward.life("t").failures == 1
    check(ward.lives)
    assert ward.cycle().bound.keys() == {"t/worker-0.2"}


def test_what_cannot_be_started_is_taken_off_its_node_first() -> None:
    ward = Ward(settings=Settings(attempts=1)).healthy()
    ward.submit(application("t", CliqueSpec("worker", 1, 4), failures=0))
    ward.cycle()
    ward.lives.report("t/worker-0.1", Act.DEPLOY, ok=True, now=1.0)
    ward.lives.report("t/worker-0.1", Act.START, ok=False, now=2.0)
    assert ward.life("t").core.state is ApplicationState.FAILING
    assert [order.act for order in ward.serve()] == [Act.UNDEPLOY]
    check_empty(ward.lives)


def test_w5_a_container_that_dies_is_started_where_it_is(ward: Ward) -> None:
    ward.run(application("t", CliqueSpec("worker", 1, 4)))
    ward.lives.pod_died("t/worker-0.1", 100.0)
    slot = ward.slot("t/worker-0")
    assert slot.part is not None
    assert slot.part.state is SliverState.FAIL_START
    check(ward.lives)
    ward.at(110.0)
    orders = ward.lives.orders()
    assert [order.act for order in orders] == [Act.START]
    ward.obey(orders[0])
    assert slot.part.state.display == "started"
    with pytest.raises(UserError, match="has nothing to do"):
        ward.obey(orders[0])


def test_w6_deleted_while_it_runs(ward: Ward) -> None:
    ward.run(application("t", CliqueSpec("worker", 1, 4)))
    slot = ward.slot("t/worker-0")
    part = slot.part
    assert part is not None
    ward.lives.cancel("t", 10.0)
    assert (part.state, part.reserved, part.files, part.running) == (SliverState.ABSENT, False, None, False)
    assert slot.held, "nobody else gets the devices before the agent says that the pod is gone"
    assert [order.act for order in ward.lives.orders()] == [Act.STOP, Act.UNDEPLOY]
    ward.lives.pod_gone("t/worker-0.1", 12.0)
    assert not slot.held
    check(ward.lives)


def test_w13_deleted_while_it_cannot_start(ward: Ward) -> None:
    ward.submit(application("t", CliqueSpec("worker", 1, 4)))
    ward.cycle()
    ward.lives.report("t/worker-0.1", Act.DEPLOY, ok=True, now=1.0)
    ward.lives.report("t/worker-0.1", Act.START, ok=False, now=2.0)
    part = ward.slot("t/worker-0").part
    assert part is not None
    assert part.state is SliverState.FAIL_START
    ward.lives.cancel("t", 3.0)
    assert part.state.display == "absent"
    assert [order.act for order in ward.serve()] == [Act.UNDEPLOY]
    ward.at(40.0)
    check_empty(ward.lives)


def test_deleted_while_its_agent_is_at_work(ward: Ward) -> None:
    """No description is read within a round: it goes when the agent has answered."""
    ward.submit(application("t", CliqueSpec("worker", 1, 4)))
    ward.cycle()
    part = ward.slot("t/worker-0").part
    assert part is not None
    ward.lives.cancel("t", 1.0)
    assert part.state is SliverState.DEPLOYING
    assert ward.lives.status("t")["waits for"] == ["1 pod to go from their nodes"]
    assert [order.act for order in ward.lives.orders()] == [Act.DEPLOY]
    ward.lives.report("t/worker-0.1", Act.DEPLOY, ok=True, now=5.0)
    assert part.state.display == "absent"
    assert [order.act for order in ward.serve()] == [Act.UNDEPLOY]
    check(ward.lives)


def test_w7_a_bad_node_has_nothing_to_allocate(ward: Ward) -> None:
    ward.submit(application("t", CliqueSpec("worker", 1, 4)))
    ward.cycle()
    slot = ward.slot("t/worker-0")
    ward.lives.report("t/worker-0.1", Act.DEPLOY, ok=False, now=0.0)
    assert slot.part is not None
    ward.lives.node_bad(slot.node, 1.0)
    ward.at(10.0)
    ward.lives.report("t/worker-0.1", Act.DEPLOY, ok=True, now=10.0)
    ward.serve()
    assert ward.lives.running("t"), "what is on a bad node stays"
    check(ward.lives)


# YuniKorn: failing, queues, nodes


def test_an_application_fails_when_too_many_of_its_pods_do(ward: Ward) -> None:
    ward.run(application("t", failures=1))
    ward.lives.pod_failed("t/worker-0.1", 1.0)
    ward.cycle()
    ward.serve()
    ward.lives.pod_failed("t/worker-0.2", 2.0)
    life = ward.life("t")
    assert (life.core.state, life.shim.state) == (ApplicationState.FAILING, ShimApplicationState.FAILING)
    check(ward.lives)
    ward.serve()
    assert (life.core.state, life.shim.state) == (ApplicationState.FAILED, ShimApplicationState.FAILED)
    check_empty(ward.lives)


def test_an_application_that_ends_with_an_error(ward: Ward) -> None:
    ward.run(application("t"))
    life = ward.life("t")
    ward.lives.failed("t", 10.0)
    assert (life.core.state, life.shim.state) == (ApplicationState.FAILED, ShimApplicationState.FAILED)
    check_empty(ward.lives)
    ward.at(10.0 + 3 * 86400)
    assert not ward.lives.registry.past


def test_a_draining_queue_takes_nothing_new_and_is_still_scheduled(ward: Ward) -> None:
    ward.submit(application("t"))
    ward.lives.queue_drain("A", 1.0)
    with pytest.raises(UserError, match="queue A is draining"):
        ward.submit(application("late"))
    ward.submit(application("other", queue="B"))
    ward.cycle()
    ward.serve()
    assert ward.lives.running("t")
    with pytest.raises(UserError, match="Draining and does not handle Start"):
        ward.lives.queue_start("A", 2.0)
    assert ward.lives.registry.lives.keys() == {"t", "other"}


def test_a_stopped_queue_waits(ward: Ward) -> None:
    ward.lives.queue_stop("A", 0.0)
    ward.submit(application("t"))
    assert not ward.cycle().bound
    assert ward.lives.status("t")["waits for"][0] == "queue A to be started"
    ward.lives.queue_start("A", 1.0)
    assert len(ward.cycle().bound) == 2
    check(ward.lives)


def test_a_cluster_on_its_way_out_takes_neither_applications_nor_nodes() -> None:
    ward = Ward().healthy("a", "b")
    ward.lives.queue_drain("", 0.0)
    with pytest.raises(UserError, match="the cluster is draining"):
        ward.submit(application("t"))
    ward.lives.node_healthy("c", 1.0)
    assert ward.lives.registry.hosts["c"].shim.state.display == "Rejected"
    check(ward.lives)


def test_a_drained_node_keeps_what_it_has_and_gets_nothing(ward: Ward) -> None:
    ward.run(application("t", CliqueSpec("worker", 1, 4)))
    node = ward.slot("t/worker-0").node
    ward.lives.node_drain(node, 1.0)
    check(ward.lives)
    ward.lives.node_healthy(node, 2.0)
    assert not ward.lives.registry.hosts[node].fit
    ward.submit(application("u", CliqueSpec("worker", 3, 4), priority=-1))
    ward.cycle()
    ward.serve()
    assert node not in {slot.node for slot in ward.life("u").slots}
    assert ward.lives.running("t")
    ward.lives.node_restore(node, 3.0)
    assert ward.lives.registry.hosts[node].fit
    with pytest.raises(UserError, match="node q has not been reported"):
        ward.lives.node_drain("q", 4.0)


def test_a_lost_node_comes_back(ward: Ward) -> None:
    ward.run(application("t", CliqueSpec("worker", 2, 4)))
    node = ward.slot("t/worker-0").node
    ward.lives.node_gone(node, 1.0)
    check(ward.lives)
    assert ward.cycle().waiting["t"] == f"its place is on {node}, which cannot be used now"
    ward.lives.node_healthy(node, 10.0)
    assert ward.cycle().bound == {"t/worker-0.2": node}
    ward.serve()
    assert ward.lives.running("t")
    check(ward.lives)


# Order, requests that cannot be meant, status


def test_the_stronger_first_then_the_older(ward: Ward) -> None:
    for name, priority in (("first", 1), ("second", 1), ("strong", 7)):
        ward.submit(application(name, CliqueSpec("worker", 2, 4), priority=priority))
    assert {uid.partition("/")[0] for uid in ward.cycle().bound} == {"strong"}
    ward.lives.cancel("strong", 1.0)
    ward.serve()
    assert {uid.partition("/")[0] for uid in ward.cycle().bound} == {"first"}


def test_no_more_of_a_queue_than_the_settings_say() -> None:
    ward = Ward(settings=Settings(look_ahead=1)).healthy()
    ward.submit(application("large", CliqueSpec("worker", 9, 4)))
    ward.submit(application("small"))
    assert ward.cycle().waiting.keys() == {"large"}
    assert not ward.cycle().waiting, "nothing has been given back, so it is not asked for again"
    ward.lives.cancel("large", 1.0)
    assert len(ward.cycle().bound) == 2


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (application("a/b"), "a name without slashes"),
        (application("t", queue="nobody's"), "there is no queue nobody's; there are A, B"),
        (application("t", CliqueSpec("x", 2, minimum=3)), "1 to 2 must run, not 3"),
        (application("t", CliqueSpec("x", 1), CliqueSpec("x", 1)), "two cliques of one name"),
        (application("t", priority=2000), "is refused: priority is -1"),
        (application("t", leaf_type="TPU"), "there are no leaf cells of type TPU"),
        (application("t", pinned_cell="p"), "has no pinned cell p"),
    ],
)
def test_what_cannot_be_meant_changes_nothing(ward: Ward, spec: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        ward.submit(spec)  # type: ignore[arg-type]
    check_empty(ward.lives)


def test_agents_that_report_what_they_were_not_told(ward: Ward) -> None:
    ward.submit(application("t"))
    for event in ("pod_failed", "pod_finished", "pod_died", "pod_gone"):
        with pytest.raises(UserError, match=r"t/worker-0\.1"):
            getattr(ward.lives, event)("t/worker-0.1", 1.0)
    ward.cycle()
    with pytest.raises(UserError, match="reports start, but is to deploy"):
        ward.lives.report("t/worker-0.1", Act.START, ok=True, now=1.0)
    with pytest.raises(UserError, match=r"there is no pod t/worker-0\.9"):
        ward.lives.report("t/worker-0.9", Act.START, ok=True, now=1.0)
    check(ward.lives)


def test_prompt_agents_need_no_orders() -> None:
    ward = Ward(settings=Settings(prompt=True)).healthy()
    ward.submit(application("weak", CliqueSpec("worker", 2, 4), priority=1))
    ward.cycle()
    assert ward.lives.running("weak")
    ward.submit(application("strong", CliqueSpec("worker", 2, 4), priority=9))
    for uid in ward.cycle().preempted:
        ward.lives.pod_gone(uid, 10.0)
    ward.cycle()
    assert ward.lives.running("strong")
    assert not ward.lives.running("weak")
    assert not ward.lives.orders()
    check(ward.lives)


def test_nodes_that_the_allocator_knows_already() -> None:
    ward = Ward(healthy(TWO_QUEUES))
    assert {host.shim.state.display for host in ward.lives.registry.hosts.values()} == {"Healthy"}
    ward.run(application("t"))
    check(ward.lives)


def test_the_code_of_the_manual_runs() -> None:
    text = (Path(__file__).parents[2] / "docs" / "lives.md").read_text("utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    assert code.count("assert") > 5
    exec(compile(code, "lives.md", "exec"), {})


def test_status_says_where_every_machine_is(ward: Ward) -> None:
    ward.run(application("t"))
    status = json.loads(json.dumps(ward.lives.status("t")))
    assert status["core"]["state"] == "Running"
    assert status["gang"]["phase"] == SCHEDULED
    assert status["group"] == {"state": "Allocated", "demoted": False, "priority": 5}
    assert status["slice"] == "start"
    assert [pod["sliver"] for pod in status["pods"]] == ["started"] * 2
    assert [pod["task"] for pod in status["pods"]] == ["Bound"] * 2
    assert status["waits for"] == []
    overview = json.loads(json.dumps(ward.lives.overview()))
    assert overview["running"] == 1
    assert overview["cluster"] == {"state": "Active", "leaf cells": 4, "of": 16}
    assert overview["queues"][0] == {"name": "A", "state": "Active", "leaf cells": 4, "waiting": []}
    assert [node["shim"] for node in overview["nodes"]] == ["Healthy"] * 4
