"""Random histories of a small cluster: gangs come and go, are preempted, nodes turn bad and good."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from clusters import config, gang, healthy, nodes, rack, row
from invariants import check, picture

from generated.hived import AffinityGroupState
from runtime import Allocator, Bind, BindInfo, Phase, Pod, Preempt, UserError, Wait
from runtime.cells import Device
from runtime.gangs import Gang
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


class History:
    """One run, one step at a time; what must hold is checked after each."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.configuration = self.random.choice(CLUSTERS)
        self.allocator = healthy(self.configuration)
        self.empty = picture(self.allocator)
        self.names = sorted({cell.node for cell in self.allocator.leaf_cells()})
        self.bad: set[str] = set()
        self.gangs: dict[str, list[Pod]] = {}
        self.bound: dict[Pod, BindInfo] = {}
        self.made = 0
        self.seen = {"bind": 0, "preempt": 0, "wait": 0, "demoted": 0, "overthrown": 0, "restarts": 0}

    @property
    def devices(self) -> Iterator[Device]:
        for forest in self.allocator._cluster.forests.values():
            yield from forest.devices()

    def step(self) -> None:
        """Something happens."""
        before = [(owner(d), reserver(d)) for d in self.devices]
        acts = (self.come, self.go, self.retry, self.flip, self.kill, self.restart)
        act = self.random.choices(acts, (16, 8, 16, 4, 4, 1))[0]
        act()
        check(self.allocator)
        if act != self.restart:
            self.check_moves(before)
        assert len(set(self.places())) == len(self.places()), "no device is held twice"

    def check_moves(self, before: list[tuple[Gang | None, Gang | None]]) -> None:
        """S12 and S13: who may follow whom on a device."""
        for (user, waiting), device in zip(before, self.devices, strict=True):
            now, later = owner(device), reserver(device)
            if user is not None and now is not user and now is not None:
                assert user.state is AffinityGroupState.DELETED, "S13"
            if waiting is not None and later is not None and later is not waiting:
                assert later.spec.priority > waiting.spec.priority, "S12"

    def places(self) -> list[tuple[str, str, int]]:
        """Devices of bound pods, as written on them."""
        kinds = {(c.node, c.chain): c.chain for c in self.allocator.leaf_cells()}
        return [
            (kinds[info.node, info.chain], info.node, index)
            for info in self.bound.values()
            for index in info.leaf_cells
        ]

    # What happens

    def come(self) -> None:
        """A new gang, of any kind."""
        choose = self.random.choice
        tenant = self.allocator._cluster.tenants[choose(("A", "B"))]
        priority = choose((-1, -1, 1, 1, 5, 9))
        sizes = [choose((1, 1, 2, 2, 3, 4)) for _ in range(choose((1, 1, 1, 2, 3, 4)))]
        pinned = choose(sorted(tenant.pinned)) if tenant.pinned and priority >= 0 and choose((0, 0, 1)) else ""
        self.made += 1
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
        waiting = sum(g.state is AffinityGroupState.PREEMPTING for g in self.allocator._cycle.gangs.values())
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
        gangs = self.allocator._cycle.gangs.values()
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

    def flip(self) -> None:
        """A node turns bad, or good."""
        name = self.random.choice(self.names)
        if name in self.bad:
            self.bad.discard(name)
            self.allocator.node_healthy(name)
        elif len(self.bad) < len(self.names) - 1:
            self.bad.add(name)
            self.allocator.node_bad(name)

    def restart(self) -> None:
        """The scheduler crashes, and recovers from what is written on pods."""
        old, gangs = self.allocator, list(self.allocator._cycle.gangs.values())
        users = [owner(d) for d in self.devices]
        health = {name: name not in self.bad for name in self.names}
        pods = [(pod, self.bound.get(pod)) for pods in self.gangs.values() for pod in pods]
        known = [(pod, info) for pod, info in pods if info is not None or pod.uid in old._cycle.homes]
        pictures = []
        for _ in range(2):
            self.random.shuffle(known)
            self.allocator = Allocator.from_config(self.configuration, now=lambda: 1000.0)
            recovered = self.allocator.recover(known, health)
            pictures.append(picture(self.allocator))
            assert not recovered.missing
            assert not recovered.refused
        assert pictures[0] == pictures[1], "the order of pods does not matter"
        demoted = any(g.demotion is not None for g in gangs)
        assert demoted or not recovered.demoted
        for user, device in zip(users, self.devices, strict=True):
            now = owner(device)
            assert (user and user.name) == (now and now.name)
            if now is not None and not demoted:
                assert user is not None
                assert device.priority == now.priority == user.priority
                assert reserver(device) is None
        if not demoted and all(g.state is not AffinityGroupState.PREEMPTING for g in gangs):
            free = [tenant.unallocated for tenant in old._cluster.tenants.values()]
            assert free == [tenant.unallocated for tenant in self.allocator._cluster.tenants.values()]
        self.seen["restarts"] += 1

    def end(self) -> None:
        """All goes, and nothing is left."""
        for name in sorted(self.gangs):
            for pod in list(self.gangs[name]):
                self.forget(pod)
        for name in sorted(self.bad):
            self.allocator.node_healthy(name)
        check(self.allocator)
        assert picture(self.allocator) == self.empty, "nothing is leaked"
        assert not self.allocator._cycle.gangs
        assert not self.allocator._cycle.homes
