"""Temporal properties: judged by the textbook, and by what systems mean."""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import textbook_liveness as textbook
from seeds import seeds
from stepping import compiled, only_system

from fsmdsl import model as m
from fsmdsl.describe import words
from fsmdsl.explore import explain, lines
from fsmdsl.explore.liveness import (
    BITS,
    STAYS,
    Answer,
    Graph,
    Lasso,
    Plan,
    Recorder,
    answers,
    counterexample,
    engine,
    questions,
    why,
)
from fsmdsl.explore.liveness import formula as f
from fsmdsl.explore.liveness.automaton import TooLargeError, automaton
from fsmdsl.explore.liveness.decide import Prepared, decide
from fsmdsl.explore.trace import Trace
from fsmdsl.step import FaultError, Universe, World, enabled, fire, holds, initial
from fsmdsl.workspace import load

# Random graphs -------------------------------------------------------------------------------------------------------


def translated(x: textbook.Formula) -> f.Formula:
    match x:
        case ("true",):
            return f.TRUE
        case ("atom", n):
            return f.Literal(n, True)
        case ("not", g):
            return f.negation(translated(g))
        case ("and", g, h):
            return f.conjunction([translated(g), translated(h)])
        case ("or", g, h):
            return f.disjunction([translated(g), translated(h)])
        case ("next", g):
            return f.next_(translated(g))
        case ("until", g, h):
            return f.until(translated(g), translated(h))
    raise AssertionError(x)


def random_formula(r: random.Random, depth: int, atoms: int = 3) -> textbook.Formula:
    if depth == 0 or r.random() < 0.2:
        return ("atom", r.randrange(atoms))
    kind = r.choice(["not", "and", "or", "next", "until", "always", "eventually", "implies", "leads to"])
    first = random_formula(r, depth - 1, atoms)
    match kind:
        case "not" | "next":
            return (kind, first)
        case "always":
            return textbook.always(first)
        case "eventually":
            return textbook.eventually(first)
    second = random_formula(r, depth - 1, atoms)
    match kind:
        case "implies":
            return textbook.implies(first, second)
        case "leads to":
            return textbook.always(textbook.implies(first, textbook.eventually(second)))
    return (kind, first, second)


class Sample:
    """A random graph whose states can all be reached, a formula, and fairness."""

    def __init__(self, seed: int, most_states: int = 6) -> None:
        r = random.Random(seed)
        states, self.obligations = r.randint(1, most_states), r.randint(0, 3)
        drawn = [(r.randrange(states), r.randrange(states), self._mark(r)) for _ in range(r.randint(0, 2 * states + 2))]
        order = [0]
        for s in order:
            order += dict.fromkeys(b for a, b, _ in drawn if a == s and b not in order)
        number = {s: n for n, s in enumerate(order)}
        self.edges = sorted((number[a], number[b], marks) for a, b, marks in drawn if a in number)
        self.letters = [r.getrandbits(3) for _ in order]
        offsets = [sum(e[0] < s for e in self.edges) for s in range(len(order) + 1)]
        self.graph = Graph(offsets, [e[1] for e in self.edges], [e[2] for e in self.edges], (self.letters,))
        self.system = textbook.closed(self.letters, self.edges)
        self.strong = self._mark(r)
        self.weak = self._mark(r) & ~self.strong
        self.formula = random_formula(r, r.randint(1, 4))

    def _mark(self, r: random.Random) -> int:
        return r.getrandbits(self.obligations) & r.getrandbits(self.obligations) if self.obligations else 0

    @property
    def small(self) -> bool:
        """Has the textbook's tableau no more than so many guesses?"""
        return len(textbook.Tableau(self.formula).elements) <= 5

    def decided(self, using: engine.Engine | None = None, graph: Graph | None = None) -> Lasso | None:
        prepared = Prepared(graph or self.graph, using)
        return decide(prepared, translated(self.formula), self.weak, self.strong)


def check_lasso(x: Sample, lasso: Lasso) -> None:
    """It is a run of the graph, is fair, and breaks the formula."""
    at = 0
    for hop in (*lasso.stem, *lasso.loop):
        assert hop.source == at
        at = hop.target
        if hop.edge == STAYS:
            assert hop.target == hop.source
            assert all(e[0] != hop.source for e in x.edges)
        else:
            assert x.edges[hop.edge][:2] == (hop.source, hop.target)
    if lasso.loop:
        assert at == lasso.state == lasso.loop[0].source
        loop = [x.edges[h.edge] if h.edge != STAYS else (h.source, h.source, 0) for h in lasso.loop]
        assert textbook.fair(x.system, loop, x.weak, x.strong)
        stem = [x.letters[h.source] for h in lasso.stem]
        assert not textbook.true_on(x.formula, stem, [x.letters[e[0]] for e in loop])
    else:
        assert at == lasso.state
        prefix = [x.letters[h.source] for h in lasso.stem] + [x.letters[at]]
        for letter in range(8):
            assert not textbook.true_on(x.formula, prefix, [letter])
            assert not textbook.true_on(x.formula, prefix, [letter, 7 - letter, letter ^ 1])


@pytest.mark.parametrize("first", seeds(range(10_000))[::1000])
def test_verdicts_are_those_of_the_textbook(first: int) -> None:
    seen = {"holds": 0, "prefix": 0, "loop": 0}
    for seed in range(first, first + 1000):
        x = Sample(seed)
        if not x.small:
            continue
        lasso = x.decided()
        assert (lasso is not None) == textbook.violated(x.system, x.formula, x.weak, x.strong), seed
        if lasso is not None:
            check_lasso(x, lasso)
        seen["holds" if lasso is None else "loop" if lasso.loop else "prefix"] += 1
    assert min(seen.values()) > 50


def test_what_a_short_run_breaks_does_not_hold() -> None:
    """Semantics alone: all walks of a few steps, each evaluated as a run."""
    broken = 0
    for seed in range(20_000, 21_000):
        x = Sample(seed, most_states=3)
        walk = textbook.short_violation(x.system, x.formula, x.weak, x.strong, 5)
        if walk is not None:
            broken += 1
            assert x.decided() is not None, seed
    assert broken > 300


def test_the_textbook_agrees_with_itself() -> None:
    """Its two halves: what a short run breaks, the tableau says is violated."""
    for seed in range(30_000, 30_300):
        x = Sample(seed, most_states=3)
        if x.small and textbook.short_violation(x.system, x.formula, x.weak, x.strong, 5) is not None:
            assert textbook.violated(x.system, x.formula, x.weak, x.strong), seed


def test_what_a_part_of_a_graph_shows_is_so_in_the_whole() -> None:
    """A lasso of a graph that was not explored to its end is one of the whole graph."""
    found = missed = 0
    for seed in range(40_000, 41_000):
        x = Sample(seed)
        expanded = random.Random(seed).randrange(x.graph.states)
        end = x.graph.offsets[expanded]
        offsets = [min(o, end) for o in x.graph.offsets]
        part = Graph(offsets, x.graph.targets[:end], x.graph.marks[:end], x.graph.atoms, expanded)  # type: ignore[index]
        lasso = _reachable_part(x, part)
        if lasso is None:
            missed += x.decided() is not None
        else:
            found += 1
            check_lasso(x, lasso)
            assert all(h.source < expanded for h in (*lasso.stem, *lasso.loop))
    assert found > 100
    assert missed > 20


def _reachable_part(x: Sample, part: Graph) -> Lasso | None:
    """The decision on a part, if an explorer would have found all of its states."""
    found = {0, *part.targets}
    return x.decided(graph=part) if len(found) == part.states else None


@pytest.mark.parametrize("hurry", [True, False])
def test_compiled_kernels_do_the_same(hurry: bool) -> None:
    pytest.importorskip("llvmlite")
    compiled_engine = engine._compiled(hurry)
    assert compiled_engine is not None
    for seed in range(50_000, 51_000):
        x = Sample(seed, most_states=9)
        assert x.decided(compiled_engine) == x.decided(engine.Plain()), seed


@pytest.mark.parametrize("kind", ["q", "view"])
def test_a_graph_may_come_in_any_kind_of_sequence(kind: str) -> None:
    pytest.importorskip("llvmlite")
    x = Sample(7)
    arrays = [array("q", v) for v in (x.graph.offsets, x.graph.targets, x.graph.marks, *x.graph.atoms)]
    given = [memoryview(v) for v in arrays] if kind == "view" else arrays
    for using in (engine._compiled(True), None):
        assert x.decided(using, graph=Graph(given[0], given[1], given[2], (given[3],))) == x.decided()


def test_without_a_compiler_large_graphs_are_decided_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "missing", lambda: "it is not installed")
    engine._compiled.cache_clear()
    assert isinstance(engine.engine(10**6), engine.Plain)
    engine._compiled.cache_clear()


def test_machine_code_takes_over_where_it_is_worth_it() -> None:
    pytest.importorskip("llvmlite")
    assert isinstance(engine.engine(engine.LARGE - 1), engine.Plain)
    assert isinstance(engine.engine(engine.LARGE), engine.Compiled)


# Automata ------------------------------------------------------------------------------------------------------------

P, Q = f.Literal(0, True), f.Literal(1, True)


@pytest.mark.parametrize(
    ("formula", "states", "sets"),
    [
        (f.eventually(f.conjunction([P, f.always(f.negation(Q))])), 2, 0),  # not (p ~> q)
        (f.eventually(f.conjunction([P, f.next_(f.negation(Q))])), 3, 0),  # not always (p => next q)
        (f.eventually(f.negation(P)), 2, 0),  # not always p
        (f.always(f.negation(P)), 1, 0),  # not eventually p
        (f.eventually(f.always(P)), 2, 0),  # not always eventually not p
        (f.always(f.eventually(P)), 1, 1),
        (f.conjunction([f.eventually(f.always(P)), f.eventually(f.always(Q))]), 2, 0),
        (f.conjunction([f.always(f.eventually(P)), f.always(f.eventually(Q))]), 1, 2),
        (f.until(P, Q), 2, 0),
        (f.conjunction([P, f.next_(f.conjunction([Q, f.negation(Q)]))]), 0, 0),
    ],
)
def test_usual_formulas_have_small_automata(formula: f.Formula, states: int, sets: int) -> None:
    a = automaton(formula)
    assert (len(a.moves), a.sets) == (states, sets)


def test_formulas_out_of_all_proportion_are_refused() -> None:
    many = [f.always(f.eventually(f.Literal(n, True))) for n in range(BITS + 1)]
    with pytest.raises(TooLargeError, match="63 different conditions"):
        automaton(f.conjunction(many))
    for count in (8, 30):
        each = [f.until(f.Literal(n, True), f.always(f.Literal(n + 30, True))) for n in range(count)]
        with pytest.raises(TooLargeError, match="too long to make an automaton"):
            automaton(f.always(f.eventually(f.conjunction(each))))


def test_more_things_to_happen_than_bits_are_refused() -> None:
    with pytest.raises(TooLargeError, match="63 things to happen"):
        decide(Prepared(Graph([0, 1], [0], [0], ([0],))), f.negation(f.always(f.eventually(P))), strong=(1 << BITS) - 1)


# Systems -------------------------------------------------------------------------------------------------------------


class Explored:
    """A system gone through step by step, and the answers to its properties."""

    def __init__(self, model: m.Model, system: m.System, limit: int = 10_000) -> None:
        self.universe = Universe(model, system)
        self.plan: Plan = questions(self.universe)
        recorder = Recorder(self.plan)
        self.worlds: list[World] = []
        self.number: dict[World, int] = {}
        self._add(recorder, initial(self.universe))
        at = 0
        while at < len(self.worlds) and at < limit:
            world = self.worlds[at]
            for step in enabled(self.universe, world):
                result = fire(self.universe, world, step)
                if result.fault is None:
                    self._add(recorder, result.world)
                    recorder.edge(self.number[result.world], result.cascade)
            recorder.expanded()
            at += 1
        self.graph = recorder.graph()
        self.answers = {a.question.property.name: a for a in answers(self.plan, self.graph)}

    def _add(self, recorder: Recorder, world: World) -> None:
        if world not in self.number:
            self.number[world] = len(self.worlds)
            self.worlds.append(world)
            recorder.state(world)

    def outcomes(self) -> dict[str, str]:
        return {name: a.outcome for name, a in self.answers.items()}

    def trace(self, name: str, breach: int = 0) -> Trace:
        a = self.answers[name]
        lasso = a.breaches[breach].lasso
        return counterexample(self.plan, self.graph, a.question, lasso, lambda world, n: self.worlds[n] == world)

    def why(self, name: str) -> list[str]:
        a = self.answers[name]
        (first, *_) = a.breaches
        found = why(self.plan, a.question, first.claim, self.trace(name), first.stuck)
        return explain.lines(self.plan.universe, found)


def explored(text: str, **given: Any) -> Explored:
    model = compiled(text)
    return Explored(model, only_system(model), **given)


def answer(text: str) -> Answer:
    (found,) = explored(text).answers.values()
    return found


LAMP = """
machine Lamp {
    initial state Off  state On  state Broken
    event press, hit, mend from environment
    Off -> On on press  On -> Off on press  Off, On -> Broken on hit  Broken -> Off on mend
}
system S { lamps: Lamp[%d]  environment { some l in lamps: l.press %s } property p: %s }
"""


def lamp(formula: str, count: int = 1, more: str = "") -> Explored:
    return explored(LAMP % (count, more, formula))


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
    assert lines(x.trace("p"))[-1].strip() == "and nothing more, for ever"


def test_a_step_that_fails_is_no_step_of_a_run() -> None:
    x = explored("""
    machine M { n: 0..1  initial state A  event go from environment  A on go do n = n + 1 }
    system S { m: M  property p: eventually m.n == 0 and always eventually m.n == 1 }
    """)
    assert x.outcomes() == {"p": "holds"}


# Sets that change, conditions without a value ------------------------------------------------------------------------

OWNERS = """
machine Owner { held: set<Thing>  initial state On  event take(t: Thing), give(t: Thing) from environment
                On on take(t) when t.owner == none do { add t to held; t.taken(self) }
                On on give(t) when t in held do { remove t from held; t.given } }
machine Thing { owner: Owner?  initial state Free  state Held  event taken(o: Owner), given from Owner
                Free -> Held on taken(o) do owner = o  Held -> Free on given do owner = none }
system S { owners: Owner[2]  things: Thing[2]  property p: %s }
"""


@pytest.mark.parametrize(
    ("formula", "outcome"),
    [
        ("all o in owners: always all t in o.held: t in Held", "holds"),
        ("all o in owners: always all t in o.held: eventually t in Free", "violated"),
        # an owner may give the one thing again and again, and never the other
        ("all o in owners: always all t in o.held: eventually t in Free under fair give", "violated"),
        ("all o in owners: always all t in o.held: eventually t in Free under fair given", "holds"),
        ("always not (some t in owners[0].held: next t in Held)", "violated"),
        ("always ((some t in owners[0].held: next t.owner == owners[1]) => false)", "holds"),
        ("always all t in owners[0].held: next t.owner in {none, owners[0]}", "holds"),
        # the variable of the quantifier is not that of the set
        ("all o in owners: always all o in o.held: next (o.owner in {none, owners[0], owners[1]})", "holds"),
        ("all t in things: always (t.owner != none => next (t.owner == none or t.owner.held == {}))", "violated"),
    ],
)
def test_quantifiers_over_sets_that_change(formula: str, outcome: str) -> None:
    assert explored(OWNERS % formula).outcomes() == {"p": outcome}


def test_a_condition_without_a_value_is_false() -> None:
    """`t.owner.held` has none while nobody owns t; a condition is all that has no temporal word in it."""
    assert explored(OWNERS % "always next things[0].owner.held != {}").outcomes() == {"p": "violated"}
    assert explored(OWNERS % "always next not (things[0].owner.held == {})").outcomes() == {"p": "violated"}
    assert explored(OWNERS % "always next (things[0].owner == none or things[0].owner.held != {})").outcomes() == {
        "p": "holds"
    }


NEVER_SET = """
machine M { other: M?  x: bool  initial state A  event tick from environment  A on tick do x = not x }
system S { m: M  property p: %s }
"""


@pytest.mark.parametrize(
    ("formula", "outcome"),
    [
        ("eventually m.other.x", "violated"),
        ("not (eventually m.other.x)", "holds"),
        ("m.other.x ~> (m.x and not m.x)", "holds"),
        ("not (m.other.x ~> (m.x and not m.x))", "violated"),
        ("m.x ~> m.other.x", "violated"),
        ("always not m.other.x", "violated"),
        ("always (m.other.x => next m.x)", "holds"),
        ("always all y in m.other.other.x: eventually y", "holds"),
    ],
)
def test_of_a_formula_and_its_negation_one_is_true_where_a_condition_has_no_value(formula: str, outcome: str) -> None:
    text = NEVER_SET.replace("x: bool", "x: set<bool>").replace("do x = not x", "") if "all y" in formula else NEVER_SET
    x = explored(text % formula)
    assert x.outcomes() == {"p": outcome}
    if outcome == "violated":
        assert x.why("p")


CONDITIONS = ("m.other.x", "m.other != none", "m.other.y and m.x")

MAYBE = """
machine M {
    other: M?  x: bool  y: bool
    initial state A
    event flip, turn, take, drop from environment
    A on flip do x = not x
    A on turn do y = not y
    A on take do other = self
    A on drop when other != none do other = none
}
system S { m: M %s  property p: %s }
"""


def _words(x: textbook.Formula) -> str:
    match x:
        case ("true",):
            return "true"
        case ("atom", n):
            return f"({CONDITIONS[n]})"
        case ("not" | "next", g):
            return f"({x[0]} {_words(g)})"
        case (("and" | "or" | "until"), g, h):
            return f"({_words(g)} {x[0]} {_words(h)})"
    raise AssertionError(x)


def _of_one_state(x: textbook.Formula) -> bool:
    return x[0] not in ("next", "until") and all(_of_one_state(y) for y in x[1:] if isinstance(y, tuple))


def _conditions(x: textbook.Formula, known: list[textbook.Formula]) -> textbook.Formula:
    """The same, its largest parts without temporal words as atoms; `and` and `or` of several join flat."""
    if _of_one_state(x):
        known += [] if x in known else [x]
        return ("atom", known.index(x))
    return (x[0], *(_conditions(y, known) for y in x[1:]))


def _truth(x: Explored, world: World, condition: m.Expr) -> bool:
    try:
        return holds(x.universe, world, condition)
    except FaultError:
        return False


def test_conditions_without_a_value_are_false_in_whole_formulas() -> None:
    """The textbook on the graph of the definition; a condition is evaluated by the definition, as a `reachable`."""
    seen = {"holds": 0, "violated": 0}
    for seed in range(120):
        formula = random_formula(random.Random(seed), 3)
        known: list[textbook.Formula] = []
        flat = _conditions(formula, known)
        if len(textbook.Tableau(flat).elements) > 4:
            continue
        asked = "  ".join(f"reachable r{n}: {_words(c)}" for n, c in enumerate(known))
        x = explored(MAYBE % (asked, _words(formula)))
        conditions = [r.condition for r in x.universe.system.reachables]
        letters = [sum(_truth(x, w, c) << n for n, c in enumerate(conditions)) for w in x.worlds]
        edges = [
            (s, x.graph.targets[e], 0)
            for s in range(len(x.worlds))
            for e in range(x.graph.offsets[s], x.graph.offsets[s + 1])
        ]
        expected = "violated" if textbook.violated(textbook.closed(letters, edges), flat, 0, 0) else "holds"
        assert x.outcomes() == {"p": expected}, _words(formula)
        seen[expected] += 1
    assert min(seen.values()) > 10


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        (
            "(count l in lamps: eventually l in On) == 2",
            "`count l in lamps: eventually l in On` looks for a value",
        ),
        ("(always lamps[0] in On) in {true}", "`(always lamps[0] in On) in {true}` looks for a value"),
    ],
)
def test_what_is_not_checked_says_why(formula: str, reason: str) -> None:
    found = answer(LAMP % (2, "", formula))
    assert found.outcome == "not checked"
    assert found.reason == f"{reason} in what speaks of whole runs"


def test_too_many_parts_are_not_checked() -> None:
    ranges = "machine M { param k: 0..100  n: set<M>  initial state A  event e from environment  A on e }"
    system = "system S { m: M[2] { k = index }  property p: %s }"
    many = "all a in {0, 1}, b in subsets(m, 1): eventually m[0].k == a or b == {}"
    assert answer(ranges + system % many).outcome == "violated"
    wide = " and ".join(f"(eventually m[0] in A or m[1].k == {n})" for n in range(3))
    assert answer(ranges + system % wide).outcome == "holds"


def test_obligations_beyond_a_word_are_not_checked() -> None:
    text = """
    machine M { initial state A  event e from environment  A on e }
    system S { ms: M[63]  environment { ms[0].e }  property p: eventually ms[0] in A under fair e }
    """
    found = answer(text)
    assert (found.outcome, found.reason[:37]) == ("not checked", "fairness has more than 62 obligations")


def test_many_atoms_take_several_columns() -> None:
    text = """
    machine M { n: 0..80  initial state A  event e from environment  A on e do n = if n == 80 then 0 else n + 1 }
    system S { m: M  property p: all i in {%s}: always (m.n == i => next m.n == (if i == 80 then 0 else i + 1)) }
    """
    x = explored(text % ", ".join(map(str, range(81))))
    assert len(x.graph.atoms) == 3
    assert x.outcomes() == {"p": "holds"}


# Premises ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "vacuous"),
    [
        ("lamps[0] in Broken ~> lamps[0] in On", ["lamps[0] in Broken"]),
        ("lamps[0] in On ~> lamps[0] in Off", []),
        ("always (lamps[0] in Broken => next lamps[0] in On)", ["lamps[0] in Broken"]),
        ("all l in lamps, k in {0, 1}: l in On and k == 0 ~> l in Off", []),
        ("(eventually always lamps[0] in On) => false", ["eventually always lamps[0] in On"]),
        ("(always eventually lamps[0] in On) => always (lamps[0] in Broken => eventually lamps[0] in On)",
         ["lamps[0] in Broken"]),
        ("always eventually lamps[0] in On", []),
    ],
)  # fmt: skip
def test_premises_that_never_come_true_are_told(formula: str, vacuous: Sequence[str]) -> None:
    (found,) = lamp(formula).answers.values()
    assert (found.outcome, [words(x.of) for x in found.vacuous]) == ("holds", list(vacuous))


# Limits --------------------------------------------------------------------------------------------------------------

COUNTER = """
machine Counter { n: 0..50  initial state On  event up, reset from environment
                  On on up when n < 50 do n = n + 1  On on reset do n = 0 }
system S { counter: Counter  property far: counter.n != 40  property p: %s }
"""


def test_a_limit_leaves_what_was_not_found_unknown() -> None:
    assert explored(COUNTER % "eventually counter.n == 40").outcomes()["p"] == "violated"
    x = explored(COUNTER % "always counter.n != 40", limit=20)
    assert x.outcomes() == {"far": "unknown", "p": "unknown"}
    assert x.graph.expanded == 20
    assert explored(COUNTER % "eventually counter.n == 40", limit=20).outcomes()["p"] == "violated"


def test_the_last_state_found_is_no_end_of_a_run() -> None:
    text = COUNTER.replace("On on reset do n = 0", "") % "eventually counter.n == 40"
    assert explored(text, limit=20).outcomes()["p"] == "unknown"
    assert explored(text).outcomes()["p"] == "holds"


def test_the_stem_is_as_short_as_can_be() -> None:
    x = explored(COUNTER % "always (counter.n == 3 => next counter.n == 4)")
    assert x.trace("p").steps() == ["counter.up"] * 3 + ["counter.reset"]
    x = explored(COUNTER % "counter.n == 2 ~> counter.n == 3 under fair reset")
    assert x.trace("p").steps() == ["counter.up", "counter.up", "counter.reset", "counter.reset"]
    assert (x.trace("p").loop, x.why("p")[0]) == (3, "after step 2, `counter.n == 2` holds")


# Why -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        ("eventually lamps[0] in Broken", ["from the beginning on, `lamps[0] in Broken` is never true"]),
        ("always eventually lamps[0] in Broken", ["from the beginning on, `lamps[0] in Broken` is never true"]),
        ("eventually always lamps[0] in On",
         ["`lamps[0] in On` is false again and again",
          "in the beginning, `lamps[0] in On` is false: lamps[0] is in Off"]),
        ("lamps[0] in On ~> lamps[0] in Broken",
         ["after step 1, `lamps[0] in On` holds", "from step 1 on, `lamps[0] in Broken` is never true"]),
        ("lamps[0] in Off until lamps[0] in Broken",
         ["after step 1, `lamps[0] in Off` is false: lamps[0] is in On", "`lamps[0] in Broken` is not true before"]),
        ("true until lamps[0] in Broken", ["from the beginning on, `lamps[0] in Broken` is never true"]),
        ("next next lamps[0] in On", ["after step 2, `lamps[0] in On` is false: lamps[0] is in Off"]),
        ("(always lamps[0] in Off) or next lamps[0] in Off",
         ["after step 1, `lamps[0] in Off` is false: lamps[0] is in On"]),
        ("(next lamps[0] in On) and next lamps[0] in Off",
         ["after step 1, `lamps[0] in Off` is false: lamps[0] is in On"]),
        ("not next lamps[0] in On", ["in the beginning, `not next lamps[0] in On` is false"]),
        ("all k in {0, 1}, l in lamps: k == 1 => next l in Off",
         ["for k = 1, l = l0: in the beginning, `k == 1` holds",
          "for k = 1, l = l0: after step 1, `l in Off` is false: l is in On"]),
    ],
)  # fmt: skip
def test_why_a_run_breaks_a_property(formula: str, told: list[str]) -> None:
    x = lamp(formula)
    assert x.outcomes() == {"p": "violated"}
    assert x.why("p") == told


# The specs -----------------------------------------------------------------------------------------------------------

SPECS = Path(__file__).parent.parent / "specs"


def of_spec(module: str, system: str, *, as_documented: bool = False) -> Explored:
    model = load([SPECS / module / f"{module}.fsm"], as_documented=as_documented).model
    assert model is not None
    return Explored(model, model.systems[f"{module}.{system}"])


@pytest.mark.parametrize(
    ("module", "system", "names"),
    [
        ("hived", "PreemptionSmall", {"s12", "s13"}),
        ("hived", "Settling", {"l1", "l2", "l3", "l4"}),
        ("confine", "OneSlice", {"V6"}),
        ("confine", "Running", {"V5"}),
        ("grove", "Gang", {"v2"}),
        ("grove", "TightGang", {"v1", "v6"}),
        ("grove", "HoldAndWait", {"v5"}),
    ],
)
def test_what_the_facts_say_of_the_repaired_machines_holds(module: str, system: str, names: set[str]) -> None:
    x = of_spec(module, system)
    assert {name: x.outcomes()[name] for name in names} == dict.fromkeys(names, "holds")
    assert [a.vacuous for name, a in x.answers.items() if name in names] == [()] * len(names)


@pytest.mark.parametrize(("system", "name"), [("Gang", "v2"), ("HoldAndWait", "v5")])
def test_as_documented_grove_waits_or_starts_anew_for_ever(system: str, name: str) -> None:
    x = of_spec("grove", system, as_documented=True)
    assert x.outcomes()[name] == "violated"
    assert x.trace(name).loop is not None
