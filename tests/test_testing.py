"""Implementations by hand, as twins of a model: the right one agrees, and each mistake is found and told shortly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import settings

from fsmdsl.testing import Action, Instance, Twin

LEASE = Path(__file__).parent.parent / "editors" / "playground" / "lease.fsm"
QUICK = settings(max_examples=60, stateful_step_count=15, deadline=None, database=None, derandomize=True)


class NotNowError(Exception):
    """An event that is not for this state."""


class Node:
    """Lent to one job at a time."""

    def __init__(self, asked: list[Action], name: str) -> None:
        self.state = "Idle"
        self.job: Job | None = None
        self.asked, self.name = asked, name

    def lend(self, to: Job) -> None:
        if self.state != "Idle":
            raise NotNowError("lend")
        self.asked.append(Action(self.name, "switch_on", {}))
        self.state, self.job = "Lent", to

    def take_back(self) -> None:
        if self.state != "Lent":
            raise NotNowError("take_back")
        self.state = "Draining"
        assert self.job is not None
        self.job.leave(self)

    def gone(self) -> None:
        self.asked.append(Action(self.name, "switch_off", {}))
        self.state, self.job = "Idle", None

    def crash(self) -> None:
        if self.state == "Draining":
            self.state = "Lent"


class Job:
    """Leaves when asked, in its own time."""

    def __init__(self) -> None:
        self.state = "Running"
        self.node: Node | None = None

    def leave(self, node: Node) -> None:
        if self.state == "Running":
            self.state, self.node = "Leaving", node

    def finished(self) -> None:
        if self.state != "Leaving":
            raise NotNowError("finished")
        assert self.node is not None
        self.state = "Left"
        self.node.gone()
        self.node = None


class LeaseTwin(Twin):
    """Drives `Node` and `Job`."""

    specs = LEASE
    system = "Shared"
    settings = QUICK
    refusal = NotNowError
    node_class: type[Node] = Node

    def start(self, instances: Sequence[Instance]) -> None:
        self.asked: list[Action] = []
        self.nodes = {x.name: self.node_class(self.asked, x.name) for x in instances if x.machine == "Node"}
        self.jobs = {x.name: Job() for x in instances if x.machine == "Job"}

    def event(self, instance: str, name: str, arguments: Mapping[str, object]) -> None:
        mine = self.nodes.get(instance) or self.jobs[instance]
        getattr(mine, name)(**{k: self.jobs[str(v)] for k, v in arguments.items()})

    def state(self, instance: str) -> str:
        return (self.nodes.get(instance) or self.jobs[instance]).state

    def fields(self, instance: str) -> Mapping[str, object]:
        if instance in self.jobs:
            return {}
        holder = self.nodes[instance].job
        return {"job": next((name for name, x in self.jobs.items() if x is holder), None)}

    def performed(self) -> Sequence[Action]:
        done = list(self.asked)
        self.asked.clear()
        return done

    def crash(self) -> None:
        for x in self.nodes.values():
            x.crash()


class TestLease(LeaseTwin):
    """As a person would write it."""


def difference(node: type[Node], **more: object) -> str:
    """What a twin with another node is told."""
    with pytest.raises(AssertionError) as raised:
        type("Mine", (LeaseTwin,), {"node_class": node, **more})().test_agrees_with_the_model()
    return str(raised.value)


def test_a_wrong_state_is_told_with_a_short_way() -> None:
    class Forgetful(Node):
        def crash(self) -> None:
            self.state = "Idle"

    assert difference(Forgetful).splitlines() == [
        "Mine differs from lease.Shared:",
        "  1. node.lend(j0)",
        "  2. crash",
        "node (Node) is in Lent in the model, in Idle in yours",
    ]


def test_a_wrong_field_is_told() -> None:
    class Keeper(Node):
        def gone(self) -> None:
            self.asked.append(Action(self.name, "switch_off", {}))
            self.state = "Idle"

    assert difference(Keeper).splitlines()[-1] == "node.job is None in the model, 'j0' in yours"


def test_an_action_that_is_missing_is_told() -> None:
    class Dark(Node):
        def lend(self, to: Job) -> None:
            super().lend(to)
            self.asked.clear()

    assert difference(Dark).splitlines()[-1] == "the model asks for node.switch_on(), yours for nothing"


def test_an_exception_is_told() -> None:
    class Broken(Node):
        def take_back(self) -> None:
            raise KeyError("job")

    assert "yours raised KeyError('job')" in difference(Broken)


def test_an_event_that_should_have_been_refused_is_told() -> None:
    class Generous(Node):
        def lend(self, to: Job) -> None:
            self.asked.append(Action(self.name, "switch_on", {}))
            self.state, self.job = "Lent", to

    told = difference(Generous).splitlines()
    assert len(told) <= 7
    assert "node.lend(" in told[-2]
    assert told[-2].endswith("   (not handled)")
    assert told[-1] == "the model does not handle this event; yours did not refuse it"


def test_steps_that_are_left_out_are_not_taken() -> None:
    class Forgetful(Node):
        def crash(self) -> None:
            raise AssertionError("never called")

    type(
        "Mine", (LeaseTwin,), {"node_class": Forgetful, "without": frozenset({"crash"})}
    )().test_agrees_with_the_model()


def test_a_step_that_nobody_drives_is_explained() -> None:
    class Undriven(LeaseTwin):
        crash = Twin.crash

    with pytest.raises(NotImplementedError, match=r"define `crash\(self\)`, or leave such steps out: `without = "):
        Undriven().test_agrees_with_the_model()


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"system": "Sharde"}, "there is no system `Sharde`; did you mean `Shared`?"),
        ({"system": ""}, "Mine must name a `system` or a `machine`, one of them"),
        ({"system": "", "machine": "Queue"}, "there is no machine `Queue`; there are `lease.Node`, `lease.Job`"),
        ({"specs": LEASE / "no"}, "the specs of Mine have errors"),
    ],
)
def test_what_cannot_be_found_is_explained(attributes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011  (the message is what is asked for)
        type("Mine", (LeaseTwin,), attributes).universe()
    assert str(raised.value).startswith(message)


def test_a_machine_alone_has_what_it_has_to_do_with() -> None:
    universe = type("Mine", (LeaseTwin,), {"system": "", "machine": "Job"}).universe()
    assert {x.machine for x in universe.system.instances} == {"lease.Job", "lease.Node"}
