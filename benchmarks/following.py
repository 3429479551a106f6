"""What it costs the service to follow the lives of gangs: of eight pods, from their first report to their last.

    python benchmarks/following.py [--gangs 200]

Processor time of this process, the best of several rounds: all that the thread of cycles does for a gang, without HTTP.
Lives catch up twice for each gang, when it is bound and when it runs, whatever the time, and where its pods are gone.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "runtime")]

from clusters import config, gang, nodes  # noqa: E402
from histories import journal  # noqa: E402
from serving import node, written  # noqa: E402

from runtime.annotations import write_bind_info  # noqa: E402
from runtime.config import read_configuration  # noqa: E402
from runtime.durable import DurableAllocator  # noqa: E402
from runtime.service.lifecycle_reporter import Options  # noqa: E402
from runtime.service.locks import Locks  # noqa: E402
from runtime.service.messages import FilterRequest  # noqa: E402
from runtime.service.objects import read_node, read_pod  # noqa: E402
from runtime.service.scheduler import PodScheduler  # noqa: E402
from runtime.service.source import Change  # noqa: E402

PODS = 8
NAMES = tuple(f"node-{i}" for i in range(16))
ROUNDS = 5


def served(gangs: int, *, on: bool) -> float:
    """Microseconds for each gang."""
    configuration = read_configuration(config(nodes(*NAMES), A={"NODE": len(NAMES)}))
    ready = [[written(pod) for pod in gang(f"gang-{number}", "A", *[1] * PODS)] for number in range(gangs)]
    nothing: Any = lambda _: None  # noqa: E731
    with tempfile.TemporaryDirectory() as folder:
        allocator = DurableAllocator(configuration, journal(Path(folder)))
        scheduler = PodScheduler(allocator, Locks(), nothing, nothing, lifecycle=Options(on=on, clock=lambda: 0.0))
        scheduler.recover([Change(read_node(node(name)), deleted=False) for name in NAMES], lists_all=True)
        gc.collect()
        begun = process_time()
        for pods in ready:
            for pod in pods:
                place(scheduler, pod)
            scheduler.lifecycle.catch_up()
            for pod in pods:
                report(scheduler, {**pod, "status": {"phase": "Running"}})
            scheduler.lifecycle.catch_up()
            for pod in pods:
                report(scheduler, pod, deleted=True)
        taken = process_time() - begun
        assert scheduler.lifecycle.faults == 0
        allocator.close()
    return taken / gangs * 1e6


def place(scheduler: PodScheduler, pod: dict[str, Any]) -> None:
    """A pod comes, is asked for, and is bound."""
    report(scheduler, pod)
    with scheduler.allocator.cycle():
        answer = scheduler.filter(FilterRequest(read_pod(pod), NAMES))
    assert answer["NodeNames"]
    tracked = scheduler.tracker.pod(pod["metadata"]["uid"])
    assert tracked is not None
    assert tracked.info is not None
    pod["spec"]["nodeName"] = tracked.info.node
    pod["metadata"]["annotations"] |= write_bind_info(tracked.info)
    report(scheduler, pod)


def report(scheduler: PodScheduler, pod: dict[str, Any], *, deleted: bool = False) -> None:
    """The cluster tells of a pod, in a cycle of its own."""
    with scheduler.allocator.cycle():
        scheduler.observe(Change(read_pod(pod), deleted))
        scheduler.tear_down()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gangs", type=int, default=200)
    arguments = parser.parse_args()
    alone = min(served(arguments.gangs, on=False) for _ in range(ROUNDS))
    followed = min(served(arguments.gangs, on=True) for _ in range(ROUNDS))
    print(f"a gang of {PODS} pods: {alone:.0f} us; with its life followed: {followed:.0f} us")
    print(f"for each pod: {(followed - alone) / PODS:.0f} us more")


if __name__ == "__main__":
    main()
