"""Behind a cluster of today: what the stand-in alone can count, and kills at any moment."""

from __future__ import annotations

import os
import random
import time

import pytest
from behind import PODS, Behind
from control_plane import until
from planes import StandIn

pytestmark = pytest.mark.full(reason="takes minutes")

KILLS = int(os.environ.get("KILLS", "3"))
"""Of each component; more in a campaign."""
CALLS_A_MINUTE = 5


@pytest.fixture
def stand_in(behind: Behind) -> StandIn:
    """Only the stand-in counts the calls of an extender, and writes down all changes."""
    if not isinstance(behind.plane, StandIn):
        pytest.skip("a real kube-scheduler does not write down its calls")
    return behind.plane


@pytest.mark.parametrize("priority", [1000, 1], ids=["stronger pods run", "weaker pods run, of others"])
def test_a_waiting_pod_costs_few_calls(behind: Behind, stand_in: StandIn, priority: int) -> None:
    """Measured behind 1.36.2: with `FailedNodes`, a kube-scheduler asks 17 times a second while weaker pods run."""
    held = [name for n in range(16) for name in behind.gang(f"held-{n}", "research", 1000, (1, 8))]
    held += [name for n in range(16) for name in behind.gang(f"others-{n}", "product", priority, (1, 8))]
    behind.await_bound(*held)
    (waits,) = behind.gang("waits", "research", 500, (1, 8))
    until(lambda: behind.reasons(waits), "it says why it waits")
    time.sleep(5)
    begun = time.time()
    time.sleep(60)
    calls = [x for x in stand_in.calls() if x["pod"] == f"default/{waits}" and x["time"] > begun]
    assert len(calls) <= CALLS_A_MINUTE, f"{len(calls)} calls in a minute, of {waits}: {behind.reasons(waits)}"


BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


@pytest.mark.parametrize("covered", ["all pods of the gang", "one pod of the gang"])
def test_a_disruption_budget_keeps_a_whole_gang(behind: Behind, covered: str) -> None:
    if behind.plane.name == "1.20":
        pytest.skip("1.20 has no policy/v1; its kube-scheduler deletes victims itself, whatever a budget says")
    strongest = behind.gang("strongest", "product", 1000, (8, 8))
    behind.await_bound(*strongest)
    weak = behind.gang("weak", "product", 1, (8, 8))
    behind.await_bound(*weak)
    for name in weak if covered == "all pods of the gang" else weak[3:4]:
        behind.plane.ask("PATCH", f"{PODS}/{name}", {"metadata": {"labels": {"app": "kept"}}})
    spec = {"minAvailable": "100%", "selector": {"matchLabels": {"app": "kept"}}}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "keep"}, "spec": spec}
    behind.plane.apply(budget)
    try:
        strong = behind.gang("strong", "product", 500, (1, 8))
        until(lambda: "keep" in behind.reasons(strong[0]), "the budget is named")
        begun = time.time()
        time.sleep(15)
        pods = behind.pods()
        assert all(name in pods and "deletionTimestamp" not in pods[name]["metadata"] for name in weak)
        if isinstance(behind.plane, StandIn):
            calls = [x for x in behind.plane.calls() if x["pod"] == "default/strong-0" and x["time"] > begun]
            assert len(calls) <= CALLS_A_MINUTE, f"{len(calls)} calls in 15 s: {behind.reasons(strong[0])}"
    finally:
        behind.plane.ask("DELETE", f"{BUDGETS}/keep")
    behind.await_bound(*strong)
    assert not behind.pods().keys() & set(weak), "the whole gang has left"


@pytest.mark.parametrize("component", ["allocator", "kube-scheduler", "kube-apiserver"])
def test_kills_at_any_moment(behind: Behind, component: str) -> None:
    """Gangs come, displace each other and end, while a component is killed again and again."""
    choose = random.Random(component)
    gangs: dict[str, list[str]] = {}
    for kill in range(KILLS):
        for n in range(choose.randint(1, 4)):
            tenant, priority = choose.choice(("research", "product")), choose.choice((-1, 1, 50, 500))
            size = (choose.choice((1, 2, 4)), choose.choice((2, 4, 8)))
            name = f"gang-{kill}-{n}"
            gangs[name] = behind.gang(name, tenant, priority, size)
        for name in choose.sample(sorted(gangs), max(0, len(gangs) - 8)):
            behind.delete(*gangs.pop(name))
        time.sleep(choose.uniform(0, 1))
        if component == "allocator":
            behind.allocator.restart()
        else:
            behind.plane.kill(component)
            time.sleep(choose.uniform(0, 0.5))
            behind.plane.revive(component)
        behind.settled(90)
