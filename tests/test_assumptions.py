"""What verdicts about runs assume: steps that no fairness promises, and promises that are too weak."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import pytest
from campaign import systems
from click.testing import CliRunner
from random_systems import text_of
from stepping import compiled, only_system
from test_bounds import PLAIN
from tiers import today

from fsmdsl import model as m
from fsmdsl.cli.parser import cli
from fsmdsl.dataclasses import replace
from fsmdsl.report.exploration import details, exploration
from fsmdsl.runs.liveness import assumptions
from fsmdsl.runs.trace import Trace
from fsmdsl.runs.verdicts import judge_runs
from fsmdsl.search import Exploration, Limits, Means, Verdict, diagnostics, explore
from fsmdsl.step import Universe
from fsmdsl.step.describe import describe
from fsmdsl.text.budget import LimitError

APP = """module app
machine App {
    asks: 0..1 = 1
    initial state Accepted
    state Running
    event more, drop, start from environment
    drop:  Accepted on drop when asks == 1 do asks = 0
    more:  Accepted on more when asks == 0 do asks = 1
    start: Accepted -> Running on start when asks == 1
    again: Running on more
}
system One {
    app: App
    PROPERTIES
}
"""
LEFT = "app in Accepted and app.asks == 0 ~> app.asks > 0 or app not in Accepted"


def explored(text: str, means: Means = PLAIN, limits: Limits | None = None, *, stutter: bool = False) -> Exploration:
    model = compiled(text)
    return explore(model, only_system(model), limits, means=means, stutter=stutter)


def verdicts(text: str, *, stutter: bool = False) -> dict[str, Verdict]:
    return {v.name: v for v in explored(text, stutter=stutter).verdicts if v.kind == "property"}


def app(*properties: str) -> str:
    return APP.replace("PROPERTIES", "\n    ".join(f"property {x}" for x in properties))


def relies(text: str, name: str = "p") -> tuple[str, ...]:
    v = verdicts(text)[name]
    assert v.outcome == "holds"
    return () if v.relies is None else v.relies.steps


# What has to come ----------------------------------------------------------------------------------------------------


def test_the_event_is_named_with_the_run_that_breaks_the_property() -> None:
    v = verdicts(app(f"p: {LEFT}"))["p"]
    assert v.relies is not None
    assert (v.outcome, v.relies.steps) == ("holds", ("App.more",))
    assert (
        v.relies.headline
        == "relies on `App.more`, which no fairness assumption guarantees: a run that takes no further step violates it"
    )
    assert v.trace is not None
    assert (v.trace.steps(), v.trace.loop) == (["app.drop"], 1)
    assert v.explanation == (v.relies.headline, *v.relies.reasons)
    assert v.relies.reasons[0] == "after step 1, `app in Accepted and app.asks == 0` holds"


def test_the_run_is_what_stuttering_shows() -> None:
    """The verdict beside the one with `--stutter`: each that relies on something is violated there, and no other."""
    text = app(
        f"p: {LEFT}",
        f"promised: {LEFT} under fair more",
        f"other: {LEFT} under fair drop",
        "safe: always app.asks <= 1",
        "empty: always eventually (app.asks == 1 or app in Running)",
        "stays: always (app in Running => always app in Running)",
        "first: app.asks == 1",
    )
    plain, still = verdicts(text), verdicts(text, stutter=True)
    assert {n for n, v in plain.items() if v.relies is not None} == {"p", "other", "empty"}
    for name, v in plain.items():
        assert v.outcome == "holds"
        assert still[name].outcome == ("holds" if v.relies is None else "violated")
        if v.trace is not None:
            shown = still[name].trace
            assert shown is not None
            assert v.trace.steps() == shown.steps()
        assert still[name].relies is None


@pytest.mark.parametrize(
    "formula", ["always (app in Accepted => next (app in {Accepted, Running}))", "next app.asks < 2"]
)
def test_what_counts_steps_is_not_asked(formula: str) -> None:
    assert relies(app(f"p: {formula}")) == ()


def test_next_that_stuttering_breaks_at_once_relies_on_nothing() -> None:
    text = """
    machine M { initial state A  state B  event go from environment  A -> B on go  B -> A on go }
    system S { m: M  property p: always (m in A => next m in B) }
    """
    assert relies(text) == ()
    assert verdicts(text, stutter=True)["p"].outcome == "violated"


STEPS = """
channel c: lossy fifo[1] to Box
machine Box {
    initial state Shut
    state Asked
    state Armed
    state Open
    event knock from environment
    event mail from c
    action look -> yes | no
    Shut -> Asked on knock do look
    Asked -> Armed on look.yes do send c.mail
    Asked -> Armed on look.no do send c.mail
    Armed -> Open on mail
    late: Open -> Shut after 1s
    Open -> Shut on crash
}
system S { b: Box  environment { b.knock  CRASH }  property p: FORMULA }
"""


@pytest.mark.parametrize(
    ("formula", "crash", "steps"),
    [
        ("b in Shut ~> b not in Shut", "", ("Box.knock",)),
        ("b in Asked ~> b not in Asked", "", ("Box.look.yes", "Box.look.no")),
        ("size(c) == 1 ~> size(c) == 0", "", ("deliver c", "lose c")),
        ("b in Open ~> b not in Open", "", ("Box.late",)),
        ("b in Open ~> b not in Open", "crash when b in Open", ("Box.late", "crash")),
        ("b in Open ~> b not in Open under finitely many crashes", "crash when b in Open", ("Box.late",)),
        ("b in Open ~> b not in Open under fair late", "", ()),
        ("size(c) == 1 ~> size(c) == 0 under fair deliver c", "", ()),
    ],
)
def test_every_kind_of_step_has_a_name(formula: str, crash: str, steps: tuple[str, ...]) -> None:
    assert relies(STEPS.replace("FORMULA", formula).replace("CRASH", crash)) == steps


@pytest.mark.parametrize("state", ["b in Shut", "b in Asked", "size(c) == 1", "b in Open"])
def test_a_promise_of_the_names_settles_it(state: str) -> None:
    """What the note names can be written after `under fair`, except losses, which nobody promises."""
    text = STEPS.replace("CRASH", "").replace("FORMULA", f"{state} ~> not ({state})")
    names = [x for x in relies(text) if not x.startswith("lose ")]
    assert names
    assert relies(text.replace(f"not ({state})", f"not ({state}) under fair {', '.join(names)}")) == ()


def test_a_timer_without_a_label_is_named_by_its_state() -> None:
    text = STEPS.replace("late: ", "").replace("CRASH", "").replace("FORMULA", "b in Open ~> b not in Open")
    assert relies(text) == ("timeout of Box in Open",)


def test_a_step_that_fails_does_not_come() -> None:
    text = """
    machine M { n: 0..1  initial state A  event go, bad from environment  A on go when n == 0 do n = 1
        A on go when n == 1 do n = 0
        A on bad do n = n + 2 }
    system S { m: M  property p: m.n == 1 ~> m.n == 0 }
    """
    assert relies(text) == ("M.go",)


def test_a_run_that_leaves_the_bound_does_not_stand_still() -> None:
    text = app("p: always eventually app.asks == 1").replace("app: App", "app: App  explore while app.asks == 1")
    assert relies(text) == ()


def test_members_of_symmetric_sets() -> None:
    text = """
    machine M { initial state A  state B  event go, back from environment  A -> B on go  B -> A on back }
    system S { ms: M[3] symmetric  property p: always eventually (some m in ms: m in B) }
    """
    for means in (PLAIN, Means(compiled=False)):
        (v,) = explored(text, means).reliances
        assert v.relies is not None
        assert v.relies.steps == ("M.go",)


# Promises that are too weak ------------------------------------------------------------------------------------------

DOOR = """
machine Door {
    initial state Shut
    state Ajar
    state Open
    event nudge, pull, knock from environment
    nudge: Shut -> Ajar on nudge
    back:  Ajar -> Shut on nudge
    pull:  Ajar -> Open on pull
    Shut, Ajar on knock
}
system S { d: Door  property p: eventually d in Open under UNDER }
"""


@pytest.mark.parametrize(
    ("under", "advice"),
    [
        ("fair nudge, pull, strong fair knock", ["holds with `strong fair pull`"]),
        ("fair nudge, Door.pull", ["holds with `strong fair Door.pull`"]),
        ("fair pull, strong fair nudge", ["holds with `strong fair pull`"]),
        ("fair pull", []),
        ("fair nudge, knock", []),
        ("strong fair nudge", []),
    ],
)
def test_one_strong_promise_is_enough(under: str, advice: list[str]) -> None:
    v = verdicts(DOOR.replace("UNDER", under))["p"]
    assert v.outcome == "violated"
    assert [x for x in v.explanation if x.startswith("holds with")] == advice
    for x in advice:
        name = x.split("`")[1].removeprefix("strong fair ")
        stronger = f"{under} and strong fair {name}"
        assert verdicts(DOOR.replace("UNDER", stronger))["p"].outcome == "holds"


def test_deliveries_that_are_too_weak() -> None:
    text = """
    channel c: lossy fifo[1] to Box
    machine Sender { initial state Up  event again from environment  Up on again when size(c) == 0 do send c.mail }
    machine Box { initial state Shut  state Open  event mail from c  Shut -> Open on mail  ignore mail in Open }
    system S { s: Sender  b: Box  property p: eventually b in Open under fair again, deliver c }
    """
    assert "holds with `strong fair deliver c.mail`" in verdicts(text)["p"].explanation


# Runs that a promise excludes ----------------------------------------------------------------------------------------


def advice(text: str) -> list[str]:
    v = verdicts(text)["p"]
    assert v.outcome == "violated"
    return [x for x in v.explanation if "excludes this run" in x]


def test_a_step_out_of_the_loop_that_never_happens_is_named() -> None:
    """`knock` changes nothing, and `pull` is not possible where the loop is."""
    (line,) = advice(DOOR.replace(" under UNDER", ""))
    begins = "`d.nudge` is possible in every state of the loop but never happens; "
    assert line == begins + "if it is certain to happen, `under fair Door.nudge` excludes this run"


def test_what_is_possible_now_and_then_is_to_be_strongly_fair() -> None:
    """The door goes to and fro, and `pull` is possible only where it is ajar."""
    (line,) = advice(DOOR.replace("UNDER", "fair nudge").replace("Shut, Ajar on knock", "shut: Open -> Shut on knock"))
    begins = "`d.pull` is possible in some states of the loop but never happens; "
    assert line == begins + "if it is certain to happen, `under strong fair Door.pull` excludes this run"


def test_a_promise_that_is_known_to_be_enough_is_the_only_advice() -> None:
    text = DOOR.replace("UNDER", "fair nudge, Door.pull")
    assert advice(text) == []
    assert "holds with `strong fair Door.pull`" in verdicts(text)["p"].explanation


@pytest.mark.parametrize(
    ("rows", "quotes"),
    [
        ("late: A -> B after 3s  A on tick", ["timeout m of late", "under fair M.late"]),
        ("A -> B after 3s  A on tick", []),
        ("A on tick do ask  A on ask.no  A -> B on ask.yes", ["m.ask.yes", "under strong fair M.ask.yes"]),
        (
            "A on tick when size(c) == 0 do send c.mail  A on tock  A -> B on mail",
            ["deliver c.mail", "under strong fair deliver c"],
        ),
    ],
)
def test_timers_answers_and_messages(rows: str, quotes: list[str]) -> None:
    """A timer without a label cannot be promised."""
    text = f"""
    channel c: lossy fifo[1] to M
    machine M {{
        async action ask -> yes | no
        initial state A
        state B
        event tick, tock from environment
        event mail from c
        {rows}
        ignore mail in {"B" if "on mail" in rows else "A, B"}
    }}
    system S {{ m: M  property p: eventually m in B under fair tick }}
    """
    assert [quote for line in advice(text) for quote in line.split("`")[1::2]] == quotes


def test_of_several_instances_those_are_named_that_never_move() -> None:
    """`ms[0]` goes to and fro forever. The promise is about all of them, but `ms[0].go` happens."""
    text = """
    machine M { initial state A  state B  event go, back from environment  A -> B on go  B -> A on back }
    system S { ms: M[3]  property p: always eventually ms[1] in B }
    """
    assert advice(text) == [
        "`m1.go`, `m2.go` are possible in every state of the loop but never happen; "
        "if they are certain to happen, `under fair M.go` excludes this run"
    ]


def test_a_run_that_ends_has_no_advice() -> None:
    text = """
    machine M { initial state A  state B  event go from environment  A -> B on go }
    system S { m: M  property p: always m in A }
    """
    assert advice(text) == []


def test_a_long_loop_is_not_looked_at() -> None:
    with patch.object(assumptions, "MAX_LOOP", 0):
        assert advice(DOOR.replace(" under UNDER", "")) == []


@pytest.mark.parametrize("seed", today(range(64)))
def test_advice_is_true(seed: int) -> None:
    """With the promise, another run violates the property, or none does. That is decided on the graph."""
    for model, system in systems(text_of(seed)):
        universe = Universe(model, system)
        for p in system.properties:
            run = violating(model, system, p)
            for x in [] if run is None else assumptions.exclusions(universe, p, run):
                assert run is not None
                assert run.loop is not None
                happen = [describe(universe, e.step, world) for world, e in [*run.befores()][run.loop :]]
                assert not any(text == step or text.startswith(f"{step}(") for text in happen for step in x.steps)
                stricter = replace(p, under=(*p.under, x.promise))
                other = violating(model, system, stricter)
                assert other != run
                others = [] if other is None else assumptions.exclusions(universe, stricter, other)
                assert x.promise not in [y.promise for y in others]


def violating(model: m.Model, system: m.System, p: m.Property) -> Trace | None:
    """A run that violates a property."""
    alone = replace(system, invariants=(), properties=(p,))
    (v,) = (v for v in explore(model, alone, Limits(500), means=PLAIN).verdicts if v.kind == "property")
    return v.trace if v.outcome == "violated" else None


# Limits --------------------------------------------------------------------------------------------------------------


def test_a_graph_with_too_many_steps_is_not_asked_and_that_is_said() -> None:
    text = app(f"p: {LEFT}", "q: next (app.asks == 1 or app.asks == 0)")
    with patch.object(judge_runs, "MAX_EDGES", 3):
        x = explored(text)
    assert (x.reliances, {v.name: v.unexamined for v in x.verdicts if v.kind == "property"}) == (
        (),
        {"p": "the system has more than 3 transitions", "q": ""},  # `next` tells a run from one that stands still
    )
    (note,) = (line for line in details(x, compiled(text)) if "not examined" in line)
    assert note == (
        "  note: not examined whether property p relies on steps that no fairness assumption guarantees"
        " (the system has more than 3 transitions; `fsm verify --stutter` decides it)"
    )
    assert [v["relies"] for v in exploration(x, compiled(text))["verdicts"] if v["kind"] == "property"] == [None, []]
    with patch.object(assumptions, "MAX_EDGES_FOR_EACH", 3):
        explanation = verdicts(DOOR.replace("UNDER", "fair nudge, pull"))["p"].explanation
    assert not any(line.startswith("holds with") for line in explanation)


def test_a_limit_in_between_changes_no_verdict() -> None:
    def late(*_: object) -> None:
        raise LimitError("stopped after 5 seconds")

    whole = explored(app(f"p: {LEFT}"))
    with patch.object(judge_runs, "standing_still", late):
        x = explored(app(f"p: {LEFT}"))
    assert [(v.name, v.outcome, v.basis) for v in x.verdicts] == [(v.name, v.outcome, v.basis) for v in whole.verdicts]
    assert (len(whole.reliances), x.reliances, x.stopped) == (1, (), None)
    assert [v.unexamined for v in x.verdicts if v.kind == "property"] == ["stopped after 5 seconds"]
    assert [v.unexamined for v in whole.verdicts if v.kind == "property"] == [""]


def test_a_search_that_was_cut_short_says_nothing() -> None:
    assert explored(app(f"p: {LEFT}"), limits=Limits(2)).reliances == ()


# Formats -------------------------------------------------------------------------------------------------------------


def test_every_format_says_it(tmp_path: Path) -> None:
    spec = tmp_path / "app.fsm"
    spec.write_text(app(f"p: {LEFT}", f"q: {LEFT}"))
    headline = "relies on `App.more`, which no fairness assumption guarantees"

    def printed(*options: str) -> str:
        done = CliRunner().invoke(cli, ["verify", *options, str(spec)])
        assert done.exit_code == 0
        return done.output

    assert " ".join(printed().split()).count(f"note: property p, property q {headline}") == 1
    assert printed("--all").count(headline) == 2
    (system,) = json.loads(printed("--format", "json"))["systems"]
    assert [v["relies"] for v in system["verdicts"]][-2:] == [["App.more"], ["App.more"]]
    results = json.loads(printed("--format", "sarif"))["runs"][0]["results"]
    assert [(x["ruleId"], x["level"]) for x in results] == [("FSM312", "note")] * 2
    assert "codeFlows" in results[0]
    assert f"**FSM312** `p` {headline}" in printed("--format", "markdown")


def test_a_note_at_the_property() -> None:
    (d,) = (d for d in diagnostics(explored(app(f"p: {LEFT}"))) if d.rule.code == "FSM312")
    assert d.span.quote.startswith("property p:")
    assert d.run == "run: app.drop, then nothing more"


def test_the_report_says_it_beside_the_verdict(tmp_path: Path) -> None:
    spec, out = tmp_path / "app.fsm", tmp_path / "page"
    spec.write_text(app(f"p: {LEFT}"))
    done = CliRunner().invoke(cli, ["report", str(spec), "--out", str(out)])
    assert "0 violations" in done.output
    assert (
        "<li>relies on <code>App.more</code>, which no fairness assumption guarantees"
        in (out / "index.html").read_text()
    )
