"""Systems: how they begin, what the environment sends, when they are stuck, what channels do."""

from __future__ import annotations

import pytest
from stepping import Run, compiled, only_system

from fsmdsl.runs.simulation.closed_system import closed
from fsmdsl.step import ChannelStep, CrashStep, EventStep, RecoverStep, Universe, enabled, initial, stuck
from fsmdsl.step.describe import describe, fault_message

# The environment -----------------------------------------------------------------------------------------------------

OFFERS = """
machine M {
    param limit: 0..9
    peer: M?
    n: 0..9
    initial state A
    event add_up(k: 0..9), tell(p: M) from environment
    event inner from M
    A on add_up(k) when n + k <= limit do n = n + k
    A on tell(p) do peer = p
    A on inner
}
system S {
    ms: M[2] { limit = index + 1 }
    %s
}
"""


def test_the_environment_sends_what_it_says_where_the_guard_holds() -> None:
    run = Run(OFFERS % "environment { some x in ms, k in {2, 1}: x.add_up(k) when x.n == 0   ms[0].tell(ms[1]) }")
    assert run.steps() == ["m0.add_up(1)", "m1.add_up(1)", "m1.add_up(2)", "m0.tell(m1)"]
    run.take("m1.add_up(1)")
    assert run.steps() == ["m0.add_up(1)", "m0.tell(m1)"]


def test_a_step_offered_twice_is_one_step() -> None:
    run = Run(OFFERS % "environment { ms[0].add_up(1)  some x in ms: x.add_up(1) }")
    assert run.steps() == ["m0.add_up(1)", "m1.add_up(1)"]


def test_variables_may_depend_on_those_before_them() -> None:
    run = Run(OFFERS % "environment { some x in ms, k in {x.limit}: x.add_up(k) }")
    assert run.steps() == ["m0.add_up(1)", "m1.add_up(2)"]


def test_without_an_environment_every_event_from_it_comes_with_all_arguments() -> None:
    run = Run(OFFERS % "")
    assert run.steps() == [
        "m0.add_up(0)", "m0.add_up(1)", "m0.tell(m0)", "m0.tell(m1)",
        "m1.add_up(0)", "m1.add_up(1)", "m1.add_up(2)", "m1.tell(m0)", "m1.tell(m1)",
    ]  # fmt: skip


def test_an_empty_environment_sends_nothing() -> None:
    assert Run(OFFERS % "environment { }").steps() == []


def test_an_event_whose_guard_cannot_be_computed_is_offered_and_fails() -> None:
    run = Run(
        """
        machine M { peer: M?  n: 0..9  initial state A  event e from environment  A on e when peer.n > 1 }
        system S { m: M }
        """
    )
    assert run.steps() == ["m.e"]
    fault = run.attempt("m.e").fault
    assert fault is not None
    assert (fault.kind, run.why(fault)) == ("none", "`peer` is none here")


# Channels ------------------------------------------------------------------------------------------------------------

CHANNEL = """
channel c: %s to Receiver
machine Receiver {
    got: list<0..3>[4]
    initial state On
    event note(n: 0..3), ping from c
    On on note(n) do add n to got
    On on ping
}
machine Sender {
    initial state On
    event post(n: 0..3), ping from environment
    On on post(n) when size(c) < 3 do send c.note(n)
    On on ping do send c.ping
}
system S { receiver: Receiver  sender: Sender  environment { some n in {1, 2}: sender.post(n) %s } }
"""


def channel_steps(run: Run) -> list[str]:
    return [
        describe(run.universe, s, run.world) for s in enabled(run.universe, run.world) if isinstance(s, ChannelStep)
    ]


def test_a_fifo_delivers_in_order() -> None:
    run = Run(CHANNEL % ("fifo[3]", ""))
    assert run.take("sender.post(2)") == ["sender: post in On", "sender posts c.note(2)"]
    run.take("sender.post(1)")
    assert channel_steps(run) == ["deliver c.note(2)"]
    run.take("deliver c", "deliver c")
    assert run.field("receiver.got") == "[2, 1]"
    assert channel_steps(run) == []


def test_a_bag_delivers_in_any_order_and_equal_messages_once() -> None:
    run = Run(CHANNEL % ("bag[3]", ""))
    run.take("sender.post(2)", "sender.post(1)", "sender.post(2)")
    assert channel_steps(run) == ["deliver c.note(1)", "deliver c.note(2)"]
    other = Run(CHANNEL % ("bag[3]", ""))
    other.take("sender.post(2)", "sender.post(2)", "sender.post(1)")
    assert run.world == other.world, "the order in a bag means nothing"


def test_a_lossy_channel_may_lose_any_message() -> None:
    run = Run(CHANNEL % ("lossy fifo[3]", ""))
    run.take("sender.post(1)", "sender.post(1)", "sender.post(2)")
    assert channel_steps(run) == ["deliver c.note(1)", "lose c.note(1)", "lose c.note(2)"]
    run.take("lose c[2]", "deliver c", "deliver c")
    assert run.field("receiver.got") == "[1, 1]"


def test_a_duplicating_channel_may_double_any_message_while_there_is_room() -> None:
    run = Run(CHANNEL % ("duplicating fifo[3]", ""))
    run.take("sender.post(1)", "sender.post(2)", "duplicate c[1]")
    assert channel_steps(run) == ["deliver c.note(1)"]
    run.take("deliver c", "deliver c", "deliver c")
    assert run.field("receiver.got") == "[1, 2, 2]"


def test_a_full_channel_is_a_fault() -> None:
    run = Run(CHANNEL % ("fifo[1]", ""))
    run.take("sender.post(1)")
    fault = run.attempt("sender.post(2)").fault
    assert fault is not None
    assert (fault.kind, run.why(fault)) == ("overflow", "channel `c` is full: it holds 1")


def test_a_message_that_nothing_handles_is_a_fault() -> None:
    run = Run(
        """
        channel c: fifo[1] to M
        machine M { initial state A  event go from environment  event note from c  A on go do send c.note }
        system S { m: M }
        """
    )
    run.take("m.go")
    fault = run.attempt("deliver c").fault
    assert fault is not None
    assert fault.kind == "unhandled"


def test_nothing_is_delivered_to_a_machine_that_waits_for_an_answer() -> None:
    run = Run(
        """
        channel c: lossy fifo[2] to M
        machine M { initial state A  event go from environment  event note from c  async action work -> ok
                    A on go do { send c.note; work }  A on note  A on work.ok }
        system S { m: M }
        """
    )
    run.take("m.go")
    assert run.steps() == ["m.work.ok", "lose c"]


# Initial values, deadlock, closed systems ----------------------------------------------------------------------------


def test_an_impossible_initial_value_is_a_fault_of_the_universe() -> None:
    model = compiled(
        "machine M { param size: 1..3  initial state A } system S { ms: M[2] { size = index + 2 }  o: M { size = 9 } }"
    )
    universe = Universe(model, only_system(model))
    assert universe.fault is not None
    assert universe.fault.kind == "range"
    assert fault_message(universe, universe.fault) == "`size` of o begins as 9, outside 1..3"
    assert enabled(universe, initial(universe)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("initial state A", True),
        ("initial final state A", False),
        ("initial state A  final state B", True),
        ("initial state A  event e from environment  A on e", False),
    ],
)
def test_stuck_is_what_has_no_step_outside_of_final_states(text: str, expected: bool) -> None:
    for environment in ("", "environment { m.e }", "environment { crash }", "environment { crash m.e }"):
        if ("event" in text) != ("m.e" in environment):
            continue
        run = Run(f"machine M {{ {text} }} system S {{ m: M {environment} }}")
        steps = enabled(run.universe, run.world)
        assert stuck(run.universe, run.world, steps) is expected
        assert [s for s in steps if isinstance(s, CrashStep)] == ([CrashStep()] if "crash" in environment else [])


def test_a_closed_system_has_what_a_machine_refers_to() -> None:
    model = compiled(
        """
        module t
        machine Cell { user: Group?  initial state Free
                       event take(by: Group) from Group  Free on take(by) do user = by }
        machine Group { param size: 2..5  param main: Cell  cells: set<Cell>  initial state Idle
                        event go(c: Cell) from environment  Idle on go(c) do c.take(self) }
        machine Alone { initial state A }
        machine Tree { parent: Tree?  initial state A }
        """
    )
    group = closed(model, model.machines["t.Group"])
    assert [i.name for i in group.instances] == ["group", "cell0", "cell1"]
    universe = Universe(model, group)
    assert universe.fault is None
    assert universe.params[0] == {"size": 2, "main": 1}
    assert [describe(universe, s) for s in enabled(universe, initial(universe))] == [
        "group.go(cell0)",
        "group.go(cell1)",
    ]
    cell = closed(model, model.machines["t.Cell"])
    assert [i.name for i in cell.instances] == ["cell", "group0", "group1"]
    assert [i.name for i in closed(model, model.machines["t.Alone"]).instances] == ["alone"]
    assert [i.name for i in closed(model, model.machines["t.Tree"]).instances] == ["tree0", "tree1"]


def test_steps_are_values() -> None:
    assert EventStep(0, "e", (1,)) == EventStep(0, "e", (1,))
    assert len({CrashStep(RecoverStep(), 1), CrashStep(RecoverStep(), 1), CrashStep()}) == 2
