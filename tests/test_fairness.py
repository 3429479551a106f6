"""Temporal properties of systems: what words mean, and what fairness promises."""

from __future__ import annotations

import pytest
from property_runs import Explored, explored, lamp
from stepping import compiled, only_system

from fsmdsl.search import lines
from fsmdsl.step import enabled, fire

# Systems -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "holds"),
    [
        ("lamps[0] in Off ~> lamps[0] in On", True),
        ("always eventually lamps[0] in On", True),
        ("eventually always lamps[0] in On", False),
        ("always (lamps[0] in Off => next lamps[0] in On)", True),
        ("always (lamps[0] in Off => next next lamps[0] in On)", False),
        ("lamps[0] in Off until lamps[0] in On", True),
        ("lamps[0] in Off until lamps[0] in Broken", False),
        ("not eventually lamps[0] in Broken", True),
        ("eventually lamps[0] in Broken", False),
        ("(always lamps[0] in Off) or eventually lamps[0] in On", True),
        ("(eventually lamps[0] in On) == (eventually lamps[0] in Off)", True),
        ("(eventually lamps[0] in On) != (eventually lamps[0] in Broken)", True),
        ("if lamps[0] in On then eventually lamps[0] in Broken else next lamps[0] in On", True),
        ("if lamps[0] in Off then eventually lamps[0] in Broken else next lamps[0] in On", False),
        ("not (if lamps[0] in Off then eventually lamps[0] in Broken else next lamps[0] in On)", True),
        ("not (lamps[0] in Off until lamps[0] in Broken)", True),
        ("not (lamps[0] in Off ~> lamps[0] in Broken)", True),
        ("lamps[0] in Off", True),
        ("lamps[0] in On", False),
    ],
)
def test_words(formula: str, holds: bool) -> None:
    assert lamp(formula).outcomes() == {"p": "holds" if holds else "violated"}


def test_one_of_many_may_be_left_out_unless_it_is_treated_fairly() -> None:
    assert lamp("all l in lamps: eventually l in On", 2).outcomes() == {"p": "violated"}
    assert lamp("all l in lamps: eventually l in On under fair press", 2).outcomes() == {"p": "holds"}


def test_the_instance_is_named() -> None:
    x = lamp("all l in lamps: always (l in Off => next l in Off)", 2)
    (found,) = x.answers.values()
    assert [b.claim.bindings for b in found.breaches] == [("l = l0",), ("l = l1",)]
    assert x.trace("p", 1).steps() == ["l1.press"]
    assert x.why("p") == ["for l = l0: in the beginning, `l in Off` holds",
                          "for l = l0: after step 1, `l in Off` is false: l is in On"]  # fmt: skip


# A machine that can do something else again and again, so that what is fair is not always possible
DOOR = """
machine Door {
    initial state Shut  state Open  state Out
    event push, leave from environment
    Shut -> Open on push  Open -> Shut on push  out: Open -> Out on leave  Out on push
}
system S { door: Door  property p: eventually door in Out under %s }
"""


def test_weak_fairness_needs_what_is_possible_all_along_strong_what_is_again_and_again() -> None:
    weak = explored(DOOR % "fair leave")
    assert weak.outcomes() == {"p": "violated"}
    assert weak.trace("p").steps() == ["door.push", "door.push"]
    assert weak.trace("p").loop == 0
    assert explored(DOOR % "strong fair leave").outcomes() == {"p": "holds"}
    assert explored(DOOR % "fair push and strong fair Door.leave").outcomes() == {"p": "holds"}


def test_a_comma_parts_names_and_promises() -> None:
    x = explored(DOOR % "fair push, strong fair leave, out and fair leave")
    assert x.outcomes() == {"p": "holds"}
    (p,) = x.universe.system.properties
    promised = [("weak", ("push",)), ("strong", ("leave", "out")), ("weak", ("leave",))]
    assert [(f.strength, f.names) for f in p.under] == promised
    assert [f.span.text for f in p.under] == ["fair push", "strong fair leave, out", "fair leave"]


@pytest.mark.parametrize("name", ["leave", "out", "Door.leave", "Door.out", "test.Door.leave"])
def test_fairness_goes_by_event_or_label_with_or_without_the_machine(name: str) -> None:
    x = explored(DOOR % f"strong fair {name}")
    assert x.outcomes() == {"p": "holds"}
    assert [(o.instance, o.name) for o in x.plan.obligations] == [(0, name)]


def test_a_name_that_only_an_amendment_has_is_told() -> None:
    model = compiled(DOOR % "strong fair House.leave", as_documented=True)
    (found,) = Explored(model, only_system(model)).answers.values()
    assert (found.outcome, found.question.unanswered) == ("violated", ("House.leave",))


def test_fairness_of_answers_timers_and_messages() -> None:
    text = """
    channel c: bag[1] to Job
    machine Job {
        initial state Idle  state Busy  final state Done
        event go from environment  event note from c  event look from environment
        async action work -> ok | err
        Idle -> Busy on go do work  Busy -> Idle on work.err  Busy -> Done on work.ok
        late: Idle -> Done after 5s
        Idle on look do { if size(c) == 0 { send c.note } }
        note: Idle -> Done on note  ignore note in Busy  Busy on look
    }
    system S { job: Job  property p: eventually job in Done under %s }
    """
    assert explored(text % "fair go").outcomes() == {"p": "violated"}
    assert explored(text % "fair work.err").outcomes() == {"p": "violated"}
    assert explored(text % "fair late").outcomes() == {"p": "violated"}
    assert explored(text % "strong fair late").outcomes() == {"p": "holds"}
    assert explored(text % "strong fair go and strong fair work.ok").outcomes() == {"p": "holds"}
    assert explored(text % "strong fair note").outcomes() == {"p": "violated"}  # it may be ignored in Busy each time


def test_an_event_that_another_machine_sends_counts_for_its_receiver() -> None:
    text = """
    machine Boss { param worker: Worker  initial state On  event order, idle from environment
                   On on order do worker.work  On on idle }
    machine Worker { initial state Rest  state Done  event work from Boss  Rest -> Done on work  ignore work in Done }
    system S { boss: Boss { worker = worker }  worker: Worker  property p: eventually worker in Done under fair %s }
    """
    assert explored(text % "idle").outcomes() == {"p": "violated"}
    assert explored(text % "work").outcomes() == {"p": "holds"}
    assert explored(text % "order").outcomes() == {"p": "holds"}


def test_an_event_that_is_ignored_happens() -> None:
    """Every call may come while the ear is closed."""
    text = """
    machine Ear { initial state Closed  state Open  state Heard  event tick from environment  event call from Mouth
                  Closed -> Open on tick  Open -> Closed on tick  heard: Open -> Heard on call
                  ignore call in Closed, Heard  ignore tick in Heard }
    machine Mouth { param ear: Ear  initial state On  event speak from environment  On on speak do ear.call }
    system S { ear: Ear  mouth: Mouth { ear = ear }  property p: eventually ear in Heard under strong fair %s }
    """
    x = explored(text % "call, tick")
    assert x.outcomes() == {"p": "violated"}
    loop = x.trace("p")
    assert loop.loop is not None
    assert sorted(loop.steps()[loop.loop :]) == ["ear.tick", "ear.tick", "mouth.speak"]
    assert explored(text % "heard, tick").outcomes() == {"p": "holds"}, "its transition is not what is ignored"


def test_a_step_that_a_crash_cuts_short_fulfils_nothing_but_the_crash_does() -> None:
    text = """
    machine M { durable n: 0..1  initial persistent state A  persistent state B  event go, idle from environment
                go: A -> B on go do { n = 1; n = 0 }  A on idle  back: B -> A on crash }
    system S { m: M  environment { m.go  crash between writes }  property p: eventually m in B under fair %s }
    """
    x = explored(text % "go")
    assert x.outcomes() == {"p": "holds"}
    assert explored(text % "back").outcomes() == {"p": "violated"}
    cut = [s for s in enabled(x.universe, x.universe.start) if "inside" in repr(s)]
    marks = {fire(x.universe, x.universe.start, s).world: 0 for s in cut}
    assert all(x.graph.marks[e] == 0 for e in range(x.graph.offsets[1]) if x.worlds[x.graph.targets[e]] in marks)


def test_a_run_that_ends_stays_where_it_is() -> None:
    text = """
    machine M { initial state A  final state B  event go from environment  A -> B on go }
    system S { m: M  property %s }
    """
    assert explored(text % "p: eventually always m in B").outcomes() == {"p": "holds"}
    assert explored(text % "p: always (m in B => next m in B)").outcomes() == {"p": "holds"}
    x = explored(text % "p: always eventually m in A under fair go")
    assert x.outcomes() == {"p": "violated"}
    assert (x.trace("p").steps(), x.trace("p").loop) == (["m.go"], 1)
    assert lines(x.trace("p"))[-1].strip() == "then nothing more happens"


def test_a_step_that_fails_is_no_step_of_a_run() -> None:
    x = explored("""
    machine M { n: 0..1  initial state A  event go from environment  A on go do n = n + 1 }
    system S { m: M  property p: eventually m.n == 0 and always eventually m.n == 1 }
    """)
    assert x.outcomes() == {"p": "holds"}
