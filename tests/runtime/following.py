"""Random histories of what a scheduler is told and asked: `python tests/runtime/following.py --histories 10000`.

Pods come, are asked for, are bound, run, end, are deleted and replaced; nodes come and go; the scheduler is restarted;
reports come late, twice, or not at all. After every step the lives must agree with the allocator, and the allocator
must have decided what it decides where nobody follows.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from agreement import agree
from clusters import config, gang, nodes, rack
from histories import journal
from serving import node, written

from generated.hived import AffinityGroupState
from runtime import Pod, UserError
from runtime.annotations import write_bind_info
from runtime.config import read_configuration
from runtime.durable import DurableAllocator
from runtime.lifecycle.follower import ApplicationFollower
from runtime.service.lifecycle_reporter import Options
from runtime.service.locks import Locks
from runtime.service.messages import FilterRequest, PreemptRequest
from runtime.service.objects import PodObject, read_node, read_pod
from runtime.service.scheduler import PodScheduler
from runtime.service.source import Change
from runtime.service.tracker import PodPhase, Tracked

NAMES = ("a", "b", "c", "d")
CONFIGURATIONS = (
    config(nodes(*NAMES), A={"NODE": 2}, B={"NODE": 2}),
    config([rack("a", "b"), rack("c", "d")], A={"RACK": 1}, B={"RACK.NODE": 2}),
)
DELAY = 30.0
LEASE = 25.0
SEEN = (
    "bound",
    "preempted",
    "running",
    "breaches",
    "torn down",
    "restarts",
    "finished",
    "failed",
    "given back",
    "unhandled",
)


class Side:
    """A scheduler with a journal of its own, which hears what the other side hears."""

    def __init__(self, history: History, folder: Path, *, on: bool) -> None:
        self.history, self.folder, self.on = history, folder, on
        folder.mkdir()
        self.open()

    def open(self) -> None:
        clock = self.history.clock
        allocator = DurableAllocator(self.history.configuration, journal(self.folder), now=lambda: 1000.0)
        options = Options(on=self.on, delay=DELAY, clock=clock, terminate=self.history.terminates)
        deleted = self.history.delete_later if self.on and self.history.terminates else None
        nothing: Any = lambda _: None  # noqa: E731
        self.scheduler = PodScheduler(
            allocator, Locks(), nothing, self.history.look_later(self), LEASE, clock, options, deleted
        )

    def begin(self, changes: list[Change]) -> None:
        with self.scheduler._locks.partition.write(), self.scheduler.allocator.cycle():
            self.scheduler.recover(changes, lists_all=True)

    def restart(self, changes: list[Change]) -> None:
        self.scheduler.allocator.close()
        self.open()
        self.begin(changes)

    def do(self, call: Any) -> Any:
        """In a cycle, as the engine does; what is refused is the answer."""
        with self.scheduler._locks.partition.write(), self.scheduler.allocator.cycle():
            self.scheduler.expire()
            self.scheduler.tear_down()
            try:
                return call(self.scheduler)
            except UserError as error:
                return str(error)


class History:
    """One run, one step at a time."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = Random(seed)
        self.configuration = read_configuration(self.random.choice(CONFIGURATIONS))
        self.terminates = self.random.random() < 0.5
        self.now = 1000.0
        self.pods: dict[str, dict[str, Any]] = {}
        """By uid: as the cluster has them."""
        self.gangs: dict[str, list[Pod]] = {}
        self.specs: dict[str, Pod] = {}
        self.late: list[Change] = []
        """Reports that nobody has heard yet."""
        self.nodes = {name: node(name) for name in NAMES}
        self.deleted: list[Tracked] = []
        self.doomed: set[str] = set()
        self.looks: list[tuple[Side, Tracked]] = []
        self.made = 0
        self.seen = Counter(dict.fromkeys(SEEN, 0))
        self.sides = [Side(self, folder / name, on=on) for name, on in (("lives", True), ("alone", False))]
        for side in self.sides:
            side.begin(self.listed())

    def clock(self) -> float:
        return self.now

    def delete_later(self, tracked: Tracked) -> None:
        self.deleted.append(tracked)
        self.doomed.add(tracked.seen.uid)

    def look_later(self, side: Side) -> Any:
        return lambda tracked: self.looks.append((side, tracked))

    def listed(self) -> list[Change]:
        things = [read_node(x) for x in self.nodes.values()] + [read_pod(x) for x in self.pods.values()]
        self.random.shuffle(things)
        return [Change(thing, deleted=False) for thing in things]

    @property
    def lives(self) -> ApplicationFollower:
        following = self.sides[0].scheduler.lifecycle.follower
        assert following is not None, "it has not failed"
        return following

    def do(self, call: Any) -> Any:
        """Both hear, and answer the same."""
        ours, alone = (side.do(call) for side in self.sides)
        assert ours == alone, "lives change no answer"
        return ours

    def step(self) -> None:
        """Something happens."""
        acts = {
            self.come: 14, self.go_on: 30, self.ask: 16, self.bind: 16, self.run: 16, self.end: 6, self.delete: 4,
            self.drop: 4, self.hear: 20, self.replace: 8, self.flip: 6, self.wait: 10, self.restart: 3, self.settle: 4,
        }  # fmt: skip
        self.random.choices(list(acts), list(acts.values()))[0]()
        self.check()

    # What happens

    def tell(self, document: dict[str, Any], *, gone: bool = False) -> None:
        """The scheduler hears of it now, or later; never in another order of one pod."""
        read: Any = read_node if document["kind"] == "Node" else read_pod
        self.late.append(Change(read(document), gone))
        if self.random.random() < 0.7:
            self.hear()

    def hear(self) -> None:
        """All that is late; some of it twice."""
        while self.late:
            change = self.late.pop(0)
            for _ in range(self.random.choice((1, 1, 1, 2))):
                self.do(lambda scheduler, change=change: scheduler.observe(change))

    def come(self) -> None:
        if len(self.gangs) > 6:
            return
        choose = self.random.choice
        self.made += 1
        name = choose((f"g{self.made}", f"default/g{self.made}", "again"))
        if name in self.gangs:
            return
        sizes = [choose((1, 1, 2, 4)) for _ in range(choose((1, 2, 2, 3, 4)))]
        more = {"priority": choose((-1, 1, 5, 9)), "lazy_preemption": choose((False, False, True))}
        pods = gang(name, choose("AB"), *sizes, **more)
        self.gangs[name] = []
        for pod in pods:
            self.add(pod)

    def add(self, like: Pod) -> None:
        self.made += 1
        pod = Pod(f"u{self.made}", f"{like.name.replace('/', '-')}-{self.made}", like.spec)
        self.gangs[pod.spec.gang.name].append(pod)
        self.specs[pod.uid] = pod
        self.pods[pod.uid] = written(pod)
        self.tell(self.pods[pod.uid])

    def some(self, *, bound: bool) -> str | None:
        found = [uid for uid, pod in self.pods.items() if bool(pod["spec"].get("nodeName")) == bound]
        return self.random.choice(found) if found else None

    def go_on(self) -> None:
        """A whole gang is asked for, bound and run, as far as that goes."""
        if not self.gangs:
            return
        for pod in list(self.gangs[self.random.choice(sorted(self.gangs))]):
            for act in (self.ask, self.bind, self.run):
                if pod.uid in self.pods:
                    act(pod.uid)

    def ask(self, uid: str | None = None) -> None:
        """As an outer scheduler does: it filters, and has others displaced where it must, or wants to."""
        uid = uid or self.some(bound=False)
        if uid is None or self.pods[uid]["spec"].get("nodeName"):
            return
        asked = read_pod(self.pods[uid])
        answer = self.do(lambda scheduler: scheduler.filter(FilterRequest(asked, NAMES)))
        if isinstance(answer, dict) and answer["FailedNodes"] and self.random.random() < 0.7:
            answer = self.do(lambda scheduler: scheduler.preempt(PreemptRequest(asked, NAMES)))
            victims = answer["NodeNameToMetaVictims"] if isinstance(answer, dict) else {}
            self.seen["preempted"] += bool(victims)
            for victim in [x["UID"] for pods in victims.values() for x in pods["Pods"]]:
                if self.random.random() < 0.6:
                    self.remove(victim)

    def bind(self, uid: str | None = None) -> None:
        """The cluster binds a pod that has a place; its report, and that it runs, may come as one."""
        uid = uid or self.some(bound=False)
        tracked = self.sides[0].scheduler.tracker.pod(uid or "")
        if uid is None or tracked is None or tracked.phase is not PodPhase.BINDING:
            return
        assert tracked.info is not None
        self.seen["bound"] += 1
        pod = self.pods[uid]
        pod["spec"]["nodeName"] = tracked.info.node
        pod["metadata"]["annotations"] |= write_bind_info(tracked.info)
        if self.random.random() < 0.3:
            pod["status"] = {"phase": "Running"}
        self.tell(pod)

    def run(self, uid: str | None = None) -> None:
        uid = uid or self.some(bound=True)
        if uid is not None and self.pods[uid]["spec"].get("nodeName"):
            self.seen["running"] += 1
            self.pods[uid]["status"] = {"phase": "Running"}
            self.tell(self.pods[uid])

    def end(self) -> None:
        """A pod ends by itself, and may stay to be seen."""
        uid = self.some(bound=True)
        if uid is not None:
            phase = self.random.choice(("Succeeded", "Failed"))
            self.seen["finished" if phase == "Succeeded" else "failed"] += 1
            self.pods[uid]["status"] = {"phase": phase}
            self.tell(self.pods[uid])
            self.forget(uid)

    def delete(self) -> None:
        """Somebody asks for a pod to be deleted; it goes later."""
        uid = self.some(bound=self.random.random() < 0.7)
        if uid is not None:
            self.pods[uid]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            self.tell(self.pods[uid])

    def drop(self) -> None:
        """A pod goes, or a whole gang."""
        if self.pods and self.random.random() < 0.6:
            self.remove(self.random.choice(sorted(self.pods)))
        elif self.gangs:
            name = self.random.choice(sorted(self.gangs))
            for pod in list(self.gangs.pop(name)):
                self.remove(pod.uid)

    def remove(self, uid: str) -> None:
        if uid in self.pods:
            self.tell(self.pods[uid], gone=True)
            self.forget(uid)

    def forget(self, uid: str) -> None:
        self.pods.pop(uid)
        pod = self.specs[uid]
        pods = self.gangs.get(pod.spec.gang.name, [])
        if pod in pods:
            pods.remove(pod)

    def replace(self) -> None:
        """A controller makes a pod for one that is missing."""
        likes: dict[str, list[Pod]] = {}
        for pod in self.specs.values():
            likes.setdefault(pod.spec.gang.name, []).append(pod)
        for name, pods in self.gangs.items():
            want = likes[name][-1].spec.gang.sizes
            have = Counter(pod.spec.leaf_cells for pod in pods)
            same = [p for p in likes[name] if p.spec.gang == likes[name][-1].spec.gang]
            for like in same:
                if have[like.spec.leaf_cells] < want[like.spec.leaf_cells] and self.random.random() < 0.5:
                    self.add(like)
                    return

    def flip(self) -> None:
        """A node turns bad, is cordoned, is gone, or is well again."""
        name = self.random.choice(NAMES)
        how = self.random.choice(("well", "well", "bad", "cordoned", "gone"))
        self.nodes.pop(name, None)
        if how == "gone":
            self.tell(node(name), gone=True)
        else:
            self.nodes[name] = node(name, ready=how != "bad", unschedulable=how == "cordoned")
            self.tell(self.nodes[name])

    def wait(self) -> None:
        """Time passes."""
        self.now += self.random.choice((1, 5, 20, 45))
        self.do(lambda _: None)

    def settle(self) -> None:
        """What was looked up is answered, and what has to be deleted is."""
        looks, self.looks = self.looks, []
        for side, tracked in looks:
            pod = self.pods.get(tracked.seen.uid)
            now: PodObject | None = read_pod(pod) if pod is not None else None
            side.do(lambda scheduler, uid=tracked.seen.uid, now=now: scheduler.settle(uid, now))
        while self.deleted:
            self.remove(self.deleted.pop().seen.uid)

    def restart(self) -> None:
        """It is killed, and begins with a list: what was late, it never hears."""
        self.seen["restarts"] += 1
        self.count()
        self.late.clear()
        self.looks.clear()
        before = since(self.lives)
        placed = {
            name
            for name, gang in self.sides[0].scheduler.allocator.gangs.items()
            if gang.state is AffinityGroupState.ALLOCATED
        }
        listed = self.listed()
        for side in self.sides:
            side.restart(listed)
        after = since(self.lives)
        for (name, i), deadline in before.items():
            life = self.lives.registry.applications.get(name)
            if life is None or name not in placed or not self.still(name):
                continue
            assert life.termination.armed
            short = life.cliques[i].running < life.cliques[i].min_replicas
            assert ((name, i) in after) == short
            assert not short or abs(after[name, i] - deadline) < 0.01, "the delay goes on"

    def still(self, name: str) -> bool:
        """Does a gang keep its places?"""
        gang = self.sides[0].scheduler.allocator.gangs.get(name)
        return gang is not None and gang.state is AffinityGroupState.ALLOCATED

    def count(self) -> None:
        self.seen["breaches"] += self.lives.breaches
        self.seen["torn down"] += self.lives.torn_down
        self.seen["unhandled"] += sum(self.lives.refusals.counts.values())
        self.seen["given back"] += sum(self.sides[0].scheduler.given_back.values())

    # What must hold

    def check(self) -> None:
        scheduler, alone = (side.scheduler for side in self.sides)
        if self.random.random() < 0.5:
            return  # the lives may be behind, and several changes are followed as one
        self.sides[0].do(lambda scheduler: scheduler.lifecycle.catch_up())
        agree(scheduler)
        assert all(deadline >= self.now for deadline in since(self.lives).values()), "gangs are torn down in time"
        if self.terminates:
            assert self.doomed >= set(self.lives.to_delete()) - set(scheduler.lifecycle.to_delete)
        ours, theirs = scheduler.allocator.journal.images, alone.allocator.journal.images
        assert {key: text for key, text in ours.items() if not key.startswith("follow/")} == theirs

    def finish(self) -> None:
        """All goes, and nothing is left."""
        self.hear()
        for uid in list(self.pods):
            self.remove(uid)
        self.hear()
        self.check()
        self.count()
        assert not self.sides[0].scheduler.allocator.gangs
        self.now += 31
        self.do(lambda _: None)
        registry = self.lives.registry
        assert not registry.applications
        assert not registry.pods
        assert not any(host.slots for host in registry.hosts.values())
        assert not any(queue.used for queue in registry.queues.by_name.values())
        assert not any(key.startswith("follow/") for key in self.sides[0].scheduler.allocator.journal.images)
        for side in self.sides:
            side.scheduler.allocator.close()


def since(lives: ApplicationFollower) -> dict[tuple[str, int], float]:
    """By application and clique: when it is torn down, where it is below its minimum."""
    now = lives.registry.timers.time()
    return {
        (life.name, i): now + left
        for life in lives.registry.applications.values()
        for i, clique in enumerate(life.cliques)
        for left in life.grove.remaining(clique).values()
    }


def run(seed: int, steps: int) -> History:
    """A whole history. What goes wrong names the seed."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            history = History(seed, Path(folder))
            for _ in range(steps):
                history.step()
            history.finish()
        except BaseException as error:
            error.add_note(f"history {seed}, of {steps} steps")
            raise
    return history


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first one")
    parser.add_argument("--steps", type=int, default=60)
    arguments = parser.parse_args()
    seen: Counter[str] = Counter()
    begun = time.monotonic()
    for number in range(arguments.histories):
        seen.update(run(arguments.seed + number, arguments.steps).seen)
    print(f"{arguments.histories} histories of {arguments.steps} steps, {time.monotonic() - begun:.0f} s")
    print(", ".join(f"{what}: {seen[what]}" for what in SEEN))


if __name__ == "__main__":
    main()
