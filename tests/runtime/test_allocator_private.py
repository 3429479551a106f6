"""The promise of virtual clusters: what one could run if it had its cells to itself, it can run among others."""

from __future__ import annotations

from random import Random

import pytest
from clusters import end, gang, healthy
from histories import CLUSTERS
from invariants import check

from runtime import Allocator, Bind, Phase, Pod, Preempt, Wait
from runtime.cells import ALL

pytestmark = pytest.mark.full(reason="random histories, long")

SEEDS = 120
STEPS = 40


def allocate(allocator: Allocator, pods: list[Pod], running: dict[str, list[Pod]]) -> bool:
    """Places a gang, whatever opportunistic gangs have to go for it; answers whether it is placed."""
    answer = allocator.schedule(pods[0])
    if isinstance(answer, Preempt):
        answer = allocator.schedule(pods[0], phase=Phase.PREEMPTING)
        assert isinstance(answer, Preempt)
        for name in {pod.spec.gang.name for victims in answer.victims.values() for pod in victims}:
            assert running[name][0].spec.priority == -1
            end(allocator, running.pop(name))
        answer = allocator.schedule(pods[0])
    if isinstance(answer, Wait):
        end(allocator, pods)
        return False
    for pod in pods:
        answer = allocator.schedule(pod)
        assert isinstance(answer, Bind)
        allocator.allocate(pod, answer.info)
    running[pods[0].spec.gang.name] = pods
    return True


def rooms(allocator: Allocator) -> list[list[int]]:
    """The rooms of the nodes of A, which is all that its placement goes by."""
    tenant = allocator.cluster.tenants["A"]
    views = (*tenant.views.values(), *tenant.pinned.values())
    return [sorted(view.rooms.room(node.spot, ALL) for node in view.nodes) for view in views]


def random_gang(random: Random, name: str, tenant: str, priority: int, pins: list[str]) -> list[Pod]:
    sizes = [random.choice((1, 1, 2, 2, 3, 4)) for _ in range(random.choice((1, 1, 1, 2, 3, 4)))]
    pin = random.choice([*pins, "", ""]) if priority >= 0 else ""
    return gang(name, tenant, *sizes, priority=priority, pinned_cell=pin)


def test_others_make_no_difference_to_a_virtual_cluster() -> None:
    disturbed = 0
    for seed in range(SEEDS):
        random = Random(seed)
        configuration = random.choice(CLUSTERS)
        shared, private = healthy(configuration), healthy(configuration)
        pins = {name: sorted(tenant.pinned) for name, tenant in shared.cluster.tenants.items()}
        everybody: dict[str, list[Pod]] = {}
        alone: dict[str, list[Pod]] = {}
        for step in range(STEPS):
            kind = random.choice(("own", "own", "theirs", "opportunistic", "opportunistic", "end", "end"))
            name = f"{kind}-{step}"
            if kind == "end" and everybody:
                name = random.choice(sorted(everybody))
                end(shared, everybody.pop(name))
                end(private, alone.pop(name, []))
            elif kind == "own":
                pods = random_gang(random, name, "A", 5, pins["A"])
                before = len(everybody)
                placed = allocate(shared, pods, everybody)
                disturbed += len(everybody) < before
                assert placed == allocate(private, pods, alone), f"seed {seed}, {name}"
            elif kind in ("theirs", "opportunistic"):
                tenant, priority = ("B", 5) if kind == "theirs" else (random.choice("AB"), -1)
                allocate(shared, random_gang(random, name, tenant, priority, pins[tenant]), everybody)
            assert rooms(shared) == rooms(private), f"seed {seed}, {name}"
            check(shared)
    assert disturbed > 5
