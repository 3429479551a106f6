"""Twins of your own code: faults that are found, objects, coroutines, values, and how a failing walk is shortened."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import Enum
from itertools import product

import pytest
from stepping import compiled, only_system
from test_testing import LEASE, QUICK, Job, LeaseTwin, Node, NotNowError

from fsmdsl.step import (
    EventStep,
    Step,
    Universe,
    enabled,
)
from fsmdsl.step.values import domain
from fsmdsl.testing import Action, DifferenceError, Instance, Twin
from fsmdsl.testing.comparison import SideBySide
from fsmdsl.testing.plain_values import same
from fsmdsl.testing.shrink import shrink

# Three planted faults ------------------------------------------------------------------------------------------------


class Forgetful(Node):
    """Forgets who has it when it crashes."""

    def crash(self) -> None:
        self.state = "Lent" if self.state == "Draining" else self.state
        if self.state == "Lent":
            self.job = None


class Keeper(Node):
    """Does not forget who had it."""

    def gone(self) -> None:
        job = self.job
        super().gone()
        self.job = job


class Generous(Node):
    """Is lent again while it is drained."""

    def lend(self, to: Job) -> None:
        self.state = "Idle" if self.state == "Draining" else self.state
        super().lend(to)


class Tired(Node):
    """Switches off by itself when it was lent twice: what is in no state of the model."""

    lent = 0

    def lend(self, to: Job) -> None:
        super().lend(to)
        self.lent += 1

    def gone(self) -> None:
        super().gone()
        self.state = "Idle" if self.lent < 2 else "Broken"


def shortest(made: type[LeaseTwin]) -> int:
    """The length of a shortest run that differs: breadth first through pairs of worlds and copies of the code."""
    universe = made.universe()
    begun = SideBySide(made(), universe)
    level, length = [begun], 0
    while True:
        length += 1
        level, previous = [], level
        for both in previous:
            for step in (*enabled(universe, both.world), *_events(universe)):
                ahead = copy.deepcopy(both, {id(universe): universe})
                try:
                    ahead.take(step)
                except DifferenceError:
                    return length
                level.append(ahead)


def _events(universe: Universe) -> list[Step]:
    """Every event that comes from outside."""
    return [
        EventStep(n, e.name, arguments)
        for n, machine in enumerate(universe.machines)
        for e in machine.events
        if e.from_environment
        for arguments in product(*(domain(p.type, universe) for p in e.parameters))
    ]


@pytest.mark.parametrize("fault", [Forgetful, Keeper, Generous])
@pytest.mark.parametrize("test", ["test_follows_every_row", "test_agrees_with_the_model"])
def test_planted_faults_are_shortened_to_a_shortest_run(fault: type[Node], test: str) -> None:
    made = type("Mine", (LeaseTwin,), {"node_class": fault})
    with pytest.raises(DifferenceError) as raised:
        getattr(made(), test)()
    assert len(raised.value.steps) == shortest(made)


def test_what_only_the_code_remembers_is_found_by_random_walks_and_shortened() -> None:
    made = type("Mine", (LeaseTwin,), {"node_class": Tired})
    with pytest.raises(DifferenceError) as raised:
        made().test_agrees_with_the_model()
    assert [str(x).rpartition(" ")[2] for x in str(raised.value).splitlines()[1:-1]] == [
        *("node.lend(j0)", "node.take_back", "j0.finished", "node.lend(j1)", "node.take_back", "j1.finished")
    ]


def test_a_difference_has_its_cause() -> None:
    class Broken(Node):
        def take_back(self) -> None:
            raise KeyError("job")

    with pytest.raises(DifferenceError) as raised:
        type("Mine", (LeaseTwin,), {"node_class": Broken})().test_follows_every_row()
    assert isinstance(raised.value.__cause__, KeyError)


# Objects -------------------------------------------------------------------------------------------------------------


class ByName(Twin):
    """Events, states and fields go by their names."""

    specs = LEASE
    system = "Shared"
    settings = QUICK
    refusal = NotNowError
    without = frozenset({"crash"})
    node_class: type[Node] = Node

    def start(self, instances: Sequence[Instance]) -> Mapping[str, object]:
        return {x.name: self.node_class([], x.name) if x.machine == "Node" else Job() for x in instances}


class TestByName(ByName):
    """As a person would write it."""


def test_fields_are_compared_by_default() -> None:
    with pytest.raises(DifferenceError) as raised:
        type("Mine", (ByName,), {"node_class": Keeper})().test_follows_every_row()
    assert raised.value.difference == "node.job is None in the model, 'j0' in yours"


def test_an_attribute_that_is_missing_is_named() -> None:
    class Bare(Node):
        @property
        def job(self) -> Job | None:  # type: ignore[override]
            raise AttributeError("job")

        @job.setter
        def job(self, job: Job | None) -> None: ...

    with pytest.raises(NotImplementedError) as raised:
        type("Mine", (ByName,), {"node_class": Bare})().test_follows_every_row()
    assert str(raised.value) == (
        'Bare has no attribute `job`: compare fewer: `without_fields = frozenset({"job"})`, '
        "or define `fields(self, instance)`"
    )


def test_a_method_that_is_missing_is_named() -> None:
    class Bare(Node):
        lend = None  # type: ignore[assignment]

    with pytest.raises(
        NotImplementedError, match=r"Bare has no method `lend` for that event: define it, or `Mine.event`"
    ):
        type("Mine", (ByName,), {"node_class": Bare})().test_follows_every_row()


# Asynchronous code ---------------------------------------------------------------------------------------------------


class SlowNode(Node):
    """What it does takes a turn of the event loop, and it drains in a task of its own."""

    async def lend(self, to: Job) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        super().lend(to)

    async def take_back(self) -> None:  # type: ignore[override]
        await asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        super().take_back()


class TestSlowly(ByName):
    """Coroutines of objects are awaited."""

    node_class = SlowNode


class TestAwaited(LeaseTwin):
    """Each method of a twin can be a coroutine."""

    async def start(self, instances: Sequence[Instance]) -> None:  # type: ignore[override]
        LeaseTwin.start(self, instances)

    async def event(self, instance: str, name: str, arguments: Mapping[str, object]) -> None:  # type: ignore[override]
        LeaseTwin.event(self, instance, name, arguments)

    async def state(self, instance: str) -> str:  # type: ignore[override]
        return LeaseTwin.state(self, instance)

    async def fields(self, instance: str) -> Mapping[str, object]:  # type: ignore[override]
        return LeaseTwin.fields(self, instance)

    async def performed(self) -> Sequence[Action]:  # type: ignore[override]
        return LeaseTwin.performed(self)

    async def crash(self) -> None:  # type: ignore[override]
        LeaseTwin.crash(self)


def test_a_difference_of_asynchronous_code_is_found() -> None:
    class SlowKeeper(SlowNode):
        async def take_back(self) -> None:  # type: ignore[override]
            if self.state != "Lent":
                raise NotNowError
            self.state = "Draining"

    with pytest.raises(DifferenceError, match=r"j0 \(Job\) is in Leaving in the model, in Running in yours"):
        type("Mine", (ByName,), {"node_class": SlowKeeper})().test_follows_every_row()


# Values --------------------------------------------------------------------------------------------------------------


class Colour(Enum):
    RED = 1


@pytest.mark.parametrize(
    ("expected", "given", "wanted"),
    [
        ("RED", Colour.RED, True),
        ("GREEN", Colour.RED, False),
        (1.5, timedelta(seconds=1.5), True),
        (2.0, 2, True),
        (frozenset({1, 2}), [2, 1], True),
        (frozenset({1, 2}), [2, 1, 1], False),
        (frozenset({1, 2}), {1, 3}, False),
        (frozenset({frozenset({1}), frozenset()}), [[], [1]], True),
        ((1, 2), [1, 2], True),
        ((1, 2), [2, 1], False),
        ((1, 2), "12", False),
        (("RED",), [Colour.RED], True),
        (None, None, True),
        (None, 0, False),
        ({"a": (1,)}, {"a": [1]}, True),
        ({"a": 1}, {"b": 1}, False),
    ],
)
def test_values_are_compared_as_the_model_has_them(expected: object, given: object, wanted: bool) -> None:
    assert same(expected, given, {}) is wanted


def test_an_object_stands_for_its_instance() -> None:
    job = Job()
    assert same("j0", job, {id(job): "j0"})
    assert same(frozenset({"j0"}), {job}, {id(job): "j0"})
    assert not same("j1", job, {id(job): "j0"})


# Shrinking -----------------------------------------------------------------------------------------------------------

COUNTER = """
machine Counter {
    n: 0..20
    initial state On
    event up, down, a, b, c, d, e, f from environment
    On on up when n < 20 do n = n + 1
    On on down when n > 0 do n = n - 1
    On on a do { }  On on b do { }  On on c do { }  On on d do { }  On on e do { }  On on f do { }
}
system S { c: Counter }
"""


class Counting(Twin):
    """Has a wrong number from 8 on, and at 5 behind `f`: there are too many runs of six steps to try them all."""

    n, behind, events = 0, 0, ""
    remembers: tuple[str, ...] = ()
    """After these events it gives up."""

    def start(self, instances: Sequence[Instance]) -> None:
        self.n, self.behind, self.events = 0, 0, ""

    def event(self, instance: str, name: str, arguments: Mapping[str, object]) -> None:
        self.n += {"up": 1, "down": -1}.get(name, 0)
        self.behind = int(name == "f" and self.n == 5)
        self.events += name[0]

    def state(self, instance: str) -> str:
        return "Off" if any(x in self.events for x in self.remembers) else "On"

    def fields(self, instance: str) -> Mapping[str, object]:
        return {"n": min(self.n, 7) + self.behind}


def counted(events: str, budget: int, *remembers: str) -> str:
    """The events that are left of some, each by a letter, where so many steps may be tried."""
    model = compiled(COUNTER)
    universe = Universe(model, only_system(model))
    made = type("Mine", (Counting,), {"shrink_steps": budget, "remembers": remembers})
    both = SideBySide(made(), universe)
    with pytest.raises(DifferenceError) as raised:
        _follow(both, [EventStep(0, {"u": "up", "-": "down"}.get(x, x)) for x in events])
    return "".join(x.event[0] for x in shrink(made, raised.value).steps if isinstance(x, EventStep))


def _follow(both: SideBySide, steps: Sequence[Step]) -> None:
    for step in steps:
        both.take(step)


def test_the_shortest_way_to_the_state_is_tried_first() -> None:
    assert counted("abcu-uabuu-uuuuabuu", 8) == "uuuuuuuu"


def test_the_steps_from_each_state_are_tried_behind_the_shortest_way_to_it() -> None:
    assert counted("uuuuuuuu", 2_000) == "uuuuuf"


def test_shrinking_takes_no_more_steps_than_allowed() -> None:
    assert counted("uuuuuuuu", 100) == "uuuuuuuu"


def test_all_runs_that_are_shorter_are_tried_in_the_end() -> None:
    assert counted("abcd", 2_000, "abcd", "fe") == "fe"


def test_a_fault_behind_two_rows_is_found_by_the_tour_of_pairs() -> None:
    class Literal(Job):
        """Handles `leave` as the document says: once."""

        def leave(self, node: Node) -> None:
            if self.state != "Running":
                raise KeyError("leave")
            super().leave(node)

    class Mine(LeaseTwin):
        def start(self, instances: Sequence[Instance]) -> None:
            super().start(instances)
            self.jobs = {name: Literal() for name in self.jobs}

    Mine().test_follows_every_row()
    with pytest.raises(DifferenceError) as raised:
        type("Mine", (Mine,), {"tour": "pairs"})().test_follows_every_row()
    assert len(raised.value.steps) == 4
