"""What the life of a gang costs: of eight pods, from submission to completion, machine by machine.

    python benchmarks/lives.py [--gangs 200]

Processor time of this process, the best of several rounds: on a shared machine, time on the wall says more of others.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT)]

from runtime import Allocator, Bind, BindInfo, GangSpec, Member, Pod, PodSpec  # noqa: E402
from runtime.lifecycle import Act, ApplicationSpec, CliqueSpec, Lives, Settings  # noqa: E402

PODS = 8
NODES = 16
ROUNDS = 7


class Mute:
    """Takes every action, and does nothing."""

    def __getattr__(self, name: str) -> Callable[..., str]:
        return lambda *arguments: "ok"


def allocator(nodes: int) -> Allocator:
    """Nodes of eight leaf cells, all promised to one virtual cluster."""
    cells = [{"cellType": "NODE", "cellAddress": f"node-{i}"} for i in range(nodes)]
    types = {"NODE": {"childCellType": "GPU", "childCellNumber": 8, "isNodeLevel": True}}
    clusters = {"A": {"virtualCells": [{"cellType": "NODE", "cellNumber": nodes}]}}
    return Allocator.from_config(
        {"physicalCluster": {"cellTypes": types, "physicalCells": cells}, "virtualClusters": clusters}
    )


def whole(gangs: int, settings: Settings) -> float:
    """Microseconds for each gang: the whole life."""
    lives = Lives(allocator(NODES), settings)
    for node in lives.registry.sizes:
        lives.node_healthy(node, 0.0)
    begun = process_time()
    for number in range(gangs):
        name, now = f"gang-{number}", number * 100.0
        lives.submit(ApplicationSpec(name, "A", (CliqueSpec("worker", PODS),), priority=5), now)
        assert len(lives.cycle(now).bound) == PODS
        for act in (Act.DEPLOY, Act.START):
            for order in lives.orders():
                lives.report(order.uid, act, ok=True, now=now + 1)
        assert lives.running(name)
        lives.finished(name, now + 50)
        lives.tick(now + 80)
    return (process_time() - begun) / gangs * 1e6


def placed(gangs: int) -> float:
    """Microseconds for each gang: what is asked of the allocator meanwhile."""
    bare = allocator(NODES)
    for node in bare.cluster.nodes:
        bare.node_healthy(node)
    begun = process_time()
    for number in range(gangs):
        gang = GangSpec(f"gang-{number}", (Member(PODS, 1),))
        pods = [Pod(f"{gang.name}-{i}", f"{i}", PodSpec("A", 5, 1, gang)) for i in range(PODS)]
        bare.submit(pods[0])
        answer = bare.schedule(pods[0])
        assert isinstance(answer, Bind)
        for pod, seat in zip(pods, answer.info.gang[0], strict=True):
            bare.allocate(pod, BindInfo(seat.node, seat.leaf_cells, answer.info.chain, answer.info.gang))
        for pod in pods:
            bare.delete(pod)
    return (process_time() - begun) / gangs * 1e6


def alone(gangs: int) -> float:
    """Microseconds for each gang: the same machines and events, bound to nothing."""
    begun = process_time()
    for _ in range(gangs):
        applications()
        places()
        for _ in range(PODS):
            sliver()
    return (process_time() - begun) / gangs * 1e6


def applications() -> None:
    """YuniKorn's part."""
    from generated.yunikorn.core import Application
    from generated.yunikorn.shim import ShimApplication, System, Task, VirtualClock

    mute: Any = Mute()
    system = System(VirtualClock())
    core, shim = Application(system, mute), ShimApplication(system, mute)
    shim.submit_application()
    core.run()
    shim.accept_application()
    shim.run_application()
    tasks = [Task(system, mute, app=shim) for _ in range(PODS)]
    for task in tasks:
        task.init_task()
        task.submit_task()
    for task in tasks:
        core.run()
        task.task_allocated()
    for task in tasks:
        task.task_bound()
    for task in tasks:
        task.complete_task()
    core.complete()
    core.complete()
    shim.complete_application()


def places() -> None:
    """Grove's part."""
    from generated.grove import Clique, Pod, PodGang, Rollout, System, Termination, VirtualClock

    system = System(VirtualClock())
    mute: Any = Mute()
    gang = PodGang(system, mute)
    termination = Termination(system, gang=gang)
    pods = [Pod(system) for _ in range(PODS)]
    clique = Clique(system, gang=gang, guaranteed=frozenset(pods))
    for pod in pods:
        pod.connect(clique=clique)
    gang.connect(cliques=frozenset([clique]), pods=frozenset(pods), termination=termination)
    rollout = Rollout(system, gang=gang, old=None)
    rollout.create_pods()
    rollout.create_gang()
    rollout.remove_gates()
    for pod in pods:
        pod.place()
    gang.permit()
    for pod in pods:
        pod.bind()
    for pod in pods:
        pod.run()
    gang.delete()
    for pod in pods:
        pod.gone()


def sliver() -> None:
    """CONFINE's part of one pod."""
    from generated.confine import Config, SetState, Sliver, System

    mute: Any = Mute()
    part = Sliver(System(), mute)
    part.fetched(SetState.START, None, SetState.START, Config.C1, 0, 0)
    part.not_found()


def best(measure: Callable[[], float]) -> float:
    """The least of several rounds."""
    return min(measure() for _ in range(ROUNDS))


@contextmanager
def collector_off() -> Iterator[None]:
    """A simulation would have it off, or run seldom."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()


def main() -> None:
    """Measures, and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gangs", type=int, default=200, help="in each round")
    gangs = parser.parse_args().gangs
    with collector_off():
        allocating, machines = best(lambda: placed(gangs)), best(lambda: alone(gangs))
        lives = best(lambda: whole(gangs, Settings())) - allocating
        prompt = best(lambda: whole(gangs, Settings(prompt=True))) - allocating
    print(f"a gang of {PODS} pods, from submission to completion")
    print(f"  allocator              {allocating:7.0f} us")
    print(f"  machines, bound        {lives:7.0f} us")
    print(f"  with prompt agents     {prompt:7.0f} us")
    print(f"  bound to nothing       {machines:7.0f} us   (bound, they cost {lives / machines:.1f} times as much)")


if __name__ == "__main__":
    main()
