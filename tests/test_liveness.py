"""Temporal properties on random graphs, judged by the textbook; and their automata."""

from __future__ import annotations

import random
from array import array

import pytest
import textbook_liveness as textbook
from property_runs import random_formula, translated
from seeds import seeds
from tiers import enough, today

from fsmdsl.runs.liveness import engine
from fsmdsl.runs.liveness import formula as f
from fsmdsl.runs.liveness.automaton import TooLargeError, automaton
from fsmdsl.runs.liveness.decide import Prepared, decide
from fsmdsl.runs.liveness.finally_never import finally_never
from fsmdsl.runs.liveness.graph import BITS, STAYS, Graph, Lasso

# Random graphs -------------------------------------------------------------------------------------------------------


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

    def calming(self, crash: int) -> textbook.Calming:
        """The same, for runs in which edges with this mark come to an end."""
        calm = [e for e in self.edges if not e[2] & crash]
        possible = [textbook.closed(self.letters, calm).enabled(s) for s in range(len(self.letters))]
        others = [e for e in self.edges if e[2] & crash]
        return textbook.calming(self.letters, calm, others, possible, 1 << self.obligations)

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


@pytest.mark.parametrize("first", seeds(range(0, 10_000, 1000)))
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


@pytest.mark.parametrize("using", [engine.Plain(), engine._compiled(hurry=False)], ids=["plain", "compiled"])
def test_runs_in_which_something_ends_are_those_of_the_textbook(using: engine.Engine | None) -> None:
    if using is None:
        pytest.skip("no compiler")
    seen = {"holds": 0, "prefix": 0, "loop": 0, "end": 0}
    for seed in seeds(range(50_000, 54_000)):
        x = Sample(seed)
        if not (x.small and x.obligations):
            continue
        crash = 1 << seed % x.obligations
        weak, strong, bit = x.weak & ~crash, x.strong & ~crash, 1 << x.obligations
        calm = finally_never(Prepared(x.graph, using), crash)
        lasso = decide(calm.graph, translated(x.formula), weak, strong, crash)
        wanted = textbook.violated(x.calming(crash), x.formula, weak | bit, strong)
        assert (lasso is not None) == wanted, seed
        if lasso is None:
            seen["holds"] += 1
            continue
        run = calm.back(lasso)
        _check_calm_lasso(x, run, crash, weak, strong)
        seen["prefix" if not run.loop else "end" if run.loop[0].edge == STAYS else "loop"] += 1
    assert min(seen.values()) >= enough(50)


def test_of_edges_between_the_same_states_a_loop_takes_one_that_may_be_repeated() -> None:
    calm = finally_never(Prepared(Graph([0, 2], [0, 0], [1, 0], ([0],))), 1)
    lasso = decide(calm.graph, f.eventually(f.Literal(0, True)), finite=1)
    assert lasso is not None
    assert [h.edge for h in calm.back(lasso).loop] == [1]


def _check_calm_lasso(x: Sample, lasso: Lasso, crash: int, weak: int, strong: int) -> None:
    """It is a run of the graph, breaks the formula, and its loop is a fair one of the graph without crashes."""
    calm = textbook.closed(x.letters, [e for e in x.edges if not e[2] & crash])
    at = 0
    for hop in (*lasso.stem, *lasso.loop):
        assert hop.source == at
        at = hop.target
        if hop.edge != STAYS:
            assert x.edges[hop.edge][:2] == (hop.source, hop.target)
    assert at == lasso.state
    if not lasso.loop:
        return
    assert all(h.edge == STAYS for h in lasso.loop) or not any(h.edge == STAYS for h in lasso.loop)
    loop = [x.edges[h.edge] if h.edge != STAYS else (h.source, h.source, 0) for h in lasso.loop]
    assert all(e in calm.edges for e in loop)
    assert textbook.fair(calm, loop, weak, strong)
    assert not textbook.true_on(x.formula, [x.letters[h.source] for h in lasso.stem], [x.letters[e[0]] for e in loop])


def test_what_a_short_run_breaks_does_not_hold() -> None:
    """Semantics alone: all walks of a few steps, each evaluated as a run."""
    broken = 0
    for seed in today(range(20_000, 21_000)):
        x = Sample(seed, most_states=3)
        walk = textbook.short_violation(x.system, x.formula, x.weak, x.strong, 5)
        if walk is not None:
            broken += 1
            assert x.decided() is not None, seed
    assert broken >= enough(300)


def test_the_textbook_agrees_with_itself() -> None:
    """Its two halves: what a short run breaks, the tableau says is violated."""
    for seed in today(range(30_000, 30_300)):
        x = Sample(seed, most_states=3)
        if x.small and textbook.short_violation(x.system, x.formula, x.weak, x.strong, 5) is not None:
            assert textbook.violated(x.system, x.formula, x.weak, x.strong), seed


def test_what_a_part_of_a_graph_shows_is_so_in_the_whole() -> None:
    """A lasso of a graph that was not explored to its end is one of the whole graph."""
    found = missed = 0
    for seed in today(range(40_000, 41_000)):
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
    assert found >= enough(100)
    assert missed >= enough(20)


def _reachable_part(x: Sample, part: Graph) -> Lasso | None:
    """The decision on a part, if an explorer would have found all of its states."""
    found = {0, *part.targets}
    return x.decided(graph=part) if len(found) == part.states else None


@pytest.mark.parametrize("hurry", [True, False])
def test_compiled_kernels_do_the_same(hurry: bool) -> None:
    pytest.importorskip("llvmlite")
    compiled_engine = engine._compiled(hurry)
    assert compiled_engine is not None
    for seed in today(range(50_000, 51_000)):
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


@pytest.mark.full(reason="size")
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
