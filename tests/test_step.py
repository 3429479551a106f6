"""What a step is: events, transitions, effects. Each rule of the semantics, by a machine that shows it."""

from __future__ import annotations

import pytest
from stepping import Run

from fsmdsl.model.depth import DEEPEST_CASCADE
from fsmdsl.step import TimerStep, fire
from fsmdsl.step.describe import describe
from fsmdsl.step.world import Refused

DOOR = """
machine Door {
    opened: 0..2
    initial state Shut
    state Open
    event push(by: 0..1), slam from environment
    a: Shut -> Open on push(by) when opened < 2 do opened = opened + by
    b: Open -> Shut on push
    c: Open on slam do opened = 0
}
system S { door: Door }
"""

# Events and transitions ----------------------------------------------------------------------------------------------


def test_a_system_begins_in_its_initial_states_without_effects() -> None:
    run = Run(
        """
        machine M {
            n: 0..9 = 4
            initial state A { state C  initial state B }
            on entry(B) do n = 9
            A -> A when n == 4 do n = 5
        }
        system S { m: M  o: M { n = 7 }  }
        """
    )
    assert run.states() == "B B"
    assert (run.field("m.n"), run.field("o.n")) == ("4", "7")
    assert run.universe.fault is None


def test_offered_are_the_events_with_an_enabled_transition() -> None:
    run = Run(DOOR)
    assert run.steps() == ["door.push(0)", "door.push(1)"]
    run.take("door.push(1)")
    assert run.steps() == ["door.push(0)", "door.push(1)", "door.slam"]
    run.take("door.push(0)", "door.push(1)")
    assert run.field("door.opened") == "2"
    run.take("door.push(0)")
    assert run.steps() == []


def test_a_cascade_says_what_happened_in_order() -> None:
    run = Run(DOOR)
    assert run.take("door.push(1)") == ["door: a Shut → Open", "door.opened = 1"]
    assert run.take("door.slam") == ["door: c in Open", "door.opened = 0"]


def test_an_event_that_nothing_handles_is_a_fault_and_changes_nothing() -> None:
    run = Run(DOOR)
    result = run.send("door", "slam")
    assert result.fault is not None
    assert (result.fault.kind, result.world) == ("unhandled", run.world)
    assert run.why(result.fault) == "`slam` reaches door in `Shut`, where it is neither handled nor ignored"


def test_a_fault_says_when_it_was_the_guard() -> None:
    run = Run(DOOR)
    run.take("door.push(1)", "door.push(0)", "door.push(1)", "door.push(0)")
    fault = run.send("door", "push", 0).fault
    assert fault is not None
    assert (
        run.why(fault)
        == "`push` reaches door in `Shut`, where it is not ignored, and no guard of its transitions holds"
    )


def test_ignored_events_change_nothing_and_are_not_offered() -> None:
    run = Run("machine M { initial state A  event e from environment  ignore e in A } system S { m: M }")
    assert run.steps() == []
    result = run.send("m", "e")
    assert (result.fault, result.world) == (None, run.world)
    assert [describe(run.universe, h) for h in result.cascade] == ["m ignores e"]


def test_an_ignored_event_is_handled_where_a_guard_holds() -> None:
    run = Run(
        """
        machine M { n: 0..1  initial state A  event e from environment  A on e when n == 0 do n = 1  ignore e in A }
        system S { m: M }
        """
    )
    assert run.take("m.e") == ["m: e in A", "m.n = 1"]
    assert run.steps() == []
    assert run.send("m", "e").fault is None


def test_two_enabled_transitions_without_priority_overlap() -> None:
    run = Run(
        """
        machine M { initial state A  state B  event e from environment  x: A -> B on e  y: A -> A on e when A }
        system S { m: M }
        """
    )
    fault = run.attempt("m.e").fault
    assert fault is not None
    assert fault.kind == "overlap"
    assert run.why(fault) == "`x` and `y` of m are enabled in `A` at once, and none has priority"
    assert fault.span.text.startswith("y:")


def test_arguments_out_of_range_are_a_fault() -> None:
    run = Run(DOOR)
    fault = run.send("door", "push", 7).fault
    assert fault is not None
    assert (fault.kind, run.why(fault)) == ("range", "`by` of `push` would be 7, outside 0..1")


# Levels and priority -------------------------------------------------------------------------------------------------

LEVELS = """
machine M {
    n: 0..3
    initial state Outer { initial state Inner  state Other }
    state Won { }
    event set(to: 0..3), e from environment
    * on set(to) do n = to
    inner: Inner -> Won on e when n == 1
    outer: Outer -> Other on e when n <= 2
    wild:  * -> Inner on e
}
system S { m: M }
"""


@pytest.mark.parametrize(("n", "name"), [(1, "inner"), (2, "outer"), (3, "wild")])
def test_the_innermost_enabled_level_decides_and_wild_comes_last(n: int, name: str) -> None:
    run = Run(LEVELS)
    run.take(f"m.set({n})")
    assert run.take("m.e")[0].startswith(f"m: {name} Inner →")


PRIORITY = """
machine M {
    a: bool = %s
    b: bool = %s
    let urgent = a
    let useful = b
    initial state A
    event go, stop from environment
    by_let:    A -> A on go when urgent and a
    labelled:  A -> A on go when useful
    plain:     A -> A on go
    %s
}
system S { m: M }
"""


@pytest.mark.parametrize(
    ("a", "b", "priority", "chosen"),
    [
        ("true", "true", "priority urgent > labelled > *", "by_let"),
        ("false", "true", "priority urgent > labelled > *", "labelled"),
        ("false", "false", "priority urgent > labelled > *", "plain"),
        ("true", "true", "priority plain > *  priority urgent > labelled", "plain"),
        ("true", "true", "priority labelled > go", "labelled"),
        ("true", "true", "priority * > by_let > labelled", "plain"),
        ("true", "true", "", None),
        ("true", "true", "priority urgent > labelled", None),
        ("true", "false", "priority go > *", None),
    ],
)
def test_priority_takes_the_best_class(a: str, b: str, priority: str, chosen: str | None) -> None:
    run = Run(PRIORITY % (a, b, priority))
    result = run.attempt("m.go")
    if chosen is None:
        assert result.fault is not None
        assert result.fault.kind == "overlap"
    else:
        assert describe(run.universe, result.cascade[0]) == f"m: {chosen} A → A"


def test_a_let_gives_its_class_only_as_a_whole_condition() -> None:
    run = Run(
        """
        machine M {
            let hot = true
            initial state A
            event e from environment
            x: A -> A on e when hot or true
            y: A -> A on e
            priority hot > *
        }
        system S { m: M }
        """
    )
    fault = run.attempt("m.e").fault
    assert fault is not None
    assert fault.kind == "overlap"


# Order inside a transition -------------------------------------------------------------------------------------------

HOOKS = """
machine M {
    initial state Out { initial state In  state Next }
    state Far { initial state Deep }
    action left_out, left_in, left_next, in_out, in_in, in_next, in_far, in_deep, effect
    on exit(Out) do left_out       on entry(Out) do in_out
    on exit(In) do left_in         on entry(In) do in_in
    on exit(Next) do left_next     on entry(Next) do in_next
    on entry(Far) do in_far        on entry(Deep) do in_deep
    event far, sibling, own, again, home, inside, up, back from environment
    In -> Far on far do effect
    In -> Next on sibling do effect
    In -> In on own do effect
    Out -> Out on again do effect
    Out -> In on home do effect
    In on inside do effect
    In -> Out on up do effect
    Deep -> In on back do effect
}
system S { m: M }
"""


@pytest.mark.parametrize(
    ("event", "calls"),
    [
        ("far", "left_in left_out effect in_far in_deep"),
        ("sibling", "left_in effect in_next"),
        ("own", "left_in effect in_in"),
        ("again", "left_in left_out effect in_out in_in"),
        ("home", "left_in left_out effect in_out in_in"),
        ("inside", "effect"),
        ("up", "left_in left_out effect in_out in_in"),
    ],
)
def test_exits_inside_out_then_effects_then_entries_outside_in(event: str, calls: str) -> None:
    told = Run(HOOKS).take(f"m.{event}")
    assert [x.removeprefix("m calls ") for x in told[1:]] == calls.split()


def test_a_composite_is_left_from_the_leaf_that_is_active() -> None:
    run = Run(HOOKS)
    run.take("m.sibling")
    assert run.take("m.home")[1:] == [f"m calls {x}" for x in ["left_next", "left_out", "effect", "in_out", "in_in"]]
    assert run.state("m") == "In"


def test_others_see_the_source_until_the_state_changes() -> None:
    run = Run(
        """
        machine A {
            param b: B
            seen: bool
            initial state Old
            state New
            event go from environment
            Old -> New on go do { b.look(self) }
            on entry(New) do b.look_again(self)
            on exit(Old) do b.look(self)
        }
        machine B {
            olds: 0..9
            news: 0..9
            initial state Idle
            event look(at: A), look_again(at: A) from A
            Idle on look(at) do { if at in Old { olds = olds + 1 } }
            Idle on look_again(at) do { if at in New { news = news + 1 } }
        }
        system S { a: A { b = b }  b: B }
        """
    )
    run.take("a.go")
    assert (run.field("b.olds"), run.field("b.news")) == ("2", "1")


# Effects -------------------------------------------------------------------------------------------------------------

EFFECTS = """
enum E { x < y }
machine M {
    other: M?
    n: 0..3
    marks: set<0..3>
    queue: list<0..3>[2]
    deep: set<0..9>
    initial state A
    event put(v: 0..3), drop(v: 0..3), push(v: 0..3), pull(v: 0..3), count, swap, poke, raise, lower from environment
    event deeper from M
    A on put(v) do add v to marks
    A on drop(v) do remove v from marks
    A on push(v) do add v to queue
    A on pull(v) do remove v from queue
    A on count do for v in marks + {0} { n = v  add v + n to deep }
    A on swap do { if size(queue) > 1 { n = 3 } else if size(queue) > 0 { n = 2 } else { n = 1 } }
    A on poke do { n = 2; other.deeper; n = n + 1 }
    A on deeper do n = 1
    A on raise do n = n + 1
    A on lower do n = n - 1
}
system S { ms: M[2] }
"""


def test_sets_and_lists_change() -> None:
    run = Run(EFFECTS)
    run.take("m0.put(3)", "m0.put(1)", "m0.put(1)", "m0.drop(2)", "m0.drop(3)")
    assert run.field("m0.marks") == "{1}"
    run.take("m0.push(2)", "m0.push(2)", "m0.pull(3)", "m0.pull(2)", "m0.push(1)")
    assert run.field("m0.queue") == "[2, 1]"


@pytest.mark.parametrize(
    ("before", "step", "kind", "message"),
    [
        (["m0.push(1)", "m0.push(1)"], "m0.push(2)", "overflow", "`queue` of m0 would become longer than 2"),
        ([], "m0.lower", "range", "`n` of m0 would become -1, outside 0..3"),
        (["m0.raise"] * 3, "m0.raise", "range", "`n` of m0 would become 4, outside 0..3"),
        ([], "m0.poke", "none", "`other` is none here"),
    ],
)
def test_effects_that_cannot_be_are_faults(before: list[str], step: str, kind: str, message: str) -> None:
    run = Run(EFFECTS)
    run.take(*before)
    result = run.attempt(step)
    assert result.fault is not None
    assert (result.fault.kind, run.why(result.fault)) == (kind, message)
    assert result.world == run.world


def test_a_fault_comes_with_what_had_happened() -> None:
    run = Run(EFFECTS)
    result = run.attempt("m0.poke")
    assert [describe(run.universe, h) for h in result.cascade] == ["m0: poke in A", "m0.n = 2"]


def test_loops_go_in_order_and_read_their_set_once() -> None:
    run = Run(EFFECTS)
    run.take("m0.put(3)", "m0.put(1)")
    assert [x for x in run.take("m0.count") if x.startswith("m0.n")] == ["m0.n = 0", "m0.n = 1", "m0.n = 3"]
    assert run.field("m0.deep") == "{0, 2, 6}"


def test_conditions_choose_effects() -> None:
    run = Run(EFFECTS)
    for expected in ("1", "2", "3"):
        run.take("m0.swap")
        assert run.field("m0.n") == expected
        if expected != "3":
            run.take("m0.push(0)")


# Events between machines ---------------------------------------------------------------------------------------------

PAIR = """
machine Boss {
    worker: Worker?
    done: 0..3
    initial state Idle
    state Busy
    event hire(w: Worker), order, order_all from environment
    event nag from Boss
    event finished from Worker
    Idle on hire(w) do worker = w
    Idle -> Busy on order do { worker.work(self); done = done + 1 }
    Busy -> Busy on order_all do for w in {worker} { self.nag }
    Busy on nag
    Busy on finished do done = 0
}
machine Worker {
    log: 0..3
    initial state Free
    state Tired
    event work(by: Boss) from Boss
    event rest, call(by: Boss) from environment
    Free -> Tired on work do log = log + 1
    Free on call(by) do by.finished
    Tired -> Free on rest
    Tired on call(by) do by.finished
}
system S { boss: Boss  worker: Worker }
"""


def test_an_event_sent_is_handled_before_the_effect_goes_on() -> None:
    run = Run(PAIR)
    run.take("boss.hire(worker)")
    assert run.take("boss.order") == [
        "boss: order Idle → Busy",
        "boss sends worker.work(boss)",
        "worker: work Free → Tired",
        "worker.log = 1",
        "boss.done = 1",
    ]


def test_an_event_sent_to_none_is_a_fault() -> None:
    run = Run(PAIR)
    fault = run.attempt("boss.order").fault
    assert fault is not None
    assert (fault.kind, run.why(fault), fault.span.text) == (
        "none",
        "`worker` is none here",
        "worker",
    )


def test_an_event_sent_and_not_handled_is_a_fault_at_the_sender() -> None:
    run = Run(PAIR)
    fault = run.attempt("worker.call(boss)").fault
    assert fault is not None
    assert (fault.kind, fault.span.text) == ("unhandled", "by.finished")
    assert run.why(fault) == "`finished` reaches boss in `Idle`, where it is neither handled nor ignored"


def test_an_instance_in_its_own_transition_takes_no_event() -> None:
    run = Run(PAIR)
    run.take("boss.hire(worker)", "boss.order")
    fault = run.attempt("boss.order_all").fault
    assert fault is not None
    assert (fault.kind, run.why(fault)) == (
        "reentrance",
        "boss receives `nag` in the middle of its own transition",
    )


@pytest.mark.parametrize("hook", ["on exit(Idle) do other.ping(self)", "on entry(Done) do other.ping(self)", ""])
def test_reentrance_reaches_from_the_choice_to_the_end_of_the_entry_hooks(hook: str) -> None:
    effect = "" if hook else "do other.ping(self)"
    run = Run(
        f"""
        machine A {{
            param other: B
            initial state Idle
            state Done
            event go from environment
            event pong from B
            Idle -> Done on go {effect}
            Idle, Done on pong
            {hook}
        }}
        machine B {{ initial state X  event ping(by: A) from A  X on ping(by) do by.pong }}
        system S {{ a: A {{ other = b }}  b: B }}
        """
    )
    fault = run.attempt("a.go").fault
    assert fault is not None
    assert fault.kind == "reentrance"


@pytest.mark.parametrize(("length", "kind"), [(DEEPEST_CASCADE + 1, None), (DEEPEST_CASCADE + 2, "endless")])
def test_sends_inside_one_another_have_a_limit(length: int, kind: str | None) -> None:
    links = "".join(f"l{n}: Link {{ behind = {f'l{n + 1}' if n + 1 < length else 'none'} }} " for n in range(length))
    run = Run(
        f"""
        machine Link {{
            param behind: Link?
            initial state Idle
            event pull from environment
            event tug from Link
            Idle on pull do if behind != none {{ for x in {{behind}} {{ x.tug }} }}
            Idle on tug do if behind != none {{ for x in {{behind}} {{ x.tug }} }}
        }}
        system S {{ {links} }}
        """
    )
    fault = run.attempt("l0.pull").fault
    assert (None if fault is None else fault.kind) == kind


def test_a_loop_visits_instances_in_the_order_in_which_they_were_made() -> None:
    run = Run(
        """
        machine Bell { initial state Still  event ring from Tower  Still on ring }
        machine Tower {
            bells: set<Bell>
            initial state Up
            event set_to(all_bells: set<Bell>), ring from environment
            Up on set_to(all_bells) do bells = all_bells
            Up on ring do for b in bells { b.ring }
        }
        system S { bells: Bell[3]  tower: Tower }
        """
    )
    run.take("tower.set_to({b0, b1, b2})")
    told = run.take("tower.ring")
    assert [x for x in told if "sends" in x] == [f"tower sends b{n}.ring" for n in range(3)]


ALARM = """
    machine Alarm {
        armed: bool
        initial state Quiet
        state Loud
        event arm, hush from environment
        Quiet on arm do armed = true
        Loud -> Quiet on hush
        ring: Quiet -> Loud after 5s when armed
    }
    system S { alarm: Alarm }
    """


def test_a_timer_that_cannot_fire_says_whether_it_was_the_guard() -> None:
    """In its source it is refused by its guard, in the world that the guard was read in; elsewhere it does not run."""
    run = Run(ALARM)
    (ring,) = (t.index for t in run.universe.machines[0].transitions if t.name == "ring")
    fault = fire(run.universe, run.world, TimerStep(0, ring)).fault
    assert fault is not None
    assert fault.refused == Refused((ring,), run.world)
    run.take("alarm.arm", "timeout alarm of ring")
    fault = fire(run.universe, run.world, TimerStep(0, ring)).fault
    assert fault is not None
    assert (fault.kind, fault.refused) == ("unhandled", None)


def test_a_let_that_others_use_twice_is_computed_once() -> None:
    """Each doubles the one before: without that, the last would be computed two to the sixtieth times."""
    lets = "".join(f"let d{n} = if d{n - 1} then d{n - 1} else not d{n - 1}\n" for n in range(1, 61))
    run = Run(
        f"""
        machine M {{
            lit: bool = true
            initial state S
            event go from environment
            let d0 = lit
            {lets}
            S on go when d60
        }}
        system S {{ m: M }}
        """
    )
    assert run.steps() == ["m.go"]
