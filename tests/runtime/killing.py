"""Processes that work with a journal and are killed; and what must be there when the next one goes on.

`python tests/runtime/killing.py --kills 1000` kills a busy run at random moments; with `--system-calls`, a scripted one
at every call of the operating system that changes a file of the journal (needs strace).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from clusters import config, gang, nodes
from histories import CLUSTERS
from invariants import check, picture

from runtime import Bind, Phase, Pod, Preempt, UserError
from runtime.config import read_configuration
from runtime.durable import DurableAllocator
from runtime.journal import Journal

SMALL = 1500
"""Bytes between snapshots: so that there are many."""


def opened(
    configuration: dict[str, object], path: Path, watch: Callable[[str], object], synchronised: bool = False
) -> DurableAllocator:
    """Without synchronisation, which a process that is killed does not need: the operating system goes on."""
    journal = Journal(path, watch, least=SMALL, synchronised=synchronised)
    return DurableAllocator(read_configuration(configuration), journal, now=lambda: 1000.0)


def killed(work: Callable[[], object], after: float | None = None) -> bool:
    """Runs in a process of its own, which is killed, by itself or from here; answers whether it was."""
    child = os.fork()
    if not child:
        try:
            work()
        finally:
            os._exit(0)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dies_at(stage: int) -> Callable[[str], None]:
    """Ends the process at so many-th stage of writing."""
    stages = iter(range(1, stage + 1))
    return lambda _: die() if next(stages, stage) == stage else None


# A scripted run ------------------------------------------------------------------------------------------------------

TWO_RACKS = config(nodes("a", "b", "c"), A={"NODE": 2}, B={"NODE": 1})


def place(allocator: DurableAllocator, pod: Pod) -> None:
    answer = allocator.schedule(pod)
    assert isinstance(answer, Bind), answer
    allocator.allocate(pod, answer.info)


def reserve(allocator: DurableAllocator, pod: Pod) -> None:
    assert isinstance(allocator.schedule(pod, phase=Phase.PREEMPTING), Preempt)


def script() -> list[Callable[[DurableAllocator], object]]:
    """Steps that do nothing when they are done already. All kinds of changes are among them."""
    one, two = gang("one", "A", 4, 2), gang("two", "B", 2, 2, priority=1, lazy_preemption=True)
    weak, strong = gang("weak", "A", 1, priority=1), gang("strong", "A", 4, priority=9)
    strong_b, o = gang("strong-b", "B", 4, priority=7), gang("o", "B", 1, priority=-1)
    steps: list[Callable[[DurableAllocator], object]] = []
    steps += [partial(DurableAllocator.node_healthy, name=name) for name in "abc"]
    steps += [partial(place, pod=pod) for pod in (*one, *two, *weak, *o)]
    steps += [lambda a: a.submit(strong[0]), lambda a: a.node_bad("c"), lambda a: a.node_healthy("c")]
    steps += [lambda a: reserve(a, strong[0])]
    steps += [partial(DurableAllocator.delete, pod=pod) for pod in (*one, *weak, *o)]
    steps += [lambda a: place(a, strong[0])]
    steps += [partial(place, pod=pod) for pod in gang("weak-again", "A", 1, priority=0)]
    steps += [lambda a: reserve(a, strong_b[0]), lambda a: a.delete(strong_b[0])]
    steps += [lambda a: a.delete(strong[0]), lambda a: place(a, o[0])]
    return steps


def follow(allocator: DurableAllocator, log: Path, first: int = 0) -> None:
    """Takes the steps from here on, and notes each when it has been taken."""
    with log.open("ab", buffering=0) as file:
        for number, step in enumerate(script()[first:], first):
            step(allocator)
            file.write(b"%d\n" % number)


def scripted(folder: Path, stage: int) -> bool:
    """Runs the script in a new process that is killed at a stage of writing; answers whether it came so far."""

    return killed(lambda: follow(opened(TWO_RACKS, folder / "journal", dies_at(stage)), folder / "log"))


def resume(folder: Path, states: list[object]) -> None:
    """What was acknowledged is there, and the rest of the script ends as it would have."""
    log = folder / "log"
    taken = len(log.read_bytes().splitlines()) if log.exists() else 0
    allocator = opened(TWO_RACKS, folder / "journal", lambda _: None)
    check(allocator)
    assert allocator.opened.damage is None
    assert picture(allocator) in states[taken : taken + 2], "all that was acknowledged, and at most one step more"
    follow(allocator, log, taken)
    check(allocator)
    assert picture(allocator) == states[-1]
    allocator.close()


def states_of(folder: Path) -> list[object]:
    """After each step of the script, when nobody is killed. A step may consist of two changes."""
    allocator = opened(TWO_RACKS, folder / "undisturbed", lambda _: None)
    states = [picture(allocator)]
    for step in script():
        step(allocator)
        states.append(picture(allocator))
    allocator.close()
    return states


# A changed configuration ---------------------------------------------------------------------------------------------

OTHERWISE = config(nodes("c", "a", "d"), A={"NODE": 1}, B={"NODE": 1, "NODE.SWITCH": 1})
"""The same cluster without a node, with another one, and with other promises."""


def before_takeover(folder: Path) -> None:
    """The script, up to where gangs of all kinds run."""
    allocator = opened(TWO_RACKS, folder / "journal", lambda _: None)
    for step in script()[:11]:
        step(allocator)
    allocator.close()


def take_over(folder: Path, stage: int) -> bool:
    """In a new process that is killed at a stage of writing; answers whether it came so far."""
    return killed(lambda: opened(OTHERWISE, folder / "journal", dies_at(stage)))


# A busy run ----------------------------------------------------------------------------------------------------------


class Busy:
    """Gangs that come and go, several steps in a cycle; what each cycle comes to is noted before and after it lasts."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = Random(seed)
        self.folder = folder
        self.configuration = CLUSTERS[seed % len(CLUSTERS)]
        self.placed: dict[str, tuple[str, tuple[int, ...]]] = {}
        self.read = 0
        self.kills = 0

    def work(self, seed: int) -> None:
        """Until it is killed."""
        random = Random(seed)
        allocator = opened(self.configuration, self.folder / "journal", lambda _: None)
        names = sorted({cell.node for cell in allocator.leaf_cells()})
        with (self.folder / "log").open("ab", buffering=0) as file:
            for number in range(1_000_000):
                effects: list[object] = []
                with allocator.cycle():
                    for _ in range(random.randint(1, 5)):
                        effects += act(allocator, random, names, f"{seed}-{number}-{len(effects)}")
                    file.write(json.dumps(["commits", effects]).encode() + b"\n")
                file.write(json.dumps(["acknowledged", effects]).encode() + b"\n")

    def kill(self) -> None:
        """One more process, killed at a random moment, and a look at what is left."""
        seed = self.random.randrange(2**32)
        assert killed(lambda: self.work(seed), after=self.random.uniform(0.0, 0.15))
        self.kills += 1
        self.verify()

    def verify(self) -> None:
        """Every acknowledged cycle is there; of the one under way, all or nothing; no device is held twice."""
        log = self.folder / "log"
        lines = [json.loads(line) for line in log.read_bytes().splitlines()[self.read :]] if log.exists() else []
        self.read += len(lines)
        for kind, effects in lines:
            if kind == "acknowledged":
                self.apply(effects)
        allocator = opened(self.configuration, self.folder / "journal", lambda _: None)
        assert allocator.opened.damage is None
        check(allocator)
        found = placed(allocator)
        devices = [(node, index) for node, indices in found.values() for index in indices]
        assert len(set(devices)) == len(devices), "none is doubled"
        if found != self.placed and lines and lines[-1][0] == "commits":
            self.apply(lines[-1][1])
        assert found == self.placed
        allocator.close()

    def apply(self, effects: list[list[Any]]) -> None:
        for uid, *place in effects:
            if place:
                self.placed[uid] = (place[0], tuple(place[1]))
            else:
                self.placed.pop(uid, None)


def placed(allocator: DurableAllocator) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Pods that have a place."""
    assigned = (entry for gang in allocator.gangs.values() for entry in gang.assigned.items())
    return {uid: (slot.place.node, slot.place.leaf_cells) for uid, slot in assigned}


def act(allocator: DurableAllocator, random: Random, names: list[str], name: str) -> list[list[object]]:
    """Something happens: uids of pods that got a place, with the place, and of those that went, without."""
    pods = sorted(allocator.pods(), key=lambda pod: pod.uid)
    what = random.choice(("come", "come", "go", "retry", "retry", "health"))
    if what == "come":
        sizes = [random.choice((1, 2, 4)) for _ in range(random.choice((1, 2, 3)))]
        more = {"lazy_preemption": random.random() < 0.3}
        return ask(allocator, gang(name, random.choice("AB"), *sizes, priority=random.choice((-1, 1, 5, 9)), **more)[0])
    if what == "health":
        random.choice((allocator.node_healthy, allocator.node_healthy, allocator.node_bad))(random.choice(names))
    elif pods and what == "retry":
        return ask(allocator, random.choice(pods))
    elif pods:
        return remove(allocator, list(allocator.homes[random.choice(pods).uid].pods))
    return []


def ask(allocator: DurableAllocator, pod: Pod) -> list[list[object]]:
    try:
        answer = allocator.schedule(pod)
        if isinstance(answer, Preempt):
            answer = allocator.schedule(pod, phase=Phase.PREEMPTING)
        if isinstance(answer, Preempt):
            return remove(allocator, [victim for same in answer.victims.values() for victim in same][:2])
        if isinstance(answer, Bind):
            allocator.allocate(pod, answer.info)
            return [[pod.uid, answer.node, answer.leaf_cells]]
    except UserError:
        return remove(allocator, [pod])
    return []


def remove(allocator: DurableAllocator, pods: list[Pod]) -> list[list[object]]:
    for pod in pods:
        allocator.delete(pod)
    return [[pod.uid] for pod in pods]


# By command ----------------------------------------------------------------------------------------------------------


def kill_busy(kills: int, seed: int = 0) -> None:
    """So many kills, a few of each run."""
    for run in range(0, kills, 10):
        with tempfile.TemporaryDirectory() as folder:
            busy = Busy(Path(folder), seed + run)
            for _ in range(min(10, kills - run)):
                busy.kill()


def kill_system_calls(most: int = 100_000) -> int:
    """Kills the script at each call that changes a file, one after the other; answers how many there are."""
    calls = "pwrite64,write,fdatasync,fsync,ftruncate,unlink,unlinkat,rename,openat"
    with tempfile.TemporaryDirectory() as folder:
        states = states_of(Path(folder))
    for number in range(1, most):
        with tempfile.TemporaryDirectory() as folder:
            trace = ["strace", "-f", "-o", "/dev/null", "-P", f"{folder}/journal", "-P", f"{folder}/journal-wal"]
            inject = ["-e", f"trace={calls}", "-e", f"inject={calls}:signal=KILL:when={number}"]
            done = subprocess.run([*trace, *inject, sys.executable, __file__, "--script", folder])
            if not done.returncode:
                return number - 1
            assert done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), "strace must be allowed to trace"
            resume(Path(folder), states)
    return most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--system-calls", action="store_true")
    parser.add_argument("--script", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.script:
        follow(opened(TWO_RACKS, arguments.script / "journal", lambda _: None, True), arguments.script / "log")
    if arguments.kills:
        kill_busy(arguments.kills, arguments.seed)
        print(f"{arguments.kills} kills: nothing that was acknowledged was lost, nothing doubled")
    if arguments.system_calls:
        print(f"killed at each of {kill_system_calls()} system calls: nothing that was acknowledged was lost")


if __name__ == "__main__":
    main()
