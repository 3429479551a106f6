"""`state of Pod`, a type whose values are the states of a machine, and `state(x)`: in every reader of a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from generating import Generated
from stepping import compiled, only_system
from test_editing import renamed
from test_meanings import explored_alike

from fsmdsl import model as m
from fsmdsl.classes.traits import beyond_tables
from fsmdsl.model.resolve import Memory, resolve
from fsmdsl.search import Means, explore
from fsmdsl.step import EventStep, Universe, Value, World, fire, initial
from fsmdsl.syntax.parse import parse
from fsmdsl.text.diagnostics import Severity
from fsmdsl.text.source import Source

PODS = """module pods
machine Pod {
    initial state Waiting { state Held  initial state Pending }
    state Running { initial state Starting  state Ready }
    final state Failed
    event hold, go, up, fail from environment
    Pending  -> Held    on hold
    Waiting  -> Running on go
    Starting -> Ready   on up
    Running  -> Failed  on fail
}
machine Watcher {
    param pod: Pod
    param other: Pod?
    seen:  state of Pod? = none
    last:  state of Pod
    met:   set<state of Pod> = {Running, Failed}
    log:   list<state of Pod>[2]
    came:  bool
    initial state Idle
    state Failed
    event look, ask, forget   from environment
    event tell(s: state of Pod) from environment
    look:   Idle on look when size(log) < 2 do { seen = state(pod); last = state(pod); add state(pod) to log }
    told:   Idle on tell(s) when s in {Waiting, Failed} do { met = met + {s}; came = s == Failed }
    ignored: Idle on tell(s) when s not in {Waiting, Failed}
    ask:    Idle -> Failed on ask do last = state(other)
    forget: Idle on forget when seen in Running do { seen = none; log = [] }
    ignore look, tell, ask, forget in Failed
}
"""

SYSTEM = """system S {
    pods: Pod[2]
    w: Watcher { pod = pods[0], other = pods[1] }
    invariant agree:  w.seen == none or w.last == w.seen or w in Failed
    invariant counts: (count p in pods: state(p) == w.last) == size({p0, p1} - lacking)
    let lacking = if state(p0) == w.last then (if state(p1) == w.last then {} else {p1}) else (
        if state(p1) == w.last then {p0} else {p0, p1})
    reachable ready: w.seen == Ready and Ready in w.met
    reachable held:  w.last == Pod.Held
}
"""


def only(text: str) -> Universe:
    model = compiled(text)
    return Universe(model, only_system(model))


def field(u: Universe, world: World, instance: int, name: str) -> Value:
    return world.fields[instance][u.slots[instance][name]]


def stepped(u: Universe, world: World, instance: int, event: str, *arguments: Value) -> World:
    result = fire(u, world, EventStep(instance, event, arguments))
    assert result.fault is None
    return result.world


def problems(text: str) -> list[tuple[str, str]]:
    """What is reported of a text: rule and words."""
    parsed = parse(Source("test.fsm", text))
    found = (*parsed.diagnostics, *resolve([parsed.module]).diagnostics)
    return [(d.rule.code, f"{d.message} {d.advice or ''}") for d in found if d.severity is Severity.ERROR]


def test_its_values_are_the_leaves_and_it_begins_as_the_first_of_an_instance() -> None:
    u = only(PODS + SYSTEM)
    t = next(f.type for f in u.machines[2].fields if f.name == "last")
    assert isinstance(t, m.EnumType)
    assert (
        t.members == tuple(s.name for s in u.machines[0].leaves) == ("Held", "Pending", "Starting", "Ready", "Failed")
    )
    begun = initial(u)
    assert (field(u, begun, 2, "last"), field(u, begun, 2, "seen")) == ("Pending", None)
    assert field(u, begun, 2, "met") == {"Starting", "Ready", "Failed"}


def test_what_was_seen_stays_while_the_pod_goes_on() -> None:
    u = only(PODS + SYSTEM)
    world = stepped(u, stepped(u, initial(u), 0, "go"), 2, "look")
    world = stepped(u, stepped(u, world, 0, "up"), 2, "look")
    assert field(u, world, 2, "log") == ("Starting", "Ready")
    world = stepped(u, stepped(u, world, 2, "tell", "Held"), 2, "tell", "Failed")
    assert field(u, world, 2, "met") == {"Held", "Starting", "Ready", "Failed"}
    assert field(u, stepped(u, world, 2, "forget"), 2, "seen") is None


def test_of_none_it_is_the_fault_none() -> None:
    u = only(PODS + SYSTEM.replace(", other = pods[1]", ", other = none"))
    fault = fire(u, initial(u), EventStep(2, "ask", ())).fault
    assert fault is not None
    assert fault.kind == "none"


def test_the_packed_search_finds_what_the_definition_does() -> None:
    wanted = explored_alike(PODS + SYSTEM)
    settled = {key.name: at for key, (at, _) in wanted["settled"].items()}  # type: ignore[attr-defined]
    assert {"ready", "held"} <= settled.keys()
    assert not {"agree", "counts"} & settled.keys()


def test_others_see_the_old_state_until_it_has_changed() -> None:
    text = """module order
    machine A { peer: B? initial state Old state New event go from environment
        Old -> New on go do peer.look
        on exit(Old)  do peer.look
        on entry(New) do peer.look }
    machine B { param of: A  seen: list<state of A>[3] initial state S event look from A
        S on look do add state(of) to seen }
    system S { a: A { peer = b }  b: B { of = a }
        reachable all_three: b.seen == [Old, Old, New]
        invariant never: last_of_first_two == Old
        let last_of_first_two = if size(b.seen) < 2 then A.Old else b.seen[1] }
    """
    u = only(text)
    assert field(u, stepped(u, initial(u), 0, "go"), 1, "seen") == ("Old", "Old", "New")
    assert explored_alike(text)["states"] == 2


def test_a_name_is_a_state_where_a_state_is_wanted_and_else_a_test_of_ones_own() -> None:
    text = """module own
    machine M { seen: state of M  both: bool initial state A state B event go from environment
        A -> B on go when A and seen == A do { seen = B; both = A }
        B -> A on go when B and seen in B and state(self) == B do seen = state(self) }
    system S { m: M reachable back: m in A and m.seen == B and m.both }
    """
    assert explored_alike(text)["states"] == 3
    u = only(text)
    assert field(u, stepped(u, initial(u), 0, "go"), 0, "both") is True


def test_same_state_is_a_comparison_of_states() -> None:
    model = compiled(PODS + "system S { pods: Pod[2] invariant same: same_state(p0, p1) == (state(p0) == state(p1)) }")
    (same,) = only_system(model).invariants
    assert isinstance(same.condition, m.Binary)
    assert same.condition.left == same.condition.right


@pytest.mark.parametrize(
    ("condition", "code", "words"),
    [
        ("last == Running", "FSM103", "`Running` is a composite state, not a single value write `in Running`"),
        ("last == Runing", "FSM101", "`Pod` has no state `Runing` did you mean `Running`?"),
        ("last == Pod.Waiting", "FSM103", "or one of Held, Pending"),
        ("last in {Held, Nowhere}", "FSM101", "`Pod` has no state `Nowhere`"),
        ("state(last) == last", "FSM103", "`state` does not take these it takes an instance"),
        ("state(pod) == state(self)", "FSM103", "`state of Pod` and `state of Watcher` cannot be compared"),
        ("same_state(pod, self)", "FSM103", "`same_state` does not take these it takes two instances of one machine"),
        ("last < Held", "FSM103", "`state of Pod` has no order"),
        ("state(pod, pod) == Held", "FSM001", ""),
    ],
)
def test_what_is_wrong_is_said(condition: str, code: str, words: str) -> None:
    listed = problems(PODS.replace("    ignore look", f"    invariant {condition}\n    ignore look"))
    assert [found for found, _ in listed] == [code]
    assert words in listed[0][1]


def test_a_guard_without_an_event_reads_no_other_state() -> None:
    text = "machine M { other: M? seen: state of M initial state A state B A -> B when state(%s) == seen }"
    assert [code for code, _ in problems(text % "other")] == ["FSM107"]
    assert problems(text % "self") == []


def test_a_type_of_no_machine_is_an_error() -> None:
    assert problems("machine M { x: state of Nobody initial state A }")[0][0] == "FSM101"


def test_states_of_a_machine_of_another_module() -> None:
    pods = parse(Source("pods.fsm", PODS)).module
    user = parse(
        Source(
            "user.fsm",
            """module user import pods
            machine M { param of: pods.Pod  x: state of pods.Pod = pods.Pod.Ready
                initial state A event e from environment
                A on e when x in {Running, Failed} do x = state(of) }
            system S { p: pods.Pod m: M { of = p } }""",
        )
    ).module
    model = resolve([pods, user]).model
    assert model is not None
    assert explore(model, model.systems["user.S"], means=Means(compiled=False)).states == 18
    # states of the pod where x is Ready: 5, Pending: 5, Held: 4, Starting: 3, Failed: 1


def test_classes_hold_and_save_states(tmp_path: Path) -> None:
    g = Generated(tmp_path, PODS + SYSTEM)
    system = g.System()
    pod = g.Pod(system)
    watcher = g.Watcher(system, pod=pod, other=None)
    assert watcher.last is g.PodState.PENDING
    pod.go()
    watcher.look()
    pod.up()
    watcher.tell_(g.PodState.FAILED)
    assert (watcher.seen, watcher.last, watcher.came) == (g.PodState.STARTING, g.PodState.STARTING, True)
    assert watcher.met == {g.PodState.STARTING, g.PodState.READY, g.PodState.FAILED}
    assert system.snapshot()["machines"][1]["fields"]["log"] == ["STARTING"]
    with pytest.raises(Exception, match="PodState"):
        watcher.tell_("Failed")
    with pytest.raises(Exception, match="other"):
        watcher.ask()


def test_transitions_cannot_hold_states() -> None:
    model = compiled(PODS)
    why = beyond_tables(model, model.machines["pods.Watcher"])
    assert why is not None
    assert why[0] == "uses states as values"
    assert beyond_tables(model, model.machines["pods.Pod"]) is None


@pytest.mark.parametrize(
    ("held", "guard", "reason"),
    [
        ("record Seen { by: state of Pod? }", "f.by == none", "uses states as values"),
        ("", "wait", "reads `wait`"),
    ],
)
def test_transitions_cannot_hold_states_in_records_nor_read_wait(held: str, guard: str, reason: str) -> None:
    field = "f: Seen" if held else "f: bool"
    model = compiled(
        f"module x\nmachine Pod {{ initial state A }}\n{held}\n"
        f"machine W {{ {field}  initial state S  event go from environment  S on go when {guard} }}"
    )
    why = beyond_tables(model, model.machines["x.W"])
    assert why is not None
    assert why[0] == reason


def test_who_holds_states_of_a_machine_is_read_again_when_that_has_others() -> None:
    """An editor keeps what a machine means for as long as what it depends on stays the same."""
    holder = "machine Holder { seen: state of Pod initial state Up }"
    reader = "machine Reader { of: Holder? initial state In event e from environment In on e when of.seen == of.seen }"
    pod = "machine Pod { initial state A state B A -> B after 1s }"
    before = parse(Source("x.fsm", f"{pod} {holder} {reader}")).module
    other = parse(Source("x.fsm", "machine Pod { state B initial state C C -> B after 1s }")).module
    after = replace(before, members=(*other.members, *before.members[1:]))
    memory = Memory()
    assert resolve([before], memory=memory).model is not None
    model, fresh = resolve([after], memory=memory).model, resolve([after]).model
    assert model is not None
    assert model == fresh
    t = model.machines["x.Holder"].fields[0].type
    assert isinstance(t, m.EnumType)
    assert (t.members, t.members[t.first]) == (("B", "C"), "C")


def test_renaming_a_state_renames_it_where_it_is_a_value() -> None:
    text = PODS + SYSTEM
    changed = renamed(text, "state Ready", len("state "), "Serving")
    assert changed == text.replace("Ready", "Serving")
    assert renamed(text, "state of Pod?", len("state of "), "Box") == text.replace("Pod", "Box")
