"""Small simulations, for tests."""

from __future__ import annotations

from typing import Any

from clusters import config, nodes, rack
from hypothesis import strategies as st

from runtime import Allocator, Member
from runtime.config import read_configuration
from runtime.simulate.engine import Clock, Rules, Simulation
from runtime.simulate.full import FullLife
from runtime.simulate.observe import ClusterFace, Event
from runtime.simulate.outages import Outage
from runtime.simulate.scheduler import PodByPod
from runtime.simulate.workload import Request

TWO = config(nodes("a", "b"), A={"NODE": 1}, B={"NODE": 1})
"""Two nodes of four leaf cells; each tenant is promised one."""
RACKS = config(
    [rack("a", "b"), rack("c", "d"), *nodes("o", "p", kind="OLD-NODE")],
    A={"RACK.NODE": 2, "OLD-NODE": 1},
    B={"RACK.NODE": 1, "RACK.NODE.SWITCH": 2, "OLD-NODE": 1},
)


class Log:
    """An observer that remembers what it was told."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.moments: list[float] = []
        self.ended: float | None = None

    def begin(self, cluster: ClusterFace, capacity: int) -> None:
        self.capacity = capacity

    def advance(self, to: float) -> None:
        self.moments.append(to)

    def event(self, event: Event) -> None:
        self.events.append(event)

    def end(self, time: float) -> None:
        self.ended = time

    def of(self, gang: str) -> list[tuple[float, str]]:
        """What happened to a gang, and when."""
        return [(event.time, event.kind.value) for event in self.events if event.gang == gang]


@st.composite
def workloads(draw: st.DrawFn) -> tuple[list[Request], list[Outage]]:
    """Gangs of all kinds on the racks, and failing nodes."""
    made = []
    for number in range(draw(st.integers(1, 25))):
        members = draw(st.lists(st.builds(Member, st.integers(1, 3), st.integers(1, 4)), min_size=1, max_size=2))
        priority = draw(st.sampled_from((-1, -1, 0, 3, 9)))
        kind = draw(st.sampled_from(("", "", "GPU", "OLD")))
        made.append(
            Request(
                f"g{number}",
                draw(st.sampled_from("AB")),
                float(draw(st.integers(0, 300))),
                float(draw(st.integers(1, 200))),
                tuple(members),
                priority,
                kind,
                lazy_preemption=priority >= 0 and draw(st.booleans()),
                failed=draw(st.booleans()),
            )
        )
    times = st.tuples(st.sampled_from("abcdop"), st.integers(0, 400), st.integers(1, 200))
    outages = [Outage(node, down, down + long) for node, down, long in draw(st.lists(times, max_size=4))]
    return sorted(made, key=lambda r: r.submitted), outages


def request(
    gang: str, tenant: str = "A", at: float = 0, lasts: float = 100, pods: int = 1, each: int = 1, **more: object
) -> Request:
    """A gang of one member."""
    return Request(gang, tenant, at, lasts, (Member(pods, each),), **more)  # type: ignore[arg-type]


def simulation(
    configuration: dict[str, object],
    requests: list[Request],
    outages: list[Outage] | tuple[Outage, ...] = (),
    full_life: bool = False,
    **rules: float,
) -> Simulation:
    """Ready to run."""
    clock, read = Clock(), read_configuration(configuration)
    allocator = Allocator(read, clock)
    scheduler = FullLife(allocator, clock) if full_life else PodByPod(allocator)
    ordered = sorted(requests, key=lambda r: r.submitted)
    return Simulation(read, scheduler, clock, ordered, outages, Rules(**rules))  # type: ignore[arg-type]


def run(
    configuration: dict[str, object], requests: list[Request], *outages: Outage, **rules: Any
) -> tuple[Simulation, Log]:
    """Runs it."""
    made, log = simulation(configuration, requests, outages, **rules), Log()
    made.run([log])
    return made, log
