"""`fsm verify --second-opinion graph`: the second judge of properties of runs, beside the first.

The two share no code, so each is an oracle of the other. More systems: `tests/campaign_second_opinion.py --tool graph`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import textbook_liveness as textbook
from campaign import model_of
from campaign_second_opinion import BUDGET, campaign, explored
from in_process import fsm
from planting import planted
from property_runs import translated
from seeds import seeds
from test_cli import ROOT
from test_liveness import Sample
from tiers import ROTATION, enough, share, today

from fsmdsl import model as m
from fsmdsl.interop.second_opinion import Budgeted, SecondOpinion, compare
from fsmdsl.interop.second_opinion.judge import Judge
from fsmdsl.interop.second_opinion.judge import formula as other
from fsmdsl.interop.second_opinion.judge.fair_runs import Edge, Runs, satisfiable
from fsmdsl.model.workspace import load
from fsmdsl.runs.liveness import fairness, finally_never_kernels, standstill
from fsmdsl.runs.liveness import formula as f
from fsmdsl.runs.liveness.decide import Prepared, decide
from fsmdsl.runs.liveness.engine import Plain
from fsmdsl.runs.liveness.finally_never import finally_never
from fsmdsl.runs.liveness.graph import Graph
from fsmdsl.runs.liveness.stutter import stuttering
from fsmdsl.runs.trace import Trace, run
from fsmdsl.search import Limits, Means, explore
from fsmdsl.step import EventStep, Step, Universe

# Random graphs -------------------------------------------------------------------------------------------------------


class Lively(Sample):
    """A random graph in which one can go on everywhere, and often return, so that fairness makes a difference."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        r = random.Random(seed)
        states, self.obligations = r.randint(2, 6), 3
        drawn = {(s, (s + 1) % states, 1 << r.randrange(3)) for s in range(states)}
        drawn |= {(r.randrange(states), r.randrange(states), 0) for _ in range(states)}
        self.edges = sorted(drawn)
        self.letters = [r.getrandbits(3) & r.getrandbits(3) for _ in range(states)]
        offsets = [sum(e[0] < s for e in self.edges) for s in range(states + 1)]
        self.graph = Graph(offsets, [e[1] for e in self.edges], [e[2] for e in self.edges], (self.letters,))
        self.weak, self.strong = ((6, 0), (2, 4), (0, 6), (1, 2))[r.randrange(4)]
        p, q = ("atom", 0), ("or", ("atom", 1), ("atom", 2))
        ever = textbook.eventually(p)
        leads = textbook.always(textbook.implies(p, textbook.eventually(q)))
        self.formula = r.choice([ever, textbook.always(ever), textbook.eventually(textbook.always(p)), leads])


def second(x: f.Formula) -> other.Formula:
    """The same formula for the second judge."""
    match x:
        case f.Literal(atom, positive):
            return other.At(atom, positive)
        case f.And(parts):
            return other.every(map(second, parts))
        case f.Or(parts):
            return other.some(map(second, parts))
        case f.Next(body):
            return other.following(second(body))
        case f.Until(left, right):
            return other.until(second(left), second(right))
        case f.Release(left, right):
            return other.negation(other.until(second(f.negation(left)), second(f.negation(right))))


def graph_runs(x: Sample, crash: int = 0, *, stutters: bool = False) -> Runs:
    """The runs of a sample, in which edges with the mark `crash` come to an end."""
    states = range(len(x.letters))

    def edges(avoided: int) -> list[set[Edge]]:
        ways = [{(b, marks) for a, b, marks in x.edges if a == s and not marks & avoided} for s in states]
        return [w | {(s, 0)} if stutters or not w else w for s, w in zip(states, ways, strict=True)]

    stem, loop, possible = edges(0), edges(crash), [0] * len(x.letters)
    for a, _, marks in x.edges:
        possible[a] |= 0 if marks & crash else marks
    return Runs([0], x.letters, stem, loop, possible, x.weak & ~crash, x.strong & ~crash)


def opinion_on(x: Sample, runs: Runs) -> bool:
    """Does the second judge find a fair run that violates the formula?"""
    return any(satisfiable(runs, other.negation(c), lambda: None) for c in other.claims(second(translated(x.formula))))


def verdicts(seed: int) -> tuple[bool, bool]:
    """Whether each judge finds a violation in the random graph of a seed."""
    x = Lively(seed) if seed % 2 else Sample(seed, most_states=8)
    formula = translated(x.formula)
    if seed % 3 == 1 and x.obligations:
        crash = 1 << seed % x.obligations
        calm = finally_never(Prepared(x.graph, Plain()), crash)
        lasso = decide(calm.graph, formula, x.weak & ~crash, x.strong & ~crash, crash)
        return lasso is not None, opinion_on(x, graph_runs(x, crash))
    if seed % 3 == 2:
        lasso = x.decided(Plain(), stuttering(x.graph))
        return lasso is not None, opinion_on(x, graph_runs(x, stutters=True))
    return x.decided(Plain()) is not None, opinion_on(x, graph_runs(x))


def test_two_judges_of_random_graphs_agree() -> None:
    outcomes = Counter[bool]()
    for seed in seeds(range(60_000, 65_000)):
        first, again = verdicts(seed)
        assert first == again, seed
        outcomes[first] += 1
    assert min(outcomes[True], outcomes[False]) >= enough(1000)


# Random systems ------------------------------------------------------------------------------------------------------


def test_two_judges_of_random_systems_agree() -> None:
    total = campaign("runs", iter(today(range(20_000, 30_000))), Judge(), share(240), None, 100)
    assert total.told == []


SLIPS = [
    ("FairnessGoal(needed, weak, strong)", "FairnessGoal(needed, weak | strong, 0)"),
    ("FairnessGoal(needed, weak, strong)", "FairnessGoal(needed, 0, weak | strong)"),
    ("FairnessGoal(needed, weak, strong)", "FairnessGoal(needed, weak, 0)"),
    ("FairnessGoal(needed, weak, strong)", "FairnessGoal(0, weak, strong)"),
]


@pytest.mark.parametrize(("right", "wrong"), SLIPS)
def test_slips_of_the_first_judge_are_noticed(right: str, wrong: str) -> None:
    """Weak and strong fairness taken for each other or left out, and `until`s that never come."""
    with planted(decide, right, wrong):
        assert any(len(set(verdicts(seed))) == 2 for seed in range(60_001, 63_001, 2))


def test_a_slip_about_crashes_that_end_is_seen_in_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Plain.kernels, "ending", lambda *_: 0)
    assert finally_never_kernels.ending is not Plain.kernels.ending
    assert any(len(set(verdicts(seed))) == 2 for seed in range(60_000, 60_600))


# Small systems -------------------------------------------------------------------------------------------------------

SYSTEM = """module small
machine Job {
    initial state Waiting
    state Running
    state Stopped
    event start(n: 0..1) from environment
    event finish, stop from environment
    last: 0..1
    start: Waiting -> Running on start(n) do last = n
    done: Running -> Waiting on finish
    Waiting -> Stopped on stop
    Stopped -> Waiting on start(n) when last > n + 1
}
system S {
    jobs: Job[2]
    environment {
        some j in jobs, n in 0..1: j.start(n)
        some j in jobs: j.finish
        jobs[0].stop
        %s
    }
    %s
}
"""

PROPERTIES = {
    "jobs[1] in Running ~> jobs[1] in Waiting": "violated",
    "jobs[1] in Running ~> jobs[1] in Waiting under fair finish": "holds",
    "jobs[1] in Waiting ~> jobs[1] in Running under fair Job.start": "holds",
    "always eventually jobs[0] in Stopped under fair stop": "violated",
    "always eventually jobs[0] in Stopped under strong fair stop, fair done": "holds",
    "always eventually jobs[1].last == 1 under strong fair start": "violated",
    "always eventually jobs[1].last == 1 under strong fair start for each n, fair finish": "holds",
    "always eventually jobs[1].last == 1 under fair start for each n, fair finish": "violated",
    "all j in jobs: always not stuck(j)": "violated",
    "jobs[0] in Stopped ~> stuck(jobs[0])": "holds",
    "always next (jobs[0] in Waiting) or eventually jobs[0] in Running": "violated",
    "(jobs[0] in Waiting) until (jobs[0] in Running or jobs[1] in Running)": "violated",
}

BEGUN = "eventually (jobs[0] not in Waiting or jobs[1] not in Waiting)"

CRASHES = {
    BEGUN: "violated",
    f"{BEGUN} under finitely many crashes": "holds",
    "eventually jobs[1] in Running under finitely many crashes": "violated",
    "always eventually jobs[1] in Waiting under fair finish, finitely many crashes": "holds",
}

STUTTERS = {
    BEGUN: "violated",
    f"{BEGUN} under fair start": "holds",
    "always (next (jobs[1] in Running) => next (jobs[1] in Waiting) or jobs[1] in Running)": "violated",
}


def second_opinion(properties: Iterable[str], crash: str = "", judge: Judge = Judge()) -> SecondOpinion:  # noqa: B008
    lines = "\n    ".join(f"property p{n}: {x}" for n, x in enumerate(properties))
    model = model_of(SYSTEM % (crash, lines))
    (system,) = model.systems.values()
    x = explored(model, system, 2000, stutters=judge.stutters)
    return compare(x, judge.opinion(model, system, x.states, BUDGET))


@pytest.mark.parametrize(
    ("properties", "crash", "judge"),
    [(PROPERTIES, "", Judge()), (CRASHES, "crash", Judge()), (STUTTERS, "", Judge(stutters=True))],
    ids=["runs", "crashes", "stutters"],
)
def test_each_verdict_is_confirmed(properties: dict[str, str], crash: str, judge: Judge) -> None:
    rows = {r.what: r for r in second_opinion(properties, crash, judge).rows}
    assert {r.agreement for r in rows.values()} == {"confirmed"}
    assert {text: rows[f"property p{n}"].theirs for n, text in enumerate(properties)} == properties


@pytest.mark.parametrize(
    ("function", "right", "wrong", "property"),
    [
        (
            fairness.FairnessConstraints.of,
            'fairness.strength == "weak"',
            "True",
            "always eventually jobs[0] in Stopped under strong fair stop, fair done",
        ),
        (
            fairness.FairnessConstraints.of,
            'fairness.strength == "weak"',
            "False",
            "always eventually jobs[1].last == 1 under fair start for each n, fair finish",
        ),
        (
            fairness.FairnessConstraints._bits,
            "self._values(name, kind)",
            "[()]",
            "always eventually jobs[1].last == 1 under strong fair start for each n, fair finish",
        ),
        (standstill.waits, "not x.permits_rest", "x.permits_rest", "all j in jobs: always not stuck(j)"),
    ],
)
def test_slips_about_systems_are_noticed(
    function: Callable[..., object], right: str, wrong: str, property: str
) -> None:
    assert second_opinion([property]).agreement == "confirmed"
    with planted(function, right, wrong):
        assert second_opinion([property]).agreement == "different"


def test_what_is_too_large_gets_no_opinion() -> None:
    found = second_opinion(["eventually jobs[1] in Running"], judge=Judge(most=5))
    assert {(r.theirs, r.agreement) for r in found.rows} == {("it has more than 5 states", "not confirmed")}


def test_time_ends_the_judge() -> None:
    model = model_of(SYSTEM % ("", "property p: eventually jobs[1] in Running"))
    (system,) = model.systems.values()
    opinion = Judge().opinion(model, system, 9, Budgeted(0.0))
    assert opinion.unfinished == "the graph of states was not complete after 0 s"


def test_recovery_is_no_formula() -> None:
    (row,) = (r for r in second_opinion(["recovers"], "crash").rows if r.what == "property p0")
    assert (row.agreement, row.theirs[:10]) == ("not confirmed", "`recovers`")


# Counterexamples -----------------------------------------------------------------------------------------------------


STOP, START, FINISH = EventStep(0, "stop"), EventStep(0, "start", (0,)), EventStep(0, "finish")
FAIR = "always eventually jobs[0] in Stopped under strong fair stop"


@pytest.mark.parametrize(
    ("property", "steps", "loop", "reason"),
    [
        ("eventually jobs[0] in Stopped", [START, FINISH], 0, None),
        (
            "eventually jobs[0] in Stopped",
            [START, FINISH],
            1,
            "the loop of the run does not lead back to where it begins",
        ),
        ("eventually jobs[0] in Stopped", [START], 1, "the run does not violate it"),
        ("eventually jobs[0] in Stopped", [START], None, "a run that begins so need not violate it"),
        ("always jobs[0] not in Stopped", [STOP], None, None),
        (FAIR, [START, FINISH], 0, "the run is not fair"),
        ("eventually jobs[0] in Running", [STOP, START], None, "step 2 of the run cannot be taken"),
    ],
)
def test_a_run_that_is_no_counterexample_is_refused(
    property: str, steps: list[Step], loop: int | None, reason: str | None
) -> None:
    model = model_of(SYSTEM % ("", f"property p: {property}"))
    (system,) = model.systems.values()
    opinion = Judge().opinion(model, system, 9, BUDGET)
    universe = Universe(model, system)
    assert opinion.refusal("p", run(universe, steps, loop)) == reason


def test_a_first_state_that_is_none_is_refused() -> None:
    model = model_of(SYSTEM % ("", "property p: always jobs[0] in Waiting"))
    (system,) = model.systems.values()
    universe = Universe(model, system)
    later = run(universe, [STOP]).end
    opinion = Judge().opinion(model, system, 9, BUDGET)
    assert opinion.refusal("p", Trace(universe, later)) == "the run does not begin in an initial state"


# The command ---------------------------------------------------------------------------------------------------------


def verify(folder: Path, *options: str) -> tuple[int, str]:
    lines = "\n    ".join(f"property p{n}: {x}" for n, x in enumerate(PROPERTIES))
    (folder / "small.fsm").write_text(SYSTEM % ("", lines))
    done = fsm("verify", "small.fsm", "--second-opinion", "graph", *options, cwd=folder)
    return done.returncode, done.stdout + done.stderr


def test_the_command_confirms(tmp_path: Path) -> None:
    code, output = verify(tmp_path)
    assert code == 1
    assert "confirmed  small.S by the state graph: 15 confirmed\n" in output


def test_the_command_confirms_runs_that_stutter(tmp_path: Path) -> None:
    _, output = verify(tmp_path, "--stutter")
    assert "confirmed  small.S by the state graph: 15 confirmed\n" in output


def test_the_command_takes_no_tool(tmp_path: Path) -> None:
    code, output = verify(tmp_path, "--tool", "spin")
    assert code == 2
    assert "`graph` is part of fsm" in output


# Our specs -----------------------------------------------------------------------------------------------------------

FOLDERS = ("specs/confine", "specs/grove", "specs/hived", "specs/kubernetes", "specs/yunikorn", "benchmarks")

MAX_STATES = 40_000 if ROTATION == 1 else 10_000
"""Larger systems are left out: `benchmarks/second_opinion.py`, which makes the table of the documentation, has the
first limit. The judge takes minutes for each system between the limits."""

LARGE = {
    "kubernetes.admission.Gates": 12_306,
    "kubernetes.job.TwoPods": 20_454,
    "kubernetes.admission.LostJournal": 63_492,
    "kubernetes.admission.BothWays": 68_048,
    "kubernetes.admission.OtherWay": 72_456,
    "kubernetes.admission.Preemption": 77_016,
    "kubernetes.admission.TwoVictims": 158_176,
}
"""Systems with more states than the second limit, where none is left out for symmetry."""


@pytest.mark.full(reason="searches of some minutes by the definition")
@pytest.mark.parametrize("folder", FOLDERS)
def test_properties_of_our_specs_are_confirmed(folder: str) -> None:
    loaded = load([ROOT / folder, *(x for x in [ROOT / folder / "holes"] if x.exists())])
    assert loaded.model is not None
    unconfirmed, left_out, properties = [], [], 0
    systems = today([x for x in loaded.model.systems.values() if x.properties])
    for system in systems:
        found = explore(loaded.model, system, Limits(MAX_STATES, after_violation=None), None, Means(symmetry=False))
        if found.stopped is not None:
            left_out.append(system)
            continue
        opinion = compare(found, Judge().opinion(loaded.model, system, found.states, Budgeted(3600.0)))
        assert opinion.agreement != "different", opinion.rows
        formulas = {f"property {p.name}" for p in system.properties if not isinstance(p.formula, m.Recovers)}
        unconfirmed += [r for r in opinion.rows if r.what in formulas and r.agreement != "confirmed"]
        properties += len(formulas)
    assert unconfirmed == []
    assert left_out == [x for x in systems if LARGE.get(x.qualified, 0) > MAX_STATES]
    assert properties > 0
