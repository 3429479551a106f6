"""Random histories of lives: whatever happens, in whatever order, nothing is lost, leaked, or torn down too early."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from living import NAMES, TWO_QUEUES, Ward, application, check, check_empty, memory

from generated.grove import CliqueState, Followed, Termination, TerminationState
from runtime import UserError
from runtime.durable import DurableAllocator
from runtime.lifecycle import Act, CliqueSpec, Lives, Order, Settings
from runtime.lifecycle.registry import Life

SETTINGS = Settings(attempts=3, first_retry=5, last_retry=20, stable=50)
QUEUES = st.sampled_from(["A", "B"])
NODES = st.sampled_from(NAMES)
CLIQUES = st.builds(
    lambda name, pods, size, spare: CliqueSpec(name, pods, size, max(1, pods - spare)),
    st.sampled_from(["x", "y", "z"]),
    st.integers(1, 4),
    st.sampled_from([1, 2, 4]),
    st.integers(0, 2),
)


@contextmanager
def refusals(*texts: str) -> Iterator[None]:
    """What may be refused, with one of these reasons."""
    try:
        yield
    except UserError as error:
        if not any(text in str(error) for text in texts):
            raise


class Histories(RuleBasedStateMachine):
    """Users, agents and nodes do what they like."""

    def __init__(self) -> None:
        super().__init__()
        self.ward = Ward(settings=SETTINGS)
        self.told: list[Order] = []
        self.made = 0
        self.since: dict[object, float] = {}
        """By clique: when it fell below its minimum the last time."""
        self.torn = 0

    @initialize()
    def nodes(self) -> None:
        self.ward.healthy()

    @property
    def lives(self) -> Lives:
        return self.ward.lives

    def pods(self) -> list[str]:
        return sorted(self.lives.registry.pods)

    def on_nodes(self) -> list[str]:
        return sorted(uid for uid, slot in self.lives.registry.pods.items() if slot.held)

    # Users

    @rule(
        queue=QUEUES,
        priority=st.sampled_from([-1, 1, 1, 5, 9]),
        cliques=st.lists(CLIQUES, min_size=1, max_size=2, unique_by=lambda clique: clique.name),
        failures=st.integers(0, 3),
        lazy=st.booleans(),
    )
    def submit(self, queue: str, priority: int, cliques: list[CliqueSpec], failures: int, lazy: bool) -> None:
        self.made += 1
        spec = application(
            f"g{self.made}", *cliques, queue=queue, priority=priority, failures=failures, lazy_preemption=lazy
        )
        with refusals("takes no new applications"):
            self.ward.submit(spec)
            self.follow(self.ward.life(spec.name))

    @rule()
    def cycle(self) -> None:
        self.ward.cycle()

    @rule()
    def go_on(self) -> None:
        """Who waits is placed, and brought up."""
        self.ward.cycle()
        self.serve()

    @precondition(lambda self: self.lives.registry.lives)
    @rule(data=st.data(), how=st.sampled_from(["finished", "failed", "cancel"]))
    def end(self, data: st.DataObject, how: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.lives.registry.lives)))
        getattr(self.lives, how)(name, self.ward.now)

    # Agents

    @rule(data=st.data(), ok=st.sampled_from([True, True, True, False]))
    def answer(self, data: st.DataObject, ok: bool) -> None:
        self.told += self.lives.orders()
        if self.told:
            order = self.told.pop(data.draw(st.integers(0, len(self.told) - 1)))
            self.obey(order, ok)

    def obey(self, order: Order, ok: bool) -> None:
        """An agent does what it was told, or fails. What it was told may be out of date."""
        with refusals("there is no pod", "reports"):
            if order.act in (Act.DEPLOY, Act.START):
                self.lives.report(order.uid, order.act, ok=ok, now=self.ward.now)
            elif order.act is Act.UNDEPLOY:
                self.lives.pod_gone(order.uid, self.ward.now)

    @rule()
    def serve(self) -> None:
        self.told += self.lives.orders()
        while self.told:
            self.obey(self.told.pop(0), True)
            self.told += self.lives.orders()

    @precondition(lambda self: self.on_nodes())
    @rule(data=st.data(), what=st.sampled_from(["pod_failed", "pod_finished", "pod_died", "pod_gone", "pod_started"]))
    def happen(self, data: st.DataObject, what: str) -> None:
        uid = data.draw(st.sampled_from(self.on_nodes()))
        before = memory(self.lives)
        try:
            getattr(self.lives, what)(uid, self.ward.now)
        except UserError:
            assert memory(self.lives) == before, "a refusal changes nothing"

    # Nodes, queues, time

    @rule(name=NODES, what=st.sampled_from(["healthy", "healthy", "bad", "gone", "drain", "restore"]))
    def node(self, name: str, what: str) -> None:
        with refusals("has not been reported", "does not handle"):
            getattr(self.lives, f"node_{what}")(name, self.ward.now)

    @rule(name=st.sampled_from(["A", "B", "B", ""]), stop=st.sampled_from([True, False, False, False]))
    def queue(self, name: str, stop: bool) -> None:
        (self.lives.queue_stop if stop else self.lives.queue_start)(name, self.ward.now)

    @rule(seconds=st.sampled_from([1.0, 5.0, 14.0, 31.0]))
    def wait(self, seconds: float) -> None:
        self.ward.at(self.ward.now + seconds)

    @rule()
    def next_timer(self) -> None:
        due = self.lives.next_timer
        if due is not None and due < self.ward.now + 1000:
            self.ward.at(due)

    # What must hold

    @invariant()
    def all_holds(self) -> None:
        check(self.lives)

    @invariant()
    def torn_down_in_time(self) -> None:
        for life in self.lives.registry.lives.values():
            for spec, clique in zip(life.spec.cliques, life.cliques, strict=True):
                if life.termination.state is TerminationState.ALIVE and clique.state is CliqueState.BREACHED:
                    assert self.ward.now - self.since[f"{life.name} {spec.name}"] <= life.spec.termination_delay

    def follow(self, life: Life) -> None:
        """Notes since when cliques are below their minimum, and that nothing is torn down before the delay is over."""
        cliques: dict[object, str] = {
            machine: f"{life.name} {spec.name}" for spec, machine in zip(life.spec.cliques, life.cliques, strict=True)
        }

        def listen(followed: tuple[Followed, ...]) -> None:
            now = self.lives.registry.timers.time()
            for row in followed:
                if row.label == "T1":
                    self.since[cliques[row.machine]] = now
                elif isinstance(row.machine, Termination) and row.label == "T3":
                    self.torn += 1
                    breached = [x for x in life.cliques if x.state is CliqueState.BREACHED]
                    longest = min(self.since[cliques[x]] for x in breached)
                    assert abs(now - longest - life.spec.termination_delay) < 1e-6

        life.grove.listen(listen)

    def teardown(self) -> None:
        """All ends, and nothing is left."""
        if self.lives.broken:
            return
        for name in ("", "A", "B"):
            self.lives.queue_start(name, self.ward.now)
        for name in list(self.lives.registry.lives):
            self.lives.cancel(name, self.ward.now)
        self.serve()
        self.ward.at(self.ward.now + 30)
        check_empty(self.lives)


class Durable(Histories):
    """The same, on a journal, with restarts: all is as it was."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.open()

    def open(self) -> None:
        allocator = DurableAllocator.open(TWO_QUEUES, f"{self.folder.name}/journal", now=lambda: 1000.0)
        now = self.ward.now
        self.ward = Ward(allocator, SETTINGS)
        self.ward.now = now
        for life in self.lives.registry.lives.values():
            self.follow(life)

    @rule()
    def restart(self) -> None:
        before = memory(self.lives)
        allocator = self.ward.allocator
        assert isinstance(allocator, DurableAllocator)
        allocator.close()
        self.open()
        for was, now in zip(before, memory(self.lives), strict=True):
            assert now == was, f"{was} was, and now is {now}"
        self.told = list(self.lives.orders())

    def teardown(self) -> None:
        super().teardown()
        assert isinstance(self.ward.allocator, DurableAllocator)
        self.ward.allocator.close()
        self.folder.cleanup()


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=150, stateful_step_count=60, deadline=None, suppress_health_check=list(HealthCheck)
)
TestDurable = Durable.TestCase
TestDurable.settings = settings(
    max_examples=20, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
