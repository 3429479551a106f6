"""The same simulation with the whole life of each gang: nothing else happens."""

from __future__ import annotations

from clusters import config, nodes
from hypothesis import HealthCheck, given, settings
from simulating import RACKS, TWO, Log, request, simulation, workloads
from tiers import share

from runtime import Member
from runtime.simulate.checking import Checking
from runtime.simulate.full import FullLife
from runtime.simulate.observe import ClusterFace, Event
from runtime.simulate.outages import Outage
from runtime.simulate.workload import Request


class Lives(Log):
    """Looks at the machines of all lives at each moment, and at whether gangs run that have been started."""

    def __init__(self, scheduler: FullLife) -> None:
        super().__init__()
        self.following = scheduler.follower
        self.running: set[str] = set()

    def advance(self, to: float) -> None:
        super().advance(to)
        self.following.registry.check_invariants()
        for gang in self.running:
            assert self.following.registry.applications[gang].running

    def event(self, event: Event) -> None:
        super().event(event)
        if event.kind.value == "started":
            self.running.add(event.gang)
        elif event.gang:
            self.running.discard(event.gang)

    def begin(self, cluster: ClusterFace, capacity: int) -> None:
        super().begin(cluster, capacity)
        assert len(self.following.overview()["nodes"]) > 0


@given(workloads())
@settings(max_examples=share(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_with_all_machines_the_same_happens(workload: tuple[list[Request], list[Outage]]) -> None:
    requests, outages = workload
    plain, log = simulation(RACKS, requests, outages), Log()
    plain.run([log])
    full = simulation(RACKS, requests, outages, full_life=True)
    assert isinstance(full.scheduler, FullLife)
    lives = Lives(full.scheduler)
    full.run([Checking(full, 500), lives])
    assert lives.events == log.events
    assert not lives.following.registry.pods, "nothing is left of anybody"
    lives.following.tick(full.clock.time + 31)
    assert not lives.following.registry.applications
    assert not lives.following.refusals.counts


def test_victims_are_named_in_the_same_order() -> None:
    """By node, those of a node as they come: the first pod of `wide` is on the node that is looked at last."""
    two = config(nodes("a", "b"), A={"NODE": 2})
    gangs = [
        Request("wide", "A", 0, 1000, (Member(1, 2), Member(1, 3)), -1),
        request("left", at=1, each=1, priority=-1),
        request("right", at=2, each=2, priority=-1),
        request("strong", at=5, pods=2, each=4, priority=5),
    ]
    evicted = []
    for full_life in (False, True):
        made, log = simulation(two, gangs, full_life=full_life), Log()
        made.run([log])
        evicted.append([event.gang for event in log.events if event.kind.value == "evicted"])
    assert evicted == [["wide", "right", "left"]] * 2


def test_applications_pass_through_their_machines() -> None:
    gangs = [
        request("weak", each=4, lasts=1000, priority=1),
        request("strong", at=250, each=4, priority=9),
        request("failing", tenant="B", lasts=700, failed=True),
    ]
    made = simulation(TWO, gangs, [Outage("b", 100, 120)], full_life=True)
    assert isinstance(made.scheduler, FullLife)
    following = made.scheduler.follower
    lives = following.registry.applications
    seen: dict[float, dict[str, object]] = {}

    class Look(Log):
        def advance(self, to: float) -> None:
            seen[to] = {name: life.core.state.display for name, life in lives.items()}

    made.run([Look()])
    assert all(job.stage.over for job in made.jobs)
    states = [list(dict.fromkeys(now[name] for now in seen.values() if name in now)) for name in ("weak", "strong")]
    assert states == [["Starting", "Accepted", "Running"], ["Accepted", "Starting", "Completing"]]
    following.tick(made.clock.time + 60)
    past = following.overview()["applications"]["past"]
    assert past == {"Completed": 4, "Failed": 1}, "`weak` came three times; what is killed is completed as well"
