"""Runs with finitely many crashes: what holds of those alone, and how they are shown."""

from __future__ import annotations

from random import Random

import pytest
from campaign import compare
from fair_runs import matters, violated
from packed_search import PLAIN, needs_compiler, own_objects
from property_runs import Explored, explored
from stepping import compiled, only_system
from tiers import enough, today

from fsmdsl.editor.editing import completions
from fsmdsl.interop.export.runs import claims
from fsmdsl.model.resolve import resolve
from fsmdsl.search import Means, explore
from fsmdsl.step import CrashStep, Universe
from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

pytestmark = pytest.mark.usefixtures(own_objects.__name__)

JOB = """module job
machine Job {
    durable n: 0..1
    initial persistent state Idle
    persistent state Busy
    final state Done
    event start, finish from environment
    Idle -> Busy on start do { n = 1; n = 0 }
    back: Busy -> Idle on finish when n == 1
    Busy -> Done on finish when n == 0
    Busy -> Idle on crash do n = 0
}
system S {
    job: Job
    environment { job.start  job.finish  OFFERS }
    RECOVER
    property p: FORMULA under FAIR
}
"""


def job(fair: str, formula: str = "eventually job in Done", offers: str = "crash", recover: str = "") -> str:
    text = JOB.replace("OFFERS", offers).replace("RECOVER", recover).replace("FORMULA", formula)
    return text.replace(" under FAIR", f" under {fair}" if fair else "")


def outcome(text: str, means: Means = PLAIN) -> str:
    model = compiled(text)
    return next(v.outcome for v in explore(model, only_system(model), means=means).verdicts if v.kind == "property")


@pytest.mark.parametrize(
    "offers",
    ["crash", "crash between writes", "crash of job", "crash  crash during recovery", "crash  crash of job"],
)
def test_crashes_come_to_an_end_whatever_their_kind(offers: str) -> None:
    recover = "recover { if job in Busy { job.n = 0 } }" if "recovery" in offers else ""
    # a step that is cut short does not count, so a crash in the middle alone does not keep it off
    whole = "holds" if offers == "crash between writes" else "violated"
    for fair, wanted in [
        ("", "violated"),
        ("fair start, finish", whole),
        ("strong fair start", whole),
        ("finitely many crashes", "holds"),
        ("fair start, finish and finitely many crashes", "holds"),
    ]:
        text = job(fair, offers=offers, recover=recover)
        assert outcome(text) == wanted, (offers, fair)
        assert explored(text).outcomes() == {"p": wanted}


FAILING = """module failing
machine Job {
    durable n: 0..1
    initial persistent state Idle
    persistent state Busy
    persistent final state Failed
    event start, finish from environment
    Idle -> Busy on start
    Busy -> Failed on finish
    low: Failed on crash do n = 1 - n
    Idle -> Failed on crash
}
system S {
    job: Job
    environment { job.start  job.finish  crash when job in Failed or job in Idle }
    property p: FORMULA under FAIR
}
"""


@pytest.mark.parametrize(
    ("formula", "fair", "wanted", "steps"),
    [
        # where only a crash is possible, a run may end
        ("eventually job in Busy", "finitely many crashes", "violated", ["crash"]),
        ("always eventually job.n == 0", "finitely many crashes", "violated", ["crash", "crash"]),
        ("eventually always job.n == 0", "finitely many crashes", "violated", ["crash", "crash"]),
        ("(eventually always job.n == 0) or eventually always job.n == 1", "finitely many crashes", "holds", None),
        # it does not stay there before it goes on with a crash
        ("always (job.n == 1 => next job.n == 0)", "finitely many crashes", "violated", ["crash", "crash"]),
        ("always (job.n == 1 => ((next job.n == 0) or always job.n == 1))", "finitely many crashes", "holds", None),
        # of what only a crash does, nothing is promised
        ("always eventually job.n == 0", "strong fair low", "holds", None),
        ("always eventually job.n == 0", "strong fair low, finitely many crashes", "violated", ["crash", "crash"]),
        # what the beginning of a run breaks
        ("always (job in Idle => next job in Busy)", "finitely many crashes", "violated", ["crash"]),
    ],
)
def test_a_run_may_end_where_nothing_but_a_crash_is_possible(
    formula: str, fair: str, wanted: str, steps: list[str] | None
) -> None:
    x = explored(FAILING.replace("FORMULA", formula).replace("FAIR", fair))
    assert x.outcomes() == {"p": wanted}
    if steps is not None:
        trace = x.trace("p")
        assert (trace.steps(), trace.loop) in ((steps, len(steps)), (steps, None))
        assert x.why("p")


def test_a_loop_has_no_crash_though_one_leads_along_it_as_well() -> None:
    text = """
    machine M { initial persistent state A  persistent state B  event go, back from environment
                A -> B on go  B -> A on back  A -> B on crash  B -> A on crash }
    system S { m: M  environment { crash  m.go  m.back }  property p: eventually always m in B under FAIR }
    """
    for text_ in (text.replace("crash  m.go  m.back", "m.go  m.back  crash"), text):
        x = explored(text_.replace("FAIR", "finitely many crashes"))
        trace = x.trace("p")
        assert trace.loop is not None
        assert trace.steps()[trace.loop :] in (["m.go", "m.back"], ["m.back", "m.go"])


def test_what_only_a_crash_does_is_not_promised_though_something_else_goes_on() -> None:
    text = """
    machine M { durable n: 0..1  initial persistent state A  event poke from environment
                A on poke  low: A on crash do n = 1 }
    system S { m: M  environment { crash  m.poke }  property p: eventually m.n == 1 under FAIR low }
    """
    assert explored(text.replace("FAIR", "fair")).outcomes() == {"p": "holds"}
    x = explored(text.replace("FAIR", "finitely many crashes, strong fair"))
    assert (x.outcomes(), x.trace("p").steps()) == ({"p": "violated"}, ["m.poke"])


def test_with_stutter_a_run_stands_still() -> None:
    model = compiled(job("finitely many crashes"))
    found = explore(model, only_system(model), means=PLAIN, stutter=True).verdicts
    (v,) = [v for v in found if v.kind == "property"]
    assert v.outcome == "violated"
    assert v.trace is not None
    assert (v.trace.steps(), v.trace.loop) == ([], 0)
    model = compiled(job("fair start, finish, finitely many crashes"))
    found = explore(model, only_system(model), means=PLAIN, stutter=True).verdicts
    assert [v.outcome for v in found if v.kind == "property"] == ["holds"]


def test_who_is_stuck_may_still_be_freed_by_a_crash() -> None:
    text = job("finitely many crashes", "always not stuck(job)").replace("Busy -> Done on finish when n == 0", "")
    assert outcome(text) == "holds"
    assert outcome(text.replace("OFFERS", "").replace(" crash }", " }")) == "violated"


def test_an_answer_says_of_which_runs_nothing_is_true() -> None:
    text = job("finitely many crashes", "(always eventually job in Idle) => eventually job in Busy")
    model = compiled(text)
    (v,) = [v for v in explore(model, only_system(model), means=PLAIN).verdicts if v.kind == "property"]
    assert (v.outcome, [x.message for x in v.untested]) == (
        "holds", ["`always eventually job in Idle` is true of no run with finitely many crashes"]
    )  # fmt: skip


# Text ----------------------------------------------------------------------------------------------------------------


def found_in(text: str) -> list[str]:
    parsed = parse(Source("test.fsm", text))
    return [d.message for d in (*parsed.diagnostics, *resolve([parsed.module]).diagnostics)]


@pytest.mark.parametrize(
    "fair",
    [
        "finitely many crashes",
        "finitely many crashes, strong fair finish, start",
        "fair start, finish, finitely many crashes and strong fair back",
        "fair start and finitely many crashes and finitely many crashes",
    ],
)
def test_it_joins_fairness_in_any_order(fair: str) -> None:
    (p,) = only_system(compiled(job(fair))).properties
    assert p.finite
    assert [x.names for x in p.under if x.strength == "strong"] == ([("finish", "start")] if "g fair f" in fair else
        [("back",)] if "back" in fair else [])  # fmt: skip


def test_without_it_all_runs_count() -> None:
    (p,) = only_system(compiled(job("fair start"))).properties
    assert not p.finite


def test_what_follows_it_begins_with_fair() -> None:
    assert found_in(job("finitely many crashes, start"))[0].startswith("unexpected ")
    assert found_in(job("finitely many crashes for each n"))[0].startswith("unexpected ")
    assert found_in(job("finitely many"))[0].startswith("unexpected ")


def test_its_words_may_still_be_names() -> None:
    text = JOB.replace("start", "finitely").replace("back:", "many:").replace("n: 0..1", "crashes: 0..1")
    text = text.replace("n = ", "crashes = ").replace("n == ", "crashes == ").replace("OFFERS", "crash")
    text = text.replace("RECOVER", "").replace("FORMULA", "eventually job in Done")
    (p,) = only_system(compiled(text.replace("FAIR", "fair many, finitely, finitely many crashes"))).properties
    assert (p.finite, [x.names for x in p.under]) == (True, [("many", "finitely")])


def test_an_editor_offers_the_words() -> None:
    for fair in ("finitely ", "fair start, finitely "):
        text = job("FAIR")
        text = text[: text.index("FAIR")] + fair
        assert "many" in [c.label for c in completions(text, len(text))]


def test_spin_is_told_why_it_is_not_asked() -> None:
    model = compiled(job("finitely many crashes"))
    found = claims(Universe(model, only_system(model)), lambda n, _: f"c{n}", lambda kind, n: f"{kind}{n}")
    assert found.without == {
        "p": "runs with finitely many crashes may end where only a crash is possible, which SPIN's do not"
    }  # fmt: skip


def test_the_formatter_keeps_it() -> None:
    text = format_source(parse(Source("test.fsm", job("fair  start,finitely   many crashes"))))
    assert "under fair start, finitely many crashes\n" in text


# Both searches, and the textbook -------------------------------------------------------------------------------------


def crashing(seed: int) -> str:
    """Two who work and crash, alone and together, in the middle of steps and of recovery."""
    r = Random(seed)
    offers = r.sample(
        ["crash", "crash between writes", "crash when b in K", "crash of a", "crash of b", "crash of a, b"]
        , r.randrange(1, 4))  # fmt: skip
    recover = r.choice(["", "", "recover { if a in T { a.n = 1 } else { a.n = 0 } }", "recover { b.mend }"])
    if recover and r.random() < 0.5:
        offers.append("crash during recovery")
    names = ["go", "end", "row", "work", "back", "A.on_crash", "work for each k", "go for each n"]
    under = [f"{r.choice(['fair', 'strong fair'])} {x}" for x in r.sample(names, r.randrange(4))]
    under += ["finitely many crashes"] * (r.random() < 0.8)
    r.shuffle(under)
    formula = r.choice(["always eventually b in L", "b in L ~> b in K", "b in K ~> b in L", "eventually always b in K"])
    durable = r.choice(["durable ", ""]) if "a.n" not in recover else "durable "
    return f"""module crashing
machine A {{
  param b: B
  {durable}n: 0..1
  initial persistent state S
  persistent state T
  event go(n: 0..1), end from environment
  row: S -> {r.choice("ST")} on go(n) when n == {r.randrange(2)} do {{ b.work(n) }}
  {r.choice("ST")} -> {r.choice("ST")} on go(n) when n == {r.randrange(2)} and n == 1 do {{ b.work(1 - n) }}
  {r.choice("ST")} -> {r.choice("ST")} on end
  on_crash: {r.choice("ST")} -> {r.choice("ST")} on crash
  priority row > go
}}
machine B {{
  n: 0..1
  initial persistent state K
  {r.choice(["persistent final", "persistent"])} state L
  event work(k: 0..1) from A
  event mend
  K -> {r.choice("KL")} on work(k) when k == {r.randrange(2)} do {{ n = k }}
  L -> {r.choice("KL")} on work(k) when k == {r.randrange(2)} and n == {r.randrange(2)}
  back: {r.choice("KL")} -> {r.choice("KL")} on mend
  ignore work, mend in K, L
}}
system S {{
  a: A {{ b = b }}
  b: B
  environment {{ some n in {{0, 1}}: a.go(n)  a.end {"  ".join(offers)} }}
  {recover}
  property p: {formula}{" under " + " and ".join(under) if under else ""}
}}
"""


def test_verdicts_are_those_of_the_textbook() -> None:
    verdicts, decided = [], 0
    for seed in today(range(300)):
        model = compiled(crashing(seed))
        x = Explored(model, only_system(model))
        (q,) = x.plan.questions
        assert len(x.worlds) < 200
        wrong = violated(x, q)
        assert (x.answers["p"].outcome == "violated") == wrong, seed
        verdicts.append(wrong)
        decided += matters(x, q)
        if wrong and q.finite:
            trace = x.trace("p")
            repeated = [] if trace.loop is None else trace.entries[trace.loop :]
            assert not any(isinstance(e.step, CrashStep) for e in repeated)
            assert x.why("p")
    assert sum(verdicts) >= enough(50)
    assert decided >= enough(15)


def test_both_searches_mark_the_same() -> None:
    for seed in today(range(60)):
        model = compiled(crashing(seed))
        assert compare(model, only_system(model), 300, random=Random(seed)) == ("the same", []), seed


@pytest.mark.full(reason="compiled searches")
@needs_compiler
def test_machine_code_marks_the_same() -> None:
    for seed in (3, 14, 22):
        model = compiled(crashing(seed))
        assert compare(model, only_system(model), 300, compiled=True, random=Random(seed)) == ("the same", [])


def test_members_stay_exchangeable() -> None:
    text = """module many
    machine A { initial persistent state S  persistent state T  event go from environment
      S -> T on go  T -> S on crash }
    system S { as: A[3] symmetric
      environment { some a in as: a.go  some a in as: crash of a  crash }
      property p: eventually (all a in as: a in T) under WHAT }
    """
    model = compiled(text.replace("WHAT", "finitely many crashes"))
    x = explore(model, only_system(model), means=Means(compiled=False))
    assert x.reduced == ("as",)
    assert [v.outcome for v in x.verdicts if v.kind == "property"] == ["holds"]
    model = compiled(text.replace(" under WHAT", ""))
    x = explore(model, only_system(model), means=Means(compiled=False))
    assert [v.outcome for v in x.verdicts if v.kind == "property"] == ["violated"]
