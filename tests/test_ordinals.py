"""Instances chosen by a number: `forks[(index + 1) % size(forks)]`, with every operator that a number can have."""

from __future__ import annotations

import pytest
from literate import findings
from stepping import compiled, only_system
from test_import import loaded

from fsmdsl.step.universe import Universe
from fsmdsl.text.diagnostics import Severity
from fsmdsl.text.source import Source

TEXT = """module ring
machine Fork {{ initial state On  event go from environment  On on go }}
machine Phil {{ param fork: Fork  initial state On  event go from environment  On on go }}
system Table {{
    forks: Fork[4]
    pair:  Fork[2]
    phils: Phil[3] {{ fork = {} }}
}}
"""


@pytest.mark.parametrize(
    ("written", "chosen"),
    [
        ("forks[index]", [0, 1, 2]),
        ("forks[(index + 1) % size(phils)]", [1, 2, 0]),
        ("forks[size(forks) - 1 - index]", [3, 2, 1]),
        ("forks[index * 3 / 2]", [0, 1, 3]),
        ("forks[min(index, 1)]", [0, 1, 1]),
        ("forks[max(index, 1)]", [1, 1, 2]),
        ("forks[max(0, -index + 1)]", [1, 0, 0]),
        ("forks[if index == 1 then 3 else index]", [0, 3, 2]),
        ("forks[if index != 1 and not (index == 2) then 3 else 0]", [3, 0, 0]),
        ("forks[if index < 1 or index >= 2 then 2 else 1]", [2, 1, 2]),
        ("if index <= 1 then forks[index + 2] else forks[0]", [2, 3, 0]),
        ("if index < size(pair) then pair[index] else forks[3]", [4, 5, 3]),
    ],
)
def test_the_instance_is_that_of_the_number(written: str, chosen: list[int]) -> None:
    model = compiled(TEXT.format(written))
    universe = Universe(model, only_system(model))
    assert [universe.params[n]["fork"] for n in sorted(universe.instances_of("ring.Phil"))] == chosen


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("forks[index + 3]", "`forks` has instances 0 to 3, and `index + 3` is 4 where `index` is 1"),
        ("forks[index / (index - index)]", "the index of an instance may depend only on numbers here"),
        ("if index == 0 then forks[0] else forks[7]", "`forks` has instances 0 to 3"),
    ],
)
def test_a_number_that_is_none_of_an_instance_is_an_error(written: str, message: str) -> None:
    _, found = loaded(TEXT.format(written))
    assert message in [d.message for d in found if d.severity is Severity.ERROR]


@pytest.mark.parametrize("written", ["index", "index + 0", "max(index, 0)"])
def test_the_first_number_is_0(written: str) -> None:
    text = f"machine M {{ param n: 1..70000  initial state S }}  system T {{ ms: M[2] {{ n = {written} }} }}"
    found = [d.message for d in findings([Source("case.fsm", text)]) if "outside" in d.message]
    assert found == ["`n` would always be given a value outside 1..70000"]
