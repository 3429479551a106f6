"""Instances that can never move again: the value of `stuck(x)` in each state of a graph.

An instance is stuck in a state where it is in no final or resting state, transitions lead on from where it is, and in
no step that can still come does it follow one. Transitions on a crash do not count. Once stuck, it stays so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fsmdsl import model as m
from fsmdsl.runs.liveness.decide import Prepared
from fsmdsl.runs.liveness.graph import BITS, STAYS, Lasso
from fsmdsl.runs.liveness.plan import Atom, Plan, Stuck

Standstill = Mapping[Atom, tuple[bool, ...]]
"""Where atoms `stuck(x)` are true: in each state of a run, one after the other."""


def waits(machine: m.Machine) -> frozenset[str]:
    """The leaves in which an instance of a machine is not done."""
    own = moves(machine)
    left = {leaf for t in machine.transitions if t.index in own for leaf in machine.leaves_of(t.source)}
    return frozenset(x.name for x in machine.leaves if x.name in left and not x.permits_rest)


def moves(machine: m.Machine) -> frozenset[int]:
    """The transitions, by index, that are moves of an instance's own."""
    return frozenset(t.index for t in machine.transitions if not isinstance(t.trigger, m.OnCrash))


def decided(graph: Prepared, stuck: Sequence[Stuck]) -> None:
    """Fill in the atoms of a graph that are about standing still. Takes time in proportion to the edges, a few times.

    Behind a state that has not been expanded, everything may still happen, or nothing: see `Atom.if_unknown`.
    """
    for if_unknown in sorted({x.if_unknown for x in stuck}):
        ahead = graph.engine.filled(graph.states, wide=True)
        graph.engine.kernels.gather(graph.offsets, graph.marks, ahead, graph.states, 0)
        for state in () if if_unknown else graph.open:
            ahead[state] = (1 << BITS) - 1
        while graph.engine.kernels.reachable_obligations(graph.offsets, graph.targets, ahead, graph.states):
            pass
        for x in (x for x in stuck if x.if_unknown is if_unknown):
            waiting, column = graph.columns[x.waiting // BITS], graph.columns[x.atom // BITS]
            graph.engine.kernels.exclude(waiting, x.waiting % BITS, ahead, x.moves, column, x.atom % BITS, graph.states)


def along(graph: Prepared, plan: Plan, lasso: Lasso) -> Standstill:
    """What the atoms are worth in the states of a run, one after the other; where it stays, there is no further one."""
    hops = (*lasso.stem, *lasso.loop)
    states = [hops[0].source if hops else lasso.state, *(h.target for h in hops if h.edge != STAYS)]

    def true(atom: int) -> tuple[bool, ...]:
        return tuple(bool(graph.columns[atom // BITS][s] >> atom % BITS & 1) for s in states)

    return {plan.atoms[x.atom]: true(x.atom) for x in plan.stuck}
