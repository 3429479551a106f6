"""Random histories of a small cluster: gangs come and go, are preempted, nodes turn bad and good, and the scheduler is
started again, sometimes with another configuration.

`python tests/runtime/histories.py --histories 10000` runs as many, and says what was in them; `--seed 7 --histories 1`
runs one again.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from clusters import AnyAllocator, config, gang, healthy, nodes, rack, row
from invariants import check, picture
from shapes import changed, shape

from generated.hived import AffinityGroupState
from runtime import Allocator, Bind, BindInfo, Phase, Pod, Preempt, Recovered, UserError, Wait
from runtime.cells import Device
from runtime.config import read_configuration
from runtime.durable import DurableAllocator
from runtime.gangs import Gang
from runtime.holding import Claim
from runtime.journal import Journal
from runtime.preemption.victims import owner, reserver

CLUSTERS = (
    config(nodes("a", "b", "c", "d"), A={"NODE": 2}, B={"NODE": 1, "NODE.SWITCH": 1}),
    config(nodes("a", "b", "c", "d"), A={"NODE": 1, "NODE.SWITCH": 2}, B={"NODE": 2}),
    config([rack("a", "b"), rack("c", "d")], A={"RACK": 1, "RACK.NODE": 1}, B={"RACK.NODE.SWITCH": 2}),
    config([rack("a", "b"), rack("c", "d")], A={"RACK.NODE": 1}, B={"RACK.NODE.SWITCH.GPU": 4, "RACK": 1}),
    config([row("a", "b", "c", "d")], A={"ROW.RACK.NODE": 2}, B={"ROW.RACK": 1}),
    config(
        [rack("a", "b", pinnedCellId="pin1"), row("c", "d", "e", "f"), *nodes("o", "p", kind="OLD-NODE")],
        A={"pin1": 0, "ROW.RACK.NODE": 2, "OLD-NODE": 1},
        B={"ROW.RACK": 1, "OLD-NODE.OLD": 2},
    ),
    config(
        [
            {
                "cellType": "RACK",
                "cellChildren": [
                    {"cellAddress": "a", "cellChildren": [{"pinnedCellId": "pin1"}, {}]},
                    {"cellAddress": "b", "cellChildren": [{"cellChildren": [{"pinnedCellId": "pin2"}, {}]}, {}]},
                ],
            },
            rack("c", "d"),
        ],
        A={"pin1": 0, "RACK.NODE": 1},
        B={"pin2": 0, "RACK.NODE.SWITCH": 2},
    ),
)


SEEN = ("bind", "mixed", "preempt", "wait", "demoted", "overthrown", "bad", "restarts", "reconfigured", "misread")


class History:
    """One run, one step at a time; what must hold is checked after each.

    With a folder, the allocator has a journal there, and is opened from it again; otherwise it is recovered from what
    bound pods carry.
    """

    def __init__(self, seed: int, folder: Path | None = None) -> None:
        self.random = Random(seed)
        self.folder = folder
        self.configuration: dict[str, Any] = self.random.choice(CLUSTERS) if seed % 3 == 0 else shape(self.random)
        self.allocator: AnyAllocator = self.open(self.configuration)
        self.bad: set[str] = set()
        self.gangs: dict[str, list[Pod]] = {}
        self.bound: dict[Pod, BindInfo] = {}
        self.made = 0
        self.intact = True
        """Whether the configuration has stayed as it was."""
        self.seen = Counter(dict.fromkeys(SEEN, 0))

    @property
    def names(self) -> list[str]:
        """All nodes."""
        return sorted(self.allocator.cluster.nodes)

    def open(self, configuration: dict[str, Any]) -> AnyAllocator:
        """A new one, with all nodes healthy; or the one in the journal."""
        if self.folder is None:
            return healthy(configuration)
        allocator = DurableAllocator(read_configuration(configuration), journal(self.folder), now=lambda: 1000.0)
        if not allocator.opened.pods:
            for name in allocator.cluster.nodes:
                allocator.node_healthy(name)
        return allocator

    @property
    def devices(self) -> Iterator[Device]:
        for forest in self.allocator.cluster.forests.values():
            yield from forest.devices()

    def step(self) -> None:
        """Something happens."""
        before = [(owner(d), reserver(d)) for d in self.devices]
        acts = (self.come, self.go, self.retry, self.flip, self.kill, self.restart, self.reconfigure, self.misread)
        act = self.random.choices(acts, (32, 16, 32, 8, 8, 2, 1, 2))[0]
        act()
        check(self.allocator)
        if act not in (self.restart, self.reconfigure, self.misread):
            self.check_moves(before)
        held = self.places()
        assert len(set(held)) == len(held), "no device is held twice"

    def check_moves(self, before: list[tuple[Gang | None, Gang | None]]) -> None:
        """S12 and S13: who may follow whom on a device."""
        for (user, waiting), device in zip(before, self.devices, strict=True):
            now, later = owner(device), reserver(device)
            if user is not None and now is not user and now is not None:
                assert user.state is AffinityGroupState.DELETED, "S13"
            if waiting is not None and later is not None and later is not waiting:
                assert later.spec.priority > waiting.spec.priority, "S12"

    def places(self) -> list[tuple[str, int]]:
        """Devices of bound pods, as written on them."""
        return [(info.node, index) for info in self.bound.values() for index in info.leaf_cells]

    # What happens

    def come(self) -> None:
        """A new gang, of any kind."""
        choose = self.random.choice
        tenants = self.allocator.cluster.tenants
        tenant = tenants[choose(sorted(tenants))]
        priority = choose((-1, -1, 1, 1, 5, 9))
        sizes = [choose((1, 1, 2, 2, 3, 4)) for _ in range(choose((1, 1, 1, 2, 3, 4)))]
        pinned = choose(sorted(tenant.pinned)) if tenant.pinned and priority >= 0 and choose((0, 0, 1)) else ""
        self.made += 1
        self.seen["mixed"] += len(set(sizes)) > 1
        name = f"g{self.made}"
        self.gangs[name] = gang(
            name,
            tenant.name,
            *sizes,
            priority=priority,
            pinned_cell=pinned,
            lazy_preemption=choose((False, False, True)),
            ignore_suggested=choose((True, True, False)),
        )
        self.ask(self.gangs[name][0])

    def retry(self) -> None:
        """A pod that has no place asks again."""
        waiting = [pod for pods in self.gangs.values() for pod in pods if pod not in self.bound]
        if waiting:
            self.ask(self.random.choice(waiting))

    def ask(self, pod: Pod) -> None:
        """A pod asks; if it can be bound, then mostly it is."""
        offered = [name for name in self.names if self.random.random() < 0.8]
        phase = self.random.choice((Phase.FILTERING, Phase.PREEMPTING))
        before = picture(self.allocator)
        waiting = sum(g.state is AffinityGroupState.PREEMPTING for g in self.allocator.gangs.values())
        try:
            answer = self.allocator.schedule(pod, offered, phase)
        except UserError:
            assert picture(self.allocator) == before
            self.forget(pod)
            return
        if phase is Phase.FILTERING or isinstance(answer, Wait):
            now = picture(self.allocator)
            assert now == before or phase is Phase.PREEMPTING, "asking changes nothing"
        match answer:
            case Bind(info=info):
                self.seen["bind"] += 1
                if self.random.random() < 0.9:
                    self.allocator.allocate(pod, info)
                    self.bound[pod] = info
            case Preempt(victims=victims):
                self.seen["preempt"] += 1
                assert victims
                named = {p for pods in victims.values() for p in pods}
                assert named <= self.bound.keys()
                if self.random.random() < 0.5:
                    for victim in sorted(named, key=lambda p: p.uid):
                        self.forget(victim)
            case Wait(reason=reason):
                self.seen["wait"] += 1
                usable = not self.bad and pod.spec.ignore_suggested
                assert not (usable and "not on usable" in reason), "what a virtual cluster sees, it can have"
        gangs = self.allocator.gangs.values()
        self.seen["demoted"] += sum(g.demotion is not None for g in gangs)
        self.seen["overthrown"] += waiting > sum(g.state is AffinityGroupState.PREEMPTING for g in gangs)

    def go(self) -> None:
        """A gang ends."""
        if self.gangs:
            for pod in list(self.gangs[self.random.choice(sorted(self.gangs))]):
                self.forget(pod)

    def kill(self) -> None:
        """A single pod ends."""
        if self.gangs:
            self.forget(self.random.choice(self.gangs[self.random.choice(sorted(self.gangs))]))

    def forget(self, pod: Pod) -> None:
        """A pod is deleted."""
        self.allocator.delete(pod)
        self.bound.pop(pod, None)
        pods = self.gangs[pod.spec.gang.name]
        pods.remove(pod)
        if not pods:
            del self.gangs[pod.spec.gang.name]

    def misread(self) -> None:
        """What is written on a bound pod cannot be understood any more: it has its devices all the same."""
        if not self.bound:
            return
        pod = self.random.choice(sorted(self.bound, key=lambda pod: pod.uid))
        info = self.bound.pop(pod)
        known = [d for d in self.devices if (d.host.name, d.index) in {(info.node, i) for i in info.leaf_cells}]
        if not known:
            self.bound[pod] = info
            return
        self.seen["misread"] += 1
        siblings = self.gangs[pod.spec.gang.name]
        siblings.remove(pod)
        if not siblings:
            del self.gangs[pod.spec.gang.name]
        claim = Claim(pod.uid, pod.name, pod.namespace, info.node, info.leaf_cells, info.chain)
        try:
            held, place = self.allocator.hold(claim)
        except UserError:
            assert not self.intact, "another configuration has given its devices to others"
            return
        self.gangs.setdefault(held.spec.gang.name, []).append(held)
        self.bound[held] = place
        if self.intact:
            assert set(place.leaf_cells) == set(info.leaf_cells)
            assert {owner(device) for device in known} == {self.allocator.homes[pod.uid]}

    def flip(self) -> None:
        """A node turns bad, or good."""
        name = self.random.choice(self.names)
        if name in self.bad:
            self.bad.discard(name)
            self.allocator.node_healthy(name)
        elif len(self.bad) < len(self.names) - 1:
            self.seen["bad"] += 1
            self.bad.add(name)
            self.allocator.node_bad(name)

    def restart(self) -> None:
        """The scheduler crashes, and goes on."""
        self.seen["restarts"] += 1
        if isinstance(self.allocator, DurableAllocator):
            before = self.allocator
            self.reopen(before)
            assert picture(self.allocator) == picture(before), "the journal has all of it"
            return
        old, gangs = self.allocator, list(self.allocator.gangs.values())
        users = [owner(d) for d in self.devices]
        recovered = self.recover(self.configuration)
        demoted = any(g.demotion is not None for g in gangs)
        if self.intact:
            assert not recovered.missing
            assert not recovered.refused
            assert demoted or not recovered.demoted
        for user, device in zip(users, self.devices, strict=True):
            now = owner(device)
            assert (user and user.name) == (now and now.name)
            if now is not None and not demoted:
                assert user is not None
                assert device.priority == now.priority == user.priority
                assert reserver(device) is None
        if not demoted and all(g.state is not AffinityGroupState.PREEMPTING for g in gangs):
            free = [tenant.unallocated for tenant in old.cluster.tenants.values()]
            assert free == [tenant.unallocated for tenant in self.allocator.cluster.tenants.values()]

    def reconfigure(self) -> None:
        """The scheduler is started again, with another configuration: whoever runs goes on where it is."""
        self.seen["reconfigured"] += 1
        written = {
            (place.node, index): pod.spec.gang.name
            for pod, info in self.bound.items()
            for same in info.gang
            for place in same
            for index in place.leaf_cells
        }
        self.configuration = changed(self.random, self.configuration)
        self.intact = False
        if isinstance(self.allocator, DurableAllocator):
            recovered = self.reopen(self.allocator).opened.takeover
        else:
            recovered = self.recover(self.configuration)
        for pod in [pod for pod in self.bound if recovered is not None and pod.uid in recovered.refused]:
            self.forget(pod)
        for name in set(self.names) - self.bad:
            self.allocator.node_healthy(name)
        self.bad &= set(self.names)
        for device in self.devices:
            now, was = owner(device), written.get((device.host.name, device.index))
            assert (now and now.name) == (was if was in self.allocator.gangs else None), "nobody is moved, or killed"

    def recover(self, configuration: dict[str, Any]) -> Recovered:
        """From what is written on pods, in whatever order."""
        known = [
            (pod, self.bound.get(pod))
            for pods in self.gangs.values()
            for pod in pods
            if pod in self.bound or pod.uid in self.allocator.homes
        ]
        pictures = []
        for _ in range(2):
            self.random.shuffle(known)
            self.allocator = Allocator.from_config(configuration, now=lambda: 1000.0)
            health = {name: name not in self.bad for name in self.allocator.cluster.nodes}
            recovered = self.allocator.recover(known, health)
            pictures.append(picture(self.allocator))
        assert pictures[0] == pictures[1], "the order of pods does not matter"
        return recovered

    def reopen(self, before: DurableAllocator) -> DurableAllocator:
        """From the journal."""
        assert self.folder is not None
        before.close()
        configuration = read_configuration(self.configuration)
        after = self.allocator = DurableAllocator(configuration, journal(self.folder), now=lambda: 1000.0)
        assert after.opened.damage is None
        return after

    def end(self) -> None:
        """All goes, and nothing is left."""
        for name in sorted(self.gangs):
            for pod in list(self.gangs[name]):
                self.forget(pod)
        for name in sorted(self.bad):
            self.allocator.node_healthy(name)
        check(self.allocator)
        assert picture(self.allocator) == picture(healthy(self.configuration)), "nothing is leaked"
        assert not self.allocator.gangs
        assert not self.allocator.homes
        if isinstance(self.allocator, DurableAllocator):
            left = {key.partition("/")[0] for key in self.allocator.journal.images}
            assert left <= {"configuration", "node"}, "nor in the journal"
            self.allocator.close()


def journal(folder: Path) -> Journal:
    """Not synchronised: nobody pulls the plug here. Snapshots are many."""
    return Journal(folder / "journal", least=2000, synchronised=False)


def run(seed: int, steps: int) -> History:
    """A whole history; one in ten has a journal. What goes wrong names the seed."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            history = History(seed, Path(folder) if seed % 10 == 5 else None)
            for _ in range(steps):
                history.step()
            history.end()
        except BaseException as error:
            error.add_note(f"history {seed}, of {steps} steps")
            raise
    return history


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first one")
    parser.add_argument("--steps", type=int, default=40)
    arguments = parser.parse_args()
    seen: Counter[str] = Counter()
    shapes, begun = set(), time.monotonic()
    for number in range(arguments.histories):
        history = run(arguments.seed + number, arguments.steps)
        seen.update(history.seen)
        shapes.add(str(history.configuration))
        if (number + 1) % 1000 == 0:
            print(f"{number + 1} histories, {time.monotonic() - begun:.0f} s", flush=True)
    print(
        f"{arguments.histories} histories of {arguments.steps} steps on {len(shapes)} clusters: all that must hold held"
    )
    print(", ".join(f"{what}: {seen[what]}" for what in SEEN))


if __name__ == "__main__":
    main()
