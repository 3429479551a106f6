"""What a variable runs through, and what is chosen by a number: ranges, enums, subsets, items, instances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, combinations, combinations_with_replacement, product
from pathlib import Path

import pytest
from stepping import Run, compiled
from test_meanings import Case, explored_alike

from fsmdsl import model as m
from fsmdsl.step import FaultError
from fsmdsl.step.evaluate import Frame, evaluate
from fsmdsl.syntax.operators import Arithmetic, bounds, number

# Items of lists ------------------------------------------------------------------------------------------------------

Listed = tuple[int, ...]

ITEMS: dict[str, Callable[[Listed, int], bool]] = {
    "log[i] == 2": lambda log, i: item(log, i) == 2,
    "log[i + 1] > log[i]": lambda log, i: item(log, i + 1) > item(log, i),
    "last(log) == 1": lambda log, i: item(log, len(log) - 1) == 1,
    "log[size(log) / 2] == i": lambda log, i: item(log, len(log) // 2) == i,
    "size(log) <= i or log[i] == 0": lambda log, i: len(log) <= i or item(log, i) == 0,
    "some k in 0..size(log) - 1: log[k] == i": lambda log, i: i in log,
    "all k in 0..size(log) - 2: log[k] <= log[k + 1]": lambda log, i: list(log) == sorted(log),
    "(count k in i..size(log) - 1: log[k] == 1) == 1": lambda log, i: log[i:].count(1) == 1,
    "log + [i, 1] == [1, i, 1]": lambda log, i: log == (1,),
    "size(log + log + [0]) == 5 and last(log) == 0": lambda log, i: len(log) == 2 and item(log, len(log) - 1) == 0,
    "rest(log + [1]) == log + []": lambda log, i: (*log, 1)[1:] == log,
    "all k in i..2: k >= i": lambda log, i: True,
    "some k in 1..i: k == i": lambda log, i: i >= 1,
}


def item(log: Listed, at: int) -> int:
    """That of Python, without places from the end."""
    if at < 0:
        raise IndexError
    return log[at]


def test_items_are_counted_from_zero_and_one_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    lines = ["module items", "machine M {", "    log: list<0..2>[3]", "    i: 0..3", "    initial state S"]
    lines += [f"    event e{n} from environment\n    x{n}: S -> S on e{n} when {g}" for n, g in enumerate(ITEMS)]
    case = Case(tmp_path, "\n".join([*lines, "}\n"]))
    logs = [(), (1,), (2, 0), (0, 1, 2), (1, 1, 0)]
    for n, (text, function) in enumerate(ITEMS.items()):
        for log in logs:
            for i in range(4):
                try:
                    wanted = f"x{n}" if function(log, i) else "unhandled"
                except IndexError:
                    wanted = "none"
                assert case.outcome("M", {"log": log, "i": i}, f"e{n}") == wanted, (text, log, i)


def test_lists_behind_one_another_are_explored_as_another_program_counts_them() -> None:
    """Items of the two lists have different ranges, so that they take different room."""
    wanted = explored_alike("""module behind
        machine M {
            log: list<0..3>[3]
            hot: list<1..2>[2]
            initial state S
            event keep(n: 0..3), heat(n: 1..2), turn from environment
            S on keep(n) do log = log + [n]
            S on heat(n) when size(hot) < 2 do hot = [n] + hot
            S on turn when size(hot + log) == 3 and log != [] do log = rest(log) + hot
            ignore heat, turn in S
        }
        system One { m: M }
    """)
    first: tuple[Listed, Listed] = ((), ())
    reached, waiting = {first}, [first]
    for log, hot in waiting:
        after = [((*log, n), hot) for n in range(4)]
        after += [(log, (n, *hot)) for n in (1, 2) if len(hot) < 2]
        after += [((*log[1:], *hot), hot)] if len(hot) + len(log) == 3 and log else []
        new = [x for x in dict.fromkeys(after) if x not in reached and len(x[0]) <= 3]
        reached |= {*new}
        waiting += new
    assert wanted["states"] == len(reached)
    assert "overflow" in str(wanted["faults"])


# Division ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "%"])
def test_results_are_between_their_bounds_and_reach_them(operator: Arithmetic) -> None:
    ranges = list(combinations_with_replacement(range(-4, 5), 2))
    for a, b in product(ranges, ranges):
        pairs = product(range(a[0], a[1] + 1), range(b[0], b[1] + 1))
        results = [number(operator, x, y) for x, y in pairs if y or operator not in ("/", "%")]
        low, high = bounds(operator, a, b)
        assert all(low <= x <= high for x in results), (a, b)
        if results and operator != "%":  # where remainders end depends on more than the ends
            assert (low, high) == (min(results), max(results)), (a, b)


def test_division_is_explored_as_defined() -> None:
    wanted = explored_alike("""module divide
        machine M {
            n: -3..3
            k: -3..3
            let over(by: 1..2) = 6 / by
            initial state S
            event set(i: -3..3), divide(j: -3..3), part(j: -3..3) from environment
            S on set(i) do n = i
            S on divide(j) do { k = n / j; n = n % j }
            S on part(j) when over(j) > 3 do n = -n
            ignore part in S
        }
        system One { m: M }
    """)
    reached, waiting = {(0, 0)}, [(0, 0)]
    for n, k in waiting:
        after = [*((i, k) for i in range(-3, 4)), (-n, k), *((n % j, n // j) for j in range(-3, 4) if j)]
        new = [x for x in dict.fromkeys(after) if x not in reached]
        reached |= {*new}
        waiting += new
    assert wanted["states"] == len(reached)
    assert "none" in str(wanted["faults"])


# Instances by number -------------------------------------------------------------------------------------------------


def test_instances_are_paired_and_put_in_a_ring() -> None:
    run = Run(
        """
        machine Fork { initial state Here }
        machine Phil { param left: Fork  param right: Fork  param other: Phil?  initial state Thinks }
        system Table {
            forks: Fork[3]
            phils: Phil[3] {
                left = forks[index], right = forks[(index + 1) % size(forks)],
                other = if index == 0 then none else phils[index - 1]
            }
        }
        """
    )
    params = [run.universe.params[n] for n in (3, 4, 5)]
    assert [(p["left"], p["right"], p["other"]) for p in params] == [(0, 1, None), (1, 2, 3), (2, 0, 4)]


RING = """module ring
    machine N {
        param next: N
        holds: bool
        initial state S
        event pass from environment, N
        S -> S on pass when holds do { holds = false; next.get }
        event get from N
        S -> S on get do holds = true
    }
    system Ring {
        nodes: N[4] { holds = index == 0, next = nodes[(index + 1) % size(nodes)] }
        environment { some i in 0..3: nodes[i].pass when nodes[(i + 2) % 4].holds == false }
        invariant one: (count i in 0..size(nodes) - 1: nodes[i].holds) == 1
        reachable there: nodes[3].holds and not nodes[(3 + 1) % 4].holds
    }
"""


def test_instances_are_chosen_by_number_in_a_run() -> None:
    wanted = explored_alike(RING)
    assert wanted["states"] == 4
    assert wanted["faults"] == {}


def test_an_instance_that_is_not_there_is_a_fault() -> None:
    wanted = explored_alike(RING.replace("(i + 2) % 4", "i + 2"))
    assert "none" in str(wanted["faults"])


# Ranges, enums, subsets ----------------------------------------------------------------------------------------------

SYSTEM = """
enum Colour {{ red | green | blue }}
enum Level {{ low < high }}
machine N {{ n: 0..3  initial state S }}
system Some {{ nodes: N[3] {{ n = index }}  let it = {} }}
"""


def value(text: str) -> object:
    """What an expression is worth in a system of three nodes."""
    run = Run(SYSTEM.format(text))
    (let,) = run.universe.system.lets
    return evaluate(Frame(run.universe, run.world), let.value)


def subsets(of: list[int]) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(of, n) for n in range(len(of) + 1))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("count i in 1..4: i % 2 == 0", 2),
        ("count i in -2..2: i < 0", 2),
        ("all i in 0..size(nodes) - 1: nodes[i].n == i", True),
        ("some i in 3..2: true", False),
        ("all i in nodes[2].n..1: false", True),
        ("count i in nodes[1].n..nodes[2].n: true", 2),
        ("count c in Colour: true", 3),
        ("some l in Level: all k in Level: k <= l", True),
        ("size(Colour - {Colour.red})", 2),
        ("some q in subsets(nodes): size(q) == 3", True),
        ("some q in subsets(nodes): size(q) > 3", False),
        ("all q in subsets(nodes), r in subsets(nodes): size(q) + size(r) > 3 => size(q & r) > 0", True),
        ("all q in subsets(nodes), r in subsets(nodes): size(q) + size(r) > 2 => size(q & r) > 0", False),
        ("some q in subsets(Level): q == {Level.high}", True),
        ("some q in subsets({1, 2}): size(q) == 2", True),
    ],
)
def test_a_variable_runs_through_a_range_an_enum_and_all_subsets(text: str, wanted: object) -> None:
    assert value(text) == wanted


def test_all_subsets_are_there_once() -> None:
    text = "all q in subsets(nodes): (count r in subsets(nodes, size(q)): r == q) == 1"
    assert value(text) is True
    found = compiled(SYSTEM.format("some q in subsets(nodes): false"))
    assert len(list(subsets([0, 1, 2]))) == 8
    assert found.systems  # the variable of the sizes has a name that the text does not have


def test_the_variable_of_sizes_hides_no_name() -> None:
    run = Run(SYSTEM.format("some q_size in {7}: some q in subsets(nodes): size(q) == 2 and q_size == 7"))
    (let,) = run.universe.system.lets
    assert evaluate(Frame(run.universe, run.world), let.value) is True


def test_the_environment_chooses_in_ranges_and_subsets() -> None:
    run = Run(
        """
        machine N { n: 0..3  initial state S  event set(to: 0..3), meet(all_of: set<N>) from environment
                    S on set(to) do n = to  S on meet do n = 0 }
        system Some { nodes: N[2]
            environment {
                some i in 1..2: nodes[0].set(i)
                some q in subsets(nodes): nodes[1].meet(q) when size(q) != 1
            } }
        """
    )
    assert run.steps() == ["n0.set(1)", "n0.set(2)", "n1.meet({})", "n1.meet({n0, n1})"]


def test_a_loop_goes_through_a_range(tmp_path: Path) -> None:
    text = """module loops
        machine M { log: list<0..9>[4]  initial state S  event go from environment
                  x: S -> S on go do for i in 2..4 { add i * 2 to log }
                    y: S -> S on go when log == [4, 6, 8]  priority y > x }
    """
    case = Case(tmp_path, text)
    assert case.outcome("M", {}, "go") == "x"
    assert case.outcome("M", {"log": (4, 6, 8)}, "go") == "y"


def test_items_keep_faults_where_they_are_looked_at() -> None:
    with pytest.raises(FaultError):
        value("nodes[nodes[2].n + 1].n == 0")
    assert value("nodes[2].n < 2 and nodes[nodes[2].n + 1].n == 0") is False


def test_the_states_of_two_instances_are_compared_down_to_the_leaf(tmp_path: Path) -> None:
    wanted = explored_alike(
        """module alike
        machine N {
            initial state A { initial state A1  state A2 }  state B
            event go from environment
            A1 -> A2 on go  A2 -> B on go  B -> A on go
        }
        system Two { ns: N[2]
            invariant never: same_state(n0, n1)
            reachable apart: not same_state(n0, n1) and n0 in A and n1 in A }
        """
    )
    assert wanted["states"] == 9
    assert {key.name: at for key, (at, _) in wanted["settled"].items()} == {"never": 1, "apart": 1}  # type: ignore[attr-defined]


def test_the_numbers_of_a_range_are_a_set_with_their_type() -> None:
    model = compiled(SYSTEM.format("all i in 0..2: i < 3"))
    (system,) = model.systems.values()
    quantified = system.lets[0].value
    assert isinstance(quantified, m.Quantified)
    assert quantified.over.type == m.SetType(m.RangeType(0, 2))
