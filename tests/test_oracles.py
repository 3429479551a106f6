"""What well-known libraries say: z3 of guards, networkx of graphs."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_specs import spec
from stepping import compiled
from tiers import today

from fsmdsl import model as m
from fsmdsl.check import check
from fsmdsl.check.machine_graph import Shape
from fsmdsl.runs.liveness import formula as f
from fsmdsl.runs.liveness.decide import Prepared, decide
from fsmdsl.runs.liveness.graph import Graph
from fsmdsl.runs.liveness.kernels import components

z3 = pytest.importorskip("z3", reason="the oracle of guards: pip install z3-solver")
nx = pytest.importorskip("networkx", reason="the oracle of graphs: pip install networkx")

# Guards --------------------------------------------------------------------------------------------------------------

DOMAINS = {"n": (0, 1000), "k": (-50, 3000), "how": (0, 40)}
LEVELS = ("low", "mid", "high")
MACHINE = """enum Level {{ low < mid < high }}
machine Door {{
    n: 0..1000
    k: -50..3000
    lit: bool
    level: Level
    initial state A
    state B
    event push(how: 0..40) from environment
    one: A -> B on push(how) when {0}
    two: A -> A on push(how) when {1}
    B -> A on push
}}
"""


@dataclass(frozen=True)
class Both:
    """An expression, as text and as a term of z3."""

    text: str
    term: Any

    def __str__(self) -> str:
        return self.text


INTS = {name: z3.Int(name) for name in DOMAINS}
LIT, LEVEL = z3.Bool("lit"), z3.Int("level")
WITHIN = [z3.And(INTS[x] >= low, INTS[x] <= high) for x, (low, high) in DOMAINS.items()] + [LEVEL >= 0, LEVEL <= 2]

COMPARED = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
JOINED = {"and": z3.And, "or": z3.Or, "=>": z3.Implies}


def comparison(left: Both, operator: str, right: Both) -> Both:
    return Both(f"{left} {operator} {right}", COMPARED[operator](left.term, right.term))


def joined(left: Both, operator: str, right: Both) -> Both:
    return Both(f"({left}) {operator} ({right})", JOINED[operator](left.term, right.term))


NAMES = st.sampled_from([Both(x, term) for x, term in INTS.items()])
NUMBERS = st.one_of(
    NAMES,
    st.sampled_from([-50, -1, 0, 1, 2, 39, 40, 41, 500, 999, 1000, 1001]).map(lambda x: Both(str(x), z3.IntVal(x))),
)
SUMS = st.one_of(
    NUMBERS,
    st.builds(lambda a, b: Both(f"({a} + {b})", a.term + b.term), NUMBERS, NUMBERS),
    st.builds(lambda a, b: Both(f"({a} - {b})", a.term - b.term), NUMBERS, NUMBERS),
    st.builds(lambda a, n: Both(f"({a} * {n})", a.term * n), NUMBERS, st.sampled_from([-7, 0, 2, 30])),
    st.builds(lambda a, b: Both(f"min({a}, {b})", z3.If(a.term < b.term, a.term, b.term)), NUMBERS, NUMBERS),
    st.builds(lambda a, b: Both(f"max({a}, {b})", z3.If(a.term > b.term, a.term, b.term)), NUMBERS, NUMBERS),
    st.builds(lambda a, b: Both(f"(if lit then {a} else {b})", z3.If(LIT, a.term, b.term)), NUMBERS, NUMBERS),
)
OPERATORS = st.sampled_from(list(COMPARED))
ATOMS = st.one_of(
    st.builds(comparison, NAMES, OPERATORS, NUMBERS),
    st.builds(comparison, SUMS, OPERATORS, SUMS),
    st.builds(lambda x, n: Both(f"level {x} {LEVELS[n]}", COMPARED[x](LEVEL, n)), OPERATORS, st.sampled_from(range(3))),
    st.just(Both("lit", LIT)),
    st.builds(
        lambda a, b, c: Both(f"{a} in {{{b}, {c}}}", z3.Or(a.term == b.term, a.term == c.term)), NAMES, NUMBERS, NUMBERS
    ),
)
GUARDS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        inner.map(lambda a: Both(f"not ({a})", z3.Not(a.term))),
        st.builds(
            lambda a, x, b: Both(f"({a}) {x} ({b})", JOINED[x](a.term, b.term)),
            inner,
            st.sampled_from([*JOINED]),
            inner,
        ),
    ),
    max_leaves=4,
)


TIGHT = st.builds(
    comparison,
    st.just(Both("n", INTS["n"])),
    OPERATORS,
    st.sampled_from([500, 501, 502]).map(lambda x: Both(str(x), x)),
)
"""Bounds that are the same, or one apart: one value is left between them, or none."""


def satisfiable(*terms: Any) -> bool:
    solver = z3.Solver()
    solver.add(*WITHIN, *terms)
    found = solver.check()
    assert found != z3.unknown
    return bool(found == z3.sat)


@given(TIGHT, TIGHT, TIGHT)
def test_bounds_that_are_close_are_decided_as_z3_does(one: Both, two: Both, three: Both) -> None:
    model = compiled(MACHINE.format(Both(f"{one} and {two}", None), three))
    codes = {d.rule.code for d in check(model)}
    assert ("FSM206" in codes) is satisfiable(one.term, two.term, three.term)
    assert ("FSM209" in codes) is not satisfiable(one.term, two.term)
    assert "FSM207" not in codes


@given(GUARDS, GUARDS)
def test_guards_over_large_domains_are_decided_as_z3_does(one: Both, two: Both) -> None:
    """Nothing that is possible is called impossible; what is called certain is so; few are given up."""
    model = compiled(MACHINE.format(one, two))
    (machine,) = model.machines.values()
    found = check(model)
    codes = {d.rule.code for d in found}
    together = satisfiable(one.term, two.term)
    if "FSM206" in codes:
        assert together
    elif "FSM207" not in codes:
        assert not together
    for guard, t in zip((one, two), (x for x in machine.transitions if x.label), strict=True):
        assert t.guard is not None
        at = {d.rule.code for d in found if d.span == t.guard.span}
        assert "FSM209" not in at or not satisfiable(guard.term), "never true"
        assert "FSM208" not in at or not satisfiable(z3.Not(guard.term)), "always true"


# Graphs of machines --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", today(range(60)))
def test_states_of_machines_are_reached_as_networkx_says(seed: int) -> None:
    for machine in compiled(spec(seed)).machines.values():
        shape = Shape(machine)
        graph = nx.DiGraph()
        leaves = [leaf.name for leaf in machine.leaves]
        graph.add_nodes_from(leaves)
        for leaf in leaves:
            inside = {leaf, *machine.ancestors(leaf)}
            graph.add_edges_from(
                (leaf, machine.entered(t.target)) for t in machine.transitions if t.target and t.source in inside
            )
        begin = machine.entered(machine.initial.name)
        there = {begin, *nx.descendants(graph, begin)}
        assert shape.reachable == {x for leaf in there for x in (leaf, *machine.ancestors(leaf))}
        for leaf in leaves:
            assert shape.reaching([leaf]) == {leaf, *nx.ancestors(graph, leaf)}


# Graphs of states ----------------------------------------------------------------------------------------------------


class Sample:
    """A random graph of which every node is reached from 0, with one bit a node."""

    def __init__(self, seed: int) -> None:
        r = random.Random(seed)
        size = r.choice([1, 2, 5, 20, 80, 300])
        drawn = [(r.randrange(size), r.randrange(size)) for _ in range(int(size * r.choice([0.8, 1.2, 2])) + 1)]
        whole = nx.MultiDiGraph([(0, 0)] * 0)
        whole.add_nodes_from(range(size))
        whole.add_edges_from(drawn)
        order = [0, *(b for _, b in nx.bfs_edges(whole, 0))]
        self.nx = nx.relabel_nodes(whole.subgraph(order), {x: n for n, x in enumerate(order)})
        self.offsets, self.targets = [0], []
        for n in range(len(order)):
            self.targets += [b for _, b in self.nx.out_edges(n)]
            self.offsets.append(len(self.targets))
        share = r.choice([0.05, 0.3, 0.7])
        self.letters = [int(r.random() < share) for _ in order]
        self.graph = Graph(self.offsets, self.targets, [0] * len(self.targets), (self.letters,))

    def stays(self, nodes: set[int]) -> set[int]:
        """Those of the nodes from which a run can go on for ever, or end, without leaving them."""
        part = self.nx.subgraph(nodes)
        goals = {n for n in nodes if self.nx.out_degree(n) == 0}
        for component in nx.strongly_connected_components(part):
            first = next(iter(component))
            if len(component) > 1 or part.has_edge(first, first):
                goals |= component
        return {x for goal in goals for x in (goal, *nx.ancestors(part, goal))}


@pytest.mark.parametrize("block", range(6))
def test_runs_of_large_graphs_are_judged_as_networkx_says(block: int) -> None:
    """Runs that end stay where they are."""
    p = f.Literal(0, True)
    for seed in today(range(block * 30, block * 30 + 30)):
        x = Sample(seed)
        no = {n for n, letter in enumerate(x.letters) if not letter}
        cycles = {n for c in nx.strongly_connected_components(x.nx) for n in c if len(c) > 1 or x.nx.has_edge(n, n)}
        ends = {n for n in x.nx if x.nx.out_degree(n) == 0}
        expected = [
            (f.always(p), bool(no)),
            (f.eventually(p), 0 in x.stays(no)),
            (f.always(f.eventually(p)), bool(x.stays(no))),
            (f.eventually(f.always(p)), bool(no & (cycles | ends))),
        ]
        for formula, broken in expected:
            lasso = decide(Prepared(x.graph), formula)
            assert (lasso is not None) is broken, (seed, formula)


@pytest.mark.parametrize("seed", today(range(40)))
def test_components_are_those_of_networkx(seed: int) -> None:
    x = Sample(seed)
    size = len(x.letters)
    alive = [int(random.Random(seed).random() < 0.8) for _ in range(size)]
    listed = [n for n in range(size) if alive[n]]
    component, *rest = ([0] * size for _ in range(6))
    count = components(x.offsets, x.targets, alive, listed, len(listed), component, *rest)
    found = {frozenset(n for n in listed if component[n] == c) for c in range(count)}
    assert found == {frozenset(c) for c in nx.strongly_connected_components(x.nx.subgraph(listed))}


def test_the_model_is_what_the_oracle_thinks_it_is() -> None:
    model = compiled(MACHINE.format("lit", "true"))
    (machine,) = model.machines.values()
    types = {x.name: x.type for x in (*machine.fields, *machine.events[0].parameters)}
    assert {x: m.RangeType(*DOMAINS[x]) for x in DOMAINS} == {x: types[x] for x in DOMAINS}
