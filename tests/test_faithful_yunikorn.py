"""YuniKorn's specs say what its documents say: every row, every refused event, every message, every lock."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from loading import model_of

from fsmdsl import model as m
from fsmdsl.check import check
from fsmdsl.model.resolve import resolve
from fsmdsl.model.walk import effects
from fsmdsl.search import Exploration, Means, explore, play
from fsmdsl.step import EventStep, Universe, fire, initial
from fsmdsl.syntax.parse import parse
from fsmdsl.text.diagnostics import Severity
from fsmdsl.text.source import Source

SPECS = Path(__file__).parent.parent / "specs" / "yunikorn"


def model(as_documented: bool = False) -> m.Model:
    return model_of(SPECS, as_documented=as_documented)


# Tables --------------------------------------------------------------------------------------------------------------
# Source, event, target; `+` where the published diagram has the row, `-` where only the code of the release has it.

APPLICATION = """
New        Reject   Rejected   +
New        Run      Accepted   +
New        Resume   Resuming   +
New        Fail     Failing    +
Accepted   Run      Starting   +
Accepted   Complete Completing +
Accepted   Resume   Resuming   +
Accepted   Fail     Failing    +
Starting   Run      Running    +
Starting   Complete Completing +
Starting   Fail     Failing    +
Running    Run      Running    -
Running    Complete Completing +
Running    Fail     Failing    +
Completing Run      Running    +
Completing Complete Completed  +
Resuming   Run      Accepted   +
Failing    Fail     Failed     +
Completed  Expire   Expired    +
Failed     Expire   Expired    +
"""

OBJECT_STATE = """
Active   Remove Draining +
Draining Remove Draining +
Active   Start  Active   +
Stopped  Start  Active   +
Active   Stop   Stopped  +
Stopped  Stop   Stopped  +
"""

NODE = """
Absent         CREATE               Schedulable    +
Schedulable    DRAIN_NODE           NotSchedulable +
NotSchedulable DRAIN_NODE           NotSchedulable -
NotSchedulable DRAIN_TO_SCHEDULABLE Schedulable    +
Schedulable    DRAIN_TO_SCHEDULABLE Schedulable    -
Schedulable    UPDATE               Schedulable    +
NotSchedulable UPDATE               NotSchedulable +
Schedulable    DECOMISSION          Absent         +
NotSchedulable DECOMISSION          Absent         +
"""

SHIM_APPLICATION = """
New        Submit   Submitted  +
New        Recover  Recovering +
Submitted  Accept   Accepted   +
Recovering Accept   Accepted   +
Accepted   Reserve  Reserving  +
Reserving  UpdRes   Reserving  -
Reserving  Resume   Resuming   +
Resuming   TaskDone Resuming   -
Accepted   Run      Running    +
Reserving  Run      Running    +
Resuming   Run      Running    +
Running    Run      Running    -
Running    RelAlloc Running    -
Failing    RelAlloc Failing    -
Resuming   RelAlloc Resuming   -
Running    RelAsk   Running    -
Accepted   RelAsk   Running    -
Reserving  RelAsk   Running    -
Failing    RelAsk   Failing    -
Resuming   RelAsk   Resuming   -
Running    Complete Completed  +
Submitted  Reject   Rejected   +
Submitted  Fail     Failing    +
Accepted   Fail     Failing    +
Running    Fail     Failing    +
Reserving  Fail     Failing    +
Failing    Fail     Failed     +
Rejected   Fail     Failed     +
Accepted   Kill     Killing    +
Running    Kill     Killing    +
Reserving  Kill     Killing    +
Killing    Killed   Killed     +
"""

TASK = """
New        InitTask      Pending    +
Pending    SubmitTask    Scheduling +
Scheduling TaskAllocated Allocated  +
Completed  TaskAllocated Completed  -
Allocated  TaskBound     Bound      +
New        CompleteTask  Completed  +
Pending    CompleteTask  Completed  +
Scheduling CompleteTask  Completed  +
Allocated  CompleteTask  Completed  +
Rejected   CompleteTask  Completed  +
Bound      CompleteTask  Completed  +
Killing    CompleteTask  Completed  +
Killed     CompleteTask  Completed  +
Failed     CompleteTask  Completed  +
Completed  CompleteTask  Completed  -
Pending    KillTask      Killing    +
Scheduling KillTask      Killing    +
Allocated  KillTask      Killing    +
Bound      KillTask      Killing    +
Killing    TaskKilled    Killed     +
New        TaskRejected  Rejected   +
Pending    TaskRejected  Rejected   +
Scheduling TaskRejected  Rejected   +
Rejected   TaskFail      Failed     +
Allocated  TaskFail      Failed     +
"""

SHIM_NODE = """
New        RecoverNode  Recovering +
Recovering NodeAccepted Accepted   +
Accepted   NodeReady    Healthy    +
New        NodeRejected Rejected   +
Recovering NodeRejected Rejected   +
Healthy    DrainNode    Draining   +
Accepted   DrainNode    Draining   +
Draining   RestoreNode  Healthy    +
"""

SHIM_SCHEDULER = """
New         RegisterScheduler        Registering +
Registering RegisterSchedulerSucceed Registered  +
Registering RegisterSchedulerFailed  Stopped     +
Registered  RecoverScheduler         Recovering  +
Recovering  RecoverSchedulerSucceed  Running     +
Recovering  RecoverSchedulerFailed   Stopped     +
"""

TABLES = {
    "core.Application": APPLICATION,
    "core.ObjectState": OBJECT_STATE,
    "core.Node": NODE,
    "shim.ShimApplication": SHIM_APPLICATION,
    "shim.Task": TASK,
    "shim.ShimNode": SHIM_NODE,
    "shim.ShimScheduler": SHIM_SCHEDULER,
}

SIZES = {
    "core.Application": (11, 6, 20),
    "core.ObjectState": (3, 3, 6),
    "core.Node": (3, 5, 9),
    "shim.ShimApplication": (13, 15, 32),
    "shim.Task": (10, 9, 25),
    "shim.ShimNode": (6, 6, 8),
    "shim.ShimScheduler": (6, 6, 6),
}
"""States, events and transitions, as the project's own tables have them (core nodes have a flag, not a table)."""

Row = tuple[str, str, str]


def table(name: str, marks: str = "+-") -> set[Row]:
    lines = [line.split() for line in TABLES[name].strip().splitlines()]
    rows = [(event, source, target) for source, event, target, mark in lines if mark in marks]
    assert len(rows) == len(set(rows))
    return set(rows)


def rows(machine: m.Machine) -> set[Row]:
    """Those of the table: `late`, a timer that leads nowhere, is an effect of release 1.0.0."""
    return {(t.name, t.source, t.target or t.source) for t in machine.transitions if t.name != "late"}


@pytest.mark.parametrize("name", TABLES)
def test_every_row_is_there_and_no_other(name: str) -> None:
    assert rows(model().machines[f"yunikorn.{name}"]) == table(name)


@pytest.mark.parametrize("name", TABLES)
def test_as_documented_the_diagram_is_left(name: str) -> None:
    assert rows(model(as_documented=True).machines[f"yunikorn.{name}"]) == table(name, "+")


@pytest.mark.parametrize("name", SIZES)
def test_sizes(name: str) -> None:
    machine = model().machines[f"yunikorn.{name}"]
    assert (len(machine.leaves), len(machine.events), len(rows(machine))) == SIZES[name]


# What an application does not take -----------------------------------------------------------------------------------

MATRIX = """
           Run      Reject   Complete   Fail    Resume   Expire
New        Accepted Rejected ×          Failing Resuming ×
Accepted   Starting ×        Completing Failing Resuming ×
Starting   Running  ×        Completing Failing ×        ×
Running    Running  ×        Completing Failing ×        ×
Completing Running  ×        Completed  ×       ×        ×
Resuming   Accepted ×        ×          ×       ×        ×
Failing    ×        ×        ×          Failed  ×        ×
Completed  ×        ×        ×          ×       ×        Expired
Failed     ×        ×        ×          ×       ×        Expired
Rejected   ×        ×        ×          ×       ×        ×
Expired    ×        ×        ×          ×       ×        ×
"""


def cells() -> list[tuple[str, str, str]]:
    head, *lines = MATRIX.strip().splitlines()
    return [
        (source, event, target)
        for source, *targets in map(str.split, lines)
        for event, target in zip(head.split(), targets, strict=True)
    ]


@pytest.mark.parametrize(("source", "event", "target"), cells())
def test_validity_matrix(source: str, event: str, target: str) -> None:
    universe = Universe(model(), model().systems["yunikorn.core.OneApplication"])
    result = fire(universe, initial(universe)._replace(states=(source,)), EventStep(0, event))
    if target == "×":
        assert result.fault is not None
        assert result.fault.kind == "unhandled"
    else:
        assert result.fault is None
        assert result.world.states == (target,)


def test_the_matrix_says_the_same_as_the_table() -> None:
    assert {(event, source, target) for source, event, target in cells() if target != "×"} == table("core.Application")


TIMERS = {
    ("Run", "Starting", "Running", "5min"): "timed",
    ("Complete", "Completing", "Completed", "30s"): "timed and not held",
    ("Expire", "Completed", "Expired", "3d"): "timed",
    ("Expire", "Failed", "Expired", "3d"): "timed",
}
"""With the condition that the code of release 1.0.0 adds: it stops timers, and releases placeholders first."""


def timers(as_documented: bool = False) -> dict[tuple[str, str, str | None, str], str | None]:
    return {
        (t.name, t.source, t.target, t.trigger.duration_text): t.guard and t.guard.span.text
        for t in model(as_documented).machines["yunikorn.core.Application"].transitions
        if isinstance(t.trigger, m.OnTimer)
    }


def test_timers() -> None:
    """The retention has no number in the text; three days are the code's."""
    assert timers(as_documented=True) == dict.fromkeys(TIMERS)
    assert timers() == TIMERS | {("late", "Completing", None, "30s"): "timed and held"}


def test_every_node_that_is_drained_is_counted_once() -> None:
    """Up on the order, down when it may be used again or leaves; an order that is repeated counts nothing."""
    counted = {
        (t.name, t.source): e.action
        for t in model().machines["yunikorn.core.Node"].transitions
        for e in effects(t.effects)
        if isinstance(e, m.Request) and e.action.endswith("_draining")
    }
    assert counted == {
        ("DRAIN_NODE", "Schedulable"): "more_draining",
        ("DRAIN_TO_SCHEDULABLE", "NotSchedulable"): "fewer_draining",
        ("DECOMISSION", "NotSchedulable"): "fewer_draining",
    }


def test_the_end_is_reached_on_one_way_only() -> None:
    """Completed only from Completing, Failed only from Failing, and from the ends nothing but expiry."""
    found = rows(model().machines["yunikorn.core.Application"])
    assert {source for _, source, target in found if target == "Completed"} == {"Completing"}
    assert {source for _, source, target in found if target == "Failed"} == {"Failing"}
    ends = ("Completed", "Failed", "Rejected", "Expired")
    assert {event for event, source, _ in found if source in ends} == {"Expire"}


# Messages ------------------------------------------------------------------------------------------------------------

MESSAGES = """
 1 AllocationProposalBundleEvent        Scheduler       -> Cache     removed
 2 RejectedNewApplicationEvent          Scheduler       -> Cache     removed
 3 ReleaseAllocationsEvent              Scheduler       -> Cache     removed
 4 RemoveRMPartitionsEvent              Scheduler       -> Cache     removed
 5 RemovedApplicationEvent              Scheduler       -> Cache     removed
 6 RMUpdateRequestEvent                 RM              -> Cache     kept
 7 RegisterRMEvent                      RM              -> Cache     kept
 8 ConfigUpdateRMEvent                  RM              -> Cache     kept
 9 SchedulerNodeEvent                   Cache           -> Scheduler removed
10 SchedulerAllocationUpdatesEvent      Cache           -> Scheduler removed
11 SchedulerApplicationsUpdateEvent     Cache           -> Scheduler removed
12 RemoveRMPartitionsEvent              RM              -> Scheduler kept
13 SchedulerUpdatePartitionsConfigEvent Cache           -> Scheduler removed
14 SchedulerDeletePartitionsConfigEvent Cache           -> Scheduler removed
15 RMApplicationUpdateEvent             Cache/Scheduler -> RM        kept
16 RMNewAllocationsEvent                Cache           -> RM        kept
17 RMReleaseAllocationEvent             Cache           -> RM        kept
18 RMRejectedAllocationAskEvent         Cache/Scheduler -> RM        kept
19 RMNodeUpdateEvent                    Cache           -> RM        kept
"""


def posts() -> set[tuple[str, str, str]]:
    """Sender, receiver and event of every message that an effect sends."""
    listed = next(x for x in model().modules if x.name == "yunikorn.protocol")
    receiver = {c.qualified: c.receiver.rpartition(".")[2] for c in listed.channels}
    return {
        (machine.name, receiver[e.channel], e.event)
        for machine in listed.machines
        for t in machine.transitions
        for e in effects(t.effects)
        if isinstance(e, m.Post)
    }


def test_messages() -> None:
    """Row, name, senders, receiver and proposal of all 19 messages: who sends is read off the effects."""
    found = []
    for machine in (model().machines[f"yunikorn.protocol.{x}"] for x in ("RM", "Cache", "Scheduler")):
        for event in (e for e in machine.events if e.name.endswith("Event")):
            senders = "/".join(sorted(s for s, to, name in posts() if (to, name) == (machine.name, event.name)))
            row, proposal = event.doc.removeprefix("Row ").rstrip(".").partition(":")[0].split(", ")
            found.append((int(row), event.name, senders, machine.name, proposal))
    lines = [line.replace("->", "").split() for line in MESSAGES.strip().splitlines()]
    assert sorted(found) == [(int(row), *rest) for row, *rest in lines]


# Locks ---------------------------------------------------------------------------------------------------------------


def test_lock_order() -> None:
    """The pairs of the proposal, and the one that its own pseudo code needs on top."""
    (order,) = [x for module in model().modules for x in module.locks]
    pairs = {(p.outer.name, p.inner.name, p.inner.child): p.amended is not None for p in order.pairs}
    assert pairs == {
        ("Queue", "Queue", True): False,
        ("Queue", "Application", False): False,
        ("Partition", "Queue", False): False,
        ("Partition", "Application", False): False,
        ("Partition", "Node", False): False,
        ("Application", "Node", False): False,
        ("Cluster", "Partition", False): True,
    }


def test_the_pseudo_code_needs_the_cluster_lock() -> None:
    """As documented, the operations under the cluster's lock break the order, and nothing else does."""
    broken = [d.message for d in check(model(as_documented=True)) if d.rule.name == "lock-order-broken"]
    assert broken == [
        "`update_partition` takes `write(Partition)` while it holds `write(Cluster)`, which the order does not allow",
        "`delete_partition` takes `write(Partition)` while it holds `write(Cluster)`, which the order does not allow",
    ]


# Everything runs -----------------------------------------------------------------------------------------------------

# `SoftGang` and `HardGang` grew (from 711 and 301) when their timers could be stopped, as release 1.0.0 stops them, and
# `Registration` (from 32) when a partition that is dropped went in steps, as the proposal says.
STATES = {
    "core.OneApplication": 11,
    "core.SoftGang": 855,
    "core.HardGang": 389,
    "core.OnePartition": 81,
    "protocol.Registration": 100,
    "protocol.PartitionRemoval": 1014,
    "protocol.Applications": 2372,
    "protocol.Allocations": 169,
    "protocol.BeforeTheFix": 98,
    "protocol.Removals": 375,
    "protocol.Nodes": 3397,
    "protocol.Recovery": 2426,
    "shim.OneApplication": 13,
    "shim.OneTask": 10,
    "shim.OneNode": 6,
    "shim.OneScheduler": 6,
    "shim.Gang": 1571,
    "shim.OneSubmission": 4,
    "shim.CoreAndShim": 57,
}


def test_nothing_to_complain_about() -> None:
    assert [d for d in check(model()) if d.severity is not Severity.NOTE] == []


def test_every_system_is_counted() -> None:
    assert {f"yunikorn.{name}" for name in STATES} == set(model().systems)


@cache
def explored(name: str, as_documented: bool = False) -> Exploration:
    """Interchangeable instances are told apart: the numbers of states are those of the machines."""
    found = model(as_documented)
    return explore(found, found.systems[f"yunikorn.{name}"], means=Means(symmetry=False))


@pytest.mark.parametrize("name", STATES)
def test_systems(name: str) -> None:
    """Every invariant holds, every witness exists, nothing is stuck, and the number of states is what it was."""
    found = explored(name)
    assert [(v.kind, v.name, v.outcome) for v in found.verdicts if v.outcome != "holds"] == []
    assert found.states == STATES[name]
    reduced = explore(model(), model().systems[f"yunikorn.{name}"])
    assert [v.name for v in reduced.verdicts if v.outcome != "holds"] == []
    assert reduced.states <= found.states


def test_every_row_is_followed_somewhere() -> None:
    """Also those into states that no release ever enters, such as Killing."""
    followed: dict[str, set[int]] = {name: set() for name in model().machines}
    for name in STATES:
        found = explored(name)
        for machine in {g.machine for g in found.system.groups}:
            missed = {index for owner, index in found.coverage.unfollowed if owner == machine}
            followed[machine] |= {t.index for t in model().machines[machine].transitions} - missed
    assert followed == {name: {t.index for t in x.transitions} for name, x in model().machines.items()}


@pytest.mark.parametrize("name", sorted(model().scenarios))
def test_scenarios(name: str) -> None:
    played = play(model(), model().scenarios[name])
    assert played.passed, played.failure


# The documents' holes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "hole", "steps"),
    [
        ("core.SoftGang", "`Run` reaches app in `Running`, where it is neither handled nor ignored", 4),
        ("shim.OneTask", "`AppTaskCompleted` reaches app in `Running`, where it is neither handled nor ignored", 1),
        ("shim.CoreAndShim", "no step is possible here: core in Expired, shim in Failing", 5),
    ],
)
def test_as_documented_the_holes_show(system: str, hole: str, steps: int) -> None:
    """The diagram's missing self-loops, and an application that only one report of failure reached."""
    first = explored(system, as_documented=True).violations[0]
    assert first.explanation[0] == hole
    assert first.trace is not None
    assert len(first.trace.entries) == steps


OLD_LOCKS = """
module old
locks Release09 {
    Cluster > Partition > Application > Node
    Partition > Queue
    Partition > Node
    Queue > child Queue
    Queue > Application
    Application > Partition
    Application > Queue
}
"""


def test_the_nesting_of_the_old_code_goes_in_circles() -> None:
    """What release 0.9 did: applications locked under partitions and queues, and these under applications."""
    found = resolve([parse(Source("old.fsm", OLD_LOCKS)).module]).model
    assert found is not None
    circles = {d.message.rpartition(": ")[2] for d in check(found) if d.rule.name == "lock-cycle"}
    assert circles == {"Partition > Application > Partition", "Application > Queue > Application"}
